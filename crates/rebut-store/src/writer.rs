//! Group commit: one thread owns the connection that writes. Whatever waits is written in one
//! transaction, committed as durably as the strictest of them asked, and only then answered.

use crate::{
    change_feed::Elsewhere,
    claims::Claims,
    failed,
    identity::{Files, Identity},
    readers::Readers,
    schema,
    transaction::{Ledger, Step, Trouble},
    unwritten,
};
use rebut_engine::store::StoreError;
use rusqlite::{Connection, ErrorCode, config::DbConfig, ffi::SQLITE_IOERR_WRITE};
use std::{
    fs::{self, File},
    io::{self, Write},
    mem,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

const BATCH: usize = 1024;
/// Quiet time after which what a power cut could still take is brought to the disk.
const QUIET: Duration = Duration::from_millis(20);
/// Time after which it is brought there without waiting for quiet.
const LONGEST: Duration = Duration::from_millis(200);
/// Pause between attempts to clear the log of removed text while somebody reads it.
const SCRUB_AGAIN: Duration = Duration::from_secs(1);
/// How long such an attempt waits for readers.
const SCRUB_WAIT: Duration = Duration::from_millis(200);

/// Pause between attempts to write again after the disk failed.
const AGAIN: Duration = Duration::from_secs(1);
/// Whoever comes sooner after a failure is told of that one.
const HOLD_OFF: Duration = Duration::from_millis(50);
/// How long those who read are waited for when the log is to be read anew.
const LEAVE: Duration = Duration::from_secs(1);
/// What was written so long ago says that writing works now.
const RECENT: Duration = Duration::from_secs(1);
/// A disk that was full has room again when it has so much: more than most transactions take.
const ROOM: usize = 256 << 10;

/// The way to the writing thread. Dropping it finishes what was sent.
pub(crate) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    /// What to write; nothing where somebody only asks whether that works.
    step: Option<Step>,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

impl Writer {
    /// Starts the thread, over a connection to the database at `path`, which is the file with this
    /// identity. Debates are claimed under the name of `runner`.
    pub(crate) fn start(
        connection: Connection,
        path: &Path,
        runner: Arc<str>,
        identity: Identity,
        elsewhere: Arc<Elsewhere>,
        readers: Arc<Readers>,
    ) -> Result<Self, StoreError> {
        let (jobs, waiting) = channel();
        let desk = Desk {
            readers,
            runner: runner.clone(),
            access: Access::Open(Ledger::new(connection, Claims::new(path, runner))),
            path: path.to_owned(),
            files: Files::new(path, identity),
            elsewhere,
            full: true,
            unsynced: None,
            scrub: false,
            wrote: Instant::now(),
            trouble: None,
            doubted: false,
        };
        let thread = thread::Builder::new()
            .name("rebut-write".to_owned())
            .spawn(move || desk.run(&waiting));
        let thread = thread.map_err(|error| failed("starting the writer's thread", error))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Hands over one step and waits for its commit.
    pub(crate) async fn take(&self, step: Step) -> Result<(), StoreError> {
        self.hand_over(Some(step)).await
    }

    /// Fails while nothing can be written.
    pub(crate) async fn check(&self) -> Result<(), StoreError> {
        self.hand_over(None).await
    }

    async fn hand_over(&self, step: Option<Step>) -> Result<(), StoreError> {
        let gone =
            || StoreError::Failed("the writer's thread ended; open the store again".to_owned());
        let (answer, answered) = oneshot::channel();
        self.jobs
            .as_ref()
            .and_then(|jobs| jobs.send(Job { step, answer }).ok())
            .ok_or_else(gone)?;
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

/// What the thread has before it. Fields are dropped in this order: the connection that writes
/// closes after those that read.
struct Desk {
    readers: Arc<Readers>,
    /// The name under which debates are claimed.
    runner: Arc<str>,
    access: Access,
    path: PathBuf,
    files: Files,
    elsewhere: Arc<Elsewhere>,
    /// Whether commits wait for the disk.
    full: bool,
    /// Since when a power cut could take something.
    unsynced: Option<Instant>,
    /// Whether the log may still hold removed text.
    scrub: bool,
    wrote: Instant,
    /// Why nothing is written now, and since when that is known. Ends with the next write that
    /// works.
    trouble: Option<(StoreError, Instant)>,
    /// Whether the disk failed in a way that leaves open what it holds of the log.
    doubted: bool,
}

/// The database, or what waits for it to be opened again.
enum Access {
    Open(Ledger),
    Closed(Claims),
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
            let patience = match (&self.trouble, self.unsynced.is_some(), self.scrub) {
                (Some(_), _, _) => AGAIN,
                (None, true, _) => QUIET,
                (None, false, true) => SCRUB_AGAIN,
                (None, false, false) => return waiting.recv().ok(),
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
        let (steps, asking): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|job| job.step.is_some());
        let (steps, answers): (Vec<_>, Vec<_>) = steps
            .into_iter()
            .filter_map(|job| Some((job.step?, job.answer)))
            .unzip();
        let results = if steps.is_empty() {
            Vec::new()
        } else {
            self.write(&steps)
        };
        for (answer, result) in answers.into_iter().zip(results) {
            // Whoever no longer waits for it still has it done.
            let _ = answer.send(result);
        }
        if !asking.is_empty() {
            let found = self.check();
            asking
                .into_iter()
                .for_each(|job| drop(job.answer.send(found.clone())));
        }
    }

    /// Does all steps in one transaction; if one of them breaks it, each in its own.
    fn write(&mut self, steps: &[Step]) -> Vec<Result<(), StoreError>> {
        let written = self
            .open()
            .map_err(Trouble::Unbegun)
            .and_then(|()| self.transact(steps));
        match written {
            // What is in no file that anybody finds was not written.
            Ok(results) => match self.files.check() {
                Ok(()) => results,
                Err(error) => self.none_of(steps, error),
            },
            Err(Trouble::Refused(error) | Trouble::Unfinished(error)) if !error.is_passing() => {
                if let [_] = steps {
                    return vec![Err(error)];
                }
                steps
                    .iter()
                    .flat_map(|step| self.write(std::slice::from_ref(step)))
                    .collect()
            }
            Err(
                Trouble::Refused(error)
                | Trouble::Unfinished(error)
                | Trouble::Unbegun(error)
                | Trouble::Uncertain(error),
            ) => self.none_of(steps, error),
        }
    }

    /// Answers all with what went wrong; where that was the disk, or the file, it is remembered.
    fn none_of(&mut self, steps: &[Step], error: StoreError) -> Vec<Result<(), StoreError>> {
        self.failed(&error);
        steps.iter().map(|_| Err(error.clone())).collect()
    }

    fn transact(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StoreError>>, Trouble> {
        let power = steps.iter().any(Step::needs_power)
            || self.unsynced.is_some_and(|since| since.elapsed() > LONGEST);
        self.begin(power)
            .map_err(|error| Trouble::Unbegun(unwritten("beginning to write", &error)))?;
        let ledger = self.access.ledger()?;
        let before = ledger.connection.total_changes();
        let outcome = ledger.apply_all(steps).and_then(|results| {
            let wrote = self.access.connection()?.total_changes() != before;
            self.commit(power, wrote)?;
            Ok(results)
        });
        match &outcome {
            Ok(results) => {
                if steps
                    .iter()
                    .zip(results)
                    .any(|(step, result)| result.is_ok() && step.leaves_traces())
                {
                    self.scrub = true;
                    self.scrub();
                }
            }
            Err(trouble) => {
                self.doubted |= matches!(trouble, Trouble::Uncertain(_));
                self.roll_back();
            }
        }
        outcome
    }

    fn begin(&mut self, power: bool) -> rusqlite::Result<()> {
        self.sync_commits(power)?;
        self.access
            .connection()?
            .prepare_cached("BEGIN IMMEDIATE")?
            .execute([])
            .map(drop)
    }

    fn commit(&mut self, power: bool, wrote: bool) -> Result<(), Trouble> {
        if power && !wrote && self.unsynced.is_some() {
            // A commit of nothing does not wait for the disk, but what came before must get there.
            self.touch()?;
        }
        let ledger = self.access.ledger()?;
        if let Some((first, last)) = ledger.written() {
            self.elsewhere.begins(first, last);
        }
        let commit = || ledger.connection.prepare_cached("COMMIT")?.execute([]);
        let committed = commit();
        self.elsewhere.ended(committed.is_ok());
        committed.map_err(|error| uncommitted(&error))?;
        if power {
            self.unsynced = None;
        } else if wrote {
            self.unsynced.get_or_insert_with(Instant::now);
        }
        if wrote {
            self.worked();
        }
        Ok(())
    }

    /// The smallest change there is: the version it already has.
    fn touch(&self) -> rusqlite::Result<()> {
        self.access
            .connection()?
            .pragma_update(None, "user_version", schema::VERSION)
    }

    fn roll_back(&mut self) {
        let Access::Open(ledger) = &mut self.access else {
            return;
        };
        ledger.forget();
        // Some errors end the transaction by themselves.
        if !ledger.connection.is_autocommit()
            && ledger.connection.execute_batch("ROLLBACK").is_err()
        {
            // A connection that is closed ends what it had begun.
            self.close();
        }
    }

    fn worked(&mut self) {
        (self.wrote, self.trouble) = (Instant::now(), None);
    }

    /// Remembers why nothing is written. After a failure of the disk everything is read anew before
    /// more is written. A disk that only refused to take more has left all as it was: then the
    /// database stays open, since the index of its log goes with the last connection, and whoever
    /// reads could not make it again.
    fn failed(&mut self, error: &StoreError) {
        let known = match error {
            StoreError::Unavailable(why) | StoreError::Unwritable(why) => {
                if matches!(error, StoreError::Unavailable(_))
                    || self.doubted
                    || !self.access.can_be_read()
                {
                    self.close();
                }
                // Of what comes next, nothing is even begun.
                StoreError::Unwritable(why.clone())
            }
            StoreError::Replaced(_) => error.clone(),
            _ => return,
        };
        // Whoever was only told of it has found out nothing new.
        let when = self
            .trouble
            .as_ref()
            .map(|(_, when)| *when)
            .filter(|when| when.elapsed() < HOLD_OFF);
        self.trouble = Some((known, when.unwrap_or_else(Instant::now)));
    }

    fn close(&mut self) {
        let waiting = match mem::replace(
            &mut self.access,
            Access::Closed(Claims::new(&self.path, self.runner.clone())),
        ) {
            Access::Closed(claims) => claims,
            Access::Open(ledger) => {
                let (connection, claims) = ledger.into_parts();
                // The last to close a database brings its log into it, which must not happen from a
                // log that may not be on the disk. Where even that cannot be said, it is not open
                // any more.
                let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
                claims
            }
        };
        self.access = Access::Closed(waiting);
        self.files.closed();
    }

    /// Sees to it that the database is open, and is the one that was opened first.
    fn open(&mut self) -> Result<(), StoreError> {
        match &self.trouble {
            Some((error @ StoreError::Unwritable(_), when)) if when.elapsed() < HOLD_OFF => {
                return Err(error.clone());
            }
            _ => {}
        }
        self.files.check()?;
        if matches!(self.access, Access::Open(_)) {
            return Ok(());
        }
        let opened = self.open_again();
        if opened.is_err() {
            // An attempt that failed may have been the last to close the log, which then goes.
            self.files.closed();
        }
        opened
    }

    fn open_again(&mut self) -> Result<(), StoreError> {
        let opened = if self.doubted {
            self.open_doubted()
        } else {
            schema::reopen_writer(&self.path)
        };
        let connection = opened.map_err(|error| match error {
            StoreError::NoPlace { why, .. } => {
                StoreError::Unwritable(format!("opening the database again: {why}"))
            }
            other => other,
        })?;
        self.files.check()?;
        if let Access::Closed(claims) = &mut self.access {
            let claims = mem::replace(claims, Claims::new(&self.path, self.runner.clone()));
            self.access = Access::Open(Ledger::new(connection, claims));
        }
        (self.full, self.doubted) = (true, false);
        Ok(())
    }

    /// Opens a database after the disk failed to keep its log: a sync that failed once may succeed
    /// the second time without the data being there. So nobody here keeps the log open, it is read
    /// from its beginning with its checksums, and what is whole in it is brought into the database,
    /// whose own sync then tells the truth.
    fn open_doubted(&mut self) -> Result<Connection, StoreError> {
        if !self.readers.close(LEAVE) {
            // They stay closed: otherwise there would always be somebody who has just begun.
            return Err(StoreError::Unwritable(
                "the log is read anew as soon as nobody reads it".to_owned(),
            ));
        }
        let opened =
            schema::reopen_writer(&self.path).and_then(|connection| match empty_log(&connection) {
                Ok(true) => Ok(connection),
                Ok(false) => Err(StoreError::Busy(
                    "another program reads the log, which the disk failed to keep".to_owned(),
                )),
                Err(error) => Err(unwritten("bringing the log into the database", &error)),
            });
        self.readers.reopen();
        if opened.is_ok() {
            // Everything that was found is on the disk now.
            self.unsynced = None;
        }
        opened
    }

    /// Sets whether commits wait for the disk. The log is a prefix: one that waits covers all
    /// before it.
    fn sync_commits(&mut self, full: bool) -> rusqlite::Result<()> {
        if self.full != full {
            let setting = if full {
                "PRAGMA synchronous = FULL"
            } else {
                "PRAGMA synchronous = NORMAL"
            };
            self.access.connection()?.execute_batch(setting)?;
            self.full = full;
        }
        Ok(())
    }

    /// Brings to the disk what is not there yet, clears the log of removed text, and finds out
    /// whether a disk that failed works again.
    fn settle(&mut self) {
        if self.trouble.is_some() {
            // Whoever asks is told; here it is enough that it was tried.
            let _ = self.check();
        }
        if self.trouble.is_some() || self.open().is_err() {
            return;
        }
        if self.unsynced.is_some() {
            match self.sync_commits(true).and_then(|()| self.touch()) {
                Ok(()) => self.unsynced = None,
                // Another process is writing; there will be another quiet moment.
                Err(error) if is_busy(&error) => {}
                Err(error) => self.unsettled("bringing the log to the disk", &error),
            }
        } else if self.scrub {
            self.scrub();
        }
    }

    /// Moves everything out of the log and empties it, unless somebody is reading an old state.
    fn scrub(&mut self) {
        let Access::Open(ledger) = &self.access else {
            return;
        };
        match empty_log(&ledger.connection) {
            Ok(emptied) => self.scrub = !emptied,
            Err(error) if is_busy(&error) => {}
            Err(error) => self.unsettled("clearing the log", &error),
        }
    }

    fn unsettled(&mut self, doing: &str, error: &rusqlite::Error) {
        self.doubted |= !took_nothing(error);
        self.failed(&StoreError::Unwritable(format!("{doing}: {error}")));
    }

    /// Fails while nothing can be written. Writes a little to find out, unless something was
    /// written a moment ago.
    fn check(&mut self) -> Result<(), StoreError> {
        let checked = self.open().and_then(|()| match &self.trouble {
            None if self.wrote.elapsed() < RECENT => Ok(()),
            None => self.try_writing(),
            // The log may have a place left over for the smallest change, and none for more.
            Some(_) => self.try_writing().and_then(|()| has_room(&self.path)),
        });
        match &checked {
            Ok(()) => self.trouble = None,
            Err(error) => self.failed(error),
        }
        checked
    }

    fn try_writing(&mut self) -> Result<(), StoreError> {
        match self
            .sync_commits(self.unsynced.is_some())
            .and_then(|()| self.touch())
        {
            Ok(()) => {
                (self.unsynced, self.wrote) = (None, Instant::now());
                Ok(())
            }
            // Somebody else can write.
            Err(error) if is_busy(&error) => Ok(()),
            Err(error) => {
                self.doubted |= !took_nothing(&error);
                Err(unwritten("writing the database", &error))
            }
        }
    }
}

impl Access {
    fn ledger(&mut self) -> rusqlite::Result<&mut Ledger> {
        match self {
            Self::Open(ledger) => Ok(ledger),
            Self::Closed(_) => Err(rusqlite::Error::InvalidQuery),
        }
    }

    fn connection(&self) -> rusqlite::Result<&Connection> {
        match self {
            Self::Open(ledger) => Ok(&ledger.connection),
            Self::Closed(_) => Err(rusqlite::Error::InvalidQuery),
        }
    }

    fn can_be_read(&self) -> bool {
        self.connection()
            .is_ok_and(|connection| schema::version(connection).is_ok())
    }
}

/// Whether the disk refused to take something, since it is full or a quota is used up: then the
/// last piece of a commit is not in the log, and what was synced before stays so.
fn took_nothing(error: &rusqlite::Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    error.sqlite_error_code() == Some(ErrorCode::DiskFull) || extended == Some(SQLITE_IOERR_WRITE)
}

/// What a commit that failed leaves. A disk that refuses is found out before the last piece of it
/// is written, and a broken rule before the first; after anything else nobody can say what the disk
/// holds.
fn uncommitted(error: &rusqlite::Error) -> Trouble {
    let doing = "committing to the database";
    match error.sqlite_error_code() {
        _ if took_nothing(error) => Trouble::Unfinished(unwritten(doing, error)),
        Some(ErrorCode::ConstraintViolation | ErrorCode::DatabaseBusy) => {
            Trouble::Unfinished(unwritten(doing, error))
        }
        _ => Trouble::Uncertain(StoreError::Unavailable(format!("{doing}: {error}"))),
    }
}

/// Brings the whole log into the database and empties it; whether nobody was in the way.
fn empty_log(connection: &Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(SCRUB_WAIT)?;
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
        row.get::<_, bool>(0)
    });
    connection.busy_timeout(schema::BUSY)?;
    busy.map(|busy| !busy)
}

/// Fails unless some room is left beside the database: takes it, and gives it back.
fn has_room(path: &Path) -> Result<(), StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".room");
    let place = PathBuf::from(name);
    let take = || {
        // Left by a process that was killed, or put there by somebody else: a link is removed,
        // never followed.
        match fs::remove_file(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::create_new(&place)?.write_all(&vec![0; ROOM])
    };
    let taken = take();
    let removed = fs::remove_file(&place);
    taken
        .and(removed)
        .map_err(|error| StoreError::Unwritable(format!("looking for room on the disk: {error}")))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
