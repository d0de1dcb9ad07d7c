//! Early stop: when asking more voters, or another round, can change nothing. Pure.
//!
//! Two rules. **Unassailable**: no completion of the ballots still to come changes who wins,
//! whatever the voters still to be asked say, and also if they never answer. **Stable**: a round
//! ended where it began. The first is a proof and never changes the winner of the full count; the
//! second is a judgement, and a format says when it trusts it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The candidate (its place in `votes`) that can no longer be caught or tied, if there is one.
///
/// `votes` holds what each candidate has so far, `remaining` the weight of each voter still to
/// come: 1 each where every voter has one vote, else exact units. A voter gives its whole weight to
/// one candidate, also to one nobody has named yet, or to nobody. The rule is exact: when it says
/// `None` and ballots are left, some completion ends otherwise.
pub fn unassailable(votes: &[u64], remaining: &[u64]) -> Option<usize> {
    let (leader, most) = votes.iter().enumerate().max_by_key(|(_, votes)| **votes)?;
    let second = votes
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != leader)
        .map(|(_, votes)| *votes)
        .max()
        .unwrap_or(0);
    (u128::from(*most) > u128::from(second) + sum(remaining)).then_some(leader)
}

/// How a count against a bar must end, whatever is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// This candidate alone leads and reaches the bar.
    Reached(usize),
    NotReached,
}

/// Whether it is settled who, if anybody, leads alone *and* reaches a share of the ballots.
///
/// `reaches(votes, ballots)` is the bar; more votes of the same ballots, or fewer ballots, must
/// never make it harder. `spent` is the weight of ballots in the count that stand for nobody. A
/// voter still to come that never answers is no ballot.
pub fn settled(
    votes: &[u64],
    spent: u64,
    remaining: &[u64],
    reaches: impl Fn(u128, u128) -> bool,
) -> Option<Settled> {
    let (left, cast) = (sum(remaining), sum(votes) + u128::from(spent));
    // The worst end for a leader: everybody left speaks, and for another.
    if let Some(leader) = unassailable(votes, remaining)
        && reaches(u128::from(votes[leader]), cast + left)
    {
        return Some(Settled::Reached(leader));
    }
    // The best end for anybody: everybody left speaks for whoever is ahead.
    let most = u128::from(votes.iter().copied().max().unwrap_or(0));
    let tied = left == 0 && unassailable(votes, remaining).is_none();
    (tied || !reaches(most + left, cast + left)).then_some(Settled::NotReached)
}

/// Whether a round changed nothing: the same voters, each where it was. Somebody missing, or back,
/// is a change, and without voters nothing is stable.
pub fn stable<V: Ord, P: PartialEq>(before: &BTreeMap<V, P>, after: &BTreeMap<V, P>) -> bool {
    !after.is_empty() && before == after
}

/// The weaker rule: the same winner twice, with positions free to move beneath it. A tie has no
/// winner.
pub fn same_winner<P: PartialEq>(before: Option<P>, after: Option<P>) -> bool {
    after.is_some() && before == after
}

/// What an early stop spared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// Calls that were planned and not made, at one call per turn.
    pub calls: u32,
    /// Why they could be spared, e.g. `B cannot be caught`.
    pub why: String,
}

impl std::fmt::Display for Saved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}; saved {} call{}",
            self.why,
            self.calls,
            if self.calls == 1 { "" } else { "s" }
        )
    }
}

fn sum(weights: &[u64]) -> u128 {
    weights.iter().copied().map(u128::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A voter's weight, and its candidate; none when it never answers.
    type Voter = (u64, Option<usize>);

    const CANDIDATES: usize = 3;

    /// Two thirds, more than half, a quarter: at the last two may reach it, and leading alone
    /// decides.
    const BARS: [fn(u128, u128) -> bool; 3] = [
        |votes, ballots| votes > 0 && 3 * votes >= 2 * ballots,
        |votes, ballots| 2 * votes > ballots,
        |votes, ballots| votes > 0 && 4 * votes >= ballots,
    ];

    #[test]
    fn leaders_that_can_and_cannot_be_caught() {
        let rows: [(&[u64], &[u64], Option<usize>); 12] = [
            (&[], &[], None),
            (&[], &[1, 1], None),
            (&[1], &[], Some(0)),
            (&[1, 1], &[], None),
            (&[5, 4], &[], Some(0)),
            (&[5, 3], &[1], Some(0)),
            // One more would tie: not enough.
            (&[5, 4], &[1], None),
            (&[0, 5], &[1, 1, 1, 1], Some(1)),
            // Somebody nobody has named yet may still tie.
            (&[5], &[1, 1, 1, 1, 1], None),
            (&[50, 20], &[29], Some(0)),
            (&[50, 20], &[30], None),
            (&[u64::MAX, u64::MAX - 1], &[u64::MAX, u64::MAX], None),
        ];
        for (votes, remaining, expected) in rows {
            assert_eq!(
                unassailable(votes, remaining),
                expected,
                "{votes:?} with {remaining:?} to come"
            );
        }
    }

    #[test]
    fn counts_against_a_bar() {
        use Settled::{NotReached, Reached};
        let two_thirds = BARS[0];
        let rows: [(&[u64], u64, usize, Option<Settled>); 9] = [
            (&[6], 0, 3, Some(Reached(0))),
            (&[5, 1], 0, 3, None),
            (&[2, 2], 0, 5, None),
            (&[2, 2], 0, 1, Some(NotReached)),
            (&[3, 2], 0, 1, None),
            (&[2, 2, 1], 0, 1, Some(NotReached)),
            // A ballot for nobody is in the count.
            (&[2], 1, 0, Some(Reached(0))),
            (&[2], 2, 1, Some(NotReached)),
            (&[], 0, 0, Some(NotReached)),
        ];
        for (votes, spent, left, expected) in rows {
            assert_eq!(
                settled(votes, spent, &vec![1; left], two_thirds),
                expected,
                "{votes:?} + {spent} with {left} to come"
            );
        }
    }

    #[test]
    fn rounds_that_changed_nothing() {
        let at = |positions: &[(&'static str, &'static str)]| {
            positions.iter().copied().collect::<BTreeMap<_, _>>()
        };
        let both = at(&[("x", "A"), ("y", "B")]);
        assert!(stable(&both, &both));
        for moved in [
            &at(&[("x", "A"), ("y", "A")]),
            &at(&[("x", "A")]),
            &at(&[("x", "A"), ("y", "B"), ("z", "B")]),
            &at(&[]),
        ] {
            assert!(!stable(&both, moved) && !stable(moved, &both), "{moved:?}");
        }
        assert!(!stable(&at(&[]), &at(&[])), "nobody there is no agreement");
        assert!(same_winner(Some("A"), Some("A")));
        assert!(
            !same_winner(Some("A"), Some("B"))
                && !same_winner(None, Some("A"))
                && !same_winner::<&str>(None, None)
        );
        assert_eq!(
            Saved {
                calls: 1,
                why: "B cannot be caught".to_owned()
            }
            .to_string(),
            "B cannot be caught; saved 1 call"
        );
    }

    fn count(voters: &[Voter]) -> Vec<u64> {
        let mut votes = vec![0; CANDIDATES];
        for (weight, choice) in voters {
            if let Some(choice) = choice {
                votes[*choice] += weight;
            }
        }
        votes
    }

    /// The count's own words, without any thought of stopping.
    fn winner(votes: &[u64]) -> Option<usize> {
        let most = votes.iter().max().filter(|most| **most > 0)?;
        let mut leaders = votes
            .iter()
            .enumerate()
            .filter(|(_, votes)| *votes == most)
            .map(|(at, _)| at);
        leaders.next().filter(|_| leaders.next().is_none())
    }

    fn reached(votes: &[u64], bar: fn(u128, u128) -> bool) -> Settled {
        let leader = winner(votes).filter(|leader| bar(u128::from(votes[*leader]), sum(votes)));
        leader.map_or(Settled::NotReached, Settled::Reached)
    }

    /// Every way the voters still to come can speak or stay silent.
    fn completions(cast: &[Voter], remaining: &[u64]) -> Vec<Vec<u64>> {
        let Some((next, rest)) = remaining.split_first() else {
            return vec![count(cast)];
        };
        let choices = (0..CANDIDATES).map(Some).chain([None]);
        choices
            .flat_map(|choice| completions(&[cast, &[(*next, choice)]].concat(), rest))
            .collect()
    }

    fn electorates() -> impl Strategy<Value = Vec<Voter>> {
        // Few and often equal weights, so that ties happen.
        let weight = prop_oneof![3 => Just(1u64), 1 => 0u64..4, 1 => 1u64..100];
        proptest::collection::vec(
            (
                weight,
                prop_oneof![4 => (0..CANDIDATES).prop_map(Some), 1 => Just(None)],
            ),
            0..7,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// After every prefix the rule says stop exactly when every completion has the same winner.
        #[test]
        fn a_stop_never_changes_the_winner(voters in electorates()) {
            for asked in 0..=voters.len() {
                let (cast, to_come) = voters.split_at(asked);
                let remaining: Vec<u64> = to_come.iter().map(|(weight, _)| *weight).collect();
                let ends: Vec<Option<usize>> = completions(cast, &remaining).iter().map(|votes| winner(votes)).collect();
                let same = ends[0].filter(|first| ends.iter().all(|end| *end == Some(*first)));
                prop_assert_eq!(unassailable(&count(cast), &remaining), same, "after {} of \
                    {:?}", asked, &voters);
                if let Some(stopped) = unassailable(&count(cast), &remaining) {
                    prop_assert_eq!(winner(&count(&voters)), Some(stopped));
                }
            }
        }

        /// The same against a bar: settled exactly when every completion ends the same.
        #[test]
        fn a_settled_count_ends_as_it_was_settled(voters in electorates()) {
            for (number, bar) in BARS.into_iter().enumerate() {
                for asked in 0..=voters.len() {
                    let (cast, to_come) = voters.split_at(asked);
                    let remaining: Vec<u64> = to_come.iter().map(|(weight, _)| *weight).collect();
                    let ends: Vec<Settled> = completions(cast, &remaining).iter().map(|votes| reached(votes, bar)).collect();
                    let same = Some(ends[0]).filter(|first| ends.iter().all(|end| end == first));
                    prop_assert_eq!(settled(&count(cast), 0, &remaining, bar), same, "bar {} after \
                        {} of {:?}", number, asked, &voters);
                }
            }
        }
    }

    /// The rule is worth having: over all ways nine voters can choose between two, it stops early
    /// in most.
    #[test]
    fn it_stops_early_often() {
        let (mut stopped, mut saved, all) = (0, 0, 1u32 << 9);
        for pattern in 0..all {
            let choice = |at: usize| usize::from(pattern >> at & 1 == 1);
            let asked = (1..9).find(|asked| {
                let ones = (0..*asked).map(choice).sum::<usize>() as u64;
                unassailable(&[*asked as u64 - ones, ones], &vec![1; 9 - asked]).is_some()
            });
            stopped += u32::from(asked.is_some());
            saved += asked.map_or(0, |asked| 9 - asked);
        }
        // Whoever has five first stops it: C(n-1, 4) ways at each n, twice, times the ways of the
        // rest. Only 4 to 4 needs all nine.
        let by_hand = 4 * (2 * 16) + 3 * (2 * 5 * 8) + 2 * (2 * 15 * 4) + 2 * 35 * 2;
        assert_eq!((all - stopped, saved), (2 * 70, by_hand));
    }
}
