//! Clocks for tests: one that follows tokio's own, so that under paused time hours pass in an
//! instant and every run sees the same times; one whose wall clock can be set while time goes on as
//! it does; and the machine's own, for which more time can be said to have passed.

use jiff::{SignedDuration, Timestamp};
use rebut_engine::clock::{Clock, SystemClock};
use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};
use tokio::time::Instant;

/// Simulated time, starting at the same moment in every run.
pub struct SimulatedClock {
    began: Instant,
}

impl SimulatedClock {
    /// A clock that starts now, which is the first of January 2026.
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
        }
    }
}

impl Default for SimulatedClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait::async_trait]
impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        const NEW_YEAR_2026: i64 = 1_767_225_600;
        let passed = SignedDuration::try_from(self.began.elapsed()).unwrap_or(SignedDuration::MAX);
        Timestamp::from_second(NEW_YEAR_2026).unwrap_or_default() + passed
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Simulated time whose wall clock somebody sets: it jumps, and no more time has passed than
/// before.
pub struct WrongClock {
    right: SimulatedClock,
    off: AtomicI64,
}

impl WrongClock {
    /// A clock that stands off by so many seconds.
    pub fn new(off: i64) -> Self {
        Self {
            right: SimulatedClock::new(),
            off: AtomicI64::new(off),
        }
    }

    /// Sets it: from now on it stands off by so many seconds.
    pub fn set(&self, off: i64) {
        self.off.store(off, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Clock for WrongClock {
    fn now(&self) -> Timestamp {
        self.right.now() + SignedDuration::from_secs(self.off.load(Ordering::SeqCst))
    }

    async fn sleep(&self, duration: Duration) {
        self.right.sleep(duration).await;
    }
}

/// The machine's clock, for which a test can say that more time has passed.
#[derive(Default)]
pub struct AheadClock(AtomicI64);

impl AheadClock {
    /// So many seconds more have passed.
    pub fn go_ahead(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Clock for AheadClock {
    fn now(&self) -> Timestamp {
        SystemClock.now() + SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }

    fn instant(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.0.load(Ordering::SeqCst).unsigned_abs())
    }

    async fn sleep(&self, duration: Duration) {
        SystemClock.sleep(duration).await;
    }
}
