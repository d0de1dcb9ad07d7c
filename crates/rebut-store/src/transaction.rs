//! What happens inside a write transaction: each work is first checked, then written with all that
//! belongs to it.

use crate::{
    claims::{ClaimError, Claims},
    outbox, projections, rows, unwritten,
};
use rebut_engine::{
    DebateId,
    record::{Hash, Record},
    store::{Append, Claim, Durability, StoreError},
};
use rusqlite::Connection;
use std::collections::HashMap;

const ENDS: usize = 65_536;

pub(crate) enum Work {
    Append(Append),
    /// A tombstone, and the append that reports it.
    Redact(Box<Record>, Append),
    Remove(DebateId),
}

impl Work {
    /// Whether it must survive a power cut.
    pub(crate) fn needs_power(&self) -> bool {
        match self {
            Self::Append(append) => append.durability == Durability::Power,
            Self::Redact(..) | Self::Remove(_) => true,
        }
    }

    /// Whether text is taken out, of which the log may hold a copy.
    pub(crate) fn leaves_traces(&self) -> bool {
        !matches!(self, Self::Append(_))
    }
}

/// What the writing thread of a file is given.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every step is the large one"
)]
pub(crate) enum Step {
    Work(Work),
    Change(Change),
    /// Nobody runs a debate, for this reason.
    GiveUp(DebateId, String),
}

/// A change beside the journals. Made again where the transaction it was part of is undone.
pub(crate) struct Change {
    /// What it must survive once it is acknowledged.
    pub(crate) lasting: Lasting,
    pub(crate) make: Make,
}

/// What a change beside the journals survives, and what it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// It survives a crash of the process; a power cut may take it.
    Process,
    Power,
    /// So it does, and nothing is left of what was there before.
    Cleared,
}

pub(crate) type Make = Box<dyn Fn(&Connection) -> rusqlite::Result<()> + Send>;

impl Step {
    /// Whether it must survive a power cut.
    pub(crate) fn needs_power(&self) -> bool {
        match self {
            Self::Work(work) => work.needs_power(),
            Self::Change(change) => change.lasting != Lasting::Process,
            Self::GiveUp(..) => false,
        }
    }

    /// Whether text is taken out, of which the log may hold a copy.
    pub(crate) fn leaves_traces(&self) -> bool {
        match self {
            Self::Work(work) => work.leaves_traces(),
            Self::Change(change) => change.lasting == Lasting::Cleared,
            Self::GiveUp(..) => false,
        }
    }
}

/// Why a transaction did not happen.
pub(crate) enum Trouble {
    /// Only this work cannot be done; nothing of it was written.
    Refused(StoreError),
    /// The transaction cannot go on; another without this work might.
    Unfinished(StoreError),
    Unbegun(StoreError),
    /// The commit itself failed: what is on the disk is unknown.
    Uncertain(StoreError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Unfinished(unwritten("writing the database", &error))
    }
}

impl From<ClaimError> for Trouble {
    fn from(error: ClaimError) -> Self {
        Self::Unfinished(match error {
            ClaimError::Sql(error) => unwritten("claiming the debate", &error),
            // There is no room for a file, or there are too many open ones.
            ClaimError::File(_) => StoreError::Unwritable(format!("claiming the debate: {error}")),
        })
    }
}

/// The connection that writes, and what is known about the journals in it.
pub(crate) struct Ledger {
    /// Transactions are begun and committed by the owner.
    pub(crate) connection: Connection,
    claims: Claims,
    /// Where journals end, by number and hash, as of the database's version `version`.
    ends: HashMap<DebateId, (u64, Hash)>,
    version: Option<i64>,
    /// First and last number of the events of this transaction.
    written: Option<(i64, i64)>,
}

impl Ledger {
    /// The ledger behind a connection, with the claims of whoever writes.
    pub(crate) fn new(connection: Connection, claims: Claims) -> Self {
        Self {
            connection,
            claims,
            ends: HashMap::new(),
            version: None,
            written: None,
        }
    }

    /// The connection, to be closed, and the claims, which outlive it.
    pub(crate) fn into_parts(self) -> (Connection, Claims) {
        (self.connection, self.claims)
    }

    /// First and last number in the file of the events of the last transaction.
    pub(crate) fn written(&self) -> Option<(i64, i64)> {
        self.written
    }

    /// To be called when a transaction was rolled back.
    pub(crate) fn forget(&mut self) {
        self.ends.clear();
    }

    /// Does all steps; those that are refused leave nothing behind. Any other trouble must end the
    /// transaction.
    pub(crate) fn apply_all(
        &mut self,
        steps: &[Step],
    ) -> Result<Vec<Result<(), StoreError>>, Trouble> {
        self.written = None;
        let version = Some(rows::data_version(&self.connection)?);
        if self.version != version || self.ends.len() > ENDS {
            // Another process committed: what we knew may be wrong.
            self.ends.clear();
            self.version = version;
        }
        let mut results = Vec::with_capacity(steps.len());
        for step in steps {
            let done = match step {
                Step::Work(work) => self.apply(work),
                Step::Change(change) => (change.make)(&self.connection).map_err(Trouble::from),
                Step::GiveUp(debate, why) => self.give_up(*debate, why),
            };
            results.push(match done {
                Err(Trouble::Refused(error)) => Err(error),
                other => Ok(other?),
            });
        }
        Ok(results)
    }

    fn apply(&mut self, work: &Work) -> Result<(), Trouble> {
        match work {
            Work::Append(append) => {
                self.check(append)?;
                self.write_append(append)
            }
            Work::Redact(tombstone, append) => {
                if self.end(append.debate)?.0 == 0 {
                    return Err(Trouble::Refused(StoreError::NotFound(
                        append.debate.to_string(),
                    )));
                }
                self.check(append)?;
                if tombstone.debate != append.debate || !rows::redact(&self.connection, tombstone)?
                {
                    let event = format!("event {} of {}", tombstone.seq, append.debate);
                    return Err(Trouble::Refused(StoreError::NotFound(event)));
                }
                self.write_append(append)
            }
            Work::Remove(debate) => {
                if let Some(by) = self.claims.held_by(&self.connection, debate.as_bytes())? {
                    let debate = *debate;
                    return Err(Trouble::Refused(StoreError::Held { debate, by }));
                }
                self.ends.remove(debate);
                let found = rows::remove(&self.connection, *debate)?;
                if found {
                    Ok(())
                } else {
                    Err(Trouble::Refused(StoreError::NotFound(debate.to_string())))
                }
            }
        }
    }

    fn give_up(&mut self, debate: DebateId, why: &str) -> Result<(), Trouble> {
        if self.end(debate)?.0 == 0 {
            return Err(Trouble::Refused(StoreError::NotFound(debate.to_string())));
        }
        match self.claims.held_by(&self.connection, debate.as_bytes())? {
            Some(by) => Err(Trouble::Refused(StoreError::Held { debate, by })),
            None => Ok(Claims::give_up(&self.connection, debate.as_bytes(), why)?),
        }
    }

    /// Everything that can refuse an append, before anything of it is written.
    fn check(&mut self, append: &Append) -> Result<(), Trouble> {
        let debate = append.debate;
        if let Some(error) = append.misfit() {
            return Err(Trouble::Refused(StoreError::Failed(error)));
        }
        if matches!(append.claim, Claim::Take | Claim::Release)
            && let Some(by) = self.claims.held_by(&self.connection, debate.as_bytes())?
        {
            // The end of a debate is written by whoever runs it, as everything before.
            let held = append.claim == Claim::Take;
            return Err(Trouble::Refused(if held {
                StoreError::Held { debate, by }
            } else {
                StoreError::Lost { debate, by }
            }));
        }
        let (count, head) = self.end(debate)?;
        let fits = (count, head) == (append.after, append.prev);
        if fits {
            Ok(())
        } else {
            Err(Trouble::Refused(StoreError::Conflict {
                debate,
                count,
                head,
            }))
        }
    }

    fn end(&mut self, debate: DebateId) -> rusqlite::Result<(u64, Hash)> {
        if let Some(end) = self.ends.get(&debate) {
            return Ok(*end);
        }
        let end = rows::end_of(&self.connection, debate)?;
        self.ends.insert(debate, end);
        Ok(end)
    }

    fn write_append(&mut self, append: &Append) -> Result<(), Trouble> {
        let connection = &self.connection;
        for record in &append.records {
            rows::insert_event(connection, record)?;
        }
        if let Some(head) = append.records.last() {
            let (added, last) = (append.records.len(), connection.last_insert_rowid());
            // The write lock is ours, so the numbers follow each other.
            let first = last + 1 - added as i64;
            self.written = Some((self.written.map_or(first, |written| written.0), last));
            self.ends.insert(append.debate, (head.seq, head.hash));
        }
        for checkpoint in &append.checkpoints {
            rows::insert_checkpoint(connection, append.debate, checkpoint)?;
        }
        if let Some(session) = &append.session {
            rows::put_session(connection, session)?;
        }
        if !append.turns.is_empty() {
            let session = append.debate.to_string();
            append
                .turns
                .iter()
                .try_for_each(|turn| rows::insert_turn(connection, &session, turn))?;
        }
        if !append.projections.is_empty() {
            let session = append.debate.to_string();
            append
                .projections
                .iter()
                .try_for_each(|left| projections::insert(connection, &session, left))?;
        }
        append
            .told()
            .try_for_each(|record| outbox::keep(connection, record))?;
        match append.claim {
            Claim::Keep | Claim::Hold => {}
            Claim::Take => self.claims.take(connection, append.debate.as_bytes())?,
            Claim::Release => Claims::release(connection, append.debate.as_bytes())?,
        }
        Ok(())
    }
}
