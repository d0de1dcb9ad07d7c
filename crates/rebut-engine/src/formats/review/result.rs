//! The result of a review: what was proposed, what stands, the revised text, and what the debate
//! gave. Pure.

use super::{
    audit::{DebatedPair, FailedPair, JudgeFeedback},
    conflicts,
    input::TextKind,
    merge::{Merge, by_priority, merge},
    operations::{Dropped, Merged, Operation, Severity},
    prompts::Setup,
    replies::{Critique, NotApplied},
};
use crate::{
    agent::Agent,
    debate::{ReplyFrom, Round},
    facts::Conflict,
    moves::quotes::Source,
    view::View,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a review found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewResult {
    /// What was reviewed.
    pub title: String,
    /// What kind of text it is.
    pub kind: TextKind,
    /// What a diff is against.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// Who reviewed it, in the order of the panel.
    pub reviewers: Vec<Reviewer>,
    /// Everything that was proposed.
    pub operations: Vec<Operation>,
    /// What cannot be followed together.
    pub conflicts: Vec<Conflict>,
    /// Whose operations come first, by name.
    pub order: Vec<Arc<str>>,
    /// What stands.
    pub merged: Vec<Merged>,
    /// What does not, and why.
    pub dropped: Vec<Dropped>,
    /// The revised text; null when there is none, and `editing` says why.
    pub edited: Option<String>,
    /// What the editor did.
    pub editing: Editing,
    /// What the debate between reviewers gave; null when none ran. It changes nothing above.
    pub debate: Option<Debated>,
    /// Why none ran; empty if one did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub no_debate: String,
}

/// A reviewer and what it said in one sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reviewer {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Its review in one sentence.
    pub summary: String,
    /// How many operations it proposed.
    pub operations: usize,
}

/// What became of the editing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Editing {
    /// In one word.
    pub state: EditState,
    /// The operations that were applied, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied: Vec<String>,
    /// Those that were not, each with the editor's reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_applied: Vec<NotApplied>,
    /// Why there is no revised text, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What became of the editing, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditState {
    /// The text is revised.
    Done,
    /// Nothing stands that could be applied.
    NothingToApply,
    /// A change is not edited.
    Diff,
    /// Nobody wanted it.
    Off,
    /// There is no editor on the panel.
    NoEditor,
    /// The editor did not answer.
    Missing,
    /// A limit was met before the editor was asked.
    Stopped,
}

impl Editing {
    /// No revised text, for that reason.
    pub fn none(state: EditState, detail: impl Into<String>) -> Self {
        Self {
            state,
            applied: Vec::new(),
            not_applied: Vec::new(),
            detail: detail.into(),
        }
    }
}

/// What the debate between reviewers gave, as far as a format knows it; the audit entry adds what
/// it cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Debated {
    /// The pairs that were judged.
    pub pairs: Vec<DebatedPair>,
    /// What the judge says of each side.
    pub judge_feedback: Vec<JudgeFeedback>,
    /// Pairs that could not be heard or judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_pairs: Vec<FailedPair>,
}

/// What the reviewers said and what follows from it. It is finished before anybody debates, and
/// nothing can change it afterwards.
pub struct Reviewed {
    pub reviewers: Vec<Reviewer>,
    /// Everything proposed, in the order of the panel.
    pub operations: Vec<Operation>,
    pub conflicts: Vec<Conflict>,
    pub order: Vec<Arc<str>>,
    pub merge: Merge,
}

impl Reviewed {
    /// What follows from the reviewers' replies.
    pub fn of(setup: &Setup, agents: &[Agent], reviews: &Round<Critique>) -> Self {
        let source = Source::new(&setup.input.text);
        let role_of = |name: &str| {
            agents
                .iter()
                .find(|agent| *agent.name == *name)
                .map_or_else(String::new, |agent| agent.role.to_string())
        };
        let operations: Vec<Operation> = reviews
            .said
            .iter()
            .flat_map(|said| operations_of(said, &source))
            .collect();
        let panel: Vec<(&Arc<str>, &str)> = agents
            .iter()
            .map(|agent| (&agent.name, &*agent.role))
            .collect();
        let heard: Vec<(&Arc<str>, &str)> = panel
            .into_iter()
            .filter(|(name, _)| reviews.said.iter().any(|said| said.agent == **name))
            .collect();
        let order = by_priority(&heard, &setup.config.priority);
        Self {
            reviewers: reviews
                .said
                .iter()
                .map(|said| reviewer(said, role_of(&said.agent)))
                .collect(),
            conflicts: conflicts::find(&operations),
            merge: merge(&operations, &order),
            order: order.into_iter().cloned().collect(),
            operations,
        }
    }

    pub fn operation(&self, id: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.id == id)
    }
}

fn reviewer(said: &ReplyFrom<Critique>, role: String) -> Reviewer {
    Reviewer {
        name: said.agent.to_string(),
        role,
        summary: said.reply.summary.clone(),
        operations: said.reply.operations.len(),
    }
}

/// A reviewer's operations under their names, each with whether its evidence really stands in the
/// text.
fn operations_of<'a>(
    said: &'a ReplyFrom<Critique>,
    source: &'a Source,
) -> impl Iterator<Item = Operation> + 'a {
    (1..)
        .zip(&said.reply.operations)
        .map(|(number, proposal)| Operation {
            id: format!("{}#{number}", said.agent),
            by: said.agent.clone(),
            kind: proposal.kind,
            severity: proposal.severity,
            target: proposal.target.clone(),
            location: proposal.location.clone(),
            text: proposal.text.clone(),
            rationale: proposal.rationale.clone(),
            verified: source.holds(&proposal.evidence),
            evidence: proposal.evidence.clone(),
            confidence: proposal.confidence,
        })
}

impl ReviewResult {
    /// The result of a review that has one.
    pub fn of(view: &View) -> Option<Self> {
        let outcome = view.outcome.as_ref()?;
        let is_review = view
            .started
            .as_ref()
            .is_some_and(|started| started.format == super::FORMAT.name);
        if is_review {
            serde_json::from_value(outcome.result.clone()).ok()
        } else {
            None
        }
    }

    /// How many merged operations there are of each severity, the worst first; none of which there
    /// are none.
    pub fn by_severity(&self) -> Vec<(Severity, usize)> {
        let count = |severity| {
            self.merged
                .iter()
                .filter(|merged| merged.operation.severity == severity)
                .count()
        };
        Severity::ALL
            .into_iter()
            .map(|severity| (severity, count(severity)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// The worst severity among the merged operations.
    pub fn worst(&self) -> Option<Severity> {
        self.merged
            .iter()
            .map(|merged| merged.operation.severity)
            .max()
    }

    /// The worst severity among those that do not rest on an invented quotation.
    pub fn worst_shown(&self) -> Option<Severity> {
        self.merged
            .iter()
            .filter(|merged| !merged.operation.misquotes())
            .map(|merged| merged.operation.severity)
            .max()
    }

    pub fn summary(&self) -> String {
        let conflicts = counted(self.conflicts.len(), "conflict");
        if self.operations.is_empty() {
            return format!(
                "nothing to change, say {}",
                counted(self.reviewers.len(), "reviewer")
            );
        }
        let levels: Vec<String> = self
            .by_severity()
            .into_iter()
            .map(|(severity, count)| format!("{count} {}", severity.as_str()))
            .collect();
        format!(
            "{} of {} merged ({}), {conflicts}",
            self.merged.len(),
            counted(self.operations.len(), "operation"),
            levels.join(", ")
        )
    }
}

pub fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
