//! Following a run: progress, interruption, result, exit code. Every command that runs a debate ends here.

use crate::{app::App, cli::OutputArgs, error::CliError, live::Progress, output, text};
use rebut_engine::{
    Desk, Running,
    clean::json_for_terminal,
    error::{DeskError, Halt},
    outcome::Ending,
    view::View,
};
use std::io::{BufRead, IsTerminal, Write};

/// Shows a run until it ends, prints its result, and gives the exit code.
pub async fn follow(app: &App, desk: &Desk, running: Running, args: &OutputArgs) -> Result<u8, CliError> {
    let id = running.id;
    let view = watch(app, desk, &running, args).await?;
    let ended = running.outcome().await;
    if let Err(DeskError::Halted(Halt::Paused)) = &ended {
        eprintln!("saved; go on with: rebut resume {}", id.short());
        return Ok(Ending::Cancelled.exit_code());
    }
    let outcome = ended?;
    output::result(desk, &view, args, &app.global).await?;
    if outcome.outcome == Ending::Contested && !args.json && !args.stream_json {
        offer_choice(app, desk, &view).await?;
    }
    Ok(exit_code(outcome.outcome, args))
}

/// The exit code of an ending under the flags.
pub fn exit_code(ending: Ending, args: &OutputArgs) -> u8 {
    let forgiven = args.exit_zero && matches!(ending, Ending::Contested | Ending::Stopped | Ending::Rejected);
    if forgiven { 0 } else { ending.exit_code() }
}

async fn watch(app: &App, desk: &Desk, running: &Running, args: &OutputArgs) -> Result<View, CliError> {
    let mut progress = Progress::new(&app.global);
    let mut watch = desk.watch(running.id, 0).await?;
    let mut deltas = desk.deltas(running.id);
    let mut view = View::default();
    let mut interrupted = false;
    loop {
        tokio::select! {
            next = watch.next() => match next? {
                Some(record) => {
                    view.apply(&record);
                    progress.event(&record);
                    if args.stream_json {
                        let line = serde_json::to_string(&record.envelope()).map_err(|error| CliError::failed(error.to_string()))?;
                        output::print(&format!("{}\n", json_for_terminal(&line)))?;
                    }
                }
                None => break,
            },
            Some(delta) = next_delta(&mut deltas) => progress.delta(&delta),
            () = interrupt() => {
                if interrupted {
                    progress.finish();
                    eprintln!("stopped; go on with: rebut resume {}", running.id.short());
                    std::process::exit(Ending::Cancelled.exit_code().into());
                }
                interrupted = true;
                progress.say("interrupted: finishing the turns under way, then saving (once more to stop now)");
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

/// Ctrl-C, or a request to terminate.
async fn interrupt() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// On a terminal, a contested debate can be answered at once.
async fn offer_choice(app: &App, desk: &Desk, view: &View) -> Result<(), CliError> {
    let may_ask = !app.global.no_input && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let Some(id) = view.id.filter(|_| may_ask) else { return Ok(()) };
    let letters = text::choices(view).iter().map(|(id, _)| format!("[{id}]")).collect::<Vec<_>>().join(" ");
    loop {
        eprint!("Choose: {letters} or leave it open [n]: ");
        std::io::stderr().flush().map_err(|error| CliError::failed(error.to_string()))?;
        let mut said = String::new();
        std::io::stdin().lock().read_line(&mut said).map_err(|error| CliError::failed(error.to_string()))?;
        let said = said.trim();
        if said.is_empty() || said.eq_ignore_ascii_case("n") {
            return Ok(());
        }
        match desk.answer(id, said, "", &crate::app::user()).await {
            Ok(option) => {
                eprintln!("recorded: {option}");
                return Ok(());
            }
            Err(error) => eprintln!("{error}"),
        }
    }
}
