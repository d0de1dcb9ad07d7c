//! Google's `generateContent` from the vendor's side.

use super::{
    Seen,
    strict::{Checked, bad, fields, is_count, is_temperature, is_text, one_of, schema, typed},
    vendor::{Ending, Events, Failure, Said, Vendor, pieces},
};
use serde_json::{Value, json};

pub(super) static VENDOR: Vendor = Vendor {
    check,
    is_streamed: |seen| seen.path().ends_with(":streamGenerateContent"),
    whole,
    events,
    error,
    failure,
    late_error: || format!("data: {}\n\n", error(503, "The model is overloaded.")),
    ping: ": keep-alive\n\n",
    limits: &[],
    waits_by_header: false,
    models: || {
        json!({"models": [
            {"name": "models/m", "displayName": "M", "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/vectors", "supportedGenerationMethods": ["embedContent"]},
            {"name": "models/other", "supportedGenerationMethods": ["countTokens", "generateContent"]},
        ]})
    },
};

fn check(seen: &Seen) -> Checked {
    if seen.header("x-goog-api-key").is_none_or(str::is_empty)
        || seen.header("authorization").is_some()
    {
        return Err((403, "Method doesn't allow unregistered callers.".to_owned()));
    }
    if seen.line.starts_with("GET ") {
        return Ok(());
    }
    if seen.path().ends_with(":streamGenerateContent") != seen.line.ends_with("?alt=sse") {
        return bad("alt=sse goes with streamGenerateContent, here");
    }
    let body = seen.json();
    fields(
        &body,
        "body",
        &["contents"],
        &["systemInstruction", "generationConfig"],
    )?;
    let Some([content]) = body["contents"].as_array().map(Vec::as_slice) else {
        return bad("contents: one is expected here");
    };
    fields(content, "contents[0]", &["role", "parts"], &[])?;
    one_of(content, "role", &["user"])?;
    parts(content)?;
    if let Some(system) = body.get("systemInstruction") {
        fields(system, "systemInstruction", &["parts"], &[])?;
        parts(system)?;
    }
    config(&body["generationConfig"])
}

fn parts(content: &Value) -> Checked {
    for part in content["parts"].as_array().into_iter().flatten() {
        fields(part, "parts", &["text"], &[])?;
        typed(part, "text", is_text)?;
    }
    Ok(())
}

fn config(config: &Value) -> Checked {
    if config.is_null() {
        return Ok(());
    }
    let optional = [
        "candidateCount",
        "responseMimeType",
        "responseJsonSchema",
        "temperature",
        "maxOutputTokens",
        "thinkingConfig",
    ];
    fields(config, "generation_config", &[], &optional)?;
    one_of(config, "responseMimeType", &["application/json"])?;
    typed(config, "temperature", is_temperature(2.0))?;
    typed(config, "maxOutputTokens", is_count)?;
    if let Some(form) = config.get("responseJsonSchema") {
        if config.get("responseMimeType").is_none() {
            return bad("responseJsonSchema needs responseMimeType application/json");
        }
        schema(form)?;
    }
    let Some(thinking) = config.get("thinkingConfig") else {
        return Ok(());
    };
    fields(
        thinking,
        "thinking_config",
        &[],
        &["thinkingLevel", "thinkingBudget"],
    )?;
    one_of(
        thinking,
        "thinkingLevel",
        &["minimal", "low", "medium", "high"],
    )?;
    typed(thinking, "thinkingBudget", is_count)
}

fn candidate(parts: &Value, reason: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(reason) = reason {
        candidate["finishReason"] = reason.into();
    }
    json!({"candidates": [candidate], "modelVersion": "served-model", "responseId": "r1"})
}

fn whole(said: &Said, _: &Value) -> Value {
    let mut parts = Vec::new();
    if said.thinking {
        parts.push(json!({"text": "hm", "thought": true}));
    }
    if !said.text.is_empty() {
        parts.push(json!({"text": said.text}));
    }
    let mut whole = candidate(&parts.into(), Some(reason(said.ending)));
    whole["usageMetadata"] = usage();
    whole
}

fn events(said: &Said, _: &Value) -> Events {
    let event = |data: Value| format!("data: {data}\r\n\r\n");
    let mut beginning: Vec<String> = Vec::new();
    beginning.extend(
        said.thinking
            .then(|| event(candidate(&json!([{"text": "hm", "thought": true}]), None))),
    );
    beginning.extend(
        pieces(&said.text)
            .iter()
            .map(|piece| event(candidate(&json!([{"text": piece}]), None))),
    );
    let mut last = candidate(&json!([{"text": ""}]), Some(reason(said.ending)));
    last["usageMetadata"] = usage();
    Events {
        beginning,
        end: vec![event(last)],
    }
}

fn reason(ending: Ending) -> &'static str {
    match ending {
        Ending::Complete => "STOP",
        Ending::Length => "MAX_TOKENS",
        Ending::Filtered => "SAFETY",
    }
}

/// Thinking is counted beside what is written.
fn usage() -> Value {
    json!({
        "promptTokenCount": 100, "cachedContentTokenCount": 40, "candidatesTokenCount": 15, "thoughtsTokenCount": 5, "totalTokenCount": 120,
    })
}

fn error(status: u16, message: &str) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": name}})
}

fn failure(failure: Failure, seen: &Seen) -> (u16, Value) {
    const QUOTA: &str =
        "You exceeded your current quota, please check your plan and billing details.";
    let quota = |id: &str| json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]});
    let retry = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"});
    let (status, message, details) = match failure {
        Failure::RateLimited => (
            429,
            QUOTA.to_owned(),
            json!([quota("GenerateRequestsPerMinutePerProjectPerModel"), retry]),
        ),
        Failure::Quota => (
            429,
            QUOTA.to_owned(),
            json!([
                quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
                retry
            ]),
        ),
        Failure::TooLong => (
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed \
                (1048576)."
                .to_owned(),
            json!([]),
        ),
        Failure::BadKey => {
            let message = format!(
                "API key not valid ({}). Please pass a valid API \
                    key.",
                seen.header("x-goog-api-key").unwrap_or_default()
            );
            (
                400,
                message,
                json!([{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}]),
            )
        }
        Failure::NoModel => (
            404,
            "models/m is not found for API version \
            v1beta"
                .to_owned(),
            json!([]),
        ),
        Failure::Overloaded => (
            503,
            "The model is overloaded. Please try again \
            later."
                .to_owned(),
            json!([]),
        ),
        Failure::Internal => (500, "An internal error has occurred.".to_owned(), json!([])),
    };
    let mut body = error(status, &message);
    body["error"]["details"] = details;
    (status, body)
}
