//! Numbers of tokens somebody else counted.

use serde::{Deserialize, Deserializer};

/// A count: never negative, never so large that sums could overflow.
#[derive(Clone, Copy, Default)]
pub(super) struct Count(pub u64);

const MOST_TOKENS: u64 = 100_000_000;

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The cast saturates, and takes NaN and negative numbers for 0.
        Option::<f64>::deserialize(deserializer)
            .map(|count| Self((count.unwrap_or(0.0) as u64).min(MOST_TOKENS)))
    }
}

/// `null` where a list or an object belongs is what some servers write for "none".
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
