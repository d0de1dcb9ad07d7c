//! OpenAI's embeddings from the vendor's side. A server says the vectors as a JSON list in the
//! order of the texts; they are sent in another.

use super::{
    Seen, chat,
    strict::{Checked, bad, fields, is_text, one_of, typed},
    vendor::{Events, Said, Vendor},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

pub(super) static VENDOR: Vendor = Vendor {
    check,
    is_streamed: |_| false,
    whole,
    // Nothing is streamed.
    events: |_, _| Events {
        beginning: Vec::new(),
        end: Vec::new(),
    },
    ..chat::VENDOR
};

fn check(seen: &Seen) -> Checked {
    if seen.header("content-type") != Some("application/json") {
        return bad("you must provide a body of type application/json");
    }
    let body = seen.json();
    fields(
        &body,
        "body",
        &["model", "input"],
        &["encoding_format", "dimensions", "user"],
    )?;
    typed(&body, "model", is_text)?;
    one_of(&body, "encoding_format", &["float", "base64"])?;
    match body["input"].as_array() {
        Some(texts)
            if !texts.is_empty()
                && texts.len() <= 2048
                && texts
                    .iter()
                    .all(|text| text.as_str().is_some_and(|text| !text.is_empty())) =>
        {
            Ok(())
        }
        _ => bad("'$.input' is invalid"),
    }
}

/// The last text's vector comes first, as the index says; seven tokens for each text.
fn whole(said: &Said, body: &Value) -> Value {
    let vectors: Vec<Vec<f32>> =
        serde_json::from_str(&said.text).expect("a test says a list of vectors");
    let packed = |vector: &[f32]| {
        STANDARD.encode(
            vector
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect::<Vec<u8>>(),
        )
    };
    let written = |vector: &[f32]| {
        if body["encoding_format"] == "base64" {
            json!(packed(vector))
        } else {
            json!(vector)
        }
    };
    let one = |(index, vector): (usize, &Vec<f32>)| json!({"object": "embedding", "index": index, "embedding": written(vector)});
    let data: Vec<Value> = vectors.iter().enumerate().map(one).rev().collect();
    let tokens = 7 * body["input"].as_array().map_or(0, Vec::len);
    json!({"object": "list", "data": data, "model": body["model"], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}})
}
