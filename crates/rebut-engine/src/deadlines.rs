//! When gates close. A store with a clock of its own decides that for all its processes. Without
//! one, a process measures from the moment it first saw the gate, on its monotonic clock: so no
//! jump of a wall clock ends a wait or makes it longer.

use crate::{
    DebateId,
    clock::{Clock, SharedClock},
    event::GateOpened,
    store::{Store, StoreError},
};
use jiff::{SignedDuration, Timestamp};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// What is known of a gate is kept for so long after it closed; the journal says by then that it
/// did.
const KEPT: Duration = Duration::from_secs(3600);

/// The clock of a desk, and the gates that were seen by it.
pub(crate) struct Deadlines {
    clock: Arc<SharedClock>,
    seen: Mutex<HashMap<(DebateId, String), Seen>>,
}

/// A gate as this process measures it.
struct Seen {
    /// What the journal says; opened again until another time, the gate is another one.
    until: String,
    closes: Instant,
}

impl Deadlines {
    pub fn new(store: Arc<dyn Store>, own: Arc<dyn Clock>) -> Self {
        Self {
            clock: Arc::new(SharedClock { store, own }),
            seen: Mutex::default(),
        }
    }

    pub fn clock(&self) -> Arc<SharedClock> {
        self.clock.clone()
    }

    /// The time for a new deadline.
    pub async fn now(&self) -> Timestamp {
        match self.clock.store.ask_now().await {
            Ok(Some(now)) => now,
            // Where the database is out of reach, the append of the gate waits for it; the time is
            // known well enough.
            Ok(None) | Err(_) => self.clock.now(),
        }
    }

    /// The moment at which a gate closes. A time that nobody can read has passed.
    pub async fn closes(&self, debate: DebateId, gate: &GateOpened) -> Result<Instant, StoreError> {
        let until = gate.closes_at().unwrap_or(Timestamp::MIN);
        match self.clock.store.ask_now().await? {
            Some(now) => Ok(self.moment(until.duration_since(now))),
            None => Ok(self.seen(debate, gate, until)),
        }
    }

    /// How long a gate stays open, as well as it is known without asking the store.
    pub fn roughly_left(&self, debate: DebateId, gate: &GateOpened) -> Duration {
        let until = gate.closes_at().unwrap_or(Timestamp::MIN);
        match self.clock.store.now() {
            Some(now) => Duration::try_from(until.duration_since(now)).unwrap_or_default(),
            None => self.left(self.seen(debate, gate, until)),
        }
    }

    /// Whether a gate is certainly open, told without asking the store.
    pub fn is_open(&self, debate: DebateId, gate: &GateOpened) -> bool {
        /// What is known without asking may be wrong by this much.
        const ROUGHLY: Duration = Duration::from_secs(2);
        let wrong_by = if self.are_shared() {
            ROUGHLY
        } else {
            Duration::ZERO
        };
        self.roughly_left(debate, gate) > wrong_by
    }

    /// How long it is until then; nothing when it has passed.
    pub fn left(&self, closes: Instant) -> Duration {
        closes.saturating_duration_since(self.clock.instant())
    }

    /// Whether all processes of the store share its clock.
    pub fn are_shared(&self) -> bool {
        self.clock.store.now().is_some()
    }

    fn seen(&self, debate: DebateId, gate: &GateOpened, until: Timestamp) -> Instant {
        // The map is whole between any two statements that hold the lock.
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (debate, gate.gate.clone());
        if let Some(seen) = all.get(&key).filter(|seen| seen.until == gate.until) {
            return seen.closes;
        }
        let now = self.clock.instant();
        all.retain(|_, seen| now.saturating_duration_since(seen.closes) < KEPT);
        let closes = self.moment(until.duration_since(self.clock.now()));
        all.insert(
            key,
            Seen {
                until: gate.until.clone(),
                closes,
            },
        );
        closes
    }

    /// The moment so far from now; now, when that has passed.
    fn moment(&self, left: SignedDuration) -> Instant {
        let now = self.clock.instant();
        // A gate waits thirty days at most; what a journal says beyond that is far enough away.
        now.checked_add(Duration::try_from(left).unwrap_or_default())
            .unwrap_or_else(|| now + Duration::from_secs(crate::gate::LONGEST_GATE))
    }
}
