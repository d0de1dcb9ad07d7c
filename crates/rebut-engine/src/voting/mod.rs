//! Voting: ballots in, a winner with its working out. Pure, total, exact: one file per method, one
//! row per method here.
//!
//! What holds for all methods: candidates a ballot does not rank are tied last; an empty ballot is
//! an abstention, listed and counted for nobody; one voter has one vote, unless the method is
//! `weighted` or [`Rules::weigh`] is set, and then a ballot of weight 0 counts for nothing; no
//! ballot that counts is `no_quorum`; ties stay ties unless [`Rules::tie_break`] names a rule. Sums
//! are exact, and nothing depends on the order of the ballots.

mod approval;
mod ballot;
mod borda;
mod columns;
mod condorcet;
mod count;
mod counting;
mod exact;
mod gather;
mod instant_runoff;
mod majority;
mod matrix;
mod plurality;
mod problem;
mod profile;
mod ranked_pairs;
mod rules;
mod schulze;
mod score;
mod threshold;
mod unanimous;
mod weighted;
mod work;

pub use ballot::{Ballot, Weight};
pub use count::{Count, Elimination, Ended};
pub use counting::list;
pub use exact::{Exact, Figure};
pub use gather::Gather;
pub use problem::Problem;
pub use profile::{Cast, MOST_BALLOTS, MOST_CANDIDATES, MOST_CELLS, Profile};
pub use rules::{Rules, TIE_RULES, TieBreak, TieRule};
pub use threshold::Threshold;
pub use work::{MOST_WORK, Work};

use counting::{Counting, Found};
use std::collections::BTreeMap;
use work::Grows;

#[derive(Clone, Copy, Debug)]
pub struct Method {
    pub name: &'static str,
    pub about: &'static str,
    reads: Reads,
    weighs: Weighs,
    grows: Grows,
    rule: fn(&Counting<'_>) -> Found,
}

/// Which part of a ballot a method reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Ranking,
    /// What it approves, else the ranking.
    Approvals,
    /// Scores; where nobody gives any, the ranking.
    Scores,
}

/// What a ballot counts when the rules do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weighs {
    One,
    WeightAndConfidence,
}

const fn row(name: &'static str, about: &'static str, rule: fn(&Counting<'_>) -> Found) -> Method {
    Method {
        name,
        about,
        reads: Reads::Ranking,
        weighs: Weighs::One,
        grows: Grows::Ballots,
        rule,
    }
}

pub const METHODS: &[Method] = &[
    row(
        "majority",
        "more than half of the ballots put it first",
        majority::count,
    ),
    row("plurality", "the most first choices", plurality::count),
    Method {
        weighs: Weighs::WeightAndConfidence,
        ..row(
            "weighted",
            "the most first choices by weight and confidence",
            weighted::count,
        )
    },
    row("unanimous", "everybody's first choice", unanimous::count),
    row(
        "borda",
        "the most points: a place is worth the number of candidates below it",
        borda::count,
    ),
    Method {
        grows: Grows::Pairs,
        ..row(
            "condorcet",
            "beats every other one to one; without such a candidate, Borda",
            condorcet::count,
        )
    },
    Method {
        reads: Reads::Approvals,
        ..row("approval", "approved by the most", approval::count)
    },
    Method {
        grows: Grows::Rounds,
        ..row(
            "instant-runoff",
            "the last one left when whoever has the fewest first choices goes, again and again",
            instant_runoff::count,
        )
    },
    Method {
        grows: Grows::Pairs,
        ..row(
            "ranked-pairs",
            "first in the order made of the strongest victories that do not contradict stronger \
             ones",
            ranked_pairs::count,
        )
    },
    Method {
        grows: Grows::Pairs,
        ..row(
            "schulze",
            "beats or equals every other by the strongest chain of victories",
            schulze::count,
        )
    },
    Method {
        reads: Reads::Scores,
        ..row("score", "the highest sum of scores", score::count)
    },
];

pub fn method(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// The method for so many voters when none is named: below 3 all must agree, below 6 weight and
/// confidence tell small numbers apart, from 6 on whole rankings do. Nobody at all gets a method
/// too; it ends in `no_quorum`.
pub fn auto(voters: usize) -> &'static Method {
    let name = match voters {
        0..3 => "unanimous",
        3..6 => "weighted",
        6.. => "borda",
    };
    METHODS
        .iter()
        .find(|method| method.name == name)
        .expect("the table has the three methods named above")
}

impl Method {
    pub fn count(&self, profile: &Profile, rules: &Rules) -> Count {
        Counting::new(self, profile, rules).run()
    }

    /// For each candidate, the votes that put it above each other one, also where this method does
    /// not compare pairs. They weigh what they weigh in its count: [`Count::pairwise_are`].
    pub fn pairwise(
        &self,
        profile: &Profile,
        rules: &Rules,
    ) -> BTreeMap<String, BTreeMap<String, Figure>> {
        Counting::new(self, profile, rules).pairwise()
    }
}
