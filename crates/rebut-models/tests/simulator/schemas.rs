//! Whether a value is of a schema: as much of it as schemas of replies use.

use serde_json::Value;

/// What is wrong with a value, if anything is.
pub fn problem(schema: &Value, value: &Value) -> Option<String> {
    wrong(schema, schema, value)
}

fn wrong(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let path = schema["$ref"]
        .as_str()
        .and_then(|path| path.strip_prefix('#'));
    if let Some(schema) = path.and_then(|path| root.pointer(path)) {
        return wrong(root, schema, value);
    }
    for branches in ["anyOf", "oneOf"] {
        let fits = |branch: &Value| wrong(root, branch, value).is_none();
        if schema[branches]
            .as_array()
            .is_some_and(|list| !list.iter().any(fits))
        {
            return Some(format!("{value} is of no branch"));
        }
    }
    let is_listed = |list: &Value| list.as_array().is_none_or(|list| list.contains(value));
    let within = |low: &str, high: &str, count: f64| {
        schema[low].as_f64().is_none_or(|low| low <= count)
            && schema[high].as_f64().is_none_or(|high| count <= high)
    };
    let is_sized = match value {
        Value::Number(number) => within("minimum", "maximum", number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => within("minLength", "maxLength", text.chars().count() as f64),
        Value::Array(list) => within("minItems", "maxItems", list.len() as f64),
        _ => true,
    };
    let is_const = schema.get("const").is_none_or(|constant| constant == value);
    if !(is_listed(&schema["enum"]) && is_sized && is_const && is_of_type(&schema["type"], value)) {
        return Some(format!("{value} is not of {schema}"));
    }
    let items = value.as_array().into_iter().flatten();
    let in_items = items
        .filter_map(|item| wrong(root, &schema["items"], item))
        .next();
    in_items.or_else(|| in_object(root, schema, value))
}

fn is_of_type(kinds: &Value, value: &Value) -> bool {
    let is = |kind: &Value| match kind.as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => value.is_null(),
    };
    match kinds {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(is),
        kind => is(kind),
    }
}

fn in_object(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let (object, known) = (value.as_object()?, schema["properties"].as_object()?);
    let required = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let missing = required
        .filter(|name| !object.contains_key(*name))
        .map(|name| format!("no {name}"))
        .next();
    let inner = |(name, value): (&String, &Value)| match known.get(name) {
        Some(schema) => wrong(root, schema, value).map(|problem| format!("{name}: {problem}")),
        None => Some(format!("unknown {name}")),
    };
    missing.or_else(|| object.iter().find_map(inner))
}
