//! Readings of a debate for programs: turns, positions, conflicts, votes, verdicts, evidence,
//! assumptions, use.

use super::json;
use crate::{middleware::Call, problem::Problem};
use axum::response::Response;
use rebut_engine::{
    event::{HumanNoted, Position, Tally},
    facts::{Conflict, MergeRecorded, Ruling, ScoreAdjusted, ToolCalled},
    model::{Fault, Usage as Used},
    outcome::Outcome,
    run_code::RunCompleted,
    view::{Spent, TurnState, TurnView, View},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// What is told of a debate by events of some kinds; no others are read for it.
pub trait Reading: Serialize {
    const KINDS: &'static [&'static str];

    fn of(view: View) -> Self;
}

pub async fn read<T: Reading>(call: &Call) -> Result<Response, Problem> {
    json(&T::of(
        call.server.desk.view_of(call.id()?, T::KINDS).await?,
    ))
}

/// Turns of a debate.
#[derive(Serialize, JsonSchema)]
pub struct Turns {
    /// In the order they were asked.
    turns: Vec<Turn>,
}

/// One turn.
#[derive(Serialize, JsonSchema)]
struct Turn {
    /// Its name.
    turn: String,
    /// Who speaks.
    agent: Arc<str>,
    /// In which round.
    round: u32,
    /// Who was asked, or answered.
    model: String,
    /// `thinking`, `done` or `failed`.
    state: &'static str,
    /// When it was asked first.
    asked_at: Arc<str>,
    /// The reply; empty while it is awaited.
    text: String,
    /// Requests made.
    calls: u32,
    /// Attempts that failed.
    faults: Vec<Fault>,
    /// What it cost; null when unknown.
    usage: Option<Used>,
    /// How long it took, in milliseconds.
    ms: u64,
    /// Whether another debate paid for it.
    copied: bool,
}

impl From<TurnView> for Turn {
    fn from(turn: TurnView) -> Self {
        let state = match turn.state {
            TurnState::Thinking => "thinking",
            TurnState::Done => "done",
            TurnState::Failed => "failed",
        };
        let TurnView {
            turn,
            agent,
            round,
            model,
            asked_at,
            calls,
            faults,
            text,
            usage,
            ms,
            copied,
            ..
        } = turn;
        Self {
            turn,
            agent,
            round,
            model,
            state,
            asked_at,
            text,
            calls,
            faults,
            usage,
            ms,
            copied,
        }
    }
}

impl Reading for Turns {
    const KINDS: &'static [&'static str] = &[
        "turn.started",
        "turn.failed",
        "turn.completed",
        "event.redacted",
    ];

    fn of(view: View) -> Self {
        Self {
            turns: view.turns.into_iter().map(Turn::from).collect(),
        }
    }
}

pub async fn turns(call: Call) -> Result<Response, Problem> {
    read::<Turns>(&call).await
}

/// Positions of a debate.
#[derive(Serialize, JsonSchema)]
pub struct Positions {
    /// In the order they were taken.
    positions: Vec<Held>,
}

/// A position and who holds it.
#[derive(Serialize, JsonSchema)]
struct Held {
    /// Who.
    agent: Arc<str>,
    /// In which round.
    round: u32,
    /// At which step.
    step: String,
    /// What.
    position: Arc<Position>,
}

impl Reading for Positions {
    const KINDS: &'static [&'static str] =
        &["round.started", "position.recorded", "position.changed"];

    fn of(view: View) -> Self {
        let held = view.rounds.into_iter().flat_map(|round| {
            let (step, number) = (round.step, round.round);
            round
                .positions
                .into_iter()
                .map(move |(agent, position)| Held {
                    agent,
                    round: number,
                    step: step.clone(),
                    position,
                })
        });
        Self {
            positions: held.collect(),
        }
    }
}

pub async fn positions(call: Call) -> Result<Response, Problem> {
    read::<Positions>(&call).await
}

/// Conflicts of a debate.
#[derive(Serialize, JsonSchema)]
pub struct Conflicts {
    /// Proposals that cannot both be followed.
    conflicts: Vec<Conflict>,
    /// Which proposals stand; null while that is not decided.
    merge: Option<Arc<MergeRecorded>>,
}

impl Reading for Conflicts {
    const KINDS: &'static [&'static str] = &["conflict.found", "merge.recorded"];

    fn of(
        View {
            conflicts, merge, ..
        }: View,
    ) -> Self {
        Self { conflicts, merge }
    }
}

/// Proposals that cannot both be followed.
pub async fn conflicts(call: Call) -> Result<Response, Problem> {
    read::<Conflicts>(&call).await
}

/// Counts of a debate.
#[derive(Serialize, JsonSchema)]
pub struct Votes {
    /// In their order.
    votes: Vec<Counted>,
}

/// One count.
#[derive(Serialize, JsonSchema)]
struct Counted {
    /// In which round.
    round: u32,
    /// The count.
    tally: Arc<Tally>,
}

impl Reading for Votes {
    const KINDS: &'static [&'static str] = &["round.started", "vote.tallied"];

    fn of(view: View) -> Self {
        let counted = view.rounds.into_iter().filter_map(|round| {
            Some(Counted {
                round: round.round,
                tally: round.tally?,
            })
        });
        Self {
            votes: counted.collect(),
        }
    }
}

pub async fn votes(call: Call) -> Result<Response, Problem> {
    read::<Votes>(&call).await
}

/// Verdicts of a debate.
#[derive(Serialize, JsonSchema)]
pub struct Verdicts {
    /// In their order.
    verdicts: Vec<Arc<Ruling>>,
    /// What they did to scores.
    scores: Vec<Arc<ScoreAdjusted>>,
}

impl Reading for Verdicts {
    const KINDS: &'static [&'static str] = &["verdict.recorded", "score.adjusted"];

    fn of(
        View {
            verdicts, scores, ..
        }: View,
    ) -> Self {
        Self { verdicts, scores }
    }
}

pub async fn verdicts(call: Call) -> Result<Response, Problem> {
    read::<Verdicts>(&call).await
}

/// What was brought forward in a debate besides words.
#[derive(Serialize, JsonSchema)]
pub struct Evidence {
    /// What ran in the sandbox.
    runs: Vec<Arc<RunCompleted>>,
    /// What tools were used for.
    tools: Vec<ToolUse>,
    /// What people added.
    notes: Vec<HumanNoted>,
    /// Quotations in the result, each with whether it was found.
    quotations: Vec<Value>,
}

/// A tool and who used it.
#[derive(Serialize, JsonSchema)]
struct ToolUse {
    /// Who.
    agent: Arc<str>,
    /// What for.
    call: Arc<ToolCalled>,
}

impl Reading for Evidence {
    const KINDS: &'static [&'static str] = &[
        "run.completed",
        "tool.called",
        "human.noted",
        "debate.resumed",
        "debate.completed",
        "event.redacted",
    ];

    fn of(
        View {
            runs,
            tool_calls,
            notes,
            outcome,
            ..
        }: View,
    ) -> Self {
        let tools = tool_calls
            .into_iter()
            .map(|(agent, call)| ToolUse { agent, call })
            .collect();
        Self {
            runs,
            tools,
            notes,
            quotations: gathered(outcome, "evidence"),
        }
    }
}

pub async fn evidence(call: Call) -> Result<Response, Problem> {
    read::<Evidence>(&call).await
}

/// What positions of a debate take for granted.
#[derive(Serialize, JsonSchema)]
pub struct Assumptions {
    /// As the result has them.
    assumptions: Vec<Value>,
}

impl Reading for Assumptions {
    const KINDS: &'static [&'static str] =
        &["debate.resumed", "debate.completed", "event.redacted"];

    fn of(view: View) -> Self {
        Self {
            assumptions: gathered(view.outcome, "assumptions"),
        }
    }
}

pub async fn assumptions(call: Call) -> Result<Response, Problem> {
    read::<Assumptions>(&call).await
}

fn gathered(outcome: Option<Outcome>, name: &str) -> Vec<Value> {
    let mut found = Vec::new();
    if let Some(outcome) = &outcome {
        gather(&outcome.result, name, &mut found);
    }
    found
}

/// The members of every list of that name, wherever a format's result has it.
fn gather(value: &Value, name: &str, found: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                match value {
                    Value::Array(list) if field == name => found.extend(list.iter().cloned()),
                    value => gather(value, name, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| gather(value, name, found)),
        _ => {}
    }
}

/// What a debate cost.
#[derive(Serialize, JsonSchema)]
pub struct Usage {
    /// All of it.
    total: Spent,
    /// Each agent's part.
    agents: BTreeMap<String, Spent>,
    /// Milliseconds somebody ran it.
    worked_ms: u64,
}

/// What a debate cost. How long it was worked on is told by all of its events.
pub async fn usage(call: Call) -> Result<Response, Problem> {
    let view = call.server.desk.view(call.id()?).await?;
    let agents = view.started.iter().flat_map(|started| &started.agents);
    let agents = agents
        .map(|agent| (agent.name.to_string(), view.spent_by(&agent.name)))
        .collect();
    json(&Usage {
        total: view.spent(),
        agents,
        worked_ms: view.worked_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_found_wherever_they_are() {
        let result = json!({"a": {"evidence": [1]}, "b": [{"evidence": [2, {"evidence": [9]}]}], "evidence": "no list"});
        let mut found = Vec::new();
        gather(&result, "evidence", &mut found);
        assert_eq!(found, [json!(1), json!(2), json!({"evidence": [9]})]);
    }
}
