//! Approval: the candidate that the most ballots approve wins.
//!
//! A ballot approves whom it lists in `approves`; one without that list approves the first tier of
//! its ranking, each whole, undivided. Edge cases: an empty list approves nobody and still counts
//! as a ballot; if nobody is approved at all, nobody wins. The share is that of all counted
//! ballots; with a threshold, the leader needs it. Tie-break: none of its own; everybody with the
//! most approvals is a winner.

use super::{
    columns::Votes,
    counting::{Counting, Found, highest},
    exact::Exact,
};

pub fn count(counting: &Counting<'_>) -> Found {
    let profile = counting.profile;
    let stated = profile
        .voters()
        .iter()
        .filter(|voter| voter.approves.is_some())
        .count();
    let (units, total) = if stated == 0 {
        by_first_tiers(counting)
    } else {
        one_by_one(counting)
    };
    let scores: Vec<Exact> = units
        .into_iter()
        .map(|units| counting.exact(units))
        .collect();
    let total = counting.exact(total);
    let mut leaders = highest(&scores);
    let mut working = vec![match stated {
        0 => "No ballot says whom it approves, so each approves its first tier.".to_owned(),
        _ if stated < profile.len() => {
            "Ballots that do not say whom they approve approve their first tier.".to_owned()
        }
        _ => "Every ballot says whom it approves.".to_owned(),
    }];
    working.push(format!(
        "Approvals: {}, of {total}.",
        counting.listed_all(&scores)
    ));
    if leaders
        .first()
        .is_none_or(|&leader| scores[leader].is_zero())
    {
        working.push("Nobody is approved by anybody.".to_owned());
        leaders.clear();
    }
    Found {
        leaders,
        scores,
        scores_are: "approvals",
        total: Some(total),
        working,
        ..Found::default()
    }
}

/// The quick way when no ballot has a list: members of shared first tiers get the whole vote.
fn by_first_tiers(counting: &Counting<'_>) -> (Vec<u128>, u128) {
    let firsts = counting.profile.columns.firsts(&counting.votes);
    let mut units = firsts.sole;
    for shared in firsts.shared.values() {
        units
            .iter_mut()
            .zip(shared)
            .for_each(|(units, shared)| *units += shared);
    }
    let total = match &counting.votes {
        Votes::One => counting.profile.ranked() as u128,
        Votes::Units(units) => units[..counting.profile.ranked()].iter().sum(),
    };
    (units, total)
}

fn one_by_one(counting: &Counting<'_>) -> (Vec<u128>, u128) {
    let profile = counting.profile;
    let mut units = vec![0; profile.candidates().len()];
    let mut total = 0;
    for (at, voter) in profile.voters().iter().enumerate() {
        let approved: Vec<usize> = match &voter.approves {
            Some(list) => list.iter().map(|&candidate| candidate.into()).collect(),
            None if at < profile.ranked() => profile.columns.first_tier(at),
            None => continue,
        };
        total += counting.votes.of(at);
        approved
            .into_iter()
            .for_each(|candidate| units[candidate] += counting.votes.of(at));
    }
    (units, total)
}
