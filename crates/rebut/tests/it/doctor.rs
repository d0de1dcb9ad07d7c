//! `doctor` and `models` on a machine with nothing, and on one with a bit of everything.

use crate::rebut::{Rebut, claude_like, claude_result};
use rebut_testkit::model_server::{Behaviour, Failure, ModelServer};
use serde_json::{Value, json};

const READY: &str = r#"{"ready": true}"#;

#[test]
fn with_nothing_doctor_says_what_would_help() {
    let rebut = Rebut::new();
    rebut.user_config("");
    let output = rebut.run(&["doctor"]);
    assert_eq!(output.code, 4, "{}", output.stdout);
    for says in [
        "keys       none set",
        "not set: ANTHROPIC_API_KEY, ",
        "agents     none",
        "nobody answers: ",
        "no model found: ",
    ] {
        assert!(
            output.stdout.contains(says),
            "{says:?} is not in\n{}",
            output.stdout
        );
    }
    let findings = rebut.json(4, &["doctor", "--json"]);
    assert_eq!(
        (
            &findings["usable"],
            &findings["models"],
            &findings["store"]["problem"]
        ),
        (&json!(false), &json!([]), &Value::Null)
    );
    let deep = rebut.json(4, &["doctor", "--deep", "--json"]);
    assert_eq!(deep["probes"], json!([]), "the rehearsal is not asked");
    let fixes = rebut.expect(4, &["doctor", "--fix"]);
    for command in [
        "export OPENAI_API_KEY=",
        "npm install -g @anthropic-ai/claude-code",
        "ollama serve",
    ] {
        assert!(fixes.contains(command), "{command:?} is not in\n{fixes}");
    }
    assert_eq!(rebut.run(&[]).code, 0, "bare rebut only tells");
}

#[test]
fn a_key_without_a_model_is_told_as_that() {
    let mut rebut = Rebut::new();
    rebut.user_config(
        "[providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\nkey_env = \"MY_KEY\"\n",
    );
    rebut.set("MY_KEY", "sk-mine-0123456789");
    let missing = "the key of mine is set, but no model: write auto_model under [providers.mine], \
        or name one with -m mine:MODEL";
    let told = rebut.expect(4, &["doctor", "--fix"]);
    for says in [
        "MY_KEY set",
        missing,
        "rebut models 'mine' # then write auto_model = \"one of them\" under [providers.mine]",
    ] {
        assert!(told.contains(says), "{says:?} is not in\n{told}");
    }
    assert!(!told.contains("no key"), "{told}");
    for verb in ["decide", "challenge"] {
        let output = rebut.run(&[verb, "Redis or Memcached for sessions?"]);
        assert!(output.stderr.contains(missing), "{verb}: {}", output.stderr);
    }
    // A panel that names its models needs no usual one.
    rebut.write(
        "rebut.toml",
        "[defaults]\npanel = \"two\"\n[panels.two]\nmembers = [{ role = \
        \"risk\", model = \"mine:small\" }]\n",
    );
    assert!(rebut.expect(0, &["doctor"]).contains("ready"));
}

/// A keyed endpoint, one that refuses its key, a server without key, and claude.
fn furnished(server: &ModelServer) -> Rebut {
    let mut rebut = Rebut::new();
    let base = server.base_url();
    rebut.user_config(&format!(
        "[providers.mine]\nbase_url = \"{base}\"\nkey_env = \"MY_KEY\"\nauto_model = \"small\"\n\
         [providers.mine.prices.small]\ninput = 10.0\noutput = 100.0\n\
         [providers.odd]\nbase_url = \"{base}\"\nkey_env = \"ODD_KEY\"\nauto_model = \"refused\"\n\
         [providers.here]\nbase_url = \"{base}\"\n\
         [providers.also]\nbase_url = \"{base}\"\nkey_env = \"MY_KEY\"\n[clis.own]\nargs = []\n"
    ));
    rebut.program("own", "echo '{\"ready\": true}'");
    rebut.program(
        "claude",
        &claude_like("/bin/cat > /dev/null", &claude_result(READY)),
    );
    rebut.set("MY_KEY", "sk-mine-0123456789");
    rebut.set("ODD_KEY", "sk-odd-0123456789");
    rebut
}

#[tokio::test(flavor = "multi_thread")]
async fn with_something_doctor_finds_it_and_deep_asks_it() {
    let server = ModelServer::start(|_, seen| match seen.json()["model"] == "refused" {
        true => Behaviour::Fail(Failure::BadKey),
        false => Behaviour::Say(READY.to_owned()),
    })
    .await
    .expect("a server");
    let mut rebut = furnished(&server);
    let host = server.base_url().replace("http://", "").replace("/v1", "");
    let plain = rebut.expect(0, &["doctor"]);
    for says in [
        "keys       MY_KEY, ODD_KEY set",
        "mine from your configuration",
        "cannot see whether somebody is signed in; `rebut doctor --deep` asks it\n",
        &format!("mine       chat      {host}"),
        "claude     2.1.9  ",
        "not signed in: run `claude` once",
        &format!("here       {host}  2 models"),
        "unknown for odd:refused",
        "ready",
    ] {
        assert!(plain.contains(says), "{says:?} is not in\n{plain}");
    }
    let fixes = rebut.expect(0, &["doctor", "--fix"]);
    assert!(
        fixes.contains("printf '[providers.odd.prices.") && !fixes.contains("apt-get"),
        "a price would help, a sandbox not yet: {fixes}"
    );
    let ready = |findings: &Value, name: &str| {
        let endpoints = findings["endpoints"].as_array().expect("a list").clone();
        endpoints
            .iter()
            .find(|endpoint| endpoint["provider"] == name)
            .expect("an endpoint")["ready"]
            .clone()
    };
    let findings = rebut.json(0, &["doctor", "--json"]);
    assert_eq!(
        [
            ready(&findings, "here"),
            ready(&findings, "ollama"),
            ready(&findings, "openai")
        ],
        [json!(true), json!(false), json!(false)]
    );
    assert_eq!(
        server
            .seen()
            .iter()
            .filter(|seen| seen.line.starts_with("POST"))
            .count(),
        0,
        "nobody was asked for an answer"
    );

    rebut.set("CLAUDE_CODE_OAUTH_TOKEN", "oauth-0123456789");
    let findings = rebut.json(0, &["doctor", "--deep", "--json"]);
    assert_eq!(findings["clis"][0]["signed_in"], true);
    assert_eq!(
        findings["panel"]["models"],
        json!(["cli:claude", "mine:small", "odd:refused"])
    );
    let told: Vec<(&str, bool, Option<f64>)> = findings["probes"]
        .as_array()
        .expect("probes")
        .iter()
        .map(|probe| {
            (
                probe["model"].as_str().unwrap_or_default(),
                probe["ok"] == true,
                probe["cost_usd"].as_f64(),
            )
        })
        .collect();
    let cost = (100.0 * 10.0 + 20.0 * 100.0) / 1e6;
    assert_eq!(
        told,
        [
            ("cli:claude", true, Some(0.01)),
            ("mine:small", true, Some(cost)),
            ("odd:refused", false, None),
            ("cli:own", true, None)
        ]
    );
    let fixes = rebut.expect(0, &["doctor", "--deep", "--fix"]);
    assert!(
        fixes.contains("export ODD_KEY='…' # the one that is set was refused by odd"),
        "{fixes}"
    );
    let text = rebut.expect(0, &["doctor", "--deep"]);
    assert!(
        text.contains("mine:small  ok  ") && text.contains("odd:refused  not authenticated: "),
        "{text}"
    );
    assert!(
        !text.contains("0123456789") && !findings.to_string().contains("0123456789"),
        "keys are never shown"
    );

    let mut broken = furnished(&server);
    broken.set("MY_KEY", "");
    broken.user_config(&format!(
        "[providers.odd]\nbase_url = \"{}\"\nkey_env = \"ODD_KEY\"\nauto_model = \"refused\"\n",
        server.base_url()
    ));
    assert_eq!(broken.run(&["doctor"]).code, 0, "a key is set");
    let output = broken.run(&["doctor", "--deep"]);
    assert!(
        output.code == 4 && output.stdout.contains("no model answers: "),
        "but it does not open anything: {}",
        output.stdout
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_with_price_family_and_pick() {
    let server = ModelServer::start(|_, _| Behaviour::Hang)
        .await
        .expect("a server");
    let rebut = furnished(&server);
    let all = rebut.json(0, &["models", "--json"]);
    let offer = |name: &str| {
        all.as_array()
            .expect("a list")
            .iter()
            .find(|offer| offer["provider"] == name)
            .expect("an offer")
            .clone()
    };
    let here = offer("here");
    assert_eq!(
        (&here["ready"], &here["source"], &here["models"][0]["model"]),
        (&json!(true), &json!("provider"), &json!("here:m"))
    );
    let openai = offer("openai");
    assert_eq!(
        (&openai["ready"], &openai["problem"]),
        (&json!(false), &json!("OPENAI_API_KEY is not set"))
    );
    let mini = openai["models"]
        .as_array()
        .expect("models")
        .iter()
        .find(|row| row["model"] == "openai:gpt-5-mini")
        .expect("a row");
    assert_eq!(
        (&mini["family"], &mini["price"]["output"], &mini["auto"]),
        (&json!("gpt"), &json!(2.0), &json!(false))
    );
    assert_eq!(
        offer("cli")["models"][0],
        json!({"model": "cli:claude", "family": "claude", "price": null, "auto": false})
    );

    let one = rebut.expect(0, &["models", "openai"]);
    assert!(
        one.contains("openai:gpt-5-mini ")
            && one.contains("$0.25 in  $2 out")
            && !one.contains("anthropic"),
        "{one}"
    );
    assert!(
        rebut.expect(0, &["models", "here"]).contains("auto panel"),
        "the auto panel takes it"
    );
    let wrong = rebut.run(&["models", "opnai"]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("did you mean `openai`?"),
        "{}",
        wrong.stderr
    );
}
