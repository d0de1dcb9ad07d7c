//! The document of the interface (OpenAPI 3.1), made from the table of routes and the types the
//! handlers use.

use crate::{
    problem::{MEDIA_TYPE, Problem},
    resolver::DebateResolver,
    routes::{
        Debate, Reply, Route, SchemaOf, schema_of,
        table::{HEADERS, PARAMETERS, ROUTES},
    },
};
use axum::http::StatusCode;
use schemars::{
    SchemaGenerator,
    generate::{Contract, SchemaSettings},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub fn document(front: &dyn DebateResolver) -> Value {
    let formats: Vec<String> = front.formats().into_iter().map(|card| card.name).collect();
    let mut schemas = Schemas::new();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES {
        let mut operation = operation(route, &mut schemas);
        name_formats(&mut operation, &formats);
        paths
            .entry(route.path)
            .or_default()
            .insert(route.method.as_str().to_lowercase(), operation);
    }
    let responses: Map<String, Value> = PROBLEMS
        .iter()
        .map(|(status, about)| {
            (
                format!("Problem{status}"),
                problem(*status, about, &mut schemas),
            )
        })
        .collect();
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "rebut",
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!("Debates between agents, judged and kept. Formats here: \
                {}.", formats.join(", ")),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "tags": TAGS.iter().map(|(name, about)| json!({"name": name, "description": about})).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": schemas.given.take_definitions(true),
            "responses": responses,
            "securitySchemes": {
                "key": { "type": "http", "scheme": "bearer", "description": "A key of this \
                    server." },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "rebut", "description": "A \
                    session of a key, for pages; `POST /v1/session` sets it." },
            },
        },
        "security": [{ "key": [] }, { "cookie": [] }],
    })
}

const TAGS: &[(&str, &str)] = &[
    ("debates", "Start, list, look, remove."),
    ("readings", "What happened in a debate."),
    ("steering", "What people do to a debate."),
    ("webhooks", "Who is told of events, signed."),
    ("catalog", "What there is to choose from."),
    ("service", "The server itself."),
];

/// What may be wrong, by status.
const PROBLEMS: &[(u16, &str)] = &[
    (400, "The request cannot be read."),
    (401, "No key was shown, or none that is known."),
    (
        403,
        "The key may not do this, or a page of another origin asked.",
    ),
    (404, "There is no such thing, or it is somebody else's."),
    (408, "The body did not come in time."),
    (
        409,
        "It is not in a state for this; what was decided before is inside.",
    ),
    (413, "The body, or the work that it asks for, is too large."),
    (415, "The body is not `application/json`."),
    (421, "The `Host` is not one of this server's."),
    (422, "The request can be read and does not fit."),
    (426, "This is a WebSocket."),
    (
        429,
        "Too many requests, watchers or counts; `Retry-After` says when to come back.",
    ),
    (500, "Something is wrong with the server or a journal."),
    (
        503,
        "The server cannot do this now; `Retry-After` says when to come back.",
    ),
];

/// The problems that may come of a route.
fn error_statuses(route: &Route) -> Vec<u16> {
    let mut statuses = vec![400, 421, 500, 503];
    if route.min_role.is_some() {
        statuses.extend([401, 403, 429]);
    }
    if route.debate == Debate::Own {
        statuses.push(404);
    }
    if route.body.is_some() {
        statuses.extend([408, 413, 415, 422]);
    }
    statuses.extend(route.error_statuses);
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

/// Schemas of what is given and of what is taken differ: a default may be left out by one side
/// only.
struct Schemas {
    given: SchemaGenerator,
    taken: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = |contract: Contract, inline: bool| {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.contract = contract;
                settings.inline_subschemas = inline;
                settings.meta_schema = None;
            })
        };
        Self {
            given: settings(Contract::Serialize, false).into_generator(),
            taken: settings(Contract::Deserialize, true).into_generator(),
        }
    }

    fn given(&mut self, schema: SchemaOf) -> Value {
        schema(&mut self.given).to_value()
    }

    fn taken(&mut self, schema: SchemaOf) -> Value {
        schema(&mut self.taken).to_value()
    }
}

fn operation(route: &Route, schemas: &mut Schemas) -> Value {
    let mut responses: BTreeMap<String, Value> = route
        .replies
        .iter()
        .map(|reply| (reply.status.to_string(), response(reply, schemas)))
        .collect();
    for status in error_statuses(route) {
        responses.entry(status.to_string()).or_insert_with(
            || json!({ "$ref": format!("#/components/responses/Problem{status}") }),
        );
    }
    let min_role = route
        .min_role
        .map_or("Anybody, without a key.".to_owned(), |min_role| {
            format!("Takes a key of role `{}`.", min_role.as_str())
        });
    let mut operation = json!({
        "operationId": route.id,
        "tags": [route.tag],
        "summary": route.summary,
        "description": min_role,
        "parameters": parameters(route, schemas),
        "responses": responses,
    });
    if let Some(body) = &route.body {
        let content = json!({ "application/json": { "schema": schemas.taken(body.schema) } });
        operation["requestBody"] = json!({ "required": body.required, "content": content });
    }
    if route.min_role.is_none() {
        operation["security"] = json!([]);
    }
    operation
}

/// A new debate is of a format that there is here.
fn name_formats(operation: &mut Value, formats: &[String]) {
    let schema = operation.pointer_mut("/requestBody/content/application~1json/schema");
    if let Some(schema) = schema.filter(|schema| schema["title"] == "NewDebate") {
        schema["properties"]["format"]["enum"] = json!(formats);
    }
}

fn parameters(route: &Route, schemas: &mut Schemas) -> Vec<Value> {
    let in_path = PARAMETERS
        .iter()
        .filter(|(name, ..)| route.path.contains(&format!("{{{name}}}")));
    let mut all: Vec<Value> = in_path
        .map(|(name, about, pattern)| {
            json!({ "name": name, "in": "path", "required": true, "description": about, "schema": text_like(pattern) })
        })
        .collect();
    if let Some(query) = route.query {
        all.extend(in_query(&schemas.taken(query)));
    }
    let headers = HEADERS
        .iter()
        .filter(|(name, ..)| route.headers.contains(name));
    all.extend(headers.map(|(name, about, pattern)| {
        json!({ "name": name, "in": "header", "required": false, "description": about, "schema": text_like(pattern) })
    }));
    all
}

/// Text of that form; of any form where none is said.
fn text_like(pattern: &str) -> Value {
    if pattern.is_empty() {
        json!({ "type": "string", "minLength": 1 })
    } else {
        json!({ "type": "string", "pattern": pattern })
    }
}

/// The fields of a type as parameters. What may be left out is left out: there is no null behind a
/// question mark.
fn in_query(schema: &Value) -> Vec<Value> {
    let fields = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let parameter = |(name, mut field): (String, Value)| {
        let about = field
            .as_object_mut()
            .and_then(|field| field.remove("description"));
        json!({ "name": name, "in": "query", "required": false, "description": about.unwrap_or_default(), "schema": without_null(field) })
    };
    fields.into_iter().map(parameter).collect()
}

fn without_null(mut schema: Value) -> Value {
    if let Some(types) = schema.get_mut("type").filter(|types| types.is_array()) {
        let kept: Vec<Value> = types
            .as_array()
            .into_iter()
            .flatten()
            .filter(|kind| *kind != "null")
            .cloned()
            .collect();
        *types = match &kept[..] {
            [one] => one.clone(),
            _ => kept.into(),
        };
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("default");
    }
    let choices = schema.get("anyOf").and_then(Value::as_array).cloned();
    let real: Vec<Value> = choices
        .into_iter()
        .flatten()
        .filter(|choice| choice["type"] != "null")
        .collect();
    match &real[..] {
        [one] => one_of_words(one.clone()),
        _ => one_of_words(schema),
    }
}

/// A choice between words as tools read it best: a list of them.
fn one_of_words(schema: Value) -> Value {
    let choices = schema.get("oneOf").and_then(Value::as_array);
    let words: Option<Vec<&Value>> =
        choices.and_then(|choices| choices.iter().map(|choice| choice.get("const")).collect());
    match words {
        Some(words) if !words.is_empty() => json!({ "type": "string", "enum": words }),
        _ => schema,
    }
}

fn response(reply: &Reply, schemas: &mut Schemas) -> Value {
    let mut content = Map::new();
    if let Some(schema) = reply.json {
        content.insert(
            "application/json".to_owned(),
            json!({ "schema": schemas.given(schema) }),
        );
    }
    for media_type in reply.text {
        // A file that is JSON or YAML itself is read as such by tools, and may hold anything.
        let is_read = ["/json", "+json", "/yaml"]
            .iter()
            .any(|kind| media_type.ends_with(kind));
        let schema = if is_read {
            json!({})
        } else {
            json!({ "type": "string" })
        };
        content.insert((*media_type).to_owned(), json!({ "schema": schema }));
    }
    let mut response = json!({ "description": reply.about });
    if !content.is_empty() {
        response["content"] = content.into();
    }
    let headers = HEADERS
        .iter()
        .filter(|(name, ..)| reply.headers.contains(name));
    let headers: Map<String, Value> = headers
        .map(|(name, about, pattern)| {
            (
                (*name).to_owned(),
                json!({ "description": about, "schema": text_like(pattern) }),
            )
        })
        .collect();
    if !headers.is_empty() {
        response["headers"] = headers.into();
    }
    response
}

fn problem(status: u16, about: &str, schemas: &mut Schemas) -> Value {
    let reason = StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or_default();
    let mut response = json!({
        "description": format!("{reason}: {about}"),
        "content": { MEDIA_TYPE: { "schema": schemas.given(schema_of::<Problem>) } },
    });
    if matches!(status, 429 | 503) {
        response["headers"] = json!({ "Retry-After": { "description": "Seconds.", "schema": { "type": "integer", "minimum": 0 } } });
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::Method;

    #[test]
    fn the_table_is_sound() {
        let mut ids = std::collections::BTreeSet::new();
        for route in ROUTES {
            assert!(ids.insert(route.id), "{} is there twice", route.id);
            let of_debate = route.path.starts_with("/v1/debates/{id}");
            assert_eq!(
                route.debate == Debate::Own,
                of_debate,
                "{}: a route with an id is its owner's",
                route.path
            );
            assert_eq!(
                route.body.is_some(),
                matches!(route.method, Method::Post | Method::Put),
                "{:?} {}",
                route.method,
                route.path
            );
            assert!(!route.replies.is_empty(), "{}", route.id);
            assert!(
                route.min_role.is_some() || ["/healthz", "/readyz"].contains(&route.path),
                "{} is open",
                route.path
            );
            for part in route
                .path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            {
                assert!(
                    PARAMETERS.iter().any(|(name, ..)| *name == part),
                    "{part} has no form"
                );
            }
            for header in route
                .headers
                .iter()
                .chain(route.replies.iter().flat_map(|reply| reply.headers))
            {
                assert!(
                    HEADERS.iter().any(|(name, ..)| name == header),
                    "{header} has no form"
                );
            }
            for status in error_statuses(route) {
                assert!(
                    PROBLEMS.iter().any(|(known, _)| *known == status),
                    "{status} is not described"
                );
            }
        }
    }
}
