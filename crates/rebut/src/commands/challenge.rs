//! `rebut challenge`: from a topic to a proposer, its challengers and their workspace.

use super::{
    ask::setting_of,
    progress,
    request::{self, Case},
    server_support::{of_run, refuse},
};
use crate::{
    app::App,
    cli::{ChallengeArgs, GlobalArgs},
    context,
    error::CliError,
    output,
    post_actions::Afterwards,
    resolve::value,
    workspace::{self, Pinned, Workspace},
};
use rebut_engine::{
    DebateId, Desk,
    clean::on_one_line,
    formats::challenge::{FORMAT, Input},
};
use std::path::{Component, Path, PathBuf};

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
        input: value(&input)?,
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
