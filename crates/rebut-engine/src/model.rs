//! The model seam: whoever can answer a turn, be it an endpoint, a script, a person or the built-in
//! rehearsal.

use crate::{DebateId, agent::Agent, prompt::Prompt, reply::Schema};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::sync::broadcast;

/// Answers one turn. Implementations make exactly one attempt per call: retries, deadlines and
/// journaling belong to the kernel.
#[async_trait::async_trait]
pub trait Model: Send + Sync + 'static {
    /// Asks once.
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault>;

    /// Why nothing may be sent to it at this turn, if so. Looked at before a call is put on record;
    /// such a turn counts as no call.
    fn hindrance(&self, _turn: &str, _agent: &Agent) -> Option<Fault> {
        None
    }

    /// Exactly what `ask` would send, for `--dry-run`, with secrets blanked.
    fn wire(&self, request: &Request<'_>) -> String {
        format!("{}\n\n{}", request.prompt.system, request.prompt.user)
    }

    /// Which of the agent's settings `ask` would leave out, each with the reason.
    fn left_out(&self, _request: &Request<'_>) -> Vec<&'static str> {
        Vec::new()
    }

    /// How long this model may take for a turn when that is unlike the others (a person needs
    /// longer).
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// Whether this is the built-in rehearsal rather than somebody who thinks.
    fn is_rehearsal(&self) -> bool {
        false
    }

    /// The most tokens an answer to that agent may have, where it is we who say so; `None` where
    /// only the provider has a limit.
    fn answer_limit(&self, agent: &Agent) -> Option<u32> {
        agent.max_tokens
    }

    /// What its tokens cost; `None` when nobody knows.
    fn price(&self) -> Option<Price> {
        None
    }

    /// How often and how widely it may be asked, over all debates; what is `None` has no limit of
    /// its own.
    fn allowance(&self) -> Allowance {
        Allowance::default()
    }
}

/// Finds the model behind a name such as `openai:gpt-5` or `script:replies.md`.
pub trait Models: Send + Sync + 'static {
    /// The model of that name, or why there is none.
    fn open(&self, name: &str) -> Result<Arc<dyn Model>, Fault>;
}

/// One attempt at one turn.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Which debate; none where somebody is only tried.
    pub debate: Option<DebateId>,
    /// The turn's full name, e.g. `challenge 2/risk`.
    pub turn: &'a str,
    /// 1 for the first attempt; grows with each recorded failure, not with crashes.
    pub attempt: u32,
    /// Who is speaking.
    pub agent: &'a Agent,
    /// What they are told.
    pub prompt: &'a Prompt,
    /// The form the reply must have.
    pub schema: &'a Schema,
    /// Whether a text will do as the reply, for whoever can be told at once what is wrong and try
    /// again. A model is asked to clarify instead.
    pub fits: &'a Fits<'a>,
    /// What time it is, by the clock that all who take part in the debate share.
    pub now: Timestamp,
    /// How long is left of the turn.
    pub time_left: Duration,
    /// Where partial text may be sent while it comes.
    pub deltas: &'a Deltas,
}

/// Says what is wrong with a text as a reply, if anything is.
pub type Fits<'a> = dyn Fn(&str) -> Result<(), String> + Send + Sync + 'a;

/// Any text will do.
pub fn anything_fits(_: &str) -> Result<(), String> {
    Ok(())
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input.
    pub input: f64,
    /// Input read from the provider's cache; the same as other input unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Output.
    pub output: f64,
}

impl Price {
    /// Costs nothing: somebody at the terminal, a script, a server on this machine.
    pub const FREE: Self = Self {
        input: 0.0,
        cached: None,
        output: 0.0,
    };

    /// Whether sums of it make sense: a negative price would let a debate run past its budget.
    pub fn is_possible(&self) -> bool {
        [self.input, self.output, self.cached.unwrap_or(0.0)]
            .iter()
            .all(|price| price.is_finite() && *price >= 0.0)
    }

    /// What that use costs.
    pub fn of(&self, usage: &Usage) -> f64 {
        let tokens = |count: u64, price: f64| count as f64 * price / 1e6;
        tokens(usage.input, self.input)
            + tokens(usage.cached, self.cached.unwrap_or(self.input))
            + tokens(usage.output, self.output)
    }
}

/// How much may be asked of a provider, over all debates of a desk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Allowance {
    /// Calls under way at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Calls begun in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Tokens in a minute, input and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
}

/// What a provider said is left of its limits, with its answer or its refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headroom {
    /// Calls left in the window.
    pub requests: Option<u64>,
    /// Tokens left in the window.
    pub tokens: Option<u64>,
    /// When the window begins anew.
    pub resets_in: Option<Duration>,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The text as it came, undecorated.
    pub text: String,
    /// Who really answered, if the provider says.
    pub model: Option<String>,
    /// Tokens used; `None` when unknown, which is not zero.
    pub usage: Option<Usage>,
    /// Why the text ended.
    pub finish: Finish,
    /// The program that answered and its version, where it was one, e.g. `claude 2.1.0`.
    pub program: Option<String>,
    /// What the provider said is left of its limits.
    pub headroom: Option<Headroom>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was complete.
    #[default]
    Complete,
    /// It was cut at a length limit, and is no reply.
    Length,
}

/// Tokens and money of one or many calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Input tokens read from the provider's cache.
    #[serde(default)]
    pub cached: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// The part of the output spent on reasoning.
    #[serde(default)]
    pub reasoning: u64,
    /// US dollars; `None` when the price is unknown, which is not zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// What went wrong with one attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct Fault {
    /// Its class, which decides what happens next.
    pub kind: FaultKind,
    /// For people. Never holds a secret.
    pub message: String,
    /// How long the provider asked us to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What the failed attempt used, where the provider said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<Usage>>,
    /// What came before it broke off: evidence, never an answer. Bounded; empty where an answer had
    /// begun without any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// What the provider said is left of its limits.
    #[serde(skip)]
    #[schemars(skip)]
    pub headroom: Option<Box<Headroom>>,
    /// Whom it meets again, whatever is asked of them: they are left alone for the rest of the run.
    #[serde(skip)]
    #[schemars(skip)]
    pub bars: Option<Bars>,
}

/// Who is of no use for the rest of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bars {
    /// The model that was asked.
    Model,
    /// Every model of its provider.
    Provider,
}

impl Fault {
    /// A fault of that class.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after_ms: None,
            usage: None,
            partial: None,
            headroom: None,
            bars: None,
        }
    }
}

/// What a fault calls for. A reply without a valid form is repaired by one clarification, before it
/// becomes a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Ask again after a while, as often as the limits allow; then somebody else.
    Retry,
    /// Ask once more; then somebody else. It may be paid each time.
    RetryOnce,
    /// Asking again would not help: ask somebody else.
    Fallback,
    /// Nobody else would be asked the same: the agent is missing this turn.
    Skip,
}

/// Classes of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The turn's deadline passed.
    Timeout,
    /// The provider is limiting us (429, 529).
    RateLimited,
    /// The provider failed (5xx).
    Server,
    /// The connection broke before the head of an answer: what was sent may have been paid for.
    Network,
    /// No connection could be made: nothing was sent.
    Unreachable,
    /// No secure connection could be made, for the certificate or what is spoken there: nothing was
    /// sent, and waiting does not help.
    Insecure,
    /// The answer broke off, or its end is missing: it may have been paid for, and it is no answer.
    Incomplete,
    /// A success whose content is no answer that could be read: it may have been paid for.
    Unreadable,
    /// Money or quota is used up (402, spend limits): waiting does not help.
    Quota,
    /// The prompt is longer than the model reads.
    TooLong,
    /// It failed too often just now and is spared for a while: nothing was sent.
    Spared,
    /// The answer had no content.
    Empty,
    /// The model declined, or a filter did.
    Refused,
    /// The request was not accepted (400, 413, 422).
    BadRequest,
    /// The key is missing or wrong (401, 403, 402).
    Auth,
    /// There is no such model or endpoint (404).
    NotFound,
    /// The answer was larger than the kernel takes.
    TooLarge,
    /// The reply did not have the asked form, also after one clarification.
    InvalidReply,
    /// Nobody is there to answer (no terminal for a person, no such file …).
    Unavailable,
    /// The file that holds its instructions was changed or taken away: it is no longer who it was.
    ContextChanged,
    /// A replay was asked for a turn that was never recorded.
    Unrecorded,
    /// A dry run sends nothing.
    NotSent,
}

impl FaultKind {
    /// What to do about it.
    pub fn remedy(self) -> Remedy {
        match self {
            Self::RateLimited
            | Self::Server
            | Self::Network
            | Self::Unreachable
            | Self::Empty
            | Self::Spared => Remedy::Retry,
            Self::Timeout | Self::Incomplete | Self::Unreadable => Remedy::RetryOnce,
            Self::Quota | Self::Auth | Self::NotFound | Self::BadRequest => Remedy::Fallback,
            Self::TooLong | Self::TooLarge | Self::Unavailable | Self::Insecure => Remedy::Fallback,
            Self::Refused
            | Self::InvalidReply
            | Self::ContextChanged
            | Self::Unrecorded
            | Self::NotSent => Remedy::Skip,
        }
    }

    /// Whether asking the same model again may help.
    pub fn is_passing(self) -> bool {
        matches!(self.remedy(), Remedy::Retry | Remedy::RetryOnce)
    }

    /// Whether a call that was begun ended before anything of it could leave: it counts as none.
    pub fn is_before_sending(self) -> bool {
        matches!(self, Self::Unreachable | Self::Insecure)
    }

    /// In words, as `degraded` lists show it.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Timeout => "timed out",
            Self::RateLimited => "rate limited",
            Self::Server => "provider failed",
            Self::Network => "connection failed",
            Self::Unreachable => "no connection",
            Self::Insecure => "no secure connection",
            Self::Incomplete => "answer broke off",
            Self::Unreadable => "answer not readable",
            Self::Quota => "quota used up",
            Self::TooLong => "prompt too long",
            Self::Spared => "failing, not asked",
            Self::Empty => "empty answer",
            Self::Refused => "refused",
            Self::BadRequest => "request not accepted",
            Self::Auth => "not authenticated",
            Self::NotFound => "no such model",
            Self::TooLarge => "answer too large",
            Self::InvalidReply => "no valid reply",
            Self::Unavailable => "not available",
            Self::ContextChanged => "context file changed",
            Self::Unrecorded => "not recorded",
            Self::NotSent => "not sent",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

/// A piece of an answer still being written. Never journaled.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    /// The turn it belongs to.
    pub turn: String,
    /// The next piece of text.
    pub text: String,
}

/// The side channel for partial text of one debate. Whether there is one is said when the desk is
/// made, before any request: who listens later, and when, changes nothing of what is sent.
#[derive(Clone, Default)]
pub struct Deltas(Option<Arc<Channel>>);

/// What is being written, and who hears of it.
struct Channel {
    /// Pieces kept for a slow listener.
    capacity: usize,
    /// Made for the first listener: most debates have none, and a channel with room for many pieces
    /// is not small.
    pieces: OnceLock<broadcast::Sender<Delta>>,
    /// The text so far of every answer that is being written, by turn.
    so_far: Mutex<BTreeMap<String, String>>,
}

/// Of each answer so much is kept for whoever comes in the middle; what comes after is only heard.
const MOST_SO_FAR: usize = 64 << 10;

/// What a listener has from the moment it begins: nothing is missing between the two, and nothing
/// is there twice.
pub struct Listening {
    /// The text so far of every answer that is being written.
    pub so_far: Vec<Delta>,
    /// The pieces that follow.
    pub pieces: broadcast::Receiver<Delta>,
}

impl Deltas {
    /// A channel with room for `capacity` pieces per slow listener.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Some(Arc::new(Channel {
            capacity,
            pieces: OnceLock::new(),
            so_far: Mutex::default(),
        })))
    }

    /// Whether answers are asked for piece by piece.
    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Hands on a piece of text.
    pub fn push(&self, turn: &str, text: &str) {
        let Some(channel) = &self.0 else { return };
        let mut so_far = channel.so_far();
        let known = so_far.entry(turn.to_owned()).or_default();
        if known.len() + text.len() <= MOST_SO_FAR {
            known.push_str(text);
        }
        if let Some(pieces) = channel
            .pieces
            .get()
            .filter(|pieces| pieces.receiver_count() > 0)
        {
            // Nobody listening any more is no error: deltas are a courtesy.
            let _ = pieces.send(Delta {
                turn: turn.to_owned(),
                text: text.to_owned(),
            });
        }
    }

    /// An answer is not written any more: it is there, or failed.
    pub fn ended(&self, turn: &str) {
        if let Some(channel) = &self.0 {
            channel.so_far().remove(turn);
        }
    }

    /// Listens from now on; `None` for a silent channel.
    pub fn listen(&self) -> Option<Listening> {
        let channel = self.0.as_ref()?;
        let so_far = channel.so_far();
        let pieces = channel
            .pieces
            .get_or_init(|| broadcast::Sender::new(channel.capacity))
            .subscribe();
        let delta = |(turn, text): (&String, &String)| Delta {
            turn: turn.clone(),
            text: text.clone(),
        };
        Some(Listening {
            so_far: so_far.iter().map(delta).collect(),
            pieces,
        })
    }
}

impl Channel {
    fn so_far(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        // The map is whole between any two statements that hold the lock.
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Usage {
    /// Adds another call's use. An unknown price makes the sum's price unknown.
    pub fn add(&mut self, other: &Usage) {
        self.input += other.input;
        self.cached += other.cached;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(a), Some(b)) => Some(a + b),
            _ => None,
        };
    }
}
