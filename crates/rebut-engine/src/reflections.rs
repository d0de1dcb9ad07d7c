//! Episodes: what agents learned from their failed attempts, over one debate or many. The oldest go
//! when there are too many. Pure.

use crate::{DebateId, facts::ReflectionRecorded, retrieval::rank, view::View};
use std::{collections::VecDeque, sync::Arc};

/// What is remembered, oldest first, up to a cap.
#[derive(Clone, Debug, PartialEq)]
pub struct Episodes {
    kept: VecDeque<Episode>,
    most: usize,
}

/// One failed attempt and what its agent made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    pub debate_id: DebateId,
    pub agent: Arc<str>,
    pub reflection: Arc<ReflectionRecorded>,
}

impl Episodes {
    /// A memory for at most so many.
    pub fn new(most: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            most,
        }
    }

    /// Adds what a debate's journal holds, in its order. A debate without events has none.
    pub fn add(&mut self, view: &View) {
        let Some(debate_id) = view.id else { return };
        let new = view.reflections.iter().map(|(agent, reflection)| Episode {
            debate_id,
            agent: agent.clone(),
            reflection: reflection.clone(),
        });
        self.kept.extend(new);
        let too_many = self.kept.len().saturating_sub(self.most);
        self.kept.drain(..too_many);
    }

    /// Those of one agent, oldest first.
    pub fn of_agent<'a>(&'a self, agent: &'a str) -> impl Iterator<Item = &'a Episode> {
        self.kept
            .iter()
            .filter(move |episode| &*episode.agent == agent)
    }

    /// Those of one debate, oldest first.
    pub fn of_debate(&self, debate: DebateId) -> impl Iterator<Item = &Episode> {
        self.kept
            .iter()
            .filter(move |episode| episode.debate_id == debate)
    }

    /// Those that share words with a text, the most similar first, at most so many.
    pub fn similar(&self, text: &str, most: usize) -> Vec<&Episode> {
        let words: Vec<String> = self
            .kept
            .iter()
            .map(|episode| episode.reflection.in_words())
            .collect();
        rank(text, &words)
            .into_iter()
            .take(most)
            .filter_map(|found| self.kept.get(found.at))
            .collect()
    }
}

impl ReflectionRecorded {
    /// All it says, in one text.
    pub fn in_words(&self) -> String {
        format!(
            "{} {} {}",
            self.root_cause, self.what_went_wrong, self.what_to_change
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(debate: DebateId, reflections: &[(&str, &str)]) -> View {
        let reflections = reflections
            .iter()
            .zip(1..)
            .map(|((agent, cause), attempt)| {
                let said = ReflectionRecorded {
                    attempt,
                    run: format!("proposal {attempt}/{agent}").into(),
                    root_cause: (*cause).to_owned(),
                    what_went_wrong: "a test failed".to_owned(),
                    what_to_change: "mend it".to_owned(),
                    confidence: 0.7,
                };
                ((*agent).into(), Arc::new(said))
            });
        let mut view = View::default();
        (view.id, view.reflections) = (Some(debate), reflections.collect());
        view
    }

    #[test]
    fn episodes_are_found_by_agent_debate_and_similarity_and_the_oldest_go_first() {
        let (one, other) = (DebateId::new(), DebateId::new());
        let first = view(
            one,
            &[
                ("ada", "empty list"),
                ("bob", "wrong date format"),
                ("ada", "off by one"),
            ],
        );
        let second = view(
            other,
            &[("ada", "time zone of a date"), ("cyd", "deep recursion")],
        );
        let causes = |found: Vec<&Episode>| {
            found
                .iter()
                .map(|episode| episode.reflection.root_cause.clone())
                .collect::<Vec<_>>()
        };
        let with_cap = |most: usize| {
            let mut episodes = Episodes::new(most);
            [&first, &second, &View::default()]
                .into_iter()
                .for_each(|view| episodes.add(view));
            episodes
        };
        let all = with_cap(10);
        assert_eq!(
            causes(all.of_agent("ada").collect()),
            ["empty list", "off by one", "time zone of a date"]
        );
        assert_eq!(
            causes(all.of_debate(other).collect()),
            ["time zone of a date", "deep recursion"]
        );
        assert_eq!(
            causes(all.similar("parse a date with its zone", 5)),
            ["time zone of a date", "wrong date format"]
        );
        assert_eq!(causes(all.similar("date", 1)).len(), 1);
        assert!(all.similar("sockets", 5).is_empty() && all.of_agent("dan").next().is_none());
        let few = with_cap(3);
        assert_eq!(
            causes(few.of_agent("ada").collect()),
            ["off by one", "time zone of a date"],
            "first in, first out"
        );
        assert_eq!(
            causes(few.similar("empty list", 5)),
            [""; 0],
            "what is gone is not found"
        );
        assert_eq!(with_cap(0), Episodes::new(0));
    }
}
