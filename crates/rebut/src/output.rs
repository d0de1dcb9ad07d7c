//! Writing results: to standard output, and to files by their ending.

use crate::{
    app::App,
    atomic_file::{check_dir, parent},
    cli::{Form, OutputArgs},
    debates::Debates,
    error::CliError,
    hint_command::command,
    paint::Paint,
    text,
    words::file_safe,
    write_file::{check_no_link, make_parent, write},
};
use rebut_engine::{clean, formats::Format, report, view::View};
use std::{
    io::Write,
    path::{Path, PathBuf},
};

/// Prints text on standard output. A reader that went away is no error.
pub fn print(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CliError::failed(format!("cannot write: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints JSON so that no control character in it can reach a terminal.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), CliError> {
    let json =
        serde_json::to_string_pretty(value).map_err(|error| CliError::failed(error.to_string()))?;
    print(&format!("{}\n", clean::json_for_terminal(&json)))
}

/// Prints a debate's result as asked, and writes the files asked for.
pub async fn result(
    debates: &Debates,
    view: &View,
    output: &OutputArgs,
    app: &App,
) -> Result<(), CliError> {
    if output.json {
        print_json(&report::document(view))?;
    } else if !output.stream_json {
        print(&text::result(
            view,
            app.keeps,
            app.go_on(view).as_deref(),
            Paint::stdout(),
        ))?;
    }
    // Last: a file that cannot be written must not take the result away.
    files(debates, view, output).await
}

pub async fn files(debates: &Debates, view: &View, output: &OutputArgs) -> Result<(), CliError> {
    let mut failed = None;
    for file in &output.output {
        match render(debates, view, form_of(file)?)
            .await
            .and_then(|text| write(file, &text))
        {
            Ok(()) => {}
            // A debate that ended without this must still end as it did.
            Err(error) if error.is_usage() => {
                warn_line!("{} was not written: {error}", file.display())
            }
            // The others may be on another disk.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let Some(error) = failed else { return Ok(()) };
    Err(match view.id {
        Some(id) => {
            let again = command(format_args!("export {} FILE", id.short()));
            error.hint(format!(
                "the debate is kept; when that is mended, write it again: {again}"
            ))
        }
        None => error,
    })
}

/// Whether the files asked for can be written and suit the format, before anybody is asked and
/// paid.
pub fn check_files(output: &OutputArgs, format: &str) -> Result<(), CliError> {
    for file in &output.output {
        let form = form_of(file)?;
        if !suits(form, format) {
            return Err(CliError::usage(format!(
                "`{}`: {format} has no such file",
                file.display()
            ))
            .hint(match form {
                Form::Sarif | Form::Comment => ".sarif and .comment.md are for review",
                Form::Adr => "decision records are for decide; .md and .html tell what was said",
                _ => "a review is not drawn; .html shows it",
            }));
        }
        check_no_link(file)?;
        if make_parent(file)? {
            warn_line!(
                "made the directory {}",
                file.parent().unwrap_or(Path::new(".")).display()
            );
        }
        match file.exists() {
            true => {
                let opened = std::fs::OpenOptions::new().append(true).open(file); // tidy: looked at by check_no_link
                opened.map_err(|error| CliError::file("write", file, &error))?;
            }
            false => check_dir(parent(file))?,
        }
    }
    Ok(())
}

/// Whether a form can ever be made of a debate of that format.
fn suits(form: Form, format: &str) -> bool {
    let reading = Format::named(format).and_then(|format| format.reading);
    let has_findings = reading.is_some_and(|reading| reading.has_findings);
    match form {
        Form::Sarif | Form::Comment => has_findings,
        Form::Adr => reading.is_none(),
        Form::Svg => !has_findings,
        _ => true,
    }
}

/// Where each judge's words go in a feature's directory.
pub fn judges_dir(feature: &Path) -> PathBuf {
    feature.join("sadd")
}

/// The form a file's ending asks for.
pub fn form_of(file: &Path) -> Result<Form, CliError> {
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        _ if name.ends_with(".adr.md") => Ok(Form::Adr),
        _ if name.ends_with(".comment.md") => Ok(Form::Comment),
        Some("sarif") => Ok(Form::Sarif),
        Some("md" | "markdown") => Ok(Form::Markdown),
        Some("html" | "htm") => Ok(Form::Html),
        Some("svg") => Ok(Form::Svg),
        Some("json") => Ok(Form::Json),
        Some("yaml" | "yml") => Ok(Form::Yaml),
        Some("ndjson" | "jsonl") => Ok(Form::Journal),
        _ => Err(
            CliError::usage(format!("cannot tell the form from `{}`", file.display())).hint(
                "use .html, .md, .json, .yaml, .adr.md, .svg or .ndjson; for a review also \
                .sarif or .comment.md",
            ),
        ),
    }
}

/// A debate in one of the forms.
pub async fn render(debates: &Debates, view: &View, form: Form) -> Result<String, CliError> {
    match form {
        Form::Markdown => Ok(report::markdown(view)),
        Form::Json => {
            let json = serde_json::to_string_pretty(&report::document(view))
                .map_err(|error| CliError::failed(error.to_string()))?;
            Ok(format!("{json}\n"))
        }
        Form::Yaml => report::yaml(view).map_err(CliError::usage),
        Form::Adr => report::adr(view).map_err(CliError::usage),
        Form::Html => Ok(report::html(view)),
        Form::Svg => report::chart(view).map_err(CliError::usage),
        Form::Sarif => report::sarif(view).map_err(CliError::usage),
        Form::Comment => report::comment(view).map_err(CliError::usage),
        Form::Journal => {
            debates
                .journal(
                    view.id
                        .ok_or_else(|| CliError::failed("the debate has no events"))?,
                )
                .await
        }
    }
}

/// Writes each judge's words, one file per judge and round. Returns the files.
pub fn write_judges(view: &View, dir: &Path) -> Result<Vec<PathBuf>, CliError> {
    let Some(started) = &view.started else {
        return Ok(Vec::new());
    };
    let id = started
        .input
        .get("question_id")
        .and_then(|id| id.as_str())
        .unwrap_or_default();
    let mut written = Vec::new();
    for round in &view.rounds {
        for agent in &round.agents {
            let Some(text) = report::judge_file(view, agent, round.round) else {
                continue;
            };
            let suffix = if round.round == 1 {
                String::new()
            } else {
                format!("-r{}", round.round)
            };
            let file = judges_dir(dir).join(format!(
                "debate-{}-{}{suffix}.md",
                file_safe(id),
                file_safe(agent)
            ));
            write(&file, &text)?;
            written.push(file);
        }
    }
    Ok(written)
}
