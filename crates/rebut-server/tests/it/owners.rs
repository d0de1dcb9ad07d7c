//! Keys, owners and roles on every route there is: what is somebody else's is not there.

use crate::house::{House, WAITING};
use rebut_engine::DebateId;
use rebut_server::{Settings, keys::Role, listed};
use serde_json::{Value, json};

/// Something that fits the body of each route that must have one.
fn body(path: &str) -> Value {
    match path.rsplit('/').next().unwrap_or_default() {
        "debates" | "estimates" => json!({ "format": "decide" }),
        "tally" => json!({ "candidates": ["A"], "ballots": [] }),
        "reject" => json!({ "reason": "no" }),
        "decision" => json!({ "approved": true }),
        "notes" | "{turn}" => json!({ "text": "look" }),
        "answer" | "mark" => json!({ "option": "A" }),
        "redact" => json!({ "seq": 1, "reason": "private" }),
        "fork" => json!({ "at": "end" }),
        _ => Value::Null,
    }
}

/// A path with its parts filled in.
pub fn filled(path: &str, id: DebateId) -> String {
    let turn = WAITING.replace('/', "%2F").replace(' ', "%20");
    let path = path
        .replace("{id}", &id.to_string())
        .replace("{turn}", &turn);
    path.replace("{gate}", "release")
        .replace("{n}", "1")
        .replace("{name}", "decide")
        .replace("{webhook}", &id.to_string())
}

/// All routes and two owners: a foreign id answers as an unknown one does, word for word, and
/// nothing happens to the debate.
#[tokio::test]
async fn a_foreign_debate_is_not_there() {
    let house = House::open().await;
    let (mine, unknown) = (house.begin_gated().await, DebateId::new());
    let before = house.desk.records(mine).await.expect("a journal").len();
    let mut routes = 0;
    for (method, path, _) in listed()
        .into_iter()
        .filter(|(_, path, _)| path.contains("{id}"))
    {
        for more in [
            &[][..],
            &[("Accept", "text/event-stream"), ("Last-Event-ID", "1")],
        ] {
            let body = if method == "POST" {
                body(path)
            } else {
                Value::Null
            };
            let foreign = house
                .ask_with("bob-admin", method, &filled(path, mine), &body, more)
                .await;
            let nobodys = house
                .ask_with("bob-admin", method, &filled(path, unknown), &body, more)
                .await;
            assert_eq!(foreign.status, 404, "{method} {path}: {}", foreign.body);
            assert_eq!(
                (foreign.status, &foreign.body),
                (nobodys.status, &nobodys.body),
                "{method} {path}"
            );
        }
        routes += 1;
    }
    assert!(routes > 30, "{routes}");
    assert_eq!(
        house.desk.records(mine).await.expect("a journal").len(),
        before,
        "nothing was done to it"
    );
    for odd in [
        mine.to_string().to_uppercase(),
        mine.to_string().replace('-', ""),
        mine.short(),
        format!("%7B{mine}%7D"),
        "last".to_owned(),
    ] {
        assert_eq!(
            house
                .get("alice-admin", &format!("/v1/debates/{odd}"))
                .await
                .status,
            404,
            "{odd}"
        );
    }
    let listed = |token: &'static str, query: &'static str| {
        let house = &house;
        async move {
            house
                .get(token, &format!("/v1/debates{query}"))
                .await
                .json()["debates"]
                .as_array()
                .map(Vec::len)
        }
    };
    assert_eq!(listed("alice-viewer", "").await, Some(1));
    for query in ["", "?q=Offline", "?status=running", "?format=gated"] {
        assert_eq!(listed("bob-admin", query).await, Some(0), "{query}");
    }
    let begins = |token: &'static str, prefix: String| {
        let house = &house;
        async move {
            house
                .get(token, &format!("/v1/debates?limit=2&prefix={prefix}"))
                .await
        }
    };
    for prefix in [mine.short(), mine.to_string()] {
        let found = begins("alice-viewer", prefix.clone()).await.json();
        assert_eq!(found["debates"][0]["id"], json!(mine), "{prefix}");
        assert_eq!(
            begins("bob-admin", prefix).await.json()["debates"],
            json!([]),
            "a prefix finds nothing of others"
        );
    }
    assert_eq!(
        begins("alice-viewer", unknown.to_string()).await.json()["debates"],
        json!([])
    );
    for odd in [
        String::new(),
        "%25".to_owned(),
        mine.short().to_uppercase() + "G",
        "0".repeat(37),
    ] {
        assert_eq!(
            begins("alice-viewer", odd.clone()).await.status,
            400,
            "{odd:?}"
        );
    }
}

/// What a role may not do is refused before anything is looked at; what it may is not.
#[tokio::test]
async fn roles_bound_every_route() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    for (method, path, min_role) in listed() {
        let Some(min_role) = min_role else { continue };
        for role in [Role::Viewer, Role::Approver]
            .into_iter()
            .filter(|role| *role < min_role)
        {
            let body = if method == "POST" {
                body(path)
            } else {
                Value::Null
            };
            let answer = house
                .ask(
                    &format!("alice-{}", role.as_str()),
                    method,
                    &filled(path, id),
                    &body,
                )
                .await;
            assert_eq!(
                answer.status, 403,
                "{role:?} {method} {path}: {}",
                answer.body
            );
        }
        let expected = match (method, path) {
            ("POST", "/v1/voting/tally" | "/v1/estimates" | "/v1/session")
            | ("DELETE", "/v1/session") => Role::Viewer,
            (_, path) if path.starts_with("/v1/webhooks") => Role::Admin,
            ("GET", _) => Role::Viewer,
            (_, path)
                if [
                    "approve", "reject", "decision", "notes", "answer", "mark", "{turn}",
                ]
                .iter()
                .any(|end| path.ends_with(end)) =>
            {
                Role::Approver
            }
            _ => Role::Admin,
        };
        assert_eq!(min_role, expected, "{method} {path}");
    }
    assert!(
        house.desk.is_run(id).await.expect("known"),
        "nobody ended it"
    );
}

#[tokio::test]
async fn a_request_cannot_say_who_it_is_or_what_came_of_it() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let rows = [
        (
            "/v1/debates".to_owned(),
            json!({ "format": "decide", "initiated_by": "bob" }),
        ),
        (
            "/v1/debates".to_owned(),
            json!({ "format": "decide", "status": "completed" }),
        ),
        (
            "/v1/debates".to_owned(),
            json!({ "format": "decide", "limits": { "cost": 0 } }),
        ),
        (format!("/v1/debates/{id}/approve"), json!({ "by": "boss" })),
        (
            format!("/v1/debates/{id}/reject"),
            json!({ "reason": "no", "reviewer": "boss" }),
        ),
        (format!("/v1/debates/{id}/reject"), json!({})),
        (
            format!("/v1/debates/{id}/reject"),
            json!({ "reason": "  " }),
        ),
        (
            format!("/v1/debates/{id}/gates/release/decision"),
            json!({ "approved": false }),
        ),
        (
            format!("/v1/debates/{id}/notes"),
            json!({ "text": "look", "by": "boss" }),
        ),
        (format!("/v1/debates/{id}/notes"), json!({ "text": "  " })),
        (format!("/v1/debates/{id}/pause"), json!({ "why": "so" })),
    ];
    for (path, body) in rows {
        let answer = house.ask("alice-admin", "POST", &path, &body).await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (422, "application/problem+json"),
            "{path} {body}: {}",
            answer.body
        );
    }
    let gate = house
        .ask(
            "alice-admin",
            "POST",
            &format!("/v1/debates/{id}/gates/nothing/decision"),
            &json!({ "approved": true }),
        )
        .await;
    assert_eq!(gate.status, 404);
}

/// Tokens: whole, in one header, never in an address or a cookie; or the cookie that the server
/// sets for its pages, once.
#[tokio::test]
async fn a_key_is_shown_whole_or_not_at_all() {
    let house = House::open().await;
    let host = house.host();
    let web_session = house.web_session("alice-admin").await;
    let rows: &[(&[(&str, &str)], u16)] = &[
        (&[], 401),
        (&[("Authorization", "Bearer alice-admin")], 200),
        (&[("Authorization", "bearer alice-admin")], 200),
        (&[("Authorization", "Bearer alice-admi")], 401),
        (&[("Authorization", "Bearer alice-admin2")], 401),
        (&[("Authorization", "Bearer ")], 401),
        (&[("Authorization", "Basic alice-admin")], 401),
        (&[("Authorization", "alice-admin")], 401),
        (
            &[
                ("Authorization", "Bearer alice-admin"),
                ("Authorization", "Bearer alice-admin"),
            ],
            401,
        ),
        (&[("Cookie", "rebut=alice-admin")], 401),
        (&[("Cookie", &web_session)], 200),
        (&[("Cookie", &format!("a=b; {web_session}; c=d"))], 200),
        (&[("Cookie", "a=b"), ("Cookie", &web_session)], 200),
        (&[("Cookie", &format!("{web_session}; rebut=nobody"))], 401),
        (&[("Cookie", &format!("{web_session}; {web_session}"))], 401),
        (&[("Cookie", &web_session.replace("rebut", "Rebut"))], 401),
        (
            &[("Authorization", "Bearer nobody"), ("Cookie", &web_session)],
            401,
        ),
        (
            &[("Authorization", &web_session.replace("rebut=", "Bearer "))],
            401,
        ),
    ];
    for (headers, expected) in rows {
        let all: Vec<(&str, &str)> = [("Host", host.as_str())]
            .into_iter()
            .chain(headers.iter().copied())
            .collect();
        let answer = crate::wire::send(
            house.at,
            &crate::wire::request("GET", "/v1/session", &all, ""),
        )
        .await;
        assert_eq!(answer.status, *expected, "{headers:?}");
        assert_eq!(
            answer.header("www-authenticate"),
            if *expected == 401 { "Bearer" } else { "" }
        );
    }
    assert_eq!(
        house.get("", "/v1/session?token=alice-admin").await.status,
        401,
        "an address holds no key"
    );
    let who = house.get("alice-approver", "/v1/session").await.json();
    assert_eq!(
        who,
        json!({ "name": "alice-approver", "owner": "alice", "role": "approver" })
    );
}

/// What is counted over all owners is read by whoever runs the server, in any role, and by nobody
/// else, in none.
#[tokio::test]
async fn counts_of_everybody_are_for_whoever_runs_the_server() {
    let house = House::with(
        "unanimous",
        Settings {
            operator: Some("alice".to_owned()),
            ..Settings::default()
        },
    )
    .await;
    house.run().await;
    let stranger = house.web_session("bob-admin").await;
    for (shown, expected) in [
        ("alice-viewer", 200),
        ("alice-admin", 200),
        ("bob-viewer", 403),
        ("bob-admin", 403),
        (&stranger, 403),
    ] {
        let answer = house.get(shown, "/metrics").await;
        assert_eq!(
            (
                answer.status,
                answer.body.contains("rebut_debates_started_total")
            ),
            (expected, expected == 200),
            "{shown}"
        );
    }
}
