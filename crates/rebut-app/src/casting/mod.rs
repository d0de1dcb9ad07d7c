//! Who takes part in a debate: what its format says of roles, applied to the panels and models of
//! this machine.

mod programs;

use crate::{
    app::App,
    error::AppError,
    model_discovery::Found,
    panel::{self, Panel, PanelRequest},
    roles,
};
use rebut_engine::{
    agent::Agent,
    formats::{
        Format,
        casting::{Casting, Wanted as Asked},
    },
};
use rebut_models::Registry;
use serde_json::Value;
use std::sync::Arc;

/// A debate that somebody wants, but for who takes part.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub format: &'a str,
    pub input: &'a Value,
    pub config: &'a Value,
    /// What was said about who takes part.
    pub panel: &'a PanelRequest,
}

pub async fn cast(app: &App, registry: &Registry, wanted: Wanted<'_>) -> Result<Panel, AppError> {
    let (casting, flags) = (casting_of(wanted.format)?, wanted.panel);
    let asked = Asked {
        input: wanted.input,
        config: wanted.config,
    };
    let required = (casting.required)(&asked).map_err(AppError::usage)?;
    let roles = (casting.roles)(&asked, &flags.judges).map_err(AppError::usage)?;
    let mut args = flags.clone();
    if !args.judges.is_empty() {
        args.judges.clone_from(&roles);
    }
    let panel = if casting.programs.is_empty() {
        let usual: Vec<&str> = roles.iter().map(String::as_str).collect();
        panel(app, registry, &args, &usual).await?
    } else {
        programs::cast(app, registry, &args, &casting).await?
    };
    let Panel { agents, chosen } = fill(app, flags, panel, required)?;
    let mut agents = (casting.asked)(&asked, agents).map_err(AppError::usage)?;
    if !flags.is_chosen() {
        (casting.rearrange)(&mut agents);
    }
    Ok(Panel { agents, chosen })
}

/// What a format says of who takes part.
fn casting_of(format: &str) -> Result<Casting, AppError> {
    Format::named(format)
        .map(|format| format.casting)
        .ok_or_else(|| AppError::usage(format!("there is no format `{format}`")))
}

/// Puts the panel into the roles that must be there. Whoever has none does not take part.
fn fill(
    app: &App,
    flags: &PanelRequest,
    panel: Panel,
    required: &[&str],
) -> Result<Panel, AppError> {
    if required.is_empty() {
        return Ok(panel);
    }
    let fits = |agents: &[Agent]| {
        required
            .iter()
            .all(|role| agents.iter().any(|agent| &*agent.role == *role))
    };
    let Panel {
        mut agents,
        mut chosen,
    } = panel;
    if !fits(&agents) && !flags.names_members() {
        // A panel of judges from the configuration: its models can play these roles as well.
        let models: Vec<Arc<str>> = agents.iter().map(|agent| agent.model.clone()).collect();
        let seats = required.iter().zip(models.iter().cycle());
        agents = seats
            .map(|(role, model)| Ok(roles::find(&app.project(), role)?.played_by(model.clone())))
            .collect::<Result<_, AppError>>()?;
        chosen = format!("{chosen}, its models seated as {}", required.join(", "));
    }
    if fits(&agents) {
        agents.retain(|agent| required.contains(&&*agent.role));
    }
    Ok(Panel { agents, chosen })
}

/// A panel: `usual` are the roles when nobody says otherwise. Searches the machine only if somebody
/// lacks a model.
pub async fn panel(
    app: &App,
    registry: &Registry,
    args: &PanelRequest,
    usual: &[&str],
) -> Result<Panel, AppError> {
    let wants_auto = panel::wants_auto(args, &app.config, usual)?;
    let available = if wants_auto {
        app.found(registry).await
    } else {
        Found::default()
    };
    panel::choose(args, &app.config, &app.project(), available, usual)
}

/// Those of a panel that are really asked: only they belong to the debate.
pub fn who_answers(
    format: &str,
    config: &Value,
    agents: Vec<Agent>,
) -> Result<Vec<Agent>, AppError> {
    let asked = Asked {
        input: &Value::Null,
        config,
    };
    (casting_of(format)?.asked)(&asked, agents).map_err(AppError::usage)
}
