//! Shell: the tests are a script beside the code, in a folder that both can write to. The script
//! itself stands elsewhere.

use super::super::shared::Plan;
use crate::{Given, languages::Toolchain};
use rebut_engine::sandbox::{Job, Tests};

/// Runs the script and tells the nonce after it ended well. The script has neither the nonce nor
/// the way out.
const AROUND: &str = r#"IFS= read -r nonce; exec 3>&1 1>&2 </dev/null; cp /in/solution.sh . || exit 1
"$0" /in/tests.sh 3>&-; status=$?
if [ $status = 0 ]; then echo "$nonce pass" >&3; else echo "it ended with exit code $status"; echo "$nonce fail" >&3; fi; exit 0"#;
/// The same for a script that takes the code into its own shell: it must also come to its own last
/// line.
const TO_THE_END: &str = r#"IFS= read -r nonce; exec 3>&1 1>&2; cp /in/solution.sh . || exit 1
came=$("$0" /in/tests.sh 3>&- </dev/null 4>&1 1>&2); status=$?
if [ "$came" = end ] && [ $status = 0 ]; then echo "$nonce pass" >&3
elif [ $status = 0 ]; then echo "$nonce early" >&3
else echo "it ended with exit code $status"; echo "$nonce fail" >&3; fi; exit 0"#;

/// What is run; nothing is built.
pub(in super::super) fn plan(job: &Job, tests: &Tests, tools: &Toolchain) -> Result<Plan, String> {
    let (around, text) = if takes_in(&tests.text) {
        (
            TO_THE_END,
            format!(
                "{}\nrebut_last=$?; if [ $rebut_last -eq 0 ]; then printf end >&4; else exit \
                 $rebut_last; fi\n",
                tests.text
            ),
        )
    } else {
        (AROUND, tests.text.clone())
    };
    let files = vec![
        Given {
            executable: true,
            ..Given::text("solution.sh", job.code.as_str())
        },
        Given::text("tests.sh", text),
    ];
    let run = [
        "/bin/sh",
        "-c",
        around,
        &tools.program.display().to_string(),
    ]
    .map(str::to_owned)
    .to_vec();
    let names = if tests.text.trim().is_empty() {
        Vec::new()
    } else {
        vec!["the program".to_owned()]
    };
    let read = [&tools.program.display().to_string(), "-n", "/in/tests.sh"]
        .map(str::to_owned)
        .to_vec();
    Ok(Plan {
        names,
        steps: Vec::new(),
        run,
        files,
        read,
        noise: &[],
        worker: None,
    })
}

/// Whether the script may run the code in its own shell, where `exit 0` would end the script too.
fn takes_in(text: &str) -> bool {
    let starts = |line: &str| {
        line.split([';', '&', '|', '(', '{']).any(|part| {
            matches!(
                part.split_whitespace().next(),
                Some("." | "source" | "eval")
            )
        })
    };
    text.lines().any(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_takes_the_code_in_is_seen() {
        let rows = [
            (". ./solution.sh\nadd 1 2", true),
            ("true && source solution.sh", true),
            ("[ $(./solution.sh 1) = 2 ]", false),
            ("echo . a", false),
        ];
        for (text, expected) in rows {
            assert_eq!(takes_in(text), expected, "{text}");
        }
    }
}
