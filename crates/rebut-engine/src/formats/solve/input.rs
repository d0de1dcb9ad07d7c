//! What is to be solved: the task and its tests.

use crate::{
    clean::on_one_line,
    lessons::{Given, Search},
    moves::clarify::GivenAnswer,
    sandbox::{LANGUAGES, Style},
    suggest::suggest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is to be solved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The task, in words.
    pub task: String,
    /// The language of the code.
    pub language: String,
    /// Tests that everybody sees; empty for none.
    #[serde(default)]
    pub tests: String,
    /// How they are written; found out from the text when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Tests that score the result at the end. Nobody is shown a word of them.
    #[serde(default)]
    pub hidden_tests: String,
    /// How these are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_style: Option<Style>,
    /// The name that tests call; empty when the task says it.
    #[serde(default)]
    pub entry_point: String,
    /// What the agents should know: files, notes.
    #[serde(default)]
    pub context: String,
    /// Answers to questions that might come up.
    #[serde(default)]
    pub answers: Vec<GivenAnswer>,
    /// Lessons of earlier debates that may help here.
    #[serde(default)]
    pub lessons: Vec<Given>,
    /// How they were looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lessons_search: Option<Search>,
}

impl Input {
    /// Reads the input and checks it.
    pub fn parse(input: &Value) -> Result<Self, String> {
        let mut input = Self::deserialize(input).map_err(|error| format!("the input: {error}"))?;
        if input.task.trim().is_empty() {
            return Err("the task is empty".to_owned());
        }
        input.language = input.language.trim().to_lowercase();
        if !LANGUAGES.contains(&input.language.as_str()) {
            let meant = suggest(&input.language, LANGUAGES.iter().copied())
                .map(|meant| format!("did you mean `{meant}`? "))
                .unwrap_or_default();
            return Err(format!(
                "there is no language `{}`; {meant}Known: {}",
                on_one_line(&input.language),
                LANGUAGES.join(", ")
            ));
        }
        Ok(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_input_needs_a_task_and_a_known_language() {
        let parse =
            |task: &str, language: &str| Input::parse(&json!({"task": task, "language": language}));
        assert_eq!(
            parse("add", " Python ").map(|input| input.language),
            Ok("python".to_owned())
        );
        for (task, language) in [
            ("", "python"),
            (" \n", "python"),
            ("add", ""),
            ("add", "pythn"),
            ("add", "cobol"),
        ] {
            assert!(parse(task, language).is_err(), "{task:?} {language:?}");
        }
        assert!(
            parse("add", "pythn")
                .expect_err("unknown")
                .contains("did you mean `python`")
        );
    }
}
