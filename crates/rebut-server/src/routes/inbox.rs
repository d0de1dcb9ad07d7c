//! Turns that people or calling agents answer, where the front offers that.

use super::json;
use crate::{
    door::Call,
    front::{Inbox, TurnRequest},
    problem::Problem,
};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Turns that wait.
#[derive(Serialize, JsonSchema)]
pub struct TurnRequests {
    /// In the order they were asked.
    turns: Vec<TurnRequest>,
}

/// An answer to a turn.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// What is answered.
    text: String,
}

fn inbox(call: &Call) -> Result<Arc<dyn Inbox>, Problem> {
    call.server.front.inbox().ok_or_else(Problem::not_found)
}

/// Lists turns that wait.
pub async fn list(call: Call) -> Result<Response, Problem> {
    json(&TurnRequests { turns: inbox(&call)?.waiting(call.id()?).await })
}

/// Shows a turn that waits.
pub async fn show(call: Call) -> Result<Response, Problem> {
    let waiting = inbox(&call)?.waiting(call.id()?).await;
    let turn = call.parameter("turn")?;
    json(&waiting.into_iter().find(|request| request.turn == turn).ok_or_else(Problem::not_found)?)
}

/// Answers a turn that waits.
pub async fn answer(call: Call) -> Result<Response, Problem> {
    let Reply { text } = crate::body::parse(&call.body)?;
    let (inbox, turn) = (inbox(&call)?, call.parameter("turn")?);
    if !inbox.waiting(call.id()?).await.iter().any(|request| request.turn == turn) {
        return Err(Problem::not_found());
    }
    inbox.answer(call.id()?, turn, &call.key()?.name, text).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
