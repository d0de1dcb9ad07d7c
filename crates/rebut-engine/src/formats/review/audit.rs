//! The audit entry of a review: what was proposed, merged and dropped, what the debate between
//! reviewers gave, and what it cost. The judge's scores in it are for learning how to word
//! reviewers; nothing of them ever reaches the merge.

use super::{
    operations::{Dropped, Operation},
    replies::Verdict,
    result::ReviewResult,
};
use crate::{
    facts::{Conflict, Ruling},
    model::Usage,
    view::{TurnState, TurnView, View},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// One review as it is kept for learning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// The debate it was; `rebut show` knows it by this.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub debate_id: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// What was reviewed, by its title.
    pub title: String,
    /// Who reviewed it, in the order of the panel.
    pub reviewers: Vec<String>,
    /// Everything that was proposed.
    pub operations: Vec<Operation>,
    /// What could not be followed together.
    pub conflicts: Vec<Conflict>,
    /// The names of the operations that stand.
    pub merged: Vec<String>,
    /// What does not stand, and why.
    pub dropped: Vec<Dropped>,
    /// Tokens of the whole review, the debate's included.
    pub cost: Cost,
    /// The debate between reviewers; null when none ran.
    pub debate_log: Option<DebateLog>,
}

/// Tokens used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

/// What the debate between reviewers gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DebateLog {
    /// Always true: a debate that did not run has no log.
    pub ran: bool,
    /// The pairs that were judged.
    pub pairs: Vec<DebatedPair>,
    /// What the judge says of each side of each pair, in the same order.
    pub judge_feedback: Vec<JudgeFeedback>,
    /// Tokens of the debate and its judge alone.
    pub cost: Cost,
    /// Pairs that could not be heard or judged; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_pairs: Vec<FailedPair>,
}

/// Two reviewers who argued about one conflict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DebatedPair {
    /// The one side.
    pub role_a: String,
    /// The other side.
    pub role_b: String,
    /// What it was about, in words.
    pub conflict: String,
    /// The side that argued better, or `tie`.
    pub winner: String,
    /// Each side's points from 0 to 10: the mean of both orders.
    pub judge_scores: BTreeMap<String, f64>,
}

/// What the judge says of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeFeedback {
    /// Whose arguments.
    pub role: String,
    /// From 0 to 10: the mean of both orders.
    pub argument_quality_score: f64,
    /// A few words each, such as `evidence-backed`.
    pub argument_labels: Vec<String>,
    /// What would make this reviewer argue better next time.
    pub policy_signal: String,
}

/// A pair that could not be heard or judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailedPair {
    /// The one side.
    pub role_a: String,
    /// The other side.
    pub role_b: String,
    /// What it was about.
    pub conflict: String,
    /// The conflict's name, such as `C1`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Why.
    pub why: String,
}

/// The winner's name in a pair that nobody won.
pub const TIE: &str = "tie";

/// The phases of a review's debate, as its turns are named: `argue C1 …`, `judge C1 …`.
pub(super) const DEBATE_PHASES: [&str; 3] = ["argue", "rebut", "judge"];

/// The audit entry of a review that ended with a result; `None` of anything else.
pub fn audit_entry(view: &View) -> Option<AuditEntry> {
    let result = ReviewResult::of(view)?;
    let debate_log = result.debate.map(|debate| DebateLog {
        ran: true,
        pairs: debate.pairs,
        judge_feedback: debate.judge_feedback,
        cost: cost_of(view, is_of_the_debate),
        failed_pairs: debate.failed_pairs,
    });
    Some(AuditEntry {
        debate_id: view.id.map(|id| id.to_string()).unwrap_or_default(),
        at: view
            .ended_at
            .as_deref()
            .unwrap_or(&view.updated_at)
            .to_owned(),
        title: result.title,
        reviewers: result
            .reviewers
            .into_iter()
            .map(|reviewer| reviewer.name)
            .collect(),
        operations: result.operations,
        conflicts: result.conflicts,
        merged: result
            .merged
            .into_iter()
            .map(|merged| merged.operation.id)
            .collect(),
        dropped: result.dropped,
        cost: cost_of(view, |_| true),
        debate_log,
    })
}

/// The log of a review's debate with the judge's scores as they were given: the record has them
/// rounded, and a mean of rounded ones would be rounded twice.
pub fn exact_log(view: &View) -> Option<DebateLog> {
    let mut log = audit_entry(view)?.debate_log?;
    for (pair, feedback) in log.pairs.iter().zip(log.judge_feedback.chunks_mut(2)) {
        let is_on = |ruling: &&Arc<Ruling>| {
            let about = ruling.about.split_once(' ').map(|(_, about)| about);
            about == Some(&*pair.conflict)
                && ruling.sides == [pair.role_a.clone(), pair.role_b.clone()]
        };
        let Some(id) = view
            .verdicts
            .iter()
            .find(is_on)
            .and_then(|ruling| ruling.about.split(' ').next())
        else {
            continue;
        };
        let [Some(forwards), Some(backwards)] = ["forwards", "backwards"]
            .map(|order| verdict_of(view, &format!("judge {id} {order}/")))
        else {
            continue;
        };
        let scores = [
            [forwards.first.score(), backwards.second.score()],
            [forwards.second.score(), backwards.first.score()],
        ];
        for (side, [one, other]) in feedback.iter_mut().zip(scores) {
            side.argument_quality_score = f64::midpoint(one, other);
        }
    }
    Some(log)
}

/// The judge's words at a turn that begins so, after its clarification if there was one.
fn verdict_of(view: &View, turn: &str) -> Option<Verdict> {
    let mut said = view
        .turns
        .iter()
        .rev()
        .filter(|known| known.turn.starts_with(turn));
    said.find_map(|known| view.reply::<Verdict>(known, &|_| Ok(())))
}

fn is_of_the_debate(turn: &TurnView) -> bool {
    let phase = turn.turn.split([' ', '/']).next().unwrap_or_default();
    DEBATE_PHASES.contains(&phase)
}

/// What turns used, failed attempts that were billed included. What was copied from another debate
/// was paid there.
fn cost_of(view: &View, counts: impl Fn(&TurnView) -> bool) -> Cost {
    let turns = view.turns.iter().filter(|turn| counts(turn));
    let used = turns.flat_map(|turn| {
        let failed = turn
            .faults
            .iter()
            .filter_map(|fault| fault.usage.as_deref());
        let answered = turn
            .usage
            .as_ref()
            .filter(|_| turn.state == TurnState::Done && !turn.copied);
        failed.chain(answered)
    });
    used.fold(Cost::default(), |sum: Cost, usage: &Usage| Cost {
        input_tokens: sum.input_tokens + usage.input + usage.cached,
        output_tokens: sum.output_tokens + usage.output,
    })
}
