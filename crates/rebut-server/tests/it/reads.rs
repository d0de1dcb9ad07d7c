//! What a request reads of a long journal: its page, its tail or its kinds, counted at the store;
//! all of it only where the answer is made of all of it.

use crate::{
    house::{House, case, seal},
    owners::filled,
    sockets,
};
use rebut_engine::{
    DebateId, Start,
    event::Event,
    journal_file::Portable,
    memory_store::MemoryStore,
    record::{Hash, Place, Record},
};
use rebut_server::{Settings, listed};
use rebut_testkit::interposed::Interposed;
use serde_json::{Value, json};
use std::sync::Arc;

/// Events of the long journal.
const LONG: u64 = 2_000;

/// What is made of everything may read everything, once.
const ALL: &[&str] = &[""];

/// A long journal: the middle of a real one again and again, between its first event and its last;
/// without that it goes on.
fn long(real: &[Record], is_open: bool) -> Portable {
    let debate = DebateId::new();
    let (first, middle, last) = (&real[0], &real[1..real.len() - 1], &real[real.len() - 1..]);
    let last = if is_open { &[] } else { last };
    let rest = usize::try_from(LONG).expect("few") - 1 - last.len();
    let events = std::iter::once(first)
        .chain(middle.iter().cycle().take(rest))
        .chain(last);
    let mut records: Vec<Record> = Vec::new();
    for (seq, model) in (1..).zip(events) {
        let event: Event = model.event().expect("readable").expect("known");
        let place = Place {
            round: model.round,
            phase: model.phase.clone(),
            agent: model.agent.clone(),
        };
        let prev = records.last().map_or(Hash::default(), |record| record.hash);
        records.push(Record::new(
            debate,
            seq,
            prev,
            model.ts.clone(),
            place,
            &event,
        ));
    }
    let checkpoints = vec![seal().close(debate, LONG, records[records.len() - 1].hash)];
    Portable {
        debate,
        records,
        checkpoints,
    }
}

/// A house with one long debate, and the count of what is read of it.
async fn house_with_long(is_open: bool) -> (House, Arc<Interposed>, DebateId) {
    let case = case("unanimous");
    let store = Arc::new(Interposed::counting(MemoryStore::new()));
    let start = Start {
        initiated_by: String::new(),
        ..case.start.clone()
    };
    let house = House::kept_in(store.clone(), start, case.model(), Settings::default()).await;
    let id = house.begin_gated().await;
    assert_eq!(
        house
            .ask(
                "alice-approver",
                "POST",
                &format!("/v1/debates/{id}/approve"),
                &Value::Null
            )
            .await
            .status,
        200
    );
    house.over(id).await;
    let file = long(&house.desk.records(id).await.expect("a journal"), is_open);
    let id = file.debate;
    house
        .desk
        .import(file, &[seal().public().to_owned()])
        .await
        .expect("it is whole");
    store.given();
    (house, store, id)
}

/// The most that may be read.
enum Most {
    /// So many events.
    Events(usize),
    /// Those whose kinds begin so.
    Kinds(&'static [&'static str]),
}

use Most::{Events, Kinds};

/// What tells where a debate stands.
const STANDING: &[&str] = &["debate.", "round.", "gate.", "event."];

/// Every route that reads a debate, and the most that it may read of two thousand events.
const ROWS: &[(&str, &str, Most)] = &[
    ("/v1/debates", "", Events(0)),
    (
        "/v1/debates/{id}",
        "",
        Kinds(&["debate.", "round.", "gate.", "event.", "turn."]),
    ),
    ("/v1/debates/{id}/status", "", Kinds(STANDING)),
    ("/v1/debates/{id}/results", "", Kinds(ALL)),
    ("/v1/debates/{id}/events", "?limit=1", Events(2)),
    (
        "/v1/debates/{id}/events",
        "?after=1000&limit=10",
        Events(11),
    ),
    ("/v1/debates/{id}/events", "?after=1990", Events(10)),
    ("/v1/debates/{id}/events", "?after=2000", Events(0)),
    ("/v1/debates/{id}/events", "?after=9999", Events(0)),
    (
        "/v1/debates/{id}/events",
        "?types=debate.started,debate.completed",
        Events(2),
    ),
    (
        "/v1/debates/{id}/events",
        "?types=turn.completed&limit=5",
        Events(6),
    ),
    ("/v1/debates/{id}/events", "?types=turn.delta", Events(0)),
    ("/v1/debates/{id}/events", "", Events(1_001)),
    ("/v1/debates/{id}/ws", "", Events(0)),
    ("/v1/debates/{id}/turns", "", Kinds(&["turn.", "event."])),
    (
        "/v1/debates/{id}/positions",
        "",
        Kinds(&["round.started", "position."]),
    ),
    (
        "/v1/debates/{id}/conflicts",
        "",
        Kinds(&["conflict.", "merge."]),
    ),
    (
        "/v1/debates/{id}/votes",
        "",
        Kinds(&["round.started", "vote."]),
    ),
    (
        "/v1/debates/{id}/verdicts",
        "",
        Kinds(&["verdict.", "score."]),
    ),
    (
        "/v1/debates/{id}/evidence",
        "",
        Kinds(&["run.", "tool.", "human.", "debate."]),
    ),
    ("/v1/debates/{id}/assumptions", "", Kinds(&["debate."])),
    ("/v1/debates/{id}/usage", "", Kinds(ALL)),
    ("/v1/debates/{id}/code-versions", "", Kinds(&["code."])),
    ("/v1/debates/{id}/code-versions/{n}", "", Kinds(&["code."])),
    (
        "/v1/debates/{id}/code-versions/{n}/diff",
        "",
        Kinds(&["code."]),
    ),
    ("/v1/debates/{id}/gates", "", Kinds(&["gate."])),
    ("/v1/debates/{id}/turn-requests", "", Events(0)),
    ("/v1/debates/{id}/turn-requests/{turn}", "", Events(0)),
    ("/v1/debates/{id}/transcript", "", Kinds(ALL)),
    ("/v1/debates/{id}/report.html", "", Kinds(ALL)),
    ("/v1/debates/{id}/export", "", Kinds(ALL)),
    ("/v1/debates/{id}/export", "?format=journal", Kinds(ALL)),
    ("/v1/debates/{id}/audit", "", Kinds(ALL)),
];

#[tokio::test]
async fn a_request_reads_what_it_shows() {
    // One that has ended, and one that goes on.
    for is_open in [false, true] {
        let (house, store, id) = house_with_long(is_open).await;
        let journal = house.desk.records(id).await.expect("a journal");
        store.given();
        let mut wrong = Vec::new();
        for (path, query, most) in ROWS {
            let most = match most {
                Events(number) => *number,
                Kinds(begin) => journal
                    .iter()
                    .filter(|record| begin.iter().any(|begin| record.kind.starts_with(begin)))
                    .count(),
            };
            let answer = house.get("alice-viewer", &(filled(path, id) + query)).await;
            assert!(
                [200, 404, 426].contains(&answer.status),
                "{path}{query}: {} {}",
                answer.status,
                answer.body
            );
            let given = store.given();
            if given > most {
                wrong.push(format!("{path}{query} read {given} events, not {most}"));
            }
            let foreign = house.get("bob-viewer", &(filled(path, id) + query)).await;
            assert_eq!(
                (
                    store.given(),
                    foreign.status == 404 || *path == "/v1/debates"
                ),
                (0, true),
                "{path}: whose it is takes no event"
            );
        }
        assert_eq!(wrong, [""; 0], "{wrong:#?}");
    }
    for (_, path, _) in listed()
        .into_iter()
        .filter(|(method, path, _)| *method == "GET" && path.contains("{id}"))
    {
        assert!(
            ROWS.iter().any(|(known, ..)| *known == path),
            "say how much {path} may read"
        );
    }
}

/// A stream from a number on reads from there on; one that shows nothing reads no more than it
/// takes to know that.
#[tokio::test]
async fn a_stream_reads_from_where_it_begins() {
    let (house, store, id) = house_with_long(false).await;
    let path = format!("/v1/debates/{id}/events");
    // After which event, only which types; the answer, events that are shown, and the most that are
    // read.
    let rows: &[(u64, &str, u16, usize, usize)] = &[
        (1_990, "", 200, 10, 12),
        (1_999, "", 200, 1, 3),
        (LONG, "", 204, 0, 1),
        (1_990, "?types=debate.completed", 200, 1, 13),
        (0, "?types=conflict.found", 204, 0, 1),
        (0, "?types=turn.delta,conflict.found", 204, 0, 1),
        (LONG, "?types=turn.completed", 204, 0, 1),
    ];
    let mut wrong = Vec::new();
    for (after, types, status, shown, most) in rows {
        let (answered, mut stream) = house
            .stream(
                "alice-viewer",
                &format!("{path}{types}"),
                &[("Last-Event-ID", &after.to_string())],
            )
            .await;
        let events = if answered == 200 {
            stream.events().await.len()
        } else {
            0
        };
        assert_eq!(
            (answered, events),
            (*status, *shown),
            "after {after} {types}"
        );
        let given = store.given();
        if given > *most {
            wrong.push(format!(
                "a stream after {after} {types} read {given} events, not {most}"
            ));
        }
    }
    let mut socket = sockets::open(&house, "alice-viewer", id, "?after=1990").await;
    let mut shown = 0;
    while sockets::next(&mut socket).await.is_some() {
        shown += 1;
    }
    let given = store.given();
    if (shown, given <= 12) != (10, true) {
        wrong.push(format!(
            "a socket after 1990 showed {shown} and read {given}"
        ));
    }
    assert_eq!(wrong, [""; 0], "{wrong:#?}");
}

/// The same request under one key of idempotency looks at the first event and at what the card
/// tells.
#[tokio::test]
async fn a_request_that_comes_again_reads_no_turn() {
    let case = case("unanimous");
    let store = Arc::new(Interposed::counting(MemoryStore::new()));
    let start = Start {
        initiated_by: String::new(),
        ..case.start.clone()
    };
    let house = House::kept_in(store.clone(), start, case.model(), Settings::default()).await;
    let mut read = Vec::new();
    for again in [false, true] {
        let asked = json!({ "format": "decide" });
        let begun = house
            .ask_with(
                "alice-admin",
                "POST",
                "/v1/debates",
                &asked,
                &[("Idempotency-Key", "one")],
            )
            .await;
        assert_eq!(
            (begun.status, begun.header("idempotency-replayed") == "true"),
            (202, again),
            "{}",
            begun.body
        );
        let id = begun.json()["id"]
            .as_str()
            .expect("an id")
            .parse()
            .expect("an id");
        read.push(store.given());
        house.over(id).await;
        let cards = house.desk.records(id).await.expect("a journal");
        let told = |record: &&Record| {
            record.kind.starts_with("debate.") || record.kind.starts_with("round.")
        };
        let most = 1 + cards.iter().filter(told).count();
        store.given();
        assert!(
            !again || read[1] <= most,
            "{} of {}, not {most}",
            read[1],
            cards.len()
        );
    }
}
