//! A data folder in a project: what rebut made there for this user is used, what came with the project waits for trust.

use crate::rebut::{Rebut, recommends, script};
use std::fs;

const ASK: &[&str] =
    &["--data", "debates", "decide", "Offline?", "-O", "A=Yes", "-O", "B=No", "-m", "script:agree.md", "--judges", "risk,value,effort"];

/// A project with a data folder that another user made: a stopped debate, a webhook, a key.
fn project() -> Rebut {
    let mut rebut = Rebut::new();
    rebut.write("agree.md", &script(&[("*", &recommends("A"))]));
    let author = rebut.path("../author");
    fs::create_dir(&author).expect("a home");
    rebut.set("HOME", &author.display().to_string());
    assert_ne!(rebut.run(&[ASK, &["--max-calls", "1"]].concat()).code, 0, "it stops at its limit");
    rebut.expect(0, &["--data", "debates", "webhooks", "add", "https://collect.example/all"]);
    rebut.expect(0, &["--data", "debates", "keys", "add", "theirs", "--owner", "author"]);
    rebut.expect(0, &["--data", "debates", "ls"]);
    rebut.set("HOME", &rebut.path("..").display().to_string());
    rebut
}

#[test]
fn what_came_with_a_project_is_opened_once_it_is_trusted() {
    let rebut = project();
    let commands: &[&[&str]] = &[&["ls"], &["resume", "last"], &["serve", "--listen", "127.0.0.1:0"], &["keys", "ls"], &["doctor"]];
    for command in commands {
        let refused = rebut.run(&[&["--data", "debates"], *command].concat());
        assert_eq!(refused.code, 2, "{command:?}: {refused:?}");
        assert!(refused.stderr.contains("the data folder debates is not empty and was not made by you"), "{command:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("rebut trust --data debates"), "{command:?}: {}", refused.stderr);
    }
    let unasked = rebut.run(&["--data", "debates", "trust"]);
    assert!(unasked.code == 2 && unasked.stderr.contains("rebut trust --yes --data debates"), "{unasked:?}");
    let asked = rebut.json(0, &["--data", "debates", "trust", "--json"]);
    let keys: Vec<&str> = asked["powers"].as_array().expect("a list").iter().filter_map(|power| power["key"].as_str()).collect();
    assert_eq!((keys, &asked["trusted"]), (vec!["debates", "webhooks", "server.keys"], &false.into()), "{asked}");
    let text = asked.to_string();
    for told in ["is open: Offline?", "https://collect.example/all", "`theirs` of author"] {
        assert!(text.contains(told), "{told}: {text}");
    }

    rebut.expect(0, &["--data", "debates", "trust", "--yes"]);
    assert!(rebut.expect(0, &["--data", "debates", "ls"]).contains("Offline?"));
    assert!(rebut.expect(0, &["trust", "--list"]).contains("/debates\n    debates: "));
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
        assert!(rebut.expect(0, &["--data", data, "ls"]).contains("Offline?"), "{data}");
    }
    fs::write(rebut.path("debates/seal.key"), "00".repeat(32)).expect("another key");
    let refused = rebut.run(&["--data", "debates", "ls"]);
    assert!(refused.code == 2 && refused.stderr.contains("another sealing key"), "{refused:?}");
}

#[test]
fn many_first_commands_at_once_are_all_at_home() {
    let rebut = Rebut::new();
    rebut.write("agree.md", &script(&[("*", &recommends("A"))]));
    let started: Vec<_> = (0..6).map(|_| rebut.command(ASK).stderr(std::process::Stdio::piped()).spawn().expect("it starts")).collect();
    for child in started {
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    }
}
