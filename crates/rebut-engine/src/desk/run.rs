//! Running debates: from a request or a journal to an outcome.

use super::{
    Desk, Live, More, Running, Start,
    accepting::{Beginning, apart},
    watch::Leaving,
};
use crate::{
    DebateId,
    agent::Agent,
    budget::{ANSWER_TOKENS, Budget, Caps},
    clean::{for_people, is_hostile, on_one_line, shortened},
    debate::{Debate, Opened, SaidSoFar, Steer},
    disabled_models::Barred,
    error::{DeskError, Stop, TooLate},
    event::{DebatePaused, DebateResumed, Event, Limits, Started},
    formats::Format,
    gate::Shown,
    journal::{Commit, Entry, Journal},
    model::{Deltas, Fault, FaultKind, Model},
    outcome::{Ending, Outcome},
    prompt::Fence,
    record::{Hash, Place},
    replay::Recording,
    store::{Claim, Durability, Status},
    view,
};
use futures_util::FutureExt;
use std::{
    collections::BTreeSet,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{
    sync::{SetOnce, oneshot, watch as channel},
    time::Instant,
};

/// At whose word a debate goes on: a person's, who may have a name, or nobody's, since its process
/// died.
enum Word {
    Persons(Option<String>),
    Nobodys,
}

/// A run that was spawned and waits until whoever asked for it is told, or has left.
pub(super) struct Begun {
    running: Running,
    waits: oneshot::Sender<()>,
}

impl Begun {
    /// Lets the run begin: its caller knows of it now.
    fn told(self) -> Running {
        drop(self.waits);
        self.running
    }
}

/// The program's name and version, as journals hold it.
pub const ENGINE: &str = concat!("rebut ", env!("CARGO_PKG_VERSION"));

impl Desk {
    /// Starts a debate: pins everything, records it, and runs the format in the background.
    pub async fn start(&self, start: Start) -> Result<Running, DeskError> {
        self.start_as(DebateId::new(), start).await
    }

    /// The same under an id that the caller has written down before, so that it finds the debate
    /// again whatever happens.
    pub async fn start_as(&self, id: DebateId, start: Start) -> Result<Running, DeskError> {
        let format = self.format(&start.format)?;
        let (started, models) = self.pin(format, start)?;
        self.begin(id, format, Arc::new(started), models, Vec::new())
            .await
    }

    /// The same for a request that may come again: its hash is pinned, and a debate that began
    /// under this id before is left as it is, which comes back as [`DeskError::TooLate`], as does
    /// one that was removed.
    pub async fn start_once(
        &self,
        id: DebateId,
        start: Start,
        request: Hash,
    ) -> Result<Running, DeskError> {
        if self.inner.store.is_removed(id).await? {
            return Err(DeskError::TooLate {
                debate: id,
                what: TooLate::Removed,
            });
        }
        let format = self.format(&start.format)?;
        let (started, models) = self.pin(format, start)?;
        self.begin(
            id,
            format,
            Arc::new(Started {
                request: Some(request),
                ..started
            }),
            models,
            Vec::new(),
        )
        .await
    }

    /// Goes on with a debate that was paused or whose process died. Recorded turns are not asked
    /// again.
    pub async fn resume(&self, id: DebateId) -> Result<Running, DeskError> {
        self.resume_with(id, More::default()).await
    }

    /// The same with other limits, e.g. after a cap was reached.
    pub async fn resume_with(&self, id: DebateId, more: More) -> Result<Running, DeskError> {
        self.resume_for(id, more, Word::Persons(None)).await
    }

    /// The same at a person's word; the journal says whose it was.
    pub async fn resume_by(
        &self,
        id: DebateId,
        more: More,
        by: &str,
    ) -> Result<Running, DeskError> {
        self.resume_for(id, more, Word::Persons(Some(by.to_owned())))
            .await
    }

    /// Goes on with a debate whose process died, at nobody's word: a pause that a person asked for,
    /// and that had not come yet, comes now.
    pub async fn adopt(&self, id: DebateId) -> Result<Running, DeskError> {
        self.resume_for(id, More::default(), Word::Nobodys).await
    }

    /// In a task of its own: a debate that was taken is run, whatever becomes of whoever asked for
    /// it.
    async fn resume_for(&self, id: DebateId, more: More, word: Word) -> Result<Running, DeskError> {
        let desk = self.clone();
        apart(async move { desk.resume_now(id, more, word).await })
            .await
            .map(Begun::told)
    }

    async fn resume_now(&self, id: DebateId, more: More, word: Word) -> Result<Begun, DeskError> {
        let _beginning = Beginning::of(&self.inner, id);
        self.inner.not_given_up(id).await;
        self.see_off(id).await?;
        if self.inner.live().contains_key(&id) {
            return Err(DeskError::WrongState(format!(
                "debate {id} is running here already"
            )));
        }
        let (by, is_asked) = match word {
            Word::Persons(by) => (by, true),
            Word::Nobodys => (None, false),
        };
        let journal = Arc::new(self.inner.journal(id));
        journal.catch_up().await?;
        let (started, resumed) = {
            let memory = journal.memory();
            let started = memory
                .started
                .clone()
                .ok_or_else(|| DeskError::NotFound(id.to_string()))?;
            let ended = memory
                .outcome
                .as_ref()
                .filter(|outcome| outcome.outcome != Ending::Stopped);
            if let Some(outcome) = ended {
                return Err(DeskError::WrongState(format!(
                    "debate {} has ended: {}; nothing to resume",
                    id.short(),
                    outcome.outcome.as_str()
                )));
            }
            if memory.redacted {
                return Err(DeskError::WrongState(format!(
                    "debate {} has redacted events; it can be read but not run again",
                    id.short()
                )));
            }
            if memory.paused && !is_asked {
                return Err(DeskError::WrongState(format!(
                    "debate {} is paused; it goes on when a person says so",
                    id.short()
                )));
            }
            let drift = self.drift(&started)?;
            let limits = new_limits(memory.limits.unwrap_or(started.limits), more)?;
            (
                started,
                DebateResumed {
                    engine: ENGINE.to_owned(),
                    drift,
                    in_doubt: memory.in_doubt(),
                    limits,
                    by,
                    adopted: !is_asked,
                },
            )
        };
        let format = self.format(&started.format)?;
        let same_prompts = resumed.drift.is_empty();
        let created_at = journal.memory().created_at.clone();
        let row = started.clone();
        let commit = Commit {
            claim: Some(Claim::Take),
            session: Some(Box::new(move |now| crate::store::Session {
                updated_at: now.to_owned(),
                ..view::session(id, &row, &created_at)
            })),
            // A person is told that it goes on; where nobody asked, somebody looks for it again.
            durability: is_asked.then_some(Durability::Power),
            ..Commit::default()
        };
        // A model that is gone only fails its own turns; but with too few left, going on would end
        // the debate for good.
        let models = self.open_all(&started);
        check_enough(format, &started, &models)?;
        if let Some(limits) = resumed.limits {
            check_prices(&limits.caps, &models)?;
            journal.memory().limits = Some(limits);
        }
        journal
            .append(
                vec![Entry::new(
                    Place::default(),
                    Event::DebateResumed(Box::new(resumed)),
                )],
                commit,
            )
            .await?;
        // A cancel that holds, or a pause, reaches the run through its journal, also what came
        // during this append.
        Ok(self.spawn(id, format, started, models, journal, same_prompts))
    }

    /// Waits for a run whose last event is written already: whoever saw that event may count on it
    /// that nobody runs the debate.
    pub(super) async fn see_off(&self, id: DebateId) -> Result<(), DeskError> {
        let live = self.inner.live().get(&id).cloned();
        if let Some(mut live) = live
            && self.view(id).await?.status() != Status::Running
        {
            // A run that was dropped has ended too.
            let _ = live.ended.wait_for(Option::is_some).await;
        }
        Ok(())
    }

    /// Records the beginning and spawns the run. `copied` are events taken over from another
    /// debate. Both happen in a task of its own: if the caller does not wait for it, either nothing
    /// is recorded or the debate runs.
    pub(super) async fn begin(
        &self,
        id: DebateId,
        format: &'static Format,
        started: Arc<Started>,
        models: Opened,
        copied: Vec<Entry>,
    ) -> Result<Running, DeskError> {
        let desk = self.clone();
        apart(async move { desk.begin_now(id, format, started, models, copied).await })
            .await
            .map(Begun::told)
    }

    async fn begin_now(
        &self,
        id: DebateId,
        format: &'static Format,
        started: Arc<Started>,
        models: Opened,
        copied: Vec<Entry>,
    ) -> Result<Begun, DeskError> {
        let _beginning = Beginning::of(&self.inner, id);
        let journal = Arc::new(self.inner.journal(id));
        let row = started.clone();
        let commit = Commit {
            claim: Some(Claim::Take),
            session: Some(Box::new(move |now| view::session(id, &row, now))),
            // A journal begins once; what would come behind another's beginning is nothing anybody
            // asked for.
            unless: Some(Box::new(|memory| {
                memory.started.is_some().then_some(TooLate::Begun)
            })),
            // Whoever asked for it is told that it runs.
            durability: Some(Durability::Power),
            ..Commit::default()
        };
        let forked = !copied.is_empty();
        // What is copied is found as if it had been recorded here. It is not read back: between the
        // append and the run nothing may fail.
        journal.recall(&copied, 2);
        let first = Entry::new(Place::default(), Event::DebateStarted(started.clone()));
        match journal
            .append(std::iter::once(first).chain(copied).collect(), commit)
            .await
        {
            Err(Stop::TooLate(what)) => return Err(DeskError::TooLate { debate: id, what }),
            begun => begun?,
        };
        journal.memory().started = Some(started.clone());
        Ok(self.spawn(id, format, started, models, journal, !forked))
    }

    /// Opens every model and pins everything that shapes the debate.
    pub(super) fn pin(
        &self,
        format: &'static Format,
        start: Start,
    ) -> Result<(Started, Opened), DeskError> {
        let topic = (format.check)(&start.input, &start.config, &start.agents)
            .map_err(DeskError::BadRequest)?;
        for (at, agent) in start.agents.iter().enumerate() {
            if start.agents[..at]
                .iter()
                .any(|earlier| earlier.name == agent.name)
            {
                return Err(DeskError::BadRequest(format!(
                    "two agents are named `{}`",
                    agent.name
                )));
            }
            if !is_name(&agent.name) {
                let name = on_one_line(&agent.name);
                let name = shortened(&name, LONGEST_NAME);
                let rule = format!(
                    "it has 1 to {LONGEST_NAME} characters, none of them `/`, `#`, `·` or one that \
                     cannot be seen"
                );
                return Err(DeskError::BadRequest(format!(
                    "`{name}` cannot be an agent's name: {rule}"
                )));
            }
        }
        let limits = start
            .limits
            .unwrap_or_else(|| (format.limits)(&start.config));
        if let Some(problem) = limits.problem() {
            return Err(DeskError::BadRequest(problem));
        }
        let started = Started {
            format: format.name.to_owned(),
            format_version: format.version,
            engine: ENGINE.to_owned(),
            topic,
            limits,
            input: start.input,
            config: start.config,
            agents: start
                .agents
                .into_iter()
                .map(|agent| each_model_once(bounded(agent, &limits.caps)))
                .collect(),
            prompts: format.prompt_hashes(),
            seed: start.seed.unwrap_or_else(|| {
                u64::from_le_bytes(
                    DebateId::new().as_bytes()[..8]
                        .try_into()
                        .unwrap_or_default(),
                )
            }),
            marker: Fence::random_marker(),
            rehearsal: false,
            initiated_by: start.initiated_by,
            forked_from: None,
            request: None,
        };
        let models = self.open_all(&started);
        for agent in &started.agents {
            check_models(agent, &models)?;
        }
        check_prices(&limits.caps, &models)?;
        let rehearsal = models.values().flatten().any(|model| model.is_rehearsal());
        Ok((
            Started {
                rehearsal,
                ..started
            },
            models,
        ))
    }

    pub(super) fn open_all(&self, started: &Started) -> Opened {
        let own = started.agents.iter().map(|agent| agent.model.clone());
        let fallbacks = started
            .agents
            .iter()
            .flat_map(|agent| &agent.fallbacks)
            .map(|name| name.as_str().into());
        let names: BTreeSet<Arc<str>> = own.chain(fallbacks).collect();
        names
            .into_iter()
            .map(|name| (name.clone(), self.inner.models.open(&name)))
            .collect()
    }

    /// Prompt files that are not the pinned ones.
    fn drift(&self, started: &Started) -> Result<Vec<String>, DeskError> {
        let format = self.format(&started.format)?;
        if started.format_version > format.version {
            return Err(DeskError::WrongState(format!(
                "this debate follows version {} of {}, this program knows version {}; use the \
                 newer rebut",
                started.format_version, format.name, format.version
            )));
        }
        let today = format.prompt_hashes();
        let changed = started
            .prompts
            .iter()
            .filter(|(file, hash)| today.get(*file) != Some(hash))
            .map(|(file, _)| file.clone());
        Ok(changed.collect())
    }

    pub(super) fn spawn(
        &self,
        id: DebateId,
        format: &'static Format,
        started: Arc<Started>,
        models: Opened,
        journal: Arc<Journal>,
        same_prompts: bool,
    ) -> Begun {
        let deltas = if self.inner.stream_deltas {
            Deltas::with_capacity(256)
        } else {
            Deltas::default()
        };
        let (end, ended) = channel::channel(None);
        let task: Arc<OnceLock<_>> = Arc::default();
        let lost: Arc<SetOnce<Stop>> = Arc::default();
        let live = Live {
            journal: journal.clone(),
            deltas: deltas.clone(),
            task: task.clone(),
            lost: lost.clone(),
            ended: ended.clone(),
        };
        self.inner.halted().remove(&id);
        {
            let mut all = self.inner.live();
            // Looked at under the lock, as whoever leaves does: one of both sees the other.
            if self.inner.leaves() {
                live.journal.steer_to(Steer::Leave);
            }
            all.insert(id, live);
        }
        self.listen_elsewhere();
        // Its watchers learn that it runs here, and so will learn when it does not any more.
        self.inner.ears.tell(id);
        let debate = self.debate(
            id,
            started,
            models,
            journal.clone(),
            deltas,
            None,
            same_prompts,
        );
        let leaving = Leaving {
            inner: self.inner.clone(),
            id,
        };
        let (waits, told) = oneshot::channel();
        let spawned = tokio::spawn(async move {
            let end = end;
            let leaving = leaving;
            // Whoever asked for it is told first, and can watch from the beginning; if they left,
            // the other end is gone.
            let _ = told.await;
            let driven = AssertUnwindSafe(drive(format, debate)).catch_unwind();
            let result = tokio::select! {
                result = driven => match result {
                    Ok(result) => result,
                    Err(panic) => Box::pin(leaving.crashed(&journal, panic)).await,
                },
                // Whatever it still waits for, nobody would take it.
                halt = lost.wait() => Err(DeskError::Halted(halt.clone())),
            };
            match &result {
                Err(DeskError::Halted(Stop::Paused)) => leaving.inner.paused.notify_one(),
                Err(why) => {
                    leaving.inner.ears.halted(id, why);
                    Box::pin(leaving.halted(&journal, why)).await;
                }
                Ok(_) => {}
            }
            drop(leaving);
            end.send_replace(Some(result));
        });
        task.get_or_init(|| spawned.abort_handle());
        Begun {
            running: Running { id, ended },
            waits,
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "the one place where a debate is put together"
    )]
    pub(super) fn debate(
        &self,
        id: DebateId,
        started: Arc<Started>,
        models: Opened,
        journal: Arc<Journal>,
        deltas: Deltas,
        recording: Option<Arc<Recording>>,
        same_prompts: bool,
    ) -> Debate {
        let (limits, spent) = {
            let memory = journal.memory();
            (
                memory.limits.unwrap_or(started.limits),
                memory.spent_before(),
            )
        };
        // What is replayed was paid for when it was recorded.
        let caps = if recording.is_some() {
            Caps::default()
        } else {
            limits.caps
        };
        let closing_calls = self
            .format(&started.format)
            .map_or(0, |format| format.closing_calls);
        let seconds = limits.debate_seconds;
        Debate {
            id,
            limits,
            budget: Budget::new(caps, closing_calls, spent),
            // An imported journal may hold a time that never comes.
            ends_at: Instant::now()
                .checked_add(Duration::from_secs(seconds))
                .filter(|_| seconds > 0 && recording.is_none()),
            fence: Fence::new(&started.marker),
            started,
            steer: journal.steered(),
            journal,
            models,
            clock: self.inner.clock.clone(),
            deadlines: self.inner.deadlines.clone(),
            deltas,
            scrubber: self.inner.scrubber.clone(),
            sandbox: self.inner.sandbox.clone(),
            lanes: self.inner.lanes.clone(),
            barred: Barred::default(),
            recording,
            same_prompts,
            said_so_far: std::sync::Mutex::new(SaidSoFar::default()),
        }
    }
}

/// The most characters of an agent's name.
const LONGEST_NAME: usize = 64;

/// Names stand in the names of turns, in ballots and arguments, and on terminals.
fn is_name(name: &str) -> bool {
    let is_clean =
        !name.chars().any(|c| "/#·\n".contains(c) || is_hostile(c)) && for_people(name) == name;
    (1..=LONGEST_NAME).contains(&name.chars().count()) && is_clean
}

/// The limits after a resume, if they change. What a person was to approve stays so: they can be
/// given more time, not less.
fn new_limits(before: Limits, more: More) -> Result<Option<Limits>, DeskError> {
    let seconds = more.debate_seconds.unwrap_or(before.debate_seconds);
    let approval_seconds = more.approval_seconds.unwrap_or(before.approval_seconds);
    if approval_seconds < before.approval_seconds {
        return Err(DeskError::BadRequest(format!(
            "its result waits {0} seconds for approval; a resume can give it more, not \
             {approval_seconds}",
            before.approval_seconds
        )));
    }
    let limits = Limits {
        caps: more.caps.or(before.caps),
        debate_seconds: seconds,
        approval_seconds,
        ..before
    };
    match limits.problem() {
        Some(problem) => Err(DeskError::BadRequest(problem)),
        None => Ok((limits != before).then_some(limits)),
    }
}

/// Under a cap on money or tokens every answer needs a limit, or nothing could be held for it.
fn bounded(agent: Agent, caps: &Caps) -> Agent {
    let needed = caps.cost_usd.is_some() || caps.tokens.is_some();
    Agent {
        max_tokens: agent.max_tokens.or(needed.then_some(ANSWER_TOKENS)),
        ..agent
    }
}

/// A model that comes again in its own chain of fallbacks would be asked in a circle.
fn each_model_once(mut agent: Agent) -> Agent {
    let mut seen = BTreeSet::new();
    agent
        .fallbacks
        .retain(|name| **name != *agent.model && seen.insert(name.clone()));
    agent
}

/// An agent needs a model that can be had, and none that could never be.
fn check_models(agent: &Agent, models: &Opened) -> Result<(), DeskError> {
    let chain = || chain(agent, models);
    let first_fault = chain().find_map(|model| model.as_ref().err());
    // A key or a program that is missing here is what fallbacks are for; a name that means nothing
    // is a mistake.
    let can_be_done_without =
        |fault: &Fault| matches!(fault.kind, FaultKind::Auth | FaultKind::Unavailable);
    let served = chain().any(Result::is_ok)
        && chain().all(|model| model.as_ref().err().is_none_or(can_be_done_without));
    match first_fault {
        Some(fault) if !served => Err(DeskError::NoModel {
            agent: agent.name.to_string(),
            fault: fault.clone(),
        }),
        _ => Ok(()),
    }
}

/// Refuses to go on with a debate that would only find out that too few can be asked.
fn check_enough(format: &Format, started: &Started, models: &Opened) -> Result<(), DeskError> {
    let can_answer: Vec<bool> = started
        .agents
        .iter()
        .map(|agent| chain(agent, models).any(Result::is_ok))
        .collect();
    let lacks = started
        .agents
        .iter()
        .zip(&can_answer)
        .find(|(_, can)| !**can)
        .map(|(agent, _)| agent);
    let fault = lacks.and_then(|agent| {
        Some((
            agent,
            chain(agent, models).find_map(|model| model.as_ref().err())?,
        ))
    });
    match fault {
        Some((agent, fault))
            if !(format.suffices)(&started.config, &started.agents, &can_answer) =>
        {
            Err(DeskError::ModelGone {
                agent: agent.name.to_string(),
                fault: fault.clone(),
            })
        }
        _ => Ok(()),
    }
}

/// An agent's models, in the order in which they are asked.
fn chain<'a>(
    agent: &'a Agent,
    models: &'a Opened,
) -> impl Iterator<Item = &'a Result<Arc<dyn Model>, Fault>> {
    std::iter::once(&*agent.model)
        .chain(agent.fallbacks.iter().map(String::as_str))
        .filter_map(|name| models.get(name))
}

/// A model whose price nobody knows cannot run under a cap on money, unless the user says so.
fn check_prices(caps: &Caps, models: &Opened) -> Result<(), DeskError> {
    if caps.cost_usd.is_none() || caps.unknown_prices {
        return Ok(());
    }
    let unknown = models
        .iter()
        .filter(|(_, model)| model.as_ref().is_ok_and(|model| model.price().is_none()))
        .map(|(name, _)| name.to_string());
    match unknown.collect::<Vec<_>>() {
        none if none.is_empty() => Ok(()),
        names => Err(DeskError::UnknownPrices(names)),
    }
}

/// Runs a format to its end and records that end.
async fn drive(format: &'static Format, debate: Debate) -> Result<Arc<Outcome>, DeskError> {
    let result = approved(format, &debate).await;
    // In a box, as all that happens once and late: a debate that waits would hold the room for it.
    match Box::pin(record(&debate, result)).await {
        // Its end was being written when a person's word was: that came first.
        Err(DeskError::Halted(Stop::TooLate(TooLate::Cancelled))) => {
            Box::pin(record(&debate, Err(debate.cancelled()))).await
        }
        recorded => recorded,
    }
}

/// Records how a run ended, or that it rests.
async fn record(debate: &Debate, result: Result<Outcome, Stop>) -> Result<Arc<Outcome>, DeskError> {
    match ending(debate, result) {
        Ok(outcome) => {
            let outcome = Arc::new(outcome);
            finish(debate, &outcome).await?;
            Ok(outcome)
        }
        Err(Stop::Paused) => {
            if *debate.steer.borrow() == Steer::Leave {
                leave(&debate.journal).await?
            } else {
                pause(debate).await?
            }
            Err(DeskError::Halted(Stop::Paused))
        }
        Err(halt) => Err(DeskError::Halted(halt)),
    }
}

/// The gate at which a result waits for a person.
const RESULT: &str = "result";

/// Runs a format to its result. Where the debate asks for it, a person approves what others would
/// use.
pub(super) async fn approved(format: &'static Format, debate: &Debate) -> Result<Outcome, Stop> {
    let outcome = with_voices(debate, (format.run)(debate).await?);
    let seconds = debate.limits.approval_seconds;
    let wait = (seconds > 0).then(|| Duration::from_secs(seconds));
    // Whatever the limits say now, what a person was asked stays asked.
    let is_asked = wait.is_some() || debate.was_opened(RESULT);
    if is_asked && outcome.outcome.is_result() {
        let pending =
            serde_json::to_value(&outcome).map_err(|error| Stop::Broken(error.to_string()))?;
        Box::pin(debate.gate(
            RESULT,
            Shown {
                summary: outcome.summary.clone(),
                pending,
            },
            wait,
        ))
        .await?;
    }
    Ok(outcome)
}

/// An outcome with who was missing and who answered for others.
fn with_voices(debate: &Debate, outcome: Outcome) -> Outcome {
    Outcome {
        degraded: debate.absences(),
        substituted: debate.substitutions(),
        ..outcome
    }
}

/// The outcome behind a result. Pauses and broken journals have none.
pub(super) fn ending(debate: &Debate, result: Result<Outcome, Stop>) -> Result<Outcome, Stop> {
    let (ending, summary) = match result {
        Ok(outcome) => return Ok(with_voices(debate, outcome)),
        Err(Stop::NoQuorum {
            step,
            answered,
            needed,
            absent,
        }) => {
            let no_model = !absent.is_empty()
                && absent.iter().all(|absence| {
                    matches!(
                        absence.reason,
                        FaultKind::Auth | FaultKind::NotFound | FaultKind::Unavailable
                    )
                });
            let ending = if answered == 0 && no_model {
                Ending::NoModel
            } else {
                Ending::NoQuorum
            };
            (
                ending,
                format!("{answered} answered at {step}, {needed} needed"),
            )
        }
        Err(Stop::Cancelled { by, reason }) => (
            Ending::Cancelled,
            format!("cancelled by {by}{}", because(&reason)),
        ),
        Err(Stop::Rejected { gate, by, reason }) => (
            Ending::Rejected,
            format!("gate {gate} rejected by {by}{}", because(&reason)),
        ),
        Err(Stop::Stopped(stop)) => {
            return Ok(with_voices(debate, Outcome::stopped(stop, Vec::new())));
        }
        Err(Stop::Broken(problem)) => (Ending::Failed, problem),
        Err(
            halt @ (Stop::Paused
            | Stop::Crashed(_)
            | Stop::TakenOver
            | Stop::WentBack { .. }
            | Stop::TooLate(_)
            | Stop::Store(_)),
        ) => {
            return Err(halt);
        }
    };
    Ok(with_voices(
        debate,
        Outcome::without_result(ending, summary, Vec::new()),
    ))
}

fn because(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}

async fn finish(debate: &Debate, outcome: &Arc<Outcome>) -> Result<(), Stop> {
    let rounds = debate.rounds_completed();
    let (id, started) = (debate.id, debate.started.clone());
    let (created_at, ended) = (debate.journal.memory().created_at.clone(), outcome.clone());
    let session = move |now: &str| {
        let mut session = view::session(id, &started, &created_at);
        (
            session.updated_at,
            session.completed_at,
            session.total_rounds,
        ) = (now.to_owned(), Some(now.to_owned()), rounds);
        view::end_session(&mut session, &ended);
        session
    };
    let last = Entry::new(Place::default(), Event::DebateCompleted(outcome.clone()));
    let commit = match outcome.outcome {
        Ending::Cancelled => closing(session),
        _ => unless_cancelled(closing(session)),
    };
    debate.journal.append(vec![last], commit).await.map(drop)
}

/// The same where no person has cancelled the debate: then that is how it ends.
fn unless_cancelled(commit: Commit) -> Commit {
    Commit {
        unless: Some(Box::new(|memory| {
            memory.cancelled.as_ref().map(|_| TooLate::Cancelled)
        })),
        ..commit
    }
}

async fn pause(debate: &Debate) -> Result<(), Stop> {
    let (id, started, created_at) = (
        debate.id,
        debate.started.clone(),
        debate.journal.memory().created_at.clone(),
    );
    let session = move |now: &str| {
        let mut session = view::session(id, &started, &created_at);
        (session.updated_at, session.status) = (now.to_owned(), Status::Paused);
        session
    };
    let by = debate.journal.memory().pause_asked.clone();
    let reason = if by.is_some() {
        "asked for"
    } else {
        "interrupted"
    };
    let last = Entry::new(
        Place::default(),
        Event::DebatePaused(DebatePaused {
            reason: reason.to_owned(),
            by,
        }),
    );
    debate
        .journal
        .append(vec![last], unless_cancelled(closing(session)))
        .await
        .map(drop)
}

/// Gives the debate up without a word: it stays recorded as running, and whoever looks for debates
/// that nobody runs finds it.
pub(super) async fn leave(journal: &Journal) -> Result<(), Stop> {
    let commit = Commit {
        claim: Some(Claim::Release),
        durability: Some(Durability::Power),
        ..Commit::default()
    };
    journal.append(Vec::new(), commit).await.map(drop)
}

/// How the last append of a run is made.
pub(super) fn closing(session: impl Fn(&str) -> crate::store::Session + Send + 'static) -> Commit {
    Commit {
        seal: true,
        session: Some(Box::new(session)),
        claim: Some(Claim::Release),
        durability: Some(Durability::Power),
        ..Commit::default()
    }
}
