//! The desk: the one façade that starts, resumes, watches, steers and keeps debates, and the only
//! spawner.

mod accepting;
mod keep;
mod overdue;
mod quoting;
mod run;
mod steer;
mod watch;

pub use keep::{Fork, Replayed};
pub use overdue::PausedGates;
pub use watch::Watch;

pub(crate) use watch::Subscribers;

use accepting::Marked;

use crate::{
    DebateId,
    agent::Agent,
    budget::Caps,
    clock::{Clock, SystemClock},
    deadlines::Deadlines,
    error::{DeskError, Stop},
    event::{GateOpened, Limits},
    formats::{FORMATS, Format},
    journal::{Journal, Patience},
    lessons,
    model::{Deltas, Listening, Models},
    observer::Observer,
    outcome::Outcome,
    rate_limit::Lanes,
    sandbox::{NoSandbox, Sandbox},
    seal::Seal,
    secrets::Scrubber,
    store::{Filter, Pick, Picked, Session, Store},
    view::View,
};
use jiff::Timestamp;
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicBool},
    time::Duration,
};
use tokio::{
    sync::{Notify, SetOnce, watch as channel},
    task::AbortHandle,
    time::Instant,
};

/// A debate whose run crashed is not found by those who look for debates to go on with for so long.
const AFTER_A_CRASH: Duration = Duration::from_secs(300);

/// Starts, resumes, watches, steers and keeps debates. Cheap to clone.
#[derive(Clone)]
pub struct Desk {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    models: Arc<dyn Models>,
    /// The time of all processes of the store, where it has a clock that they share.
    clock: Arc<dyn Clock>,
    deadlines: Arc<Deadlines>,
    seal: Option<Arc<Seal>>,
    scrubber: Arc<Scrubber>,
    sandbox: Arc<dyn Sandbox>,
    lanes: Arc<Lanes>,
    formats: &'static [Format],
    stream_deltas: bool,
    live: Mutex<HashMap<DebateId, Live>>,
    /// Debates that are being begun or taken up here: claimed, perhaps, and not run yet.
    begun: Marked,
    /// Debates that are being given up here: whoever takes one up waits until that is done.
    given_up: Marked,
    /// Whether this process is letting go of its debates.
    leaving: AtomicBool,
    /// Debates whose runs crashed here, and when.
    crashed: Mutex<HashMap<DebateId, Instant>>,
    /// Debates whose runs ended here without a word in their journals, and how long those are in
    /// the database: until somebody goes on behind that, nothing more comes of them.
    halted: Mutex<HashMap<DebateId, u64>>,
    /// Debates that were cancelled while another process held them.
    unended: Mutex<HashSet<DebateId>>,
    patience: Arc<Patience>,
    /// Who is told of what is appended.
    ears: Arc<Subscribers>,
    listening: std::sync::Once,
    /// Wakes whoever closes the gates of paused debates.
    paused: Notify,
}

/// A debate that runs in this process.
#[derive(Clone)]
struct Live {
    journal: Arc<Journal>,
    deltas: Deltas,
    task: Arc<OnceLock<AbortHandle>>,
    /// Why this process cannot go on with it, once that is known.
    lost: Arc<SetOnce<Stop>>,
    ended: channel::Receiver<Option<Result<Arc<Outcome>, DeskError>>>,
}

/// What a desk is made of besides a store and models.
pub struct DeskOptions {
    /// This process's clock, for whatever the store has no clock of its own for.
    pub clock: Arc<dyn Clock>,
    /// The key that closes journals; without one, a shortened journal is not found out.
    pub seal: Option<Seal>,
    /// Secret values to keep out of journals.
    pub secrets: Vec<String>,
    /// Calls under way at one provider at most.
    pub calls_per_provider: usize,
    /// The table of formats.
    pub formats: &'static [Format],
    /// Whether partial text can be listened to.
    pub stream_deltas: bool,
    /// Where code that a model wrote runs; without one it is refused.
    pub sandbox: Arc<dyn Sandbox>,
    /// Who is told of every event.
    pub observer: Option<Arc<dyn Observer>>,
    /// How long a run waits while nothing can be written or the database is out of reach, before it
    /// ends and stays open; `None` is as long as it takes.
    pub patience: Option<Duration>,
}

impl Default for DeskOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            seal: None,
            secrets: Vec::new(),
            calls_per_provider: 64,
            formats: FORMATS,
            stream_deltas: false,
            sandbox: Arc::new(NoSandbox),
            observer: None,
            patience: None,
        }
    }
}

/// What a resumed debate may use from now on. What is left out stays as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct More {
    /// Money, tokens and calls, over all runs of the debate.
    pub caps: Caps,
    /// Seconds for the whole run; 0 is no limit.
    pub debate_seconds: Option<u64>,
    /// Seconds a person may take to approve the result; never less than before, and a fork that
    /// asks for none keeps those of its origin.
    pub approval_seconds: Option<u64>,
}

/// A request for a debate. Everything is resolved: no file is read after this.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The format's name.
    pub format: String,
    /// The format's input.
    pub input: Value,
    /// The format's settings, complete.
    pub config: Value,
    /// Who takes part.
    pub agents: Vec<Agent>,
    /// What shuffles are drawn from; random if not given.
    pub seed: Option<u64>,
    /// Who asks.
    pub initiated_by: String,
    /// Limits; the format's own if not given.
    pub limits: Option<Limits>,
}

/// A debate under way in this process.
pub struct Running {
    /// Which debate.
    pub id: DebateId,
    ended: channel::Receiver<Option<Result<Arc<Outcome>, DeskError>>>,
}

impl Running {
    /// How it ended, if it has.
    pub fn ended(&self) -> Option<Result<Arc<Outcome>, DeskError>> {
        self.ended.borrow().clone()
    }

    /// Waits for its end.
    pub async fn outcome(mut self) -> Result<Arc<Outcome>, DeskError> {
        let ended = self.ended.wait_for(Option::is_some).await;
        let stopped = || DeskError::WrongState(format!("the run of {} was dropped", self.id));
        ended.map_err(|_| stopped())?.clone().ok_or_else(stopped)?
    }
}

impl Desk {
    /// A desk over a store and models, with the defaults for the rest.
    pub fn new(store: Arc<dyn Store>, models: Arc<dyn Models>) -> Self {
        Self::with_options(store, models, DeskOptions::default())
    }

    /// A desk with everything said.
    pub fn with_options(
        store: Arc<dyn Store>,
        models: Arc<dyn Models>,
        options: DeskOptions,
    ) -> Self {
        let deadlines = Arc::new(Deadlines::new(store.clone(), options.clock));
        Self {
            inner: Arc::new(Inner {
                store,
                models,
                clock: deadlines.clock(),
                deadlines,
                seal: options.seal.map(Arc::new),
                scrubber: Arc::new(Scrubber::new(options.secrets)),
                sandbox: options.sandbox,
                lanes: Arc::new(Lanes::new(options.calls_per_provider)),
                formats: options.formats,
                stream_deltas: options.stream_deltas,
                live: Mutex::default(),
                begun: channel::Sender::default(),
                given_up: channel::Sender::default(),
                leaving: AtomicBool::new(false),
                crashed: Mutex::default(),
                halted: Mutex::default(),
                unended: Mutex::default(),
                patience: Arc::new(Patience::new(options.patience)),
                ears: Arc::new(Subscribers::new(options.observer)),
                listening: std::sync::Once::new(),
                paused: Notify::new(),
            }),
        }
    }

    /// Starts a debate and waits for its end.
    pub async fn run(&self, start: Start) -> Result<(DebateId, Arc<Outcome>), DeskError> {
        let running = self.start(start).await?;
        let id = running.id;
        Ok((id, running.outcome().await?))
    }

    /// The debate whose id starts with `prefix`; `last` is the newest.
    pub async fn find(&self, prefix: &str) -> Result<Session, DeskError> {
        let prefix = prefix.trim().to_lowercase();
        let filter = match prefix.as_str() {
            "last" => Filter {
                limit: 1,
                ..Filter::default()
            },
            _ => Filter {
                prefix: Some(prefix.clone()),
                limit: 4,
                ..Filter::default()
            },
        };
        let mut found = if prefix.is_empty() {
            Vec::new()
        } else {
            self.inner.store.sessions(&filter).await?
        };
        match found.len() {
            0 => Err(DeskError::NotFound(prefix)),
            1 => Ok(found.remove(0)),
            _ => Err(DeskError::Ambiguous {
                prefix,
                matches: found.iter().map(|session| session.id).collect(),
            }),
        }
    }

    /// What time it is: by the store's clock where it has one, otherwise by this process's.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// Sessions, newest first.
    pub async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, DeskError> {
        Ok(self.inner.store.sessions(filter).await?)
    }

    /// The lessons of earlier debates that fit a task, best first, by words or, with a model, by
    /// meaning. They are pinned in the input of the debate that is given them. A model that fails
    /// never fails this: words decide then, and what is found says so.
    pub async fn lessons_for(
        &self,
        task: &str,
        bounds: &lessons::Bounds,
        near: Option<&mut lessons::Near<'_>>,
    ) -> Result<lessons::Found, DeskError> {
        let lessons = self.known_lessons(bounds).await?;
        Ok(lessons::find(task, &lessons, bounds.most, near, &*self.inner.clock).await)
    }

    /// Every lesson that may be given to this person, the newest first.
    pub async fn known_lessons(
        &self,
        bounds: &lessons::Bounds,
    ) -> Result<Vec<lessons::Lesson>, DeskError> {
        Ok(lessons::gather(&*self.inner.store, self.inner.clock.now(), bounds).await?)
    }

    /// Whether a process, this one or another, runs a debate now. One that is recorded as running
    /// and is not was interrupted.
    pub async fn is_run(&self, id: DebateId) -> Result<bool, DeskError> {
        Ok(self.runs_here(id) || self.inner.store.runner(id).await?.is_some())
    }

    /// Whether this process runs a debate now.
    pub fn runs_here(&self, id: DebateId) -> bool {
        self.inner.live().contains_key(&id)
    }

    /// Debates that are recorded as running and that no living process runs, the oldest first, at
    /// most so many. One whose run crashed here is left alone for a while: it would most likely
    /// crash again.
    pub async fn abandoned(&self, most: usize) -> Result<Vec<DebateId>, DeskError> {
        let mut abandoned = self.inner.store.abandoned(most).await?;
        let live = self.inner.live();
        let mut crashed = self.inner.crashed();
        crashed.retain(|_, when| when.elapsed() < AFTER_A_CRASH);
        abandoned.retain(|id| !live.contains_key(id) && !crashed.contains_key(id));
        Ok(abandoned)
    }

    /// Fails where the database is one that may be out of reach, and is now.
    pub async fn check_reachable(&self) -> Result<(), DeskError> {
        if self.inner.store.may_be_unreachable() {
            self.inner
                .store
                .sessions(&Filter {
                    limit: 1,
                    ..Filter::default()
                })
                .await?;
        }
        Ok(())
    }

    /// Fails where the database cannot be read or written now.
    pub async fn check_usable(&self) -> Result<(), DeskError> {
        self.inner
            .store
            .sessions(&Filter {
                limit: 1,
                ..Filter::default()
            })
            .await?;
        Ok(self.inner.store.check_writable().await?)
    }

    /// How many debates run in this process.
    pub fn live(&self) -> usize {
        self.inner.live().len()
    }

    /// Ends at once whatever runs here, without a word in any journal: what is on record stays and
    /// can be gone on with. When this returns, nothing of it is left, agent programs included.
    pub async fn stop_all(&self) {
        self.inner.leave();
        let all: Vec<Live> = self.inner.live().drain().map(|(_, live)| live).collect();
        for task in all.iter().filter_map(|live| live.task.get()) {
            task.abort();
        }
        for mut live in all {
            // The other end is the last thing of a run that is dropped.
            while live.ended.changed().await.is_ok() {}
        }
    }

    /// A debate as its journal tells it now: nobody is waited for at a gate whose time is over,
    /// also where that is not on record yet.
    pub async fn view(&self, id: DebateId) -> Result<View, DeskError> {
        self.of_now(id, View::of(&self.records(id).await?)).await
    }

    /// A debate as its events of some kinds tell it; what the others tell is missing, as in
    /// [`View::picked`].
    pub async fn view_of(&self, id: DebateId, kinds: &[&str]) -> Result<View, DeskError> {
        self.of_now(id, View::picked(self.pick(id, &Pick::of(kinds)).await?))
            .await
    }

    async fn of_now(&self, id: DebateId, mut view: View) -> Result<View, DeskError> {
        if let Some(gate) = &view.open_gate
            && self.is_over(id, gate).await?
        {
            view.open_gate = None;
        }
        Ok(view)
    }

    /// Whether a gate's time is over.
    async fn is_over(&self, id: DebateId, gate: &GateOpened) -> Result<bool, DeskError> {
        if self.inner.deadlines.is_open(id, gate) {
            return Ok(false);
        }
        let closes = self.gate_closes(id, gate).await?;
        Ok(closes.is_some_and(|closes| self.inner.deadlines.left(closes).is_zero()))
    }

    /// When a gate closes. `None` where that is for another process to say: without a clock that
    /// both share, the one that waits at the gate measures its time, as long as it lives.
    async fn gate_closes(
        &self,
        id: DebateId,
        gate: &GateOpened,
    ) -> Result<Option<Instant>, DeskError> {
        let is_shared = self.inner.deadlines.are_shared();
        if !is_shared && !self.runs_here(id) && self.inner.store.runner(id).await?.is_some() {
            return Ok(None);
        }
        Ok(Some(self.inner.deadlines.closes(id, gate).await?))
    }

    /// Partial text of a debate that runs here.
    pub fn deltas(&self, id: DebateId) -> Option<Listening> {
        self.inner
            .live()
            .get(&id)
            .and_then(|live| live.deltas.listen())
    }

    /// The format of that name.
    pub fn format(&self, name: &str) -> Result<&'static Format, DeskError> {
        self.inner
            .formats
            .iter()
            .find(|format| format.name == name)
            .ok_or_else(|| DeskError::UnknownFormat(name.to_owned()))
    }

    /// Some of what is recorded of a debate, and where its journal ends.
    pub async fn pick(&self, id: DebateId, pick: &Pick) -> Result<Picked, DeskError> {
        let picked = self.inner.store.pick(id, pick).await?;
        if picked.head.is_none() {
            Err(DeskError::NotFound(id.to_string()))
        } else {
            Ok(picked)
        }
    }

    /// Everything recorded of a debate.
    pub async fn records(&self, id: DebateId) -> Result<Vec<crate::record::Record>, DeskError> {
        let records = self.inner.store.load(id, 0).await?;
        if records.is_empty() {
            Err(DeskError::NotFound(id.to_string()))
        } else {
            Ok(records)
        }
    }
}

impl Inner {
    fn live(&self) -> MutexGuard<'_, HashMap<DebateId, Live>> {
        // The map is whole between any two statements that hold the lock.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn crashed(&self) -> MutexGuard<'_, HashMap<DebateId, Instant>> {
        // The same holds for this one.
        self.crashed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn halted(&self) -> MutexGuard<'_, HashMap<DebateId, u64>> {
        // And for this one.
        self.halted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unended(&self) -> MutexGuard<'_, HashSet<DebateId>> {
        // And for this one.
        self.unended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every debate that runs or is watched here.
    fn known(&self) -> Vec<DebateId> {
        let live: Vec<DebateId> = self.live().keys().copied().collect();
        live.into_iter()
            .chain(self.ears.watched())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    fn journal(&self, id: DebateId) -> Journal {
        let (store, clock, ears) = (self.store.clone(), self.clock.clone(), self.ears.clone());
        Journal::new(
            id,
            store,
            clock,
            self.seal.clone(),
            ears,
            self.patience.clone(),
        )
    }
}
