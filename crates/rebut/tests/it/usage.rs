//! What is typed wrongly is told so, with a way out, before anybody is asked.

use crate::rebut::{Rebut, case, recommends, script, script_of};

#[test]
fn mistakes_are_named_with_a_way_out() {
    let rebut = Rebut::new();
    rebut.write(
        "typo.toml",
        "[decide]\nmax_rounds = 2\nconsensus_treshold = 0.5\n",
    );
    rebut.write("section.toml", "\n[decid]\n");
    rebut.write(
        "kind.toml",
        "[defaults]\npanel = \"auto\"\n\n[decide]\nmax_rounds = \"many\"\n",
    );
    rebut.write("range.toml", "[decide]\ntimeout_per_judge = 0\n");
    rebut.write("bad.yaml", "debate_context:\n  question: x\n");
    rebut.write(
        "empty.yaml",
        "debate_context:\n  question_id:\n  question_text:\n  options:\n  spec_context:\n",
    );
    rebut.write(
        "label.yaml",
        "debate_context:\n  question_text: Which?\n  options:\n  - id: A\n    label:\n",
    );
    rebut.write("bad.md", "## recommend/risk\n!tiemout\n");
    rebut.write("good.md", &script(&[("*", &recommends("A"))]));
    rebut.write("blank.md", " \n");
    rebut.write("zero.md", "a\0b\n");
    rebut.write("nothing/.hidden", "x\n");
    rebut.write(".rebut/roles/blank.md", "");
    rebut.write(".rebut/roles/broken.md", "---\nstance: [\n---\nLook.\n");
    rebut.write(".env", "TOKEN=1\n");
    rebut.write("deploy/server.pem", "x\n");
    let ask: &[&str] = &["decide", "Offline support?", "-O", "A=x", "-O", "B=y"];
    let rows: &[(&[&str], i32, &str)] = &[
        (&["decide"], 2, "what is the question?"),
        (&["decied", "Which one?"], 2, "did you mean `rebut decide`?"),
        (&["decid", "q"], 2, "did you mean `rebut decide`?"),
        (&["triage", " "], 2, "what is the question?"),
        (
            &[ask, &["-m", "nosuch:x"]].concat(),
            2,
            "unknown provider `nosuch`; models are written PROVIDER:MODEL. Known: anthropic",
        ),
        (
            &[ask, &["-m", "script:good.md", "--feature-dir", "good.md"]].concat(),
            1,
            "cannot create good.md/sadd",
        ),
        (
            &["foo"],
            2,
            "`foo` is neither a command, a question nor a file",
        ),
        (&["shwo"], 2, "did you mean `rebut show`?"),
        (
            &["-O", "A=x", "decide", "Which?"],
            2,
            "stand before the command",
        ),
        (
            &["decide", "Which?", "-O", "A=x"],
            2,
            "one option is no choice",
        ),
        (
            &["decide", "Which?", "-O", "A=x", "-O", "a=y"],
            2,
            "used twice",
        ),
        (
            &[ask, &["--threshold", "2"]].concat(),
            2,
            "error: consensus_threshold must be above 0 and at most 1",
        ),
        (
            &[ask, &["--rounds", "0"]].concat(),
            2,
            "max_rounds must be 1 to 20",
        ),
        (
            &[ask, &["--topology", "ring"]].concat(),
            2,
            "[possible values: mesh, star, chain, tree]",
        ),
        (
            &[ask, &["--set", "decide.topology=\"ring\""]].concat(),
            2,
            "there is no topology `ring`; take one of mesh, star, chain, tree",
        ),
        (
            &["topology", "--judges", "risk,risk"],
            2,
            "two members are named `risk`",
        ),
        (
            &[ask, &["--set", "decide.max_round=3"]].concat(),
            2,
            "did you mean `max_rounds`?",
        ),
        (
            &[ask, &["--set", "nonsense"]].concat(),
            2,
            "should look like `--set decide.max_rounds=3`",
        ),
        (
            &[ask, &["-p", "nope"]].concat(),
            2,
            "there is no panel `nope`",
        ),
        (
            &[ask, &["--judges", "rsk,value"]].concat(),
            2,
            "did you mean `risk`?",
        ),
        (
            &[ask, &["-m", "opnai:x"]].concat(),
            2,
            "did you mean `openai`?",
        ),
        (
            &[ask, &["-m", "gpt-5"]].concat(),
            2,
            "unknown provider `gpt-5`; did you mean `openai:gpt-5`?",
        ),
        (
            &[ask, &["-m", "claude-opus-9"]].concat(),
            2,
            "did you mean `anthropic:claude-opus-9`?",
        ),
        (
            &[ask, &["-m", "openai:x"]].concat(),
            4,
            "set the variable OPENAI_API_KEY",
        ),
        (
            &[ask, &["-m", "script:none.md"]].concat(),
            2,
            "script none.md: cannot be read",
        ),
        (
            &[ask, &["-m", "script:bad.md"]].concat(),
            2,
            "line 2: unknown `!tiemout`; did you mean `!timeout`?",
        ),
        (&[ask, &["-m", "human:"]].concat(), 4, "needs a terminal"),
        (
            &[ask, &["-m", "boss=script:good.md", "-m", "script:good.md"]].concat(),
            2,
            "there is no judge `boss`",
        ),
        (
            &[ask, &["-o", "x.docx"]].concat(),
            2,
            "use .html, .md, .json, .yaml, .adr.md, .svg or .ndjson",
        ),
        (
            &[ask, &["-m", "script:good.md", "-o", "good.md/x.md"]].concat(),
            1,
            "cannot create good.md",
        ),
        (
            &[ask, &["-c", "missing.md"]].concat(),
            2,
            "cannot read missing.md",
        ),
        (
            &[ask, &["-c", ".env"]].concat(),
            2,
            "looks like a file with secrets and is not sent",
        ),
        (
            &[ask, &["-c", "deploy/server.pem"]].concat(),
            2,
            "looks like a file with secrets",
        ),
        (
            &[ask, &["-c", "blank.md"]].concat(),
            2,
            "there is no text in blank.md",
        ),
        (
            &[ask, &["-c", "good.md", "-c", "nothing"]].concat(),
            2,
            "there is no text in nothing",
        ),
        (
            &[ask, &["-c", "-"]].concat(),
            2,
            "there is no text in standard input",
        ),
        (
            &[ask, &["-c", "zero.md"]].concat(),
            2,
            "zero.md is not a text file",
        ),
        (
            &[ask, &["--judges", "blank,value"]].concat(),
            2,
            ".rebut/roles/blank.md: it has no text",
        ),
        (
            &[ask, &["--judges", "broken,value"]].concat(),
            2,
            ".rebut/roles/broken.md: its stance is `[`: write one word",
        ),
        (&["roles", "broken"], 2, "hint: mend the file or remove it"),
        (
            &["decide", "--from", "bad.yaml"],
            2,
            "unknown field `question`",
        ),
        (
            &["decide", "--from", "empty.yaml"],
            2,
            "what is the question?",
        ),
        (&["decide", "--from", "label.yaml"], 2, "label.yaml: "),
        (
            &["--config", "typo.toml", "ls"],
            2,
            "typo.toml: line 3: unknown field `consensus_treshold`",
        ),
        (
            &["--config", "typo.toml", "ls"],
            2,
            "did you mean `consensus_threshold`?",
        ),
        (
            &["config", "validate", "section.toml"],
            2,
            "line 2, column 2",
        ),
        (
            &["config", "validate", "section.toml"],
            2,
            "did you mean `decide`?",
        ),
        (
            &["config", "validate", "kind.toml"],
            2,
            "kind.toml: line 5: max_rounds: invalid type: string",
        ),
        (
            &["config", "validate", "range.toml"],
            2,
            "range.toml: line 2: timeout_per_judge must be 1 to 86400 seconds",
        ),
        (&["--config", "none.toml", "ls"], 2, "cannot read none.toml"),
        (
            &["show", "zzz"],
            2,
            "`rebut ls` lists the debates kept here",
        ),
        (
            &["ls", "--status", "done"],
            2,
            "running, waiting, interrupted, paused, consensus, majority, completed, contested",
        ),
        (&["replay", "zzz"], 2, "no debate `zzz`"),
        (
            &[ask, &["--threshold", "-1"]].concat(),
            2,
            "consensus_threshold must be above 0 and at most 1, not -1",
        ),
        (
            &[ask, &["--threshold", "nan"]].concat(),
            2,
            "expected a number",
        ),
        (
            &[ask, &["-m", "rehearsal", "--max-cost", "-1"]].concat(),
            2,
            "must be a number of dollars, not -1",
        ),
        (
            &[ask, &["--timeout", "-3"]].concat(),
            2,
            "invalid value '-3' for '--timeout <SECONDS>'",
        ),
        (
            &[ask, &["--seed", "-1"]].concat(),
            2,
            "invalid value '-1' for '--seed",
        ),
        (
            &["audit", "redact", "last", "-1", "--reason", "x"],
            2,
            "invalid value '-1' for '<SEQ>'",
        ),
        (
            &[ask, &["--set", "decide.max_rounds=abc"]].concat(),
            2,
            "expected a whole number",
        ),
        (&["resume"], 2, "Usage: rebut resume <ID>"),
        (&["roles", "rsik"], 2, "did you mean `risk`?"),
        (
            &["import", "missing.ndjson"],
            2,
            "cannot read missing.ndjson: No such file",
        ),
        (
            &["replay", "missing.ndjson"],
            2,
            "cannot read missing.ndjson: No such file",
        ),
        (&["import", "typo.toml"], 2, "typo.toml: "),
    ];
    for (args, code, says) in rows {
        let output = rebut.run(args);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (*code, ""),
            "{args:?}: {}",
            output.stderr
        );
        assert!(
            output.stderr.contains(says),
            "{args:?} should say {says:?}:\n{}",
            output.stderr
        );
        assert!(
            !output.stderr.contains("TOKEN=1") && !output.stderr.contains("Option<"),
            "{args:?}: {}",
            output.stderr
        );
    }
    assert_eq!(
        rebut.expect(0, &["ls", "--json"]).trim(),
        "[]",
        "none of these started a debate"
    );
    let folder = rebut.run(&["--data", "shwo", "ls", "--bogus"]);
    assert!(
        folder.code == 2 && !folder.stderr.contains("did you mean"),
        "what is named by a flag is no command: {}",
        folder.stderr
    );
}

#[test]
fn a_way_out_fits_what_is_wrong() {
    let rebut = Rebut::new();
    rebut.user_config("[clis.own]\nargs = []\n");
    rebut.program("own", "echo hello");
    let refused = rebut.run(&[
        "decide",
        "Offline support?",
        "-O",
        "A=x",
        "-O",
        "B=y",
        "-m",
        "cli:own",
        "--max-cost",
        "1",
    ]);
    assert!(
        refused.code == 2
            && refused
                .stderr
                .contains("hint: cap --max-tokens or --max-calls instead"),
        "{}",
        refused.stderr
    );
    assert!(
        !refused.stderr.contains("[providers"),
        "a program has no price per token: {}",
        refused.stderr
    );
    rebut.user_config("[clis.own]\n");
    assert!(
        rebut
            .run(&["ls"])
            .stderr
            .contains("`args = []` if it takes none")
    );
    rebut.user_config("");
    rebut.write(
        "../data/rebut.db",
        &"this is no database at all. ".repeat(100),
    );
    let garbage = rebut.run(&["ls"]);
    assert_eq!(garbage.code, 1, "{}", garbage.stderr);
    assert!(
        garbage.stderr.contains("is not a database of rebut")
            && garbage.stderr.contains("--data DIR"),
        "{}",
        garbage.stderr
    );
    rebut.write("file", "");
    for (dir, says) in [
        ("file", "file/rebut.db: "),
        ("/proc/none", "/proc/none/rebut.db: "),
    ] {
        let refused = rebut.run(&["--data", dir, "ls"]);
        assert_eq!(refused.code, 1, "{dir}: {}", refused.stderr);
        assert!(
            refused.stderr.contains(says)
                && refused
                    .stderr
                    .contains("name a directory you may write into"),
            "{dir}: {}",
            refused.stderr
        );
    }
}

/// A database of which pages are overwritten: whoever meets them says that it is damaged, and
/// `doctor` looks for them.
#[test]
fn a_damaged_database_is_called_damaged() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    rebut.expect(0, &case(&[]));
    assert_eq!(
        rebut.json(4, &["doctor", "--json"])["store"]["problem"],
        serde_json::Value::Null
    );
    let file = rebut.data().join("rebut.db");
    let mut bytes = std::fs::read(&file).expect("the database");
    // The first page tells the schema and stays.
    bytes[4096..].fill(0xa5);
    std::fs::write(&file, bytes).expect("the database");
    let doctor = rebut.json(4, &["doctor", "--json"]);
    assert!(
        doctor["store"]["problem"]
            .as_str()
            .is_some_and(|problem| problem.contains("damaged")),
        "{}",
        doctor["store"]
    );
    assert!(rebut.expect(4, &["doctor", "--fix"]).contains("mv "));
    let listed = rebut.run(&["ls"]);
    assert!(
        listed.code == 1 && listed.stderr.contains("damaged beyond reading"),
        "{}",
        listed.stderr
    );
    assert!(
        !listed.stderr.contains("free the disk"),
        "{}",
        listed.stderr
    );
}

/// What goes for good by its age is asked for first, and what is made beside is told.
#[test]
fn nothing_happens_behind_ones_back() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    let made = rebut.run(&case(&["-o", "no/such/dir/x.md"]));
    assert!(
        made.code == 0 && made.stderr.contains("made the directory no/such/dir"),
        "{}",
        made.stderr
    );
    let refused = rebut.run(&["rm", "--older-than", "0"]);
    assert!(
        refused.code == 2
            && refused
                .stderr
                .contains("this would remove 1 ended debate older than 0 days for good"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("--yes")
            && rebut
                .json(0, &["ls", "--json"])
                .as_array()
                .is_some_and(|all| all.len() == 1)
    );
    assert!(
        rebut
            .expect(0, &["rm", "--older-than", "0", "--yes"])
            .starts_with("removed ")
    );
    rebut.expect(0, &["rm", "--older-than", "0"]);
}

/// A summary of any length is one short line on a terminal, and whole where it is asked for.
#[test]
fn long_words_are_shortened_and_said_to_be() {
    let rebut = Rebut::new();
    let long = format!(
        r#"{{"option":"A","confidence":0.8,"summary":"{}","claims":["c"],"flips_if":"{}"}}"#,
        "words ".repeat(10_000),
        "if ".repeat(9000)
    );
    rebut.write(
        "debate.md",
        &script(&[
            ("recommend/risk", &long.replace("\"A\"", "\"B\"")),
            ("*", &long),
        ]),
    );
    let text = rebut.expect(0, &case(&["--rounds", "1"]));
    assert!(
        text.lines().all(|line| line.chars().count() < 800),
        "{} bytes",
        text.len()
    );
    assert!(
        text.contains("characters more: `rebut show ID --transcript`")
            && text.contains(" · ≤1 round · "),
        "{text}"
    );
    assert!(rebut.expect(0, &["show", "last", "--transcript"]).len() > 60_000);
}

#[test]
fn a_configuration_that_cannot_work_is_not_called_valid() {
    let rebut = Rebut::new();
    rebut.write("good.md", &script(&[("*", &recommends("A"))]));
    let ask: &[&str] = &[
        "decide",
        "Offline support?",
        "-O",
        "A=x",
        "-O",
        "B=y",
        "-m",
        "script:good.md",
    ];
    let panel = |member: &str| format!("[panels.p]\nmembers = [{{ {member} }}]\n");
    // Whether a debate that does not use it runs all the same.
    let rows: &[(String, &str, bool)] = &[
        (
            "[providers.mine]\nbase_url = \"x\"\n".to_owned(),
            "[providers.mine] base_url `x` is no \
            URL",
            true,
        ),
        (
            "[providers.mine]\nbase_url = \"https://me:word@example.org/v1\"\n".to_owned(),
            "base_url \
            may hold no user or password",
            true,
        ),
        (
            "[providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\nheaders = { \"a b\" = \"x\" \
             }\n"
            .to_owned(),
            "`a b` is no header's name",
            true,
        ),
        (
            "[providers.openai.prices.x]\ninput = -1.0\noutput = \
            1.0\n"
                .to_owned(),
            "the price of x must be",
            false,
        ),
        (
            "[providers.openai.allowance]\nconcurrency = \
            0\n"
            .to_owned(),
            "an allowance of 0 would wait for ever",
            false,
        ),
        (
            "[defaults]\npanel = \"nope\"\n".to_owned(),
            "[defaults] panel: there is no panel \
            `nope`",
            false,
        ),
        (
            "[defaults]\ncalls_per_provider = 0\n".to_owned(),
            "calls_per_provider: 0 would ask \
            nobody",
            true,
        ),
        (
            "[panels.p]\nmembers = []\n".to_owned(),
            "[panels.p] has no members",
            true,
        ),
        (
            panel("role = \"rsk\", model = \"openai:gpt-5\""),
            "[panels.p] member 1: there is no role \
            `rsk`",
            true,
        ),
        (
            panel("role = \"risk\", model = \"opnai:gpt-5\""),
            "[panels.p] member 1: unknown provider \
            `opnai`; did you mean `openai`?",
            true,
        ),
        (
            panel(
                "role = \"risk\", model = \"openai:gpt-5\", fallbacks = \
            [\"gpt-5\"]",
            ),
            "member 1: unknown provider `gpt-5`",
            true,
        ),
        (
            "[budget]\nmax_cost = -3.0\n".to_owned(),
            "[budget] max_cost: the most a debate may cost \
            must be",
            false,
        ),
        (
            panel(
                "role = \"risk\", model = \"openai:gpt-5\", fallbacks = \
            [\"script:none.md\"]",
            ),
            "script none.md: cannot be read",
            true,
        ),
        (
            panel(
                "role = \"risk\", model = \"openai:gpt-5\", fallbacks = \
            [\"cli:claude\"]",
            ),
            "",
            true,
        ),
    ];
    for (config, says, runs) in rows {
        rebut.write("rebut.toml", config);
        rebut.write("named.toml", config);
        let code = if says.is_empty() { 0 } else { 2 };
        // What a project says of providers it has no say in is not even looked at.
        let is_project = !config.contains("[providers");
        for args in [
            &["config", "validate", "named.toml"][..],
            &["config", "validate"],
        ]
        .into_iter()
        .take(1 + usize::from(is_project))
        {
            let output = rebut.run(args);
            assert_eq!(output.code, code, "{config}: {}", output.stderr);
            assert!(
                output.stderr.contains(says) && !output.stderr.contains("me:word"),
                "{config}: {}",
                output.stderr
            );
        }
        if config.contains("[providers.mine]") {
            let ask = [&ask[..6], &["-m", "mine:x", "--config", "named.toml"]].concat();
            assert_eq!(rebut.run(&ask).code, 2, "{config}: asked all the same");
        }
        let named: &[&str] = if is_project {
            &[]
        } else {
            &["--config", "named.toml"]
        };
        let ran = rebut.run(&[ask, named].concat());
        let expected = if *runs { 0 } else { 2 };
        assert!(
            ran.code == expected || config.contains("calls_per_provider"),
            "{config}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_directory_is_sent_without_its_secrets() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    rebut.write("rebut.toml", "[context]\ndeny = [\"**/private*\"]\n");
    for (file, text) in [
        ("doc/spec.md", "plain fact"),
        ("doc/.env", "secret one"),
        ("doc/a/id_rsa", "secret two"),
        ("doc/private.md", "secret three"),
    ] {
        rebut.write(file, text);
    }
    let output = rebut.run(&case(&["-c", "doc", "--dry-run"]));
    assert!(
        output.stdout.contains("plain fact") && !output.stdout.contains("secret"),
        "{}",
        output.stdout
    );
    for file in ["doc/.env", "doc/a/id_rsa", "doc/private.md"] {
        assert!(
            output
                .stderr
                .contains(&format!("left out {file}: may hold secrets")),
            "{}",
            output.stderr
        );
    }
}

#[test]
fn what_can_be_meant_in_two_ways_is_said() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    let output = rebut.run(&[
        "decide",
        "Which?",
        "-O",
        "A b=x",
        "-O",
        "B=y",
        "-m",
        "script:debate.md",
    ]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("option A is all of `A b=x`: `A b` is no id, it has a space"),
        "{}",
        output.stderr
    );
    assert!(
        output.stdout.contains("RECOMMENDED  A A b=x"),
        "{}",
        output.stdout
    );
    let plain = rebut.run(&[
        "decide",
        "Which?",
        "-O",
        "A=x = y",
        "-O",
        "B=y",
        "-m",
        "script:debate.md",
    ]);
    assert!(
        plain.code == 0 && !plain.stderr.contains("is all of"),
        "{}",
        plain.stderr
    );
    std::fs::create_dir(rebut.path("rebut.toml")).expect("a folder");
    let refused = rebut.run(&["ls"]);
    assert!(
        refused.code == 2 && refused.stderr.contains("rebut.toml: it is a folder"),
        "{}",
        refused.stderr
    );
}

#[test]
fn roles_come_from_files_and_flags_may_stand_before_the_command() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script(&[("*", &recommends("B"))]));
    rebut.write(
        ".rebut/roles/security.md",
        "---\nstance: \"\u{1b}[31mwatchful\"\n---\nThink of attackers.\n",
    );
    rebut.write(
        ".claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: Reviews code\n---\nReview it.\n",
    );
    rebut.write(
        ".claude/agents/security.md",
        "An assistant's own agent, which the project's role outranks.\n",
    );
    let data = rebut.path("elsewhere");
    let data = data.to_str().expect("UTF-8");
    let output = rebut.run(
        &[
            &["--data", data, "--quiet"],
            &case(&["--judges", "security,reviewer,risk"])[..],
        ]
        .concat(),
    );
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(
        output.stdout.contains("  security  watchful    B   .80"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("  reviewer  neutral     B"),
        "{}",
        output.stdout
    );
    assert_eq!(
        rebut
            .json(0, &["--data", data, "ls", "--json"])
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(
        rebut.json(0, &["ls", "--json"]).as_array().map(Vec::len),
        Some(0)
    );
    assert!(
        rebut
            .expect(0, &["roles"])
            .contains("reviewer    neutral      Reviews code")
    );
}

#[test]
fn what_rebut_says_about_itself_is_well_formed() {
    let rebut = Rebut::new();
    for what in ["config", "event", "result", "reply"] {
        assert!(rebut.json(0, &["schema", what]).is_object(), "{what}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            rebut.expect(0, &["completions", shell]).contains("triage"),
            "{shell}"
        );
    }
    assert!(rebut.expect(0, &["man"]).contains(".TH rebut 1"));
    assert!(
        rebut
            .expect(0, &["--help"])
            .contains("Exit codes: 0 decided")
    );
    let written = rebut.run(&["init"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    assert_eq!(
        rebut.run(&["init"]).code,
        2,
        "a file that is there is not replaced"
    );
    rebut.expect(0, &["config", "validate"]);
    assert_eq!(
        rebut.json(0, &["config", "show", "--json"])["decide"]["max_rounds"],
        2
    );
    assert!(
        rebut
            .expect(0, &["config", "path"])
            .contains("work/rebut.toml")
    );
    let doctor = rebut.run(&["doctor", "--json"]);
    let findings: serde_json::Value = serde_json::from_str(&doctor.stdout).expect("JSON");
    assert_eq!(
        (&findings["store"]["problem"], doctor.code == 0),
        (&serde_json::Value::Null, findings["usable"] == true)
    );
    let triage = rebut.json(0, &["triage", "What time is it?", "--json"]);
    assert_eq!(triage["advice"], "single");
    let demo = rebut.run(&["demo", "--fast"]);
    assert_eq!(demo.code, 0, "{}", demo.stderr);
    assert!(
        demo.stdout.contains("RECOMMENDED  C Limited offline")
            && !demo.stdout.contains("rebut show"),
        "{}",
        demo.stdout
    );
    assert_eq!(
        rebut.expect(0, &["ls", "--json"]).trim(),
        "[]",
        "the demo keeps nothing"
    );
}

#[test]
fn colours_only_where_they_are_wanted_and_a_closed_reader_is_no_error() {
    let mut rebut = Rebut::new();
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    let plain = rebut.run(&case(&[]));
    assert!(
        !plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'),
        "not a terminal"
    );
    assert!(
        rebut
            .run(&case(&["--color", "always"]))
            .stdout
            .contains("\u{1b}[1m")
    );
    rebut.set("CLICOLOR_FORCE", "1");
    assert!(rebut.run(&case(&[])).stdout.contains('\u{1b}'));
    rebut.set("NO_COLOR", "1");
    assert!(!rebut.run(&case(&[])).stdout.contains('\u{1b}'));
    let mut child = rebut.command(&case(&["--stream-json"]));
    let mut child = child
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(
        ended.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

/// Spinners where the terminal can draw them, a line per event where it cannot; never neither.
#[cfg(target_os = "linux")]
#[test]
fn progress_is_shown_on_every_terminal() {
    let rows = [
        ("xterm", "", false),
        ("dumb", "", true),
        ("", "", true),
        ("xterm", "--plain", true),
        ("xterm", "-q", false),
    ];
    for (terminal, flag, has_lines) in rows {
        let mut rebut = Rebut::new();
        rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
        if !terminal.is_empty() {
            rebut.set("TERM", terminal);
        }
        // Runs it on a terminal of its own, and prints what that shows.
        let line =
            format!("rebut decide 'Offline?' -O A=x -O B=y -m script:debate.md --no-input {flag}");
        let shown = rebut.shell(&format!("/usr/bin/script -qec \"{line}\" /dev/null"));
        assert_eq!(shown.code, 0, "{terminal}: {}", shown.stdout);
        assert_eq!(
            shown.stdout.contains("recommend/risk answered in"),
            has_lines,
            "{terminal} {flag}: {}",
            shown.stdout
        );
    }
}

/// A name that is empty means nothing, and never wherever one happens to be.
#[test]
fn empty_names_are_no_places() {
    let mut rebut = Rebut::new();
    for name in [
        "REBUT_CONFIG",
        "REBUT_SERVER",
        "REBUT_TOKEN_FILE",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
    ] {
        rebut.set(name, "");
    }
    rebut.expect(0, &["ls"]);
    rebut.set("REBUT_DATA", "");
    rebut.set("HOME", "");
    let nowhere = rebut.run(&["ls"]);
    assert!(
        nowhere.code == 2 && nowhere.stderr.contains("there is no place to keep debates"),
        "{}",
        nowhere.stderr
    );
    rebut.write("rebut.toml", "[defaults]\ndata = \"\"\n");
    for command in [&["ls"][..], &["config", "path"], &["config", "validate"]] {
        let refused = rebut.run(&[command, &["--config", "rebut.toml"]].concat());
        assert!(
            refused.code == 2 && refused.stderr.contains("[defaults] data: an empty name"),
            "{command:?}: {}",
            refused.stderr
        );
    }
    assert_eq!(names_in(&rebut), ["rebut.toml"]);
}

/// What is in the working directory.
fn names_in(rebut: &Rebut) -> Vec<String> {
    let entries = std::fs::read_dir(rebut.path("")).expect("a directory");
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

/// Without a home nothing can be kept; what keeps nothing does its work as it does with one.
#[test]
fn what_keeps_nothing_needs_no_home() {
    let mut rebut = Rebut::new();
    rebut.user_config("");
    rebut.set(
        "XDG_CONFIG_HOME",
        rebut.path("../.config").to_str().expect("UTF-8"),
    );
    let journal = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/decide/journal.ndjson"
    );
    let rows: &[&[&str]] = &[
        &["demo", "--fast"],
        &["roles"],
        &["triage", "Redis or Memcached?"],
        &["config", "show"],
        &["config", "path"],
        &["config", "validate"],
        &["doctor"],
        &["models", "anthropic"],
        &["replay", journal],
        &["audit", "verify", journal],
        &[
            "decide",
            "Offline?",
            "-O",
            "A=x",
            "-O",
            "B=y",
            "-m",
            "rehearsal",
            "--dry-run",
        ],
    ];
    let codes = rows
        .iter()
        .map(|command| rebut.run(command).code)
        .collect::<Vec<_>>();
    rebut.set("HOME", "");
    rebut.set("REBUT_DATA", "");
    for (command, code) in rows.iter().zip(codes) {
        let without = rebut.run(command);
        assert_eq!(without.code, code, "{command:?}: {}", without.stderr);
    }
    assert!(
        rebut
            .expect(0, &["config", "path"])
            .contains("data     (none)")
    );
    assert!(
        rebut
            .expect(4, &["doctor"])
            .contains("there is no place to keep debates")
    );
    let kept = rebut.run(&[
        "decide",
        "Offline?",
        "-O",
        "A=x",
        "-O",
        "B=y",
        "-m",
        "rehearsal",
    ]);
    assert!(
        kept.code == 2 && kept.stderr.contains("name one with --data DIR"),
        "{}",
        kept.stderr
    );
    assert_eq!(names_in(&rebut), [""; 0]);
}

/// Whatever word the list shows can be asked for, also where newer debates ended otherwise.
#[test]
fn debates_are_listed_by_how_they_ended() {
    let rebut = Rebut::new();
    let split = [
        ("recommend/risk", recommends("A")),
        ("recommend/value", recommends("B")),
        ("recommend/effort", recommends("C")),
    ];
    rebut.write("debate.md", &script_of(&split));
    rebut.expect(3, &case(&["--rounds", "1"]));
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    rebut.expect(0, &case(&[]));
    rebut.expect(5, &case(&["--max-calls", "1"]));
    for word in ["contested", "consensus", "stopped"] {
        let listed = rebut.expect(0, &["ls", "--status", word, "-n", "1"]);
        assert!(
            listed.lines().count() == 1 && listed.contains(&format!("  {word}  ")),
            "{word}: {listed}"
        );
    }
    for (word, count) in [("majority", 0), ("tests_fail", 0), ("completed", 2)] {
        assert_eq!(
            rebut
                .json(0, &["ls", "--status", word, "--json"])
                .as_array()
                .map(Vec::len),
            Some(count),
            "{word}"
        );
    }
}
