//! Bodies written by hand into one buffer: prompts are large and schemas are text already.

use rebut_engine::{clean::run_of, reply::Schema};
use std::fmt::Display;

/// Adds JSON as it stands.
pub(super) fn push(body: &mut Vec<u8>, json: &str) {
    body.extend_from_slice(json.as_bytes());
}

/// Adds a text as a JSON string. Prompts are long, and little in them has to be escaped: what
/// stands between is copied as it is.
pub(super) fn push_string(body: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    body.push(b'"');
    loop {
        let (plain, special) = rest.split_at(run_of(rest, |byte| {
            byte >= b' ' && byte != b'"' && byte != b'\\'
        }));
        body.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else {
            break;
        };
        match byte {
            b'"' => push(body, r#"\""#),
            b'\\' => push(body, r"\\"),
            b'\n' => push(body, r"\n"),
            b'\r' => push(body, r"\r"),
            b'\t' => push(body, r"\t"),
            8 => push(body, r"\b"),
            12 => push(body, r"\f"),
            other => push(body, &format!("\\u{other:04x}")),
        }
        rest = after;
    }
    body.push(b'"');
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Plain, special and foreign characters in runs shorter and longer than a block.
        #[test]
        fn strings_are_written_as_serde_json_writes_them(text in "([ \
            -~]{0,40}[\\x00-\\x1f\"\\\\\x7f]{0,3}\\PC{0,5}){0,4}") {
            let mut body = Vec::new();
            push_string(&mut body, &text);
            prop_assert_eq!(String::from_utf8(body).ok(), serde_json::to_string(&text).ok());
        }
    }
}
