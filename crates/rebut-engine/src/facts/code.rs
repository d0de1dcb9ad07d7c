//! What is recorded about code: its versions, what was learned from failures, what tools were used
//! for.

use crate::sandbox::{Ran, shared_note};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Code at a milestone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CodeRecorded {
    /// Its number in the debate, from 1.
    pub version: u32,
    /// Whose candidate it is: an agent's name.
    pub candidate: Arc<str>,
    /// The turn it came with.
    pub turn: Arc<str>,
    /// Its language.
    pub language: String,
    /// The whole code.
    pub code: String,
    /// Tests that held, and how many there were; `None` when nothing ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCount>,
    /// 0 to 1, where somebody rated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<f64>,
    /// What can be counted in it.
    pub metrics: CodeMetrics,
    /// What changed since the candidate's version before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
}

/// How many tests held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCount {
    /// So many held …
    pub passed: u32,
    /// … of so many.
    pub total: u32,
    /// Whether the code ran in the process that judged it: then a hostile program could have forged
    /// what held.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_process: bool,
}

impl TestCount {
    pub fn of(ran: &Ran) -> Self {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            passed: number(ran.passed()),
            total: number(ran.tests.len()),
            shared_process: ran.shared_process,
        }
    }

    /// What has to be said beside the number of passes; mostly nothing.
    pub fn shared_note(&self) -> &'static str {
        shared_note(self.passed as usize, self.shared_process)
    }

    /// Whether it has passes that the code could have forged.
    pub fn is_shared(&self) -> bool {
        !self.shared_note().is_empty()
    }

    /// For an order in which more is better: how many passed, and of as many whether they were held
    /// apart from the code.
    pub fn strength(&self) -> (u32, bool) {
        (self.passed, !self.is_shared())
    }
}

/// What can be counted in code without running it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeMetrics {
    /// Lines that are not empty.
    pub lines: u32,
    /// Places where the course may go two ways.
    pub branches: u32,
    /// The deepest nesting, in levels of indentation or braces.
    pub depth: u32,
    /// What a linter found; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lints: Option<u32>,
}

impl CodeMetrics {
    pub fn words(&self) -> String {
        let lints = self
            .lints
            .map_or_else(|| "not linted".to_owned(), |lints| format!("{lints} lints"));
        format!(
            "{} lines, {} branches, {} deep, {lints}",
            self.lines, self.branches, self.depth
        )
    }
}

/// What an agent made of a failed attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReflectionRecorded {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// The run that showed it.
    pub run: Arc<str>,
    /// The cause behind it.
    pub root_cause: String,
    /// What went wrong.
    pub what_went_wrong: String,
    /// What to do differently.
    pub what_to_change: String,
    /// 0 to 1: how sure the agent is that this mends it.
    pub confidence: f64,
}

/// A lesson that holds beyond its debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LessonRecorded {
    /// The lesson, in one or two sentences.
    pub text: String,
    /// When it applies.
    pub applies_to: String,
    /// Whether a run showed that it helps: a failed attempt passed after it. Others are kept, and
    /// not shown to anybody.
    pub verified: bool,
    /// Whether that run shared the process of the code it judged: then its pass could be forged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_process: bool,
}

/// An agent used a tool, or tried to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCalled {
    /// The turn it belongs to.
    pub turn: Arc<str>,
    /// Which tool.
    pub tool: String,
    /// What it was given.
    pub arguments: Value,
    /// What it said; bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why it was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}
