//! Gates, webhooks and what is kept for some days under clocks that are wrong: a server whose clock
//! stands 15 minutes off beside one that is right, and clocks that jump while a server runs.
//! `libfaketime` skews the clock of one real process; its monotonic clock is left alone, as a real
//! jump leaves it.

use crate::{
    panel_of_three::{Panel, debate},
    rebut::Rebut,
    served::{Answer, Served},
};
use jiff::{SignedDuration, Timestamp, civil::DateTime};
use rebut_testkit::{catcher::Catcher, postgres::Cluster};
use serde_json::{Value, json};
use std::fs;

/// A result that nobody could decide within one of these tests, and one that ends soon.
const LONG: u64 = 600;
const SHORT: u64 = 2;

/// No gate may be decided later than this.
const LATE: SignedDuration = SignedDuration::from_secs(1);

fn libfaketime() -> String {
    let folders = fs::read_dir("/usr/lib").expect("folders of libraries");
    let libraries = folders.map(|folder| {
        folder
            .expect("a folder")
            .path()
            .join("faketime/libfaketime.so.1")
    });
    let found = libraries.into_iter().find(|library| library.exists());
    found
        .expect("libfaketime (Debian's package `faketime`, which `./check` installs)")
        .display()
        .to_string()
}

/// From now on processes of this installation have a clock that stands off by so much, or by what
/// stands in a file.
fn skew(rebut: &mut Rebut, variable: &str, value: &str) {
    for (name, value) in [
        ("LD_PRELOAD", &*libfaketime()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("NO_FAKE_STAT", "1"),
        (variable, value),
    ] {
        rebut.set(name, value);
    }
}

/// Gives processes of this installation a clock that can be set while they run.
fn settable_clock(rebut: &mut Rebut) -> impl Fn(&str) + use<> {
    let clock = rebut.path("clock");
    rebut.set("FAKETIME_NO_CACHE", "1");
    skew(
        rebut,
        "FAKETIME_TIMESTAMP_FILE",
        &clock.display().to_string(),
    );
    let set = move |off: &str| fs::write(&clock, off).expect("a clock to set");
    set("+0");
    set
}

/// Two servers over one database; the clock of the second is wrong. With what they need as long as
/// they run.
async fn right_and_wrong(cluster: &Cluster, off: &str) -> ((Panel, Rebut), Served, Served) {
    let panel = Panel::start(|_| false).await;
    let mut rebut = panel.installation("");
    rebut.set("REBUT_DATABASE", &cluster.database());
    let right = Served::start(&rebut, &[]);
    skew(&mut rebut, "FAKETIME", off);
    let wrong = Served::start(&rebut, &[]);
    let apart = time_of(&right)
        .duration_since(time_of(&wrong))
        .as_mins()
        .abs();
    assert!(
        (14..=16).contains(&apart),
        "the clock of a process was not skewed: {apart} minutes apart"
    );
    ((panel, rebut), right, wrong)
}

/// What time a server thinks it is.
fn time_of(node: &Served) -> DateTime {
    let answer = node.ask("GET", "/healthz", None);
    let date = answer
        .head
        .lines()
        .find_map(|line| line.strip_prefix("date: "))
        .expect("a date")
        .trim_end_matches(" gmt");
    DateTime::strptime("%a, %d %b %Y %H:%M:%S", date)
        .unwrap_or_else(|error| panic!("{date}: {error}"))
}

fn at_a_gate(node: &Served, seconds: u64) -> String {
    let mut asked = debate(0);
    asked["limits"] = json!({"approval_seconds": seconds});
    let id = node.begin(&asked);
    node.follow(&id, |event| event["type"] == "gate.opened");
    id
}

fn pause(node: &Served, id: &str) -> Value {
    node.ask("POST", &format!("/v1/debates/{id}/pause"), None);
    node.follow(id, |event| {
        ["debate.paused", "debate.completed"]
            .iter()
            .any(|kind| event["type"] == *kind)
    })
}

fn approve(node: &Served, id: &str) -> Answer {
    node.ask("POST", &format!("/v1/debates/{id}/approve"), None)
}

fn is_open(node: &Served, id: &str) -> bool {
    node.ask("GET", &format!("/v1/debates/{id}/status"), None)
        .json()["open_gate"]
        .is_object()
}

/// How late the timer decided a gate; the clock of this test is the one that is right. It never
/// decides early.
fn lateness(events: &[Value]) -> SignedDuration {
    let find = |kind: &str| {
        events
            .iter()
            .find(|event| event["type"] == kind)
            .unwrap_or_else(|| panic!("no {kind}: {events:?}"))
    };
    let time = |text: &Value| {
        text.as_str()
            .and_then(|text| text.parse::<Timestamp>().ok())
            .unwrap_or_else(|| panic!("no time: {text}"))
    };
    let (opened, decided) = (find("gate.opened"), find("gate.decided"));
    assert_eq!(decided["data"]["by"], "timeout", "{decided}");
    let until = time(&opened["data"]["until"]);
    let (waited, now) = (until.duration_since(time(&opened["ts"])), Timestamp::now());
    assert!(
        (SHORT.cast_signed() - 1..=SHORT.cast_signed()).contains(&waited.as_secs()),
        "every time of a journal is by one clock: {waited:#}"
    );
    assert!(
        now.duration_since(until) < SignedDuration::from_mins(5),
        "and by the one that is right: {until} at {now}"
    );
    let late = time(&decided["ts"]).duration_since(until);
    assert!(!late.is_negative(), "decided early, by {late:#}");
    late
}

/// The best of some tries is in time: a machine that is busy makes one late, a clock that is wrong
/// all of them.
fn decided_in_time(node: &Served, begin: impl Fn() -> String) {
    let late = (0..5).map(|_| {
        let id = begin();
        node.follow(&id, |event| event["type"] == "gate.decided");
        lateness(&node.events(&id))
    });
    let late: Vec<SignedDuration> = late
        .scan(false, |done, late| {
            (!std::mem::replace(done, late <= LATE)).then_some(late)
        })
        .collect();
    assert!(late.iter().any(|late| *late <= LATE), "late by {late:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_clock_is_wrong_neither_ends_nor_extends_a_gate() {
    let cluster = Cluster::start();
    for off in ["+15m", "-15m"] {
        let (_kept, right, wrong) = right_and_wrong(&cluster, off).await;
        for (runs, decides) in [(&right, &wrong), (&wrong, &right), (&wrong, &wrong)] {
            let id = at_a_gate(runs, LONG);
            assert!(is_open(decides, &id), "{off}");
            let decided = approve(decides, &id);
            assert_eq!(
                (decided.status, &decided.json()["by"]),
                (200, &json!("local")),
                "{off}: {decided:?}"
            );
            runs.follow(&id, |event| {
                event["type"] == "debate.completed" && event["data"]["outcome"] == "consensus"
            });
        }
        decided_in_time(&right, || at_a_gate(&wrong, SHORT));
        // From here on only the wrong one sees to gates of paused debates; what it looks at last is
        // what is over.
        let waits = at_a_gate(&right, LONG);
        assert_eq!(pause(&right, &waits)["type"], "debate.paused");
        let rests = || {
            let begun = (0..)
                .map(|_| at_a_gate(&wrong, SHORT))
                .find(|id| pause(&wrong, id)["type"] == "debate.paused");
            begun.expect("one that is paused before its time is over")
        };
        right.signal("STOP");
        decided_in_time(&wrong, rests);
        assert!(
            wrong
                .events(&waits)
                .iter()
                .all(|event| event["type"] != "gate.decided"),
            "{off}: decided early"
        );
        let decided = approve(&wrong, &waits);
        assert_eq!(decided.status, 200, "{off}: {decided:?}");
        right.signal("CONT");
    }
}

/// A clock that jumps by hours while a server runs: whoever waits at a gate, or pauses there, waits
/// as long as was said.
async fn jumps(database: Option<&str>) {
    let panel = Panel::start(|_| false).await;
    let mut rebut = panel.installation("");
    database
        .iter()
        .for_each(|database| rebut.set("REBUT_DATABASE", database));
    let jump = settable_clock(&mut rebut);
    let node = Served::start(&rebut, &[]);
    for off in ["+5h", "-5h"] {
        jump("+0");
        let [waits, by_another, paused] = std::array::from_fn(|_| at_a_gate(&node, LONG));
        assert_eq!(pause(&node, &paused)["type"], "debate.paused");
        // One that is seen to the end before and one after the jump; paused first, it is looked at
        // last.
        let ends = at_a_gate(&node, SHORT);
        jump(off);
        let after = at_a_gate(&node, SHORT);
        for id in [&ends, &after] {
            let decided = node.follow(id, |event| event["type"] == "gate.decided");
            assert_eq!(decided["data"]["by"], "timeout", "{off}");
        }
        let rests = at_a_gate(&node, SHORT);
        pause(&node, &rests);
        node.follow(&rests, |event| event["type"] == "gate.decided");
        for id in [&waits, &by_another, &paused] {
            assert!(is_open(&node, id), "{off}");
            assert!(
                node.events(id)
                    .iter()
                    .all(|event| event["type"] != "gate.decided"),
                "{off}: decided early"
            );
        }
        // Another process on this machine has the same clock, and does not know of the jump.
        let decided = rebut.run(&["approve", &by_another]);
        assert_eq!(decided.code, 0, "{off}: {decided:?}");
        for id in [&waits, &paused] {
            let decided = approve(&node, id);
            assert_eq!(decided.status, 200, "{off}: {decided:?}");
        }
        for id in [&waits, &by_another] {
            node.follow(id, |event| {
                event["type"] == "debate.completed" && event["data"]["outcome"] == "consensus"
            });
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jump_of_the_clock_neither_ends_nor_extends_a_gate_over_sqlite() {
    jumps(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jump_of_the_clock_neither_ends_nor_extends_a_gate_over_postgres() {
    jumps(Some(&Cluster::start().database())).await;
}

/// A clock that is set while a delivery waits for its next attempt, over SQLite, which has no clock
/// of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jump_of_the_clock_neither_ends_nor_extends_the_wait_of_a_webhook() {
    let panel = Panel::start(|_| false).await;
    // What fails first waits a second, what fails twice an hour.
    let (fails, takes) = (Catcher::start(&[500, 500, 200]), Catcher::start(&[200]));
    let hosts =
        [&fails, &takes].map(|catcher| catcher.url().trim_start_matches("http://").to_owned());
    let mut rebut = panel.installation(&format!(
        "webhook_hosts = {hosts:?}\nwebhook_waits = [1, 3600]"
    ));
    let jump = settable_clock(&mut rebut);
    let mut node = Served::start(&rebut, &[]);
    let hook = |node: &Served, catcher: &Catcher| {
        let made = node.ask(
            "POST",
            "/v1/webhooks",
            Some(&json!({"url": catcher.url(), "events": ["debate.completed"]})),
        );
        assert_eq!(made.status, 201, "{made:?}");
        format!(
            "/v1/webhooks/{}/deliveries",
            made.json()["id"].as_str().expect("an id")
        )
    };
    let of_fails = hook(&node, &fails);
    node.begin(&debate(0));
    fails.next();
    node.until("webhook.failed");
    jump("-5h");
    fails.next();
    node.until("webhook.failed");
    jump("+5h");
    // Whoever is told of what happens now is looked for together with whatever is due.
    hook(&node, &takes);
    node.begin(&debate(2));
    takes.next();
    let deliveries = node.ask("GET", &of_fails, None).json()["deliveries"].clone();
    let waits = deliveries
        .as_array()
        .and_then(|all| all.iter().find(|one| one["attempts"] == 2))
        .unwrap_or_else(|| panic!("{deliveries}"));
    assert_eq!(waits["state"], "waiting", "{waits}");
    let next: Timestamp = waits["next_at"]
        .as_str()
        .and_then(|at| at.parse().ok())
        .expect("a time");
    let left = next
        .duration_since(Timestamp::now() + SignedDuration::from_hours(5))
        .as_mins();
    assert!(
        (40..=80).contains(&left),
        "an hour, and up to a quarter more, is left of it by the clock that is shown: {left} \
         minutes"
    );
}

/// One start with a clock that is months fast removes nothing that is not old.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_fast_makes_no_debate_old() {
    let panel = Panel::start(|_| false).await;
    let mut rebut = panel.installation("keep_days = 90");
    let node = Served::start(&rebut, &[]);
    let [young, old] = [0, 2].map(|number| {
        let id = node.begin(&debate(number));
        node.follow(&id, |event| event["type"] == "debate.completed");
        id
    });
    node.signal("TERM");
    assert_eq!(node.finish().0, 0);
    let database = rusqlite::Connection::open(rebut.data().join("rebut.db")).expect("the database");
    let aged =
        "UPDATE debate_sessions SET created_at = '2020' || substr(created_at, 5) WHERE id = ?1";
    assert_eq!(database.execute(aged, [&old]).expect("valid SQL"), 1);
    drop(database);
    skew(&mut rebut, "FAKETIME", "+100d");
    let mut node = Served::start(&rebut, &[]);
    // The oldest goes last.
    assert_eq!(node.until("debate.removed")["debate"], old.as_str());
    assert_eq!(
        node.ask("GET", &format!("/v1/debates/{young}/status"), None)
            .status,
        200
    );
}
