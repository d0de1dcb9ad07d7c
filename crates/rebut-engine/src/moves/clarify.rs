//! Clarifying before the work: open questions, who answers them, and when there is nothing left to
//! ask. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// What is wanted.
    Requirements,
    /// What must not be done or used.
    Constraints,
    /// What happens at the edges.
    EdgeCases,
    /// How fast, how large.
    Performance,
    /// What it has to fit to.
    Integration,
}

impl Category {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requirements => "requirements",
            Self::Constraints => "constraints",
            Self::EdgeCases => "edge_cases",
            Self::Performance => "performance",
            Self::Integration => "integration",
        }
    }
}

/// How much depends on the answer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// The code would be another one.
    High,
    /// A part of it would.
    Medium,
    /// Hardly anything.
    Low,
}

/// An answer that a person gave before anybody asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GivenAnswer {
    /// A category, or words that a question about it would hold.
    pub about: String,
    /// The answer.
    pub answer: String,
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clarification {
    /// In which round it was asked.
    pub round: u32,
    /// What it is about.
    pub category: Category,
    /// How much depends on it.
    pub priority: Priority,
    /// The question.
    pub question: String,
    /// The answer; `None` when nobody gave one.
    pub answer: Option<String>,
    /// Whose answer it is: `user`, or an agent's name.
    pub by: String,
}

/// What a person said about a question, if anything: by its category, or by words that it holds.
pub fn by_user<'a>(
    given: &'a [GivenAnswer],
    category: Category,
    question: &str,
) -> Option<&'a str> {
    let asked = question.to_lowercase();
    let fits = |answer: &&GivenAnswer| {
        let about = answer.about.trim().to_lowercase();
        !about.is_empty()
            && (about.replace([' ', '-'], "_") == category.as_str() || asked.contains(&about))
    };
    given.iter().find(fits).map(|answer| answer.answer.as_str())
}

/// Whether to stop asking: nothing is open, or whoever asks is sure enough.
pub fn is_clear(confidence: f64, open: usize, enough: f64) -> bool {
    open == 0 || confidence > enough
}

/// A task of fewer words than `from` is simple: asking about it costs more than it brings. 0 asks
/// about every task.
pub fn is_simple(task: &str, from: usize) -> bool {
    task.split_whitespace().count() < from
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_answers_by_category_or_by_words_and_nothing_is_guessed() {
        let given = |about: &str| GivenAnswer {
            about: about.to_owned(),
            answer: "yes".to_owned(),
        };
        let rows = [
            (
                "edge_cases",
                Category::EdgeCases,
                "What of an empty list?",
                true,
            ),
            (
                "Edge cases",
                Category::EdgeCases,
                "What of an empty list?",
                true,
            ),
            (
                "empty list",
                Category::Requirements,
                "What of an EMPTY LIST?",
                true,
            ),
            (
                "full list",
                Category::Requirements,
                "What of an empty list?",
                false,
            ),
            ("", Category::Requirements, "What of an empty list?", false),
        ];
        for (about, category, question, expected) in rows {
            assert_eq!(
                by_user(&[given(about)], category, question).is_some(),
                expected,
                "{about}"
            );
        }
        assert_eq!(by_user(&[], Category::Constraints, "x"), None);
    }

    #[test]
    fn asking_ends_by_confidence_or_without_questions() {
        let rows = [
            (0.9, 1, false),
            (0.91, 1, true),
            (0.0, 0, true),
            (f64::NAN, 2, false),
            (1.0, 5, true),
        ];
        for (confidence, open, expected) in rows {
            assert_eq!(
                is_clear(confidence, open, 0.9),
                expected,
                "{confidence} {open}"
            );
        }
        assert!(
            is_simple("add two numbers", 4)
                && !is_simple("add two numbers", 3)
                && !is_simple("", 0)
        );
    }
}
