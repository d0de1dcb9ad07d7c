//! What a voter hands in, and what it weighs.

use super::exact::{Exact, units};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, collections::BTreeMap, fmt, iter::Sum, str::FromStr};

/// One voter's ballot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ballot {
    /// Whose it is.
    pub voter: String,
    /// What it weighs; 1 when not stated.
    #[serde(default)]
    pub weight: Weight,
    /// How sure the voter is, from 0 to 1. Read to a millionth; what differs by less is noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Best first; a tier is a list of equals. Candidates that are missing are tied last; empty is
    /// an abstention.
    #[serde(default)]
    pub ranking: Vec<Vec<String>>,
    /// Whom it approves; without it, the first tier of the ranking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approves: Option<Vec<String>>,
    /// What it gives each candidate, for `score`; whom it leaves out gets 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<BTreeMap<String, f64>>,
}

impl Ballot {
    /// A ballot of weight 1 for one candidate.
    pub fn single(voter: impl Into<String>, choice: impl Into<String>) -> Self {
        Self {
            voter: voter.into(),
            ranking: vec![vec![choice.into()]],
            ..Self::default()
        }
    }
}

/// An exact weight: a decimal from 0 to 1,000,000 with at most 18 decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u128);

impl Weight {
    pub const DECIMALS: u32 = 18;
    const UNIT: u128 = 10u128.pow(Self::DECIMALS);
    const MOST: u128 = 1_000_000 * Self::UNIT;

    pub const ONE: Self = Self(Self::UNIT);
    pub const ZERO: Self = Self(0);

    pub fn units(self) -> u128 {
        self.0
    }
}

impl Sum for Weight {
    /// So many that they pass any bound stay at the bound of what can be written down.
    fn sum<I: Iterator<Item = Self>>(weights: I) -> Self {
        Self(weights.fold(0, |sum, weight| sum.saturating_add(weight.0)))
    }
}

impl FromStr for Weight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!(
                "`{text}` is not a weight ({why}): write a decimal from 0 to 1000000, such as 0.7"
            )
        };
        let units = units(text.trim(), Self::DECIMALS, false).map_err(|why| wrong(&why))?;
        match u128::try_from(units) {
            Ok(units) if units <= Self::MOST => Ok(Self(units)),
            Ok(_) => Err(wrong("too large")),
            Err(_) => Err(wrong("negative")),
        }
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Exact::of_units(self.0, Self::DECIMALS).fmt(f)
    }
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Weight({self})")
    }
}

impl Serialize for Weight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl de::Visitor<'_> for Read {
            type Value = Weight;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a weight such as \"0.7\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Weight, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Weight, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Weight, E> {
                self.visit_str(&number.to_string())
            }

            // The shortest text that reads back as this number is what was written.
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Weight, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl JsonSchema for Weight {
    fn schema_name() -> Cow<'static, str> {
        "Weight".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "number"],
            "description": "A decimal from 0 to 1000000 with at most 18 decimals, as text so that \
                it stays exact.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_exact_and_bounded() {
        for (json, expected) in [
            ("\"0.70\"", "0.7"),
            ("0.7", "0.7"),
            ("3", "3"),
            ("0", "0"),
            ("1e3", "1000"),
            ("\"1000000\"", "1000000"),
        ] {
            let weight: Weight =
                serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
            assert_eq!(weight.to_string(), expected);
            assert_eq!(
                serde_json::to_string(&weight).expect("text"),
                format!("\"{expected}\"")
            );
        }
        for bad in [
            "-1",
            "\"-0.1\"",
            "\"NaN\"",
            "\"\"",
            "\"1000000.1\"",
            "1e300",
            "1e-30",
            "null",
            "true",
            "[]",
            "\"0.0000000000000000001\"",
        ] {
            assert!(serde_json::from_str::<Weight>(bad).is_err(), "{bad}");
        }
    }
}
