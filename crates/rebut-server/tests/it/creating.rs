//! Starting debates: once per key of idempotency, with or without waiting; and finding them again.

use crate::house::House;
use futures_util::future::join_all;
use rebut_engine::{DebateId, store::Filter};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const KEY: (&str, &str) = ("Idempotency-Key", "order-7");

#[tokio::test]
async fn a_request_that_comes_again_starts_nothing() {
    let house = House::open().await;
    let body = json!({ "format": "decide", "seed": 7 });
    let create = |token: &'static str, body: Value, headers: Vec<(&'static str, &'static str)>| {
        let house = &house;
        async move {
            house
                .ask_with(token, "POST", "/v1/debates", &body, &headers)
                .await
        }
    };
    let first = create("alice-admin", body.clone(), vec![KEY]).await;
    assert_eq!(
        (first.status, first.header("idempotency-replayed")),
        (202, ""),
        "{}",
        first.body
    );
    let id = first.json()["id"].clone();
    assert_eq!(
        first.header("location"),
        format!("/v1/debates/{}", id.as_str().expect("an id"))
    );
    // The same in other words: defaults said, fields in another order.
    let same = json!({ "limits": {}, "seed": 7, "agents": [], "format": "decide", "input": {} });
    for again in [body.clone(), same] {
        let again = create("alice-admin", again, vec![KEY]).await;
        assert_eq!(
            (
                again.status,
                again.header("idempotency-replayed"),
                &again.json()["id"]
            ),
            (202, "true", &id)
        );
    }
    let waited = create(
        "alice-admin",
        body.clone(),
        vec![KEY, ("Prefer", "wait=30")],
    )
    .await;
    assert_eq!(
        (
            waited.status,
            waited.header("idempotency-replayed"),
            &waited.json()["outcome"]
        ),
        (200, "true", &json!("consensus"))
    );
    let other = create(
        "alice-admin",
        json!({ "format": "decide", "seed": 8 }),
        vec![KEY],
    )
    .await;
    assert_eq!(
        other.status, 422,
        "the same key for another request: {}",
        other.body
    );
    let bobs = create("bob-admin", body.clone(), vec![KEY]).await;
    assert_eq!(
        (bobs.status, bobs.header("idempotency-replayed")),
        (202, ""),
        "another's key is another key"
    );
    assert_ne!(bobs.json()["id"], id);
    let elsewhere = create(
        "alice-admin",
        body.clone(),
        vec![("Idempotency-Key", "order-8")],
    )
    .await;
    assert_ne!(elsewhere.json()["id"], id);
    for bad in ["", "with space", "ü"] {
        let answer = create("alice-admin", body.clone(), vec![("Idempotency-Key", bad)]).await;
        assert_eq!(answer.status, 400, "{bad}");
    }
    assert_eq!(
        house
            .desk
            .sessions(&Filter::default())
            .await
            .expect("a list")
            .len(),
        3
    );
    let path = format!("/v1/debates/{}", id.as_str().expect("an id"));
    assert_eq!(
        house
            .ask("alice-admin", "DELETE", &path, &Value::Null)
            .await
            .status,
        204
    );
    for again in [body.clone(), json!({ "format": "decide", "seed": 8 })] {
        let again = create("alice-admin", again, vec![KEY]).await;
        assert_eq!(
            (again.status, &again.json()["type"]),
            (409, &json!("urn:rebut:too-late")),
            "an id stands for one debate: {}",
            again.body
        );
        assert!(
            again.body.contains("use a new `Idempotency-Key`"),
            "{}",
            again.body
        );
    }
    assert_eq!(house.get("alice-viewer", &path).await.status, 404);
}

#[tokio::test]
async fn names_of_agents_can_be_told_from_all_else() {
    let house = House::open().await;
    let long = "x".repeat(65);
    for (name, status) in [
        ("a b-c.ü", 202),
        (&long[..64], 202),
        (&long, 422),
        ("", 422),
        ("a#1", 422),
        ("a·1", 422),
        ("a\u{1b}[2J", 422),
    ] {
        let body = json!({ "format": "decide", "agents": [{ "role": "risk", "name": name }] });
        let answer = house.ask("alice-admin", "POST", "/v1/debates", &body).await;
        assert_eq!(answer.status, status, "{name:?}: {}", answer.body);
        assert_eq!(
            answer.body.contains("1 to 64 characters"),
            status == 422,
            "{}",
            answer.body
        );
    }
}

/// Sixteen at once: one debate, whole, and everybody is told of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_equal_requests_at_once_one_starts() {
    let house = House::open().await;
    let body = json!({ "format": "decide" });
    let answers = join_all((0..16).map(|_| {
        house.ask_with(
            "alice-admin",
            "POST",
            "/v1/debates",
            &body,
            &[KEY, ("Prefer", "wait=30")],
        )
    }))
    .await;
    let ids: BTreeSet<String> = answers
        .iter()
        .map(|answer| answer.json()["debate_id"].to_string())
        .collect();
    assert_eq!(ids.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(
        answers
            .iter()
            .filter(|answer| answer.header("idempotency-replayed").is_empty())
            .count(),
        1
    );
    let id = ids
        .first()
        .expect("one")
        .trim_matches('"')
        .parse()
        .expect("an id");
    let kinds: Vec<_> = house
        .desk
        .records(id)
        .await
        .expect("a journal")
        .into_iter()
        .map(|record| record.kind)
        .collect();
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| *kind == "debate.started")
            .count(),
        1,
        "{kinds:?}"
    );
}

#[tokio::test]
async fn a_result_is_waited_for_as_long_as_asked() {
    let house = House::open().await;
    let ended = house
        .ask_with(
            "alice-admin",
            "POST",
            "/v1/debates",
            &json!({ "format": "decide" }),
            &[("Prefer", "respond-async, WAIT = 30")],
        )
        .await;
    assert_eq!(
        (ended.status, ended.header("preference-applied")),
        (200, "wait=30")
    );
    assert_eq!(ended.json()["outcome"], "consensus");
    for prefer in ["wait=0", "wait=x", "respond-async", "wait=-1"] {
        let waits = house
            .ask_with(
                "alice-admin",
                "POST",
                "/v1/debates",
                &json!({ "format": "gated" }),
                &[("Prefer", prefer)],
            )
            .await;
        assert_eq!(
            (waits.status, waits.header("preference-applied")),
            (202, ""),
            "{prefer}"
        );
    }
}

#[tokio::test]
async fn lists_are_filtered_and_turned_page_by_page() {
    let house = House::open().await;
    for number in 0..7 {
        let body = json!({ "format": "decide", "input": { "question": format!("Question \
            {}?", number % 3) } });
        assert_eq!(
            house
                .ask_with(
                    "alice-admin",
                    "POST",
                    "/v1/debates",
                    &body,
                    &[("Prefer", "wait=30")]
                )
                .await
                .status,
            200
        );
    }
    let waits = house.begin_gated().await;
    let list = |query: String| {
        let house = &house;
        async move {
            house
                .get("alice-viewer", &format!("/v1/debates?{query}"))
                .await
        }
    };
    let ids = |page: &Value| {
        page["debates"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|debate| debate["id"].to_string())
            .collect::<Vec<_>>()
    };
    let all = ids(&list("limit=100".to_owned()).await.json());
    assert_eq!(
        (all.len(), &all[0]),
        (8, &format!("\"{waits}\"")),
        "newest first"
    );
    let (mut turned, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = list(format!("limit=3{cursor}")).await.json();
        turned.extend(ids(&page));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        assert!(
            next.starts_with("20") && !next.contains(char::is_whitespace),
            "{next}"
        );
        cursor = format!("&cursor={next}");
    }
    assert_eq!(turned, all);
    for (query, count) in [
        ("status=running", 1),
        ("status=completed", 7),
        ("format=gated", 1),
        ("q=QUESTION%201", 2),
        ("q=%25", 0),
        ("q=", 8),
    ] {
        assert_eq!(
            ids(&list(query.to_owned()).await.json()).len(),
            count,
            "{query}"
        );
    }
    for bad in [
        "limit=0",
        "limit=101",
        "limit=x",
        "cursor=x",
        "cursor=2026-01-01T00:00:00Z~x",
        "status=odd",
        "format=odd",
        "by=bob",
        "limit=1&limit=2",
    ] {
        let refused = list(bad.to_owned()).await;
        assert_eq!(refused.status, 400, "{bad}");
        assert!(!refused.body.contains("deserialize"), "{}", refused.body);
    }
}

/// A fork that is asked for again after a hang-up is the fork that there is.
#[tokio::test]
async fn the_same_fork_under_one_key_starts_one_debate() {
    let house = House::open().await;
    let (origin, other) = (house.run().await, house.run().await);
    let fork = |from: DebateId, body: Value, key: &'static str| {
        let house = &house;
        async move {
            house
                .ask_with(
                    "alice-admin",
                    "POST",
                    &format!("/v1/debates/{from}/fork"),
                    &body,
                    &[("Idempotency-Key", key)],
                )
                .await
        }
    };
    let first = fork(origin, json!({ "at": "end" }), "fork-1").await;
    assert_eq!(
        (first.status, first.header("idempotency-replayed")),
        (202, ""),
        "{}",
        first.body
    );
    let id: DebateId = first.json()["id"]
        .as_str()
        .expect("an id")
        .parse()
        .expect("an id");
    let same = [
        json!({ "at": "end" }),
        json!({ "limits": {}, "config": {}, "at": "end" }),
    ];
    for body in same {
        let again = fork(origin, body, "fork-1").await;
        assert_eq!(
            (
                again.status,
                again.header("idempotency-replayed"),
                &again.json()["id"]
            ),
            (202, "true", &first.json()["id"])
        );
        assert_eq!(again.header("location"), format!("/v1/debates/{id}"));
    }
    let rows = [
        (fork(other, json!({ "at": "end" }), "fork-1").await, 422),
        (
            fork(origin, json!({ "at": "recommend" }), "fork-1").await,
            422,
        ),
        (
            house
                .ask_with(
                    "alice-admin",
                    "POST",
                    "/v1/debates",
                    &json!({ "format": "decide" }),
                    &[("Idempotency-Key", "fork-1")],
                )
                .await,
            422,
        ),
        (fork(origin, json!({ "at": "end" }), "two words").await, 400),
    ];
    for (answer, status) in rows {
        assert_eq!(answer.status, status, "{}", answer.body);
    }
    let at_once = futures_util::future::join_all(
        (0..8).map(|_| fork(origin, json!({ "at": "end" }), "fork-2")),
    )
    .await;
    let ids: std::collections::BTreeSet<String> = at_once
        .iter()
        .map(|answer| answer.json()["id"].to_string())
        .collect();
    assert_eq!(
        (ids.len(), at_once.iter().all(|answer| answer.status == 202)),
        (1, true),
        "{ids:?}"
    );
    house.over(id).await;
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
    let removed = fork(origin, json!({ "at": "end" }), "fork-1").await;
    assert_eq!(removed.status, 409, "{}", removed.body);
}
