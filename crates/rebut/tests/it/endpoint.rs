//! An OpenAI-compatible endpoint from the configuration: usage and prices are shown, and its key is
//! nowhere.

use crate::rebut::{Rebut, recommends};
use rebut_testkit::{
    model_server::{Ending, Said, Seen},
    openai_server::{Behaviour, OpenAiServer},
};

const KEY: &str = "sk-canary-7Zq3Xv9LmT1";
const ASK: &[&str] = &[
    "decide",
    "Offline support?",
    "-O",
    "A=Online only",
    "-O",
    "B=Full offline",
    "-m",
    "mine:small",
];

fn configured(server: &OpenAiServer) -> Rebut {
    let mut rebut = Rebut::new();
    let url = server.base_url();
    rebut.user_config(&format!(
        "[providers.mine]\nbase_url = \"{url}\"\nkey_env = \
            \"MY_KEY\"\n[providers.mine.prices.small]\ninput = 10.0\ncached = 1.0\noutput = \
            100.0\n"
    ));
    rebut.set("MY_KEY", KEY);
    rebut
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_from_the_configuration_answers_and_is_priced() {
    let server = OpenAiServer::start(|_, _| Behaviour::Say(recommends("B")))
        .await
        .expect("a server");
    let rebut = configured(&server);
    let output = rebut.run(ASK);
    assert_eq!(output.code, 0, "{}", output.stderr);
    // Each call: 60 fresh input tokens at 10, 40 cached at 1, 20 output at 100 dollars a million.
    assert!(
        output
            .stdout
            .contains("RECOMMENDED  B Full offline, 3 of 3"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("$0.0079 · 3 calls · 300 in 60 out"),
        "{}",
        output.stdout
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert!(
        seen.iter()
            .all(|request| request.header("authorization") == Some(&format!("Bearer {KEY}")))
    );
    assert!(!rebut.holds(KEY));

    let mut keyless = configured(&server);
    keyless.set("MY_KEY", "");
    let refused = keyless.run(ASK);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("set the variable MY_KEY"),
        "{}",
        refused.stderr
    );
}

/// A vote for `AB`, and how it looks when it is cut within that name: as one for `A`, for which
/// nobody voted.
const FOR_BOTH: &str = r#"{"confidence": 0.9, "summary": "Both.", "claims": ["Each helps."], "flips_if": "one did not", "option": "AB"}"#;
const FOR_A: &str = FOR_BOTH.split_at(FOR_BOTH.len() - 3).0;

fn at_the_limit() -> Behaviour {
    Behaviour::Give(Said {
        ending: Ending::Length,
        ..Said::text(FOR_A)
    })
}

fn is_clarification(seen: &Seen) -> bool {
    seen.body.contains("It was cut off")
}

/// How a server answers, the exit code and the outcome, requests, and who is missing for which
/// reason.
type Cut = (
    &'static str,
    fn(&Seen) -> Behaviour,
    i32,
    &'static str,
    usize,
    &'static [(&'static str, &'static str)],
);

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_were_cut_count_for_nobody() {
    const ALL_INVALID: &[(&str, &str)] = &[
        ("effort", "invalid_reply"),
        ("risk", "invalid_reply"),
        ("value", "invalid_reply"),
    ];
    const ALL_BROKEN: &[(&str, &str)] = &[
        ("effort", "incomplete"),
        ("risk", "incomplete"),
        ("value", "incomplete"),
    ];
    let rows: &[Cut] = &[
        (
            "at their limit",
            |_| at_the_limit(),
            1,
            "no_quorum",
            6,
            ALL_INVALID,
        ),
        (
            "said to be complete",
            |_| Behaviour::Say(FOR_A.to_owned()),
            1,
            "no_quorum",
            6,
            ALL_INVALID,
        ),
        (
            "streams without an end",
            |_| Behaviour::Cut(FOR_BOTH.to_owned()),
            1,
            "no_quorum",
            6,
            ALL_BROKEN,
        ),
        (
            "once",
            |seen| {
                if is_clarification(seen) {
                    Behaviour::Say(FOR_BOTH.to_owned())
                } else {
                    at_the_limit()
                }
            },
            0,
            "consensus",
            6,
            &[],
        ),
        (
            "one of three",
            |seen| {
                if seen.body.contains("sceptical") {
                    at_the_limit()
                } else {
                    Behaviour::Say(FOR_BOTH.to_owned())
                }
            },
            0,
            "consensus",
            4,
            &[("risk", "invalid_reply")],
        ),
    ];
    for (name, act, code, outcome, requests, missing) in rows {
        let server = OpenAiServer::start(move |_, seen| act(seen))
            .await
            .expect("a server");
        let rebut = configured(&server);
        let json = rebut.json(
            *code,
            &[
                "decide",
                "Which?",
                "-O",
                "A=The old plan",
                "-O",
                "AB=Both plans",
                "-m",
                "mine:small",
                "--json",
            ],
        );
        assert_eq!(json["outcome"], *outcome, "{name}: {json:#}");
        assert_eq!(server.seen().len(), *requests, "{name}: {json:#}");
        let word = |absence: &serde_json::Value, field: &str| {
            absence[field].as_str().unwrap_or_default().to_owned()
        };
        let degraded = json["degraded"].as_array().expect("a list").iter();
        let mut degraded: Vec<(String, String)> = degraded
            .map(|absence| (word(absence, "agent"), word(absence, "reason")))
            .collect();
        degraded.sort();
        let missing: Vec<(String, String)> = missing
            .iter()
            .map(|(agent, reason)| ((*agent).to_owned(), (*reason).to_owned()))
            .collect();
        assert_eq!(degraded, missing, "{name}: {json:#}");
        let chosen = json["result"]["recommended_option"].as_str();
        assert_eq!(
            chosen,
            (*outcome == "consensus").then_some("AB"),
            "{name}: {json:#}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_prints_every_byte_and_sends_none() {
    let server = OpenAiServer::start(|_, _| Behaviour::Say(recommends("B")))
        .await
        .expect("a server");
    let rebut = configured(&server);
    rebut.write("spec.md", "The tunnel has no reception.\n");
    let output = rebut.run(&[ASK, &["-c", "spec.md", "--dry-run"]].concat());
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(server.seen().len(), 0);
    for expected in [
        "=== recommend/risk to mine:small ===",
        "=== recommend/effort to mine:small ===",
        "The tunnel has no reception.",
        "\"model\"",
        "small",
    ] {
        assert!(
            output.stdout.contains(expected),
            "{expected:?} is not in\n{}",
            output.stdout
        );
    }
    assert!(!output.stdout.contains(KEY) && !output.stderr.contains(KEY));
    assert!(
        output
            .stderr
            .contains("nothing was sent (3 requests shown)"),
        "{}",
        output.stderr
    );
    assert_eq!(
        rebut.expect(0, &["ls", "--json"]).trim(),
        "[]",
        "a dry run is not kept"
    );

    // What is then sent is of the same form, at every request and whoever listens: only the prompts
    // have marks of their own.
    let form = |body: &str| {
        let mut body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        body["messages"].take();
        body
    };
    let shown: Vec<_> = output
        .stdout
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(form)
        .collect();
    assert_eq!((shown.len(), &shown[0]["stream"]), (3, &true.into()));
    let agent = format!("\nuser-agent: rebut/{}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        output.stdout.matches(&agent).count(),
        3,
        "{}",
        output.stdout
    );
    for flags in [&[][..], &["--quiet"], &["--json"], &["--plain"]] {
        rebut.expect(0, &[ASK, &["-c", "spec.md"], flags].concat());
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 12);
    for request in seen {
        assert_eq!(form(&request.body), shown[0]);
        assert_eq!(
            format!(
                "\nuser-agent: {}\n",
                request.header("user-agent").unwrap_or_default()
            ),
            agent
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_form_names_the_setting_to_change() {
    let refusal = r#"{"error":{"message":"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."}}"#;
    let server = OpenAiServer::start(move |_, _| Behaviour::json(400, refusal))
        .await
        .expect("a server");
    let output = configured(&server).run(ASK);
    let setting = "; set structured = \"object\" or \"none\" for the provider mine)\n";
    assert!(
        output.stdout.contains(setting),
        "{}{}",
        output.stdout,
        output.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_the_endpoint_echoes_is_still_nowhere() {
    let server = OpenAiServer::start(|_, seen| {
        let key = seen
            .header("authorization")
            .unwrap_or_default()
            .trim_start_matches("Bearer ")
            .to_owned();
        match &seen.body {
            body if body.contains("sceptical") => Behaviour::json(
                401,
                format!(r#"{{"error":{{"message":"bad key {key} at line 1"}}}}"#),
            ),
            body if body.contains("optimistic") => {
                Behaviour::Say(recommends("B").replace("B is best", &format!("B, says {key}")))
            }
            _ => Behaviour::Say(recommends("B")),
        }
    })
    .await
    .expect("a server");
    let rebut = configured(&server);
    for flags in [
        &[
            "-o", "a.md", "-o", "a.json", "-o", "a.yaml", "-o", "a.ndjson", "-o", "a.adr.md",
        ][..],
        &["--json"],
        &["--stream-json"],
    ] {
        let output = rebut.run(&[ASK, flags].concat());
        assert_eq!(output.code, 0, "{}", output.stderr);
        assert!(
            output.stdout.contains("B, says [secret]"),
            "the answer itself is kept: {}",
            output.stdout
        );
        assert!(
            output.stdout.contains("bad key [secret] at line 1"),
            "the reason is kept: {}",
            output.stdout
        );
        assert!(
            !output.stdout.contains(KEY) && !output.stderr.contains(KEY),
            "{flags:?}"
        );
    }
    let id = rebut.json(0, &["ls", "--json"])[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for args in [
        &["show", &id, "--transcript"][..],
        &["show", &id, "--events"],
        &["watch", &id],
        &["export", &id],
        &["doctor"],
        &["config", "show"],
    ] {
        let output = rebut.run(args);
        assert!(
            !output.stdout.contains(KEY) && !output.stderr.contains(KEY),
            "{args:?}"
        );
    }
    assert!(
        !rebut.holds(KEY),
        "neither the database nor an export holds it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_names_the_settings_that_are_left_out() {
    let server = OpenAiServer::start(|_, _| Behaviour::Say(recommends("B")))
        .await
        .expect("a server");
    let rebut = configured(&server);
    let member = "{ role = \"risk\", model = \"blunt:m\", temperature = 0.3, effort = \"high\" }";
    let provider = format!(
        "[providers.blunt]\nbase_url = \"{}\"\ntemperature = false\neffort = \"none\"\n",
        server.base_url()
    );
    rebut.user_config(&format!("{provider}[panels.one]\nmembers = [{member}]\n"));
    let ask = [
        "decide",
        "Offline support?",
        "-O",
        "A=Online only",
        "-O",
        "B=Full offline",
        "-p",
        "one",
        "--dry-run",
    ];
    let shown = rebut.expect(0, &ask);
    let head = "=== recommend/risk to blunt:m ===\n(left out: temperature: the model takes \
        none)\n(left out: effort: the model cannot be told)\nPOST ";
    assert!(shown.contains(head), "{shown}");
    assert_eq!(server.seen().len(), 0);
}
