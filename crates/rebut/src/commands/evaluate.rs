//! `rebut evaluate`: from an idea on disk to a debate about it.

use super::{
    request::{self, Case},
    server_support::{of_run, refuse},
};
use crate::{
    cli::{EvaluateArgs, GlobalArgs},
    error::CliError,
    idea, output,
    paint::Paint,
    post_actions::Afterwards,
    resolve::value,
};
use rebut_engine::formats::evaluate::{FORMAT, ROLES};

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
