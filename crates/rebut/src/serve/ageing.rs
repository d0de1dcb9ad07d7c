//! How old debates certainly are. What is removed by its age must not depend on a clock alone: one
//! start with a clock that is months fast would remove everything.

use jiff::{SignedDuration, Timestamp};
use rebut_engine::store::Session;
use std::time::{Duration, Instant};

/// A clock is believed by so much beyond what has certainly passed.
const BELIEVED: SignedDuration = SignedDuration::from_hours(24);

/// Time as a server has seen it pass.
pub struct Ageing {
    /// The newest time in the database when the server started.
    newest: Timestamp,
    /// When that was, on the monotonic clock.
    since: Instant,
}

impl Ageing {
    /// From the debates that are kept when a server starts, and what its clock says then.
    pub fn of(sessions: &[Session], clock: Timestamp) -> Self {
        let times = sessions
            .iter()
            .filter_map(|session| session.updated_at.parse::<Timestamp>().ok());
        Self {
            newest: times.max().unwrap_or(clock),
            since: Instant::now(),
        }
    }

    /// The time by which debates are old: what the clock says, but at most a day more than the
    /// newest time in the database and what passed since the start. A server that was off for long
    /// so removes some debates later, and none early.
    pub fn now(&self, clock: Timestamp) -> Timestamp {
        self.at(clock, self.since.elapsed())
    }

    fn at(&self, clock: Timestamp, passed: Duration) -> Timestamp {
        let certainly = SignedDuration::try_from(passed).ok().and_then(|passed| {
            self.newest
                .checked_add(passed.saturating_add(BELIEVED))
                .ok()
        });
        certainly.map_or(clock, |certainly| clock.min(certainly))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_believed_by_a_day() {
        let start: Timestamp = "2026-06-01T00:00:00Z".parse().expect("a time");
        let ageing = Ageing {
            newest: start,
            since: Instant::now(),
        };
        let hours = SignedDuration::from_hours;
        for (clock, passed, counts) in [
            (5, 0, 5),
            (24, 0, 24),
            (2400, 0, 24),
            (2400, 100, 124),
            (100, 2400, 100),
            (-5, 0, -5),
        ] {
            let passed = Duration::from_secs(passed * 3600);
            assert_eq!(
                ageing.at(start + hours(clock), passed),
                start + hours(counts),
                "{clock} hours later by the clock"
            );
        }
        let nothing = Ageing::of(&[], start);
        assert_eq!(
            nothing.at(start + hours(-5), Duration::ZERO),
            start + hours(-5),
            "an empty database tells nothing"
        );
    }
}
