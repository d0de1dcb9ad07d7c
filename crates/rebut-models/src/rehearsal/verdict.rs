//! Weighing: a role decides how much each lens counts, and the facts decide the rest.

use super::{
    case::{Case, is_flat},
    lexicon::{LENSES, Lens, Weighing, interest},
    words::{hash, is_common, stem, words},
};
use rebut_engine::agent::Agent;
use std::{collections::HashSet, sync::Arc};

/// How one agent looks at a case.
pub struct Judge {
    /// How much each lens counts.
    pub weights: Weighing,
    /// The lens it leads with; `None` for somebody without a side.
    pub lens: Option<Lens>,
    role: Arc<str>,
    /// Words of its own brief: facts that use them matter more to it.
    subjects: HashSet<String>,
}

/// One fact's pull on one option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pull {
    /// Which fact.
    pub fact: usize,
    /// Which option.
    pub option: usize,
    /// For it when above zero.
    pub weight: f64,
    /// Whether the text names the option, rather than only bearing on it.
    pub direct: bool,
}

/// All options weighed by one judge.
pub struct Verdict {
    /// Per option.
    pub scores: Vec<f64>,
    /// Every pull, strongest first.
    pub pulls: Vec<Pull>,
    /// Whether any fact had a say.
    pub grounded: bool,
}

impl Judge {
    /// Reads the lens off a role: by name, else by stance, else by what its brief speaks of.
    pub fn of(agent: &Agent) -> Self {
        let known = |word: &str| match word.to_lowercase().as_str() {
            "risk" | "sceptical" | "skeptical" | "cautious" => Some([1.0, 0.25, 0.3]),
            "value" | "optimistic" => Some([0.3, 1.0, 0.15]),
            "effort" | "pragmatic" => Some([0.3, 0.35, 1.0]),
            "neutral" if &*agent.role == "neutral" => Some([0.6, 0.6, 0.6]),
            _ => None,
        };
        let role = agent.role.clone();
        if let Some(weights) = known(&agent.role).or_else(|| known(&agent.stance)) {
            return Self {
                weights,
                lens: leading(&weights),
                role,
                subjects: HashSet::new(),
            };
        }
        let cares = interest(&format!("{} {} {}", agent.role, agent.stance, agent.brief));
        let total = cares.iter().sum::<f64>();
        let weights = if total > 0.0 {
            cares.map(|value| 0.25 + 0.75 * value / total)
        } else {
            [0.6; 3]
        };
        let subjects = words(&agent.role)
            .chain(words(&agent.brief))
            .filter(|word| word.len() > 4 && !is_common(word))
            .map(stem)
            .collect();
        Self {
            weights,
            lens: leading(&weights),
            role,
            subjects,
        }
    }

    /// Weighs every option.
    pub fn weigh(&self, case: &Case<'_>) -> Verdict {
        let mut pulls: Vec<Pull> = (0..case.facts.len())
            .flat_map(|fact| self.pulls_of(case, fact))
            .collect();
        pulls.sort_by(|a, b| {
            b.weight
                .abs()
                .total_cmp(&a.weight.abs())
                .then(a.fact.cmp(&b.fact))
                .then(a.option.cmp(&b.option))
        });
        let grounded = pulls.iter().any(|pull| pull.weight.abs() > 0.1);
        let mut scores: Vec<f64> = (0..case.options().len())
            .map(|option| self.hunch(case, option, grounded))
            .collect();
        for pull in &pulls {
            scores[pull.option] += pull.weight;
        }
        Verdict {
            scores,
            pulls,
            grounded,
        }
    }

    fn pulls_of(&self, case: &Case<'_>, number: usize) -> Vec<Pull> {
        let fact = &case.facts[number];
        if is_flat(&fact.tone.lenses) {
            return Vec::new();
        }
        let mut weight = self.seen(&fact.tone.lenses, fact.tone.serious) * fact.source.weight();
        if !self.subjects.is_empty()
            && words(fact.text).any(|word| self.subjects.contains(&stem(word)))
        {
            weight *= 1.5;
        }
        let pull = |option: usize, share: f64, direct: bool| Pull {
            fact: number,
            option,
            weight: weight * share,
            direct,
        };
        let found: Vec<Pull> = if fact.about.is_empty() {
            case.options()
                .iter()
                .enumerate()
                .map(|(option, choice)| pull(option, 0.45 * choice.reach, false))
                .collect()
        } else {
            fact.about
                .iter()
                .map(|(option, share)| pull(*option, *share, true))
                .collect()
        };
        found
            .into_iter()
            .filter(|pull| pull.weight.abs() > 0.03)
            .collect()
    }

    /// What a fact is worth through this judge's lenses. Harm to people or their data is heard
    /// through every lens.
    pub fn seen(&self, lenses: &Weighing, serious: bool) -> f64 {
        let risk = if serious {
            self.weights[0].max(0.7)
        } else {
            self.weights[0]
        };
        risk * lenses[0] + self.weights[1] * lenses[1] + self.weights[2] * lenses[2]
    }

    /// What the names alone suggest: doing more promises more and costs more. Then a coin that
    /// always falls the same way.
    fn hunch(&self, case: &Case<'_>, option: usize, grounded: bool) -> f64 {
        let choice = &case.options()[option];
        let by_name =
            choice.reach * (0.5 * self.weights[1] - 0.4 * self.weights[0] - 0.4 * self.weights[2]);
        let coin = (hash(&[case.question, choice.label, &self.role]) % 1000) as f64 / 1000.0 - 0.5;
        if grounded {
            0.4 * by_name + 0.02 * coin
        } else {
            by_name + 0.2 * coin
        }
    }
}

fn leading(weights: &Weighing) -> Option<Lens> {
    let best = LENSES
        .into_iter()
        .max_by(|a, b| weights[*a as usize].total_cmp(&weights[*b as usize]))?;
    let alone = LENSES
        .iter()
        .all(|lens| *lens == best || weights[*lens as usize] < weights[best as usize] - 0.1);
    alone.then_some(best)
}

impl Verdict {
    /// Options from best to worst.
    pub fn ranking(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.scores.len()).collect();
        order.sort_by(|a, b| self.scores[*b].total_cmp(&self.scores[*a]).then(a.cmp(b)));
        order
    }

    /// How far `option` stands before the best of the others; below zero when behind.
    pub fn lead(&self, option: usize) -> f64 {
        let others = self
            .scores
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != option)
            .map(|(_, score)| *score);
        others
            .reduce(f64::max)
            .map_or(1.0, |best| self.scores[option] - best)
    }

    /// How sure one may be of `option`, 0.5 to 0.9: by its lead, against how much was said at all.
    pub fn confidence(&self, option: usize) -> f64 {
        let said = self
            .scores
            .iter()
            .map(|score| score.abs())
            .fold(0.0, f64::max);
        let clear =
            (1.0 - (-self.lead(option).max(0.0) / (0.8 + 0.35 * said)).exp()).clamp(0.0, 1.0);
        let most = if self.grounded { 0.4 } else { 0.1 };
        ((0.5 + most * clear) * 100.0).round() / 100.0
    }
}
