//! Whether a reply has the form that its schema asks for, said to whoever filled it in. Pure.

use serde_json::{Map, Value};

/// What is wrong with a reply, with the place where it is wrong; `None` when it has the form.
pub fn misfit(schema: &Value, reply: &Value) -> Option<String> {
    at("", schema, reply)
}

/// The words of JSON Schema that are understood here: all that our replies use.
#[cfg(test)]
const UNDERSTOOD: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "oneOf",
    "title",
    "description",
];

fn at(place: &str, schema: &Value, value: &Value) -> Option<String> {
    let choices = choices(schema);
    if !choices.is_empty() && !choices.contains(&value) {
        let choices = choices
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        return Some(format!("{} must be one of {choices}", named(place)));
    }
    if let Some(kind) = schema["type"].as_str().filter(|kind| !is_kind(kind, value)) {
        return Some(format!(
            "{} must be of type {kind}, and is of type {}",
            named(place),
            kind_of(value)
        ));
    }
    match value {
        Value::Array(list) => list
            .iter()
            .enumerate()
            .find_map(|(index, one)| at(&format!("{place}[{index}]"), &schema["items"], one)),
        Value::Object(fields) => in_object(place, schema, fields),
        _ => None,
    }
}

fn in_object(place: &str, schema: &Value, fields: &Map<String, Value>) -> Option<String> {
    let within = |name: &str| {
        if place.is_empty() {
            name.to_owned()
        } else {
            format!("{place}.{name}")
        }
    };
    let required = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let missing: Vec<String> = required
        .filter(|name| !fields.contains_key(*name))
        .map(|name| format!("`{}`", within(name)))
        .collect();
    if !missing.is_empty() {
        return Some(format!(
            "{} {} missing",
            missing.join(", "),
            if missing.len() == 1 { "is" } else { "are" }
        ));
    }
    let known = schema["properties"].as_object()?;
    fields
        .iter()
        .find_map(|(name, value)| match known.get(name) {
            Some(schema) => at(&within(name), schema, value),
            None if schema["additionalProperties"] == Value::Bool(false) => {
                let known = known
                    .keys()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", ");
                Some(format!(
                    "`{}` is not asked for; what is: {known}",
                    within(name)
                ))
            }
            None => None,
        })
}

/// The values that a schema allows where it lists them.
fn choices(schema: &Value) -> Vec<&Value> {
    let list = |word: &str| schema[word].as_array().into_iter().flatten();
    list("enum")
        .chain(list("oneOf").filter_map(|one| one.get("const")))
        .chain(schema.get("const"))
        .collect()
}

fn named(place: &str) -> String {
    if place.is_empty() {
        "the reply".to_owned()
    } else {
        format!("`{place}`")
    }
}

fn is_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        kind => kind == kind_of(value),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        formats::{FORMATS, decide::replies::Response},
        reply::Schema,
    };
    use serde_json::json;

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let schema: Value = serde_json::from_str(
            &Schema::with_choices::<Response>(&["option", "ranking"], &["A", "B"]).json,
        )
        .expect("a schema");
        let good = json!({
            "option": "A", "ranking": ["A", "B"], "confidence": 1, "summary": "s", "claims": ["c"], "convinced_by": [], "change_reason": "",
            "flips_if": "", "challenges": [{"claim": "J2#1", "verdict": "attack", "text": "t"}],
        });
        assert_eq!(misfit(&schema, &good), None);
        let with = |pointer: &str, value: Value| {
            let mut changed = good.clone();
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            match changed.pointer_mut(parent).expect("a place") {
                Value::Object(fields) if value == json!("(none)") => drop(fields.remove(name)),
                Value::Object(fields) => drop(fields.insert(name.to_owned(), value)),
                Value::Array(list) => list.push(value),
                other => panic!("{other}"),
            }
            changed
        };
        let rows = [
            (
                json!("A"),
                "the reply must be of type object, and is of type string",
            ),
            (
                json!(null),
                "the reply must be of type object, and is of type null",
            ),
            (
                with("/option", json!("C")),
                "`option` must be one of \"A\", \"B\"",
            ),
            (
                with("/option", json!(null)),
                "`option` must be one of \"A\", \"B\"",
            ),
            (
                with("/confidence", json!("high")),
                "`confidence` must be of type number, and is of type string",
            ),
            (with("/summary", json!("(none)")), "`summary` is missing"),
            (
                with("/claims/-", json!(7)),
                "`claims[1]` must be of type string, and is of type number",
            ),
            (
                with("/challenges/0/text", json!("(none)")),
                "`challenges[0].text` is missing",
            ),
            (
                with("/challenges/0/verdict", json!("maybe")),
                "`challenges[0].verdict` must be one of ",
            ),
            (
                with("/flip_if", json!("never")),
                "`flip_if` is not asked for; what is: ",
            ),
            (json!({"option": "A"}), "`summary` are missing"),
        ];
        for (reply, why) in rows {
            let found = misfit(&schema, &reply)
                .unwrap_or_else(|| panic!("nothing is found wrong with {reply}"));
            assert!(found.contains(why), "{reply}: {found}");
        }
    }

    #[test]
    fn every_word_of_our_schemas_is_understood() {
        fn words(schema: &Value, found: &mut Vec<String>) {
            let Some(fields) = schema.as_object() else {
                return;
            };
            for (word, value) in fields {
                found.push(word.clone());
                match (word.as_str(), value) {
                    ("properties", Value::Object(all)) => {
                        all.values().for_each(|one| words(one, found))
                    }
                    ("type", kind) => assert!(kind.is_string(), "one type each: {kind}"),
                    ("oneOf", Value::Array(all)) => assert!(
                        all.iter().all(|one| one.get("const").is_some()),
                        "words only: {value}"
                    ),
                    (_, inner) => words(inner, found),
                }
            }
        }
        let mut found = Vec::new();
        for schema in FORMATS.iter().flat_map(|format| (format.replies)()) {
            words(
                &serde_json::from_str(&schema.json).expect("a schema"),
                &mut found,
            );
        }
        assert!(found.len() > 100, "{found:?}");
        found.retain(|word| !UNDERSTOOD.contains(&word.as_str()));
        assert_eq!(found, Vec::<String>::new());
    }
}
