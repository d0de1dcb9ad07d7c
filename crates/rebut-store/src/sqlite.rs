//! The store over one SQLite file: hands writes to the writer's thread, reads to a few connections
//! of their own.

use crate::{
    change_feed::{Elsewhere, Watcher},
    claims, failed,
    identity::Identity,
    projections,
    readers::Readers,
    rows,
    schema::{self, Sharing},
    sql_failed,
    transaction::{Step, Work},
    waits::{self, Waits},
    writer::Writer,
};
use rebut_engine::{
    DebateId,
    projection::Tables,
    record::Record,
    seal::Checkpoint,
    store::{Append, Changed, Filter, Pick, Picked, Session, Store, StoreError},
};
use rusqlite::Connection;
use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tempfile::TempDir;

/// Journals in a SQLite file. Several processes may use the same file. Must be used inside a tokio
/// runtime.
pub struct SqliteStore {
    // Fields are dropped in this order: the writer's connection closes last and leaves a file
    // without a log.
    watcher: Mutex<Option<Watcher>>,
    readers: Arc<Readers>,
    /// Where nothing can be written, why.
    writer: Result<Writer, StoreError>,
    elsewhere: Arc<Elsewhere>,
    pub(crate) waits: Arc<Mutex<Waits>>,
    path: PathBuf,
    /// The name under which this store claims debates.
    runner: Arc<str>,
    /// Holds what is read, where it is a copy.
    _copy: Option<TempDir>,
}

impl SqliteStore {
    /// Opens the file, or makes it and the folders above it, readable by its owner only.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        // An absolute path holds when the working directory changes, and is never taken for a URI.
        let path =
            std::path::absolute(path).map_err(|error| failed("finding the database", error))?;
        let connection = schema::open_writer(&path)?;
        let identity = identity(&path)?;
        let seen = rows::position(&connection)
            .map_err(|error| sql_failed("reading the database", &path, &error))?;
        let elsewhere = Arc::new(Elsewhere::new(seen));
        let runner = claims::new_name();
        let readers = Arc::new(Readers::new(path.clone(), identity, Sharing::WithWriters));
        let writer = Ok(Writer::start(
            connection,
            &path,
            runner.clone(),
            identity,
            elsewhere.clone(),
            readers.clone(),
        )?);
        Ok(Self {
            watcher: Mutex::new(None),
            readers,
            writer,
            elsewhere,
            waits: Arc::default(),
            path,
            runner,
            _copy: None,
        })
    }

    /// Opens a file that is there for reading only, where it cannot be [opened](Self::open): on a
    /// disk that is full or takes no changes. Whatever is to be written is refused with `why`.
    pub fn open_read_only(path: &Path, why: StoreError) -> Result<Self, StoreError> {
        let path =
            std::path::absolute(path).map_err(|error| failed("finding the database", error))?;
        let has_log = fs::metadata(beside(&path, "-wal")).is_ok_and(|log| log.len() > 0);
        let ways = if has_log {
            &[Sharing::WithWriters][..]
        } else {
            &[Sharing::WithWriters, Sharing::Unchanging]
        };
        for sharing in ways {
            match schema::version_at(&path, *sharing) {
                Ok(found) if !StoreError::refuse_schema(found, schema::VERSION)? => {
                    return Self::reading(path.clone(), path, *sharing, None, why);
                }
                Err(foreign @ StoreError::Foreign(_)) => return Err(foreign),
                Ok(_) | Err(_) => {}
            }
        }
        // A log that somebody left has to be worked in: elsewhere.
        let copying = |error: io::Error| StoreError::NoPlace {
            path: path.display().to_string(),
            why: format!("copying it to read it: {error}"),
        };
        let copy = tempfile::tempdir().map_err(copying)?;
        let to = copy.path().join("rebut.db");
        // Not with its permissions, which may forbid to write it.
        let copy_of = |end: &str| {
            io::copy(
                &mut File::open(beside(&path, end))?,
                &mut File::create(beside(&to, end))?,
            )
        };
        for end in if has_log { &["", "-wal"][..] } else { &[""] } {
            copy_of(end).map_err(copying)?;
        }
        drop(schema::open_writer(&to)?);
        Self::reading(path, to, Sharing::WithWriters, Some(copy), why)
    }

    fn reading(
        path: PathBuf,
        file: PathBuf,
        sharing: Sharing,
        copy: Option<TempDir>,
        why: StoreError,
    ) -> Result<Self, StoreError> {
        let readers = Arc::new(Readers::new(file.clone(), identity(&file)?, sharing));
        let reader = readers.take()?;
        let seen = rows::position(&reader)
            .map_err(|error| sql_failed("reading the database", &file, &error))?;
        drop(reader);
        let elsewhere = Arc::new(Elsewhere::new(seen));
        let (watcher, waits, runner) = (Mutex::new(None), Arc::default(), claims::new_name());
        Ok(Self {
            watcher,
            readers,
            writer: Err(why),
            elsewhere,
            waits,
            path,
            runner,
            _copy: copy,
        })
    }

    /// Whether every page of the file can be read and is where it belongs. Reads all of it.
    pub async fn check(&self) -> Result<(), StoreError> {
        let found = self
            .read(|connection| {
                connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
            })
            .await?;
        if found == "ok" {
            Ok(())
        } else {
            Err(StoreError::Foreign(self.path.display().to_string()))
        }
    }

    /// Hands a step to the writing thread and waits for its commit.
    pub(crate) async fn write(&self, step: Step) -> Result<(), StoreError> {
        self.writer.as_ref().map_err(Clone::clone)?.take(step).await
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        reading: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.readers.read(reading).await
    }

    /// What waits between attempts to deliver it.
    pub(crate) fn waits(&self) -> MutexGuard<'_, Waits> {
        waits::locked(&self.waits)
    }

    fn watch(&self) -> Result<(), StoreError> {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if watcher.is_none() {
            *watcher = Some(Watcher::start(
                self.readers.clone(),
                self.elsewhere.clone(),
            )?);
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl Store for SqliteStore {
    async fn append(&self, append: Append) -> Result<(), StoreError> {
        self.write(Step::Work(Work::Append(append))).await
    }

    async fn page(
        &self,
        debate: DebateId,
        after: u64,
        most: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let read = self
            .read(move |connection| rows::page(connection, debate, after, most))
            .await?;
        read.map_err(|(seq, why)| StoreError::Unreadable { debate, seq, why })
    }

    async fn pick(&self, debate: DebateId, pick: &Pick) -> Result<Picked, StoreError> {
        let pick = pick.clone();
        let read = self
            .read(move |connection| rows::pick(connection, debate, &pick))
            .await?;
        read.map_err(|(seq, why)| StoreError::Unreadable { debate, seq, why })
    }

    async fn checkpoints(&self, debate: DebateId) -> Result<Vec<Checkpoint>, StoreError> {
        let read = self
            .read(move |connection| rows::checkpoints(connection, debate))
            .await?;
        read.map_err(|(seq, why)| StoreError::Unreadable { debate, seq, why })
    }

    async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError> {
        let filter = filter.clone();
        self.read(move |connection| rows::sessions(connection, &filter))
            .await
    }

    async fn tables(&self, debate: DebateId) -> Result<Tables, StoreError> {
        self.read(move |connection| projections::tables(connection, debate))
            .await
    }

    async fn redact(&self, tombstone: Record, append: Append) -> Result<(), StoreError> {
        self.write(Step::Work(Work::Redact(Box::new(tombstone), append)))
            .await
    }

    async fn remove(&self, debate: DebateId) -> Result<(), StoreError> {
        self.write(Step::Work(Work::Remove(debate))).await
    }

    async fn is_removed(&self, debate: DebateId) -> Result<bool, StoreError> {
        self.read(move |connection| rows::is_removed(connection, debate))
            .await
    }

    async fn runner(&self, debate: DebateId) -> Result<Option<String>, StoreError> {
        let claimed = self
            .read(move |connection| claims::claimed_by(connection, debate.as_bytes()))
            .await?;
        let Some(runner) = claimed else {
            return Ok(None);
        };
        claims::look(&self.path, &runner).map_err(|error| failed("looking for the runner", error))
    }

    async fn held_here(&self) -> Result<Vec<DebateId>, StoreError> {
        let runner = self.runner.clone();
        let held = self
            .read(move |connection| claims::held(connection, &runner))
            .await?;
        Ok(held
            .into_iter()
            .filter_map(|debate| debate.parse().ok())
            .collect())
    }

    async fn give_up(&self, debate: DebateId, why: &str) -> Result<(), StoreError> {
        self.write(Step::GiveUp(debate, why.to_owned())).await
    }

    async fn given_up(&self, debates: &[DebateId]) -> Result<Vec<(DebateId, String)>, StoreError> {
        let debates = debates.to_vec();
        let look = move |connection: &Connection| {
            let why = |debate: &DebateId| {
                Ok(claims::why_given_up(connection, debate.as_bytes())?.map(|why| (*debate, why)))
            };
            debates
                .iter()
                .filter_map(|debate| why(debate).transpose())
                .collect()
        };
        self.read(look).await
    }

    async fn changed_elsewhere(&self) -> Result<Changed, StoreError> {
        self.watch()?;
        Ok(self.elsewhere.changed().await)
    }

    fn may_be_unreachable(&self) -> bool {
        true
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        self.writer.as_ref().map_err(Clone::clone)?.check().await
    }

    async fn abandoned(&self, most: usize) -> Result<Vec<DebateId>, StoreError> {
        let running = self.read(claims::running).await?;
        // Thousands of debates have few runners: each is looked for once.
        let mut lives: HashMap<String, bool> = HashMap::new();
        let mut abandoned = Vec::new();
        for (debate, runner) in running {
            let is_run = match runner {
                None => false,
                Some(runner) => match lives.get(&runner) {
                    Some(lives) => *lives,
                    None => {
                        let found = claims::look(&self.path, &runner)
                            .map_err(|error| failed("looking for a runner", error))?
                            .is_some();
                        *lives.entry(runner).or_insert(found)
                    }
                },
            };
            if abandoned.len() >= most {
                break;
            }
            abandoned.extend(debate.parse::<DebateId>().ok().filter(|_| !is_run));
        }
        Ok(abandoned)
    }
}

/// The file that was just opened.
fn identity(path: &Path) -> Result<Identity, StoreError> {
    Identity::at(path)?.ok_or_else(|| StoreError::Replaced(path.display().to_string()))
}

/// The name of what SQLite keeps beside a database.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
