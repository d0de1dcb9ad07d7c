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
    mem,
    ops::Deref,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Reads at once; more would only wait for the same disk.
const AT_ONCE: usize = 4;

pub(crate) struct Readers {
    path: PathBuf,
    identity: Identity,
    sharing: Sharing,
    state: Mutex<State>,
    free: Semaphore,
    open: Arc<Open>,
}

#[derive(Default)]
struct State {
    idle: Vec<Reader>,
    /// Whether the log is to be read anew, for which nobody may have it open.
    closed: bool,
}

pub(crate) struct Reader {
    connection: Connection,
    /// The version of the database, as this connection counts them, at which changes by others were
    /// last looked for with it.
    pub(crate) looked_at: Option<i64>,
    // Dropped after the connection, which counts as open until it is closed.
    _counted: Counted,
}

/// Counts open connections, so that closing can wait for them.
#[derive(Default)]
struct Open {
    count: Mutex<usize>,
    closed_one: Condvar,
}

/// Counts as one open connection until it is dropped.
struct Counted(Arc<Open>);

impl Open {
    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until none is open; whether that came within the time.
    fn none_within(&self, time: Duration) -> bool {
        let waited = self
            .closed_one
            .wait_timeout_while(self.count(), time, |count| *count > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}

impl Counted {
    fn new(open: &Arc<Open>) -> Self {
        *open.count() += 1;
        Self(open.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.closed_one.notify_all();
    }
}

impl Deref for Reader {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Readers {
    /// Readers of the database at `path`, which must be the file with this identity. Opens nothing
    /// yet.
    pub(crate) fn new(path: PathBuf, identity: Identity, sharing: Sharing) -> Self {
        Self {
            path,
            identity,
            sharing,
            state: Mutex::default(),
            free: Semaphore::new(AT_ONCE),
            open: Arc::default(),
        }
    }

    /// Runs one reading off the async threads.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        reading: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _turn = self
            .free
            .acquire()
            .await
            .map_err(|error| failed("reading the database", error))?;
        let readers = self.clone();
        let read = move || {
            let reader = readers.take()?;
            let read = reading(&reader)
                .map_err(|error| sql_failed("reading the database", &readers.path, &error))?;
            // One that failed is closed: the next opens the files that are there then.
            readers.put_back(reader);
            Ok(read)
        };
        spawn_blocking(read)
            .await
            .unwrap_or_else(|error| Err(failed("reading the database", error)))
    }

    /// A connection for one reading, to be [put back](Self::put_back) at once: nobody keeps one
    /// while nothing is read.
    pub(crate) fn take(&self) -> Result<Reader, StoreError> {
        self.identity.check(&self.path)?;
        let idle = self.state().idle.pop();
        idle.map_or_else(|| self.open(), Ok)
    }

    fn open(&self) -> Result<Reader, StoreError> {
        let state = self.state();
        if state.closed {
            return Err(StoreError::Unavailable(
                "the log is being read anew".to_owned(),
            ));
        }
        let counted = Counted::new(&self.open);
        drop(state);
        match schema::open_reader(&self.path, self.sharing) {
            Ok(connection) => Ok(Reader {
                connection,
                looked_at: None,
                _counted: counted,
            }),
            // It could be opened before: there may be too many open files.
            Err(StoreError::NoPlace { why, .. }) => Err(StoreError::Unavailable(format!(
                "opening the database: {why}"
            ))),
            Err(error) => Err(error),
        }
    }

    /// Lets nobody in any more, and waits for those who read; whether all of them left within the
    /// time.
    pub(crate) fn close(&self, within: Duration) -> bool {
        let mut state = self.state();
        state.closed = true;
        let idle = mem::take(&mut state.idle);
        drop(state);
        drop(idle);
        self.open.none_within(within)
    }

    /// Allows new connections again after [`Readers::close`].
    pub(crate) fn reopen(&self) {
        self.state().closed = false;
    }

    /// Gives back what was [taken](Self::take), for the next reading.
    pub(crate) fn put_back(&self, reader: Reader) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn closing_waits_for_those_who_read_and_lets_nobody_else_in() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rebut.db");
        let _writer = schema::open_writer(&path).expect("opens");
        let identity = Identity::at(&path).expect("a file").expect("a file");
        let readers = Readers::new(path, identity, Sharing::WithWriters);
        let (reads, idle) = (readers.take().expect("open"), readers.take().expect("open"));
        readers.put_back(idle);
        assert!(!readers.close(Duration::ZERO), "one still reads");
        assert!(readers.take().is_err(), "and nobody else begins");
        let hang_guard = Duration::from_secs(60);
        thread::scope(|scope| {
            let closing = scope.spawn(|| readers.close(hang_guard));
            readers.put_back(reads);
            assert!(closing.join().expect("no panic"), "it was waited for");
        });
        assert!(readers.take().is_err(), "until it is opened again");
        readers.reopen();
        assert!(readers.take().is_ok());
    }
}
