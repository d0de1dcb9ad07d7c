//! The database's clock, which decides for all nodes: asked now and then, and in between followed
//! on this process's monotonic clock. What time this machine thinks it is counts for nothing.

use super::pool::Pool;
use jiff::{SignedDuration, Timestamp};
use rebut_engine::store::StoreError;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio_postgres::Row;

/// What time it is there, in microseconds since 1970.
pub(super) const QUESTION: &str =
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// It is asked so often while nobody needs it. A machine that slept, whose monotonic clock stood
/// still, knows the time again after this.
const EVERY: Duration = Duration::from_secs(5);

/// The database's clock as this process knows it.
pub(super) struct DatabaseClock(Mutex<Sample>);

/// What time it was at a moment.
#[derive(Clone, Copy)]
struct Sample {
    time: Timestamp,
    at: Instant,
}

impl DatabaseClock {
    /// A clock that was asked at that moment, and has just answered.
    pub(super) fn new(asked: Instant, answer: &[Row]) -> Result<Self, StoreError> {
        Ok(Self(Mutex::new(sample(asked, answer)?)))
    }

    /// The time now, by the last answer.
    pub(super) fn now(&self) -> Timestamp {
        // A sample is replaced whole.
        let Sample { time, at } = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = SignedDuration::try_from(at.elapsed()).unwrap_or(SignedDuration::MAX);
        time.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// The time now, by an answer that is waited for.
    pub(super) async fn ask(&self, pool: &Pool) -> Result<Timestamp, StoreError> {
        let asked = Instant::now();
        let fresh = sample(asked, &pool.ask(QUESTION, &[]).await?)?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(self.now())
    }
}

fn sample(asked: Instant, answer: &[Row]) -> Result<Sample, StoreError> {
    let failed = |why: &dyn std::fmt::Display| {
        StoreError::Failed(format!("asking the database for the time: {why}"))
    };
    let row = answer.first().ok_or_else(|| failed(&"no answer"))?;
    let time = Timestamp::from_microsecond(row.try_get(0).map_err(|error| failed(&error))?)
        .map_err(|error| failed(&error))?;
    // It looked at its clock somewhere between question and answer.
    Ok(Sample {
        time,
        at: asked + asked.elapsed() / 2,
    })
}

/// Asks the database for its time every few seconds, until it is dropped.
pub(super) async fn follow(pool: Arc<Pool>, clock: Arc<DatabaseClock>) {
    loop {
        tokio::time::sleep(EVERY).await;
        // While the database cannot be reached, time goes on as it did.
        let _ = clock.ask(&pool).await;
    }
}
