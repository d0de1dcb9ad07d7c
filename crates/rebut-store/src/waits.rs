//! How long deliveries wait between attempts, on the monotonic clock. Their rows say when they are
//! due by the wall clock, which every process can read, and which may be set meanwhile: then the
//! process that made them wait moves them along.

use jiff::{SignedDuration, Timestamp};
use rebut_engine::{DebateId, outbox::Claimed};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The wall clock was set if it went on by so much more or less than the monotonic clock.
const SET: SignedDuration = SignedDuration::from_millis(500);

/// What should have been taken so long ago was taken by somebody else, or is gone.
const KEPT: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    wall: Timestamp,
    monotonic: Instant,
}

impl Moment {
    fn now() -> Self {
        Self {
            wall: Timestamp::now(),
            monotonic: Instant::now(),
        }
    }

    /// Whether the wall clock was set between the two.
    fn is_set_against(self, before: Self) -> bool {
        let passed =
            SignedDuration::try_from(self.monotonic.saturating_duration_since(before.monotonic))
                .unwrap_or(SignedDuration::MAX);
        let by = self.wall.duration_since(before.wall).saturating_sub(passed);
        by.abs() >= SET
    }
}

/// Deliveries that this process made wait, by the monotonic clock.
pub(crate) struct Waits {
    /// The rows fit the wall clock as it was then, if it was not set since.
    fitted: Moment,
    due: HashMap<(String, DebateId, u64), (u32, Instant)>,
}

/// A delivery that waits: which one, since which attempt, and for how long from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) webhook: String,
    pub(crate) debate: DebateId,
    pub(crate) seq: u64,
    pub(crate) attempt: u32,
    pub(crate) left: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            fitted: Moment::now(),
            due: HashMap::new(),
        }
    }
}

impl Waits {
    /// A delivery was made to wait for so long.
    pub(crate) fn note(&mut self, claimed: &Claimed, wait: Duration) {
        let now = Instant::now();
        // No wait is that long; a row that says so is left as it is.
        if let Some(due) = now.checked_add(wait) {
            self.due.insert(key(claimed), (claimed.attempt, due));
        }
    }

    /// Drops a delivery that was made, or given up.
    pub(crate) fn forget(&mut self, claimed: &Claimed) {
        self.due.remove(&key(claimed));
    }

    /// Forgets what has long been due.
    pub(crate) fn tidy(&mut self) {
        self.due.retain(|_, (_, due)| due.elapsed() < KEPT);
    }

    /// Whether the wall clock was set since the rows were fitted to it.
    pub(crate) fn clock_was_set(&self) -> bool {
        Moment::now().is_set_against(self.fitted)
    }

    /// If the wall clock was set: when that was found out, and what has to be written anew.
    pub(crate) fn left_behind(&mut self) -> Option<(Moment, Vec<Waiting>)> {
        let now = Moment::now();
        if now.is_set_against(self.fitted) {
            return Some((now, self.waiting(now.monotonic)));
        }
        // Clocks that are slewed drift apart slowly; that is no step.
        self.fitted = now;
        None
    }

    /// All that was given is written anew.
    pub(crate) fn followed(&mut self, when: Moment) {
        self.fitted = when;
    }

    fn waiting(&self, now: Instant) -> Vec<Waiting> {
        let waiting = self
            .due
            .iter()
            .map(|((webhook, debate, seq), (attempt, due))| Waiting {
                webhook: webhook.clone(),
                debate: *debate,
                seq: *seq,
                attempt: *attempt,
                left: due.saturating_duration_since(now),
            });
        waiting.collect()
    }
}

/// Whoever panicked while holding them left them whole.
pub(crate) fn locked(waits: &Mutex<Waits>) -> MutexGuard<'_, Waits> {
    waits.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(claimed: &Claimed) -> (String, DebateId, u64) {
    (claimed.webhook.clone(), claimed.debate, claimed.seq)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_set_when_it_goes_on_by_more_or_less_than_has_passed() {
        let start = Moment::now();
        let after = |passed: u64, wall: i64| Moment {
            wall: start.wall + SignedDuration::from_millis(wall),
            monotonic: start.monotonic + Duration::from_millis(passed),
        };
        for (passed, wall, is_set) in [
            (0, 0, false),
            (2_000, 2_001, false),
            (2_000, 1_900, false),
            (86_400_000, 86_400_000, false),
            (2_000, 3_602_000, true),
            (2_000, -86_398_000, true),
            (2_000, 1_000, true),
        ] {
            assert_eq!(
                after(passed, wall).is_set_against(start),
                is_set,
                "{passed} ms passed, {wall} ms by the wall clock"
            );
        }
    }
}
