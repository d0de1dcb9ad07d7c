//! Voting: every method against its definition, against what theory says of it, and against
//! hand-made rows.

mod brute;
mod exhaustive;
mod large;
mod properties;
mod rows;

use rebut_engine::voting::{Ballot, Count, Profile, Rules, method};

/// A vote: each candidate's place, 0 the best, equals alike; nothing for an abstention. And its
/// weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    pub places: Option<Vec<usize>>,
    pub weight: u32,
}

/// The name of a candidate: A, B, C.
pub fn name(candidate: usize) -> String {
    char::from(b'A' + u8::try_from(candidate).expect("few candidates")).to_string()
}

/// The ballot of a vote. `cut` leaves out its last tier, which means the same.
pub fn ballot(voter: String, vote: &Vote, cut: bool) -> Ballot {
    let mut ranking = Vec::new();
    if let Some(places) = &vote.places {
        for place in 0..=places.iter().copied().max().unwrap_or(0) {
            let tier: Vec<String> = (0..places.len())
                .filter(|&at| places[at] == place)
                .map(name)
                .collect();
            ranking.extend((!tier.is_empty()).then_some(tier));
        }
        if cut && ranking.len() > 1 {
            ranking.pop();
        }
    }
    let weight = vote.weight.to_string().parse().expect("a weight");
    Ballot {
        voter,
        weight,
        ranking,
        ..Ballot::default()
    }
}

/// Votes as a profile; every second ballot is cut.
pub fn profile(candidates: usize, votes: &[Vote]) -> Profile {
    let ballots = votes
        .iter()
        .enumerate()
        .map(|(at, vote)| ballot(format!("v{at}"), vote, at % 2 == 1))
        .collect();
    Profile::new((0..candidates).map(name).collect(), ballots).expect("ballots that are right")
}

pub fn count(profile: &Profile, by: &str, rules: &Rules) -> Count {
    method(by)
        .unwrap_or_else(|| panic!("no method {by}"))
        .count(profile, rules)
}

/// The names of a set of candidates.
pub fn names(candidates: impl IntoIterator<Item = usize>) -> Vec<String> {
    let mut names: Vec<String> = candidates.into_iter().map(name).collect();
    names.sort();
    names
}
