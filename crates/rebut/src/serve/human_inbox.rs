//! People as agents of a server: their turns wait until somebody answers over HTTP, or until their
//! time is over.

use rebut_engine::{
    DebateId, Desk,
    event::Event,
    model::{Answer, Fault, FaultKind, Model, Price, Request, Usage},
    schema_check::misfit,
};
use rebut_server::resolver::{Inbox, NotTaken, TurnRequest};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};

/// Every turn of this process that waits for a person.
pub struct People {
    patience: Duration,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// How many turns were asked: their order, and what tells a turn that is asked again from
    /// itself.
    asked: u64,
    turns: HashMap<DebateId, BTreeMap<u64, Turn>>,
}

/// A turn that waits, and the way to whoever looks at its answers.
struct Turn {
    request: TurnRequest,
    offers: mpsc::Sender<Offer>,
}

/// An answer that may be taken.
struct Offer {
    text: String,
    by: String,
    told: oneshot::Sender<Result<(), NotTaken>>,
}

/// So many answers may lie there unread; who comes then waits.
const UNREAD: usize = 16;

/// The most letters of a person's name.
const LONGEST_NAME: usize = 64;

impl People {
    /// Nobody is waited for yet, and each will be for so long.
    pub fn new(patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            patience,
            waiting: Mutex::default(),
        })
    }

    /// The person behind `human:NAME`. A name only tells people of one debate apart: whoever may
    /// answer may answer for each.
    pub fn open(self: &Arc<Self>, name: &str) -> Result<Person, Fault> {
        let is_name = name.len() <= LONGEST_NAME
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if !is_name {
            let why = format!(
                "a person is written human:NAME, with at most {LONGEST_NAME} letters, digits, dots \
                 and dashes"
            );
            return Err(Fault::new(FaultKind::BadRequest, why));
        }
        Ok(Person {
            people: self.clone(),
        })
    }

    /// Puts a turn where it can be answered, as long as its seat is held.
    fn seat(&self, debate: DebateId, request: TurnRequest) -> (Seat<'_>, mpsc::Receiver<Offer>) {
        let (offers, offered) = mpsc::channel(UNREAD);
        let mut waiting = self.lock();
        waiting.asked += 1;
        let number = waiting.asked;
        waiting
            .turns
            .entry(debate)
            .or_default()
            .insert(number, Turn { request, offers });
        (
            Seat {
                people: self,
                debate,
                number,
            },
            offered,
        )
    }

    /// Hands an answer to the turn that waits for it; the turn says whether it takes it.
    async fn offer(
        &self,
        debate: DebateId,
        turn: &str,
        by: &str,
        text: String,
    ) -> Result<(), NotTaken> {
        let offers = {
            let waiting = self.lock();
            let mut turns = waiting
                .turns
                .get(&debate)
                .into_iter()
                .flat_map(BTreeMap::values);
            turns
                .find(|waits| waits.request.turn == turn)
                .map(|waits| waits.offers.clone())
                .ok_or(NotTaken::Gone)?
        };
        let (told, hears) = oneshot::channel();
        offers
            .send(Offer {
                text,
                by: by.to_owned(),
                told,
            })
            .await
            .map_err(|_| NotTaken::Gone)?;
        // Whoever is not told came behind another answer, or when the time was over.
        hears.await.unwrap_or(Err(NotTaken::Gone))
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // The table is whole between any two statements that hold the lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a turn among those that wait. However its wait ends, it is given up.
struct Seat<'a> {
    people: &'a People,
    debate: DebateId,
    number: u64,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut waiting = self.people.lock();
        if let Some(turns) = waiting.turns.get_mut(&self.debate) {
            turns.remove(&self.number);
            if turns.is_empty() {
                waiting.turns.remove(&self.debate);
            }
        }
    }
}

pub struct Person {
    people: Arc<People>,
}

#[async_trait::async_trait]
impl Model for Person {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let Some(debate) = request.debate else {
            return Err(Fault::new(
                FaultKind::Unavailable,
                "people are asked in debates only",
            ));
        };
        let unusable = |error: serde_json::Error| {
            Fault::new(
                FaultKind::BadRequest,
                format!("the form of the reply is no JSON: {error}"),
            )
        };
        let schema: Value = serde_json::from_str(&request.schema.json).map_err(unusable)?;
        let (seat, mut offered) = self.people.seat(debate, shown(&request, schema.clone()));
        while let Some(Offer { text, by, told }) = offered.recv().await {
            // Whoever sent it may have gone, here and below; what was sent holds all the same.
            if let Err(why) = check(&request, &schema, &text) {
                let _ = told.send(Err(NotTaken::Wrong(why)));
                continue;
            }
            // Who looks from now on sees that it does not wait any more.
            drop(seat);
            let _ = told.send(Ok(()));
            let usage = Usage {
                cost_usd: Some(0.0),
                ..Usage::default()
            };
            return Ok(Answer {
                text,
                model: Some(format!("human:{by}")),
                usage: Some(usage),
                ..Answer::default()
            });
        }
        Err(Fault::new(
            FaultKind::Unavailable,
            "nobody can answer any more",
        ))
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }

    fn patience(&self) -> Option<Duration> {
        Some(self.people.patience)
    }
}

/// What a person is shown of a turn. Its times are of the clock that closes gates too, not of this
/// machine's own.
fn shown(request: &Request<'_>, schema: Value) -> TurnRequest {
    let now = request.now;
    let until = now
        .checked_add(request.time_left)
        .unwrap_or(jiff::Timestamp::MAX);
    TurnRequest {
        turn: request.turn.to_owned(),
        agent: request.agent.name.to_string(),
        system: request.prompt.system.to_string(),
        user: request.prompt.user.clone(),
        schema,
        asked_at: format!("{now:.3}"),
        until: format!("{until:.3}"),
    }
}

/// What is wrong with an answer: by the form that was shown, then by what the format asks of every
/// reply.
fn check(request: &Request<'_>, schema: &Value, text: &str) -> Result<(), String> {
    let reply: Value =
        serde_json::from_str(text).map_err(|error| format!("the text is not JSON: {error}"))?;
    match misfit(schema, &reply) {
        Some(why) => Err(why),
        None => (request.fits)(text),
    }
}

/// The turns that wait at a desk.
pub struct DeskInbox {
    pub people: Arc<People>,
    pub desk: Desk,
}

#[async_trait::async_trait]
impl Inbox for DeskInbox {
    async fn waiting(&self, debate: DebateId) -> Vec<TurnRequest> {
        let waiting = self.people.lock();
        waiting
            .turns
            .get(&debate)
            .into_iter()
            .flat_map(BTreeMap::values)
            .map(|turn| turn.request.clone())
            .collect()
    }

    async fn answer(
        &self,
        debate: DebateId,
        turn: &str,
        by: &str,
        text: String,
    ) -> Result<(), NotTaken> {
        self.people.offer(debate, turn, by, text).await?;
        // Only what is on record, and on the disk, survives: whoever is told that an answer was
        // taken need not send it again.
        let mut watch = self.desk.watch(debate, 0).await?;
        while let Some(record) = watch.next().await? {
            if let ("turn.completed", Ok(Some(Event::TurnCompleted(completed)))) =
                (&*record.kind, record.event())
                && *completed.turn == *turn
            {
                return Ok(self.desk.secure(debate).await?);
            }
        }
        Err(NotTaken::Unrecorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rebut_engine::{
        agent::Role,
        model::{Deltas, anything_fits},
        prompt::Prompt,
        reply::Schema,
    };

    #[test]
    fn a_person_is_shown_the_times_of_the_debates_clock() {
        let agent = Role::built_in("risk")
            .expect("a built-in role")
            .played_by("human:anna");
        let (prompt, schema, deltas) = (
            Prompt::default(),
            Schema {
                name: "x",
                json: "{}".into(),
            },
            Deltas::default(),
        );
        let request = Request {
            debate: None,
            turn: "recommend/risk",
            attempt: 1,
            agent: &agent,
            prompt: &prompt,
            schema: &schema,
            fits: &anything_fits,
            now: "2026-01-01T00:00:00Z".parse().expect("a time"),
            time_left: Duration::from_secs(90),
            deltas: &deltas,
        };
        let TurnRequest {
            asked_at, until, ..
        } = shown(&request, Value::Null);
        assert_eq!(
            (asked_at.as_str(), until.as_str()),
            ("2026-01-01T00:00:00.000Z", "2026-01-01T00:01:30.000Z")
        );
    }
}
