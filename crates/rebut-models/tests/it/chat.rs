//! Chat completions in all their oddities, against a real server on the loopback.

use crate::asking::{Asking, SCHEMA};
use rebut_engine::model::{Answer, Deltas, Fault, FaultKind, Finish, Model, Price, Usage};
use rebut_models::{
    address::Address,
    http::{Endpoint, HttpModel, MOST_TEXT, Manner, MaxTokensField, Structured, client},
    key::Key,
};
use rebut_testkit::model_server::{Behaviour, ModelServer, completion, stream_of};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const KEY: &str = "sk-test-0123456789abcdef";
const HEADER_SECRET: &str = "header-secret-42";

fn endpoint(base_url: String) -> Endpoint {
    Endpoint {
        name: "test".to_owned(),
        address: Some(Address::parse(&base_url).map_err(|error| error.to_string())),
        key: Some(Key::new(KEY)),
        headers: BTreeMap::from([
            ("X-Team".to_owned(), "blue".to_owned()),
            ("X-Api-Key".to_owned(), HEADER_SECRET.to_owned()),
        ]),
        prices: BTreeMap::from([(
            "m".to_owned(),
            Price {
                input: 2.0,
                cached: Some(0.5),
                output: 10.0,
            },
        )]),
        ..Endpoint::default()
    }
}

fn model(endpoint: Endpoint, name: &str) -> HttpModel {
    HttpModel::new(
        client(Duration::from_secs(20)).expect("a client"),
        Arc::new(endpoint),
        name.to_owned(),
    )
    .expect("a model")
}

/// Asks once what a server does, streamed or not, and checks that it was asked exactly once.
async fn once(
    streamed: bool,
    behave: impl Fn() -> Behaviour + Send + Sync + 'static,
) -> Result<Answer, Fault> {
    let server = ModelServer::start(move |_, _| behave())
        .await
        .expect("a server");
    let mut asking = Asking::new();
    asking.deltas = if streamed {
        Deltas::with_capacity(64)
    } else {
        Deltas::default()
    };
    let _listener = asking.deltas.listen();
    let result = asking.ask(&model(endpoint(server.base_url()), "m")).await;
    assert_eq!(server.seen().len(), 1, "one ask is one request");
    if let Err(fault) = &result {
        assert!(
            !fault.message.contains(KEY) && !fault.message.contains(HEADER_SECRET),
            "{fault}"
        );
        assert!(fault.message.chars().count() < 600, "{fault}");
    }
    result
}

#[tokio::test]
async fn a_plain_answer_and_exactly_what_was_sent() {
    let server = ModelServer::start(|_, _| Behaviour::Say("{\"z\": \"ü\"}".to_owned()))
        .await
        .expect("a server");
    let mut asking = Asking::new();
    asking.agent.temperature = Some(0.25);
    asking.agent.max_tokens = Some(300);
    let model = model(endpoint(server.base_url()), "m");
    let wire = model.wire(&asking.request("t", 1));
    assert!(server.seen().is_empty(), "a dry run sends nothing");
    let answer = asking.ask(&model).await.expect("an answer");
    // 60 fresh, 40 cached, 20 out, at the prices above.
    let usage = Usage {
        input: 60,
        cached: 40,
        output: 20,
        reasoning: 5,
        cost_usd: Some((60.0 * 2.0 + 40.0 * 0.5 + 20.0 * 10.0) / 1e6),
    };
    let expected = Answer {
        text: "{\"z\": \"ü\"}".to_owned(),
        model: Some("served-model".to_owned()),
        usage: Some(usage),
        finish: Finish::Complete,
        ..Answer::default()
    };
    let headroom = answer.headroom.expect("what is left");
    assert_eq!(
        (headroom.requests, headroom.tokens, headroom.resets_in),
        (Some(59), Some(149_984), Some(Duration::from_secs(360)))
    );
    assert_eq!(
        Answer {
            headroom: None,
            ..answer
        },
        expected
    );

    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].line, "POST /v1/chat/completions");
    assert_eq!(
        seen[0].header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
    assert_eq!(
        (seen[0].header("x-team"), seen[0].header("x-api-key")),
        (Some("blue"), Some(HEADER_SECRET))
    );
    let sent = json!({
        "model": "m",
        "messages": [{"role": "system", "content": asking.prompt.system}, {"role": "user", "content": asking.prompt.user}],
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "ballot", "strict": true, "schema": serde_json::from_str::<Value>(SCHEMA).expect("JSON")}},
        "temperature": 0.25, "max_tokens": 300,
    });
    assert_eq!(seen[0].json(), sent);
    assert!(
        seen[0].body.contains(&*asking.schema.json),
        "the schema keeps its order"
    );

    let (head, body) = wire.split_once("\n\n").expect("a blank line");
    assert_eq!(body, seen[0].body);
    assert!(
        head.starts_with(&format!("POST {}/chat/completions\n", server.base_url())),
        "{head}"
    );
    assert!(
        head.contains("\nauthorization: Bearer [secret]")
            && head.contains("\nx-api-key: [secret]")
            && head.contains("\nx-team: blue"),
        "{head}"
    );
    assert!(!wire.contains(KEY) && !wire.contains(HEADER_SECRET));
    let agent = seen[0].header("user-agent").expect("who asks");
    assert!(
        agent.starts_with("rebut/") && head.contains(&format!("\nuser-agent: {agent}")),
        "{agent}: {head}"
    );
}

#[tokio::test]
async fn the_form_is_asked_for_as_the_endpoint_takes_it() {
    for (structured, format) in [
        (Structured::Object, json!({"type": "json_object"})),
        (Structured::None, Value::Null),
    ] {
        let server = ModelServer::start(|_, _| Behaviour::Say("{}".to_owned()))
            .await
            .expect("a server");
        let mut asking = Asking::new();
        asking.agent.max_tokens = Some(7);
        asking.agent.temperature = Some(f64::NAN);
        asking.prompt.system = "".into();
        let manner = Manner {
            structured,
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            ..Manner::default()
        };
        let endpoint = Endpoint {
            manner,
            key: None,
            ..endpoint(server.base_url())
        };
        let answer = asking
            .ask(&model(endpoint, "unpriced"))
            .await
            .expect("an answer");
        assert_eq!(
            answer.usage.expect("usage").cost_usd,
            None,
            "an unknown price is not zero"
        );
        let sent = server.seen()[0].json();
        assert_eq!(sent["response_format"], format);
        assert_eq!(sent["max_completion_tokens"], 7);
        assert_eq!(
            (sent.get("temperature"), sent.get("max_tokens")),
            (None, None)
        );
        assert_eq!(sent["messages"].as_array().map(Vec::len), Some(1));
        assert_eq!(server.seen()[0].header("authorization"), None);
    }
}

#[tokio::test]
async fn a_streamed_answer_comes_in_pieces_on_one_connection() {
    let text = format!("one two {KEY} three");
    let said = text.clone();
    let server = ModelServer::start(move |_, _| Behaviour::Say(said.clone()))
        .await
        .expect("a server");
    let mut asking = Asking::new();
    asking.deltas = Deltas::with_capacity(64);
    let mut pieces = asking.deltas.listen().expect("a channel").pieces;
    let model = model(endpoint(server.base_url()), "m");
    for _ in 0..2 {
        let answer = asking.ask(&model).await.expect("an answer");
        assert_eq!(answer.text, "one two [secret] three");
        assert_eq!(
            answer
                .usage
                .map(|usage| (usage.input, usage.cached, usage.output, usage.reasoning)),
            Some((60, 40, 20, 5))
        );
        let mut shown = Vec::new();
        while let Ok(delta) = pieces.try_recv() {
            shown.push(delta.text);
        }
        assert!(shown.len() > 2, "{shown:?}");
        assert_eq!(shown.concat(), "one two [secret] three");
    }
    let seen = server.seen();
    assert_eq!(
        seen[0].peer, seen[1].peer,
        "a finished stream gives its connection back"
    );
    let sent = seen[0].json();
    assert_eq!(
        (&sent["stream"], &sent["stream_options"]),
        (&json!(true), &json!({"include_usage": true}))
    );
}

#[tokio::test]
async fn every_failure_has_its_class() {
    let error = |message: &str, kind: &str, code: &str| {
        json!({"error": {"message": message, "type": kind, "code": code}}).to_string()
    };
    let html = "<!DOCTYPE html><html><head><title>502 Bad\u{1b}[31m \
        Gateway</title></head><body>nginx</body></html>"
        .to_owned();
    let page = html.clone();
    let choice = |message: Value, reason: Value| {
        json!({"choices": [{"message": message, "finish_reason": reason}]}).to_string()
    };
    let rows: Vec<(u16, String, FaultKind, &str)> = vec![
        (
            400,
            error("bad things", "invalid", ""),
            FaultKind::BadRequest,
            "400 Bad Request: bad things",
        ),
        (
            400,
            error(
                "'response_format' of type json_schema is not supported",
                "",
                "",
            ),
            FaultKind::BadRequest,
            "set structured = \"object\"",
        ),
        (
            413,
            "too long".to_owned(),
            FaultKind::BadRequest,
            "too long",
        ),
        (
            422,
            json!({"detail": "nope"}).to_string(),
            FaultKind::BadRequest,
            "nope",
        ),
        (
            401,
            error(&format!("Incorrect key: {KEY}."), "", ""),
            FaultKind::Auth,
            "Incorrect key: [secret].",
        ),
        (402, String::new(), FaultKind::Quota, "402 Payment Required"),
        (
            400,
            error("no money", "", "enforced_spend_limit_reached"),
            FaultKind::Quota,
            "no money",
        ),
        (
            400,
            error("the request exceeds the available context size", "", ""),
            FaultKind::TooLong,
            "context size",
        ),
        (
            400,
            error("blocked", "", "content_filter"),
            FaultKind::Refused,
            "blocked",
        ),
        (
            403,
            json!({"error": "forbidden"}).to_string(),
            FaultKind::Auth,
            "forbidden",
        ),
        (
            404,
            error("gone", "", ""),
            FaultKind::NotFound,
            "gone (model `m` at http://127.0.0.1:",
        ),
        (
            302,
            String::new(),
            FaultKind::Unavailable,
            "302 Found is a redirect to 127.0.0.1, and redirects are not followed (check base_url \
             of the provider test)",
        ),
        (
            429,
            error("slow down", "requests", "rate_limit_exceeded"),
            FaultKind::RateLimited,
            "slow down",
        ),
        (
            429,
            error("no money", "insufficient_quota", "x"),
            FaultKind::Quota,
            "no money",
        ),
        (
            429,
            error("no money", "", "billing_hard_limit_reached"),
            FaultKind::Quota,
            "no money",
        ),
        (
            529,
            error("overloaded", "", ""),
            FaultKind::RateLimited,
            "overloaded",
        ),
        (
            500,
            html.clone(),
            FaultKind::Server,
            "502 Bad Gateway nginx",
        ),
        (503, "x\n\ny".repeat(500), FaultKind::Server, "x yx y"),
        (
            200,
            page,
            FaultKind::Unreadable,
            "no chat completion: 502 Bad Gateway nginx",
        ),
        (
            200,
            "{\"ok\":true}".to_owned(),
            FaultKind::Unreadable,
            "no chat completion: {\"ok\":true}",
        ),
        (
            200,
            "{\"choices\":[{\"message\"".to_owned(),
            FaultKind::Unreadable,
            "no chat completion",
        ),
        (
            200,
            error("upstream", "", "429").replace("\"429\"", "429"),
            FaultKind::RateLimited,
            "upstream",
        ),
        (
            200,
            error("upstream", "", ""),
            FaultKind::Server,
            "upstream",
        ),
        (
            200,
            choice(json!({"content": null}), json!("stop")),
            FaultKind::Empty,
            "no text",
        ),
        (
            200,
            choice(json!({"content": " \n"}), json!("length")),
            FaultKind::Empty,
            "raise max_tokens",
        ),
        (
            200,
            json!({"model": "m", "choices": []}).to_string(),
            FaultKind::Empty,
            "no text",
        ),
        (
            200,
            choice(
                json!({"content": null, "refusal": format!("I won't {KEY}")}),
                json!("stop"),
            ),
            FaultKind::Refused,
            "I won't [secret]",
        ),
        (
            200,
            choice(json!({"content": "some"}), json!("content_filter")),
            FaultKind::Refused,
            "filter",
        ),
        (
            200,
            format!("\"{}\"", "x".repeat(MOST_TEXT)),
            FaultKind::TooLarge,
            "larger than",
        ),
    ];
    for (status, body, kind, message) in rows {
        let given = body.clone();
        let headers = vec![
            ("retry-after", "3".to_owned()),
            ("location", "http://127.0.0.1:9/".to_owned()),
        ];
        let fault = once(false, move || Behaviour::Send {
            status,
            headers: headers.clone(),
            body: given.clone().into(),
        })
        .await;
        let fault = fault.expect_err(message);
        assert_eq!(fault.kind, kind, "{status}: {fault}");
        assert!(
            fault.message.starts_with("test: ") && fault.message.contains(message),
            "{status}: {fault}"
        );
        let waits = status >= 400 && kind.is_passing();
        assert_eq!(
            fault.retry_after_ms,
            waits.then_some(3000),
            "{status}: {fault}"
        );
    }
}

#[tokio::test]
async fn odd_successes_are_still_answers() {
    let mut odd = completion("x").into_bytes();
    let at = odd
        .windows(4)
        .position(|bytes| bytes == b":\"x\"")
        .expect("the content")
        + 2;
    odd[at] = 0xff;
    let usage = |usage: Value| {
        json!({"choices": [{"message": {"content": "x"}}], "usage": usage})
            .to_string()
            .into_bytes()
    };
    let absurd =
        json!({"prompt_tokens": 1e300, "completion_tokens": -4, "prompt_tokens_details": null});
    let most = Usage {
        input: 100_000_000,
        ..Usage::default()
    };
    let parts = json!([{"type": "thinking", "thinking": [{"text": "hm"}]}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    let rows = [
        (odd, "\u{fffd}", Finish::Complete, Some(60)),
        (usage(absurd), "x", Finish::Complete, Some(most.input)),
        (usage(json!("many")), "x", Finish::Complete, None),
        (usage(Value::Null), "x", Finish::Complete, None),
        (
            json!({"choices": [{"message": {"content": "cut"}, "finish_reason": "length"}]})
                .to_string()
                .into_bytes(),
            "cut",
            Finish::Length,
            None,
        ),
        (
            json!({"choices": [{"message": {"content": parts}}]})
                .to_string()
                .into_bytes(),
            "ab",
            Finish::Complete,
            None,
        ),
        (
            completion(&format!("the key is {KEY}!")).into_bytes(),
            "the key is [secret]!",
            Finish::Complete,
            Some(60),
        ),
    ];
    for (body, text, finish, input) in rows {
        // A server that does not stream although asked to is understood as well.
        for streamed in [false, true] {
            let body = body.clone();
            let answer = once(streamed, move || Behaviour::json(200, body.clone()))
                .await
                .expect(text);
            assert_eq!((answer.text.as_str(), answer.finish), (text, finish));
            assert_eq!(answer.usage.map(|usage| usage.input), input);
        }
    }
}

#[tokio::test]
async fn streams_end_well_or_are_faults() {
    let whole = stream_of("one two");
    let without_done = whole.replace("data: [DONE]\n\n", "");
    let cut = whole[..whole.find("\"stop\"").expect("the end")].to_owned();
    let piece = |content: &str| {
        format!(
            "data: {}\n\n",
            json!({"choices": [{"delta": {"content": content}}]})
        )
    };
    let filtered = format!(
        "{}data: {}\n\ndata: [DONE]\n\n",
        piece("x"),
        json!({"choices": [{"delta": {}, "finish_reason": "content_filter"}]})
    );
    let ended = |content: &str, reason: &str| {
        let choice = json!({"delta": {"content": content}, "finish_reason": reason});
        format!("data: {}\n\n", json!({"choices": [choice]}))
    };
    // Some providers send an empty reason with each piece until the last.
    let draft = [ended("one", ""), ended(" two", "")].concat();
    let rows: Vec<(Vec<u8>, Result<&str, FaultKind>)> = vec![
        (
            format!("{draft}{}", ended("", "stop")).into(),
            Ok("one two"),
        ),
        (draft.into(), Err(FaultKind::Incomplete)),
        (ended("x", "STOP").into(), Ok("x")),
        (ended("x", "model_length").into(), Ok("x")),
        (
            ended("x", "insufficient_system_resource").into(),
            Err(FaultKind::Incomplete),
        ),
        (ended("x", "abort").into(), Err(FaultKind::Incomplete)),
        // Text behind an end takes it back.
        (
            format!("{}{}", ended("one", "stop"), piece(" two")).into(),
            Err(FaultKind::Incomplete),
        ),
        (
            format!("{}{}", ended("one", "stop"), ended(" two", "stop")).into(),
            Ok("one two"),
        ),
        (
            format!(": ping\r\n\r\n{}", whole.replace('\n', "\r\n")).into(),
            Ok("one two"),
        ),
        (without_done.into(), Ok("one two")),
        (format!("{}data: [DONE]\n\n", piece("x")).into(), Ok("x")),
        (
            format!("data: {{\"id\":1}}\n\n{whole}").into(),
            Ok("one two"),
        ),
        (cut.into(), Err(FaultKind::Incomplete)),
        (Vec::new(), Err(FaultKind::Incomplete)),
        (b"data: [DONE]\n\n".to_vec(), Err(FaultKind::Empty)),
        (
            format!(
                "{}data: {}\n\n",
                piece("x"),
                json!({"error": {"message": "late", "code": 503}})
            )
            .into(),
            Err(FaultKind::Incomplete),
        ),
        (
            format!(
                "{}data: {}\n\n",
                piece("x"),
                json!({"error": {"message": "late", "code": 402}})
            )
            .into(),
            Err(FaultKind::Quota),
        ),
        (
            format!(
                "data: {}\n\n",
                json!({"error": {"message": "early", "code": 503}})
            )
            .into(),
            Err(FaultKind::Server),
        ),
        (
            format!("{}event: error\ndata: lost\n\n", piece("x")).into(),
            Err(FaultKind::Incomplete),
        ),
        (b"data: <html>\n\n".to_vec(), Err(FaultKind::Unreadable)),
        (filtered.into(), Err(FaultKind::Refused)),
        (
            piece(&"y".repeat(1 << 20)).repeat(5).into(),
            Err(FaultKind::TooLarge),
        ),
        (
            [b"data: ".as_slice(), &[b'z'; MOST_TEXT + 1]].concat(),
            Err(FaultKind::TooLarge),
        ),
    ];
    for (number, (body, expected)) in rows.into_iter().enumerate() {
        let result = once(true, move || Behaviour::events(body.clone())).await;
        assert_eq!(
            result
                .as_ref()
                .map(|answer| answer.text.as_str())
                .map_err(|fault| fault.kind),
            expected,
            "row {number}: {result:?}"
        );
    }
}

#[tokio::test]
async fn broken_connections_leave_evidence_or_nothing() {
    let half = || Behaviour::Break {
        kind: "text/event-stream",
        body: stream_of("one two").into_bytes()[..450].to_vec(),
    };
    let fault = once(true, half).await.expect_err("broken");
    assert_eq!(
        (fault.kind, fault.partial.as_deref()),
        (FaultKind::Incomplete, Some("one t"))
    );
    let half = || Behaviour::Break {
        kind: "application/json",
        body: completion("x").into_bytes()[..40].to_vec(),
    };
    let fault = once(false, half).await.expect_err("broken");
    assert_eq!(
        (fault.kind, fault.partial.as_deref()),
        (FaultKind::Incomplete, Some(&completion("x")[..40]))
    );

    // A promise of more bytes than come, then a reset.
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a client");
        let _ = socket.read(&mut [0; 64]).await.expect("a request");
        socket
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{\"choices\":")
            .await
            .expect("sent");
        socket.set_zero_linger().expect("a reset");
    });
    let fault = Asking::new()
        .ask(&model(endpoint(base_url.clone()), "m"))
        .await
        .expect_err("a reset");
    assert_eq!(fault.kind, FaultKind::Incomplete, "{fault}");
    server
        .await
        .expect("the server ended, and with it the port");
    let fault = Asking::new()
        .ask(&model(endpoint(base_url.clone()), "m"))
        .await
        .expect_err("nobody there");
    assert_eq!(fault.kind, FaultKind::Unreachable);
    assert!(
        fault
            .message
            .contains(&format!("cannot connect to {base_url}")),
        "{fault}"
    );
}

#[tokio::test]
async fn requests_seen_are_asks_made_also_when_connections_die() {
    // Every second answer closes its connection, as servers with short keep-alives do.
    let server = ModelServer::start(|number, _| match number % 2 {
        0 => Behaviour::Say("{}".to_owned()),
        _ => Behaviour::Send {
            status: 500,
            headers: vec![("connection", "close".to_owned())],
            body: b"{}".to_vec(),
        },
    })
    .await
    .expect("a server");
    let model = model(endpoint(server.base_url()), "m");
    let asking = Asking::new();
    for number in 0..20 {
        assert_eq!(
            asking.ask(&model).await.is_ok(),
            number % 2 == 0,
            "{number}"
        );
    }
    assert_eq!(server.seen().len(), 20);
}
