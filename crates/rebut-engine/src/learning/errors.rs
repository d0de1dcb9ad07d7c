//! Who errs together, and how many independent voters a panel is worth.

use super::History;
use crate::family::family_of;
use std::collections::BTreeMap;

/// How much two agents that are the same model err together, in other roles or asked twice: the
/// correlation of their errors. Measured on blind answers of one model in two to seven roles: .52
/// to .61 on knowledge questions, .46 to .54 in mathematics.
pub const SAME_MODEL: f64 = 0.55;

/// The same for two models of one family. Measured on 66 pairs among 28 models: .39 on average.
pub const SAME_FAMILY: f64 = 0.39;

/// The same for models of different families, since hard questions are hard for all. Measured on
/// 312 pairs: .35 on average.
pub const STRANGERS: f64 = 0.35;

/// With fewer common questions, a correlation of two voters is noise (its standard error is about
/// 1/√n).
const ENOUGH: u64 = 50;

#[derive(Clone, Debug, PartialEq)]
pub struct Voter<'a> {
    pub model: &'a str,
    /// Its place in the history, if it is there.
    pub known: Option<usize>,
    /// What its vote counts; 1 where votes are equal.
    pub weight: f64,
}

/// How often each voter, and each pair of voters, erred on the same questions.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    pairs: BTreeMap<(usize, usize), Pair>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    both_answered: u64,
    first_wrong: u64,
    second_wrong: u64,
    both_wrong: u64,
    same_wrong: u64,
}

impl Errors {
    pub fn of(history: &History) -> Self {
        let mut pairs: BTreeMap<(usize, usize), Pair> = BTreeMap::new();
        for question in &history.questions {
            let answered: Vec<(usize, u16)> = question
                .choices
                .iter()
                .enumerate()
                .filter_map(|(voter, choice)| Some((voter, (*choice)?)))
                .collect();
            for (at, (first, one)) in answered.iter().enumerate() {
                for (second, other) in &answered[at + 1..] {
                    let wrong = (*one != question.right, *other != question.right);
                    let pair = pairs.entry((*first, *second)).or_default();
                    pair.both_answered += 1;
                    pair.first_wrong += u64::from(wrong.0);
                    pair.second_wrong += u64::from(wrong.1);
                    pair.both_wrong += u64::from(wrong.0 && wrong.1);
                    pair.same_wrong += u64::from(wrong.0 && wrong.1 && one == other);
                }
            }
        }
        Self { pairs }
    }

    /// The correlation of two voters' errors; `None` without common questions, or where one of them
    /// is always or never wrong.
    pub fn correlation(&self, one: usize, other: usize) -> Option<f64> {
        self.pairs
            .get(&(one.min(other), one.max(other)))?
            .correlation()
    }

    /// Where two voters are wrong: how often they choose the same wrong option, over all pairs.
    pub fn same_wrong(&self) -> Option<f64> {
        let (same, both) = self.pairs.values().fold((0, 0), |(same, both), pair| {
            (same + pair.same_wrong, both + pair.both_wrong)
        });
        (both > 0).then(|| same as f64 / both as f64)
    }

    /// The correlation that is used for two voters: the measured one where there is enough, else
    /// what is usual for such a pair.
    pub fn between(&self, one: &Voter<'_>, other: &Voter<'_>) -> f64 {
        let measured = one.known.zip(other.known).and_then(|(one, other)| {
            let pair = self.pairs.get(&(one.min(other), one.max(other)))?;
            pair.correlation().filter(|_| pair.both_answered >= ENOUGH)
        });
        // Below 0 two voters would be worth more than two; that is not believed of any history.
        measured
            .unwrap_or_else(|| usual(one.model, other.model))
            .clamp(0.0, 1.0)
    }
}

impl Pair {
    fn correlation(&self) -> Option<f64> {
        let n = self.both_answered as f64;
        let (first, second) = (self.first_wrong as f64 / n, self.second_wrong as f64 / n);
        let spread = (first * (1.0 - first) * second * (1.0 - second)).sqrt();
        (spread > 0.0)
            .then(|| ((self.both_wrong as f64 / n - first * second) / spread).clamp(-1.0, 1.0))
    }
}

/// The correlation that is usual for two models, by their names.
fn usual(one: &str, other: &str) -> f64 {
    if one == other {
        SAME_MODEL
    } else if family_of(one) == family_of(other) {
        SAME_FAMILY
    } else {
        STRANGERS
    }
}

/// How many independent voters a panel is worth: (Σw)² / ΣΣ wᵢ wⱼ ρᵢⱼ, Kish's effective sample size
/// with correlated errors. It is 0 for nobody, 1 for one, and never more than there are voters with
/// a weight.
pub fn effective_voters(voters: &[Voter<'_>], errors: &Errors) -> f64 {
    let heard: Vec<&Voter<'_>> = voters
        .iter()
        .filter(|voter| voter.weight.is_finite() && voter.weight > 0.0)
        .collect();
    // In parts of the largest, so that no weight is too large to be squared.
    let largest = heard.iter().map(|voter| voter.weight).fold(0.0, f64::max);
    let mut together = 0.0;
    for (at, one) in heard.iter().enumerate() {
        for (place, other) in heard.iter().enumerate() {
            let shared = if at == place {
                1.0
            } else {
                errors.between(one, other)
            };
            together += (one.weight / largest) * (other.weight / largest) * shared;
        }
    }
    let sum: f64 = heard.iter().map(|voter| voter.weight / largest).sum();
    if together > 0.0 {
        sum * sum / together
    } else {
        0.0
    }
}
