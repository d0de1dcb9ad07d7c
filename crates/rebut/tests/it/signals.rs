//! Ctrl-C and SIGTERM: once finishes what is under way and saves, twice stops at once.

use crate::rebut::{Rebut, case, recommends, script, script_of, split_then_c};
use std::process::Stdio;

#[test]
fn an_interrupted_debate_is_saved_and_can_be_resumed() {
    for signal in ["INT", "TERM"] {
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
        assert!(stderr.contains(&format!("rebut resume {}", &id[..8])), "{signal}: {stderr}");
        let kinds: Vec<String> = rebut.events(&id).iter().map(|event| event["type"].as_str().unwrap_or_default().to_owned()).collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "turn.completed").count(), 3, "{signal}: turns under way were finished");
        assert_eq!(kinds.last().map(String::as_str), Some("debate.paused"), "{signal}");
        assert_eq!(rebut.json(0, &["ls", "--status", "paused", "--json"])[0]["id"], id.as_str());
        rebut.expect(0, &["audit", "verify", &id]);
        let resumed = rebut.json(0, &["resume", &id, "--json"]);
        assert_eq!((&resumed["outcome"], &resumed["usage"]["calls"]), (&"consensus".into(), &6.into()), "{signal}");
    }
}

#[test]
fn a_second_interruption_stops_at_once() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script(&[("*/risk", &recommends("A")), ("*", "!timeout")]));
    let mut run = rebut.start(&case(&[]));
    let id = run.id.clone();
    run.until(|event| event["type"] == "turn.completed");
    run.signal("INT");
    run.await_stderr("finishing the turns under way");
    run.signal("INT");
    let (code, stderr) = run.finish();
    assert_eq!(code, 130, "{stderr}");
    assert!(stderr.contains(&format!("stopped; go on with: rebut resume {}", &id[..8])), "{stderr}");
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    assert_eq!(rebut.json(0, &["resume", &id, "--json"])["usage"]["possibly_paid_twice"].as_array().map(Vec::len), Some(2));
}

#[test]
fn who_stops_listening_does_not_end_a_debate() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    let mut child = rebut.command(&case(&["--json"])).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("rebut");
    drop(child.stderr.take());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0));
    let ended: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(ended["outcome"], "consensus");
}
