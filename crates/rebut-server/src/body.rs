//! Reading what a request carries: not too much, not too slowly, not too deep, and JSON only.

use crate::problem::Problem;
use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header},
};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// How deep JSON may be.
pub const DEEPEST: usize = 64;

/// The bytes of a body that may be JSON; empty where there is none.
pub async fn read(headers: &HeaderMap, body: Body, most: usize, within: Duration) -> Result<Bytes, Problem> {
    check_kind(headers)?;
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|announced| announced > most as u64) {
        return Err(too_large(most));
    }
    let bytes = match tokio::time::timeout(within, collect(body, most)).await {
        Ok(bytes) => bytes?,
        Err(_) => {
            let detail = format!("the body did not come within {} s", within.as_secs());
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail));
        }
    };
    if !bytes.is_empty() && !headers.contains_key(header::CONTENT_TYPE) {
        return Err(not_json());
    }
    match depth(&bytes) {
        deep if deep > DEEPEST => Err(Problem::bad_request(format!("the JSON is nested more than {DEEPEST} levels deep"))),
        _ => Ok(bytes),
    }
}

/// What JSON text means. What is not JSON is a bad request; what is JSON of another form cannot be processed.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Problem::unprocessable(format!("the body does not fit: {error}")),
        _ => Problem::bad_request(format!("the body is not JSON: {error}")),
    })
}

async fn collect(body: Body, most: usize) -> Result<Bytes, Problem> {
    let mut stream = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|error| Problem::bad_request(format!("the body broke off: {error}")))?;
        if bytes.len() + piece.len() > most {
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.into())
}

/// A form that a foreign page can send without being asked first is not taken.
fn check_kind(headers: &HeaderMap) -> Result<(), Problem> {
    let encoded = headers.get_all(header::CONTENT_ENCODING).iter().any(|value| value != "identity");
    let kinds: Vec<_> = headers.get_all(header::CONTENT_TYPE).iter().collect();
    match kinds[..] {
        [] if !encoded => Ok(()),
        [kind] if !encoded && is_json(kind.to_str().unwrap_or_default()) => Ok(()),
        _ => Err(not_json()),
    }
}

fn is_json(kind: &str) -> bool {
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn not_json() -> Problem {
    let detail = "a body is `application/json`, not encoded otherwise";
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail)
}

fn too_large(most: usize) -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", format!("a body has at most {most} bytes here"))
}

/// How deep lists and objects are nested, whatever else is wrong with the text.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_text() {
        let rows: &[(&str, usize)] =
            &[("", 0), ("1", 0), ("[]", 1), (r#"{"a":[{}]}"#, 3), (r#"["[[[", "\"[[", "\\"]"#, 1), ("]]][[", 2), (r#"{"[":{"]":[]}}"#, 3)];
        for (json, expected) in rows {
            assert_eq!(depth(json.as_bytes()), *expected, "{json}");
        }
    }
}
