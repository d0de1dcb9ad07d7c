//! Webhooks of a real server: signed, repeated until they are taken, lost by no kill, and of use to
//! nobody who wants to reach inside.

use crate::{
    rebut::{Rebut, case, recommends, script},
    served::{Answer, Served},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use rebut_testkit::catcher::{Catcher, Caught};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{collections::BTreeSet, net::TcpListener};

/// An installation that may post to these, and tries again after these waits.
fn installed(hosts: &[&str], waits: &str) -> Rebut {
    let hosts: Vec<&str> = hosts
        .iter()
        .map(|url| url.trim_start_matches("http://"))
        .collect();
    let rebut = Rebut::new();
    rebut.user_config(&format!(
        "[server]\nrequests_per_minute = 1000000\nwebhook_hosts = \
        {hosts:?}\nwebhook_waits = {waits}\n"
    ));
    let replies = ["recommend/risk", "recommend/value", "recommend/effort"]
        .map(|turn| (turn, recommends("B")));
    rebut.write(
        "debate.md",
        &script(
            &replies
                .each_ref()
                .map(|(turn, reply)| (*turn, reply.as_str())),
        ),
    );
    rebut
}

fn serve(rebut: &Rebut) -> Served {
    Served::start(rebut, &["--allow-scripts"])
}

/// A debate whose judges agree; with a gate, its result waits there.
fn debate(gated: bool) -> Value {
    let option = |id: &str, label: &str| json!({"id": id, "label": label});
    let agents =
        ["risk", "value", "effort"].map(|role| json!({"role": role, "model": "script:debate.md"}));
    let limits = if gated {
        json!({"approval_seconds": 3600})
    } else {
        json!({})
    };
    json!({
        "format": "decide", "seed": 7, "agents": agents, "limits": limits,
        "input": {"question": "Offline support?", "options": [option("A", "Online \
            only"), option("B", "Full offline")]},
    })
}

/// A new webhook: its path, and its secret.
fn hook(served: &Served, url: &str, events: &[&str]) -> (String, String) {
    let made = served.ask(
        "POST",
        "/v1/webhooks",
        Some(&json!({"url": url, "events": events})),
    );
    assert_eq!(made.status, 201, "{made:?}");
    let webhook = made.json();
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().expect("an id"));
    assert!(made.head.contains(&format!("location: {path}")), "{made:?}");
    (
        path,
        webhook["secret"].as_str().expect("a secret").to_owned(),
    )
}

fn deliveries(served: &Served, path: &str) -> Vec<Value> {
    let answer = served.ask("GET", &format!("{path}/deliveries"), None);
    answer.json()["deliveries"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer:?}"))
        .clone()
}

/// Waits until the books say so of all deliveries.
fn until_all(served: &Served, path: &str, state: &str) -> Vec<Value> {
    loop {
        let listed = deliveries(served, path);
        if !listed.is_empty() && listed.iter().all(|one| one["state"] == state) {
            return listed;
        }
    }
}

/// HMAC-SHA256 by its definition, so that a mistake of the library would not be ours too.
fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let padded = |with: u8| -> Vec<u8> {
        (0..64)
            .map(|at| key.get(at).copied().unwrap_or(0) ^ with)
            .collect()
    };
    let inner = Sha256::digest([padded(0x36), message.to_vec()].concat());
    Sha256::digest([padded(0x5c), inner.to_vec()].concat()).to_vec()
}

/// What a receiver does: it computes the signature anew from what came.
fn check_signed(caught: &Caught, secret: &str) {
    let header = |name: &str| {
        caught
            .header(name)
            .unwrap_or_else(|| panic!("{name} is missing: {caught:?}"))
    };
    let key = STANDARD
        .decode(secret.strip_prefix("whsec_").expect("a secret"))
        .expect("Base64");
    let signed = format!(
        "{}.{}.{}",
        header("webhook-id"),
        header("webhook-timestamp"),
        caught.body
    );
    assert_eq!(
        header("webhook-signature"),
        format!("v1,{}", STANDARD.encode(hmac(&key, signed.as_bytes())))
    );
    let sent: i64 = header("webhook-timestamp").parse().expect("seconds");
    let age = jiff::Timestamp::now().as_second() - sent;
    assert!(
        (-60..600).contains(&age),
        "a receiver that refuses old messages takes it: {age}"
    );
    assert_eq!(header("content-type"), "application/json");
}

fn body(caught: &Caught) -> Value {
    serde_json::from_str(&caught.body).expect("JSON")
}

#[test]
fn events_arrive_signed_as_watchers_see_them_and_the_secret_is_nowhere_else() {
    let catcher = Catcher::start(&[200]);
    let rebut = installed(&[&catcher.url()], "[0]");
    let served = serve(&rebut);
    let (path, secret) = hook(
        &served,
        &format!("{}/hook?token=canary", catcher.url()),
        &["gate.opened", "debate.completed"],
    );
    let id = served.begin(&debate(true));
    let opened = catcher.next();
    assert_eq!(
        served
            .ask("POST", &format!("/v1/debates/{id}/approve"), None)
            .status,
        200
    );
    let completed = catcher.next();
    let journal = served.ask("GET", &format!("/v1/debates/{id}/events"), None);
    for (caught, kind) in [(&opened, "gate.opened"), (&completed, "debate.completed")] {
        assert_eq!(caught.line, "POST /hook?token=canary HTTP/1.1");
        check_signed(caught, &secret);
        let event = body(caught);
        assert_eq!(
            (&event["type"], &event["debate_id"]),
            (&json!(kind), &json!(id))
        );
        assert_eq!(
            caught.header("webhook-id"),
            Some(&*format!("evt_{id}_{}", event["seq"]))
        );
        assert!(
            journal.body.contains(&caught.body),
            "the same bytes as everywhere: {}",
            caught.body
        );
    }
    let listed = until_all(&served, &path, "delivered");
    let rows: Vec<_> = listed
        .iter()
        .map(|one| (one["type"].as_str(), one["attempts"].as_u64()))
        .collect();
    assert_eq!(
        rows,
        [
            (Some("debate.completed"), Some(1)),
            (Some("gate.opened"), Some(1))
        ],
        "gate.decided was not asked for"
    );
    let metrics = served.ask("GET", "/metrics", None).body;
    assert!(
        metrics.contains("rebut_webhook_attempts_total{result=\"delivered\"} 2"),
        "{metrics}"
    );
    assert!(
        metrics.contains("rebut_webhook_deliveries_waiting 0"),
        "{metrics}"
    );
    let seen = [
        served.ask("GET", "/v1/webhooks", None),
        served.ask("GET", &path, None),
        served.ask("GET", &format!("{path}/deliveries"), None),
    ];
    for answer in seen {
        assert!(
            answer.status == 200 && !answer.body.contains("whsec_"),
            "{answer:?}"
        );
    }
    served.signal("TERM");
    let (code, log) = served.finish();
    assert_eq!(code, 0, "{log}");
    assert!(
        log.contains("webhook.delivered") && !log.contains("whsec_") && !log.contains("canary"),
        "only the host is told: {log}"
    );
    // The log beside it is its own too, until somebody clears it.
    let database = [
        rebut.data().join("rebut.db"),
        rebut.data().join("rebut.db-wal"),
    ];
    assert!(
        rebut.holds(&secret)
            && rebut
                .holding(&secret)
                .iter()
                .all(|file| database.contains(file))
    );
    rebut.expect(
        0,
        &["webhooks", "rm", path.rsplit('/').next().expect("an id")],
    );
    assert!(!rebut.holds(&secret), "it goes with its webhook");
}

#[test]
fn what_was_not_taken_comes_again_under_the_same_name() {
    let catcher = Catcher::start(&[500, 503, 200]);
    let rebut = installed(&[&catcher.url()], "[0, 0]");
    let mut served = serve(&rebut);
    let (path, secret) = hook(&served, &catcher.url(), &["debate.completed"]);
    let id = served.begin(&debate(false));
    let caught = [catcher.next(), catcher.next(), catcher.next()];
    for one in &caught {
        check_signed(one, &secret);
        assert_eq!(
            (one.header("webhook-id"), &one.body),
            (caught[0].header("webhook-id"), &caught[0].body)
        );
    }
    let delivered = served.until("webhook.delivered");
    assert_eq!(
        (&delivered["debate"], &delivered["attempt"]),
        (&json!(id), &json!(3))
    );
    let listed = until_all(&served, &path, "delivered");
    assert_eq!(
        (
            listed.len(),
            &listed[0]["attempts"],
            &listed[0]["last_error"]
        ),
        (1, &json!(3), &json!("the receiver answered 503"))
    );
    let webhook = served.ask("GET", &path, None).json();
    assert!(
        webhook["last_success_at"].is_string()
            && webhook["last_failure_at"].is_string()
            && webhook["why_off"].is_null(),
        "{webhook}"
    );
    assert!(catcher.rest().is_empty());
}

#[test]
fn what_is_never_taken_is_given_up_and_410_switches_off() {
    let catcher = Catcher::start(&[500, 500, 410, 200]);
    let rebut = installed(&[&catcher.url()], "[0]");
    let mut served = serve(&rebut);
    let (path, _) = hook(&served, &catcher.url(), &["debate.completed"]);
    served.begin(&debate(false));
    let told = served.until("webhook.given_up");
    assert_eq!(
        (&told["attempt"], &told["why"]),
        (&json!(2), &json!("the receiver answered 500"))
    );
    until_all(&served, &path, "given_up");
    served.begin(&debate(false));
    served.until("webhook.off");
    until_all(&served, &path, "given_up");
    let off = served.ask("GET", &path, None).json();
    assert!(
        off["why_off"]
            .as_str()
            .is_some_and(|why| why.contains("410")),
        "{off}"
    );
    // Nothing is kept for it while it is off.
    let id = served.begin(&debate(false));
    served.follow(&id, |event| event["type"] == "debate.completed");
    assert_eq!(deliveries(&served, &path).len(), 2);
    let on = served.ask("PUT", &path, Some(&json!({"url": catcher.url()})));
    assert!(
        on.status == 200
            && on.json()["why_off"].is_null()
            && on.json()["events"]
                .as_array()
                .is_some_and(|all| all.len() == 4),
        "{on:?}"
    );
    served.begin(&debate(false));
    served.until("webhook.delivered");
    let metrics = served.ask("GET", "/metrics", None).body;
    for row in [
        "{result=\"delivered\"} 1",
        "{result=\"failed\"} 1",
        "{result=\"given_up\"} 2",
    ] {
        assert!(metrics.contains(row), "{row}: {metrics}");
    }
}

#[test]
fn nothing_is_lost_by_a_kill_nor_where_no_server_runs() {
    // A port where nobody listens yet.
    let later = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = later.local_addr().expect("an address").to_string();
    drop(later);
    let rebut = installed(&[&place], "[1, 1, 1, 1, 1, 1, 1, 1]");
    let mut served = serve(&rebut);
    let (path, secret) = hook(&served, &format!("http://{place}/"), &["debate.completed"]);
    let id = served.begin(&debate(false));
    served.until("webhook.failed");
    served.kill();
    // The command line keeps events too; of a debate that is removed, nothing is sent; of an event
    // that is redacted, what is left.
    let ran = |rebut: &Rebut| {
        rebut.json(0, &case(&["--json"]))["debate_id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    let (typed, redacted, removed) = (ran(&rebut), ran(&rebut), ran(&rebut));
    let last = |id: &str| rebut.events(id).last().expect("events")["seq"].to_string();
    let seq = last(&redacted);
    rebut.expect(
        0,
        &["audit", "redact", &redacted, &seq, "--reason", "a name"],
    );
    rebut.expect(0, &["rm", &removed, "--yes"]);
    let catcher = Catcher::at(&place, &[200]);
    let served = serve(&rebut);
    let caught = [catcher.next(), catcher.next(), catcher.next()];
    caught.iter().for_each(|one| check_signed(one, &secret));
    let of = |id: &str| {
        caught
            .iter()
            .map(body)
            .find(|event| event["debate_id"] == id)
            .unwrap_or_else(|| panic!("{id}: {caught:?}"))
    };
    for id in [&id, &typed] {
        assert_eq!(of(id)["data"]["outcome"], "consensus");
    }
    assert_eq!(
        (
            of(&redacted)["seq"].to_string(),
            &of(&redacted)["data"]["outcome"]
        ),
        (seq, &Value::Null),
        "{}",
        of(&redacted)
    );
    assert_eq!(until_all(&served, &path, "delivered").len(), 3);
    assert!(catcher.rest().is_empty());
}

#[test]
fn a_receiver_that_stalls_holds_up_nobody_else_and_no_stop() {
    // It takes connections and says nothing.
    let stalled = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = stalled.local_addr().expect("an address").to_string();
    let catcher = Catcher::start(&[200]);
    let rebut = installed(&[&place, &catcher.url()], "[0]");
    let mut served = serve(&rebut);
    let (slow, _) = hook(&served, &format!("http://{place}/"), &["debate.completed"]);
    let (quick, _) = hook(&served, &catcher.url(), &["debate.completed"]);
    let ids: BTreeSet<String> = (0..8).map(|_| served.begin(&debate(false))).collect();
    let caught: BTreeSet<String> = ids
        .iter()
        .map(|_| {
            body(&catcher.next())["debate_id"]
                .as_str()
                .expect("an id")
                .to_owned()
        })
        .collect();
    assert_eq!(caught, ids);
    until_all(&served, &quick, "delivered");
    assert!(
        deliveries(&served, &slow)
            .iter()
            .all(|one| one["state"] == "waiting"),
        "none of them was answered"
    );
    served.signal("TERM");
    served.until("stopped");
    assert_eq!(served.finish().0, 0);
}

#[test]
fn a_webhook_reaches_nothing_that_was_not_listed_and_is_its_owners_alone() {
    let catcher = Catcher::start(&[200]);
    let rebut = installed(&[&catcher.url()], "[]");
    let key = |name: &str, owner: &str, role: &str| {
        rebut
            .expect(0, &["keys", "add", name, "--owner", owner, "--role", role])
            .trim()
            .to_owned()
    };
    let (admin, approver, foreign) = (
        key("boss", "tester", "admin"),
        key("anna", "tester", "approver"),
        key("other", "others", "admin"),
    );
    let mut served = serve(&rebut);
    served.token = admin.clone();
    let post = |body: Value| served.ask("POST", "/v1/webhooks", Some(&body));
    let refused = [
        (json!({"url": "http://example.org/"}), "only https"),
        (json!({"url": "https://127.0.0.1/"}), "no public address"),
        (json!({"url": "http://0x7f.1:1/"}), "only https"),
        (
            json!({"url": "https://169.254.169.254/latest"}),
            "no public address",
        ),
        (
            json!({"url": "https://[::ffff:10.0.0.1]/"}),
            "no public address",
        ),
        (json!({"url": "https://localhost./"}), "no public address"),
        (
            json!({"url": "https://a:b@example.org/"}),
            "user or password",
        ),
        (json!({"url": "gopher://example.org/"}), "only https"),
        (json!({"url": "nowhere"}), "this address is no URL"),
        (
            json!({"url": catcher.url(), "events": []}),
            "nothing would ever be sent",
        ),
        (
            json!({"url": catcher.url(), "events": ["turn.completed"]}),
            "no kind of event",
        ),
        (
            json!({"url": catcher.url(), "events": ["gate.opened", "gate.opened"]}),
            "twice",
        ),
        (
            json!({"url": catcher.url(), "owner": "others"}),
            "unknown field",
        ),
        (
            json!({"url": catcher.url(), "secret": "whsec_"}),
            "unknown field",
        ),
    ];
    for (asked, why) in &refused {
        let answer = post(asked.clone());
        assert!(
            answer.status == 422 && answer.body.contains(why),
            "{asked}: {answer:?}"
        );
    }
    let (path, _) = hook(&served, &catcher.url(), &["gate.opened"]);
    let change = json!({"url": catcher.url()});
    let mut asked = 0;
    for (method, path) in [
        ("GET", path.clone()),
        ("PUT", path.clone()),
        ("DELETE", path.clone()),
        ("POST", format!("{path}/test")),
        ("GET", format!("{path}/deliveries")),
    ] {
        let body = Some(&change).filter(|_| method == "PUT");
        let with = |token: &str| served.ask_with(token, method, &path, body, "");
        let nobodys = served.ask(
            method,
            &path.replace(&path[13..49], "00000000-0000-4000-8000-000000000000"),
            body,
        );
        let theirs: Answer = with(&foreign);
        assert_eq!(
            (theirs.status, &theirs.body),
            (404, &nobodys.body),
            "{method} {path}"
        );
        assert_eq!(with(&approver).status, 403, "{method} {path}");
        asked += 1;
    }
    assert_eq!(
        (
            asked,
            served
                .ask_with(&foreign, "GET", "/v1/webhooks", None, "")
                .json()
        ),
        (5, json!({"webhooks": []}))
    );
    assert!(catcher.rest().is_empty(), "nobody tested it");
    assert_eq!(
        served
            .ask("PUT", &path, Some(&json!({"url": "https://10.0.0.1/"})))
            .status,
        422
    );
    let tested = served.ask("POST", &format!("{path}/test"), None).json();
    assert_eq!(
        (&tested["delivered"], &tested["status"]),
        (&json!(true), &json!(200)),
        "{tested}"
    );
    assert_eq!(body(&catcher.next())["type"], "webhook.test");
    for _ in 1..20 {
        hook(&served, &catcher.url(), &["gate.opened"]);
    }
    let full = post(json!({"url": catcher.url()}));
    assert!(
        full.status == 409 && full.body.contains("20 webhooks"),
        "{full:?}"
    );
    // What was open when it was asked for is looked at again when something is sent.
    drop(served);
    rebut.user_config("[server]\nwebhook_waits = []\n");
    let mut served = serve(&rebut);
    served.token = admin;
    served.begin(&debate(true));
    let told = served.until("webhook.given_up");
    assert_eq!(told["why"], "only https is posted to");
    assert!(catcher.rest().is_empty());
}

#[test]
fn the_command_line_makes_tries_and_removes_them_here_and_at_a_server() {
    let catcher = Catcher::start(&[204, 500, 204]);
    let rebut = installed(&[&catcher.url()], "[]");
    let served = serve(&rebut);
    let at = served.url();
    for place in [&[][..], &["--server", &at]] {
        let run = |args: &[&str]| rebut.run(&[place, &["webhooks"], args].concat());
        let url = catcher.url();
        let made = run(&[
            "add",
            &url,
            "--event",
            "gate.opened",
            "--event",
            "debate.paused",
        ]);
        assert!(
            made.code == 0 && made.stdout.starts_with("whsec_") && made.stdout.lines().count() == 1,
            "{made:?}"
        );
        assert!(made.stderr.contains("shown this once"), "{made:?}");
        let listed = run(&["ls"]);
        assert!(
            listed
                .stdout
                .contains(&format!("  on   {url}/\n  gate.opened debate.paused\n")),
            "{listed:?}"
        );
        let id = listed.stdout[..8].to_owned();
        let tested = run(&["test", &id]);
        check_signed(&catcher.next(), made.stdout.trim());
        let expected = if place.is_empty() {
            (0, "taken with status 204")
        } else {
            (1, "not taken: the receiver answered 500")
        };
        assert!(
            tested.code == expected.0 && tested.stdout.starts_with(expected.1),
            "{tested:?}"
        );
        assert_eq!(run(&["deliveries", &id, "--json"]).stdout.trim(), "[]");
        for (args, why) in [
            (&["add", "http://example.org"][..], "only https"),
            (&["add", &url, "--event", "turn.completed"], "invalid value"),
            (&["rm", "zz"], "no webhook"),
        ] {
            let wrong = run(args);
            assert!(
                wrong.code == 2 && wrong.stderr.contains(why),
                "{args:?}: {wrong:?}"
            );
        }
        assert_eq!(run(&["rm", &id]).code, 0);
        let json: Value = serde_json::from_str(&run(&["ls", "--json"]).stdout).expect("JSON");
        assert_eq!(json, json!([]));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn of_two_servers_over_one_database_one_delivers_each_event() {
    let cluster = rebut_testkit::postgres::Cluster::start();
    let catcher = Catcher::start(&[200]);
    let mut rebut = installed(&[&catcher.url()], "[]");
    rebut.set("REBUT_DATABASE", &cluster.database());
    let nodes = [serve(&rebut), serve(&rebut)];
    let (path, secret) = hook(&nodes[0], &catcher.url(), &["debate.completed"]);
    let ids: BTreeSet<String> = (0..12)
        .map(|number| nodes[number % 2].begin(&debate(false)))
        .collect();
    let caught: Vec<Caught> = ids.iter().map(|_| catcher.next()).collect();
    caught.iter().for_each(|one| check_signed(one, &secret));
    assert_eq!(
        caught
            .iter()
            .map(|one| body(one)["debate_id"].as_str().expect("an id").to_owned())
            .collect::<BTreeSet<_>>(),
        ids
    );
    let listed = until_all(&nodes[1], &path, "delivered");
    assert!(
        listed.len() == 12 && listed.iter().all(|one| one["attempts"] == 1),
        "{listed:?}"
    );
    assert!(catcher.rest().is_empty(), "each came once");
}
