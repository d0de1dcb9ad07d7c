//! The store seam: where journals are kept. One append is one transaction.

use crate::{
    DebateId,
    event::TurnCompleted,
    model::{Finish, Usage},
    outbox::is_told,
    projection::{Projection, Tables},
    record::{Hash, Record},
    seal::Checkpoint,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, sync::Arc};

/// Keeps journals. Every implementation passes the conformance suite of `rebut-testkit`.
#[async_trait::async_trait]
pub trait Store: Send + Sync + 'static {
    /// Appends to a debate's journal, all or nothing. Returns once it is as durable as asked.
    async fn append(&self, append: Append) -> Result<(), StoreError>;

    /// The first records after number `after`, at most so many, in order; empty when there are
    /// none.
    async fn page(
        &self,
        debate: DebateId,
        after: u64,
        most: usize,
    ) -> Result<Vec<Record>, StoreError>;

    /// Some records of a debate and where its journal ends, both of the same moment.
    async fn pick(&self, debate: DebateId, pick: &Pick) -> Result<Picked, StoreError>;

    /// All records after number `after`, in order; empty when there are none.
    async fn load(&self, debate: DebateId, after: u64) -> Result<Vec<Record>, StoreError> {
        self.page(debate, after, usize::MAX).await
    }

    /// Every checkpoint of a debate, oldest first.
    async fn checkpoints(&self, debate: DebateId) -> Result<Vec<Checkpoint>, StoreError>;

    /// Sessions, newest first.
    async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError>;

    /// What a debate's events left in the tables besides the journal.
    async fn tables(&self, debate: DebateId) -> Result<Tables, StoreError>;

    /// Puts a tombstone in the place of one record, and of what it left in tables, together with
    /// the append that reports it.
    async fn redact(&self, tombstone: Record, append: Append) -> Result<(), StoreError>;

    /// Removes a debate and all that was derived from it; [`StoreError::Held`] if another living
    /// process runs it. Nothing is kept but that there was one of that id.
    async fn remove(&self, debate: DebateId) -> Result<(), StoreError>;

    /// Whether a debate of that id was removed, and none has come in its place.
    async fn is_removed(&self, debate: DebateId) -> Result<bool, StoreError>;

    /// The living process that runs a debate, in words; `None` when nobody does. One that is
    /// recorded as running and has none was interrupted.
    async fn runner(&self, debate: DebateId) -> Result<Option<String>, StoreError>;

    /// Debates that are recorded as running and that this process has claimed, whether or not it
    /// runs them, the oldest first.
    async fn held_here(&self) -> Result<Vec<DebateId>, StoreError>;

    /// Gives up a debate that this process has claimed or that nobody runs, and keeps the reason
    /// until somebody takes it; [`StoreError::Held`] if another living process runs it.
    async fn give_up(&self, debate: DebateId, why: &str) -> Result<(), StoreError>;

    /// Of these debates, those that were given up and that nobody took since, each with the reason.
    async fn given_up(&self, debates: &[DebateId]) -> Result<Vec<(DebateId, String)>, StoreError>;

    /// Waits until another process appended to something, and says to what (at least).
    async fn changed_elsewhere(&self) -> Result<Changed, StoreError>;

    /// Whether an append can fail here for a while and work later ([`StoreError::is_passing`]).
    fn may_be_unreachable(&self) -> bool {
        false
    }

    /// Fails while nothing can be written, although reading works: the disk is full, or the file
    /// was replaced. Finds out by itself, without waiting for somebody who has something to write.
    async fn check_writable(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The time by the clock that all processes of this store share, as well as it is known without
    /// asking. `None` where there is no such clock: then the clock of the process that decides
    /// counts.
    fn now(&self) -> Option<Timestamp> {
        None
    }

    /// The same, asked for just now: whether a deadline is over is decided by this.
    async fn ask_now(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    /// Debates that are recorded as running and that no living process runs, the oldest first: they
    /// were interrupted.
    async fn abandoned(&self, most: usize) -> Result<Vec<DebateId>, StoreError> {
        let running = Filter {
            status: Some(Status::Running),
            ..Filter::default()
        };
        let mut abandoned = Vec::new();
        for session in self.sessions(&running).await?.into_iter().rev() {
            if abandoned.len() >= most {
                break;
            }
            if self.runner(session.id).await?.is_none() {
                abandoned.push(session.id);
            }
        }
        Ok(abandoned)
    }
}

/// What another process appended to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// At least to these.
    These(Vec<DebateId>),
    /// Nobody knows: word of it may have been lost, so everything has to be looked at.
    Anything,
    /// The same, and it stays so for this reason: no word comes now. Said again and again.
    Unheard(String),
}

/// Which records of a journal. Nothing said is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pick {
    /// Only those after this number.
    pub after: u64,
    /// Only of these kinds. A redacted record keeps its kind.
    pub kinds: Option<Vec<String>>,
    /// At most so many.
    pub most: Option<usize>,
    /// Where there are more, the last ones rather than the first; they come in their order all the
    /// same.
    pub from_end: bool,
}

impl Pick {
    /// All records of some kinds.
    pub fn of(kinds: &[&str]) -> Self {
        Self {
            kinds: Some(kinds.iter().map(|kind| (*kind).to_owned()).collect()),
            ..Self::default()
        }
    }

    /// At most so many as a number; without a bound the largest.
    pub fn bound(&self) -> usize {
        self.most.unwrap_or(usize::MAX)
    }
}

/// What was picked of a journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picked {
    /// The records, in their order.
    pub records: Vec<Record>,
    /// Where the journal ends; `None` where there is none.
    pub head: Option<Head>,
}

/// The end of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the last record.
    pub seq: u64,
    /// When it was written.
    pub ts: Arc<str>,
    /// The hash of the last record, which the next append names.
    pub hash: Hash,
}

/// One transaction on one debate.
#[derive(Clone, Debug)]
pub struct Append {
    /// Which debate.
    pub debate: DebateId,
    /// How many records the journal must have before; otherwise [`StoreError::Conflict`].
    pub after: u64,
    /// The hash that the last of them must have, zero where there is none; otherwise
    /// [`StoreError::Conflict`].
    pub prev: Hash,
    /// The new records, numbered `after + 1 …`.
    pub records: Vec<Record>,
    /// Signed ends of the journal: the one here, if it is closed here; all of a journal that is
    /// brought here from elsewhere.
    pub checkpoints: Vec<Checkpoint>,
    /// The session row, if it changed.
    pub session: Option<Box<Session>>,
    /// Rows for `debate_turns`.
    pub turns: Vec<TurnRow>,
    /// What the events leave in other tables.
    pub projections: Vec<Projection>,
    /// What it must survive.
    pub durability: Durability,
    /// Whether the appender takes or gives up the debate.
    pub claim: Claim,
    /// Whether it happens now, so that who asked for word of it gets it; not where a journal is
    /// brought here from elsewhere.
    pub is_news: bool,
}

impl Append {
    /// An append of nothing yet, behind the record of that number and hash.
    pub fn new(debate: DebateId, after: u64, prev: Hash) -> Self {
        Self {
            debate,
            after,
            prev,
            records: Vec::new(),
            checkpoints: Vec::new(),
            session: None,
            turns: Vec::new(),
            projections: Vec::new(),
            durability: Durability::Process,
            claim: Claim::Keep,
            is_news: true,
        }
    }

    /// What is wrong with its records, if they do not follow each other from its predecessor on.
    pub fn misfit(&self) -> Option<String> {
        let (debate, mut prev) = (self.debate, self.prev);
        for (record, expected) in self.records.iter().zip(self.after + 1..) {
            if record.seq != expected || record.debate != debate {
                return Some(format!(
                    "record {} of {} was sent as number {expected} of {debate}",
                    record.seq, record.debate
                ));
            }
            if record.prev != prev {
                return Some(format!(
                    "record {expected} of {debate} does not follow the one before it"
                ));
            }
            prev = record.hash;
        }
        None
    }

    /// The records that somebody may want word of.
    pub fn told(&self) -> impl Iterator<Item = &Record> {
        self.records
            .iter()
            .filter(|record| self.is_news && is_told(&record.kind))
    }
}

/// What an append survives once it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The crash of this process. A power cut may take it, soon after at the latest.
    Process,
    /// A power cut: it, and everything of this debate before it, is on the disk.
    Power,
}

/// Who runs a debate. A claim dies with its process, or when its holder is not heard of for too
/// long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// No change: anybody may append so.
    Keep,
    /// No change, by whoever runs the debate; [`StoreError::Lost`] if this process does not any
    /// more.
    Hold,
    /// This process runs the debate from now on; [`StoreError::Held`] if another living one does.
    Take,
    /// Nobody runs it any more.
    Release,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Ids that start so.
    pub prefix: Option<String>,
    /// Only this status.
    pub status: Option<Status>,
    /// Only this format.
    pub format: Option<String>,
    /// Only what this person asked for.
    pub by: Option<String>,
    /// Only topics with these characters in them; letters of ASCII are equal in both sizes.
    pub topic: Option<String>,
    /// Only what comes after this one in the list.
    pub after: Option<Listed>,
    /// At most so many; 0 is all.
    pub limit: usize,
}

/// A place in the list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The session's first event.
    pub created_at: String,
    /// The session.
    pub id: DebateId,
}

impl Filter {
    /// Whether a session is among those that are meant, wherever it stands in the list.
    pub fn fits(&self, session: &Session) -> bool {
        let is_after =
            |last: &Listed| (&session.created_at, session.id) < (&last.created_at, last.id);
        self.prefix
            .as_ref()
            .is_none_or(|prefix| session.id.to_string().starts_with(prefix))
            && self.status.is_none_or(|status| session.status == status)
            && self
                .format
                .as_ref()
                .is_none_or(|format| session.format == *format)
            && self
                .by
                .as_ref()
                .is_none_or(|by| session.initiated_by == *by)
            && self.topic.as_ref().is_none_or(|text| {
                session
                    .topic
                    .to_ascii_lowercase()
                    .contains(&text.to_ascii_lowercase())
            })
            && self.after.as_ref().is_none_or(is_after)
    }
}

/// Where a debate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Started, and neither paused nor ended: running, or its process died.
    Running,
    /// Saved on request; `resume` goes on.
    Paused,
    /// Ended with an outcome a reader can use.
    Completed,
    /// Ended without one.
    Failed,
    /// Ended by a person.
    Cancelled,
}

impl Status {
    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status behind the word in the database.
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Running,
            Self::Paused,
            Self::Completed,
            Self::Failed,
            Self::Cancelled,
        ]
        .into_iter()
        .find(|status| status.as_str() == word)
    }

    /// Whether `resume` has something to do.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

/// One row of `debate_sessions`: a fold of the journal, kept for lists and for other tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The debate.
    pub id: DebateId,
    /// Its question or task.
    pub topic: String,
    /// Where it stands.
    pub status: Status,
    /// The format's name.
    pub format: String,
    /// Who hears whom.
    pub topology_type: String,
    /// Who plans.
    pub coordination_protocol: String,
    /// The format's pinned settings, as JSON.
    pub config: String,
    /// Who asked for it.
    pub initiated_by: String,
    /// First event.
    pub created_at: String,
    /// Last change of state.
    pub updated_at: String,
    /// When it ended.
    pub completed_at: Option<String>,
    /// Rounds completed.
    pub total_rounds: u32,
    /// The leading share at the end, 0 to 1.
    pub final_consensus_score: Option<f64>,
    /// The outcome, as JSON.
    pub outcome: Option<String>,
    /// Whether any agent was the built-in rehearsal.
    pub rehearsal: bool,
}

/// One row of `debate_turns`. It shares the reply with the event; what only a table needs is made
/// when the table is written.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnRow {
    /// The record that holds the turn.
    pub seq: u64,
    /// Round number.
    pub round: u32,
    /// Phase of the format.
    pub phase: Arc<str>,
    /// Who spoke.
    pub agent_id: Arc<str>,
    /// In which role.
    pub agent_role: Arc<str>,
    /// The reply and what is known of it.
    pub completed: Arc<TurnCompleted>,
    /// When it was recorded.
    pub created_at: Arc<str>,
}

impl TurnRow {
    /// The provider part of the model's name.
    pub fn provider(&self) -> &str {
        let model = &self.completed.model;
        model
            .split_once(':')
            .map_or(model, |(provider, _)| provider)
    }

    /// The model that answered.
    pub fn model(&self) -> &str {
        self.completed
            .answered_by
            .as_deref()
            .unwrap_or(&self.completed.model)
    }

    /// The agent's confidence, where its reply is plain JSON that states one.
    pub fn confidence(&self) -> Option<f64> {
        #[derive(Deserialize)]
        struct Stated {
            confidence: f64,
        }
        serde_json::from_str::<Stated>(&self.completed.text)
            .ok()
            .map(|stated| stated.confidence)
            .filter(|value| value.is_finite())
    }

    /// Usage and attempt, as JSON.
    pub fn metadata(&self) -> String {
        #[derive(Serialize)]
        struct Metadata<'a> {
            attempt: u32,
            usage: &'a Option<Usage>,
            finish: Finish,
        }
        let TurnCompleted {
            attempt,
            usage,
            finish,
            ..
        } = &*self.completed;
        let metadata = Metadata {
            attempt: *attempt,
            usage,
            finish: *finish,
        };
        serde_json::to_string(&metadata).expect("numbers and words are always JSON")
    }
}

/// Why the store did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The journal does not end where the append was to begin: somebody else appended first, or the
    /// database went back.
    #[error("the journal of {debate} ends at event {count}, and not where more was to be added")]
    Conflict {
        /// Which debate.
        debate: DebateId,
        /// How many events there are.
        count: u64,
        /// The hash of the last of them; zero where there is none.
        head: Hash,
    },
    /// Another living process runs the debate.
    #[error("debate {debate} is being run by {by}")]
    Held {
        /// Which debate.
        debate: DebateId,
        /// Its runner.
        by: String,
    },
    /// This process ran the debate, and another took it over.
    #[error("debate {debate} was taken over by {by}")]
    Lost {
        /// Which debate.
        debate: DebateId,
        /// Its runner now, in words.
        by: String,
    },
    /// No such debate.
    #[error("no debate {0}")]
    NotFound(String),
    /// The database was written by a newer program.
    #[error(
        "the database has schema {found}, this program knows up to {known}; use the newer rebut"
    )]
    Newer {
        /// The database's.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The database was written by a program from before the first release.
    #[error(
        "the database has schema {found}, this program needs schema {known}; export its debates \
         with the rebut that made it, and import them into a new database"
    )]
    Older {
        /// The database's.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// What is in the place of the database is none.
    #[error("{0} is not a database of rebut, or it is damaged beyond reading")]
    Foreign(String),
    /// There is no place for the database: its directory cannot be made, or the file in it not be
    /// opened.
    #[error("debates cannot be kept in {path}: {why}")]
    NoPlace {
        /// The database's file.
        path: String,
        /// Why.
        why: String,
    },
    /// One row of a journal does not hold what it must; the others may be whole.
    #[error("event {seq} of debate {debate} cannot be read: {why}")]
    Unreadable {
        /// Which debate.
        debate: DebateId,
        /// Which event, or up to which one a checkpoint that cannot be read reaches.
        seq: u64,
        /// What is wrong with the row.
        why: String,
    },
    /// The database cannot be reached now. Whether what was asked for happened is not known; asking
    /// again is right.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// The database cannot be written now: its disk is full, was mounted for reading only, or
    /// failed. Nothing of what was asked for happened.
    #[error("the database cannot be written: {0}")]
    Unwritable(String),
    /// The database's file was deleted or replaced while this process used it. What was asked for
    /// is not in the file that is there now.
    #[error("{0} was deleted or replaced while it was in use; nothing more is written to it")]
    Replaced(String),
    /// Another program holds the database, and for longer than it was waited for. Nothing of what
    /// was asked for happened.
    #[error("another program holds the database: {0}")]
    Busy(String),
    /// The disk or the database failed.
    #[error("storage: {0}")]
    Failed(String),
}

impl StoreError {
    /// Whether a database of version `found` has no schema yet (0); refuses one whose schema is not
    /// the `known` one.
    pub fn refuse_schema(found: i64, known: i64) -> Result<bool, Self> {
        match found.cmp(&known) {
            Ordering::Greater => Err(Self::Newer { found, known }),
            Ordering::Less if found != 0 => Err(Self::Older { found, known }),
            Ordering::Less => Ok(true),
            Ordering::Equal => Ok(false),
        }
    }

    /// Whether the same may work later, without anybody changing the request or this process.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::Unwritable(_) | Self::Busy(_)
        )
    }
}
