//! What happens inside a write transaction: each work is first checked, then written with all that belongs to it.

use crate::{
    claims::{ClaimError, Claims},
    derived, outbox, rows, unwritten,
};
use rebut_engine::{
    DebateId,
    record::Record,
    store::{Append, Claim, Durability, StoreError},
};
use rusqlite::Connection;
use std::collections::HashMap;

/// Debates whose length is remembered.
const COUNTS: usize = 65_536;

/// One change of the database.
pub(crate) enum Work {
    /// More of a journal.
    Append(Append),
    /// A tombstone, and the append that reports it.
    Redact(Box<Record>, Append),
    /// A whole debate goes.
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
pub(crate) enum Step {
    /// Something with a journal.
    Work(Work),
    /// Something beside the journals.
    Change(Change),
}

/// A change beside the journals. Made again where the transaction it was part of is undone.
pub(crate) struct Change {
    /// Whether it must survive a power cut, and leave nothing of what was there before.
    pub(crate) is_lasting: bool,
    /// Makes it.
    pub(crate) make: Make,
}

/// What makes a change.
pub(crate) type Make = Box<dyn Fn(&Connection) -> rusqlite::Result<()> + Send>;

impl Step {
    /// Whether it must survive a power cut.
    pub(crate) fn needs_power(&self) -> bool {
        match self {
            Self::Work(work) => work.needs_power(),
            Self::Change(change) => change.is_lasting,
        }
    }

    /// Whether text is taken out, of which the log may hold a copy.
    pub(crate) fn leaves_traces(&self) -> bool {
        match self {
            Self::Work(work) => work.leaves_traces(),
            Self::Change(change) => change.is_lasting,
        }
    }
}

/// Why a transaction did not happen.
pub(crate) enum Trouble {
    /// Only this work cannot be done; nothing of it was written.
    Refused(StoreError),
    /// The transaction cannot go on; another without this work might.
    Unfinished(StoreError),
    /// There was no transaction.
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
    /// Lengths of journals as of the database's version `version`.
    counts: HashMap<DebateId, u64>,
    version: Option<i64>,
    /// First and last number of the events of this transaction.
    written: Option<(i64, i64)>,
}

impl Ledger {
    /// The ledger behind a connection, with the claims of whoever writes.
    pub(crate) fn new(connection: Connection, claims: Claims) -> Self {
        Self { connection, claims, counts: HashMap::new(), version: None, written: None }
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
        self.counts.clear();
    }

    /// Does all steps; those that are refused leave nothing behind. Any other trouble must end the transaction.
    pub(crate) fn apply_all(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StoreError>>, Trouble> {
        self.written = None;
        let version = Some(rows::data_version(&self.connection)?);
        if self.version != version || self.counts.len() > COUNTS {
            // Another process committed: what we knew may be wrong.
            self.counts.clear();
            self.version = version;
        }
        let mut results = Vec::with_capacity(steps.len());
        for step in steps {
            let done = match step {
                Step::Work(work) => self.apply(work),
                Step::Change(change) => (change.make)(&self.connection).map_err(Trouble::from),
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
                if self.count(append.debate)? == 0 {
                    return Err(Trouble::Refused(StoreError::NotFound(append.debate.to_string())));
                }
                self.check(append)?;
                if tombstone.debate != append.debate || !rows::redact(&self.connection, tombstone)? {
                    let event = format!("event {} of {}", tombstone.seq, append.debate);
                    return Err(Trouble::Refused(StoreError::NotFound(event)));
                }
                self.write_append(append)
            }
            Work::Remove(debate) => {
                self.counts.remove(debate);
                let found = rows::remove(&self.connection, *debate)?;
                if found { Ok(()) } else { Err(Trouble::Refused(StoreError::NotFound(debate.to_string()))) }
            }
        }
    }

    /// Everything that can refuse an append, before anything of it is written.
    fn check(&mut self, append: &Append) -> Result<(), Trouble> {
        let debate = append.debate;
        let mut expected = append.after;
        for record in &append.records {
            expected += 1;
            if record.seq != expected || record.debate != debate {
                let error = format!("record {} of {} was sent as number {expected} of {debate}", record.seq, record.debate);
                return Err(Trouble::Refused(StoreError::Failed(error)));
            }
        }
        if append.claim == Claim::Take
            && let Some(by) = self.claims.held_by(&self.connection, debate.as_bytes())?
        {
            return Err(Trouble::Refused(StoreError::Held { debate, by }));
        }
        let count = self.count(debate)?;
        if count == append.after { Ok(()) } else { Err(Trouble::Refused(StoreError::Conflict { debate, count })) }
    }

    fn count(&mut self, debate: DebateId) -> rusqlite::Result<u64> {
        if let Some(count) = self.counts.get(&debate) {
            return Ok(*count);
        }
        let count = rows::event_count(&self.connection, debate)?;
        self.counts.insert(debate, count);
        Ok(count)
    }

    fn write_append(&mut self, append: &Append) -> Result<(), Trouble> {
        let connection = &self.connection;
        for record in &append.records {
            rows::insert_event(connection, record)?;
        }
        if !append.records.is_empty() {
            let (added, last) = (append.records.len(), connection.last_insert_rowid());
            // The write lock is ours, so the numbers follow each other.
            let first = last + 1 - added as i64;
            self.written = Some((self.written.map_or(first, |written| written.0), last));
            self.counts.insert(append.debate, append.after + added as u64);
        }
        if let Some(checkpoint) = &append.checkpoint {
            rows::insert_checkpoint(connection, append.debate, checkpoint)?;
        }
        if let Some(session) = &append.session {
            rows::put_session(connection, session)?;
        }
        if !append.turns.is_empty() {
            let session = append.debate.to_string();
            append.turns.iter().try_for_each(|turn| rows::insert_turn(connection, &session, turn))?;
        }
        if !append.projections.is_empty() {
            let session = append.debate.to_string();
            append.projections.iter().try_for_each(|left| derived::insert(connection, &session, left))?;
        }
        append.told().try_for_each(|record| outbox::keep(connection, record))?;
        match append.claim {
            Claim::Keep | Claim::Hold => {}
            Claim::Take => self.claims.take(connection, append.debate.as_bytes())?,
            Claim::Release => Claims::release(connection, append.debate.as_bytes())?,
        }
        Ok(())
    }
}
