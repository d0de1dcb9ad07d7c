//! Who votes on what: candidates and ballots, checked, in the form that counting reads. Pure.

use super::{
    ballot::{Ballot, Weight},
    columns::Columns,
    gather::{Gather, Kept},
    problem::Problem,
};
use std::collections::BTreeMap;

/// More candidates than anybody can rank.
pub const MOST_CANDIDATES: usize = 1000;
/// More ballots than one machine should be asked to hold.
pub const MOST_BALLOTS: usize = 10_000_000;
pub const MOST_CELLS: usize = 400_000_000;

/// Scores are read to so many decimals.
pub(super) const SCORE_DECIMALS: u32 = 18;
/// Confidences are read to so many decimals.
pub(super) const CONFIDENCE_DECIMALS: u32 = 6;

/// Candidates and ballots, checked and ready to be counted. The same for any order the ballots came
/// in.
#[derive(Clone, Debug)]
pub struct Profile {
    candidates: Vec<String>,
    /// Those with a ranking first, each part by name.
    voters: Vec<Voter>,
    pub(super) columns: Columns,
    /// How many candidates each ranking names.
    named: Vec<u16>,
}

/// What is kept of a ballot besides its ranking.
#[derive(Clone, Debug)]
pub(super) struct Voter {
    pub name: String,
    pub weight: Weight,
    pub confidence: Option<u32>,
    pub approves: Option<Box<[u16]>>,
    pub scores: Option<Box<[(u16, i128)]>>,
}

impl Profile {
    /// Takes ballots that are right in everything, or says all that is wrong.
    pub fn new(candidates: Vec<String>, ballots: Vec<Ballot>) -> Result<Self, Vec<Problem>> {
        let (profile, problems) = Self::lenient(candidates, ballots);
        if problems.is_empty() {
            Ok(profile)
        } else {
            Err(problems)
        }
    }

    /// Takes what can be taken, and says what was wrong and what it did about it.
    pub fn lenient(candidates: Vec<String>, ballots: Vec<Ballot>) -> (Self, Vec<Problem>) {
        let mut draft = Gather::new(candidates);
        for ballot in ballots {
            draft.add(ballot);
        }
        draft.finish()
    }

    /// Rankings that are numbers already: for each ballot in turn, each candidate's place, 0 the
    /// best, equals alike. Voters are called 1, 2, 3. Ballots beyond [`MOST_CELLS`] are left out,
    /// and all are if a candidate is listed twice or has no name.
    pub fn of_places(candidates: Vec<String>, places: &[u16]) -> Self {
        let count = candidates.len();
        let mut draft = Gather::new(candidates);
        let places = if draft.candidates.len() == count {
            places
        } else {
            &[]
        };
        let mut tiers: Vec<Vec<u16>> = Vec::new();
        for (row, places) in places
            .chunks_exact(count.max(1))
            .enumerate()
            .take(MOST_CELLS / count.max(1))
        {
            tiers.iter_mut().for_each(Vec::clear);
            for (candidate, &place) in (0..).zip(places) {
                let place = usize::from(place).min(count);
                if tiers.len() <= place {
                    tiers.resize(place + 1, Vec::new());
                }
                tiers[place].push(candidate);
            }
            draft.push_row(
                tiers
                    .iter()
                    .filter(|tier| !tier.is_empty())
                    .map(Vec::as_slice),
                count,
            );
            let name = (row + 1).to_string();
            draft.voters.push(Kept {
                voter: Voter {
                    name,
                    weight: Weight::ONE,
                    confidence: None,
                    approves: None,
                    scores: None,
                },
                row: Some(row),
            });
        }
        draft.finish().0
    }

    /// The candidates, in the order they were given.
    pub fn candidates(&self) -> &[String] {
        &self.candidates
    }

    /// How many ballots were handed in, abstentions among them.
    pub fn len(&self) -> usize {
        self.voters.len()
    }

    /// Whether no ballot was handed in.
    pub fn is_empty(&self) -> bool {
        self.voters.is_empty()
    }

    /// Every voter: name, weight and ranking, best first. Candidates a ballot does not name are
    /// left out; an abstention is empty.
    pub fn cast(&self) -> impl Iterator<Item = Cast<'_>> {
        self.voters.iter().enumerate().map(|(at, voter)| Cast {
            voter: &voter.name,
            weight: voter.weight,
            ranking: self.ranking(at),
        })
    }

    pub(super) fn assembled(
        candidates: Vec<String>,
        voters: Vec<Voter>,
        columns: Columns,
        named: Vec<u16>,
    ) -> Self {
        Self {
            candidates,
            voters,
            columns,
            named,
        }
    }

    pub(super) fn voters(&self) -> &[Voter] {
        &self.voters
    }

    pub fn ranked(&self) -> usize {
        self.columns.rows()
    }

    fn ranking(&self, voter: usize) -> Vec<Vec<&str>> {
        if voter >= self.ranked() {
            return Vec::new();
        }
        let mut tiers: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for (at, name) in self.candidates.iter().enumerate() {
            tiers
                .entry(self.columns.cell(at, voter))
                .or_default()
                .push(name);
        }
        let mut ranking: Vec<Vec<&str>> = tiers.into_values().rev().collect();
        if usize::from(self.named[voter]) < self.candidates.len() {
            ranking.pop();
        }
        ranking
    }

    /// How much memory the rankings take, for measurements.
    pub fn ranking_bytes(&self) -> usize {
        self.columns.bytes()
    }

    /// A plain sum over the rankings: what merely reading them costs, for measurements.
    pub fn checksum(&self) -> u64 {
        self.columns.checksum()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Cast<'a> {
    pub voter: &'a str,
    pub weight: Weight,
    /// Best first; whom it does not name is left out.
    pub ranking: Vec<Vec<&'a str>>,
}

impl Cast<'_> {
    /// As people write it: `B > A = C`.
    pub fn in_words(&self) -> String {
        if self.ranking.is_empty() {
            return "abstains".to_owned();
        }
        self.ranking
            .iter()
            .map(|tier| tier.join(" = "))
            .collect::<Vec<_>>()
            .join(" > ")
    }
}
