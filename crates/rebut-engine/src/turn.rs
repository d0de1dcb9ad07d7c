//! One turn: ask, wait within the deadline, retry what may pass, record every step, clarify once.

use crate::{
    agent::Agent,
    debate::{Ask, Debate, Said, Step, absence},
    error::Halt,
    event::{Event, TurnCompleted, TurnFailed},
    journal::{Commit, Entry, RecordedTurn},
    model::{Answer, Fault, FaultKind, Model, Request},
    outcome::Absence,
    prompt::{Prompt, Template},
    record::Hash,
    reply::{Reply, Schema, extract},
};
use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::Semaphore, time::Instant};

crate::prompt!(
    /// Asks for a usable reply after one that was not.
    Clarify, "kernel/clarify.md" {
        /// What was wrong.
        error: Text,
        /// The beginning of the unusable reply.
        answer: Data,
    }
);

/// One turn on its way.
pub(crate) struct Exchange<'a> {
    pub debate: &'a Debate,
    pub step: &'a Step,
    pub agent: &'a Agent,
    pub turn: Arc<str>,
    pub recorded: RecordedTurn,
}

type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl Exchange<'_> {
    /// The intent of the first call of this run, unless the turn is already over.
    pub fn intent(&self, prompt: &Prompt) -> Result<Option<Entry>, Halt> {
        let known = &self.recorded;
        if known.completed.is_some() || known.given_up.is_some() {
            return Ok(None);
        }
        Ok(Some(self.debate.turn_started(self.step, self.agent, &self.turn, known.failed + 1, prompt, known.in_flight)))
    }

    /// Gets a valid reply, with one clarification if need be. The intent of the first call is already recorded.
    pub async fn speak<R: Reply>(self, ask: &Ask<R>) -> Result<Result<Said<R>, Absence>, Halt> {
        let (debate, step, agent) = (self.debate, self.step, self.agent);
        let turn = self.turn.clone();
        let first = match self.reply(&ask.prompt, &ask.schema).await? {
            Ok(reply) => reply,
            Err(fault) => return Ok(Err(absence(agent, &turn, fault.kind, &fault.message))),
        };
        let problem = match extract(&first.text, &*ask.check) {
            Ok(found) => return Ok(Ok(Said { agent: agent.name.clone(), turn, reply: found.reply })),
            Err(problem) => problem,
        };
        // Boxed: few turns need it, and the others should not carry its room while they wait.
        let clarified = Box::pin(clarify(debate, step, agent, format!("{turn}/clarify").into(), ask, &first.text, &problem)).await?;
        Ok(match clarified {
            Ok(reply) => Ok(Said { agent: agent.name.clone(), turn, reply }),
            Err(still) => Err(absence(agent, &turn, FaultKind::InvalidReply, &still)),
        })
    }

    /// The recorded reply, or a new one. Faults that may pass are retried within the deadline.
    async fn reply(self, prompt: &Prompt, schema: &Schema) -> Result<Result<Arc<TurnCompleted>, Fault>, Halt> {
        if let Some(reply) = &self.recorded.completed {
            return Ok(Ok(reply.clone()));
        }
        if let Some(fault) = &self.recorded.given_up {
            return Ok(Err(fault.clone()));
        }
        let debate = self.debate;
        let Some(model) = debate.models.get(&self.agent.model) else {
            return self
                .give_up(self.recorded.failed + 1, Fault::new(FaultKind::Unavailable, format!("no model `{}`", self.agent.model)))
                .await;
        };
        let _lane = debate.lanes.enter(self.agent.provider()).await;
        let patience = model.patience().unwrap_or(Duration::from_secs(debate.started.limits.turn_seconds));
        let mut deadline = debate.clock.sleep(patience);
        let began = Instant::now();
        let mut attempt = self.recorded.failed + 1;
        loop {
            let asked = Instant::now();
            let request = Request {
                turn: &self.turn,
                attempt,
                agent: self.agent,
                prompt,
                schema,
                time_left: patience.saturating_sub(began.elapsed()),
                deltas: &debate.deltas,
            };
            let fault = match self.ask(model.as_ref(), request, &mut deadline).await? {
                Ok(answer) => return self.complete(attempt, answer, asked.elapsed()).await.map(Ok),
                Err(fault) => fault,
            };
            let Some(wait) = self.wait_before_retry(attempt, &fault, patience.saturating_sub(began.elapsed())) else {
                return self.give_up(attempt, fault).await;
            };
            self.record_failure(attempt, fault, true).await?;
            tokio::select! {
                () = debate.clock.sleep(wait) => {}
                () = debate.until_cancelled() => return Err(debate.cancelled()),
            }
            attempt += 1;
            debate.check_steering()?;
            let again = debate.turn_started(self.step, self.agent, &self.turn, attempt, prompt, false);
            debate.journal.append(vec![again], Commit::default()).await?;
        }
    }

    /// How long to wait before asking again; `None` when it is given up.
    fn wait_before_retry(&self, attempt: u32, fault: &Fault, time_left: Duration) -> Option<Duration> {
        if let Some(recording) = &self.debate.recording {
            return recording.has(&self.turn, attempt + 1).then_some(Duration::ZERO);
        }
        let wait = backoff(attempt, fault, self.debate.started.seed);
        let may_pass = fault.kind.is_passing() && attempt < self.debate.started.limits.attempts && wait < time_left;
        may_pass.then_some(wait)
    }

    /// One attempt, ended by the answer, the deadline or a person.
    async fn ask(&self, model: &dyn Model, request: Request<'_>, deadline: &mut Sleep<'_>) -> Result<Result<Answer, Fault>, Halt> {
        let limit = self.debate.started.limits.reply_bytes;
        let result = tokio::select! {
            biased;
            answer = model.ask(request) => answer,
            () = deadline => Err(Fault::new(FaultKind::Timeout, format!("no answer within {} s", request.time_left.as_secs_f64().ceil()))),
            () = self.debate.until_cancelled() => return Err(self.debate.cancelled()),
        };
        Ok(match result {
            // A replay that asks for more than was recorded must not go on as if somebody were merely absent.
            Err(fault) if fault.kind == FaultKind::Unrecorded => return Err(Halt::Broken(fault.message)),
            Ok(answer) if answer.text.len() > limit => {
                Err(Fault::new(FaultKind::TooLarge, format!("{} bytes, at most {limit} are taken", answer.text.len())))
            }
            Ok(answer) if answer.text.trim().is_empty() => Err(Fault::new(FaultKind::Empty, "the answer has no text")),
            other => other,
        })
    }

    async fn complete(&self, attempt: u32, answer: Answer, took: Duration) -> Result<Arc<TurnCompleted>, Halt> {
        let debate = self.debate;
        let completed = Arc::new(TurnCompleted {
            turn: self.turn.clone(),
            attempt,
            model: self.agent.model.clone(),
            answered_by: answer.model.filter(|model| !self.agent.model.ends_with(model.as_str())),
            text: debate.scrubber.scrub(answer.text),
            finish: answer.finish,
            usage: answer.usage,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            copied_from: None,
        });
        let place = self.step.place(Some(&self.agent.name));
        let entry = Entry { place, role: Some(self.agent.role.clone()), event: Event::TurnCompleted(completed.clone()) };
        debate.journal.append(vec![entry], Commit::default()).await?;
        Ok(completed)
    }

    async fn give_up(&self, attempt: u32, fault: Fault) -> Result<Result<Arc<TurnCompleted>, Fault>, Halt> {
        self.record_failure(attempt, fault, false).await.map(Err)
    }

    async fn record_failure(&self, attempt: u32, mut fault: Fault, retry: bool) -> Result<Fault, Halt> {
        fault.message = self.debate.scrubber.scrub(fault.message);
        let failed = TurnFailed { turn: self.turn.clone(), attempt, fault: fault.clone(), retry };
        let entry = Entry::new(self.step.place(Some(&self.agent.name)), Event::TurnFailed(Box::new(failed)));
        self.debate.journal.append(vec![entry], Commit::default()).await?;
        Ok(fault)
    }
}

/// Asks once more after an unusable reply. What is still wrong then is returned in words.
async fn clarify<R: Reply>(
    debate: &Debate,
    step: &Step,
    agent: &Agent,
    turn: Arc<str>,
    ask: &Ask<R>,
    answer: &str,
    problem: &str,
) -> Result<Result<R, String>, Halt> {
    let begun = answer.chars().take(2000).collect::<String>();
    let prompt = ask.prompt.followed_by(&Clarify { error: problem, answer: &begun }.render(debate.fence()));
    let recorded = debate.recorded_turn(&turn, &prompt)?;
    let exchange = Exchange { debate, step, agent, turn, recorded };
    if let Some(intent) = exchange.intent(&prompt)? {
        debate.check_steering()?;
        debate.journal.append(vec![intent], debate.journal.commit_before_call().await).await?;
    }
    Ok(match exchange.reply(&prompt, &ask.schema).await? {
        Ok(reply) => extract(&reply.text, &*ask.check).map(|found| found.reply),
        Err(fault) => Err(format!("{problem}; then, asked to clarify: {fault}")),
    })
}

/// How long to wait before the next attempt: what the provider asked for, else doubling from half a second; with jitter from the seed.
fn backoff(attempt: u32, fault: &Fault, seed: u64) -> Duration {
    let asked = fault.retry_after_ms.map(Duration::from_millis);
    let base = asked.unwrap_or_else(|| Duration::from_millis(500) * 2u32.saturating_pow(attempt.saturating_sub(1)).min(64));
    let mut key = seed.to_le_bytes().to_vec();
    key.extend_from_slice(&attempt.to_le_bytes());
    let jitter = f64::from(Hash::of(&key).0[0]) / 255.0;
    base + base.mul_f64(jitter * 0.25)
}

/// How many calls may be under way at one provider, over all debates of the desk.
pub struct Lanes {
    width: usize,
    open: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Lanes {
    /// So many calls per provider.
    pub fn new(width: usize) -> Self {
        Self { width: width.max(1), open: Mutex::default() }
    }

    async fn enter(&self, provider: &str) -> Option<tokio::sync::OwnedSemaphorePermit> {
        let lane = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            match open.get(provider) {
                Some(lane) => lane.clone(),
                None => open.entry(provider.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.width))).clone(),
            }
        };
        // Lanes are never closed; should one be, a call without a permit is better than none.
        lane.acquire_owned().await.ok()
    }
}
