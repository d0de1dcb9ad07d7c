//! Who takes part, by the rules of the format: the one place that knows them, whoever asks.

mod challenge;
mod evaluate;
mod review;

use crate::{
    app::App,
    error::AppError,
    model_discovery::Found,
    panel::{self, JUDGES, Panel, PanelRequest},
};
use rebut_engine::{
    agent::Agent,
    formats::{
        baselines::single, challenge as challenging, evaluate as evaluating, review as reviewing,
        solve,
    },
};
use rebut_models::Registry;
use serde_json::Value;

/// A debate that somebody wants, but for who takes part.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The format's name.
    pub format: &'a str,
    pub input: &'a Value,
    /// Its settings, complete.
    pub config: &'a Value,
    /// What was said about who takes part.
    pub panel: &'a PanelRequest,
}

/// Casts a debate.
pub async fn cast(app: &App, registry: &Registry, wanted: Wanted<'_>) -> Result<Panel, AppError> {
    match wanted.format {
        "challenge" => challenge::cast(app, registry, wanted.panel).await,
        "evaluate" => evaluate::cast(app, registry, wanted).await,
        "review" => review::cast(app, registry, wanted).await,
        "solve" => panel(app, registry, wanted.panel, &solve::ROLES).await,
        format => {
            let panel = panel(app, registry, wanted.panel, &JUDGES).await?;
            Ok(Panel {
                agents: who_answers(format, wanted.config, panel.agents)?,
                ..panel
            })
        }
    }
}

/// Whether a format takes a question with options, as `decide` does.
pub fn is_question(format: &str) -> bool {
    ![
        challenging::FORMAT.name,
        evaluating::FORMAT.name,
        reviewing::FORMAT.name,
        solve::FORMAT.name,
    ]
    .contains(&format)
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
    if format != single::FORMAT.name {
        return Ok(agents);
    }
    let config = single::Config::parse(config).map_err(AppError::usage)?;
    Ok(vec![
        config.chosen(&agents).map_err(AppError::usage)?.clone(),
    ])
}
