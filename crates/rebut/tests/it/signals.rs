//! Ctrl-C, SIGTERM and a terminal that was closed: once finishes what is under way and saves, twice
//! stops at once.

use crate::{
    rebut::{Rebut, case, recommends, script, script_of, split_then_c},
    served::Served,
};
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

#[test]
fn an_interrupted_debate_is_saved_and_can_be_resumed() {
    for signal in ["INT", "TERM", "HUP"] {
        let rebut = Rebut::new();
        let mut replies = split_then_c();
        for slow in [1, 2] {
            replies[slow].1 = format!("!delay 700ms\n{}", replies[slow].1);
        }
        rebut.write("debate.md", &script_of(&replies));
        let mut run = rebut.start(&case(&[]));
        let id = run.id.clone();
        run.until(|event| event["type"] == "turn.completed");
        run.signal(signal);
        let (code, stderr) = run.finish();
        assert_eq!(code, 130, "{signal}: {stderr}");
        assert!(
            stderr.contains(&format!("rebut resume {}", &id[..8])),
            "{signal}: {stderr}"
        );
        let kinds: Vec<String> = rebut
            .events(&id)
            .iter()
            .map(|event| event["type"].as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(
            kinds
                .iter()
                .filter(|kind| *kind == "turn.completed")
                .count(),
            3,
            "{signal}: turns under way were finished"
        );
        assert_eq!(
            kinds.last().map(String::as_str),
            Some("debate.paused"),
            "{signal}"
        );
        assert_eq!(
            rebut.json(0, &["ls", "--status", "paused", "--json"])[0]["id"],
            id.as_str()
        );
        rebut.expect(0, &["audit", "verify", &id]);
        let resumed = rebut.json(0, &["resume", &id, "--json"]);
        assert_eq!(
            (&resumed["outcome"], &resumed["usage"]["calls"]),
            (&"consensus".into(), &6.into()),
            "{signal}"
        );
    }
}

/// `nohup` starts a program deaf to the signal of a terminal that was closed, and so it stays.
#[test]
fn who_was_started_to_outlive_its_terminal_does() {
    let rebut = Rebut::new();
    let mut replies = split_then_c();
    replies[2].1 = format!("!delay 700ms\n{}", replies[2].1);
    rebut.write("debate.md", &script_of(&replies));
    let mut run = rebut.start_by(
        "/bin/sh",
        &["-c", "trap '' HUP; exec \"$@\"", "sh"],
        &case(&[]),
    );
    run.until(|event| event["type"] == "turn.completed");
    run.signal("HUP");
    let last = run.until(|event| event["type"] == "debate.completed");
    assert_eq!(last["data"]["outcome"], "consensus");
    assert_eq!(run.finish().0, 0);
}

/// A server lets go of its debates as it does when it is asked to end.
#[test]
fn a_server_whose_terminal_is_closed_stops_as_if_asked_to() {
    let rebut = Rebut::new();
    let served = Served::start(&rebut, &[]);
    served.signal("HUP");
    let (code, log) = served.finish();
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("\"stopped\""), "{log}");
}

#[test]
fn a_second_interruption_stops_at_once() {
    let rebut = Rebut::new();
    rebut.write(
        "debate.md",
        &script(&[("*/risk", &recommends("A")), ("*", "!timeout")]),
    );
    let mut run = rebut.start(&case(&[]));
    let id = run.id.clone();
    run.until(|event| event["type"] == "turn.completed");
    run.signal("INT");
    run.await_stderr("finishing the turns under way");
    run.signal("INT");
    let (code, stderr) = run.finish();
    assert_eq!(code, 130, "{stderr}");
    assert!(
        stderr.contains(&format!("stopped; go on with: rebut resume {}", &id[..8])),
        "{stderr}"
    );
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    assert_eq!(
        rebut.json(0, &["resume", &id, "--json"])["usage"]["possibly_paid_twice"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

/// An agent program with descendants, one of which has left its group. All hold a pipe: when its
/// end comes, none of them is left.
fn clinging(rebut: &Rebut) -> PathBuf {
    let pipe = rebut.path("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo, of coreutils")
            .success()
    );
    rebut.user_config("[clis.mine]\nargs = []\nstdin = \"always\"\n");
    let survive = "/bin/sleep 60; echo survived >&3";
    let script = format!(
        "exec 3>'{}'\n({survive}) &\n/usr/bin/setsid /bin/sh -c '{survive}' &\necho started \
         >&3\n{survive}",
        pipe.display()
    );
    rebut.program("mine", &script);
    rebut.write("debate.md", &script_of(&[("*", "!timeout".to_owned())]));
    pipe
}

/// Kills the process that keeps that one.
fn kill_keeper_of(process: u32) {
    let words = format!("__keeper\0{process}\0");
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let is_it = |path: &Path| {
        fs::read(path.join("cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&words))
    };
    let found: Vec<PathBuf> = processes
        .map(|entry| entry.path())
        .filter(|path| is_it(path))
        .collect();
    let [keeper] = &found[..] else {
        panic!("one keeper, not {found:?}")
    };
    let number = keeper
        .file_name()
        .expect("a number")
        .to_string_lossy()
        .into_owned();
    assert!(
        Command::new("sh")
            .args(["-c", &format!("kill -KILL {number}")])
            .status()
            .expect("a shell")
            .success()
    );
}

#[test]
fn agent_programs_do_not_outlive_rebut() {
    for how in ["interrupted twice", "killed", "killed with its keeper"] {
        let rebut = Rebut::new();
        let pipe = clinging(&rebut);
        let left = || {
            fs::read_dir(rebut.path("../tmp"))
                .expect("a directory")
                .flatten()
                .map(|entry| entry.path())
                .collect::<Vec<_>>()
        };
        let mut run = rebut.start(&case(&["-m", "risk=cli:mine"]));
        let mut pipe = BufReader::new(fs::File::open(pipe).expect("the program opens it too"));
        let mut said = String::new();
        pipe.read_line(&mut said).expect("a pipe");
        assert_eq!((said.as_str(), left().len()), ("started\n", 1), "{how}");
        if how == "interrupted twice" {
            run.signal("INT");
            run.await_stderr("finishing the turns under way");
            run.signal("INT");
            assert_eq!(run.finish().0, 130);
            assert_eq!(
                left(),
                Vec::<PathBuf>::new(),
                "everything is gone before rebut is"
            );
        } else {
            if how == "killed with its keeper" {
                kill_keeper_of(run.pid());
            }
            run.kill();
            if how == "killed" {
                pipe.read_to_string(&mut said)
                    .expect("the end of the pipe, which its keeper brings about");
            }
            // Then the directory may be gone by now, or be on its way.
            let next = rebut.run(&["doctor"]);
            let cleared = next.stderr.contains(
                "cleared up: what agent programs of a process that was killed had left (1 calls)",
            );
            assert!(cleared || how == "killed", "{}", next.stderr);
            for directory in left() {
                // Whoever clears up holds the lock until it is done.
                let Ok(directory) = fs::File::open(directory) else {
                    continue;
                };
                directory.lock().expect("a lock");
            }
            assert_eq!(left(), Vec::<PathBuf>::new(), "{how}");
        }
        pipe.read_to_string(&mut said).expect("the end of the pipe");
        assert_eq!(said, "started\n", "{how}: nobody survived");
    }
}

#[test]
fn who_stops_listening_does_not_end_a_debate() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    let mut child = rebut
        .command(&case(&["--json"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rebut");
    drop(child.stderr.take());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0));
    let ended: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(ended["outcome"], "consensus");
}
