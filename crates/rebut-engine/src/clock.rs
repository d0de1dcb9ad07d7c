//! The clock seam: what time it is, and how to wait.

use crate::store::Store;
use jiff::Timestamp;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// Time as the engine sees it. Events are ordered by their number, never by time; time is for
/// deadlines and for people.
#[async_trait::async_trait]
pub trait Clock: Send + Sync + 'static {
    /// The wall-clock time, for the `ts` of an event. It may jump.
    fn now(&self) -> Timestamp;

    /// A moment of the monotonic clock, which never jumps and means nothing to another process.
    fn instant(&self) -> Instant {
        Instant::now()
    }

    /// Waits on the monotonic clock, so that a jump of the wall clock neither shortens nor
    /// lengthens it.
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

/// The clock of a desk: the time of the store, where that has a clock which all its processes
/// share; otherwise this process's own.
pub(crate) struct SharedClock {
    pub store: Arc<dyn Store>,
    pub own: Arc<dyn Clock>,
}

#[async_trait::async_trait]
impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        self.store.now().unwrap_or_else(|| self.own.now())
    }

    fn instant(&self) -> Instant {
        self.own.instant()
    }

    async fn sleep(&self, duration: Duration) {
        self.own.sleep(duration).await;
    }
}
