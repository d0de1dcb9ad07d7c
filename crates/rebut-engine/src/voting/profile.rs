//! Who votes on what: candidates and ballots, checked, in the form that counting reads. Pure.

use super::{
    ballot::{Ballot, Weight},
    columns::Columns,
    exact::units,
    problem::{Problem, Problems},
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// More candidates than anybody can rank.
pub const MOST_CANDIDATES: usize = 1000;
/// More ballots than one machine should be asked to hold.
pub const MOST_BALLOTS: usize = 10_000_000;
/// Ballots times candidates.
pub const MOST_CELLS: usize = 400_000_000;

/// Scores are read to so many decimals.
pub(super) const SCORE_DECIMALS: u32 = 18;
const MOST_SCORE: f64 = 1e12;
/// Confidences are read to so many decimals.
pub(super) const CONFIDENCE_DECIMALS: u32 = 6;

/// Candidates and ballots, checked and ready to be counted. The same for any order the ballots came in.
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
    /// In millionths.
    pub confidence: Option<u32>,
    pub approves: Option<Box<[u16]>>,
    pub scores: Option<Box<[(u16, i128)]>>,
}

impl Profile {
    /// Takes ballots that are right in everything, or says all that is wrong.
    pub fn new(candidates: Vec<String>, ballots: Vec<Ballot>) -> Result<Self, Vec<Problem>> {
        let (profile, problems) = Self::lenient(candidates, ballots);
        if problems.is_empty() { Ok(profile) } else { Err(problems) }
    }

    /// Takes what can be taken, and says what was wrong and what it did about it.
    pub fn lenient(candidates: Vec<String>, ballots: Vec<Ballot>) -> (Self, Vec<Problem>) {
        let mut draft = Draft::new(candidates);
        for ballot in ballots {
            draft.add(ballot);
        }
        draft.finish()
    }

    /// Rankings that are numbers already: for each ballot in turn, each candidate's place, 0 the best, equals alike. Voters
    /// are called 1, 2, 3. More candidates or ballots than [`MOST_CANDIDATES`] and [`MOST_CELLS`] allow are left out.
    pub fn of_places(candidates: Vec<String>, places: &[u16]) -> Self {
        let mut draft = Draft::new(candidates);
        let count = draft.candidates.len();
        let mut tiers: Vec<Vec<u16>> = Vec::new();
        for (row, places) in places.chunks_exact(count.max(1)).enumerate().take(MOST_CELLS / count.max(1)) {
            tiers.iter_mut().for_each(Vec::clear);
            for (candidate, &place) in (0..).zip(places) {
                let place = usize::from(place).min(count);
                if tiers.len() <= place {
                    tiers.resize(place + 1, Vec::new());
                }
                tiers[place].push(candidate);
            }
            draft.push_row(tiers.iter().filter(|tier| !tier.is_empty()).map(Vec::as_slice), count);
            let name = (row + 1).to_string();
            draft
                .voters
                .push(Kept { voter: Voter { name, weight: Weight::ONE, confidence: None, approves: None, scores: None }, row: Some(row) });
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

    /// Every voter: name, weight and ranking, best first. Candidates a ballot does not name are left out; an abstention is empty.
    pub fn cast(&self) -> impl Iterator<Item = Cast<'_>> {
        self.voters.iter().enumerate().map(|(at, voter)| Cast { voter: &voter.name, weight: voter.weight, ranking: self.ranking(at) })
    }

    pub(super) fn voters(&self) -> &[Voter] {
        &self.voters
    }

    /// How many voters have a ranking; they come first.
    pub(super) fn ranked(&self) -> usize {
        self.columns.rows()
    }

    fn ranking(&self, voter: usize) -> Vec<Vec<&str>> {
        if voter >= self.ranked() {
            return Vec::new();
        }
        let mut tiers: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for (at, name) in self.candidates.iter().enumerate() {
            tiers.entry(self.columns.cell(at, voter)).or_default().push(name);
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

/// Who voted what.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Cast<'a> {
    /// Whose ballot.
    pub voter: &'a str,
    /// What it weighs.
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
        self.ranking.iter().map(|tier| tier.join(" = ")).collect::<Vec<_>>().join(" > ")
    }
}

/// A profile while ballots come in.
struct Draft {
    candidates: Vec<String>,
    places: HashMap<String, u16>,
    voters: Vec<Kept>,
    known: HashMap<String, usize>,
    /// Half points, by ballot.
    rows: Vec<u16>,
    named: Vec<u16>,
    seen: usize,
    problems: Problems,
}

struct Kept {
    voter: Voter,
    row: Option<usize>,
}

impl Draft {
    fn new(candidates: Vec<String>) -> Self {
        let mut problems = Problems::default();
        let mut kept = Vec::new();
        let mut places = HashMap::new();
        for name in candidates {
            if name.trim().is_empty() {
                problems.add(None, None, "a candidate has no name", "left out");
            } else if places.contains_key(&name) {
                problems.add(None, None, format!("the candidate `{name}` is listed twice"), "counted once");
            } else if kept.len() == MOST_CANDIDATES {
                problems.add(None, None, format!("more than {MOST_CANDIDATES} candidates"), format!("`{name}` is left out"));
            } else {
                places.insert(name.clone(), kept.len() as u16);
                kept.push(name);
            }
        }
        if kept.is_empty() {
            problems.add(None, None, "there are no candidates", "nobody can win");
        }
        Self { candidates: kept, places, voters: Vec::new(), known: HashMap::new(), rows: Vec::new(), named: Vec::new(), seen: 0, problems }
    }

    fn add(&mut self, ballot: Ballot) {
        self.seen += 1;
        let number = self.seen;
        if self.voters.len() >= MOST_BALLOTS || self.rows.len() + self.candidates.len() > MOST_CELLS {
            self.problems.add(Some(number), None, "too many ballots for so many candidates", "left out");
            return;
        }
        let mut name = ballot.voter.clone();
        if name.trim().is_empty() {
            name = format!("#{number}");
            self.problems.add(Some(number), None, "the voter has no name", format!("called `{name}`"));
        }
        let (confidence, scores) = (self.confidence(number, &ballot), self.scores(number, &ballot));
        let approves = ballot.approves.as_ref().map(|names| self.approved(number, &ballot, names));
        let row = self.ranking(number, &ballot);
        let kept = Kept { voter: Voter { name: name.clone(), weight: ballot.weight, confidence, approves, scores }, row };
        match self.known.get(&name) {
            Some(&earlier) => {
                self.problems.add(Some(number), Some(&name), "this voter has another ballot", "the last one counts");
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
            self.problems.add(Some(number), Some(&ballot.voter), what, "counted as if none was stated");
            return None;
        }
        units(&stated.to_string(), CONFIDENCE_DECIMALS, true).ok().and_then(|millionths| u32::try_from(millionths).ok())
    }

    fn scores(&mut self, number: usize, ballot: &Ballot) -> Option<Box<[(u16, i128)]>> {
        let mut scores = Vec::new();
        for (name, &score) in ballot.scores.as_ref()? {
            let Some(candidate) = self.candidate(number, &ballot.voter, name) else { continue };
            if !score.is_finite() || score.abs() > MOST_SCORE {
                let what = format!("the score {score} for `{name}` is not a number between -10^12 and 10^12");
                self.problems.add(Some(number), Some(&ballot.voter), what, "counted as if none was given");
                continue;
            }
            scores.extend(units(&score.to_string(), SCORE_DECIMALS, true).ok().map(|units| (candidate, units)));
        }
        Some(scores.into())
    }

    fn approved(&mut self, number: usize, ballot: &Ballot, names: &[String]) -> Box<[u16]> {
        let mut approved = BTreeSet::new();
        for name in names {
            let Some(candidate) = self.candidate(number, &ballot.voter, name) else { continue };
            if !approved.insert(candidate) {
                self.problems.add(Some(number), Some(&ballot.voter), format!("`{name}` is approved twice"), "counted once");
            }
        }
        approved.into_iter().collect()
    }

    fn ranking(&mut self, number: usize, ballot: &Ballot) -> Option<usize> {
        let mut seen = BTreeSet::new();
        let mut tiers: Vec<Vec<u16>> = Vec::new();
        for names in &ballot.ranking {
            let mut tier = Vec::new();
            for name in names {
                let Some(candidate) = self.candidate(number, &ballot.voter, name) else { continue };
                if seen.insert(candidate) {
                    tier.push(candidate);
                } else {
                    self.problems.add(Some(number), Some(&ballot.voter), format!("`{name}` is ranked twice"), "its best place counts");
                }
            }
            if names.is_empty() {
                self.problems.add(Some(number), Some(&ballot.voter), "a tier of the ranking is empty", "left out");
            }
            tiers.extend((!tier.is_empty()).then_some(tier));
        }
        if tiers.is_empty() {
            return None;
        }
        let named = seen.len();
        tiers.push((0..).take(self.candidates.len()).filter(|candidate| !seen.contains(candidate)).collect());
        let row = self.named.len();
        self.push_row(tiers.iter().map(Vec::as_slice), named);
        Some(row)
    }

    /// Adds a row of half points: twice the number below, plus the number of equals.
    fn push_row<'a>(&mut self, tiers: impl Iterator<Item = &'a [u16]>, named: usize) {
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

    fn finish(self) -> (Profile, Vec<Problem>) {
        let Self { candidates, mut voters, rows, named, problems, .. } = self;
        voters.sort_by(|a, b| (a.row.is_none(), &a.voter.name).cmp(&(b.row.is_none(), &b.voter.name)));
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
            strict &= cells.iter().all(|&cell| std::mem::replace(&mut seen[usize::from(cell)], at) != at);
            sorted.extend_from_slice(cells);
        }
        let named = order.iter().map(|&row| named[row]).collect();
        let columns = Columns::new(width, &sorted, shared_first, strict);
        let voters = voters.into_iter().map(|kept| kept.voter).collect();
        (Profile { candidates, voters, columns, named }, problems.all())
    }
}
