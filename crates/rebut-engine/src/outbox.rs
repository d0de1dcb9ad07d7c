//! The outbox seam: who wants word of which events, and what is still to be sent to them. A store
//! writes what is to be sent in the same step as the event itself, so nothing is lost between the
//! two; whoever sends it is elsewhere.

use crate::{
    DebateId,
    store::{Store, StoreError},
    web_session::WebSessions,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// The kinds of events that can be asked for, and what each means to whoever is told.
pub const TOLD: &[(&str, &str)] = &[
    ("gate.opened", "a debate waits for a decision"),
    ("gate.decided", "somebody decided, or nobody in time"),
    ("debate.paused", "a debate rests until it is resumed"),
    ("debate.completed", "a debate ended, with its outcome"),
];

/// Whether a kind of event can be asked for.
pub fn is_told(kind: &str) -> bool {
    TOLD.iter().any(|(told, _)| *told == kind)
}

/// What tells an event from every other one, whoever it is sent to and however often.
pub fn message_id(debate: DebateId, seq: u64) -> String {
    format!("evt_{debate}_{seq}")
}

/// Keeps webhooks and what is to be sent to them. Every implementation passes the outbox's part of
/// the conformance suite of `rebut-testkit`.
#[async_trait::async_trait]
pub trait Outbox: Send + Sync + 'static {
    /// Adds a webhook, unless its owner has as many as `most` already. From now on, not from
    /// before, events are kept for it.
    async fn add_webhook(
        &self,
        new: NewWebhook,
        most: usize,
    ) -> Result<Option<Webhook>, StoreError>;

    /// The webhooks of an owner, or all of them, oldest first.
    async fn webhooks(&self, owner: Option<&str>) -> Result<Vec<Webhook>, StoreError>;

    /// What messages to a webhook are signed with, if it is that owner's.
    async fn webhook_secret(&self, owner: &str, id: &str) -> Result<Option<Secret>, StoreError>;

    /// Gives a webhook another address and other kinds, and switches it on. Says whether it is
    /// there. What waits goes to the new address.
    async fn replace_webhook(
        &self,
        owner: &str,
        id: &str,
        url: &str,
        events: &[String],
    ) -> Result<bool, StoreError>;

    /// Removes a webhook and everything that was to be sent to it. Says whether it was there.
    async fn remove_webhook(&self, owner: &str, id: &str) -> Result<bool, StoreError>;

    /// What was and is to be sent to a webhook, newest first; nothing for a webhook of somebody
    /// else.
    async fn deliveries(
        &self,
        owner: &str,
        id: &str,
        filter: Deliveries,
    ) -> Result<Vec<Delivery>, StoreError>;

    /// Takes what is due. Until its time is over, nobody else is given it, in whichever process.
    async fn claim_deliveries(&self, asked: &Claiming) -> Result<Vec<Claimed>, StoreError>;

    /// Records what came of an attempt. That of one who took too long changes nothing, unless it
    /// was a success.
    async fn settle_delivery(&self, claimed: &Claimed, came: &Settled) -> Result<(), StoreError>;

    /// How many deliveries wait, of all owners.
    async fn waiting_deliveries(&self) -> Result<u64, StoreError>;

    /// Forgets what was sent or given up so long ago.
    async fn sweep_deliveries(&self, older: Duration) -> Result<(), StoreError>;
}

/// A database that keeps all of it: journals, who wants word of them, and who sessions a server.
pub trait Database: Store + Outbox + WebSessions {}

impl<T: Store + Outbox + WebSessions> Database for T {}

/// A webhook as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Webhook {
    /// Its name in addresses.
    pub id: String,
    /// Where events are posted.
    pub url: String,
    /// The kinds of events that are.
    pub events: Vec<String>,
    /// When it was made.
    pub created_at: String,
    /// Why nothing is sent any more; null while it is on.
    pub why_off: Option<String>,
    /// When something was last taken.
    pub last_success_at: Option<String>,
    /// When an attempt last failed.
    pub last_failure_at: Option<String>,
    /// Why that was.
    pub last_error: Option<String>,
}

/// A webhook that is to be.
#[derive(Clone, Debug)]
pub struct NewWebhook {
    pub owner: String,
    pub url: String,
    /// The kinds of events that are.
    pub events: Vec<String>,
    pub secret: Secret,
}

/// What messages are signed with. It cannot be printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(secret: String) -> Self {
        Self(secret)
    }

    /// The secret itself: to sign, to keep, or to show it once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// An event on its way to a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// The message's name, which receivers know it by: the same in every attempt.
    pub id: String,
    /// The debate.
    pub debate_id: DebateId,
    /// The event's number in its journal.
    pub seq: u64,
    /// The event's kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it stands.
    pub state: DeliveryState,
    /// How often it was sent, or is being sent.
    pub attempts: u32,
    /// When the event was recorded.
    pub created_at: String,
    /// When it is sent (again), where it waits.
    pub next_at: Option<String>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
}

/// Where a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// To be sent, for the first time or again.
    Waiting,
    /// It was taken.
    Delivered,
    /// It was sent as often as is tried, or is not sent any more.
    GivenUp,
}

impl DeliveryState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::GivenUp => "given_up",
        }
    }

    /// The state behind the word in the database.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Waiting, Self::Delivered, Self::GivenUp]
            .into_iter()
            .find(|state| state.as_str() == word)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deliveries {
    pub state: Option<DeliveryState>,
    pub limit: usize,
}

/// How much is taken at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claiming {
    /// Webhooks that get nothing now: their last ones are still under way.
    pub except: Vec<String>,
    /// At most so many webhooks; those that wait longest come first.
    pub webhooks: usize,
    /// At most so many for each.
    pub each: usize,
    /// How long whoever takes them has for it.
    pub lease: Duration,
}

/// A delivery that is somebody's to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub webhook: String,
    pub url: String,
    pub secret: Secret,
    pub debate: DebateId,
    /// The event's number in its journal.
    pub seq: u64,
    /// How many attempts there are with this one: each claim has its own number, by which the claim
    /// of a dead process is told from the next.
    pub attempt: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    Delivered,
    /// It was not; it is tried again after a while, or never.
    Failed {
        why: String,
        /// After how long it is tried again; not any more where nothing is said.
        again: Option<Duration>,
    },
    /// The receiver wants nothing any more: the webhook is switched off, and what waits for it is
    /// given up.
    Gone {
        why: String,
    },
}
