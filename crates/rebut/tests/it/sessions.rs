//! Sessions of pages at the real server: they outlast a restart, and so does leaving; both hold at
//! every node over one database; and they end with their key.

use crate::{rebut::Rebut, served::Served};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
};

const SESSION: &str = "/v1/session";

fn installed() -> Rebut {
    let rebut = Rebut::new();
    rebut.user_config("[server]\nrequests_per_minute = 1000000\n");
    rebut
}

/// Opens a session with that token; its cookie, and the line by which a browser sends it.
fn web_session(served: &Served, token: &str) -> (String, String) {
    let opened = served.ask_with(token, "POST", SESSION, None, "");
    let cookie = opened
        .head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: rebut=")?.split(';').next())
        .map(str::to_owned);
    let cookie = cookie.unwrap_or_else(|| panic!("a cookie: {opened:?}"));
    let line = format!("Cookie: rebut={cookie}\r\n");
    (cookie, line)
}

fn status(served: &Served, line: &str) -> u16 {
    served.ask_with("", "GET", SESSION, None, line).status
}

/// Follows a debate by a cookie until it waits for somebody.
fn stream(served: &Served, line: &str) -> BufReader<TcpStream> {
    let judges =
        ["risk", "value", "effort"].map(|role| json!({"role": role, "model": "rehearsal"}));
    let options = ["A", "B"].map(|id| json!({"id": id, "label": id}));
    let id = served.begin(&json!({
        "format": "decide", "agents": judges, "limits": {"approval_seconds": 1800}, "input": {"question": "Offline support?", "options": options},
    }));
    let events = format!(
        "GET /v1/debates/{id}/events HTTP/1.1\r\nHost: {}\r\n{line}",
        served.address
    );
    let mut stream = TcpStream::connect(&served.address).expect("a server that listens");
    stream
        .write_all(
            format!("{events}Accept: text/event-stream\r\nConnection: close\r\n\r\n").as_bytes(),
        )
        .expect("it reads");
    let mut stream = BufReader::new(stream);
    assert!(
        stream
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .any(|line| line == "event: gate.opened"),
        "somebody is waited for"
    );
    stream
}

/// Whatever the stream still shows, which ends with being sent away.
fn is_sent_away(mut stream: BufReader<TcpStream>) {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it ends");
    assert!(
        text.contains("event: problem") && text.contains("urn:rebut:unauthorized"),
        "{text}"
    );
}

#[test]
fn a_session_outlasts_a_crash_and_so_does_leaving() {
    let rebut = installed();
    let served = Served::start(&rebut, &[]);
    let (cookie, line) = web_session(&served, &served.token);
    let (_, other) = web_session(&served, &served.token);
    served.kill();
    let (id, secret) = cookie.split_once('.').expect("a name and a secret");
    assert_eq!(
        rebut.holding(secret),
        Vec::<PathBuf>::new(),
        "what a visitor shows is kept nowhere"
    );
    let served = Served::start(&rebut, &[]);
    assert_eq!(
        (status(&served, &line), status(&served, &other)),
        (200, 200)
    );
    assert_eq!(
        served.ask_with("", "DELETE", SESSION, None, &line).status,
        204
    );
    served.kill();
    let served = Served::start(&rebut, &[]);
    assert_eq!(
        (status(&served, &line), status(&served, &other)),
        (401, 200),
        "whoever left stays away"
    );
    served.signal("TERM");
    let (_, log) = served.finish();
    assert!(
        log.contains("\"route\":\"getSession\"") && !log.contains(secret) && !log.contains(id),
        "{log}"
    );
}

#[test]
fn a_session_ends_with_its_key() {
    let rebut = installed();
    let token = rebut
        .expect(0, &["keys", "add", "tmp", "--owner", "tester"])
        .trim()
        .to_owned();
    let keep = rebut
        .expect(
            0,
            &[
                "keys", "add", "keep", "--owner", "tester", "--role", "admin",
            ],
        )
        .trim()
        .to_owned();
    let mut served = Served::start(&rebut, &[]);
    served.token = keep;
    let ((cookie, line), (_, other)) = (
        web_session(&served, &token),
        web_session(&served, &served.token),
    );
    assert!(
        !cookie.contains(&token) && !token.contains(&cookie),
        "{cookie}"
    );
    let who = served.ask_with("", "GET", SESSION, None, &line).json();
    assert_eq!(
        who,
        json!({"name": "tmp", "owner": "tester", "role": "viewer"})
    );
    let watched = stream(&served, &line);
    rebut.expect(0, &["keys", "rm", "tmp"]);
    is_sent_away(watched);
    assert_eq!(
        (status(&served, &line), status(&served, &other)),
        (401, 200)
    );
    let again = rebut
        .expect(0, &["keys", "add", "tmp", "--owner", "tester"])
        .trim()
        .to_owned();
    while served.ask_with(&again, "GET", SESSION, None, "").status == 401 {}
    assert_eq!(
        status(&served, &line),
        401,
        "a new key of that name is another key"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_holds_at_every_node_until_somebody_leaves_at_one() {
    let cluster = rebut_testkit::postgres::Cluster::start();
    let mut rebut = installed();
    rebut.set("REBUT_DATABASE", &cluster.database());
    let nodes = [(); 2].map(|()| Served::start(&rebut, &[]));
    let (_, line) = web_session(&nodes[0], &nodes[0].token);
    assert_eq!(nodes.each_ref().map(|node| status(node, &line)), [200, 200]);
    let (here, there) = (stream(&nodes[0], &line), stream(&nodes[1], &line));
    assert_eq!(
        nodes[1].ask_with("", "DELETE", SESSION, None, &line).status,
        204
    );
    assert_eq!(
        nodes.each_ref().map(|node| status(node, &line)),
        [401, 401],
        "at once, everywhere"
    );
    is_sent_away(there);
    is_sent_away(here);
    assert_eq!(
        nodes[0].ask("GET", SESSION, None).json()["name"],
        Value::from("local"),
        "the key stays"
    );
}
