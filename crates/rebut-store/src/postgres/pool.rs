//! Beside the writer: a few connections, each lent for one question or one small change, and made
//! anew when it broke.

use super::{
    address::Address,
    link::{Link, Unanswered},
    trouble,
};
use rebut_engine::store::StoreError;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

/// Questions at once; more would only wait for the same server.
const AT_ONCE: usize = 4;

/// Longest time to wait for one's turn. Where the server hangs, whoever asks next is told rather
/// than kept.
const TURN_WITHIN: Duration = Duration::from_secs(10);

const ASKING: &str = "asking the database";

/// The value of a parameter, and its type in SQL.
pub(super) type Value<'a> = (Box<dyn ToSql + Sync + Send + 'a>, Type);

/// A few connections, each lent to one caller at a time.
pub(super) struct Pool {
    address: Arc<Address>,
    answer_within: Duration,
    unanswered: Arc<Unanswered>,
    idle: Mutex<Vec<Link>>,
    free: Semaphore,
}

impl Pool {
    pub(super) fn new(
        address: Arc<Address>,
        answer_within: Duration,
        unanswered: Arc<Unanswered>,
    ) -> Self {
        Self {
            address,
            answer_within,
            unanswered,
            idle: Mutex::new(Vec::new()),
            free: Semaphore::new(AT_ONCE),
        }
    }

    /// Asks one question, which changes nothing.
    pub(super) async fn ask(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let (_turn, link) = self.lend().await?;
        // Whoever stops waiting here drops the connection with the question.
        let answer = timeout(self.answer_within, link.query_typed(sql, &borrowed(values)))
            .await
            .map_err(|_| trouble::silent(ASKING))?;
        self.give_back(link);
        answer.map_err(|error| trouble::of(ASKING, &error))
    }

    /// Makes one change, unless an earlier one still waits for its answer.
    pub(super) async fn change(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let (_turn, link) = self.lend().await?;
        timeout(self.answer_within, self.unanswered.check(&link))
            .await
            .map_err(|_| trouble::silent(ASKING))??;
        let answer = timeout(self.answer_within, link.query_typed(sql, &borrowed(values))).await;
        let Ok(answer) = answer else {
            self.unanswered.leave(link);
            return Err(trouble::silent("changing the database"));
        };
        // Another server may be the one that takes changes by now.
        if !answer.as_ref().is_err_and(trouble::only_reads) {
            self.give_back(link);
        }
        answer.map_err(|error| trouble::of("changing the database", &error))
    }

    async fn lend(&self) -> Result<(SemaphorePermit<'_>, Link), StoreError> {
        let turn = timeout(TURN_WITHIN, self.free.acquire())
            .await
            .map_err(|_| trouble::silent(ASKING))?;
        let turn = turn.map_err(|error| StoreError::Failed(format!("{ASKING}: {error}")))?;
        let link = match self.living() {
            Some(link) => link,
            None => self.address.reconnect().await?,
        };
        Ok((turn, link))
    }

    fn give_back(&self, link: Link) {
        if !link.is_over() {
            self.idle().push(link);
        }
    }

    /// One that is not known to be broken, nor to lead to a server that was left.
    fn living(&self) -> Option<Link> {
        let mut idle = self.idle();
        idle.retain(|link| !link.is_over());
        idle.pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The values as the client wants them.
pub(super) fn borrowed<'a>(values: &'a [Value<'_>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    values
        .iter()
        .map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone()))
        .collect()
}

pub(super) fn value<'a>(value: impl ToSql + Sync + Send + 'a, kind: Type) -> Value<'a> {
    (Box::new(value), kind)
}
