//! Panels of all kinds of models: mixed by hand, found by itself, with one that cannot answer, and
//! programs a project brings.

use crate::rebut::{Rebut, claude_like, claude_result, recommends};
use rebut_engine::clean::is_hostile;
use rebut_testkit::model_server::{Behaviour, ModelServer};
use serde_json::Value;

const ASK: &[&str] = &[
    "decide",
    "Offline support?",
    "-O",
    "A=Online only",
    "-O",
    "B=Full offline",
    "--seed",
    "7",
];

/// Every known provider at one address.
fn providers(server: &ModelServer) -> String {
    let base = server.base_url();
    format!(
        "[providers.anthropic]\nbase_url = \"{base}\"\n[providers.openai]\nbase_url = \
         \"{base}\"\n[providers.gemini]\nbase_url = \"{base}\"\n\
         [providers.mine]\nbase_url = \"{base}\"\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn one_debate_of_two_vendors_an_agent_program_and_a_url() {
    let server = ModelServer::start(|_, _| Behaviour::Say(recommends("B")))
        .await
        .expect("a server");
    let mut rebut = Rebut::new();
    rebut.user_config(&providers(&server));
    rebut.program(
        "claude",
        &claude_like("/bin/cat > /dev/null", &claude_result(&recommends("A"))),
    );
    for (name, value) in [
        ("ANTHROPIC_API_KEY", "sk-ant-loopback"),
        ("OPENAI_API_KEY", "sk-oai-loopback"),
    ] {
        rebut.set(name, value);
    }
    let models = [
        "risk=anthropic:claude-sonnet-5",
        "value=openai:gpt-5-mini",
        "effort=cli:claude",
        "neutral=mine:small",
    ];
    let mut args = [ASK, &["--judges", "risk,value,effort,neutral", "--json"]].concat();
    args.extend(models.iter().flat_map(|model| ["-m", *model]));
    let output = rebut.run(&args);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let result: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(result["outcome"], "consensus");
    assert_eq!(result["summary"], "B Full offline, 3 of 4");
    assert_eq!(
        result["families"],
        serde_json::json!(["claude", "gpt", "mine:small"])
    );
    assert_eq!(result["usage"]["calls"], 4);
    assert_eq!(
        result["usage"]["cost_usd"],
        Value::Null,
        "the price of mine:small is unknown"
    );

    let id = result["debate_id"].as_str().expect("an id");
    let events = rebut.events(id);
    let answers: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "turn.completed")
        .collect();
    assert_eq!(answers.len(), 4);
    for model in models {
        let (judge, model) = model.split_once('=').expect("a judge");
        let answer = answers
            .iter()
            .find(|event| event["agent"] == judge)
            .expect("an answer");
        assert_eq!(answer["data"]["model"], model);
        let (served, program) = (&answer["data"]["answered_by"], &answer["data"]["program"]);
        match model {
            "cli:claude" => assert_eq!(
                (served, program),
                (&"claude-haiku-test".into(), &"claude 2.1.9".into())
            ),
            _ => assert_eq!(program, &Value::Null),
        }
    }
    let asked = server.seen();
    let paths: Vec<&str> = asked.iter().map(|seen| seen.line.as_str()).collect();
    assert_eq!(
        paths
            .iter()
            .filter(|path| path.ends_with("/messages"))
            .count(),
        1,
        "{paths:?}"
    );
    assert_eq!(
        paths
            .iter()
            .filter(|path| path.ends_with("/chat/completions"))
            .count(),
        2,
        "{paths:?}"
    );
    let transcript = rebut.expect(0, &["show", id, "--transcript"]);
    for model in models {
        assert!(
            transcript.contains(model.split_once('=').expect("a judge").1),
            "{model}: {transcript}"
        );
    }
    assert_eq!(rebut.run(&["replay", id]).code, 0);

    // That server answers as another model than it was asked for; a program that was told none may
    // choose.
    let switched = result["switched"].as_array().expect("a list");
    let agents: Vec<&str> = switched
        .iter()
        .filter_map(|switch| switch["agent"].as_str())
        .collect();
    assert_eq!(agents, ["risk", "value", "neutral"], "{switched:?}");
    assert_eq!(
        (&switched[0]["answered"], &switched[0]["turns"]),
        (
            &"served-model".into(),
            &serde_json::json!(["recommend/risk"])
        )
    );
    assert!(
        output
            .stderr
            .contains(" as served-model, not anthropic:claude-sonnet-5"),
        "{}",
        output.stderr
    );
    let told =
        "risk at recommend/risk: anthropic:claude-sonnet-5 was asked and answered as served-model";
    assert!(
        rebut
            .expect(0, &["show", id])
            .contains(&format!("  switched  {told}")),
        "on a terminal"
    );
    assert!(transcript.contains(
        "- Switched: risk at `recommend/risk`, `anthropic:claude-sonnet-5` was \
            asked and answered as `served-model`"
    ));
    rebut.expect(0, &["export", id, "-o", "report.html"]);
    assert!(
        rebut
            .read("report.html")
            .contains("anthropic:claude-sonnet-5 was asked and answered as served-model")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_auto_panel_prefers_families_then_keys_programs_and_servers() {
    let server = ModelServer::start(|_, _| Behaviour::Say(recommends("B")))
        .await
        .expect("a server");
    let answer = claude_like("/bin/cat > /dev/null", &claude_result(&recommends("B")));
    let keys = [
        ("ANTHROPIC_API_KEY", "sk-ant-loopback"),
        ("GEMINI_API_KEY", "gm-loopback-key"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "oauth-loopback"),
    ];
    let rows: [(&[usize], &str, &[&str]); 4] = [
        (
            &[0, 1, 2],
            "anthropic:claude-haiku-5-5 (key) · gemini:gemini-3.6-flash (key) · mine:m (local); 3 \
             families",
            &["claude", "gemini", "mine:m"],
        ),
        (
            &[0],
            "anthropic:claude-haiku-5-5 (key) · mine:m (local) · mine:other (local); 3 families",
            &["claude", "mine:m", "mine:other"],
        ),
        (
            &[2],
            "cli:claude (signed in) · mine:m (local) · mine:other (local); 3 families",
            &["claude", "mine:m", "mine:other"],
        ),
        (
            &[],
            "mine:m (local) · mine:other (local); 2 families",
            &["mine:m", "mine:other"],
        ),
    ];
    for (set, says, families) in rows {
        let mut rebut = Rebut::new();
        rebut.user_config(&providers(&server));
        rebut.program("claude", &answer);
        set.iter()
            .for_each(|at| rebut.set(keys[*at].0, keys[*at].1));
        let output = rebut.run(&[ASK, &["--json"]].concat());
        assert_eq!(output.code, 0, "{}", output.stderr);
        assert!(
            output
                .stderr
                .contains(&format!("auto panel, different families first: {says}")),
            "{}",
            output.stderr
        );
        let result: Value = serde_json::from_str(&output.stdout).expect("JSON");
        assert_eq!(result["families"], serde_json::json!(families));
    }
    // A model for one judge leaves the search for the others as it is.
    for flags in [&[][..], &["-p", "auto"]] {
        let mut rebut = Rebut::new();
        rebut.user_config(&providers(&server));
        rebut.set(keys[0].0, keys[0].1);
        let output = rebut.run(&[ASK, &["--json", "-m", "risk=mine:m"], flags].concat());
        assert_eq!(output.code, 0, "{flags:?}: {}", output.stderr);
        let says = "risk mine:m · value anthropic:claude-haiku-5-5 · effort mine:other; auto \
            panel, different families first: ";
        assert!(output.stderr.contains(says), "{flags:?}: {}", output.stderr);
        let result: Value = serde_json::from_str(&output.stdout).expect("JSON");
        assert_eq!(
            result["families"],
            serde_json::json!(["mine:m", "claude", "mine:other"]),
            "{flags:?}: nobody rehearses"
        );
    }
    let mut rebut = Rebut::new();
    rebut.user_config("");
    rebut.program("claude", &answer);
    rebut.set("CLAUDE_CODE_OAUTH_TOKEN", "oauth-loopback");
    let output = rebut.run(ASK);
    assert!(
        output
            .stderr
            .contains("cli:claude (signed in); one family only (claude)"),
        "{}",
        output.stderr
    );
    assert!(
        output
            .stdout
            .contains("all judges are of one family (claude): they may err together"),
        "{}",
        output.stdout
    );
    assert_eq!(
        rebut.json(0, &["show", "last", "--json"])["families"],
        serde_json::json!(["claude"])
    );
    assert!(
        rebut
            .expect(0, &["export", "last"])
            .contains("All judges are of one family (claude)")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_answered_instead_is_told_everywhere() {
    let server = ModelServer::start(|_, seen| match seen.json()["model"] == "gone" {
        true => Behaviour::json(404, r#"{"error":{"message":"no such model"}}"#),
        false => Behaviour::Say(recommends("B")),
    })
    .await
    .expect("a server");
    let mut rebut = Rebut::new();
    rebut.set("OPENAI_API_KEY", "sk-oai-loopback");
    let panel = "[panels.p]\nmembers = [\n{ role = \"risk\", model = \"mine:gone\", fallbacks = \
        [\"openai:gpt-5-mini\"] },\n\
                 { role = \"value\", model = \"openai:gpt-5\" },\n{ role = \"effort\", model = \
                 \"mine:small\" },\n]\n";
    rebut.user_config(&format!("{}{panel}", providers(&server)));
    let output = rebut.run(&[ASK, &["-p", "p", "-o", "report.md"]].concat());
    assert_eq!(output.code, 0, "{}", output.stderr);
    let line = "  instead   risk at recommend/risk: openai:gpt-5-mini answered for mine:gone \
        (diversity lost: another judge is of that family)";
    assert!(output.stdout.contains(line), "{}", output.stdout);
    let report = rebut.read("report.md");
    assert!(
        report.contains(
            "- Substituted: risk at `recommend/risk`, `openai:gpt-5-mini` for \
        `mine:gone`; diversity lost"
        ),
        "{report}"
    );
    let told = &rebut.json(0, &["show", "last", "--json"])["substituted"][0];
    assert_eq!(
        (&told["from"], &told["to"], &told["diversity_lost"]),
        (
            &"mine:gone".into(),
            &"openai:gpt-5-mini".into(),
            &true.into()
        )
    );
    assert_eq!(rebut.run(&["replay", "last"]).code, 0, "also on a replay");

    // Planned as three families, answered by one.
    let member = |role: &str, fallback: &str| {
        format!(
            "{{ role = \"{role}\", model = \"{role}x:gone\", fallbacks = [\"{fallback}\"] }},\n"
        )
    };
    let members = [
        member("risk", "openai:gpt-5-mini"),
        member("value", "openai:gpt-5"),
        member("effort", "openai:gpt-5"),
    ]
    .concat();
    let gone = ["risk", "value", "effort"]
        .map(|role| {
            format!(
                "[providers.{role}x]\nbase_url = \"{}\"\n",
                server.base_url()
            )
        })
        .concat();
    rebut.user_config(&format!(
        "{}{gone}[panels.p]\nmembers = [\n{members}]\n",
        providers(&server)
    ));
    let output = rebut.run(&[ASK, &["-p", "p", "-o", "report.md"]].concat());
    assert_eq!(
        output
            .stdout
            .matches("(diversity lost: another judge is of that family)")
            .count(),
        3,
        "{}",
        output.stdout
    );
    assert!(
        output
            .stdout
            .contains("all judges are of one family (gpt): they may err together"),
        "{}",
        output.stdout
    );
    assert!(
        rebut
            .read("report.md")
            .contains("All judges are of one family (gpt)")
    );
    assert_eq!(
        rebut.json(0, &["show", "last", "--json"])["families"],
        serde_json::json!(["gpt"])
    );
    assert_eq!(rebut.run(&["replay", "last"]).code, 0);

    // A panel that costs nothing by itself, with somebody paid behind it.
    rebut.write("free.md", &crate::rebut::script(&[("*", &recommends("B"))]));
    let free = "[panels.free]\nmembers = [\n{ role = \"risk\", model = \"script:free.md\", \
        fallbacks = [\"openai:gpt-5-mini\"] },\n\
                { role = \"value\", model = \"script:free.md\" },\n]\n";
    rebut.user_config(&format!("{}{free}", providers(&server)));
    let output = rebut.run(&[ASK, &["-p", "free"]].concat());
    assert!(
        output
            .stderr
            .contains("$0; a fallback that answers may cost more"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_project_starts_no_program_before_it_is_trusted_and_only_as_it_was_read() {
    let rebut = Rebut::new();
    rebut.program(
        "tool",
        &format!(
            "echo ran >> {}\necho '{}'",
            rebut.path("ran").display(),
            recommends("A")
        ),
    );
    let section = "[clis.mine]\ncommand = \"tool\"\nargs = [\"x\"]\n";
    rebut.write("rebut.toml", section);
    let ask = &[ASK, &["-m", "cli:mine"]].concat()[..];
    let refused = rebut.run(ask);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("rebut.toml: ignored until you run `rebut trust`: clis.mine\n"),
        "{}",
        refused.stderr
    );
    assert!(
        refused
            .stderr
            .contains("it belongs to this project, which you have not trusted"),
        "{}",
        refused.stderr
    );
    assert!(!rebut.path("ran").exists());

    let unasked = rebut.run(&["trust"]);
    assert!(
        unasked.code == 2
            && unasked
                .stdout
                .contains("    starts the program tool [\"x\"]\n"),
        "{unasked:?}"
    );
    assert_eq!(rebut.run(ask).code, 2, "nobody said yes");
    rebut.expect(0, &["trust", "--yes"]);
    let output = rebut.run(ask);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(
        rebut.path("ran").exists() && output.stdout.contains("RECOMMENDED  A"),
        "{}",
        output.stdout
    );

    rebut.write("rebut.toml", &section.replace("\"x\"", "\"y\""));
    let changed = rebut.run(ask);
    assert_eq!(
        changed.code, 2,
        "another content than the one that was trusted"
    );
    assert!(
        changed
            .stderr
            .contains("run `rebut trust` again, since the file has changed: clis.mine"),
        "{}",
        changed.stderr
    );
    rebut.write("rebut.toml", section);
    assert_eq!(rebut.run(ask).code, 0, "the content that was trusted");
    assert!(
        rebut
            .expect(0, &["trust", "--list"])
            .contains("rebut.toml\n    clis.mine: starts the program tool")
    );
    rebut.expect(0, &["trust", "--revoke"]);
    assert_eq!(
        (rebut.run(ask).code, rebut.run(&["trust", "--revoke"]).code),
        (2, 2),
        "trusted no more"
    );
    rebut.write("rebut.toml", "");
    rebut.write("chosen.toml", section);
    assert_eq!(
        rebut
            .run(&[&["--config", "chosen.toml"], ask].concat())
            .code,
        0,
        "a file named by the user is the user's choice"
    );
}

#[test]
fn a_judge_without_its_key_is_answered_for_by_its_fallback() {
    let rebut = Rebut::new();
    rebut.write(
        "debate.md",
        &format!("# d\n\n## *\n```json\n{}\n```\n", recommends("A")),
    );
    let member =
        |role: &str, rest: &str| format!("{{ role = \"{role}\", model = \"openai:gpt-5\"{rest} }}");
    let panel = |rest: &str| {
        let members = ["risk", "value"].map(|role| member(role, rest)).join(", ");
        rebut.write(
            "rebut.toml",
            &format!("[defaults]\npanel = \"two\"\n[panels.two]\nmembers = [{members}]\n"),
        );
    };
    panel(", fallbacks = [\"script:debate.md\"]");
    let result = rebut.json(0, &[ASK, &["--json"]].concat());
    assert_eq!(
        (&result["outcome"], &result["degraded"]),
        (&"consensus".into(), &Value::Array(Vec::new()))
    );
    let substituted = &result["substituted"][0];
    assert_eq!(
        (&substituted["from"], &substituted["to"]),
        (&"openai:gpt-5".into(), &"script:debate.md".into())
    );
    let events = rebut.events(result["debate_id"].as_str().expect("an id"));
    let failed = events
        .iter()
        .find(|event| event["type"] == "turn.failed")
        .expect("why the own model was not asked");
    assert!(
        failed["data"]["fault"]["message"]
            .as_str()
            .is_some_and(|why| why.contains("OPENAI_API_KEY")),
        "{failed}"
    );
    panel("");
    let refused = rebut.run(ASK);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("OPENAI_API_KEY"),
        "{}",
        refused.stderr
    );
}

/// Names that a project's file gives: sequences that a terminal obeys, text that turns round, and a
/// heap of marks on one letter.
#[test]
fn no_name_of_a_configuration_commands_a_terminal() {
    let name = format!(
        "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31mx\\u202e{}",
        "\\u0301".repeat(10_000)
    );
    let member = |role: &str, model: &str| format!("{{ role = \"{role}\", model = \"{model}\" }}");
    let panel = |key: &str, first: &str| {
        let members = [
            first.to_owned(),
            member("value", "rehearsal"),
            member("effort", "rehearsal"),
        ]
        .join(", ");
        format!("[panels.\"{key}\"]\nmembers = [{members}]\n[defaults]\npanel = \"{key}\"\n")
    };
    let files = [
        ("a panel", panel(&name, &member("risk", "rehearsal"))),
        (
            "a panel that is not there",
            format!("[defaults]\npanel = \"{name}\"\n"),
        ),
        (
            "a panel of nobody",
            format!("[panels.\"{name}\"]\nmembers = []\n[defaults]\npanel = \"{name}\"\n"),
        ),
        ("a role", panel("p", &member(&name, "rehearsal"))),
        (
            "a judge",
            panel(
                "p",
                &format!("{{ role = \"risk\", name = \"a{name}\", model = \"rehearsal\" }}"),
            ),
        ),
        (
            "a model",
            panel("p", &member("risk", &format!("nosuch:{name}"))),
        ),
        (
            "a provider",
            format!("[providers.\"{name}\"]\nbase_url = \"http://127.0.0.1:9/v1\"\n"),
        ),
    ];
    let asks = ["decide", "Offline?", "-O", "Yes", "-O", "No"];
    let commands: [&[&str]; 9] = [
        &asks,
        &[&asks[..], &["-m", "value=rehearsal"]].concat(),
        &[&asks[..], &["--panel", "none"]].concat(),
        &[&asks[..], &["--dry-run"]].concat(),
        &["doctor"],
        &["doctor", "--json"],
        &["config", "show"],
        &["trust"],
        &["show", "last"],
    ];
    for (what, text) in files {
        let rebut = Rebut::new();
        rebut.user_config("");
        rebut.write("rebut.toml", &text);
        for args in commands {
            let said = rebut.run(args);
            for said in [said.stdout, said.stderr] {
                assert!(!said.chars().any(is_hostile), "{what}: {args:?}: {said:?}");
                assert!(
                    !said.contains(&"\u{301}".repeat(9)),
                    "{what}: {args:?}: {} bytes",
                    said.len()
                );
            }
        }
    }
}
