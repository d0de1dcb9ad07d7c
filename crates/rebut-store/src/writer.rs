//! Group commit: one thread owns the connection that writes. Whatever waits is written in one transaction, committed as
//! durably as the strictest of them asked, and only then answered.

use crate::{
    claims::{ClaimError, Claims},
    elsewhere::Elsewhere,
    failed, rows, schema,
};
use rebut_engine::{
    DebateId,
    record::Record,
    store::{Append, Claim, Durability, StoreError},
};
use rusqlite::Connection;
use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// Most works in one transaction.
const BATCH: usize = 1024;
/// Quiet time after which what a power cut could still take is brought to the disk.
const QUIET: Duration = Duration::from_millis(20);
/// Time after which it is brought there without waiting for quiet.
const LONGEST: Duration = Duration::from_millis(200);
/// Pause between attempts to clear the log of removed text while somebody reads it.
const SCRUB_AGAIN: Duration = Duration::from_secs(1);
/// How long such an attempt waits for readers.
const SCRUB_WAIT: Duration = Duration::from_millis(200);
/// Debates whose length is remembered.
const COUNTS: usize = 65_536;

/// The way to the writing thread. Dropping it finishes what was sent.
pub(crate) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// One change of the database.
pub(crate) enum Work {
    /// More of a journal.
    Append(Append),
    /// A tombstone, and the append that reports it.
    Redact(Box<Record>, Append),
    /// A whole debate goes.
    Remove(DebateId),
}

struct Job {
    work: Work,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(connection: Connection, path: &Path, elsewhere: Arc<Elsewhere>) -> Result<Self, StoreError> {
        let (jobs, waiting) = channel();
        let desk = Desk {
            connection,
            claims: Claims::new(path),
            elsewhere,
            counts: HashMap::new(),
            version: None,
            full: true,
            unsynced: None,
            written: None,
            scrub: false,
            broken: None,
        };
        let thread = thread::Builder::new().name("rebut-write".to_owned()).spawn(move || desk.run(&waiting));
        let thread = thread.map_err(|error| failed("starting the writer's thread", error))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands over one work and waits for its commit.
    pub(crate) async fn work(&self, work: Work) -> Result<(), StoreError> {
        let gone = || StoreError::Failed("the writer's thread ended; open the store again".to_owned());
        let (answer, answered) = oneshot::channel();
        self.jobs.as_ref().and_then(|jobs| jobs.send(Job { work, answer }).ok()).ok_or_else(gone)?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It panicked: whoever waited was told, and there is nothing left to save.
            let _ = thread.join();
        }
    }
}

/// What the thread has before it.
struct Desk {
    connection: Connection,
    claims: Claims,
    elsewhere: Arc<Elsewhere>,
    /// Lengths of journals as of the database's version `version`.
    counts: HashMap<DebateId, u64>,
    version: Option<i64>,
    /// Whether commits wait for the disk.
    full: bool,
    /// Since when a power cut could take something.
    unsynced: Option<Instant>,
    /// First and last number of the events of this transaction.
    written: Option<(i64, i64)>,
    /// Whether the log may still hold removed text.
    scrub: bool,
    /// Why nothing is written any more.
    broken: Option<StoreError>,
}

/// Why a transaction did not happen.
enum Trouble {
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
        Self::Unfinished(failed("writing the database", error))
    }
}

impl From<ClaimError> for Trouble {
    fn from(error: ClaimError) -> Self {
        Self::Unfinished(failed("claiming the debate", error))
    }
}

impl Desk {
    fn run(mut self, waiting: &Receiver<Job>) {
        while let Some(first) = self.next(waiting) {
            let mut batch = vec![first];
            batch.extend(waiting.try_iter().take(BATCH - 1));
            self.serve(batch);
        }
    }

    /// The next job; tidies up while there is none.
    fn next(&mut self, waiting: &Receiver<Job>) -> Option<Job> {
        loop {
            let patience = match (self.unsynced.is_some(), self.scrub) {
                (true, _) => QUIET,
                (false, true) => SCRUB_AGAIN,
                (false, false) => return waiting.recv().ok(),
            };
            match waiting.recv_timeout(patience) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Timeout) => self.settle(),
                Err(RecvTimeoutError::Disconnected) => {
                    self.settle();
                    return None;
                }
            }
        }
    }

    fn serve(&mut self, batch: Vec<Job>) {
        let (works, answers): (Vec<_>, Vec<_>) = batch.into_iter().map(|job| (job.work, job.answer)).unzip();
        let results = self.write(&works);
        for (answer, result) in answers.into_iter().zip(results) {
            // Whoever no longer waits for it still has it done.
            let _ = answer.send(result);
        }
    }

    /// Does all works in one transaction; if one of them breaks it, each in its own.
    fn write(&mut self, works: &[Work]) -> Vec<Result<(), StoreError>> {
        if let Some(why) = &self.broken {
            return works.iter().map(|_| Err(why.clone())).collect();
        }
        match self.transact(works) {
            Ok(results) => results,
            Err(Trouble::Refused(error) | Trouble::Unfinished(error)) => {
                if let [_] = works {
                    return vec![Err(error)];
                }
                works.iter().flat_map(|work| self.write(std::slice::from_ref(work))).collect()
            }
            Err(Trouble::Unbegun(error) | Trouble::Uncertain(error)) => works.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    fn transact(&mut self, works: &[Work]) -> Result<Vec<Result<(), StoreError>>, Trouble> {
        let power = works.iter().any(Work::needs_power) || self.unsynced.is_some_and(|since| since.elapsed() > LONGEST);
        self.begin(power).map_err(|error| Trouble::Unbegun(failed("beginning to write", error)))?;
        let before = self.connection.total_changes();
        let outcome = self.apply_all(works).and_then(|results| {
            let wrote = self.connection.total_changes() != before;
            self.commit(power, wrote)?;
            Ok(results)
        });
        match &outcome {
            Ok(results) => {
                if works.iter().zip(results).any(|(work, result)| result.is_ok() && work.leaves_traces()) {
                    self.scrub = true;
                    self.scrub();
                }
            }
            Err(trouble) => {
                if let Trouble::Uncertain(error) = trouble {
                    self.stop(error);
                }
                self.roll_back();
            }
        }
        outcome
    }

    fn begin(&mut self, power: bool) -> rusqlite::Result<()> {
        self.written = None;
        self.sync_commits(power)?;
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(drop)
    }

    fn apply_all(&mut self, works: &[Work]) -> Result<Vec<Result<(), StoreError>>, Trouble> {
        let version = Some(rows::data_version(&self.connection)?);
        if self.version != version || self.counts.len() > COUNTS {
            // Another process committed: what we knew may be wrong.
            self.counts.clear();
            self.version = version;
        }
        let mut results = Vec::with_capacity(works.len());
        for work in works {
            results.push(match self.apply(work) {
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
        match append.claim {
            Claim::Keep => {}
            Claim::Take => self.claims.take(connection, append.debate.as_bytes())?,
            Claim::Release => Claims::release(connection, append.debate.as_bytes())?,
        }
        Ok(())
    }

    fn commit(&mut self, power: bool, wrote: bool) -> Result<(), Trouble> {
        if power && !wrote && self.unsynced.is_some() {
            // A commit of nothing does not wait for the disk, but what came before must get there.
            self.touch()?;
        }
        if let Some((first, last)) = self.written {
            self.elsewhere.wrote(first, last);
        }
        let commit = || self.connection.prepare_cached("COMMIT")?.execute([]);
        commit().map_err(|error| Trouble::Uncertain(failed("committing to the database", error)))?;
        if power {
            self.unsynced = None;
        } else if wrote {
            self.unsynced.get_or_insert_with(Instant::now);
        }
        Ok(())
    }

    /// The smallest change there is: the version it already has.
    fn touch(&self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "user_version", schema::known())
    }

    fn roll_back(&mut self) {
        self.counts.clear();
        // Some errors end the transaction by themselves.
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            self.stop(&failed("rolling back", error));
        }
    }

    /// After a failed commit nobody can say what the disk holds: going on could acknowledge what is already lost.
    fn stop(&mut self, error: &StoreError) {
        let why = format!("nothing more is written since this happened: {error}; check the disk, then open the store again");
        self.broken.get_or_insert(StoreError::Failed(why));
    }

    /// Sets whether commits wait for the disk. The log is a prefix: one that waits covers all before it.
    fn sync_commits(&mut self, full: bool) -> rusqlite::Result<()> {
        if self.full != full {
            self.connection.execute_batch(if full { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" })?;
            self.full = full;
        }
        Ok(())
    }

    /// Brings to the disk what is not there yet, and clears the log of removed text.
    fn settle(&mut self) {
        if self.unsynced.is_some() {
            match self.sync_commits(true).and_then(|()| self.touch()) {
                Ok(()) => self.unsynced = None,
                // Another process is writing; there will be another quiet moment.
                Err(error) if is_busy(&error) => {}
                Err(error) => {
                    self.unsynced = None;
                    self.stop(&failed("bringing the log to the disk", error));
                }
            }
        } else if self.scrub {
            self.scrub();
        }
    }

    /// Moves everything out of the log and empties it, unless somebody is reading an old state.
    fn scrub(&mut self) {
        let checkpoint = || {
            self.connection.busy_timeout(SCRUB_WAIT)?;
            let busy = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
            self.connection.busy_timeout(schema::BUSY)?;
            busy
        };
        match checkpoint() {
            Ok(busy) => self.scrub = busy,
            Err(error) if is_busy(&error) => {}
            Err(error) => self.stop(&failed("clearing the log", error)),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

impl Work {
    fn needs_power(&self) -> bool {
        match self {
            Self::Append(append) => append.durability == Durability::Power,
            Self::Redact(..) | Self::Remove(_) => true,
        }
    }

    fn leaves_traces(&self) -> bool {
        !matches!(self, Self::Append(_))
    }
}
