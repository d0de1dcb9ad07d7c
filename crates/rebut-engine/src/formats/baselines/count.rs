//! Counting the answers of an arm, and its result. Pure.

use super::{program::Chosen, question::Question};
use crate::{
    clean,
    event::Tally,
    formats::{consensus::Bar, decide::result::Change},
    outcome::Ending,
    stopping::{Saved, Settled, settled, unassailable},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// What an arm found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmResult {
    /// The question's id.
    pub question_id: String,
    /// The option's id, or the answer in the words in which it came first; null when nobody won.
    pub winner: Option<String>,
    /// The option's label.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Who answered what. Whoever was asked several times is named with the step: `risk·2`.
    pub distribution: BTreeMap<String, Vec<Arc<str>>>,
    /// Answers that were counted.
    pub answers: u32,
    /// Calls made, at one per turn; clarifications and retries come on top and are in the usage.
    pub calls: u32,
    /// What an early stop spared.
    pub saved: Option<Saved>,
    /// The count after each round, where agents heard each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundCount>,
    /// Who changed its answer, where agents heard each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The program that was taken, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Chosen>,
}

/// The count after one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundCount {
    /// Which round.
    pub round: u32,
    /// Who would have won then.
    pub winner: Option<String>,
    /// Who stood for what.
    pub distribution: BTreeMap<String, Vec<Arc<str>>>,
}

impl Bar {
    /// Why no answer still to come can change who wins, if that is so.
    pub fn decided(self, tally: &Tally, to_come: usize) -> Option<String> {
        let names: Vec<&String> = tally.distribution.keys().collect();
        let votes: Vec<u64> = tally
            .distribution
            .values()
            .map(|voters| voters.len() as u64)
            .collect();
        let remaining = vec![1; to_come];
        let shown = |at: usize| clean::shortened(&clean::on_one_line(names[at]), 60).into_owned();
        match self {
            Self::Plurality => {
                unassailable(&votes, &remaining).map(|at| format!("{} cannot be caught", shown(at)))
            }
            Self::Share(threshold) => {
                let reaches = |votes, ballots| threshold.reached(votes, ballots);
                Some(
                    match settled(&votes, tally.missing.len() as u64, &remaining, reaches)? {
                        Settled::Reached(at) => {
                            format!("{} keeps its share whatever comes", shown(at))
                        }
                        Settled::NotReached => {
                            format!("nobody can reach {} any more", threshold.value)
                        }
                    },
                )
            }
        }
    }

    /// How a finished count ends. `open` says that somebody of those planned did not answer: then
    /// nothing is called unanimous.
    pub fn ending(self, tally: &Tally, open: bool) -> Ending {
        let unanimous = !open && tally.share >= 1.0 && cast(tally) > 1;
        match self {
            _ if !tally.reached => Ending::Contested,
            Self::Share(_) => Ending::Consensus,
            Self::Plurality if unanimous => Ending::Consensus,
            Self::Plurality => Ending::Majority,
        }
    }
}

pub fn winner(tally: &Tally) -> Option<&String> {
    tally.leader.as_ref().filter(|_| tally.reached)
}

/// Ballots in a count, those that stand for nobody included.
pub fn cast(tally: &Tally) -> usize {
    tally.distribution.values().map(Vec::len).sum::<usize>() + tally.missing.len()
}

pub(super) fn summary(question: &Question, tally: &Tally) -> String {
    let cast = cast(tally);
    match winner(tally) {
        Some(answer) => {
            let votes = tally.distribution.get(answer).map_or(0, Vec::len);
            let few = if 2 * votes <= cast {
                " (plurality)"
            } else {
                ""
            };
            format!("{}, {votes} of {cast}{few}", named(question, answer))
        }
        None => {
            let sides = tally
                .distribution
                .iter()
                .map(|(answer, voters)| format!("{} {}", clean::on_one_line(answer), voters.len()));
            let missing =
                (!tally.missing.is_empty()).then(|| format!("missing {}", tally.missing.len()));
            sides.chain(missing).collect::<Vec<_>>().join(" · ")
        }
    }
}

/// An answer with the label of its option.
pub(super) fn named(question: &Question, answer: &str) -> String {
    let label = question
        .option(answer)
        .map(|option| clean::on_one_line(&option.label))
        .unwrap_or_default();
    format!("{} {label}", clean::on_one_line(answer))
        .trim()
        .to_owned()
}

/// The result of a count, before anything is said of rounds and changes.
pub(super) fn result(
    question: &Question,
    tally: &Tally,
    calls: u32,
    saved: Option<Saved>,
) -> ArmResult {
    let winner = winner(tally).cloned();
    let label = winner
        .as_deref()
        .and_then(|winner| question.option(winner))
        .map(|option| option.label.clone());
    ArmResult {
        question_id: question.input.question_id.clone(),
        label: label.unwrap_or_default(),
        winner,
        distribution: tally.distribution.clone(),
        answers: u32::try_from(tally.distribution.values().map(Vec::len).sum::<usize>())
            .unwrap_or(u32::MAX),
        calls,
        saved,
        rounds: Vec::new(),
        changes: Vec::new(),
        program: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::consensus::Ballot;

    /// Letters are answers, a dot is somebody missing.
    fn counted(bar: Bar, ballots: &str) -> Tally {
        let voters: Vec<Arc<str>> = (0..ballots.len())
            .map(|at| format!("v{at}").into())
            .collect();
        let letters: Vec<String> = ballots.chars().map(String::from).collect();
        let cast: Vec<(&Arc<str>, Ballot<'_>)> = voters
            .iter()
            .zip(&letters)
            .map(|(voter, letter)| {
                (
                    voter,
                    if letter == "." {
                        Ballot::Missing
                    } else {
                        Ballot::For(letter)
                    },
                )
            })
            .collect();
        bar.count("answer", &cast)
    }

    #[test]
    fn counts_end_as_the_bar_says() {
        let rows = [
            (0.0, "", false, None, Ending::Contested),
            (0.0, "A", false, Some("A"), Ending::Majority),
            (0.0, "AB", false, None, Ending::Contested),
            (0.0, "AA", false, Some("A"), Ending::Consensus),
            (0.0, "AA", true, Some("A"), Ending::Majority),
            (0.0, "AA.", false, Some("A"), Ending::Majority),
            (0.0, "..", false, None, Ending::Contested),
            (0.0, "AABCD", false, Some("A"), Ending::Majority),
            (0.0, "AABBC", false, None, Ending::Contested),
            (0.67, "AAB", false, Some("A"), Ending::Consensus),
            (0.67, "AAB", true, Some("A"), Ending::Consensus),
            (0.67, "AABB", false, None, Ending::Contested),
            (0.67, "A..", false, None, Ending::Contested),
            (0.4, "AABB", false, None, Ending::Contested),
        ];
        for (threshold, ballots, open, expected, ending) in rows {
            let bar = Bar::new(threshold).expect("in range");
            let tally = counted(bar, ballots);
            assert_eq!(
                (winner(&tally).map(String::as_str), bar.ending(&tally, open)),
                (expected, ending),
                "{ballots} at {threshold}"
            );
        }
        for bad in [-0.1, 1.1, f64::NAN] {
            assert!(Bar::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_early_stop_says_why() {
        let rows = [
            (0.0, "AAAAA", 4, Some("A cannot be caught")),
            (0.0, "AAAAB", 3, None),
            (0.0, "AAAAB", 2, Some("A cannot be caught")),
            (0.67, "AAAAAA", 3, Some("A keeps its share whatever comes")),
            (0.67, "AAAAAB", 3, None),
            (0.67, "AABB", 1, Some("nobody can reach 0.67 any more")),
        ];
        for (threshold, ballots, to_come, expected) in rows {
            let bar = Bar::new(threshold).expect("in range");
            assert_eq!(
                bar.decided(&counted(bar, ballots), to_come).as_deref(),
                expected,
                "{ballots} at {threshold}, {to_come} to come"
            );
        }
    }
}
