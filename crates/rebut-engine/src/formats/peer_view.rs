//! Hearing the others: neutral names, an order drawn from the seed, and quotes of a bounded length.

use crate::{clean, event::Position, record::Hash};
use std::fmt::Write;

/// What an agent is shown of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Other<'a> {
    /// The number in its neutral name, `J2`.
    pub number: usize,
    pub stance: &'a str,
    pub position: &'a Position,
}

/// Where a speaker stands in what a viewer is shown: sorted by this, nobody is always first.
pub(super) fn order(seed: u64, round: u32, viewer: &str, speaker: &str) -> Hash {
    Hash::of(format!("{seed}/{round}/{viewer}/{speaker}").as_bytes())
}

/// An agent's own last word, as it is reminded of it.
pub(super) fn own_words(position: &Position) -> String {
    let option = position.counted.as_deref().unwrap_or("nothing");
    let mut text = String::with_capacity(512);
    let _ = write!(
        text,
        "You recommended {option}, confidence {:.2}: {}",
        position.confidence,
        clean::one_line(&position.summary)
    );
    for (number, claim) in position.claims.iter().enumerate() {
        let _ = write!(
            text,
            "\n  #{}: {}",
            number + 1,
            clean::one_line(&claim.text)
        );
    }
    text
}

/// One argument is quoted at most this long to the others.
const QUOTED_CHARS: usize = 700;

/// What a judge reads in place of the others' words when it hears nobody.
const NOBODY: &str = "(no words of other judges reach you in this round)";

/// What the others hold and why, for a prompt.
pub(super) fn others_text(others: &[Other<'_>]) -> String {
    if others.is_empty() {
        return NOBODY.to_owned();
    }
    let mut text = String::with_capacity(1024);
    for Other {
        number,
        stance,
        position,
    } in others
    {
        let (option, summary) = (
            position.counted.as_deref().unwrap_or_default(),
            clean::one_line(&position.summary),
        );
        let summary = clean::shortened(&summary, QUOTED_CHARS);
        let _ = writeln!(
            text,
            "J{number} ({stance}) recommends {option}, confidence {:.2}: {summary}",
            position.confidence
        );
        for (at, claim) in position.claims.iter().enumerate() {
            let _ = writeln!(
                text,
                "  J{number}#{}: {}",
                at + 1,
                clean::shortened(&clean::one_line(&claim.text), QUOTED_CHARS)
            );
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
