//! Ballots in, a count with its working out.

use super::json;
use crate::{body::objects, middleware::Call, problem::Problem};
use axum::response::Response;
use rebut_engine::voting::{
    self, Ballot, Count, Gather, METHODS, Method, Rules, Threshold, TieBreak,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// The form of a tie-break: rules with commas between them.
const TIE_BREAK: &str = "^(order|borda|condorcet|most-first|seed:[0-9]{1,18})(,(order|borda|condorcet|most-first|seed:[0-9]{1,18}))*$";

/// What is counted, and how.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Election {
    /// Who or what can be elected.
    #[schemars(length(min = 1), inner(regex(pattern = r"\S")), extend("uniqueItems" = true))]
    candidates: Vec<String>,
    /// The ballots.
    #[serde(deserialize_with = "objects")]
    ballots: Vec<Ballot>,
    /// How they are counted; by their number if not given.
    #[serde(default)]
    #[schemars(schema_with = "method_schema")]
    method: Option<String>,
    /// The share that it takes, above 0 and at most 1.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    threshold: Option<f64>,
    /// Whether ballots count by their weight where the method does not say.
    #[serde(default)]
    weigh: bool,
    /// What decides a tie, with commas between the rules; none if not given.
    #[serde(default)]
    #[schemars(regex(pattern = TIE_BREAK))]
    tie_break: Option<String>,
}

fn method_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<Option<&str>> = METHODS
        .iter()
        .map(|method| Some(method.name))
        .chain([Some("auto"), None])
        .collect();
    json_schema!({ "type": ["string", "null"], "enum": names, "description": "How they are \
        counted; by their number if not given." })
}

pub async fn tally(call: Call) -> Result<Response, Problem> {
    let election: Election = crate::body::parse(&call.body)?;
    let (method, rules) = rules(&election)?;
    let work = method.work(election.candidates.len(), election.ballots.len(), &rules);
    work.within(call.server.settings.count_work)
        .map_err(|problem| Problem {
            hint: Some(
                "count it with `rebut vote` on a machine of your own, or by a method that \
            compares no pairs"
                    .into(),
            ),
            ..Problem::too_large(problem)
        })?;
    let leave = call.server.counts.enter().await?;
    // The leave goes with the count, up to its last byte: who asked may be gone long before it
    // ends.
    let counted = tokio::task::spawn_blocking(move || {
        let answer = count(election, &rules).and_then(|count| json(&count));
        drop(leave);
        answer
    });
    counted
        .await
        .map_err(|_| Problem::internal("the count broke off"))?
}

fn rules(election: &Election) -> Result<(&'static Method, Rules), Problem> {
    let Election {
        ballots,
        method,
        threshold,
        weigh,
        tie_break,
        ..
    } = election;
    let weigh = *weigh;
    let threshold = threshold
        .map(Threshold::new)
        .transpose()
        .map_err(|_| Problem::unprocessable("`threshold` is above 0 and at most 1"))?;
    let tie_break = tie_break
        .as_deref()
        .map(str::parse::<TieBreak>)
        .transpose()
        .map_err(Problem::unprocessable)?
        .unwrap_or_default();
    let method = match method.as_deref() {
        // The largest there can be: abstentions are known only when the ballots are read, and the
        // methods for fewer are less work.
        None | Some("auto") => voting::auto(ballots.len()),
        Some(name) => voting::method(name).ok_or_else(|| {
            let known = METHODS
                .iter()
                .map(|method| method.name)
                .collect::<Vec<_>>()
                .join(", ");
            Problem::unprocessable(format!(
                "there is no method `{name}`; choose one of: auto, {known}"
            ))
        })?,
    };
    Ok((
        method,
        Rules {
            threshold,
            weigh,
            tie_break,
        },
    ))
}

fn count(election: Election, rules: &Rules) -> Result<Count, Problem> {
    let mut gather = Gather::new(election.candidates);
    for ballot in election.ballots {
        gather.add(ballot);
    }
    let (profile, problems) = gather.finish();
    if !problems.is_empty() {
        let words = problems
            .iter()
            .take(20)
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ");
        return Err(Problem::unprocessable(format!(
            "nothing was counted: {words}"
        )));
    }
    let method = election
        .method
        .as_deref()
        .and_then(voting::method)
        .unwrap_or_else(|| voting::auto(profile.ranked()));
    Ok(method.count(&profile, rules))
}
