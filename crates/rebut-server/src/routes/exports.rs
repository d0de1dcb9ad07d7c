//! A debate as a file: for people, for other programs, for audits. The forms are a table.

use super::json;
use crate::{middleware::Call, problem::Problem, routes::debates::header_value};
use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use rebut_engine::{clean::for_people, report, view::View};
use schemars::JsonSchema;
use serde::Deserialize;

struct Form {
    name: Name,
    media_type: &'static str,
    ending: &'static str,
    render: Render,
}

enum Render {
    /// For people: what could steer a terminal is taken out.
    Words(fn(&View) -> Result<String, String>),
    /// For programs, which escape what must be.
    Exact(fn(&View) -> Result<String, String>),
    /// The journal itself, byte for byte.
    Journal,
}

/// The forms by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Name {
    /// A report for people.
    #[default]
    Markdown,
    /// The result object.
    Json,
    /// The result as YAML.
    Yaml,
    /// A decision record.
    Adr,
    /// A report for people, in one file for a browser.
    Html,
    /// The drawing alone.
    Svg,
    /// The whole journal.
    Journal,
    /// A review's findings.
    Sarif,
    /// A review as a comment on a change.
    Comment,
}

/// Media types of exports, each once.
pub const MEDIA_TYPES: &[&str] = &[
    "text/markdown",
    "application/json",
    "application/yaml",
    "text/html",
    "image/svg+xml",
    "application/x-ndjson",
    "application/sarif+json",
];

/// Text says how its letters are written; the other types have one way only.
const MARKDOWN: &str = "text/markdown; charset=utf-8";
pub const HTML: &str = "text/html; charset=utf-8";

const FORMS: &[Form] = &[
    Form {
        name: Name::Markdown,
        media_type: MARKDOWN,
        ending: "md",
        render: Render::Words(|view| Ok(report::markdown(view))),
    },
    Form {
        name: Name::Json,
        media_type: "application/json",
        ending: "json",
        render: Render::Exact(document),
    },
    Form {
        name: Name::Yaml,
        media_type: "application/yaml",
        ending: "yaml",
        render: Render::Words(report::yaml),
    },
    Form {
        name: Name::Adr,
        media_type: MARKDOWN,
        ending: "adr.md",
        render: Render::Words(report::adr),
    },
    Form {
        name: Name::Html,
        media_type: HTML,
        ending: "html",
        render: Render::Exact(|view| Ok(report::html(view))),
    },
    Form {
        name: Name::Svg,
        media_type: "image/svg+xml",
        ending: "svg",
        render: Render::Exact(report::chart),
    },
    Form {
        name: Name::Journal,
        media_type: "application/x-ndjson",
        ending: "ndjson",
        render: Render::Journal,
    },
    Form {
        name: Name::Sarif,
        media_type: "application/sarif+json",
        ending: "sarif",
        render: Render::Exact(report::sarif),
    },
    Form {
        name: Name::Comment,
        media_type: MARKDOWN,
        ending: "comment.md",
        render: Render::Words(report::comment),
    },
];

/// Which form.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExportQuery {
    /// The form.
    format: Name,
}

fn document(view: &View) -> Result<String, String> {
    let document = report::document(view).ok_or("there is nothing in this debate")?;
    serde_json::to_string_pretty(&document).map_err(|error| error.to_string())
}

pub async fn export(call: Call) -> Result<Response, Problem> {
    let ExportQuery { format } = call.query()?;
    let form = FORMS
        .iter()
        .find(|form| form.name == format)
        .ok_or_else(Problem::not_found)?;
    let (id, desk) = (call.id()?, &call.server.desk);
    let text = match form.render {
        // What a debate has none of (yet) is no mistake of the request.
        Render::Words(render) => {
            for_people(&render(&desk.view(id).await?).map_err(Problem::conflict)?).into_owned()
        }
        Render::Exact(render) => render(&desk.view(id).await?).map_err(Problem::conflict)?,
        Render::Journal => desk
            .export(id)
            .await?
            .to_ndjson()
            .map_err(|error| Problem::internal(error.to_string()))?,
    };
    let mut response = plain(form.media_type, text);
    let name = format!(
        "attachment; filename=\"debate-{}.{}\"",
        id.short(),
        form.ending
    );
    response
        .headers_mut()
        .insert(header::CONTENT_DISPOSITION, header_value(&name)?);
    if matches!(format, Name::Html | Name::Svg) {
        response
            .headers_mut()
            .insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    }
    Ok(response)
}

pub async fn transcript(call: Call) -> Result<Response, Problem> {
    let view = call.server.desk.view(call.id()?).await?;
    Ok(plain(
        MARKDOWN,
        for_people(&report::transcript(&view)).into_owned(),
    ))
}

/// A page without a script, which may draw and nothing else.
pub async fn report(call: Call) -> Result<Response, Problem> {
    let view = call.server.desk.view(call.id()?).await?;
    let mut response = plain(HTML, report::html(&view));
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    Ok(response)
}

/// What a page of this server may do: look like something.
pub const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action \
     'none'; frame-ancestors 'none'",
);

/// Whether a journal is as it was written.
pub async fn audit(call: Call) -> Result<Response, Problem> {
    json(
        &call
            .server
            .desk
            .verify(call.id()?, &call.server.settings.trusted)
            .await?,
    )
}

/// An answer that is no JSON.
pub fn plain(media_type: &'static str, text: String) -> Response {
    (
        [(header::CONTENT_TYPE, HeaderValue::from_static(media_type))],
        Body::from(text),
    )
        .into_response()
}
