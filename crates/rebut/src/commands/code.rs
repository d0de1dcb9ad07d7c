//! `code`: the code a debate wrote, the one that won or any version, as text, as a difference, or written to a file when asked.

use crate::{
    app::App,
    cli::{CodeArgs, GlobalArgs},
    error::CliError,
    git::worktree::{self, Branch, Worktree},
    output,
    replacing::replace,
};
use rebut_engine::{
    clean::{for_people, has_hostile, on_one_line},
    facts::{CodeRecorded, TestCount},
    view::View,
};
use serde_json::{Value, json};
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::Arc,
};

/// `rebut code`.
pub async fn run(global: &GlobalArgs, args: CodeArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let desk = app.desk()?;
    let id = desk.find(&args.id.id).await?.id;
    let view = desk.view(id).await?;
    if view.code.is_empty() {
        let message = format!("debate {} has no code in its record", id.short());
        return Err(CliError::usage(message).hint("`rebut show ID` shows what it was about; only debates that write code have versions"));
    }
    if let Some(range) = &args.diff {
        let (before, after) = both(&view, range)?;
        output::print(&for_people(&difference(before, after)))?;
        return Ok(0);
    }
    if let Some(file) = &args.branch {
        output::print(&branch(&app, &view, file)?)?;
        return Ok(0);
    }
    let chosen = choose(&view, args.version, args.candidate.as_deref())?;
    match &args.apply {
        Some(file) => apply(&view, chosen, Path::new(file), args.force, global.quiet)?,
        None if args.json => output::print_json(&document(&view, chosen))?,
        None => {
            output::print(&printed(&chosen.code, std::io::stdout().is_terminal()))?;
            if !global.quiet {
                eprintln!("{}", summary(chosen));
            }
        }
    }
    Ok(0)
}

/// The version asked for, else the one that won.
fn choose<'a>(view: &'a View, version: Option<u32>, candidate: Option<&str>) -> Result<&'a CodeRecorded, CliError> {
    match (version, candidate) {
        (Some(number), _) => numbered(view, number),
        (None, Some(name)) => last_of(view, name)
            .ok_or_else(|| CliError::usage(format!("there is no candidate `{}`", on_one_line(name))).hint(there_are(view))),
        (None, None) => winner(view).ok_or_else(|| CliError::usage("no code has won in this debate").hint(there_are(view))),
    }
}

fn numbered(view: &View, number: u32) -> Result<&CodeRecorded, CliError> {
    let found = view.code.iter().find(|code| code.version == number);
    found.map(Arc::as_ref).ok_or_else(|| CliError::usage(format!("there is no version {number}")).hint(there_are(view)))
}

fn last_of<'a>(view: &'a View, candidate: &str) -> Option<&'a CodeRecorded> {
    view.code.iter().rev().find(|code| &*code.candidate == candidate).map(Arc::as_ref)
}

/// The version the outcome names: its very code, else the last version of the candidate that won. Without a winner there is none.
fn winner(view: &View) -> Option<&CodeRecorded> {
    let result = &view.outcome.as_ref()?.result;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let name = text(&result["winner"]).or_else(|| text(&result["winner"]["candidate"]));
    let of_winner = |code: &&Arc<CodeRecorded>| name.as_deref().is_none_or(|name| &*code.candidate == name);
    let exact = result["code"].as_str().and_then(|won| view.code.iter().rev().filter(of_winner).find(|code| code.code == won));
    exact.map(Arc::as_ref).or_else(|| last_of(view, name.as_deref()?))
}

/// The two versions of `A..B`.
fn both<'a>(view: &'a View, range: &str) -> Result<(&'a CodeRecorded, &'a CodeRecorded), CliError> {
    let unclear = || CliError::usage(format!("`{range}` names no two versions")).hint(format!("write --diff 1..2; {}", there_are(view)));
    let (before, after) = range.split_once("..").ok_or_else(unclear)?;
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| unclear());
    Ok((numbered(view, number(before)?)?, numbered(view, number(after)?)?))
}

fn difference(before: &CodeRecorded, after: &CodeRecorded) -> String {
    let name = |code: &CodeRecorded| format!("version {} ({})", code.version, on_one_line(&code.candidate));
    let diff = similar::TextDiff::from_lines(&before.code, &after.code);
    diff.unified_diff().context_radius(3).header(&name(before), &name(after)).to_string()
}

/// What can be asked for, for a hint.
fn there_are(view: &View) -> String {
    let all: Vec<String> = view.code.iter().map(|code| format!("{} ({})", code.version, on_one_line(&code.candidate))).collect();
    format!("--version N takes one of: {}; --candidate NAME the last of its own", all.join(", "))
}

/// What is known of a version, in one line.
fn summary(code: &CodeRecorded) -> String {
    let tests =
        code.tests.map_or_else(|| "nothing was run".to_owned(), |tests| format!("{} of {} tests passed", tests.passed, tests.total));
    format!("version {} ({}): {tests}; {}", code.version, on_one_line(&code.candidate), code.metrics.words())
}

/// The code, byte for byte for a pipe or a file; made harmless for a terminal.
fn printed(code: &str, is_terminal: bool) -> String {
    let mut text = if is_terminal { for_people(code).into_owned() } else { code.to_owned() };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn document(view: &View, chosen: &CodeRecorded) -> Value {
    let tests = |tests: Option<TestCount>| tests.map(|tests| json!({"passed": tests.passed, "total": tests.total}));
    let version = |code: &Arc<CodeRecorded>| {
        let lints = code.metrics.lints;
        json!({"version": code.version, "candidate": code.candidate, "tests": tests(code.tests), "lints": lints})
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
        "tests": tests(chosen.tests),
        "quality": chosen.quality,
        "metrics": chosen.metrics,
        "diff": chosen.diff,
        "versions": versions.collect::<Vec<_>>(),
    })
}

/// Writes the code to a file, which may hold another version of this debate, and nothing else.
fn apply(view: &View, chosen: &CodeRecorded, file: &Path, force: bool, quiet: bool) -> Result<(), CliError> {
    let file = if file.as_os_str().is_empty() { PathBuf::from(usual_name(&chosen.language)) } else { file.to_owned() };
    let text = printed(&chosen.code, false);
    if !force {
        check_unchanged(view, &file)?;
    }
    replace(&file, text.as_bytes())?;
    if has_hostile(&text) {
        eprintln!("careful: {} holds characters that cannot be seen, or that reorder what is seen", file.display());
    }
    if !quiet {
        eprintln!("version {} ({}) written to {}", chosen.version, on_one_line(&chosen.candidate), file.display());
    }
    Ok(())
}

/// Refuses a file that holds something which is not in the debate's record: nobody could bring it back.
fn check_unchanged(view: &View, file: &Path) -> Result<(), CliError> {
    let held = match file.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(CliError::file("read", file, &error)),
        // A link may lead to anything; what it leads to is not looked at.
        Ok(found) if !found.is_file() => None,
        Ok(_) => Some(std::fs::read(file).map_err(|error| CliError::file("read", file, &error))?),
    };
    let is_ours = held.is_some_and(|held| view.code.iter().any(|code| printed(&code.code, false).as_bytes() == held));
    if is_ours {
        return Ok(());
    }
    let message = format!("{} holds something that is no version of this debate; it stays as it is", file.display());
    Err(CliError::usage(message).hint("give another FILE, move it away, or overwrite it with --force"))
}

/// Writes each version as a commit to a branch of the repository here, and says what the branch holds.
fn branch(app: &App, view: &View, file: &str) -> Result<String, CliError> {
    let (Some(id), Some(last)) = (view.id, view.code.last()) else { return Err(CliError::usage("there is no code to commit")) };
    let file = if file.is_empty() { usual_name(&last.language) } else { file.to_owned() };
    worktree::check_name(&file)?;
    let mut worktree = Worktree::create(&app.place.worktrees(), &app.origin.current_dir, id)?;
    for code in &view.code {
        let tests =
            code.tests.map_or_else(|| "nothing was run".to_owned(), |tests| format!("{} of {} tests passed", tests.passed, tests.total));
        worktree.snapshot(&file, &printed(&code.code, false), &format!("Version {} by {}: {tests}", code.version, code.candidate))?;
    }
    let said = format!("{}\n{}", worktree.branch(), worktree.history(&file)?);
    worktree.remove(Branch::Keep)?;
    Ok(said)
}

/// The name of a file with code in that language.
fn usual_name(language: &str) -> String {
    const ENDINGS: &[(&str, &str)] =
        &[("python", "py"), ("javascript", "js"), ("rust", "rs"), ("go", "go"), ("c", "c"), ("cpp", "cpp"), ("shell", "sh")];
    let ending = ENDINGS.iter().find(|(known, _)| *known == language).map_or("txt", |(_, ending)| ending);
    format!("solution.{ending}")
}
