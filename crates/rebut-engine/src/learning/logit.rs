//! Conditional-logit stacking: P(option) ∝ exp(Σ weights of those who chose it), fitted by
//! penalised maximum likelihood.
//!
//! All weights are fitted together, so two voters that always agree share what one of them would
//! get alone. Weights are drawn to a common mean, which is fitted too: without history all are
//! equal, which is plain plurality, and with little history nearly so. A voter without history gets
//! the mean. No weight is below 0: a voter that is wrong more often than chance is not heard rather
//! than counted for what it did not choose, since a vote nobody cast cannot be explained to
//! anybody.

use super::{History, Labelled};

/// How strongly weights are drawn to their mean: the inverse variance of what is expected between
/// voters.
///
/// Fixed rather than chosen anew by each history: with 10 to 1,000 labels of a recorded panel, 28
/// models or five of them, 3 was the best of 0.3, 1, 3, 10, 30 and 100 or within half a point of
/// it, and a fixed number does not jump when one more debate is marked.
pub const PENALTY: f64 = 3.0;

/// How strongly the mean is drawn to 1. It only keeps the mean finite where everybody was always
/// right.
const MEAN_PENALTY: f64 = 1.0;

/// Newton's method needs about six steps; a bound is needed where numbers run out.
const MOST_STEPS: usize = 60;

#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// One per voter, 0 or more.
    pub weights: Vec<f64>,
    /// What a voter without history would get.
    pub mean: f64,
    /// Whether the fit came to rest within its bound of steps.
    pub converged: bool,
}

/// Fits a weight per voter. `penalty` must be above 0; [`PENALTY`] is the measured default.
pub fn fit(history: &History, penalty: f64) -> Fitted {
    let mut heard = vec![true; history.voters];
    loop {
        let fitted = climb(history, penalty, &heard);
        // Whoever would count negative is left out, and the others are fitted anew: they then do
        // without its correction.
        let mut negative = false;
        for (voter, weight) in fitted.weights.iter().enumerate() {
            // Who never answered stands at the mean, and the mean is not negative once nobody else
            // is.
            if heard[voter] && *weight < 0.0 && history.record(voter).0 > 0 {
                (heard[voter], negative) = (false, true);
            }
        }
        if !negative {
            return fitted;
        }
    }
}

/// How likely each option is the right one.
pub fn posterior(question: &Labelled, weights: &[f64]) -> Vec<f64> {
    let scores = question.scores(weights);
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raised: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
    let sum: f64 = raised.iter().sum();
    raised.into_iter().map(|value| value / sum).collect()
}

/// Newton's method with halved steps. The last place of `at` is the mean.
fn climb(history: &History, penalty: f64, heard: &[bool]) -> Fitted {
    let size = history.voters + 1;
    let mut at: Vec<f64> = heard
        .iter()
        .map(|heard| f64::from(u8::from(*heard)))
        .chain([1.0])
        .collect();
    let mut height = objective(history, penalty, heard, &at);
    let mut converged = false;
    for _ in 0..MOST_STEPS {
        let (slope, mut bend) = slopes(history, penalty, heard, &at);
        let step = solve(&mut bend, slope.clone(), size);
        // Twice what a step can still gain: below this, weights no longer change in any digit that
        // is used.
        if slope
            .iter()
            .zip(&step)
            .map(|(slope, step)| slope * step)
            .sum::<f64>()
            < 1e-12
        {
            converged = true;
            break;
        }
        let mut share = 1.0;
        let next = loop {
            let next: Vec<f64> = at
                .iter()
                .zip(&step)
                .map(|(value, step)| value + share * step)
                .collect();
            let reached = objective(history, penalty, heard, &next);
            if reached >= height {
                height = reached;
                break Some(next);
            }
            share /= 2.0;
            if share < 1e-9 {
                break None;
            }
        };
        // No step goes up any more: this is the top as far as numbers can tell.
        let Some(next) = next else {
            converged = true;
            break;
        };
        at = next;
    }
    let mean = at.pop().unwrap_or(1.0);
    Fitted {
        weights: at,
        mean,
        converged,
    }
}

fn objective(history: &History, penalty: f64, heard: &[bool], at: &[f64]) -> f64 {
    let (weights, mean) = at.split_at(history.voters);
    let mean = mean.first().copied().unwrap_or(1.0);
    let told: f64 = history
        .questions
        .iter()
        .map(|question| {
            posterior(question, weights)[usize::from(question.right)]
                .max(1e-300)
                .ln()
        })
        .sum();
    let apart: f64 = weights
        .iter()
        .zip(heard)
        .filter(|(_, heard)| **heard)
        .map(|(weight, _)| (weight - mean).powi(2))
        .sum();
    told - penalty / 2.0 * apart - MEAN_PENALTY / 2.0 * (mean - 1.0).powi(2)
}

/// The gradient of the objective, and its negated second derivatives, row by row.
fn slopes(history: &History, penalty: f64, heard: &[bool], at: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (voters, size) = (history.voters, history.voters + 1);
    let (mut slope, mut bend) = (vec![0.0; size], vec![0.0; size * size]);
    for question in &history.questions {
        let likely = posterior(question, &at[..voters]);
        let present: Vec<(usize, u16)> = (0..voters)
            .filter(|voter| heard[*voter])
            .filter_map(|voter| Some((voter, question.choices.get(voter).copied().flatten()?)))
            .collect();
        for (place, (voter, choice)) in present.iter().enumerate() {
            let chance = likely[usize::from(*choice)];
            slope[*voter] += f64::from(u8::from(*choice == question.right)) - chance;
            for (other, others) in &present[..=place] {
                let both = if choice == others { chance } else { 0.0 };
                bend[voter * size + other] += both - chance * likely[usize::from(*others)];
            }
        }
    }
    for voter in 0..voters {
        if !heard[voter] {
            bend[voter * size + voter] = 1.0;
            continue;
        }
        slope[voter] -= penalty * (at[voter] - at[voters]);
        slope[voters] += penalty * (at[voter] - at[voters]);
        bend[voter * size + voter] += penalty;
        bend[voters * size + voter] -= penalty;
        bend[voters * size + voters] += penalty;
    }
    slope[voters] -= MEAN_PENALTY * (at[voters] - 1.0);
    bend[voters * size + voters] += MEAN_PENALTY;
    (slope, bend)
}

/// Solves `matrix · x = right` by Cholesky's method; only the lower half of the matrix is read. The
/// penalty makes it positive definite.
fn solve(matrix: &mut [f64], mut right: Vec<f64>, size: usize) -> Vec<f64> {
    for row in 0..size {
        for column in 0..=row {
            let sum: f64 = (0..column)
                .map(|k| matrix[row * size + k] * matrix[column * size + k])
                .sum();
            let rest = matrix[row * size + column] - sum;
            matrix[row * size + column] = if row == column {
                rest.max(1e-12).sqrt()
            } else {
                rest / matrix[column * size + column]
            };
        }
    }
    for row in 0..size {
        let sum: f64 = (0..row).map(|k| matrix[row * size + k] * right[k]).sum();
        right[row] = (right[row] - sum) / matrix[row * size + row];
    }
    for row in (0..size).rev() {
        let sum: f64 = (row + 1..size)
            .map(|k| matrix[k * size + row] * right[k])
            .sum();
        right[row] = (right[row] - sum) / matrix[row * size + row];
    }
    right
}
