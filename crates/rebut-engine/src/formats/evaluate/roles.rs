//! Who does what in an evaluation: two sides, an arbiter, and an evaluator of what has no score.

use super::{Config, Input, Topic, input::categories};
use crate::{
    agent::Agent,
    clean::on_one_line,
    family::family_of,
    formats::casting::{Casting, Wanted, named_or},
};
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
pub struct Roles<'a> {
    /// Who defends the idea, and who attacks it.
    pub sides: [&'a Agent; 2],
    pub arbiter: &'a Agent,
    /// Who scores what has no score.
    pub evaluator: Option<&'a Agent>,
}

/// The names of the two sides, in the order they always stand in.
pub const SIDES: [&str; 2] = ["advocate", "challenger"];

/// Every seat: what roles are called.
pub const ROLES: [&str; 4] = ["advocate", "challenger", "arbiter", "evaluator"];

impl<'a> Roles<'a> {
    /// Finds each role's agent. There may be no evaluator unless `needs_evaluator`.
    pub fn of(agents: &'a [Agent], needs_evaluator: bool) -> Result<Self, String> {
        if let Some(other) = agents.iter().find(|agent| !ROLES.contains(&&*agent.role)) {
            return Err(format!(
                "evaluate has no seat for the role `{}`; it has {}",
                on_one_line(&other.role),
                ROLES.join(", ")
            ));
        }
        let seat = |role: &str| {
            let mut found = agents.iter().filter(|agent| &*agent.role == role);
            match (found.next(), found.next()) {
                (_, Some(_)) => Err(format!("evaluate takes one {role}, not several")),
                (agent, None) => Ok(agent),
            }
        };
        let must = |role: &str| {
            seat(role)?.ok_or_else(|| format!("evaluate needs an agent with the role `{role}`"))
        };
        let evaluator = match needs_evaluator {
            true => Some(
                must("evaluator")
                    .map_err(|problem| format!("{problem}: not every category has a score"))?,
            ),
            false => seat("evaluator")?,
        };
        Ok(Self {
            sides: [must(SIDES[0])?, must(SIDES[1])?],
            arbiter: must("arbiter")?,
            evaluator,
        })
    }
}

/// Who takes part: an evaluator only where a category has no score yet.
pub const CASTING: Casting = Casting {
    required,
    rearrange: seat_fairly,
    // An idea that cannot be read is refused before a panel is looked for.
    ..Casting::panel(&ROLES, |wanted, named| {
        required(wanted)?;
        Ok(named_or(&ROLES, named))
    })
};

fn required(wanted: &Wanted<'_>) -> Result<&'static [&'static str], String> {
    const WITHOUT_EVALUATOR: &[&str] = &[ROLES[0], ROLES[1], ROLES[2]];
    let config = Config::parse(wanted.config)?;
    let (input, topics) = Input::parse(wanted.input, &config)?;
    Ok(if lacks_scores(&input, &topics) {
        &ROLES[..]
    } else {
        WITHOUT_EVALUATOR
    })
}

/// Whether somebody has to score the idea first.
pub fn lacks_scores(input: &Input, topics: &[Topic]) -> bool {
    categories(topics)
        .iter()
        .any(|category| !input.scores.contains_key(*category))
}

/// An arbiter should not judge its own family. Where there are two families only, both sides speak
/// through the one and the arbiter judges with the other.
fn seat_fairly(agents: &mut [Agent]) {
    let model_of = |agents: &[Agent], role: &str| {
        agents
            .iter()
            .find(|agent| &*agent.role == role)
            .map(|agent| agent.model.clone())
    };
    let Some(arbiter) = model_of(agents, "arbiter") else {
        return;
    };
    let sides: Vec<Arc<str>> = ["advocate", "challenger"]
        .iter()
        .filter_map(|role| model_of(agents, role))
        .collect();
    let is_own = |model: &Arc<str>| family_of(model) == family_of(&arbiter);
    let Some(other) = sides
        .iter()
        .find(|model| !is_own(model))
        .filter(|_| sides.iter().any(is_own))
        .cloned()
    else {
        return;
    };
    for agent in agents
        .iter_mut()
        .filter(|agent| ["advocate", "challenger"].contains(&&*agent.role))
    {
        agent.model = other.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Role;

    #[test]
    fn an_arbiter_is_kept_from_its_own_family_where_that_is_possible() {
        let rows = [
            (
                ["openai:gpt-5", "anthropic:claude-x", "ollama:qwen3"],
                ["openai:gpt-5", "anthropic:claude-x", "ollama:qwen3"],
            ),
            (
                ["openai:gpt-5", "anthropic:claude-x", "openai:gpt-5"],
                ["anthropic:claude-x", "anthropic:claude-x", "openai:gpt-5"],
            ),
            (
                ["openai:gpt-5", "anthropic:claude-x", "cli:claude"],
                ["openai:gpt-5", "openai:gpt-5", "cli:claude"],
            ),
            (
                ["openai:gpt-5", "openai:gpt-5-mini", "openai:gpt-5"],
                ["openai:gpt-5", "openai:gpt-5-mini", "openai:gpt-5"],
            ),
        ];
        for (given, expected) in rows {
            let mut agents: Vec<Agent> = ROLES
                .iter()
                .zip(given)
                .map(|(role, model)| {
                    Role::built_in(role)
                        .expect("a built-in role")
                        .played_by(model)
                })
                .collect();
            seat_fairly(&mut agents);
            assert_eq!(
                agents.iter().map(|agent| &*agent.model).collect::<Vec<_>>(),
                expected,
                "{given:?}"
            );
        }
    }
}
