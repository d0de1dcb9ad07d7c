//! `rebut challenge`: from a topic to a proposer, its challengers and their workspace.

use super::{
    ask::setting_of,
    prepare, progress,
    request::{self, Case},
    server_support::{of_run, refuse},
};
use crate::{
    app::App,
    cli::{ChallengeArgs, GlobalArgs},
    context,
    error::CliError,
    model_discovery::{self, Candidate, Found, Source},
    output, panel,
    post_actions::Afterwards,
    workspace::{self, Pinned, Workspace},
};
use rebut_engine::{
    DebateId, Desk,
    clean::on_one_line,
    family::family_of,
    formats::{
        casting::{Casting, named_or},
        challenge::{FORMAT, Input},
    },
};
use rebut_models::Registry;
use std::path::{Component, Path, PathBuf};

/// `rebut challenge`.
pub async fn run(global: &GlobalArgs, args: ChallengeArgs) -> Result<u8, CliError> {
    let workspace = (
        "--debates",
        args.debates.is_some(),
        "a workspace is kept where the debate is held, and no request names a place there",
    );
    refuse(global, &[&of_run(&args.run)[..], &[workspace]].concat())?;
    let set = settings(&args)?;
    let app = request::open(global, &set)?;
    output::check_files(&args.run.output, FORMAT.name)?;
    let input = input(&args, &app)?;
    let after = Afterwards::of(&args.run.output);
    let case = Case {
        format: FORMAT.name,
        input: prepare::value(&input)?,
        set,
        run: args.run.clone(),
        after,
    };
    match args.no_workspace || global.server.is_some() {
        true => case.hold(&app).await,
        false => hold_in_workspace(&app, case, &input, &debates(&args, &app)).await,
    }
}

/// Holds a challenge here that keeps its files in a directory of its own below this one.
async fn hold_in_workspace(
    app: &App,
    case: Case,
    input: &Input,
    below: &Path,
) -> Result<u8, CliError> {
    let Some(mut prepared) = case.prepare(app).await? else {
        return Ok(0);
    };
    let Case { run, after, .. } = case;
    let (workspace, mut claim) = Workspace::create(below, input)?;
    prepared.start.input["workspace"] = workspace.pinned(&app.project()).into();
    prepared.models = workspace.guarded(
        prepared.models,
        &Pinned {
            agents: &prepared.start.agents,
            config: &prepared.start.config,
        },
    );
    let id = DebateId::new();
    let started = match prepared.desk(app).await {
        Ok(desk) => match claim.begins(id, app.place()?) {
            Ok(()) => after
                .start_as(app, &desk, id, prepared.start)
                .await
                .map(|running| (desk, running)),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    match started {
        Ok((desk, running)) => {
            claim.release()?;
            clear_up(app, below, &desk).await;
            let code =
                progress::follow_beside_files(app, &desk, running, &run.output, &workspace).await?;
            after.finish(app, &(&desk).into(), id, code).await
        }
        Err(error) => {
            workspace.discard()?;
            claim.release()?;
            Err(error)
        }
    }
}

/// Takes away what challenges left that died before they began. What cannot be cleared up must not
/// stop this one.
async fn clear_up(app: &App, below: &Path, desk: &Desk) {
    let cleared = match app.place() {
        Ok(place) => workspace::take_away(below, place, desk).await,
        Err(error) => Err(error),
    };
    match cleared {
        Ok(gone) if app.global.quiet => drop(gone),
        Ok(gone) => gone.iter().for_each(|dir| {
            warn_line!(
                "removed {}: its challenge never began",
                on_one_line(&dir.display().to_string())
            )
        }),
        Err(error) => warn_line!("what earlier challenges left was not cleared up: {error}"),
    }
}

fn settings(args: &ChallengeArgs) -> Result<Vec<String>, CliError> {
    let mut set = args.run.panel.set.clone();
    let typed = [
        ("rounds", args.rounds.map(u64::from)),
        ("timeout", args.timeout),
    ];
    for (flag, value) in typed {
        if let Some(value) = value {
            set.push(format!(
                "challenge.{}={value}",
                setting_of(flag, FORMAT.name)?
            ));
        }
    }
    Ok(set)
}

fn input(args: &ChallengeArgs, app: &App) -> Result<Input, CliError> {
    if args.topic.trim().is_empty() {
        return Err(CliError::usage("what is the topic?")
            .hint("rebut challenge \"Use Redis for sessions\" -c notes.md"));
    }
    let gathered = context::gather(&args.context, &app.config.deny)?;
    for (path, why) in &gathered.left_out {
        warn_line!(
            "left out {}: {why}",
            on_one_line(&path.display().to_string())
        );
    }
    Ok(Input {
        topic: args.topic.clone(),
        context: gathered.text,
        workspace: String::new(),
    })
}

fn debates(args: &ChallengeArgs, app: &App) -> PathBuf {
    match &args.debates {
        // Without `..`, by which a journal could lead anywhere.
        Some(dir) => upwards(&app.origin.current_dir.join(dir)),
        None => app.project().join("debates"),
    }
}

/// The path with its `..` followed, as the words say.
fn upwards(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut known, part| {
        match part {
            Component::ParentDir => drop(known.pop()),
            part => known.push(part),
        }
        known
    })
}

/// Who takes part. Without a word about it, programs in which somebody is signed in challenge, each
/// from its usual angle.
pub async fn cast(
    app: &App,
    registry: &Registry,
    args: &panel::PanelRequest,
    casting: &Casting,
) -> Result<panel::Panel, CliError> {
    let mut args = args.clone();
    let usual = casting.usual;
    if !panel::wants_auto(&args, &app.config, usual)? {
        return panel::choose(&args, &app.config, &app.project(), Found::default(), usual);
    }
    let (_, named) = panel::split_models(&args.models)?;
    let roles = named_or(usual, &args.judges);
    let open: Vec<&str> = roles
        .iter()
        .map(String::as_str)
        .filter(|role| named.iter().all(|(known, _)| known != role))
        .collect();
    let found = app.found(registry).await;
    let nobody = found.nobody();
    let seated = seat(casting, &open, found.candidates);
    let chosen = words(&seated).unwrap_or(nobody);
    args.models.extend(seated.iter().map(|(role, candidate)| {
        format!(
            "{role}={}",
            candidate.as_ref().map_or("rehearsal", |one| &one.model)
        )
    }));
    let panel = panel::choose(&args, &app.config, &app.project(), Found::default(), usual)?;
    Ok(panel::Panel { chosen, ..panel })
}

/// A model for each role, or none for anybody when there is nobody: programs challenge, from their
/// usual angle where it is free; what is left goes to models of other families, and then round.
fn seat<'a>(
    casting: &Casting,
    roles: &[&'a str],
    mut free: Vec<Candidate>,
) -> Vec<(&'a str, Option<Candidate>)> {
    let leads = |role: &str| casting.usual.first() == Some(&role);
    let everybody = free.clone();
    let mut seats: Vec<(&str, Option<Candidate>)> =
        roles.iter().map(|role| (*role, None)).collect();
    let take = |free: &mut Vec<Candidate>, fits: &dyn Fn(&Candidate) -> bool| {
        free.iter().position(fits).map(|at| free.remove(at))
    };
    let is_usual = |one: &Candidate| {
        casting
            .programs
            .iter()
            .any(|(_, program)| one.model == *program)
    };
    let is_program = |one: &Candidate| one.source == Source::SignedIn;
    for (role, seat) in &mut seats {
        *seat = match casting.programs.iter().find(|(angle, _)| angle == role) {
            Some((_, program)) => take(&mut free, &|one| one.model == *program),
            // The best: whoever has a key, else whoever has no angle of its own.
            None if leads(role) => {
                let keyed = take(&mut free, &|one| one.source == Source::Key);
                keyed.or_else(|| take(&mut free, &|one| !is_usual(one)))
            }
            None => None,
        };
    }
    for (_, seat) in seats
        .iter_mut()
        .filter(|(role, seat)| seat.is_none() && !leads(role))
    {
        *seat = take(&mut free, &is_program);
    }
    let open = seats.iter().filter(|(_, seat)| seat.is_none()).count();
    let seated: Vec<String> = seats
        .iter()
        .filter_map(|(_, seat)| Some(seat.as_ref()?.model.clone()))
        .collect();
    let rest = model_discovery::pick(
        free,
        open,
        &seated.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let mut more = rest.into_iter().chain(everybody.iter().cloned().cycle());
    for (_, seat) in seats.iter_mut().filter(|(_, seat)| seat.is_none()) {
        *seat = more.next();
    }
    seats
}

/// One line for people: who was chosen; nothing when there is nobody.
fn words(seats: &[(&str, Option<Candidate>)]) -> Option<String> {
    if seats.iter().any(|(_, seat)| seat.is_none()) {
        return None;
    }
    let named: Vec<String> = seats
        .iter()
        .filter_map(|(role, seat)| Some((role, seat.as_ref()?)))
        .map(|(role, one)| format!("{role} {} ({})", on_one_line(&one.model), one.source))
        .collect();
    let mut families: Vec<_> = seats
        .iter()
        .filter_map(|(_, seat)| Some(family_of(&seat.as_ref()?.model).into_owned()))
        .collect();
    families.sort();
    families.dedup();
    let many = if families.len() == 1 {
        "one family only".to_owned()
    } else {
        format!("{} families", families.len())
    };
    Some(format!("cast: {}; {many}", named.join(" · ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who is there (`!` signed in, `~` a local server, else by key), and who sits as proposer,
    /// architect, operator and adversary.
    #[test]
    fn programs_take_their_usual_angles_and_the_best_of_the_rest_proposes() {
        let rows: [(&[&str], [&str; 4]); 8] = [
            (
                &[
                    "anthropic:claude-x",
                    "!cli:claude",
                    "!cli:codex",
                    "!cli:gemini",
                    "!cli:qwen",
                ],
                ["anthropic:claude-x", "cli:gemini", "cli:codex", "cli:qwen"],
            ),
            (
                &["!cli:claude", "!cli:codex", "!cli:gemini", "!cli:qwen"],
                ["cli:claude", "cli:gemini", "cli:codex", "cli:qwen"],
            ),
            (
                &["!cli:claude", "!cli:opencode", "!cli:gemini"],
                ["cli:claude", "cli:gemini", "cli:opencode", "cli:claude"],
            ),
            (
                &["!cli:gemini", "!cli:codex", "!cli:qwen"],
                ["cli:gemini", "cli:gemini", "cli:codex", "cli:qwen"],
            ),
            (
                &["anthropic:claude-x", "openai:gpt-5", "~ollama:qwen3"],
                [
                    "anthropic:claude-x",
                    "openai:gpt-5",
                    "ollama:qwen3",
                    "anthropic:claude-x",
                ],
            ),
            (&["~ollama:qwen3"], ["ollama:qwen3"; 4]),
            (&["!cli:codex"], ["cli:codex"; 4]),
            (&[], ["-"; 4]),
        ];
        for (there, expected) in rows {
            let candidates = there.iter().map(|name| match name.chars().next() {
                Some('!') => Candidate {
                    model: name[1..].to_owned(),
                    source: Source::SignedIn,
                },
                Some('~') => Candidate {
                    model: name[1..].to_owned(),
                    source: Source::Server,
                },
                _ => Candidate {
                    model: (*name).to_owned(),
                    source: Source::Key,
                },
            });
            let seats = seat(&FORMAT.casting, FORMAT.casting.usual, candidates.collect());
            let models: Vec<String> = seats
                .iter()
                .map(|(_, seat)| {
                    seat.as_ref()
                        .map_or("-".to_owned(), |one| one.model.clone())
                })
                .collect();
            assert_eq!(models, expected, "{there:?}");
        }
    }
}
