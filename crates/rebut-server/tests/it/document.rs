//! The document of the interface: what is in it is served, what is served is in it, and every
//! reference leads somewhere.

use crate::house::House;
use rebut_server::listed;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Routes and document, both ways; and the router really has each of them.
#[tokio::test]
async fn routes_and_document_are_the_same() {
    let house = House::open().await;
    let document = house.get("alice-viewer", "/v1/openapi.json").await.json();
    let paths = document["paths"].as_object().expect("paths");
    let described: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, methods)| {
            methods
                .as_object()
                .expect("methods")
                .keys()
                .map(move |method| (method.to_uppercase(), path.clone()))
        })
        .collect();
    let served: BTreeSet<(String, String)> = listed()
        .iter()
        .map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned()))
        .collect();
    assert_eq!(described, served);
    for (method, path, min_role) in listed() {
        let filled = path
            .replace("{id}", "00000000-0000-4000-8000-000000000000")
            .replace("{n}", "1")
            .replace("{name}", "none");
        let answer = house
            .ask(
                "",
                method,
                &filled
                    .replace("{gate}", "g")
                    .replace("{turn}", "t")
                    .replace("{webhook}", "w"),
                &Value::Null,
            )
            .await;
        assert_eq!(
            answer.status,
            if min_role.is_some() { 401 } else { 200 },
            "{method} {path}"
        );
    }
    for method in ["PUT", "PATCH", "OPTIONS"] {
        let answer = house
            .ask("alice-admin", method, "/v1/debates", &Value::Null)
            .await;
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, "POST,GET,HEAD"),
            "{method}"
        );
    }
    assert_eq!(house.get("alice-admin", "/v1/nothing").await.status, 404);
}

#[tokio::test]
async fn every_reference_leads_somewhere_and_every_operation_is_complete() {
    let house = House::open().await;
    let document = house.get("alice-viewer", "/v1/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut references = BTreeSet::new();
    gather(&document, &mut references);
    assert!(references.len() > 20, "{references:?}");
    for reference in &references {
        let found = document.pointer(
            reference
                .strip_prefix('#')
                .expect("a reference into the document"),
        );
        assert!(found.is_some(), "{reference} leads nowhere");
    }
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let place = format!("{method} {path}");
            assert!(
                operation["summary"]
                    .as_str()
                    .is_some_and(|text| text.ends_with('.')),
                "{place}"
            );
            let parameters = operation["parameters"].as_array().expect("parameters");
            let in_path = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "path")
                .count();
            assert_eq!(in_path, path.matches('{').count(), "{place}");
            for parameter in parameters {
                let kind = &parameter["schema"]["type"];
                assert!(
                    kind.is_string(),
                    "{place} {}: {}",
                    parameter["name"],
                    parameter["schema"]
                );
            }
            let statuses: Vec<&String> = operation["responses"]
                .as_object()
                .expect("responses")
                .keys()
                .collect();
            assert!(
                statuses
                    .iter()
                    .any(|status| status.starts_with('2') || *status == "101"),
                "{place}: {statuses:?}"
            );
        }
    }
    for path in ["/v1/debates", "/v1/estimates"] {
        let body = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(
            body["properties"]["format"]["enum"],
            json!(["decide", "gated"]),
            "formats are those of this server: {body}"
        );
    }
    let page = house.get("alice-viewer", "/v1/docs").await;
    assert!(
        page.body.contains("/v1/debates/{id}/approve") && !page.body.contains("<script"),
        "{}",
        page.body
    );
}

fn gather(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.insert(reference.clone());
            }
            fields.values().for_each(|value| gather(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| gather(value, found)),
        _ => {}
    }
}

/// Whether a value has the form of a schema, as far as our schemas say something: a small reading
/// of JSON Schema.
pub fn fits(document: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(problem) = misfit(document, schema, value, place) {
        panic!("{problem}");
    }
}

fn misfit(document: &Value, schema: &Value, value: &Value, place: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document
            .pointer(reference.strip_prefix('#')?)
            .unwrap_or(&Value::Bool(false));
        return misfit(document, target, value, place);
    }
    if *schema == Value::Bool(false) {
        return Some(format!("{place}: nothing is allowed here, not {value}"));
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[word].as_array()
            && choices
                .iter()
                .all(|choice| misfit(document, choice, value, place).is_some())
        {
            return Some(format!("{place}: {value} is none of {choices:?}"));
        }
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_kind(kind, value)) {
        return Some(format!("{place}: {value} is not {kinds:?}"));
    }
    if schema["enum"]
        .as_array()
        .is_some_and(|words| !words.contains(value))
        || schema.get("const").is_some_and(|word| word != value)
    {
        return Some(format!("{place}: {value} is not one of {schema}"));
    }
    if let Some(list) = value.as_array() {
        return list.iter().enumerate().find_map(|(at, one)| {
            misfit(document, &schema["items"], one, &format!("{place}[{at}]"))
        });
    }
    let fields = value.as_object()?;
    let missing = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|name| !fields.contains_key(name.as_str().unwrap_or_default()));
    if let Some(missing) = missing {
        return Some(format!("{place}: {missing} is missing in {value}"));
    }
    fields.iter().find_map(|(name, value)| {
        let place = format!("{place}.{name}");
        let schema = schema["properties"]
            .get(name)
            .or(schema.get("additionalProperties"));
        misfit(document, schema.unwrap_or(&json!({})), value, &place)
    })
}

fn is_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

/// The little reader above finds what is wrong; otherwise it would show nothing.
#[test]
fn the_reader_of_schemas_finds_what_is_wrong() {
    let document = json!({ "components": { "schemas": { "Name": { "type": "string", "enum": ["a", "b"] } } } });
    let schema = json!({
        "type": "object",
        "required": ["name"],
        "properties": { "name": { "$ref": "#/components/schemas/Name" }, "many": { "type": ["array", "null"], "items": { "type": "integer" } } },
        "additionalProperties": false,
    });
    for good in [
        json!({ "name": "a" }),
        json!({ "name": "b", "many": [1, 2] }),
        json!({ "name": "b", "many": null }),
    ] {
        assert_eq!(misfit(&document, &schema, &good, ""), None);
    }
    for bad in [
        json!({}),
        json!({ "name": "c" }),
        json!({ "name": "a", "many": ["x"] }),
        json!({ "name": "a", "more": 1 }),
        json!([]),
    ] {
        assert!(misfit(&document, &schema, &bad, "").is_some(), "{bad}");
    }
}
