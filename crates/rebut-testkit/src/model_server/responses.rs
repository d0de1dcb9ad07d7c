//! OpenAI's responses from the vendor's side.

use super::{
    Seen,
    chat::{LIMITS, error, failure, models},
    strict::{
        Checked, REASONING, bad, fields, is_count, is_name, is_text, one_of, schema, temperature,
        typed,
    },
    vendor::{Ending, Events, Said, Vendor, named, pieces},
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
        named(
            "error",
            &json!({"type": "error", "code": "server_error", "message": "The model \
                failed", "param": null}),
        )
    },
    ping: ": keep-alive\n\n",
    limits: LIMITS,
    waits_by_header: true,
    models,
};

fn check(seen: &Seen) -> Checked {
    if !seen
        .header("authorization")
        .is_some_and(|key| key.starts_with("Bearer "))
    {
        return Err((401, "You didn't provide an API key.".to_owned()));
    }
    let body = seen.json();
    let optional = [
        "instructions",
        "text",
        "temperature",
        "max_output_tokens",
        "reasoning",
        "stream",
        "store",
    ];
    fields(&body, "body", &["model", "input"], &optional)?;
    for field in ["model", "input", "instructions"] {
        typed(&body, field, is_text)?;
    }
    temperature(&body, 2.0, REASONING)?;
    typed(&body, "max_output_tokens", is_count)?;
    typed(&body, "stream", Value::is_boolean)?;
    typed(&body, "store", Value::is_boolean)?;
    if let Some(reasoning) = body.get("reasoning") {
        fields(reasoning, "reasoning", &["effort"], &[])?;
        one_of(reasoning, "effort", &["minimal", "low", "medium", "high"])?;
    }
    let Some(text) = body.get("text") else {
        return Ok(());
    };
    fields(text, "text", &["format"], &[])?;
    match text["format"]["type"].as_str() {
        Some("json_object") => fields(&text["format"], "text.format", &["type"], &[]),
        Some("json_schema") => {
            fields(
                &text["format"],
                "text.format",
                &["type", "name", "schema"],
                &["strict"],
            )?;
            typed(&text["format"], "name", is_name)?;
            schema(&text["format"]["schema"])
        }
        _ => bad("text.format.type: unknown"),
    }
}

fn whole(said: &Said, _: &Value) -> Value {
    let mut output = Vec::new();
    if said.thinking {
        output.push(json!({"type": "reasoning", "id": "rs_1", "summary": []}));
    }
    if !said.text.is_empty() {
        let part = json!({"type": "output_text", "text": said.text, "annotations": []});
        output.push(json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}));
    }
    let (status, details) = match said.ending {
        Ending::Complete => ("completed", Value::Null),
        Ending::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
        Ending::Filtered => ("incomplete", json!({"reason": "content_filter"})),
    };
    json!({
        "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "served-model", "output": output, "error": null,
        "incomplete_details": details,
        "usage": {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 120,
        },
    })
}

fn events(said: &Said, request: &Value) -> Events {
    let full = whole(said, request);
    let mut opening = full.clone();
    (opening["status"], opening["output"], opening["usage"]) =
        (json!("in_progress"), json!([]), Value::Null);
    let event = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        named(kind, &data)
    };
    let mut beginning = vec![event("response.created", json!({"response": opening}))];
    beginning.extend(said.thinking.then(|| {
        event(
            "response.reasoning_summary_text.delta",
            json!({"delta": "hm"}),
        )
    }));
    beginning.extend(pieces(&said.text).iter().map(|piece| {
        event(
            "response.output_text.delta",
            json!({"delta": piece, "output_index": 0}),
        )
    }));
    let last = if said.ending == Ending::Complete {
        "response.completed"
    } else {
        "response.incomplete"
    };
    let end = vec![
        event("response.output_text.done", json!({"text": said.text})),
        event(last, json!({"response": full})),
    ];
    Events { beginning, end }
}
