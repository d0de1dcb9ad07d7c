//! `code`: the code a debate wrote, the one that won or any version, as text, as a difference, line
//! by line, or written to a file when asked.

pub mod applying;
mod history;

use crate::{
    app::App,
    cli::{CodeArgs, GlobalArgs},
    debates::Debates,
    error::CliError,
    git::branch::Plan,
    hint_command::command,
    output,
    versions::{self, Version, as_file, last_of, winner},
};
use applying::apply;
use rebut_engine::{
    clean::{for_people, on_one_line},
    facts::{CodeRecorded, TestCount},
    formats::solve,
    view::View,
};
use serde_json::{Value, json};
use std::{io::IsTerminal, path::Path, sync::Arc};

pub async fn run(global: &GlobalArgs, args: CodeArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let debates = Debates::open(&app).await?;
    let id = debates.find(&args.id.id).await?;
    let records = debates.records(id).await?;
    let (view, versions) = (View::of(&records), versions::all(&records));
    if view.code.is_empty() {
        let message = format!("debate {} has no code in its record", id.short());
        return Err(CliError::usage(message).hint(format!(
            "`{}` shows what it was about; only debates that write code have versions",
            command("show ID")
        )));
    }
    if let Some(range) = &args.diff {
        let (before, after) = both(&view, range)?;
        output::print(&for_people(&difference(before, after)))?;
        return Ok(0);
    }
    if let Some(file) = &args.branch {
        output::print(&branch(&app, &view, &versions, file)?)?;
        return Ok(0);
    }
    if args.history {
        let won = winner(&view).map(|won| won.version);
        match args.json {
            true => output::print_json(&history::history_document(&versions, won))?,
            false => output::print(&history::history(&versions, won, args.patch))?,
        }
        return Ok(0);
    }
    let chosen = choose(&view, args.version, args.candidate.as_deref())?;
    if args.blame {
        match args.json {
            true => output::print_json(&history::blame_document(&versions, chosen.version))?,
            false => output::print(&history::blame(&versions, chosen.version))?,
        }
        return Ok(0);
    }
    match &args.apply {
        Some(file) => apply(&view, chosen, Path::new(file), args.force, global.quiet)?,
        None if args.json => output::print_json(&document(&view, chosen))?,
        None => {
            output::print(&printed(&chosen.code, std::io::stdout().is_terminal()))?;
            if !global.quiet {
                warn_line!("{}", summary(chosen));
            }
        }
    }
    Ok(0)
}

/// The version asked for, else the one that won.
fn choose<'a>(
    view: &'a View,
    version: Option<u32>,
    candidate: Option<&str>,
) -> Result<&'a CodeRecorded, CliError> {
    match (version, candidate) {
        (Some(number), _) => numbered(view, number),
        (None, Some(name)) => last_of(view, name)
            .or_else(|| last_of(view, &solve::owner_of(view.started.as_ref()?, name)?))
            .ok_or_else(|| {
                CliError::usage(format!("there is no candidate `{}`", on_one_line(name)))
                    .hint(there_are(view))
            }),
        (None, None) => winner(view)
            .ok_or_else(|| CliError::usage("no code has won in this debate").hint(there_are(view))),
    }
}

fn numbered(view: &View, number: u32) -> Result<&CodeRecorded, CliError> {
    let found = view.code.iter().find(|code| code.version == number);
    found.map(Arc::as_ref).ok_or_else(|| {
        CliError::usage(format!("there is no version {number}")).hint(there_are(view))
    })
}

fn both<'a>(view: &'a View, range: &str) -> Result<(&'a CodeRecorded, &'a CodeRecorded), CliError> {
    let unclear = || {
        CliError::usage(format!("`{range}` names no two versions"))
            .hint(format!("write --diff 1..2; {}", there_are(view)))
    };
    let (before, after) = range.split_once("..").ok_or_else(unclear)?;
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| unclear());
    Ok((
        numbered(view, number(before)?)?,
        numbered(view, number(after)?)?,
    ))
}

fn difference(before: &CodeRecorded, after: &CodeRecorded) -> String {
    let name = |code: &CodeRecorded| {
        format!(
            "version {} ({})",
            code.version,
            on_one_line(&code.candidate)
        )
    };
    let diff = similar::TextDiff::from_lines(&before.code, &after.code);
    diff.unified_diff()
        .context_radius(3)
        .header(&name(before), &name(after))
        .to_string()
}

/// What can be asked for, for a hint.
fn there_are(view: &View) -> String {
    let all: Vec<String> = view
        .code
        .iter()
        .map(|code| format!("{} ({})", code.version, on_one_line(&code.candidate)))
        .collect();
    format!(
        "--version N takes one of: {}; --candidate NAME the last of its own, by its author or as \
         C1, C2, …",
        all.join(", ")
    )
}

/// What is known of a version, in one line.
fn summary(code: &CodeRecorded) -> String {
    let words = |tests: TestCount| {
        format!(
            "{} of {} tests passed{}",
            tests.passed,
            tests.total,
            tests.shared_note()
        )
    };
    let tests = code
        .tests
        .map_or_else(|| "nothing was run".to_owned(), words);
    format!(
        "version {} ({}): {tests}; {}",
        code.version,
        on_one_line(&code.candidate),
        code.metrics.words()
    )
}

/// The code, byte for byte for a pipe or a file; made harmless for a terminal.
fn printed(code: &str, is_terminal: bool) -> String {
    as_file(&if is_terminal {
        for_people(code)
    } else {
        code.into()
    })
}

fn document(view: &View, chosen: &CodeRecorded) -> Value {
    let version = |code: &Arc<CodeRecorded>| {
        let lints = code.metrics.lints;
        json!({"version": code.version, "candidate": code.candidate, "tests": code.tests, "lints": lints})
    };
    let versions = view.code.iter().map(version);
    json!({
        "debate_id": view.id,
        "version": chosen.version,
        "candidate": chosen.candidate,
        "turn": chosen.turn,
        "won": winner(view).is_some_and(|won| won.version == chosen.version),
        "language": chosen.language,
        "code": chosen.code,
        "tests": chosen.tests,
        "quality": chosen.quality,
        "metrics": chosen.metrics,
        "diff": chosen.diff,
        "versions": versions.collect::<Vec<_>>(),
    })
}

/// Writes each version as a commit to a branch of the repository here, and says what the branch
/// holds.
fn branch(app: &App, view: &View, versions: &[Version], file: &str) -> Result<String, CliError> {
    let (Some(id), Some(last)) = (view.id, view.code.last()) else {
        return Err(CliError::usage("there is no code to commit"));
    };
    Plan::check(&app.origin.current_dir, Some(file), &last.language)?.write(
        &app.worktrees()?,
        id,
        versions,
        view,
    )
}
