//! Rust: the code is a library without `unsafe`, the tests are another, and a main of ours calls them one by one.

use super::{
    super::shared::{Plan, Step},
    tokens::{Dialect, Token, tokens},
};
use crate::{Given, languages::Toolchain};
use rebut_engine::sandbox::{Job, Tests};

/// What is built and run.
pub(in super::super) fn plan(job: &Job, tests: &Tests, tools: &Toolchain) -> Result<Plan, String> {
    check_words(&job.code, &tests.text)?;
    let text = open(&tests.text);
    let found = find(&text);
    let names: Vec<String> = found.iter().map(|test| test.path.clone()).collect();
    let together = tests.text.contains("super::");
    let rustc = |edition: &'static str, words: &[&str]| -> Vec<String> {
        let always = ["--edition", edition, "-C", "debuginfo=0", "--cfg", "test", "-A", "warnings", "-L", "."];
        std::iter::once(tools.program.display().to_string()).chain(always.iter().chain(words).map(|word| (*word).to_owned())).collect()
    };
    // Without `unsafe` the code can neither run before main nor look into the memory of the harness.
    let library = ["--crate-type", "lib", "-F", "unsafe_code"];
    let mut steps = Vec::new();
    if together {
        let inside = tokens(&text, Dialect::Rust).first().is_none_or(|first| first.text != "mod") && !has_own_module(&text);
        let root = if inside {
            format!("{}\npub mod checks {{\n{text}\n}}\npub use checks::*;\n", job.code)
        } else {
            format!("{}\n{text}\n", job.code)
        };
        let words = [&library[..], &["--crate-name", "checks", "checks.rs"]].concat();
        steps.push(Step { argv: rustc("2024", &words), files: vec![Given::text("checks.rs", root)], makes: vec!["libchecks.rlib"] });
    } else {
        let words = [&library[..], &["--crate-name", "solution", "solution.rs"]].concat();
        steps.push(Step {
            argv: rustc("2024", &words),
            files: vec![Given::text("solution.rs", job.code.as_str())],
            makes: vec!["libsolution.rlib"],
        });
        let words = ["--crate-type", "lib", "--crate-name", "checks", "--extern", "solution=libsolution.rlib", "checks.rs"];
        steps.push(Step { argv: rustc("2024", &words), files: vec![Given::text("checks.rs", text)], makes: vec!["libchecks.rlib"] });
    }
    let words = ["--crate-name", "harness", "--extern", "checks=libchecks.rlib", "-o", "harness", "harness.rs"];
    steps.push(Step { argv: rustc("2021", &words), files: vec![Given::text("harness.rs", harness(&found))], makes: vec!["harness"] });
    Ok(Plan {
        names,
        steps,
        run: vec!["/in/harness".to_owned(), "{test}".to_owned()],
        files: Vec::new(),
        read: Vec::new(),
        noise: &[],
        worker: None,
    })
}

/// Macros of the standard library that tests judge with.
const JUDGING: &[&str] =
    &["assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "debug_assert_ne", "matches", "panic", "vec", "format"];

/// Code must not give another meaning to what the tests judge with, nor be equal to what is of another type.
fn check_words(code: &str, tests: &str) -> Result<(), String> {
    let used: Vec<&str> = tokens(tests, Dialect::Rust).iter().map(|word| word.text).filter(|word| JUDGING.contains(word)).collect();
    let words = tokens(code, Dialect::Rust);
    for (index, word) in words.iter().enumerate() {
        let next = words.get(index + 1).map_or("", |next| next.text);
        if used.contains(&word.text) && next != "!" {
            return Err(format!("the code gives `{}!` another meaning, and the tests use it", word.text));
        }
        if matches!(word.text, "PartialEq" | "PartialOrd") && matches!(next, "<" | "as") {
            return Err(format!(
                "the code has a type of its own that is compared with other types (`{}<…>`): it could be equal to everything",
                word.text
            ));
        }
    }
    Ok(())
}

/// One test function.
struct Test {
    path: String,
    should_panic: bool,
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

/// The tests' text with everything public that leads to a test, and without `#[test]`, which would take the function away.
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
        let opens = word.text == "mod" && words.get(index + 2).is_some_and(|third| third.text == "{");
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
                let Some(name) = words.get(index + 1) else { continue };
                let path = modules.iter().map(|(name, _)| name.as_str()).chain([name.text]).collect::<Vec<_>>().join("::");
                let attributes: Vec<&str> = words[since..index].iter().map(|word| word.text).collect();
                found.push(Test { path, should_panic: attributes.contains(&"should_panic"), ignored: attributes.contains(&"ignore") });
                since = index;
            }
            _ => {}
        }
    }
    found
}

fn harness(found: &[Test]) -> String {
    let arms = found.iter().map(|test| {
        format!("        {:?} => ({}, {}, || Outcome::failed(checks::{}())),\n", test.path, test.should_panic, test.ignored, test.path)
    });
    include_str!("harness.rs.txt").replace("        // tests\n", &arms.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_does_not_change_what_tests_judge_with() {
        let tests = "#[test] fn a() { assert_eq!(f(), 1); }";
        let rows = [
            ("pub fn f() -> i32 { assert_eq!(1, 1); 1 }", true),
            ("#[derive(PartialEq, Debug)] pub struct A; impl PartialEq for B { }", true),
            ("#[macro_export] macro_rules! assert_eq { ($($t:tt)*) => {} }", false),
            ("pub use std::stringify as assert_eq;", false),
            ("make!(assert_eq);", false),
            ("impl PartialEq<i32> for Any { fn eq(&self, _: &i32) -> bool { true } }", false),
            ("use std::cmp::PartialEq as P;", false),
        ];
        for (code, fine) in rows {
            assert_eq!(check_words(code, tests).is_ok(), fine, "{code}");
        }
    }

    #[test]
    fn tests_are_found_by_their_paths_and_opened() {
        let text = "use solution::*;\n#[test]\nfn a() {}\n// #[test] fn no() {}\n#[test] #[should_panic(expected = \"x\")] fn b() { if x {} }\nfn helper() {}\n\
                    mod inner { use super::*; #[test]\n fn c() -> Result<(), String> { Ok(()) } #[ignore] #[test] pub fn d() {} }";
        let opened = open(text);
        let found: Vec<(String, bool, bool)> = find(&opened).into_iter().map(|test| (test.path, test.should_panic, test.ignored)).collect();
        let expected = [("a", false, false), ("b", true, false), ("inner::c", false, false), ("inner::d", false, true)];
        assert_eq!(found, expected.map(|(path, panics, ignored)| (path.to_owned(), panics, ignored)));
        assert!(opened.contains("pub mod inner") && !opened.contains("#[test]\n") && opened.contains("\nfn helper"), "{opened}");
        assert!(has_own_module("use x; mod tests { }") && !has_own_module("fn a() { mod x { } }"));
    }
}
