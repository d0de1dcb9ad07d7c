//! What judges said of reviewers, over an owner's own reviews.

use super::json;
use crate::{middleware::Call, problem::Problem};
use axum::response::Response;
use rebut_engine::{
    formats::review::{self, DebateLog, exact_log},
    policy,
    store::Filter,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Which reviews.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InsightsQuery {
    /// Those of the last days.
    #[schemars(range(min = 1, max = 3650))]
    days: u32,
}

impl Default for InsightsQuery {
    fn default() -> Self {
        Self { days: 30 }
    }
}

pub async fn insights(call: Call) -> Result<Response, Problem> {
    let InsightsQuery { days } = call.query()?;
    if !(1..=3650).contains(&days) {
        return Err(Problem::bad_request("`days` is 1 to 3650"));
    }
    let since = call.server.desk.now() - jiff::SignedDuration::from_hours(24 * i64::from(days));
    let format = Some(review::FORMAT.name.to_owned());
    let filter = Filter {
        format,
        by: Some(call.key()?.owner.clone()),
        ..Filter::default()
    };
    let mut sessions = call.server.desk.sessions(&filter).await?;
    sessions.retain(|session| {
        session
            .created_at
            .parse::<jiff::Timestamp>()
            .is_ok_and(|at| at >= since)
    });
    let mut logs: Vec<DebateLog> = Vec::new();
    // Oldest first: of what was said equally often, the last counts.
    for session in sessions.iter().rev() {
        logs.extend(exact_log(&call.server.desk.view(session.id).await?));
    }
    json(&policy::insights(&logs))
}
