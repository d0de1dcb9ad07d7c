//! Sessions of pages: a cookie that is no key, lets in whoever its key lets in now, and ends at its
//! time, with its key, or when somebody leaves.

use crate::{
    house::House,
    sockets::{closed, open, say, until},
    wire::Answer,
};
use rebut_server::{
    Settings,
    keys::{Key, Role, digest},
};
use serde_json::{Value, json};
use std::time::Duration;

const SESSION: &str = "/v1/session";
const HOURS: i64 = 3600;

/// What `GET /v1/session` answers to that cookie.
async fn status(house: &House, cookie: &str) -> u16 {
    house.get(cookie, SESSION).await.status
}

async fn leave(house: &House, shown: &str, more: &[(&str, &str)]) -> Answer {
    house
        .ask_with(shown, "DELETE", SESSION, &Value::Null, more)
        .await
}

/// Nothing of the key is in the cookie, nothing but the whole cookie is one, and a cookie makes no
/// cookie.
#[tokio::test]
async fn a_cookie_is_no_key() {
    let house = House::open().await;
    let opened = house.ask("alice-viewer", "POST", SESSION, &json!({})).await;
    let (cookie, attributes) = opened
        .header("set-cookie")
        .split_once("; ")
        .expect("attributes");
    assert_eq!(
        (opened.status, attributes),
        (204, "Path=/; HttpOnly; SameSite=Strict; Max-Age=43200")
    );
    let other = house.web_session("alice-viewer").await;
    for known in ["alice", &digest("alice-viewer"), &other["rebut=".len()..]] {
        assert!(!cookie.contains(known), "{known} in {cookie}");
    }
    let (id, secret) = cookie.split_once('.').expect("a name and a secret");
    let (other_id, other_secret) = other.split_once('.').expect("a name and a secret");
    let rows = [
        (cookie.to_owned(), 200),
        (other.clone(), 200),
        (format!("{id}.{other_secret}"), 401),
        (format!("{other_id}.{secret}"), 401),
        (format!("{id}.{}", digest(secret)), 401),
        (format!("{id}.{}", &secret[1..]), 401),
        (format!("{id}.{secret}0"), 401),
        (format!("{id}.{}", secret.to_uppercase()), 401),
        (format!("{id}."), 401),
        (id.to_owned(), 401),
        (format!("rebut=.{secret}"), 401),
        (format!("rebut={secret}"), 401),
        (format!("rebut=%.{secret}"), 401),
        (format!("rebut={}", digest("alice-viewer")), 401),
        ("rebut=alice-viewer".to_owned(), 401),
        ("rebut=".to_owned(), 401),
    ];
    for (shown, expected) in rows {
        let answer = house.get(&shown, SESSION).await;
        assert_eq!(answer.status, expected, "{shown}");
        assert!(
            !answer.body.contains(secret) && !answer.body.contains(other_secret),
            "{}",
            answer.body
        );
    }
    let again = house.ask(cookie, "POST", SESSION, &json!({})).await;
    assert_eq!(
        (again.status, again.header("set-cookie")),
        (401, ""),
        "a cookie makes no cookie"
    );
    for counted in [
        house.get(cookie, "/metrics").await.body,
        house.get(cookie, "/v1/openapi.json").await.body,
    ] {
        assert!(
            !counted.contains(secret)
                && !counted.contains(id.strip_prefix("rebut=").expect("a name")),
            "{counted}"
        );
    }
}

/// A page that came over TLS gets a cookie that goes over nothing else; one of another origin gets
/// none.
#[tokio::test]
async fn a_cookie_of_a_page_over_tls_stays_there() {
    let settings = Settings {
        hosts: ["safe.example:443".parse().expect("a name")].into(),
        ..Settings::default()
    };
    let house = House::with("unanimous", settings).await;
    let own = format!("http://{}", house.host());
    for (origin, expected, secure) in [
        ("https://safe.example", 204, true),
        (own.as_str(), 204, false),
        ("https://evil.example", 403, false),
    ] {
        let opened = house
            .ask_with(
                "alice-viewer",
                "POST",
                SESSION,
                &json!({}),
                &[("Origin", origin)],
            )
            .await;
        assert_eq!(
            (
                opened.status,
                opened.header("set-cookie").ends_with("; Secure")
            ),
            (expected, secure),
            "{origin}"
        );
        assert_eq!(
            opened.header("set-cookie").is_empty(),
            expected == 403,
            "{origin}"
        );
    }
}

/// Owner and role are the key's, as they are now; a key that is gone, also one whose place another
/// took, lets nobody in.
#[tokio::test]
async fn a_visit_may_do_what_its_key_may_now() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let (status_of, approve) = (
        format!("/v1/debates/{id}/status"),
        format!("/v1/debates/{id}/approve"),
    );
    let [viewer, approver, stranger] = [
        house.web_session("alice-viewer").await,
        house.web_session("alice-approver").await,
        house.web_session("bob-admin").await,
    ];
    let who = house.get(&approver, SESSION).await.json();
    assert_eq!(
        who,
        json!({ "name": "alice-approver", "owner": "alice", "role": "approver" })
    );
    for (cookie, read, decided) in [(&viewer, 200, 403), (&stranger, 404, 404)] {
        assert_eq!(house.get(cookie, &status_of).await.status, read);
        assert_eq!(
            house.ask(cookie, "POST", &approve, &json!({})).await.status,
            decided
        );
    }
    house.change_key("alice-approver", Some(Role::Viewer));
    assert_eq!(
        house
            .ask(&approver, "POST", &approve, &json!({}))
            .await
            .status,
        403,
        "it may do less now"
    );
    house.change_key("alice-approver", None);
    assert_eq!(
        (
            status(&house, &approver).await,
            status(&house, &viewer).await
        ),
        (401, 200)
    );
    let another = Key {
        name: "alice-approver".into(),
        owner: "alice".into(),
        role: Role::Admin,
        sha256: digest("another"),
    };
    house.keys.replace(vec![another]);
    assert_eq!(
        (
            status(&house, &approver).await,
            status(&house, "another").await
        ),
        (401, 200),
        "of that name there is another key now"
    );
}

/// Whoever leaves is gone with all they opened; their key, and others who came by it, stay.
#[tokio::test]
async fn whoever_leaves_is_gone_with_what_they_opened() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let [cookie, other] = [
        house.web_session("alice-approver").await,
        house.web_session("alice-approver").await,
    ];
    let events = format!("/v1/debates/{id}/events");
    let (_, mut stream) = house.stream(&cookie, &events, &[]).await;
    let (mut socket, mut stays) = (
        open(&house, &cookie, id, "").await,
        open(&house, &other, id, "").await,
    );
    assert_eq!(
        say(&mut socket, &json!({ "type": "note", "text": "x" })).await["type"],
        "done"
    );
    let foreign = leave(&house, &cookie, &[("Sec-Fetch-Site", "cross-site")]).await;
    assert_eq!(
        (foreign.status, status(&house, &cookie).await),
        (403, 200),
        "a foreign page ends nothing"
    );
    let left = leave(&house, &cookie, &[]).await;
    assert_eq!(
        (left.status, left.header("set-cookie")),
        (204, "rebut=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    );
    assert_eq!(status(&house, &cookie).await, 401, "it is over");
    assert_eq!(
        closed(&mut socket).await,
        (1008, "session ended".to_owned())
    );
    let last = stream.events().await.pop().expect("a last word");
    assert_eq!(
        (
            last.name.as_deref(),
            &last.data.expect("data")["problem"]["status"]
        ),
        (Some("problem"), &json!(401))
    );
    for (shown, expected) in [
        (cookie.as_str(), 401),
        (&other, 200),
        ("alice-approver", 200),
    ] {
        assert_eq!(status(&house, shown).await, expected, "{shown}");
        assert_eq!(
            house.stream(shown, &events, &[]).await.0,
            expected,
            "{shown}"
        );
    }
    assert_eq!(
        leave(&house, &cookie, &[]).await.status,
        401,
        "nobody leaves twice"
    );
    assert_eq!(
        say(&mut stays, &json!({ "type": "note", "text": "x" })).await["type"],
        "done",
        "others go on"
    );
    assert_eq!(leave(&house, "alice-approver", &[]).await.status, 204);
    assert_eq!(
        status(&house, "alice-approver").await,
        200,
        "a key is not left with"
    );
    let replaced = house
        .ask_with(
            "alice-viewer",
            "POST",
            SESSION,
            &json!({}),
            &[("Cookie", &other)],
        )
        .await;
    assert_eq!(
        (replaced.status, status(&house, &other).await),
        (204, 401),
        "whoever comes anew leaves what they had"
    );
}

/// Twelve hours and no more, however much it is used; connections end with it, and so does what a
/// socket may do. The key goes on.
#[tokio::test]
async fn a_visit_ends_at_its_time() {
    let house = House::with(
        "unanimous",
        Settings {
            heartbeat: Duration::from_millis(20),
            ..Settings::default()
        },
    )
    .await;
    let cookie = house.web_session("alice-approver").await;
    house.clock.go_ahead(12 * HOURS - 120);
    let id = house.begin_gated().await;
    assert_eq!(status(&house, &cookie).await, 200);
    let (_, mut stream) = house
        .stream(&cookie, &format!("/v1/debates/{id}/events"), &[])
        .await;
    let mut socket = open(&house, &cookie, id, "").await;
    until(&mut socket, "gate.opened").await;
    house.clock.go_ahead(240);
    assert_eq!(status(&house, &cookie).await, 401);
    assert_eq!(
        closed(&mut socket).await,
        (1008, "session ended".to_owned())
    );
    assert_eq!(
        stream
            .events()
            .await
            .pop()
            .expect("a last word")
            .data
            .expect("data")["problem"]["status"],
        401
    );
    assert_eq!(status(&house, "alice-approver").await, 200);
}
