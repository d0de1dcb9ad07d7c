//! The WebSocket: the same events, and commands the other way.

use crate::house::{House, case, credential};
use futures_util::{SinkExt, StreamExt};
use rebut_engine::{DebateId, Start, memory_store::MemoryStore, store::StoreError};
use rebut_server::{Settings, keys::Role};
use rebut_testkit::interposed::Interposed;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

pub type Socket = WebSocketStream<TcpStream>;

pub async fn open(house: &House, token: &str, id: DebateId, query: &str) -> Socket {
    let mut request = format!("ws://{}/v1/debates/{id}/ws{query}", house.host())
        .into_client_request()
        .expect("an address");
    let (name, value) = credential(token);
    request
        .headers_mut()
        .insert(name, value.parse().expect("a header"));
    let stream = TcpStream::connect(house.at)
        .await
        .expect("the server listens");
    client_async(request, stream).await.expect("a socket").0
}

/// The next message that is text; nothing after the close.
pub async fn next(socket: &mut Socket) -> Option<Value> {
    loop {
        match socket.next().await?.ok()? {
            Message::Text(text) => return Some(serde_json::from_str(&text).expect("JSON")),
            Message::Close(_) => return None,
            _ => {}
        }
    }
}

pub async fn until(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let message = next(socket)
            .await
            .unwrap_or_else(|| panic!("{kind} before the end"));
        if message["type"] == kind {
            return message;
        }
    }
}

pub async fn say(socket: &mut Socket, command: &Value) -> Value {
    socket
        .send(Message::text(command.to_string()))
        .await
        .expect("it listens");
    loop {
        let message = next(socket).await.expect("an answer");
        if message["type"] == "done" || message["type"] == "problem" {
            return message;
        }
    }
}

#[tokio::test]
async fn a_debate_is_followed_and_steered_over_a_socket() {
    let house = House::open().await;
    let id = house.begin("gated").await;
    let mut viewer = open(&house, "alice-viewer", id, "").await;
    let mut approver = open(
        &house,
        "alice-approver",
        id,
        "?types=gate.opened,gate.decided,debate.completed,human.noted",
    )
    .await;
    until(&mut viewer, "gate.opened").await;
    for (command, status) in [
        (json!({ "type": "note", "text": "x" }), 403),
        (json!({ "type": "approve" }), 403),
        (json!({ "type": "cancel" }), 403),
        (json!({ "type": "dance" }), 422),
        (json!({ "type": "note", "text": "x", "by": "boss" }), 422),
    ] {
        let heard = say(&mut viewer, &command).await;
        assert_eq!(heard["problem"]["status"], status, "{command}: {heard}");
    }
    until(&mut approver, "gate.opened").await;
    assert_eq!(
        say(&mut approver, &json!({ "type": "cancel", "reason": "no" })).await["problem"]["status"],
        403
    );
    assert_eq!(
        say(&mut approver, &json!({ "type": "reject" })).await["problem"]["status"],
        422,
        "a refusal says why"
    );
    assert_eq!(
        say(
            &mut approver,
            &json!({ "type": "note", "text": "mind the rain" })
        )
        .await,
        json!({ "type": "done", "command": "note" })
    );
    assert_eq!(
        until(&mut viewer, "human.noted").await["data"]["by"],
        "alice-approver"
    );
    approver
        .send(Message::text(
            json!({ "type": "approve", "reason": "fine" }).to_string(),
        ))
        .await
        .expect("it listens");
    let decided = until(&mut viewer, "gate.decided").await;
    assert_eq!(
        decided["data"],
        json!({ "gate": "release", "approved": true, "by": "alice-approver", "reason": "fine" })
    );
    assert_eq!(
        until(&mut viewer, "debate.completed").await["data"]["outcome"],
        "consensus"
    );
    assert_eq!(next(&mut viewer).await, None, "it closes after the end");
}

/// How the socket is closed: the code and the reason. What comes before is passed over.
pub async fn closed(socket: &mut Socket) -> (u16, String) {
    loop {
        if let Message::Close(frame) = socket.next().await.expect("a close").expect("a frame") {
            let frame = frame.expect("a reason");
            return (frame.code.into(), frame.reason.to_string());
        }
    }
}

/// A key that is gone ends every connection that came in by it; one that may do less from now on
/// does no more from now on.
#[tokio::test]
async fn a_key_that_is_taken_away_ends_what_it_opened() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let note = json!({ "type": "note", "text": "x" });
    let mut socket = open(&house, "alice-approver", id, "").await;
    let (_, mut stream) = house
        .stream("alice-approver", &format!("/v1/debates/{id}/events"), &[])
        .await;
    let mut other = open(&house, "alice-admin", id, "").await;
    assert_eq!(say(&mut socket, &note).await["type"], "done");
    house.change_key("alice-approver", Some(Role::Viewer));
    for command in [&note, &json!({ "type": "approve" })] {
        assert_eq!(
            say(&mut socket, command).await["problem"]["status"],
            403,
            "{command}"
        );
    }
    house.change_key("alice-approver", None);
    // The command may be heard before or after the end; done it is never.
    let _ = socket
        .send(Message::text(json!({ "type": "approve" }).to_string()))
        .await;
    assert_eq!(closed(&mut socket).await, (1008, "key removed".to_owned()));
    let last = stream.events().await.pop().expect("a last word");
    assert_eq!(
        (
            last.name.as_deref(),
            &last.data.expect("data")["problem"]["status"]
        ),
        (Some("problem"), &json!(401))
    );
    let gates = house
        .get("alice-viewer", &format!("/v1/debates/{id}/gates"))
        .await
        .json();
    assert_eq!(gates["gates"][0]["decision"], Value::Null, "nobody decided");
    assert_eq!(
        say(&mut other, &json!({ "type": "approve" })).await["type"],
        "done",
        "others go on"
    );
    assert_eq!(closed(&mut other).await, (1000, "ended".to_owned()));
}

/// Commands have numbers if their sender gives them some; what is too long to be read closes the
/// socket and says so.
#[tokio::test]
async fn replies_repeat_the_id_of_their_command() {
    let settings = Settings {
        body_bytes: 1_000,
        ..Settings::default()
    };
    let house = House::with("unanimous", settings).await;
    let id = house.begin_gated().await;
    let mut socket = open(&house, "alice-approver", id, "").await;
    let rows = [
        (
            json!({ "type": "note", "text": "x", "id": 7 }),
            "done",
            json!(7),
        ),
        (
            json!({ "type": "note", "text": " ", "id": "a" }),
            "problem",
            json!("a"),
        ),
        (json!({ "type": "dance", "id": "b" }), "problem", json!("b")),
        (
            json!({ "type": "note", "text": "x", "id": [1] }),
            "problem",
            Value::Null,
        ),
        (json!({ "type": "note", "text": "x" }), "done", Value::Null),
    ];
    for (command, kind, id) in rows {
        let heard = say(&mut socket, &command).await;
        assert_eq!(
            (&heard["type"], &heard["id"]),
            (&json!(kind), &id),
            "{command}: {heard}"
        );
    }
    socket
        .send(Message::text(
            json!({ "type": "note", "text": "x".repeat(2_000) }).to_string(),
        ))
        .await
        .expect("it listens");
    assert_eq!(closed(&mut socket).await, (1009, "too large".to_owned()));
}

#[tokio::test]
async fn a_socket_is_closed_when_the_server_stops() {
    let mut house = House::open().await;
    let id = house.begin_gated().await;
    let mut socket = open(&house, "alice-admin", id, "?after=1").await;
    assert_eq!(next(&mut socket).await.expect("an event")["seq"], 2);
    house.stop();
    until(&mut socket, "shutdown").await;
    assert_eq!(closed(&mut socket).await, (1001, "shutdown".to_owned()));
    // Whoever comes until all is let go is told so, rather than that nobody is there.
    for (path, status) in [
        ("/healthz", 200),
        ("/readyz", 503),
        ("/metrics", 200),
        ("/v1/debates", 503),
        ("/nothing", 503),
    ] {
        let answer = house.get("alice-admin", path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert_eq!(
            answer.header("retry-after"),
            if status == 503 { "10" } else { "" },
            "{path}"
        );
    }
    let at = house.at;
    house.stopped().await;
    assert!(
        TcpStream::connect(at).await.is_err(),
        "nobody listens any more"
    );
}

#[tokio::test]
async fn what_is_no_socket_is_told_so() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let plain = house
        .get("alice-viewer", &format!("/v1/debates/{id}/ws"))
        .await;
    assert_eq!(
        (plain.status, &plain.json()["type"]),
        (426, &json!("urn:rebut:upgrade"))
    );
}

/// Where another server took the debate over, it has not ended: whoever followed it is to come
/// back, not to believe that this was all.
#[tokio::test]
async fn a_socket_of_a_debate_that_is_run_elsewhere_now_is_not_closed_as_ended() {
    let is_lost = Arc::new(AtomicBool::new(false));
    let loses = is_lost.clone();
    let store = Interposed::new(MemoryStore::new(), move |store, append| {
        let is_lost = loses.load(Ordering::SeqCst);
        Box::pin(async move {
            match is_lost {
                true => Err(StoreError::Lost {
                    debate: append.debate,
                    by: "another server".to_owned(),
                }),
                false => store.append(append).await,
            }
        })
    });
    let case = case("unanimous");
    let start = Start {
        initiated_by: String::new(),
        ..case.start.clone()
    };
    let house = House::kept_in(Arc::new(store), start, case.model(), Settings::default()).await;
    let id = house.begin_gated().await;
    let mut socket = open(&house, "alice-viewer", id, "").await;
    until(&mut socket, "gate.opened").await;
    is_lost.store(true, Ordering::SeqCst);
    let refused = house
        .ask(
            "alice-approver",
            "POST",
            &format!("/v1/debates/{id}/approve"),
            &json!({}),
        )
        .await;
    assert!(refused.status >= 400, "{}", refused.body);
    assert_eq!(closed(&mut socket).await, (1013, "not run here".to_owned()));
}
