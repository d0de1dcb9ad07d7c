//! Hooks: they say nothing unless switched on, never debate, and whatever goes wrong never looks
//! like a wish to stop the agent.

use crate::rebut::{Output, Rebut, script_of};
use serde_json::{Value, json};
use std::{io::Write, process::Stdio};

const HOSTS: [(&str, &str, &str); 4] = [
    ("claude", "user-prompt-submit", "UserPromptSubmit"),
    ("codex", "UserPromptSubmit", "UserPromptSubmit"),
    ("gemini", "BeforeAgent", "BeforeAgent"),
    ("qwen", "user-prompt-submit", "UserPromptSubmit"),
];

/// Runs a hook with what the host says on standard input.
fn hook(rebut: &Rebut, args: &[&str], told: &str) -> Output {
    let mut command = rebut.command(&[&["hook"], args].concat());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A hook that ends without reading is none of the host's business.
    let _ = child
        .stdin
        .take()
        .expect("piped")
        .write_all(told.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Output {
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        code: output.status.code().unwrap_or(-1),
    }
}

/// What a host says when a person has written something.
fn told(rebut: &Rebut, more: Value) -> String {
    let mut told = json!({"session_id": "s1", "cwd": rebut.path(""), "hook_event_name": "UserPromptSubmit", "prompt": "Deploy the app."});
    told.as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    told.to_string()
}

/// Security adds what testing removes, and whoever is asked anything else is not there.
fn reviews() -> String {
    let review = |kind: &str, text: &str| {
        json!({"summary": "one thing", "operations": [
            {"kind": kind, "severity": "high", "target": "env \
                access", "text": text, "rationale": "because", "confidence": 0.8},
        ]})
        .to_string()
    };
    script_of(&[
        (
            "review/security",
            review("AddConstraint", "Read DEPLOY_TOKEN only."),
        ),
        ("review/testing", review("RemoveConstraint", "")),
    ])
}

fn project(hook: &str) -> Rebut {
    let rebut = Rebut::new();
    rebut.user_config(&format!("[hook]\n{hook}\n"));
    rebut.write("reviews.md", &reviews());
    rebut.write("rebut.toml", "[review.debate]\nenabled = true\n");
    rebut
}

const ON: &str = "enabled = true\nmodel = \"script:reviews.md\"";

/// The turns of every debate kept.
fn turns(rebut: &Rebut) -> Vec<String> {
    let mut turns = Vec::new();
    for session in rebut
        .json(0, &["ls", "--json", "-n", "0"])
        .as_array()
        .expect("a list")
    {
        let events = rebut.events(session["id"].as_str().expect("an id"));
        turns.extend(
            events
                .iter()
                .filter(|event| event["type"] == "turn.started")
                .map(|event| event["data"]["turn"].as_str().unwrap_or("").to_owned()),
        );
    }
    turns
}

#[test]
fn nothing_happens_unless_it_is_switched_on() {
    let rebut = project("model = \"script:reviews.md\"");
    for event in ["session-start", "user-prompt-submit", "stop"] {
        let output = hook(&rebut, &["claude", event], &told(&rebut, json!({})));
        assert_eq!(
            (output.code, output.stdout.as_str(), output.stderr.as_str()),
            (0, "", ""),
            "{event}"
        );
    }
    assert_eq!(turns(&rebut), Vec::<String>::new());
}

#[test]
fn every_host_is_told_in_its_own_form_and_nobody_debates() {
    for (host, event, own) in HOSTS {
        let rebut = project(ON);
        let output = hook(&rebut, &[host, event], &told(&rebut, json!({})));
        assert_eq!(output.code, 0, "{host}: {}", output.stderr);
        let said: Value = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("{host}: {error}: {}", output.stdout));
        assert_eq!(said["hookSpecificOutput"]["hookEventName"], own, "{host}");
        let words = said["hookSpecificOutput"]["additionalContext"]
            .as_str()
            .expect("words");
        assert!(
            words.contains("[high] security: env access: Read DEPLOY_TOKEN only."),
            "{host}: {words}"
        );
        let mut asked = turns(&rebut);
        asked.sort();
        assert_eq!(
            asked,
            ["review/security", "review/testing"],
            "{host}: debate.enabled = true does not count here"
        );

        let start = hook(&rebut, &[host, "session-start"], &told(&rebut, json!({})));
        assert_eq!(
            (start.code, start.stdout.lines().count()),
            (0, 1),
            "{host}: {}",
            start.stdout
        );
        assert!(
            start.stdout.contains("security, testing"),
            "{host}: {}",
            start.stdout
        );
        assert_eq!(turns(&rebut).len(), 2, "{host}: a greeting asks nobody");
    }
}

#[test]
fn a_skill_is_answered_at_once_without_a_debate_and_never_blocks() {
    let rebut = project("model = \"script:reviews.md\"\nblock = true");
    for said in [
        "Deploy it, and read the environment.".to_owned(),
        told(&rebut, json!({})),
    ] {
        let output = hook(&rebut, &["claude", "skill"], &said);
        assert_eq!(output.code, 0, "{}", output.stderr);
        assert!(
            output
                .stdout
                .contains("- [high] security: env access: Read DEPLOY_TOKEN only."),
            "{}",
            output.stdout
        );
    }
    let mut asked = turns(&rebut);
    asked.sort();
    assert_eq!(
        asked,
        [
            "review/security",
            "review/security",
            "review/testing",
            "review/testing"
        ]
    );
}

#[test]
fn it_stops_the_agent_only_when_told_to_and_only_once() {
    let rows: &[(&str, Value, i32)] = &[
        ("block = true", json!({}), 2),
        ("block = true\nfail_on = \"critical\"", json!({}), 0),
        ("block = false", json!({}), 0),
        ("", json!({}), 0),
    ];
    for (more, extra, code) in rows {
        let rebut = project(&format!("{ON}\n{more}"));
        let output = hook(
            &rebut,
            &["claude", "user-prompt-submit"],
            &told(&rebut, extra.clone()),
        );
        assert_eq!(output.code, *code, "{more}: {}", output.stderr);
        match code {
            2 => assert!(
                output.stdout.is_empty() && output.stderr.contains("Read DEPLOY_TOKEN only."),
                "{more}: {}",
                output.stderr
            ),
            _ => assert!(
                output.stdout.contains("DEPLOY_TOKEN"),
                "{more}: {}",
                output.stdout
            ),
        }
    }
}

/// What rests on a quotation that is not there is told as such, and stops nobody.
#[test]
fn an_invented_quotation_is_named_and_stops_nobody() {
    for (quoted, code) in [("Deploy the app.", 2), ("Delete the database.", 0)] {
        let rebut = project(&format!("{ON}\nblock = true"));
        let found = json!({"summary": "one thing", "operations": [{"kind": "AddConstraint", "severity": "high", "target": "env access",
            "text": "Read DEPLOY_TOKEN only.", "rationale": "because", "evidence": quoted, "confidence": 0.8}]});
        rebut.write("reviews.md", &script_of(&[("review/*", found.to_string())]));
        let output = hook(
            &rebut,
            &["claude", "user-prompt-submit"],
            &told(&rebut, json!({})),
        );
        assert_eq!(output.code, code, "{quoted}: {}", output.stderr);
        let said = output.stdout + &output.stderr;
        assert_eq!(
            said.contains("(quotes what is not there)"),
            code == 0,
            "{said}"
        );
        // A gate of a build counts it all the same, and says it too.
        rebut.write("prompt.md", "Deploy the app.\n");
        let gate = [
            "review",
            "prompt.md",
            "--reviewers",
            "security",
            "--no-edit",
            "-m",
            "script:reviews.md",
            "--fail-on",
            "high",
            "-o",
            "r.sarif",
        ];
        rebut.expect(6, &gate);
        assert_eq!(
            rebut
                .read("r.sarif")
                .contains("because (quotes what is not there)"),
            code == 0,
            "{quoted}"
        );
    }
}

#[test]
fn whoever_is_too_slow_does_not_take_along_what_the_others_found() {
    let found = json!({"summary": "one thing", "operations": [
        {"kind": "AddConstraint", "severity": "critical", "target": "env \
            access", "text": "Read DEPLOY_TOKEN only.", "rationale": "because", "confidence": 0.8},
    ]});
    let rebut = project(&format!("{ON}\nblock = true\ntimeout = 2"));
    rebut.write(
        "reviews.md",
        &script_of(&[
            ("review/security", found.to_string()),
            ("review/testing", "!timeout".to_owned()),
        ]),
    );
    let output = hook(
        &rebut,
        &["claude", "user-prompt-submit"],
        &told(&rebut, json!({})),
    );
    assert_eq!(output.code, 2, "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("[critical] security: env access: Read DEPLOY_TOKEN only."),
        "{}",
        output.stderr
    );
    let short = project(&format!("{ON}\ntimeout = 1"));
    let refused = hook(
        &short,
        &["claude", "user-prompt-submit"],
        &told(&short, json!({})),
    );
    assert!(
        refused.code == 1 && refused.stderr.contains("timeout must be 2 to 600 seconds"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_change_is_looked_at_when_the_agent_stops() {
    let git = std::process::Command::new("sh")
        .args(["-c", "command -v git"])
        .output()
        .expect("a shell");
    let git = String::from_utf8(git.stdout).expect("a path");
    let mut rebut = project(&format!("{ON}\nblock = true"));
    rebut.program("git", &format!("exec {} \"$@\"", git.trim()));
    rebut.set("GIT_CONFIG_NOSYSTEM", "1");
    let shell = |line: &str| {
        let done = std::process::Command::new("sh")
            .args(["-c", line])
            .current_dir(rebut.path(""))
            .status()
            .expect("a shell");
        assert!(done.success(), "{line}");
    };
    let stop = |more: Value| hook(&rebut, &["claude", "stop"], &told(&rebut, more));
    // Nothing was ever committed, and all there is is ignored.
    shell("git init -q . && echo '*' > .git/info/exclude");
    let nothing = stop(json!({}));
    assert_eq!(
        (nothing.code, turns(&rebut).len()),
        (0, 0),
        "{}",
        nothing.stderr
    );
    shell(
        "rm .git/info/exclude && echo echo one > app.sh && git add . && git -c user.name=t -c \
         user.email=t@example.org commit -qm one",
    );
    assert_eq!(
        (stop(json!({})).code, turns(&rebut).len()),
        (0, 0),
        "nothing changed, nobody is asked"
    );

    rebut.write("app.sh", "echo two\n");
    let again = stop(json!({"stop_hook_active": true}));
    assert_eq!(
        (again.code, again.stdout.as_str(), turns(&rebut).len()),
        (0, "", 0),
        "never twice in a row"
    );
    assert_eq!(stop(json!({})).code, 2);
    assert_eq!(turns(&rebut).len(), 2);
    // A file that git does not know yet is a change too.
    shell("git checkout -q app.sh && echo echo three > new.sh");
    assert_eq!((stop(json!({})).code, turns(&rebut).len()), (2, 4));
    rebut.user_config(&format!("[hook]\n{ON}\n"));
    let told: Value = serde_json::from_str(&stop(json!({})).stdout).expect("JSON");
    assert!(
        told["systemMessage"]
            .as_str()
            .is_some_and(|words| words.contains("env access")),
        "{told}"
    );
}

#[test]
fn whatever_goes_wrong_ends_with_one_at_most_and_says_nothing_to_the_host() {
    let good = |rebut: &Rebut| told(rebut, json!({}));
    type Told = fn(&Rebut) -> String;
    let rows: &[(&str, &str, &[&str], Option<Told>)] = &[
        ("no host", ON, &[], None),
        ("an unknown host", ON, &["vim", "stop"], None),
        ("an unknown event", ON, &["claude", "pre-tool-use"], None),
        ("an unknown flag", ON, &["claude", "stop", "--bogus"], None),
        ("no event", ON, &["claude"], None),
        ("too many words", ON, &["claude", "stop", "stop"], None),
        (
            "no JSON",
            ON,
            &["claude", "user-prompt-submit"],
            Some(|_| "not JSON".to_owned()),
        ),
        (
            "nothing at all",
            ON,
            &["claude", "user-prompt-submit"],
            Some(|_| String::new()),
        ),
        (
            "another form",
            ON,
            &["claude", "user-prompt-submit"],
            Some(|_| r#"{"prompt": 7}"#.to_owned()),
        ),
        (
            "a list",
            ON,
            &["claude", "user-prompt-submit"],
            Some(|_| "[]".to_owned()),
        ),
        ("no repository", ON, &["claude", "stop"], None),
        (
            "no model",
            "enabled = true",
            &["claude", "user-prompt-submit"],
            None,
        ),
        (
            "no such model",
            "enabled = true\nmodel = \"nobody:x\"",
            &["claude", "user-prompt-submit"],
            None,
        ),
        (
            "no such script",
            "enabled = true\nmodel = \"script:none.md\"",
            &["claude", "user-prompt-submit"],
            None,
        ),
        (
            "no such role",
            "enabled = true\nmodel = \"script:reviews.md\"\nreviewers = [\"nobody\"]",
            &["claude", "user-prompt-submit"],
            None,
        ),
        (
            "nobody looks",
            "enabled = true\nreviewers = []",
            &["claude", "user-prompt-submit"],
            None,
        ),
        (
            "no money",
            "enabled = true\nmax_cost = -1.0",
            &["claude", "user-prompt-submit"],
            None,
        ),
        (
            "an unknown key",
            "enabled = true\nblok = true",
            &["claude", "user-prompt-submit"],
            None,
        ),
        (
            "a bad severity",
            "enabled = true\nfail_on = \"bad\"",
            &["claude", "user-prompt-submit"],
            None,
        ),
        (
            "broken TOML",
            "enabled = ",
            &["claude", "user-prompt-submit"],
            None,
        ),
        (
            "nobody answers",
            "enabled = true\nmodel = \"script:silent.md\"\nblock = true",
            &["claude", "user-prompt-submit"],
            None,
        ),
    ];
    for (name, config, args, said) in rows {
        let rebut = project(config);
        rebut.write("silent.md", "## review/*\n!error 401\n");
        let said = said.map_or_else(|| good(&rebut), |said| said(&rebut));
        let output = hook(&rebut, args, &said);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (1, ""),
            "{name}: {}",
            output.stderr
        );
        assert!(!output.stderr.trim().is_empty(), "{name}: why is told");
        assert!(
            !output.stderr.contains("panicked"),
            "{name}: {}",
            output.stderr
        );
    }
    assert_eq!(
        hook(&project(ON), &["--help"], "").code,
        0,
        "a person may ask how it goes"
    );
    let rebut = project(ON);
    rebut.write("rebut.toml", "[hook]\nenabled = true\nmax_cost = 100.0\n");
    let refused = hook(&rebut, &["claude", "user-prompt-submit"], &good(&rebut));
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (0, ""),
        "a project's file has no say in it"
    );
    assert!(
        rebut
            .run(&["ls"])
            .stderr
            .contains("never taken from a project: hook\n")
    );
}

#[test]
fn a_data_folder_of_a_project_is_not_opened_from_another_folder_of_it() {
    let mut rebut = crate::brought::project();
    // An archive that was unpacked outside of the home, and is no repository.
    rebut.write(
        "../home/.config/rebut/config.toml",
        &format!("[hook]\n{ON}\n"),
    );
    for folder in ["sub", "../elsewhere"] {
        rebut.write(&format!("{folder}/reviews.md"), &reviews());
    }
    rebut.set("HOME", &rebut.path("../home").display().to_string());
    let before = std::fs::read(rebut.path("debates/rebut.db")).expect("a database");
    let called = |data: &str, cwd: &str| {
        let cwd = rebut.path(cwd).canonicalize().expect("a folder");
        hook(
            &rebut,
            &["--data", data, "claude", "user-prompt-submit"],
            &told(&rebut, json!({"cwd": cwd})),
        )
    };
    for cwd in [".", "sub", "../elsewhere"] {
        let refused = called("debates", cwd);
        assert!(
            refused.code == 1 && refused.stderr.contains("was not made by you"),
            "{cwd}: {refused:?}"
        );
    }
    assert!(
        std::fs::read(rebut.path("debates/rebut.db")).expect("a database") == before,
        "nothing was changed"
    );
    // What is made for the user there is theirs, wherever the hook is called from, and is where
    // they said.
    for cwd in ["sub", "../elsewhere", "sub"] {
        let found = called("own", cwd);
        assert!(
            found.code == 0 && found.stdout.contains("DEPLOY_TOKEN"),
            "{cwd}: {found:?}"
        );
    }
    assert!(rebut.path("own/rebut.db").is_file() && !rebut.path("sub/own").exists());
}
