//! Who does what in a review: an editor, a judge, and reviewers.

use super::{
    config::Config,
    input::{Input, TextKind},
};
use crate::{
    agent::Agent,
    formats::casting::{Casting, Wanted, named_or},
};

pub const EDITOR: &str = "editor";
/// Who judges the debate between reviewers.
pub const JUDGE: &str = "judge";

/// Whether an agent reviews; the editor and the judge do not.
pub fn is_reviewer(agent: &Agent) -> bool {
    ![EDITOR, JUDGE].contains(&&*agent.role)
}

/// The one agent of a role, if there is one.
pub fn only<'a>(agents: &'a [Agent], role: &str) -> Option<&'a Agent> {
    agents.iter().find(|agent| *agent.role == *role)
}

/// The reviewers when nobody says otherwise.
const REVIEWERS: [&str; 4] = ["security", "testing", "clarity", "performance"];

/// Who takes part: the reviewers, and whoever else is needed.
pub const CASTING: Casting = Casting {
    asked,
    ..Casting::panel(&REVIEWERS, roles)
};

fn roles(wanted: &Wanted<'_>, named: &[String]) -> Result<Vec<String>, String> {
    let (config, kind) = settings(wanted)?;
    let mut roles = named_or(&REVIEWERS, named);
    for role in [EDITOR, JUDGE] {
        if is_needed(role, &config, kind) && !roles.iter().any(|known| known == role) {
            roles.push(role.to_owned());
        }
    }
    Ok(roles)
}

fn asked(wanted: &Wanted<'_>, mut agents: Vec<Agent>) -> Result<Vec<Agent>, String> {
    let (config, kind) = settings(wanted)?;
    agents.retain(|agent| is_reviewer(agent) || is_needed(&agent.role, &config, kind));
    Ok(agents)
}

fn settings(wanted: &Wanted<'_>) -> Result<(Config, TextKind), String> {
    let config = Config::parse(wanted.config)?;
    Ok((config, Input::parse(wanted.input)?.kind))
}

/// Whether an editor or judge will be asked at all; nobody else belongs to the debate.
fn is_needed(role: &str, config: &Config, kind: TextKind) -> bool {
    match role {
        EDITOR => config.edit && kind == TextKind::Text,
        JUDGE => config.debate.enabled,
        _ => true,
    }
}
