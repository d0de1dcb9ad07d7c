//! Clients that hang up at every millisecond of every request that changes something: nothing is
//! left half done, no debate is claimed that nobody runs, and whoever asks again under the same key
//! gets a debate that ends.

use crate::{
    rebut::{Rebut, case, recommends, script},
    served::Served,
};
use futures_util::future::join_all;
use rebut_testkit::postgres::Cluster;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// Starts of debates on which a client hangs up, for each store.
const STARTS: usize = 360;

/// Hang-ups on each other route, for each store.
const EACH: usize = 9;

/// Clients at once.
const AT_ONCE: usize = 12;

/// A debate that has not ended by then never will.
const PATIENCE: Duration = Duration::from_secs(120);

const START: (&str, &str) = ("POST", "/v1/debates");

/// Judges that agree, a debate whose judges do not, and one that asks a person.
const AGREED: &str = "agreed.md";
const DIVIDED: &str = "divided.md";

/// How a client leaves.
#[derive(Clone, Copy, Debug)]
struct Leaves {
    /// After so many milliseconds, unless it is answered before.
    after: u64,
    /// With a reset of the connection rather than a polite end.
    resets: bool,
    /// Before it has sent everything.
    early: bool,
}

/// Every way of leaving, again and again.
fn leaves(number: usize) -> Leaves {
    Leaves {
        after: number as u64 % 9,
        resets: number.is_multiple_of(2),
        early: number % 10 == 9,
    }
}

/// What a client asks for.
struct Request {
    method: &'static str,
    path: String,
    body: Option<Value>,
    head: String,
}

impl Request {
    /// As it goes over the wire, and how much of that is the body.
    fn bytes(&self, served: &Served) -> (Vec<u8>, usize) {
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        let kind = if body.is_empty() {
            ""
        } else {
            "Content-Type: application/json\r\n"
        };
        let head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n{kind}{}\r\n",
            self.method,
            self.path,
            served.address,
            body.len(),
            self.head
        );
        (format!("{head}{body}").into_bytes(), body.len())
    }
}

/// Asks, and hangs up.
async fn hang_up(served: &Served, request: &Request, leaves: Leaves) {
    let (mut bytes, body) = request.bytes(served);
    if leaves.early {
        bytes.truncate(bytes.len() - body / 2 - 1);
    }
    let mut stream = TcpStream::connect(&served.address)
        .await
        .expect("a server that listens");
    stream.write_all(&bytes).await.expect("it reads");
    // An answer that comes before is not read to its end.
    let _ = timeout(Duration::from_millis(leaves.after), stream.read(&mut [0])).await;
    if leaves.resets {
        stream.set_zero_linger().expect("an option of the socket");
    }
}

async fn hang_up_on_all(served: &Served, requests: &[Request]) {
    for (at, some) in requests.chunks(AT_ONCE).enumerate() {
        join_all(
            some.iter()
                .enumerate()
                .map(|(n, request)| hang_up(served, request, leaves(at * AT_ONCE + n))),
        )
        .await;
    }
}

fn installed(database: Option<&str>) -> Rebut {
    let mut rebut = Rebut::new();
    if let Some(url) = database {
        rebut.set("REBUT_DATABASE", url);
    }
    // Nobody listens there; nothing is sent of what happens here either.
    rebut.user_config(
        "[server]\nrequests_per_minute = 1000000\nwebhook_hosts = [\"127.0.0.1:9\"]\n",
    );
    let turns = ["recommend/risk", "recommend/value", "recommend/effort"];
    let says = |options: [&str; 3]| {
        let replies: Vec<(&str, String)> = turns.into_iter().zip(options.map(recommends)).collect();
        script(
            &replies
                .iter()
                .map(|(turn, reply)| (*turn, reply.as_str()))
                .collect::<Vec<_>>(),
        )
    };
    rebut.write(AGREED, &says(["B", "B", "B"]));
    rebut.write(DIVIDED, &says(["A", "B", "C"]));
    rebut
}

fn serve(rebut: &Rebut) -> Served {
    Served::start(rebut, &["--allow-scripts"])
}

fn debate(words: &str, gated: bool) -> Value {
    let option = |id: &str| json!({"id": id, "label": id});
    let agents = ["risk", "value", "effort"]
        .map(|role| json!({"role": role, "model": format!("script:{words}")}));
    json!({
        "format": "decide", "seed": 7, "agents": agents, "config": {"max_rounds": 1},
        "limits": if gated { json!({"approval_seconds": 3600}) } else { json!({}) },
        "input": {"question": "Offline support?", "options": [option("A"), option("B"), option("C")]},
    })
}

/// A start under that key; some wait for the end.
fn start(served: &Served, number: usize) -> Request {
    let wait = if number.is_multiple_of(3) {
        "Prefer: wait=30\r\n"
    } else {
        ""
    };
    let head = format!(
        "Authorization: Bearer {}\r\nIdempotency-Key: key-{number}\r\n{wait}",
        served.token
    );
    Request {
        method: "POST",
        path: "/v1/debates".to_owned(),
        body: Some(debate(AGREED, false)),
        head,
    }
}

/// Starts a debate and waits until it is where something can be done to it.
fn ended(served: &Served, words: &str) -> String {
    let answer = served.ask_with(
        &served.token,
        "POST",
        "/v1/debates",
        Some(&debate(words, false)),
        "Prefer: wait=60\r\n",
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["debate_id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

fn at_gate(served: &Served) -> String {
    let id = served.begin(&debate(AGREED, true));
    served.follow(&id, |event| event["type"] == "gate.opened");
    id
}

fn paused(served: &Served) -> String {
    let id = at_gate(served);
    assert_eq!(
        served
            .ask("POST", &format!("/v1/debates/{id}/pause"), None)
            .status,
        202
    );
    served.follow(&id, |event| event["type"] == "debate.paused");
    id
}

fn with_a_person(served: &Served) -> String {
    let mut asked = debate(AGREED, false);
    asked["agents"][2]["model"] = json!("human:anna");
    let id = served.begin(&asked);
    while served
        .ask("GET", &format!("/v1/debates/{id}/turn-requests"), None)
        .json()["turns"]
        .get(0)
        .is_none()
    {}
    id
}

fn reply() -> Value {
    let says = json!({"option": "B", "ranking": ["B"], "confidence": 0.9, "summary": "I \
        know", "claims": ["I was there"], "flips_if": "never"});
    json!({ "reply": says })
}

fn webhook(served: &Served) -> String {
    let made = served.ask("POST", "/v1/webhooks", Some(&hook()));
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["id"].as_str().expect("an id").to_owned()
}

/// There may be few of them.
fn without_webhooks(served: &Served) {
    for webhook in served.ask("GET", "/v1/webhooks", None).json()["webhooks"]
        .as_array()
        .expect("a list")
    {
        let path = format!("/v1/webhooks/{}", webhook["id"].as_str().expect("an id"));
        // Somebody who hung up may have removed it.
        let gone = served.ask("DELETE", &path, None);
        assert!([204, 404].contains(&gone.status), "{gone:?}");
    }
}

fn hook() -> Value {
    json!({"url": "http://127.0.0.1:9/", "events": ["debate.paused"]})
}

fn cookie(served: &Served) -> String {
    let opened = served.ask("POST", "/v1/session", None);
    let cookie = opened
        .head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: rebut=")?.split(';').next());
    format!(
        "Cookie: rebut={}\r\n",
        cookie.unwrap_or_else(|| panic!("a cookie: {opened:?}"))
    )
}

/// A request to a route that changes something, with everything made that it needs. A new route
/// needs a row here.
fn request_to(served: &Served, (method, path): (&'static str, &'static str)) -> Request {
    let key = format!("Authorization: Bearer {}\r\n", served.token);
    let request = |path: String, body: Option<Value>| Request {
        method,
        path,
        body,
        head: key.clone(),
    };
    let of = |id: String, body: Value| request(path.replace("{id}", &id), Some(body));
    let last = path.rsplit('/').next().unwrap_or_default();
    match (method, last) {
        ("POST", "approve" | "cancel" | "pause") => of(at_gate(served), json!({})),
        ("POST", "reject") => of(at_gate(served), json!({"reason": "not now"})),
        ("POST", "decision") => Request {
            path: path.replace("{gate}", "result"),
            ..of(at_gate(served), json!({"approved": true}))
        },
        ("POST", "notes") => of(
            at_gate(served),
            json!({"text": "the night shift counts double"}),
        ),
        ("POST", "answer") => of(ended(served, DIVIDED), json!({"option": "B"})),
        ("POST", "mark") => of(ended(served, AGREED), json!({"option": "B"})),
        ("POST", "redact") => of(ended(served, AGREED), json!({"seq": 6, "reason": "a name"})),
        ("POST", "resume") => of(paused(served), json!({})),
        ("POST", "fork") => of(ended(served, AGREED), json!({"at": "end"})),
        ("POST", "{turn}") => of(with_a_person(served), reply()),
        ("DELETE", "{id}") => request(path.replace("{id}", &ended(served, AGREED)), None),
        ("POST", "webhooks") => request(path.to_owned(), Some(hook())),
        ("PUT", "{webhook}") => request(path.replace("{webhook}", &webhook(served)), Some(hook())),
        ("DELETE", "{webhook}") => request(path.replace("{webhook}", &webhook(served)), None),
        ("POST", "test") => request(path.replace("{webhook}", &webhook(served)), Some(json!({}))),
        ("POST", "session") => request(path.to_owned(), None),
        ("DELETE", "session") => Request {
            head: cookie(served),
            ..request(path.to_owned(), None)
        },
        _ => panic!(
            "{method} {path} changes something: say here how it is asked for, so that somebody \
             hangs up on it"
        ),
    }
}

/// Replaces parts of the path that stand for more than one.
fn whole(mut request: Request) -> Request {
    request.path = request
        .path
        .replace("{gate}", "result")
        .replace("{turn}", "recommend%2Feffort");
    request
}

/// Every debate there is.
fn all(served: &Served) -> Vec<Value> {
    let (mut debates, mut after) = (Vec::new(), String::new());
    loop {
        let page = served
            .ask("GET", &format!("/v1/debates?limit=100{after}"), None)
            .json();
        debates.extend(page["debates"].as_array().expect("a list").iter().cloned());
        match page["next"].as_str() {
            Some(next) => after = format!("&cursor={next}"),
            None => return debates,
        }
    }
}

/// Whatever people did before they left, what has not ended comes to its end when somebody goes on:
/// there is a run that hears it.
fn comes_to_its_end(served: &Served, id: &str, begun: Instant) {
    let post = |what: &str, body: &Value| {
        served.ask("POST", &format!("/v1/debates/{id}/{what}"), Some(body))
    };
    loop {
        let standing = served
            .ask("GET", &format!("/v1/debates/{id}/status"), None)
            .json();
        assert!(begun.elapsed() < PATIENCE, "nobody runs it: {standing}");
        match standing["status"].as_str() {
            Some("running") if standing["open_gate"].is_object() => {
                drop(post("approve", &json!({})))
            }
            Some("running") if standing["waiting"].get(0).is_some() => {
                drop(post("turn-requests/recommend%2Feffort", &reply()))
            }
            Some("running") => {}
            Some("paused") => drop(post("resume", &json!({}))),
            _ => return,
        }
    }
}

/// Asked again under its key, a start is answered by the end of its debate.
fn ends_when_asked_again(served: &Served, number: usize) {
    let again = format!("Idempotency-Key: key-{number}\r\nPrefer: wait=60\r\n");
    let answer = served.ask_with(
        &served.token,
        "POST",
        "/v1/debates",
        Some(&debate(AGREED, false)),
        &again,
    );
    assert!(
        answer.status == 200 && answer.json()["outcome"] == "consensus",
        "key {number}: {answer:?}"
    );
}

/// The server stops in peace, and never found a debate of its own that it did not run.
fn was_in_order(served: Served) {
    served.signal("TERM");
    let (code, log) = served.finish();
    let is_odd = |line: &str| {
        line.contains("\"level\":\"error\"") || line.contains("\"event\":\"taken up\"")
    };
    let odd: Vec<&str> = log.lines().filter(|line| is_odd(line)).collect();
    assert_eq!((code, &odd[..]), (0, &[][..]));
}

async fn nobody_is_left_behind(rebut: &Rebut) {
    let served = serve(rebut);
    let starts: Vec<Request> = (0..STARTS).map(|number| start(&served, number)).collect();
    hang_up_on_all(&served, &starts).await;
    let routes = rebut_server::changing();
    assert!(routes.len() > 15, "{routes:?}");
    for route in routes.into_iter().filter(|route| *route != START) {
        without_webhooks(&served);
        let requests: Vec<Request> = (0..EACH)
            .map(|_| whole(request_to(&served, route)))
            .collect();
        hang_up_on_all(&served, &requests).await;
    }
    (0..STARTS).for_each(|number| ends_when_asked_again(&served, number));
    let begun = Instant::now();
    for debate in all(&served) {
        comes_to_its_end(&served, debate["id"].as_str().expect("an id"), begun);
    }
    was_in_order(served);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_half_done_in_a_file() {
    nobody_is_left_behind(&installed(None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_half_done_on_a_server() {
    let cluster = Cluster::start();
    nobody_is_left_behind(&installed(Some(&cluster.database()))).await;
}

/// How many wait for somebody who holds a lock.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_stalls_longer_than_clients_wait_orphans_nothing() {
    const CLIENTS: usize = 20;
    let cluster = Cluster::start();
    let url = cluster.database();
    let rebut = installed(Some(&url));
    let served = serve(&rebut);
    ended(&served, AGREED);
    let held = cluster.hold(&url, "LOCK TABLE rebut.events IN EXCLUSIVE MODE");
    let requests: Vec<Request> = (0..CLIENTS).map(|number| start(&served, number)).collect();
    let patient = |number: usize| Leaves {
        after: 500,
        early: false,
        ..leaves(number)
    };
    join_all(
        requests
            .iter()
            .enumerate()
            .map(|(number, request)| hang_up(&served, request, patient(number))),
    )
    .await;
    assert_ne!(cluster.ask(&url, WAITING), "0", "the database stalls");
    held.release();
    (0..CLIENTS).for_each(|number| ends_when_asked_again(&served, number));
    was_in_order(served);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_sees_through_what_it_was_asked_for() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let rebut = installed(Some(&url));
    let mut served = serve(&rebut);
    ended(&served, AGREED);
    let held = cluster.hold(&url, "LOCK TABLE rebut.events IN EXCLUSIVE MODE");
    hang_up(
        &served,
        &start(&served, 0),
        Leaves {
            after: 500,
            resets: true,
            early: false,
        },
    )
    .await;
    assert_ne!(cluster.ask(&url, WAITING), "0", "it is being begun");
    served.signal("TERM");
    served.until("stopping");
    held.release();
    let (code, log) = served.finish();
    assert_eq!(
        (code, log.matches("\"event\":\"debate.started\"").count()),
        (0, 2),
        "{log}"
    );
    let served = serve(&rebut);
    ends_when_asked_again(&served, 0);
    was_in_order(served);
}

#[test]
fn a_claim_of_this_server_without_a_run_is_taken_up() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let rebut = installed(Some(&url));
    let mut served = serve(&rebut);
    let id = at_gate(&served);
    let node = cluster.ask(&url, "SELECT node FROM rebut.claims");
    // Another seems to have taken it, so that the run ends; then it is this server's own again.
    cluster.ask(&url, "UPDATE rebut.claims SET node = gen_random_uuid()");
    let lost = served.ask(
        "POST",
        &format!("/v1/debates/{id}/notes"),
        Some(&json!({"text": "is anybody there?"})),
    );
    assert_eq!(lost.status, 503, "{lost:?}");
    served.until("no longer run here");
    cluster.ask(&url, &format!("UPDATE rebut.claims SET node = '{node}'"));
    assert_eq!(served.until("taken up")["debate"], id.as_str());
    let metrics = served.ask("GET", "/metrics", None).body;
    assert!(
        metrics.contains("rebut_debates_taken_up_total{claim=\"own\"} 1"),
        "{metrics}"
    );
    comes_to_its_end(&served, &id, Instant::now());
}

/// A debate whose process died behind its first reply, and the number of that.
fn interrupted(rebut: &Rebut) -> (String, String) {
    rebut.write(
        "debate.md",
        &script(&[("recommend/risk", &recommends("B")), ("*", "!timeout")]),
    );
    let mut run = rebut.start(&case(&[]));
    let seq = run.until(|event| event["type"] == "turn.completed")["seq"].to_string();
    let id = run.id.clone();
    run.kill();
    (id, seq)
}

#[test]
fn what_nobody_can_run_any_more_says_so() {
    let rebut = installed(None);
    let (id, seq) = interrupted(&rebut);
    rebut.run(&[
        "audit",
        "redact",
        &id,
        &seq,
        "--reason",
        "a name slipped in",
    ]);
    let mut served = serve(&rebut);
    let left = served.until("left open");
    assert!(
        left["debate"] == id.as_str()
            && left["why"]
                .as_str()
                .is_some_and(|why| why.contains("redacted")),
        "{left}"
    );
}

#[test]
fn what_a_server_cannot_run_is_let_go_with_the_reason() {
    let rebut = installed(None);
    let (id, _) = interrupted(&rebut);
    // Without scripts.
    let mut served = Served::start(&rebut, &[]);
    let why = served.until("left open")["why"]
        .as_str()
        .expect("a reason")
        .to_owned();
    // Written down just behind the line in the log.
    let card = loop {
        let card = served.ask("GET", "/v1/debates", None).json()["debates"][0].clone();
        if card["stalled"].is_string() {
            break card;
        }
    };
    assert_eq!(
        (&card["id"], &card["status"], &card["stalled"]),
        (&json!(id), &json!("running"), &json!(why))
    );
    for path in ["", "/status"] {
        assert_eq!(
            served
                .ask("GET", &format!("/v1/debates/{id}{path}"), None)
                .json()["stalled"],
            json!(why)
        );
    }
    while !served
        .ask("GET", "/metrics", None)
        .body
        .contains("rebut_debates_stalled 1")
    {}
    let (here, there) = (
        rebut.run(&["ls"]),
        rebut.run(&["ls", "--server", &served.url()]),
    );
    for list in [here, there] {
        assert!(
            list.stdout.contains("interrupted") && list.stderr.contains(&why),
            "{}{}",
            list.stdout,
            list.stderr
        );
    }
    assert_eq!(rebut.json(0, &["ls", "--json"])[0]["stalled"], json!(why));
    drop(served);
    rebut.write("debate.md", &script(&[("*", &recommends("B"))]));
    assert_eq!(
        rebut.run(&["resume", &id]).code,
        0,
        "whoever can may take it"
    );
    assert_eq!(rebut.json(0, &["ls", "--json"])[0]["stalled"], Value::Null);
}
