//! Why a debate stops before its format has an outcome, and why the desk refuses.

use crate::{
    DebateId,
    event::{GateDecided, HumanAnswered},
    model::Fault,
    outcome::{Absence, Ending, LimitMet},
    store::StoreError,
};

/// What ends a format's run early. A format passes it on with `?`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Stop {
    /// A person ended the debate.
    #[error("cancelled by {by}")]
    Cancelled {
        /// Who.
        by: String,
        /// Why, if said.
        reason: String,
    },
    /// The debate is saved and goes on later.
    #[error("paused")]
    Paused,
    /// A cap on money, tokens, calls or time is reached.
    #[error("{}", .0.why)]
    Stopped(LimitMet),
    /// Too few answered.
    #[error("{answered} of {needed} needed answers at {step}")]
    NoQuorum {
        /// The step that lacked answers.
        step: String,
        /// How many there were.
        answered: usize,
        /// How many it takes.
        needed: usize,
        /// Who was missing, and why.
        absent: Vec<Absence>,
    },
    /// A gate did not open.
    #[error("gate {gate} was rejected by {by}")]
    Rejected {
        /// Which gate.
        gate: String,
        /// By whom, or `timeout`.
        by: String,
        /// Why.
        reason: String,
    },
    /// The format broke a rule of the kernel, or a re-run went another way than the record.
    #[error("{0}")]
    Broken(String),
    /// The program itself failed; the debate stays as it is recorded.
    #[error("the run crashed: {0}; what is recorded stays, and `rebut resume` tries again")]
    Crashed(String),
    /// Another process runs this debate now.
    #[error("another process runs this debate")]
    TakenOver,
    /// The database went back behind what this run wrote, and what it holds now does not lead
    /// there: a standby was promoted that lacked it, or a backup was restored.
    #[error(
        "the database went back: its journal ends at event {has}, and event {had} that was written \
         here does not follow; \
         what it has stays, and `rebut resume` goes on from there"
    )]
    WentBack {
        /// Where the database's journal ends.
        has: u64,
        /// The last event that this run wrote.
        had: u64,
    },
    /// What was to be recorded came too late; nothing was.
    #[error(transparent)]
    TooLate(#[from] TooLate),
    /// The journal cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is recorded already, so that a person's word came too late.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TooLate {
    /// Somebody decided the gate.
    #[error("gate `{}` was already {} by \
        {}", .0.gate, if .0.approved { "approved" } else { "rejected" }, .0.by)]
    Decided(Box<GateDecided>),
    /// The gate was opened again, for something else.
    #[error("gate `{gate}` shows something else than what was looked at; look again")]
    ShowsOther {
        /// Which gate.
        gate: String,
    },
    /// Somebody answered the contested question.
    #[error("it was already answered: {} by {}", .0.option, .0.by)]
    Answered(Box<HumanAnswered>),
    /// A person cancelled the debate.
    #[error("it was cancelled")]
    Cancelled,
    /// A debate of that id began before.
    #[error("it has already begun")]
    Begun,
    /// A debate of that id was removed.
    #[error("it was removed, and another does not take its place")]
    Removed,
    /// The debate came to its end.
    #[error("it has already ended: {}", .0.as_str())]
    Ended(Ending),
}

/// Why the desk could not do what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeskError {
    /// No format of that name.
    #[error("there is no format `{0}`")]
    UnknownFormat(String),
    /// The request does not fit the format.
    #[error("{0}")]
    BadRequest(String),
    /// An agent's model cannot be had.
    #[error("{agent}: {fault}")]
    NoModel {
        /// Which agent.
        agent: String,
        /// Why.
        fault: Fault,
    },
    /// An agent's model could be had when the debate began and cannot now, and without it too few
    /// could answer.
    #[error("{agent}: {fault}")]
    ModelGone {
        /// Which agent.
        agent: String,
        /// Why.
        fault: Fault,
    },
    /// No debate has an id that starts so.
    #[error("no debate `{0}`")]
    NotFound(String),
    /// Several debates have ids that start so.
    #[error("`{prefix}` could be {}", matches.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "))]
    Ambiguous {
        /// What was typed.
        prefix: String,
        /// Which debates it fits.
        matches: Vec<DebateId>,
    },
    /// A cap on money cannot hold for models whose price nobody knows.
    #[error("nobody knows the price of {}, so a cap on money cannot hold; set its price, or allow \
        unknown prices", .0.join(", "))]
    UnknownPrices(Vec<String>),
    /// The debate is not in a state for this.
    #[error("{0}")]
    WrongState(String),
    /// Another word of a person, or the end, was recorded before.
    #[error("debate {}: {what}", debate.short())]
    TooLate {
        /// Which debate.
        debate: DebateId,
        /// What was recorded.
        what: TooLate,
    },
    /// The journal itself is damaged.
    #[error("the journal of {debate} is damaged at event {seq}: {problem}")]
    Damaged {
        /// Which debate.
        debate: DebateId,
        /// Where.
        seq: u64,
        /// What is wrong.
        problem: String,
    },
    /// The run ended without an outcome.
    #[error(transparent)]
    Halted(#[from] Stop),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DeskError {
    /// Whether the database cannot be reached or written now: nothing is wrong with the debate
    /// itself, and asking again is right.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Store(error) | Self::Halted(Stop::Store(error)) if error.is_passing())
    }
}
