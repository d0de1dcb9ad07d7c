//! What formats derive from replies besides positions and counts: verdicts, scores, conflicts,
//! personas. Recorded by `note`.

mod code;

pub use code::{
    CodeMetrics, CodeRecorded, LessonRecorded, ReflectionRecorded, TestCount, ToolCalled,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// A judge compared two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ruling {
    /// What it was about.
    pub about: String,
    /// The two sides, by name.
    pub sides: [String; 2],
    /// The side that was better; `None` is a draw.
    pub winner: Option<String>,
    /// Why, in the judge's words.
    pub reasoning: String,
    /// What mattered most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_points: Vec<String>,
    /// 0 to 1, as the judge says.
    pub confidence: f64,
    /// Points of each side, where the judge gives them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<String, f64>,
    /// Whether the verdict changed with the order in which the sides were shown, so that it is a
    /// draw.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flipped: bool,
    /// Whether the judge's model is of the family of a side's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_family: bool,
}

/// A verdict changed a score, or left it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreAdjusted {
    /// Which score.
    pub category: String,
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
    /// The confidence in it before, 0 to 1.
    pub confidence_before: f64,
    /// And after.
    pub confidence_after: f64,
    /// Why.
    pub why: String,
}

/// Proposals that cannot both be followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConflictsFound {
    /// Each of them, in a fixed order.
    pub conflicts: Vec<Conflict>,
}

/// Two proposals that cannot both be followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// Its name, e.g. `C1`.
    pub id: String,
    /// What both are about.
    pub target: String,
    /// What is wrong between them, in words.
    pub description: String,
    /// Who proposed the one and the other.
    pub agents: [Arc<str>; 2],
    /// Which proposals, by name.
    pub operations: [String; 2],
    /// Whether one adds what the other removes.
    pub is_direct: bool,
}

/// Which proposals stand, and which do not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergeRecorded {
    /// Those that stand, by name, in their order.
    pub merged: Vec<String>,
    /// Those that do not.
    pub dropped: Vec<String>,
}

/// An agent was given a persona.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PersonaRecorded {
    /// The field of the topic.
    pub domain: String,
    /// Who it is, in a few words.
    pub title: String,
    /// The whole text it is given.
    pub text: String,
    /// Whether a model wrote it; otherwise it is a built-in one.
    pub generated: bool,
}
