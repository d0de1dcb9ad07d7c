//! What is debated in a challenge.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is debated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The topic.
    pub topic: String,
    /// What the agents should know.
    #[serde(default)]
    pub context: String,
    /// The directory its files are kept in, seen from the project; empty for none.
    #[serde(default)]
    pub workspace: String,
}

impl Input {
    /// Reads the input and checks it.
    pub fn parse(input: &Value) -> Result<Self, String> {
        let input = Self::deserialize(input).map_err(|error| format!("the input: {error}"))?;
        if input.topic.trim().is_empty() {
            Err("the topic is empty".to_owned())
        } else {
            Ok(input)
        }
    }
}
