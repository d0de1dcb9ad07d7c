//! What people do to a debate: note, answer, mark, redact, cancel, pause, resume, fork.

use super::{
    debates::{card_of, derived_id, idempotency_key, is_begun, located, request_hash},
    json,
};
use crate::{
    body::{number, object},
    middleware::Call,
    problem::Problem,
    resolver::{Change, Forked},
    server::Shared,
};
use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use rebut_app::request::LimitsRequest;
use rebut_engine::{
    DebateId, Fork,
    event::{HumanAnswered, HumanMarked},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A request that says nothing more.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// A note.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// What is said.
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    text: String,
}

/// An option: the choice after a contested end, or what turned out right.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The option.
    option: String,
    /// Why.
    #[serde(default)]
    reason: String,
}

/// An event whose text goes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redaction {
    /// Its number in the journal.
    #[serde(deserialize_with = "number")]
    #[schemars(range(min = 1))]
    seq: u64,
    /// Why.
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    reason: String,
}

/// What a text that was taken out leaves to do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Redacted {
    /// Events that still quote it, by number.
    quoting: Vec<u64>,
}

/// Why something is done.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reason {
    /// Why.
    reason: String,
}

/// What a debate may use from now on.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct More {
    /// What is left out stays as it was.
    #[serde(deserialize_with = "object")]
    limits: LimitsRequest,
}

/// What is different in a fork.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkAt {
    /// The first step to be asked anew; `end` keeps every turn.
    at: String,
    /// Settings to change.
    #[serde(default)]
    config: BTreeMap<String, Value>,
    /// Agents that get another model.
    #[serde(default)]
    models: BTreeMap<String, String>,
    /// What it may use; copied turns are not counted.
    #[serde(default, deserialize_with = "object")]
    limits: LimitsRequest,
}

pub async fn note(call: Call) -> Result<Response, Problem> {
    let Note { text } = crate::body::parse(&call.body)?;
    call.server
        .desk
        .note(call.id()?, &text, &call.key()?.name)
        .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub async fn answer(call: Call) -> Result<Response, Problem> {
    let Answer { option, reason } = crate::body::parse(&call.body)?;
    let by = call.key()?.name.clone();
    let option = call
        .server
        .desk
        .answer(call.id()?, &option, &reason, &by)
        .await?;
    json(&HumanAnswered { option, reason, by })
}

/// Says which option turned out right.
pub async fn mark(call: Call) -> Result<Response, Problem> {
    let Answer { option, reason } = crate::body::parse(&call.body)?;
    let by = call.key()?.name.clone();
    let option = call
        .server
        .desk
        .mark(call.id()?, &option, &reason, &by)
        .await?;
    json(&HumanMarked { option, reason, by })
}

/// Takes the text of an event out for good.
pub async fn redact(call: Call) -> Result<Response, Problem> {
    let Redaction { seq, reason } = crate::body::parse(&call.body)?;
    if reason.trim().is_empty() {
        return Err(Problem::unprocessable(
            "a text that goes for good goes for a `reason`",
        ));
    }
    let quoting = call
        .server
        .desk
        .redact(call.id()?, seq, &reason, &call.key()?.name)
        .await?;
    call.server.front.forget_text().await?;
    json(&Redacted { quoting })
}

pub async fn cancel(call: Call) -> Result<Response, Problem> {
    let Reason { reason } = call.json()?;
    end(&call.server, call.id()?, &call.key()?.name, &reason).await?;
    accepted(&call.server, call.id()?).await
}

/// Ends a debate, whoever runs it.
pub async fn end(server: &Shared, id: DebateId, by: &str, reason: &str) -> Result<(), Problem> {
    Ok(server.desk.cancel(id, by, reason).await?)
}

pub async fn pause(call: Call) -> Result<Response, Problem> {
    let Nothing {} = call.json()?;
    call.server
        .desk
        .pause_by(call.id()?, &call.key()?.name)
        .await?;
    accepted(&call.server, call.id()?).await
}

pub async fn resume(call: Call) -> Result<Response, Problem> {
    let More { limits } = call.json()?;
    let change = Change {
        limits,
        models: Vec::new(),
        fork: None,
    };
    let more = call.server.front.change(change, &call.key()?.owner).await?;
    call.server
        .desk
        .resume_by(call.id()?, more, &call.key()?.name)
        .await?;
    accepted(&call.server, call.id()?).await
}

/// Starts a new debate from an old one's turns. It belongs to whoever the old one belongs to. A key
/// of idempotency makes its id, as that of any debate.
pub async fn fork(call: Call) -> Result<Response, Problem> {
    let asked: ForkAt = crate::body::parse(&call.body)?;
    let Some(key) = idempotency_key(&call)? else {
        let id = call
            .server
            .desk
            .fork(call.id()?, changed(&call, asked).await?)
            .await?
            .id;
        return forked(&call, id, false).await;
    };
    let owner = &call.key()?.owner;
    let id = derived_id(owner, &key)?;
    // Another debate, or a start under the same key, is another request.
    let request = request_hash(&("fork", call.id()?, &asked))?;
    if is_begun(&call.server, id, owner, request).await? {
        return forked(&call, id, true).await;
    }
    match call
        .server
        .desk
        .fork_once(id, call.id()?, changed(&call, asked).await?, request)
        .await
    {
        Ok(_) => forked(&call, id, false).await,
        // The same request may have come twice at once, here or at another node.
        Err(error) if is_begun(&call.server, id, owner, request).await? => {
            drop(error);
            forked(&call, id, true).await
        }
        Err(error) => Err(error.into()),
    }
}

/// What is to be different, as far as the server allows it.
async fn changed(call: &Call, asked: ForkAt) -> Result<Fork, Problem> {
    let ForkAt {
        at,
        config,
        models,
        limits,
    } = asked;
    let owner = call.key()?.owner.clone();
    let forked = Forked {
        format: call.debate()?.format.clone(),
        config: config.clone().into_iter().collect(),
    };
    let change = Change {
        limits,
        models: models.values().cloned().collect(),
        fork: Some(forked),
    };
    let more = call.server.front.change(change, &owner).await?;
    Ok(Fork {
        at,
        config,
        models,
        more,
        initiated_by: owner,
    })
}

async fn forked(call: &Call, id: DebateId, replayed: bool) -> Result<Response, Problem> {
    located(accepted(&call.server, id).await?, id, replayed)
}

async fn accepted(server: &Shared, id: DebateId) -> Result<Response, Problem> {
    Ok((StatusCode::ACCEPTED, Json(card_of(server, id).await?)).into_response())
}
