//! The document of the interface as a page for people: no script, nothing from elsewhere.

use serde_json::Value;
use std::fmt::Write;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem \
    auto;padding:0 1rem;color:#222;background:#fff}\
code,pre{font:14px/1.4 ui-monospace,monospace}pre{overflow:auto;background:#f5f5f5;padding:.5rem}\
h3{margin:1.5rem 0 0}summary{cursor:pointer}.m{display:inline-block;min-width:4.5rem;font-weight:600}\
table{border-collapse:collapse}td{padding:.1rem .8rem .1rem 0;vertical-align:top}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#242424}}";

pub fn page(document: &Value) -> String {
    let mut page = String::new();
    let title = escaped(document["info"]["title"].as_str().unwrap_or_default());
    let about = escaped(document["info"]["description"].as_str().unwrap_or_default());
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head><body><h1>{title} over \
         HTTP</h1><p>{about}</p>\
         <p>For programs: <a href=\"/v1/openapi.json\">/v1/openapi.json</a></p>"
    );
    for tag in document["tags"].as_array().into_iter().flatten() {
        let (name, about) = (
            tag["name"].as_str().unwrap_or_default(),
            tag["description"].as_str().unwrap_or_default(),
        );
        let _ = write!(page, "<h2>{}</h2><p>{}</p>", escaped(name), escaped(about));
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in methods
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(_, operation)| operation["tags"][0] == name)
            {
                write_operation(&mut page, method, path, operation);
            }
        }
    }
    page.push_str("<h2>Forms</h2>");
    for (name, schema) in document["components"]["schemas"]
        .as_object()
        .into_iter()
        .flatten()
    {
        write_schema(&mut page, &escaped(name), schema);
    }
    page.push_str("</body></html>\n");
    page
}

fn write_operation(page: &mut String, method: &str, path: &str, operation: &Value) {
    let text = |value: &Value| escaped(value.as_str().unwrap_or_default());
    let _ = write!(
        page,
        "<h3 id=\"{}\"><span class=\"m\">{}</span><code>{}</code></h3><p>{} {}</p>",
        text(&operation["operationId"]),
        escaped(&method.to_uppercase()),
        escaped(path),
        text(&operation["summary"]),
        text(&operation["description"]),
    );
    page.push_str("<table>");
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let (name, place, about) = (
            text(&parameter["name"]),
            text(&parameter["in"]),
            text(&parameter["description"]),
        );
        let _ = write!(
            page,
            "<tr><td><code>{name}</code></td><td>{place}</td><td>{about}</td></tr>"
        );
    }
    page.push_str("</table>");
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    if !body.is_null() {
        write_schema(page, "Body", body);
    }
    page.push_str("<table>");
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let about = response["description"]
            .as_str()
            .or(response["$ref"].as_str())
            .unwrap_or_default();
        let about = about
            .rsplit('/')
            .next()
            .filter(|_| about.starts_with('#'))
            .unwrap_or(about);
        let _ = write!(
            page,
            "<tr><td>{}</td><td>{}</td></tr>",
            escaped(status),
            escaped(about)
        );
    }
    page.push_str("</table>");
}

fn write_schema(page: &mut String, title: &str, schema: &Value) {
    let schema = serde_json::to_string_pretty(schema).unwrap_or_default();
    let _ = write!(
        page,
        "<details><summary>{title}</summary><pre>{}</pre></details>",
        escaped(&schema)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
