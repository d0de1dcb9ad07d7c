//! Reading beside the writer: a few connections, each lent for one question and made anew when it broke.

use super::{address::Address, trouble};
use rebut_engine::store::StoreError;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Semaphore, time::timeout};
use tokio_postgres::{
    Client, Row,
    types::{ToSql, Type},
};

/// Questions at once; more would only wait for the same server.
const AT_ONCE: usize = 4;

/// Longest time to wait for an answer. The server gives up before that; this is for one that is silent.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// The value of a parameter, and its type in SQL.
pub(super) type Value<'a> = (Box<dyn ToSql + Sync + Send + 'a>, Type);

/// The connections that read.
pub(super) struct Pool {
    address: Arc<Address>,
    idle: Mutex<Vec<Client>>,
    free: Semaphore,
}

impl Pool {
    /// Opens nothing yet.
    pub(super) fn new(address: Arc<Address>) -> Self {
        Self { address, idle: Mutex::new(Vec::new()), free: Semaphore::new(AT_ONCE) }
    }

    /// Asks one question.
    pub(super) async fn ask(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let doing = "asking the database";
        let _turn = self.free.acquire().await.map_err(|error| StoreError::Failed(format!("{doing}: {error}")))?;
        let client = match self.living() {
            Some(client) => client,
            None => self.address.connect().await?,
        };
        // Whoever stops waiting here drops the connection with the question.
        let Ok(answer) = timeout(LONGEST, client.query_typed(sql, &borrowed(values))).await else { return Err(trouble::silent(doing)) };
        if !client.is_closed() {
            self.idle().push(client);
        }
        answer.map_err(|error| trouble::of(doing, &error))
    }

    /// One that is not known to be broken.
    fn living(&self) -> Option<Client> {
        let mut idle = self.idle();
        idle.retain(|client| !client.is_closed());
        idle.pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Client>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The values as the client wants them.
pub(super) fn borrowed<'a>(values: &'a [Value<'_>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    values.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect()
}

/// One value.
pub(super) fn value<'a>(value: impl ToSql + Sync + Send + 'a, kind: Type) -> Value<'a> {
    (Box::new(value), kind)
}
