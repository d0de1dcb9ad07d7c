//! How far a measured number can be trusted: Wilson's interval, the paired bootstrap, McNemar's
//! exact test. Deterministic.

use serde::Serialize;

/// A measured value with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measured {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// The normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's interval of a share. `right` may be a fraction, where ties were counted in parts. Of
/// nothing: 0, between 0 and 1.
pub fn wilson(right: f64, of: f64) -> Measured {
    if of <= 0.0 {
        return Measured {
            value: 0.0,
            low: 0.0,
            high: 1.0,
        };
    }
    let share = right / of;
    let middle = share + Z * Z / (2.0 * of);
    let spread = Z
        * (share * (1.0 - share) / of + Z * Z / (4.0 * of * of))
            .max(0.0)
            .sqrt();
    let scale = 1.0 + Z * Z / of;
    Measured {
        value: share,
        low: ((middle - spread) / scale).max(0.0),
        high: ((middle + spread) / scale).min(1.0),
    }
}

const SAMPLES: usize = 1000;

/// The mean of paired differences with its 95 % bootstrap interval, from a fixed seed: the same
/// data give the same interval.
pub fn paired(differences: &[f64]) -> Measured {
    if differences.is_empty() {
        return Measured::default();
    }
    let mut dice = Dice::new(0x5eed);
    let count = differences.len();
    let mean = |sum: f64| sum / count as f64;
    let mut means: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            mean(
                (0..count)
                    .map(|_| differences[dice.below(count)])
                    .sum::<f64>(),
            )
        })
        .collect();
    means.sort_by(f64::total_cmp);
    Measured {
        value: mean(differences.iter().sum()),
        low: means[SAMPLES / 40],
        high: means[SAMPLES - 1 - SAMPLES / 40],
    }
}

/// McNemar's exact two-sided p: how easily chance alone splits `gained + lost` changes so unevenly.
pub fn mcnemar(gained: u64, lost: u64) -> f64 {
    let all = gained + lost;
    let fewer = gained.min(lost);
    // In logarithms, since 2^-n has no room in a number for large n.
    let mut log_term = -(all as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=fewer {
        tail += log_term.exp();
        log_term += ((all - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    (2.0 * tail).min(1.0)
}

/// A small generator of numbers that look random, for samples and panels: the same seed gives the
/// same numbers everywhere.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must be above 0.
    pub fn below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.roll()) * end as u128;
        usize::try_from(wide >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_the_known_ones() {
        let rows = [
            (0.0, 10.0, 0.0, 0.2775),
            (10.0, 10.0, 0.7225, 1.0),
            (5.0, 10.0, 0.2366, 0.7634),
            (81.0, 263.0, 0.2553, 0.3662),
        ];
        for (right, of, low, high) in rows {
            let found = wilson(right, of);
            assert!(
                (found.low - low).abs() < 1e-4 && (found.high - high).abs() < 1e-4,
                "{right} of {of}: {found:?}"
            );
        }
        assert_eq!(
            wilson(0.0, 0.0),
            Measured {
                value: 0.0,
                low: 0.0,
                high: 1.0
            }
        );
    }

    #[test]
    fn mcnemar_counts_both_tails() {
        for (gained, lost, p) in [
            (0, 0, 1.0),
            (5, 5, 1.0),
            (10, 0, 0.001_953_125),
            (6, 17, 0.034_7),
            (142, 106, 0.026_0),
        ] {
            assert!(
                (mcnemar(gained, lost) - p).abs() < 1e-3,
                "{gained} {lost}: {}",
                mcnemar(gained, lost)
            );
            assert_eq!(mcnemar(gained, lost), mcnemar(lost, gained));
        }
        assert!(mcnemar(0, 5000) < 1e-300, "far tails do not become NaN");
    }

    #[test]
    fn the_bootstrap_is_the_same_each_time_and_holds_the_mean() {
        let differences: Vec<f64> = (0..400).map(|at| f64::from(at % 5 == 0)).collect();
        let found = paired(&differences);
        assert_eq!(found, paired(&differences));
        assert!(
            (found.value - 0.2).abs() < 1e-12
                && (0.15..0.18).contains(&found.low)
                && (0.22..0.25).contains(&found.high),
            "{found:?}"
        );
        assert_eq!(paired(&[]), Measured::default());
    }
}
