//! The WebSocket: the same events, and commands the other way.

use crate::house::House;
use futures_util::{SinkExt, StreamExt};
use rebut_engine::DebateId;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

type Socket = WebSocketStream<TcpStream>;

async fn open(house: &House, token: &str, id: DebateId, query: &str) -> Socket {
    let mut request = format!("ws://{}/v1/debates/{id}/ws{query}", house.host()).into_client_request().expect("an address");
    request.headers_mut().insert("Authorization", format!("Bearer {token}").parse().expect("a header"));
    let stream = TcpStream::connect(house.at).await.expect("the server listens");
    client_async(request, stream).await.expect("a socket").0
}

/// The next message that is text; nothing after the close.
async fn next(socket: &mut Socket) -> Option<Value> {
    loop {
        match socket.next().await?.ok()? {
            Message::Text(text) => return Some(serde_json::from_str(&text).expect("JSON")),
            Message::Close(_) => return None,
            _ => {}
        }
    }
}

async fn until(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let message = next(socket).await.unwrap_or_else(|| panic!("{kind} before the end"));
        if message["type"] == kind {
            return message;
        }
    }
}

async fn say(socket: &mut Socket, command: &Value) -> Value {
    socket.send(Message::text(command.to_string())).await.expect("it listens");
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
    let mut approver = open(&house, "alice-approver", id, "?types=gate.opened,gate.decided,debate.completed,human.noted").await;
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
    assert_eq!(say(&mut approver, &json!({ "type": "cancel", "reason": "no" })).await["problem"]["status"], 403);
    assert_eq!(say(&mut approver, &json!({ "type": "reject" })).await["problem"]["status"], 422, "a refusal says why");
    assert_eq!(say(&mut approver, &json!({ "type": "note", "text": "mind the rain" })).await, json!({ "type": "done", "command": "note" }));
    assert_eq!(until(&mut viewer, "human.noted").await["data"]["by"], "alice-approver");
    approver.send(Message::text(json!({ "type": "approve", "reason": "fine" }).to_string())).await.expect("it listens");
    let decided = until(&mut viewer, "gate.decided").await;
    assert_eq!(decided["data"], json!({ "gate": "release", "approved": true, "by": "alice-approver", "reason": "fine" }));
    assert_eq!(until(&mut viewer, "debate.completed").await["data"]["outcome"], "consensus");
    assert_eq!(next(&mut viewer).await, None, "it closes after the end");
}

#[tokio::test]
async fn a_socket_is_closed_when_the_server_stops() {
    let mut house = House::open().await;
    let id = house.begin_gated().await;
    let mut socket = open(&house, "alice-admin", id, "?after=1").await;
    assert_eq!(next(&mut socket).await.expect("an event")["seq"], 2);
    house.stop();
    until(&mut socket, "shutdown").await;
    assert_eq!(next(&mut socket).await, None);
    house.stopped().await;
}

#[tokio::test]
async fn what_is_no_socket_is_told_so() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let plain = house.get("alice-viewer", &format!("/v1/debates/{id}/ws")).await;
    assert_eq!((plain.status, &plain.json()["type"]), (426, &json!("urn:rebut:upgrade")));
}
