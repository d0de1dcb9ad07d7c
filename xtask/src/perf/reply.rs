//! What the model server's judges say: each stance its own option, in both rounds.

use serde_json::{Value, json};

/// Stances and the options they choose.
const CHOICES: [(&str, &str); 3] = [("sceptical", "A"), ("optimistic", "B"), ("pragmatic", "C")];
const STANCE: &[u8] = b"your stance is ";
const OTHERS: &[u8] = b"The other judges, under neutral names";
const OTHERS_END: &[u8] = b"The panel did not agree";

/// A chat completion for the request with this body.
pub fn completion(body: &[u8]) -> String {
    json!({
        "id": "perf", "object": "chat.completion", "created": 0, "model": "perf",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": said(body)}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 700, "completion_tokens": 120, "total_tokens": 820},
    })
    .to_string()
}

/// What the judge who is asked so says.
pub fn said(body: &[u8]) -> String {
    let stance = after(body, STANCE).unwrap_or_default();
    let option = CHOICES
        .iter()
        .find(|(word, _)| stance.starts_with(word.as_bytes()))
        .map_or("A", |(_, option)| option);
    let mut reply = json!({
        "option": option,
        "confidence": 0.8,
        "summary": format!("Option {option} carries what the case asks for at a price the team can \
            pay."),
        "claims": [
            format!("Option {option} keeps the worst case small, and it can be undone within a \
                day."),
            format!("The case names two numbers, and both speak for option {option} rather than \
                for the others."),
        ],
        "flips_if": "A measurement that shows the opposite under the load of a working day.",
    });
    if is_second_round(body) {
        reply["challenges"] = challenges(body);
        reply["convinced_by"] = json!([]);
        reply["change_reason"] = json!("");
    }
    reply.to_string()
}

/// Quotes inside a message are escaped, so a word between bare quotes is the schema's name, not the
/// prompt's.
fn is_second_round(body: &[u8]) -> bool {
    match (
        after(body, b"\"recommendation\""),
        after(body, b"\"response\""),
    ) {
        (Some(_), _) => false,
        (None, Some(_)) => true,
        // No schema was sent; only the second round's prompt asks for this.
        (None, None) => after(body, b"convinced_by").is_some(),
    }
}

/// An attack on the first claim of each other judge that the prompt tells about.
fn challenges(body: &[u8]) -> Value {
    let heard = after(body, OTHERS).unwrap_or_default();
    let length = heard
        .windows(OTHERS_END.len())
        .position(|window| window == OTHERS_END)
        .unwrap_or(heard.len());
    let mut names: Vec<String> = Vec::new();
    for window in heard[..length].windows(4) {
        if let [b'J', judge @ b'1'..=b'9', b'#', claim @ b'1'..=b'9'] = window {
            let known = names.iter().any(|name| name.as_bytes()[1] == *judge);
            if !known {
                names.push(format!("J{}#{}", char::from(*judge), char::from(*claim)));
            }
        }
    }
    names
        .iter()
        .map(|name| {
            json!({"claim": name, "verdict": "attack", "text": "Nothing in the \
        case shows this."})
        })
        .collect()
}

/// What follows the first occurrence of `pattern`.
fn after<'a>(text: &'a [u8], pattern: &[u8]) -> Option<&'a [u8]> {
    let first = *pattern.first()?;
    let mut at = 0;
    // Looking for the first byte alone is what makes this cheap.
    while let Some(offset) = text[at..].iter().position(|byte| *byte == first) {
        at += offset;
        if text[at..].starts_with(pattern) {
            return Some(&text[at + pattern.len()..]);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(stance: &str, user: &str, schema: Option<&str>) -> Value {
        let system = format!("your stance is {stance}.");
        let request = json!({
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "response_format": schema.map(|name| json!({"type": "json_schema", "json_schema": {"name": name}})),
        });
        let completion: Value =
            serde_json::from_str(&completion(request.to_string().as_bytes())).expect("JSON");
        let content = completion["choices"][0]["message"]["content"]
            .as_str()
            .expect("text");
        serde_json::from_str(content).expect("JSON within")
    }

    #[test]
    fn each_stance_keeps_its_option() {
        let second = "The other judges, under neutral names:\nJ2#1 a\nJ2#2 b\nJ3#1 c\nThe panel \
            did not agree, \"convinced_by\" J7#1";
        for (stance, option) in CHOICES {
            let first = asked(
                stance,
                "the word \"response\" in a question",
                Some("recommendation"),
            );
            assert_eq!(
                (first["option"].as_str(), first.get("challenges")),
                (Some(option), None),
                "{stance}"
            );
            for schema in [Some("response"), None] {
                let reply = asked(stance, second, schema);
                let attacked: Vec<&str> = reply["challenges"]
                    .as_array()
                    .expect("a list")
                    .iter()
                    .filter_map(|c| c["claim"].as_str())
                    .collect();
                assert_eq!(
                    (reply["option"].as_str(), attacked),
                    (Some(option), vec!["J2#1", "J3#1"]),
                    "{stance} {schema:?}"
                );
            }
        }
    }
}
