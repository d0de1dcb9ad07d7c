//! How a debate ends: typed, with who was missing.

use crate::{error::Stop, model::FaultKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The end of a debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Which kind of end.
    pub outcome: Ending,
    /// One sentence for people.
    pub summary: String,
    /// Who was missing, and why. Empty is good.
    pub degraded: Vec<Absence>,
    /// The format's own result.
    pub result: Value,
    /// Whose model could not answer and who answered instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub substituted: Vec<Substitution>,
    /// Which limit ended it, and why, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<LimitMet>,
    /// The leading share, where something was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consensus_score: Option<f64>,
}

/// Another model answered for an agent's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Substitution {
    /// Whose turn.
    pub agent: String,
    /// Which turn.
    pub turn: String,
    /// The model that could not answer.
    pub from: String,
    /// The model that did.
    pub to: String,
    /// Whether another agent's model is of the same family, so that the panel has one voice less.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diversity_lost: bool,
}

/// A limit was met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitMet {
    /// Which.
    pub limit: Limit,
    /// In words.
    pub why: String,
}

/// What a debate can run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Calls.
    Calls,
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
    /// Time.
    Time,
}

impl Outcome {
    /// A debate that met a limit before anything stood.
    pub fn stopped(stop: LimitMet, degraded: Vec<Absence>) -> Self {
        Self {
            stopped: Some(stop.clone()),
            ..Self::without_result(Ending::Stopped, stop.why, degraded)
        }
    }

    /// An end with a result; where a limit was met, what stands so far. `stands` says in one
    /// sentence what that is.
    pub fn with_result(
        ending: Ending,
        stands: &str,
        result: &impl Serialize,
        stopped: Option<LimitMet>,
        degraded: Vec<Absence>,
    ) -> Result<Self, Stop> {
        let (ending, summary) = match &stopped {
            Some(stop) => (Ending::Stopped, format!("{}; so far {stands}", stop.why)),
            None => (ending, stands.to_owned()),
        };
        let result =
            serde_json::to_value(result).map_err(|error| Stop::Broken(error.to_string()))?;
        Ok(Self {
            stopped,
            result,
            ..Self::without_result(ending, summary, degraded)
        })
    }

    /// An end whose text was taken out of the journal. That there was one is still known, and
    /// perhaps which kind.
    pub fn redacted(ended: Option<Ending>) -> Self {
        let summary = match ended {
            Some(ending) => format!(
                "it ended {}; the rest of its end was redacted",
                ending.as_str()
            ),
            None => "it ended; how was redacted".to_owned(),
        };
        Self::without_result(Ending::Redacted, summary, Vec::new())
    }

    /// An ending without a result.
    pub fn without_result(
        ending: Ending,
        summary: impl Into<String>,
        degraded: Vec<Absence>,
    ) -> Self {
        Self {
            outcome: ending,
            summary: summary.into(),
            degraded,
            result: Value::Null,
            substituted: Vec::new(),
            stopped: None,
            consensus_score: None,
        }
    }
}

/// The kinds of ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The threshold was reached.
    Consensus,
    /// More than half, where the format counts that.
    Majority,
    /// The work is done (formats that do not decide between options).
    Completed,
    /// A finished debate without agreement: a result, not an error.
    Contested,
    /// Too few agents answered.
    NoQuorum,
    /// Something broke.
    Failed,
    /// No usable model.
    NoModel,
    /// A limit of money, tokens, calls or time was reached.
    Stopped,
    /// A gate was rejected or timed out.
    Rejected,
    /// A person ended it.
    Cancelled,
    /// It ended, and how was taken out of the journal. No run ends so.
    Redacted,
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 11] = [
        Self::Consensus,
        Self::Majority,
        Self::Completed,
        Self::Contested,
        Self::NoQuorum,
        Self::Failed,
        Self::NoModel,
        Self::Stopped,
        Self::Rejected,
        Self::Cancelled,
        Self::Redacted,
    ];

    /// Whether something came of it that others may use: that a panel does not agree is a finding,
    /// too.
    pub fn is_result(self) -> bool {
        matches!(
            self,
            Self::Consensus | Self::Majority | Self::Completed | Self::Contested
        )
    }

    /// The process's exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Consensus | Self::Majority | Self::Completed => 0,
            Self::NoQuorum | Self::Failed | Self::Redacted => 1,
            Self::Contested => 3,
            Self::NoModel => 4,
            Self::Stopped => 5,
            Self::Rejected => 7,
            Self::Cancelled => 130,
        }
    }

    /// The word used in JSON and in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Consensus => "consensus",
            Self::Majority => "majority",
            Self::Completed => "completed",
            Self::Contested => "contested",
            Self::NoQuorum => "no_quorum",
            Self::Failed => "failed",
            Self::NoModel => "no_model",
            Self::Stopped => "stopped",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Redacted => "redacted",
        }
    }
}

/// Somebody who did not answer, and why. Absence is data: it never counts as agreement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Absence {
    /// Who.
    pub agent: String,
    /// At which turn.
    pub turn: String,
    /// The class of the reason.
    pub reason: FaultKind,
    /// In words.
    pub detail: String,
}
