//! Rust: the tests are a program with stubs that ask the code, which is another program. Where that
//! cannot be, they share one.

mod meant;
mod named;
mod offer;
mod print;
mod surface;
#[cfg(test)]
mod tests;
mod types;

use super::{
    super::{
        shared::{Plan, Step},
        worker::Worker,
    },
    tokens::{Dialect, Token, tokens},
};
use crate::{Given, languages::Toolchain};
use rebut_engine::sandbox::{Job, Tests};
use std::collections::BTreeSet;

pub(in super::super) fn plan(job: &Job, tests: &Tests, tools: &Toolchain) -> Result<Plan, String> {
    let text = open(&tests.text);
    let found = find(&text);
    let all = tokens(&tests.text, Dialect::Rust);
    let words: BTreeSet<&str> = all.iter().map(|word| word.text).collect();
    // `super` of a module in a file that uses the code as a library is that file.
    let is_user = all.windows(3).any(|three| {
        three
            .iter()
            .map(|word| word.text)
            .eq(["solution", ":", ":"])
    });
    let layout = Layout {
        text: &text,
        found: &found,
        inside: tests.text.contains("super::") && !is_user,
        tools,
    };
    let shared = check_words(&job.code, &words).map(|()| Box::new(layout.shared(&job.code)));
    match layout.apart(&job.code, &all) {
        Some((plan, worker)) => Ok(Plan {
            worker: Some(Worker {
                otherwise: shared,
                ..worker
            }),
            ..plan
        }),
        None => shared.map(|plan| *plan),
    }
}

/// The tests, and how they are put together with what they test.
struct Layout<'a> {
    text: &'a str,
    found: &'a [Test],
    /// Whether they are a module of the code.
    inside: bool,
    tools: &'a Toolchain,
}

impl Layout<'_> {
    /// Code and tests in one process. Without `unsafe` the code can neither run before main nor
    /// look into the memory of the harness.
    fn shared(&self, code: &str) -> Plan {
        let safe = ["-F", "unsafe_code"];
        self.plan(
            self.steps(code, &safe, if self.inside { &safe } else { &[] }),
            include_str!("harness.rs.txt"),
        )
    }

    /// The tests with stubs in one process, the code in another; nothing where no stub can be made,
    /// or where several threads ask at once.
    fn apart(&self, code: &str, words: &[Token<'_>]) -> Option<(Plan, Worker)> {
        let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.text));
        if has(TOGETHER) {
            return None;
        }
        let (mut surface, named) = (surface::surface(code), named::named(words)?);
        offer::resolve_all(&mut surface);
        meant::Meant::of(words).hold(&mut surface, &named)?;
        let offer =
            offer::offer(surface, &named, self.inside).filter(|offer| !offer.calls.is_empty())?;
        if has(&["catch_unwind"]) && offer.changes() {
            return None;
        }
        let plan = self.plan(
            self.steps(&print::stubs(&offer), &[], &[]),
            include_str!("rust/harness.rs.txt"),
        );
        let library = [
            "--crate-type",
            "lib",
            "-F",
            "unsafe_code",
            "--crate-name",
            "solution",
            "solution.rs",
        ];
        let program = [
            "--crate-name",
            "worker",
            "--extern",
            "solution=libsolution.rlib",
            "-o",
            "worker",
            "worker.rs",
        ];
        let steps = vec![
            self.step(
                "2024",
                &library,
                "solution.rs",
                format!("{code}{}", print::answers(&offer)),
                "libsolution.rlib",
            ),
            self.step(
                "2021",
                &program,
                "worker.rs",
                include_str!("rust/worker_main.rs.txt").to_owned(),
                "worker",
            ),
        ];
        let otherwise = Err(String::new());
        Some((
            plan,
            Worker {
                steps,
                run: vec!["/in/worker".to_owned()],
                files: Vec::new(),
                otherwise,
            },
        ))
    }

    /// Builds the tests against a library `solution`, or as a module of it.
    fn steps(&self, library: &str, of_library: &[&str], of_tests: &[&str]) -> Vec<Step> {
        let text = self.text;
        if self.inside {
            let is_module = tokens(text, Dialect::Rust)
                .first()
                .is_some_and(|first| first.text == "mod")
                || has_own_module(text);
            let root = if is_module {
                format!("{library}\n{text}\n")
            } else {
                format!("{library}\npub mod checks {{\n{text}\n}}\npub use checks::*;\n")
            };
            let words = [
                &["--crate-type", "lib", "--crate-name", "checks", "checks.rs"],
                of_tests,
            ]
            .concat();
            return vec![self.step("2024", &words, "checks.rs", root, "libchecks.rlib")];
        }
        let words = [
            &[
                "--crate-type",
                "lib",
                "--crate-name",
                "solution",
                "solution.rs",
            ],
            of_library,
        ]
        .concat();
        let library = self.step(
            "2024",
            &words,
            "solution.rs",
            library.to_owned(),
            "libsolution.rlib",
        );
        let words = [
            "--crate-type",
            "lib",
            "--crate-name",
            "checks",
            "--extern",
            "solution=libsolution.rlib",
            "checks.rs",
        ];
        vec![
            library,
            self.step(
                "2024",
                &words,
                "checks.rs",
                text.to_owned(),
                "libchecks.rlib",
            ),
        ]
    }

    fn plan(&self, mut steps: Vec<Step>, main: &str) -> Plan {
        let words = [
            "--crate-name",
            "harness",
            "--extern",
            "checks=libchecks.rlib",
            "-o",
            "harness",
            "harness.rs",
        ];
        steps.push(self.step(
            "2021",
            &words,
            "harness.rs",
            harness(main, self.found),
            "harness",
        ));
        let names = self.found.iter().map(|test| test.path.clone()).collect();
        let run = vec!["/in/harness".to_owned(), "{test}".to_owned()];
        Plan {
            names,
            steps,
            run,
            files: Vec::new(),
            read: Vec::new(),
            noise: &[],
            worker: None,
        }
    }

    fn step(
        &self,
        edition: &str,
        words: &[&str],
        file: &str,
        text: String,
        makes: &'static str,
    ) -> Step {
        let always = [
            "--edition",
            edition,
            "-C",
            "debuginfo=0",
            "--cfg",
            "test",
            "-A",
            "warnings",
            "-L",
            ".",
        ];
        let program = self.tools.program.display().to_string();
        let argv = std::iter::once(program)
            .chain(always.iter().chain(words).map(|word| (*word).to_owned()))
            .collect();
        Step {
            argv,
            files: vec![Given::text(file, text)],
            makes: vec![makes],
        }
    }
}

/// Words of tests that start threads, count what the process allocates, look at its files, or ask
/// of which type something is that crosses as its text: the code must be in it then.
const TOGETHER: &[&str] = &[
    "thread",
    "global_allocator",
    "GlobalAlloc",
    "fs",
    "File",
    "temp_dir",
    "set_var",
    "set_current_dir",
    "set_hook",
    "capacity",
    "ParseIntError",
    "ParseFloatError",
];

/// Macros of the standard library that tests judge with.
const JUDGING: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "matches",
    "panic",
    "vec",
    "format",
];

/// Code that shares a process with its tests must not give another meaning to what they judge with,
/// nor be equal to what is of another type.
fn check_words(code: &str, tests: &BTreeSet<&str>) -> Result<(), String> {
    let words = tokens(code, Dialect::Rust);
    let (mut depth, mut macros) = (0_usize, Vec::new());
    for (index, word) in words.iter().enumerate() {
        let after = |places: usize| words.get(index + places).map_or("", |next| next.text);
        if JUDGING.contains(&word.text) && tests.contains(word.text) && after(1) != "!" {
            return Err(format!(
                "the code gives `{}!` another meaning, and the tests use it",
                word.text
            ));
        }
        match word.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                macros.retain(|at| *at < depth);
            }
            // Also `macro_rules! name {`. What a macro makes of its words cannot be seen.
            "!" if matches!(after(1), "(" | "[" | "{") || matches!(after(2), "(" | "[" | "{") => {
                macros.push(depth)
            }
            ";" => macros.retain(|at| *at < depth),
            "PartialEq" | "PartialOrd"
                if matches!(after(1), "<" | "as" | ":") || !macros.is_empty() =>
            {
                return Err(format!(
                    "the code has a type of its own that is compared with other types (`{}<…>`): \
                     it could be equal to everything",
                    word.text
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

struct Test {
    path: String,
    /// The panic that is wanted: the text that must be in its words, as it is written.
    should_panic: Option<String>,
    ignored: bool,
}

fn has_own_module(text: &str) -> bool {
    let words = tokens(text, Dialect::Rust);
    let mut depth = 0_i32;
    words.windows(3).any(|three| {
        depth += match three[0].text {
            "{" => 1,
            "}" => -1,
            _ => 0,
        };
        depth == 0 && three[0].text == "mod" && three[2].text == "{"
    })
}

/// The tests' text with everything public that leads to a test, and without `#[test]`, which would
/// take the function away.
fn open(text: &str) -> String {
    let words = tokens(text, Dialect::Rust);
    let mut made = String::with_capacity(text.len() + 64);
    let mut from = 0;
    let mut after_test = false;
    for (index, word) in words.iter().enumerate() {
        if let Some(end) = test_attribute(&words[index..]) {
            made.push_str(&text[from..word.at]);
            from = end;
            after_test = true;
        }
        let is_public = index > 0 && matches!(words[index - 1].text, "pub" | ")");
        let opens =
            word.text == "mod" && words.get(index + 2).is_some_and(|third| third.text == "{");
        if (opens || (after_test && word.text == "fn")) && word.at >= from {
            made.push_str(&text[from..word.at]);
            made.push_str(if is_public { "" } else { "pub " });
            from = word.at;
        }
        if word.text == "fn" && after_test {
            made.push_str("/*#test*/");
            after_test = false;
        }
    }
    made.push_str(&text[from..]);
    made
}

/// Where `#[test]` ends, if the words begin with it.
fn test_attribute(words: &[Token<'_>]) -> Option<usize> {
    let four: Vec<&str> = words.iter().take(4).map(|word| word.text).collect();
    (four == ["#", "[", "test", "]"]).then(|| words[3].at + 1)
}

/// The tests in a text that was opened, by their paths.
fn find(text: &str) -> Vec<Test> {
    let words = tokens(text, Dialect::Rust);
    let (mut found, mut modules, mut depth) = (Vec::new(), Vec::<(String, usize)>::new(), 0_usize);
    let mut since = 0;
    for (index, word) in words.iter().enumerate() {
        match word.text {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                modules.retain(|(_, at)| *at < depth + 1);
                since = index;
            }
            "mod" if words.get(index + 2).is_some_and(|third| third.text == "{") => {
                modules.push((words[index + 1].text.to_owned(), depth + 1))
            }
            "fn" if text[..word.at].ends_with("/*#test*/") => {
                let Some(name) = words.get(index + 1) else {
                    continue;
                };
                let path = modules
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .chain([name.text])
                    .collect::<Vec<_>>()
                    .join("::");
                let attributes: Vec<&str> =
                    words[since..index].iter().map(|word| word.text).collect();
                found.push(Test {
                    path,
                    should_panic: wanted_panic(text, &words[since..=index]),
                    ignored: attributes.contains(&"ignore"),
                });
                since = index;
            }
            _ => {}
        }
    }
    found
}

/// What `#[should_panic]` before a function wants.
fn wanted_panic(text: &str, words: &[Token<'_>]) -> Option<String> {
    let at = words.iter().position(|word| word.text == "should_panic")?;
    // The text itself is no word: it stands between `=` and what comes next.
    let stated = words[at..]
        .windows(2)
        .take(4)
        .find(|two| two[0].text == "=");
    Some(stated.map_or_else(
        || "\"\"".to_owned(),
        |two| text[two[0].at + 1..two[1].at].trim().to_owned(),
    ))
}

fn harness(main: &str, found: &[Test]) -> String {
    let arms = found.iter().map(|test| {
        let wanted = test
            .should_panic
            .as_ref()
            .map_or_else(|| "None".to_owned(), |wanted| format!("Some({wanted})"));
        format!(
            "        {:?} => ({wanted}, {}, || Outcome::failed(checks::{}())),\n",
            test.path, test.ignored, test.path
        )
    });
    main.replace("        // tests\n", &arms.collect::<String>())
}
