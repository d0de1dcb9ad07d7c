//! Several processes and one debate: watch, note, cancel, and nobody runs it twice.

use crate::rebut::{Rebut, case, recommends, responds, script};
use rebut_testkit::openai_server::{Behaviour, OpenAiServer};
use std::sync::{
    Arc, Condvar, Mutex,
    atomic::{AtomicBool, Ordering},
};

/// Closed until it is opened once.
#[derive(Default)]
struct Barrier(Mutex<bool>, Condvar);

impl Barrier {
    fn open(&self) {
        *self.0.lock().expect("no panic inside") = true;
        self.1.notify_all();
    }

    /// Opened also when the test fails, since the server would wait for ever otherwise.
    fn opened_at_the_end(self: &Arc<Self>) -> impl Drop {
        struct Opener(Arc<Barrier>);
        impl Drop for Opener {
            fn drop(&mut self) {
                self.0.open();
            }
        }
        Opener(self.clone())
    }

    fn wait(&self) {
        drop(
            self.1
                .wait_while(self.0.lock().expect("no panic inside"), |open| !*open)
                .expect("no panic inside"),
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn another_process_can_watch_and_note_but_not_run_it() {
    let (barrier, noted) = (
        Arc::new(Barrier::default()),
        Arc::new(AtomicBool::new(false)),
    );
    let _opener = barrier.opened_at_the_end();
    let (held, heard) = (barrier.clone(), noted.clone());
    let server = OpenAiServer::start(move |_, seen| {
        if seen.body.contains("The panel did not agree") {
            heard.store(
                seen.body.contains("the night shift counts double"),
                Ordering::SeqCst,
            );
            return Behaviour::Say(responds("C", &[]));
        }
        held.wait();
        Behaviour::Say(recommends("C"))
    })
    .await
    .expect("a server");
    let rebut = Rebut::new();
    rebut.trusted_config(&format!(
        "[providers.mine]\nbase_url = \"{}\"\n",
        server.base_url()
    ));
    rebut.write(
        "debate.md",
        &script(&[
            ("recommend/risk", &recommends("A")),
            ("recommend/value", &recommends("B")),
            ("challenge 2/risk", &responds("C", &["J3#1"])),
            ("challenge 2/value", &responds("B", &[])),
        ]),
    );
    let run = rebut.start(&case(&["-m", "effort=mine:slow"]));
    let id = run.id.clone();
    let mut watcher = rebut.start(&["watch", &id]);
    watcher.until(|event| event["type"] == "turn.completed");

    let held = rebut.run(&["resume", &id]);
    assert_eq!(held.code, 1, "{}", held.stderr);
    assert!(
        held.stderr.contains("`rebut watch ID` follows it"),
        "{}",
        held.stderr
    );
    for forbidden in [
        &["rm", &id][..],
        &["audit", "redact", &id, "2", "--reason", "x"],
    ] {
        let refused = rebut.run(forbidden);
        assert_ne!(
            refused.code, 0,
            "{forbidden:?} while another process runs the debate"
        );
    }
    rebut.expect(0, &["note", &id, "the night shift counts double"]);
    watcher.until(|event| event["type"] == "human.noted");
    barrier.open();
    let end = watcher.until(|event| event["type"] == "debate.completed");
    assert_eq!(end["data"]["outcome"], "consensus");
    assert_eq!(watcher.finish().0, 0);
    assert_eq!(run.finish().0, 0);
    assert!(noted.load(Ordering::SeqCst), "round 2 heard the note");
    rebut.expect(0, &["replay", &id]);
    rebut.expect(0, &["audit", "verify", &id]);
}

#[test]
fn another_process_can_cancel_it() {
    let rebut = Rebut::new();
    rebut.write(
        "debate.md",
        &script(&[("*/risk", &recommends("A")), ("*", "!timeout")]),
    );
    let mut run = rebut.start(&case(&[]));
    let id = run.id.clone();
    run.until(|event| event["type"] == "turn.completed");
    rebut.expect(0, &["cancel", &id[..8], "--reason", "no longer needed"]);
    let (code, stderr) = run.finish();
    assert_eq!(code, 130, "{stderr}");
    assert!(
        stderr.contains("cancelled by tester: no longer needed"),
        "{stderr}"
    );
    assert_eq!(
        rebut.json(0, &["show", &id, "--json"])["outcome"],
        "cancelled"
    );
    rebut.expect(0, &["audit", "verify", &id]);

    // A debate whose process died is ended by the one who cancels.
    let run = rebut.start(&case(&[]));
    let id = run.id.clone();
    run.kill();
    rebut.expect(0, &["cancel", &id]);
    assert_eq!(
        rebut.json(0, &["show", &id, "--json"])["outcome"],
        "cancelled"
    );
}

#[test]
fn a_debate_whose_process_died_is_told_from_one_that_runs() {
    let rebut = Rebut::new();
    rebut.write(
        "debate.md",
        &script(&[("*/risk", &recommends("A")), ("*", "!timeout")]),
    );
    let mut run = rebut.start(&case(&[]));
    let id = run.id.clone();
    run.until(|event| event["type"] == "turn.completed");
    let status = || rebut.json(0, &["ls", "--json"])[0]["status"].clone();
    assert_eq!(status(), "running");
    let mut watcher = rebut.start(&["watch", &id]);
    watcher.until(|event| event["type"] == "turn.completed");
    run.kill();
    let (code, said) = watcher.finish();
    let hint = format!("go on with: rebut resume {}", &id[..8]);
    assert!(code == 130 && said.contains(&hint), "{code}: {said}");
    let late = rebut.run(&["watch", &id]);
    assert!(
        late.code == 130 && late.stderr.contains(&hint),
        "{}",
        late.stderr
    );
    assert_eq!(status(), "interrupted");
    let list = rebut.run(&["ls"]);
    assert!(
        list.stdout.contains("interrupted") && list.stderr.contains(&hint),
        "{}\n{}",
        list.stdout,
        list.stderr
    );
    for (status, count) in [("running", 0), ("interrupted", 1), ("paused", 0)] {
        assert_eq!(
            rebut
                .json(0, &["ls", "--status", status, "--json"])
                .as_array()
                .map(Vec::len),
            Some(count),
            "{status}"
        );
    }
    let shown = rebut.expect(0, &["show", &id]);
    assert!(
        shown.contains("risk    answered, not counted yet: ")
            && shown.contains("value   asked, no answer yet"),
        "{shown}"
    );

    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    assert_eq!(rebut.run(&["resume", &id]).code, 0);
    assert_eq!(status(), "completed");
    assert_eq!(rebut.run(&["watch", &id]).code, 0);

    // As if ten years had passed before somebody went on: they are not the debate's.
    let events = rebut.events(&id);
    let resumed = events
        .iter()
        .find(|event| event["type"] == "debate.resumed")
        .expect("a resumption")["seq"]
        .as_i64();
    let database = rusqlite::Connection::open(rebut.data().join("rebut.db")).expect("the database");
    let later = "UPDATE events SET ts = (substr(ts, 1, 4) + 10) || substr(ts, 5) WHERE seq >= ?1";
    assert!(database.execute(later, [resumed]).expect("valid SQL") > 1);
    drop(database);
    let shown = rebut.expect(0, &["show", &id]);
    let seconds = shown
        .split(" · ")
        .find_map(|part| part.strip_suffix(" s"))
        .and_then(|number| number.parse::<f64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds < 1e6), "{shown}");
}

/// Another program, such as `sqlite3`, holds the database for long: no disk is to blame, and what
/// was under way is named.
#[test]
fn a_locked_database_is_called_locked() {
    let rebut = Rebut::new();
    rebut.write(
        "debate.md",
        &script(&[
            ("*/risk", &recommends("A")),
            ("*", &format!("!delay 700ms\n{}", recommends("A"))),
        ]),
    );
    let ended = rebut.json(0, &case(&["--json"]))["debate_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let mut run = rebut.start(&case(&["-q"]));
    run.until(|event| event["type"] == "turn.completed");
    let database = rusqlite::Connection::open(rebut.data().join("rebut.db")).expect("the database");
    database.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    // All of them wait at the same time.
    let waiting = [case(&[]), vec!["rm", &ended]].map(|args| {
        let piped = std::process::Stdio::piped;
        rebut
            .command(&args)
            .stdout(piped())
            .stderr(piped())
            .spawn()
            .expect("the program starts")
    });
    let said = |stderr: &str| {
        stderr.contains("another program holds the database") && !stderr.contains("free the disk")
    };
    for child in waiting {
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(1) && said(&stderr) && stderr.contains("try again"),
            "{stderr}"
        );
    }
    let id = run.id.clone();
    let (code, stderr) = run.finish();
    assert!(
        code == 1
            && said(&stderr)
            && stderr.contains(&format!("go on with: rebut resume {}", &id[..8])),
        "{stderr}"
    );
    database
        .execute_batch("ROLLBACK")
        .expect("the lock is given back");
    rebut.expect(0, &["resume", &id]);
}
