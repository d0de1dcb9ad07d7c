//! `--baseline`: the same question to a control arm afterwards, with as many calls, and both side
//! by side.

use super::{ask, progress};
use crate::{
    app::App,
    cli::{Arm, OutputArgs},
    error::CliError,
    output,
    paint::Paint,
    text,
};
use rebut_engine::{
    DebateId, Desk, Running, Start,
    budget::Caps,
    event::Limits,
    formats::{baselines::ArmResult, decide},
    outcome::Ending,
    report,
    view::View,
};
use serde::Serialize;
use serde_json::Value;

/// What `--json` says of the arm.
#[derive(Serialize)]
struct Baseline {
    id: DebateId,
    format: String,
    outcome: Option<Ending>,
    summary: String,
    winner: Option<String>,
    calls: u32,
    tokens: u64,
    /// US dollars; null when a price is unknown.
    cost: Option<f64>,
    /// Whether both have the same winner; null when one has none.
    agrees: Option<bool>,
}

/// Follows a debate to its end, then runs the arm; prints both. Gives the debate's id and exit
/// code.
pub async fn compare(
    app: &App,
    desk: &Desk,
    running: Running,
    start: Start,
    arm: Arm,
    args: &OutputArgs,
) -> Result<(DebateId, u8), CliError> {
    let id = running.id;
    let mut interrupts = progress::Interrupts::listen()?;
    let Some((debate, outcome)) =
        progress::to_the_end(app, desk, running, args, &mut interrupts).await?
    else {
        return Ok((id, Ending::Cancelled.exit_code()));
    };
    let paint = Paint::stdout();
    if !args.json && !args.stream_json {
        output::print(&text::result(
            &debate,
            app.keeps,
            app.go_on(&debate).as_deref(),
            paint,
        ))?;
    }
    let mut compared = None;
    if matches!(
        outcome.outcome,
        Ending::Consensus | Ending::Majority | Ending::Contested
    ) {
        let running = desk.start(arm_start(app, &start, &debate, arm)?).await?;
        compared = progress::to_the_end(app, desk, running, args, &mut interrupts)
            .await?
            .map(|(view, _)| view);
    } else {
        warn_line!("no baseline: the debate ended {}", outcome.outcome.as_str());
    }
    let baseline = compared.as_ref().and_then(|arm| baseline(&debate, arm));
    if args.json {
        output::print_json(&with_baseline(&debate, &baseline)?)?;
    } else if let (Some(arm), Some(baseline), false) = (&compared, &baseline, args.stream_json) {
        output::print(&text::arms::comparison(
            &debate,
            arm,
            baseline.agrees,
            paint,
        ))?;
    }
    output::files(&desk.into(), &debate, args).await?;
    if outcome.outcome == Ending::Contested && !args.json && !args.stream_json {
        progress::offer_choice(app, &desk.into(), &debate, &mut interrupts).await?;
    }
    Ok((id, progress::exit_code(outcome.outcome, args)))
}

/// The arm's request: the same panel, question, options and seed, what is left of the caps, and as
/// many calls as brought the debate an answer.
fn arm_start(app: &App, start: &Start, debate: &View, arm: Arm) -> Result<Start, CliError> {
    let calls = debate.spent().answers.max(1);
    let agents = u32::try_from(start.agents.len()).unwrap_or(u32::MAX).max(1);
    let mut config = app.config.format(arm.format())?;
    match arm {
        Arm::Single => {}
        Arm::Poll => config["answers"] = calls.min(1000).into(),
        Arm::Society => config["rounds"] = (calls / agents).clamp(1, 20).into(),
    }
    if let Some(seconds) = start.config.get("timeout_per_judge") {
        config["timeout"] = seconds.clone();
    }
    let mut input = decide::Input::parse(&start.input).map_err(CliError::usage)?;
    // Options that were drafted for the debate are the arm's too, or they would not answer the same
    // question.
    input.options = decide::options_of(debate);
    input.baseline_of = debate.id.map(|id| id.to_string()).unwrap_or_default();
    Ok(Start {
        format: arm.format().to_owned(),
        input: serde_json::to_value(&input).map_err(|error| CliError::failed(error.to_string()))?,
        agents: ask::who_answers(arm.format(), &config, start.agents.clone())?,
        limits: start.limits.map(|limits| what_is_left(limits, debate)),
        config,
        seed: debate.started.as_ref().map(|started| started.seed),
        initiated_by: start.initiated_by.clone(),
    })
}

/// The debate's limits less what it used. A cap that is used up stays one: the arm then ends
/// stopped, and says so.
fn what_is_left(limits: Limits, debate: &View) -> Limits {
    let spent = debate.spent();
    let tokens = spent.input_tokens + spent.cached_tokens + spent.output_tokens;
    let known: f64 = debate
        .turns
        .iter()
        .filter_map(|turn| turn.usage.as_ref()?.cost_usd)
        .sum();
    let caps = Caps {
        cost_usd: limits.caps.cost_usd.map(|cost| (cost - known).max(0.0)),
        tokens: limits.caps.tokens.map(|cap| cap.saturating_sub(tokens)),
        calls: limits
            .caps
            .calls
            .map(|cap| cap.saturating_sub(spent.calls.into())),
        ..limits.caps
    };
    let elapsed = text::seconds(debate).unwrap_or_default().ceil() as u64;
    let seconds = limits.debate_seconds;
    // Zero would mean no limit at all.
    Limits {
        caps,
        debate_seconds: if seconds == 0 {
            0
        } else {
            seconds.saturating_sub(elapsed).max(1)
        },
        approval_seconds: 0,
        ..limits
    }
}

fn baseline(debate: &View, arm: &View) -> Option<Baseline> {
    let outcome = arm.outcome.as_ref();
    let result = outcome
        .and_then(|outcome| serde_json::from_value::<ArmResult>(outcome.result.clone()).ok());
    // What was counted before a limit was met decides nothing.
    let winner = result
        .and_then(|result| result.winner)
        .filter(|_| outcome.is_some_and(|outcome| outcome.outcome != Ending::Stopped));
    let recommended = debate
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.result.get("recommended_option"))
        .and_then(Value::as_str);
    let spent = arm.spent();
    Some(Baseline {
        id: arm.id?,
        format: arm.started.as_ref()?.format.clone(),
        outcome: outcome.map(|outcome| outcome.outcome),
        summary: outcome
            .map(|outcome| outcome.summary.clone())
            .unwrap_or_default(),
        calls: spent.calls,
        tokens: spent.input_tokens + spent.cached_tokens + spent.output_tokens,
        cost: spent.cost_usd,
        agrees: recommended
            .zip(winner.as_deref())
            .map(|(one, other)| one == other),
        winner,
    })
}

/// The debate's own document with what the arm said; null when it did not run to its end.
fn with_baseline(debate: &View, baseline: &Option<Baseline>) -> Result<Value, CliError> {
    let json = |error: serde_json::Error| CliError::failed(error.to_string());
    let mut document = serde_json::to_value(report::document(debate)).map_err(json)?;
    document["baseline"] = serde_json::to_value(baseline).map_err(json)?;
    Ok(document)
}
