//! The settings of challenge and their ranges.

use crate::formats::timeouts::check_seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who writes the personas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Casting {
    /// A model, unless a rehearsal takes part.
    Auto,
    /// Nobody: the built-in experts of the field.
    BuiltIn,
}

/// The settings of challenge, with the defaults of its preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rounds at most; in each the challengers speak once.
    pub max_rounds: u32,
    /// Seconds an agent has for one turn.
    pub timeout_per_agent: u64,
    /// Challengers that must have given a verdict.
    pub min_challengers: usize,
    /// Who writes the personas.
    pub personas: Casting,
    /// Whether an agreement without findings counts as partial.
    pub sceptical: bool,
    /// Whether challengers prove first that they can be asked.
    pub preflight: bool,
}

impl Default for Config {
    fn default() -> Self {
        toml::from_str(super::FORMAT.preset).expect("the compiled-in preset is tested to be valid")
    }
}

impl Config {
    /// Reads settings and checks their ranges.
    pub fn parse(config: &Value) -> Result<Self, String> {
        let config = Self::deserialize(config).map_err(|error| format!("challenge: {error}"))?;
        check_seconds("timeout_per_agent", config.timeout_per_agent)?;
        match config {
            Config {
                max_rounds: 0 | 21..,
                ..
            } => Err(format!(
                "max_rounds must be 1 to 20, not {}",
                config.max_rounds
            )),
            Config {
                min_challengers: 0, ..
            } => Err("min_challengers must be at least 1".to_owned()),
            _ => Ok(config),
        }
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
        assert_eq!(
            (Config::default().max_rounds, Config::default().personas),
            (5, Casting::Auto)
        );
    }
}
