//! How firmly a decision stands: by other methods, with other ballots, without one voter or one
//! family.

use super::{Vote, Votes, again::counted_by};
use crate::{
    clean::on_one_line,
    family::family_of,
    learning::{Errors, Voter, effective_voters},
    outcome::Ending,
    view::View,
    voting::{METHODS, Method, Rules},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a decision would survive. Computed from the journal; nobody is asked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Robustness {
    /// What was decided.
    pub winner: String,
    /// Who wins by every voting method that these ballots can tell something new; several are a
    /// tie, none is nobody.
    pub methods: BTreeMap<String, Vec<String>>,
    /// Methods by which somebody else, nobody or several would win.
    pub methods_against: Vec<String>,
    /// The fewest ballots that turn it.
    pub flips: Flips,
    /// Without each agent in turn, with all its answers; only those listed whose absence changes
    /// the end.
    pub without_agent: Vec<LeftOut>,
    /// Without each model family in turn; only those listed whose absence changes the end.
    pub without_family: Vec<LeftOut>,
    /// Verdicts that changed with the order in which the sides were shown. Formats that compare no
    /// pairs have none.
    pub order_flips: u32,
    /// How many votes were cast.
    pub voters: usize,
    /// By how many agents.
    pub agents: usize,
    /// How many independent voters they are worth: models that err together count less.
    pub effective_voters: f64,
}

impl Robustness {
    /// The same in short sentences: ballots, voters and families, methods.
    pub fn in_words(&self) -> Vec<String> {
        let count =
            |ballots: u32| format!("{ballots} ballot{}", if ballots == 1 { "" } else { "s" });
        let another = self
            .flips
            .to_another
            .map(|ballots| format!(", {} would elect another", count(ballots)));
        let mut words = vec![format!(
            "{} cast otherwise would undo it{}",
            count(self.flips.to_undecide),
            another.unwrap_or_default()
        )];
        let out = self
            .without_agent
            .iter()
            .map(|out| (out, ""))
            .chain(self.without_family.iter().map(|out| (out, "the family ")));
        let out: Vec<String> = out
            .map(|(out, what)| {
                format!(
                    "without {what}{}: {}",
                    out.left_out,
                    named(out.winner.as_slice())
                )
            })
            .collect();
        match (out.is_empty(), self.agents) {
            // Without the only one there is nobody.
            (true, 0..=1) => {}
            (true, _) => words.push("it stands without any one of the agents".to_owned()),
            (false, _) => words.push(out.join("; ")),
        }
        let agree = self
            .methods
            .keys()
            .filter(|name| !self.methods_against.contains(name))
            .map(String::as_str)
            .collect::<Vec<_>>();
        let against = self
            .methods_against
            .iter()
            .map(|name| format!("{name}: {}", named(&self.methods[name])));
        let same = (!agree.is_empty()).then(|| format!("the same by {}", agree.join(", ")));
        words.push(
            same.into_iter()
                .chain(against)
                .collect::<Vec<_>>()
                .join("; "),
        );
        if self.voters > 1 {
            words.push(format!(
                "{} voters, worth about {:.1} independent ones",
                self.voters, self.effective_voters
            ));
        }
        words
    }
}

fn named(winners: &[String]) -> String {
    match winners {
        [] => "nobody wins".to_owned(),
        [winner] => format!("{} wins", on_one_line(winner)),
        tied => format!(
            "a tie of {}",
            tied.iter()
                .map(|name| on_one_line(name))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

/// The fewest ballots that, cast otherwise, turn a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Flips {
    /// Until the winner has not won any more.
    pub to_undecide: u32,
    /// Until another candidate has won; nothing where there is no other.
    pub to_another: Option<u32>,
}

/// The end without somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Who is left out.
    pub left_out: String,
    /// Who wins then, if anybody.
    pub winner: Option<String>,
}

/// How firmly a decided debate stands; `None` for one that decided nothing.
pub fn robustness(view: &View) -> Option<Robustness> {
    let decided = |ending| matches!(ending, Ending::Consensus | Ending::Majority);
    view.outcome
        .as_ref()
        .filter(|outcome| decided(outcome.outcome))?;
    of(&Votes::of(view, None)?)
}

fn of(votes: &Votes) -> Option<Robustness> {
    let winner = votes.winner()?.to_owned();
    let methods = by_methods(votes);
    let against = methods
        .iter()
        .filter(|(_, winners)| **winners != [winner.clone()])
        .map(|(name, _)| name.clone());
    let panel: Vec<Voter<'_>> = votes
        .votes
        .iter()
        .filter(|vote| vote.choice.is_some())
        .map(voter)
        .collect();
    let agents: BTreeSet<&str> = votes.votes.iter().map(|vote| vote.agent.as_str()).collect();
    Some(Robustness {
        methods_against: against.collect(),
        methods,
        flips: flips(votes, &winner),
        without_agent: without_each(votes, &winner, |vote| vote.agent.clone()),
        without_family: without_each(votes, &winner, |vote| family_of(&vote.model).into_owned()),
        order_flips: 0,
        voters: panel.len(),
        agents: agents.len(),
        effective_voters: (effective_voters(&panel, &Errors::default()) * 100.0).round() / 100.0,
        winner,
    })
}

fn voter(vote: &Vote) -> Voter<'_> {
    Voter {
        model: &vote.model,
        known: None,
        weight: vote.weight.units() as f64,
    }
}

/// The winners by each method that applies.
fn by_methods(votes: &Votes) -> BTreeMap<String, Vec<String>> {
    let is_ranked = votes
        .votes
        .iter()
        .any(|vote| vote.choice.is_some() && vote.ranking.len() > 1);
    let applies = |method: &&Method| match method.name {
        "majority" | "plurality" | "weighted" | "unanimous" => true,
        // Without scores or approvals these are plurality under another name.
        "score" | "approval" => false,
        _ => is_ranked,
    };
    // Votes of a debate are well-formed ballots: names of voters differ, and choices are
    // candidates.
    let counted = |method: &Method| {
        counted_by(method, votes, &Rules::default())
            .map(|count| (method.name.to_owned(), count.winners))
            .ok()
    };
    METHODS.iter().filter(applies).filter_map(counted).collect()
}

fn without_each(votes: &Votes, winner: &str, group: impl Fn(&Vote) -> String) -> Vec<LeftOut> {
    let mut groups: Vec<String> = Vec::new();
    for vote in &votes.votes {
        let name = group(vote);
        if !groups.contains(&name) {
            groups.push(name);
        }
    }
    // Leaving out everybody says nothing.
    if groups.len() < 2 {
        return Vec::new();
    }
    let left_out = groups.into_iter().filter_map(|name| {
        let rest = votes.without(|vote| group(vote) == name);
        let now = rest.winner();
        (now != Some(winner)).then(|| LeftOut {
            winner: now.map(str::to_owned),
            left_out: name.clone(),
        })
    });
    left_out.collect()
}

fn flips(votes: &Votes, winner: &str) -> Flips {
    let rivals = rivals(votes, winner);
    let to_another = rivals
        .iter()
        .filter_map(|rival| to_elect(votes, rival))
        .min();
    let to_undecide = rivals
        .iter()
        .filter_map(|rival| to_catch(votes, winner, rival))
        .chain(to_fall_short(votes, winner))
        .chain(to_another);
    Flips {
        to_undecide: to_undecide.min().unwrap_or(0),
        to_another,
    }
}

/// The fewest ballots the winner must lose to lack the share it needs, or any vote at all: its
/// heaviest.
fn to_fall_short(votes: &Votes, winner: &str) -> Option<u32> {
    let mut own: Vec<u128> = votes
        .votes
        .iter()
        .filter(|vote| vote.choice.as_deref() == Some(winner))
        .map(|vote| vote.weight.units())
        .collect();
    own.sort_unstable_by(|one, other| other.cmp(one));
    let (total, mut left) = (votes.total(), own.iter().sum::<u128>());
    (1..).zip(own).find_map(|(moved, weight)| {
        left -= weight;
        let alone = BTreeMap::from([(winner, left)]);
        votes.bar.winner(&alone, total).is_none().then_some(moved)
    })
}

/// The fewest ballots that must go to a rival until the winner does not lead alone. One of the
/// winner's closes the gap twice.
fn to_catch(votes: &Votes, winner: &str, rival: &str) -> Option<u32> {
    let sums = votes.sums();
    let gap = sums.get(winner)?
        - sums
            .get(rival)
            .copied()
            .unwrap_or(0)
            .min(*sums.get(winner)?);
    let others = votes
        .votes
        .iter()
        .filter(|vote| vote.choice.as_deref() != Some(rival));
    let mut closes: Vec<u128> = others
        .map(|vote| {
            vote.weight.units()
                * if vote.choice.as_deref() == Some(winner) {
                    2
                } else {
                    1
                }
        })
        .collect();
    closes.sort_unstable_by(|one, other| other.cmp(one));
    let mut closed = 0;
    (1..).zip(closes).find_map(|(moved, weight)| {
        closed += weight;
        (closed >= gap).then_some(moved)
    })
}

/// Who might win instead, strongest first. Among equal ballots nobody needs fewer than the
/// strongest; with weights another might, for whom the heaviest ballots are still to be won.
fn rivals<'a>(votes: &'a Votes, winner: &str) -> Vec<&'a str> {
    let sums = votes.sums();
    let mut rivals: Vec<&str> = votes
        .candidates
        .iter()
        .map(String::as_str)
        .filter(|candidate| *candidate != winner)
        .collect();
    rivals.sort_by_key(|rival| std::cmp::Reverse(sums.get(rival).copied().unwrap_or(0)));
    let equal = votes
        .votes
        .windows(2)
        .all(|pair| pair[0].weight == pair[1].weight);
    rivals.truncate(if equal { 1 } else { MOST_RIVALS });
    rivals
}

/// More rivals than options can have are not tried.
const MOST_RIVALS: usize = 26;

/// How many ballots must go to a rival until it wins, if it ever does: heaviest first, of equal
/// ones the leader's first, which takes from one and gives to the other. That is the fewest where
/// votes are equal or more than half is needed, else it may be more.
fn to_elect(votes: &Votes, rival: &str) -> Option<u32> {
    let mut votes = votes.clone();
    let mut movable: Vec<usize> = (0..votes.votes.len())
        .filter(|at| votes.votes[*at].choice.as_deref() != Some(rival))
        .collect();
    let sums = votes
        .sums()
        .into_iter()
        .map(|(choice, sum)| (choice.to_owned(), sum))
        .collect::<BTreeMap<String, u128>>();
    let behind = |at: usize| {
        votes.votes[at]
            .choice
            .as_ref()
            .and_then(|choice| sums.get(choice))
            .copied()
            .unwrap_or(0)
    };
    movable.sort_by_key(|at| std::cmp::Reverse((votes.votes[*at].weight.units(), behind(*at))));
    (1..).zip(movable).find_map(|(moved, at)| {
        votes.votes[at].choice = Some(rival.to_owned());
        (votes.winner() == Some(rival)).then_some(moved)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{formats::consensus::Bar, voting::Weight};
    use proptest::prelude::*;

    /// Letters are choices, a dot is somebody missing.
    fn votes(ballots: &str, threshold: f64) -> Votes {
        let vote = |(at, letter): (usize, char)| Vote {
            voter: format!("v{at}"),
            agent: format!("v{at}"),
            model: if at % 2 == 0 {
                "openai:gpt-5".to_owned()
            } else {
                "anthropic:claude-opus".to_owned()
            },
            choice: (letter != '.').then(|| letter.to_string()),
            confidence: Some(0.5),
            ranking: Vec::new(),
            weight: Weight::ONE,
        };
        Votes {
            candidates: ["A", "B", "C"].map(str::to_owned).to_vec(),
            votes: ballots.chars().enumerate().map(vote).collect(),
            bar: Bar::new(threshold).expect("a bar"),
        }
    }

    #[test]
    fn a_narrow_decision_is_told_from_a_firm_one() {
        let narrow = of(&votes("AAB", 0.67)).expect("decided");
        assert_eq!(
            narrow.flips,
            Flips {
                to_undecide: 1,
                to_another: Some(1)
            }
        );
        assert_eq!(
            narrow
                .without_agent
                .iter()
                .map(|out| out.left_out.as_str())
                .collect::<Vec<_>>(),
            ["v0", "v1"]
        );
        assert_eq!(narrow.methods_against, ["unanimous"]);
        let firm = of(&votes("AAAAAAAAA", 0.67)).expect("decided");
        assert_eq!(
            firm.flips,
            Flips {
                to_undecide: 4,
                to_another: Some(6)
            }
        );
        assert_eq!(
            (
                firm.without_agent,
                firm.without_family,
                firm.methods_against
            ),
            (vec![], vec![], vec![])
        );
        assert!(
            firm.effective_voters > 1.0 && firm.effective_voters < 9.0,
            "{}",
            firm.effective_voters
        );
        let alone = of(&votes("A", 1.0)).expect("decided");
        assert_eq!(
            (alone.flips, alone.without_agent),
            (
                Flips {
                    to_undecide: 1,
                    to_another: Some(1)
                },
                vec![]
            )
        );
        assert_eq!(of(&votes("AB", 0.67)), None);
        assert_eq!(of(&votes("", 0.67)), None);
        assert_eq!(of(&votes("..", 0.67)), None);
    }

    fn weighed(ballots: &str, weights: &[u8], threshold: f64) -> Votes {
        let mut votes = votes(ballots, threshold);
        for (vote, weight) in votes.votes.iter_mut().zip(weights) {
            vote.weight = weight.to_string().parse().expect("a weight");
        }
        votes
    }

    /// The fewest changed ballots, by trying all ways to fill them in.
    fn brute(
        ballots: &str,
        weights: &[u8],
        threshold: f64,
        is_wanted: &dyn Fn(Option<&str>) -> bool,
    ) -> Option<u32> {
        let choices = ['A', 'B', 'C', '.'];
        let all = (0..choices
            .len()
            .pow(u32::try_from(ballots.len()).expect("few")))
            .filter_map(|mut number| {
                let other: String = ballots
                    .chars()
                    .map(|_| {
                        let choice = choices[number % choices.len()];
                        number /= choices.len();
                        choice
                    })
                    .collect();
                let changed = u32::try_from(
                    ballots
                        .chars()
                        .zip(other.chars())
                        .filter(|(was, is)| was != is)
                        .count(),
                )
                .expect("few");
                is_wanted(weighed(&other, weights, threshold).winner()).then_some(changed)
            });
        all.min()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn the_fewest_ballots_are_the_fewest(
            ballots in "[ABC.]{1,5}",
            weights in prop_oneof![Just([1; 5]), prop::array::uniform5(0u8..6)],
            threshold in prop::sample::select(vec![0.0, 0.3, 0.34, 0.5, 0.51, 0.67, 0.8, 1.0]),
        ) {
            let cast = weighed(&ballots, &weights, threshold);
            if let Some(winner) = cast.winner().map(str::to_owned) {
                let found = flips(&cast, &winner);
                prop_assert_eq!(Some(found.to_undecide), brute(&ballots, &weights, threshold, &|now| now != Some(winner.as_str())));
                let another = brute(&ballots, &weights, threshold, &|now| now.is_some_and(|now| now != winner));
                if weights == [1; 5] || threshold > 0.5 {
                    prop_assert_eq!(found.to_another, another);
                } else {
                    prop_assert!(found.to_another >= another, "{:?} is fewer than \
                        {:?}", found.to_another, another);
                }
            }
        }
    }

    #[test]
    fn rivals_may_join_against_the_winner() {
        let votes = weighed("AAAAAAAAAABC", &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 5], 0.3);
        assert_eq!(
            flips(&votes, "A"),
            Flips {
                to_undecide: 1,
                to_another: Some(2)
            }
        );
    }

    #[test]
    fn who_is_missing_makes_no_majority_and_no_unanimity() {
        let robust = of(&votes("AA...", 0.4)).expect("decided");
        assert_eq!(robust.methods_against, ["majority", "unanimous"]);
        let most = of(&votes("AAA..", 0.4)).expect("decided");
        assert_eq!(most.methods_against, ["unanimous"]);
    }

    #[test]
    fn an_agent_is_left_out_with_all_its_answers() {
        let mut votes = votes("BBABBABBA", 0.0);
        for (at, vote) in votes.votes.iter_mut().enumerate() {
            vote.agent = ["risk", "value", "effort"][at % 3].to_owned();
        }
        let robust = of(&votes).expect("decided");
        assert_eq!(
            robust
                .without_agent
                .iter()
                .map(|out| (out.left_out.as_str(), &out.winner))
                .collect::<Vec<_>>(),
            [("risk", &None), ("value", &None)]
        );
        assert_eq!((robust.agents, robust.voters), (3, 9));
        assert!(
            !of(&self::votes("A", 0.0))
                .expect("decided")
                .in_words()
                .iter()
                .any(|words| words.contains("any one of"))
        );
    }
}
