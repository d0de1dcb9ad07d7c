//! Bodies written by hand into one buffer: prompts are large and schemas are text already.

use rebut_engine::reply::Schema;
use std::fmt::Display;

pub(super) fn push(body: &mut Vec<u8>, json: &str) {
    body.extend_from_slice(json.as_bytes());
}

/// Adds a text as a JSON string.
pub(super) fn push_string(body: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(body, text).expect("every text is JSON");
}

/// Adds `start`, a number, and nothing when there is none.
pub(super) fn push_number(body: &mut Vec<u8>, start: &str, number: Option<impl Display>) {
    if let Some(number) = number {
        push(body, start);
        push(body, &number.to_string());
    }
}

/// Adds `before`, the schema's text, and `after`.
pub(super) fn push_schema(body: &mut Vec<u8>, before: &str, schema: &Schema, after: &str) {
    push(body, before);
    push(body, &schema.json);
    push(body, after);
}
