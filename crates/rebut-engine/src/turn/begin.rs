//! The beginning of a call: room in the budget, leave of the provider's lane, and the intent on
//! record before anything is sent.

use super::{Attempt, Exchange};
use crate::{
    budget::{Amount, Hold},
    error::Stop,
    event::{Event, TurnStarted},
    family::is_person,
    journal::{Commit, Entry},
    model::{Fault, FaultKind},
    rate_limit::{Call, Hindrance, Leave, provider_of},
};
use std::time::Duration;
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

pub(super) struct Begun<'a> {
    pub leave: Option<Leave<'a>>,
    pub hold: Option<Hold<'a>>,
}

impl Begun<'_> {
    /// Its intent is on record: from now on it counts as made.
    fn sent(mut self) -> Self {
        if let Some(hold) = &mut self.hold {
            hold.sent();
        }
        self
    }
}

impl<'a> Exchange<'a> {
    /// Begins the first call if nothing stands in its way, so that a round's intents are one
    /// append. Whoever has to wait, or will not be asked at all, does so in its own turn.
    pub fn begin_at_once(&mut self) -> Option<Entry> {
        if self.is_over() || self.unsent(&self.first_attempt()).is_some() {
            return None;
        }
        let attempt = self.first_attempt();
        let hold = self
            .most(&attempt)
            .map(|most| self.debate.budget.hold(most, self.step.is_closing))
            .transpose();
        let Some(begun) = hold.ok().and_then(|hold| {
            Some(Begun {
                leave: self.leave(&attempt, None).ok()?,
                hold,
            })
        }) else {
            self.told.put_away();
            return None;
        };
        let intent = self.intent(&attempt, &begun);
        self.begun = Some(begun.sent());
        Some(intent)
    }

    /// Waits until the call may leave, and records that it does. A fault says why it cannot in the
    /// time there is: then nothing was sent.
    pub(super) async fn begin(
        &mut self,
        attempt: &Attempt,
        time: &mut TurnTime,
    ) -> Result<Result<(), Fault>, Stop> {
        let mut seat = None;
        loop {
            // Again after every wait: what hinders a call may have come meanwhile.
            if let Some(fault) = self.unsent(attempt) {
                return Ok(Err(fault));
            }
            let hold = self.hold(attempt, time).await?;
            self.debate.check_steering()?;
            let hindrance = match self.leave(attempt, seat.take()) {
                Ok(leave) => {
                    let begun = Begun { leave, hold };
                    let intent = self.intent(attempt, &begun);
                    self.debate
                        .journal
                        .append(vec![intent], Commit::default())
                        .await?;
                    self.begun = Some(begun.sent());
                    return Ok(Ok(()));
                }
                Err(hindrance) => hindrance,
            };
            // What is held is free for others while this one waits.
            drop(hold);
            self.told.put_away();
            match hindrance {
                Hindrance::Full => seat = Some(self.seat(attempt, time).await?),
                Hindrance::TooSoon(wait) if wait < time.left() => self.wait(wait).await?,
                Hindrance::TooSoon(wait) => return Ok(Err(too_soon(attempt, wait, time.left()))),
                Hindrance::Spared(wait, _)
                    if wait < time.left() && self.others_after(&attempt.model).next().is_none() =>
                {
                    self.wait(wait).await?;
                }
                Hindrance::Spared(_, last) => return Ok(Err(spared(attempt, &last))),
            }
        }
    }

    /// Why nothing can be sent to that model at all.
    fn unsent(&self, attempt: &Attempt) -> Option<Fault> {
        let in_replay = self
            .debate
            .recording
            .as_ref()
            .and_then(|recording| recording.unsent(&self.turn, attempt.number).cloned());
        in_replay
            .or_else(|| self.debate.barred.why(&attempt.model))
            .or_else(|| match self.debate.model(&attempt.model) {
                Ok(model) => model.hindrance(&self.turn, self.agent),
                Err(fault) => Some(fault),
            })
    }

    /// The most a call may use; `None` where nothing is capped.
    fn most(&mut self, attempt: &Attempt) -> Option<Amount> {
        if !self.debate.budget.is_capped() {
            return None;
        }
        let price = self
            .debate
            .model(&attempt.model)
            .ok()
            .and_then(|model| model.price());
        Some(Amount::at_most(
            self.told.prompt(self.agent),
            self.schema,
            self.agent,
            price,
        ))
    }

    /// Holds what the call may use. Waiting for others to be settled is no time of the model's.
    async fn hold(
        &mut self,
        attempt: &Attempt,
        time: &mut TurnTime,
    ) -> Result<Option<Hold<'a>>, Stop> {
        let Some(most) = self.most(attempt) else {
            return Ok(None);
        };
        let (debate, since) = (self.debate, Instant::now());
        let hold = tokio::select! {
            biased;
            hold = debate.budget.hold_or_wait(most, self.step.is_closing) => hold.map_err(Stop::Stopped)?,
            () = debate.until_cancelled() => return Err(debate.cancelled()),
        };
        time.put_off(since.elapsed());
        Ok(Some(hold))
    }

    /// The provider's leave. A replay needs none; nor do people, who do not share a connection and
    /// are not broken when they are away.
    fn leave(
        &mut self,
        attempt: &Attempt,
        seat: Option<OwnedSemaphorePermit>,
    ) -> Result<Option<Leave<'a>>, Hindrance> {
        if self.debate.recording.is_some() || is_person(&attempt.model) {
            return Ok(None);
        }
        self.debate.lanes.leave(&self.call(attempt), seat).map(Some)
    }

    /// Waits for a place at the provider. A queue of our own is no time of the model's.
    async fn seat(
        &mut self,
        attempt: &Attempt,
        time: &mut TurnTime,
    ) -> Result<OwnedSemaphorePermit, Stop> {
        let (debate, since, call) = (self.debate, Instant::now(), self.call(attempt));
        let seat = tokio::select! {
            biased;
            seat = debate.lanes.seat(&call) => seat,
            () = debate.until_cancelled() => return Err(debate.cancelled()),
        };
        time.put_off(since.elapsed());
        Ok(seat)
    }

    fn call<'b>(&mut self, attempt: &'b Attempt) -> Call<'b> {
        let allowance = self
            .debate
            .model(&attempt.model)
            .map(|model| model.allowance())
            .unwrap_or_default();
        let tokens = match allowance.tokens_per_minute {
            Some(_) => {
                Amount::at_most(self.told.prompt(self.agent), self.schema, self.agent, None).tokens
            }
            None => 0,
        };
        Call {
            model: &attempt.model,
            allowance,
            tokens,
        }
    }

    /// The intent to call, as it is recorded.
    fn intent(&mut self, attempt: &Attempt, begun: &Begun<'_>) -> Entry {
        let prompt = self.told.prompt(self.agent).hash();
        // Only the first call of this run can repeat one that an earlier run left under way.
        let in_flight = std::mem::replace(&mut self.recorded.in_flight, false);
        let is_unpaid = self.recorded.model.as_deref().is_some_and(is_person);
        let started = TurnStarted {
            turn: self.turn.clone(),
            attempt: attempt.number,
            model: attempt.model.clone(),
            prompt,
            possibly_paid_twice: in_flight
                && attempt.number == self.recorded.failed + 1
                && !is_unpaid,
            held: begun.hold.as_ref().map(Hold::amount),
        };
        Entry::new(
            self.step.place(Some(&self.agent.name)),
            Event::TurnStarted(started),
        )
    }
}

fn too_soon(attempt: &Attempt, wait: Duration, left: Duration) -> Fault {
    let (provider, wait, left) = (
        provider_of(&attempt.model),
        wait.as_secs_f64().ceil(),
        left.as_secs_f64().ceil(),
    );
    Fault::new(
        FaultKind::RateLimited,
        format!(
            "not sent: {provider} may be asked again in {wait} s, and {left} s are left for it"
        ),
    )
}

fn spared(attempt: &Attempt, last: &str) -> Fault {
    Fault::new(
        FaultKind::Spared,
        format!(
            "{} failed too often just now, the last time so: {last}",
            attempt.model
        ),
    )
}

/// The time of a turn: all of it, and the share of the model that is asked now.
pub(super) struct TurnTime {
    began: Instant,
    all: Duration,
    share: Duration,
}

impl TurnTime {
    /// From now on, with so many others to ask after the first.
    pub fn new(all: Duration, others: usize) -> Self {
        let mut time = Self {
            began: Instant::now(),
            all,
            share: all,
        };
        time.share(others);
        time
    }

    /// Gives the next model an equal part of what is left: one that hangs must not use up the time
    /// of those behind it.
    pub fn share(&mut self, others: usize) {
        let models = u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1);
        self.share = self.began.elapsed() + self.left_for_all() / models;
    }

    /// What is left for the model that is asked now.
    pub fn left(&self) -> Duration {
        self.share.saturating_sub(self.began.elapsed())
    }

    /// What is left of the turn.
    pub fn left_for_all(&self) -> Duration {
        self.all.saturating_sub(self.began.elapsed())
    }

    /// Takes a wait of our own making out of the count.
    pub fn put_off(&mut self, wait: Duration) {
        self.began += wait;
    }
}
