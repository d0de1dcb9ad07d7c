//! A debate that somebody asks for, however they say it: the JSON of `POST /v1/debates`, of
//! `rebut run`, and what the command line makes of its flags.

pub mod reading;

use reading::{object, objects, whole, within};
use rebut_engine::{
    More,
    budget::{Caps, LONGEST_DEBATE},
    gate::LONGEST_GATE,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A debate that somebody asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewDebate", title = "NewDebate")]
pub struct DebateRequest {
    /// The format's name.
    pub format: String,
    /// The format's input, by its schema.
    #[serde(default)]
    pub input: Map<String, Value>,
    /// Settings that differ from the server's own.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// Who takes part, by the name of a panel.
    #[serde(default)]
    pub panel: Option<String>,
    /// Who takes part, one by one.
    #[serde(default, deserialize_with = "objects")]
    pub agents: Vec<AgentRequest>,
    /// Roles that take part, in place of the format's usual ones or of `agents`.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Models that play them, one after the other, in place of the server's own; `ROLE=MODEL` is
    /// for one of them.
    #[serde(default)]
    pub models: Vec<String>,
    /// What shuffles are drawn from.
    #[serde(default, deserialize_with = "whole")]
    pub seed: Option<u64>,
    /// What it may use at most.
    #[serde(default, deserialize_with = "object")]
    pub limits: LimitsRequest,
}

/// Somebody who takes part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewAgent")]
pub struct AgentRequest {
    /// A role that the server knows.
    pub role: String,
    /// The agent's name; the role's if not given.
    #[serde(default)]
    pub name: Option<String>,
    /// A model that the server allows; one of its own if not given.
    #[serde(default)]
    pub model: Option<String>,
    /// Models that are asked when the first cannot be.
    #[serde(default)]
    pub fallbacks: Vec<String>,
}

/// What a debate may use at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewLimits")]
pub struct LimitsRequest {
    /// Money.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// Tokens in and out.
    #[serde(default, deserialize_with = "whole")]
    pub tokens: Option<u64>,
    /// Calls.
    #[serde(default, deserialize_with = "whole")]
    pub calls: Option<u64>,
    /// Seconds for a whole run, from 1 on.
    #[serde(default, deserialize_with = "seconds")]
    #[schemars(range(min = 1, max = LONGEST_DEBATE))]
    pub seconds: Option<u64>,
    /// Seconds a person may take to approve the result before the debate ends; without it, or with
    /// 0, nobody is asked. A debate that is gone on with can be given more, not less.
    #[serde(default, deserialize_with = "approval_seconds")]
    #[schemars(range(max = LONGEST_GATE))]
    pub approval_seconds: Option<u64>,
}

/// No time at all is not no limit: whoever wants that of the server leaves it out.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    within(deserializer, "seconds", 1..=LONGEST_DEBATE)
}

fn approval_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    within(deserializer, "approval_seconds", 0..=LONGEST_GATE)
}

impl From<LimitsRequest> for More {
    fn from(limits: LimitsRequest) -> Self {
        let caps = Caps {
            cost_usd: limits.cost_usd,
            tokens: limits.tokens,
            calls: limits.calls,
            unknown_prices: false,
        };
        Self {
            caps,
            debate_seconds: limits.seconds,
            approval_seconds: limits.approval_seconds,
        }
    }
}
