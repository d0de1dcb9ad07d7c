//! Who was answered for by another model than its own, and whether the panel lost a voice by it.
//! Pure.

use crate::{
    family::are_kin,
    outcome::Substitution,
    view::{TurnState, View},
};
use std::{collections::BTreeMap, sync::Arc};

pub(crate) struct Answered {
    pub agent: Arc<str>,
    pub planned: Arc<str>,
    pub model: Arc<str>,
    /// Whether it was taken over from another debate, and so answered by whoever that one asked.
    pub copied: bool,
}

/// Everybody who was answered for by another model, in order of turns. A voice is lost where
/// somebody else's words came from the same family: from those who really answered, not from those
/// who should have. Who never answered is no voice.
pub(crate) fn substitutions(answered: &BTreeMap<Arc<str>, Answered>) -> Vec<Substitution> {
    let substituted = answered
        .iter()
        .filter(|(_, one)| one.model != one.planned && !one.copied);
    let told = substituted.map(|(turn, one)| Substitution {
        agent: one.agent.to_string(),
        turn: turn.to_string(),
        from: one.planned.to_string(),
        to: one.model.to_string(),
        diversity_lost: is_heard_twice(answered, turn, one),
    });
    told.collect()
}

/// The same as a journal tells it, for ends that do not say it themselves. An agent that only its
/// format knows is left out.
pub(crate) fn substitutions_in(view: &View) -> Vec<Substitution> {
    let agents = view.started.iter().flat_map(|started| &started.agents);
    let planned: BTreeMap<&str, &Arc<str>> =
        agents.map(|agent| (&*agent.name, &agent.model)).collect();
    let answered = view
        .turns
        .iter()
        .filter(|turn| turn.state == TurnState::Done)
        .filter_map(|turn| {
            let planned = Arc::clone(planned.get(&*turn.agent)?);
            let answered = Answered {
                agent: turn.agent.clone(),
                planned,
                model: turn.asked.clone(),
                copied: turn.copied,
            };
            Some((turn.turn.as_str().into(), answered))
        });
    substitutions(&answered.collect())
}

/// Whether another agent speaks through the same family: at the same step, or at any where nobody
/// else spoke at this one.
fn is_heard_twice(answered: &BTreeMap<Arc<str>, Answered>, turn: &str, one: &Answered) -> bool {
    let step = step_of(turn);
    let others = || {
        answered
            .iter()
            .filter(|(_, other)| other.agent != one.agent)
    };
    let beside = || others().filter(|(turn, _)| step_of(turn) == step);
    let is_kin = |(_, other): (&Arc<str>, &Answered)| are_kin(&other.model, &one.model);
    if beside().next().is_some() {
        beside().any(is_kin)
    } else {
        others().any(is_kin)
    }
}

fn step_of(turn: &str) -> &str {
    turn.split_once('/').map_or(turn, |(step, _)| step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_voice_is_lost_by_who_answered_not_by_who_should_have() {
        let (gpt, claude, gemini) = ("openai:gpt-5", "anthropic:claude-x", "gemini:gemini-pro");
        // Turn, own model, who answered; whether a voice is lost at the turns that were
        // substituted.
        type Row<'a> = (&'a str, &'a [(&'a str, &'a str, &'a str)], &'a [bool]);
        let rows: &[Row<'_>] = &[
            ("as planned", &[("r/a", gpt, gpt), ("r/b", gpt, gpt)], &[]),
            (
                "onto another's",
                &[("r/a", claude, gpt), ("r/b", gpt, gpt)],
                &[true],
            ),
            (
                "both onto the same",
                &[
                    ("r/a", claude, gpt),
                    ("r/b", gemini, "openrouter:openai/gpt-4o"),
                ],
                &[true, true],
            ),
            (
                "onto one that was left",
                &[("r/a", claude, gpt), ("r/b", gpt, gemini)],
                &[false, false],
            ),
            (
                "onto one who is missing",
                &[("r/a", claude, gpt), ("r/c", gemini, gemini)],
                &[false],
            ),
            (
                "in another round",
                &[
                    ("r 1/b", gemini, gpt),
                    ("r 2/a", claude, gpt),
                    ("r 2/b", gemini, gemini),
                ],
                &[true, false],
            ),
            (
                "alone at its step",
                &[("argue/a", claude, gpt), ("answer/b", gpt, gpt)],
                &[true],
            ),
            (
                "no models",
                &[
                    ("r/a", claude, "script:s.md"),
                    ("r/b", "script:s.md", "script:s.md"),
                ],
                &[false],
            ),
        ];
        for (name, turns, expected) in rows {
            let answered = turns.iter().map(|(turn, planned, model)| {
                let agent = turn.rsplit('/').next().unwrap_or_default();
                (
                    (*turn).into(),
                    Answered {
                        agent: agent.into(),
                        planned: (*planned).into(),
                        model: (*model).into(),
                        copied: false,
                    },
                )
            });
            let lost: Vec<bool> = substitutions(&answered.collect())
                .iter()
                .map(|one| one.diversity_lost)
                .collect();
            assert_eq!(lost, *expected, "{name}");
        }
    }
}
