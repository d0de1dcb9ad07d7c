//! The share a winner needs, with two ways to compare: debates round to the precision it was
//! written in, so that 2 of 3 judges reach 0.67; counts of ballots compare exactly, so that 99 of
//! 200 never reach 0.5. Pure.

use super::exact::Exact;
use num_bigint::BigInt;

/// The share an option needs, with the precision it was written in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
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
        let decimals = value
            .to_string()
            .split_once('.')
            .map_or(0, |(_, digits)| digits.len());
        // Two digits at least: whoever writes 0.7 means 70 %, which 2 of 3 is not.
        Ok(Self {
            value,
            decimals: u32::try_from(decimals).unwrap_or(9).clamp(2, 9),
        })
    }

    /// Whether `votes` of `ballots` reach it when the share is rounded to the digits of the
    /// threshold: the rule of debates, for panels of a few judges. Nobody reaches anything without
    /// ballots.
    pub fn reached(&self, votes: u128, ballots: u128) -> bool {
        if ballots == 0 || votes == 0 {
            return false;
        }
        // Rounding must not make unanimous what is not.
        if self.value >= 1.0 {
            return votes == ballots;
        }
        let unit = 10u128.pow(self.decimals);
        let needed = (self.value * unit as f64).round() as u128;
        // Weights come in tiny units; what is left of the largest sums after this loses less than
        // any threshold can tell.
        let (votes, ballots) = reduced(votes, ballots);
        // The share in units of the threshold's last digit, rounded half up, in whole numbers.
        let share = (2 * votes * unit + ballots) / (2 * ballots);
        share >= needed
    }

    /// Whether `votes` of `total` are this share or more, without any rounding: the rule of `vote`.
    /// Nobody reaches anything without votes.
    pub(super) fn reached_exactly(&self, votes: &Exact, total: &Exact) -> bool {
        !votes.is_zero() && !total.is_zero() && *votes >= total * &self.as_written()
    }

    /// The decimal that was written, every digit of it.
    fn as_written(&self) -> Exact {
        let text = self.value.to_string();
        let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
        let digits: BigInt = format!("{whole}{part}")
            .parse()
            .expect("a number between 0 and 1 is written in digits");
        Exact::of_units(
            digits,
            u32::try_from(part.len()).expect("a float has at most some hundred digits"),
        )
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
    fn shares_are_rounded_in_debates_and_exact_in_counts() {
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
            assert_eq!(
                threshold.reached(votes, ballots),
                expected,
                "{votes} of {ballots} at {threshold:?}"
            );
        }
        for (votes, total, threshold, expected) in [
            (2, 3, 0.67, false),
            (2_u64, 3_u64, 0.66, true),
            (99, 200, 0.5, false),
            (100, 200, 0.5, true),
            (3, 10, 0.3, true),
            (1_999_999_999, 4_000_000_000, 0.5, false),
            (333_333_333_333, 1_000_000_000_000, 0.333_333_333_333, true),
            (333_333_333_332, 1_000_000_000_000, 0.333_333_333_333, false),
            (999, 1000, 1.0, false),
            (1000, 1000, 1.0, true),
            (1, 1000, 1e-300, true),
            (0, 3, 1e-300, false),
            (0, 0, 0.1, false),
        ] {
            let threshold = Threshold::new(threshold).expect("in range");
            let found = threshold.reached_exactly(&Exact::whole(votes), &Exact::whole(total));
            assert_eq!(
                found, expected,
                "{votes} of {total} at exactly {threshold:?}"
            );
        }
        for bad in [0.0, -0.1, 1.01, f64::NAN, f64::INFINITY] {
            assert!(Threshold::new(bad).is_err(), "{bad}");
        }
    }
}
