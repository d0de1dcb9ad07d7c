//! The share a winner needs, compared at the precision it was written in, so that 2 of 3 reaches 0.67. Pure.

/// The share an option needs, with the precision it was written in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The number itself.
    pub value: f64,
    decimals: u32,
}

impl Threshold {
    /// A threshold above 0 and up to 1.
    pub fn new(value: f64) -> Result<Self, String> {
        if !(value > 0.0 && value <= 1.0) {
            return Err(format!("must be above 0 and at most 1, not {value}"));
        }
        // The shortest text that reads back as this number is what was written.
        let decimals = value.to_string().split_once('.').map_or(0, |(_, digits)| digits.len());
        // Two digits at least: whoever writes 0.7 means 70 %, which 2 of 3 is not.
        Ok(Self { value, decimals: u32::try_from(decimals).unwrap_or(9).clamp(2, 9) })
    }

    /// The share that is needed and the whole, both in units of its last digit.
    pub fn parts(&self) -> (u128, u128) {
        let unit = 10u128.pow(self.decimals);
        ((self.value * unit as f64).round() as u128, unit)
    }

    /// Whether `votes` of `ballots` reach it. Nobody reaches anything without ballots.
    pub fn reached(&self, votes: u128, ballots: u128) -> bool {
        if ballots == 0 || votes == 0 {
            return false;
        }
        // Rounding must not make unanimous what is not.
        if self.value >= 1.0 {
            return votes == ballots;
        }
        let (needed, unit) = self.parts();
        // Weights come in tiny units; what is left of the largest sums after this loses less than any threshold can tell.
        let (votes, ballots) = reduced(votes, ballots);
        // The share in units of the threshold's last digit, rounded half up, in whole numbers.
        let share = (2 * votes * unit + ballots) / (2 * ballots);
        share >= needed
    }
}

/// The same share in numbers small enough to be multiplied by any precision.
fn reduced(votes: u128, ballots: u128) -> (u128, u128) {
    let (mut divisor, mut rest) = (ballots, votes);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let (votes, ballots) = (votes / divisor, ballots / divisor);
    // A precision of nine digits takes 30 bits, and the doubling one more.
    let excess = 32_u32.saturating_sub(ballots.leading_zeros());
    (votes >> excess, ballots >> excess)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_compared_at_the_thresholds_precision() {
        let rows = [
            (2, 3, 0.67, true),
            (2, 3, 0.667, true),
            (2, 3, 0.7, false),
            (2, 3, 0.68, false),
            (1, 2, 0.5, true),
            (1, 3, 0.34, false),
            (3, 5, 0.67, false),
            (4, 6, 0.67, true),
            (1, 1, 1.0, true),
            (999, 1000, 1.0, false),
            (5, 11, 0.5, false),
            (0, 3, 0.1, false),
            (0, 0, 0.1, false),
            (2 << 120, 3 << 120, 0.67, true),
            (2 << 120, 3 << 120, 0.7, false),
            (u128::MAX - 1, u128::MAX, 0.999_999_999, true),
            (u128::MAX - 1, u128::MAX, 1.0, false),
        ];
        for (votes, ballots, threshold, expected) in rows {
            let threshold = Threshold::new(threshold).expect("in range");
            assert_eq!(threshold.reached(votes, ballots), expected, "{votes} of {ballots} at {threshold:?}");
        }
        for bad in [0.0, -0.1, 1.01, f64::NAN, f64::INFINITY] {
            assert!(Threshold::new(bad).is_err(), "{bad}");
        }
    }
}
