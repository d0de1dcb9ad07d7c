//! The settings of evaluate and their ranges.

use super::{
    input::{Topic, check_topics},
    state::Bounds,
};
use crate::formats::timeouts::check_seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The settings of evaluate, with the defaults of its preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Seconds an agent has for one turn.
    pub timeout_per_agent: u64,
    /// Arguments a side may bring on one topic at most.
    pub max_arguments: usize,
    /// How far one verdict may move a score.
    pub max_score_change: f64,
    /// How far the sum of all moves of scores may go.
    pub max_total_change: f64,
    /// How far one verdict may move the confidence in a score.
    pub max_confidence_change: f64,
    /// How far the sum of all moves of confidences may go.
    pub max_total_confidence_change: f64,
    /// What is debated, in order.
    pub topics: Vec<Topic>,
}

impl Default for Config {
    fn default() -> Self {
        toml::from_str(super::FORMAT.preset).expect("the compiled-in preset is tested to be valid")
    }
}

impl Config {
    /// Reads settings and checks their ranges.
    pub fn parse(config: &Value) -> Result<Self, String> {
        let config = Self::deserialize(config).map_err(|error| format!("evaluate: {error}"))?;
        check_seconds("timeout_per_agent", config.timeout_per_agent)?;
        if !(1..=20).contains(&config.max_arguments) {
            return Err(format!(
                "max_arguments must be 1 to 20, not {}",
                config.max_arguments
            ));
        }
        let ranges = [
            ("max_score_change", config.max_score_change, 9.0),
            ("max_total_change", config.max_total_change, 1000.0),
            ("max_confidence_change", config.max_confidence_change, 1.0),
            (
                "max_total_confidence_change",
                config.max_total_confidence_change,
                100.0,
            ),
        ];
        for (key, value, most) in ranges {
            if !(0.0..=most).contains(&value) {
                return Err(format!("{key} must be 0 to {most}, not {value}"));
            }
        }
        check_topics(&config.topics).map_err(|problem| format!("topics: {problem}"))?;
        Ok(config)
    }

    /// How far verdicts may move things.
    pub fn bounds(&self) -> Bounds {
        Bounds::new(
            self.max_score_change,
            self.max_total_change,
            self.max_confidence_change,
            self.max_total_confidence_change,
        )
    }
}
