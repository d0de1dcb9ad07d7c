//! Following a run: progress, interruption, result, exit code. Every command that runs a debate
//! ends here.

use crate::{
    app::App, cli::OutputArgs, debates::Debates, error::CliError, git::branch,
    hint_command::command, live::Progress, output, telemetry, text, workspace::Workspace,
};
use rebut_engine::{
    DebateId, Desk, Running, Watch,
    clean::json_for_terminal,
    error::{DeskError, Stop},
    formats::Shortfall,
    outcome::{Ending, Outcome},
    record::Record,
    view::View,
};
use std::{
    io::{BufRead, IsTerminal, Write},
    sync::Arc,
    time::Duration,
};

/// The pause before a database that is away is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Shows a run until it ends, prints its result, and gives the exit code.
pub async fn follow(
    app: &App,
    desk: &Desk,
    running: Running,
    args: &OutputArgs,
) -> Result<u8, CliError> {
    let mut interrupts = Interrupts::listen()?;
    let Some((view, outcome)) = to_the_end(app, desk, running, args, &mut interrupts).await? else {
        return Ok(Ending::Cancelled.exit_code());
    };
    conclude(app, &desk.into(), &view, &outcome, args, &mut interrupts).await
}

/// Shows a run to its end, and ends what is committed beside it.
pub async fn follow_beside_branch(
    app: &App,
    desk: &Desk,
    running: Running,
    args: &OutputArgs,
    keeping: Option<branch::Keeping>,
) -> Result<u8, CliError> {
    let followed = follow(app, desk, running, args).await;
    if let Some(keeping) = keeping {
        keeping.end(app.global.quiet, followed.is_err()).await;
    }
    followed
}

/// Follows a run to its end, and keeps the files of its workspace as the journal tells.
pub async fn follow_beside_files(
    app: &App,
    desk: &Desk,
    running: Running,
    args: &OutputArgs,
    workspace: &Workspace,
) -> Result<u8, CliError> {
    let keeping = workspace.keep(desk, running.id);
    let code = follow(app, desk, running, args).await?;
    Workspace::kept(keeping).await?;
    if !app.global.quiet {
        warn_line!("kept in {}", workspace.dir().display());
    }
    Ok(code)
}

/// Prints the result of a debate that has ended and what can be typed now, and gives the exit code:
/// wherever it was held.
pub async fn conclude(
    app: &App,
    debates: &Debates,
    view: &View,
    outcome: &Outcome,
    args: &OutputArgs,
    interrupts: &mut Interrupts,
) -> Result<u8, CliError> {
    output::result(debates, view, args, app).await?;
    if let Some(command) = app.go_on(view).filter(|_| args.json || args.stream_json) {
        warn_line!("stopped at a limit; go on with: {command}");
    }
    if let Some(command) = text::ask_anew(view).filter(|_| args.json || args.stream_json) {
        warn_line!("what was answered before is kept; go on with: {command}");
    }
    if outcome.outcome == Ending::Contested && !args.json && !args.stream_json {
        offer_choice(app, debates, view, interrupts).await?;
    }
    Ok(
        match view
            .started
            .as_ref()
            .and_then(|started| Shortfall::of(&started.format, outcome))
        {
            Some(_) => exit_code(Ending::Contested, args),
            None => exit_code(outcome.outcome, args),
        },
    )
}

/// Prints an event as a line of JSON.
pub fn print_event(record: &Record) -> Result<(), CliError> {
    let line = serde_json::to_string(&record.envelope())
        .map_err(|error| CliError::failed(error.to_string()))?;
    output::print(&format!("{}\n", json_for_terminal(&line)))
}

/// Shows a run until it ends; nothing when it was interrupted and saved.
pub async fn to_the_end(
    app: &App,
    desk: &Desk,
    running: Running,
    args: &OutputArgs,
    interrupts: &mut Interrupts,
) -> Result<Option<(View, Arc<Outcome>)>, CliError> {
    let id = running.id;
    let view = watch(app, desk, &running, args, interrupts).await?;
    match running.outcome().await {
        Err(DeskError::Halted(Stop::Paused)) => {
            warn_line!("saved; {}", how_to_go_on(app, id));
            Ok(None)
        }
        ended => {
            let outcome = ended.map_err(|error| left_open(app, id, error))?;
            telemetry::report(&desk.records(id).await?).await;
            Ok(Some((view, outcome)))
        }
    }
}

/// Why a debate came to no end. One that could not be written down any more is as far as it was,
/// and goes on from there.
fn left_open(app: &App, id: DebateId, error: DeskError) -> CliError {
    let is_left = matches!(
        error,
        DeskError::Halted(Stop::Store(_) | Stop::WentBack { .. })
    );
    let error = CliError::from(error);
    if is_left {
        error.and_hint(how_to_go_on(app, id))
    } else {
        error
    }
}

/// The exit code of an ending under the flags.
pub fn exit_code(ending: Ending, args: &OutputArgs) -> u8 {
    let forgiven = args.exit_zero
        && matches!(
            ending,
            Ending::Contested | Ending::Stopped | Ending::Rejected
        );
    if forgiven { 0 } else { ending.exit_code() }
}

/// What to type after an interruption.
fn how_to_go_on(app: &App, id: DebateId) -> String {
    if app.keeps {
        format!(
            "go on with: {}",
            command(format_args!("resume {}", id.short()))
        )
    } else {
        "nothing is kept of it".to_owned()
    }
}

async fn watch(
    app: &App,
    desk: &Desk,
    running: &Running,
    args: &OutputArgs,
    interrupts: &mut Interrupts,
) -> Result<View, CliError> {
    let known = desk.view(running.id).await?;
    // A gate that was decided before this process began waits for nobody.
    let is_past = |record: &Record| {
        record.kind == "gate.opened" && record.seq <= known.events && known.open_gate.is_none()
    };
    let person_answers = known.started.as_ref().is_some_and(|started| {
        started
            .agents
            .iter()
            .any(|agent| agent.provider() == "human")
    });
    let mut progress = Progress::new(app.global.quiet, person_answers);
    let mut watch = desk.watch(running.id, 0).await?;
    let mut deltas = desk.deltas(running.id).map(|listening| listening.pieces);
    let mut view = View::default();
    let mut interrupted = false;
    loop {
        tokio::select! {
            next = next_event(&mut watch, running) => match next? {
                Some(record) => {
                    view.apply(&record);
                    if !is_past(&record) {
                        progress.event(&record);
                    }
                    if args.stream_json {
                        print_event(&record)?;
                    }
                }
                None => break,
            },
            Some(delta) = next_delta(&mut deltas) => progress.delta(&delta),
            () = interrupts.next() => {
                if interrupted {
                    desk.stop_all().await;
                    progress.finish();
                    warn_line!("stopped; {}", how_to_go_on(app, running.id));
                    std::process::exit(Ending::Cancelled.exit_code().into());
                }
                interrupted = true;
                progress.say("interrupted: finishing the turns under way, then saving (once more \
                    to stop now)");
                // It may have ended in this very moment; then there is nothing to pause.
                if let Err(error) = desk.pause(running.id) {
                    progress.say(&error.to_string());
                }
            }
        }
    }
    progress.finish();
    Ok(view)
}

/// The next event of a run. While the database is away, the run waits for it, and so does whoever
/// looks on: ending here would end the run, and lose what was answered meanwhile.
async fn next_event(watch: &mut Watch, running: &Running) -> Result<Option<Record>, DeskError> {
    loop {
        match watch.next().await {
            Err(error) if error.is_away() => match running.ended() {
                None => tokio::time::sleep(LOOK_AGAIN).await,
                Some(Ok(_)) => return Err(error),
                // Why it ended is said best by the run itself.
                Some(Err(_)) => return Ok(None),
            },
            other => return other,
        }
    }
}

async fn next_delta(
    deltas: &mut Option<tokio::sync::broadcast::Receiver<rebut_engine::model::Delta>>,
) -> Option<rebut_engine::model::Delta> {
    let received = match deltas {
        Some(receiver) => receiver.recv().await,
        None => std::future::pending().await,
    };
    match received {
        Ok(delta) => Some(delta),
        Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => None,
        Err(tokio::sync::broadcast::error::RecvError::Closed) => {
            *deltas = None;
            None
        }
    }
}

/// Ctrl-C, requests to terminate, and a terminal that was closed. Heard from the moment of
/// listening on, so that none is lost between two looks.
pub struct Interrupts {
    #[cfg(unix)]
    signals: Vec<tokio::signal::unix::Signal>,
}

impl Interrupts {
    #[cfg(unix)]
    pub fn listen() -> Result<Self, CliError> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error: std::io::Error| {
            CliError::failed(format!("cannot listen for interruptions: {error}"))
        };
        let hangup = (!ignores_hangup()).then(SignalKind::hangup);
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()]
            .into_iter()
            .chain(hangup);
        Ok(Self {
            signals: kinds
                .map(signal)
                .collect::<Result<_, _>>()
                .map_err(failed)?,
        })
    }

    #[cfg(unix)]
    pub async fn next(&mut self) {
        let next = self
            .signals
            .iter_mut()
            .map(|signal| Box::pin(signal.recv()));
        futures_util::future::select_all(next).await;
    }

    #[cfg(not(unix))]
    pub fn listen() -> Result<Self, CliError> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Whether this process was started to outlive its terminal (`nohup`), and so does not hear that it
/// was closed.
#[cfg(target_os = "linux")]
fn ignores_hangup() -> bool {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default(); // tidy: the system's own
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // Where nobody can tell, what was asked for at the start stays.
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_none_or(|mask| mask & HANGUP != 0)
}

/// Nothing safe tells it here: whoever closes the terminal ends the process, as before, and the
/// debate can be resumed.
#[cfg(all(unix, not(target_os = "linux")))]
fn ignores_hangup() -> bool {
    true
}

/// On a terminal, a contested debate can be answered at once.
pub async fn offer_choice(
    app: &App,
    debates: &Debates,
    view: &View,
    interrupts: &mut Interrupts,
) -> Result<(), CliError> {
    let may_ask = app.keeps
        && !app.global.no_input
        && std::io::stdin().is_terminal()
        && std::io::stderr().is_terminal();
    let Some(id) = view.id.filter(|_| may_ask) else {
        return Ok(());
    };
    let letters = text::choices(view)
        .iter()
        .map(|(id, _)| format!("[{id}]"))
        .collect::<Vec<_>>()
        .join(" ");
    loop {
        warn_text!("Choose: {letters} or leave it open [n]: ");
        std::io::stderr()
            .flush()
            .map_err(|error| CliError::failed(error.to_string()))?;
        // On a thread of its own, so that Ctrl-C still ends the waiting.
        let typed = tokio::task::spawn_blocking(|| {
            let mut said = String::new();
            std::io::stdin().lock().read_line(&mut said).map(|_| said)
        });
        let said = tokio::select! {
            typed = typed => typed.map_err(|error| CliError::failed(error.to_string()))?.map_err(|error| CliError::failed(error.to_string()))?,
            () = interrupts.next() => String::new(),
        };
        let said = said.trim();
        if said.is_empty() || said.eq_ignore_ascii_case("n") {
            warn_line!(
                "left open; choose later with: {}",
                command(format_args!("answer {} OPTION", id.short()))
            );
            return Ok(());
        }
        match debates.answer(id, said, "").await {
            Ok(option) => {
                warn_line!("recorded: {option}");
                return Ok(());
            }
            Err(error) => warn_line!("{error}"),
        }
    }
}
