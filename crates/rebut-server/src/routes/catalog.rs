//! What there is to choose from, and what it would take. All of it is the front's to say.

use super::json;
use crate::{middleware::Call, problem::Problem};
use axum::response::Response;
use rebut_app::request::DebateRequest;

pub async fn formats(call: Call) -> Result<Response, Problem> {
    json(&call.server.front.formats())
}

/// The form of a format's input and settings, as one schema of both.
pub async fn schema(call: Call) -> Result<Response, Problem> {
    let name = call.parameter("name")?;
    let card = call
        .server
        .front
        .formats()
        .into_iter()
        .find(|card| card.name == name)
        .ok_or_else(Problem::not_found)?;
    json(&serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": card.name,
        "description": card.about,
        "type": "object",
        "properties": { "input": card.input, "config": card.config },
    }))
}

pub async fn panels(call: Call) -> Result<Response, Problem> {
    json(&call.server.front.panels()?)
}

pub async fn personas(call: Call) -> Result<Response, Problem> {
    json(&call.server.front.personas()?)
}

pub async fn providers(call: Call) -> Result<Response, Problem> {
    json(&call.server.front.providers().await)
}

pub async fn estimate(call: Call) -> Result<Response, Problem> {
    let asked: DebateRequest = crate::body::parse(&call.body)?;
    json(
        &call
            .server
            .front
            .estimate(asked, &call.key()?.owner)
            .await?,
    )
}
