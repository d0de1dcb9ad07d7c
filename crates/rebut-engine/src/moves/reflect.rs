//! Trying again with what was learned: after a failed attempt its author reflects, and the next
//! attempt sees all reflections. Pure.

use crate::clean::on_one_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What an author made of a failed attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reflected {
    /// The attempt, from 1.
    pub attempt: u32,
    /// The cause behind it.
    pub root_cause: String,
    /// What went wrong.
    pub what_went_wrong: String,
    /// What to do differently.
    pub what_to_change: String,
    /// 0 to 1: how sure the author is that this mends it.
    pub confidence: f64,
}

/// Why no further attempt is made, or that one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Retry,
    Passed,
    /// There were as many attempts as there may be.
    Attempts,
    /// The author itself does not believe that another attempt would help.
    GivenUp,
    /// Nothing ran, so there is nothing to learn from.
    NothingRan,
}

/// What follows an attempt. `passed` is `None` when nothing ran; `confidence` is that of the
/// reflection on it, once there is one. Zero tests are never passed: whoever asks says
/// `Some(false)` or `None` then.
pub fn next(
    passed: Option<bool>,
    attempt: u32,
    most: u32,
    confidence: Option<f64>,
    give_up_below: f64,
) -> Next {
    match (passed, confidence) {
        (None, _) => Next::NothingRan,
        (Some(true), _) => Next::Passed,
        _ if attempt >= most => Next::Attempts,
        // NaN is no confidence.
        (_, Some(confidence)) if confidence.is_nan() || confidence < give_up_below => Next::GivenUp,
        _ => Next::Retry,
    }
}

/// All reflections for a prompt, the first one first.
pub fn in_words(reflections: &[Reflected]) -> String {
    if reflections.is_empty() {
        return "(none: this is the first attempt)".to_owned();
    }
    let mut text = String::new();
    for reflected in reflections {
        let line = |words: &str| on_one_line(words);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "After attempt {} (sure of the fix: {:.2})\n  root cause: {}\n  what went wrong: {}\n  \
             what to change: {}",
            reflected.attempt,
            reflected.confidence,
            line(&reflected.root_cause),
            line(&reflected.what_went_wrong),
            line(&reflected.what_to_change)
        );
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_end_by_a_pass_by_number_or_by_giving_up() {
        let rows = [
            (Some(true), 1, None, Next::Passed),
            (Some(false), 1, None, Next::Retry),
            (Some(false), 1, Some(0.8), Next::Retry),
            (Some(false), 1, Some(0.1), Next::Retry),
            (Some(false), 1, Some(0.05), Next::GivenUp),
            (Some(false), 1, Some(f64::NAN), Next::GivenUp),
            (Some(false), 3, Some(0.9), Next::Attempts),
            (Some(true), 3, Some(0.0), Next::Passed),
            (None, 1, None, Next::NothingRan),
        ];
        for (passed, attempt, confidence, expected) in rows {
            assert_eq!(
                next(passed, attempt, 3, confidence, 0.1),
                expected,
                "{passed:?} {attempt} {confidence:?}"
            );
        }
    }
}
