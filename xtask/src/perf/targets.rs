//! The targets: what the engine's arms must reach, as a table.

use super::scenarios::{CPU, FIRST_CALL, MS, PEAK, RATE, WALL};

/// What one arm must reach.
pub struct Target {
    scenario: &'static str,
    metric: &'static str,
    arm: &'static str,
    limit: Limit,
}

/// How far it may go.
#[derive(Clone, Copy)]
enum Limit {
    /// At most so many times what the floor has.
    TimesFloor(f64),
    /// At least so many times what the floor has.
    ShareOfFloor(f64),
    /// At most so many times what no program can beat.
    TimesBound(f64),
    /// At most so much.
    Most(f64),
}

const fn row(
    scenario: &'static str,
    metric: &'static str,
    arm: &'static str,
    limit: Limit,
) -> Target {
    Target {
        scenario,
        metric,
        arm,
        limit,
    }
}

const TARGETS: &[Target] = &[
    row("one debate at 50 ms", MS, "rebut", Limit::TimesFloor(1.015)),
    row(
        "100 at a time at 0 ms",
        RATE,
        "rebut",
        Limit::ShareOfFloor(0.6),
    ),
    row(
        "100 at a time at 0 ms",
        CPU,
        "rebut",
        Limit::TimesFloor(1.7),
    ),
    row(
        "1,000 at once at 1 s",
        WALL,
        "rebut",
        Limit::TimesFloor(1.1),
    ),
    row(
        "1,000 at once at 1 s",
        PEAK,
        "rebut",
        Limit::TimesFloor(1.2),
    ),
    row(
        "one debate at 50 ms",
        MS,
        "rebut-sqlite",
        Limit::TimesBound(1.10),
    ),
    row(
        "one debate at 1 s",
        MS,
        "rebut-sqlite",
        Limit::TimesBound(1.01),
    ),
    row(
        "100 at a time at 0 ms",
        RATE,
        "rebut-sqlite",
        Limit::ShareOfFloor(0.25),
    ),
    row(
        "100 at a time at 0 ms",
        CPU,
        "rebut-sqlite",
        Limit::TimesFloor(4.0),
    ),
    row(
        "10,000 at once at 1 s",
        PEAK,
        "rebut-sqlite",
        Limit::Most(512.0),
    ),
    row(
        "process start",
        FIRST_CALL,
        "rebut-sqlite",
        Limit::Most(30.0),
    ),
];

/// Whether a value reaches its target, and the target in words; `None` where there is none.
pub fn verdict(
    place: (&str, &str, &str),
    value: f64,
    floor: Option<f64>,
    bound: Option<f64>,
) -> Option<(bool, String)> {
    let target = TARGETS
        .iter()
        .find(|target| (target.scenario, target.metric, target.arm) == place)?;
    Some(match target.limit {
        Limit::TimesFloor(most) => (value <= most * floor?, format!("≤ {most} × floor")),
        Limit::ShareOfFloor(least) => (value >= least * floor?, format!("≥ {least} × floor")),
        Limit::TimesBound(most) => (value <= most * bound?, format!("≤ {most} × bound")),
        Limit::Most(most) => (value <= most, format!("≤ {most}")),
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{arm::ARMS, scenarios::SCENARIOS},
        *,
    };

    #[test]
    fn every_target_is_measured() {
        for Target {
            scenario,
            metric,
            arm,
            ..
        } in TARGETS
        {
            let known = SCENARIOS.iter().find(|known| known.name == *scenario);
            assert!(
                known.is_some_and(|known| known.metrics.contains(metric)),
                "{scenario}: {metric}"
            );
            assert!(ARMS.iter().any(|known| known.name == *arm), "{arm}");
        }
    }

    #[test]
    fn limits_are_compared_the_right_way_round() {
        let rows = [
            (("one debate at 50 ms", MS, "rebut"), 101.4, Some(true)),
            (("one debate at 50 ms", MS, "rebut"), 101.6, Some(false)),
            (("100 at a time at 0 ms", RATE, "rebut"), 60.0, Some(true)),
            (("100 at a time at 0 ms", RATE, "rebut"), 59.0, Some(false)),
            (("one debate at 1 s", MS, "rebut-sqlite"), 202.0, Some(true)),
            (
                ("one debate at 1 s", MS, "rebut-sqlite"),
                202.1,
                Some(false),
            ),
            (
                ("process start", FIRST_CALL, "rebut-sqlite"),
                30.1,
                Some(false),
            ),
            (("process start", FIRST_CALL, "floor"), 30.1, None),
        ];
        for (place, value, expected) in rows {
            assert_eq!(
                verdict(place, value, Some(100.0), Some(200.0)).map(|(reached, _)| reached),
                expected,
                "{place:?} {value}"
            );
        }
    }
}
