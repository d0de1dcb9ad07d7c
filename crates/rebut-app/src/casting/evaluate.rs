//! Who takes part in an evaluation: two sides and an arbiter, and somebody who scores first.

use super::Wanted;
use crate::{
    app::App,
    error::AppError,
    panel::{Panel, PanelRequest},
    roles,
};
use rebut_engine::{
    agent::Agent,
    family::family_of,
    formats::evaluate::{Config, Input, ROLES, case::categories},
};
use rebut_models::Registry;
use serde_json::Value;
use std::sync::Arc;

/// Who sits in its seats.
pub async fn cast(app: &App, registry: &Registry, wanted: Wanted<'_>) -> Result<Panel, AppError> {
    let needs_evaluator = lacks_scores(wanted.input, wanted.config)?;
    let panel = super::panel(app, registry, wanted.panel, &ROLES).await?;
    seat(app, wanted.panel, panel, needs_evaluator)
}

/// Whether somebody has to score the idea first. Checks the idea on the way, before a panel is
/// looked for.
fn lacks_scores(input: &Value, config: &Value) -> Result<bool, AppError> {
    let config = Config::parse(config).map_err(AppError::usage)?;
    let (input, topics) = Input::parse(input, &config).map_err(AppError::usage)?;
    Ok(categories(&topics)
        .iter()
        .any(|category| !input.scores.contains_key(*category)))
}

/// Puts the panel into the seats. Whoever has none, or is not needed, does not take part.
fn seat(
    app: &App,
    flags: &PanelRequest,
    panel: Panel,
    needs_evaluator: bool,
) -> Result<Panel, AppError> {
    let wanted = if needs_evaluator {
        &ROLES[..]
    } else {
        &ROLES[..3]
    };
    let fits = |agents: &[Agent]| {
        wanted
            .iter()
            .all(|role| agents.iter().any(|agent| &*agent.role == *role))
    };
    let was_chosen = flags.panel.is_some() || !flags.models.is_empty() || !flags.members.is_empty();
    let Panel {
        mut agents,
        mut chosen,
    } = panel;
    if !fits(&agents) && flags.panel.is_none() && flags.members.is_empty() {
        // A panel of judges from the configuration: its models can sit here as well.
        let models: Vec<Arc<str>> = agents.iter().map(|agent| agent.model.clone()).collect();
        let seats = wanted.iter().zip(models.iter().cycle());
        agents = seats
            .map(|(role, model)| Ok(roles::find(&app.project(), role)?.played_by(model.clone())))
            .collect::<Result<_, AppError>>()?;
        chosen = format!("{chosen}, its models seated as {}", wanted.join(", "));
    }
    if fits(&agents) {
        agents.retain(|agent| wanted.contains(&&*agent.role));
    }
    if !was_chosen {
        seat_fairly(&mut agents);
    }
    Ok(Panel { agents, chosen })
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
    use rebut_engine::agent::Role;

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
