//! Shows for every rule what breaks it, on which line, and what does not.

use super::{Complaint, RULES, Tree, source::Source, tree::File};

struct Case {
    rule: &'static str,
    path: &'static str,
    /// Breaks the rule on `line`, and nowhere else.
    bad: &'static str,
    line: usize,
    /// Looks much the same and is fine.
    good: &'static str,
}

const LIB: &str = "crates/rebut-engine/src/lib.rs";
const TEST: &str = "crates/rebut/tests/it/main.rs";
const PROMPT: &str = "crates/rebut-engine/prompts/decide/vote.md";

const CASES: &[Case] = &[
    Case {
        rule: "opening sentence",
        path: LIB,
        bad: "use std::fmt;\n",
        line: 1,
        good: "//! What it is.\nuse std::fmt;\n",
    },
    Case {
        rule: "opening sentence",
        path: LIB,
        bad: "//! No end\n",
        line: 1,
        good: "//! Two lines, and the\n//! end.\n",
    },
    Case {
        rule: "unwrap",
        path: LIB,
        bad: "#[cfg(test)]\nmod tests {\n}\nfn a() { b().unwrap() }\n",
        line: 4,
        good: "/// `a().unwrap()`\nconst A: &str = \".unwrap()\";\n#[cfg(test)]\nmod tests {\n    \
            fn a() { b().unwrap() }\n}\n",
    },
    Case {
        rule: "unwrap",
        path: "crates/rebut/src/main.rs",
        bad: "fn a() {\n  b().unwrap();\n}",
        line: 2,
        good: "fn a() { b().unwrap_or(1) }",
    },
    Case {
        rule: "expect",
        path: TEST,
        bad: "a\n.expect(\n  \" \")",
        line: 2,
        good: "a.expect(\"a reason\"); a.expect(&why)",
    },
    Case {
        rule: "leftovers",
        path: LIB,
        bad: "a();\ntodo!()",
        line: 2,
        good: "// No todo!() here\nlet a = \"dbg!(1)\";",
    },
    Case {
        rule: "leftovers",
        path: LIB,
        bad: concat!("let a = 'x'; // FIX", "ME: later"),
        line: 1,
        good: concat!("let a = \"// FIX", "ME: data\";"),
    },
    Case {
        rule: "leftovers",
        path: "README.md",
        bad: concat!("a\nXX", "X"),
        line: 2,
        good: concat!("mktemp a.XX", "XXXX"),
    },
    Case {
        rule: "ignored test",
        path: TEST,
        bad: "#[test]\n#[ignore = \"slow\"]\nfn a() {}",
        line: 2,
        good: "#[ignore] // tidy: shown as an example\nfn a() {}",
    },
    Case {
        rule: "sleeping test",
        path: TEST,
        bad: "\nsleep(second).await;",
        line: 2,
        good: "sleep(second).await; // tidy: paused clock",
    },
    Case {
        rule: "sleeping test",
        path: LIB,
        bad: "#[cfg(test)]\nmod tests {\n  fn a() { thread::sleep(b) }\n}",
        line: 3,
        good: "fn a() { clock.sleep(b) }",
    },
    Case {
        rule: "one way to files",
        path: "crates/rebut/src/commands/keep.rs",
        bad: "fn a() {\n  std::fs::read_to_string(b)\n}",
        line: 2,
        good: "reading::text(b); folder.create(c); File::open(d) // tidy: its own \
            folder\n#[cfg(test)]\nmod tests {\n  fn a() { fs::write(b, c) }\n}",
    },
    Case {
        rule: "one way to files",
        path: "crates/rebut-app/src/data_dir/brought.rs",
        bad: "OpenOptions::new()\n  .read(true)",
        line: 1,
        good: "folder.open_or_new(name)",
    },
    Case {
        rule: "pure engine",
        path: LIB,
        bad: "fn a() {}\nuse std::env::var;",
        line: 2,
        good: "env!(\"A\"); // std::env",
    },
    Case {
        rule: "pure engine",
        path: LIB,
        bad: "use std::{\n  fmt, process::Command};",
        line: 1,
        good: "use std::{fmt, sync::Arc};",
    },
    Case {
        rule: "pure engine",
        path: LIB,
        bad: "fn a() { eprintln!() }",
        line: 1,
        good: "#[cfg(test)]\nmod tests {\n  use std::{fmt, fs};\n  fn a() { println!() }\n}",
    },
    Case {
        rule: "pure engine",
        path: LIB,
        bad: "tokio::net::TcpStream",
        line: 1,
        good: "tokio::time::sleep",
    },
    Case {
        rule: "dependency directions",
        path: "crates/rebut-models/Cargo.toml",
        bad: "[package]\nname = \"rebut-models\"\n[dependencies]\nrebut-models.path = \".\"\n",
        line: 4,
        good: "[package]\nname = \"rebut-models\"\n[dev-dependencies]\nrebut-models.path = \".\"\n",
    },
    Case {
        rule: "dependency directions",
        path: "crates/rebut-cloud/Cargo.toml",
        bad: "[package]\nname = \"rebut-cloud\"\n",
        line: 1,
        good: "[workspace]\nmembers = []\n",
    },
    Case {
        rule: "pure engine dependencies",
        path: "crates/rebut-engine/Cargo.toml",
        bad: "[package]\nname = \"rebut-engine\"\n[target.'cfg(unix)'.dependencies]\nweb = { \
            package = \"reqwest\", version = \"1\" }\n",
        line: 1,
        good: "[package]\nname = \"rebut-engine\"\n[dependencies]\nserde = \
            \"1\"\n[dev-dependencies]\nreqwest = \"1\"\n",
    },
    Case {
        rule: "dependency sources",
        path: "Cargo.lock",
        bad: "name = \"a\"\nsource = \"git+https://example.org/a\"",
        line: 2,
        good: "source = \"registry+https://github.com/rust-lang/crates.io-index\"",
    },
    Case {
        rule: "dependency sources",
        path: ".cargo/config.toml",
        bad: "[alias]\n[source.a]",
        line: 2,
        good: "[alias]",
    },
    Case {
        rule: "prompt holes",
        path: PROMPT,
        bad: "a\n{{b",
        line: 2,
        good: "{{a}} and {{b_2}}\n{\"json\": {}}",
    },
    Case {
        rule: "prompt holes",
        path: PROMPT,
        bad: "b}} {{a}}",
        line: 1,
        good: "{{a}}{{b}}",
    },
    Case {
        rule: "prompt holes",
        path: PROMPT,
        bad: "{{a b}}",
        line: 1,
        good: "{ {a} }",
    },
    Case {
        rule: "unused prompt",
        path: PROMPT,
        bad: "not named anywhere",
        line: 1,
        good: "",
    },
    Case {
        rule: "machine paths",
        path: "README.md",
        bad: concat!("a\n`/ho", "me/me/a`"),
        line: 2,
        good: "https://a.org/home/a",
    },
    Case {
        rule: "package hosts",
        path: "check",
        bad: concat!("https://index.crates", ".io/"),
        line: 1,
        good: "https://crates.io/",
    },
    Case {
        rule: "links",
        path: "docs/a.md",
        bad: "a\nsee [b](../README.md) here",
        line: 2,
        good: "[a](a.md#b), [c](https://a.org/c), [d](#d), `[e](e.md)`\n```\n[f](f.md)\n```\n[g]: \
            ../docs/a.md",
    },
    Case {
        rule: "links",
        path: "docs/a.md",
        bad: "[a]: gone.md",
        line: 1,
        good: "[a]: https://a.org",
    },
    Case {
        rule: "architecture files",
        path: "ARCHITECTURE.md",
        bad: "## Map\n`ARCHITECTURE.md` and `turns.rs`",
        line: 2,
        good: "```text\n`turns.rs`\n```\n`debate.round`, `/v1/x/`, `<format>/mod.rs`, `ARCHITECTURE.md`",
    },
    Case {
        rule: "architecture width",
        path: "ARCHITECTURE.md",
        bad: "a\n| a cell that is far longer than a line of this page may be | and one more that makes the row too long |",
        line: 2,
        good: "| a cell that is short | and one more: … … … … … … … … … … … … … … … … … … … … … … … … … |",
    },
];

fn complaints(rule: &str, path: &str, text: &str) -> Vec<Complaint> {
    let (_, check) = RULES
        .iter()
        .find(|(name, _)| *name == rule)
        .expect("a case names its rule");
    let mut complaints = Vec::new();
    check(
        &Tree {
            files: vec![File::new(path.to_owned(), text.to_owned())],
        },
        &mut complaints,
    );
    complaints
}

#[test]
fn every_rule_can_fail_and_pass() {
    for case in CASES {
        let bad = complaints(case.rule, case.path, case.bad);
        let found: Vec<(&str, usize)> = bad
            .iter()
            .map(|complaint| (complaint.file.as_str(), complaint.line))
            .collect();
        assert_eq!(
            found,
            [(case.path, case.line)],
            "{}: {:?} gave {bad:?}",
            case.rule,
            case.bad
        );
        if !case.good.is_empty() {
            assert_eq!(
                complaints(case.rule, case.path, case.good),
                [],
                "{}: {:?}",
                case.rule,
                case.good
            );
        }
    }
    // These need long inputs, or more than one file.
    assert_eq!(
        complaints("file length", LIB, &"\n".repeat(1001))[0].line,
        1001
    );
    assert_eq!(complaints("file length", LIB, &"\n".repeat(1000)), []);
    assert_eq!(
        complaints("line length", LIB, &format!("\n// {}", "é".repeat(158)))[0].line,
        2
    );
    assert_eq!(
        complaints("line length", LIB, &format!("\n// {}", "é".repeat(157))),
        []
    );
    let cased: Vec<&str> = CASES
        .iter()
        .map(|case| case.rule)
        .chain(["file length", "line length"])
        .collect();
    let uncased: Vec<&str> = RULES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !cased.contains(name))
        .collect();
    assert_eq!(
        uncased, [""; 0],
        "rules without a case that shows they can fail"
    );
}

#[test]
fn a_prompt_is_used_when_the_engine_names_it() {
    let tree = |source: &str| Tree {
        files: [(PROMPT, "{{a}}"), (LIB, source)]
            .map(|(path, text)| File::new(path.to_owned(), text.to_owned()))
            .into(),
    };
    let (_, unused) = RULES
        .iter()
        .find(|(name, _)| *name == "unused prompt")
        .expect("the rule is in the table");
    let rows = [
        ("prompt!(Vote, \"decide/vote.md\" { a: Text });", 0),
        ("include_str!(\"../prompts/decide/vote.md\")", 0),
        ("prompt!(Vote, \"decide/votes.md\" { a: Text });", 1),
    ];
    for (source, expected) in rows {
        let mut complaints = Vec::new();
        unused(&tree(source), &mut complaints);
        assert_eq!(complaints.len(), expected, "{source}");
    }
}

#[test]
fn names_on_the_map_are_relative_to_the_folder_in_their_heading() {
    let tree = |page: &str| Tree {
        files: [("ARCHITECTURE.md", page), (LIB, "//! A library.\n")]
            .map(|(path, text)| File::new(path.to_owned(), text.to_owned()))
            .into(),
    };
    let (_, named) = RULES
        .iter()
        .find(|(name, _)| *name == "architecture files")
        .expect("the rule is in the table");
    let rows = [
        ("## Kernel: `crates/rebut-engine/src/`\n`lib.rs`", 0),
        ("## Kernel: `crates/rebut-engine/src/`\n`turn.rs`", 1),
        ("## Kernel: `crates/rebut-motor/src/`\n`lib.rs`", 2),
        ("## Kernel\n`lib.rs`", 1),
        (
            "## `crates/rebut-engine/src/`\n## A walk\n`crates/rebut-engine/src/lib.rs`",
            0,
        ),
    ];
    for (page, expected) in rows {
        let mut complaints = Vec::new();
        named(&tree(page), &mut complaints);
        assert_eq!(complaints.len(), expected, "{page}: {complaints:?}");
    }
}

#[test]
fn code_is_told_from_comments_and_quotes() {
    let rows = [
        ("a // b", "a     "),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"a "b \" // c" d"#, r#"a "         " d"#),
        ("r#\"a\"b\"# c", "r      # c"),
        ("br\"\\\" c", "br    c"),
        ("'a' 'b: '\\'' c", "' ' 'b: '  ' c"),
        ("'é' for", "'  ' for"),
    ];
    for (text, code) in rows {
        let found = Source::parse(text).code;
        assert_eq!(
            found.replace(['"', '#'], " "),
            code.replace(['"', '#'], " "),
            "{text}"
        );
        assert_eq!(found.len(), text.len(), "{text}");
    }
}
