//! What is reviewed: a text, or a change as a diff.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is reviewed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What it is called, for people.
    pub title: String,
    /// The text itself.
    pub text: String,
    /// Whether it is a text to be revised or a change to be judged.
    #[serde(default)]
    pub kind: TextKind,
    /// What a diff is against.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// The file a text was read from, for reports that point into it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
}

/// What kind of text is reviewed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// A prompt, a specification, any text: an editor revises it.
    #[default]
    Text,
    /// A unified diff: the merged operations are the review.
    Diff,
}

impl Input {
    /// Reads the input and checks it.
    pub fn parse(input: &Value) -> Result<Self, String> {
        let input = Self::deserialize(input).map_err(|error| format!("the input: {error}"))?;
        if input.text.trim().is_empty() {
            return Err("there is nothing to review: the text is empty".to_owned());
        }
        Ok(Self {
            title: crate::clean::on_one_line(&input.title),
            ..input
        })
    }
}
