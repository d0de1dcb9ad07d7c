//! Programs that hang, flood, lie, fork and meddle: each ends in time with the right fault or
//! answer and leaves nothing.

use super::bench::{Bench, ask};
use crate::asking::Asking;
use rebut_engine::{
    Desk, Start, agent::Role, event::Limits as LimitsOfRun, formats::decide::Config,
    memory_store::MemoryStore, model::FaultKind, outcome::Ending,
};
use rebut_models::Registry;
use std::{collections::BTreeMap, fs, process::Command, sync::Arc, time::Duration};

const DATA: &str = r#"
[bad]
args = [["--", "{prompt}"]]
login_files = [".bad/login"]
login = "sign in"
idle_s = 3600
grace_ms = 100
context_files = ["CONTEXT.md"]
files = { "CONTEXT.md" = "{system}" }
[bad.output]
format = "jsonl"
done = [{ event = { type = "result" } }]
errors = [{ event = { type = "result", is_error = "true" }, at = "status" }, { event = { type = "result", is_error = "true" }, at = "result" }]
answer = [{ event = { type = "result" }, at = "result" }]
"#;

/// The line that ends well.
const RESULT: &str = r#"echo '{"type":"result","result":"ok","is_error":false}'"#;

enum Expected {
    Answer,
    Fault(FaultKind, &'static str),
}
use Expected::{Answer, Fault};

struct Row {
    what: &'static str,
    script: &'static str,
    expected: Expected,
}

const fn row(what: &'static str, script: &'static str, expected: Expected) -> Row {
    Row {
        what,
        script,
        expected,
    }
}

/// `RESULT` stands for the line that ends well.
const ROWS: &[Row] = &[
    row(
        "hangs without output",
        "exec sleep 1000",
        Fault(FaultKind::Timeout, "silent for too long"),
    ),
    row(
        "output, then silence",
        r#"echo '{"type":"start"}'; exec sleep 1000"#,
        Fault(
            FaultKind::Timeout,
            "silent for too long: {\"type\":\"start\"}",
        ),
    ),
    row(
        "output without end or result",
        r#"while :; do echo '{"type":"busy"}'; sleep 0.1; done"#,
        Fault(
            FaultKind::Timeout,
            "no result in time: {\"type\":\"busy\"} | {\"type\":\"busy\"} | {\"type\":\"busy\"} | \
             {\"type\":\"busy\"} (try: sign in)",
        ),
    ),
    row(
        "a result, then never exits",
        "RESULT\ntrap '' TERM HUP INT\nwhile :; do sleep 1000; done",
        Answer,
    ),
    row(
        "a flood on standard output",
        "exec yes '{\"type\":\"busy\"}'",
        Fault(FaultKind::TooLarge, "more than is read"),
    ),
    row(
        "a flood on standard error",
        "exec yes >&2",
        Fault(FaultKind::TooLarge, "more than is read"),
    ),
    row(
        "colours, titles and a spinner",
        "printf '\\033]0;title\\007\\033[2K\\r| thinking\\r\\033[32m'; RESULT; printf \
         '\\033[0m\\033]8;;x\\007\\200\\377\\n'",
        Answer,
    ),
    row(
        "JSON on standard error only",
        "(RESULT) >&2",
        Fault(FaultKind::Empty, "exit code 0"),
    ),
    row(
        "a failure on standard error only",
        r#"echo '{"error":{"code":401,"status":"UNAUTHENTICATED"}}' >&2; exit 145"#,
        Fault(FaultKind::Auth, "exit code 145"),
    ),
    row(
        "exit 0 with an error's text",
        "echo 'Error: Not logged in'",
        Fault(FaultKind::Auth, "Not logged in"),
    ),
    row(
        "exit 0 with nothing",
        "exit 0",
        Fault(FaultKind::Empty, "exit code 0"),
    ),
    row(
        "exit 0 with an empty answer",
        r#"echo '{"type":"result","result":"","is_error":false}'"#,
        Fault(FaultKind::Empty, "answer is empty"),
    ),
    row(
        "exit 3 without a word",
        "exit 3",
        Fault(FaultKind::Server, "exit code 3"),
    ),
    row(
        "dies of a signal",
        "kill -9 $$",
        Fault(FaultKind::Server, "ended by a signal"),
    ),
    row("a good result and exit 1", "RESULT\nexit 1", Answer),
    row(
        "a failure told as success",
        r#"echo '{"type":"result","subtype":"success","is_error":true,"status":429,"result":"slow down"}'"#,
        Fault(FaultKind::RateLimited, "429: slow down"),
    ),
    row(
        "a daemon that holds standard output",
        "setsid sleep 1000 &\nRESULT",
        Answer,
    ),
    row(
        "a daemon that holds nothing of ours",
        "(setsid sh -c 'sleep 1000; :' < /dev/null > /dev/null 2>&1 &)\nRESULT",
        Answer,
    ),
    row(
        "a daemon without environment or parent",
        "(env -i setsid sh -c 'sleep 1000; :' \"$0\" &)\nRESULT",
        Answer,
    ),
    row(
        "a daemon, and no result",
        "(env -i setsid sh -c 'sleep 1000; :' \"$0\" &)\nexit 0",
        Fault(FaultKind::Empty, "exit code 0"),
    ),
    row(
        "rewrites its context file",
        "echo 'obey me' > CONTEXT.md\nRESULT",
        Fault(FaultKind::InvalidReply, "changed CONTEXT.md"),
    ),
    row(
        "removes its context file",
        "rm CONTEXT.md\nRESULT",
        Fault(FaultKind::InvalidReply, "changed CONTEXT.md"),
    ),
    row("waits on standard input", "cat > /dev/null\nRESULT", Answer),
    row(
        "a tree of children that will not end",
        "trap '' TERM\n(trap '' TERM; setsid sh -c 'sleep 1000 & sleep 1000; :' & sleep 1000; :) \
         &\nsleep 1000",
        Fault(FaultKind::Timeout, "silent for too long"),
    ),
    row(
        "a result in two halves",
        r#"printf '{"type":"result",'; sleep 0.2; echo '"result":"ok"}'"#,
        Answer,
    ),
    row(
        "no end of line after the result",
        r#"printf '{"type":"result","result":"ok"}'; sleep 1000"#,
        Answer,
    ),
    row(
        "a truncated last line",
        r#"echo '{"type":"start"}'; printf '{"type":"result","resu'"#,
        Fault(FaultKind::Incomplete, "without a result"),
    ),
    row(
        "flags of another version",
        "echo \"error: unknown option '--'\" >&2; exit 1",
        Fault(FaultKind::Unavailable, "unknown option"),
    ),
    row(
        "no interpreter",
        "exec nonesuch-program",
        Fault(FaultKind::Unavailable, "exit code 127"),
    ),
];

#[tokio::test]
async fn every_bad_program_ends_well() {
    let bench = Bench::new();
    let asking = Asking::new();
    for row in ROWS {
        bench.program("bad", &row.script.replace("RESULT", RESULT));
        // Only a program that must be given up has a short time. The others end by themselves, or
        // the test never does.
        let is_given_up = matches!(row.expected, Fault(FaultKind::Timeout, _));
        let (time, idle) = if is_given_up {
            (5, "idle_s = 2")
        } else {
            (3600, "idle_s = 3600")
        };
        let model = bench.open(&DATA.replace("idle_s = 3600", idle), "bad");
        let answer = ask(&*model, &asking, Duration::from_secs(time)).await;
        match (&row.expected, &answer) {
            (Answer, Ok(answer)) => assert_eq!(answer.text, "ok", "{}", row.what),
            (Fault(kind, words), Err(fault)) => {
                assert_eq!(fault.kind, *kind, "{}: {fault}", row.what);
                assert!(fault.message.contains(words), "{}: {fault}", row.what);
            }
            _ => panic!("{}: {answer:?}", row.what),
        }
        bench.is_clean(row.what);
    }
}

/// A process that is becoming another program cannot be recognised for a moment; this one does
/// nothing else.
#[tokio::test]
async fn a_daemon_that_keeps_being_born_is_found() {
    let bench = Bench::new();
    let script = "[ \"$2\" = again ] && exec \"$0\" -- again\n(setsid \"$0\" -- again < /dev/null \
        > /dev/null 2>&1 &)\n";
    bench.program("bad", &format!("{script}{RESULT}"));
    let model = bench.open(DATA, "bad");
    for _ in 0..40 {
        ask(&*model, &Asking::new(), Duration::from_secs(3600))
            .await
            .expect("an answer");
        bench.is_clean("reborn");
    }
}

#[tokio::test]
async fn a_debate_names_who_hung_and_the_others_decide() {
    let bench = Bench::new();
    let reply = r#"{\"option\":\"A\",\"confidence\":1,\"summary\":\"s\",\"claims\":[\"c\"]}"#;
    bench.program("bad", "exec sleep 1000");
    bench.program(
        "well",
        &format!(
            "cat << 'END'\n{{\"type\":\"result\",\"result\":\"{reply}\",\"is_error\":false}}\nEND\n"
        ),
    );
    let clis = bench
        .clis(&format!("{DATA}{}", DATA.replace("[bad", "[well")))
        .expect("valid data");
    let registry = Registry::new(".", &BTreeMap::new(), &|_| None)
        .expect("a registry")
        .with_clis(Arc::new(clis));
    let judge = |name: &str, model: &str| {
        Role::built_in(name)
            .expect("a built-in role")
            .played_by(model)
    };
    let start = Start {
        format: "decide".to_owned(),
        input: serde_json::json!({"question": "Which?", "options": [{"id": "A", "label": "This"}, {"id": "B", "label": "That"}]}),
        config: serde_json::to_value(Config::default()).expect("settings are JSON"),
        agents: vec![
            judge("risk", "cli:bad"),
            judge("value", "cli:well"),
            judge("effort", "cli:well"),
        ],
        limits: Some(LimitsOfRun {
            turn_seconds: 2,
            ..LimitsOfRun::default()
        }),
        ..Start::default()
    };
    let (_, outcome) = Desk::new(Arc::new(MemoryStore::new()), Arc::new(registry))
        .run(start)
        .await
        .expect("it runs");
    let missing: Vec<_> = outcome
        .degraded
        .iter()
        .map(|absence| (absence.agent.as_ref(), absence.reason))
        .collect();
    assert_eq!(
        (outcome.outcome, missing),
        (Ending::Consensus, vec![("risk", FaultKind::Timeout)]),
        "{outcome:?}"
    );
    bench.is_clean("a debate");
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing() {
    let bench = Bench::new();
    let fifo = bench.path("up");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .expect("mkfifo")
            .success()
    );
    let script = format!(
        "trap '' TERM\n(setsid sh -c 'trap \"\" TERM; echo up > {}; sleep 1000; :' &)\ntouch x; \
         sleep 1000",
        fifo.display()
    );
    bench.program("bad", &script);
    let model = bench.open(DATA, "bad");
    let asking = Asking::new();
    let is_up = tokio::task::spawn_blocking(move || fs::read_to_string(fifo));
    tokio::select! {
        answer = ask(&*model, &asking, Duration::from_secs(3600)) => panic!("{answer:?}"),
        up = is_up => assert_eq!(up.expect("a thread").expect("a word"), "up\n"),
    }
    bench.is_clean("dropped");
}

#[tokio::test]
async fn a_fault_keeps_what_was_said_but_no_secret() {
    let bench = Bench::new()
        .with("BAD_API_KEY", "sk-canary-0123456789")
        .with("BAD_BASE_URL", "http://127.0.0.1:1/v1");
    let script = "echo '{\"type\":\"assistant\",\"text\":\"half an ans'\nfor n in 1 2 3 4 5 6; do \
        echo \"line $n\" >&2; done\n\
                  printf 'key \\033[1msk-canary\\033[0m-0123456789 at %s\\n' \"$BAD_BASE_URL\" \
                  >&2\necho \"$BAD_API_KEY\"; exit 1";
    bench.program("bad", script);
    let model = bench.open(
        &DATA.replace("idle_s", "pass = ['BAD_API_KEY', 'BAD_BASE_URL']\nidle_s"),
        "bad",
    );
    let fault = ask(&*model, &Asking::new(), Duration::from_secs(10))
        .await
        .expect_err("no result");
    assert_eq!(fault.kind, FaultKind::Incomplete, "{fault}");
    assert!(
        fault
            .message
            .ends_with("line 4 | line 5 | line 6 | key [secret] at http://127.0.0.1:1/v1"),
        "{fault}"
    );
    let partial = fault.partial.expect("what was said");
    assert!(
        partial.contains("half an ans")
            && partial.contains("[secret]")
            && !partial.contains("canary"),
        "{partial}"
    );
}
