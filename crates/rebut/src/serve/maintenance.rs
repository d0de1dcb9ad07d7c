//! What a server does beside answering: it takes up debates that nobody runs, its own and those of
//! servers that died, closes gates of paused ones in time, and removes what is kept long enough.

use super::{Keyring, ageing::Ageing, chance, log::Log};
use crate::{
    app::App, commands::archive, data_dir::Place, error::CliError, git::branch,
    hint_command::command, post_actions::Afterwards,
};
use rebut_engine::{
    DebateId, Desk, PausedGates,
    error::{DeskError, Stop},
    formats::challenge,
    store::{Filter, Status, StoreError},
    view::View,
};
use rebut_server::{Metrics, keys::Keys};
use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

/// Looks after the debates of a server.
pub struct Tending {
    desk: Desk,
    /// What this machine keeps beside them.
    app: App,
    log: Log,
    metrics: Arc<Metrics>,
    /// Debates that cannot be gone on with here, and when that was tried.
    left: HashMap<DebateId, Instant>,
    /// Debates that were taken up since their runs ended without a word, how often, and when last.
    retried: HashMap<DebateId, (u32, Instant)>,
    /// What tells how old debates certainly are, where old ones are removed and the database could
    /// be read.
    ageing: Option<Ageing>,
}

/// So many are gone on with before a pause: models, disk and whoever asks something meanwhile get
/// their turn.
const BATCH: usize = 100;

/// So many are looked for at once.
const MOST: usize = 100_000;

/// The pause between batches is at most so long; how long is chance, so that several servers over
/// one database do not march in step.
const PAUSE: Duration = Duration::from_millis(100);

/// Debates of servers that died are looked for so often, and a little later each time.
const EVERY: Duration = Duration::from_secs(4);

/// Gates are looked at no more often than this, also where one is about to close and its clock
/// stands a little behind.
const LEAST: Duration = Duration::from_millis(20);

const KEYS: Duration = Duration::from_secs(2);

/// What could not be gone on with is tried again after so long: a model may be back.
const AGAIN: Duration = Duration::from_secs(300);

/// Who claimed a debate that nobody runs, as metrics and the log say it.
const OWN: &str = "own";
const NOBODY: &str = "nobody";

/// What is kept long enough is looked for so often.
const SWEEP: Duration = Duration::from_secs(3600);

impl Tending {
    /// Looks after the debates of this desk, once it is [run](Tending::run).
    pub fn new(desk: Desk, app: App, log: Log, metrics: Arc<Metrics>) -> Self {
        Self {
            desk,
            app,
            log,
            metrics,
            left: HashMap::new(),
            retried: HashMap::new(),
            ageing: None,
        }
    }

    /// Looks how far time has come for the database, to be called before this server adds anything
    /// to it.
    pub async fn look_back(&mut self) {
        if self.app.config.server.keep_days.is_none() {
            return;
        }
        match self.desk.sessions(&Filter::default()).await {
            Ok(sessions) => self.ageing = Some(Ageing::of(&sessions, self.desk.now())),
            Err(error) => self.log.complain(
                "looking for old debates failed",
                &[("why", &error.to_string())],
            ),
        }
    }

    pub async fn run(mut self) {
        let mut swept: Option<Instant> = None;
        loop {
            self.adopt().await;
            if swept.is_none_or(|when| when.elapsed() >= SWEEP) {
                self.sweep().await;
                swept = Some(Instant::now());
            }
            tokio::time::sleep(EVERY.mul_f64(1.0 + chance())).await;
        }
    }

    /// Goes on with every debate that is recorded as running and that nobody runs: those that this
    /// process claimed, and those that no living process did.
    async fn adopt(&mut self) {
        let found = match (self.desk.stranded().await, self.desk.abandoned(MOST).await) {
            (Ok(stranded), Ok(abandoned)) => (stranded, abandoned),
            (Err(error), _) | (_, Err(error)) => {
                return self
                    .log
                    .complain("looking for debates failed", &[("why", &error.to_string())]);
            }
        };
        let (stranded, abandoned) = found;
        let known: HashSet<DebateId> = abandoned.iter().chain(&stranded).copied().collect();
        // Whatever is run again is no longer left, here or elsewhere.
        self.left
            .retain(|id, tried| tried.elapsed() < AGAIN && known.contains(id));
        self.retried
            .retain(|_, (_, when)| when.elapsed() < AGAIN * 2);
        let own = stranded.into_iter().map(|id| (id, OWN));
        let due = own
            .chain(abandoned.into_iter().map(|id| (id, NOBODY)))
            .filter(|(id, _)| self.is_due(*id));
        for batch in due.collect::<Vec<_>>().chunks(BATCH) {
            for (id, claim) in batch {
                if self.go_on(*id, claim).await.is_break() {
                    return;
                }
            }
            if batch.len() == BATCH {
                tokio::time::sleep(PAUSE.mul_f64(chance())).await;
            }
        }
        self.metrics.stalled(self.left.len() as u64);
    }

    /// Whether it is time to try again. A run that ends without a word again and again is taken up
    /// less and less often.
    fn is_due(&self, id: DebateId) -> bool {
        let waits = |(times, when): &(u32, Instant)| {
            when.elapsed() < EVERY.saturating_mul(1 << times.min(&8)).min(AGAIN)
        };
        !self.left.contains_key(&id) && !self.retried.get(&id).is_some_and(waits)
    }

    /// Goes on with a debate; breaks off where there is no database to do so.
    async fn go_on(&mut self, id: DebateId, claim: &'static str) -> ControlFlow<()> {
        let resumed = match self
            .desk
            .view(id)
            .await
            .map(|view| not_ours(&self.app, id, &view))
        {
            Ok(Some(why)) => Err(CliError::usage(why)),
            Ok(None) => match self.desk.adopt(id).await {
                // Another server was faster, or the database is another one by now.
                Err(DeskError::Halted(
                    Stop::Store(StoreError::Held { .. }) | Stop::TakenOver | Stop::WentBack { .. },
                )) => {
                    return ControlFlow::Continue(());
                }
                Err(DeskError::WrongState(_)) if !self.is_open(id).await => {
                    return ControlFlow::Continue(());
                }
                Err(error) if self.passes(id, &error) => return self.cannot_yet(id, &error),
                resumed => resumed.map(drop).map_err(CliError::from),
            },
            Err(error) if self.passes(id, &error) => return self.cannot_yet(id, &error),
            Err(error) => Err(error.into()),
        };
        match resumed {
            Ok(()) => self.took_up(id, claim),
            Err(error) => self.give_up(id, error.message()).await,
        }
        ControlFlow::Continue(())
    }

    /// Whether a debate is still one that nobody runs: it may have ended, been paused or been taken
    /// up meanwhile.
    async fn is_open(&self, id: DebateId) -> bool {
        // Where that cannot be found out, it is found again.
        !self.desk.runs_here(id)
            && self
                .desk
                .view(id)
                .await
                .is_ok_and(|view| view.status() == Status::Running)
    }

    fn took_up(&mut self, id: DebateId, claim: &'static str) {
        self.metrics.taken_up(claim);
        if claim == OWN {
            self.tried_again(id);
            self.log.say(
                "taken up",
                &[
                    ("debate", &id.to_string()),
                    ("why", "its run had ended without a word"),
                ],
            );
        }
    }

    /// Whether what went wrong is of the database and not of this debate: that may be over soon.
    fn passes(&mut self, id: DebateId, error: &DeskError) -> bool {
        let failed = matches!(
            error,
            DeskError::Store(StoreError::Failed(_))
                | DeskError::Halted(Stop::Store(StoreError::Failed(_)))
        );
        if failed {
            self.tried_again(id);
        }
        failed || error.is_away()
    }

    fn cannot_yet(&self, id: DebateId, error: &DeskError) -> ControlFlow<()> {
        self.log.complain(
            "cannot go on yet",
            &[("debate", &id.to_string()), ("why", &error.to_string())],
        );
        if error.is_away() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn tried_again(&mut self, id: DebateId) {
        let (times, when) = self.retried.entry(id).or_insert((0, Instant::now()));
        (*times, *when) = (*times + 1, Instant::now());
    }

    /// Lets a debate go that cannot be run here, with the reason: lists show it, and another server
    /// may do better.
    async fn give_up(&mut self, id: DebateId, why: &str) {
        self.left.insert(id, Instant::now());
        self.log
            .complain("left open", &[("debate", &id.to_string()), ("why", why)]);
        match self.desk.give_up(id, why).await {
            // Another server does better already.
            Ok(()) | Err(DeskError::Store(StoreError::Held { .. })) => {}
            Err(error) => self.log.complain(
                "not given up",
                &[("debate", &id.to_string()), ("why", &error.to_string())],
            ),
        }
    }

    /// Removes ended debates that are older than is kept.
    async fn sweep(&mut self) {
        let Some(days) = self.app.config.server.keep_days else {
            return;
        };
        if self.ageing.is_none() {
            self.look_back().await;
        }
        let Some(now) = self
            .ageing
            .as_ref()
            .map(|ageing| ageing.now(self.desk.now()))
        else {
            return;
        };
        let doomed = match archive::ended_before(&(&self.desk).into(), days, now).await {
            Ok(doomed) => doomed,
            Err(error) => {
                return self.log.complain(
                    "looking for old debates failed",
                    &[("why", error.message())],
                );
            }
        };
        for id in doomed {
            if let Err(error) = archive::remove(&self.app, &self.desk, id).await {
                self.log.complain(
                    "not removed",
                    &[("debate", &id.to_string()), ("why", error.message())],
                );
            }
        }
    }
}

/// Sees that nobody in time is a no, also where a debate is paused and no run waits at its gate.
/// Those that were paused here are closed on time; those of other servers too, once they are found.
pub async fn close_gates(desk: Desk, log: Log) {
    let mut gates = PausedGates::default();
    loop {
        let regularly = EVERY.mul_f64(1.0 + chance());
        let next = match desk.close_overdue(&mut gates).await {
            Ok(failed) => {
                for (id, error) in failed {
                    log.complain(
                        "a gate stays open",
                        &[("debate", &id.to_string()), ("why", &error.to_string())],
                    );
                }
                desk.next_overdue(&gates)
            }
            Err(error) => {
                log.complain("looking for gates failed", &[("why", &error.to_string())]);
                None
            }
        };
        tokio::select! {
            () = tokio::time::sleep(next.unwrap_or(regularly).clamp(LEAST, regularly)) => {}
            () = desk.until_paused() => {}
        }
    }
}

/// Lets in whoever has a key now, again and again; whatever else is done, a key that is taken away
/// is soon worth nothing. Keys that cannot be read change nothing.
pub async fn read_keys(keyring: Keyring, keys: Keys, log: Log) {
    loop {
        match keyring.read() {
            Ok(known) => keys.replace(known),
            Err(error) => log.complain("keys stay as they were", &[("why", error.message())]),
        }
        tokio::time::sleep(KEYS).await;
    }
}

/// Why a debate is for the command that began it: at its end something is done on this machine that
/// only a command does.
fn not_ours(app: &App, id: DebateId, view: &View) -> Option<String> {
    let started = view.started.as_ref()?;
    let has_workspace = started.format == challenge::FORMAT.name
        && started.forked_from.is_none()
        && challenge::Input::parse(&started.input).is_ok_and(|input| !input.workspace.is_empty());
    // What cannot be read is for the command that wrote it.
    let is_asked =
        Afterwards::recall(app, id).map_or(true, |asked| asked.is_some_and(|asked| asked.asks()));
    let has_branch = app
        .place
        .as_ref()
        .and_then(Place::worktrees)
        .is_some_and(|home| branch::is_kept(&home, id));
    let is_kept = has_workspace || is_asked || has_branch;
    let resume = || command(format_args!("resume {}", id.short()));
    is_kept.then(|| {
        format!(
            "it was begun by a command that writes files at its end; go on with: {}",
            resume()
        )
    })
}
