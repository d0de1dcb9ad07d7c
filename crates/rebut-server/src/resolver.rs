//! How a request becomes a debate, and what there is to choose from. Whoever starts the server
//! knows the configuration; the server does not.

use crate::{
    body::{object, objects, whole, within},
    webhooks::Webhooks,
};
use rebut_engine::{
    DebateId, More, Start,
    budget::{Caps, LONGEST_DEBATE},
    error::DeskError,
    gate::LONGEST_GATE,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a server is told by whoever started it.
#[async_trait::async_trait]
pub trait DebateResolver: Send + Sync + 'static {
    /// Resolves a request into a debate that `by` owns: settings, panel, models, limits. Asks
    /// nobody and writes nothing.
    async fn prepare(&self, asked: NewDebate, by: &str) -> Result<Start, Refusal>;

    /// What such a debate would take. Asks nobody.
    async fn estimate(&self, asked: NewDebate, by: &str) -> Result<Value, Refusal>;

    /// Formats by name, each with the schema of its input and of its settings.
    fn formats(&self) -> Vec<FormatCard>;

    /// Panels by name.
    fn panels(&self) -> Result<Value, Refusal>;

    /// Roles that agents can play.
    fn personas(&self) -> Result<Vec<PersonaCard>, Refusal>;

    /// Models that can be asked here, and what is missing for others. No secrets.
    async fn providers(&self) -> Value;

    /// What a debate that is gone on with or forked may use, and whether it may ask these models.
    /// Other models are refused, and limits are taken as they come, unless a front knows better.
    async fn change(&self, change: Change, _by: &str) -> Result<More, Refusal> {
        match change.models.first() {
            None => Ok(change.limits.into()),
            Some(model) => Err(Refusal {
                message: format!("models cannot be changed here, also not to `{model}`"),
                hint: Some("start a new debate instead".to_owned()),
                is_request: true,
            }),
        }
    }

    /// Forgets what is kept beside the database of a debate that was removed.
    async fn forget_debate(&self, _debate: DebateId) -> Result<(), Refusal> {
        Ok(())
    }

    /// Forgets whatever beside the database may tell of a text that was taken out.
    async fn forget_text(&self) -> Result<(), Refusal> {
        Ok(())
    }

    /// Turns that wait for people or calling agents, where there are any.
    fn inbox(&self) -> Option<Arc<dyn Inbox>> {
        None
    }

    /// Who is told of events, where anybody can be.
    fn webhooks(&self) -> Option<Arc<dyn Webhooks>> {
        None
    }
}

/// Turns that are answered by whoever calls the server.
#[async_trait::async_trait]
pub trait Inbox: Send + Sync + 'static {
    /// The turns of a debate that wait, in the order they were asked.
    async fn waiting(&self, debate: DebateId) -> Vec<TurnRequest>;

    /// Answers one of them; that it was taken is said when it is on record.
    async fn answer(
        &self,
        debate: DebateId,
        turn: &str,
        by: &str,
        text: String,
    ) -> Result<(), NotTaken>;
}

/// Why an answer to a turn is not taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotTaken {
    /// It is not what the turn asks for. The turn goes on waiting.
    #[error("{0}")]
    Wrong(String),
    /// The turn does not wait here, or not any more.
    #[error("this turn does not wait")]
    Gone,
    /// The debate was left or ended before the answer was on record.
    #[error(
        "the debate was left before the answer was on record; look at its turns, and answer again \
         if it still waits"
    )]
    Unrecorded,
    /// Nobody can say whether it is on record.
    #[error(transparent)]
    Failed(#[from] DeskError),
}

/// A turn that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnRequest {
    /// The turn's name.
    pub turn: String,
    /// Who is asked.
    pub agent: String,
    /// What it is told about itself.
    pub system: String,
    /// What it is asked.
    pub user: String,
    /// The form of the reply, as a JSON Schema.
    pub schema: Value,
    /// When it was asked.
    pub asked_at: String,
    /// Until when it is waited for. Then its agent is missing.
    pub until: String,
}

/// What is to be different in a debate that is gone on with or forked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// What it may use.
    pub limits: NewLimits,
    /// Models that are to be asked in another's place.
    pub models: Vec<String>,
    /// What a fork is to be; none where the same debate goes on.
    pub fork: Option<Forked>,
}

/// A new debate from an old one's turns. It has no limits yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forked {
    /// The format of both.
    pub format: String,
    /// Settings that are to differ.
    pub config: Map<String, Value>,
}

/// A debate that somebody asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "NewDebate")]
pub struct NewDebate {
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
    pub agents: Vec<NewAgent>,
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
    pub limits: NewLimits,
}

/// Somebody who takes part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
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
pub struct NewLimits {
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

impl From<NewLimits> for More {
    fn from(limits: NewLimits) -> Self {
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

/// A format as a client needs to know it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FormatCard {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// The schema of its input.
    pub input: Value,
    /// The schema of its settings.
    pub config: Value,
}

/// A role as a client needs to know it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PersonaCard {
    /// Its name, as an agent's `role`.
    pub name: String,
    /// One word for its attitude.
    pub stance: String,
    /// What it is for.
    pub about: String,
    /// Whether it comes with the program; others are the operator's own.
    pub is_built_in: bool,
}

/// Why a request cannot become a debate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the request is wrong, or the server cannot.
    pub is_request: bool,
}
