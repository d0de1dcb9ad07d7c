//! One turn: ask within the deadline and the budget, retry what may pass, then ask others; record every step, clarify once.

use crate::{
    agent::Agent,
    budget::{Amount, may_be_billed},
    debate::{Ask, Debate, Said, Step, absence},
    error::Halt,
    event::{Event, TurnCompleted, TurnFailed, TurnStarted},
    journal::{Commit, Entry, RecordedTurn},
    model::{Answer, Fault, FaultKind, Remedy, Request, Usage},
    outcome::Absence,
    prompt::{Prompt, Template},
    record::Hash,
    reply::{Reply, Schema, extract},
};
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

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

/// One attempt: which, with whom, and how often that one has failed before.
#[derive(Clone)]
struct Attempt {
    number: u32,
    model: Arc<str>,
    failed_here: u32,
    held: Amount,
}

/// What follows a failed attempt.
enum Next {
    Retry(Duration),
    Fallback(Arc<str>),
    GiveUp,
}

type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl Exchange<'_> {
    /// The intent of the first call of this run, unless the turn is already over. Holds what it may use.
    pub fn intent(&self, prompt: &Prompt, schema: &Schema) -> Result<Option<Entry>, Halt> {
        let known = &self.recorded;
        if known.completed.is_some() || known.given_up.is_some() {
            return Ok(None);
        }
        let attempt = self.first_attempt(prompt, schema);
        self.hold(&attempt)?;
        Ok(Some(self.started(&attempt, prompt, known.in_flight)))
    }

    fn first_attempt(&self, prompt: &Prompt, schema: &Schema) -> Attempt {
        let known = &self.recorded;
        let model = known.fallback.clone().unwrap_or_else(|| self.agent.model.clone());
        Attempt { number: known.failed + 1, failed_here: known.failed_here, held: self.most(&model, prompt, schema), model }
    }

    /// The most a call may use; nothing where nothing is capped.
    fn most(&self, model: &str, prompt: &Prompt, schema: &Schema) -> Amount {
        if !self.debate.budget.is_capped() {
            return Amount::default();
        }
        let price = self.debate.models.get(model).and_then(|model| model.price());
        Amount::at_most(prompt, schema, self.agent, price)
    }

    fn hold(&self, attempt: &Attempt) -> Result<(), Halt> {
        if self.debate.budget.is_capped() {
            self.debate.budget.hold(attempt.held, self.step.is_closing).map_err(Halt::Stopped)
        } else {
            Ok(())
        }
    }

    fn settle(&self, attempt: &Attempt, used: Option<&Usage>, may_be_billed: bool) {
        if self.debate.budget.is_capped() {
            self.debate.budget.settle(attempt.held, used.map(|usage| Amount::of(usage, None)), may_be_billed);
        }
    }

    /// The intent to call, as it is recorded.
    fn started(&self, attempt: &Attempt, prompt: &Prompt, again: bool) -> Entry {
        let started = TurnStarted {
            turn: self.turn.clone(),
            attempt: attempt.number,
            model: attempt.model.clone(),
            prompt: prompt.hash(),
            possibly_paid_twice: again,
            held: self.debate.budget.is_capped().then_some(attempt.held),
        };
        Entry::new(self.step.place(Some(&self.agent.name)), Event::TurnStarted(started))
    }

    /// Gets a valid reply, with one clarification if need be. The intent of the first call is already recorded.
    pub async fn speak<R: Reply>(self, ask: &Ask<R>) -> Result<Result<Said<R>, Absence>, Halt> {
        let (debate, step, agent) = (self.debate, self.step, self.agent);
        let turn = self.turn.clone();
        let first = match self.reply(&ask.prompt, &ask.schema).await? {
            Ok(reply) => reply,
            Err(fault) => return Ok(Err(absence(agent, &turn, fault.kind, &fault.message))),
        };
        debate.note_substitution(agent, &first);
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

    /// The recorded reply, or a new one. Faults that may pass are retried within the deadline, then others are asked.
    async fn reply(self, prompt: &Prompt, schema: &Schema) -> Result<Result<Arc<TurnCompleted>, Fault>, Halt> {
        if let Some(reply) = &self.recorded.completed {
            return Ok(Ok(reply.clone()));
        }
        if let Some(fault) = &self.recorded.given_up {
            return Ok(Err(fault.clone()));
        }
        let mut attempt = self.first_attempt(prompt, schema);
        let mut seat = self.seat(&attempt.model).await;
        let patience = self.patience(&attempt.model);
        let mut deadline = self.debate.clock.sleep(patience);
        let began = Instant::now();
        loop {
            let asked = Instant::now();
            let time_left = patience.saturating_sub(began.elapsed());
            let fault = match self.ask(&attempt, prompt, schema, time_left, &mut deadline).await? {
                // Boxed like all that follows an answer: a turn that waits for one should not carry the room.
                Ok(answer) => return Box::pin(self.complete(&attempt, answer, asked.elapsed())).await.map(Ok),
                Err(fault) => fault,
            };
            let next = self.next(&attempt, &fault, patience.saturating_sub(began.elapsed()));
            let following = match Box::pin(self.go_on(&attempt, fault, next, prompt, schema)).await? {
                Ok(following) => following,
                Err(given_up) => return Ok(Err(given_up)),
            };
            if provider_of(&following.model) != provider_of(&attempt.model) {
                drop(seat.take());
                seat = self.seat(&following.model).await;
            }
            attempt = following;
        }
    }

    async fn seat(&self, model: &str) -> Option<OwnedSemaphorePermit> {
        let allowance = self.debate.models.get(model).map(|model| model.allowance()).unwrap_or_default();
        self.debate.lanes.seat(provider_of(model), allowance).await
    }

    fn patience(&self, model: &str) -> Duration {
        let own = self.debate.models.get(model).and_then(|model| model.patience());
        own.unwrap_or(Duration::from_secs(self.debate.limits.turn_seconds))
    }

    /// What follows a failed attempt: the record in a replay, else what the fault calls for and time and limits allow.
    fn next(&self, attempt: &Attempt, fault: &Fault, time_left: Duration) -> Next {
        if let Some(recording) = &self.debate.recording {
            return match recording.asked(&self.turn, attempt.number + 1) {
                Some(model) if model == attempt.model => Next::Retry(Duration::ZERO),
                Some(model) => Next::Fallback(model),
                None => Next::GiveUp,
            };
        }
        let tries = match fault.kind.remedy() {
            Remedy::Retry => self.debate.limits.attempts,
            Remedy::RetryOnce => self.debate.limits.attempts.min(2),
            Remedy::Fallback => 1,
            Remedy::Skip => return Next::GiveUp,
        };
        let others = std::iter::once(&*self.agent.model).chain(self.agent.fallbacks.iter().map(String::as_str));
        let fallback = others.skip_while(|known| **known != *attempt.model).nth(1);
        let wait = backoff(attempt.failed_here + 1, fault, &self.turn, self.debate.started.seed);
        // Whoever is spared is not waited for while somebody else can be asked.
        let rather_another = fault.kind == FaultKind::Spared && fallback.is_some();
        match fallback {
            _ if attempt.failed_here + 1 < tries && wait < time_left && !rather_another => Next::Retry(wait),
            Some(other) if !time_left.is_zero() => Next::Fallback(other.into()),
            _ => Next::GiveUp,
        }
    }

    /// Records a failure and, unless it is given up, waits and records the next attempt.
    async fn go_on(
        &self,
        attempt: &Attempt,
        fault: Fault,
        next: Next,
        prompt: &Prompt,
        schema: &Schema,
    ) -> Result<Result<Attempt, Fault>, Halt> {
        let debate = self.debate;
        let (wait, following) = match next {
            Next::GiveUp => return self.record_failure(attempt, fault, false, None).await.map(Err),
            Next::Retry(wait) => {
                self.record_failure(attempt, fault, true, None).await?;
                (wait, Attempt { number: attempt.number + 1, failed_here: attempt.failed_here + 1, ..attempt.clone() })
            }
            Next::Fallback(model) => {
                self.record_failure(attempt, fault, true, Some(model.clone())).await?;
                let held = self.most(&model, prompt, schema);
                (Duration::ZERO, Attempt { number: attempt.number + 1, failed_here: 0, model, held })
            }
        };
        if !wait.is_zero() {
            tokio::select! {
                () = debate.clock.sleep(wait) => {}
                () = debate.until_cancelled() => return Err(debate.cancelled()),
            }
        }
        debate.check_steering()?;
        self.hold(&following)?;
        debate.journal.append(vec![self.started(&following, prompt, false)], Commit::default()).await?;
        Ok(Ok(following))
    }

    /// One attempt, ended by the answer, the deadline or a person.
    async fn ask(
        &self,
        attempt: &Attempt,
        prompt: &Prompt,
        schema: &Schema,
        time_left: Duration,
        deadline: &mut Sleep<'_>,
    ) -> Result<Result<Answer, Fault>, Halt> {
        let (debate, provider) = (self.debate, provider_of(&attempt.model));
        let Some(model) = debate.models.get(&attempt.model) else {
            return Ok(Err(Fault::new(FaultKind::Unavailable, format!("no model `{}`", attempt.model))));
        };
        if debate.recording.is_none()
            && let Some(wait) = debate.lanes.spared(&attempt.model)
        {
            let message = format!("{} failed too often just now; it is asked again in {} s", attempt.model, wait.as_secs_f64().ceil());
            return Ok(Err(Fault { retry_after_ms: u64::try_from(wait.as_millis()).ok(), ..Fault::new(FaultKind::Spared, message) }));
        }
        let allowance = model.allowance();
        let tokens = allowance.tokens_per_minute.map_or(0, |_| Amount::at_most(prompt, schema, self.agent, None).tokens);
        while let Err(wait) = debate.lanes.begin(provider, allowance, tokens) {
            if let Err(late) = Box::pin(self.hold_back(wait, time_left, deadline)).await? {
                return Ok(Err(late));
            }
        }
        let (turn, agent, deltas) = (&*self.turn, self.agent, &debate.deltas);
        let request = Request { turn, attempt: attempt.number, agent, prompt, schema, time_left, deltas };
        let result = tokio::select! {
            biased;
            answer = model.ask(request) => answer,
            () = deadline => Err(out_of_time(time_left)),
            () = debate.until_cancelled() => return Err(debate.cancelled()),
        };
        if debate.recording.is_none() {
            debate.lanes.ended(provider, &attempt.model, &result);
        }
        let limit = debate.limits.reply_bytes;
        Ok(match result {
            // A replay that asks for more than was recorded must not go on as if somebody were merely absent.
            Err(fault) if fault.kind == FaultKind::Unrecorded => return Err(Halt::Broken(fault.message)),
            Ok(answer) if answer.text.len() > limit => Err(Fault {
                usage: answer.usage.map(Box::new),
                ..Fault::new(FaultKind::TooLarge, format!("{} bytes, at most {limit} are taken", answer.text.len()))
            }),
            Ok(answer) if answer.text.trim().is_empty() => {
                Err(Fault { usage: answer.usage.map(Box::new), ..Fault::new(FaultKind::Empty, "the answer has no text") })
            }
            other => other,
        })
    }

    /// Waits for a provider's pace within the deadline.
    async fn hold_back(&self, wait: Duration, time_left: Duration, deadline: &mut Sleep<'_>) -> Result<Result<(), Fault>, Halt> {
        tokio::select! {
            biased;
            () = self.debate.clock.sleep(wait) => Ok(Ok(())),
            () = deadline => Ok(Err(out_of_time(time_left))),
            () = self.debate.until_cancelled() => Err(self.debate.cancelled()),
        }
    }

    async fn complete(&self, attempt: &Attempt, answer: Answer, took: Duration) -> Result<Arc<TurnCompleted>, Halt> {
        let debate = self.debate;
        let usage = answer.usage.map(|usage| self.priced(&attempt.model, usage));
        self.settle(attempt, usage.as_ref(), true);
        let scrub = |text: String| debate.scrubber.scrub(text);
        let completed = Arc::new(TurnCompleted {
            turn: self.turn.clone(),
            attempt: attempt.number,
            model: attempt.model.clone(),
            answered_by: answer.model.filter(|model| !attempt.model.ends_with(model.as_str())).map(scrub),
            program: answer.program.map(scrub),
            text: scrub(answer.text),
            finish: answer.finish,
            usage,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            copied_from: None,
        });
        let place = self.step.place(Some(&self.agent.name));
        let entry = Entry { place, role: Some(self.agent.role.clone()), event: Event::TurnCompleted(completed.clone()) };
        debate.journal.append(vec![entry], Commit::default()).await?;
        Ok(completed)
    }

    /// Records a failure, without any secret in it, and gives it back so.
    async fn record_failure(&self, attempt: &Attempt, fault: Fault, retry: bool, fallback: Option<Arc<str>>) -> Result<Fault, Halt> {
        let scrubber = &self.debate.scrubber;
        let usage = fault.usage.as_deref().map(|usage| self.priced(&attempt.model, *usage));
        self.settle(attempt, usage.as_ref(), may_be_billed(fault.kind));
        let fault = Fault {
            message: scrubber.scrub(fault.message),
            partial: fault.partial.map(|text| scrubber.scrub(text)),
            usage: usage.map(Box::new),
            headroom: None,
            ..fault
        };
        let failed = TurnFailed { turn: self.turn.clone(), attempt: attempt.number, fault: fault.clone(), retry, fallback };
        let entry = Entry::new(self.step.place(Some(&self.agent.name)), Event::TurnFailed(Box::new(failed)));
        self.debate.journal.append(vec![entry], Commit::default()).await?;
        Ok(fault)
    }

    /// The use with its cost, where the provider did not say but its price is known.
    fn priced(&self, model: &str, usage: Usage) -> Usage {
        let price = || self.debate.models.get(model).and_then(|model| model.price());
        Usage { cost_usd: usage.cost_usd.or_else(|| price().map(|price| price.of(&usage))), ..usage }
    }
}

fn out_of_time(time_left: Duration) -> Fault {
    Fault::new(FaultKind::Timeout, format!("no answer within {} s", time_left.as_secs_f64().ceil()))
}

fn provider_of(model: &str) -> &str {
    model.split_once(':').map_or(model, |(provider, _)| provider)
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
    if let Some(intent) = exchange.intent(&prompt, &ask.schema)? {
        debate.check_steering()?;
        debate.journal.append(vec![intent], debate.journal.commit_before_call().await).await?;
    }
    Ok(match exchange.reply(&prompt, &ask.schema).await? {
        Ok(reply) => extract(&reply.text, &*ask.check).map(|found| found.reply),
        Err(fault) => Err(format!("{problem}; then, asked to clarify: {fault}")),
    })
}

/// How long to wait before the next attempt: what the provider asked for, else doubling from half a second; with jitter
/// by seed and turn, so that those refused together do not come back together.
fn backoff(attempt: u32, fault: &Fault, turn: &str, seed: u64) -> Duration {
    let asked = fault.retry_after_ms.map(Duration::from_millis);
    let base = asked.unwrap_or_else(|| Duration::from_millis(500) * 2u32.saturating_pow(attempt.saturating_sub(1)).min(64));
    let mut key = seed.to_le_bytes().to_vec();
    key.extend_from_slice(&attempt.to_le_bytes());
    key.extend_from_slice(turn.as_bytes());
    let jitter = f64::from(Hash::of(&key).0[0]) / 255.0;
    base + base.mul_f64(jitter * 0.25)
}
