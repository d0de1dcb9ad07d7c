//! `resume`, `replay`, `fork`, `export`, `import`, `rm`: what can be done with kept debates.

use super::{ask::setting_of, follow};
use crate::{
    afterwards::{self, Afterwards},
    app::{App, user},
    budget::Budget,
    cli::{ExportArgs, ForkArgs, Form, GlobalArgs, ImportArgs, OutputArgs, ReplayArgs, ResumeArgs, RmArgs},
    config::BudgetSection,
    debates::Debates,
    error::CliError,
    git::branch,
    output, panel, text,
    workspace::{Keeping, Workspace},
};
use rebut_engine::{
    DebateId, Desk, Fork, More, Running,
    clean::for_people,
    error::DeskError,
    memory::MemoryStore,
    outcome::Ending,
    portable::{Portable, PortableError},
    store::{Filter, Status},
    view::View,
};
use std::{
    io::{BufRead, IsTerminal},
    path::Path,
    sync::Arc,
};

/// `rebut resume`.
pub async fn resume(global: &GlobalArgs, args: ResumeArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let desk = app.desk().await?;
    let more = Budget::new(&args.budget, &BudgetSection::default()).more();
    let Some(id) = &args.id else { return resume_all(&app, &desk, more).await };
    let session = desk.find(id).await?;
    let id = session.id;
    let asked = Afterwards::recall(&app, id)?;
    let (after, flags) = asked.clone().unwrap_or_default().with(&args.output)?;
    after.check(&session.format)?;
    let view = desk.view(id).await?;
    if let (Some(outcome), Some(_)) = (&view.outcome, &asked)
        && outcome.outcome != Ending::Stopped
    {
        // It came to its end, and its process went before the rest was done.
        output::result(&desk, &view, &flags, &app).await?;
        return after.finish(&app, &desk, id, follow::exit_code(outcome.outcome, &flags)).await;
    }
    let workspace = Workspace::of(&app, &view)?;
    let desk = match &workspace {
        Some(workspace) => workspace.desk(&app, &view).await?,
        None => desk,
    };
    let running = match desk.resume_with(id, more).await {
        Err(error) => {
            // Its process may have died between its end and the last commit.
            let has_ended = matches!(error, DeskError::WrongState(_)) && view.outcome.is_some();
            if let Some(keeping) = has_ended.then(|| branch::Keeping::resume(&app, &desk, id)).flatten() {
                keeping.end(global.quiet, false).await;
            }
            return Err(not_resumed(error, &view));
        }
        Ok(running) => running,
    };
    after.remember(&app, id)?;
    let code = match workspace {
        Some(workspace) => workspace.follow(&app, &desk, running, &flags).await?,
        None => {
            let keeping = branch::Keeping::resume(&app, &desk, id);
            branch::follow_with(&app, &desk, running, &flags, keeping).await?
        }
    };
    if let Some(arm) = after.baseline.as_ref().filter(|_| code != Ending::Cancelled.exit_code()) {
        eprintln!("--baseline {arm} was asked for and is not run by resume; to compare: rebut decide … --baseline {arm}");
    }
    after.finish(&app, &desk, id, code).await
}

/// Why a debate was not gone on with, and what to do.
fn not_resumed(error: DeskError, view: &View) -> CliError {
    let (anew, nobody) = (text::ask_anew(view), matches!(error, DeskError::NoModel { .. }));
    let is_ended = matches!(error, DeskError::WrongState(_));
    let error = CliError::from(error);
    match anew {
        Some(command) if is_ended => error.hint(format!("to ask its last step anew and keep the rest: {command}")),
        _ if nobody => {
            error.hint("the debate stays open: make that model usable, then resume it; `rebut doctor` shows which models can be used")
        }
        _ => error,
    }
}

/// Goes on with every debate that is open and that nobody runs.
async fn resume_all(app: &App, desk: &Desk, more: More) -> Result<u8, CliError> {
    let mut open = desk.sessions(&Filter { status: Some(Status::Running), ..Filter::default() }).await?;
    open.extend(desk.sessions(&Filter { status: Some(Status::Paused), ..Filter::default() }).await?);
    if open.is_empty() {
        eprintln!("nothing to resume: every debate here has ended");
    }
    let (mut running, mut left) = (Vec::new(), 0);
    for session in open {
        if desk.is_run(session.id).await? {
            eprintln!("{}: another process runs it", session.id.short());
            continue;
        }
        match resume_one(app, desk, session.id, more).await {
            Ok(run) => running.push(run),
            Err(error) => {
                eprintln!("{}: {error}", session.id.short());
                left += 1;
            }
        }
    }
    let mut code = 0;
    for (run, kept, committing) in running {
        let id = run.id;
        let after = Afterwards::recall(app, id)?.unwrap_or_default();
        match run.outcome().await {
            Ok(outcome) => {
                output::print(&format!("{}  {}  {}\n", id.short(), outcome.outcome.as_str(), for_people(&outcome.summary)))?;
                let (after, flags) = after.with(&OutputArgs::default())?;
                output::files(desk, &desk.view(id).await?, &flags).await?;
                let ended = follow::exit_code(outcome.outcome, &flags);
                // Ends of many debates are told line by line; a gate that one was to pass counts for all.
                let passed = after.finish(app, desk, id, ended).await?;
                code = if passed == ended { code } else { passed };
            }
            Err(error) => {
                eprintln!("{}: {error}", id.short());
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
    if left > 0 {
        eprintln!("{left} of them could not be gone on with");
        code = 1;
    }
    Ok(code)
}

/// Goes on with a debate, and keeps its workspace or its branch if it has one.
async fn resume_one(app: &App, desk: &Desk, id: DebateId, more: More) -> Result<Resumed, CliError> {
    let view = desk.view(id).await?;
    let Some(workspace) = Workspace::of(app, &view)? else {
        let running = desk.resume_with(id, more).await.map_err(|error| not_resumed(error, &view))?;
        return Ok((running, None, branch::Keeping::resume(app, desk, id)));
    };
    let guarded = workspace.desk(app, &view).await?;
    let running = guarded.resume_with(id, more).await.map_err(|error| not_resumed(error, &view))?;
    Ok((running, Some(workspace.keep(&guarded, id)), None))
}

/// A debate that goes on, and what is kept beside it.
type Resumed = (Running, Option<Keeping>, Option<branch::Keeping>);

/// `rebut replay`: the transcript on standard output, the verdict on standard error.
pub async fn replay(global: &GlobalArgs, args: ReplayArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let (desk, id) = match read_journal(&args.what)? {
        Some(file) => {
            let registry = Arc::new(app.registry()?);
            let desk = app.desk_over(Arc::new(MemoryStore::new()), &registry, registry.clone())?;
            let id = file.debate;
            let keys: Vec<String> = file.checkpoints.iter().map(|checkpoint| checkpoint.key.clone()).collect();
            desk.import(file, &keys).await?;
            (desk, id)
        }
        None => {
            let desk = app.desk().await?;
            let id = desk.find(&args.what).await?.id;
            (desk, id)
        }
    };
    let replayed = desk.replay(id).await?;
    match args.json {
        true => output::print_json(&replayed.outcome)?,
        false => output::print(&for_people(&replayed.transcript))?,
    }
    if !replayed.identical {
        return Err(CliError::failed("the replay differs from the record")
            .hint("the journal is as it was written: the program's rules changed since; `rebut show ID --transcript` prints the record"));
    }
    if !global.quiet {
        eprintln!("identical to the record, byte for byte; nobody was asked");
    }
    Ok(0)
}

/// `rebut fork`.
pub async fn fork(global: &GlobalArgs, args: ForkArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let desk = app.desk().await?;
    let session = desk.find(&args.id.id).await?;
    output::check_files(&args.output, &session.format)?;
    let (id, format) = (session.id, session.format);
    let more = Budget::new(&args.budget, &app.config.budget).more();
    let mut fork = Fork { at: args.at, initiated_by: user(), more, ..Fork::default() };
    if let Some(threshold) = args.threshold {
        fork.config.insert(setting_of("threshold", &format)?.to_owned(), threshold.into());
    }
    if let Some(kind) = args.topology {
        fork.config.insert(setting_of("topology", &format)?.to_owned(), kind.into());
    }
    if let Some(rounds) = args.rounds {
        fork.config.insert(setting_of("rounds", &format)?.to_owned(), rounds.into());
        // Whoever asks for more rounds wants them, also when nobody moved in the last one.
        let goes_on: Option<(&str, serde_json::Value)> = match format.as_str() {
            "decide" => Some(("stop_when_stable", false.into())),
            "society" => Some(("stop", "never".into())),
            _ => None,
        };
        fork.config.extend(goes_on.map(|(key, value)| (key.to_owned(), value)));
    }
    let (everybody, single) = panel::split_models(&args.models)?;
    if !everybody.is_empty() {
        let started = desk.view(id).await?.started;
        let judges = started.iter().flat_map(|started| &started.agents).map(|agent| agent.name.to_string());
        fork.models.extend(judges.zip(everybody.into_iter().cycle()));
    }
    fork.models.extend(single);
    let running = desk.fork(id, fork).await?;
    let (id, after) = (running.id, Afterwards::of(&args.output));
    after.remember(&app, id)?;
    let code = follow::follow(&app, &desk, running, &args.output).await?;
    after.finish(&app, &desk, id, code).await
}

/// `rebut export`.
pub async fn export(global: &GlobalArgs, args: ExportArgs) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let target = args.output.as_ref().or(args.file.as_ref());
    let form = match (args.format, target) {
        (Some(form), _) => form,
        (None, Some(file)) => output::form_of(file)?,
        (None, None) => Form::Markdown,
    };
    let view = debates.view(debates.find(&args.id.id).await?).await?;
    let text = output::render_of(&debates, &view, form).await?;
    match target {
        Some(file) => output::write(file, &text)?,
        None => {
            // A journal is for programs and must keep its bytes; they are escaped in it anyway.
            output::print(&if form == Form::Journal { text.into() } else { for_people(&text) })?;
        }
    }
    Ok(0)
}

/// `rebut import`.
pub async fn import(global: &GlobalArgs, args: ImportArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let name = args.file.display().to_string();
    let file = read_journal(&name)?.ok_or_else(|| CliError::usage(format!("there is no file {name}")))?;
    let mut trusted = app.place.trusted()?;
    let keys: Vec<String> = file.checkpoints.iter().map(|checkpoint| checkpoint.key.clone()).collect();
    let unknown = keys.iter().find(|key| !trusted.contains(key));
    if let Some(key) = unknown {
        if !args.trust {
            let hint = format!("compare the key with its owner, then: rebut import {name} --trust");
            return Err(CliError::usage(format!("{name} is sealed by a key that is not trusted here: {key}")).hint(hint));
        }
        app.place.trust(key)?;
        trusted.extend(keys.clone());
    }
    let audit = app.desk().await?.import(file, &trusted).await?;
    output::print(&format!("{}\n", audit.debate_id))?;
    Ok(0)
}

/// `rebut rm`. What is named by its age rather than by hand is counted and asked for first.
pub async fn rm(global: &GlobalArgs, args: RmArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let desk = app.desk().await?;
    let mut doomed = Vec::new();
    for id in &args.ids {
        doomed.push(desk.find(id).await?.id);
    }
    if let Some(days) = args.older_than {
        doomed.extend(ended_before(&desk, days).await?);
        if !doomed.is_empty() && !args.yes && !is_confirmed(global, doomed.len(), days)? {
            eprintln!("nothing was removed");
            return Ok(0);
        }
    }
    for id in doomed {
        remove(&app, &desk, id).await?;
        output::print(&format!("removed {id}\n"))?;
    }
    Ok(0)
}

/// Every ended debate that began more than so many days ago.
pub async fn ended_before(desk: &Desk, days: u32) -> Result<Vec<DebateId>, CliError> {
    let limit = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * i64::from(days));
    let limit = format!("{limit:.3}");
    let ended = desk.sessions(&Filter::default()).await?.into_iter().filter(|session| !session.status.is_open());
    Ok(ended.filter(|session| session.created_at < limit).map(|session| session.id).collect())
}

/// Removes a debate and whatever this machine keeps beside it.
pub async fn remove(app: &App, desk: &Desk, id: DebateId) -> Result<(), CliError> {
    desk.remove(id).await?;
    branch::forget(&app.place.worktrees(), id)?;
    app.place.forget_vectors()?;
    afterwards::forget(app, id)
}

/// Asks whether so many debates shall go. Where nobody can be asked, that has to be said beforehand.
fn is_confirmed(global: &GlobalArgs, count: usize, days: u32) -> Result<bool, CliError> {
    let what = format!("{count} ended debate{} older than {days} days", if count == 1 { "" } else { "s" });
    if global.no_input || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(CliError::usage(format!("this would remove {what} for good")).hint("add --yes if that is meant; `rebut ls` lists them"));
    }
    eprint!("Remove {what} for good? [y/N] ");
    let mut said = String::new();
    std::io::stdin().lock().read_line(&mut said).map_err(|error| CliError::failed(error.to_string()))?;
    Ok(matches!(said.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The journal in a file, or `None` if there is no file of that name.
pub fn read_journal(name: &str) -> Result<Option<Portable>, CliError> {
    let Some(text) = read_text(name)? else { return Ok(None) };
    Portable::parse(&text).map(Some).map_err(|error| CliError::usage(format!("{name}: {error}")))
}

/// The same for an audit, which says itself what is missing: with the number of events the heading announces.
pub fn read_damaged(name: &str) -> Result<Option<(Portable, u64)>, CliError> {
    let Some(text) = read_text(name)? else { return Ok(None) };
    Portable::parse_uncounted(&text).map(Some).map_err(|error| match error {
        // A journal with a line that is none was damaged, at that line.
        PortableError::Line { .. } => CliError::failed(format!("{name}: damaged: {error}")),
        error => CliError::usage(format!("{name}: {error}")),
    })
}

fn read_text(name: &str) -> Result<Option<String>, CliError> {
    let path = Path::new(name);
    if !path.is_file() {
        return Ok(None);
    }
    std::fs::read_to_string(path).map(Some).map_err(|error| CliError::file("read", path, &error))
}
