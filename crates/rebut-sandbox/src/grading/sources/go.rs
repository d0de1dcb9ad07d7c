//! Go: code and tests are a package of their own module; one test of ours runs the one that is asked for.

use super::{
    super::shared::{Plan, Step},
    tokens::{Dialect, tokens},
};
use crate::{Given, languages::Toolchain};
use rebut_engine::sandbox::{Job, Tests};

/// What is built and run.
pub(in super::super) fn plan(job: &Job, tests: &Tests, tools: &Toolchain) -> Result<Plan, String> {
    let (names, package) = find(&tests.text);
    let package = package.ok_or("the tests have no package clause")?;
    let harness = include_str!("harness.go.txt")
        .replace("package rebut", &format!("package {package}"))
        .replace("\t// tests\n", &names.iter().map(|name| format!("\t\t{name:?}: {name},\n")).collect::<String>());
    let files = vec![
        Given::text("go.mod", "module solution\n\ngo 1.18\n"),
        Given::text("solution.go", job.code.as_str()),
        Given::text("solution_test.go", tests.text.as_str()),
        Given::text("rebut_test.go", harness),
    ];
    let program = tools.program.display().to_string();
    let argv = [&program, "test", "-c", "-mod=mod", "-o", "harness", "."].map(str::to_owned).to_vec();
    // What a test logs is only told in time when it is told at once.
    let run = ["/in/harness", "-test.v", "-test.run=^TestRebutOne$", "-test.timeout=0", "{test}"].map(str::to_owned).to_vec();
    let steps = vec![Step { argv, files, makes: vec!["harness"] }];
    Ok(Plan { names, steps, run, files: Vec::new(), read: Vec::new(), noise: &["=== ", "--- ", "    --- "], worker: None })
}

/// The tests of a file, and its package.
fn find(text: &str) -> (Vec<String>, Option<String>) {
    let words = tokens(text, Dialect::Go);
    let package = words.windows(2).find(|two| two[0].text == "package").map(|two| two[1].text.to_owned());
    let is_test = |name: &str| name.starts_with("Test") && name != "TestMain" && !name[4..].starts_with(|c: char| c.is_lowercase());
    let names = words.windows(3).filter(|three| three[0].text == "func" && is_test(three[1].text) && three[2].text == "(");
    (names.map(|three| three[1].text.to_owned()).collect(), package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found() {
        let text = "package solution\n// func TestNo(t *testing.T)\nfunc TestA(t *testing.T) {}\n\
                    func TestMain(m *testing.M) {}\nfunc Testing() {}\nfunc Test_b(t *testing.T) {}";
        assert_eq!(find(text), (vec!["TestA".to_owned(), "Test_b".to_owned()], Some("solution".to_owned())));
    }
}
