//! `triage`: whether a question is worth a debate.

use super::ask::parse_options;
use crate::{
    app::App,
    cli::{GlobalArgs, TriageArgs},
    context,
    error::CliError,
    output,
    paint::Paint,
};
use rebut_engine::triage::{Advice, triage};

/// `rebut triage`.
pub fn run(global: &GlobalArgs, args: TriageArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let context = context::gather(&args.context, &app.config.deny)?;
    let result = triage(&args.question, parse_options(&args.options)?.len(), &context.text);
    if args.json {
        output::print_json(&result)?;
        return Ok(0);
    }
    let paint = Paint::stdout(global.color);
    let verdict = match result.advice {
        Advice::Debate => paint.good("SCOPE CRITICAL: worth a debate"),
        Advice::Single => paint.strong("not scope critical: one answer will do"),
    };
    output::print(&format!("{verdict} (score {}, a debate from {})\n", result.score, rebut_engine::triage::WORTH_IT))?;
    for signal in &result.signals {
        output::print(&format!("  {:+}  {}\n", signal.weight, rebut_engine::clean::on_one_line(&signal.seen)))?;
    }
    Ok(0)
}
