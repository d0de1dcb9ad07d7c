//! A key that is refused: the reason, the variable to check and the way on are told, wherever it
//! happens.

use crate::rebut::{Rebut, recommends, responds, script};
use rebut_testkit::model_server::{Behaviour, Failure, ModelServer};
use serde_json::Value;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

const ASK: &[&str] = &[
    "decide",
    "Offline support?",
    "-O",
    "A=Online only",
    "-O",
    "B=Full offline",
    "-O",
    "C=Neither",
    "--seed",
    "7",
];

fn configured(server: &ModelServer) -> Rebut {
    let mut rebut = Rebut::new();
    let base = server.base_url();
    rebut.user_config(&format!(
        "[providers.mine]\nbase_url = \"{base}\"\nkey_env = \"MY_KEY\"\nauto_model = \"small\"\n"
    ));
    rebut.set("MY_KEY", "sk-mine-0123456789");
    rebut
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_that_was_paid_is_not_lost_with_the_next() {
    let mended = Arc::new(AtomicBool::new(false));
    let is_mended = mended.clone();
    let server = ModelServer::start(move |_, seen| {
        let option = match &seen.body {
            body if body.contains("sceptical") => "A",
            body if body.contains("optimistic") => "B",
            _ => "C",
        };
        match (
            seen.body.contains("The panel did not agree"),
            is_mended.load(Ordering::SeqCst),
        ) {
            (false, _) => Behaviour::Say(recommends(option)),
            (true, false) => Behaviour::Fail(Failure::BadKey),
            (true, true) => Behaviour::Say(responds(option, &[])),
        }
    })
    .await
    .expect("a server");
    let rebut = configured(&server);
    let ask = &[ASK, &["-m", "mine:small"]].concat()[..];
    let output = rebut.run(ask);
    assert_eq!(output.code, 4, "{}\n{}", output.stdout, output.stderr);
    assert!(
        output.stdout.contains("(check the key in MY_KEY)"),
        "the variable is named: {}",
        output.stdout
    );
    let id = rebut.json(0, &["ls", "--json"])[0]["id"]
        .as_str()
        .expect("an id")[..8]
        .to_owned();
    let fork = format!("rebut fork {id} --at \"challenge 2\"");
    assert!(output.stdout.contains(&fork), "{}", output.stdout);
    assert!(rebut.expect(0, &["show", &id]).contains(&fork));
    let refused = rebut.run(&["resume", &id]);
    assert!(
        refused.code == 2 && refused.stderr.contains(&fork),
        "{}",
        refused.stderr
    );
    let json = rebut.run(&[ask, &["--json"]].concat());
    assert!(
        json.code == 4 && json.stderr.contains("--at \"challenge 2\""),
        "{}",
        json.stderr
    );

    mended.store(true, Ordering::SeqCst);
    let before = server.seen().len();
    let forked = rebut.run(&["fork", &id, "--at", "challenge 2"]);
    assert_eq!(
        (forked.code, server.seen().len() - before),
        (3, 3),
        "only the second round is asked: {}",
        forked.stderr
    );
    assert_eq!(
        rebut
            .run(&[
                "fork",
                &id,
                "--at",
                "challenge 2",
                "-m",
                "mine:large",
                "-m",
                "risk=mine:own"
            ])
            .code,
        3
    );
    let mut models: Vec<String> = server
        .seen()
        .iter()
        .rev()
        .take(3)
        .map(|seen| seen.json()["model"].to_string())
        .collect();
    models.sort();
    assert_eq!(
        models,
        [r#""large""#, r#""large""#, r#""own""#],
        "another model for everybody, and one for one"
    );
}

/// Without its key nobody goes on: the debate stays as it is, and the others do not wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_debate_without_its_key_stays_open() {
    let server = ModelServer::start(|_, _| Behaviour::Say(recommends("A")))
        .await
        .expect("a server");
    let mut rebut = configured(&server);
    rebut.write("a.md", &script(&[("*", &recommends("A"))]));
    let open = |rebut: &Rebut, models: &[&str]| {
        let stopped = rebut.json(5, &[ASK, models, &["--max-calls", "1", "--json"]].concat());
        stopped["debate_id"].as_str().expect("an id").to_owned()
    };
    let paid = open(&rebut, &["-m", "mine:small"]);
    let two_gone = open(&rebut, &["-m", "mine:small", "-m", "effort=script:a.md"]);
    let one_gone = open(&rebut, &["-m", "script:a.md", "-m", "effort=mine:small"]);
    let free = open(&rebut, &["-m", "script:a.md"]);
    rebut.set("MY_KEY", "");
    for id in [&paid, &two_gone] {
        let before = rebut.events(id).len();
        let refused = rebut.run(&["resume", id, "--max-calls", "20"]);
        assert_eq!(refused.code, 4, "{}", refused.stderr);
        assert!(
            refused.stderr.contains("MY_KEY") && refused.stderr.contains("the debate stays open"),
            "{}",
            refused.stderr
        );
        assert_eq!(rebut.events(id).len(), before, "nothing is recorded");
    }
    let all = rebut.run(&["resume", "--all", "--max-calls", "20"]);
    assert_eq!(all.code, 1, "{}", all.stderr);
    assert!(
        all.stderr.contains("2 of them could not be gone on with"),
        "{}",
        all.stderr
    );
    for (id, missing) in [(&one_gone, 1), (&free, 0)] {
        let ended = rebut.json(0, &["show", id, "--json"]);
        assert_eq!(
            (
                &ended["outcome"],
                ended["degraded"].as_array().map(Vec::len)
            ),
            (&"consensus".into(), Some(missing)),
            "{ended:#}"
        );
    }
    rebut.set("MY_KEY", "sk-mine-0123456789");
    for id in [&paid, &two_gone] {
        assert_eq!(
            rebut.json(0, &["resume", id, "--max-calls", "20", "--json"])["outcome"],
            "consensus"
        );
    }
}

/// Whatever became of its model, it is a model that is missing. A script is looked for where the
/// debate was begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_debate_whose_model_is_gone_stays_open() {
    let server = ModelServer::start(|_, _| Behaviour::Say(recommends("A")))
        .await
        .expect("a server");
    let rebut = configured(&server);
    rebut.write("a.md", &script(&[("*", &recommends("A"))]));
    let open = |model: &str| {
        let stopped = rebut.json(
            5,
            &[ASK, &["-m", model, "--max-calls", "1", "--json"]].concat(),
        );
        stopped["debate_id"].as_str().expect("an id").to_owned()
    };
    let [unknown, lost, moved] = ["mine:small", "script:a.md", "script:a.md"].map(open);
    rebut.write("elsewhere/file", "");
    let mut elsewhere = rebut.command(&["resume", &moved, "--max-calls", "20", "-q"]);
    let ended = elsewhere
        .current_dir(rebut.path("elsewhere"))
        .output()
        .expect("the program runs");
    assert_eq!(
        ended.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    rebut.user_config("");
    std::fs::remove_file(rebut.path("a.md")).expect("a file");
    for (id, says) in [
        (unknown, "unknown provider `mine`"),
        (lost, "script a.md: cannot be read"),
    ] {
        let refused = rebut.run(&["resume", &id, "--max-calls", "20"]);
        assert_eq!(refused.code, 4, "{}", refused.stderr);
        assert!(
            refused.stderr.contains(says) && refused.stderr.contains("the debate stays open"),
            "{}",
            refused.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn triage_says_why_there_is_no_verdict() {
    let server = ModelServer::start(|_, _| Behaviour::Fail(Failure::BadKey))
        .await
        .expect("a server");
    let rebut = configured(&server);
    rebut.write("other.md", "## recommend/risk\n~~~\nhello\n~~~\n");
    let rows = [
        ("mine:small", 4, "(check the key in MY_KEY)"),
        (
            "script:other.md",
            4,
            "has no reply for the turn `triage/neutral`",
        ),
    ];
    for (model, code, says) in rows {
        let text = rebut.run(&["triage", "Redis or Memcached?", "-m", model]);
        assert_eq!(text.code, code, "{model}: {}", text.stdout);
        assert!(
            text.stdout.contains("no verdict: ") && text.stdout.contains(says),
            "{model}: {}",
            text.stdout
        );
        let json = rebut.json(
            code,
            &["triage", "Redis or Memcached?", "-m", model, "--json"],
        );
        let detail = json["degraded"][0]["detail"].as_str().unwrap_or_default();
        assert!(
            !detail.is_empty() && detail.contains(says),
            "{model}: {json:#}"
        );
        assert_eq!(
            (&json["verdict"], json["rules"]["score"].is_number()),
            (&Value::Null, true),
            "{model}: {json:#}"
        );
    }
    assert_eq!(rebut.run(&["triage", "  "]).code, 2, "no question");
}
