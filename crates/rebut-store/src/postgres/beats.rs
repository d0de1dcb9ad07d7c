//! What a node knows about its own heartbeat: only one that was heard of for the whole time of a
//! lease may say of others that they were not. Pure but for a lock.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

#[derive(Default)]
pub(super) struct Beats {
    state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// The first and the last of the beats that came one after the other, without a failure between
    /// them.
    unbroken: Option<(Instant, Instant)>,
    /// Which start of which server answered the last one.
    server: Option<i64>,
    /// Whether a beat ever failed, or another server answered than before. Nobody may have been
    /// able to renew a lease then.
    was_in_trouble: bool,
}

impl Beats {
    /// A beat that began at that time was answered, by the server that started then.
    pub(super) fn succeeded(&self, began: Instant, server: i64, lease: Duration) {
        let mut state = self.lock();
        let is_other = state.server.is_some_and(|known| known != server);
        let is_late = state
            .unbroken
            .is_some_and(|(_, last)| began.saturating_duration_since(last) > lease);
        let first = state
            .unbroken
            .filter(|_| !is_other && !is_late)
            .map_or(began, |(first, _)| first);
        state.was_in_trouble |= is_other;
        (state.unbroken, state.server) = (Some((first, began)), Some(server));
    }

    /// A beat was not answered, or its connection broke.
    pub(super) fn failed(&self) {
        let mut state = self.lock();
        (state.unbroken, state.was_in_trouble) = (None, true);
    }

    /// How long it takes at least until a lease of another may be taken; zero where it may be now.
    pub(super) fn until_steady(&self, now: Instant, lease: Duration) -> Duration {
        match self.lock().unbroken {
            // One that hangs has not failed yet, and has not succeeded.
            Some((first, last)) if now.saturating_duration_since(last) <= lease => {
                lease.saturating_sub(last.saturating_duration_since(first))
            }
            _ => lease,
        }
    }

    /// Whether there is a reason to think that living holders could not renew their leases lately.
    pub(super) fn doubts(&self, now: Instant, lease: Duration) -> bool {
        self.lock().was_in_trouble && !self.until_steady(now, lease).is_zero()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(15);

    /// When a beat began, and which server answered, if one did.
    type Beat = (u64, Option<i64>);

    /// What it is, the beats, now, and what is expected.
    type Row<'a> = (&'a str, &'a [Beat], u64, (bool, bool));

    /// Beats at these seconds, by the server of that number, or failed; then whether a lease may be
    /// taken, and whether there are doubts.
    fn after(beats: &[Beat], now: u64) -> (bool, bool) {
        let (began, known) = (Instant::now(), Beats::default());
        let at = |seconds| began + Duration::from_secs(seconds);
        for (seconds, server) in beats {
            match server {
                Some(server) => known.succeeded(at(*seconds), *server, LEASE),
                None => known.failed(),
            }
        }
        (
            known.until_steady(at(now), LEASE).is_zero(),
            known.doubts(at(now), LEASE),
        )
    }

    #[test]
    fn who_was_heard_of_for_a_lease_may_take() {
        let (one, other) = (Some(1), Some(2));
        let rows: &[Row<'_>] = &[
            ("nothing yet", &[], 0, (false, false)),
            ("nothing for long", &[], 99, (false, false)),
            (
                "just begun",
                &[(0, one), (5, one), (10, one)],
                14,
                (false, false),
            ),
            (
                "a whole lease",
                &[(0, one), (5, one), (10, one), (15, one)],
                16,
                (true, false),
            ),
            (
                "it failed once",
                &[
                    (0, one),
                    (5, one),
                    (10, None),
                    (11, one),
                    (15, one),
                    (20, one),
                ],
                24,
                (false, true),
            ),
            (
                "a lease since then",
                &[
                    (0, one),
                    (10, None),
                    (11, one),
                    (16, one),
                    (21, one),
                    (26, one),
                ],
                26,
                (true, false),
            ),
            (
                "another server",
                &[(0, one), (5, one), (10, one), (15, other), (20, other)],
                24,
                (false, true),
            ),
            (
                "a lease with it",
                &[(0, one), (15, other), (20, other), (25, other), (30, other)],
                30,
                (true, false),
            ),
            (
                "it stood still",
                &[(0, one), (5, one), (60, one), (65, one)],
                66,
                (false, false),
            ),
            (
                "the last one hangs",
                &[(0, one), (5, one), (10, one), (15, one)],
                31,
                (false, false),
            ),
            (
                "it is failing",
                &[(0, one), (5, one), (10, one), (15, one), (20, None)],
                20,
                (false, true),
            ),
        ];
        for (what, beats, now, expected) in rows {
            assert_eq!(after(beats, *now), *expected, "{what}");
        }
    }
}
