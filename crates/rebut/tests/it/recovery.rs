//! A thousand debates in flight when their server is killed: the next one ends them all, asks
//! nothing again that is recorded, and whoever watched sees every event once.

use crate::{
    crash::{check_turns, completed},
    following::Follower,
    panel_of_three::{Panel, Turn, debate, is_split},
    served::Served,
};
use rebut_testkit::processes::allow_open_files;
use serde_json::Value;
use std::collections::HashMap;

const DEBATES: usize = 1_000;

/// Debates wait at different points: for everybody, for the last of the first round, for the last
/// of the second.
fn holds((number, turn): &Turn) -> bool {
    let last = if is_split(*number) {
        "challenge 2/effort"
    } else {
        "recommend/effort"
    };
    turn == last || number % 3 == 2
}

/// Calls that leave before the first answer that is held.
fn calls(number: usize) -> usize {
    if is_split(number) { 6 } else { 3 }
}

/// Starts them all, from several clients at once; their ids by number.
fn begin_all(served: &Served) -> Vec<String> {
    const CLIENTS: usize = 8;
    let mut ids = vec![String::new(); DEBATES];
    std::thread::scope(|scope| {
        for (part, ids) in ids.chunks_mut(DEBATES / CLIENTS).enumerate() {
            let first = part * (DEBATES / CLIENTS);
            scope.spawn(move || {
                ids.iter_mut()
                    .zip(first..)
                    .for_each(|(id, number)| *id = served.begin(&debate(number)))
            });
        }
    });
    ids
}

/// Nothing recorded was asked again: as often as the journal says, it was asked for, and twice only
/// what was in flight at the kill.
pub fn check(number: usize, events: &[Value], asked: &HashMap<Turn, usize>) {
    let resumed: Vec<usize> = events
        .iter()
        .enumerate()
        .filter(|(_, event)| event["type"] == "debate.resumed")
        .map(|(at, _)| at)
        .collect();
    assert_eq!(resumed.len(), 1, "debate {number} was gone on with once");
    check_turns(events, &completed(&events[..resumed[0]]), &number);
    assert_eq!(
        events.last().map(|event| &event["type"]),
        Some(&"debate.completed".into()),
        "debate {number}"
    );
    for turn in completed(events) {
        let started = events
            .iter()
            .filter(|event| {
                event["type"] == "turn.started" && event["data"]["turn"] == turn.as_str()
            })
            .count();
        assert_eq!(
            asked.get(&(number, turn.clone())),
            Some(&started),
            "debate {number}: {turn}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_debates_in_flight_survive_a_kill() {
    allow_open_files(4_000);
    let mut panel = Panel::start(holds).await;
    let rebut = panel.installation("");
    let served = Served::start(&rebut, &[]);
    let ids = begin_all(&served);
    let mut followers: Vec<Follower> = ids
        .iter()
        .step_by(DEBATES / 20)
        .map(|id| Follower::new(id, &served))
        .collect();
    for (at, follower) in followers.iter_mut().enumerate() {
        // Every debate has this many before anything is held.
        for _ in 0..at % 4 {
            follower.next().expect("an event");
        }
    }
    panel.until_asked((0..DEBATES).map(calls).sum()).await;
    served.kill();
    panel.let_go();

    let mut served = Served::start(&rebut, &[]);
    for _ in 0..DEBATES {
        served.until("debate.completed");
    }
    for follower in &mut followers {
        follower.read_to_the_end(&served);
    }
    let asked = panel.asked();
    for (number, id) in ids.iter().enumerate() {
        check(number, &served.events(id), &asked);
        if number % 50 == 0 {
            assert_eq!(
                served
                    .ask("GET", &format!("/v1/debates/{id}/audit"), None)
                    .json()["ok"],
                true,
                "{id}"
            );
        }
    }
    served.signal("TERM");
    let (code, log) = served.finish();
    assert_eq!(code, 0);
    assert!(!log.contains("\"level\":\"error\""), "{log}");
}
