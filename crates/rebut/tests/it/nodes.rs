//! Several servers over one PostgreSQL database: one that stands still, one that drains, a database
//! that crashes, decisions at once, and the same results as with one server.

use crate::{
    following::Follower,
    panel_of_three::{Panel, debate, is_split, number_of},
    rebut::Rebut,
    recovery::check,
    served::{Answer, Served},
};
use rebut_testkit::postgres::Cluster;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::Barrier,
    time::{Duration, Instant},
};

/// A panel that answers at once, or waits for the last judge of the first round of every debate
/// before this number.
const AT_ONCE: fn(&(usize, String)) -> bool = |_| false;
const UNTIL_TOLD: fn(&(usize, String)) -> bool =
    |(number, turn)| *number < GATED && turn == "recommend/effort";

/// Its result waits at a gate.
const GATED: usize = 900;

fn installation(panel: &Panel, database: &str, server: &str) -> Rebut {
    let mut rebut = panel.installation(server);
    rebut.set("REBUT_DATABASE", database);
    rebut
}

fn at_a_gate(number: usize) -> Value {
    let mut asked = debate(number);
    asked["limits"] = json!({"approval_seconds": 3600});
    asked
}

fn until_often(served: &mut Served, event: &str, times: usize) {
    for _ in 0..times {
        served.until(event);
    }
}

/// The journal is the same at every node, and nobody has changed it.
fn journal(nodes: &[&Served], id: &str) -> Vec<Value> {
    let events = nodes[0].events(id);
    for node in nodes {
        assert_eq!(node.events(id), events, "{id}");
        assert_eq!(
            node.ask("GET", &format!("/v1/debates/{id}/audit"), None)
                .json()["ok"],
            true,
            "{id}"
        );
    }
    events
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stood_still_writes_nothing_into_what_another_took_over() {
    let cluster = Cluster::start();
    let mut panel = Panel::start(UNTIL_TOLD).await;
    let rebut = installation(&panel, &cluster.database(), "lease_seconds = 5");
    let (mut still, mut other) = (Served::start(&rebut, &[]), Served::start(&rebut, &[]));
    let ids: Vec<String> = (0..6).map(|number| still.begin(&debate(number))).collect();
    let gated = still.begin(&at_a_gate(GATED));
    panel.until_asked(21).await;
    still.until("gate.opened");
    still.signal("STOP");
    until_often(&mut other, "debate.resumed", 7);
    // Both are answered now, and only one of them may write it down.
    panel.let_go();
    until_often(&mut other, "debate.completed", 6);
    still.signal("CONT");
    for _ in 0..7 {
        let told = still.until("no longer run here");
        assert!(
            told["why"]
                .as_str()
                .is_some_and(|why| why.contains("another process runs this debate")),
            "{told}"
        );
    }
    let decided = still.ask("POST", &format!("/v1/debates/{gated}/approve"), None);
    assert_eq!(
        decided.status, 200,
        "what is said at one node is heard at the other: {decided:?}"
    );
    other.until("debate.completed");
    let asked = panel.asked();
    for id in ids.iter().chain([&gated]) {
        let events = journal(&[&still, &other], id);
        check(number_of(&events), &events, &asked);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_that_fails_keeps_the_debate_from_nobody() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let panel = Panel::start(AT_ONCE).await;
    let rebut = installation(&panel, &url, "");
    let (one, other) = (Served::start(&rebut, &[]), Served::start(&rebut, &[]));
    let id = one.begin(&at_a_gate(GATED));
    one.follow(&id, |event| event["type"] == "gate.opened");
    let post = |node: &Served, what: &str| {
        node.ask("POST", &format!("/v1/debates/{id}/{what}"), None)
            .status
    };
    assert!(post(&one, "pause") < 300);
    other.follow(&id, |event| event["type"] == "debate.paused");
    cluster.ask(
        &url,
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON rebut.events FOR EACH ROW EXECUTE FUNCTION public.refuse()",
    );
    let removed = one.ask("DELETE", &format!("/v1/debates/{id}"), None);
    assert_eq!(removed.status, 503, "{removed:?}");
    cluster.ask(&url, "DROP FUNCTION public.refuse CASCADE");
    // What is asked for at the other node is done there.
    assert!(post(&other, "resume") < 300);
    assert_eq!(post(&other, "approve"), 200);
    other.follow(&id, |event| event["type"] == "debate.completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_of_a_paused_debate_is_carried_out_once_nobody_holds_it() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let panel = Panel::start(AT_ONCE).await;
    let rebut = installation(&panel, &url, "");
    let node = Served::start(&rebut, &[]);
    let id = node.begin(&at_a_gate(GATED));
    node.follow(&id, |event| event["type"] == "gate.opened");
    node.ask("POST", &format!("/v1/debates/{id}/pause"), None);
    node.follow(&id, |event| event["type"] == "debate.paused");
    let ask = |sql: &str| cluster.ask(&url, sql);
    while ask("SELECT count(*) FROM rebut.claims") != "0" {}
    // A process that lives and does nothing with it.
    ask(&format!(
        "INSERT INTO rebut.claims (debate_id, node, holder, epoch, expires_at)
         VALUES ('{id}', gen_random_uuid(), 'another', 1, 'infinity')"
    ));
    let cancelled = node.ask("POST", &format!("/v1/debates/{id}/cancel"), None);
    assert!(cancelled.status < 300, "{cancelled:?}");
    assert_eq!(
        ask("SELECT status FROM rebut.debate_sessions"),
        "paused",
        "it is held"
    );
    ask("DELETE FROM rebut.claims");
    while ask("SELECT status FROM rebut.debate_sessions") != "cancelled" {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_listen_says_so_and_looks() {
    let cluster = Cluster::start();
    let url = cluster.database();
    cluster.ask(
        &url,
        "CREATE ROLE ada LOGIN; CREATE SCHEMA rebut AUTHORIZATION ada",
    );
    let panel = Panel::start(AT_ONCE).await;
    let mut rebut = installation(&panel, &url.replace("postgres:pa55", "ada:pa55"), "");
    let mut deaf = Served::start(&rebut, &[]);
    rebut.set("REBUT_DATABASE", &url);
    let other = Served::start(&rebut, &[]);
    let id = deaf.begin(&at_a_gate(GATED));
    deaf.follow(&id, |event| event["type"] == "gate.opened");
    let listening = "FROM pg_stat_activity WHERE usename = 'ada' AND query = 'LISTEN rebut'";
    while cluster.ask(&url, &format!("SELECT count(*) {listening}")) != "1" {}
    // Its other connections stay.
    cluster.ask(&url, "ALTER ROLE ada CONNECTION LIMIT 0");
    cluster.ask(
        &url,
        &format!("SELECT pg_terminate_backend(pid, 60000) {listening}"),
    );
    let approved = other.ask("POST", &format!("/v1/debates/{id}/approve"), None);
    assert_eq!(approved.status, 200, "{approved:?}");
    other.follow(&id, |event| event["type"] == "debate.completed");
    let told = deaf.until("other servers are not heard");
    assert!(
        told["why"]
            .as_str()
            .is_some_and(|why| why.contains("too many connections")),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_crashes_makes_debates_wait_and_loses_nothing() {
    let cluster = Cluster::start();
    let mut panel = Panel::start(UNTIL_TOLD).await;
    // Longer than it is away: nobody takes anything over.
    let rebut = installation(&panel, &cluster.database(), "lease_seconds = 600");
    let mut nodes = [Served::start(&rebut, &[]), Served::start(&rebut, &[])];
    let ids: Vec<String> = (0..6)
        .map(|number| nodes[number % 2].begin(&debate(number)))
        .collect();
    // Each is watched where it does not run.
    let mut followers: Vec<Follower> = ids
        .iter()
        .enumerate()
        .map(|(at, id)| Follower::new(id, &nodes[(at + 1) % 2]))
        .collect();
    panel.until_asked(18).await;
    cluster.crash();
    for node in &nodes {
        let read = [
            ("GET", "/v1/debates".to_owned(), None, ""),
            ("GET", format!("/v1/debates/{}", ids[0]), None, ""),
        ];
        let more = [
            ("GET", "/readyz".to_owned(), None, ""),
            (
                "POST",
                format!("/v1/debates/{}/notes", ids[0]),
                Some(json!({"text": "x"})),
                "",
            ),
        ];
        let begin = ["", "Idempotency-Key: one\r\n"]
            .map(|head| ("POST", "/v1/debates".to_owned(), Some(debate(7)), head));
        for (method, path, body, head) in read.into_iter().chain(more).chain(begin) {
            let answer = node.ask_with(&node.token, method, &path, body.as_ref(), head);
            assert!(
                answer.status == 503 && answer.head.contains("\r\nretry-after: "),
                "{method} {path} {head}: {answer:?}"
            );
        }
    }
    // The answers come while nobody can write them down, and it crashes again while they are.
    panel.let_go();
    cluster.run();
    cluster.crash();
    cluster.run();
    for node in &mut nodes {
        until_often(node, "debate.completed", 3);
    }
    for (at, follower) in followers.iter_mut().enumerate() {
        follower.read_to_the_end(&nodes[(at + 1) % 2]);
    }
    let asked = panel.asked();
    assert_eq!(
        asked.len(),
        (0..6)
            .map(|number| if is_split(number) { 6 } else { 3 })
            .sum::<usize>(),
        "none of the refused ones began"
    );
    assert!(asked.values().all(|count| *count == 1), "{asked:?}");
    for id in &ids {
        let events = journal(&[&nodes[0], &nodes[1]], id);
        assert!(
            events.iter().all(|event| event["type"] != "debate.resumed"
                && event["data"]["possibly_paid_twice"] != true),
            "{events:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_sixty_four_decisions_at_once_there_is_one() {
    const CLIENTS: usize = 64;
    let cluster = Cluster::start();
    let panel = Panel::start(AT_ONCE).await;
    let rebut = installation(&panel, &cluster.database(), "");
    let mut nodes = [Served::start(&rebut, &[]), Served::start(&rebut, &[])];
    let id = nodes[0].begin(&at_a_gate(GATED));
    nodes[0].until("gate.opened");
    let decide = |node: &Served, client: usize| {
        let word = if client % 4 < 2 { "approve" } else { "reject" };
        node.ask(
            "POST",
            &format!("/v1/debates/{id}/{word}"),
            Some(&json!({"reason": format!("client {client}")})),
        )
    };
    let (all_ready, at, both) = (&Barrier::new(CLIENTS), &decide, &nodes);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let one = |client: usize| {
            scope.spawn(move || {
                all_ready.wait();
                at(&both[client % 2], client)
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(one).collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("an answer"))
            .collect()
    });
    let (won, late): (Vec<Answer>, Vec<Answer>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((won.len(), late.len()), (1, CLIENTS - 1), "{won:?}");
    let decision = won[0].json();
    for answer in late {
        assert!(
            answer.status == 409 && answer.json()["decision"] == decision,
            "{answer:?}\n{decision}"
        );
    }
    nodes[0].until("debate.completed");
    let events = nodes[1].events(&id);
    assert_eq!(
        events
            .iter()
            .filter(|event| event["type"] == "gate.decided")
            .count(),
        1,
        "{events:?}"
    );
    for node in nodes {
        node.signal("TERM");
        assert_eq!(node.finish().0, 0);
    }
    let nodes = [Served::start(&rebut, &[]), Served::start(&rebut, &[])];
    for (client, node) in nodes
        .iter()
        .enumerate()
        .flat_map(|(at, node)| [(at, node), (at + 2, node)])
    {
        let answer = decide(node, client);
        assert!(
            answer.status == 409 && answer.json()["decision"] == decision,
            "{answer:?}\n{decision}"
        );
    }
    assert_eq!(journal(&[&nodes[0], &nodes[1]], &id), events);
}

/// Runs forty debates on so many nodes; what came of each, by its number, and how long all took.
async fn forty(cluster: &Cluster, nodes: usize) -> (BTreeMap<usize, Value>, Duration) {
    let panel = Panel::start(AT_ONCE).await;
    let rebut = installation(&panel, &cluster.database(), "");
    let nodes: Vec<Served> = (0..nodes).map(|_| Served::start(&rebut, &[])).collect();
    let begun = Instant::now();
    let node_of = |number: usize| &nodes[number % nodes.len()];
    let ids: Vec<String> = (0..40)
        .map(|number| node_of(number).begin(&debate(number)))
        .collect();
    let mut results = BTreeMap::new();
    for (number, id) in ids.iter().enumerate() {
        let elsewhere = node_of(number + 1);
        Follower::new(id, elsewhere).read_to_the_end(elsewhere);
        let result = elsewhere
            .ask("GET", &format!("/v1/debates/{id}/results"), None)
            .json();
        results.insert(
            number,
            json!({"outcome": result["outcome"], "result": result["result"]}),
        );
    }
    assert!(
        panel.asked().values().all(|count| *count == 1),
        "{:?}",
        panel.asked()
    );
    (results, begun.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_come_to_the_same_results_as_one() {
    let cluster = Cluster::start();
    let mut results = Vec::new();
    for nodes in [1, 2] {
        let (came_of_it, took) = forty(&cluster, nodes).await;
        println!(
            "{nodes} nodes: {:.1} debates a second",
            40.0 / took.as_secs_f64()
        );
        results.push(came_of_it);
    }
    assert_eq!(results[0], results[1]);
    let contested = results[0]
        .iter()
        .filter(|(_, result)| result["outcome"] == "contested");
    let split = (0..40).filter(|number| is_split(*number));
    assert_eq!(
        contested.map(|(number, _)| *number).collect::<Vec<_>>(),
        split.collect::<Vec<_>>(),
        "{results:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_debate_is_followed_and_noted_where_it_does_not_run() {
    let cluster = Cluster::start();
    let panel = Panel::start(UNTIL_TOLD).await;
    let rebut = installation(&panel, &cluster.database(), "");
    let (runs, other) = (Served::start(&rebut, &[]), Served::start(&rebut, &[]));
    let note = |id: &str| {
        other.ask(
            "POST",
            &format!("/v1/debates/{id}/notes"),
            Some(&json!({"text": "the night shift counts double"})),
        )
    };
    let held = runs.begin(&debate(1));
    let mut follower = Follower::new(&held, &other);
    follower.until(|event| event["type"] == "turn.started" && event["agent"] == "effort");
    assert!(note(&held).status < 300);
    follower.until(|event| event["type"] == "human.noted");
    panel.let_go();
    follower.read_to_the_end(&other);
    // While the other writes turn after turn.
    for number in GATED..GATED + 12 {
        let id = runs.begin(&debate(number));
        for answer in [note(&id), note(&id), note(&id)] {
            assert!(
                answer.status < 300 || answer.status == 409 && answer.json()["ending"].is_string(),
                "{answer:?}"
            );
        }
        Follower::new(&id, &other).read_to_the_end(&other);
        journal(&[&runs, &other], &id);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_draining_node_lets_go_of_the_other_goes_on_with() {
    let cluster = Cluster::start();
    // Whether turns may finish. A lease alone would keep everybody waiting for longer than this
    // test may take.
    for (seconds, finishes) in [(60, true), (0, false)] {
        let mut panel = Panel::start(UNTIL_TOLD).await;
        let rebut = installation(
            &panel,
            &cluster.database(),
            &format!("lease_seconds = 3600\ndrain_seconds = {seconds}"),
        );
        let (mut draining, mut other) = (Served::start(&rebut, &[]), Served::start(&rebut, &[]));
        // Those that have a second round; the others would end with the last turn of the first.
        let ids: Vec<String> = (0..12)
            .filter(|number| is_split(*number))
            .map(|number| draining.begin(&debate(number)))
            .collect();
        let mut followers: Vec<Follower> =
            ids.iter().map(|id| Follower::new(id, &draining)).collect();
        panel.until_asked(12).await;
        draining.signal("TERM");
        draining.until("stopping");
        if finishes {
            panel.let_go();
        }
        let (code, log) = draining.finish();
        assert_eq!(
            (code, log.contains("cut off in a turn")),
            (0, !finishes),
            "{log}"
        );
        if !finishes {
            // Otherwise one may end before the next goes on.
            until_often(&mut other, "debate.resumed", 4);
            panel.let_go();
        }
        until_often(&mut other, "debate.completed", 4);
        let asked = panel.asked();
        for (follower, id) in followers.iter_mut().zip(&ids) {
            while follower.next().is_some() {}
            assert_eq!(follower.last, "shutdown", "whoever watches is told");
            follower.read_to_the_end(&other);
            let events = journal(&[&other], id);
            check(number_of(&events), &events, &asked);
            let again = events
                .iter()
                .any(|event| event["data"]["possibly_paid_twice"] == true);
            assert_eq!(again, !finishes, "{id}");
        }
    }
}
