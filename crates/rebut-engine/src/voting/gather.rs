//! Ballots on their way into a profile: each is checked, mended where it is wrong, and turned into
//! numbers. Pure.

use super::{
    ballot::Ballot,
    columns::Columns,
    exact::units,
    problem::{Problem, Problems},
    profile::{
        CONFIDENCE_DECIMALS, MOST_BALLOTS, MOST_CANDIDATES, MOST_CELLS, Profile, SCORE_DECIMALS,
        Voter,
    },
};
use std::collections::{BTreeSet, HashMap};

const MOST_SCORE: f64 = 1e12;

/// Takes ballots one by one, so that a large file need not be held as text and as ballots at once.
/// Problems are mended and kept.
#[derive(Debug)]
pub struct Gather {
    pub(super) candidates: Vec<String>,
    places: HashMap<String, u16>,
    pub(super) voters: Vec<Kept>,
    known: HashMap<String, usize>,
    rows: Vec<u16>,
    named: Vec<u16>,
    seen: usize,
    /// For each candidate, the last ballot that ranked it.
    last_named: Vec<usize>,
    problems: Problems,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub voter: Voter,
    pub row: Option<usize>,
}

impl Gather {
    /// Begins with the candidates that were stated; somebody must be.
    pub fn new(candidates: Vec<String>) -> Self {
        let mut gather = Self::of_named(candidates);
        if gather.candidates.is_empty() {
            gather
                .problems
                .add(None, None, "there are no candidates", "nobody can win");
        }
        gather
    }

    /// Begins with whomever the ballots name, where nobody stated the candidates. That may be
    /// nobody: it ends in `no_quorum`.
    pub fn of_named(candidates: Vec<String>) -> Self {
        let mut problems = Problems::default();
        let mut kept = Vec::new();
        let mut places = HashMap::new();
        for name in candidates {
            if name.trim().is_empty() {
                problems.add(None, None, "a candidate has no name", "left out");
            } else if places.contains_key(&name) {
                problems.add(
                    None,
                    None,
                    format!("the candidate `{name}` is listed twice"),
                    "counted once",
                );
            } else if kept.len() == MOST_CANDIDATES {
                problems.add(
                    None,
                    None,
                    format!("more than {MOST_CANDIDATES} candidates"),
                    format!("`{name}` is left out"),
                );
            } else {
                places.insert(name.clone(), kept.len() as u16);
                kept.push(name);
            }
        }
        let last_named = vec![0; kept.len()];
        let (voters, known, rows, named) = Default::default();
        Self {
            candidates: kept,
            places,
            voters,
            known,
            rows,
            named,
            seen: 0,
            last_named,
            problems,
        }
    }

    pub fn add(&mut self, ballot: Ballot) {
        self.seen += 1;
        let number = self.seen;
        if self.voters.len() >= MOST_BALLOTS || self.rows.len() + self.candidates.len() > MOST_CELLS
        {
            self.problems.add(
                Some(number),
                None,
                "too many ballots for so many candidates",
                "left out",
            );
            return;
        }
        let mut name = ballot.voter.clone();
        if name.trim().is_empty() {
            name = format!("#{number}");
            self.problems.add(
                Some(number),
                None,
                "the voter has no name",
                format!("called `{name}`"),
            );
        }
        let (confidence, scores) = (
            self.confidence(number, &ballot),
            self.scores(number, &ballot),
        );
        let approves = ballot
            .approves
            .as_ref()
            .map(|names| self.approved(number, &ballot, names));
        let row = self.ranking(number, &ballot);
        let kept = Kept {
            voter: Voter {
                name: name.clone(),
                weight: ballot.weight,
                confidence,
                approves,
                scores,
            },
            row,
        };
        match self.known.get(&name) {
            Some(&earlier) => {
                self.problems.add(
                    Some(number),
                    Some(&name),
                    "this voter has another ballot",
                    "the last one counts",
                );
                self.voters[earlier] = kept;
            }
            None => {
                self.known.insert(name, self.voters.len());
                self.voters.push(kept);
            }
        }
    }

    fn confidence(&mut self, number: usize, ballot: &Ballot) -> Option<u32> {
        let stated = ballot.confidence?;
        if !(0.0..=1.0).contains(&stated) {
            let what = format!("the confidence {stated} is not between 0 and 1");
            self.problems.add(
                Some(number),
                Some(&ballot.voter),
                what,
                "counted as if none was stated",
            );
            return None;
        }
        units(&stated.to_string(), CONFIDENCE_DECIMALS, true)
            .ok()
            .and_then(|millionths| u32::try_from(millionths).ok())
    }

    fn scores(&mut self, number: usize, ballot: &Ballot) -> Option<Box<[(u16, i128)]>> {
        let mut scores = Vec::new();
        for (name, &score) in ballot.scores.as_ref()? {
            let Some(candidate) = self.candidate(number, &ballot.voter, name) else {
                continue;
            };
            if !score.is_finite() || score.abs() > MOST_SCORE {
                let what = format!(
                    "the score {score} for `{name}` is not a number between -10^12 and 10^12"
                );
                self.problems.add(
                    Some(number),
                    Some(&ballot.voter),
                    what,
                    "counted as if none was given",
                );
                continue;
            }
            scores.extend(
                units(&score.to_string(), SCORE_DECIMALS, true)
                    .ok()
                    .map(|units| (candidate, units)),
            );
        }
        Some(scores.into())
    }

    fn approved(&mut self, number: usize, ballot: &Ballot, names: &[String]) -> Box<[u16]> {
        let mut approved = BTreeSet::new();
        for name in names {
            let Some(candidate) = self.candidate(number, &ballot.voter, name) else {
                continue;
            };
            if !approved.insert(candidate) {
                self.problems.add(
                    Some(number),
                    Some(&ballot.voter),
                    format!("`{name}` is approved twice"),
                    "counted once",
                );
            }
        }
        approved.into_iter().collect()
    }

    fn ranking(&mut self, number: usize, ballot: &Ballot) -> Option<usize> {
        let mut named = 0;
        let mut tiers: Vec<Vec<u16>> = Vec::new();
        for names in &ballot.ranking {
            let mut tier = Vec::new();
            for name in names {
                let Some(candidate) = self.candidate(number, &ballot.voter, name) else {
                    continue;
                };
                if std::mem::replace(&mut self.last_named[usize::from(candidate)], number) != number
                {
                    tier.push(candidate);
                    named += 1;
                } else {
                    self.problems.add(
                        Some(number),
                        Some(&ballot.voter),
                        format!("`{name}` is ranked twice"),
                        "its best place counts",
                    );
                }
            }
            if names.is_empty() {
                self.problems.add(
                    Some(number),
                    Some(&ballot.voter),
                    "a tier of the ranking is empty",
                    "left out",
                );
            }
            tiers.extend((!tier.is_empty()).then_some(tier));
        }
        if tiers.is_empty() {
            return None;
        }
        let is_missing = |candidate: &u16| self.last_named[usize::from(*candidate)] != number;
        tiers.push(
            (0..)
                .take(self.candidates.len())
                .filter(is_missing)
                .collect(),
        );
        let row = self.named.len();
        self.push_row(tiers.iter().map(Vec::as_slice), named);
        Some(row)
    }

    /// Adds a row of half points: twice the number below, plus the number of equals.
    pub(super) fn push_row<'a>(&mut self, tiers: impl Iterator<Item = &'a [u16]>, named: usize) {
        let start = self.rows.len();
        let mut below = self.candidates.len();
        self.rows.resize(start + below, 0);
        for tier in tiers.filter(|tier| !tier.is_empty()) {
            below -= tier.len();
            for &candidate in tier {
                self.rows[start + usize::from(candidate)] = (2 * below + tier.len() - 1) as u16;
            }
        }
        self.named.push(named as u16);
    }

    fn candidate(&mut self, number: usize, voter: &str, name: &str) -> Option<u16> {
        let found = self.places.get(name).copied();
        if found.is_none() {
            self.problems.unknown(number, voter, name, &self.candidates);
        }
        found
    }

    /// The profile, and what was wrong.
    pub fn finish(self) -> (Profile, Vec<Problem>) {
        let Self {
            candidates,
            mut voters,
            rows,
            named,
            problems,
            ..
        } = self;
        voters.sort_by(|a, b| {
            (a.row.is_none(), &a.voter.name).cmp(&(b.row.is_none(), &b.voter.name))
        });
        let width = candidates.len();
        let order: Vec<usize> = voters.iter().map_while(|kept| kept.row).collect();
        let mut sorted = Vec::with_capacity(order.len() * width);
        let (mut shared_first, mut strict) = (Vec::new(), true);
        let mut seen = vec![usize::MAX; 2 * width];
        for (at, &row) in order.iter().enumerate() {
            let cells = &rows[row * width..][..width];
            let best = cells.iter().max();
            if cells.iter().filter(|cell| Some(*cell) == best).count() > 1 {
                shared_first.push(at as u32);
            }
            strict &= cells
                .iter()
                .all(|&cell| std::mem::replace(&mut seen[usize::from(cell)], at) != at);
            sorted.extend_from_slice(cells);
        }
        let named = order.iter().map(|&row| named[row]).collect();
        let columns = Columns::new(width, &sorted, shared_first, strict);
        let voters = voters.into_iter().map(|kept| kept.voter).collect();
        (
            Profile::assembled(candidates, voters, columns, named),
            problems.all(),
        )
    }
}
