//! One count under way: who counts how much, the method's own rule, and what is the same for all
//! methods around it.

use super::{
    Method, Reads, Weighs,
    ballot::Weight,
    columns::{Firsts, Votes},
    count::{Count, Elimination, Ended},
    exact::{Exact, Figure},
    matrix::Matrix,
    profile::{CONFIDENCE_DECIMALS, Profile},
    rules::Rules,
};
use num_bigint::BigInt;
use std::{borrow::Cow, collections::BTreeMap};

/// Who voted what is part of the working for up to so many ballots; beyond, nobody would read it.
const SHOWN_BALLOTS: usize = 40;

pub struct Counting<'a> {
    pub(super) profile: &'a Profile,
    pub(super) rules: &'a Rules,
    pub(super) votes: Votes,
    method: &'a Method,
    /// Of how many decimals the units of a vote are.
    decimals: u32,
    pub(super) has_scores: bool,
}

#[derive(Default)]
pub struct Found {
    /// Who wins, several when tied; empty when nobody does.
    pub(super) leaders: Vec<usize>,
    pub(super) scores: Vec<Exact>,
    pub(super) scores_are: &'static str,
    /// All votes, where a leader's score is a share of them.
    pub(super) total: Option<Exact>,
    pub(super) matrix: Option<Matrix>,
    pub(super) fallback_used: bool,
    pub(super) cycle: Vec<usize>,
    pub(super) rounds: Vec<Elimination>,
    pub(super) working: Vec<String>,
}

impl<'a> Counting<'a> {
    pub(super) fn new(method: &'a Method, profile: &'a Profile, rules: &'a Rules) -> Self {
        let confidence = method.weighs == Weighs::WeightAndConfidence;
        let units = |weight: Weight, stated: Option<u32>| match confidence {
            true => weight.units() * u128::from(stated.unwrap_or(10u32.pow(CONFIDENCE_DECIMALS))),
            false => weight.units(),
        };
        let (votes, decimals) = if confidence || rules.weigh {
            let all = profile
                .voters()
                .iter()
                .map(|voter| units(voter.weight, voter.confidence));
            (
                Votes::Units(all.collect()),
                Weight::DECIMALS + if confidence { CONFIDENCE_DECIMALS } else { 0 },
            )
        } else {
            (Votes::One, 0)
        };
        let has_scores = method.reads == Reads::Scores
            && profile.voters().iter().any(|voter| voter.scores.is_some());
        Self {
            profile,
            rules,
            votes,
            method,
            decimals,
            has_scores,
        }
    }

    pub(super) fn run(&self) -> Count {
        let (voters, abstained) = self.present();
        let mut working = self.opening(voters, &abstained);
        let zeros = vec![Exact::zero(); self.profile.candidates().len()];
        if voters == 0 {
            working.push("No ballot counts: nothing is decided.".to_owned());
            let found = Found {
                scores: zeros,
                scores_are: "votes",
                ..Found::default()
            };
            return Count {
                abstained,
                working,
                ..self.close(found, Ended::NoQuorum, None)
            };
        }
        let mut found = (self.method.rule)(self);
        working.append(&mut found.working);
        self.hold_to_threshold(&mut found, &mut working);
        let (winner, tie_break) = self.chosen(&found.leaders, &mut working);
        let ended = match (&found.leaders[..], winner) {
            ([], _) => Ended::None,
            (_, Some(_)) => Ended::Decided,
            (_, None) => Ended::Tie,
        };
        let count = self.close(found, ended, winner);
        Count {
            tie_break,
            voters,
            abstained,
            working,
            ..count
        }
    }

    /// How many ballots count, and whose do not.
    fn present(&self) -> (usize, Vec<String>) {
        let ranked = self.profile.ranked();
        if let (Reads::Ranking, Votes::One) = (self.method.reads, &self.votes) {
            // Those who rank come first, and the others are in order: nobody needs to be looked at
            // one by one.
            return (
                ranked,
                self.profile.voters()[ranked..]
                    .iter()
                    .map(|voter| voter.name.clone())
                    .collect(),
            );
        }
        let mut voters = 0;
        let mut abstained = Vec::new();
        for (at, voter) in self.profile.voters().iter().enumerate() {
            if !self.speaks(at) {
                abstained.push(voter.name.clone());
            } else if self.votes.of(at) > 0 {
                voters += 1;
            }
        }
        abstained.sort();
        (voters, abstained)
    }

    /// Whether a voter's ballot says anything to this method.
    fn speaks(&self, voter: usize) -> bool {
        let ranks = voter < self.profile.ranked();
        match self.method.reads {
            Reads::Ranking => ranks,
            Reads::Approvals => ranks || self.profile.voters()[voter].approves.is_some(),
            Reads::Scores => {
                self.profile.voters()[voter].scores.is_some() || (ranks && !self.has_scores)
            }
        }
    }

    fn opening(&self, voters: usize, abstained: &[String]) -> Vec<String> {
        let mut working = Vec::new();
        if self.profile.len() <= SHOWN_BALLOTS {
            for cast in self.profile.cast() {
                let weight = if cast.weight == Weight::ONE {
                    String::new()
                } else {
                    format!(" (weight {})", cast.weight)
                };
                working.push(format!("{}: {}{weight}", cast.voter, cast.in_words()));
            }
        }
        let weighed = match (self.method.weighs, self.rules.weigh) {
            (Weighs::WeightAndConfidence, _) => "each by weight × confidence",
            (Weighs::One, true) => "each by its weight",
            (Weighs::One, false) => "one vote each",
        };
        let nothing = self.profile.len() - voters - abstained.len();
        let mut line = format!(
            "{voters} of {} ballots count, {weighed}",
            self.profile.len()
        );
        if !abstained.is_empty() {
            line.push_str(&format!(
                "; {} {}",
                abstained.len(),
                if abstained.len() == 1 {
                    "abstains"
                } else {
                    "abstain"
                }
            ));
        }
        if nothing > 0 {
            line.push_str(&format!("; {nothing} of weight 0"));
        }
        working.push(format!("{line}."));
        working
    }

    /// First choices by candidate; a shared first place is divided equally.
    pub(super) fn firsts(&self) -> Vec<Exact> {
        self.summed(self.profile.columns.firsts(&self.votes))
    }

    /// The same when only some candidates are left; by place in `remaining`.
    pub(super) fn firsts_among(&self, remaining: &[usize]) -> Vec<Exact> {
        self.summed(self.profile.columns.firsts_among(remaining, &self.votes))
    }

    fn summed(&self, firsts: Firsts) -> Vec<Exact> {
        // In parts that every tier can be divided into: adding a fraction for each size of tier
        // would be most of the work.
        let parts = firsts
            .shared
            .keys()
            .fold(BigInt::from(1), |parts, &size| common_multiple(parts, size));
        let mut sums: Vec<BigInt> = firsts
            .sole
            .into_iter()
            .map(|units| units * &parts)
            .collect();
        for (size, units) in firsts.shared {
            let share = &parts / size;
            for (sum, units) in sums.iter_mut().zip(units).filter(|(_, units)| *units > 0) {
                *sum += &share * units;
            }
        }
        sums.into_iter()
            .map(|units| self.exact(units).split(parts.clone()))
            .collect()
    }

    pub(super) fn exact(&self, units: impl Into<BigInt>) -> Exact {
        Exact::of_units(units, self.decimals)
    }

    pub(super) fn total(&self) -> Exact {
        match &self.votes {
            Votes::One => Exact::whole(self.profile.ranked()),
            Votes::Units(units) => self.exact(units[..self.profile.ranked()].iter().sum::<u128>()),
        }
    }

    pub(super) fn matrix(&self) -> Matrix {
        Matrix::new(
            self.profile.columns.candidates(),
            self.profile.columns.pairwise(&self.votes),
            self.decimals,
        )
    }

    /// The same as it stands in a result.
    pub(super) fn pairwise(&self) -> BTreeMap<String, BTreeMap<String, Figure>> {
        self.matrix()
            .figures(self.profile.candidates(), self.weighed())
    }

    fn pairwise_are(&self) -> &'static str {
        match (&self.votes, self.method.weighs) {
            (Votes::One, _) => "votes",
            (Votes::Units(_), Weighs::One) => "votes by weight",
            (Votes::Units(_), Weighs::WeightAndConfidence) => "votes by weight × confidence",
        }
    }

    fn weighed(&self) -> bool {
        matches!(self.votes, Votes::Units(_))
    }

    /// Takes the win away from leaders that lack the share that was asked for.
    fn hold_to_threshold(&self, found: &mut Found, working: &mut Vec<String>) {
        let Some(threshold) = self.rules.threshold else {
            return;
        };
        let (Some(total), Some(&leader)) = (&found.total, found.leaders.first()) else {
            if found.total.is_none() {
                working.push(format!(
                    "{} counts no shares: the threshold is not used.",
                    self.method.name
                ));
            }
            return;
        };
        let votes = &found.scores[leader];
        let reached = threshold.reached_exactly(votes, total);
        let (names, has) = (
            self.names(&found.leaders),
            if found.leaders.len() > 1 {
                "have each"
            } else {
                "has"
            },
        );
        let verdict = if reached {
            "that reaches"
        } else {
            "that is below"
        };
        let share = votes.by(total).approximately();
        working.push(format!(
            "{names} {has} {votes} of {total} ({share}): {verdict} the share of {} that is needed.",
            threshold.value
        ));
        if !reached {
            found.leaders.clear();
        }
    }

    /// The winner among the leaders, and the rule that was needed to find it.
    fn chosen(
        &self,
        leaders: &[usize],
        working: &mut Vec<String>,
    ) -> (Option<usize>, Option<String>) {
        let mut tied = leaders.to_vec();
        let mut used = Vec::new();
        if tied.len() > 1 {
            working.push(format!("{} are tied.", self.names(&tied)));
        }
        for rule in &self.rules.tie_break.0 {
            if tied.len() < 2 {
                break;
            }
            let left = rule.narrow(self, &tied);
            if left.len() == tied.len() {
                working.push(format!("The tie-break `{rule}` does not tell them apart."));
                continue;
            }
            working.push(format!(
                "The tie-break `{rule}` leaves {}.",
                self.names(&left)
            ));
            used.push(rule.to_string());
            tied = left;
        }
        let winner = (tied.len() == 1).then(|| tied[0]);
        working.push(match winner {
            Some(winner) => format!("{} wins.", self.profile.candidates()[winner]),
            None if leaders.is_empty() => "Nobody wins.".to_owned(),
            None => "The tie stands: no rule that separates them was asked for.".to_owned(),
        });
        let used = (winner.is_some() && !used.is_empty()).then(|| used.join(","));
        (winner, used)
    }

    fn close(&self, found: Found, ending: Ended, winner: Option<usize>) -> Count {
        let candidates = self.profile.candidates();
        let weighed = self.weighed();
        let leader = found.scores.iter().max();
        let share = found
            .total
            .as_ref()
            .zip(leader)
            .map(|(total, most)| most.by(total).approximately());
        let total = found
            .total
            .as_ref()
            .and_then(|total| Figure::all(std::iter::once(total), weighed).pop());
        Count {
            method: self.method.name.to_owned(),
            winners: self.sorted(&found.leaders),
            winner: winner.map(|at| candidates[at].clone()),
            tie_break: None,
            ending,
            scores: self.by_name(&found.scores),
            scores_are: found.scores_are.to_owned(),
            total,
            share,
            pairwise: found
                .matrix
                .map(|matrix| matrix.figures(candidates, weighed))
                .unwrap_or_default(),
            pairwise_are: self.pairwise_are().to_owned(),
            fallback_used: found.fallback_used,
            cycle: self.sorted(&found.cycle),
            rounds: found.rounds,
            voters: 0,
            abstained: Vec::new(),
            working: Vec::new(),
        }
    }

    /// Scores as they stand in a result.
    pub(super) fn by_name(&self, scores: &[Exact]) -> BTreeMap<String, Figure> {
        let all: Vec<usize> = (0..scores.len()).collect();
        self.by_name_among(&all, scores)
    }

    pub(super) fn by_name_among(
        &self,
        candidates: &[usize],
        scores: &[Exact],
    ) -> BTreeMap<String, Figure> {
        let figures = Figure::all(scores.iter(), self.weighed());
        candidates
            .iter()
            .map(|&at| self.profile.candidates()[at].clone())
            .zip(figures)
            .collect()
    }

    pub(super) fn sorted(&self, candidates: &[usize]) -> Vec<String> {
        let mut names: Vec<String> = candidates
            .iter()
            .map(|&at| self.profile.candidates()[at].clone())
            .collect();
        names.sort();
        names
    }

    /// Candidates in a sentence: `A, B and C`.
    pub(super) fn names(&self, candidates: &[usize]) -> String {
        let names: Vec<String> = self
            .sorted(candidates)
            .iter()
            .map(|name| in_a_list(name).into_owned())
            .collect();
        match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => "nobody".to_owned(),
        }
    }

    /// Scores in a sentence: `A 2, B 3.5`, the highest first.
    pub(super) fn listed(&self, candidates: &[usize], scores: &[Exact]) -> String {
        let mut rows: Vec<(&Exact, &String)> = scores
            .iter()
            .zip(candidates.iter().map(|&at| &self.profile.candidates()[at]))
            .collect();
        rows.sort_by(|a, b| b.0.cmp(a.0).then(a.1.cmp(b.1)));
        rows.iter()
            .map(|(score, name)| format!("{} {score}", in_a_list(name)))
            .collect::<Vec<_>>()
            .join(", ")
    }

    pub(super) fn listed_all(&self, scores: &[Exact]) -> String {
        let all: Vec<usize> = (0..scores.len()).collect();
        self.listed(&all, scores)
    }
}

/// Names one after another: `A, B, "C, junior"`.
pub fn list(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    names
        .map(|name| in_a_list(name.as_ref()).into_owned())
        .collect::<Vec<_>>()
        .join(", ")
}

/// A name among others: in quotes if it holds a comma, which would make two names of it.
fn in_a_list(name: &str) -> Cow<'_, str> {
    if name.contains(',') {
        format!("{name:?}").into()
    } else {
        name.into()
    }
}

pub(super) fn highest(scores: &[Exact]) -> Vec<usize> {
    let most = scores.iter().max();
    (0..scores.len())
        .filter(|&at| Some(&scores[at]) == most)
        .collect()
}

/// The smallest number that both divide.
fn common_multiple(whole: BigInt, size: u64) -> BigInt {
    let (mut divisor, mut rest) = (BigInt::from(size), &whole % size);
    while rest > BigInt::ZERO {
        let next = &divisor % &rest;
        (divisor, rest) = (rest, next);
    }
    whole * size / divisor
}
