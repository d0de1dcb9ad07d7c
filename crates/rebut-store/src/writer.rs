//! Group commit: one thread owns the connection that writes. Whatever waits is written in one transaction, committed as
//! durably as the strictest of them asked, and only then answered.

use crate::{
    elsewhere::Elsewhere,
    failed,
    ledger::{Ledger, Step, Trouble},
    schema, unwritten,
};
use rebut_engine::store::StoreError;
use rusqlite::Connection;
use std::{
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// Most steps in one transaction.
const BATCH: usize = 1024;
/// Quiet time after which what a power cut could still take is brought to the disk.
const QUIET: Duration = Duration::from_millis(20);
/// Time after which it is brought there without waiting for quiet.
const LONGEST: Duration = Duration::from_millis(200);
/// Pause between attempts to clear the log of removed text while somebody reads it.
const SCRUB_AGAIN: Duration = Duration::from_secs(1);
/// How long such an attempt waits for readers.
const SCRUB_WAIT: Duration = Duration::from_millis(200);

/// The way to the writing thread. Dropping it finishes what was sent.
pub(crate) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    step: Step,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

impl Writer {
    /// Starts the thread. Debates are claimed under the name of `runner`.
    pub(crate) fn start(connection: Connection, path: &Path, runner: Arc<str>, elsewhere: Arc<Elsewhere>) -> Result<Self, StoreError> {
        let (jobs, waiting) = channel();
        let desk =
            Desk { ledger: Ledger::new(connection, path, runner), elsewhere, full: true, unsynced: None, scrub: false, broken: None };
        let thread = thread::Builder::new().name("rebut-write".to_owned()).spawn(move || desk.run(&waiting));
        let thread = thread.map_err(|error| failed("starting the writer's thread", error))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands over one step and waits for its commit.
    pub(crate) async fn take(&self, step: Step) -> Result<(), StoreError> {
        let gone = || StoreError::Failed("the writer's thread ended; open the store again".to_owned());
        let (answer, answered) = oneshot::channel();
        self.jobs.as_ref().and_then(|jobs| jobs.send(Job { step, answer }).ok()).ok_or_else(gone)?;
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
    ledger: Ledger,
    elsewhere: Arc<Elsewhere>,
    /// Whether commits wait for the disk.
    full: bool,
    /// Since when a power cut could take something.
    unsynced: Option<Instant>,
    /// Whether the log may still hold removed text.
    scrub: bool,
    /// Why nothing is written any more.
    broken: Option<StoreError>,
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
        let (steps, answers): (Vec<_>, Vec<_>) = batch.into_iter().map(|job| (job.step, job.answer)).unzip();
        let results = self.write(&steps);
        for (answer, result) in answers.into_iter().zip(results) {
            // Whoever no longer waits for it still has it done.
            let _ = answer.send(result);
        }
    }

    /// Does all steps in one transaction; if one of them breaks it, each in its own.
    fn write(&mut self, steps: &[Step]) -> Vec<Result<(), StoreError>> {
        if let Some(why) = &self.broken {
            return steps.iter().map(|_| Err(why.clone())).collect();
        }
        match self.transact(steps) {
            Ok(results) => results,
            Err(Trouble::Refused(error) | Trouble::Unfinished(error)) => {
                if let [_] = steps {
                    return vec![Err(error)];
                }
                steps.iter().flat_map(|step| self.write(std::slice::from_ref(step))).collect()
            }
            Err(Trouble::Unbegun(error) | Trouble::Uncertain(error)) => steps.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    fn transact(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StoreError>>, Trouble> {
        let power = steps.iter().any(Step::needs_power) || self.unsynced.is_some_and(|since| since.elapsed() > LONGEST);
        self.begin(power).map_err(|error| Trouble::Unbegun(unwritten("beginning to write", &error)))?;
        let before = self.ledger.connection.total_changes();
        let outcome = self.ledger.apply_all(steps).and_then(|results| {
            let wrote = self.ledger.connection.total_changes() != before;
            self.commit(power, wrote)?;
            Ok(results)
        });
        match &outcome {
            Ok(results) => {
                if steps.iter().zip(results).any(|(step, result)| result.is_ok() && step.leaves_traces()) {
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
        self.sync_commits(power)?;
        self.ledger.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(drop)
    }

    fn commit(&mut self, power: bool, wrote: bool) -> Result<(), Trouble> {
        if power && !wrote && self.unsynced.is_some() {
            // A commit of nothing does not wait for the disk, but what came before must get there.
            self.touch()?;
        }
        if let Some((first, last)) = self.ledger.written() {
            self.elsewhere.wrote(first, last);
        }
        let commit = || self.ledger.connection.prepare_cached("COMMIT")?.execute([]);
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
        self.ledger.connection.pragma_update(None, "user_version", schema::known())
    }

    fn roll_back(&mut self) {
        self.ledger.forget();
        // Some errors end the transaction by themselves.
        if !self.ledger.connection.is_autocommit()
            && let Err(error) = self.ledger.connection.execute_batch("ROLLBACK")
        {
            self.stop(&failed("rolling back", error));
        }
    }

    /// After a failed commit nobody can say what the disk holds: going on could acknowledge what is already lost.
    fn stop(&mut self, error: &StoreError) {
        let why = format!("nothing more is written since this happened: {error}; check the disk, then open the store again");
        self.broken.get_or_insert(StoreError::Failed(why));
        // An fsync that failed once may succeed the second time without the data being there: never ask again.
        (self.unsynced, self.scrub) = (None, false);
    }

    /// Sets whether commits wait for the disk. The log is a prefix: one that waits covers all before it.
    fn sync_commits(&mut self, full: bool) -> rusqlite::Result<()> {
        if self.full != full {
            self.ledger.connection.execute_batch(if full { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" })?;
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
                Err(error) => self.stop(&failed("bringing the log to the disk", error)),
            }
        } else if self.scrub {
            self.scrub();
        }
    }

    /// Moves everything out of the log and empties it, unless somebody is reading an old state.
    fn scrub(&mut self) {
        let checkpoint = || {
            self.ledger.connection.busy_timeout(SCRUB_WAIT)?;
            let busy = self.ledger.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
            self.ledger.connection.busy_timeout(schema::BUSY)?;
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
