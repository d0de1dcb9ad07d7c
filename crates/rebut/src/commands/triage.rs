//! `triage`: says whether a question is worth a debate.

use super::ask::parse_options;
use crate::{
    app::{App, user},
    budget::Budget,
    cli::{GlobalArgs, TriageArgs},
    context,
    error::CliError,
    output,
    paint::Paint,
    roles,
};
use rebut_engine::{
    Start,
    clean::{on_one_line, shortened_reason},
    formats::triage::Input,
    outcome::Outcome,
    triage::{Advice, WORTH_IT, triage},
};
use serde_json::json;
use std::sync::Arc;

pub async fn run(global: &GlobalArgs, args: TriageArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    if args.question.trim().is_empty() {
        return Err(CliError::usage("what is the question?")
            .hint("rebut triage \"Redis or Memcached for sessions?\""));
    }
    let context = context::gather(&args.context, &app.config.deny)?;
    let options = parse_options(&args.options)?.len();
    let rules = triage(&args.question, options, &context.text);
    let asked = match &args.model {
        Some(model) => {
            let budget = Budget::new(&(&args.budget).into(), &app.config.budget);
            Some(
                ask(
                    &app,
                    model,
                    budget,
                    &Input {
                        question: args.question,
                        options,
                        context: context.text,
                    },
                )
                .await?,
            )
        }
        None => None,
    };
    if args.json {
        match &asked {
            Some(outcome) if outcome.result.is_null() => output::print_json(&json!({
                "rules": rules,
                "verdict": null,
                "outcome": outcome.outcome,
                "summary": outcome.summary,
                "degraded": outcome.degraded,
            }))?,
            Some(outcome) => output::print_json(&outcome.result)?,
            None => output::print_json(&rules)?,
        }
        return Ok(asked.map_or(0, |outcome| outcome.outcome.exit_code()));
    }
    let paint = Paint::stdout();
    if let Some(outcome) = &asked {
        output::print(&format!(
            "{}\n",
            paint.strong(&on_one_line(&outcome.summary))
        ))?;
        for absence in &outcome.degraded {
            let why = format!(
                "{}: {}",
                absence.reason,
                shortened_reason(&on_one_line(&absence.detail), 300)
            );
            output::print(&format!("  {}\n", paint.bad(&format!("no verdict: {why}"))))?;
        }
    }
    let verdict = match rules.advice {
        Advice::Debate => paint.good("SCOPE CRITICAL: worth a debate"),
        Advice::Single => paint.strong("not scope critical: one answer will do"),
    };
    let by = if asked.is_some() {
        "by the rules alone: "
    } else {
        ""
    };
    output::print(&format!(
        "{by}{verdict} (score {}, a debate from {WORTH_IT})\n",
        rules.score
    ))?;
    for signal in &rules.signals {
        output::print(&format!(
            "  {:+}  {}\n",
            signal.weight,
            on_one_line(&signal.seen)
        ))?;
    }
    Ok(asked.map_or(0, |outcome| outcome.outcome.exit_code()))
}

/// Asks a model, through the journal like any other turn.
async fn ask(
    app: &App,
    model: &str,
    budget: Budget,
    input: &Input,
) -> Result<Arc<Outcome>, CliError> {
    let role = roles::find(&app.project(), "neutral")?;
    let config = app.config.format("triage")?;
    let start = Start {
        format: "triage".to_owned(),
        input: serde_json::to_value(input).map_err(|error| CliError::failed(error.to_string()))?,
        limits: Some(budget.limits("triage", &config)?),
        config,
        agents: vec![role.played_by(model)],
        initiated_by: user(),
        ..Start::default()
    };
    Ok(app.desk().await?.run(start).await?.1)
}
