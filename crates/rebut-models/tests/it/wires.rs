//! One suite for every wire format, against a server that is as strict as the vendors.

use crate::{
    asking::{Asking, SCHEMA},
    sweep::read_request,
};
use rebut_engine::{
    agent::Effort,
    model::{Answer, Deltas, Fault, FaultKind, Finish, Model, Price, Usage},
    prompt::{Fence, Hole, Pieces, Template},
};
use rebut_models::{
    address::Address,
    http::{EffortForm, Endpoint, HttpModel, Manner, Structured, WireKind, client},
    key::Key,
};
use rebut_testkit::model_server::{Behaviour, Ending, Failure, ModelServer, Said, Seen};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{io::AsyncWriteExt, net::TcpListener};

pub const KEY: &str = "key-0123456789abcdef";

/// A wire and how it differs from the others where the suite can see it.
pub struct Row {
    pub wire: WireKind,
    pub path: &'static str,
    pub stream_path: &'static str,
    pub key_header: (&'static str, &'static str),
    /// The part of the output that the vendor says was thinking.
    pub reasoning: u64,
    pub overloaded: FaultKind,
    pub has_headroom: bool,
    /// Where the schema stands in the request.
    pub schema: &'static str,
}

pub const ROWS: &[Row] = &[
    Row {
        wire: WireKind::Chat,
        path: "POST /v1/chat/completions",
        stream_path: "POST /v1/chat/completions",
        key_header: ("authorization", "Bearer key-0123456789abcdef"),
        reasoning: 5,
        overloaded: FaultKind::Server,
        has_headroom: true,
        schema: "/response_format/json_schema/schema",
    },
    Row {
        wire: WireKind::Responses,
        path: "POST /v1/responses",
        stream_path: "POST /v1/responses",
        key_header: ("authorization", "Bearer key-0123456789abcdef"),
        reasoning: 5,
        overloaded: FaultKind::Server,
        has_headroom: true,
        schema: "/text/format/schema",
    },
    Row {
        wire: WireKind::Anthropic,
        path: "POST /v1/messages",
        stream_path: "POST /v1/messages",
        key_header: ("x-api-key", KEY),
        reasoning: 0,
        overloaded: FaultKind::RateLimited,
        has_headroom: true,
        schema: "/output_config/format/schema",
    },
    Row {
        wire: WireKind::Gemini,
        path: "POST /v1/models/m:generateContent",
        stream_path: "POST /v1/models/m:streamGenerateContent?alt=sse",
        key_header: ("x-goog-api-key", KEY),
        reasoning: 5,
        overloaded: FaultKind::Server,
        has_headroom: false,
        schema: "/generationConfig/responseJsonSchema",
    },
];

pub fn endpoint(row: &Row, base_url: String) -> Endpoint {
    Endpoint {
        name: "test".to_owned(),
        address: Some(Address::parse(&base_url).map_err(|error| error.to_string())),
        key: Some(Key::new(KEY)),
        prices: BTreeMap::from([(
            "m".to_owned(),
            Price {
                input: 2.0,
                cached: Some(0.5),
                output: 10.0,
            },
        )]),
        manner: Manner {
            wire: row.wire,
            ..Manner::default()
        },
        ..Endpoint::default()
    }
}

pub fn model(endpoint: Endpoint) -> HttpModel {
    let connect = endpoint.timeouts.connect();
    HttpModel::new(
        client(connect).expect("a client"),
        Arc::new(endpoint),
        "m".to_owned(),
    )
    .expect("a model")
}

/// What came back from one ask, what was shown on the way, and what the server saw.
pub struct Tried {
    pub result: Result<Answer, Fault>,
    pub shown: String,
    pub seen: Seen,
}

impl Tried {
    pub fn fault(self, about: &str) -> Fault {
        self.result.expect_err(about)
    }
}

/// Asks once, streamed or not, and checks what must always hold.
pub async fn once(
    row: &Row,
    streamed: bool,
    asking: &mut Asking,
    change: impl FnOnce(&mut Endpoint),
    behaviour: fn() -> Behaviour,
) -> Tried {
    let server = ModelServer::start(move |_, _| behaviour())
        .await
        .expect("a server");
    asking.deltas = if streamed {
        Deltas::with_capacity(256)
    } else {
        Deltas::default()
    };
    let mut listener = asking.deltas.listen().map(|listening| listening.pieces);
    let mut endpoint = endpoint(row, server.base_url());
    change(&mut endpoint);
    let model = model(endpoint);
    let wire = model.wire(&asking.request("t", 1));
    let result = asking.ask(&model).await;
    let mut shown = String::new();
    while let Some(Ok(delta)) = listener.as_mut().map(|listener| listener.try_recv()) {
        shown.push_str(&delta.text);
    }
    let [seen] = &server.seen()[..] else {
        panic!("one ask is one request: {:?}", server.seen())
    };
    assert_eq!(
        wire.split_once("\n\n").expect("a head and a body").1,
        seen.body,
        "a dry run shows exactly what is sent"
    );
    let fault = result
        .as_ref()
        .err()
        .map(|fault| format!("{fault} {:?}", fault.partial))
        .unwrap_or_default();
    for text in [&wire, &fault, &shown] {
        assert!(!text.contains(KEY), "{:?}: {text}", row.wire);
    }
    Tried {
        result,
        shown,
        seen: seen.clone(),
    }
}

/// Where every answer waited for its provider to let go of the connection, even a fifth of a second
/// each, this would take too long.
#[tokio::test]
async fn an_answer_is_there_at_its_end_whoever_keeps_the_connection() {
    for row in ROWS {
        let server = ModelServer::start(|_, _| Behaviour::Kept("whole".to_owned()))
            .await
            .expect("a server");
        let model = model(endpoint(row, server.base_url()));
        let asking = Asking {
            deltas: Deltas::with_capacity(256),
            ..Asking::new()
        };
        let all = async {
            for _ in 0..100 {
                let answer = asking
                    .ask(&model)
                    .await
                    .unwrap_or_else(|fault| panic!("{:?}: {fault}", row.wire));
                assert_eq!(
                    (answer.text.as_str(), answer.finish),
                    ("whole", Finish::Complete),
                    "{:?}",
                    row.wire
                );
                assert_eq!(
                    answer.usage.map(|usage| usage.output),
                    Some(20),
                    "{:?}: counts before the end are kept",
                    row.wire
                );
            }
        };
        tokio::time::timeout(Duration::from_secs(15), all)
            .await
            .unwrap_or_else(|_| panic!("{:?} waits for the connection", row.wire));
    }
}

/// Who says that the answer has ended, but neither how much it used nor that nothing more comes, is
/// not waited for until it falls silent.
#[tokio::test]
async fn an_answer_without_counts_and_mark_is_there_soon_after_its_end() {
    let rows = [
        (
            0,
            r#"{"choices":[{"delta":{"content":"whole"},"finish_reason":"stop"}]}"#,
        ),
        (
            3,
            r#"{"candidates":[{"content":{"parts":[{"text":"whole"}]},"finishReason":"STOP"}]}"#,
        ),
    ];
    for (row, event) in rows {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            read_request(&mut stream).await.expect("a request");
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {event}\n\n"
            );
            stream
                .write_all(answer.as_bytes())
                .await
                .expect("a client that listens");
            std::future::pending::<()>().await;
        });
        let model = model(endpoint(&ROWS[row], base_url));
        let asking = Asking {
            deltas: Deltas::with_capacity(256),
            ..Asking::new()
        };
        let answer = tokio::time::timeout(Duration::from_secs(30), asking.ask(&model)).await;
        let answer = answer
            .unwrap_or_else(|_| panic!("{:?} waits for silence", ROWS[row].wire))
            .expect("an answer");
        assert_eq!(
            (answer.text.as_str(), answer.finish, answer.usage),
            ("whole", Finish::Complete, None),
            "{:?}",
            ROWS[row].wire
        );
        server.abort();
    }
}

#[tokio::test]
async fn a_limit_is_ours_where_we_send_one() {
    for row in ROWS {
        let is_required = row.wire == WireKind::Anthropic;
        let mut at = endpoint(row, "http://127.0.0.1:1/v1".to_owned());
        at.manner.effort = EffortForm::Budget;
        let (model, mut agent) = (model(at), Asking::new().agent);
        assert_eq!(
            model.answer_limit(&agent),
            is_required.then_some(4096),
            "{:?}",
            row.wire
        );
        agent.effort = Some(Effort::Low);
        assert_eq!(
            model.answer_limit(&agent),
            is_required.then_some(4096 + 2048),
            "{:?}: thinking comes on top",
            row.wire
        );
        agent.max_tokens = Some(300);
        assert_eq!(model.answer_limit(&agent), Some(300), "{:?}", row.wire);
    }
}

#[tokio::test]
async fn an_answer_is_read_whole_or_in_pieces() {
    for row in ROWS {
        for streamed in [false, true] {
            let say = || Behaviour::Say(format!("{{\"z\": \"ü {KEY}\", \"a\": \"\"}}"));
            let tried = once(row, streamed, &mut Asking::new(), |_| {}, say).await;
            let answer = tried
                .result
                .unwrap_or_else(|fault| panic!("{:?} {streamed}: {fault}", row.wire));
            assert_eq!(
                answer.text, "{\"z\": \"ü [secret]\", \"a\": \"\"}",
                "{:?}",
                row.wire
            );
            assert_eq!(
                tried.shown,
                if streamed { answer.text.as_str() } else { "" },
                "{:?}",
                row.wire
            );
            let cost_usd = Some((60.0 * 2.0 + 40.0 * 0.5 + 20.0 * 10.0) / 1e6);
            let usage = Usage {
                input: 60,
                cached: 40,
                output: 20,
                reasoning: row.reasoning,
                cost_usd,
            };
            assert_eq!(
                (answer.usage, answer.finish),
                (Some(usage), Finish::Complete),
                "{:?} {streamed}",
                row.wire
            );
            assert_eq!(answer.model.as_deref(), Some("served-model"));
            let headroom = answer
                .headroom
                .map(|headroom| (headroom.requests, headroom.tokens));
            assert_eq!(
                headroom,
                row.has_headroom.then_some((Some(59), Some(149_984))),
                "{:?}",
                row.wire
            );

            assert_eq!(
                tried.seen.line,
                if streamed { row.stream_path } else { row.path }
            );
            assert_eq!(tried.seen.header(row.key_header.0), Some(row.key_header.1));
            assert_eq!(tried.seen.header("accept-encoding"), None);
            assert_eq!(
                tried.seen.json().pointer(row.schema),
                Some(&serde_json::from_str::<Value>(SCHEMA).expect("JSON"))
            );
            assert!(
                tried.seen.body.contains(SCHEMA),
                "{:?}: the schema keeps its order",
                row.wire
            );
        }
    }
}

#[tokio::test]
async fn temperature_limit_and_effort_are_sent_where_they_are_taken() {
    let absent = Value::Null;
    let rows: [(usize, EffortForm, &str, Value); 8] = [
        (0, EffortForm::Level, "/reasoning_effort", json!("minimal")),
        (0, EffortForm::None, "/reasoning_effort", absent.clone()),
        (
            1,
            EffortForm::Level,
            "/reasoning",
            json!({"effort": "minimal"}),
        ),
        (2, EffortForm::Level, "/output_config/effort", json!("low")),
        (
            2,
            EffortForm::Budget,
            "/thinking",
            json!({"type": "enabled", "budget_tokens": 1024}),
        ),
        (2, EffortForm::None, "/output_config/effort", absent.clone()),
        (
            3,
            EffortForm::Level,
            "/generationConfig/thinkingConfig",
            json!({"thinkingLevel": "minimal"}),
        ),
        (
            3,
            EffortForm::Budget,
            "/generationConfig/thinkingConfig",
            json!({"thinkingBudget": 1024}),
        ),
    ];
    let limits = [
        "/max_tokens",
        "/max_output_tokens",
        "/max_tokens",
        "/generationConfig/maxOutputTokens",
    ];
    let temperatures = [
        "/temperature",
        "/temperature",
        "/temperature",
        "/generationConfig/temperature",
    ];
    for (number, form, pointer, expected) in rows {
        let row = &ROWS[number];
        for takes_temperature in [true, false] {
            let mut asking = Asking::new();
            (
                asking.agent.temperature,
                asking.agent.max_tokens,
                asking.agent.effort,
            ) = (Some(0.25), Some(3000), Some(Effort::Minimal));
            let change = |endpoint: &mut Endpoint| {
                (endpoint.manner.effort, endpoint.manner.temperature) = (form, takes_temperature)
            };
            let tried = once(row, false, &mut asking, change, || {
                Behaviour::Say("{}".to_owned())
            })
            .await;
            tried
                .result
                .unwrap_or_else(|fault| panic!("{:?} {form:?}: {fault}", row.wire));
            let sent = tried.seen.json();
            let at = |pointer: &str| sent.pointer(pointer).cloned().unwrap_or_default();
            assert_eq!(at(pointer), expected, "{:?} {form:?}", row.wire);
            assert_eq!(at(limits[number]), 3000);
            // Anthropic's thinking with a budget allows none.
            let sends = takes_temperature && !(number == 2 && form == EffortForm::Budget);
            assert_eq!(
                at(temperatures[number]),
                if sends { json!(0.25) } else { Value::Null },
                "{:?} {form:?}",
                row.wire
            );
        }
    }
    for row in ROWS {
        let tried = once(
            row,
            false,
            &mut Asking::new(),
            |_| {},
            || Behaviour::Say("{}".to_owned()),
        )
        .await;
        let sent = tried.seen.body;
        for word in ["temperature", "effort", "hinking"] {
            assert!(
                !sent.contains(word),
                "{:?} sends {word} unasked: {sent}",
                row.wire
            );
        }
        assert_eq!(
            sent.contains("\"max_tokens\":4096"),
            row.wire == WireKind::Anthropic,
            "{sent}"
        );
    }
}

#[tokio::test]
async fn settings_that_do_not_fit_are_cut_down_or_named() {
    const NONE: &[&str] = &[];
    type Case = (
        usize,
        EffortForm,
        Structured,
        u32,
        &'static str,
        Value,
        &'static [&'static str],
    );
    let thinking = |budget: u32| json!({"type": "enabled", "budget_tokens": budget});
    let rows: [Case; 8] = [
        (
            0,
            EffortForm::Level,
            Structured::Schema,
            800,
            "/reasoning_effort",
            json!("high"),
            NONE,
        ),
        (
            0,
            EffortForm::None,
            Structured::Schema,
            800,
            "/reasoning_effort",
            Value::Null,
            &["effort: the model cannot be told"],
        ),
        (
            0,
            EffortForm::Budget,
            Structured::Schema,
            800,
            "/reasoning_effort",
            Value::Null,
            &["set effort = \"level\""],
        ),
        (
            2,
            EffortForm::Budget,
            Structured::Schema,
            800,
            "/thinking",
            Value::Null,
            &["max_tokens leaves no room to think"],
        ),
        (
            2,
            EffortForm::Budget,
            Structured::Schema,
            6000,
            "/thinking",
            thinking(4976),
            &["temperature: thinking"],
        ),
        (
            2,
            EffortForm::Budget,
            Structured::Tool,
            6000,
            "/thinking",
            Value::Null,
            &["allows no thinking"],
        ),
        (
            3,
            EffortForm::Budget,
            Structured::Schema,
            999,
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(499),
            NONE,
        ),
        (
            3,
            EffortForm::Budget,
            Structured::Schema,
            60_000,
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(16_384),
            NONE,
        ),
    ];
    for (number, form, structured, most, pointer, expected, left_out) in rows {
        let row = &ROWS[number];
        let about = format!("{:?} {form:?} {structured:?} {most}", row.wire);
        let mut asking = Asking::new();
        (
            asking.agent.temperature,
            asking.agent.max_tokens,
            asking.agent.effort,
        ) = (Some(0.25), Some(most), Some(Effort::High));
        let change = |endpoint: &mut Endpoint| {
            (endpoint.manner.effort, endpoint.manner.structured) = (form, structured)
        };
        let mut same = endpoint(row, "http://127.0.0.1:9/v1".to_owned());
        change(&mut same);
        let named = model(same).left_out(&asking.request("t", 1));
        assert!(
            named.len() == left_out.len()
                && named
                    .iter()
                    .zip(left_out)
                    .all(|(named, part)| named.contains(part)),
            "{about}: {named:?}"
        );
        let tried = once(row, false, &mut asking, change, || {
            Behaviour::Say("{}".to_owned())
        })
        .await;
        tried
            .result
            .unwrap_or_else(|fault| panic!("{about}: {fault}"));
        assert_eq!(
            tried
                .seen
                .json()
                .pointer(pointer)
                .cloned()
                .unwrap_or_default(),
            expected,
            "{about}"
        );
    }
}

#[tokio::test]
async fn every_failure_has_its_class_on_every_wire() {
    type Failing = (fn() -> Behaviour, Option<FaultKind>, &'static str);
    let rows: [Failing; 7] = [
        (
            || Behaviour::Fail(Failure::RateLimited),
            Some(FaultKind::RateLimited),
            "",
        ),
        (
            || Behaviour::Fail(Failure::Quota),
            Some(FaultKind::Quota),
            "",
        ),
        (
            || Behaviour::Fail(Failure::TooLong),
            Some(FaultKind::TooLong),
            "",
        ),
        (
            || Behaviour::Fail(Failure::BadKey),
            Some(FaultKind::Auth),
            "[secret]",
        ),
        (
            || Behaviour::Fail(Failure::NoModel),
            Some(FaultKind::NotFound),
            "(model `m` at http://127.0.0.1:",
        ),
        (|| Behaviour::Fail(Failure::Overloaded), None, ""),
        (
            || Behaviour::Fail(Failure::Internal),
            Some(FaultKind::Server),
            "",
        ),
    ];
    for row in ROWS {
        for (number, (behaviour, kind, words)) in rows.iter().enumerate() {
            for streamed in [false, true] {
                let tried = once(row, streamed, &mut Asking::new(), |_| {}, *behaviour).await;
                let fault = tried.fault("a failure");
                let kind = kind.unwrap_or(row.overloaded);
                assert_eq!(fault.kind, kind, "{:?} row {number}: {fault}", row.wire);
                assert!(
                    fault.message.starts_with("test: ") && fault.message.contains(words),
                    "{:?} row {number}: {fault}",
                    row.wire
                );
                assert_eq!(
                    fault.retry_after_ms,
                    (kind == FaultKind::RateLimited && number == 0).then_some(3000),
                    "{:?} row {number}",
                    row.wire
                );
                assert_eq!(
                    fault.headroom.is_some(),
                    row.has_headroom,
                    "{:?} row {number}",
                    row.wire
                );
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_whole_answer_is_said_to_be_none() {
    const CUT: fn() -> Behaviour = || {
        Behaviour::Give(Said {
            ending: Ending::Length,
            ..Said::text("{\"z\":")
        })
    };
    const FILTERED: fn() -> Behaviour = || {
        Behaviour::Give(Said {
            ending: Ending::Filtered,
            ..Said::text("half")
        })
    };
    const THOUGHT: fn() -> Behaviour = || {
        Behaviour::Give(Said {
            thinking: true,
            ..Said::text("")
        })
    };
    const LIMITED: fn() -> Behaviour = || {
        Behaviour::Give(Said {
            thinking: true,
            ending: Ending::Length,
            ..Said::text("")
        })
    };
    const PAGE: fn() -> Behaviour = || Behaviour::Send {
        status: 200,
        headers: vec![("content-type", "text/html".to_owned())],
        body: b"<h1>Log in</h1>".to_vec(),
    };
    const FOREIGN: fn() -> Behaviour = || Behaviour::json(200, "{\"ok\":true}");
    const LARGE: fn() -> Behaviour = || Behaviour::Say("x".repeat(5 << 20));
    const PACKED: fn() -> Behaviour = || Behaviour::Send {
        status: 200,
        headers: vec![("content-encoding", "gzip".to_owned())],
        body: vec![0x1f, 0x8b, 8, 0],
    };
    for row in ROWS {
        for streamed in [false, true] {
            let tried = once(row, streamed, &mut Asking::new(), |_| {}, CUT)
                .await
                .result
                .expect("a text that was cut");
            assert_eq!(
                (tried.text.as_str(), tried.finish),
                ("{\"z\":", Finish::Length),
                "{:?}",
                row.wire
            );
            assert_eq!(
                tried.usage.map(|usage| usage.output),
                Some(20),
                "{:?}",
                row.wire
            );
            let rows = [
                (FILTERED, FaultKind::Refused, "filter", Some("half")),
                (THOUGHT, FaultKind::Empty, "only thinking", None),
                (LIMITED, FaultKind::Empty, "raise max_tokens", None),
                (PAGE, FaultKind::Unreadable, "Log in", None),
                (FOREIGN, FaultKind::Unreadable, "the answer is no ", None),
                (LARGE, FaultKind::TooLarge, "larger than", None),
                (PACKED, FaultKind::Unreadable, "compressed", None),
            ];
            for (behaviour, kind, words, partial) in rows {
                let fault = once(row, streamed, &mut Asking::new(), |_| {}, behaviour)
                    .await
                    .fault(words);
                assert_eq!(fault.kind, kind, "{:?} {streamed}: {fault}", row.wire);
                assert!(
                    fault.message.contains(words),
                    "{:?} {streamed}: {fault}",
                    row.wire
                );
                if kind == FaultKind::TooLarge {
                    assert!(
                        fault
                            .partial
                            .is_none_or(|partial| partial.len() <= 16 << 10),
                        "evidence is bounded"
                    );
                } else {
                    assert_eq!(
                        fault.partial.as_deref(),
                        partial,
                        "{:?} {streamed}",
                        row.wire
                    );
                    let paid = matches!(kind, FaultKind::Refused | FaultKind::Empty);
                    assert_eq!(
                        fault
                            .usage
                            .as_ref()
                            .and_then(|usage| usage.cost_usd)
                            .is_some(),
                        paid,
                        "{:?} {streamed}: {fault}",
                        row.wire
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn a_stream_without_its_end_is_evidence_and_no_answer() {
    for row in ROWS {
        for behaviour in [
            || Behaviour::Cut(format!("one two {KEY}")),
            || Behaviour::Late(format!("one two {KEY}")),
        ] {
            let tried = once(row, true, &mut Asking::new(), |_| {}, behaviour).await;
            let shown = tried.shown.clone();
            let fault = tried.fault("no end");
            assert_eq!(fault.kind, FaultKind::Incomplete, "{:?}: {fault}", row.wire);
            assert_eq!(
                fault.partial.as_deref(),
                Some("one two [secret]"),
                "{:?}",
                row.wire
            );
            assert!(
                "one two [secret]".starts_with(&shown),
                "{:?}: {shown}",
                row.wire
            );
            assert_eq!(
                fault.usage, None,
                "{:?}: what is counted on the way is not what is billed",
                row.wire
            );
        }
    }
}

#[tokio::test]
async fn a_stream_is_read_whatever_its_head_calls_it() {
    for row in ROWS {
        for streamed in [false, true] {
            let tried = once(
                row,
                streamed,
                &mut Asking::new(),
                |_| {},
                || Behaviour::Mislabelled("one two".to_owned()),
            )
            .await;
            let answer = tried
                .result
                .unwrap_or_else(|fault| panic!("{:?} {streamed}: {fault}", row.wire));
            assert_eq!(
                (answer.text.as_str(), answer.usage.map(|usage| usage.output)),
                ("one two", Some(20)),
                "{:?}",
                row.wire
            );
            assert_eq!(
                tried.shown,
                if streamed { "one two" } else { "" },
                "{:?}",
                row.wire
            );
        }
    }
}

#[tokio::test]
async fn counts_hold_once_the_end_is_told() {
    const END_WITHOUT_STOP: &str = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"type\":\"message\",\"usage\":{\"input_tokens\":60,\"output_tokens\":1}}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":20}}\n\n",
    );
    const FAILED: &str = concat!(
        "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\"},",
        "\"usage\":{\"input_tokens\":60,\"output_tokens\":20}}}\n\n",
    );
    const SO_FAR: &str = concat!(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"one\"}]}}],",
        "\"usageMetadata\":{\"promptTokenCount\":60,\"candidatesTokenCount\":1}}\n\n",
    );
    const REFUSED_IN_THE_MIDDLE: &str = concat!(
        "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}],\"usage\":{\"prompt_tokens\":60,\"completion_tokens\":1}}\n\n",
        "data: {\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}\n\n",
    );
    type Row = (
        usize,
        fn() -> Behaviour,
        FaultKind,
        Option<u64>,
        Option<&'static str>,
    );
    let rows: [Row; 4] = [
        (
            2,
            || Behaviour::events(END_WITHOUT_STOP),
            FaultKind::Incomplete,
            Some(20),
            None,
        ),
        (
            1,
            || Behaviour::events(FAILED),
            FaultKind::Server,
            Some(20),
            None,
        ),
        (
            3,
            || Behaviour::events(SO_FAR),
            FaultKind::Incomplete,
            None,
            Some("one"),
        ),
        // It will not be asked again, and yet may be paid: an answer had begun.
        (
            0,
            || Behaviour::events(REFUSED_IN_THE_MIDDLE),
            FaultKind::TooLong,
            None,
            Some(""),
        ),
    ];
    for (number, behaviour, kind, output, partial) in rows {
        let fault = once(&ROWS[number], true, &mut Asking::new(), |_| {}, behaviour)
            .await
            .fault("no whole answer");
        let found = (
            fault.kind,
            fault.usage.as_ref().map(|usage| usage.output),
            fault.partial.as_deref(),
        );
        assert_eq!(
            found,
            (kind, output, partial),
            "{:?}: {fault}",
            ROWS[number].wire
        );
    }
}

/// A prompt as formats make them.
struct Case;

impl Template for Case {
    const FILE: &'static str = "case.md";
    const SOURCE: &'static str = "[system]\nBe careful.\n[user]\nQuestion: \
        {{question}}\n\nContext:\n{{context}}\n\n{{others}}\n\nReply.";
    const HOLES: &'static [(&'static str, Hole)] = &[
        ("question", Hole::Word),
        ("context", Hole::Data),
        ("others", Hole::Data),
    ];

    fn value(&self, hole: usize) -> &str {
        ["Which?", "Two\n\nparagraphs.", "B is best."][hole]
    }

    fn pieces() -> &'static Pieces {
        static PIECES: OnceLock<Pieces> = OnceLock::new();
        PIECES.get_or_init(Pieces::of::<Self>)
    }
}

#[tokio::test]
async fn anthropic_is_told_what_to_keep_and_takes_a_tool_where_it_knows_no_schema() {
    let row = &ROWS[2];
    let mut asking = Asking::new();
    asking.prompt = Case.render(&Fence::new("f00"));
    let tried = once(
        row,
        false,
        &mut asking,
        |_| {},
        || Behaviour::Say("{}".to_owned()),
    )
    .await;
    let sent = tried.seen.json();
    let ephemeral = json!({"type": "ephemeral"});
    assert_eq!(
        sent["system"],
        json!([{"type": "text", "text": "Be careful.", "cache_control": ephemeral}])
    );
    let stable =
        "Question: Which?\n\nContext:\n<<<data f00>>>\nTwo\n\nparagraphs.\n<<<end f00>>>\n\n";
    let growing = "<<<data f00>>>\nB is best.\n<<<end f00>>>\n\nReply.";
    let blocks = json!([{"type": "text", "text": stable, "cache_control": ephemeral}, {"type": "text", "text": growing}]);
    assert_eq!(sent["messages"][0]["content"], blocks);

    for streamed in [false, true] {
        let by_tool = |endpoint: &mut Endpoint| endpoint.manner.structured = Structured::Tool;
        let say = || {
            Behaviour::Give(Said {
                thinking: true,
                ..Said::text("{\"z\":\"ü\"}")
            })
        };
        let tried = once(row, streamed, &mut Asking::new(), by_tool, say).await;
        assert_eq!(
            tried.seen.json()["tool_choice"],
            json!({"type": "tool", "name": "ballot"})
        );
        assert_eq!(
            tried.seen.json()["tools"][0]["input_schema"],
            serde_json::from_str::<Value>(SCHEMA).expect("JSON")
        );
        assert_eq!(tried.result.expect("an answer").text, "{\"z\":\"ü\"}");
    }
    let chat = Endpoint {
        manner: Manner {
            structured: Structured::Tool,
            ..Manner::default()
        },
        ..endpoint(&ROWS[0], "http://[::1]/".to_owned())
    };
    let refused = HttpModel::new(
        client(Duration::from_secs(1)).expect("a client"),
        Arc::new(chat),
        "m".to_owned(),
    );
    assert!(refused.is_err_and(|fault| {
        fault
            .message
            .contains("structured = \"tool\" is for the wire anthropic")
    }));
}
