//! The built-in CLIs: what they are told, and what is read from outputs of their shape.

use super::bench::{Bench, ask};
use crate::asking::Asking;
use rebut_engine::model::{Answer, Fault, FaultKind, Finish, Usage};
use std::time::Duration;

const TIME: Duration = Duration::from_secs(30);

struct Row {
    name: &'static str,
    version: &'static str,
    prints: &'static str,
    model: Option<&'static str>,
    usage: Usage,
    program: &'static str,
}

const fn usage(
    input: u64,
    cached: u64,
    output: u64,
    reasoning: u64,
    cost_usd: Option<f64>,
) -> Usage {
    Usage {
        input,
        cached,
        output,
        reasoning,
        cost_usd,
    }
}

const ROWS: &[Row] = &[
    Row {
        name: "claude",
        version: "2.1.325 (Claude Code)",
        prints: include_str!("printed/claude.jsonl"),
        model: Some("claude-sonnet-5"),
        usage: usage(110, 5, 7, 3, Some(0.25)),
        program: "claude 2.1.325",
    },
    Row {
        name: "codex",
        version: "codex-cli 0.166.0",
        prints: include_str!("printed/codex.jsonl"),
        model: None,
        usage: usage(60, 40, 17, 9, None),
        program: "codex 0.166.0",
    },
    Row {
        name: "gemini",
        version: "0.61.0",
        prints: include_str!("printed/gemini.json"),
        model: Some("gemini-2.5-flash"),
        usage: usage(90, 10, 21, 4, None),
        program: "gemini 0.61.0",
    },
    Row {
        name: "qwen",
        version: "0.24.4",
        prints: include_str!("printed/qwen.json"),
        model: Some("qwen3"),
        usage: usage(200, 100, 34, 2, None),
        program: "qwen 0.24.4",
    },
    Row {
        name: "opencode",
        version: "1.18.33",
        prints: include_str!("printed/opencode.jsonl"),
        model: None,
        usage: usage(65, 20, 10, 2, None),
        program: "opencode 1.18.33",
    },
];

async fn said(row: &Row, prints: &str) -> Result<Answer, Fault> {
    let bench = Bench::new();
    bench.recorder(row.name, row.version, prints);
    let answer = ask(&*bench.open("", row.name), &Asking::new(), TIME).await;
    bench.is_clean(row.name);
    answer
}

#[tokio::test]
async fn good_answers_are_read_with_their_use() {
    for row in ROWS {
        let answer = said(row, row.prints)
            .await
            .unwrap_or_else(|fault| panic!("{}: {fault}", row.name));
        assert_eq!(answer.text, r#"{"pick":"A"}"#, "{}", row.name);
        assert_eq!(answer.model.as_deref(), row.model, "{}", row.name);
        assert_eq!(answer.usage, Some(row.usage), "{}", row.name);
        assert_eq!(answer.program.as_deref(), Some(row.program));
        assert_eq!(answer.finish, Finish::Complete);
    }
}

#[tokio::test]
async fn told_failures_have_their_class() {
    let row = |name: &str| ROWS.iter().find(|row| row.name == name).expect("a row");
    let rows = [
        (
            "claude",
            r#"{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login"}"#,
            FaultKind::Auth,
            "claude` once and type /login",
        ),
        (
            "claude",
            r#"{"type":"result","is_error":true,"api_error_status":401,"result":"bad key"}"#,
            FaultKind::Auth,
            "401: bad key",
        ),
        (
            "claude",
            r#"{"type":"result","is_error":true,"result":"Claude AI usage limit reached"}"#,
            FaultKind::Quota,
            "usage limit",
        ),
        (
            "claude",
            r#"{"type":"result","is_error":false,"stop_reason":"refusal","result":"I cannot"}"#,
            FaultKind::Refused,
            "I cannot",
        ),
        (
            "claude",
            r#"{"type":"result","is_error":false,"result":""}"#,
            FaultKind::Empty,
            "empty",
        ),
        (
            "codex",
            r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: key"}}"#,
            FaultKind::Auth,
            "codex login",
        ),
        (
            "codex",
            r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":0}}"#,
            FaultKind::Empty,
            "empty",
        ),
        (
            "codex",
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"half"}}"#,
            FaultKind::Incomplete,
            "without a result",
        ),
        (
            "gemini",
            r#"{"session_id":"s","response":""}"#,
            FaultKind::Empty,
            "empty",
        ),
        (
            "gemini",
            r#"{"error":{"message":"{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\"}"}}"#,
            FaultKind::RateLimited,
            "RESOURCE_EXHAUSTED",
        ),
        (
            "qwen",
            r#"[{"type":"result","is_error":true,"error":{"message":"[API Error: 401 invalid api key]"}}]"#,
            FaultKind::Auth,
            "401",
        ),
        (
            "qwen",
            r#"[{"type":"result","is_error":false,"result":"[API Error: 500 oh dear]"}]"#,
            FaultKind::Server,
            "oh dear",
        ),
        (
            "qwen",
            r#"[{"type":"system"},{"type":"result","is_er"#,
            FaultKind::Incomplete,
            "without a result",
        ),
        (
            "opencode",
            r#"{"type":"error","error":{"name":"APIError","data":{"message":"model not found"}}}"#,
            FaultKind::NotFound,
            "model not found",
        ),
    ];
    for (name, prints, kind, words) in rows {
        let fault = said(row(name), prints).await.expect_err(prints);
        assert_eq!(fault.kind, kind, "{name}: {fault}");
        assert!(fault.message.contains(words), "{name}: {fault}");
    }
    let plain = r#"[{"type":"assistant","message":{"content":[{"type":"text","text":"{}"}]}},{"type":"result","is_error":true,
        "error":{"message":"Model produced plain text instead of calling the structured_output tool as required"}}]"#;
    assert_eq!(
        said(row("qwen"), plain).await.expect("an answer").text,
        "{}"
    );
    let cut = said(
        row("claude"),
        r#"{"type":"result","is_error":false,"stop_reason":"max_tokens","result":"ha"}"#,
    )
    .await
    .expect("an answer");
    assert_eq!(cut.finish, Finish::Length);
}

#[tokio::test]
async fn each_is_told_the_prompt_the_schema_and_the_model() {
    let asking = Asking::new();
    for row in ROWS {
        let bench = Bench::new();
        bench.recorder(row.name, row.version, row.prints);
        let model = bench.open("", &format!("{}/some/model", row.name));
        ask(&*model, &asking, TIME)
            .await
            .unwrap_or_else(|fault| panic!("{}: {fault}", row.name));
        let argv = bench.seen_list("argv");
        let after = |flag: &str| {
            argv.iter()
                .position(|arg| arg == flag)
                .and_then(|at| argv.get(at + 1))
                .map(String::as_str)
        };
        assert_eq!(
            after("--model"),
            Some("some/model"),
            "{}: {argv:?}",
            row.name
        );
        assert_eq!(bench.seen("stdin"), asking.prompt.user, "{}", row.name);
        let file = match row.name {
            "codex" | "opencode" => "AGENTS.md",
            "gemini" => "GEMINI.md",
            _ => {
                assert_eq!(after("--system-prompt"), Some(&*asking.prompt.system));
                assert_eq!(after("--json-schema"), Some(&*asking.schema.json));
                continue;
            }
        };
        assert_eq!(
            bench.seen(&format!("work/{file}")),
            asking.prompt.system,
            "{}",
            row.name
        );
        assert!(
            !argv
                .iter()
                .any(|arg| arg.contains("careful") || arg.contains("Which one")),
            "{argv:?}"
        );
    }
}
