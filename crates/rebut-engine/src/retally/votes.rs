//! The votes behind a debate's last count, or that of an earlier round, as the journal tells them.

use crate::{
    event::{Position, Tally},
    formats::{Format, consensus::Bar, weights::Weights},
    view::{RoundView, View},
    voting::{Ballot, Weight},
};
use std::{collections::BTreeMap, sync::Arc};

#[derive(Clone, Debug, PartialEq)]
pub struct Votes {
    /// What could be chosen: the options, or the answers that came.
    pub candidates: Vec<String>,
    /// One vote for everybody who ever took a position.
    pub votes: Vec<Vote>,
    /// What the debate asks of a winner.
    pub bar: Bar,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Vote {
    /// Whose; an agent that was asked several times has a voter for each answer.
    pub voter: String,
    pub agent: String,
    /// The model that answered, which may have been another than its own.
    pub model: String,
    /// What it stands for; `None` is somebody who is missing and counts for nobody, but is not
    /// forgotten.
    pub choice: Option<String>,
    /// How sure it says it is.
    pub confidence: Option<f64>,
    /// The candidates from best to worst, as far as it ranked them; empty if it only chose.
    pub ranking: Vec<String>,
    pub weight: Weight,
}

impl Votes {
    /// The votes of a round's count, by default the last; `None` where nothing was counted.
    pub fn of(view: &View, round: Option<u32>) -> Option<Self> {
        if view.lost_count {
            return None;
        }
        let counted = |known: &&RoundView| {
            known.tally.is_some() && round.is_none_or(|round| known.round == round)
        };
        let last = view.rounds.iter().rev().find(counted)?;
        let tally = last.tally.as_ref()?;
        let standing = tally
            .distribution
            .iter()
            .flat_map(|(choice, voters)| voters.iter().map(move |voter| (voter, Some(choice))));
        let missing = tally.missing.iter().map(|voter| (voter, None));
        let votes = standing
            .chain(missing)
            .map(|(voter, choice)| vote(view, last.round, voter, choice));
        Some(Self {
            candidates: candidates(view, tally),
            votes: votes.collect(),
            bar: Bar::of(tally),
        })
    }

    /// The winner by the debate's own rule, if there is one.
    pub fn winner(&self) -> Option<&str> {
        self.bar.winner(&self.sums(), self.total())
    }

    /// These votes without some of them.
    pub fn without(&self, is_out: impl Fn(&Vote) -> bool) -> Self {
        Self {
            votes: self
                .votes
                .iter()
                .filter(|vote| !is_out(vote))
                .cloned()
                .collect(),
            ..self.clone()
        }
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
                Some(_) => vote
                    .ranking
                    .iter()
                    .map(|option| vec![option.clone()])
                    .collect(),
            },
            ..Ballot::default()
        };
        self.votes.iter().map(ballot).collect()
    }

    /// Who is missing: counted for nobody.
    pub fn missing(&self) -> impl Iterator<Item = &Vote> {
        self.votes.iter().filter(|vote| vote.choice.is_none())
    }

    /// What all votes count together, those of who is missing included.
    pub(super) fn total(&self) -> u128 {
        self.votes.iter().map(|vote| vote.weight.units()).sum()
    }

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

/// What could be chosen, in its own order.
fn candidates(view: &View, tally: &Tally) -> Vec<String> {
    let options = Format::of(view)
        .map(|format| (format.choices)(view))
        .unwrap_or_default();
    let mut all: Vec<String> = options.into_iter().map(|(id, _)| id).collect();
    // Answers in free words, and drafts that were taken out, are known from the count only.
    all.extend(
        tally
            .distribution
            .keys()
            .filter(|choice| !all.contains(choice))
            .cloned()
            .collect::<Vec<_>>(),
    );
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
    let position =
        agent.and_then(|agent| position(view, &agent.name, at.unwrap_or(round), at.is_some()));
    Vote {
        voter: voter.to_string(),
        agent: agent.map_or_else(|| voter.to_string(), |agent| agent.name.to_string()),
        model: position
            .and_then(|position| who_answered(view, &position.turn))
            .or(agent.map(|agent| &*agent.model))
            .unwrap_or_default()
            .to_owned(),
        choice: choice.cloned(),
        confidence: position.map(|position| position.confidence),
        ranking: position
            .map(|position| position.ranking.clone())
            .unwrap_or_default(),
        weight: agent
            .and_then(|agent| pinned_weight(view, &agent.name))
            .unwrap_or(Weight::ONE),
    }
}

/// The model that answered a turn for another, if one did.
fn who_answered<'a>(view: &'a View, turn: &str) -> Option<&'a str> {
    view.outcome
        .as_ref()?
        .substituted
        .iter()
        .find(|other| other.turn == turn)
        .map(|other| other.to.as_str())
}

/// What an agent's vote counts by the debate's own settings.
fn pinned_weight(view: &View, agent: &str) -> Option<Weight> {
    Weights::of_debate(view.started.as_ref()?)
        .0
        .get(agent)
        .copied()
}

/// An agent's position in a round; unless it must be exactly that one, its last until then.
fn position<'a>(view: &'a View, agent: &str, round: u32, exactly: bool) -> Option<&'a Position> {
    let rounds = view.rounds.iter().rev().filter(|known| {
        if exactly {
            known.round == round
        } else {
            known.round <= round
        }
    });
    rounds
        .flat_map(|known| &known.positions)
        .find(|(name, _)| &**name == agent)
        .map(|(_, position)| &**position)
}
