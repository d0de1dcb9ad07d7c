//! Files that came with a project and are taken for something of the user's: journals by the names
//! of debates, links to what the user has, pipes that nobody writes to.

use crate::rebut::{Rebut, recommends, script};
use std::{fs, os::unix::fs::symlink, process::Command};

const ASK: &[&str] = &[
    "decide",
    "Mine?",
    "-O",
    "A=Yes",
    "-O",
    "B=No",
    "-m",
    "script:agree.md",
    "--judges",
    "risk,value,effort",
];

/// A user with a debate of their own, and a journal of somebody else's, by its path from the
/// working directory.
fn with_foreign_journal(name: &str) -> Rebut {
    let rebut = Rebut::new();
    rebut.write("agree.md", &script(&[("*", &recommends("A"))]));
    rebut.expect(0, &[ASK, &["--seed", "1"]].concat());
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/decide/journal.ndjson"
    );
    rebut.write(name, &fs::read_to_string(example).expect("an example"));
    rebut
}

#[test]
fn a_journal_named_like_a_debate_is_not_taken_for_it() {
    let rebut = with_foreign_journal("last");
    let id = rebut.json(0, &["show", "last", "--json"])["debate_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    fs::copy(rebut.path("last"), rebut.path(&id[..4])).expect("a file");
    for word in ["last", &id[..4]] {
        let replayed = rebut.expect(0, &["replay", word]);
        assert!(
            replayed.contains("Mine?") && !replayed.contains("field app"),
            "{word}: {replayed}"
        );
        let audits = rebut.json(0, &["audit", "verify", word, "--json"]);
        assert_eq!(audits[0]["debate_id"], id.as_str(), "{word}");
    }
    // A file is named as one: by a folder or an ending.
    assert!(rebut.expect(0, &["replay", "./last"]).contains("field app"));
    fs::copy(rebut.path("last"), rebut.path("journal")).expect("a file");
    for command in [&["replay", "journal"][..], &["audit", "verify", "journal"]] {
        let refused = rebut.run(command);
        assert!(
            refused.code == 2 && refused.stderr.contains("./journal"),
            "{command:?}: {refused:?}"
        );
    }
}

#[test]
fn what_a_user_names_is_not_read_through_a_link_and_a_pipe_is_not_waited_for() {
    let rebut = with_foreign_journal("../private/journal.ndjson");
    rebut.write("../private/token", "token");
    rebut.write("../private/agree.md", &rebut.read("agree.md"));
    rebut.write("../private/recorded.jsonl", "{}\n");
    for name in ["journal.ndjson", "token", "recorded.jsonl"] {
        symlink(format!("../private/{name}"), rebut.path(name)).expect("a link");
    }
    symlink("../private/agree.md", rebut.path("linked.md")).expect("a link");
    symlink("../private", rebut.path("folder")).expect("a link");
    for name in ["pipe.ndjson", "pipe.jsonl", "pipe.md"] {
        assert!(
            Command::new("mkfifo")
                .arg(rebut.path(name))
                .status()
                .expect("mkfifo is there")
                .success()
        );
    }
    let asked = |model| ["decide", "Mine?", "-O", "A=Yes", "-O", "B=No", "-m", model];
    let at_server = [
        "--server",
        "http://127.0.0.1:9",
        "--token-file",
        "token",
        "ls",
    ];
    let commands: &[(&[&str], &str)] = &[
        (&["replay", "journal.ndjson"], "is a link"),
        (&["replay", "folder/journal.ndjson"], "is a link"),
        (&["audit", "verify", "journal.ndjson"], "is a link"),
        (&["import", "journal.ndjson", "--trust"], "is a link"),
        (&["bench", "recorded", "recorded.jsonl"], "is a link"),
        (&asked("script:linked.md"), "is a link"),
        (&asked("script:folder/agree.md"), "is a link"),
        (&at_server, "is a link"),
        (&["replay", "pipe.ndjson"], "no regular file"),
        (&["import", "pipe.ndjson"], "no regular file"),
        (&["bench", "recorded", "pipe.jsonl"], "no regular file"),
        (&asked("script:pipe.md"), "no regular file"),
    ];
    for (command, why) in commands {
        // Whoever waits for a pipe would never end.
        let words: Vec<&str> = ["30", env!("CARGO_BIN_EXE_rebut")]
            .into_iter()
            .chain(command.iter().copied())
            .collect();
        let refused = rebut.run_by("/usr/bin/timeout", &words);
        assert!(
            refused.code != 0 && refused.code != 124 && refused.stderr.contains(why),
            "{command:?}: {refused:?}"
        );
    }
}

#[test]
fn a_script_that_became_a_link_is_not_read_when_its_debate_goes_on() {
    let rebut = Rebut::new();
    rebut.write("agree.md", &script(&[("*", &recommends("A"))]));
    rebut.write("../private/agree.md", &script(&[("*", &recommends("B"))]));
    assert_eq!(
        rebut.run(&[ASK, &["--max-calls", "1"]].concat()).code,
        5,
        "it stops at its limit"
    );
    fs::remove_file(rebut.path("agree.md")).expect("gone");
    symlink("../private/agree.md", rebut.path("agree.md")).expect("a link");
    let refused = rebut.run(&["resume", "last", "--max-calls", "50"]);
    assert!(
        refused.code != 0 && refused.stderr.contains("is a link"),
        "{refused:?}"
    );
    assert!(
        !rebut
            .holding("B is best")
            .iter()
            .any(|file| file.starts_with(rebut.data())),
        "nothing of it is kept"
    );
}
