//! `sandbox test`: tests against a file of code, one line for each.

use super::check_one_stdin;
use crate::{
    app,
    cli::{SandboxTestArgs, TEST_STYLES},
    error::CliError,
    output,
    paint::Paint,
    read_file::text_or_stdin,
};
use rebut_engine::{
    clean::{for_people, on_one_line},
    sandbox::{Job, Ran, Sandbox, Style, TestRun, TestVerdict, Tests, Work},
};

/// `rebut sandbox test`. Exit code 0 only when there are tests and all of them hold.
pub async fn run(args: SandboxTestArgs) -> Result<u8, CliError> {
    let style = args
        .style
        .and_then(|wanted| TEST_STYLES.iter().find(|(name, _)| *name == wanted))
        .map(|(_, style)| *style);
    rebut_sandbox::check_style(&args.lang, style)
        .map_err(|refused| CliError::usage(refused.reason).hint(refused.fix))?;
    check_one_stdin([Some(&args.file), args.tests.as_ref()])?;
    let tests = match (&args.tests, args.test_command) {
        (_, Some(command)) => Tests {
            text: command,
            style: Some(Style::Command),
        },
        (file, None) => Tests {
            text: file
                .as_deref()
                .map(text_or_stdin)
                .transpose()?
                .unwrap_or_default(),
            style,
        },
    };
    if tests.text.trim().is_empty() {
        return Err(CliError::usage("there is no test to run")
            .hint("write some into the file, or name a command"));
    }
    let job = Job {
        language: args.lang,
        code: text_or_stdin(&args.file)?,
        work: Work::Tests(tests),
        seconds: args.seconds,
    };
    let ran = app::sandbox()?
        .run(&job)
        .await
        .map_err(|refused| CliError::no_model(refused.reason).hint(refused.fix))?;
    if args.json {
        output::print_json(&ran)?;
    } else {
        output::print(&shown(&ran, Paint::stdout()))?;
    }
    Ok(u8::from(!ran.all_passed()))
}

fn shown(ran: &Ran, paint: Paint) -> String {
    let mut text: String = ran.tests.iter().map(|test| line(test, paint)).collect();
    if let Some(why) = &ran.distrust {
        text.push_str(&format!(
            "{} {}\n",
            paint.attention("not to be believed:"),
            for_people(why)
        ));
    }
    text.push_str(&format!(
        "{} of {} tests hold{}\n",
        ran.passed(),
        ran.tests.len(),
        ran.shared_note()
    ));
    text
}

fn line(test: &TestRun, paint: Paint) -> String {
    let verdict = match test.verdict {
        TestVerdict::Pass => "pass   ".to_owned(),
        TestVerdict::Fail => paint.attention("fail   "),
        TestVerdict::Error => paint.attention("error  "),
        TestVerdict::Timeout => paint.attention("timeout"),
    };
    let output: String = for_people(&test.output)
        .lines()
        .map(|said| format!("         {said}\n"))
        .collect();
    format!("{verdict}  {}\n{output}", on_one_line(&test.name))
}
