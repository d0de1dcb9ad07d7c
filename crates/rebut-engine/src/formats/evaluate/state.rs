//! What verdicts do to scores: bounded moves, one after the other, the same for the same verdicts.
//! Pure.
//!
//! A move is `max_score_change × (2 × confidence − 1) × weight`, cut to whole tenths: an arbiter as
//! sure as a coin moves nothing, and a side whose quotations were made up gains nothing by winning.
//! The advocate moves up, the challenger down, a draw not at all. The confidence in the score moves
//! with it, by `max_confidence_change`: a defended score is surer, a shaken one less. Then the
//! bounds hold, in the order of the verdicts: the sum of all moves, and the ends of the scale.

use crate::{facts::ScoreAdjusted, report::signed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Hundredths of a point, so that sums and bounds are exact.
type Hundredths = i64;

const SCALE: (Hundredths, Hundredths) = (100, 1000);
const SURE: (Hundredths, Hundredths) = (0, 100);
/// The confidence in a score that came without one: nobody knows.
pub const UNKNOWN_CONFIDENCE: f64 = 0.5;

/// Who was better on a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Winner {
    /// Who defends the idea.
    Advocate,
    /// Who attacks it.
    Challenger,
    /// Neither.
    Draw,
}

impl Winner {
    /// The winner by the number of the side.
    pub fn of(side: Option<usize>) -> Self {
        match side {
            Some(0) => Self::Advocate,
            Some(_) => Self::Challenger,
            None => Self::Draw,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Advocate => "advocate",
            Self::Challenger => "challenger",
            Self::Draw => "draw",
        }
    }

    fn sign(self) -> i64 {
        match self {
            Self::Advocate => 1,
            Self::Challenger => -1,
            Self::Draw => 0,
        }
    }
}

/// What a verdict says, as far as scores are concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub winner: Winner,
    /// How sure the arbiter is, from 0 to 1.
    pub confidence: f64,
    /// How well the winner's quotations stand in the idea, from 0 to 1.
    pub weight: f64,
}

/// How far verdicts may move things.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    score: Hundredths,
    total: Hundredths,
    confidence: Hundredths,
    total_confidence: Hundredths,
}

impl Bounds {
    /// Bounds per verdict and in all, for scores and for confidences.
    pub fn new(score: f64, total: f64, confidence: f64, total_confidence: f64) -> Self {
        // Downwards, so that a bound with more decimals is never overstepped.
        let bound = |value: f64| (value * 100.0 + 1e-6).floor() as Hundredths;
        Self {
            score: bound(score),
            total: bound(total),
            confidence: bound(confidence),
            total_confidence: bound(total_confidence),
        }
    }
}

/// All scores while verdicts come in.
#[derive(Clone, Debug)]
pub struct Board {
    bounds: Bounds,
    entries: BTreeMap<String, Entry>,
    sum: Hundredths,
    confidence_sum: Hundredths,
}

#[derive(Clone, Debug)]
struct Entry {
    before: [Hundredths; 2],
    now: [Hundredths; 2],
    why: Vec<String>,
}

/// One category's score before and after the debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scored {
    /// Before.
    pub pre: f64,
    /// After.
    pub post: f64,
    /// The difference.
    pub delta: f64,
    /// The confidence in it before.
    pub confidence_pre: f64,
    /// And after.
    pub confidence_post: f64,
    /// What each verdict on it did, and why.
    pub why: String,
}

/// The mean of all scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Before.
    pub pre: f64,
    /// After.
    pub post: f64,
    /// The difference.
    pub delta: f64,
}

impl Board {
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            entries: BTreeMap::new(),
            sum: 0,
            confidence_sum: 0,
        }
    }

    /// Puts a score on it, kept to two decimals.
    pub fn put(&mut self, category: &str, score: f64, confidence: f64) {
        let exact = |value: f64, (low, high): (Hundredths, Hundredths)| {
            ((value * 100.0).round() as Hundredths).clamp(low, high)
        };
        let before = [exact(score, SCALE), exact(confidence, SURE)];
        self.entries.insert(
            category.to_owned(),
            Entry {
                before,
                now: before,
                why: Vec::new(),
            },
        );
    }

    /// A category's score and the confidence in it now.
    pub fn now(&self, category: &str) -> Option<(f64, f64)> {
        self.entries
            .get(category)
            .map(|entry| (points(entry.now[0]), points(entry.now[1])))
    }

    /// Moves a category's score by a verdict on a topic. `None` if it has no score.
    pub fn apply(&mut self, category: &str, topic: &str, judged: &Judged) -> Option<ScoreAdjusted> {
        let entry = self.entries.get_mut(category)?;
        let before = entry.now;
        let drive = (2.0 * judged.confidence - 1.0).clamp(0.0, 1.0) * judged.weight.clamp(0.0, 1.0);
        // Whole tenths of a score and whole hundredths of a confidence, towards zero.
        let wanted = judged.winner.sign()
            * ((self.bounds.score as f64 * drive + 1e-6) as Hundredths / 10 * 10);
        let allowed = wanted.clamp(-self.bounds.total - self.sum, self.bounds.total - self.sum);
        entry.now[0] = (before[0] + allowed).clamp(SCALE.0, SCALE.1);
        self.sum += entry.now[0] - before[0];
        let surer =
            judged.winner.sign() * (self.bounds.confidence as f64 * drive + 1e-6) as Hundredths;
        let may = surer.clamp(
            -self.bounds.total_confidence - self.confidence_sum,
            self.bounds.total_confidence - self.confidence_sum,
        );
        entry.now[1] = (before[1] + may).clamp(SURE.0, SURE.1);
        self.confidence_sum += entry.now[1] - before[1];
        let moved = entry.now[0] - before[0];
        let held = match () {
            () if moved == wanted => String::new(),
            () if moved == allowed => format!(
                " instead of {}: the sum of all changes is at its bound",
                signed(points(wanted))
            ),
            () => format!(
                " instead of {}: the scale ends there",
                signed(points(wanted))
            ),
        };
        let who = match judged.winner {
            Winner::Draw => "a draw".to_owned(),
            winner => format!(
                "{} better, confidence {:.2}, evidence {:.2}",
                winner.as_str(),
                judged.confidence,
                judged.weight
            ),
        };
        Some(record(
            category,
            entry,
            before,
            format!("{topic}: {who}: {}{held}", signed(points(moved))),
        ))
    }

    /// Leaves a category's score as it is, and says why. `None` if it has no score.
    pub fn skip(&mut self, category: &str, topic: &str, why: &str) -> Option<ScoreAdjusted> {
        let entry = self.entries.get_mut(category)?;
        let before = entry.now;
        Some(record(
            category,
            entry,
            before,
            format!("{topic}: skipped, {why}: 0.0"),
        ))
    }

    pub fn scores(&self) -> BTreeMap<String, Scored> {
        let scored = |entry: &Entry| Scored {
            pre: points(entry.before[0]),
            post: points(entry.now[0]),
            delta: points(entry.now[0] - entry.before[0]),
            confidence_pre: points(entry.before[1]),
            confidence_post: points(entry.now[1]),
            why: if entry.why.is_empty() {
                "not judged".to_owned()
            } else {
                entry.why.join("; ")
            },
        };
        self.entries
            .iter()
            .map(|(category, entry)| (category.clone(), scored(entry)))
            .collect()
    }

    /// The mean before and after; `None` without any score.
    pub fn totals(&self) -> Option<Totals> {
        let count = self.entries.len() as f64;
        let mean = |of: fn(&Entry) -> Hundredths| {
            (self.entries.values().map(of).sum::<Hundredths>() as f64 / count).round() as Hundredths
        };
        let (pre, post) = (mean(|entry| entry.before[0]), mean(|entry| entry.now[0]));
        (!self.entries.is_empty()).then(|| Totals {
            pre: points(pre),
            post: points(post),
            delta: points(post - pre),
        })
    }
}

fn points(hundredths: Hundredths) -> f64 {
    hundredths as f64 / 100.0
}

fn record(
    category: &str,
    entry: &mut Entry,
    before: [Hundredths; 2],
    why: String,
) -> ScoreAdjusted {
    entry.why.push(why.clone());
    ScoreAdjusted {
        category: category.to_owned(),
        before: points(before[0]),
        after: points(entry.now[0]),
        confidence_before: points(before[1]),
        confidence_after: points(entry.now[1]),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::shown;
    use proptest::prelude::*;

    const USUAL: [f64; 4] = [3.0, 5.0, 0.3, 0.5];

    fn board(bounds: [f64; 4], scores: &[f64]) -> Board {
        let mut board = Board::new(Bounds::new(bounds[0], bounds[1], bounds[2], bounds[3]));
        for (number, score) in scores.iter().enumerate() {
            board.put(&format!("c{number}"), *score, 0.5);
        }
        board
    }

    #[test]
    fn one_verdict_moves_a_score_by_who_won_how_surely_and_on_what_evidence() {
        use Winner::{Advocate, Challenger, Draw};
        let rows = [
            // (score, winner, confidence, weight) → (score, confidence in it)
            ((7.0, Advocate, 1.0, 1.0), (10.0, 0.8)),
            ((7.0, Challenger, 1.0, 1.0), (4.0, 0.2)),
            ((7.0, Advocate, 0.72, 1.0), (8.3, 0.63)),
            ((7.0, Challenger, 0.8, 0.5), (6.1, 0.41)),
            ((7.0, Advocate, 0.9, 0.0), (7.0, 0.5)),
            ((7.0, Advocate, 0.5, 1.0), (7.0, 0.5)),
            ((7.0, Challenger, 0.2, 1.0), (7.0, 0.5)),
            ((7.0, Draw, 1.0, 1.0), (7.0, 0.5)),
            // The ends of the scale.
            ((9.5, Advocate, 1.0, 1.0), (10.0, 0.8)),
            ((1.2, Challenger, 1.0, 1.0), (1.0, 0.2)),
            ((6.66, Challenger, 0.6, 1.0), (6.06, 0.44)),
        ];
        for ((score, winner, confidence, weight), expected) in rows {
            let mut board = board(USUAL, &[score]);
            let adjusted = board
                .apply(
                    "c0",
                    "T",
                    &Judged {
                        winner,
                        confidence,
                        weight,
                    },
                )
                .expect("a score");
            assert_eq!(
                (adjusted.after, adjusted.confidence_after),
                expected,
                "{score} {winner:?} {confidence} {weight}"
            );
            assert_eq!(board.now("c0"), Some(expected));
        }
        assert_eq!(
            board(USUAL, &[]).apply(
                "c0",
                "T",
                &Judged {
                    winner: Advocate,
                    confidence: 1.0,
                    weight: 1.0
                }
            ),
            None
        );
    }

    #[test]
    fn the_sum_of_all_moves_is_bounded_in_order_and_the_reason_says_so() {
        let mut board = board(USUAL, &[5.0, 5.0, 5.0]);
        let win = Judged {
            winner: Winner::Advocate,
            confidence: 1.0,
            weight: 1.0,
        };
        let lose = Judged {
            winner: Winner::Challenger,
            ..win
        };
        let after: Vec<f64> = ["c0", "c1", "c2"]
            .iter()
            .map(|category| {
                board
                    .apply(category, category, &win)
                    .expect("a score")
                    .after
            })
            .collect();
        assert_eq!(after, [8.0, 7.0, 5.0], "3 + 2 + 0 is the bound of 5");
        let scores = board.scores();
        assert_eq!(
            scores["c0"].why,
            "c0: advocate better, confidence 1.00, evidence 1.00: +3.0"
        );
        assert_eq!(
            scores["c1"].why,
            "c1: advocate better, confidence 1.00, evidence 1.00: +2.0 instead of +3.0: the sum of \
             all changes is at its bound"
        );
        assert_eq!(
            (scores["c1"].confidence_post, scores["c2"].confidence_post),
            (0.7, 0.5)
        );
        assert_eq!(
            board.totals(),
            Some(Totals {
                pre: 5.0,
                post: 6.67,
                delta: 1.67
            })
        );
        assert_eq!(
            board
                .apply("c2", "again", &lose)
                .map(|adjusted| adjusted.after),
            Some(2.0),
            "a loss makes room again"
        );
        assert_eq!(
            board
                .skip("c2", "later", "the arbiter is missing")
                .map(|adjusted| adjusted.after),
            Some(2.0)
        );
        assert!(
            board.scores()["c2"]
                .why
                .ends_with("later: skipped, the arbiter is missing: 0.0"),
            "{:?}",
            board.scores()["c2"]
        );
    }

    #[test]
    fn numbers_are_shown_with_the_decimals_they_have() {
        let rows = [
            (0.0, "0.0", "0.0"),
            (7.0, "7.0", "+7.0"),
            (6.17, "6.17", "+6.17"),
            (0.4, "0.4", "+0.4"),
        ];
        for (value, plain, with_sign) in rows {
            assert_eq!(
                (shown(value).as_str(), signed(value).as_str()),
                (plain, with_sign)
            );
        }
        assert_eq!(signed(-1.2), "−1.2");
    }

    fn judged() -> impl Strategy<Value = (usize, Judged)> {
        let winner = prop_oneof![
            Just(Winner::Advocate),
            Just(Winner::Challenger),
            Just(Winner::Draw)
        ];
        (0..3usize, winner, 0.0..=1.0, 0.0..=1.0).prop_map(
            |(category, winner, confidence, weight)| {
                (
                    category,
                    Judged {
                        winner,
                        confidence,
                        weight,
                    },
                )
            },
        )
    }

    proptest! {
        #[test]
        fn no_run_of_verdicts_oversteps_a_bound(
            bounds in [0.0..9.0f64, 0.0..20.0f64, 0.0..1.0f64, 0.0..2.0f64],
            scores in prop::collection::vec(1.0..=10.0f64, 3),
            verdicts in prop::collection::vec(judged(), 0..20),
        ) {
            let (mut one, mut same) = (board(bounds, &scores), board(bounds, &scores));
            let (mut sum, mut sure) = (0.0, 0.0);
            for (category, judged) in &verdicts {
                let name = format!("c{category}");
                let moved = one.apply(&name, "T", judged).expect("a score");
                prop_assert_eq!(Some(moved.clone()), same.apply(&name, "T", judged));
                let (step, surer) = (moved.after - moved.before, moved.confidence_after - moved.confidence_before);
                sum += step;
                sure += surer;
                prop_assert!(step.abs() <= bounds[0] + 1e-9 && surer.abs() <= bounds[2] + 1e-9, "{:?}", moved);
                prop_assert!(sum.abs() <= bounds[1] + 1e-9 && sure.abs() <= bounds[3] + 1e-9, "{} \
                    {}", sum, sure);
                prop_assert!((1.0..=10.0).contains(&moved.after) && (0.0..=1.0).contains(&moved.confidence_after));
                let right_way = match judged.winner {
                    Winner::Advocate => step >= 0.0 && surer >= 0.0,
                    Winner::Challenger => step <= 0.0 && surer <= 0.0,
                    Winner::Draw => step == 0.0 && surer == 0.0,
                };
                prop_assert!(right_way, "{:?} {:?}", judged, moved);
            }
            for (category, scored) in one.scores() {
                prop_assert!((scored.post - scored.pre - scored.delta).abs() < 1e-9, "{}: \
                    {:?}", category, scored);
            }
        }

        #[test]
        fn worse_evidence_never_gains_more(score in 1.0..=10.0f64, (_, judged) in judged(), less in 0.0..=1.0f64) {
            let moved = |weight: f64| {
                let adjusted = board(USUAL, &[score]).apply("c0", "T", &Judged { weight, ..judged }).expect("a score");
                (adjusted.after - adjusted.before).abs()
            };
            prop_assert!(moved(judged.weight * less) <= moved(judged.weight) + 1e-9);
        }
    }
}
