//! What people do to debates over the wire, alone and many at once.

use crate::house::{House, WAITING};
use futures_util::future::join_all;
use rebut_server::Settings;
use serde_json::{Value, json};

/// Sixty-four at once: one decision, and everybody else is shown it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_decide_at_once_one_does() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let people = (0..64).map(|number| {
        let (verb, body) = if number % 2 == 0 {
            ("approve", json!({}))
        } else {
            ("reject", json!({ "reason": format!("person {number}") }))
        };
        let (house, path) = (&house, format!("/v1/debates/{id}/{verb}"));
        async move {
            house
                .ask(
                    ["alice-approver", "alice-admin"][number % 2],
                    "POST",
                    &path,
                    &body,
                )
                .await
        }
    });
    let answers = join_all(people).await;
    let decided: Vec<Value> = answers
        .iter()
        .filter(|answer| answer.status == 200)
        .map(|answer| answer.json())
        .collect();
    assert_eq!(decided.len(), 1, "{answers:?}");
    let late: Vec<Value> = answers
        .iter()
        .filter(|answer| answer.status == 409)
        .map(|answer| answer.json())
        .collect();
    assert_eq!(late.len(), 63);
    assert!(
        late.iter()
            .all(|problem| problem["decision"] == decided[0]
                && problem["type"] == "urn:rebut:too-late"),
        "{late:?}"
    );
    let gates = house
        .get("alice-viewer", &format!("/v1/debates/{id}/gates"))
        .await
        .json();
    assert_eq!(gates["gates"][0]["decision"], decided[0]);
    let records = house.desk.records(id).await.expect("a journal");
    assert_eq!(
        records
            .iter()
            .filter(|record| record.kind == "gate.decided")
            .count(),
        1
    );
}

#[tokio::test]
async fn a_debate_is_noted_cancelled_and_removed() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let at = |verb: &str| format!("/v1/debates/{id}/{verb}");
    assert_eq!(
        house
            .ask(
                "alice-approver",
                "POST",
                &at("notes"),
                &json!({ "text": "mind the rain" })
            )
            .await
            .status,
        204
    );
    let evidence = house.get("alice-viewer", &at("evidence")).await.json();
    assert_eq!(
        evidence["notes"],
        json!([{ "text": "mind the rain", "by": "alice-approver" }]),
        "who says it is who asks"
    );
    assert_eq!(
        house
            .ask(
                "alice-admin",
                "DELETE",
                &format!("/v1/debates/{id}"),
                &Value::Null
            )
            .await
            .status,
        409,
        "it runs"
    );
    assert_eq!(
        house
            .ask("alice-admin", "POST", &at("resume"), &Value::Null)
            .await
            .status,
        409,
        "it runs already"
    );
    assert_eq!(
        house
            .ask(
                "alice-admin",
                "POST",
                &at("cancel"),
                &json!({ "reason": "late" })
            )
            .await
            .status,
        202
    );
    let mut watch = house.desk.watch(id, 0).await.expect("a watch");
    while watch.next().await.expect("readable").is_some() {}
    let status = house.get("alice-viewer", &at("status")).await.json();
    assert_eq!(
        (&status["status"], &status["outcome"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    for (verb, body) in [
        ("cancel", Value::Null),
        ("notes", json!({ "text": "more" })),
    ] {
        let late = house.ask("alice-admin", "POST", &at(verb), &body).await;
        assert_eq!(
            (late.status, &late.json()["ending"]),
            (409, &json!("cancelled")),
            "{verb}: {}",
            late.body
        );
    }
    assert_eq!(
        house
            .ask("alice-admin", "POST", &at("pause"), &Value::Null)
            .await
            .status,
        409
    );
    assert_eq!(
        house
            .ask(
                "alice-admin",
                "DELETE",
                &format!("/v1/debates/{id}"),
                &Value::Null
            )
            .await
            .status,
        204
    );
    assert_eq!(house.get("alice-viewer", &at("status")).await.status, 404);
}

#[tokio::test]
async fn notes_are_bounded() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let path = format!("/v1/debates/{id}/notes");
    for (length, status) in [(64 << 10, 204), ((64 << 10) + 1, 422)] {
        assert_eq!(
            house
                .ask(
                    "alice-approver",
                    "POST",
                    &path,
                    &json!({ "text": "x".repeat(length) })
                )
                .await
                .status,
            status,
            "{length}"
        );
    }
    for number in 1..1_000 {
        house
            .desk
            .note(id, &number.to_string(), "alice")
            .await
            .expect("there is room");
    }
    let refused = house
        .ask(
            "alice-approver",
            "POST",
            &path,
            &json!({ "text": "one more" }),
        )
        .await;
    assert!(
        refused.status == 409 && refused.body.contains("1000 notes"),
        "{}",
        refused.body
    );
}

#[tokio::test]
async fn a_text_is_taken_out_once_and_by_whoever_may() {
    let house = House::with("contested", Settings::default()).await;
    let id = house.run().await;
    let at = |verb: &str| format!("/v1/debates/{id}/{verb}");
    let records = house.desk.records(id).await.expect("a journal");
    let said = records
        .iter()
        .find(|record| record.kind == "turn.completed")
        .expect("a reply")
        .seq;
    let rows = [
        (
            "alice-approver",
            json!({ "seq": said, "reason": "private" }),
            403,
        ),
        (
            "bob-admin",
            json!({ "seq": said, "reason": "private" }),
            404,
        ),
        ("alice-admin", json!({ "seq": said, "reason": " " }), 422),
        ("alice-admin", json!({ "seq": said }), 422),
        (
            "alice-admin",
            json!({ "seq": null, "reason": "private" }),
            422,
        ),
        ("alice-admin", json!({ "seq": 1, "reason": "private" }), 422),
        (
            "alice-admin",
            json!({ "seq": 9999, "reason": "private" }),
            422,
        ),
        (
            "alice-admin",
            json!({ "seq": said, "reason": "private" }),
            200,
        ),
        (
            "alice-admin",
            json!({ "seq": said, "reason": "private" }),
            409,
        ),
    ];
    for (token, body, status) in rows {
        let answer = house.ask(token, "POST", &at("redact"), &body).await;
        assert_eq!(answer.status, status, "{token} {body}: {}", answer.body);
    }
    let audit = house.get("alice-viewer", &at("audit")).await.json();
    assert_eq!(
        (&audit["ok"], &audit["redacted"]),
        (&json!(true), &json!([said])),
        "{audit}"
    );
    let announced = house
        .desk
        .records(id)
        .await
        .expect("a journal")
        .pop()
        .expect("its last event");
    assert!(
        announced.kind == "event.redacted" && announced.data.contains("alice-admin"),
        "who did it is who asked: {}",
        announced.data
    );
}

/// Left at its gate, gone on with; a watcher that came before the pause, or comes back after it,
/// sees the rest; one that wants the pause for an end has it.
#[tokio::test]
async fn a_debate_is_paused_and_resumed() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let at = |verb: &str| format!("/v1/debates/{id}/{verb}");
    assert_eq!(
        house
            .ask("alice-admin", "POST", &at("pause"), &Value::Null)
            .await
            .status,
        202
    );
    let (_, mut until_pause) = house
        .stream("alice-viewer", &at("events?until=paused"), &[])
        .await;
    let last = until_pause
        .events()
        .await
        .pop()
        .and_then(|event| event.id)
        .expect("a pause")
        .to_string();
    assert_eq!(
        house.get("alice-viewer", &at("status")).await.json()["status"],
        "paused"
    );
    let seen = [("Last-Event-ID", last.as_str())];
    assert_eq!(
        house
            .stream("alice-viewer", &at("events?until=paused"), &seen)
            .await
            .0,
        204
    );
    let (status, mut patient) = house.stream("alice-viewer", &at("events"), &seen).await;
    assert_eq!(status, 200, "it may go on");
    assert_eq!(
        house
            .ask(
                "alice-admin",
                "POST",
                &at("resume"),
                &json!({ "limits": { "calls": 50 } })
            )
            .await
            .status,
        202
    );
    assert_eq!(
        house
            .ask("alice-approver", "POST", &at("approve"), &json!({}))
            .await
            .status,
        200
    );
    let (_, mut stream) = house.stream("alice-viewer", &at("events"), &[]).await;
    let names: Vec<String> = stream
        .events()
        .await
        .into_iter()
        .filter_map(|event| event.name)
        .collect();
    let kept: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| name.starts_with("debate.") || name.starts_with("gate."))
        .collect();
    assert_eq!(
        kept,
        [
            "debate.started",
            "gate.opened",
            "debate.paused",
            "debate.resumed",
            "gate.decided",
            "debate.completed"
        ]
    );
    let records = house.desk.records(id).await.expect("a journal");
    let by = |kind: &str| {
        let record = records
            .iter()
            .find(|record| record.kind == kind)
            .unwrap_or_else(|| panic!("{kind}"));
        serde_json::from_str::<Value>(&record.data).expect("JSON")["by"].clone()
    };
    assert_eq!(
        ["human.paused", "debate.paused", "debate.resumed"].map(by),
        [
            json!("alice-admin"),
            json!("alice-admin"),
            json!("alice-admin")
        ]
    );
    let rest: Vec<String> = patient
        .events()
        .await
        .into_iter()
        .filter_map(|event| event.name)
        .filter(|name| name != "turn.delta")
        .collect();
    assert_eq!(
        (
            rest.first().map(String::as_str),
            rest.last().map(String::as_str)
        ),
        (Some("debate.resumed"), Some("debate.completed"))
    );
    for until in ["", "?until=paused"] {
        let end = names.len().to_string();
        assert_eq!(
            house
                .stream(
                    "alice-viewer",
                    &at(&format!("events{until}")),
                    &[("Last-Event-ID", &end)]
                )
                .await
                .0,
            204,
            "{until}"
        );
    }
}

#[tokio::test]
async fn a_contested_debate_is_answered_once_and_forked() {
    let house = House::with("contested", Settings::default()).await;
    let id = house.run().await;
    let at = |verb: &str| format!("/v1/debates/{id}/{verb}");
    let unknown = house
        .ask(
            "alice-approver",
            "POST",
            &at("answer"),
            &json!({ "option": "Z" }),
        )
        .await;
    assert_eq!(unknown.status, 422, "{}", unknown.body);
    let first = house
        .ask(
            "alice-approver",
            "POST",
            &at("answer"),
            &json!({ "option": "b", "reason": "field trip" }),
        )
        .await;
    assert_eq!(
        first.json(),
        json!({ "option": "B", "reason": "field trip", "by": "alice-approver" })
    );
    let late = house
        .ask(
            "alice-admin",
            "POST",
            &at("answer"),
            &json!({ "option": "A" }),
        )
        .await;
    assert_eq!(
        (late.status, &late.json()["answer"]),
        (409, &first.json()),
        "the first answer stands"
    );
    for option in ["b", "A"] {
        let marked = house
            .ask(
                "alice-approver",
                "POST",
                &at("mark"),
                &json!({ "option": option, "reason": "seen" }),
            )
            .await;
        let said =
            json!({ "option": option.to_uppercase(), "reason": "seen", "by": "alice-approver" });
        assert_eq!(
            marked.json(),
            said,
            "it may be said again; who says it is who asks"
        );
    }
    assert_eq!(
        house
            .ask(
                "alice-approver",
                "POST",
                &at("mark"),
                &json!({ "option": "Z" })
            )
            .await
            .status,
        422
    );
    let rows = [
        (json!({ "at": "never" }), 422),
        (
            json!({ "at": "end", "models": { "risk": "other:model" } }),
            422,
        ),
        (json!({ "at": "end", "initiated_by": "bob" }), 422),
        (json!({ "at": "end" }), 202),
    ];
    for (fork, status) in rows {
        let answer = house.ask("alice-admin", "POST", &at("fork"), &fork).await;
        assert_eq!(answer.status, status, "{fork}: {}", answer.body);
        if status == 202 {
            let forked = house
                .get("alice-viewer", answer.header("location"))
                .await
                .json();
            assert_eq!(forked["forked_from"]["debate_id"], json!(id));
            assert_eq!(
                house
                    .get("bob-viewer", answer.header("location"))
                    .await
                    .status,
                404,
                "it is its owner's"
            );
        }
    }
}

#[tokio::test]
async fn a_turn_that_waits_is_answered_by_whoever_asks() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let turn = format!(
        "/v1/debates/{id}/turn-requests/{}",
        WAITING.replace('/', "%2F").replace(' ', "%20")
    );
    let waiting = house
        .get("alice-viewer", &format!("/v1/debates/{id}/turn-requests"))
        .await
        .json();
    assert_eq!(waiting["turns"][0]["turn"], WAITING);
    assert_eq!(
        house.get("alice-viewer", &turn).await.json()["agent"],
        "human"
    );
    let refused = [
        json!({}),
        json!({ "text": null }),
        json!({ "text": "A", "reply": {} }),
        json!({ "reply": "A" }),
        json!({ "text": "A", "by": "boss" }),
        json!({ "text": "wrong" }),
    ];
    for body in refused {
        let answer = house.ask("alice-approver", "POST", &turn, &body).await;
        assert_eq!(answer.status, 422, "{body}: {}", answer.body);
        let why = if body["text"] == "wrong" {
            "`option` is missing"
        } else {
            ""
        };
        assert!(answer.body.contains(why), "{body}: {}", answer.body);
    }
    let (other, other_turn) = (house.begin_gated().await, |id| {
        turn.replace(&turn[12..48], id)
    });
    let rows = [
        (turn.clone(), json!({ "text": "A" })),
        (
            other_turn(&other.to_string()),
            json!({ "reply": { "option": "B" } }),
        ),
    ];
    for (turn, body) in rows {
        assert_eq!(
            house
                .ask("alice-approver", "POST", &turn, &body)
                .await
                .status,
            204
        );
        assert_eq!(
            house
                .ask("alice-approver", "POST", &turn, &body)
                .await
                .status,
            404,
            "it does not wait any more"
        );
    }
    let by = || "alice-approver".to_owned();
    assert_eq!(
        *house.inbox.0.lock().expect("whole"),
        [
            (id, by(), "A".to_owned()),
            (other, by(), r#"{"option":"B"}"#.to_owned())
        ]
    );
    let known = house.desk.view(id).await.expect("a view").turns[0]
        .turn
        .replace('/', "%2F")
        .replace(' ', "%20");
    let late = house
        .ask(
            "alice-admin",
            "POST",
            &format!("/v1/debates/{id}/turn-requests/{known}"),
            &json!({ "text": "A" }),
        )
        .await;
    assert!(
        late.status == 409 && late.body.contains("answered already"),
        "{}",
        late.body
    );
}

#[tokio::test]
async fn what_is_under_way_ends_before_the_server_does() {
    let mut house = House::open().await;
    let body = json!({ "format": "gated" });
    let bytes = house.request(
        "alice-admin",
        "POST",
        "/v1/debates",
        &body,
        &[("Prefer", "wait=30")],
    );
    let mut waits = crate::wire::Connection::open(house.at, &bytes).await;
    // It is under way once there is something to watch.
    while house.desk.live() == 0 {
        tokio::task::yield_now().await;
    }
    house.stop();
    let (status, _) = waits.head().await;
    assert_eq!(status, 202, "it is told that its debate runs");
    let at = house.at;
    house.stopped().await;
    assert!(
        tokio::net::TcpStream::connect(at).await.is_err(),
        "nobody listens any more"
    );
}
