//! `kill -9` at many moments: `resume` ends as if nothing had happened, and asks nothing twice that is recorded.

use crate::rebut::{Rebut, case, script_of, split_then_c};
use serde_json::Value;
use std::{collections::HashMap, fmt::Debug};

#[test]
fn a_killed_debate_is_resumed_without_asking_again() {
    let whole = Rebut::new();
    whole.write("debate.md", &script_of(&split_then_c()));
    let expected = whole.json(0, &case(&["--json"]));
    let transcript = whole.expect(0, &["show", expected["debate_id"].as_str().expect("an id"), "--transcript"]);

    // Event 19 is the last before the judge that never answers.
    for last_seen in [1, 2, 5, 6, 8, 13, 14, 17, 19] {
        let rebut = Rebut::new();
        let mut stuck = split_then_c();
        stuck.last_mut().expect("six turns").1 = "!timeout".to_owned();
        rebut.write("debate.md", &script_of(&stuck));
        let mut run = rebut.start(&case(&[]));
        if last_seen > 1 {
            run.until(|event| event["seq"] == last_seen);
        }
        let id = run.id.clone();
        run.kill();
        let recorded = completed(&rebut.events(&id));

        rebut.write("debate.md", &script_of(&split_then_c()));
        let resumed = rebut.json(0, &["resume", &id[..8], "--json"]);
        assert_eq!((&resumed["result"], &resumed["outcome"]), (&expected["result"], &expected["outcome"]), "killed at {last_seen}");
        assert_eq!(rebut.expect(0, &["show", &id, "--transcript"]), transcript, "killed at {last_seen}");
        check_turns(&rebut.events(&id), &recorded, &last_seen);
        rebut.expect(0, &["audit", "verify", &id]);
        rebut.expect(0, &["replay", &id]);
        assert_eq!(rebut.run(&["resume", &id]).code, 2, "it has ended");
    }
}

/// Each turn is completed once; asked twice only where the first call was in flight, and then it says so.
pub fn check_turns(events: &[Value], recorded_before_kill: &[String], killed_at: &dyn Debug) {
    let mut asked: HashMap<String, Vec<bool>> = HashMap::new();
    for event in events.iter().filter(|event| event["type"] == "turn.started") {
        asked.entry(turn(event)).or_default().push(event["data"]["possibly_paid_twice"] == true);
    }
    let mut done = completed(events);
    done.sort();
    let mut names: Vec<String> = asked.keys().cloned().collect();
    names.sort();
    assert_eq!(done, names, "killed at {killed_at:?}: every turn is completed exactly once");
    for (turn, marks) in asked {
        let (first, again) = marks.split_first().expect("asked at least once");
        assert!(!first && again.iter().all(|mark| *mark), "killed at {killed_at:?}: {turn} was asked again without a mark");
        assert!(again.is_empty() || !recorded_before_kill.contains(&turn), "killed at {killed_at:?}: {turn} was recorded and asked again");
    }
}

/// The turns that are completed.
pub fn completed(events: &[Value]) -> Vec<String> {
    events.iter().filter(|event| event["type"] == "turn.completed").map(turn).collect()
}

fn turn(event: &Value) -> String {
    event["data"]["turn"].as_str().expect("a turn's name").to_owned()
}
