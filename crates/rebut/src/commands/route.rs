//! `rebut "text"`: which format suits what was typed, and why.

use super::{ask, challenge, doctor, evaluate, review, solve};
use crate::{
    cli::{self, AskArgs, ChallengeArgs, EvaluateArgs, GlobalArgs, ReviewArgs, SolveArgs},
    error::CliError,
    paint::Paint,
};
use rebut_engine::triage::{self, Advice, Route};
use std::path::{Path, PathBuf};

/// Says which format it chooses and why, and runs it. Without a text: what is here.
pub async fn run(global: &GlobalArgs, args: AskArgs) -> Result<u8, CliError> {
    let Some(text) = args
        .question
        .clone()
        .or_else(|| args.from.as_ref().map(|_| String::new()))
    else {
        return doctor::first_run(global).await;
    };
    let route = chosen(&text, &args)?;
    if !global.quiet {
        let paint = Paint::stderr();
        warn_line!(
            "{}",
            paint.faint(&format!("{}: {}", route.format, route.why))
        );
        if route.format == "decide"
            && triage::triage(&text, args.options.len(), "").advice == Advice::Single
        {
            warn_line!(
                "{}",
                paint.faint("this question may not need a debate; `rebut triage` says why")
            );
        }
    }
    let AskArgs {
        context,
        run,
        rounds,
        timeout,
        ..
    } = args.clone();
    match route.format {
        "challenge" => {
            let args = ChallengeArgs {
                topic: text,
                context,
                rounds,
                timeout,
                run,
                ..ChallengeArgs::default()
            };
            challenge::run(global, args).await
        }
        "evaluate" => {
            evaluate::run(
                global,
                EvaluateArgs {
                    path: text.into(),
                    run,
                    ..EvaluateArgs::default()
                },
            )
            .await
        }
        "review" => {
            review::run(
                global,
                ReviewArgs {
                    file: Some(PathBuf::from(text)),
                    run,
                    ..ReviewArgs::default()
                },
            )
            .await
        }
        "solve" if rounds.is_some() || timeout.is_some() => Err(CliError::usage(
            "solve has no --rounds and no --timeout",
        )
        .hint(
            "`rebut solve --help` lists its flags; `--set solve.KEY=VALUE` changes its settings",
        )),
        "solve" => {
            solve::run(
                global,
                SolveArgs {
                    task: Some(text),
                    context,
                    run,
                    ..SolveArgs::default()
                },
            )
            .await
        }
        _ => ask::ask("decide", global, args).await,
    }
}

/// Files are reviewed, folders evaluated; positions are challenged and questions decided. Flags of
/// decide settle it.
fn chosen(text: &str, args: &AskArgs) -> Result<Route, CliError> {
    let AskArgs {
        question,
        context,
        run,
        rounds,
        timeout,
        ..
    } = args.clone();
    // Flags that decide and challenge both have settle nothing.
    let is_bare = context.is_empty() && rounds.is_none() && timeout.is_none();
    let is_plain = *args
        == AskArgs {
            question,
            context,
            rounds,
            timeout,
            run,
            ..AskArgs::default()
        };
    let path = Path::new(text);
    let by_path = match (path.is_dir(), path.is_file()) {
        (true, _) => Some(route("evaluate", "it is a folder: an idea")),
        (_, true) => Some(route("review", "it is a file: a text")),
        _ => None,
    };
    match by_path {
        Some(route) if is_plain && is_bare => return Ok(route),
        Some(route) => {
            let message = format!(
                "`{text}` is there as a file, and {} has not all of these flags",
                route.format
            );
            return Err(CliError::usage(message)
                .hint(format!("`rebut {} --help` lists its flags", route.format)));
        }
        None if !args.options.is_empty() => return Ok(triage::route(text, args.options.len())),
        None if !is_plain => return Ok(route("decide", "a flag of decide was given")),
        None => {}
    }
    // Not every script puts spaces between words.
    if text.trim().contains(' ') || text.contains(['?', '？']) || !text.is_ascii() {
        return Ok(triage::route(text, 0));
    }
    let message = format!("`{text}` is neither a command, a question nor a file");
    Err(
        CliError::usage(message).hint(match cli::meant_command(text) {
            Some(known) => format!("did you mean `rebut {known}`? Put a question in quotes"),
            None => "`rebut --help` lists the commands; put a question in quotes".to_owned(),
        }),
    )
}

fn route(format: &'static str, why: &str) -> Route {
    Route {
        format,
        why: why.to_owned(),
    }
}
