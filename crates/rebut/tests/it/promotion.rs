//! Two PostgreSQL with streaming replication: the primary dies, and a standby that lacks its last
//! commits takes its place under live debates. None is stuck, damaged or stolen, no cancel is
//! ignored, and nothing is asked twice.

use crate::{
    panel_of_three::{Panel, Turn, debate, is_split, number_of},
    served::{Answer, Served},
};
use rebut_testkit::postgres::Cluster;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    thread::{self, ScopedJoinHandle},
};

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
    persistently_with(node, method, path, None).status
}

fn persistently_with(node: &Served, method: &str, path: &str, body: Option<&Value>) -> Answer {
    loop {
        let answer = node.ask(method, path, body);
        if answer.status != 503 {
            return answer;
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
            Some(&json!({"text": "the night shift counts"})),
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_stays_with_a_primary_that_only_reads_from_now_on() {
    let primary = Cluster::start();
    let url = primary.database();
    let standby = primary.standby();
    let panel = Panel::start(|_| false).await;
    let mut rebut = panel.installation("");
    rebut.set("REBUT_DATABASE", &primary.or(&url, &standby));
    let nodes = [Served::start(&rebut, &[]), Served::start(&rebut, &[])];
    let mut asked = debate(0);
    asked["limits"] = json!({"approval_seconds": 600});
    let waits = nodes[0].begin(&asked);
    nodes[0].follow(&waits, |event| event["type"] == "gate.opened");
    // No connection breaks: what is there goes on answering whoever reads.
    standby.follow(&primary);
    primary.ask(
        "postgres",
        "ALTER SYSTEM SET default_transaction_read_only = on",
    );
    primary.ask("postgres", "SELECT pg_reload_conf()");
    while primary.ask("postgres", "SHOW default_transaction_read_only") != "on" {}
    standby.promote();
    for (node, number) in nodes.iter().zip(1..) {
        let begun = persistently_with(node, "POST", "/v1/debates", Some(&debate(number)));
        assert_eq!(begun.status, 202, "{begun:?}");
        let id = begun.json()["id"].as_str().expect("an id").to_owned();
        for path in [format!("/v1/debates/{id}"), "/readyz".to_owned()] {
            let seen = node.ask("GET", &path, None);
            assert_eq!(seen.status, 200, "it reads where it writes: {seen:?}");
        }
        node.follow(&id, |event| event["type"] == "debate.completed");
    }
    // What is decided at one node reaches the one that waits for it.
    let approve = format!("/v1/debates/{waits}/approve");
    assert_eq!(persistently(&nodes[1], "POST", &approve), 200);
    nodes[0].follow(&waits, |event| event["type"] == "debate.completed");
    // Nobody listens there any more. Each look takes a process of its own.
    let listens = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rebut' AND \
        query LIKE 'LISTEN%'";
    while primary.ask("postgres", listens) != "0" {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_was_cut_off_is_acknowledged_once_the_standby_has_it() {
    let primary = Cluster::start();
    let url = primary.database();
    let standby = primary.standby();
    let panel = Panel::start(|_| false).await;
    let mut rebut = panel.installation("");
    rebut.set("REBUT_DATABASE", &url);
    let nodes = [Served::start(&rebut, &[]), Served::start(&rebut, &[])];
    let ask = |sql: &str| primary.ask("postgres", sql);
    ask("ALTER SYSTEM SET synchronous_standby_names = '*'");
    ask("SELECT pg_reload_conf()");
    while ask("SHOW synchronous_standby_names") != "*" {}
    standby.follow(&primary);
    standby.crash();
    let start = |node: &Served, key: &str| {
        let key = format!("Idempotency-Key: {key}\r\n");
        node.ask_with(&node.token, "POST", "/v1/debates", Some(&debate(1)), &key)
    };
    let waits = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'rebut'";
    // Each look takes a process of its own.
    let until_waits = |client: &ScopedJoinHandle<'_, Answer>| {
        while ask(&format!("SELECT count(*) {waits}")) == "0" {
            assert!(!client.is_finished(), "acknowledged without the standby");
        }
    };
    let cut_off = |client: &ScopedJoinHandle<'_, Answer>| {
        until_waits(client);
        ask(&format!("SELECT pg_terminate_backend(pid, 60000) {waits}"));
    };
    thread::scope(|clients| {
        let begun = clients.spawn(|| start(&nodes[0], "one"));
        cut_off(&begun);
        // It is there, and the standby does not have it.
        assert_eq!(
            primary.ask(&url, "SELECT count(*) FROM rebut.debate_sessions"),
            "1"
        );
        cut_off(&begun);
        until_waits(&begun);
        standby.run();
        let begun = begun.join().expect("an answer");
        assert_eq!(begun.status, 202, "{begun:?}");
        let id = begun.json()["id"].as_str().expect("an id").to_owned();
        nodes[0].follow(&id, |event| event["type"] == "debate.completed");
    });
    standby.crash();
    thread::scope(|clients| {
        // Whoever asks again elsewhere finds it there.
        let begun = clients.spawn(|| start(&nodes[0], "two"));
        until_waits(&begun);
        nodes[0].signal("STOP");
        cut_off(&begun);
        let again = clients.spawn(|| start(&nodes[1], "two"));
        until_waits(&again);
        standby.run();
        let again = again.join().expect("an answer");
        nodes[0].signal("CONT");
        let begun = begun.join().expect("an answer");
        for answer in [&again, &begun] {
            assert_eq!(answer.status, 202, "{answer:?}");
        }
        assert_eq!(again.json()["id"], begun.json()["id"]);
    });
}
