//! `replay`, `fork`, `export`, `import`, `rm`: what can be done with kept debates.

use super::{
    ask::setting_of,
    progress,
    remote_run::{self, Begun},
    server_support::{of_budget, refuse},
};
use crate::{
    app::{App, user},
    budget::Budget,
    cli::{ExportArgs, ForkArgs, Form, GlobalArgs, ImportArgs, ReplayArgs, RmArgs},
    debates::Debates,
    error::CliError,
    git::branch,
    hint_command::command,
    output, panel,
    post_actions::{self, Afterwards},
    read_file, write_file,
};
use rebut_engine::{
    DebateId, Desk, Fork,
    audit::{self, Audit},
    clean::for_people,
    error::DeskError,
    event::Started,
    journal_file::{Portable, PortableError},
    memory_store::MemoryStore,
    seal::Checkpoint,
    store::Filter,
    view::View,
};
use serde_json::json;
use std::{
    io::{BufRead, IsTerminal},
    path::Path,
    sync::Arc,
};

/// `rebut replay`: the transcript on standard output, the verdict on standard error.
pub async fn replay(global: &GlobalArgs, args: ReplayArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let (desk, id) = match Named::new(&args.what) {
        Named::File(file) => in_memory(&app, read_journal(file)?).await?,
        Named::Debate(word) => {
            let debates = Debates::open(&app).await?;
            let id = debates
                .find(word)
                .await
                .map_err(|error| or_file(error, word))?;
            match debates {
                Debates::Here(desk) => (desk, id),
                there => {
                    let journal = there.journal(id).await?;
                    let unreadable =
                        |error| CliError::failed(format!("the server sent no journal: {error}"));
                    in_memory(&app, Portable::parse(&journal).map_err(unreadable)?).await?
                }
            }
        }
    };
    let replayed = match desk.replay(id).await {
        Err(error @ DeskError::WrongState(_)) => {
            return Err(not_replayed(error, &desk.view(id).await?));
        }
        replayed => replayed?,
    };
    match args.json {
        true => output::print_json(&replayed.outcome)?,
        false => output::print(&for_people(&replayed.transcript))?,
    }
    if !replayed.identical {
        return Err(differs("the replay differs from the record"));
    }
    if !global.quiet {
        warn_line!("identical to the record, byte for byte; nobody was asked");
    }
    Ok(0)
}

/// Why a debate was not run again. One that is open or redacted cannot be; one that is whole, and
/// wants to hear what nobody said, differs.
fn not_replayed(error: DeskError, view: &View) -> CliError {
    match &view.outcome {
        None => CliError::from(error)
            .hint("the debate has not ended; only one that has can be replayed"),
        Some(_) if !view.redacted.is_empty() => error.into(),
        Some(_) => differs(&error.to_string()),
    }
}

fn differs(how: &str) -> CliError {
    CliError::failed(how).hint(format!(
        "the journal is as it was written: the program's rules changed since; `{}` prints the \
         record",
        command("show ID --transcript")
    ))
}

/// A journal that is kept nowhere here, on a desk of its own. Whoever sealed it, it is what it is.
async fn in_memory(app: &App, file: Portable) -> Result<(Desk, DebateId), CliError> {
    let registry = Arc::new(app.registry()?);
    let desk = app.desk_over(Arc::new(MemoryStore::new()), &registry, registry.clone())?;
    let id = file.debate;
    let keys: Vec<String> = file
        .checkpoints
        .iter()
        .map(|checkpoint| checkpoint.key.clone())
        .collect();
    desk.import(file, &keys).await?;
    Ok((desk, id))
}

pub async fn fork(global: &GlobalArgs, args: ForkArgs) -> Result<u8, CliError> {
    refuse(global, &[of_budget(&args.budget)])?;
    let app = App::open(global, &[])?;
    let debates = Debates::open(&app).await?;
    let old = debates.find(&args.id.id).await?;
    let view = debates.view(old).await?;
    let started = view
        .started
        .as_ref()
        .ok_or_else(|| CliError::usage(format!("debate {} has no beginning", old.short())))?;
    output::check_files(&args.output, &started.format)?;
    let (fork, after) = (what_differs(&args, started)?, Afterwards::of(&args.output));
    let budget = Budget::new(&(&args.budget).into(), &app.config.budget);
    let (id, code) = match &debates {
        Debates::Here(desk) => {
            let running = desk
                .fork(
                    old,
                    Fork {
                        initiated_by: user(),
                        more: budget.more(),
                        ..fork
                    },
                )
                .await?;
            let id = running.id;
            after.remember(&app, id)?;
            (
                id,
                progress::follow(&app, desk, running, &args.output).await?,
            )
        }
        Debates::There(remote) => {
            let asked = json!({"at": fork.at, "config": fork.config, "models": fork.models, "limits": remote_run::limits(budget)});
            let Begun { id } = remote
                .post(&format!("/v1/debates/{old}/fork"), &asked)
                .await?;
            after.remember(&app, id)?;
            (
                id,
                remote_run::follow(&app, &debates, id, &args.output).await?,
            )
        }
    };
    after.finish(&app, &debates, id, code).await
}

/// What is to be different in a fork, as it was typed.
fn what_differs(args: &ForkArgs, started: &Started) -> Result<Fork, CliError> {
    let format = started.format.as_str();
    let mut fork = Fork {
        at: args.at.clone(),
        ..Fork::default()
    };
    if let Some(threshold) = args.threshold {
        fork.config.insert(
            setting_of("threshold", format)?.to_owned(),
            threshold.into(),
        );
    }
    if let Some(kind) = &args.topology {
        fork.config.insert(
            setting_of("topology", format)?.to_owned(),
            kind.as_str().into(),
        );
    }
    if let Some(rounds) = args.rounds {
        fork.config
            .insert(setting_of("rounds", format)?.to_owned(), rounds.into());
        // Whoever asks for more rounds wants them, also when nobody moved in the last one.
        let goes_on: Option<(&str, serde_json::Value)> = match format {
            "decide" => Some(("stop_when_stable", false.into())),
            "society" => Some(("stop", "never".into())),
            _ => None,
        };
        fork.config
            .extend(goes_on.map(|(key, value)| (key.to_owned(), value)));
    }
    let (everybody, single) = panel::split_models(&args.models)?;
    let judges = started.agents.iter().map(|agent| agent.name.to_string());
    fork.models
        .extend(judges.zip(everybody.into_iter().cycle()));
    fork.models.extend(single);
    Ok(fork)
}

pub async fn export(global: &GlobalArgs, args: ExportArgs) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let target = args.output.as_ref().or(args.file.as_ref());
    let form = match (args.format, target) {
        (Some(form), _) => form,
        (None, Some(file)) => output::form_of(file)?,
        (None, None) => Form::Markdown,
    };
    let view = debates.view(debates.find(&args.id.id).await?).await?;
    let text = output::render(&debates, &view, form).await?;
    match target {
        Some(file) => write_file::write(file, &text)?,
        None => {
            // A journal is for programs and must keep its bytes; they are escaped in it anyway.
            output::print(&if form == Form::Journal {
                text.into()
            } else {
                for_people(&text)
            })?;
        }
    }
    Ok(0)
}

pub async fn import(global: &GlobalArgs, args: ImportArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let name = args.file.display().to_string();
    let file = read_journal(&args.file)?;
    let mut trusted = app.place()?.trusted()?;
    for Checkpoint { key, .. } in &file.checkpoints {
        if trusted.contains(key) {
            continue;
        }
        if !args.trust {
            let hint = format!(
                "compare the key with its owner, then: {}",
                command(format_args!("import {name} --trust"))
            );
            return Err(CliError::usage(format!(
                "{name} is sealed by a key that is not trusted here: {key}"
            ))
            .hint(hint));
        }
        app.place()?.trust(key)?;
        trusted.push(key.clone());
    }
    if !args.trust {
        check_sealed(
            &name,
            &audit::verify(file.debate, &file.records, &file.checkpoints, &trusted),
        )?;
    }
    let audit = app.desk().await?.import(file, &trusted).await?;
    output::print(&format!("{}\n", audit.debate_id))?;
    Ok(0)
}

/// Refuses a journal of which nobody signed the whole: anybody may have written the rest. One that
/// is damaged is refused later, with its damage.
fn check_sealed(name: &str, audit: &Audit) -> Result<(), CliError> {
    if !audit.ok || audit.sealed == audit.events {
        return Ok(());
    }
    let problem = match audit.sealed {
        0 => format!("{name} is not sealed: anybody may have written it"),
        sealed => format!(
            "{name} is sealed only up to event {sealed} of {}: anybody may have written the rest",
            audit.events
        ),
    };
    let hint = format!(
        "if you know where it comes from: {}",
        command(format_args!("import {name} --trust"))
    );
    Err(CliError::usage(problem).hint(hint))
}

/// `rebut rm`. What is named by its age rather than by hand is counted and asked for first.
pub async fn rm(global: &GlobalArgs, args: RmArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let debates = Debates::open(&app).await?;
    let mut doomed = Vec::new();
    for id in &args.ids {
        doomed.push(debates.find(id).await?);
    }
    if let Some(days) = args.older_than {
        let now = match &debates {
            Debates::Here(desk) => desk.now(),
            Debates::There(_) => jiff::Timestamp::now(),
        };
        doomed.extend(ended_before(&debates, days, now).await?);
        if !doomed.is_empty() && !args.yes && !is_confirmed(global, doomed.len(), days)? {
            warn_line!("nothing was removed");
            return Ok(0);
        }
    }
    for id in doomed {
        match &debates {
            Debates::Here(desk) => remove(&app, desk, id).await?,
            Debates::There(remote) => {
                remote.remove(id).await?;
                post_actions::forget(&app, id)?;
            }
        }
        output::print(&format!("removed {id}\n"))?;
    }
    Ok(0)
}

/// Every ended debate that began more than so many days before `now`.
pub async fn ended_before(
    debates: &Debates,
    days: u32,
    now: jiff::Timestamp,
) -> Result<Vec<DebateId>, CliError> {
    let limit = now - jiff::SignedDuration::from_hours(24 * i64::from(days));
    let limit = format!("{limit:.3}");
    let ended = debates
        .sessions(&Filter::default())
        .await?
        .into_iter()
        .filter(|session| !session.status.is_open());
    Ok(ended
        .filter(|session| session.created_at < limit)
        .map(|session| session.id)
        .collect())
}

/// Removes a debate and whatever this machine keeps beside it.
pub async fn remove(app: &App, desk: &Desk, id: DebateId) -> Result<(), CliError> {
    desk.remove(id).await?;
    forget(app, id)
}

/// Forgets what this machine keeps beside a debate that is gone.
pub fn forget(app: &App, id: DebateId) -> Result<(), CliError> {
    let place = app.place()?;
    place
        .worktrees()
        .map_or(Ok(()), |home| branch::forget(&home, id))?;
    place.forget_vectors()?;
    post_actions::forget(app, id)
}

/// Asks whether so many debates shall go. Where nobody can be asked, that has to be said
/// beforehand.
fn is_confirmed(global: &GlobalArgs, count: usize, days: u32) -> Result<bool, CliError> {
    let what = format!(
        "{count} ended debate{} older than {days} days",
        if count == 1 { "" } else { "s" }
    );
    if global.no_input || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(
            CliError::usage(format!("this would remove {what} for good")).hint(format!(
                "add --yes if that is meant; `{}` lists them",
                command("ls")
            )),
        );
    }
    warn_text!("Remove {what} for good? [y/N] ");
    let mut said = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut said)
        .map_err(|error| CliError::failed(error.to_string()))?;
    Ok(matches!(said.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// What somebody named to `replay` or `audit verify`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Named<'a> {
    /// A debate that is kept: its id, or `last`.
    Debate(&'a str),
    /// A journal that was exported to this file.
    File(&'a Path),
}

impl<'a> Named<'a> {
    /// Told by the word alone: a file's name has a dot or a folder in it. What lies in the current
    /// folder decides nothing, since a project could bring a file `last` to be taken for the user's
    /// debate.
    pub fn new(word: &'a str) -> Self {
        let is_file = word.contains(['.', '/', std::path::MAIN_SEPARATOR]);
        if is_file {
            Self::File(Path::new(word))
        } else {
            Self::Debate(word)
        }
    }
}

/// How to name a file of that name, for whoever meant it where no debate was found.
pub fn or_file(error: CliError, word: &str) -> CliError {
    let is_there = error.is_usage()
        && Path::new(word)
            .symlink_metadata()
            .is_ok_and(|found| found.is_file());
    if is_there {
        error.and_hint(format_args!("the file of that name is ./{word}"))
    } else {
        error
    }
}

/// Reads an exported journal, not through links.
fn read_journal(file: &Path) -> Result<Portable, CliError> {
    let text = read_file::records(file, read_file::MOST_BYTES_OF_RECORDS)?;
    Portable::parse(&text).map_err(|error| CliError::usage(format!("{}: {error}", file.display())))
}

/// The same for an audit, which says itself what is missing: with the number of events the heading
/// announces.
pub fn read_damaged(file: &Path) -> Result<(Portable, u64), CliError> {
    let text = read_file::records(file, read_file::MOST_BYTES_OF_RECORDS)?;
    let name = file.display();
    Portable::parse_uncounted(&text).map_err(|error| match error {
        // A journal with a line that is none was damaged, at that line.
        PortableError::Line { .. } => CliError::failed(format!("{name}: damaged: {error}")),
        error => CliError::usage(format!("{name}: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_without_a_dot_or_a_folder_names_a_debate() {
        for word in [
            "last",
            "0199",
            "0199c0de-7aaa-7bbb-8ccc-0123456789ab",
            "journal",
            "",
        ] {
            assert_eq!(Named::new(word), Named::Debate(word));
        }
        for word in [
            "journal.ndjson",
            "./last",
            "kept/last",
            "/dev/fd/63",
            ".journal",
        ] {
            assert_eq!(Named::new(word), Named::File(Path::new(word)));
        }
    }
}
