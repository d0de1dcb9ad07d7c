//! `rebut resume`: going on with debates, and doing at their end what the command that began them
//! was to do.

use super::{
    progress, remote_run,
    server_support::{of_budget, refuse},
};
use crate::{
    app::App,
    budget::Budget,
    cli::{GlobalArgs, OutputArgs, ResumeArgs},
    config::BudgetSection,
    debates::Debates,
    error::CliError,
    git::branch,
    hint_command::command,
    output,
    post_actions::Afterwards,
    remote::Remote,
    request::LimitsRequest,
    text,
    workspace::{Keeping, Workspace},
};
use rebut_engine::{
    DebateId, Desk, More, Running,
    clean::for_people,
    error::DeskError,
    outcome::{Ending, Outcome},
    store::{Filter, Session, Status},
    view::View,
};
use serde_json::json;

pub async fn resume(global: &GlobalArgs, args: ResumeArgs) -> Result<u8, CliError> {
    refuse(global, &[of_budget(&args.budget)])?;
    let app = App::open(global, &[])?;
    let debates = Debates::open(&app).await?;
    // What is not typed stays as it was pinned.
    let budget = Budget::new(&(&args.budget).into(), &BudgetSection::default());
    match (&debates, &args.id) {
        (Debates::Here(desk), None) => resume_all(&app, desk, budget.more()).await,
        (Debates::There(remote), None) => {
            resume_all_there(&app, &debates, remote, remote_run::limits(budget)).await
        }
        (_, Some(id)) => {
            resume_one_of(
                &app,
                &debates,
                debates.find(id).await?,
                budget,
                &args.output,
            )
            .await
        }
    }
}

/// Goes on with one debate, and does at its end what was asked for when it began and now.
async fn resume_one_of(
    app: &App,
    debates: &Debates,
    id: DebateId,
    budget: Budget,
    output: &OutputArgs,
) -> Result<u8, CliError> {
    let asked = Afterwards::recall(app, id)?;
    let app = &begun_there(app, asked.as_ref());
    let (after, flags) = asked.clone().unwrap_or_default().with(output)?;
    let view = debates.view(id).await?;
    after.check(view.started.as_ref().map_or("", |started| &started.format))?;
    let is_left = asked.as_ref().is_some_and(Afterwards::asks);
    if let Some(outcome) = view
        .outcome
        .as_ref()
        .filter(|outcome| is_left && outcome.outcome != Ending::Stopped)
    {
        // It came to its end, and whoever followed it went before the rest was done.
        output::result(debates, &view, &flags, app).await?;
        return after
            .finish(
                app,
                debates,
                id,
                progress::exit_code(outcome.outcome, &flags),
            )
            .await;
    }
    let code = match debates {
        Debates::Here(desk) => {
            let desk = desk_for(app, desk).await?;
            go_on_here(app, &desk, &view, id, budget.more(), (&after, &flags)).await?
        }
        Debates::There(remote) => {
            go_on_there(remote, &view, id, remote_run::limits(budget)).await?;
            after.remember(app, id)?;
            remote_run::follow(app, debates, id, &flags).await?
        }
    };
    after.finish(app, debates, id, code).await
}

/// What a debate is gone on with: paths of scripts are meant where it was begun.
fn begun_there(app: &App, asked: Option<&Afterwards>) -> App {
    App {
        scripts: asked.and_then(|asked| asked.begun_in.clone()),
        ..app.clone()
    }
}

/// The desk on which a debate goes on: one whose models are looked for where it was begun.
async fn desk_for(app: &App, desk: &Desk) -> Result<Desk, CliError> {
    if app.scripts.is_some() {
        app.desk().await
    } else {
        Ok(desk.clone())
    }
}

/// Has a server go on with a debate, unless it does already and is to do so as before.
async fn go_on_there(
    remote: &Remote,
    view: &View,
    id: DebateId,
    limits: LimitsRequest,
) -> Result<(), CliError> {
    if limits == LimitsRequest::default() && remote.standing(id).await?.is_run {
        return Ok(());
    }
    let resumed = remote.act(id, "resume", &json!({ "limits": limits })).await;
    resumed
        .map(drop)
        .map_err(|error| match text::ask_anew(view) {
            Some(command) if error.is_usage() => error.hint(anew(&command)),
            _ => error,
        })
}

/// Has a server go on with every debate that is open and that nobody runs, and waits for their
/// ends.
async fn resume_all_there(
    app: &App,
    debates: &Debates,
    remote: &Remote,
    limits: LimitsRequest,
) -> Result<u8, CliError> {
    let (mut running, mut left) = (Vec::new(), 0);
    for session in open_ones(debates).await? {
        if debates.is_run(session.id).await? {
            warn_line!("{}: another process runs it", session.id.short());
            continue;
        }
        match go_on_there(remote, &View::default(), session.id, limits).await {
            Ok(()) => running.push(session.id),
            Err(error) => {
                warn_line!("{}: {error}", session.id.short());
                left += 1;
            }
        }
    }
    let mut code = 0;
    for id in running {
        let mut tail = debates.watch(id, 0).await?;
        while tail.next().await?.is_some() {}
        match &debates.view(id).await?.outcome {
            Some(outcome) => code = ended_one(app, debates, id, outcome, code).await?,
            None => {
                warn_line!("{}: it was left before its end", id.short());
                left += 1;
            }
        }
    }
    Ok(all_told(code, left))
}

async fn open_ones(debates: &Debates) -> Result<Vec<Session>, CliError> {
    let mut open = Vec::new();
    for status in [Status::Running, Status::Paused] {
        open.extend(
            debates
                .sessions(&Filter {
                    status: Some(status),
                    ..Filter::default()
                })
                .await?,
        );
    }
    if open.is_empty() {
        warn_line!("nothing to resume: every debate here has ended");
    }
    Ok(open)
}

/// Tells the end of one of many in a line, and does what was asked for at its end. A gate that one
/// was to pass counts for all.
async fn ended_one(
    app: &App,
    debates: &Debates,
    id: DebateId,
    outcome: &Outcome,
    code: u8,
) -> Result<u8, CliError> {
    output::print(&format!(
        "{}  {}  {}\n",
        id.short(),
        outcome.outcome.as_str(),
        for_people(&outcome.summary)
    ))?;
    let (after, flags) = Afterwards::recall(app, id)?
        .unwrap_or_default()
        .with(&OutputArgs::default())?;
    output::files(debates, &debates.view(id).await?, &flags).await?;
    let ended = progress::exit_code(outcome.outcome, &flags);
    let passed = after.finish(app, debates, id, ended).await?;
    Ok(if passed == ended { code } else { passed })
}

fn all_told(code: u8, left: usize) -> u8 {
    if left == 0 {
        return code;
    }
    warn_line!("{left} of them could not be gone on with");
    1
}

/// Goes on with a debate here, and keeps its workspace or its branch if it has one. Gives the exit
/// code.
async fn go_on_here(
    app: &App,
    desk: &Desk,
    view: &View,
    id: DebateId,
    more: More,
    (after, flags): (&Afterwards, &OutputArgs),
) -> Result<u8, CliError> {
    let workspace = Workspace::of(app, view)?;
    let desk = &match &workspace {
        Some(workspace) => workspace.desk(app, view).await?,
        None => desk.clone(),
    };
    let running = match desk.resume_with(id, more).await {
        Err(error) => {
            // Its process may have died between its end and the last commit.
            let has_ended = matches!(error, DeskError::WrongState(_)) && view.outcome.is_some();
            if let Some(keeping) = has_ended
                .then(|| branch::Keeping::resume(app, desk, id))
                .flatten()
            {
                keeping.end(app.global.quiet, false).await;
            }
            return Err(not_resumed(error, view));
        }
        Ok(running) => running,
    };
    after.remember(app, id)?;
    let code = match workspace {
        Some(workspace) => {
            progress::follow_beside_files(app, desk, running, flags, &workspace).await?
        }
        None => {
            let keeping = branch::Keeping::resume(app, desk, id);
            progress::follow_beside_branch(app, desk, running, flags, keeping).await?
        }
    };
    if let Some(arm) = after
        .baseline
        .as_ref()
        .filter(|_| code != Ending::Cancelled.exit_code())
    {
        warn_line!(
            "--baseline {arm} was asked for and is not run by resume; to compare: rebut decide … \
             --baseline {arm}"
        );
    }
    Ok(code)
}

/// Why a debate was not gone on with, and what to do.
fn not_resumed(error: DeskError, view: &View) -> CliError {
    let nobody = matches!(error, DeskError::ModelGone { .. });
    let is_ended = matches!(error, DeskError::WrongState(_));
    let error = CliError::from(error);
    match text::ask_anew(view) {
        Some(command) if is_ended => error.hint(anew(&command)),
        _ if nobody => error.hint(format!(
            "the debate stays open: make that model usable, then resume it; `{}` shows which \
             models can be used",
            command("doctor")
        )),
        _ => error,
    }
}

fn anew(command: &str) -> String {
    format!("to ask its last step anew and keep the rest: {command}")
}

/// Goes on with every debate that is open and that nobody runs.
async fn resume_all(app: &App, desk: &Desk, more: More) -> Result<u8, CliError> {
    let debates = Debates::from(desk);
    let (mut running, mut left) = (Vec::new(), 0);
    for session in open_ones(&debates).await? {
        if desk.is_run(session.id).await? {
            warn_line!("{}: another process runs it", session.id.short());
            continue;
        }
        match resume_one(app, desk, session.id, more).await {
            Ok(run) => running.push(run),
            Err(error) => {
                warn_line!("{}: {error}", session.id.short());
                left += 1;
            }
        }
    }
    let mut code = 0;
    for (run, kept, committing) in running {
        let id = run.id;
        match run.outcome().await {
            Ok(outcome) => code = ended_one(app, &debates, id, &outcome, code).await?,
            Err(error) => {
                warn_line!("{}: {error}", id.short());
                left += 1;
            }
        }
        if let Some(committing) = committing {
            committing.end(app.global.quiet, false).await;
        }
        if let Some(kept) = kept {
            Workspace::kept(kept).await?;
        }
    }
    Ok(all_told(code, left))
}

/// Goes on with a debate, and keeps its workspace or its branch if it has one.
async fn resume_one(app: &App, desk: &Desk, id: DebateId, more: More) -> Result<Resumed, CliError> {
    let app = &begun_there(app, Afterwards::recall(app, id)?.as_ref());
    let desk = &desk_for(app, desk).await?;
    let view = desk.view(id).await?;
    let Some(workspace) = Workspace::of(app, &view)? else {
        let running = desk
            .resume_with(id, more)
            .await
            .map_err(|error| not_resumed(error, &view))?;
        return Ok((running, None, branch::Keeping::resume(app, desk, id)));
    };
    let guarded = workspace.desk(app, &view).await?;
    let running = guarded
        .resume_with(id, more)
        .await
        .map_err(|error| not_resumed(error, &view))?;
    Ok((running, Some(workspace.keep(&guarded, id)), None))
}

/// A debate that goes on, and what is kept beside it.
type Resumed = (Running, Option<Keeping>, Option<branch::Keeping>);
