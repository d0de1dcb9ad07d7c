//! `rebut evaluate`: from an idea on disk to a debate about it, and what is written beside the
//! idea.

use super::{
    request::{self, Case},
    server_support::{of_run, refuse},
};
use crate::{
    app::App,
    atomic_file::replace,
    cli::{EvaluateArgs, Form, GlobalArgs},
    debates::Debates,
    error::CliError,
    idea, output,
    paint::Paint,
    post_actions::Afterwards,
    resolve::value,
};
use rebut_engine::{
    clean::on_one_line,
    formats::evaluate::{EvaluateResult, FORMAT, ROLES},
    view::View,
};
use serde::Deserialize;
use std::{collections::BTreeSet, path::Path};

/// `rebut evaluate`.
pub async fn run(global: &GlobalArgs, args: EvaluateArgs) -> Result<u8, CliError> {
    check_flags(&args)?;
    refuse(global, &of_run(&args.run))?;
    let set = args.run.panel.set.clone();
    let app = request::open(global, &set)?;
    output::check_files(&args.run.output, FORMAT.name)?;
    let idea = idea::read(&(&args).into(), &app.config.deny)?;
    if !global.quiet {
        let paint = Paint::stderr();
        idea.remarks
            .iter()
            .for_each(|remark| warn_line!("{}", paint.faint(remark)));
    }
    let after = Afterwards {
        analysis: idea.analysis,
        least: args.fail_on,
        ..Afterwards::of(&args.run.output)
    };
    Case {
        format: FORMAT.name,
        input: value(&idea.input)?,
        set,
        run: args.run,
        after,
    }
    .hold(&app)
    .await
}

fn check_flags(args: &EvaluateArgs) -> Result<(), CliError> {
    if let Some(score) = args.fail_on.filter(|score| !(1.0..=10.0).contains(score)) {
        return Err(CliError::usage(format!(
            "--fail-on {score}: a score is from 1 to 10"
        )));
    }
    if args.run.panel.judges.is_empty() {
        return Ok(());
    }
    Err(
        CliError::usage("evaluate has no judges to choose").hint(format!(
            "its seats are {}; say who sits there with -m SEAT=MODEL",
            ROLES.join(", ")
        )),
    )
}

/// Writes the transcript and the whole result, also when topics were skipped or a limit was met.
pub async fn write(app: &App, debates: &Debates, view: &View, dir: &Path) -> Result<(), CliError> {
    let files = [("debate.md", Form::Markdown), ("debate.json", Form::Json)];
    for (name, form) in files {
        // The folder may come from somebody else: no link in it is followed.
        let (file, text) = (dir.join(name), output::render(debates, view, form).await?);
        replace(&file, text.as_bytes())?;
    }
    if !app.global.quiet {
        warn_line!(
            "wrote {}, {}",
            dir.join(files[0].0).display(),
            dir.join(files[1].0).display()
        );
    }
    Ok(())
}

/// Whether the gate lets it through, if there is one; otherwise says why not.
pub fn passes(view: &View, least: Option<f64>) -> bool {
    let Some(needed) = least else { return true };
    let result = view
        .outcome
        .as_ref()
        .and_then(|outcome| EvaluateResult::deserialize(&outcome.result).ok());
    let why = result.map_or_else(
        || Some("there is no result".to_owned()),
        |result| held_back(&result, needed),
    );
    if let Some(why) = &why {
        warn_line!("{why}");
    }
    why.is_none()
}

/// Why a result does not reach what is needed. A total over a part of the categories says nothing
/// of the whole, so it never does.
fn held_back(result: &EvaluateResult, needed: f64) -> Option<String> {
    let unscored: BTreeSet<String> = result
        .rounds
        .iter()
        .filter(|round| round.score_after.is_none())
        .map(|round| on_one_line(&round.target_category))
        .collect();
    match result.totals {
        _ if !unscored.is_empty() => {
            let unscored = Vec::from_iter(unscored).join(", ");
            Some(format!(
                "the total is incomplete, without a score of {unscored}: it does not pass \
                 --fail-on {needed}"
            ))
        }
        None => Some(format!(
            "there are no scores: nothing passes --fail-on {needed}"
        )),
        Some(total) if total.post < needed => Some(format!(
            "the total is {} after the debate, below {needed}",
            total.post
        )),
        Some(_) => None,
    }
}
