//! `rebut code`: the code that won, any version, differences, and files that are never lost. The
//! journal is the one in `examples/code`.

use crate::rebut::Rebut;
use rebut_engine::{
    DebateId,
    agent::Role,
    event::{Event, Limits, Started},
    facts::{CodeMetrics, CodeRecorded, TestCount},
    journal_file::Portable,
    outcome::{Ending, Outcome},
    prompt::Fence,
    record::{Hash, Place, Record},
    seal::Seal,
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command, sync::Arc};

const FIRST: &str = "def middle(values):\n    return values[len(values) // 2]\n";
const OTHER: &str = "def middle(values):\n    return sum(values) / len(values)\n";
const MENDED: &str = "def middle(values):\n    if not values:\n        return None\n    return \
    sorted(values)[len(values) // 2]\n";

fn version(version: u32, candidate: &str, code: &str, passed: u32) -> Event {
    Event::CodeRecorded(Arc::new(CodeRecorded {
        version,
        candidate: candidate.into(),
        turn: format!("proposal {version}/{candidate}").into(),
        language: "python".to_owned(),
        code: code.to_owned(),
        tests: Some(TestCount {
            passed,
            total: 3,
            shared_process: false,
        }),
        quality: None,
        metrics: CodeMetrics {
            lines: 2,
            branches: 0,
            depth: 1,
            lints: None,
        },
        diff: String::new(),
    }))
}

/// A debate that wrote code, as a file.
fn journal(result: &Value, codes: &[(u32, &str, &str, u32)]) -> String {
    let debate = DebateId::new();
    let started = Started {
        format: "solve".to_owned(),
        format_version: 1,
        engine: "test".to_owned(),
        topic: "The middle of a list of numbers".to_owned(),
        input: json!({}),
        config: json!({}),
        agents: vec![
            Role::built_in("neutral")
                .expect("built in")
                .played_by("script:none.md"),
        ],
        prompts: Arc::default(),
        seed: 7,
        marker: Fence::random_marker(),
        rehearsal: false,
        limits: Limits::default(),
        initiated_by: "tester".to_owned(),
        forked_from: None,
        request: None,
    };
    let mut events = vec![Event::DebateStarted(Arc::new(started))];
    events.extend(
        codes
            .iter()
            .map(|(number, candidate, code, passed)| version(*number, candidate, code, *passed)),
    );
    let ended = Outcome {
        result: result.clone(),
        ..Outcome::without_result(Ending::Completed, "ada's code was chosen", Vec::new())
    };
    events.push(Event::DebateCompleted(Arc::new(ended)));
    let mut records: Vec<Record> = Vec::new();
    for (event, seq) in events.iter().zip(1..) {
        let prev = records.last().map_or(Hash::default(), |last| last.hash);
        let phase = matches!(event, Event::CodeRecorded(_)).then(|| "proposal".into());
        records.push(Record::new(
            debate,
            seq,
            prev,
            "2026-01-02T03:04:05.000Z".into(),
            Place {
                phase,
                ..Place::default()
            },
            event,
        ));
    }
    let (count, head) = records
        .last()
        .map(|last| (last.seq, last.hash))
        .expect("an end");
    let checkpoints = vec![Seal::from_secret(&[7; 32]).close(debate, count, head)];
    Portable {
        debate,
        records,
        checkpoints,
    }
    .to_ndjson()
    .expect("a journal")
}

fn three_versions() -> Vec<(u32, &'static str, &'static str, u32)> {
    vec![
        (1, "ada", FIRST, 1),
        (2, "bob", OTHER, 0),
        (3, "ada", MENDED, 3),
    ]
}

/// A program with one such debate, and its id.
fn with_debate(journal: &str) -> (Rebut, String) {
    let rebut = Rebut::new();
    rebut.write("journal.ndjson", journal);
    let id = rebut
        .expect(0, &["import", "journal.ndjson", "--trust"])
        .trim()
        .to_owned();
    (rebut, id)
}

#[test]
fn the_example_is_such_a_debate() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/code/journal.ndjson");
    if std::env::var_os("REBUT_UPDATE_CASES").is_some() {
        fs::write(
            &file,
            journal(&json!({"winner": "ada", "code": MENDED}), &three_versions()),
        )
        .expect("a file");
    }
    let (rebut, id) =
        with_debate(&fs::read_to_string(file).expect("the example; run with REBUT_UPDATE_CASES=1"));
    assert_eq!(rebut.expect(0, &["code", &id]), MENDED);
    rebut.expect(0, &["audit", "verify", &id]);
}

#[test]
fn any_version_can_be_had_and_what_is_not_there_is_told() {
    let (rebut, id) = with_debate(&journal(&json!({"winner": "ada"}), &three_versions()));
    let id = &id[..8];
    for (args, expected) in [
        (&["code", id][..], MENDED),
        (&["code", id, "--version", "1"], FIRST),
        (&["code", id, "--candidate", "bob"], OTHER),
        (&["code", "last", "--candidate", "ada"], MENDED),
    ] {
        assert_eq!(rebut.expect(0, args), expected, "{args:?}");
    }
    let diff = rebut.expect(0, &["code", id, "--diff", "1..3"]);
    assert!(
        diff.starts_with("--- version 1 (ada)\n+++ version 3 (ada)\n@@ -1,2 +1,4 @@\n"),
        "{diff}"
    );
    assert!(diff.contains("\n+    if not values:\n"), "{diff}");
    assert_eq!(
        rebut.expect(0, &["code", id, "--diff", "2..2"]),
        "",
        "nothing changed"
    );
    let found = rebut.json(0, &["code", id, "--version", "2", "--json"]);
    assert_eq!(
        (&found["candidate"], &found["won"], &found["code"]),
        (&json!("bob"), &json!(false), &json!(OTHER))
    );
    assert_eq!(found["tests"], json!({"passed": 0, "total": 3}));
    assert_eq!(found["versions"].as_array().map(Vec::len), Some(3));
    let rows: &[(&[&str], &str)] = &[
        (&["code", id, "--version", "9"], "no version 9"),
        (&["code", id, "--candidate", "eve"], "no candidate `eve`"),
        (&["code", id, "--diff", "1"], "names no two versions"),
        (&["code", id, "--diff", "1..x"], "names no two versions"),
        (&["code", id, "--diff", "1..9"], "no version 9"),
        (
            &["code", id, "--version", "1", "--candidate", "ada"],
            "cannot be used with",
        ),
        (&["code", id, "--force"], "--apply"),
        (&["code", "nonesuch"], "rebut ls"),
    ];
    for (args, expected) in rows {
        let refused = rebut.run(args);
        assert_eq!(refused.code, 2, "{args:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains(expected),
            "{args:?}: {}",
            refused.stderr
        );
    }
    assert!(
        rebut
            .run(rows[0].0)
            .stderr
            .contains("1 (ada), 2 (bob), 3 (ada)"),
        "it says what there is"
    );
}

#[test]
fn without_a_winner_none_is_made_up() {
    for result in [
        json!({}),
        json!({"winner": null}),
        json!({"winner": "eve"}),
        json!({"code": "something else"}),
    ] {
        let (rebut, id) = with_debate(&journal(&result, &three_versions()));
        let refused = rebut.run(&["code", &id]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{result}");
        assert!(
            refused.stderr.contains("no code has won") && refused.stderr.contains("--version N"),
            "{}",
            refused.stderr
        );
        rebut.expect(0, &["code", &id, "--version", "1"]);
    }
    // What won is the very code, also where its candidate wrote more afterwards.
    let (rebut, id) = with_debate(&journal(
        &json!({"winner": {"candidate": "ada"}, "code": FIRST}),
        &three_versions(),
    ));
    assert_eq!(rebut.expect(0, &["code", &id]), FIRST);
    let (rebut, id) = with_debate(&journal(&json!({}), &[]));
    assert!(rebut.run(&["code", &id]).stderr.contains("has no code"));
}

#[test]
fn a_file_is_written_only_when_asked_and_never_lost() {
    let (rebut, id) = with_debate(&journal(&json!({"winner": "ada"}), &three_versions()));
    let files = || fs::read_dir(rebut.path("")).expect("a directory").count();
    rebut.expect(0, &["code", &id]);
    assert_eq!(files(), 1, "nothing but the journal is there");
    rebut.expect(0, &["code", &id, "--version", "1", "--apply"]);
    assert_eq!(rebut.read("solution.py"), FIRST);
    rebut.expect(0, &["code", &id, "--apply", "solution.py"]);
    assert_eq!(
        rebut.read("solution.py"),
        MENDED,
        "an older version of the same debate is replaced"
    );
    rebut.write("solution.py", "# mine\n");
    let refused = rebut.run(&["code", &id, "--apply", "solution.py"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("--force") && refused.stderr.contains("solution.py"),
        "{}",
        refused.stderr
    );
    assert_eq!(rebut.read("solution.py"), "# mine\n");
    rebut.expect(0, &["code", &id, "--apply", "solution.py", "--force"]);
    assert_eq!(rebut.read("solution.py"), MENDED);
    rebut.write("precious.py", FIRST);
    std::os::unix::fs::symlink(rebut.path("precious.py"), rebut.path("link.py")).expect("a link");
    assert_eq!(
        rebut.run(&["code", &id, "--apply", "link.py"]).code,
        2,
        "a link may lead anywhere"
    );
    assert_eq!(rebut.read("precious.py"), FIRST);
    fs::create_dir(rebut.path("folder")).expect("a directory");
    for args in [
        &["--apply", "folder"][..],
        &["--apply", "folder", "--force"],
    ] {
        assert_ne!(rebut.run(&[&["code", &id][..], args].concat()).code, 0);
    }
    let hostile = "x = 1 # \u{202e}\u{1b}[31m\n";
    let (rebut, id) = with_debate(&journal(
        &json!({"winner": "eve"}),
        &[(1, "eve\u{1b}[0m", hostile, 0), (2, "eve", hostile, 0)],
    ));
    assert_eq!(
        rebut.expect(0, &["code", &id]),
        hostile,
        "a pipe has the very code"
    );
    let applied = rebut.run(&["code", &id, "--apply", "x.py"]);
    assert!(
        applied.stderr.contains("careful: x.py"),
        "{}",
        applied.stderr
    );
    let told = rebut.run(&["code", &id, "--version", "7"]);
    assert!(!told.stderr.contains('\u{1b}'), "{:?}", told.stderr);
    assert!(
        !rebut
            .expect(0, &["code", &id, "--diff", "1..2"])
            .contains('\u{1b}')
    );
}

#[test]
fn history_and_blame_come_from_the_journal_and_are_harmless() {
    let (rebut, id) = with_debate(&journal(&json!({"winner": "ada"}), &three_versions()));
    assert_eq!(
        rebut.expect(0, &["code", &id, "--history"]),
        "version 1  ada  proposal  1 of 3 tests passed  +2, the first\n\
         version 2  bob  proposal  0 of 3 tests passed  +2, the first\n\
         version 3  ada  proposal  3 of 3 tests passed  +3 -1  won\n"
    );
    let patch = rebut.expect(0, &["code", &id, "--history", "--patch"]);
    assert!(
        patch.ends_with("    +    return sorted(values)[len(values) // 2]\n")
            && patch.contains("    --- version 1 (ada)\n"),
        "{patch}"
    );
    assert_eq!(
        rebut.expect(0, &["code", &id, "--blame"]),
        "version 1  ada     1  def middle(values):\n\
         version 3  ada     2      if not values:\n\
         version 3  ada     3          return None\n\
         version 3  ada     4      return sorted(values)[len(values) // 2]\n"
    );
    for (args, expected) in [
        (["--version", "2"], "version 2  bob     1  def"),
        (["--candidate", "bob"], "version 2  bob     1  def"),
    ] {
        let said = rebut.expect(0, &[&["code", &id, "--blame"][..], &args].concat());
        assert!(said.starts_with(expected), "{said}");
    }
    let told = rebut.json(0, &["code", &id, "--history", "--json"]);
    let first = json!({"version": 1, "candidate": "ada", "author": "ada", "phase": "proposal", "turn": "proposal 1/ada", "quality": null,
        "tests": {"passed": 1, "total": 3}, "added": 2, "removed": 0, "won": false});
    assert_eq!((&told[0], &told[2]["won"]), (&first, &json!(true)));
    let told = rebut.json(0, &["code", &id, "--blame", "--json"]);
    assert_eq!(
        told["lines"][1],
        json!({"version": 3, "author": "ada", "text": "    if not values:"})
    );
    for args in [
        &["--history", "--blame"][..],
        &["--history", "--version", "1"],
        &["--patch"],
        &["--blame", "--apply", "x"],
    ] {
        assert_eq!(
            rebut.run(&[&["code", &id][..], args].concat()).code,
            2,
            "{args:?}"
        );
    }
    assert_eq!(
        rebut.run(&["code", &id, "--blame", "--version", "9"]).code,
        2
    );

    let hostile = "x = 1 # \u{202e}\u{1b}[31m\u{2028}\r\ny\n";
    let (rebut, id) = with_debate(&journal(
        &json!({}),
        &[
            (1, "e\u{1b}]0;x\u{7}ve", "x\n", 0),
            (2, "e\u{1b}]0;x\u{7}ve", hostile, 0),
        ],
    ));
    for args in [
        &["--history", "--patch"][..],
        &["--blame", "--version", "2"],
    ] {
        let said = rebut.expect(0, &[&["code", &id][..], args].concat());
        assert!(
            !said
                .chars()
                .any(|c| c != '\n' && rebut_engine::clean::is_hostile(c)),
            "{said:?}"
        );
    }
}

#[test]
fn every_version_becomes_a_commit_of_a_branch_and_the_checkout_stays() {
    let (mut rebut, id) = with_debate(&journal(&json!({"winner": "ada"}), &three_versions()));
    rebut.set("PATH", &std::env::var("PATH").expect("a path"));
    let outside = rebut.run(&["code", &id, "--branch"]);
    assert!(
        outside.code != 0 && outside.stderr.contains("git repository"),
        "{}",
        outside.stderr
    );
    let git = |args: &[&str]| {
        let identity = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
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
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    rebut.write("mine.py", "# not committed\n");
    let said = rebut.expect(0, &["code", &id, "--branch", "src/middle.py"]);
    let branch = format!("debate/{id}");
    assert!(
        said.starts_with(&format!("{branch}\n"))
            && said.contains(" Version 3 of ada, proposal: 3 of 3 tests passed\n"),
        "{said}"
    );
    assert_eq!(git(&["show", &format!("{branch}:src/middle.py")]), MENDED);
    assert_eq!(
        git(&["log", "--format=%s", &branch]).lines().count(),
        5,
        "three versions and the winner"
    );
    assert_eq!(
        git(&["diff", "--name-only", "main", &branch]),
        "src/middle.py\n"
    );
    let blame = git(&["blame", &branch, "--", "src/middle.py"]);
    assert!(blame.lines().all(|line| line.contains("(ada ")), "{blame}");
    assert_eq!(
        (
            git(&["branch", "--show-current"]).trim(),
            rebut.path("src").exists()
        ),
        ("main", false)
    );
    assert_eq!(
        fs::read_dir(rebut.state().join("worktrees"))
            .expect("a directory")
            .count(),
        0,
        "the worktree is gone"
    );
    let again = rebut.run(&["code", &id, "--branch"]);
    assert!(
        again.code == 2 && again.stderr.contains(&format!("git branch -D {branch}")),
        "{}",
        again.stderr
    );
    let outside = rebut.run(&["code", &id, "--branch", "../x.py"]);
    assert!(
        outside.code == 2 && outside.stderr.contains("cannot be the name"),
        "{}",
        outside.stderr
    );
}
