//! A server over this machine's configuration and database: what it is made of, how it starts, and
//! how it stops so that the next one goes on.

mod ageing;
mod delivering;
mod front;
mod human_inbox;
mod keyring;
mod log;
mod maintenance;
mod model_allowlist;
mod observing;
pub mod webhooks;

pub use keyring::Keyring;

use crate::{
    app::{App, user},
    cli::{GlobalArgs, ServeArgs},
    commands::progress::Interrupts,
    error::CliError,
    git::branch,
    hint_command::command,
    telemetry::Telemetry,
};
use delivering::{Delivering, Waits};
use front::CommandFront;
use human_inbox::{DeskInbox, People};
use log::Log;
use maintenance::{Tending, close_gates, read_keys};
use model_allowlist::{Allowed, OnlyAllowed};
use observing::{Observing, Spans};
use rebut_engine::{
    DebateId, Desk,
    model::{Model, Models},
    outcome::Ending,
    store::Store,
};
use rebut_models::{Registry, registry::Open};
use rebut_server::{Answered, Metrics, Server, Settings, Told, keys::Keys};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc, watch},
    task::JoinHandle,
};
use webhooks::Hooks;

/// Serves until it is told to stop. Gives the exit code.
pub async fn run(global: &GlobalArgs, args: ServeArgs) -> Result<u8, CliError> {
    // Nobody sits at the keyboard of a server.
    let app = App::open(
        &GlobalArgs {
            no_input: true,
            ..global.clone()
        },
        &[],
    )?;
    app.config.server.check().map_err(CliError::usage)?;
    let keyring = Keyring::of(app.place()?);
    check_address(&args, &keyring)?;
    allow_many_files()?;
    let mut interrupts = Interrupts::listen()?;
    let people = People::new(Duration::from_secs(app.config.server.human_seconds));
    let registry = Arc::new(registry(&app, people.clone())?);
    let log = Log::new(args.log, global.quiet, app.scrubber(&registry));
    let allowed = Arc::new(Allowed::of(&app, &registry, args.allow_scripts).await);
    let models: Arc<dyn Models> = Arc::new(OnlyAllowed {
        registry: registry.clone(),
        allowed: allowed.clone(),
    });
    let (metrics, wake) = (Arc::new(Metrics::default()), Arc::new(Notify::new()));
    let database = app.database().await?;
    let hooks = Arc::new(Hooks::new(&app, database.clone())?);
    let waits = Arc::new(Waits(app.config.server.webhook_waits.clone()));
    let poster = hooks.poster().clone();
    let delivering = Delivering {
        database: database.clone(),
        poster,
        waits,
        metrics: metrics.clone(),
        log: log.clone(),
        wake: wake.clone(),
    };
    let observing = Observing {
        log: log.clone(),
        metrics: metrics.clone(),
        wake,
        spans: None,
    };
    let (spans, to_send) = Spans::new();
    let desk = desk(
        &app,
        &registry,
        models.clone(),
        database.clone(),
        observing,
        (spans.clone(), to_send),
    )?;
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(|error| cannot_listen(args.listen, &error))?;
    let address = listener
        .local_addr()
        .map_err(|error| cannot_listen(args.listen, &error))?;
    // Only now: a server that cannot listen leaves no key behind.
    if let Some(file) = keyring.first(&user())? {
        log.say(
            "made the first key",
            &[("token_file", &file.display().to_string())],
        );
    }
    let inbox = Arc::new(DeskInbox {
        people,
        desk: desk.clone(),
    });
    let found = tokio::sync::Mutex::default();
    let front = CommandFront {
        app: app.clone(),
        registry,
        allowed,
        models,
        desk: desk.clone(),
        inbox,
        hooks,
        found,
    };
    let hosts = args.hosts.into_iter().chain([address.into()]).collect();
    let settings = Settings {
        hosts,
        operator: Some(user()),
        trusted: app.place()?.trusted()?,
        told: Some(told(&log)),
        requests_per_minute: app.config.server.requests_per_minute,
        watchers: app.config.server.watchers,
        ..Settings::default()
    };
    let keys = Keys::new(keyring.read()?);
    let counted = metrics.clone();
    let server = Arc::new(Server {
        desk: desk.clone(),
        front: Arc::new(front),
        keys: keys.clone(),
        web_sessions: database,
        metrics,
        settings,
    });
    let (stop, stopped) = watch::channel(false);
    let (let_go, is_drained) = watch::channel(false);
    let patience = Duration::from_secs(app.config.server.drain_seconds);
    let mut tending = Tending::new(desk.clone(), app, log.clone(), counted);
    tending.look_back().await;
    let delivering = tokio::spawn(delivering.run(stopped.clone()));
    let serving = tokio::spawn(rebut_server::serve(
        listener,
        server,
        until(stopped),
        until(is_drained),
    ));
    log.say("listening", &[("url", &format!("http://{address}"))]);
    let reading = tokio::spawn(read_keys(keyring, keys, log.clone()));
    let gates = tokio::spawn(close_gates(desk.clone(), log.clone()));
    let tending = tokio::spawn(tending.run());
    interrupts.next().await;
    tending.abort();
    gates.abort();
    let (live, seconds) = (desk.live().to_string(), patience.as_secs().to_string());
    stop.send_replace(true);
    let draining = drain(&desk, let_go, serving, patience, &log);
    let last_messages = tokio::time::timeout(LAST_ANSWERS, delivering);
    // Told when every debate knows of it, so that whoever reads it can rely on that.
    let stopping = async { log.say("stopping", &[("debates", &live), ("seconds", &seconds)]) };
    let code = tokio::select! {
        (code, _, ()) = async { tokio::join!(biased; draining, last_messages, stopping) } => code,
        () = interrupts.next() => {
            desk.stop_all().await;
            Ending::Cancelled.exit_code()
        }
    };
    reading.abort();
    spans.all_sent(&log).await;
    log.say("stopped", &[]);
    Ok(code)
}

/// The models of this machine; people are asked over HTTP.
fn registry(app: &App, people: Arc<People>) -> Result<Registry, CliError> {
    let open: Open = Arc::new(move |name| {
        people
            .open(name)
            .map(|person| Arc::new(person) as Arc<dyn Model>)
    });
    Ok(app.registry()?.with("human", open))
}

/// The desk, with its events counted, logged, and sent to a collector where the environment names
/// one.
fn desk(
    app: &App,
    registry: &Registry,
    models: Arc<dyn Models>,
    store: Arc<dyn Store>,
    observing: Observing,
    (spans, to_send): (Spans, mpsc::UnboundedReceiver<DebateId>),
) -> Result<Desk, CliError> {
    let telemetry = Telemetry::from_environment().map_err(CliError::usage)?;
    branch::clean_up_after_others(app);
    let log = observing.log.clone();
    let observer = Observing {
        spans: telemetry.is_some().then(|| spans.clone()),
        ..observing
    };
    let desk = app.desk_observed(store, registry, models, Arc::new(observer))?;
    if let Some(telemetry) = telemetry {
        tokio::spawn(spans.send(telemetry, desk.clone(), to_send, log));
    }
    Ok(desk)
}

/// Lets go of every debate, and answers what was asked before.
async fn drain(
    desk: &Desk,
    let_go: watch::Sender<bool>,
    mut serving: JoinHandle<std::io::Result<()>>,
    patience: Duration,
    log: &Log,
) -> u8 {
    let cut = desk.leave_all(patience).await;
    if cut > 0 {
        log.say("cut off in a turn", &[("debates", &cut.to_string())]);
    }
    let_go.send_replace(true);
    match tokio::time::timeout(LAST_ANSWERS, &mut serving).await {
        Ok(Ok(Ok(()))) => 0,
        Ok(Ok(Err(error))) => {
            log.complain("serving failed", &[("why", &error.to_string())]);
            1
        }
        Ok(Err(error)) => {
            log.complain("serving failed", &[("why", &error.to_string())]);
            1
        }
        // Whoever still listens is told nothing more by this process.
        Err(_) => {
            serving.abort();
            0
        }
    }
}

/// A number from 0 to 1, by chance: for waits that are not to be the same everywhere.
fn chance() -> f64 {
    let id = DebateId::new();
    f64::from(id.as_bytes().last().copied().unwrap_or_default()) / 256.0
}

fn told(log: &Log) -> Told {
    let log = log.clone();
    Told(Arc::new(
        move |Answered {
                  route,
                  path,
                  status,
                  within,
                  key,
                  debate,
              }| {
            let (status, ms, debate) = (
                status.to_string(),
                within.as_millis().to_string(),
                debate.map(|id| id.to_string()),
            );
            let known = [("key", *key), ("debate", debate.as_deref())]
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)));
            let details: Vec<(&str, &str)> = [
                ("route", *route),
                ("path", *path),
                ("status", &status),
                ("ms", &ms),
            ]
            .into_iter()
            .chain(known)
            .collect();
            log.say("request", &details);
        },
    ))
}

/// Whoever has not taken its answer by then does not want it, and whoever has not answered a
/// message gets it again.
const LAST_ANSWERS: Duration = Duration::from_secs(3);

async fn until(mut stopped: watch::Receiver<bool>) {
    // The sender is gone only when all is over.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Each connection and each call under way is an open file. What a process has by default is enough
/// for a few hundred debates.
#[cfg(unix)]
fn allow_many_files() -> Result<(), CliError> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.unwrap_or(MANY_FILES).min(MANY_FILES);
    if now.current.is_none_or(|current| current >= most) {
        return Ok(());
    }
    let failed = |error| {
        CliError::failed(format!(
            "cannot open as many files at once as a server needs: {error}"
        ))
    };
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(most),
            maximum: now.maximum,
        },
    )
    .map_err(failed)
}

#[cfg(not(unix))]
fn allow_many_files() -> Result<(), CliError> {
    Ok(())
}

/// Enough for every connection that is allowed and the calls of as many debates.
#[cfg(unix)]
const MANY_FILES: u64 = 65_536;

/// Other machines get in only where that was said, and only with keys that somebody made for them.
fn check_address(args: &ServeArgs, keyring: &Keyring) -> Result<(), CliError> {
    let address = args.listen;
    if address.ip().is_loopback() {
        return Ok(());
    }
    if !args.allow_remote {
        return Err(CliError::usage(format!("{address} can be reached from other machines")).hint(
            "listen on 127.0.0.1 and put a proxy with TLS in front; or add --allow-remote, after \
             `rebut keys add NAME --owner OWNER`",
        ));
    }
    if address.ip().is_unspecified() && args.hosts.is_empty() {
        return Err(
            CliError::usage(format!("by which name is {address} reached?")).hint(
                "a request for a name that the server does not know is refused: --host NAME:PORT \
                says it, and may be repeated",
            ),
        );
    }
    if keyring.read()?.is_empty() {
        return Err(CliError::usage(format!(
            "{address} can be reached from other machines, and there is no key"
        ))
        .hint(format!(
            "make one first: {}",
            command("keys add NAME --owner OWNER --role admin")
        )));
    }
    Ok(())
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> CliError {
    CliError::failed(format!("cannot listen on {address}: {error}"))
        .hint("another server may run there; --listen ADDRESS:PORT names another place")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServerSection;

    #[test]
    fn a_server_has_the_same_usual_limits_by_its_configuration() {
        let (configured, usual) = (ServerSection::default(), Settings::default());
        assert_eq!(configured.requests_per_minute, usual.requests_per_minute);
        assert_eq!(configured.watchers, usual.watchers);
    }
}
