//! The history in debates that were marked, and what it says about a panel. A voter is a model in a
//! role.
//!
//! What counts is the first, blind position of each voter: later ones were made after hearing the
//! others, so they say who is persuasive, not who knows, and errors that spread through a debate
//! would look like errors voters had in common.

use super::{
    Errors, History, Labelled, PENALTY, Voter,
    chance::{Measured, wilson},
    effective_voters, fit,
};
use crate::{
    agent::Agent,
    family::family_of,
    formats::{FORMATS, weights::Weights},
    view::View,
    voting::Weight,
};
use serde::Serialize;
use std::sync::Arc;

/// With fewer marked debates, what is learned is hardly more than chance, and said to be.
pub const ENOUGH: usize = 25;

#[derive(Clone, Debug, Default)]
pub struct Kept {
    voters: Vec<(Arc<str>, Arc<str>)>,
    history: History,
}

/// What is known of a voter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VoterRow {
    pub model: String,
    pub role: String,
    pub family: String,
    /// Marked debates it took a blind position in.
    pub answers: u64,
    /// How often that was the right one.
    pub right: u64,
    /// The same as a share, with its 95 % interval.
    pub rate: Measured,
    /// What its vote would count beside the others here, whose mean is 1.
    pub weight: Weight,
}

impl Kept {
    /// Takes in a debate. Returns whether it counts: it must be marked, no rehearsal, and its blind
    /// round its own, not a fork's copy.
    pub fn add(&mut self, view: &View) -> bool {
        let Some((options, right, round)) = labelled(view) else {
            return false;
        };
        let mut choices = vec![None; self.voters.len()];
        for (agent, position) in &round.positions {
            let Some(choice) = position
                .option
                .as_deref()
                .and_then(|option| place(&options, option))
            else {
                continue;
            };
            let Some(voter) = self.voter(view, agent, &position.turn) else {
                continue;
            };
            choices.resize(self.voters.len(), None);
            choices[voter] = Some(choice);
        }
        let options = u16::try_from(options.len()).unwrap_or(u16::MAX);
        self.history.voters = self.voters.len();
        self.history.questions.push(Labelled {
            options,
            right,
            choices,
        });
        true
    }

    /// How many marked debates there are.
    pub fn debates(&self) -> usize {
        self.history.questions.len()
    }

    /// What each vote of a panel should count, the mean being 1. Empty, so that all count the same,
    /// without history or difference.
    pub fn weights(&self, agents: &[Agent]) -> Weights {
        let fitted = fit(&self.history, PENALTY);
        let raw: Vec<f64> = agents
            .iter()
            .map(|agent| {
                self.known(agent)
                    .map_or(fitted.mean, |at| fitted.weights[at])
            })
            .collect();
        let weights = decimals(&raw);
        let all_equal = weights.windows(2).all(|pair| pair[0] == pair[1]);
        let named = agents
            .iter()
            .map(|agent| agent.name.to_string())
            .zip(weights);
        if all_equal {
            Weights::default()
        } else {
            Weights(named.collect())
        }
    }

    /// How many independent voters a panel is worth, with these weights.
    pub fn worth(&self, agents: &[Agent], weights: &Weights) -> f64 {
        let voter = |agent: &'_ Agent| weights.of(&agent.name).units() as f64;
        let voters: Vec<Voter<'_>> = agents
            .iter()
            .map(|agent| Voter {
                model: &agent.model,
                known: self.known(agent),
                weight: voter(agent),
            })
            .collect();
        effective_voters(&voters, &Errors::of(&self.history))
    }

    /// Every voter, the most often right first, and how many independent voters all of them are
    /// worth.
    pub fn table(&self) -> (Vec<VoterRow>, f64) {
        let weights = decimals(&fit(&self.history, PENALTY).weights);
        let rows =
            self.voters
                .iter()
                .enumerate()
                .zip(weights)
                .map(|((at, (model, role)), weight)| {
                    let (answers, right) = self.history.record(at);
                    VoterRow {
                        model: model.to_string(),
                        role: role.to_string(),
                        family: family_of(model).into_owned(),
                        answers,
                        right,
                        rate: wilson(right as f64, answers as f64),
                        weight,
                    }
                });
        let mut rows: Vec<VoterRow> = rows.collect();
        rows.sort_by(|one, other| {
            other
                .rate
                .value
                .total_cmp(&one.rate.value)
                .then_with(|| (&one.model, &one.role).cmp(&(&other.model, &other.role)))
        });
        let voters: Vec<Voter<'_>> = self
            .voters
            .iter()
            .enumerate()
            .map(|(at, (model, _))| Voter {
                model,
                known: Some(at),
                weight: 1.0,
            })
            .collect();
        (rows, effective_voters(&voters, &Errors::of(&self.history)))
    }

    fn known(&self, agent: &Agent) -> Option<usize> {
        self.voters
            .iter()
            .position(|(model, role)| *model == agent.model && *role == agent.role)
    }

    /// The place of who really spoke at a turn: another model may have answered for an agent's own.
    fn voter(&mut self, view: &View, agent: &str, turn: &str) -> Option<usize> {
        let known = view
            .started
            .as_ref()?
            .agents
            .iter()
            .find(|known| *known.name == *agent)?;
        let substituted = view
            .outcome
            .as_ref()
            .and_then(|outcome| outcome.substituted.iter().find(|other| other.turn == turn));
        let model: Arc<str> =
            substituted.map_or_else(|| known.model.clone(), |other| other.to.as_str().into());
        let seat = (model, known.role.clone());
        Some(
            self.voters
                .iter()
                .position(|voter| *voter == seat)
                .unwrap_or_else(|| {
                    self.voters.push(seat);
                    self.voters.len() - 1
                }),
        )
    }
}

/// The options, the right one and the blind round of a debate that counts.
fn labelled(view: &View) -> Option<(Vec<String>, u16, &crate::view::RoundView)> {
    let (started, marked) = (view.started.as_ref()?, view.marked.as_ref()?);
    let round = view
        .rounds
        .iter()
        .find(|round| !round.positions.is_empty())?;
    let copied = |turn: &str| {
        view.turns
            .iter()
            .any(|known| known.turn == turn && known.copied)
    };
    if started.rehearsal
        || round
            .positions
            .iter()
            .any(|(_, position)| copied(&position.turn))
    {
        return None;
    }
    let format = FORMATS
        .iter()
        .find(|format| format.name == started.format)?;
    let options: Vec<String> = (format.choices)(view)
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    let right = place(&options, &marked.option)?;
    Some((options, right, round))
}

fn place(options: &[String], option: &str) -> Option<u16> {
    options
        .iter()
        .position(|known| known == option)
        .and_then(|at| u16::try_from(at).ok())
}

/// Weights of two decimals whose mean is about 1; all 1 where nobody has any.
fn decimals(weights: &[f64]) -> Vec<Weight> {
    let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
    // Nobody's fitted weight is negative, and none passes the number of voters times the mean.
    let weight = |weight: &f64| {
        if mean > 0.0 {
            format!("{:.2}", weight / mean).parse().unwrap_or_default()
        } else {
            Weight::ONE
        }
    };
    weights.iter().map(weight).collect()
}
