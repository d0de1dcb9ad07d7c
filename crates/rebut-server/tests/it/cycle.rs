//! The whole cycle over the wire, and every reading of what it left.

use crate::{
    document::fits,
    house::{House, WAITING, case},
    wire::Event,
};
use serde_json::{Value, json};

/// From the request to the audit: created, watched, stopped at a gate, approved, ended, read in
/// every form.
#[tokio::test]
async fn a_debate_is_created_watched_approved_and_audited() {
    let case = case("unanimous");
    let (house, speak) = House::held(case.start.clone(), case.model()).await;
    let id = house.begin("gated").await;
    let events = format!("/v1/debates/{id}/events");
    let (status, mut stream) = house.stream("alice-viewer", &events, &[]).await;
    assert_eq!(status, 200);
    assert_eq!(stream.block().await.as_deref(), Some("retry: 2000"));
    speak.send_replace(true);
    let mut seen: Vec<Event> = Vec::new();
    while seen
        .last()
        .is_none_or(|event| event.name.as_deref() != Some("gate.opened"))
    {
        seen.push(stream.event().await.expect("more"));
    }
    let waits = house
        .get("alice-viewer", &format!("/v1/debates/{id}/status"))
        .await
        .json();
    assert_eq!(
        (
            &waits["status"],
            &waits["is_run"],
            &waits["open_gate"]["gate"]
        ),
        (&json!("running"), &json!(true), &json!("release"))
    );
    let approve = format!("/v1/debates/{id}/approve");
    let elsewhere = house
        .ask(
            "alice-approver",
            "POST",
            &approve,
            &json!({ "content": "0".repeat(64) }),
        )
        .await;
    assert_eq!(
        elsewhere.status, 409,
        "what was looked at is not what is shown: {}",
        elsewhere.body
    );
    let content = &waits["open_gate"]["content"];
    let approved = house
        .ask(
            "alice-approver",
            "POST",
            &approve,
            &json!({ "content": content, "reason": "fine" }),
        )
        .await;
    assert_eq!(
        approved.json(),
        json!({ "gate": "release", "approved": true, "by": "alice-approver", "reason": "fine" })
    );
    seen.extend(stream.events().await);
    let recorded: Vec<u64> = seen.iter().filter_map(|event| event.id).collect();
    assert_eq!(
        recorded,
        (1..=recorded.len() as u64).collect::<Vec<_>>(),
        "every event once, in order"
    );
    assert_eq!(
        seen.last().and_then(|event| event.name.as_deref()),
        Some("debate.completed")
    );
    let is_passing = |event: &&Event| event.id.is_none();
    assert!(
        seen.iter()
            .filter(is_passing)
            .any(|event| event.name.as_deref() == Some("turn.delta")),
        "text is seen while it is written"
    );
    assert!(
        seen.iter()
            .filter(is_passing)
            .all(|event| event.name.as_deref() == Some("turn.delta")),
        "only passing things have no number"
    );
    let (again, _) = house
        .stream(
            "alice-viewer",
            &events,
            &[("Last-Event-ID", &recorded.len().to_string())],
        )
        .await;
    assert_eq!(
        again, 204,
        "a browser that comes back after the end is told to stay away"
    );
    let audit = house
        .get("alice-viewer", &format!("/v1/debates/{id}/audit"))
        .await
        .json();
    assert_eq!(
        (&audit["ok"], &audit["sealed"]),
        (&json!(true), &json!(recorded.len())),
        "{audit}"
    );
    let results = house
        .get("alice-viewer", &format!("/v1/debates/{id}/results"))
        .await
        .json();
    assert_eq!(
        (&results["outcome"], &results["format"]),
        (&json!("consensus"), &json!("gated"))
    );
}

/// Every route that reads answers 200 on a debate that ended, in the form that the document gives.
#[tokio::test]
async fn every_reading_of_a_debate_fits_its_schema() {
    let house = House::open().await;
    let id = house.run().await;
    let document = house.get("alice-viewer", "/v1/openapi.json").await.json();
    let parameters = [
        ("{id}", id.to_string()),
        ("{turn}", WAITING.replace('/', "%2F").replace(' ', "%20")),
        ("{name}", "decide".to_owned()),
    ];
    let mut read = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let operation = &methods["get"];
        // No code was written in this debate, a socket is no reading, and nobody keeps webhooks in
        // this house.
        if operation.is_null()
            || path.contains("{n}")
            || path.ends_with("/ws")
            || path.starts_with("/v1/webhooks")
        {
            continue;
        }
        let filled = parameters.iter().fold(path.clone(), |path, (name, value)| {
            path.replace(name, value)
        });
        let answer = house.get("alice-viewer", &filled).await;
        assert_eq!(answer.status, 200, "{filled}: {}", answer.body);
        let kind = answer
            .header("content-type")
            .split(';')
            .next()
            .unwrap_or_default()
            .to_owned();
        let schema = &operation["responses"]["200"]["content"][&kind]["schema"];
        assert!(!schema.is_null(), "{filled}: {kind} is not announced");
        if kind == "application/json" {
            fits(&document, schema, &answer.json(), &filled);
        }
        read += 1;
    }
    assert!(read > 25, "{read} readings");
}

#[tokio::test]
async fn readings_say_what_the_journal_says() {
    let house = House::open().await;
    let id = house.run().await;
    let rows = [
        ("turns", "/turns/0/turn", json!("recommend/risk")),
        ("turns", "/turns/2/state", json!("done")),
        ("positions", "/positions/1/position/option", json!("A")),
        ("votes", "/votes/0/tally/reached", json!(true)),
        ("verdicts", "/verdicts", json!([])),
        ("conflicts", "/merge", Value::Null),
        ("evidence", "/runs", json!([])),
        ("assumptions", "/assumptions", json!([])),
        ("usage", "/total/answers", json!(3)),
        ("usage", "/agents/value/answers", json!(1)),
        ("code-versions", "/versions", json!([])),
        ("gates", "/gates", json!([])),
    ];
    for (reading, pointer, expected) in rows {
        let answer = house
            .get("alice-viewer", &format!("/v1/debates/{id}/{reading}"))
            .await
            .json();
        assert_eq!(
            answer.pointer(pointer),
            Some(&expected),
            "{reading}{pointer}: {answer}"
        );
    }
    for missing in [
        "code-versions/1",
        "code-versions/1/diff",
        "code-versions/x",
        "turn-requests/none",
    ] {
        assert_eq!(
            house
                .get("alice-viewer", &format!("/v1/debates/{id}/{missing}"))
                .await
                .status,
            404,
            "{missing}"
        );
    }
}

/// Every form of an export, its media type, and what stands in it. What a debate has none of is
/// said as that.
#[tokio::test]
async fn exports_have_the_forms_of_the_command_line() {
    let house = House::open().await;
    let id = house.run().await;
    let rows = [
        (
            "markdown",
            "text/markdown; charset=utf-8",
            "Offline support",
        ),
        ("json", "application/json", "\"outcome\": \"consensus\""),
        ("yaml", "application/yaml", "debate_result:"),
        ("adr", "text/markdown; charset=utf-8", "Offline support"),
        ("html", "text/html; charset=utf-8", "<!doctype html>"),
        ("svg", "image/svg+xml", "<svg"),
        ("journal", "application/x-ndjson", "{\"rebut\":\"journal\""),
    ];
    for (form, kind, holds) in rows {
        let answer = house
            .get(
                "alice-viewer",
                &format!("/v1/debates/{id}/export?format={form}"),
            )
            .await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, kind),
            "{form}"
        );
        assert!(
            answer.body.to_lowercase().contains(&holds.to_lowercase()),
            "{form}: {}",
            answer.body
        );
        assert!(
            answer
                .header("content-disposition")
                .starts_with("attachment; filename=\"debate-"),
            "{form}"
        );
    }
    for (form, status) in [("sarif", 409), ("comment", 409), ("pdf", 400)] {
        assert_eq!(
            house
                .get(
                    "alice-viewer",
                    &format!("/v1/debates/{id}/export?format={form}")
                )
                .await
                .status,
            status,
            "{form}"
        );
    }
}

#[tokio::test]
async fn what_the_server_counts_is_told() {
    let house = House::open().await;
    house.run().await;
    let (_, _stream) = house
        .stream(
            "alice-viewer",
            &format!("/v1/debates/{}/events", house.begin_gated().await),
            &[],
        )
        .await;
    let lines = [
        "rebut_debates_live 1",
        "rebut_debates_started_total 2",
        "rebut_debates_ended_total{ending=\"consensus\"} 1",
        "rebut_turns_total 6",
        "rebut_http_requests_total{route=\"createDebate\",status=\"202\"} 2",
        "rebut_watchers 1",
    ];
    let mut text = String::new();
    let missing = |text: &str| {
        lines
            .iter()
            .find(|line| !text.lines().any(|known| known == **line))
    };
    // An end is counted soon after it is written.
    for _ in 0..1_000 {
        text = house.get("alice-viewer", "/metrics").await.body;
        if missing(&text).is_none() {
            break;
        }
    }
    assert_eq!(missing(&text), None, "{text}");
}

#[tokio::test]
async fn ballots_are_counted_or_refused_whole() {
    let house = House::open().await;
    let ballot = |voter: &str, choice: &str| json!({ "voter": voter, "ranking": [[choice]] });
    let rows = [
        (
            json!({ "candidates": ["A", "B"], "ballots": [ballot("x", "A"), ballot("y", "B"), ballot("z", "A")], "method": "plurality" }),
            200,
            "A",
        ),
        (
            json!({ "candidates": ["A", "B"], "ballots": [] }),
            200,
            "no_quorum",
        ),
        (
            json!({ "candidates": ["A"], "ballots": [ballot("x", "C")] }),
            422,
            "unknown candidate",
        ),
        (
            json!({ "candidates": ["A"], "ballots": [], "method": "dice" }),
            422,
            "there is no method `dice`",
        ),
        (
            json!({ "candidates": ["A"], "ballots": [], "threshold": 2.0 }),
            422,
            "`threshold`",
        ),
        (
            json!({ "candidates": ["A"], "ballots": [], "by": "me" }),
            422,
            "unknown field `by`",
        ),
    ];
    for (election, status, holds) in rows {
        let answer = house
            .ask("alice-viewer", "POST", "/v1/voting/tally", &election)
            .await;
        assert_eq!(answer.status, status, "{election}: {}", answer.body);
        assert!(answer.body.contains(holds), "{election}: {}", answer.body);
    }
}
