//! Who takes part in a debate: what its format says of roles, applied to a panel of this machine.

use crate::{
    app::App,
    commands::{challenge, prepare},
    error::CliError,
    panel::{Panel, PanelRequest},
    roles,
};
use rebut_engine::{
    agent::Agent,
    formats::{
        Format,
        casting::{Casting, Wanted},
    },
};
use rebut_models::Registry;
use std::sync::Arc;

/// Who takes part, by the rules of the format.
pub async fn cast(
    app: &App,
    registry: &Registry,
    format: &str,
    wanted: Wanted<'_>,
    flags: &PanelRequest,
) -> Result<Panel, CliError> {
    let casting = casting_of(format)?;
    let required = (casting.required)(&wanted).map_err(CliError::usage)?;
    let roles = (casting.roles)(&wanted, &flags.judges).map_err(CliError::usage)?;
    let mut args = flags.clone();
    if !args.judges.is_empty() {
        args.judges.clone_from(&roles);
    }
    let panel = if casting.programs.is_empty() {
        let usual: Vec<&str> = roles.iter().map(String::as_str).collect();
        prepare::panel(app, registry, &args, &usual).await?
    } else {
        challenge::cast(app, registry, &args, &casting).await?
    };
    let Panel { agents, chosen } = fill(app, flags, panel, required)?;
    let mut agents = (casting.asked)(&wanted, agents).map_err(CliError::usage)?;
    if flags.panel.is_none() && flags.models.is_empty() {
        (casting.rearrange)(&mut agents);
    }
    Ok(Panel { agents, chosen })
}

/// What a format says of who takes part.
pub fn casting_of(format: &str) -> Result<Casting, CliError> {
    Format::named(format)
        .map(|format| format.casting)
        .ok_or_else(|| CliError::usage(format!("there is no format `{format}`")))
}

/// Puts the panel into the roles that must be there. Whoever has none does not take part.
fn fill(
    app: &App,
    flags: &PanelRequest,
    panel: Panel,
    required: &[&str],
) -> Result<Panel, CliError> {
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
    if !fits(&agents) && flags.panel.is_none() {
        // A panel of judges from the configuration: its models can play these roles as well.
        let models: Vec<Arc<str>> = agents.iter().map(|agent| agent.model.clone()).collect();
        let seats = required.iter().zip(models.iter().cycle());
        agents = seats
            .map(|(role, model)| Ok(roles::find(&app.project(), role)?.played_by(model.clone())))
            .collect::<Result<_, CliError>>()?;
        chosen = format!("{chosen}, its models seated as {}", required.join(", "));
    }
    if fits(&agents) {
        agents.retain(|agent| required.contains(&&*agent.role));
    }
    Ok(Panel { agents, chosen })
}
