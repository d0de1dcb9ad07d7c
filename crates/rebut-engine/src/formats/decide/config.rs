//! The settings of decide and their ranges.

use crate::{
    formats::{timeouts::check_seconds, weights::Weights},
    topology::Kind,
    voting::Threshold,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The settings of decide, with the defaults of its preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rounds at most; the first is blind.
    pub max_rounds: u32,
    /// The share the leading option needs.
    pub consensus_threshold: f64,
    /// Seconds a judge has for one turn.
    pub timeout_per_judge: u64,
    /// A judge keeps its lens even when it changes its option.
    pub require_stance_maintenance: bool,
    /// A change that names no valid claim of another judge does not count.
    pub require_change_documentation: bool,
    /// Judges that must have answered; 0 is more than half.
    pub min_judges: usize,
    /// What each judge's vote counts; equal if left out.
    #[serde(default, skip_serializing_if = "Weights::is_empty")]
    pub weights: Weights,
    /// Who hears whom in later rounds. Debates from before there was a choice are meshes.
    #[serde(default)]
    pub topology: Kind,
    /// Later rounds are spared when one changed nothing. Journals from before there was this
    /// setting lack it, and ran every round.
    #[serde(default)]
    pub stop_when_stable: bool,
}

impl Default for Config {
    fn default() -> Self {
        toml::from_str(super::FORMAT.preset).expect("the compiled-in preset is tested to be valid")
    }
}

impl Config {
    /// How many of so many judges must answer.
    pub fn quorum(&self, judges: usize) -> usize {
        if self.min_judges == 0 {
            judges / 2 + 1
        } else {
            self.min_judges
        }
    }

    /// Reads settings and checks their ranges.
    pub fn parse(config: &Value) -> Result<Self, String> {
        let config = Self::deserialize(config).map_err(|error| format!("decide: {error}"))?;
        Threshold::new(config.consensus_threshold)
            .map_err(|problem| format!("consensus_threshold {problem}"))?;
        check_seconds("timeout_per_judge", config.timeout_per_judge)?;
        match config.max_rounds {
            1..=20 => Ok(config),
            rounds => Err(format!("max_rounds must be 1 to 20, not {rounds}")),
        }
    }

    pub fn threshold(&self) -> Threshold {
        Threshold::new(self.consensus_threshold).expect("checked when the settings were read")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preset_is_complete() {
        let preset: toml::Table = toml::from_str(super::super::FORMAT.preset).expect("TOML");
        let schema = schemars::schema_for!(Config);
        let known = schema
            .get("properties")
            .and_then(Value::as_object)
            .expect("an object");
        assert_eq!(
            preset.keys().collect::<std::collections::BTreeSet<_>>(),
            known.keys().collect()
        );
        assert_eq!(Config::default().max_rounds, 2);
    }
}
