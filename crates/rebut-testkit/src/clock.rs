//! Clocks for tests: one that follows tokio's own, so that under paused time hours pass in an instant and every run sees the same times; and
//! the machine's own, which can be put forward.

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
        Self { began: Instant::now() }
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

/// The machine's clock, which a test can put forward for whoever looks at it.
#[derive(Default)]
pub struct AheadClock(AtomicI64);

impl AheadClock {
    /// Puts it forward.
    pub fn go_ahead(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Clock for AheadClock {
    fn now(&self) -> Timestamp {
        SystemClock.now() + SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }

    async fn sleep(&self, duration: Duration) {
        SystemClock.sleep(duration).await;
    }
}
