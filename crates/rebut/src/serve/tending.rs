//! What a server does beside answering: it goes on with debates that nobody runs, closes gates of paused ones in time, and removes what is kept long enough.

use super::{Keyring, chance, log::Log};
use crate::{afterwards::Afterwards, app::App, commands::keep, error::CliError, git::branch, place::Place, typed::command};
use rebut_engine::{
    DebateId, Desk, PausedGates,
    error::{DeskError, Halt},
    formats::challenge,
    store::StoreError,
    view::View,
};
use rebut_server::keys::Keys;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// Looks after the debates of a server.
pub struct Tending {
    /// Where they run.
    pub desk: Desk,
    /// What this machine keeps beside them.
    pub app: App,
    /// Where it is told.
    pub log: Log,
    /// Debates that could not be gone on with, and when that was tried.
    pub left: HashMap<DebateId, Instant>,
    /// When the gates of paused debates close.
    pub gates: PausedGates,
}

/// So many are gone on with before a pause: models, disk and whoever asks something meanwhile get their turn.
const BATCH: usize = 100;

/// So many are looked for at once.
const MOST: usize = 100_000;

/// The pause between batches is at most so long; how long is chance, so that several servers over one database do not march in step.
const PAUSE: Duration = Duration::from_millis(100);

/// Debates of servers that died are looked for so often, and a little later each time.
const EVERY: Duration = Duration::from_secs(4);

/// Keys are read so often.
const KEYS: Duration = Duration::from_secs(2);

/// What could not be gone on with is tried again after so long: a model may be back.
const AGAIN: Duration = Duration::from_secs(300);

/// What is kept long enough is looked for so often.
const SWEEP: Duration = Duration::from_secs(3600);

impl Tending {
    /// Works until it is dropped.
    pub async fn run(mut self) {
        let mut swept: Option<Instant> = None;
        loop {
            self.adopt().await;
            self.close_gates().await;
            if swept.is_none_or(|when| when.elapsed() >= SWEEP) {
                self.sweep().await;
                swept = Some(Instant::now());
            }
            tokio::time::sleep(EVERY.mul_f64(1.0 + chance())).await;
        }
    }

    /// Goes on with every debate that is recorded as running and that nobody runs.
    async fn adopt(&mut self) {
        let ids = match self.desk.abandoned(MOST).await {
            Ok(ids) => ids,
            Err(error) => return self.log.complain("looking for debates failed", &[("why", &error.to_string())]),
        };
        self.left.retain(|_, tried| tried.elapsed() < AGAIN);
        let due: Vec<DebateId> = ids.into_iter().filter(|id| !self.left.contains_key(id)).collect();
        for batch in due.chunks(BATCH) {
            for id in batch {
                self.go_on(*id).await;
            }
            if batch.len() == BATCH {
                tokio::time::sleep(PAUSE.mul_f64(chance())).await;
            }
        }
    }

    async fn go_on(&mut self, id: DebateId) {
        let resumed = match self.desk.view(id).await.map(|view| not_ours(&self.app, id, &view)) {
            Ok(Some(why)) => Err(CliError::usage(why)),
            Ok(None) => match self.desk.adopt(id).await {
                // Another server was faster, or it ended meanwhile.
                Err(
                    DeskError::Halted(Halt::Store(StoreError::Held { .. }) | Halt::TakenOver | Halt::WentBack { .. })
                    | DeskError::WrongState(_),
                ) => return,
                Err(error) if error.is_away() => return self.log.complain("cannot go on yet", &[("why", &error.to_string())]),
                resumed => resumed.map(drop).map_err(CliError::from),
            },
            Err(error) if error.is_away() => return self.log.complain("cannot go on yet", &[("why", &error.to_string())]),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = resumed {
            self.left.insert(id, Instant::now());
            self.log.complain("left open", &[("debate", &id.to_string()), ("why", error.message())]);
        }
    }

    /// Sees that nobody in time is a no, also where a debate is paused and no run waits at its gate.
    async fn close_gates(&mut self) {
        match self.desk.close_overdue(&mut self.gates).await {
            Ok(failed) => failed.iter().for_each(|(id, error)| {
                self.log.complain("a gate stays open", &[("debate", &id.to_string()), ("why", &error.to_string())]);
            }),
            Err(error) => self.log.complain("looking for gates failed", &[("why", &error.to_string())]),
        }
    }

    /// Removes ended debates that are older than is kept.
    async fn sweep(&self) {
        let Some(days) = self.app.config.server.keep_days else { return };
        let doomed = match keep::ended_before(&(&self.desk).into(), days).await {
            Ok(doomed) => doomed,
            Err(error) => return self.log.complain("looking for old debates failed", &[("why", error.message())]),
        };
        for id in doomed {
            if let Err(error) = keep::remove(&self.app, &self.desk, id).await {
                self.log.complain("not removed", &[("debate", &id.to_string()), ("why", error.message())]);
            }
        }
    }
}

/// Lets in whoever has a key now, again and again; whatever else is done, a key that is taken away is soon worth nothing. Keys that cannot be
/// read change nothing.
pub async fn read_keys(keyring: Keyring, keys: Keys, log: Log) {
    loop {
        match keyring.read() {
            Ok(known) => keys.replace(known),
            Err(error) => log.complain("keys stay as they were", &[("why", error.message())]),
        }
        tokio::time::sleep(KEYS).await;
    }
}

/// Why a debate is for the command that began it: at its end something is done on this machine that only a command does.
fn not_ours(app: &App, id: DebateId, view: &View) -> Option<String> {
    let started = view.started.as_ref()?;
    let has_workspace = started.format == challenge::FORMAT.name
        && started.forked_from.is_none()
        && challenge::Input::parse(&started.input).is_ok_and(|input| !input.workspace.is_empty());
    // What cannot be read is for the command that wrote it.
    let is_asked = Afterwards::recall(app, id).map_or(true, |asked| asked.is_some_and(|asked| asked.asks()));
    let has_branch = app.place.as_ref().and_then(Place::worktrees).is_some_and(|home| branch::is_kept(&home, id));
    let is_kept = has_workspace || is_asked || has_branch;
    let resume = || command(format_args!("resume {}", id.short()));
    is_kept.then(|| format!("it was begun by a command that writes files at its end; go on with: {}", resume()))
}
