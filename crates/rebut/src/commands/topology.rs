//! `topology`: who hears whom, in a debate that is kept or in a panel before it debates.

use crate::{
    app::App,
    cli::{GlobalArgs, TopologyArgs},
    debates::Debates,
    error::CliError,
    output,
    panel::JUDGES,
    roles,
};
use rebut_engine::{
    agent::Role,
    clean::for_people,
    topology::{self, Kind, Topology},
};

pub async fn run(global: &GlobalArgs, args: TopologyArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let shown = match &args.id {
        Some(id) => {
            let debates = Debates::open(&app).await?;
            let view = debates.view(debates.find(id).await?).await?;
            if view
                .started
                .as_ref()
                .is_none_or(|started| started.config.get("topology").is_none())
            {
                let message = "this debate has no topology: its format alone says who hears whom";
                return Err(CliError::usage(message).hint("topologies are for decide"));
            }
            topology::over_time(&view)
        }
        None => vec![(2, of_panel(&app, &args)?)],
    };
    let text = match args.mermaid {
        // One drawing, so that it can be piped on: the one that was in force last.
        true => shown
            .last()
            .map(|(_, topology)| topology.to_mermaid())
            .unwrap_or_default(),
        false if shown.len() > 1 => shown
            .iter()
            .map(|(round, topology)| format!("from round {round}: {}", topology.to_text()))
            .collect(),
        false => shown
            .iter()
            .map(|(_, topology)| topology.to_text())
            .collect(),
    };
    output::print(&for_people(&text))?;
    Ok(0)
}

/// The topology that judges of these roles would have.
fn of_panel(app: &App, args: &TopologyArgs) -> Result<Topology, CliError> {
    let kind = match &args.kind {
        Some(name) => Kind::named(name).map_err(CliError::usage)?,
        None => app.config.decide()?.topology,
    };
    let judges = if args.judges.is_empty() {
        JUDGES.map(str::to_owned).to_vec()
    } else {
        args.judges.clone()
    };
    // A panel can be looked at before its role files are written.
    let role = |name: &String| {
        Ok(roles::found(&app.project(), name)?.unwrap_or_else(|| Role::parse(name, "")))
    };
    let agents = judges
        .iter()
        .map(|name| role(name).map(|role: Role| role.played_by("nobody")))
        .collect::<Result<Vec<_>, CliError>>()?;
    Topology::of_panel(kind, &agents).map_err(|error| CliError::usage(error.to_string()))
}
