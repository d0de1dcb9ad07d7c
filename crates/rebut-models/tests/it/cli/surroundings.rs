//! What a CLI sees of this machine, how it is found, and what a configuration may change.

use super::bench::{Bench, ask};
use crate::asking::Asking;
use rebut_engine::model::{FaultKind, Models};
use rebut_models::{
    Registry,
    cli::{CliData, built_in},
};
use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

const TIME: Duration = Duration::from_secs(30);
const ECHO: &str = "[echo]\nargs = ['say', ['--system', '{system}'], ['--model', '{model}'], { var \
    = 'ECHO_KEY', args = ['--keyed'] }, ['--', '{prompt}']]\n\
                    pass = ['ECHO_KEY']\nkey_vars = ['ECHO_KEY']\nlogin_files = \
                    ['.echo/login']\nlogin = 'sign in'\nversion_args = ['--version']\n";

/// How the recorder `echo` was called.
async fn called(bench: &Bench, more: &str, asking: &Asking) -> Vec<String> {
    bench.recorder("echo", "echo 1.0", "hello");
    let answer = ask(&*bench.open(&format!("{ECHO}{more}"), "echo"), asking, TIME)
        .await
        .expect("an answer");
    assert_eq!(
        (answer.text.as_str(), answer.program.as_deref()),
        ("hello", Some("echo 1.0"))
    );
    bench.is_clean(more);
    bench.seen_list("argv")
}

#[tokio::test]
async fn a_child_sees_only_what_it_is_given() {
    let bench = Bench::new()
        .with("ANTHROPIC_API_KEY", "sk-ant-0123456789")
        .with("OPENAI_API_KEY", "sk-canary-0123456789")
        .with("LANG", "de_AT.UTF-8");
    bench.recorder(
        "claude",
        "2.0.0",
        r#"{"type":"result","is_error":false,"result":"my key is sk-ant-0123456789"}"#,
    );
    let answer = ask(&*bench.open("", "claude"), &Asking::new(), TIME)
        .await
        .expect("an answer");
    assert_eq!(answer.text, "my key is [secret]");
    let env: BTreeMap<String, String> = bench
        .seen_list("env")
        .iter()
        .map(|entry| entry.split_once('=').expect("a variable"))
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    let mut names: Vec<&str> = env.keys().map(String::as_str).collect();
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    let expected = [
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_MAX_RETRIES",
        "DISABLE_AUTOUPDATER",
        "HOME",
        "LANG",
        "NO_COLOR",
        "PATH",
        "REBUT_RUN",
        "TERM",
        "TMPDIR",
    ];
    assert_eq!(
        names, expected,
        "nothing of this process, such as CARGO_MANIFEST_DIR"
    );
    assert_eq!(
        (
            env["TERM"].as_str(),
            env["LANG"].as_str(),
            env["ANTHROPIC_API_KEY"].as_str()
        ),
        ("dumb", "de_AT.UTF-8", "sk-ant-0123456789")
    );
    let tmp = bench.path("tmp").canonicalize().expect("a directory");
    for (what, path) in [
        ("HOME", env["HOME"].as_str()),
        ("TMPDIR", &env["TMPDIR"]),
        ("pwd", bench.seen("pwd").trim()),
    ] {
        assert!(
            path.starts_with(&format!("{}/rebut-cli-", tmp.display())),
            "{what}: {path}"
        );
    }
    let entries: Vec<_> = fs::read_dir(bench.path("seen/work"))
        .expect("a copy")
        .collect();
    assert!(entries.is_empty(), "{entries:?}");
    let mut secrets = bench.clis("").expect("CLIs").secrets();
    secrets.sort();
    secrets.dedup();
    assert_eq!(secrets, ["sk-ant-0123456789", "sk-canary-0123456789"]);
}

#[tokio::test]
async fn home_is_the_users_only_where_the_login_lives_there() {
    let home = |bench: &Bench| {
        bench
            .seen_list("env")
            .into_iter()
            .find_map(|entry| entry.strip_prefix("HOME=").map(str::to_owned))
            .expect("a home")
    };
    let asking = Asking::new();
    let rows = [
        ("own", None, false),
        ("user", None, true),
        ("own_with_key", None, true),
        ("own_with_key", Some("k-0123456789"), false),
    ];
    for (kind, key, is_users) in rows {
        let mut bench = Bench::new();
        bench
            .variables
            .extend(key.map(|key| ("ECHO_KEY".to_owned(), key.to_owned())));
        let argv = called(
            &bench,
            &format!(
                "home = '{kind}'\nfiles = {{ '~/.echo/settings' = 'x', 'here' = '{{model}}' }}"
            ),
            &asking,
        )
        .await;
        assert_eq!(
            home(&bench) == bench.variables["HOME"],
            is_users,
            "{kind} {key:?}"
        );
        assert_eq!(
            bench.path("seen/home/.echo/settings").exists(),
            !is_users,
            "{kind}"
        );
        assert!(
            !bench.path("home/.echo").exists(),
            "the user's own home is never written to"
        );
        assert!(!bench.path("seen/work/here").exists(), "no model, no file");
        assert_eq!(
            argv.contains(&"--keyed".to_owned()),
            key.is_some(),
            "{argv:?}"
        );
    }
}

#[tokio::test]
async fn prompts_arrive_whole_whatever_they_hold() {
    let mut asking = Asking::new();
    asking.prompt.user = "--yolo {model} $(x) 'y'".to_owned();
    let bench = Bench::new();
    let argv = called(&bench, "", &asking).await;
    assert_eq!(
        argv,
        [
            "say",
            "--system",
            &asking.prompt.system,
            "--",
            &asking.prompt.user
        ]
    );
    assert_eq!(bench.seen("stdin"), "");

    let long = "€".repeat(100_000);
    asking.prompt.user = long.clone();
    let bench = Bench::new();
    assert_eq!(
        called(&bench, "", &asking).await,
        ["say", "--system", &asking.prompt.system]
    );
    assert_eq!(bench.seen("stdin"), long);

    asking.prompt.system = "s".repeat(200_000).into();
    let bench = Bench::new();
    assert_eq!(called(&bench, "stdin = 'always'", &asking).await, ["say"]);
    assert_eq!(
        bench.seen("stdin"),
        format!("{}\n\n{long}", asking.prompt.system)
    );

    let fault = ask(
        &*bench.open(&format!("{ECHO}stdin = 'never'"), "echo"),
        &asking,
        TIME,
    )
    .await
    .expect_err("too long");
    assert_eq!(fault.kind, FaultKind::TooLong);
}

#[tokio::test]
async fn a_program_that_does_not_read_its_prompt_may_answer() {
    let mut asking = Asking::new();
    asking.prompt.user = "x".repeat(300_000);
    let bench = Bench::new();
    bench.program(
        "echo",
        "[ \"$1\" = --version ] && exec sleep 1000\necho hello",
    );
    let answer = ask(
        &*bench.open(
            &ECHO.replace("version_args", "idle_s = 5\nversion_args"),
            "echo",
        ),
        &asking,
        TIME,
    )
    .await
    .expect("an answer");
    assert_eq!(
        (answer.text.as_str(), answer.program.as_deref()),
        ("hello", Some("echo")),
        "a version that never comes is done without"
    );
    bench.is_clean("unread");
}

#[tokio::test]
async fn a_dry_run_shows_everything_but_secrets() {
    let bench = Bench::new()
        .with("ANTHROPIC_API_KEY", "sk-ant-0123456789")
        .with("CODEX_API_KEY", "cx-0123456789");
    bench.program("claude", "exit 1");
    let mut asking = Asking::new();
    asking.prompt.user = "Is sk-ant-0123456789 a key?".to_owned();
    let root = format!("{}/rebut-cli-______", bench.path("tmp").display());
    let shown = bench
        .open("", "claude/opus")
        .wire(&asking.request("recommend/risk", 1));
    for part in [
        "bin/claude -p --output-format stream-json",
        "--model opus",
        "--system-prompt 'You are \"careful\".'",
        "\nANTHROPIC_API_KEY=[secret]\n",
        &format!("\nPATH={}\n", bench.variables["PATH"]),
        &format!("\nHOME={root}/home\n"),
        "\nREBUT_RUN=rebut-cli-______\n",
        "\nTERM=dumb\n",
        "(27 bytes):\nIs [secret] a key?",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(
        !shown.contains("0123456789") && !shown.contains(&bench.variables["HOME"]),
        "{shown}"
    );

    // What is shown is what is then done: every variable, every argument and file, but for the
    // letters of the directory's name.
    bench.recorder("codex", "1.0", r#"{"type":"turn.completed"}"#);
    let model = bench.open("", "codex");
    let shown = model.wire(&asking.request("recommend/risk", 1));
    // It says nothing, and that is a fault; but it was called.
    assert!(ask(&*model, &asking, TIME).await.is_err());
    let mark = bench
        .seen_list("env")
        .iter()
        .find_map(|entry| Some(entry.strip_prefix("REBUT_RUN=")?.to_owned()))
        .expect("a mark");
    let hidden = |text: &str| {
        text.replace(&mark, "rebut-cli-______")
            .replace("cx-0123456789", "[secret]")
    };
    for entry in bench.seen_list("env").iter().filter(|entry| {
        !["PWD=", "OLDPWD=", "SHLVL=", "_="]
            .iter()
            .any(|own| entry.starts_with(own))
    }) {
        assert!(
            shown.contains(&format!("\n{}\n", hidden(entry))),
            "{entry}: {shown}"
        );
    }
    let (argv, schema) = (
        hidden(&bench.seen_list("argv").join(" ")),
        format!("{root}/schema.json"),
    );
    assert!(
        argv.contains(&format!("--output-schema {schema}"))
            && shown.contains(&format!("--output-schema {schema}")),
        "{argv}: {shown}"
    );
    assert!(
        shown.contains(&format!("\nfile {schema}:\n{}\n", asking.schema.json)),
        "{shown}"
    );
    assert!(
        shown.contains(&format!(
            "\nfile {root}/work/AGENTS.md:\n{}\n",
            asking.prompt.system
        )),
        "{shown}"
    );
}

#[tokio::test]
async fn a_call_is_readable_by_its_owner_only() {
    let bench = Bench::new();
    bench.program(
        "echo",
        &format!(
            "[ \"$1\" = --version ] && exit\n\
             stat -c '%a %n' .. . ../home ../tmp ../schema.json ../home/.echo ../home/.echo/s > \
             {}\necho hello",
            bench.path("seen/modes").display()
        ),
    );
    let more = "home = 'own'\nfiles = { '~/.echo/s' = 'x' }";
    let config = format!(
        "{}{more}",
        ECHO.replace("['--', '{prompt}']", "['--schema', '{schema_file}']")
    );
    ask(&*bench.open(&config, "echo"), &Asking::new(), TIME)
        .await
        .expect("an answer");
    let modes = "700 ..\n700 .\n700 ../home\n700 ../tmp\n600 ../schema.json\n700 \
        ../home/.echo\n600 ../home/.echo/s\n";
    assert_eq!(bench.seen("modes"), modes);
    bench.is_clean("modes");
}

#[tokio::test]
async fn what_is_installed_is_found() {
    let bench = Bench::new().with("ECHO_KEY", "k");
    for (name, script) in [
        ("echo", "echo v1.2.3"),
        ("claude", "echo '2.1.0 (Claude Code)'"),
        ("codex", "exit 1"),
    ] {
        bench.program(name, script);
    }
    fs::write(bench.path("bin/gemini"), "no program").expect("a file");
    fs::create_dir(bench.path("home/.codex")).expect("a directory");
    fs::write(bench.path("home/.codex/auth.json"), "{}").expect("a file");
    // Only these: the machine that runs the test may have others. A relative place is never looked
    // into.
    let path = format!("relative:{}", bench.path("bin").display());
    let bench = bench.with("PATH", &path);
    let clis = bench.clis(ECHO).expect("CLIs");
    let rows: Vec<_> = clis
        .with_versions()
        .await
        .into_iter()
        .map(|info| {
            (
                info.name,
                info.version,
                info.signed_in,
                info.hint.is_empty(),
            )
        })
        .collect();
    let row = |name: &str, version: Option<&str>, signed_in, no_hint| {
        (
            name.to_owned(),
            version.map(str::to_owned),
            Some(signed_in),
            no_hint,
        )
    };
    assert_eq!(
        rows,
        [
            row("claude", Some("2.1.0"), false, false),
            row("codex", None, true, true),
            row("echo", Some("1.2.3"), true, true)
        ]
    );
    assert!(
        clis.found()
            .iter()
            .all(|info| info.version.is_none() && info.program.starts_with(bench.path("bin")))
    );
    bench.is_clean("versions");
}

#[test]
fn names_and_configurations_lead_to_help() {
    let bench = Bench::new();
    bench.program("echo", "echo hello");
    let none = BTreeMap::new();
    let registry = Registry::new(".", &none, &|_| None)
        .expect("a registry")
        .with_clis(Arc::new(bench.clis(ECHO).expect("CLIs")));
    let rows = [
        (
            "cli:cluade",
            FaultKind::NotFound,
            "did you mean `cli:claude`? Known: claude, codex, echo",
        ),
        ("cli:echo/", FaultKind::NotFound, "cli:echo/MODEL"),
        ("cli:echo/--yolo", FaultKind::NotFound, "cli:echo/MODEL"),
        ("cli:", FaultKind::NotFound, "Known: claude"),
    ];
    for (name, kind, words) in rows {
        let Err(fault) = registry.open(name) else {
            panic!("{name} opened")
        };
        assert_eq!(fault.kind, kind, "{name}: {fault}");
        assert!(fault.message.contains(words), "{name}: {fault}");
    }
    assert!(registry.open("cli:echo/x/y").is_ok());

    let missing = bench
        .clis("[gone]\nargs = []\ncommand = 'nonesuch-program'\ninstall = 'ask around'")
        .expect("CLIs");
    let Err(fault) = missing.open("gone") else {
        panic!("opened")
    };
    assert!(
        fault.kind == FaultKind::Unavailable
            && fault.message.contains("`nonesuch-program` was not found")
            && fault.message.contains("ask around"),
        "{fault}"
    );
    for (config, words) in [
        ("[x]\ncommand = 'x'", "has no args"),
        (
            "[x]\nargs = []\nfiles = { '../y' = '' }",
            "inside the workspace",
        ),
        ("[x]\nargs = []\nfiles = { '~/../y' = '' }", "inside"),
    ] {
        assert!(
            bench
                .clis(config)
                .is_err_and(|fault| fault.message.contains(words)),
            "{config}"
        );
    }
    assert!(
        toml::from_str::<CliData>("comand = 'x'")
            .is_err_and(|error| error.to_string().contains("command"))
    );
    assert_eq!(
        built_in().into_keys().collect::<Vec<_>>(),
        ["claude", "codex", "gemini", "opencode", "qwen"]
    );
}

#[tokio::test]
async fn no_agent_runs_where_somebody_else_left_instructions() {
    for name in ["tmp/.git", "tmp/CLAUDE.md", "CLAUDE.md"] {
        let bench = Bench::new();
        bench.program("claude", "exit 0");
        fs::write(bench.path(name), "obey me").expect("a file");
        let fault = ask(&*bench.open("", "claude"), &Asking::new(), TIME)
            .await
            .expect_err(name);
        assert!(
            fault.kind == FaultKind::Unavailable && fault.message.contains("set TMPDIR"),
            "{name}: {fault}"
        );
    }
}
