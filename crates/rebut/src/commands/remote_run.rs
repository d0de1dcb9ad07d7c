//! Debates at a server: what was typed becomes a request, and what comes back is shown as if the
//! debate ran here.

use super::{
    prepare,
    progress::{self, Interrupts},
    request::Case,
};
use crate::{
    app::App,
    budget::Budget,
    cli::OutputArgs,
    config::override_tables,
    debates::Debates,
    error::CliError,
    estimate::Estimate,
    format_catalog::Card,
    hint_command::command,
    live::Progress,
    output,
    remote::Remote,
    request::{DebateRequest, LimitsRequest},
};
use rebut_engine::{
    DebateId, clean::on_one_line, event::Event, family::is_person, outcome::Ending, record::Record,
    view::View,
};
use serde::Deserialize;

/// Holds a debate at a server, from its start to what is done at its end.
pub async fn hold(app: &App, remote: Remote, case: Case) -> Result<u8, CliError> {
    let asked = request(&case, prepare::of_run(&case.run, &app.config.budget))?;
    let Case {
        format, run, after, ..
    } = case;
    if run.estimate {
        return estimate(&remote, &asked, run.output.json).await;
    }
    after.check(format)?;
    let Begun { id } = remote.post("/v1/debates", &asked).await?;
    after.remember(app, id)?;
    let debates = Debates::There(remote);
    let code = follow(app, &debates, id, &run.output).await?;
    after.finish(app, &debates, id, code).await
}

/// What of an answer that something begins is needed.
#[derive(Deserialize)]
pub struct Begun {
    pub id: DebateId,
}

/// What was typed, as a request. Refuses what only whoever runs a server says.
fn request(case: &Case, budget: Budget) -> Result<DebateRequest, CliError> {
    let card = Card::named(case.format)?;
    if let Some(other) = override_tables(&case.set)?
        .keys()
        .find(|key| *key != case.format)
    {
        return Err(CliError::usage(format!(
            "`--set {other}.…` belongs to whoever runs the server"
        ))
        .hint(format!("only settings of {} can be sent", case.format)));
    }
    let asked = case.request()?;
    let asked = DebateRequest {
        input: card.carried(asked.input),
        limits: limits(budget),
        ..asked
    };
    card.check(&asked.input, &asked.config)?;
    Ok(asked)
}

/// Limits as a request carries them.
pub fn limits(
    Budget {
        caps,
        seconds,
        approval,
    }: Budget,
) -> LimitsRequest {
    LimitsRequest {
        cost_usd: caps.cost_usd,
        tokens: caps.tokens,
        calls: caps.calls,
        seconds,
        approval_seconds: approval,
    }
}

async fn estimate(remote: &Remote, asked: &DebateRequest, json: bool) -> Result<u8, CliError> {
    #[derive(Deserialize)]
    struct Told {
        #[serde(flatten)]
        estimate: Estimate,
        words: String,
    }
    let Told { estimate, words } = remote.post("/v1/estimates", asked).await?;
    match json {
        true => output::print_json(&estimate)?,
        false => output::print(&format!("{}\n", on_one_line(&words)))?,
    }
    Ok(0)
}

/// Shows a debate of a server until it ends or is left, prints its result, and gives the exit code.
/// Whoever stops watching leaves it running.
pub async fn follow(
    app: &App,
    debates: &Debates,
    id: DebateId,
    args: &OutputArgs,
) -> Result<u8, CliError> {
    let mut interrupts = Interrupts::listen()?;
    let mut progress = Progress::new(app.global.quiet, false);
    let mut tail = debates.watch(id, 0).await?;
    tail.told_by(progress.voice());
    let mut view = View::default();
    let cancelled = Ending::Cancelled.exit_code();
    loop {
        tokio::select! {
            next = tail.next() => {
                let Some(record) = next? else { break };
                view.apply(&record);
                progress.event(&record);
                if let Some(turn) = person_asked(&record) {
                    progress.say(&format!("a person is asked; answer with: \
                        {}", command(format_args!("turns {} {turn}", id.short()))));
                }
                if args.stream_json {
                    progress::print_event(&record)?;
                }
            }
            () = interrupts.next() => {
                progress.finish();
                let id = id.short();
                let [resume, watch, cancel] = ["resume", "watch", "cancel"].map(|verb| command(format_args!("{verb} {id}")));
                warn_line!("the debate goes on at the server; to its end and its files: {resume}");
                warn_line!("watch it: {watch}, end it: {cancel}");
                return Ok(cancelled);
            }
        }
    }
    progress.finish();
    match view.outcome.clone() {
        Some(outcome) => {
            progress::conclude(app, debates, &view, &outcome, args, &mut interrupts).await
        }
        None => {
            warn_line!(
                "it was left at the server before its end; go on with: {}",
                command(format_args!("resume {}", id.short()))
            );
            Ok(cancelled)
        }
    }
}

/// The turn for which an event says that a person is asked, as one word of a shell.
fn person_asked(record: &Record) -> Option<String> {
    match record.event() {
        Ok(Some(Event::TurnStarted(started))) if is_person(&started.model) => {
            let turn = on_one_line(&started.turn);
            Some(if turn.contains(' ') {
                format!("\"{turn}\"")
            } else {
                turn
            })
        }
        _ => None,
    }
}
