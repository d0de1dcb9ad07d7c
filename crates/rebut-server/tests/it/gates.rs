//! Gates over the wire: what is shown, how long, and what cannot get around one. Limits that no
//! request may ask for.

use crate::house::House;
use rebut_engine::DebateId;
use serde_json::{Value, json};

fn asks_for_approval(seconds: u64) -> Value {
    json!({ "format": "decide", "limits": { "approval_seconds": seconds } })
}

/// A debate whose result waits for approval.
async fn at_gate(house: &House) -> DebateId {
    let id = house.begin_with(&asks_for_approval(600)).await;
    house.opened(id).await;
    id
}

#[tokio::test]
async fn an_approver_sees_the_whole_result_wherever_they_look() {
    let house = House::open().await;
    let (id, other) = (at_gate(&house).await, at_gate(&house).await);
    let at = |verb: &str| format!("/v1/debates/{id}/{verb}");
    let rows = [
        ("gates", "/gates/0/opened/pending"),
        ("status", "/open_gate/pending"),
        ("results", "/open_gate/pending"),
        ("", "/open_gate/pending"),
    ];
    for (reading, pointer) in rows {
        let shown = house
            .get("alice-viewer", at(reading).trim_end_matches('/'))
            .await
            .json();
        let pending = shown
            .pointer(pointer)
            .unwrap_or_else(|| panic!("{reading}: {shown}"));
        assert_eq!(
            (
                &pending["outcome"],
                &pending["result"]["recommended_option"]
            ),
            (&json!("consensus"), &json!("A")),
            "{reading}: {pending}"
        );
    }
    let transcript = house
        .get("alice-viewer", &at("export?format=markdown"))
        .await
        .body;
    assert!(
        transcript.contains("## WAITING") && transcript.contains("\"outcome\": \"consensus\""),
        "{transcript}"
    );
    let gate = house.get("alice-viewer", &at("status")).await.json()["open_gate"].clone();
    let elsewhere = format!("/v1/debates/{other}/approve");
    let wrong = house
        .ask(
            "alice-approver",
            "POST",
            &elsewhere,
            &json!({ "content": gate["content"] }),
        )
        .await;
    let refused = (wrong.status, &wrong.json()["type"]);
    assert_eq!(
        refused,
        (409, &json!("urn:rebut:content-changed")),
        "the same words of another debate are something else: {}",
        wrong.body
    );
    let approve = async || {
        house
            .ask(
                "alice-approver",
                "POST",
                &at("approve"),
                &json!({ "content": gate["content"] }),
            )
            .await
    };
    assert_eq!(approve().await.status, 200);
    assert_eq!(
        approve().await.json()["type"],
        "urn:rebut:too-late",
        "which is another problem than a decision before"
    );
    house.over(id).await;
    let ended = house
        .get("alice-viewer", &format!("/v1/debates/{id}"))
        .await
        .json();
    assert_eq!(
        (&ended["ended"], &ended["open_gate"]),
        (&gate["pending"], &Value::Null),
        "what was approved is what counts"
    );
}

#[tokio::test]
async fn a_gate_that_is_not_there_is_told_from_those_that_are() {
    let house = House::open().await;
    let (id, gateless) = (at_gate(&house).await, house.run().await);
    for (id, hint) in [
        (id, "it came to: `result`"),
        (gateless, "it came to no gate yet"),
    ] {
        let path = format!("/v1/debates/{id}/gates/convergence/decision");
        let missing = house
            .ask(
                "alice-approver",
                "POST",
                &path,
                &json!({ "approved": true }),
            )
            .await;
        let said = missing.json();
        assert_eq!(
            (missing.status, &said["type"]),
            (404, &json!("urn:rebut:not-found")),
            "{said}"
        );
        assert_eq!(
            (&said["detail"], &said["hint"]),
            (
                &json!("this debate has no gate `convergence`"),
                &json!(hint)
            )
        );
    }
}

#[tokio::test]
async fn a_gate_cannot_be_gone_around() {
    let house = House::open().await;
    let id = at_gate(&house).await;
    let at = |verb: &str| format!("/v1/debates/{id}/{verb}");
    assert_eq!(
        house
            .ask("alice-admin", "POST", &at("pause"), &Value::Null)
            .await
            .status,
        202
    );
    house.over(id).await;
    for (seconds, status) in [(0, 422), (599, 422), (600, 202)] {
        let resumed = house
            .ask(
                "alice-admin",
                "POST",
                &at("resume"),
                &json!({ "limits": { "approval_seconds": seconds } }),
            )
            .await;
        assert_eq!(resumed.status, status, "{seconds}: {}", resumed.body);
    }
    assert_eq!(
        house.get("alice-viewer", &at("status")).await.json()["open_gate"]["gate"],
        "result"
    );
    assert_eq!(
        house
            .ask(
                "alice-approver",
                "POST",
                &at("reject"),
                &json!({ "reason": "no" })
            )
            .await
            .status,
        200
    );
    house.over(id).await;
    let refused = house
        .ask(
            "alice-admin",
            "POST",
            &at("fork"),
            &json!({ "at": "end", "limits": { "approval_seconds": 0 } }),
        )
        .await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    let forked = house
        .ask("alice-admin", "POST", &at("fork"), &json!({ "at": "end" }))
        .await
        .json();
    let forked: DebateId = forked["id"]
        .as_str()
        .expect("an id")
        .parse()
        .expect("an id");
    house.opened(forked).await;
    assert_eq!(
        house
            .ask(
                "alice-admin",
                "POST",
                &format!("/v1/debates/{forked}/cancel"),
                &Value::Null
            )
            .await
            .status,
        202
    );
    house.over(forked).await;
    for (verb, body) in [
        ("approve", json!({})),
        ("reject", json!({ "reason": "no" })),
        ("gates/result/decision", json!({ "approved": true })),
    ] {
        let late = house
            .ask(
                "alice-approver",
                "POST",
                &format!("/v1/debates/{forked}/{verb}"),
                &body,
            )
            .await;
        assert_eq!(
            (late.status, &late.json()["ending"]),
            (409, &json!("cancelled")),
            "{verb}: {}",
            late.body
        );
    }
    let status = house
        .get("alice-viewer", &format!("/v1/debates/{forked}/status"))
        .await
        .json();
    assert_eq!(
        (&status["outcome"], &status["open_gate"]),
        (&json!("cancelled"), &Value::Null)
    );
}

/// The time counts also while nobody runs the debate.
#[tokio::test]
async fn who_decides_after_the_time_is_shown_that_nobody_did() {
    let house = House::open().await;
    let id = at_gate(&house).await;
    let at = |verb: &str| format!("/v1/debates/{id}/{verb}");
    assert_eq!(
        house
            .ask("alice-admin", "POST", &at("pause"), &Value::Null)
            .await
            .status,
        202
    );
    house.over(id).await;
    house.clock.go_ahead(601);
    for reading in ["/status", "/results", ""] {
        let shown = house
            .get("alice-viewer", &format!("/v1/debates/{id}{reading}"))
            .await
            .json();
        assert_eq!(
            shown["open_gate"],
            Value::Null,
            "nobody is waited for any more: {reading}"
        );
    }
    for (verb, body) in [
        ("approve", json!({})),
        ("reject", json!({ "reason": "no" })),
    ] {
        let late = house.ask("alice-approver", "POST", &at(verb), &body).await;
        assert_eq!(
            (late.status, &late.json()["decision"]["by"]),
            (409, &json!("timeout")),
            "{}",
            late.body
        );
    }
    let gates = house.get("alice-viewer", &at("gates")).await.json();
    assert_eq!(
        gates["gates"][0]["decision"]["by"], "timeout",
        "and it is on record: {gates}"
    );
}

#[tokio::test]
async fn limits_that_make_no_sense_are_refused_with_what_is_allowed() {
    let house = House::open().await;
    let id = at_gate(&house).await;
    house
        .ask(
            "alice-admin",
            "POST",
            &format!("/v1/debates/{id}/pause"),
            &Value::Null,
        )
        .await;
    house.over(id).await;
    let rows = [
        (json!({ "seconds": 0 }), "1 to 31536000"),
        (json!({ "seconds": u64::MAX }), "1 to 31536000"),
        (json!({ "seconds": 31_536_001 }), "1 to 31536000"),
        (json!({ "approval_seconds": 2_592_001 }), "0 to 2592000"),
        (
            json!({ "approval_seconds": 9_223_372_036_854_775_808_u64 }),
            "0 to 2592000",
        ),
        (json!({ "approval_seconds": u64::MAX }), "0 to 2592000"),
    ];
    for (limits, expected) in rows {
        let requests = [
            (
                "/v1/debates".to_owned(),
                json!({ "format": "decide", "limits": limits }),
            ),
            (
                "/v1/estimates".to_owned(),
                json!({ "format": "decide", "limits": limits }),
            ),
            (
                format!("/v1/debates/{id}/resume"),
                json!({ "limits": limits }),
            ),
            (
                format!("/v1/debates/{id}/fork"),
                json!({ "at": "end", "limits": limits }),
            ),
        ];
        for (path, body) in requests {
            let refused = house.ask("alice-admin", "POST", &path, &body).await;
            assert!(
                refused.status == 422 && refused.body.contains(expected),
                "{path} {body}: {} {}",
                refused.status,
                refused.body
            );
        }
    }
}
