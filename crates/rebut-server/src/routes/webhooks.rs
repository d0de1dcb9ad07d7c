//! Webhooks: who is told of what, where the front offers that. They belong to an owner, not to a
//! debate.

use super::{json, steering::Nothing};
use crate::{
    middleware::Call,
    problem::Problem,
    webhooks::{NotDone, WebhookRequest, Webhooks},
};
use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use rebut_engine::outbox::{Deliveries, Delivery, DeliveryState, Webhook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The webhooks of an owner.
#[derive(Serialize, JsonSchema)]
pub struct WebhookList {
    /// Oldest first.
    webhooks: Vec<Webhook>,
}

/// What was and is to be sent.
#[derive(Serialize, JsonSchema)]
pub struct DeliveryList {
    /// Newest first.
    deliveries: Vec<Delivery>,
}

/// Which deliveries.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeliveriesQuery {
    /// Only of this state.
    state: Option<DeliveryState>,
    /// At most so many.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

fn webhooks(call: &Call) -> Result<Arc<dyn Webhooks>, Problem> {
    call.server.front.webhooks().ok_or_else(Problem::not_found)
}

fn of(call: &Call) -> Result<(&str, &str), Problem> {
    Ok((&call.key()?.owner, call.parameter("webhook")?))
}

pub async fn add(call: Call) -> Result<Response, Problem> {
    let asked = crate::body::parse::<WebhookRequest>(&call.body)?;
    let made = webhooks(&call)?.add(&call.key()?.owner, asked).await?;
    let place = format!("/v1/webhooks/{}", made.webhook.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(made)).into_response())
}

pub async fn list(call: Call) -> Result<Response, Problem> {
    json(&WebhookList {
        webhooks: webhooks(&call)?.list(&call.key()?.owner).await?,
    })
}

pub async fn show(call: Call) -> Result<Response, Problem> {
    let (owner, id) = of(&call)?;
    json(&webhooks(&call)?.show(owner, id).await?)
}

/// Gives one another address and other kinds.
pub async fn replace(call: Call) -> Result<Response, Problem> {
    let asked = crate::body::parse::<WebhookRequest>(&call.body)?;
    let (owner, id) = of(&call)?;
    json(&webhooks(&call)?.replace(owner, id, asked).await?)
}

pub async fn remove(call: Call) -> Result<Response, Problem> {
    let (owner, id) = of(&call)?;
    webhooks(&call)?.remove(owner, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Sends a message to one now.
pub async fn test(call: Call) -> Result<Response, Problem> {
    let Nothing {} = call.json()?;
    let (owner, id) = of(&call)?;
    json(&webhooks(&call)?.test(owner, id).await?)
}

/// What was and is to be sent to one.
pub async fn deliveries(call: Call) -> Result<Response, Problem> {
    let query: DeliveriesQuery = call.query()?;
    let limit = query.limit.unwrap_or(50);
    if !(1..=100).contains(&limit) {
        return Err(Problem::bad_request("`limit` is 1 to 100"));
    }
    let (owner, id) = of(&call)?;
    let webhooks = webhooks(&call)?;
    webhooks.show(owner, id).await?;
    json(&DeliveryList {
        deliveries: webhooks
            .deliveries(
                owner,
                id,
                Deliveries {
                    state: query.state,
                    limit,
                },
            )
            .await?,
    })
}

impl From<NotDone> for Problem {
    fn from(not_done: NotDone) -> Self {
        let words = not_done.to_string();
        match not_done {
            NotDone::Missing => Self::not_found(),
            NotDone::Refused { hint, .. } => Self {
                hint: hint.map(String::into_boxed_str),
                ..Self::unprocessable(words)
            },
            NotDone::TooMany(_) => Self::conflict(words),
            NotDone::Store(error) => error.into(),
            NotDone::Failed(_) => Self::internal(words),
        }
    }
}
