//! The clock seam: what time it is, and how to wait.

use jiff::Timestamp;
use std::time::Duration;

/// Time as the engine sees it. Events are ordered by their number, never by time; time is for deadlines and for people.
#[async_trait::async_trait]
pub trait Clock: Send + Sync + 'static {
    /// The wall-clock time, for the `ts` of an event.
    fn now(&self) -> Timestamp;

    /// Waits on the monotonic clock, so that a jump of the wall clock neither shortens nor lengthens it.
    async fn sleep(&self, duration: Duration);
}

/// The machine's own clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

#[async_trait::async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
