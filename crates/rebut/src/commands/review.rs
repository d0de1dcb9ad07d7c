//! `rebut review`: from a file, standard input or a change to a review, its files and its exit
//! code.

use super::{
    request::{self, Case},
    server_support::{of_run, refuse},
};
use crate::{
    app::App,
    atomic_file,
    cli::{Form, GlobalArgs, Level, ReviewArgs},
    context,
    error::CliError,
    git, output,
    paint::Paint,
    post_actions::Afterwards,
    resolve::value,
    words::file_safe,
    write_file,
};
use rebut_engine::{
    clean::{json_for_terminal, on_one_line},
    formats::review::{FORMAT, Input, ReviewResult, Severity, TextKind, audit_entry},
    report,
    view::View,
};
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

pub async fn run(global: &GlobalArgs, args: ReviewArgs) -> Result<u8, CliError> {
    refuse(global, &of_run(&args.run))?;
    let set = settings(&args);
    let app = request::open(global, &set)?;
    output::check_files(&args.run.output, FORMAT.name)?;
    if let Some(dir) = args.write.as_ref().filter(|_| !is_only_shown(&args)) {
        atomic_file::check_dir(dir)?;
    }
    let input = match input(&app, &args)? {
        Found::Text(input) => input,
        Found::Nothing(why) => return nothing(&args, why),
    };
    let mut run = args.run.clone();
    if !args.reviewers.is_empty() {
        run.panel.judges.clone_from(&args.reviewers);
    }
    let after = Afterwards {
        write: args.write.clone(),
        worst: args.fail_on.map(Level::into),
        ..Afterwards::of(&run.output)
    };
    Case {
        format: FORMAT.name,
        input: value(&input)?,
        set,
        run,
        after,
    }
    .hold(&app)
    .await
}

/// Whether nobody is asked, and so nothing is written.
fn is_only_shown(args: &ReviewArgs) -> bool {
    args.run.dry_run || args.run.estimate
}

enum Found {
    Text(Input),
    Nothing(&'static str),
}

/// Ends where there is nothing to review. What reads the files of the run before must not take
/// their findings for today's.
fn nothing(args: &ReviewArgs, why: &str) -> Result<u8, CliError> {
    if args.run.output.json {
        output::print_json(&serde_json::Value::Null)?;
    }
    warn_line!("nothing to review: {why}");
    for file in args
        .run
        .output
        .output
        .iter()
        .filter(|_| !is_only_shown(args))
    {
        match output::form_of(file)? {
            Form::Sarif => {
                write_file::write(file, &report::empty_sarif(why).map_err(CliError::failed)?)?
            }
            Form::Comment => write_file::write(file, &report::empty_comment(why))?,
            _ => warn_line!(
                "{} was not written: there is no review to report",
                file.display()
            ),
        }
    }
    Ok(0)
}

fn settings(args: &ReviewArgs) -> Vec<String> {
    let mut set = args.run.panel.set.clone();
    if args.debate {
        set.push("review.debate.enabled=true".to_owned());
    }
    if args.no_edit {
        set.push("review.edit=false".to_owned());
    }
    set
}

/// What is reviewed; nothing if nothing changed.
fn input(app: &App, args: &ReviewArgs) -> Result<Found, CliError> {
    if let Some(base) = &args.diff {
        return change(app, base);
    }
    let piped = args.file.is_none() && !std::io::stdin().is_terminal();
    let file = match &args.file {
        Some(file) => file.clone(),
        None if piped => PathBuf::from("-"),
        None => {
            return Err(CliError::usage("what shall be reviewed?")
                .hint("rebut review FILE, or rebut review --diff main"));
        }
    };
    let from_stdin = file.as_os_str() == "-";
    let gathered = if file.is_dir() {
        return Err(CliError::usage(format!(
            "{} is a directory; review takes one file",
            file.display()
        )));
    } else {
        context::gather_without(std::slice::from_ref(&file), &app.config.deny, &[])?
    };
    if gathered.text.trim().is_empty() {
        let what = if from_stdin {
            "standard input".to_owned()
        } else {
            file.display().to_string()
        };
        return Err(CliError::usage(format!(
            "{what} is empty; there is nothing to review"
        )));
    }
    let shown = if from_stdin {
        String::new()
    } else {
        from_here(&file).display().to_string()
    };
    let title = if from_stdin {
        "standard input".to_owned()
    } else {
        shown.clone()
    };
    let text = gathered.text + &gathered.end;
    Ok(Found::Text(Input {
        title,
        text,
        file: shown,
        ..Input::default()
    }))
}

/// So many files that are left out are named.
const MOST_NAMED: usize = 20;

/// A path as it is seen from the current directory, if it lies below it.
fn from_here(file: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| file.strip_prefix(here).ok().map(Path::to_path_buf));
    below.unwrap_or_else(|| file.to_owned())
}

fn change(app: &App, base: &str) -> Result<Found, CliError> {
    let here = std::env::current_dir()
        .map_err(|error| CliError::failed(format!("cannot tell where we are: {error}")))?;
    let change = git::change_since(&here, base, &app.config.deny)?;
    for (file, why) in change.left_out.iter().take(MOST_NAMED) {
        warn_line!("left out {}: {why}", on_one_line(file));
    }
    if let Some(more) = change
        .left_out
        .len()
        .checked_sub(MOST_NAMED)
        .filter(|more| *more > 0)
    {
        warn_line!("left out {more} more files");
    }
    if change.text.trim().is_empty() {
        let is_all_denied = !change.left_out.is_empty();
        return Ok(Found::Nothing(if is_all_denied {
            "all that changed was left out"
        } else {
            "nothing changed"
        }));
    }
    let title = format!("changes since {base}");
    Ok(Found::Text(Input {
        title,
        text: change.text,
        kind: TextKind::Diff,
        base: base.to_owned(),
        file: String::new(),
    }))
}

/// Writes the revised text, what changed in it, and the audit entry. A review without a result
/// leaves no files.
pub fn write_files(app: &App, view: &View, dir: &Path) -> Result<(), CliError> {
    let (Some(result), Some(entry), Some(started)) =
        (ReviewResult::of(view), audit_entry(view), &view.started)
    else {
        return Ok(());
    };
    let input = Input::parse(&started.input).map_err(CliError::failed)?;
    let stem = Path::new(&input.file)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let name = stem.map_or_else(|| "review".to_owned(), |stem| file_safe(&stem));
    let mut written = Vec::new();
    if let Some(edited) = &result.edited {
        let (merged, diff) = (
            dir.join(format!("{name}.merged.md")),
            dir.join(format!("{name}.diff")),
        );
        // Files, not a terminal: the text as the editor gave it, and what really differs.
        atomic_file::replace(&merged, edited.as_bytes())?;
        let shown = if input.file.is_empty() {
            "standard input".to_owned()
        } else {
            on_one_line(&input.file)
        };
        atomic_file::replace(
            &diff,
            unified(&input.text, edited, &shown, &format!("{name}.merged.md")).as_bytes(),
        )?;
        written.extend([merged, diff]);
    }
    let audit = dir.join("audit.ndjson");
    let entry =
        serde_json::to_string(&entry).map_err(|error| CliError::failed(error.to_string()))?;
    atomic_file::append_line(&audit, &json_for_terminal(&entry))?;
    written.push(audit);
    if !app.global.quiet {
        let names: Vec<String> = written
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        warn_line!(
            "{}",
            Paint::stderr().faint(&format!("wrote {}", names.join(", ")))
        );
    }
    Ok(())
}

fn unified(before: &str, after: &str, old_name: &str, new_name: &str) -> String {
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(old_name, new_name)
        .to_string()
}

/// Whether no finding is as severe as it was not to be. A review without a result has none; its own
/// exit code says why.
pub fn passes(view: &View, limit: Option<Severity>) -> bool {
    let worst = ReviewResult::of(view).and_then(|result| result.worst());
    limit.zip(worst).is_none_or(|(limit, worst)| worst < limit)
}
