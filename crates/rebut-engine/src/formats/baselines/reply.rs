//! What the agents of an arm reply: one form, with options and without.

use super::grouping::normal_form;
use crate::{
    formats::{
        decide::replies::sentences,
        question::{number, option_of},
    },
    reply,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The letter of the option; without options the answer itself, as short as it can be.
    pub answer: String,
    /// How sure the agent is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
    /// The reason in one sentence.
    pub summary: String,
    /// One to five separate arguments, strongest first.
    #[serde(deserialize_with = "sentences")]
    pub reasons: Vec<String>,
}

reply!(Answer, "answer");

/// The most arguments one answer may bring. Five are asked for; a few more are not worth a
/// clarification.
const MOST_REASONS: usize = 8;

/// A free answer longer than this is an essay, and no two essays are ever the same.
const MOST_CHARS: usize = 300;

impl Answer {
    /// Normalises the answer to one of `ids`, where there are any, and checks the rest.
    pub fn check(&mut self, ids: &[String]) -> Result<(), String> {
        if !ids.is_empty() {
            self.answer = option_of("answer", &self.answer, ids)?;
        } else if normal_form(&self.answer).is_empty() {
            return Err("\"answer\" is empty".to_owned());
        } else if self.answer.trim().chars().count() > MOST_CHARS {
            return Err(format!(
                "\"answer\" is longer than {MOST_CHARS} characters; give the answer itself, and \
                 why in \"reasons\""
            ));
        }
        self.reasons.retain(|reason| !reason.trim().is_empty());
        if !(0.0..=1.0).contains(&self.confidence) {
            return Err(format!(
                "\"confidence\" must be from 0 to 1, not {}",
                self.confidence
            ));
        }
        if self.summary.trim().is_empty() {
            return Err("\"summary\" is empty".to_owned());
        }
        match self.reasons.len() {
            0 => Err("\"reasons\" is empty; give at least one argument".to_owned()),
            1..=MOST_REASONS => Ok(()),
            count => Err(format!(
                "{count} reasons; give one to five, never more than {MOST_REASONS}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_checked_and_normalised() {
        let ids = ["A".to_owned(), "B".to_owned()];
        let said = |answer: &str, confidence, summary: &str, reasons: &[&str]| Answer {
            answer: answer.to_owned(),
            confidence,
            summary: summary.to_owned(),
            reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
        };
        let long = "x".repeat(MOST_CHARS + 1);
        let rows = [
            (said("option b.", 0.5, "s", &["r"]), true, Ok("B")),
            (said("C", 0.5, "s", &["r"]), true, Err("one of A, B")),
            (said("C", 0.5, "s", &["r", " "]), false, Ok("C")),
            (said(" . ", 0.5, "s", &["r"]), false, Err("is empty")),
            (said(&long, 0.5, "s", &["r"]), false, Err("longer than")),
            (said("A", 1.5, "s", &["r"]), true, Err("from 0 to 1")),
            (said("A", f64::NAN, "s", &["r"]), true, Err("from 0 to 1")),
            (said("A", 0.5, " ", &["r"]), true, Err("summary")),
            (said("A", 0.5, "s", &[" "]), true, Err("at least one")),
        ];
        for (mut answer, with_options, expected) in rows {
            let checked = answer.check(if with_options { &ids } else { &[] });
            match expected {
                Ok(word) => assert_eq!((checked, answer.answer.as_str()), (Ok(()), word)),
                Err(part) => assert!(
                    checked.as_ref().is_err_and(|error| error.contains(part)),
                    "{checked:?} lacks {part:?}"
                ),
            }
        }
    }
}
