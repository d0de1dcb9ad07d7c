//! What can happen in a debate, in the words a reader would use. One table: kinds, data, schemas.

pub use crate::gate::{GateDecided, GateOpened};
use crate::{
    DebateId,
    agent::Agent,
    budget::{Amount, Caps},
    clean::on_one_line,
    facts::{
        CodeRecorded, ConflictsFound, LessonRecorded, MergeRecorded, PersonaRecorded,
        ReflectionRecorded, Ruling, ScoreAdjusted, ToolCalled,
    },
    model::{Fault, Finish, Usage},
    outcome::{Absence, Ending, Outcome},
    record::{Hash, Record},
    run_code::{RunCompleted, RunStarted},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident($data:ty) = $kind:literal,)*) => {
        /// An event of a debate.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event { $($(#[$doc])* $variant($data),)* }

        /// Every kind of event, with a function that makes the schema of its data.
        pub const KINDS: &[(&str, fn() -> schemars::Schema)] = &[$(($kind, || schemars::schema_for!($data)),)*];

        impl Event {
            /// The kind's name on every surface.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $kind,)* }
            }

            /// The event's own data as JSON text.
            pub fn to_data(&self) -> String {
                match self { $(Self::$variant(data) => json_text(data),)* }
            }

            /// The event behind a kind and its data; `None` when this program does not know the
            /// kind.
            pub fn parse(kind: &str, data: &str) -> Result<Option<Self>, serde_json::Error> {
                match kind {
                    $($kind => serde_json::from_str(data).map(|data| Some(Self::$variant(data))),)*
                    _ => Ok(None),
                }
            }
        }
    };
}

pub(crate) fn json_text(data: &impl Serialize) -> String {
    // Every type here is made of strings, finite numbers, lists and maps with string keys.
    serde_json::to_string(data).expect("event data is always JSON")
}

events! {
    /// The debate began, with everything pinned that shapes it.
    DebateStarted(Arc<Started>) = "debate.started",
    /// Agents are about to speak at the same step.
    RoundStarted(RoundStarted) = "round.started",
    /// A call is about to leave.
    TurnStarted(TurnStarted) = "turn.started",
    /// An attempt failed.
    TurnFailed(Box<TurnFailed>) = "turn.failed",
    /// A reply arrived.
    TurnCompleted(Arc<TurnCompleted>) = "turn.completed",
    /// Everybody of a round has answered or is missing.
    RoundCompleted(RoundCompleted) = "round.completed",
    /// An agent took or kept a position.
    PositionRecorded(Arc<Position>) = "position.recorded",
    /// An agent changed its position.
    PositionChanged(Arc<Position>) = "position.changed",
    /// Positions were counted.
    VoteTallied(Arc<Tally>) = "vote.tallied",
    /// An agent was given a persona.
    PersonaRecorded(Arc<PersonaRecorded>) = "persona.recorded",
    /// A judge compared two sides.
    VerdictRecorded(Arc<Ruling>) = "verdict.recorded",
    /// A verdict changed a score, or left it.
    ScoreAdjusted(Arc<ScoreAdjusted>) = "score.adjusted",
    /// Proposals were found that cannot both be followed.
    ConflictsFound(Arc<ConflictsFound>) = "conflict.found",
    /// It was decided which proposals stand.
    MergeRecorded(Arc<MergeRecorded>) = "merge.recorded",
    /// Code reached a milestone.
    CodeRecorded(Arc<CodeRecorded>) = "code.recorded",
    /// An agent said what it learned from a failed attempt.
    ReflectionRecorded(Arc<ReflectionRecorded>) = "reflection.recorded",
    /// A lesson for later debates was drawn.
    LessonRecorded(Arc<LessonRecorded>) = "lesson.recorded",
    /// An agent used a tool, or tried to.
    ToolCalled(Arc<ToolCalled>) = "tool.called",
    /// Code is about to run in the sandbox.
    RunStarted(Box<RunStarted>) = "run.started",
    /// Code ran, or was refused.
    RunCompleted(Arc<RunCompleted>) = "run.completed",
    /// The debate waits for a person.
    GateOpened(Box<GateOpened>) = "gate.opened",
    /// The gate was decided.
    GateDecided(Box<GateDecided>) = "gate.decided",
    /// A person added something the next round hears.
    HumanNoted(HumanNoted) = "human.noted",
    /// A person chose after a contested debate.
    HumanAnswered(HumanAnswered) = "human.answered",
    /// A person said which option turned out right.
    HumanMarked(HumanMarked) = "human.marked",
    /// A person asked to end the debate.
    HumanCancelled(HumanCancelled) = "human.cancelled",
    /// A person asked to pause the debate.
    HumanPaused(HumanPaused) = "human.paused",
    /// The debate was saved and left.
    DebatePaused(DebatePaused) = "debate.paused",
    /// Somebody went on with it.
    DebateResumed(Box<DebateResumed>) = "debate.resumed",
    /// The debate ended.
    DebateCompleted(Arc<Outcome>) = "debate.completed",
    /// An event's text was taken out of the journal.
    EventRedacted(Box<EventRedacted>) = "event.redacted",
}

/// Everything pinned at the start: a resumed debate uses this, not today's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    /// The format's name.
    pub format: String,
    /// The version of its rules.
    pub format_version: u32,
    /// The program that started it.
    pub engine: String,
    /// What is debated.
    pub topic: String,
    /// The format's input.
    pub input: Value,
    /// The format's settings, resolved.
    pub config: Value,
    /// Who takes part.
    pub agents: Vec<Agent>,
    /// The hash of each prompt file of the format.
    pub prompts: Arc<BTreeMap<String, Hash>>,
    /// What shuffles are drawn from.
    pub seed: u64,
    /// The random marker that fences quoted text.
    pub marker: String,
    /// Whether any agent is the built-in rehearsal.
    pub rehearsal: bool,
    /// Limits of the run.
    pub limits: Limits,
    /// Who asked.
    pub initiated_by: String,
    /// The debate this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// The hash of the request it came from, where that may come again and must not start a second
    /// debate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Hash>,
}

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Seconds per turn, retries included.
    pub turn_seconds: u64,
    /// Seconds for the whole debate; 0 is no limit.
    pub debate_seconds: u64,
    /// The largest reply taken, in bytes.
    pub reply_bytes: usize,
    /// Attempts per turn at most, with each model.
    pub attempts: u32,
    /// What the debate may use at most.
    #[serde(skip_serializing_if = "is_default")]
    pub caps: Caps,
    /// Seconds a person may take to approve the result before the debate ends; 0 is that nobody is
    /// asked.
    #[serde(skip_serializing_if = "is_default")]
    pub approval_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turn_seconds: 120,
            debate_seconds: 0,
            reply_bytes: 1 << 20,
            attempts: 4,
            caps: Caps::default(),
            approval_seconds: 0,
        }
    }
}

/// Where a fork left its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForkedFrom {
    /// The original debate.
    pub debate_id: DebateId,
    /// The first step that is asked anew.
    pub at: String,
}

/// A round begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundStarted {
    /// The step's name, e.g. `challenge 2`.
    pub step: String,
    /// Who speaks.
    pub agents: Vec<Arc<str>>,
    /// The numbers of the human notes this round hears.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<u64>,
}

/// The intent to call, written before the call leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {
    /// The turn's name, e.g. `challenge 2/risk`.
    pub turn: Arc<str>,
    /// Which attempt.
    pub attempt: u32,
    /// Who is asked.
    pub model: Arc<str>,
    /// The hash of the prompt.
    pub prompt: Hash,
    /// Set when an earlier call of this very attempt was in flight at a crash: it may be paid
    /// twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub possibly_paid_twice: bool,
    /// What was held for it, in a debate with a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Amount>,
}

/// An attempt failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnFailed {
    /// The turn's name.
    pub turn: Arc<str>,
    /// Which attempt.
    pub attempt: u32,
    /// Why.
    pub fault: Fault,
    /// Whether it is asked again.
    pub retry: bool,
    /// Whether nothing was sent at this attempt: no call stands behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsent: bool,
    /// Who is asked next, where that is somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Arc<str>>,
}

impl TurnFailed {
    /// Whether it takes back a call that is on record as begun: no connection could be made.
    pub fn takes_back_its_call(&self) -> bool {
        self.fault.kind.is_before_sending()
    }
}

/// A reply arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnCompleted {
    /// The turn's name.
    pub turn: Arc<str>,
    /// Which attempt.
    pub attempt: u32,
    /// Who was asked.
    pub model: Arc<str>,
    /// Who really answered, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// The program that answered and its version, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The reply as it came.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// What it cost; absent when unknown.
    pub usage: Option<Usage>,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// The debate it was copied from, in a fork: paid there, not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<DebateId>,
}

/// A round is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundCompleted {
    /// The step's name.
    pub step: String,
    /// Who answered.
    pub answered: Vec<Arc<str>>,
    /// Who is missing, and why.
    pub absent: Vec<Absence>,
}

/// What an agent holds now, and what moved it there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    /// The turn it was said in.
    pub turn: Arc<str>,
    /// The option held; `None` is an explicit abstention.
    pub option: Option<String>,
    /// The options from best to worst as far as the agent ranked them, the one that counts at the
    /// head; empty if it did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranking: Vec<String>,
    /// The option held before, in a later round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// 0 to 1, as the agent says.
    pub confidence: f64,
    /// One sentence.
    pub summary: String,
    /// The numbered arguments.
    pub claims: Vec<Claim>,
    /// Challenges to others' claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub challenges: Vec<Challenge>,
    /// Valid citations of the claims that caused a change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<ClaimId>,
    /// Why it changed, in the agent's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For a change: whether at least one valid new claim of another agent is cited.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub documented: bool,
    /// The option that counts: the earlier one after an undocumented flip where documentation is
    /// required.
    pub counted: Option<String>,
    /// What would change its mind.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flips_if: String,
    /// Citations that did not hold, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad_citations: Vec<String>,
}

impl Position {
    /// What was said last, on one line; a change that does not count is told apart from what
    /// counts.
    pub fn last_word(&self) -> String {
        let summary = on_one_line(&self.summary);
        match &self.option {
            Some(option) if self.option != self.counted => {
                format!(
                    "{summary} [said for {option}, without naming what convinced it: not counted]"
                )
            }
            _ => summary,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// The name of a claim, e.g. `risk·1·#2`: who, in which round, which one.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ClaimId(pub String);

impl ClaimId {
    /// The claim of that agent, round and number (from 1).
    pub fn new(agent: &str, round: u32, number: usize) -> Self {
        use std::fmt::Write;
        let mut name = String::with_capacity(agent.len() + 12);
        // Writing to a String cannot fail.
        let _ = write!(name, "{agent}·{round}·#{number}");
        Self(name)
    }
}

impl std::fmt::Display for ClaimId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One numbered argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Its name.
    pub id: ClaimId,
    /// What it says.
    pub text: String,
}

/// An answer to somebody else's claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Challenge {
    /// The claim.
    pub claim: ClaimId,
    /// Whether it is attacked or conceded.
    pub verdict: Verdict,
    /// Why.
    pub text: String,
}

/// What a challenge does with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It does not hold, or not enough.
    Attack,
    /// It holds.
    Concede,
}

/// Counted positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// After which step.
    pub step: String,
    /// Who stands for what.
    pub distribution: BTreeMap<String, Vec<Arc<str>>>,
    /// Who took a position earlier and is missing now: counted for nobody, but among the ballots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Arc<str>>,
    /// The leading option, if there is exactly one.
    pub leader: Option<String>,
    /// Its share of the ballots.
    pub share: f64,
    /// What it takes.
    pub threshold: f64,
    /// Whether it is reached.
    pub reached: bool,
}

/// A person's note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanNoted {
    /// What was said.
    pub text: String,
    /// By whom.
    pub by: String,
}

/// A person's choice after a contested debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanAnswered {
    /// The option chosen.
    pub option: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// By whom.
    pub by: String,
}

/// Which option turned out right, as a person says after the end. A later one replaces an earlier
/// one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanMarked {
    /// The option.
    pub option: String,
    /// How it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// By whom.
    pub by: String,
}

/// A person asked to end the debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanCancelled {
    /// By whom.
    pub by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A person asked to pause the debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanPaused {
    /// By whom.
    pub by: String,
}

/// The debate was saved and left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DebatePaused {
    /// Why.
    pub reason: String,
    /// At whose word, where somebody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Somebody went on with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DebateResumed {
    /// The program that goes on.
    pub engine: String,
    /// Prompt files that differ from the pinned ones. Recorded turns stand; new turns use the new
    /// text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<String>,
    /// Turns that were in flight when the last run ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_doubt: Vec<String>,
    /// The limits from now on, where they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// At whose word, where somebody asked a server for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether nobody asked for it: a server found that nobody ran the debate. A pause that was
    /// asked for before still holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopted: bool,
}

/// An event's text was taken out. What it said is gone; what is counted of it is kept here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventRedacted {
    /// Which event.
    pub seq: u64,
    /// Why.
    pub reason: String,
    /// By whom.
    pub by: String,
    /// How the debate ended, where it was the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ending>,
    /// The figures of the reply, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<KeptReply>,
}

/// What stays of a reply whose text was taken out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptReply {
    /// The turn's name.
    pub turn: Arc<str>,
    /// Who answered.
    pub model: String,
    /// What it cost; absent when unknown.
    pub usage: Option<Usage>,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// Whether another debate paid for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
}

impl EventRedacted {
    /// What is kept of a record that is about to be redacted.
    pub fn of(record: &Record) -> Self {
        let mut kept = Self {
            seq: record.seq,
            ..Self::default()
        };
        match record.event() {
            Ok(Some(Event::DebateCompleted(outcome))) => kept.ended = Some(outcome.outcome),
            Ok(Some(Event::TurnCompleted(completed))) => {
                let TurnCompleted {
                    turn,
                    model,
                    answered_by,
                    usage,
                    ms,
                    copied_from,
                    ..
                } = Arc::unwrap_or_clone(completed);
                let model = answered_by.unwrap_or_else(|| model.to_string());
                kept.reply = Some(KeptReply {
                    turn,
                    model,
                    usage,
                    ms,
                    copied: copied_from.is_some(),
                });
            }
            _ => {}
        }
        kept
    }
}
