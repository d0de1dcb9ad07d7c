//! Weights that learn: from questions whose right answer is known, how much each voter's word is
//! worth. Pure and deterministic.
//!
//! - [`History`]: who chose what on questions with a known answer;
//! - [`fit`]: one weight per voter, all fitted together, so that voters who err together share
//!   weight;
//! - [`Errors`] and [`effective_voters`]: how much voters err together, and how many independent
//!   ones a panel is worth;
//! - [`kept`]: the history in debates that were marked, and the weights of a panel from it;
//! - [`chance`]: intervals and tests.

pub mod chance;
mod errors;
pub mod kept;
mod logit;

#[cfg(test)]
mod tests;

pub use errors::{Errors, SAME_FAMILY, SAME_MODEL, STRANGERS, Voter, effective_voters};
pub use logit::{Fitted, PENALTY, fit, posterior};

/// Questions with a known answer, and who chose what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// How many voters there are; each question has as many choices.
    pub voters: usize,
    pub questions: Vec<Labelled>,
}

/// One question with a known answer. Options are numbers from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labelled {
    pub options: u16,
    pub right: u16,
    /// What each voter chose; `None` where it did not take part or gave no answer.
    pub choices: Vec<Option<u16>>,
}

impl Labelled {
    /// Whether a voter chose the right option; `None` where it chose nothing.
    pub fn is_right(&self, voter: usize) -> Option<bool> {
        self.choices
            .get(voter)
            .copied()
            .flatten()
            .map(|choice| choice == self.right)
    }

    /// The sum of the weights behind each option.
    pub fn scores(&self, weights: &[f64]) -> Vec<f64> {
        let mut scores = vec![0.0; usize::from(self.options)];
        for (choice, weight) in self.choices.iter().zip(weights) {
            if let Some(score) = choice.and_then(|choice| scores.get_mut(usize::from(choice))) {
                *score += weight;
            }
        }
        scores
    }
}

impl History {
    /// The same questions with only some voters, in the order given.
    pub fn only(&self, voters: &[usize]) -> Self {
        let questions = self.questions.iter().map(|question| Labelled {
            choices: voters
                .iter()
                .map(|voter| question.choices.get(*voter).copied().flatten())
                .collect(),
            ..*question
        });
        Self {
            voters: voters.len(),
            questions: questions.collect(),
        }
    }

    /// How often a voter answered, and how often it was right.
    pub fn record(&self, voter: usize) -> (u64, u64) {
        let answers = self
            .questions
            .iter()
            .filter_map(|question| question.is_right(voter));
        answers.fold((0, 0), |(answered, right), is_right| {
            (answered + 1, right + u64::from(is_right))
        })
    }
}
