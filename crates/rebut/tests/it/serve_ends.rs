//! How things end at a server: connections whose key is gone, pauses that another server was asked
//! for, traces of what ended before it stopped.

use crate::{rebut::Rebut, served::Served};
use rebut_testkit::catcher::{Catcher, Caught};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::TcpStream,
};

/// Three judges that need no model; the result waits for somebody who approves it, if that is asked
/// for.
fn asked(approval_seconds: u64) -> Value {
    let option = |id: &str| json!({"id": id, "label": id});
    let judges =
        ["risk", "value", "effort"].map(|role| json!({"role": role, "model": "rehearsal"}));
    json!({
        "format": "decide", "agents": judges, "limits": {"approval_seconds": approval_seconds},
        "input": {"question": "Offline support?", "options": [option("A"), option("B")]},
    })
}

/// Tests ask again and again until something is known, faster than people may.
fn installed() -> Rebut {
    let rebut = Rebut::new();
    rebut.user_config("[server]\nrequests_per_minute = 1000000\n");
    rebut
}

#[test]
fn a_key_that_is_taken_away_ends_its_stream() {
    let rebut = installed();
    let served = Served::start(&rebut, &[]);
    let id = served.begin(&asked(1800));
    served.follow(&id, |event| event["type"] == "gate.opened");
    let token = rebut
        .expect(0, &["keys", "add", "tmp", "--owner", "tester"])
        .trim()
        .to_owned();
    // The key is read within seconds; until then it is not known.
    while served
        .ask_with(&token, "GET", "/v1/debates", None, "")
        .status
        == 401
    {}
    let head = format!(
        "GET /v1/debates/{id}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer \
         {token}\r\nAccept: text/event-stream\r\n\
         Connection: close\r\n\r\n",
        served.address
    );
    let mut stream = TcpStream::connect(&served.address).expect("a server that listens");
    stream.write_all(head.as_bytes()).expect("it reads");
    rebut.expect(0, &["keys", "rm", "tmp"]);
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it ends");
    assert!(
        text.contains("gate.opened")
            && text.contains("event: problem")
            && text.contains("urn:rebut:unauthorized"),
        "{text}"
    );
    assert_eq!(
        served
            .ask_with(&token, "GET", "/v1/debates", None, "")
            .status,
        401
    );
}

#[test]
fn a_pause_is_asked_for_at_any_server_and_says_by_whom() {
    let rebut = installed();
    let (mut runs, other) = (Served::start(&rebut, &[]), Served::start(&rebut, &[]));
    let id = runs.begin(&asked(1800));
    runs.follow(&id, |event| event["type"] == "gate.opened");
    let at = |verb: &str| format!("/v1/debates/{id}/{verb}");
    assert_eq!(
        other.ask("POST", &at("pause"), Some(&json!({}))).status,
        202
    );
    let paused = runs.follow(&id, |event| event["type"] == "debate.paused");
    assert_eq!(
        paused["data"],
        json!({"reason": "asked for", "by": "local"})
    );
    let told = runs.until("debate.paused");
    assert_eq!(
        (&told["debate"], &told["by"]),
        (&json!(id), &json!("local"))
    );
    assert_eq!(
        other.ask("POST", &at("pause"), Some(&json!({}))).status,
        409,
        "nobody runs it now"
    );
    while other.ask("POST", &at("resume"), Some(&json!({}))).status == 409 {}
    let resumed = runs.follow(&id, |event| event["type"] == "debate.resumed");
    assert_eq!(resumed["data"]["by"], "local");
    assert_eq!(
        other.ask("POST", &at("approve"), Some(&json!({}))).status,
        200
    );
    runs.follow(&id, |event| event["type"] == "debate.completed");
    rebut.expect(0, &["audit", "verify", &id]);
    rebut.expect(0, &["replay", &id]);
    other.signal("TERM");
    let (_, log) = other.finish();
    let request = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|line| line["route"] == "approve");
    let request = request.unwrap_or_else(|| panic!("a line for the request: {log}"));
    assert_eq!(
        (&request["key"], &request["debate"], &request["status"]),
        (&json!("local"), &json!(id), &json!(200)),
        "{request}"
    );
}

#[test]
fn traces_of_what_ended_are_sent_before_a_server_stops() {
    let collector = Catcher::start(&[200]);
    let mut rebut = installed();
    rebut.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    let served = Served::start(&rebut, &[]);
    let end = |_| {
        served
            .ask_with(
                &served.token,
                "POST",
                "/v1/debates",
                Some(&asked(0)),
                "Prefer: wait=60\r\n",
            )
            .json()["debate_id"]
            .clone()
    };
    let ended: BTreeSet<String> = (0..10)
        .map(end)
        .map(|id| id.as_str().expect("an id").replace('-', ""))
        .collect();
    served.signal("TERM");
    let (code, log) = served.finish();
    assert_eq!((code, log.contains("spans are lost")), (0, false), "{log}");
    let trace = |caught: Caught| {
        let sent: Value = serde_json::from_str(&caught.body).expect("JSON");
        sent["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"]
            .as_str()
            .expect("a trace")
            .to_owned()
    };
    assert_eq!(
        collector
            .rest()
            .into_iter()
            .map(trace)
            .collect::<BTreeSet<_>>(),
        ended
    );
}

#[test]
fn a_name_that_cannot_be_one_is_refused_at_the_start() {
    for bad in [
        "bad host",
        "http://debates.example.org",
        "debates.example.org:x",
        "",
    ] {
        let refused = installed().run(&["serve", "--host", bad]);
        assert!(
            refused.code == 2 && refused.stderr.contains("NAME:PORT"),
            "{bad}: {}",
            refused.stderr
        );
    }
}
