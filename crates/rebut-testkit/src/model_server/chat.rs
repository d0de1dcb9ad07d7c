//! OpenAI's chat completions from the vendor's side.

use super::{
    Seen,
    strict::{
        Checked, REASONING, bad, fields, is_count, is_name, is_text, one_of, schema, temperature,
        typed,
    },
    vendor::{Ending, Events, Failure, Said, Vendor, pieces},
};
use serde_json::{Value, json};

pub(super) static VENDOR: Vendor = Vendor {
    check,
    is_streamed: |seen| seen.json()["stream"] == true,
    whole,
    events,
    error,
    failure,
    late_error: || {
        format!(
            "data: {}\n\n",
            error(500, "The server had an error while processing your request")
        )
    },
    ping: ": keep-alive\n\n",
    limits: LIMITS,
    waits_by_header: true,
    models,
};

pub(super) const LIMITS: &[(&str, &str)] = &[
    ("x-ratelimit-remaining-requests", "59"),
    ("x-ratelimit-remaining-tokens", "149984"),
    ("x-ratelimit-reset-requests", "1s"),
    ("x-ratelimit-reset-tokens", "6m0s"),
];

fn check(seen: &Seen) -> Checked {
    if !seen.line.starts_with("POST ") {
        return Ok(());
    }
    if seen.header("content-type") != Some("application/json") {
        return bad("you must provide a body of type application/json");
    }
    let body = seen.json();
    let optional = [
        "response_format",
        "temperature",
        "max_tokens",
        "max_completion_tokens",
        "reasoning_effort",
        "stream",
        "stream_options",
    ];
    fields(&body, "body", &["model", "messages"], &optional)?;
    typed(&body, "model", is_text)?;
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    if messages.is_empty() {
        return bad("messages: empty array");
    }
    for message in &messages {
        fields(message, "messages", &["role", "content"], &[])?;
        one_of(message, "role", &["system", "user"])?;
        typed(message, "content", is_text)?;
    }
    format(&body)?;
    temperature(&body, 2.0, REASONING)?;
    typed(&body, "max_tokens", is_count)?;
    typed(&body, "max_completion_tokens", is_count)?;
    one_of(
        &body,
        "reasoning_effort",
        &["minimal", "low", "medium", "high"],
    )?;
    typed(&body, "stream", Value::is_boolean)?;
    match body.get("stream_options") {
        Some(_) if body["stream"] != true => {
            bad("stream_options: only allowed when stream is enabled")
        }
        Some(options) => fields(options, "stream_options", &["include_usage"], &[]),
        None => Ok(()),
    }
}

fn format(body: &Value) -> Checked {
    let Some(format) = body.get("response_format") else {
        return Ok(());
    };
    one_of(format, "type", &["json_object", "json_schema"])?;
    if format["type"] == "json_object" {
        return fields(format, "response_format", &["type"], &[]);
    }
    fields(format, "response_format", &["type", "json_schema"], &[])?;
    fields(
        &format["json_schema"],
        "json_schema",
        &["name", "schema"],
        &["strict"],
    )?;
    typed(&format["json_schema"], "name", is_name)?;
    schema(&format["json_schema"]["schema"])
}

fn whole(said: &Said, _: &Value) -> Value {
    let mut message = json!({"role": "assistant", "content": said.text, "refusal": null});
    if said.text.is_empty() {
        message["content"] = Value::Null;
    }
    if said.thinking {
        message["reasoning_content"] = json!("hm");
    }
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "served-model",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": reason(said.ending)}], "usage": usage(),
    })
}

fn events(said: &Said, _: &Value) -> Events {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "served-model", "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, reason: Value| {
        chunk(
            json!([{"index": 0, "delta": delta, "finish_reason": reason}]),
            Value::Null,
        )
    };
    let mut beginning = vec![delta(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    beginning.extend(
        said.thinking
            .then(|| delta(json!({"reasoning_content": "hm"}), Value::Null)),
    );
    beginning.extend(
        pieces(&said.text)
            .iter()
            .map(|piece| delta(json!({"content": piece}), Value::Null)),
    );
    let end = vec![
        delta(json!({}), reason(said.ending).into()),
        chunk(json!([]), usage()),
        "data: [DONE]\n\n".to_owned(),
    ];
    Events { beginning, end }
}

fn reason(ending: Ending) -> &'static str {
    match ending {
        Ending::Complete => "stop",
        Ending::Length => "length",
        Ending::Filtered => "content_filter",
    }
}

fn usage() -> Value {
    json!({
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 40}, "completion_tokens_details": {"reasoning_tokens": 5},
    })
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = if status >= 500 {
        "server_error"
    } else {
        "invalid_request_error"
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
}

pub(super) fn failure(failure: Failure, seen: &Seen) -> (u16, Value) {
    let key = seen
        .header("authorization")
        .unwrap_or_default()
        .trim_start_matches("Bearer ")
        .to_owned();
    let (status, message, kind, code) = match failure {
        Failure::RateLimited => (
            429,
            "Rate limit reached for m on requests per min (RPM): Limit 3, Used 3.".to_owned(),
            "requests",
            "rate_limit_exceeded",
        ),
        Failure::Quota => (
            429,
            "You exceeded your current quota, please check your plan and billing details."
                .to_owned(),
            "insufficient_quota",
            "insufficient_quota",
        ),
        Failure::TooLong => (
            400,
            "This model's maximum context length is 8192 tokens.".to_owned(),
            "invalid_request_error",
            "context_length_exceeded",
        ),
        Failure::BadKey => (
            401,
            format!("Incorrect API key provided: {key}."),
            "invalid_request_error",
            "invalid_api_key",
        ),
        Failure::NoModel => (
            404,
            "The model `m` does not exist or you do not have access to it.".to_owned(),
            "invalid_request_error",
            "model_not_found",
        ),
        Failure::Overloaded => (
            503,
            "The engine is currently overloaded, please try again later.".to_owned(),
            "server_error",
            "overloaded",
        ),
        Failure::Internal => {
            return (
                500,
                error(
                    500,
                    "The server had an error while processing your request.",
                ),
            );
        }
    };
    (
        status,
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}}),
    )
}

pub(super) fn models() -> Value {
    json!({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x"}, {"id": "other", "name": "Other"}]})
}

/// A whole completion of that content.
pub fn completion(content: &str) -> String {
    whole(&Said::text(content), &Value::Null).to_string()
}

/// The same as a stream: pieces, the reason, the usage, the end.
pub fn stream_of(content: &str) -> String {
    let events = events(&Said::text(content), &Value::Null);
    events.beginning.concat() + &events.end.concat()
}
