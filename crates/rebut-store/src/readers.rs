//! Reading beside the writer: a few connections, lent to blocking tasks.

use crate::{failed, schema, sql_failed};
use rebut_engine::store::StoreError;
use rusqlite::Connection;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Reads at once; more would only wait for the same disk.
const AT_ONCE: usize = 4;

/// The connections that only read.
pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    free: Semaphore,
}

impl Readers {
    /// Readers of the database at `path`. Opens nothing yet.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::new(Vec::new()), free: Semaphore::new(AT_ONCE) }
    }

    /// Runs one reading off the async threads.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        reading: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _turn = self.free.acquire().await.map_err(|error| failed("reading the database", error))?;
        let readers = self.clone();
        let read = move || {
            let idle = readers.idle().pop();
            let connection = idle.map_or_else(|| readers.open(), Ok)?;
            let result = reading(&connection).map_err(|error| sql_failed("reading the database", &readers.path, &error));
            readers.idle().push(connection);
            result
        };
        spawn_blocking(read).await.unwrap_or_else(|error| Err(failed("reading the database", error)))
    }

    /// A connection of the caller's own.
    pub(crate) fn open(&self) -> Result<Connection, StoreError> {
        schema::open_reader(&self.path)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
