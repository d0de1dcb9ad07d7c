//! Reading beside the writer: a few connections, lent to blocking tasks.

use crate::{
    failed,
    identity::Identity,
    schema::{self, Sharing},
    sql_failed,
};
use rebut_engine::store::StoreError;
use rusqlite::Connection;
use std::{
    ops::Deref,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Reads at once; more would only wait for the same disk.
const AT_ONCE: usize = 4;

/// The connections that only read.
pub(crate) struct Readers {
    path: PathBuf,
    identity: Identity,
    sharing: Sharing,
    state: Mutex<State>,
    free: Semaphore,
    /// Every connection that is open has a clone of it.
    open: Arc<()>,
}

#[derive(Default)]
struct State {
    idle: Vec<Reader>,
    /// Whether the log is to be read anew, for which nobody may have it open.
    closed: bool,
}

/// A connection that only reads.
pub(crate) struct Reader {
    connection: Connection,
    _open: Arc<()>,
}

impl Deref for Reader {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Readers {
    /// Readers of the database at `path`, which must be the file with this identity. Opens nothing yet.
    pub(crate) fn new(path: PathBuf, identity: Identity, sharing: Sharing) -> Self {
        Self { path, identity, sharing, state: Mutex::default(), free: Semaphore::new(AT_ONCE), open: Arc::new(()) }
    }

    /// Runs one reading off the async threads.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        reading: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _turn = self.free.acquire().await.map_err(|error| failed("reading the database", error))?;
        let readers = self.clone();
        let read = move || {
            readers.identity.check(&readers.path)?;
            let idle = readers.state().idle.pop();
            let reader = idle.map_or_else(|| readers.open(), Ok)?;
            let read = reading(&reader).map_err(|error| sql_failed("reading the database", &readers.path, &error))?;
            // One that failed is closed: the next opens the files that are there then.
            readers.put_back(reader);
            Ok(read)
        };
        spawn_blocking(read).await.unwrap_or_else(|error| Err(failed("reading the database", error)))
    }

    /// A connection of the caller's own, who gives it up soon after the readers are
    /// [closed](Self::are_closed).
    pub(crate) fn open(&self) -> Result<Reader, StoreError> {
        let state = self.state();
        if state.closed {
            return Err(StoreError::Unavailable("the log is being read anew".to_owned()));
        }
        let open = self.open.clone();
        drop(state);
        match schema::open_reader(&self.path, self.sharing) {
            Ok(connection) => Ok(Reader { connection, _open: open }),
            // It could be opened before: there may be too many open files.
            Err(StoreError::NoPlace { why, .. }) => Err(StoreError::Unavailable(format!("opening the database: {why}"))),
            Err(error) => Err(error),
        }
    }

    /// Lets nobody in any more; whether nobody is left.
    pub(crate) fn close(&self) -> bool {
        let mut state = self.state();
        state.closed = true;
        state.idle.clear();
        Arc::strong_count(&self.open) == 1
    }

    /// Allows new connections again after [`Readers::close`].
    pub(crate) fn reopen(&self) {
        self.state().closed = false;
    }

    /// Whether whoever has a connection should give it up.
    pub(crate) fn are_closed(&self) -> bool {
        self.state().closed
    }

    fn put_back(&self, reader: Reader) {
        let mut state = self.state();
        if !state.closed {
            state.idle.push(reader);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is whole between any two statements that hold the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
