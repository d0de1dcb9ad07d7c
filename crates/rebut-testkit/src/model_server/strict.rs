//! Looking at requests as strictly as vendors do: nothing missing, nothing unknown.

use serde_json::Value;

/// A complaint, as the vendor would send it with status 400.
pub(super) type Checked<T = ()> = Result<T, (u16, String)>;

/// A complaint about the request's form.
pub(super) fn bad<T>(why: impl Into<String>) -> Checked<T> {
    Err((400, why.into()))
}

/// The object has every required field and no unknown one.
pub(super) fn fields(object: &Value, at: &str, required: &[&str], optional: &[&str]) -> Checked {
    let Some(map) = object.as_object() else {
        return bad(format!("{at} must be an object"));
    };
    if let Some(missing) = required.iter().find(|field| !map.contains_key(**field)) {
        return bad(format!("{at}.{missing}: field required"));
    }
    match map
        .keys()
        .find(|field| !required.contains(&field.as_str()) && !optional.contains(&field.as_str()))
    {
        Some(unknown) => bad(format!("{at}.{unknown}: extra inputs are not permitted")),
        None => Ok(()),
    }
}

/// The field, if present, is what `is` says.
pub(super) fn typed(object: &Value, field: &str, is: impl Fn(&Value) -> bool) -> Checked {
    match object.get(field) {
        Some(value) if !is(value) => bad(format!("{field}: {value} is not allowed here")),
        _ => Ok(()),
    }
}

/// The field holds one of these words, if it is there.
pub(super) fn one_of(object: &Value, field: &str, words: &[&str]) -> Checked {
    typed(object, field, |value| {
        value.as_str().is_some_and(|value| words.contains(&value))
    })
}

/// A temperature within bounds, and none for models whose name begins so: they refuse it, whatever
/// it is.
pub(super) fn temperature(body: &Value, most: f64, refusing: &[&str]) -> Checked {
    let model = body["model"].as_str().unwrap_or_default();
    if body.get("temperature").is_some()
        && refusing
            .iter()
            .any(|beginning| model.starts_with(beginning))
    {
        return bad(format!("temperature: not supported with {model}"));
    }
    typed(body, "temperature", is_temperature(most))
}

/// Those of OpenAI's models that refuse a temperature.
pub(super) const REASONING: &[&str] = &["gpt-5-mini", "gpt-5-pro", "gpt-5.4", "o1", "o3", "o4"];

pub(super) fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

pub(super) fn is_count(value: &Value) -> bool {
    value.as_u64().is_some_and(|count| count > 0)
}

/// A temperature up to that one.
pub(super) fn is_temperature(most: f64) -> impl Fn(&Value) -> bool {
    move |value| {
        value
            .as_f64()
            .is_some_and(|temperature| (0.0..=most).contains(&temperature))
    }
}

/// A schema as strict structured output wants it: every object closed, everything required.
pub(super) fn schema(schema: &Value) -> Checked {
    let Some(map) = schema.as_object() else {
        return bad("schema must be an object");
    };
    if let Some(properties) = map.get("properties").and_then(Value::as_object) {
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if map.get("additionalProperties") != Some(&Value::Bool(false))
            || !properties
                .keys()
                .all(|name| required.contains(&name.as_str()))
        {
            return bad(
                "Invalid schema for response_format: additionalProperties must be false and every \
                 property required",
            );
        }
        return properties.values().try_for_each(self::schema);
    }
    map.get("items").map_or(Ok(()), self::schema)
}

pub(super) fn is_name(value: &Value) -> bool {
    value.as_str().is_some_and(|name| {
        (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    })
}
