//! One turn: ask within the deadline and the budget, retry what may pass, then ask others; record
//! every step, clarify once.

mod begin;

use crate::{
    agent::Agent,
    budget::{Amount, may_be_billed},
    debate::{Debate, ReplyFrom, Step, absence},
    error::Stop,
    event::{Event, TurnCompleted, TurnFailed},
    family::is_person,
    journal::{Commit, Entry, RecordedTurn},
    model::{Answer, Fault, FaultKind, Finish, Fits, Remedy, Request, Usage},
    outcome::Absence,
    prompt::{Prompt, Template},
    record::Hash,
    reply::{Check, Reply, Schema, Unread, extract, read_answer},
};
use begin::{Begun, TurnTime};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

crate::prompt!(
    /// Asks for a usable reply after one that was not.
    Clarify, "kernel/clarify.md" {
        /// What was wrong.
        error: Data,
        /// The beginning of the unusable reply.
        answer: Data,
    }
);

pub(crate) struct Exchange<'a> {
    debate: &'a Debate,
    step: &'a Step,
    agent: &'a Agent,
    pub turn: Arc<str>,
    told: PromptSource<'a>,
    schema: &'a Schema,
    recorded: RecordedTurn,
    /// The first call, where it could begin together with the others of the round.
    begun: Option<Begun<'a>>,
    /// The agent with its own limit, where it is asked with more room and the model may refuse
    /// that.
    own_limit: Option<&'a Agent>,
}

/// What an agent is told. A prompt is the largest thing a turn holds, and thousands may wait for a
/// place at their provider.
pub(crate) enum PromptSource<'a> {
    Held(&'a Prompt),
    /// It can be made again, and is there only while it is needed.
    Made(Option<Prompt>, &'a (dyn Fn(&Agent) -> Prompt + Sync)),
}

impl PromptSource<'_> {
    /// The prompt of that agent, made again if it was put away.
    fn prompt(&mut self, agent: &Agent) -> &Prompt {
        match self {
            Self::Held(prompt) => prompt,
            Self::Made(made, make) => made.get_or_insert_with(|| make(agent)),
        }
    }

    /// Puts it away until it is asked for again.
    fn put_away(&mut self) {
        if let Self::Made(made, _) = self {
            *made = None;
        }
    }
}

/// One attempt: which, with whom, and how often that one has failed before.
#[derive(Clone)]
struct Attempt {
    number: u32,
    model: Arc<str>,
    failed_here: u32,
}

/// An attempt that brought no answer: whether it was begun, and whether anything was sent at all.
struct Failure {
    fault: Fault,
    begun: bool,
    sent: bool,
}

/// What is wrong with a reply, for the model that is asked once more and for whoever reads the
/// result.
struct Unusable {
    told: String,
    shown: String,
}

impl Unusable {
    /// A text that was cut is wrong wherever it ends: what helps is a shorter one, or more room.
    fn new(finish: Finish, problem: Unread) -> Self {
        let (told, shown) = match (finish, problem) {
            (Finish::Length, _) => (
                "It was cut off at the limit of its length, before it was complete. Write less: \
                 keep every text short."
                    .to_owned(),
                "the answer was cut off at its token limit; raise max_tokens of this \
                 agent"
                    .to_owned(),
            ),
            (Finish::Complete, Unread::Cut) => (
                "It was cut off: it ends before its JSON is complete. Write less: keep every text \
                 short, and close every bracket."
                    .to_owned(),
                "the answer was cut off before its JSON was complete".to_owned(),
            ),
            (Finish::Complete, Unread::Wrong(problem)) => (problem.clone(), problem),
        };
        Self { told, shown }
    }
}

/// How much more a judge may write whose answer was cut at a limit of ours.
const MORE_ROOM: u32 = 2;

enum Next {
    Retry(Duration),
    Fallback(Arc<str>),
    GiveUp,
}

impl<'a> Exchange<'a> {
    /// The turn of an agent at a step, with what is recorded of it.
    pub fn new(
        debate: &'a Debate,
        step: &'a Step,
        agent: &'a Agent,
        turn: Arc<str>,
        mut told: PromptSource<'a>,
        schema: &'a Schema,
    ) -> Result<Self, Stop> {
        let recorded = debate.recorded_turn(&turn, told.prompt(agent))?;
        Ok(Self {
            debate,
            step,
            agent,
            turn,
            told,
            schema,
            recorded,
            begun: None,
            own_limit: None,
        })
    }

    /// Whether its end is on record.
    pub fn is_over(&self) -> bool {
        self.recorded.completed.is_some() || self.recorded.given_up.is_some()
    }

    /// Gets a valid reply, with one clarification if need be.
    pub async fn speak<R: Reply>(
        &mut self,
        check: &Check<'static, R>,
    ) -> Result<Result<ReplyFrom<R>, Absence>, Stop> {
        let (agent, turn) = (self.agent, self.turn.clone());
        let most = self.debate.limits.reply_bytes;
        let fits = |text: &str| fits(text, most, check);
        let first = match self.reply(&fits).await? {
            Ok(reply) => reply,
            Err(fault) => return Ok(Err(absence(agent, &turn, fault.kind, &fault.message))),
        };
        self.debate.note_answer(agent, &first);
        let problem = match self.read(&first, check) {
            Ok(reply) => {
                return Ok(Ok(ReplyFrom {
                    agent: agent.name.clone(),
                    turn,
                    reply,
                }));
            }
            Err(problem) => problem,
        };
        // Boxed: few turns need it, and the others should not carry its room while they wait.
        Ok(
            match Box::pin(self.clarify(check, &first, &problem)).await? {
                Ok(reply) => Ok(ReplyFrom {
                    agent: agent.name.clone(),
                    turn,
                    reply,
                }),
                Err(still) => Err(absence(agent, &turn, FaultKind::InvalidReply, &still)),
            },
        )
    }

    /// The reply in an answer, or what is wrong with it.
    fn read<R: Reply>(
        &self,
        answer: &TurnCompleted,
        check: &Check<'static, R>,
    ) -> Result<R, Unusable> {
        read_answer(&answer.text, answer.finish, check)
            .map_err(|problem| Unusable::new(answer.finish, problem))
    }

    /// Asks once more after an unusable answer. What is still wrong then is returned in words.
    async fn clarify<R: Reply>(
        &mut self,
        check: &Check<'static, R>,
        answer: &TurnCompleted,
        problem: &Unusable,
    ) -> Result<Result<R, String>, Stop> {
        let (debate, turn) = (self.debate, format!("{}/clarify", self.turn).into());
        let begun = answer.text.chars().take(2000).collect::<String>();
        let more = Clarify {
            error: &problem.told,
            answer: &begun,
        }
        .render(debate.fence());
        let prompt = self.told.prompt(self.agent).followed_by(&more);
        let roomier = self.with_more_room(answer, &prompt);
        let asked = roomier.as_ref().unwrap_or(self.agent);
        let mut exchange = Exchange::new(
            debate,
            self.step,
            asked,
            turn,
            PromptSource::Held(&prompt),
            self.schema,
        )?;
        exchange.own_limit = roomier.is_some().then_some(self.agent);
        if !exchange.is_over() {
            debate.check_steering()?;
            let intent = exchange.begin_at_once();
            debate
                .journal
                .append(
                    intent.into_iter().collect(),
                    debate.journal.commit_before_call().await,
                )
                .await?;
        }
        let most = debate.limits.reply_bytes;
        Ok(
            match exchange.reply(&|text| fits(text, most, check)).await? {
                Ok(reply) => {
                    debate.note_answer(self.agent, &reply);
                    self.read(&reply, check).map_err(|problem| problem.shown)
                }
                Err(fault) => Err(format!(
                    "{}; then, asked to clarify: {fault}",
                    problem.shown
                )),
            },
        )
    }

    /// The agent with more room for its answer, where a limit of ours cut the last one and the
    /// budget has room for so much.
    fn with_more_room(&self, answer: &TurnCompleted, prompt: &Prompt) -> Option<Agent> {
        if answer.finish != Finish::Length {
            return None;
        }
        let model = self.debate.model(&answer.model).ok()?;
        let limit = model.answer_limit(self.agent)?;
        let roomier = Agent {
            max_tokens: Some(limit.saturating_mul(MORE_ROOM)),
            ..self.agent.clone()
        };
        let most = Amount::at_most(prompt, self.schema, &roomier, model.price());
        // What is held here is given back at once; the call holds it again.
        self.debate
            .budget
            .hold(most, self.step.is_closing)
            .is_ok()
            .then_some(roomier)
    }

    /// The recorded reply, or a new one. Faults that may pass are retried within the deadline, then
    /// others are asked.
    async fn reply(&mut self, fits: &Fits<'_>) -> Result<Result<Arc<TurnCompleted>, Fault>, Stop> {
        if let Some(reply) = &self.recorded.completed {
            return Ok(Ok(reply.clone()));
        }
        if let Some(fault) = &self.recorded.given_up {
            return Ok(Err(fault.clone()));
        }
        let mut attempt = self.first_attempt();
        let mut time = TurnTime::new(
            self.patience(&attempt.model),
            self.others_after(&attempt.model).count(),
        );
        loop {
            // All but the call itself is boxed: a turn that waits for its answer should not carry
            // the room.
            let ready = match self.begun {
                Some(_) => Ok(()),
                None => Box::pin(self.begin(&attempt, &mut time)).await?,
            };
            let asked = Instant::now();
            let failure = match ready {
                Err(fault) => Failure {
                    fault,
                    begun: false,
                    sent: false,
                },
                Ok(()) => match self.ask(&attempt, time.left(), fits).await? {
                    Ok(answer) => {
                        return Box::pin(self.complete(&attempt, answer, asked.elapsed()))
                            .await
                            .map(Ok);
                    }
                    Err(fault) => Failure {
                        begun: true,
                        sent: !fault.kind.is_before_sending(),
                        fault,
                    },
                },
            };
            let had_too_much_room = self.had_too_much_room(&failure.fault);
            attempt = match Box::pin(self.go_on(&attempt, failure, &mut time)).await? {
                Ok(following) => following,
                Err(given_up) => return Ok(Err(given_up)),
            };
            if had_too_much_room && let Some(own) = self.own_limit.take() {
                self.agent = own;
            }
        }
    }

    fn first_attempt(&self) -> Attempt {
        let known = &self.recorded;
        let number = known.failed + 1;
        let in_replay = self
            .debate
            .recording
            .as_ref()
            .and_then(|recording| recording.asked(&self.turn, number));
        let model = in_replay
            .or_else(|| known.model.clone())
            .unwrap_or_else(|| self.agent.model.clone());
        Attempt {
            number,
            failed_here: known.failed_here,
            model,
        }
    }

    /// Whether more room was asked for than the model has, as far as a refusal tells: nothing of it
    /// was paid.
    fn had_too_much_room(&self, fault: &Fault) -> bool {
        self.own_limit.is_some() && matches!(fault.kind, FaultKind::BadRequest | FaultKind::TooLong)
    }

    fn patience(&self, model: &str) -> Duration {
        let own = self
            .debate
            .model(model)
            .ok()
            .and_then(|model| model.patience());
        own.unwrap_or(Duration::from_secs(self.debate.limits.turn_seconds))
    }

    /// Who can be asked when that model cannot answer, in order.
    fn others_after(&self, model: &str) -> impl Iterator<Item = &'a str> {
        let chain = std::iter::once(&*self.agent.model)
            .chain(self.agent.fallbacks.iter().map(String::as_str));
        chain.skip_while(move |known| *known != model).skip(1)
    }

    /// What follows a failed attempt: the record in a replay, else what the fault calls for and
    /// time and limits allow.
    fn next(&self, attempt: &Attempt, failure: &Failure, time: &TurnTime) -> Next {
        let (debate, fault) = (self.debate, &failure.fault);
        if let Some(recording) = debate.recording.as_ref() {
            return match recording.asked(&self.turn, attempt.number + 1) {
                _ if !failure.sent => Next::GiveUp,
                Some(model) if model == attempt.model => Next::Retry(Duration::ZERO),
                Some(model) => Next::Fallback(model),
                None if recording.unsent(&self.turn, attempt.number + 1).is_some() => {
                    Next::Retry(Duration::ZERO)
                }
                None => Next::GiveUp,
            };
        }
        if self.had_too_much_room(fault) && !time.left().is_zero() {
            return Next::Retry(Duration::ZERO);
        }
        let tries = match fault.kind.remedy() {
            Remedy::Skip => return Next::GiveUp,
            _ if !failure.begun => 0,
            Remedy::Retry => debate.limits.attempts,
            Remedy::RetryOnce => debate.limits.attempts.min(2),
            Remedy::Fallback => 1,
        };
        let fallback = self.others_after(&attempt.model).next();
        let spared = debate.lanes.spared(&attempt.model);
        let wait = backoff(
            attempt.failed_here + 1,
            fault,
            &self.turn,
            debate.started.seed,
        )
        .max(spared.unwrap_or_default());
        // Whoever is spared is not waited for while somebody else can be asked.
        let rather_another = spared.is_some() && fallback.is_some();
        match fallback {
            _ if attempt.failed_here + 1 < tries && wait < time.left() && !rather_another => {
                Next::Retry(wait)
            }
            Some(other) if !time.left_for_all().is_zero() => Next::Fallback(other.into()),
            _ => Next::GiveUp,
        }
    }

    /// Records a failure and, unless it is given up, says who is asked next, when it is time.
    async fn go_on(
        &self,
        attempt: &Attempt,
        mut failure: Failure,
        time: &mut TurnTime,
    ) -> Result<Result<Attempt, Fault>, Stop> {
        if let Some(stop) = self
            .debate
            .recording
            .as_ref()
            .and_then(|recording| recording.stopped_after(&self.turn, attempt.number))
        {
            return Err(Stop::Stopped(stop.clone()));
        }
        let next = self.next(attempt, &failure, time);
        if !matches!(next, Next::Retry(_)) && self.debate.recording.is_none() {
            say_if_it_asks_too_much(&mut failure.fault, time.left());
        }
        let fault = self
            .record_failure(attempt, failure.fault, failure.sent, &next)
            .await?;
        let number = attempt.number + u32::from(failure.sent);
        match next {
            Next::GiveUp => Ok(Err(fault)),
            Next::Retry(wait) => {
                self.wait(wait).await?;
                Ok(Ok(Attempt {
                    number,
                    failed_here: attempt.failed_here + 1,
                    ..attempt.clone()
                }))
            }
            Next::Fallback(model) => {
                time.share(self.others_after(&model).count());
                Ok(Ok(Attempt {
                    number,
                    failed_here: 0,
                    model,
                }))
            }
        }
    }

    /// Lets time pass, unless a person ends the debate.
    async fn wait(&self, wait: Duration) -> Result<(), Stop> {
        if wait.is_zero() {
            return Ok(());
        }
        tokio::select! {
            () = self.debate.clock.sleep(wait) => Ok(()),
            () = self.debate.until_cancelled() => Err(self.debate.cancelled()),
        }
    }

    /// One call, ended by the answer, the deadline or a person.
    async fn ask(
        &mut self,
        attempt: &Attempt,
        time_left: Duration,
        fits: &Fits<'_>,
    ) -> Result<Result<Answer, Fault>, Stop> {
        let (debate, turn, deltas) = (self.debate, &*self.turn, &self.debate.deltas);
        let model = match debate.model(&attempt.model) {
            Ok(model) => model,
            Err(fault) => return Ok(Err(fault)),
        };
        // The call is looked at first below, and would leave before a cancellation is seen.
        debate.check_cancelled()?;
        let prompt = self.told.prompt(self.agent);
        let (number, agent, schema) = (attempt.number, self.agent, self.schema);
        let (id, now) = (Some(debate.id), debate.clock.now());
        let request = Request {
            debate: id,
            turn,
            attempt: number,
            agent,
            prompt,
            schema,
            fits,
            now,
            time_left,
            deltas,
        };
        let mut deadline = debate.clock.sleep(time_left);
        let result = tokio::select! {
            biased;
            answer = model.ask(request) => answer,
            () = &mut deadline => Err(Fault::new(FaultKind::Timeout, format!("no answer within {} \
                s", time_left.as_secs_f64().ceil()))),
            () = debate.until_cancelled() => return Err(debate.cancelled()),
            // Nobody can take a person's answer any more; whoever goes on with the debate asks
            // again.
            () = debate.until_left(), if is_person(&attempt.model) => return Err(Stop::Paused),
        };
        deltas.ended(turn);
        // A replay that asks for more than was recorded must not go on as if somebody were merely
        // absent.
        if let Err(fault) = &result
            && fault.kind == FaultKind::Unrecorded
        {
            return Err(Stop::Broken(fault.message.clone()));
        }
        if let Err(fault) = &result {
            // Before its place is free for the next, who would be told the same.
            debate.barred.note(&attempt.model, fault);
        }
        let (leave, hold) = self
            .begun
            .take()
            .map_or((None, None), |begun| (begun.leave, begun.hold));
        if let Some(leave) = leave {
            leave.ended(&result);
        }
        let result = self.priced(&attempt.model, self.taken(result));
        let never_left = result
            .as_ref()
            .is_err_and(|fault| fault.kind.is_before_sending());
        if let Some(hold) = hold {
            if never_left {
                hold.give_back();
                return Ok(result);
            }
            let used = match &result {
                Ok(answer) => answer.usage.as_ref(),
                Err(fault) => fault.usage.as_deref(),
            };
            let billed = result.as_ref().map_or_else(may_be_billed, |_| true);
            hold.settle(used.map(|usage| Amount::of(usage, None)), billed);
        }
        Ok(result)
    }

    /// What of an answer is taken: some text, and not too much of it.
    fn taken(&self, result: Result<Answer, Fault>) -> Result<Answer, Fault> {
        let limit = self.debate.limits.reply_bytes;
        let not_taken = |answer: Answer, kind, why: String| {
            Err(Fault {
                usage: answer.usage.map(Box::new),
                ..Fault::new(kind, why)
            })
        };
        match result {
            Ok(answer) => match no_answer(&answer.text, limit) {
                Some((kind, why)) => not_taken(answer, kind, why),
                None => Ok(answer),
            },
            Err(fault) => Err(fault),
        }
    }

    async fn complete(
        &self,
        attempt: &Attempt,
        answer: Answer,
        took: Duration,
    ) -> Result<Arc<TurnCompleted>, Stop> {
        let debate = self.debate;
        let scrub = |text: String| debate.scrubber.scrub(text);
        let completed = Arc::new(TurnCompleted {
            turn: self.turn.clone(),
            attempt: attempt.number,
            model: attempt.model.clone(),
            answered_by: answer
                .model
                .filter(|model| !attempt.model.ends_with(model.as_str()))
                .map(scrub),
            program: answer.program.map(scrub),
            text: scrub(answer.text),
            finish: answer.finish,
            usage: answer.usage,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            copied_from: None,
        });
        let place = self.step.place(Some(&self.agent.name));
        let entry = Entry {
            place,
            role: Some(self.agent.role.clone()),
            event: Event::TurnCompleted(completed.clone()),
        };
        debate
            .journal
            .append(vec![entry], Commit::default())
            .await?;
        Ok(completed)
    }

    /// Records a failure, without any secret in it, and gives it back so.
    async fn record_failure(
        &self,
        attempt: &Attempt,
        fault: Fault,
        sent: bool,
        next: &Next,
    ) -> Result<Fault, Stop> {
        let scrubber = &self.debate.scrubber;
        let fault = Fault {
            message: scrubber.scrub(fault.message),
            partial: fault.partial.map(|text| scrubber.scrub(text)),
            headroom: None,
            ..fault
        };
        let (retry, fallback) = match next {
            Next::GiveUp => (false, None),
            Next::Retry(_) => (true, None),
            Next::Fallback(model) => (true, Some(model.clone())),
        };
        let failed = TurnFailed {
            turn: self.turn.clone(),
            attempt: attempt.number,
            fault: fault.clone(),
            retry,
            unsent: !sent,
            fallback,
        };
        let entry = Entry::new(
            self.step.place(Some(&self.agent.name)),
            Event::TurnFailed(Box::new(failed)),
        );
        self.debate
            .journal
            .append(vec![entry], Commit::default())
            .await?;
        Ok(fault)
    }

    /// The same with what was used priced, where the provider did not say but its price is known.
    fn priced(&self, model: &str, result: Result<Answer, Fault>) -> Result<Answer, Fault> {
        let price = self
            .debate
            .model(model)
            .ok()
            .and_then(|model| model.price());
        let priced = |usage: Usage| Usage {
            cost_usd: usage
                .cost_usd
                .or_else(|| price.map(|price| price.of(&usage))),
            ..usage
        };
        match result {
            Ok(answer) => Ok(Answer {
                usage: answer.usage.map(priced),
                ..answer
            }),
            Err(fault) => Err(Fault {
                usage: fault.usage.map(|usage| Box::new(priced(*usage))),
                ..fault
            }),
        }
    }
}

/// Why a text is no answer at all, whatever was asked.
fn no_answer(text: &str, most: usize) -> Option<(FaultKind, String)> {
    match text.len() {
        long if long > most => Some((
            FaultKind::TooLarge,
            format!("{long} bytes, at most {most} are taken"),
        )),
        _ if text.trim().is_empty() => {
            Some((FaultKind::Empty, "the answer has no text".to_owned()))
        }
        _ => None,
    }
}

/// Says what this turn would hold against a person's text: besides what no model may say either,
/// that something would be taken otherwise.
fn fits<R: Reply>(text: &str, most: usize, check: &Check<'static, R>) -> Result<(), String> {
    match no_answer(text, most) {
        Some((_, why)) => Err(why),
        None => {
            let taken = extract(text, check)?.reply;
            let sent = serde_json::from_str::<R>(text.trim()).ok();
            sent.and_then(|sent| sent.taken_otherwise(&taken))
                .map_or(Ok(()), Err)
        }
    }
}

/// Whoever is not asked again because it wants a longer wait than there is time should be told
/// apart from one that simply failed.
fn say_if_it_asks_too_much(fault: &mut Fault, left: Duration) {
    if let Some(wait) = fault
        .retry_after_ms
        .map(Duration::from_millis)
        .filter(|wait| *wait >= left)
    {
        let (wait, left) = (wait.as_secs_f64().ceil(), left.as_secs_f64().ceil());
        fault.message.push_str(&format!(
            " (asks to wait {wait} s, and {left} s are left for it)"
        ));
    }
}

/// How long to wait before the next attempt: doubling from half a second, or longer where the
/// provider asks for it; with jitter by seed and turn, so that those refused together do not come
/// back together.
fn backoff(attempt: u32, fault: &Fault, turn: &str, seed: u64) -> Duration {
    let asked = Duration::from_millis(fault.retry_after_ms.unwrap_or(0));
    // Nobody who fails is asked again at once, whatever it says: it may say "0" for ever.
    let base = asked
        .max(Duration::from_millis(500) * 2u32.saturating_pow(attempt.saturating_sub(1)).min(64));
    let mut key = seed.to_le_bytes().to_vec();
    key.extend_from_slice(&attempt.to_le_bytes());
    key.extend_from_slice(turn.as_bytes());
    let jitter = f64::from(Hash::of(&key).0[0]) / 255.0;
    base + base.mul_f64(jitter * 0.25)
}
