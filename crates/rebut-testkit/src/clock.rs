//! A clock that follows tokio's own: under paused time, hours pass in an instant and every run sees the same times.

use jiff::{SignedDuration, Timestamp};
use rebut_engine::clock::Clock;
use std::time::Duration;
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
