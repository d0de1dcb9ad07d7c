//! `rebut serve` and its clients: a debate over HTTP, kill and drain, keys, what requests cannot
//! say, and the command line at a server.

use crate::{
    crash::{check_turns, completed},
    rebut::{Rebut, recommends, responds, script, script_of, split_then_c},
    served::Served,
};
use rebut_testkit::openai_server::{Behaviour, OpenAiServer};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, mpsc};

/// The usual case, asked for over HTTP.
fn offline(model: &str) -> Value {
    let option = |id: &str, label: &str| json!({"id": id, "label": label});
    let judges = ["risk", "value", "effort"].map(|role| json!({"role": role, "model": model}));
    json!({
        "format": "decide",
        "input": {"question": "Offline support?", "options": [option("A", "Online \
            only"), option("B", "Full offline"), option("C", "Limited offline")]},
        "agents": judges, "seed": 7,
    })
}

/// Waits until a debate has come so far, in this process or another.
fn until(rebut: &Rebut, id: &str, kind: &str) {
    rebut
        .start(&["watch", id])
        .until(|event| event["type"] == kind);
}

#[test]
fn a_debate_is_asked_for_read_and_listed_over_http() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.write("debate.md", &script_of(&split_then_c()));
    let served = Served::start(&rebut, &["--allow-scripts"]);
    for (token, path, status) in [
        ("", "/healthz", 200),
        ("", "/readyz", 200),
        ("", "/v1/debates", 401),
        ("rebut_0", "/v1/debates", 401),
        (&served.token[..20], "/v1/debates", 401),
    ] {
        assert_eq!(
            served.ask_with(token, "GET", path, None, "").status,
            status,
            "{path}"
        );
    }
    let answer = served.ask_with(
        &served.token,
        "POST",
        "/v1/debates",
        Some(&offline("script:debate.md")),
        "Prefer: wait=60\r\n",
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    let result = answer.json();
    assert_eq!(
        (&result["outcome"], &result["result"]["recommended_option"]),
        (&json!("consensus"), &json!("C")),
        "{result}"
    );
    let id = result["debate_id"].as_str().expect("an id").to_owned();
    assert_eq!(
        served.ask("GET", "/v1/debates", None).json()["debates"][0]["id"],
        id.as_str()
    );
    assert_eq!(
        served
            .ask("GET", &format!("/v1/debates/{id}/audit"), None)
            .json()["ok"],
        true
    );
    // The same rules as what is typed: the same debate, word by word.
    let typed = rebut.json(0, &crate::rebut::case(&["--json"]));
    let typed_id = typed["debate_id"].as_str().expect("an id");
    assert_eq!(
        rebut.expect(0, &["show", &id, "--transcript"]),
        rebut.expect(0, &["show", typed_id, "--transcript"])
    );

    let formats = served.ask("GET", "/v1/formats", None).json();
    let solve = formats
        .as_array()
        .expect("formats")
        .iter()
        .find(|format| format["name"] == "solve")
        .expect("solve")
        .clone();
    assert!(
        solve["input"]["properties"]["task"].is_object()
            && solve["config"]["properties"]["hooks"].is_null(),
        "{solve}"
    );
    let estimate = served
        .ask("POST", "/v1/estimates", Some(&offline("rehearsal")))
        .json();
    assert!(
        estimate["calls"]["low"] == 3 && estimate["words"].is_string(),
        "{estimate}"
    );
    let providers = served.ask("GET", "/v1/providers", None).body;
    assert!(
        providers.contains("\"rehearsal\"")
            && !providers.contains(rebut.data().to_str().expect("a path")),
        "{providers}"
    );

    let token = served.token.clone();
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(rebut.data().join("server.token"))
            .expect("a file")
            .permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        rebut.holding(&token),
        [rebut.data().join("server.token")],
        "the token is in one file only"
    );
    served.signal("TERM");
    let (code, log) = served.finish();
    assert_eq!(code, 0, "{log}");
    assert!(
        !log.contains(&token)
            && log.contains("\"event\":\"debate.completed\"")
            && log.contains("\"route\":\"createDebate\""),
        "{log}"
    );
}

#[test]
fn what_a_killed_server_left_the_next_one_ends() {
    let rebut = Rebut::new();
    rebut.user_config("");
    let mut stuck = split_then_c();
    stuck.last_mut().expect("six turns").1 = "!timeout".to_owned();
    rebut.write("debate.md", &script_of(&stuck));
    let served = Served::start(&rebut, &["--allow-scripts"]);
    let ids: Vec<String> = (0..5)
        .map(|_| served.begin(&offline("script:debate.md")))
        .collect();
    ids.iter().for_each(|id| {
        drop(
            rebut
                .start(&["watch", id])
                .until(|event| event["seq"] == 19),
        )
    });
    served.kill();
    let recorded: Vec<_> = ids.iter().map(|id| completed(&rebut.events(id))).collect();
    assert!(
        recorded.iter().all(|turns| turns.len() == 5),
        "{recorded:?}"
    );

    rebut.write("debate.md", &script_of(&split_then_c()));
    let served = Served::start(&rebut, &["--allow-scripts"]);
    for (id, recorded) in ids.iter().zip(&recorded) {
        until(&rebut, id, "debate.completed");
        check_turns(&rebut.events(id), recorded, id);
        assert_eq!(
            rebut.json(0, &["show", id, "--json"])["outcome"],
            "consensus"
        );
        rebut.expect(0, &["audit", "verify", id]);
        rebut.expect(0, &["replay", id]);
    }
    served.signal("TERM");
    assert_eq!(served.finish().0, 0);
}

/// A model whose answers of the first round wait until they are let go.
async fn held() -> (OpenAiServer, mpsc::Sender<()>) {
    let (let_go, gate) = mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let server = OpenAiServer::start(move |_, seen| {
        if seen.body.contains("The panel did not agree") {
            return Behaviour::Say(responds("C", &[]));
        }
        // Whoever holds the other end is gone when the test is over.
        let _ = gate.lock().expect("no panic inside").recv();
        Behaviour::Say(recommends("C"))
    });
    (server.await.expect("a server"), let_go)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_is_told_to_stop_finishes_turns_and_the_next_one_goes_on() {
    let (model, let_go) = held().await;
    let rebut = Rebut::new();
    rebut.user_config(&format!(
        "[providers.mine]\nbase_url = \"{}\"\n[server]\nmodels = [\"mine:slow\"]\n",
        model.base_url()
    ));
    let mut asked = offline("script:debate.md");
    asked["agents"][2]["model"] = "mine:slow".into();
    rebut.write("debate.md", &script_of(&split_then_c()));
    let mut served = Served::start(&rebut, &["--allow-scripts"]);
    let [id, paused] = [served.begin(&asked), served.begin(&asked)];
    let has_asked = |id: &str| {
        rebut
            .start(&["watch", id])
            .until(|event| event["type"] == "turn.started" && event["agent"] == "effort")
    };
    has_asked(&id);
    has_asked(&paused);
    assert_eq!(
        served
            .ask(
                "POST",
                &format!("/v1/debates/{paused}/pause"),
                Some(&json!({}))
            )
            .status,
        202
    );
    served.signal("TERM");
    served.until("stopping");
    let_go.send(()).expect("the first waits");
    let_go.send(()).expect("the second waits");
    let (code, log) = served.finish();
    assert_eq!(code, 0, "{log}");
    assert!(!log.contains("cut off"), "{log}");

    let before = rebut.events(&id);
    let kinds: Vec<&str> = before
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert!(
        !kinds.contains(&"debate.paused") && !kinds.contains(&"debate.completed"),
        "{kinds:?}"
    );
    let recorded = completed(&before);
    assert_eq!(
        recorded.len(),
        3,
        "turns under way were finished: {kinds:?}"
    );
    assert_eq!(
        rebut.json(0, &["ls", "--status", "paused", "--json"])[0]["id"],
        paused.as_str()
    );

    let served = Served::start(&rebut, &["--allow-scripts"]);
    until(&rebut, &id, "debate.completed");
    check_turns(&rebut.events(&id), &recorded, &id);
    assert_eq!(
        rebut.json(0, &["ls", "--status", "paused", "--json"])[0]["id"],
        paused.as_str(),
        "what a person paused stays so"
    );
    served.signal("INT");
    assert_eq!(served.finish().0, 0);
}

#[test]
fn who_does_not_want_to_wait_says_so_twice_and_nothing_is_lost() {
    let rebut = Rebut::new();
    rebut.user_config("[server]\ndrain_seconds = 600\n");
    rebut.write(
        "debate.md",
        &script(&[("*/risk", &recommends("A")), ("*", "!timeout")]),
    );
    let mut served = Served::start(&rebut, &["--allow-scripts"]);
    let id = served.begin(&offline("script:debate.md"));
    until(&rebut, &id, "turn.completed");
    served.signal("TERM");
    served.until("stopping");
    served.signal("TERM");
    let (code, log) = served.finish();
    assert_eq!(code, 130, "{log}");
    // No time for turns at all: what has no answer by then is cut off, and asked again.
    rebut.user_config("[server]\ndrain_seconds = 0\n");
    let served = Served::start(&rebut, &["--allow-scripts"]);
    until(&rebut, &id, "debate.resumed");
    served.signal("TERM");
    let (code, log) = served.finish();
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("cut off in a turn"), "{log}");
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    let _served = Served::start(&rebut, &["--allow-scripts"]);
    until(&rebut, &id, "debate.completed");
    assert_eq!(
        rebut.json(0, &["show", &id, "--json"])["outcome"],
        "consensus"
    );
}

#[test]
fn other_machines_get_in_only_with_keys_and_where_that_was_said() {
    let rebut = Rebut::new();
    rebut.user_config("");
    let anywhere = ["serve", "--listen", "0.0.0.0:0"];
    let rows: [(&[&str], &str); 3] = [
        (&[], "--allow-remote"),
        (&["--allow-remote"], "--host NAME:PORT"),
        (
            &["--allow-remote", "--host", "debates.example.org:443"],
            "rebut keys add NAME",
        ),
    ];
    for (more, hint) in rows {
        let refused = rebut.run(&[&anywhere, more].concat());
        assert!(
            refused.code == 2 && refused.stderr.contains(hint),
            "{more:?}: {}",
            refused.stderr
        );
    }
    assert!(
        !rebut.data().join("server.token").exists(),
        "nothing was made for a server that did not start"
    );

    let viewer = rebut
        .expect(0, &["keys", "add", "reader", "--owner", "tester"])
        .trim()
        .to_owned();
    let other = rebut
        .expect(
            0,
            &["keys", "add", "ci", "--owner", "others", "--role", "admin"],
        )
        .trim()
        .to_owned();
    for (args, hint) in [
        (["keys", "add", "ci", "--owner", "x"], "rebut keys rm ci"),
        (["keys", "add", "a b", "--owner", "x"], "letters"),
    ] {
        let refused = rebut.run(&args);
        assert!(
            refused.code == 2 && refused.stderr.contains(hint),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(
        rebut.holding(&viewer),
        Vec::<std::path::PathBuf>::new(),
        "a token is shown once and kept nowhere"
    );
    let listed = rebut.json(0, &["keys", "ls", "--json"]);
    assert_eq!(
        listed,
        json!([{"name": "reader", "owner": "tester", "role": "viewer"}, {"name": "ci", "owner": "others", "role": "admin"}])
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(rebut.data().join("server.keys"))
            .expect("a file")
            .permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);

    let served = Served::start(&rebut, &[]);
    assert!(
        served.token.is_empty(),
        "where there are keys, none is made"
    );
    let asked = offline("rehearsal");
    assert_eq!(
        served
            .ask_with(&viewer, "POST", "/v1/debates", Some(&asked), "")
            .status,
        403
    );
    assert_eq!(
        served
            .ask_with(
                &other,
                "POST",
                "/v1/debates",
                Some(&asked),
                "Prefer: wait=60\r\n"
            )
            .status,
        200
    );
    assert_eq!(
        served
            .ask_with(&viewer, "GET", "/v1/debates", None, "")
            .json()["debates"],
        json!([]),
        "each owner sees its own"
    );
    for (token, status) in [(&viewer, 200), (&other, 403)] {
        assert_eq!(
            served.ask_with(token, "GET", "/metrics", None, "").status,
            status,
            "counts of all are for whoever runs the server"
        );
    }
    rebut.expect(0, &["keys", "rm", "ci"]);
    // The server notices within seconds; whoever asks meanwhile is still let in, or told to ask
    // more slowly.
    while served
        .ask_with(&other, "GET", "/v1/formats", None, "")
        .status
        != 401
    {}
    assert_eq!(
        served
            .ask_with(&viewer, "GET", "/v1/debates", None, "")
            .status,
        200
    );
}

#[test]
fn a_request_says_nothing_that_belongs_to_the_operator() {
    let rebut = Rebut::new();
    rebut.user_config("[budget]\nmax_calls = 40\n");
    rebut.write("debate.md", &script_of(&split_then_c()));
    let served = Served::start(&rebut, &[]);
    let solve = |more: Value| {
        let mut asked = json!({"format": "solve", "input": {"task": "Add.", "language": "python"}});
        asked
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        asked
    };
    let with = |change: &dyn Fn(&mut Value)| {
        let mut asked = offline("rehearsal");
        change(&mut asked);
        asked
    };
    let by_roles = |roles: Value, models: Value| {
        with(&|asked| {
            asked["agents"] = json!([]);
            (asked["roles"], asked["models"]) = (roles.clone(), models.clone());
        })
    };
    let rows: Vec<(Value, &str)> = vec![
        (
            with(&|asked| asked["agents"][0]["model"] = "script:debate.md".into()),
            "not among the models of this server",
        ),
        (
            with(&|asked| asked["agents"][0]["model"] = "openai:gpt-5".into()),
            "choose one of: human, rehearsal",
        ),
        (
            with(&|asked| asked["agents"][0]["model"] = "cli:claude".into()),
            "not among the models",
        ),
        (
            with(&|asked| asked["agents"][0]["fallbacks"] = json!(["cli:codex"])),
            "not among the models",
        ),
        (
            with(&|asked| asked["agents"][0]["role"] = "../../secret".into()),
            "there is no role",
        ),
        (
            with(&|asked| asked["panel"] = "auto".into()),
            "both say who takes part",
        ),
        (
            with(&|asked| asked["roles"] = json!(["risk"])),
            "`roles` and `agents` both say who takes part",
        ),
        (
            with(&|asked| asked["models"] = json!(["rehearsal"])),
            "`models` and `agents` both say who takes part",
        ),
        (
            by_roles(json!(["risk"]), json!(["openai:gpt-5"])),
            "not among the models of this server",
        ),
        (
            by_roles(
                json!(["risk", "value"]),
                json!(["rehearsal", "value=cli:claude"]),
            ),
            "not among the models of this server",
        ),
        (
            by_roles(json!(["../../secret"]), json!(["rehearsal"])),
            "there is no role",
        ),
        (
            by_roles(json!(["risk"]), json!(["nobody=rehearsal"])),
            "there is no judge `nobody`",
        ),
        (
            by_roles(json!(vec!["risk"; 33]), json!(["rehearsal"])),
            "at most 32 can take part",
        ),
        (
            with(&|asked| asked["config"] = json!({"max_round": 3})),
            "did you mean `max_rounds`?",
        ),
        (
            with(&|asked| asked["config"] = json!({"max_rounds": "many"})),
            "max_rounds",
        ),
        (
            with(&|asked| asked["format"] = "triage".into()),
            "there is no format",
        ),
        (
            with(&|asked| asked["input"] = json!({"question": " "})),
            "the question is empty",
        ),
        (
            json!({"format": "challenge", "input": {"topic": "Use Redis", "workspace": "/tmp"}}),
            "`input.workspace` cannot be said",
        ),
        (
            solve(json!({"config": {"hooks": {"post-proposal": ["sh"]}}})),
            "`config.hooks` cannot be said",
        ),
        (
            solve(json!({"config": {"embeddings": "evil:model"}})),
            "`config.embeddings` cannot be said",
        ),
        (
            solve(json!({"limits": {"calls": 1}})),
            "there can be no code",
        ),
    ];
    for (asked, why) in rows {
        let answer = served.ask("POST", "/v1/debates", Some(&asked));
        assert!(
            answer.status == 422 && answer.body.contains(why),
            "{why}: {asked}\n{answer:?}"
        );
    }
    assert_eq!(
        served.ask("GET", "/v1/debates", None).json()["debates"],
        json!([]),
        "nothing of it began"
    );
    let forked = format!("/v1/debates/{}/fork", served.begin(&solve(json!({}))));
    let answer = served.ask(
        "POST",
        &forked,
        Some(&json!({"at": "end", "config": {"hooks": {"post-proposal": ["sh"]}}})),
    );
    assert!(
        answer.status == 422 && answer.body.contains("`config.hooks` cannot be said"),
        "nor in a fork: {answer:?}"
    );
    for (limits, calls) in [
        (json!({"calls": 1000}), 40),
        (json!({"calls": 7}), 7),
        (json!({}), 40),
    ] {
        let id = served.begin(&with(&|asked| asked["limits"] = limits.clone()));
        assert_eq!(
            served.ask("GET", &format!("/v1/debates/{id}"), None).json()["limits"]["caps"]["calls"],
            calls,
            "{limits}"
        );
    }
    rebut.write("rebut.toml", "[server]\nmodels = [\"openai:gpt-5\"]\n");
    let shown = rebut.run(&["config", "show"]);
    assert!(
        shown
            .stderr
            .contains("never taken from a project: server\n")
            && !shown.stdout.contains("openai:gpt-5"),
        "{shown:?}"
    );
}

#[test]
fn the_command_line_shows_the_same_of_a_server_as_of_this_machine() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.write("debate.md", &script_of(&split_then_c()));
    let served = Served::start(&rebut, &["--allow-scripts"]);
    let mut client = Rebut::new();
    client.user_config("");
    client.set("REBUT_SERVER", &served.url());
    let unknown = client.run(&["ls"]);
    assert!(
        unknown.code == 2 && unknown.stderr.contains("REBUT_TOKEN"),
        "{}",
        unknown.stderr
    );
    client.set("REBUT_TOKEN", &served.token);

    let decided = client.run(&crate::rebut::case(&["-o", "out.html", "-o", "out.ndjson"]));
    assert_eq!(decided.code, 0, "{}{}", decided.stdout, decided.stderr);
    assert!(
        decided.stderr.contains("recommend/risk answered"),
        "progress is told: {}",
        decided.stderr
    );
    let id = rebut.json(0, &["ls", "--json"])[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let views: [&[&str]; 9] = [
        &["show", &id[..8]],
        &["show", "last", "--json"],
        &["show", &id, "--events"],
        &["show", &id, "--transcript"],
        &["watch", &id],
        &["watch", &id, "--after", "20", "--stream-json"],
        &["export", &id, "-f", "journal"],
        &["export", &id, "-f", "html"],
        &["ls"],
    ];
    for args in views {
        assert_eq!(client.expect(0, args), rebut.expect(0, args), "{args:?}");
    }
    for place in [&client, &rebut] {
        let beyond = place.run(&["watch", &id, "--after", "9999"]);
        assert!(
            beyond.code == 2
                && beyond
                    .stderr
                    .contains("there is no event 9999; the last one is"),
            "{}",
            beyond.stderr
        );
    }
    assert!(
        decided
            .stdout
            .starts_with(&client.expect(0, &["show", &id])),
        "{}",
        decided.stdout
    );
    assert_eq!(
        client.read("out.ndjson"),
        rebut.expect(0, &["export", &id, "-f", "journal"])
    );
    assert!(client.read("out.html").contains("Offline support?"));
    assert!(
        !client.data().join("rebut.db").exists(),
        "nothing is kept here"
    );
    for (args, code, said) in [
        (&["cancel", &id][..], 2, "it has already ended"),
        (&["answer", &id, "A"], 2, "is not contested"),
        (&["approve", &id], 2, "waits at no gate"),
        (&["note", "ffff", "x"], 2, "no debate `ffff`"),
        (&["resume", &id], 2, "nothing to resume"),
        (
            &[
                "decide",
                "Offline support?",
                "-O",
                "Yes",
                "-O",
                "No",
                "-m",
                "openai:gpt-5",
            ],
            2,
            "not among the models of this server",
        ),
        (
            &["decide", "Offline support?", "--baseline", "poll"],
            2,
            "--baseline cannot be used with a server",
        ),
    ] {
        let refused = client.run(args);
        assert!(
            refused.code == code && refused.stderr.contains(said),
            "{args:?}: {}",
            refused.stderr
        );
    }
    client.set("REBUT_TOKEN", "rebut_wrong");
    let wrong = client.run(&["ls"]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("does not know this key"),
        "{}",
        wrong.stderr
    );
    drop(served);
    let gone = client.run(&["ls"]);
    assert!(
        gone.code == 1 && gone.stderr.contains("does not answer"),
        "{}",
        gone.stderr
    );
    client.set("REBUT_SERVER", "http://debates.example.org");
    let open = client.run(&["ls"]);
    assert!(
        open.code == 2 && open.stderr.contains("use https"),
        "{}",
        open.stderr
    );
}

#[test]
fn what_is_kept_long_enough_goes_and_what_a_command_began_is_left_to_it() {
    let rebut = Rebut::new();
    rebut.user_config("[server]\nkeep_days = 30\n");
    rebut.write("debate.md", &script_of(&split_then_c()));
    let [old, new] = [(); 2].map(|()| {
        rebut.json(0, &crate::rebut::case(&["--json"]))["debate_id"]
            .as_str()
            .expect("an id")
            .to_owned()
    });
    rebut.write(
        "debate.md",
        &script(&[("*/risk", &recommends("A")), ("*", "!timeout")]),
    );
    let mut run = rebut.start(&crate::rebut::case(&["-o", "out.md"]));
    run.until(|event| event["type"] == "turn.completed");
    let begun = run.id.clone();
    run.kill();
    let database = rusqlite::Connection::open(rebut.data().join("rebut.db")).expect("the database");
    for id in [&old, &begun] {
        let aged =
            "UPDATE debate_sessions SET created_at = '2020' || substr(created_at, 5) WHERE id = ?1";
        assert_eq!(database.execute(aged, [id]).expect("valid SQL"), 1);
    }
    drop(database);
    let mut served = Served::start(&rebut, &["--allow-scripts"]);
    let left = served.until("left open");
    assert!(
        left["debate"] == begun.as_str()
            && left["why"]
                .as_str()
                .is_some_and(|why| why.contains("rebut resume")),
        "{left}"
    );
    assert_eq!(served.until("debate.removed")["debate"], old.as_str());
    served.signal("TERM");
    assert_eq!(served.finish().0, 0);
    let ids: Vec<Value> = rebut
        .json(0, &["ls", "--json"])
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["id"].clone())
        .collect();
    assert_eq!(
        ids,
        [new.as_str(), begun.as_str()],
        "an open debate is never removed"
    );
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    rebut.expect(0, &["resume", &begun]);
    assert!(rebut.read("out.md").contains("Offline support?"));
}

#[test]
fn a_gate_is_listed_and_decided_at_a_server() {
    let rebut = Rebut::new();
    rebut.user_config("");
    let code = json!({"approach": "Plain.", "code": "def add(a, b):\n    return a + \
        b\n", "confidence": 0.9})
    .to_string();
    rebut.write("solve.md", &script_of(&[("proposal 1/generator", code)]));
    let served = Served::start(&rebut, &["--allow-scripts"]);
    let mut client = Rebut::new();
    client.set("REBUT_SERVER", &served.url());
    client.set("REBUT_TOKEN", &served.token);
    let nobody = client.run(&["gates"]);
    assert!(
        nobody.code == 0 && nobody.stderr.contains("no debate waits at a gate"),
        "{}",
        nobody.stderr
    );
    for (word, ending) in [("approve", "completed"), ("reject", "rejected")] {
        let id = served.begin(&json!({
            "format": "solve", "input": {"task": "Add.", "language": "python"}, "agents": [{"role": "generator", "model": "script:solve.md"}],
            "config": {"phases": ["proposal"], "gates": ["proposal"], "lessons": false},
        }));
        client
            .start(&["watch", &id])
            .until(|event| event["type"] == "gate.opened");
        let (there, here) = (client.expect(0, &["gates"]), rebut.expect(0, &["gates"]));
        assert_eq!(there, here);
        assert!(
            there.contains("at the gate `after proposal`")
                && there.contains(&format!("rebut approve {}", &id[..8])),
            "{there}"
        );
        assert_eq!(
            client.json(0, &["gates", "--json"])[0]["debate_id"],
            id.as_str()
        );
        for (said, place) in [
            (None, &client),
            (None, &rebut),
            (Some(" "), &client),
            (Some(" "), &rebut),
        ]
        .into_iter()
        .filter(|_| word == "reject")
        {
            let reason: Vec<&str> = said
                .into_iter()
                .flat_map(|said| ["--reason", said])
                .collect();
            let refused = place.run(&[&[word, &id[..8]], &reason[..]].concat());
            assert!(
                refused.code == 2 && refused.stderr.contains("--reason"),
                "{said:?}: {}",
                refused.stderr
            );
        }
        client.expect(0, &[word, &id[..8], "--reason", "seen"]);
        client
            .start(&["watch", &id])
            .until(|event| event["type"] == "debate.completed");
        assert_eq!(client.json(0, &["show", &id, "--json"])["outcome"], ending);
        let decided = rebut
            .events(&id)
            .into_iter()
            .find(|event| event["type"] == "gate.decided")
            .expect("a decision");
        assert_eq!(
            decided["data"]["by"], "local",
            "who decided is the key's name"
        );
    }
}
