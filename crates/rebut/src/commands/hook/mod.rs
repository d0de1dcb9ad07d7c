//! `hook`: a coding agent calls at a moment of its own, and a few reviewers look at the prompt or
//! the change. Never a debate; off unless switched on; and it never stops the agent unless that was
//! asked for: whatever goes wrong here ends with exit code 1 at most.

mod hosts;

pub use hosts::HOSTS;

use super::prepare::Prepared;
use crate::{
    app::App,
    beneath::Folder,
    budget::Span,
    casting,
    cli::{BudgetArgs, GlobalArgs, HookArgs, PanelArgs, RunArgs},
    config::HookSection,
    error::CliError,
    git, output,
    panel::Panel,
    resolve::value,
};
use hosts::{Host, Moment, moment};
use rebut_engine::{
    clean::{on_one_line, shortened},
    formats::review::{FORMAT, Input, ReviewResult, TextKind, is_reviewer},
    outcome::Ending,
};
use serde::Deserialize;
use std::{
    ffi::OsStr,
    fs::{File, TryLockError},
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The exit code that stops an agent; only a finding may, where the user asked for it.
const BLOCK: u8 = 2;

/// More is no message from a host.
const MOST_BYTES: u64 = 8 << 20;

/// So many findings are told; more would drown the agent.
const MOST_FINDINGS: usize = 8;

/// What a host tells about itself. Nothing of it is needed everywhere, and there may be more.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    cwd: PathBuf,
    stop_hook_active: bool,
    prompt: String,
}

pub async fn run(global: &GlobalArgs, args: HookArgs) -> Result<u8, CliError> {
    let host = Host::named(&args.host)
        .ok_or_else(|| CliError::failed(format!("there is no host `{}`", args.host)))?;
    let moment = moment(&args.event).ok_or_else(|| {
        let known = host.events.map(|(_, name, _)| name).join(", ");
        CliError::failed(format!("{} has no event `{}` here", host.name, args.event))
            .hint(format!("known: {known}"))
    })?;
    let told = read(moment);
    let global = settled(global)?;
    if let Ok(told) = &told
        && told.cwd.is_dir()
    {
        std::env::set_current_dir(&told.cwd)
            .map_err(|error| CliError::file("enter", &told.cwd, &error))?;
    }
    let app = App::open(&global, &[])?;
    // A hook comes by itself and must have been wanted before; a skill was asked for just now.
    if !app.config.hook.enabled && moment != Moment::Skill {
        return Ok(0);
    }
    let told = told?;
    app.config.hook.check().map_err(CliError::failed)?;
    match moment {
        Moment::Start => say(host, moment, &greeting(&app.config.hook)),
        // The agent goes on because of an earlier hook: once more would be a circle.
        Moment::Stop if told.stop_hook_active => Ok(0),
        Moment::Prompt | Moment::Stop | Moment::Skill => match looked_at(&app, moment, &told)? {
            Some(input) => reviewed(&global, &app.config.hook, (host, moment), &input).await,
            None => Ok(0),
        },
    }
}

/// What the host says on standard input. A skill may hand over the bare text.
fn read(moment: Moment) -> Result<Told, CliError> {
    let mut text = Vec::new();
    let read = std::io::stdin()
        .lock()
        .take(MOST_BYTES)
        .read_to_end(&mut text);
    read.map_err(|error| CliError::failed(format!("cannot read standard input: {error}")))?;
    if moment == Moment::Skill && serde_json::from_slice::<Told>(&text).is_err() {
        return Ok(Told {
            prompt: String::from_utf8_lossy(&text).into_owned(),
            ..Told::default()
        });
    }
    // Through an object: a list would pass for one in which everything is left out.
    let said = serde_json::from_slice(&text)
        .and_then(|said: serde_json::Map<_, _>| Told::deserialize(serde_json::Value::Object(said)));
    said.map_err(|error| {
        CliError::failed(format!("what the host said is not as expected: {error}"))
    })
}

/// The flags of a run that nobody watches and that may be elsewhere soon: their paths are meant
/// from here.
fn settled(global: &GlobalArgs) -> Result<GlobalArgs, CliError> {
    let here =
        std::env::current_dir().map_err(|error| CliError::file("find", Path::new("."), &error))?;
    Ok(GlobalArgs {
        quiet: true,
        no_input: true,
        typed_in: Some(here),
        ..global.clone()
    })
}

fn greeting(hook: &HookSection) -> String {
    format!(
        "rebut is on: {} look at prompts and changes here; what they find is advice.",
        hook.reviewers.join(", ")
    )
}

/// What there is to look at; nothing if nothing was said or changed.
fn looked_at(app: &App, moment: Moment, told: &Told) -> Result<Option<Input>, CliError> {
    let input = match moment {
        // A skill without a text means the change.
        Moment::Skill if !told.prompt.trim().is_empty() => prompt(told),
        Moment::Stop | Moment::Skill => {
            let here = std::env::current_dir()
                .map_err(|error| CliError::file("find", Path::new("."), &error))?;
            let change = git::change_since(&here, git::LAST_COMMIT, &app.config.deny)?;
            Input {
                title: "the change".to_owned(),
                text: change.text,
                kind: TextKind::Diff,
                base: git::LAST_COMMIT.to_owned(),
                ..Input::default()
            }
        }
        Moment::Start | Moment::Prompt => prompt(told),
    };
    Ok(Some(input).filter(|input| !input.text.trim().is_empty()))
}

fn prompt(told: &Told) -> Input {
    Input {
        title: "the prompt".to_owned(),
        text: told.prompt.clone(),
        ..Input::default()
    }
}

/// Has it reviewed and tells the host; blocks only where that was asked for.
async fn reviewed(
    global: &GlobalArgs,
    hook: &HookSection,
    (host, moment): (&Host, Moment),
    input: &Input,
) -> Result<u8, CliError> {
    // Whatever the configuration says: the strongest setting is the last.
    let never = [
        "review.debate.enabled=false",
        "review.edit=false",
        "review.min_reviewers=1",
    ]
    .map(str::to_owned);
    // Less than the whole: whoever is too slow must not take along what the others found.
    let short = format!("review.timeout_per_agent={}", (hook.timeout * 4 / 5).max(1));
    let app = App::open(global, &[&never[..], &[short]].concat())?;
    let Some(_only_one) = alone(&app)? else {
        return Ok(0);
    };
    let Some(result) = review(&app, hook, input).await? else {
        return Ok(0);
    };
    let words = words(&result);
    // Whoever asked by a skill reads the answer anyway.
    let blocks = hook.block
        && moment != Moment::Skill
        && result
            .worst_shown()
            .is_some_and(|worst| worst >= hook.fail_on);
    match (blocks, result.merged.is_empty()) {
        (_, true) if moment != Moment::Skill => Ok(0),
        (true, _) => {
            warn_line!("{words}");
            Ok(BLOCK)
        }
        (false, _) => say(host, moment, &words),
    }
}

/// One hook at a time: a reviewer that is itself a coding agent calls hooks too, and would never
/// come to an end.
fn alone(app: &App) -> Result<Option<File>, CliError> {
    let dir = app.place()?.dir();
    let path = dir.join("hook.lock");
    let folder = Folder::own_or_new(dir).map_err(|error| CliError::file("create", dir, &error))?;
    let file = folder
        .open_or_new(OsStr::new("hook.lock"))
        .map_err(|error| CliError::file("open", &path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(CliError::file("lock", &path, &error)),
    }
}

async fn review(
    app: &App,
    hook: &HookSection,
    input: &Input,
) -> Result<Option<ReviewResult>, CliError> {
    let run = RunArgs {
        panel: PanelArgs {
            judges: hook.reviewers.clone(),
            models: hook.model.clone().into_iter().collect(),
            ..PanelArgs::default()
        },
        budget: BudgetArgs {
            max_cost: Some(hook.max_cost),
            max_time: Some(Span(hook.timeout)),
            ..BudgetArgs::default()
        },
        ..RunArgs::default()
    };
    let registry = Arc::new(app.registry()?);
    let panel = casting::panel(app, &registry, &(&run.panel).into(), &[]).await?;
    let agents: Vec<_> = panel.agents.into_iter().filter(is_reviewer).collect();
    if hook.model.is_none() && agents.iter().any(|agent| &*agent.model == "rehearsal") {
        return Err(CliError::no_model("no model found for the reviewers")
            .hint("`rebut doctor` shows what is missing; or set model under [hook]"));
    }
    let config = app.config.format(FORMAT.name)?;
    let prepared = Prepared::new(
        app,
        registry,
        &run,
        (FORMAT.name, value(input)?, config),
        Panel { agents, ..panel },
    )?;
    let desk = prepared.desk(app).await?;
    let (id, outcome) = desk.run(prepared.start).await?;
    if outcome.outcome != Ending::Completed {
        return Err(CliError::failed(format!(
            "the review ended {}: {}",
            outcome.outcome.as_str(),
            outcome.summary
        )));
    }
    Ok(ReviewResult::of(&desk.view(id).await?))
}

/// What was found, for a model or a person. What reviewers wrote is told as theirs.
fn words(result: &ReviewResult) -> String {
    let mut lines = vec![format!(
        "Reviewers of rebut say (advice, not instructions): {}",
        result.summary()
    )];
    let mut found: Vec<_> = result
        .merged
        .iter()
        .map(|merged| &merged.operation)
        .collect();
    found.sort_by_key(|operation| std::cmp::Reverse(operation.severity));
    for operation in found.iter().take(MOST_FINDINGS) {
        let place = if operation.location.is_empty() {
            String::new()
        } else {
            format!(" at {}", shortened(&on_one_line(&operation.location), 80))
        };
        let (target, text) = (on_one_line(&operation.target), on_one_line(&operation.text));
        let misquotes = if operation.misquotes() {
            " (quotes what is not there)"
        } else {
            ""
        };
        let said = format!(
            "{}{place}: {}{misquotes}",
            shortened(&target, 80),
            shortened(&text, 240)
        );
        lines.push(format!(
            "- [{}] {}: {said}",
            operation.severity.as_str(),
            operation.by
        ));
    }
    if found.len() > MOST_FINDINGS {
        lines.push(format!(
            "- and {} more; `rebut show` has them all",
            found.len() - MOST_FINDINGS
        ));
    }
    lines.join("\n")
}

fn say(host: &Host, moment: Moment, words: &str) -> Result<u8, CliError> {
    let text = match host.said(moment, words) {
        Some(json) => {
            let json = serde_json::to_string(&json)
                .map_err(|error| CliError::failed(error.to_string()))?;
            rebut_engine::clean::json_for_terminal(&json).into_owned()
        }
        None => rebut_engine::clean::for_people(words).into_owned(),
    };
    output::print(&format!("{text}\n"))?;
    Ok(0)
}
