//! Who takes part: a panel from the configuration, models from the command line, or whatever this
//! machine has.

use crate::{
    config::{Config, Member},
    error::AppError,
    model_discovery::{self, Found},
    roles,
};
use rebut_engine::{
    agent::Agent,
    clean::{is_hostile, on_one_line},
};
use std::path::Path;

pub use rebut_engine::formats::casting::JUDGES;

/// What was said about who takes part. What was not said, the configuration says, or the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PanelRequest {
    /// The name of a configured panel, or `auto`.
    pub panel: Option<String>,
    /// Models for everybody, or `ROLE=MODEL` for one.
    pub models: Vec<String>,
    /// Roles, in place of the usual ones.
    pub judges: Vec<String>,
    /// Everybody, one by one, in place of all that.
    pub members: Vec<Member>,
}

impl PanelRequest {
    /// Whether somebody chose models, by a panel's name or one by one.
    pub fn is_chosen(&self) -> bool {
        self.names_members() || !self.models.is_empty()
    }

    /// Whether somebody said who plays which role.
    pub fn names_members(&self) -> bool {
        self.panel.is_some() || !self.members.is_empty()
    }
}

/// A panel, and how it came about.
#[derive(Clone, Debug)]
pub struct Panel {
    pub agents: Vec<Agent>,
    /// One line for people: what was chosen and why.
    pub chosen: String,
}

/// Whether the machine has to be searched for models: somebody has neither a panel's model nor one
/// of the command line. `usual` are the roles when nobody says otherwise.
pub fn wants_auto(args: &PanelRequest, config: &Config, usual: &[&str]) -> Result<bool, AppError> {
    let (everybody, single) = split_models(&args.models)?;
    Ok(args.members.is_empty()
        && wanted(args, config).is_none()
        && everybody.is_empty()
        && roles_of(args, usual)
            .iter()
            .any(|role| !is_named(role, &single)))
}

/// The panel asked for by name. Judges named on the command line outrank the configured panel.
fn wanted<'a>(args: &'a PanelRequest, config: &'a Config) -> Option<&'a str> {
    let configured = config
        .defaults
        .panel
        .as_deref()
        .filter(|_| args.judges.is_empty());
    args.panel
        .as_deref()
        .or(configured)
        .filter(|name| *name != "auto")
}

/// Puts a panel together. `available` are models found on this machine, in order of preference;
/// `usual` the roles when nobody says otherwise.
pub fn choose(
    args: &PanelRequest,
    config: &Config,
    project: &Path,
    available: Found,
    usual: &[&str],
) -> Result<Panel, AppError> {
    let wanted = wanted(args, config);
    let (everybody, single) = split_models(&args.models)?;
    if let (Some(name), false) = (&args.panel, args.judges.is_empty()) {
        return Err(AppError::usage(format!(
            "--judges and --panel {name} both say who takes part; give one of them"
        )));
    }
    let (members, mut chosen) = match wanted {
        _ if !args.members.is_empty() => (args.members.clone(), "as asked for".to_owned()),
        Some(name) if everybody.is_empty() => {
            (named(config, name)?, format!("panel {}", on_one_line(name)))
        }
        Some(name) => {
            let seats = named(config, name)?
                .into_iter()
                .zip(everybody.iter().cycle());
            let members = seats
                .map(|(member, model)| Member {
                    model: model.clone(),
                    ..member
                })
                .collect();
            (
                members,
                format!(
                    "panel {} played by {}",
                    on_one_line(name),
                    everybody.join(", ")
                ),
            )
        }
        None if !everybody.is_empty() => {
            let roles = roles_of(args, usual);
            (
                seat(&roles, &everybody),
                format!("{} played by {}", roles.join(", "), everybody.join(", ")),
            )
        }
        None => found(&roles_of(args, usual), available, &single),
    };
    let mut agents = members
        .iter()
        .map(|member| agent(member, project))
        .collect::<Result<Vec<_>, _>>()?;
    for (judge, model) in &single {
        let known = agents
            .iter()
            .map(|agent| agent.name.to_string())
            .collect::<Vec<_>>()
            .join(", ");
        let agent = agents.iter_mut().find(|agent| *agent.name == **judge);
        agent
            .ok_or_else(|| {
                AppError::usage(format!(
                    "there is no judge `{judge}`; the panel has {known}"
                ))
            })?
            .model = model.as_str().into();
    }
    if !single.is_empty() {
        let others = if wanted.is_none() && everybody.is_empty() && !chosen.is_empty() {
            format!("; {chosen}")
        } else {
            String::new()
        };
        chosen = agents
            .iter()
            .map(|agent| format!("{} {}", agent.name, agent.model))
            .collect::<Vec<_>>()
            .join(" · ")
            + &others;
    }
    // It tells of models and judges by the names that a project's file gives them.
    Ok(Panel {
        agents,
        chosen: on_one_line(&chosen),
    })
}

/// A judge's name and its model.
pub type Named = (String, String);

/// `risk=script:a.md` names a judge; `script:a.md` is for everybody, or one after the other when
/// repeated.
pub fn split_models(models: &[String]) -> Result<(Vec<String>, Vec<Named>), AppError> {
    let (mut everybody, mut single) = (Vec::new(), Vec::new());
    for text in models {
        match text.split_once('=') {
            Some((judge, model)) if !judge.contains(':') && !model.is_empty() => {
                single.push((judge.trim().to_owned(), model.trim().to_owned()))
            }
            _ if text.trim().is_empty() => {
                return Err(AppError::usage(
                    "`-m` needs a model, e.g. `-m openai:gpt-5`",
                ));
            }
            _ => everybody.push(text.trim().to_owned()),
        }
    }
    Ok((everybody, single))
}

fn roles_of(args: &PanelRequest, usual: &[&str]) -> Vec<String> {
    if args.judges.is_empty() {
        usual.iter().copied().map(str::to_owned).collect()
    } else {
        args.judges.clone()
    }
}

fn named(config: &Config, name: &str) -> Result<Vec<Member>, AppError> {
    if let Some(panel) = config.panels.get(name) {
        return if panel.members.is_empty() {
            Err(AppError::usage(format!("panel `{name}` has no members")))
        } else {
            Ok(panel.members.clone())
        };
    }
    let known: Vec<&str> = config
        .panels
        .keys()
        .map(String::as_str)
        .chain(["auto"])
        .collect();
    Err(
        AppError::usage(format!("there is no panel `{name}`")).hint(format!(
            "known panels: {}; add [panels.{name}] to rebut.toml",
            known.join(", ")
        )),
    )
}

/// One member per role; models go round.
fn seat(roles: &[String], models: &[String]) -> Vec<Member> {
    let seats = roles.iter().zip(models.iter().cycle());
    seats
        .map(|(role, model)| Member {
            role: role.clone(),
            model: model.clone(),
            ..Member::default()
        })
        .collect()
}

/// Named judges keep their model; the others get what was found, families the named ones lack
/// first.
fn found(roles: &[String], available: Found, single: &[Named]) -> (Vec<Member>, String) {
    let unnamed: Vec<String> = roles
        .iter()
        .filter(|role| !is_named(role, single))
        .cloned()
        .collect();
    if unnamed.is_empty() || available.candidates.is_empty() {
        let why = if unnamed.is_empty() {
            String::new()
        } else {
            available.nobody()
        };
        return (seat(roles, &["rehearsal".to_owned()]), why);
    }
    let taken: Vec<&str> = single.iter().map(|(_, model)| model.as_str()).collect();
    let picked = model_discovery::pick(available.candidates, unnamed.len(), &taken);
    let models: Vec<String> = picked
        .iter()
        .map(|candidate| candidate.model.clone())
        .collect();
    let mut found = seat(&unnamed, &models).into_iter();
    let members = roles.iter().map(
        |role| match single.iter().find(|(judge, _)| judge == role) {
            Some((_, model)) => Some(Member {
                role: role.clone(),
                model: model.clone(),
                ..Member::default()
            }),
            None => found.next(),
        },
    );
    (members.flatten().collect(), model_discovery::words(&picked))
}

fn is_named(role: &str, single: &[Named]) -> bool {
    single.iter().any(|(judge, _)| judge == role)
}

fn agent(member: &Member, project: &Path) -> Result<Agent, AppError> {
    let role = roles::find(project, &member.role)?;
    let played = role.played_by(member.model.clone());
    let name = member.name.as_deref().map_or(played.name, Into::into);
    // Names stand everywhere a debate is shown, so they must not be able to steer a terminal.
    if name.chars().any(|c| is_hostile(c) || c.is_whitespace()) {
        return Err(
            AppError::usage(format!("`{}` cannot be a judge's name", on_one_line(&name)))
                .hint("use letters, digits and dashes"),
        );
    }
    Ok(Agent {
        name,
        stance: on_one_line(member.stance.as_deref().unwrap_or(&played.stance)).into(),
        temperature: member.temperature,
        max_tokens: member.max_tokens,
        effort: member.effort,
        fallbacks: member.fallbacks.clone(),
        ..played
    })
}
