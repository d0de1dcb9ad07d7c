//! All that a format can say: `turn`, `round`, `note` (and `gate` and `run`, in their own files).
//! Each is durable by its name: what the journal holds is returned, what it lacks is asked and
//! recorded first.

use crate::{
    DebateId,
    agent::Agent,
    budget::Budget,
    clock::Clock,
    deadlines::Deadlines,
    disabled_models::Barred,
    error::Stop,
    event::{Event, Limits, RoundCompleted, RoundStarted, Started, TurnCompleted},
    fallback_report::{Answered, substitutions},
    journal::{Commit, Entry, Journal, RecordedTurn},
    model::{Deltas, Fault, FaultKind, Model},
    outcome::{Absence, Limit, LimitMet, Substitution},
    prompt::{Fence, Prompt},
    rate_limit::Lanes,
    record::Place,
    replay::Recording,
    reply::{Check, Reply, Schema},
    sandbox::Sandbox,
    secrets::Scrubber,
    turn::{Exchange, PromptSource},
};
use futures_util::future::join_all;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{sync::watch, time::Instant};

/// Models by name, or why there is none.
pub(crate) type Opened = HashMap<Arc<str>, Result<Arc<dyn Model>, Fault>>;

/// One debate while its format runs.
pub struct Debate {
    pub(crate) id: DebateId,
    pub(crate) started: Arc<Started>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) models: Opened,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) deadlines: Arc<Deadlines>,
    pub(crate) steer: watch::Receiver<Steer>,
    pub(crate) deltas: Deltas,
    pub(crate) scrubber: Arc<Scrubber>,
    pub(crate) sandbox: Arc<dyn Sandbox>,
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) barred: Barred,
    /// The limits in force: the pinned ones, or those of the last resume.
    pub(crate) limits: Limits,
    pub(crate) budget: Budget,
    /// When the whole debate must be over.
    pub(crate) ends_at: Option<Instant>,
    pub(crate) recording: Option<Arc<Recording>>,
    /// Whether today's prompt files are the pinned ones; if so a different prompt means a different
    /// run.
    pub(crate) same_prompts: bool,
    pub(crate) fence: Fence,
    pub(crate) said_so_far: Mutex<SaidSoFar>,
}

/// What this run has asked and missed so far.
#[derive(Default)]
pub(crate) struct SaidSoFar {
    pub(crate) steps: HashSet<String>,
    /// With the round and the step they belong to: steps that run side by side end in any order.
    pub(crate) absences: Vec<(u32, String, Absence)>,
    /// Who answered, by turn.
    pub(crate) answered: BTreeMap<Arc<str>, Answered>,
    pub(crate) rounds: u32,
}

/// What a person wants of a running debate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Steer {
    #[default]
    Run,
    Pause,
    /// As a pause, but whoever finds the debate next goes on with it: nobody wanted it to rest.
    Leave,
    /// A pause in a process that lets go of its debates: nobody is waited for any more, and the
    /// debate rests all the same.
    PauseAtOnce,
    Cancel,
}

/// A named step of a format: `challenge 2` is round 2 of the phase `challenge`.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The name, unique in the debate: the key under which its turns are recorded.
    pub name: String,
    /// The phase.
    pub phase: Arc<str>,
    /// The round.
    pub round: u32,
    /// Whether it may use what a budget keeps back for the end.
    pub is_closing: bool,
}

impl Step {
    /// The step of a phase that comes once.
    pub fn once(phase: &str, round: u32) -> Self {
        Self {
            name: phase.to_owned(),
            phase: phase.into(),
            round,
            is_closing: false,
        }
    }

    /// The step of a phase that comes in several rounds.
    pub fn numbered(phase: &str, round: u32) -> Self {
        Self {
            name: format!("{phase} {round}"),
            phase: phase.into(),
            round,
            is_closing: false,
        }
    }

    /// The same as one of the format's closing steps.
    pub fn closing(self) -> Self {
        Self {
            is_closing: true,
            ..self
        }
    }

    /// The name of an agent's turn at this step.
    pub fn turn(&self, agent: &str) -> Arc<str> {
        [&self.name, "/", agent].concat().into()
    }

    pub(crate) fn place(&self, agent: Option<&Arc<str>>) -> Place {
        Place {
            round: Some(self.round),
            phase: Some(self.phase.clone()),
            agent: agent.cloned(),
        }
    }
}

/// What an agent is asked, and how its reply is checked.
pub struct Ask<R> {
    /// What it is told.
    pub prompt: Prompt,
    /// The form of the reply.
    pub schema: Schema,
    /// What else must hold; may normalise.
    pub check: Box<Check<'static, R>>,
}

/// One agent's valid reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyFrom<R> {
    /// Who.
    pub agent: Arc<str>,
    /// At which turn.
    pub turn: Arc<str>,
    /// What.
    pub reply: R,
}

/// Everybody's replies at one step, and who is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Round<R> {
    /// The step's name.
    pub step: String,
    /// Replies, in the order of the agents.
    pub said: Vec<ReplyFrom<R>>,
    /// Who is missing, and why.
    pub absent: Vec<Absence>,
}

impl<R> Round<R> {
    /// The round, if at least `needed` replied.
    pub fn quorum(self, needed: usize) -> Result<Self, Stop> {
        if self.said.len() >= needed.max(1) {
            return Ok(self);
        }
        Err(Stop::NoQuorum {
            step: self.step,
            answered: self.said.len(),
            needed: needed.max(1),
            absent: self.absent,
        })
    }
}

impl Debate {
    /// Which debate.
    pub fn id(&self) -> DebateId {
        self.id
    }

    /// What was pinned at the start.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// Who takes part.
    pub fn agents(&self) -> &[Agent] {
        &self.started.agents
    }

    /// The fence around quoted text.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// One agent speaks.
    pub async fn turn<R: Reply>(
        &self,
        step: &Step,
        agent: &Agent,
        ask: Ask<R>,
    ) -> Result<Result<ReplyFrom<R>, Absence>, Stop> {
        self.enter(step)?;
        self.turn_named(
            step,
            agent,
            step.turn(&agent.name),
            &ask.prompt,
            &ask.schema,
            &*ask.check,
        )
        .await
    }

    /// The same under any name: a move may ask one agent several times at a step.
    pub(crate) async fn turn_named<R: Reply>(
        &self,
        step: &Step,
        agent: &Agent,
        turn: Arc<str>,
        prompt: &Prompt,
        schema: &Schema,
        check: &Check<'static, R>,
    ) -> Result<Result<ReplyFrom<R>, Absence>, Stop> {
        let exchange = Exchange::new(self, step, agent, turn, PromptSource::Held(prompt), schema)?;
        let mut results = self
            .exchange_all(vec![(exchange, check)], Vec::new())
            .await?;
        self.note_absences(
            step,
            results.iter().filter_map(|result| result.as_ref().err()),
        );
        results
            .pop()
            .ok_or_else(|| Stop::Broken(format!("{}: nobody was asked", step.name)))
    }

    /// Several agents speak at the same step, in parallel. `ask` is called once per agent with the
    /// notes this round hears.
    pub async fn round<'a, R: Reply>(
        &self,
        step: &Step,
        agents: impl IntoIterator<Item = &'a Agent>,
        ask: impl Fn(&Agent, &str) -> Ask<R> + Sync,
    ) -> Result<Round<R>, Stop> {
        self.enter(step)?;
        let agents: Vec<&Agent> = agents.into_iter().collect();
        let (opening, notes) = self.open_round(step, &agents).await?;
        let make = |agent: &Agent| ask(agent, &notes).prompt;
        let mut asks: Vec<Ask<R>> = agents.iter().map(|agent| ask(agent, &notes)).collect();
        let mut exchanges = Vec::with_capacity(agents.len());
        for (agent, ask) in agents.iter().zip(&mut asks) {
            let told = PromptSource::Made(Some(std::mem::take(&mut ask.prompt)), &make);
            exchanges.push((
                Exchange::new(self, step, agent, step.turn(&agent.name), told, &ask.schema)?,
                &*ask.check,
            ));
        }
        let results = self.exchange_all(exchanges, opening).await?;
        self.note_absences(
            step,
            results.iter().filter_map(|result| result.as_ref().err()),
        );
        self.close_round(step, results).await
    }

    /// Begins a round whose turns a move makes itself. The notes it hears.
    pub(crate) async fn begin_round(&self, step: &Step, agents: &[&Agent]) -> Result<String, Stop> {
        self.enter(step)?;
        let (opening, notes) = self.open_round(step, agents).await?;
        if !opening.is_empty() {
            self.check_steering()?;
            self.journal.append(opening, Commit::default()).await?;
        }
        Ok(notes)
    }

    /// Ends a round: everybody has answered or is missing.
    pub(crate) async fn close_round<R>(
        &self,
        step: &Step,
        results: Vec<Result<ReplyFrom<R>, Absence>>,
    ) -> Result<Round<R>, Stop> {
        let mut round = Round {
            step: step.name.clone(),
            said: Vec::with_capacity(results.len()),
            absent: Vec::new(),
        };
        for result in results {
            match result {
                Ok(said) => round.said.push(said),
                Err(absence) => round.absent.push(absence),
            }
        }
        self.lock_said().rounds += 1;
        let completed = RoundCompleted {
            step: step.name.clone(),
            answered: round.said.iter().map(|said| said.agent.clone()).collect(),
            absent: round.absent.clone(),
        };
        self.note(step.place(None), Event::RoundCompleted(completed))
            .await?;
        Ok(round)
    }

    /// Records a fact the format derived from replies. Recorded once; a re-run that derives another
    /// fact is stopped.
    pub async fn note(&self, place: Place, event: Event) -> Result<(), Stop> {
        let recorded = self
            .journal
            .memory()
            .fact(&event, &place)
            .map(str::to_owned);
        match recorded {
            None => {
                self.journal.queue(Entry::new(place, event)).await;
                Ok(())
            }
            Some(data) if data == event.to_data() => Ok(()),
            Some(_) => Err(Stop::Broken(format!(
                "this run derives another {} at round {} than the one recorded; the program or its \
                 inputs changed",
                event.kind(),
                place.round.unwrap_or(0)
            ))),
        }
    }

    /// Everybody missed so far, by round and step, each turn once: the same order whoever was
    /// faster.
    pub(crate) fn absences(&self) -> Vec<Absence> {
        let mut all = self.lock_said().absences.clone();
        all.sort_by(|(round, step, _), (other_round, other_step, _)| {
            (round, step).cmp(&(other_round, other_step))
        });
        all.into_iter().map(|(_, _, absence)| absence).collect()
    }

    /// Rounds completed so far.
    pub(crate) fn rounds_completed(&self) -> u32 {
        self.lock_said().rounds
    }

    /// Whether a person wants this run to stop now.
    pub(crate) fn check_steering(&self) -> Result<(), Stop> {
        let steer = *self.steer.borrow();
        match steer {
            Steer::Run => Ok(()),
            Steer::Pause | Steer::Leave | Steer::PauseAtOnce => Err(Stop::Paused),
            Steer::Cancel => Err(self.cancelled()),
        }
    }

    /// Whether a person ended the debate.
    pub(crate) fn check_cancelled(&self) -> Result<(), Stop> {
        if *self.steer.borrow() == Steer::Cancel {
            Err(self.cancelled())
        } else {
            Ok(())
        }
    }

    /// The model of that name, or why there is none.
    pub(crate) fn model(&self, name: &str) -> Result<&Arc<dyn Model>, Fault> {
        let none = || Fault::new(FaultKind::Unavailable, format!("no model `{name}`"));
        self.models
            .get(name)
            .ok_or_else(none)?
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The halt that a cancellation causes.
    pub(crate) fn cancelled(&self) -> Stop {
        let cancelled = self.journal.memory().cancelled.clone();
        let (by, reason) = cancelled.map_or_else(
            || ("user".to_owned(), String::new()),
            |cancelled| (cancelled.by, cancelled.reason),
        );
        Stop::Cancelled { by, reason }
    }

    /// Returns when a person cancels; never otherwise.
    pub(crate) async fn until_cancelled(&self) {
        let mut steer = self.steer.clone();
        if steer
            .wait_for(|steer| *steer == Steer::Cancel)
            .await
            .is_err()
        {
            // The desk is gone without a word: then nobody can cancel any more.
            std::future::pending::<()>().await;
        }
    }

    /// Returns when this process lets go of the debate; never otherwise.
    pub(crate) async fn until_left(&self) {
        let mut steer = self.steer.clone();
        if steer
            .wait_for(|steer| matches!(steer, Steer::Leave | Steer::PauseAtOnce))
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn enter(&self, step: &Step) -> Result<(), Stop> {
        if self.lock_said().steps.insert(step.name.clone()) {
            return Ok(());
        }
        Err(Stop::Broken(format!(
            "the format used the step `{}` twice; each needs its own name",
            step.name
        )))
    }

    /// Like a step's name, the name of a turn that several agents have at one step is used once.
    pub(crate) fn enter_turn(&self, turn: &str) -> Result<(), Stop> {
        if self.lock_said().steps.insert(format!("turn {turn}")) {
            return Ok(());
        }
        Err(Stop::Broken(format!(
            "the format used the turn `{turn}` twice; each needs its own name"
        )))
    }

    /// Like a step's name, a run's is used once.
    pub(crate) fn enter_run(&self, run: &str) -> Result<(), Stop> {
        if self.lock_said().steps.insert(format!("run {run}")) {
            return Ok(());
        }
        Err(Stop::Broken(format!(
            "the format used the run `{run}` twice; each needs its own name"
        )))
    }

    /// Fixes which notes a round hears: those of its first start, so that a re-run asks the same.
    async fn open_round(
        &self,
        step: &Step,
        agents: &[&Agent],
    ) -> Result<(Vec<Entry>, String), Stop> {
        let mut opening = Vec::new();
        if let Some(recording) = &self.recording {
            opening.extend(
                recording
                    .notes_before(&step.name)
                    .into_iter()
                    .map(|note| Entry::new(Place::default(), Event::HumanNoted(note))),
            );
            if !opening.is_empty() {
                self.journal
                    .append(std::mem::take(&mut opening), Commit::default())
                    .await?;
            }
        }
        let memory = self.journal.memory();
        let recorded = memory.notes_heard(&step.name);
        let heard = recorded
            .clone()
            .unwrap_or_else(|| memory.notes.keys().copied().collect());
        let notes: Vec<&str> = heard
            .iter()
            .filter_map(|seq| memory.notes.get(seq))
            .map(|note| note.text.as_str())
            .collect();
        let notes = notes.join("\n");
        drop(memory);
        if recorded.is_none() {
            let agents = agents.iter().map(|agent| agent.name.clone()).collect();
            let started = RoundStarted {
                step: step.name.clone(),
                agents,
                notes: heard,
            };
            opening.push(Entry::new(step.place(None), Event::RoundStarted(started)));
        }
        Ok((opening, notes))
    }

    /// Records the intents of all calls in one append, then makes the calls in parallel.
    async fn exchange_all<R: Reply>(
        &self,
        mut exchanges: Vec<(Exchange<'_>, &Check<'static, R>)>,
        mut opening: Vec<Entry>,
    ) -> Result<Vec<Result<ReplyFrom<R>, Absence>>, Stop> {
        if let Some(stop) = self.stopped_in_recording(&exchanges) {
            return Err(stop);
        }
        if !opening.is_empty() || exchanges.iter().any(|(exchange, _)| !exchange.is_over()) {
            self.check_steering()?;
            opening.extend(
                exchanges
                    .iter_mut()
                    .filter_map(|(exchange, _)| exchange.begin_at_once()),
            );
            self.journal
                .append(opening, self.journal.commit_before_call().await)
                .await?;
        }
        let calls = join_all(
            exchanges
                .iter_mut()
                .map(|(exchange, check)| exchange.speak(*check)),
        );
        let spoken = match self.ends_at {
            None => calls.await,
            Some(ends_at) => tokio::select! {
                spoken = calls => spoken,
                () = self.clock.sleep(ends_at.saturating_duration_since(Instant::now())) => {
                    return Err(Stop::Stopped(LimitMet { limit: Limit::Time, why: "the debate's \
                        time is over".to_owned() }));
                }
            },
        };
        all_or_halt(spoken)
    }

    /// A recording that ends because something was used up ends there in a replay too.
    fn stopped_in_recording<C>(&self, asked: &[(Exchange<'_>, C)]) -> Option<Stop> {
        let recording = self.recording.as_ref()?;
        let stop = recording.stopped()?;
        let never_came =
            |turn: &str| recording.asked(turn, 1).is_none() && recording.unsent(turn, 1).is_none();
        asked
            .iter()
            .any(|(exchange, _)| never_came(&exchange.turn))
            .then(|| Stop::Stopped(stop.clone()))
    }

    /// What is recorded of a turn, after making sure that it was asked the same.
    pub(crate) fn recorded_turn(&self, turn: &str, prompt: &Prompt) -> Result<RecordedTurn, Stop> {
        let recorded = self.journal.memory().take_turn(turn);
        let same = recorded
            .prompt
            .is_none_or(|hash| !self.same_prompts || hash == prompt.hash());
        if same {
            Ok(recorded)
        } else {
            Err(Stop::Broken(format!(
                "turn `{turn}` was recorded with another prompt; this run went another way"
            )))
        }
    }

    /// Notes who answered a turn.
    pub(crate) fn note_answer(&self, agent: &Agent, completed: &TurnCompleted) {
        let answered = Answered {
            agent: agent.name.clone(),
            planned: agent.model.clone(),
            model: completed.model.clone(),
            copied: completed.copied_from.is_some(),
        };
        self.lock_said()
            .answered
            .insert(completed.turn.clone(), answered);
    }

    /// The model behind what counts of a turn: of its clarification, where there was one.
    pub(crate) fn answered_by(&self, turn: &str) -> Option<Arc<str>> {
        let said = self.lock_said();
        let answered = said
            .answered
            .get(format!("{turn}/clarify").as_str())
            .or_else(|| said.answered.get(turn));
        answered.map(|answered| answered.model.clone())
    }

    /// Everybody who was answered for by another model, in order of turns.
    pub(crate) fn substitutions(&self) -> Vec<Substitution> {
        substitutions(&self.lock_said().answered)
    }

    pub(crate) fn note_absences<'a>(
        &self,
        step: &Step,
        new: impl IntoIterator<Item = &'a Absence>,
    ) {
        let new = new
            .into_iter()
            .map(|absence| (step.round, step.name.clone(), absence.clone()));
        self.lock_said().absences.extend(new);
    }

    fn lock_said(&self) -> std::sync::MutexGuard<'_, SaidSoFar> {
        self.said_so_far
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What everybody said, or what ends the debate. A met cap comes last: it is only that who was not
/// asked.
pub(crate) fn all_or_halt<T>(spoken: Vec<Result<T, Stop>>) -> Result<Vec<T>, Stop> {
    let (mut said, mut cap_met) = (Vec::with_capacity(spoken.len()), None);
    for one in spoken {
        match one {
            Ok(one) => said.push(one),
            Err(halt @ Stop::Stopped(_)) => {
                cap_met.get_or_insert(halt);
            }
            Err(halt) => return Err(halt),
        }
    }
    cap_met.map_or(Ok(said), Err)
}

/// The absence of an agent at a turn.
pub(crate) fn absence(agent: &Agent, turn: &str, reason: FaultKind, detail: &str) -> Absence {
    Absence {
        agent: agent.name.to_string(),
        turn: turn.to_owned(),
        reason,
        detail: detail.to_owned(),
    }
}
