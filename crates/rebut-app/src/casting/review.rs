//! Who takes part in a review: the reviewers, and an editor and a judge where they are needed.

use super::Wanted;
use crate::{app::App, error::AppError, panel::Panel};
use rebut_engine::formats::review::{Config, EDITOR, Input, JUDGE, TextKind, is_reviewer};
use rebut_models::Registry;

/// The reviewers when nobody says otherwise.
const REVIEWERS: [&str; 4] = ["security", "testing", "clarity", "performance"];

/// The reviewers, and whoever else is needed for this text under these settings.
pub async fn cast(app: &App, registry: &Registry, wanted: Wanted<'_>) -> Result<Panel, AppError> {
    let config = Config::parse(wanted.config).map_err(AppError::usage)?;
    let kind = Input::parse(wanted.input).map_err(AppError::usage)?.kind;
    let mut args = wanted.panel.clone();
    let usual = roles(&args.judges, &config, kind);
    if !args.judges.is_empty() {
        args.judges.clone_from(&usual);
    }
    let Panel { mut agents, chosen } = super::panel(
        app,
        registry,
        &args,
        &usual.iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .await?;
    agents.retain(|agent| is_reviewer(agent) || is_needed(&agent.role, &config, kind));
    Ok(Panel { agents, chosen })
}

/// The roles that take part: the reviewers, and whoever else is needed.
fn roles(reviewers: &[String], config: &Config, kind: TextKind) -> Vec<String> {
    let named = |names: &[&str]| names.iter().copied().map(str::to_owned).collect::<Vec<_>>();
    let mut roles = if reviewers.is_empty() {
        named(&REVIEWERS)
    } else {
        reviewers.to_vec()
    };
    for role in [EDITOR, JUDGE] {
        if is_needed(role, config, kind) && !roles.iter().any(|known| known == role) {
            roles.push(role.to_owned());
        }
    }
    roles
}

/// Whether an editor or judge will be asked at all; nobody else belongs to the debate.
fn is_needed(role: &str, config: &Config, kind: TextKind) -> bool {
    match role {
        EDITOR => config.edit && kind == TextKind::Text,
        JUDGE => config.debate.enabled,
        _ => true,
    }
}
