//! Two PostgreSQL with streaming replication: the primary dies, and a standby that lacks its last
//! commits takes its place under live debates. None is stuck, damaged or stolen, no cancel is
//! ignored, and nothing is asked twice.

use crate::{
    panel_of_three::{Panel, Turn, debate, is_split, number_of},
    served::Served,
};
use rebut_testkit::postgres::Cluster;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const DEBATES: usize = 60;

/// Those of the first half the standby knows in part, those of the second not at all.
const KNOWN: usize = 30;

/// Of a third node, which dies with the primary.
const ORPHAN: usize = 900;

/// All wait for the last of the first round; in the first half the one before it waits too, until
/// the standby is cut off.
fn holds((number, turn): &Turn) -> bool {
    turn == "recommend/effort" && *number != ORPHAN
        || *number == ORPHAN && turn == "recommend/value"
}

fn count(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["type"] == kind).count()
}

fn metric(served: &Served, name: &str) -> u64 {
    let text = served.ask("GET", "/metrics", None).body;
    let values = text
        .lines()
        .filter(|line| line.starts_with(name))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    values.sum()
}

/// Asks until the database is back.
fn persistently(node: &Served, method: &str, path: &str) -> u16 {
    loop {
        let answer = node.ask(method, path, None);
        if answer.status != 503 {
            return answer.status;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_debates_survive_the_promotion_of_a_standby_that_lacks_commits() {
    let primary = Cluster::start();
    let url = primary.database();
    let standby = primary.standby();
    let mut panel = Panel::start(holds).await;
    let mut rebut = panel.installation("lease_seconds = 5");
    rebut.set("REBUT_DATABASE", &primary.or(&url, &standby));
    let mut nodes = [Served::start(&rebut, &[]), Served::start(&rebut, &[])];
    let dying = Served::start(&rebut, &[]);
    let orphan = dying.begin(&debate(ORPHAN));
    let mut ids: Vec<String> = (0..KNOWN)
        .map(|number| nodes[number % 2].begin(&debate(number)))
        .collect();
    panel.until_asked(3 * KNOWN).await;
    standby.follow(&primary);
    standby.cut_off();
    // From here on the standby learns nothing: neither of these, nor of what is said in the others.
    ids.extend((KNOWN..DEBATES).map(|number| nodes[number % 2].begin(&debate(number))));
    for id in &ids[..KNOWN] {
        let noted = nodes[1].ask(
            "POST",
            &format!("/v1/debates/{id}/notes"),
            Some(&serde_json::json!({"text": "the night shift counts"})),
        );
        assert!(noted.status < 300, "{noted:?}");
    }
    panel.until_asked(3 * DEBATES + 2).await;
    dying.kill();
    primary.crash();
    standby.promote();

    // Cancelled at once, each at the node that does not run it: whatever its journal is there at
    // that moment, the cancel holds.
    let cancelled: BTreeSet<usize> = (0..DEBATES)
        .step_by(10)
        .filter(|number| {
            let status = persistently(
                &nodes[(number + 1) % 2],
                "POST",
                &format!("/v1/debates/{}/cancel", ids[*number]),
            );
            // What the standby never heard of is not there until its runner has written it again.
            assert!(
                status < 300 || (status == 404 && *number >= KNOWN),
                "{number}: {status}"
            );
            status < 300
        })
        .collect();
    // The dead node's debate is taken over. Whoever did that could have taken any other, had its
    // lease run out.
    while !nodes[0]
        .ask("GET", &format!("/v1/debates/{orphan}/events"), None)
        .body
        .contains("\"debate.resumed\"")
    {}
    panel.let_go();

    let mut endings: BTreeMap<String, usize> = BTreeMap::new();
    for (number, id) in ids.iter().enumerate().chain([(ORPHAN, &orphan)]) {
        let last = nodes[0].follow(id, |event| event["type"] == "debate.completed");
        let ending = last["data"]["outcome"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        for node in &nodes {
            let events = node.events(id);
            assert_eq!(
                node.ask("GET", &format!("/v1/debates/{id}/audit"), None)
                    .json()["ok"],
                true,
                "{number} {id}: damaged"
            );
            assert_eq!(number_of(&events), number);
            if number == ORPHAN {
                continue;
            }
            if cancelled.contains(&number) {
                assert_eq!(ending, "cancelled", "{number} {id}: an ignored cancel");
            } else {
                assert_eq!(count(&events, "debate.resumed"), 0, "{number} {id}: stolen");
                assert_eq!(
                    ending,
                    if is_split(number) {
                        "contested"
                    } else {
                        "consensus"
                    },
                    "{number} {id}"
                );
                for event in events
                    .iter()
                    .filter(|event| event["type"] == "turn.completed")
                {
                    let turn = (
                        number,
                        event["data"]["turn"]
                            .as_str()
                            .unwrap_or_default()
                            .to_owned(),
                    );
                    assert_eq!(panel.asked().get(&turn), Some(&1), "{turn:?}: asked twice");
                }
            }
        }
        *endings.entry(ending).or_default() += 1;
    }
    println!("{endings:?}");
    let restored: u64 = nodes
        .iter()
        .map(|node| metric(node, "rebut_events_restored_total"))
        .sum();
    assert!(
        restored >= (DEBATES - KNOWN) as u64 * 5,
        "what the standby lacked was written again: {restored}"
    );
    for node in &mut nodes {
        node.signal("TERM");
    }
    for node in nodes {
        let (code, log) = node.finish();
        assert_eq!(code, 0, "{log}");
    }
}
