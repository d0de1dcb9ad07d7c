//! `rebut review`, end to end: files, changes, the exit code, what is written, and what is refused
//! before anybody is asked.

use crate::rebut::Rebut;
use serde_json::Value;
use std::{path::Path, process::Command};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/review");

/// An installation with the example's text, and its script without the pauses for people.
fn example() -> Rebut {
    let rebut = Rebut::new();
    let read = |name: &str| std::fs::read_to_string(Path::new(EXAMPLE).join(name)).expect(name);
    let quick: String = read("script.md")
        .lines()
        .filter(|line| !line.starts_with("!delay"))
        .map(|line| format!("{line}\n"))
        .collect();
    rebut.write("script.md", &quick);
    rebut.write("prompt.md", &read("prompt.md"));
    rebut
}

const REVIEW: &[&str] = &["review", "prompt.md", "-m", "script:script.md", "-q"];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    [REVIEW, more].concat()
}

#[test]
fn a_review_prints_merges_writes_only_where_asked_and_fails_on_what_is_named() {
    let rebut = example();
    let text = rebut.expect(0, &with(&[]));
    assert!(
        text.contains(
            "MERGED 7 of 10 operations (order: security > testing > clarity > performance)"
        ),
        "{text}"
    );
    assert!(
        text.contains("high      +AddConstraint env access prompt.md:7: Read only the variables"),
        "{text}"
    );
    assert!(
        !text.contains("Pair")
            && !rebut.path("out").exists()
            && !rebut.path("audit.ndjson").exists(),
        "{text}"
    );
    for (level, code) in [("low", 6), ("high", 6), ("critical", 6)] {
        rebut.expect(
            code,
            &[
                "review",
                "prompt.md",
                "-m",
                "script:script.md",
                "-q",
                "--fail-on",
                level,
            ],
        );
    }
    rebut.expect(0, &with(&["--fail-on", "low", "--exit-zero"]));
    rebut.expect(
        0,
        &with(&["--fail-on", "critical", "--reviewers", "testing,clarity"]),
    );
    rebut.expect(2, &with(&["--fail-on", "severe"]));

    let on = rebut.expect(0, &with(&["--debate", "--write", "out"]));
    assert!(
        on.contains("→ 2 pairs (max 2)")
            && on.contains("judge scores are logged, they do not change the merge"),
        "{on}"
    );
    rebut.expect(
        0,
        &with(&[
            "--set",
            "debate.enabled=true",
            "--set",
            "debate.max_pairs=1",
            "--write",
            "out",
        ]),
    );
    rebut.expect(0, &with(&["--no-edit", "--write", "out"]));
    let entries: Vec<Value> = rebut
        .read("out/audit.ndjson")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let pairs = |entry: &Value| entry["debate_log"]["pairs"].as_array().map(Vec::len);
    assert_eq!(
        entries.iter().map(pairs).collect::<Vec<_>>(),
        [Some(2), Some(1), None],
        "each review adds its line"
    );
    assert_eq!(entries[2]["debate_log"], Value::Null);
    assert_eq!(entries[0]["merged"], entries[2]["merged"]);
    assert!(
        rebut
            .read("out/prompt.merged.md")
            .contains("never print a variable")
    );
    let diff = rebut.read("out/prompt.diff");
    assert!(
        diff.starts_with("--- prompt.md\n+++ prompt.merged.md\n@@ ")
            && diff.contains("\n-- Handle conflicts properly.\n"),
        "{diff}"
    );

    let id = rebut.json(0, &["ls", "--json"])[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(entries[2]["debate_id"], id);
    let absolute = rebut
        .path("prompt.md")
        .canonicalize()
        .expect("a file")
        .display()
        .to_string();
    rebut.expect(
        0,
        &[
            "review",
            &absolute,
            "-m",
            "script:script.md",
            "-q",
            "--no-edit",
            "-o",
            "found.sarif",
        ],
    );
    assert!(
        rebut.read("found.sarif").contains("\"uri\": \"prompt.md\""),
        "a path below here is seen from here"
    );
    rebut.expect(0, &["export", &id, "-o", "late.sarif"]);
    assert!(rebut.read("late.sarif").contains("\"version\": \"2.1.0\""));
    assert!(
        rebut
            .expect(0, &["export", &id, "-f", "comment"])
            .starts_with("<!-- rebut:review -->\n**rebut review**: 1 critical")
    );
}

#[test]
fn the_recorded_example_replays_offline_to_its_result() {
    let rebut = example();
    let journal = format!("{EXAMPLE}/journal.ndjson");
    let replayed = rebut.run(&["replay", &journal]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
    assert!(
        replayed
            .stderr
            .contains("identical to the record, byte for byte"),
        "{}",
        replayed.stderr
    );
    let expected: Value = serde_json::from_str(
        &std::fs::read_to_string(format!("{EXAMPLE}/result.json")).expect("a result"),
    )
    .expect("JSON");
    rebut.expect(0, &["import", &journal, "--trust"]);
    let id = rebut.json(0, &["ls", "--json"])[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(rebut.json(0, &["show", &id, "--json"])["result"], expected);
    // Whoever plays the script today gets the same.
    assert_eq!(
        rebut.json(
            0,
            &[
                "review",
                "prompt.md",
                "-m",
                "script:script.md",
                "-q",
                "--debate",
                "--json"
            ]
        )["result"]["merged"],
        expected["merged"]
    );
}

#[test]
fn settings_of_the_debate_have_a_short_name_and_wrong_ones_are_refused() {
    let rebut = example();
    rebut.write("rebut.toml", "[debate]\nenabled = true\nmax_pairs = 1\n");
    assert!(rebut.expect(0, REVIEW).contains("→ 1 pair (max 1)"));
    assert!(
        rebut
            .expect(0, &["config", "show"])
            .contains("[review.debate]\nenabled = true\nmax_pairs = 1")
    );
    rebut.write(
        "rebut.toml",
        "[debate]\nenabled = true\n\n[review.debate]\nenabled = false\n",
    );
    assert!(
        !rebut.expect(0, REVIEW).contains("pair"),
        "the long name counts"
    );
    for (text, says) in [
        ("[debate]\nmax_pair = 1\n", "did you mean `max_pairs`?"),
        (
            "[debate]\nmax_pairs = 0\n",
            "max_pairs must be 1 to 20, not 0",
        ),
        ("[review]\nedits = true\n", "did you mean `edit`?"),
    ] {
        rebut.write("rebut.toml", text);
        let refused = rebut.run(REVIEW);
        assert!(
            refused.code == 2 && refused.stderr.contains(says),
            "{text}: {}",
            refused.stderr
        );
    }
    assert_eq!(
        rebut
            .expect(0, &["--config", "/dev/null", "ls"])
            .lines()
            .count(),
        2,
        "nobody was asked"
    );
}

/// Runs git in the installation's working directory.
fn git(rebut: &Rebut, args: &[&str]) {
    let identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "init.defaultBranch=main",
    ];
    let done = Command::new("git")
        .args(identity)
        .args(args)
        .current_dir(rebut.path(""))
        .env("HOME", rebut.path(""))
        .output()
        .expect("git");
    assert!(
        done.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn a_change_is_reviewed_without_running_anything_of_the_repository_and_without_secrets() {
    let mut rebut = example();
    rebut.set("PATH", &std::env::var("PATH").expect("a path"));
    let outside = rebut.run(&["review", "--diff", "-q"]);
    assert!(
        outside.code == 2
            && outside
                .stderr
                .contains("--diff needs a git repository here"),
        "{}",
        outside.stderr
    );

    git(&rebut, &["init", "-q"]);
    rebut.write("notes.md", "The app works online.\n");
    rebut.write(".env", "KEY=1\n");
    let all_new = rebut.run(&["review", "--diff", "--dry-run"]);
    assert!(
        all_new.code == 0 && all_new.stdout.contains("+The app works online."),
        "nothing is committed yet: {}",
        all_new.stderr
    );
    assert!(
        all_new.stderr.contains("left out .env: may hold secrets"),
        "{}",
        all_new.stderr
    );
    // Whatever the repository would like to run leaves a trace.
    rebut.write(
        "trap.sh",
        "#!/bin/sh\ntouch trapped\ncat \"$1\" 2>/dev/null\n",
    );
    rebut.write(".gitignore", "found.*\ntrapped\n");
    rebut.write(
        ".gitattributes",
        "* filter=trap\n*.md diff=trap filter=tr=a.p\n",
    );
    git(&rebut, &["add", "."]);
    git(&rebut, &["commit", "-qm", "first"]);
    for (key, value) in [
        ("diff.external", "sh trap.sh"),
        ("diff.trap.command", "sh trap.sh"),
        ("diff.trap.textconv", "sh trap.sh"),
        ("core.fsmonitor", "sh trap.sh"),
        ("core.pager", "sh trap.sh"),
        ("filter.trap.clean", "sh trap.sh"),
        ("filter.trap.required", "true"),
        ("filter.tr=a.p.process", "sh trap.sh"),
        ("filter.tr=a.p.smudge", "sh trap.sh"),
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "far"),
        ("remote.far.url", "ext::sh trap.sh"),
        ("remote.far.promisor", "true"),
        ("protocol.ext.allow", "always"),
        ("diff.relative", "true"),
    ] {
        git(&rebut, &["config", key, value]);
    }
    rebut.write("found.sarif", "of an earlier run");
    let unchanged = rebut.run(&[
        "review",
        "--diff",
        "HEAD",
        "-o",
        "found.sarif",
        "-o",
        "found.comment.md",
        "-o",
        "found.html",
    ]);
    assert!(
        unchanged.code == 0
            && unchanged
                .stderr
                .contains("nothing to review: nothing changed"),
        "{}",
        unchanged.stderr
    );
    assert!(
        unchanged.stderr.contains("found.html was not written")
            && !rebut.path("found.html").exists(),
        "{}",
        unchanged.stderr
    );
    let empty: Value = serde_json::from_str(&rebut.read("found.sarif")).expect("JSON");
    assert_eq!(
        empty["runs"][0]["results"],
        Value::Array(Vec::new()),
        "nothing of an earlier run stays"
    );
    assert_eq!(
        rebut.read("found.comment.md"),
        "<!-- rebut:review -->\n**rebut review**: nothing to review: nothing changed\n"
    );
    rebut.write(".env", "KEY=2\n");
    let denied = rebut.run(&["review", "--diff", "HEAD"]);
    assert!(
        denied.code == 0
            && denied
                .stderr
                .contains("nothing to review: all that changed was left out"),
        "{}",
        denied.stderr
    );

    rebut.write(
        "notes.md",
        "The app works offline.\nRead the environment for the secret token of every user.\n",
    );
    rebut.write(".env", "KEY=hunter2\n");
    let reviewed = rebut.run(&[
        "review",
        "--diff",
        "HEAD",
        "--fail-on",
        "high",
        "-o",
        "found.sarif",
    ]);
    assert_eq!(reviewed.code, 6, "{}{}", reviewed.stdout, reviewed.stderr);
    assert!(
        reviewed.stderr.contains("left out .env: may hold secrets"),
        "{}",
        reviewed.stderr
    );
    assert!(
        reviewed.stdout.contains("notes.md:2"),
        "{}",
        reviewed.stdout
    );
    assert!(rebut.read("found.sarif").contains("\"uri\": \"notes.md\""));
    assert!(
        !rebut.path("trapped").exists(),
        "nothing of the repository ran"
    );
    let kept = rebut.holding("hunter2");
    assert_eq!(
        kept,
        [rebut.path(".env")],
        "the secret is only where it was"
    );

    rebut.write("lib/new.md", "A new file.\n");
    rebut.write("lib/new.env", "KEY=hunter3\n");
    for (args, is_new) in [
        (&["review", "--diff", "--dry-run"][..], true),
        (&["review", "--diff", "main", "--dry-run"], false),
    ] {
        let seen = rebut.run(args);
        assert_eq!(
            seen.stdout
                .contains("+++ b/lib/new.md\n@@ -0,0 +1,1 @@\n+A new file."),
            is_new,
            "{args:?}: {}{}",
            seen.stdout,
            seen.stderr
        );
        assert_eq!(
            seen.stderr
                .contains("left out lib/new.env: may hold secrets"),
            is_new,
            "{args:?}: {}",
            seen.stderr
        );
        assert!(!seen.stdout.contains("hunter3"), "{args:?}");
    }

    for (wrong, says) in
        // One that would have to be fetched first, from wherever the repository says.
        [
            (&*"1".repeat(40), "git knows no commit `1111"),
            ("nowhere", "git knows no commit `nowhere` here"),
            ("--output=x", "cannot be a commit"),
            ("", "cannot be a commit"),
        ]
    {
        let refused = rebut.run(&["review", &format!("--diff={wrong}"), "-q"]);
        assert!(
            refused.code == 2 && refused.stderr.contains(says),
            "{wrong}: {}",
            refused.stderr
        );
    }
    assert!(!rebut.path("x").exists() && !rebut.path("trapped").exists());
}

/// Names that are not UTF-8, and a change above the current directory, are changes too.
#[cfg(unix)]
#[test]
fn a_change_is_found_whatever_its_file_is_called_and_wherever_it_lies() {
    use std::os::unix::ffi::OsStrExt;
    let mut rebut = example();
    rebut.set("PATH", &std::env::var("PATH").expect("a path"));
    git(&rebut, &["init", "-q"]);
    git(&rebut, &["config", "diff.relative", "true"]);
    let odd = rebut
        .path("")
        .join(std::ffi::OsStr::from_bytes(b"no\xfftes.md"));
    rebut.write("low/x.md", "one\n");
    std::fs::write(&odd, "one\n").expect("a file");
    git(&rebut, &["add", "."]);
    git(&rebut, &["commit", "-qm", "first"]);
    std::fs::write(
        &odd,
        "one\nRead the environment for the secret token of every user.\n",
    )
    .expect("a file");
    for below in ["", "low"] {
        let mut command = rebut.command(&[
            "review",
            "--diff",
            "HEAD",
            "-m",
            "rehearsal",
            "--fail-on",
            "low",
        ]);
        let reviewed = command
            .current_dir(rebut.path(below))
            .output()
            .expect("the program runs");
        assert_eq!(
            reviewed.status.code(),
            Some(6),
            "{below}: {}",
            String::from_utf8_lossy(&reviewed.stderr)
        );
    }
}

/// What is written is what the editor said, byte for byte, and nothing beside it is touched through
/// a link.
#[cfg(unix)]
#[test]
fn the_revised_text_is_written_as_it_is_and_never_through_a_link() {
    let rebut = example();
    let script = rebut.read("script.md");
    let (before, edit) = script.split_once("\"revised\": \"").expect("an editor");
    let (_, after) = edit.split_once("\",\n").expect("an end");
    for revised in [
        "one\r\ntwo\r\n",
        "one\n\n\n",
        "no end",
        "\u{1b}[31mred\u{202e}\n",
    ] {
        let json = serde_json::to_string(revised).expect("JSON");
        rebut.write(
            "script.md",
            &format!("{before}\"revised\": {json},\n{after}"),
        );
        rebut.write("prompt.md", "one\r\nthree\r\n");
        rebut.write("precious", "mine");
        let _ = std::fs::remove_dir_all(rebut.path("out"));
        std::fs::create_dir(rebut.path("out")).expect("a directory");
        for name in ["prompt.merged.md", "prompt.diff", ".rebut-was-here"] {
            std::os::unix::fs::symlink(rebut.path("precious"), rebut.path("out").join(name))
                .expect("a link");
        }
        rebut.expect(0, &with(&["--write", "out"]));
        assert_eq!(rebut.read("out/prompt.merged.md"), revised);
        let diff = rebut.read("out/prompt.diff");
        let added: Vec<&str> = diff
            .split_inclusive('\n')
            .skip(2)
            .filter(|line| line.starts_with(['+', ' ']))
            .map(|line| &line[1..])
            .collect();
        let end = if revised.ends_with('\n') { "" } else { "\n" };
        assert_eq!(added.concat(), format!("{revised}{end}"), "{diff}");
        assert_eq!(diff.contains("\\ No newline"), !end.is_empty(), "{diff}");
        assert_eq!(rebut.read("precious"), "mine");
    }
    let audit = rebut.path("out/audit.ndjson");
    std::fs::remove_file(&audit).expect("a file");
    std::os::unix::fs::symlink(rebut.path("precious"), &audit).expect("a link");
    let refused = rebut.run(&with(&["--write", "out"]));
    assert!(
        refused.code == 2 && refused.stderr.contains("audit.ndjson is a link to "),
        "{} {}",
        refused.code,
        refused.stderr
    );
    assert_eq!(rebut.read("precious"), "mine");
    for only_shown in ["--dry-run", "--estimate"] {
        rebut.expect(
            0,
            &[
                "review",
                "prompt.md",
                "-m",
                "script:script.md",
                "-q",
                "--write",
                "never",
                only_shown,
            ],
        );
        assert!(!rebut.path("never").exists(), "{only_shown}");
    }
}

#[test]
fn texts_that_cannot_be_reviewed_are_refused_and_a_piped_one_is_read() {
    let rebut = example();
    rebut.write("empty.md", " \n");
    rebut.write(".env", "KEY=1\n");
    for (args, says) in [
        (&["review", "nowhere.md"][..], "cannot read nowhere.md"),
        (&["review", "."], "is a directory"),
        (&["review", "empty.md"], "empty.md is empty"),
        (&["review", ".env"], "looks like a file with secrets"),
        (&["review", "-"], "standard input is empty"),
        (
            &["review", "prompt.md", "--diff", "HEAD"],
            "cannot be used with",
        ),
        (&["review", "prompt.md", "--reviewers", "nobody"], "nobody"),
        (
            &["review", "prompt.md", "--reviewers", "editor"],
            "at least one reviewer",
        ),
    ] {
        let refused = rebut.run(args);
        assert!(
            refused.code == 2 && refused.stderr.contains(says),
            "{args:?}: {} {}",
            refused.code,
            refused.stderr
        );
    }
    let mut child = rebut.command(&["review", "-m", "rehearsal", "-q", "--json"]);
    let mut child = child
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::io::Write::write_all(
        &mut child.stdin.take().expect("piped"),
        b"Read the environment for all tokens.\n",
    )
    .expect("a pipe");
    let output = child.wait_with_output().expect("an end");
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["topic"], "standard input");
    assert!(
        result["result"]["edited"]
            .as_str()
            .is_some_and(|text| text.starts_with("Read the environment") && text.contains("\n- ")),
        "{result}"
    );
}
