//! The votes behind a debate's last count, or that of an earlier round, as the journal tells them.

use crate::{
    event::{Position, Tally},
    formats,
    formats::weights::Weights,
    view::{RoundView, View},
    voting::{Ballot, Threshold, Weight},
};
use std::{collections::BTreeMap, sync::Arc};

/// Everybody's vote in one count.
#[derive(Clone, Debug, PartialEq)]
pub struct Votes {
    /// What could be chosen: the options, or the answers that came.
    pub candidates: Vec<String>,
    /// One vote for everybody who ever took a position.
    pub votes: Vec<Vote>,
    /// What the debate asks of a winner.
    pub rule: Rule,
}

/// One voter's vote.
#[derive(Clone, Debug, PartialEq)]
pub struct Vote {
    /// Whose; an agent that was asked several times has a voter for each answer.
    pub voter: String,
    /// Which agent that is.
    pub agent: String,
    /// Its model.
    pub model: String,
    /// What it stands for; `None` is somebody who is missing and counts for nobody, but is not forgotten.
    pub choice: Option<String>,
    /// How sure it says it is.
    pub confidence: Option<f64>,
    /// The candidates from best to worst, as far as it ranked them; empty if it only chose.
    pub ranking: Vec<String>,
    /// What it counts.
    pub weight: Weight,
}

/// What it takes to win: to lead alone, and with this share where one is needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The share; without one, leading is enough.
    pub threshold: Option<Threshold>,
}

impl Votes {
    /// The votes of a round's count, by default the last; `None` where nothing was counted.
    pub fn of(view: &View, round: Option<u32>) -> Option<Self> {
        let counted = |known: &&RoundView| known.tally.is_some() && round.is_none_or(|round| known.round == round);
        let last = view.rounds.iter().rev().find(counted)?;
        let tally = last.tally.as_ref()?;
        let standing = tally.distribution.iter().flat_map(|(choice, voters)| voters.iter().map(move |voter| (voter, Some(choice))));
        let missing = tally.missing.iter().map(|voter| (voter, None));
        let votes = standing.chain(missing).map(|(voter, choice)| vote(view, last.round, voter, choice));
        Some(Self {
            candidates: candidates(view, tally),
            votes: votes.collect(),
            rule: Rule { threshold: Threshold::new(tally.threshold).ok() },
        })
    }

    /// The winner by the debate's own rule, if there is one.
    pub fn winner(&self) -> Option<&str> {
        let sums = self.sums();
        let total: u128 = self.votes.iter().map(|vote| vote.weight.units()).sum();
        self.rule.winner(&sums, total)
    }

    /// These votes without some of them.
    pub fn without(&self, is_out: impl Fn(&Vote) -> bool) -> Self {
        Self { votes: self.votes.iter().filter(|vote| !is_out(vote)).cloned().collect(), ..self.clone() }
    }

    /// As ballots for a voting method. Whoever is missing hands in an empty one.
    pub fn ballots(&self) -> Vec<Ballot> {
        let ballot = |vote: &Vote| Ballot {
            voter: vote.voter.clone(),
            weight: vote.weight,
            confidence: vote.confidence,
            ranking: match &vote.choice {
                None => Vec::new(),
                Some(choice) if vote.ranking.first() != Some(choice) => vec![vec![choice.clone()]],
                Some(_) => vote.ranking.iter().map(|option| vec![option.clone()]).collect(),
            },
            ..Ballot::default()
        };
        self.votes.iter().map(ballot).collect()
    }

    /// What each choice has.
    pub(super) fn sums(&self) -> BTreeMap<&str, u128> {
        let mut sums: BTreeMap<&str, u128> = BTreeMap::new();
        for vote in &self.votes {
            if let Some(choice) = &vote.choice {
                *sums.entry(choice).or_default() += vote.weight.units();
            }
        }
        sums
    }
}

impl Rule {
    /// Who leads alone and has the share that is needed.
    pub fn winner<'a>(&self, sums: &BTreeMap<&'a str, u128>, total: u128) -> Option<&'a str> {
        let most = sums.values().copied().max().filter(|most| *most > 0)?;
        let mut leaders = sums.iter().filter(|(_, sum)| **sum == most);
        let leader = leaders.next().filter(|_| leaders.next().is_none()).map(|(choice, _)| *choice)?;
        self.threshold.is_none_or(|threshold| threshold.reached(most, total)).then_some(leader)
    }
}

/// What could be chosen, in its own order.
fn candidates(view: &View, tally: &Tally) -> Vec<String> {
    let format = view.started.as_ref().and_then(|started| formats::FORMATS.iter().find(|format| format.name == started.format));
    let options = format.map(|format| (format.choices)(view)).unwrap_or_default();
    let mut all: Vec<String> = options.into_iter().map(|(id, _)| id).collect();
    // Answers in free words, and drafts that were taken out, are known from the count only.
    all.extend(tally.distribution.keys().filter(|choice| !all.contains(choice)).cloned().collect::<Vec<_>>());
    all
}

fn vote(view: &View, round: u32, voter: &Arc<str>, choice: Option<&String>) -> Vote {
    let agents = view.started.iter().flat_map(|started| &started.agents);
    let named = |name: &str| agents.clone().find(|agent| &*agent.name == name);
    // `risk·2` is the answer of `risk` at step 2.
    let (agent, at) = match (named(voter), voter.rsplit_once('·')) {
        (None, Some((name, step))) => (named(name), step.parse().ok()),
        (agent, _) => (agent, None),
    };
    let position = agent.and_then(|agent| position(view, &agent.name, at.unwrap_or(round), at.is_some()));
    Vote {
        voter: voter.to_string(),
        agent: agent.map_or_else(|| voter.to_string(), |agent| agent.name.to_string()),
        model: agent.map(|agent| agent.model.to_string()).unwrap_or_default(),
        choice: choice.cloned(),
        confidence: position.map(|position| position.confidence),
        ranking: position.map(|position| position.ranking.clone()).unwrap_or_default(),
        weight: agent.and_then(|agent| pinned_weight(view, &agent.name)).unwrap_or(Weight::ONE),
    }
}

/// What an agent's vote counts by the debate's own settings.
fn pinned_weight(view: &View, agent: &str) -> Option<Weight> {
    Weights::of_debate(view.started.as_ref()?).0.get(agent).copied()
}

/// An agent's position in a round; unless it must be exactly that one, its last until then.
fn position<'a>(view: &'a View, agent: &str, round: u32, exactly: bool) -> Option<&'a Position> {
    let rounds = view.rounds.iter().rev().filter(|known| if exactly { known.round == round } else { known.round <= round });
    rounds.flat_map(|known| &known.positions).find(|(name, _)| &**name == agent).map(|(_, position)| &**position)
}
