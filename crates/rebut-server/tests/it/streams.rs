//! Streams of events: from every number on, bounded, harmless, and told when the server stops.

use crate::{
    house::{House, case},
    wire::Event,
};
use rebut_engine::{
    Start,
    model::{Answer, Fault, Model, Request},
};
use rebut_server::Settings;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

/// A client that saw k events is shown exactly the others, for every k; numbers that cannot be are
/// refused.
#[tokio::test]
async fn a_client_that_comes_back_goes_on_where_it_was() {
    let house = House::open().await;
    let id = house.run().await;
    let path = format!("/v1/debates/{id}/events");
    let all = house.get("alice-viewer", &path).await.json();
    let events = all["events"].as_array().expect("events").clone();
    let last = events.len();
    for seen in 0..last {
        let number = seen.to_string();
        let (status, mut stream) = house
            .stream("alice-viewer", &path, &[("Last-Event-ID", &number)])
            .await;
        assert_eq!(status, 200);
        let rest: Vec<Value> = stream
            .events()
            .await
            .into_iter()
            .filter_map(|event| event.data)
            .collect();
        assert_eq!(rest, events[seen..], "after {seen}");
        let page = house
            .get("alice-viewer", &format!("{path}?after={seen}"))
            .await
            .json();
        assert_eq!(
            page,
            json!({ "events": &events[seen..], "after": last, "has_more": false }),
            "a page after {seen}"
        );
    }
    let beyond = (last + 1).to_string();
    let end = last.to_string();
    let rows: &[(&[(&str, &str)], u16)] = &[
        (&[("Last-Event-ID", &end)], 204),
        (&[("Last-Event-ID", &beyond)], 400),
        (&[("Last-Event-ID", "-1")], 400),
        (&[("Last-Event-ID", "+1")], 400),
        (&[("Last-Event-ID", "x")], 400),
        (&[("Last-Event-ID", "")], 400),
        (&[("Last-Event-ID", "99999999999999999999999")], 400),
        (&[("Last-Event-ID", "1"), ("Last-Event-ID", "1")], 400),
    ];
    for (headers, expected) in rows {
        assert_eq!(
            house.stream("alice-viewer", &path, headers).await.0,
            *expected,
            "{headers:?}"
        );
    }
    for (query, expected) in [
        ("?after=-1", 400),
        ("?after=x", 400),
        ("?limit=0", 400),
        ("?types=no.such", 400),
        ("?types=", 400),
        ("?more=1", 400),
    ] {
        assert_eq!(
            house
                .get("alice-viewer", &format!("{path}{query}"))
                .await
                .status,
            expected,
            "{query}"
        );
    }
}

#[tokio::test]
async fn only_the_types_that_are_asked_for_come() {
    let house = House::open().await;
    let id = house.run().await;
    let path = format!("/v1/debates/{id}/events?types=vote.tallied,debate.completed");
    let (_, mut stream) = house.stream("alice-viewer", &path, &[]).await;
    let names: Vec<Option<String>> = stream
        .events()
        .await
        .into_iter()
        .map(|event| event.name)
        .collect();
    assert_eq!(
        names,
        [
            Some("vote.tallied".to_owned()),
            Some("debate.completed".to_owned())
        ]
    );
    let last = house
        .desk
        .records(id)
        .await
        .expect("a journal")
        .len()
        .to_string();
    for (types, seen, expected) in [
        ("vote.tallied", "0", 200),
        ("vote.tallied", &last, 204),
        ("gate.opened,turn.delta", "0", 204),
    ] {
        let path = format!("/v1/debates/{id}/events?types={types}");
        let (status, mut stream) = house
            .stream("alice-viewer", &path, &[("Last-Event-ID", seen)])
            .await;
        assert_eq!(status, expected, "{types} after {seen}");
        if let Some(number) = stream
            .events()
            .await
            .last()
            .and_then(|event| event.id)
            .filter(|_| status == 200)
        {
            let again = house
                .stream(
                    "alice-viewer",
                    &path,
                    &[("Last-Event-ID", &number.to_string())],
                )
                .await
                .0;
            assert_eq!(
                again, 204,
                "whoever saw the last {types} need not come back"
            );
        }
    }
    let page = house
        .get("alice-viewer", &format!("{path}&limit=1"))
        .await
        .json();
    assert_eq!(
        (&page["events"][0]["type"], &page["has_more"]),
        (&json!("vote.tallied"), &json!(true))
    );
}

/// Speaks in words that would be lines of their own if anybody let them.
struct Mischief(Arc<dyn Model>);

const NASTY: &str = "a\r\nevent: x\ndata: {}\r\rid: 7\n\n\u{2028}\u{0}";

#[async_trait::async_trait]
impl Model for Mischief {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        request.deltas.push(request.turn, NASTY);
        self.0.ask(request).await
    }
}

#[tokio::test]
async fn nobodys_words_become_events() {
    let case = case("unanimous");
    let mut start = Start {
        initiated_by: String::new(),
        ..case.start.clone()
    };
    start.input["question"] = json!(format!("Offline? {NASTY}"));
    start.agents[0].name = "a: event: x".into();
    let (house, speak) = House::held(start, Arc::new(Mischief(case.model()))).await;
    let refused =
        json!({ "format": "decide", "agents": [{ "role": "risk", "name": "a\r\nevent: x" }] });
    let refused = house
        .ask("alice-admin", "POST", "/v1/debates", &refused)
        .await;
    assert_eq!(
        refused.status, 422,
        "a name of two lines is none: {}",
        refused.body
    );
    let id = house.begin("gated").await;
    let (_, mut stream) = house
        .stream("alice-viewer", &format!("/v1/debates/{id}/events"), &[])
        .await;
    speak.send_replace(true);
    let mut seen: Vec<Event> = Vec::new();
    while seen
        .last()
        .is_none_or(|event| event.name.as_deref() != Some("gate.opened"))
    {
        seen.push(stream.event().await.expect("more"));
    }
    // Each block has one data line, a name from the table, and a number where it is recorded; the
    // reader refuses any other field.
    for event in &seen {
        let kind = event.data.as_ref().expect("data")["type"]
            .as_str()
            .expect("a type");
        assert_eq!(event.name.as_deref(), Some(kind));
        assert_eq!(
            event
                .fields
                .iter()
                .filter(|(field, _)| field == "data")
                .count(),
            1,
            "{event:?}"
        );
    }
    let spoke = |event: &Event| {
        event
            .data
            .as_ref()
            .is_some_and(|data| data["agent"] == "a: event: x")
    };
    assert!(seen.iter().any(spoke), "the name itself is told, as text");
    let deltas: Vec<&Event> = seen
        .iter()
        .filter(|event| event.name.as_deref() == Some("turn.delta"))
        .collect();
    assert!(
        deltas.iter().any(|event| event
            .data
            .as_ref()
            .is_some_and(|data| data["text"] == NASTY)),
        "and so are words: {deltas:?}"
    );
}

/// Writes faster than anybody reads: a thousand pieces in one breath.
struct Torrent(Arc<dyn Model>);

#[async_trait::async_trait]
impl Model for Torrent {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        (0..1_000).for_each(|_| request.deltas.push(request.turn, "drop "));
        self.0.ask(request).await
    }
}

/// Pieces that a watcher cannot take are counted and told; what is recorded is never missed.
#[tokio::test]
async fn a_watcher_that_is_too_slow_is_told_what_it_missed() {
    let case = case("unanimous");
    let (house, speak) = House::held(case.start.clone(), Arc::new(Torrent(case.model()))).await;
    let id = house.begin("decide").await;
    let (_, mut stream) = house
        .stream("alice-viewer", &format!("/v1/debates/{id}/events"), &[])
        .await;
    speak.send_replace(true);
    let seen = stream.events().await;
    let numbers: Vec<u64> = seen.iter().filter_map(|event| event.id).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(
        seen.last().and_then(|event| event.name.as_deref()),
        Some("debate.completed")
    );
    let data = |name: &'static str| {
        seen.iter()
            .filter(move |event| event.name.as_deref() == Some(name))
            .filter_map(|event| event.data.as_ref())
    };
    let missed: u64 = data("lagged")
        .filter_map(|data| data["missed"].as_u64())
        .sum();
    assert!(missed > 0, "a thousand at once do not fit");
    let heard = data("turn.delta")
        .filter(|data| data["text"] == "drop ")
        .count();
    assert!(heard < 3_000, "and so not all of them are shown: {heard}");
}

/// Stops in the middle of every answer and at its end, each time until it is told to go on.
struct Halting(Arc<dyn Model>, watch::Receiver<u32>);

#[async_trait::async_trait]
impl Model for Halting {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        request.deltas.push(request.turn, "half");
        let mut told = self.1.clone();
        told.wait_for(|told| *told >= 1)
            .await
            .expect("somebody tells it to");
        request.deltas.push(request.turn, " and half");
        told.wait_for(|told| *told >= 2)
            .await
            .expect("somebody tells it to");
        self.0.ask(request).await
    }
}

/// Who comes in the middle of an answer is shown what is there of it, and hears the rest: nothing
/// twice, nothing missing.
#[tokio::test]
async fn a_watcher_that_comes_in_the_middle_has_the_whole_text() {
    let case = case("unanimous");
    let (go_on, goes_on) = watch::channel(0);
    let house = House::of(
        Start {
            initiated_by: String::new(),
            ..case.start.clone()
        },
        Arc::new(Halting(case.model(), goes_on)),
        Settings::default(),
    )
    .await;
    let id = house.begin("decide").await;
    let path = format!("/v1/debates/{id}/events");
    let (_, mut early) = house.stream("alice-viewer", &path, &[]).await;
    let turns = case.start.agents.len();
    let said = |event: &Event| {
        event
            .data
            .as_ref()
            .is_some_and(|data| data["text"] == "half")
    };
    for _ in 0..turns {
        while !said(&early.event().await.expect("more")) {}
    }
    let (_, mut late) = house.stream("alice-viewer", &path, &[]).await;
    let first: Vec<Event> = vec![
        late.event().await.expect("one"),
        late.event().await.expect("two"),
        late.event().await.expect("three"),
    ];
    assert!(
        first
            .iter()
            .all(|event| event.name.as_deref() == Some("turn.snapshot")
                && event.id.is_none()
                && said(event)),
        "{first:?}"
    );
    go_on.send_replace(1);
    let mut rest: Vec<Event> = Vec::new();
    let is_rest = |event: &&Event| {
        event
            .data
            .as_ref()
            .is_some_and(|data| data["text"] == " and half")
    };
    while rest.iter().filter(is_rest).count() < turns {
        rest.push(late.event().await.expect("more"));
    }
    go_on.send_replace(2);
    rest.extend(late.events().await);
    assert_eq!(
        (
            rest.iter().filter(is_rest).count(),
            rest.iter().filter(|event| said(event)).count()
        ),
        (turns, 0),
        "nothing is told twice"
    );
    assert_eq!(
        rest.last().and_then(|event| event.name.as_deref()),
        Some("debate.completed")
    );
}

#[tokio::test]
async fn a_stream_lives_is_bounded_and_told_of_the_end() {
    let settings = Settings {
        heartbeat: Duration::from_millis(5),
        watchers: 2,
        ..Settings::default()
    };
    let mut house = House::with("unanimous", settings).await;
    let id = house.begin_gated().await;
    let path = format!("/v1/debates/{id}/events");
    let (_, mut first) = house.stream("alice-viewer", &path, &[]).await;
    let (_, second) = house.stream("alice-viewer", &path, &[]).await;
    assert_eq!(
        house.stream("alice-viewer", &path, &[]).await.0,
        429,
        "a third watcher of one key"
    );
    assert_eq!(
        house.stream("alice-approver", &path, &[]).await.0,
        200,
        "another key has its own places"
    );
    while first.block().await.expect("it goes on") != ": hb" {}
    drop(second);
    // The place is free once the server sees that the watcher left.
    while house.stream("alice-viewer", &path, &[]).await.0 == 429 {}
    house.stop();
    let rest = first.events().await;
    let last = rest.last().expect("a last word");
    assert_eq!(
        (last.name.as_deref(), last.id),
        (Some("shutdown"), None),
        "{rest:?}"
    );
    assert!(
        last.fields
            .contains(&("retry".to_owned(), "2000".to_owned()))
    );
    house.stopped().await;
}

/// Whoever does not read keeps neither the debate nor the server.
#[tokio::test]
async fn a_client_that_does_not_read_slows_nobody() {
    let settings = Settings {
        grace: Duration::from_millis(200),
        ..Settings::default()
    };
    let mut house = House::with("unanimous", settings).await;
    let id = house.begin_gated().await;
    let path = format!("/v1/debates/{id}/events");
    let mut stalled = Vec::new();
    for _ in 0..8 {
        stalled.push(house.stream("alice-viewer", &path, &[]).await);
    }
    // More than the system holds for a connection that nobody reads.
    for number in 0..320 {
        let note = json!({ "text": format!("{number} {}", "x".repeat(60_000)) });
        assert_eq!(
            house
                .ask(
                    "alice-approver",
                    "POST",
                    &format!("/v1/debates/{id}/notes"),
                    &note
                )
                .await
                .status,
            204
        );
    }
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
    let mut watch = house.desk.watch(id, 0).await.expect("a watch");
    while watch.next().await.expect("readable").is_some() {}
    house.stop();
    house.stopped().await;
    drop(stalled);
}
