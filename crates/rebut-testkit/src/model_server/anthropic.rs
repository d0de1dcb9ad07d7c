//! Anthropic's messages from the vendor's side.

use super::{
    Seen,
    strict::{Checked, bad, fields, is_count, is_text, one_of, schema, temperature, typed},
    vendor::{Ending, Events, Failure, Said, Vendor, named, pieces},
};
use serde_json::{Value, json};

pub(super) static VENDOR: Vendor = Vendor {
    check,
    is_streamed: |seen| seen.json()["stream"] == true,
    whole,
    events,
    error,
    failure,
    late_error: || named("error", &error(529, "Overloaded")),
    ping: "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    limits: &[
        ("anthropic-ratelimit-requests-remaining", "59"),
        ("anthropic-ratelimit-tokens-remaining", "149984"),
        // Longer than anybody waits, however the clocks stand.
        ("anthropic-ratelimit-tokens-reset", "2099-01-01T00:00:00Z"),
    ],
    waits_by_header: true,
    models: || json!({"data": [{"type": "model", "id": "m", "display_name": "M"}, {"type": "model", "id": "other"}], "has_more": false}),
};

fn check(seen: &Seen) -> Checked {
    if seen.header("x-api-key").is_none_or(str::is_empty) || seen.header("authorization").is_some()
    {
        return Err((401, "x-api-key header is required".to_owned()));
    }
    if seen.header("anthropic-version") != Some("2023-06-01") {
        return bad("anthropic-version: header is required");
    }
    if seen.line.starts_with("GET ") {
        return Ok(());
    }
    let body = seen.json();
    let optional = [
        "system",
        "output_config",
        "thinking",
        "tools",
        "tool_choice",
        "temperature",
        "stream",
    ];
    fields(
        &body,
        "body",
        &["model", "max_tokens", "messages"],
        &optional,
    )?;
    typed(&body, "model", is_text)?;
    typed(&body, "max_tokens", is_count)?;
    temperature(
        &body,
        1.0,
        &[
            "claude-opus-4-7",
            "claude-opus-5",
            "claude-sonnet-5",
            "claude-haiku-5",
        ],
    )?;
    typed(&body, "stream", Value::is_boolean)?;
    blocks(body.get("system"))?;
    let Some([message]) = body["messages"].as_array().map(Vec::as_slice) else {
        return bad("messages: one is expected here");
    };
    fields(message, "messages.0", &["role", "content"], &[])?;
    one_of(message, "role", &["user"])?;
    blocks(message.get("content"))?;
    output(&body)?;
    thinking(&body)
}

fn blocks(list: Option<&Value>) -> Checked {
    for block in list.and_then(Value::as_array).into_iter().flatten() {
        fields(block, "content", &["type", "text"], &["cache_control"])?;
        one_of(block, "type", &["text"])?;
        typed(block, "text", is_text)?;
        typed(block, "cache_control", |control| {
            *control == json!({"type": "ephemeral"})
        })?;
    }
    match list {
        Some(list) if !list.is_array() => bad("content must be a list of blocks here"),
        _ => Ok(()),
    }
}

fn output(body: &Value) -> Checked {
    if let Some(config) = body.get("output_config") {
        fields(config, "output_config", &[], &["format", "effort"])?;
        one_of(config, "effort", &["low", "medium", "high", "max"])?;
        if let Some(format) = config.get("format") {
            fields(format, "output_config.format", &["type", "schema"], &[])?;
            one_of(format, "type", &["json_schema"])?;
            schema(&format["schema"])?;
        }
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        fields(tool, "tools.0", &["name", "input_schema"], &["description"])?;
    }
    match body.get("tool_choice") {
        Some(choice) if body["tools"][0]["name"] != choice["name"] => {
            bad("tool_choice: no such tool")
        }
        Some(choice) => fields(choice, "tool_choice", &["type", "name"], &[]),
        None => Ok(()),
    }
}

fn thinking(body: &Value) -> Checked {
    let Some(thinking) = body.get("thinking") else {
        return Ok(());
    };
    fields(thinking, "thinking", &["type", "budget_tokens"], &[])?;
    let (budget, most) = (
        thinking["budget_tokens"].as_u64().unwrap_or(0),
        body["max_tokens"].as_u64().unwrap_or(0),
    );
    if budget < 1024 || budget >= most {
        return bad("thinking.budget_tokens: must be at least 1024 and less than max_tokens");
    }
    if body
        .get("temperature")
        .is_some_and(|temperature| *temperature != 1.0)
        || body.get("tool_choice").is_some()
    {
        return bad("temperature and tool_choice are not allowed with thinking");
    }
    Ok(())
}

fn whole(said: &Said, request: &Value) -> Value {
    let mut content = Vec::new();
    if said.thinking {
        content.push(json!({"type": "thinking", "thinking": "hm", "signature": "x"}));
    }
    match request["tools"][0]["name"].as_str() {
        _ if said.text.is_empty() => {}
        Some(name) => {
            let input: Value = serde_json::from_str(&said.text).unwrap_or_default();
            content
                .push(json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": input}));
        }
        None => content.push(json!({"type": "text", "text": said.text})),
    }
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "served-model", "content": content,
        "stop_reason": reason(said.ending, request), "stop_sequence": null, "usage": usage(20),
    })
}

fn events(said: &Said, request: &Value) -> Events {
    let event = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        named(kind, &data)
    };
    let mut start = whole(
        &Said {
            text: String::new(),
            thinking: false,
            ..said.clone()
        },
        request,
    );
    (start["stop_reason"], start["usage"]) = (Value::Null, usage(1));
    let mut beginning = vec![
        event("message_start", json!({"message": start})),
        event("ping", json!({})),
    ];
    let mut block = |number: usize, kind: Value, deltas: Vec<Value>| {
        beginning.push(event(
            "content_block_start",
            json!({"index": number, "content_block": kind}),
        ));
        beginning.extend(deltas.into_iter().map(|delta| {
            event(
                "content_block_delta",
                json!({"index": number, "delta": delta}),
            )
        }));
        beginning.push(event("content_block_stop", json!({"index": number})));
    };
    if said.thinking {
        block(
            0,
            json!({"type": "thinking", "thinking": ""}),
            vec![json!({"type": "thinking_delta", "thinking": "hm"})],
        );
    }
    let texts = pieces(&said.text).into_iter();
    match request["tools"][0]["name"].as_str() {
        _ if said.text.is_empty() => {}
        Some(name) => {
            let deltas = texts
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                .collect();
            block(
                1,
                json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}),
                deltas,
            );
        }
        None => block(
            1,
            json!({"type": "text", "text": ""}),
            texts
                .map(|piece| json!({"type": "text_delta", "text": piece}))
                .collect(),
        ),
    }
    let delta = json!({"delta": {"stop_reason": reason(said.ending, request), "stop_sequence": null}, "usage": {"output_tokens": 20}});
    Events {
        beginning,
        end: vec![
            event("message_delta", delta),
            event("message_stop", json!({})),
        ],
    }
}

fn reason(ending: Ending, request: &Value) -> &'static str {
    match ending {
        Ending::Complete if request.get("tool_choice").is_some() => "tool_use",
        Ending::Complete => "end_turn",
        Ending::Length => "max_tokens",
        Ending::Filtered => "refusal",
    }
}

/// What is cached is not part of the input here, and what is put into the cache is counted apart.
fn usage(output: u64) -> Value {
    json!({"input_tokens": 50, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 40, "output_tokens": output})
}

fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
}

fn failure(failure: Failure, seen: &Seen) -> (u16, Value) {
    let (status, message) = match failure {
        Failure::RateLimited => (
            429,
            "This request would exceed your organization's rate limit".to_owned(),
        ),
        Failure::Quota => (
            400,
            "Your credit balance is too low to access the Anthropic API.".to_owned(),
        ),
        Failure::TooLong => (
            400,
            "prompt is too long: 210000 tokens > 200000 maximum".to_owned(),
        ),
        Failure::BadKey => (
            401,
            format!(
                "invalid x-api-key {}",
                seen.header("x-api-key").unwrap_or_default()
            ),
        ),
        Failure::NoModel => (404, "model: m".to_owned()),
        Failure::Overloaded => (529, "Overloaded".to_owned()),
        Failure::Internal => (500, "Internal server error".to_owned()),
    };
    (status, error(status, &message))
}
