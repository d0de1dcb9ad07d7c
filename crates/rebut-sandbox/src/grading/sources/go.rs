//! Go: code and tests are a package of their own module; one test of ours runs the one that is
//! asked for. Code that takes and gives plain data is a program of its own, and stubs of our own
//! making stand for it beside the tests.

mod declared;
mod stubs;
mod surface;
mod types;

use super::{
    super::{
        shared::{Plan, Step},
        worker::Worker,
    },
    tokens::{Dialect, tokens},
};
use crate::{Given, languages::Toolchain};
use rebut_engine::sandbox::{Job, Tests};

const MODULE: &str = "module solution\n\ngo 1.18\n";

pub(in super::super) fn plan(job: &Job, tests: &Tests, tools: &Toolchain) -> Result<Plan, String> {
    let (names, package) = find(&tests.text);
    let package = package.ok_or("the tests have no package clause")?;
    let shared = shared(job, tests, tools, &names, &package);
    let Some(surface) =
        surface::surface(&job.code, &tests.text).filter(|found| !found.functions.is_empty())
    else {
        return Ok(shared);
    };
    let program = tools.program.display().to_string();
    let argv = [&program, "build", "-mod=mod", "-o", "worker", "./rebutmain"]
        .map(str::to_owned)
        .to_vec();
    let worker = Worker {
        steps: vec![Step {
            argv,
            files: stubs::code_side(&surface, &job.code),
            makes: vec!["worker"],
        }],
        run: vec!["/in/worker".to_owned()],
        files: Vec::new(),
        otherwise: Ok(Box::new(shared)),
    };
    let mut files = stubs::tests_side(&surface);
    files.push(Given::text(
        "rebut_test.go",
        harness(&names, &package, "solution/rebutwire"),
    ));
    Ok(Plan {
        worker: Some(worker),
        ..tests_plan(names, tools, tests, files)
    })
}

/// Code and tests in one process. What takes the nonce is a package whose name the code cannot
/// know, and begins before anything of it.
fn shared(job: &Job, tests: &Tests, tools: &Toolchain, names: &[String], package: &str) -> Plan {
    let hidden = format!("h{}", super::super::nonce());
    let files = vec![
        Given::text("go.mod", MODULE),
        Given::text("solution.go", job.code.as_str()),
        Given::text(
            format!("{hidden}/hidden.go"),
            include_str!("go/hidden.go.txt"),
        ),
        Given::text(
            "rebut_test.go",
            harness(names, package, &format!("solution/{hidden}")),
        ),
    ];
    tests_plan(names.to_vec(), tools, tests, files)
}

fn harness(names: &[String], package: &str, hidden: &str) -> String {
    include_str!("go/harness.go.txt")
        .replace("package rebut\n", &format!("package {package}\n"))
        .replace("rebut/path", hidden)
        .replace(
            "\t// tests\n",
            &names
                .iter()
                .map(|name| format!("\t\t{name:?}: {name},\n"))
                .collect::<String>(),
        )
}

/// The program of the tests with these files beside them.
fn tests_plan(names: Vec<String>, tools: &Toolchain, tests: &Tests, mut files: Vec<Given>) -> Plan {
    files.push(Given::text("solution_test.go", tests.text.as_str()));
    let program = tools.program.display().to_string();
    let argv = [&program, "test", "-c", "-mod=mod", "-o", "harness", "."]
        .map(str::to_owned)
        .to_vec();
    // What a test logs is only told in time when it is told at once.
    let run = [
        "/in/harness",
        "-test.v",
        "-test.run=^TestRebutOne$",
        "-test.timeout=0",
        "{test}",
    ]
    .map(str::to_owned)
    .to_vec();
    let steps = vec![Step {
        argv,
        files,
        makes: vec!["harness"],
    }];
    Plan {
        names,
        steps,
        run,
        files: Vec::new(),
        read: Vec::new(),
        noise: &["=== ", "--- ", "    --- "],
        worker: None,
    }
}

/// The tests of a file, and its package.
fn find(text: &str) -> (Vec<String>, Option<String>) {
    let words = tokens(text, Dialect::Go);
    let package = words
        .windows(2)
        .find(|two| two[0].text == "package")
        .map(|two| two[1].text.to_owned());
    let is_test = |name: &str| {
        name.starts_with("Test")
            && name != "TestMain"
            && !name[4..].starts_with(|c: char| c.is_lowercase())
    };
    let names = words
        .windows(3)
        .filter(|three| three[0].text == "func" && is_test(three[1].text) && three[2].text == "(");
    (
        names.map(|three| three[1].text.to_owned()).collect(),
        package,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found() {
        let text = "package solution\n// func TestNo(t *testing.T)\nfunc TestA(t *testing.T) {}\n\
                    func TestMain(m *testing.M) {}\nfunc Testing() {}\nfunc Test_b(t *testing.T) \
                    {}";
        assert_eq!(
            find(text),
            (
                vec!["TestA".to_owned(), "Test_b".to_owned()],
                Some("solution".to_owned())
            )
        );
    }
}
