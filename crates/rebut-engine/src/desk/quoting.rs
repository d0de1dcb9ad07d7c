//! Which events of a journal still hold words of one that is taken out. Pure.

use crate::record::Record;
use serde_json::Value;
use std::collections::HashSet;

/// The numbers of the events besides `record` that hold a sentence of it.
pub fn still_quoting(record: &Record, all: &[Record]) -> Vec<u64> {
    let pinned = all
        .iter()
        .find(|other| other.kind == "debate.started" && other.seq != record.seq);
    // What was known before anybody spoke is nothing this event alone said.
    let known: HashSet<String> = pinned.map(texts).unwrap_or_default().into_iter().collect();
    let said: Vec<String> = texts(record)
        .into_iter()
        .filter(|text| !known.contains(text))
        .collect();
    let others = all
        .iter()
        .filter(|other| other.seq != record.seq && !other.is_redacted());
    others
        .filter(|other| {
            texts(other)
                .iter()
                .any(|held| said.iter().any(|said| is_quoted(said, held)))
        })
        .map(|other| other.seq)
        .collect()
}

/// Keys whose values name something: a model, a turn, an option. Everybody uses the same names.
const NAMES: [&str; 30] = [
    "agent",
    "agents",
    "answered",
    "answered_by",
    "because",
    "by",
    "claim",
    "convinced_by",
    "copied_from",
    "counted",
    "engine",
    "finish",
    "format",
    "from",
    "id",
    "job",
    "judge",
    "marker",
    "model",
    "option",
    "outcome",
    "program",
    "prompt",
    "prompts",
    "recommended_option",
    "role",
    "run",
    "step",
    "turn",
    "verdict",
];

/// Shorter texts say nothing that could be told apart.
const LEAST: usize = 3;
/// A part of a longer text is a quotation from this length on.
const LEAST_PART: usize = 12;

/// Whether words that were said are in a text that is held.
fn is_quoted(said: &str, held: &str) -> bool {
    let holds =
        |whole: &str, part: &str| part.chars().count() >= LEAST_PART && whole.contains(part);
    // What is shown shortened ends so.
    said == held || holds(held, said) || holds(said, held.trim_end_matches(['…', '.', ' ']))
}

/// Everything an event holds as text, in whole and by sentences.
fn texts(record: &Record) -> Vec<String> {
    let mut texts = Vec::new();
    collect(
        &serde_json::from_str(&record.data).unwrap_or_default(),
        &mut texts,
    );
    texts.retain(|text| text.chars().count() >= LEAST);
    texts
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => collect_text(text, texts),
        Value::Array(list) => list.iter().for_each(|item| collect(item, texts)),
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| !NAMES.contains(&key.as_str()))
            .for_each(|(_, item)| collect(item, texts)),
        _ => {}
    }
}

/// A reply is often JSON, bare or between other words.
fn collect_text(text: &str, texts: &mut Vec<String>) {
    if let Some((start, end)) = text
        .find('{')
        .zip(text.rfind('}'))
        .filter(|(start, end)| start < end)
        && let Ok(inner @ Value::Object(_)) = serde_json::from_str(&text[start..=end])
    {
        collect(&inner, texts);
        [&text[..start], &text[end + 1..]]
            .into_iter()
            .for_each(|around| collect_sentences(around, texts));
        return;
    }
    texts.push(text.trim().to_owned());
    collect_sentences(text, texts);
}

fn collect_sentences(text: &str, texts: &mut Vec<String>) {
    let sentences = text
        .lines()
        .flat_map(|line| line.split_inclusive(['.', '!', '?']))
        .map(str::trim);
    texts.extend(
        sentences
            .filter(|sentence| sentence.chars().count() >= LEAST_PART)
            .map(str::to_owned),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DebateId, record::Hash};

    fn journal(events: &[(&'static str, Value)]) -> Vec<Record> {
        let record = |(at, (kind, data)): (usize, &(&'static str, Value))| Record {
            debate: DebateId::new(),
            seq: at as u64 + 1,
            ts: "".into(),
            kind: (*kind).into(),
            round: None,
            phase: None,
            agent: None,
            data: data.to_string(),
            salt: Some([0; 16]),
            digest: Hash::default(),
            prev: Hash::default(),
            hash: Hash::default(),
        };
        events.iter().enumerate().map(record).collect()
    }

    #[test]
    fn only_events_that_hold_the_words_are_named() {
        let model = "script:some/where/replies.md";
        let rows: [(&str, Value, &[u64]); 5] = [
            (
                "whole texts",
                serde_json::json!({"option": "A", "summary": "They will \
                    sue.", "claims": ["They owe money to us."]}),
                &[3, 4],
            ),
            (
                "short ones",
                serde_json::json!({"option": "A", "summary": "s A.", "claims": ["c1."]}),
                &[3, 4],
            ),
            (
                "one word",
                serde_json::json!({"option": "A", "summary": "Zebra", "claims": []}),
                &[3, 4],
            ),
            (
                "only in the reply",
                serde_json::json!({"option": "A", "aside": "nobody repeats \
                    this", "summary": "", "claims": []}),
                &[],
            ),
            (
                "what was asked",
                serde_json::json!({"option": "A", "summary": "Shall we go to \
                    court?", "claims": []}),
                &[],
            ),
        ];
        for (name, reply, expected) in rows {
            for text in [
                reply.to_string(),
                format!("Here it is:\n~~~json\n{reply}\n~~~"),
            ] {
                let said = reply["summary"].as_str().unwrap_or_default();
                let (derived, end) = if expected.is_empty() {
                    ("other words", "nothing of it")
                } else {
                    (said, said)
                };
                let records = journal(&[
                    (
                        "debate.started",
                        serde_json::json!({"topic": "Shall we go to \
                            court?", "agents": [{"name": "risk", "model": model}]}),
                    ),
                    (
                        "turn.completed",
                        serde_json::json!({"turn": "recommend/risk", "model": model, "finish": "stop", "text": text}),
                    ),
                    (
                        "position.recorded",
                        serde_json::json!({"turn": "recommend/risk", "option": "A", "summary": derived}),
                    ),
                    (
                        "debate.completed",
                        serde_json::json!({"outcome": "consensus", "result": {"perspectives": {"risk": end}}}),
                    ),
                    (
                        "turn.completed",
                        serde_json::json!({"turn": "recommend/value", "model": model, "finish": "stop", "text": "{\"option\":\"A\"}"}),
                    ),
                ]);
                assert_eq!(
                    still_quoting(&records[1], &records),
                    expected,
                    "{name}: {text}"
                );
                // The other way round: what was derived is taken out first, the reply still holds
                // it.
                let back: &[u64] = if expected.is_empty() { &[] } else { &[2, 4] };
                assert_eq!(still_quoting(&records[2], &records), back, "{name}");
            }
        }
    }

    #[test]
    fn parts_of_longer_texts_are_quotations() {
        let long = "The customer is Zebra Limited. They pay late.";
        let records = journal(&[
            ("turn.completed", serde_json::json!({"text": long})),
            (
                "debate.completed",
                serde_json::json!({"summary": "risk says: The customer is Zebra Limited."}),
            ),
            (
                "verdict.recorded",
                serde_json::json!({"reason": "The customer is Ze…"}),
            ),
            ("human.noted", serde_json::json!({"text": "They are fine."})),
        ]);
        assert_eq!(still_quoting(&records[0], &records), [2, 3]);
    }
}
