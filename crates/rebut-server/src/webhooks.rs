//! Webhooks as a server needs them: whoever started it keeps them, signs and sends; the server only
//! asks.

use rebut_engine::{
    clean::on_one_line,
    outbox::{Deliveries, Delivery, TOLD, Webhook, is_told},
    store::StoreError,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Webhooks by owner. What is not the owner's is not there.
#[async_trait::async_trait]
pub trait Webhooks: Send + Sync + 'static {
    /// Makes one; its secret is known to whoever made it, and to nobody after that.
    async fn add(&self, owner: &str, asked: WebhookRequest) -> Result<MadeWebhook, NotDone>;

    /// All of an owner, oldest first.
    async fn list(&self, owner: &str) -> Result<Vec<Webhook>, NotDone>;

    async fn show(&self, owner: &str, id: &str) -> Result<Webhook, NotDone> {
        self.list(owner)
            .await?
            .into_iter()
            .find(|webhook| webhook.id == id)
            .ok_or(NotDone::Missing)
    }

    /// Gives one another address and other kinds, and switches it on.
    async fn replace(
        &self,
        owner: &str,
        id: &str,
        asked: WebhookRequest,
    ) -> Result<Webhook, NotDone>;

    /// Removes one, and what waits for it.
    async fn remove(&self, owner: &str, id: &str) -> Result<(), NotDone>;

    /// Sends a message now, and says what came back.
    async fn test(&self, owner: &str, id: &str) -> Result<Tested, NotDone>;

    /// What was and is to be sent, newest first.
    async fn deliveries(
        &self,
        owner: &str,
        id: &str,
        filter: Deliveries,
    ) -> Result<Vec<Delivery>, NotDone>;

    /// How many deliveries wait, of all owners.
    async fn waiting(&self) -> Result<u64, NotDone>;
}

/// Why something with a webhook was not done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotDone {
    /// There is none, or it is somebody else's.
    #[error("there is no such webhook")]
    Missing,
    /// What was asked cannot be.
    #[error("{message}")]
    Refused {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The owner has enough.
    #[error("there are {0} webhooks already, and that is the most; remove one first")]
    TooMany(usize),
    /// It cannot be looked up or kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This machine cannot.
    #[error("{0}")]
    Failed(String),
}

/// A webhook that somebody asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookRequest {
    /// Where events are posted: `https`, and nothing inside a private network unless whoever runs
    /// the server listed it.
    #[schemars(length(min = 1, max = 2000))]
    pub url: String,
    /// Kinds of events; every kind there is, if not given.
    #[serde(default = "every_kind")]
    #[schemars(schema_with = "kinds")]
    pub events: Vec<String>,
}

impl WebhookRequest {
    /// Refuses kinds that there are not, none, and the same twice: as the schema of the interface
    /// does.
    pub fn check_kinds(&self) -> Result<(), NotDone> {
        let unknown = self.events.iter().find(|kind| !is_told(kind));
        let twice = self
            .events
            .iter()
            .enumerate()
            .find(|(at, kind)| self.events[..*at].contains(kind))
            .map(|(_, kind)| kind);
        let message = match (unknown, twice) {
            _ if self.events.is_empty() => {
                "`events` is empty: nothing would ever be sent".to_owned()
            }
            (Some(kind), _) => format!(
                "`{}` is no kind of event that can be asked for",
                on_one_line(kind)
            ),
            (None, Some(kind)) => format!("`{kind}` is asked for twice"),
            (None, None) => return Ok(()),
        };
        Err(NotDone::Refused {
            message,
            hint: Some(format!("kinds are {}", every_kind().join(", "))),
        })
    }
}

/// Every kind that can be asked for.
pub fn every_kind() -> Vec<String> {
    TOLD.iter().map(|(kind, _)| (*kind).to_owned()).collect()
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": { "type": "string", "enum": every_kind() } })
}

/// A webhook just made.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MadeWebhook {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// What its messages are signed with. It is shown this once.
    pub secret: String,
}

/// What came back from a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tested {
    /// Whether it was taken.
    pub delivered: bool,
    /// The status of the answer, where there was one.
    pub status: Option<u16>,
    /// Why it was not taken.
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    pub ms: u64,
}
