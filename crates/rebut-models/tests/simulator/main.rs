//! The simulator, seen from outside: every format to its end, every schema filled, nothing leaked.

mod schemas;
mod stage;

use rebut_engine::{
    formats::FORMATS,
    outcome::Ending,
    prompt::{Fence, Prompt, Template},
    reply::Schema,
};
use serde_json::{Value, json};
use stage::*;
use std::collections::BTreeSet;

/// Every reply of every format, filled from any prompt of that format, has the form that its schema
/// asks for.
#[test]
fn every_reply_of_every_format_is_of_its_schema() {
    let mut seen = 0;
    for format in FORMATS {
        for prompt in format.prompts {
            let prompt = prompt.filled(|hole| format!("- {hole}: what stands there"), &fence());
            for schema in (format.replies)() {
                let said = said(&agent("risk"), &prompt, &schema);
                let form: Value = serde_json::from_str(&schema.json).expect("a schema");
                assert_eq!(
                    schemas::problem(&form, &said),
                    None,
                    "{}: {said}",
                    schema.name
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "only {seen}");
}

/// A form that no format of ours has.
#[test]
fn a_made_up_schema_is_filled_too() {
    let schema = json!({
        "type": "object",
        "$defs": {"mark": {"type": "object", "properties": {
            "of": {"type": "string", "description": "The plan by its name, `P1`."},
            "points": {"type": "integer", "minimum": 3, "maximum": 5},
            "colour": {"enum": ["red", "green"]},
        }, "required": ["of", "points", "colour"], "additionalProperties": false}},
        "properties": {
            "marks": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"$ref": "#/$defs/mark"},
                "description": "One for each plan."},
            "note": {"type": ["string", "null"], "minLength": 3, "maxLength": 40},
            "either": {"anyOf": [{"type": "null"}, {"type": "number", "minimum": 0, "maximum": 9}]},
            "kind": {"oneOf": [{"const": "a"}, {"const": "b"}]},
            "sure": {"type": "boolean"},
            "version": {"const": 3},
        },
        "required": ["marks", "note", "either", "kind", "sure", "version"],
        "additionalProperties": false,
    });
    let prompt = Plans("P1. Walk there.\nP2. Take the early train.").render(&fence());
    let form = Schema {
        name: "made_up",
        json: schema.to_string().into(),
    };
    let said = said(&agent("risk"), &prompt, &form);
    assert_eq!(schemas::problem(&schema, &said), None, "{said}");
    let named: BTreeSet<&str> = said["marks"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|mark| mark["of"].as_str())
        .collect();
    assert_eq!(named, ["P1", "P2"].into(), "{said}");
}

/// The checks of the formats hold for the first reply of each turn, so nobody is asked to clarify.
#[test]
fn every_format_runs_to_its_end_and_nothing_leaks() {
    for (name, start) in starts(CONTEXT) {
        let (outcome, replies) = run(start);
        let fine = [
            Ending::Completed,
            Ending::Consensus,
            Ending::Contested,
            Ending::Majority,
        ];
        assert!(fine.contains(&outcome.outcome), "{name}: {outcome:?}");
        assert_eq!(outcome.degraded, Vec::new(), "{name}");
        assert!(!replies.is_empty(), "{name}");
        for reply in replies {
            let Heard {
                turn,
                text,
                refused,
                marker,
            } = &reply;
            assert_eq!(refused.as_deref(), None, "{name}, {turn}: {text}");
            assert!(!turn.ends_with("/clarify"), "{name}: {turn}");
            for leak in [
                marker.as_str(),
                "<<<",
                ">>>",
                "JSON object",
                "no instructions",
            ] {
                assert!(!text.contains(leak), "{name}, {turn}: {leak} in {text}");
            }
        }
    }
}

#[test]
fn the_same_input_is_answered_alike_and_another_otherwise() {
    let texts = |context: &str| -> Vec<(&str, Vec<String>)> {
        let all = starts(context).into_iter();
        all.map(|(name, start)| {
            (
                name,
                run(start).1.into_iter().map(|heard| heard.text).collect(),
            )
        })
        .collect()
    };
    let (once, again) = (texts(CONTEXT), texts(CONTEXT));
    let other =
        texts("Trains are late in winter. Buses cost half as much. Nobody likes to wait outside.");
    for ((once, again), other) in once.iter().zip(&again).zip(&other) {
        assert_eq!(once, again);
        assert_ne!(once, other);
    }
}

#[test]
fn panels_agree_on_some_questions_and_not_on_others() {
    let mut ends = BTreeSet::new();
    let mut chosen = BTreeSet::new();
    for number in 0..60 {
        let (outcome, _) = run(decide(&format!("Question {number}?"), 3, CONTEXT));
        ends.insert(outcome.outcome.as_str());
        chosen.insert(outcome.summary.clone());
    }
    assert!(ends.len() > 1 && chosen.len() > 3, "{ends:?} {chosen:?}");
}

#[test]
fn quotations_stand_in_the_text() {
    let (_, replies) = run(decide("Offline?", 3, CONTEXT));
    let plain = CONTEXT.split_whitespace().collect::<Vec<_>>().join(" ");
    let quoted = |text: &str| -> Vec<String> {
        let rests = text
            .split('“')
            .skip(1)
            .filter_map(|rest| rest.split_once('”'));
        rests.map(|(quote, _)| quote.to_owned()).collect()
    };
    let quotes: Vec<String> = replies
        .iter()
        .flat_map(|heard| quoted(&heard.text))
        .collect();
    assert!(quotes.len() > 6);
    assert!(
        quotes.iter().all(|quote| plain.contains(quote)),
        "{quotes:?}"
    );
}

/// With nothing to quote and nothing to choose, there is still a reply.
#[test]
fn an_empty_prompt_is_answered() {
    for schema in FORMATS.iter().flat_map(|format| (format.replies)()) {
        let said = said(&agent("risk"), &Prompt::default(), &schema);
        let form: Value = serde_json::from_str(&schema.json).expect("a schema");
        assert_eq!(
            schemas::problem(&form, &said),
            None,
            "{}: {said}",
            schema.name
        );
    }
}

fn fence() -> Fence {
    Fence::new("f00d")
}
