//! The settings of review and their ranges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The settings of review, with the defaults of its preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Seconds an agent has for one turn.
    pub timeout_per_agent: u64,
    /// Reviewers that must have answered; 0 is more than half.
    pub min_reviewers: usize,
    /// Whose operations come first in the merge, by role; roles not listed come after, in the order
    /// of the panel.
    pub priority: Vec<String>,
    /// Whether an editor applies what was merged.
    pub edit: bool,
    /// Operations a reviewer may propose at most.
    pub max_operations: usize,
    /// The debate between reviewers who contradict each other.
    pub debate: DebateConfig,
}

/// The settings of the debate between reviewers. What is left out has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DebateConfig {
    /// Whether there is one.
    pub enabled: bool,
    /// Conflicts debated at most.
    pub max_pairs: usize,
    /// Conflicts there must be, or nobody debates.
    pub min_conflicts_to_trigger: usize,
}

impl Default for Config {
    fn default() -> Self {
        toml::from_str(super::FORMAT.preset).expect("the compiled-in preset is tested to be valid")
    }
}

impl Default for DebateConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            max_pairs: 2,
            min_conflicts_to_trigger: 1,
        }
    }
}

impl Config {
    /// How many of so many reviewers must answer.
    pub fn quorum(&self, reviewers: usize) -> usize {
        if self.min_reviewers == 0 {
            reviewers / 2 + 1
        } else {
            self.min_reviewers
        }
    }

    /// Reads settings and checks their ranges.
    pub fn parse(config: &Value) -> Result<Self, String> {
        let config = Self::deserialize(config).map_err(|error| format!("review: {error}"))?;
        let ranges = [
            ("timeout_per_agent", config.timeout_per_agent, 1, 86_400),
            ("max_operations", config.max_operations as u64, 1, 50),
            ("debate.max_pairs", config.debate.max_pairs as u64, 1, 20),
            (
                "debate.min_conflicts_to_trigger",
                config.debate.min_conflicts_to_trigger as u64,
                1,
                1000,
            ),
        ];
        match ranges
            .into_iter()
            .find(|(_, value, least, most)| value < least || value > most)
        {
            Some((name, value, least, most)) => {
                Err(format!("{name} must be {least} to {most}, not {value}"))
            }
            None => Ok(config),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preset_is_valid_and_its_debate_is_the_default_one() {
        let config = Config::default();
        assert_eq!(config.debate, DebateConfig::default());
        assert_eq!(
            config.priority,
            ["security", "testing", "clarity", "performance"]
        );
        assert_eq!(
            Config::parse(&serde_json::to_value(&config).expect("JSON")),
            Ok(config)
        );
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let rows = [
            (
                "timeout_per_agent",
                "0",
                "timeout_per_agent must be 1 to 86400, not 0",
            ),
            (
                "max_operations",
                "51",
                "max_operations must be 1 to 50, not 51",
            ),
            (
                "debate",
                r#"{"max_pairs": 0}"#,
                "debate.max_pairs must be 1 to 20, not 0",
            ),
            ("debate", r#"{"max_pair": 1}"#, "unknown field `max_pair`"),
            ("priority", r#""security""#, "invalid type"),
        ];
        for (key, value, expected) in rows {
            let mut config = serde_json::to_value(Config::default()).expect("JSON");
            config[key] = serde_json::from_str(value).expect("JSON");
            let problem = Config::parse(&config).expect_err(key);
            assert!(problem.contains(expected), "{key}: {problem}");
        }
    }
}
