//! Quotations as they were checked, and what an argument is worth by them. Pure.

use crate::moves::quotes::{Source, bare};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A quotation, and whether it really stands in the idea.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quoted {
    /// Its words.
    pub quote: String,
    /// Whether they stand in the idea, in that order and spelling.
    pub verified: bool,
}

/// A few letters stand in every text and show nothing.
const SHORTEST: usize = 8;

pub fn look_up(source: &Source, evidence: &[String]) -> Vec<Quoted> {
    let letters = |quote: &str| quote.chars().filter(|c| c.is_alphanumeric()).count();
    evidence
        .iter()
        .map(|quote| Quoted {
            quote: quote.clone(),
            verified: letters(quote) >= SHORTEST && source.holds(quote),
        })
        .collect()
}

/// What an argument without any quotation is worth: it may be right, but shows nothing.
pub const WITHOUT_EVIDENCE: f64 = 0.5;

/// What an argument is worth: the share of its quotations that stand in the idea. An invented one
/// is worse than none. Each counts once, however often it is repeated: a true one cannot outnumber
/// an invented one.
pub fn strength(evidence: &[Quoted]) -> f64 {
    let distinct: BTreeMap<String, bool> = evidence
        .iter()
        .map(|quoted| (bare(&quoted.quote), quoted.verified))
        .collect();
    match distinct.len() {
        0 => WITHOUT_EVIDENCE,
        count => distinct.values().filter(|verified| **verified).count() as f64 / count as f64,
    }
}

/// What a side's words are worth: the mean of its arguments' strengths, and of those of its answers
/// that quote anything.
pub fn weight<'a>(
    arguments: impl IntoIterator<Item = &'a [Quoted]>,
    answers: impl IntoIterator<Item = &'a [Quoted]>,
) -> f64 {
    let quoting = answers.into_iter().filter(|evidence| !evidence.is_empty());
    let strengths: Vec<f64> = arguments.into_iter().chain(quoting).map(strength).collect();
    if strengths.is_empty() {
        0.0
    } else {
        strengths.iter().sum::<f64>() / strengths.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invented_quotation_is_found_and_lowers_its_argument() {
        let source = Source::new(
            "Nurses lose 40 minutes a shift to paper. Three clinics asked for a pilot.",
        );
        let rows: [(&[&str], &[bool], f64); 7] = [
            (&["Nurses lose 40 minutes a shift"], &[true], 1.0),
            (&[], &[], 0.5),
            (
                &["Nurses lose 40 minutes", "Thirty clinics asked for a pilot"],
                &[true, false],
                0.5,
            ),
            (&["Every hospital wants this"], &[false], 0.0),
            (&["shift"], &[false], 0.0),
            (
                &[
                    "Nurses lose 40",
                    "“Nurses lose\n40”",
                    "`Nurses lose 40`",
                    "made up words here",
                ],
                &[true, true, true, false],
                0.5,
            ),
            (
                &[
                    "Nurses lose 40 minutes",
                    "Three clinics asked",
                    "made up words here",
                ],
                &[true, true, false],
                2.0 / 3.0,
            ),
        ];
        for (quotes, verified, expected) in rows {
            let found = look_up(
                &source,
                &quotes
                    .iter()
                    .map(|quote| (*quote).to_owned())
                    .collect::<Vec<_>>(),
            );
            assert_eq!(
                found
                    .iter()
                    .map(|quoted| quoted.verified)
                    .collect::<Vec<_>>(),
                verified,
                "{quotes:?}"
            );
            assert_eq!(strength(&found), expected, "{quotes:?}");
        }
    }

    /// The evidence of each argument, of each answer, and what the side is worth.
    type Row<'a> = (Vec<&'a [Quoted]>, Vec<&'a [Quoted]>, f64);

    #[test]
    fn a_side_is_worth_the_mean_of_what_it_showed() {
        let quoted = |verified: bool| {
            vec![Quoted {
                quote: "q".to_owned(),
                verified,
            }]
        };
        let (good, bad, none) = (quoted(true), quoted(false), Vec::new());
        let rows: [Row<'_>; 5] = [
            (vec![&good], vec![], 1.0),
            (vec![&good, &bad], vec![], 0.5),
            (vec![&good], vec![&none, &none], 1.0),
            (vec![&good], vec![&bad], 0.5),
            (vec![], vec![], 0.0),
        ];
        for (arguments, answers, expected) in rows {
            assert_eq!(
                weight(arguments.iter().copied(), answers.iter().copied()),
                expected,
                "{arguments:?} {answers:?}"
            );
        }
    }
}
