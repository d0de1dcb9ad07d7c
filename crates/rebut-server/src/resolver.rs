//! How a request becomes a debate, and what there is to choose from. Whoever starts the server
//! knows the configuration; the server does not.

use crate::webhooks::Webhooks;
use rebut_app::request::{DebateRequest, LimitsRequest};
use rebut_engine::{DebateId, More, Start, error::DeskError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a server is told by whoever started it.
#[async_trait::async_trait]
pub trait DebateResolver: Send + Sync + 'static {
    /// Resolves a request into a debate that `by` owns: settings, panel, models, limits. Asks
    /// nobody and writes nothing.
    async fn prepare(&self, asked: DebateRequest, by: &str) -> Result<Start, Refusal>;

    /// What such a debate would take. Asks nobody.
    async fn estimate(&self, asked: DebateRequest, by: &str) -> Result<Value, Refusal>;

    /// Formats by name, each with the schema of its input and of its settings.
    fn formats(&self) -> Vec<FormatCard>;

    fn panels(&self) -> Result<Value, Refusal>;

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
    pub limits: LimitsRequest,
    /// Models that are to be asked in another's place.
    pub models: Vec<String>,
    /// What a fork is to be; none where the same debate goes on.
    pub fork: Option<Forked>,
}

/// A new debate from an old one's turns. It has no limits yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forked {
    pub format: String,
    pub config: Map<String, Value>,
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
