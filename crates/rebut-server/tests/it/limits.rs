//! What is too much, too deep, too slow or too often.

use crate::{house::House, wire::send};
use rebut_server::Settings;
use serde_json::{Value, json};
use std::time::Duration;

/// Bodies: announced or not, whatever is in them.
#[tokio::test]
async fn bodies_are_bounded() {
    let settings = Settings {
        body_bytes: 4_000,
        body_within: Duration::from_millis(100),
        ..Settings::default()
    };
    let house = House::with("unanimous", settings).await;
    let head = format!(
        "POST /v1/debates HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer \
         alice-admin\r\nContent-Type: application/json\r\nConnection: close\r\n",
        house.host()
    );
    let sized = |body: &str| format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let chunked = |body: &str| {
        format!(
            "{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        )
    };
    let nested = |open: &str, close: &str, deep: usize| {
        format!(
            "{{\"format\":\"decide\",\"input\":{{\"x\":{}1{}}}}}",
            open.repeat(deep),
            close.repeat(deep)
        )
    };
    let long = json!({ "format": "decide", "input": { "x": "y".repeat(5_000) } }).to_string();
    let rows = [
        ("too long", sized(&long), 413),
        ("too long, not announced", chunked(&long), 413),
        (
            "announced as too long, and never sent",
            format!("{head}Content-Length: 999999999999\r\n\r\n{{"),
            413,
        ),
        (
            "never sent",
            format!("{head}Content-Length: 20\r\n\r\n{{\"format\""),
            408,
        ),
        (
            "never ended",
            format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{{\"for\r\n"),
            408,
        ),
        (
            "62 deep in two: deep enough to be read, and no input",
            sized(&nested("[", "]", 62)),
            422,
        ),
        ("short enough", sized("{\"format\":\"decide\"}"), 202),
        ("63 deep in two", sized(&nested("[", "]", 63)), 400),
        (
            "500 deep, in objects",
            sized(&nested("{\"a\":", "}", 500)),
            400,
        ),
        ("no JSON", sized("{\"format\":"), 400),
        ("no body", format!("{head}\r\n"), 400),
        ("a list", sized("[]"), 422),
        (
            "two at once",
            sized("{\"format\":\"decide\",\"format\":\"decide\"}"),
            422,
        ),
        ("no text", sized("\"\\ud800\""), 400),
        ("an unknown format", sized("{\"format\":\"nothing\"}"), 422),
    ];
    for (what, bytes, expected) in rows {
        let answer = send(house.at, bytes.as_bytes()).await;
        assert_eq!(answer.status, expected, "{what}: {}", answer.body);
        if expected >= 400 {
            assert_eq!(answer.json()["status"], expected, "{what}");
        }
    }
}

/// The head of a request: too large, or never whole.
#[tokio::test]
async fn heads_are_bounded() {
    let settings = Settings {
        head_within: Duration::from_millis(100),
        ..Settings::default()
    };
    let house = House::with("unanimous", settings).await;
    let start = format!(
        "GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
        house.host()
    );
    // Exactly what is read before it is refused: what nobody read would reset the connection.
    let large = format!("{start}X: {}", "y".repeat((64 << 10) - start.len() - 3));
    assert_eq!(send(house.at, large.as_bytes()).await.status, 431);
    let many = format!("{start}{}\r\n", "X: y\r\n".repeat(200));
    assert_eq!(send(house.at, many.as_bytes()).await.status, 431);
    // A head that never ends is not waited for: the connection is closed.
    let mut slow = crate::wire::Connection::open(house.at, start.as_bytes()).await;
    assert_eq!(slow.rest().await, "");
}

#[tokio::test]
async fn each_key_has_its_own_share_of_requests() {
    let house = House::with(
        "unanimous",
        Settings {
            requests_per_minute: 5,
            ..Settings::default()
        },
    )
    .await;
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(house.get("alice-viewer", "/v1/debates").await);
    }
    let refused = statuses.pop().expect("six");
    assert!(statuses.iter().all(|answer| answer.status == 200));
    assert_eq!((refused.status, refused.header("retry-after")), (429, "12"));
    assert_eq!(refused.json()["retry_after"], 12);
    assert_eq!(
        house.get("alice-approver", "/v1/debates").await.status,
        200,
        "another key"
    );
    for _ in 0..5 {
        house.get("alice-approver", "/v1/debates").await;
    }
    let missing = format!("/v1/debates/{}/approve", rebut_engine::DebateId::new());
    assert_eq!(house.get("alice-approver", "/v1/debates").await.status, 429);
    assert_eq!(
        house
            .ask("alice-approver", "POST", &missing, &Value::Null)
            .await
            .status,
        404,
        "whoever reads much can still decide"
    );
    let mut guesses = Vec::new();
    for number in 0..6 {
        guesses.push(
            house
                .get(&format!("guess-{number}"), "/v1/debates")
                .await
                .status,
        );
    }
    assert_eq!(guesses, [401, 401, 401, 401, 401, 429]);
}

/// An election of so many candidates, each first on one of a few ballots.
fn election(candidates: usize, method: &str) -> Value {
    let names: Vec<String> = (0..candidates).map(|number| format!("c{number}")).collect();
    let ballots: Vec<Value> =
        (0..7).map(|voter| json!({ "voter": format!("v{voter}"), "ranking": [[names[voter]], [names[voter + 1]]] })).collect();
    json!({ "candidates": names, "ballots": ballots, "method": method })
}

/// What one count may take: candidates² × (ballots + candidates) where pairs are compared.
#[tokio::test]
async fn a_count_has_a_limit_of_work() {
    let house = House::with(
        "unanimous",
        Settings {
            count_work: 100_000,
            ..Settings::default()
        },
    )
    .await;
    let rows = [
        ("schulze", 40, 200),
        ("schulze", 45, 413),
        ("ranked-pairs", 45, 413),
        ("instant-runoff", 45, 200),
        ("plurality", 900, 200),
    ];
    for (method, candidates, status) in rows {
        let answer = house
            .ask(
                "alice-viewer",
                "POST",
                "/v1/voting/tally",
                &election(candidates, method),
            )
            .await;
        assert_eq!(
            answer.status, status,
            "{method} of {candidates}: {}",
            answer.body
        );
        if status == 413 {
            let detail = answer.json()["detail"].as_str().expect("words").to_owned();
            assert!(
                detail.contains("= 105300 steps of work, more than 100000"),
                "{detail}"
            );
        }
    }
    let usual = House::with("unanimous", Settings::default()).await;
    let thousand = usual
        .ask(
            "alice-viewer",
            "POST",
            "/v1/voting/tally",
            &election(1000, "schulze"),
        )
        .await;
    assert_eq!(thousand.status, 413, "{}", thousand.body);
    assert_eq!(thousand.json()["type"], "urn:rebut:too-large");
}

/// Forty at once, as one viewer's key can send them: a few are counted, the others are told when to
/// come back.
#[tokio::test]
async fn few_elections_are_counted_at_once() {
    let house = House::with(
        "unanimous",
        Settings {
            counts: 1,
            ..Settings::default()
        },
    )
    .await;
    let election = election(300, "schulze");
    let answers = futures_util::future::join_all(
        (0..40).map(|_| house.ask("alice-viewer", "POST", "/v1/voting/tally", &election)),
    )
    .await;
    let counted = answers.iter().filter(|answer| answer.status == 200).count();
    let refused: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status == 429)
        .collect();
    assert_eq!(counted + refused.len(), 40);
    assert!(counted >= 3, "one is counted and two wait: {counted}");
    assert!(!refused.is_empty(), "there is no room for all of them");
    for answer in refused {
        assert_eq!(answer.header("retry-after"), "2");
        assert!(
            answer.json()["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("counts 1 elections at once")),
            "{}",
            answer.body
        );
    }
    let later = house
        .ask("alice-viewer", "POST", "/v1/voting/tally", &election)
        .await;
    assert_eq!(later.status, 200, "whoever comes later is counted");
}
