//! Delivers what the database keeps for webhooks: what is due is claimed, posted, and recorded.
//! Several servers over one database share the work; what one of them had under way when it died,
//! another repeats when its time is over.

use super::log::Log;
use crate::webhooks::posting::{Message, NotTaken, Posted, Poster};
use rebut_engine::{
    DebateId,
    outbox::{Claimed, Claiming, Database, Settled, message_id},
    store::StoreError,
};
use rebut_models::address::Address;
use rebut_server::Metrics;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{Notify, watch},
    task::{Id, JoinSet},
};

/// So many webhooks get something at a time.
const WEBHOOKS: usize = 256;

/// So many messages of one webhook are under way at a time. The next ones are taken when they are
/// answered: whoever is slow makes only itself wait.
const EACH: usize = 4;

/// How long an attempt may take altogether, with everything around it, before another server
/// repeats it.
const LEASE: Duration = Duration::from_secs(30);

/// What others appended, and what is to be tried again, is looked for so often.
const LOOK: Duration = Duration::from_secs(2);

/// What was delivered or given up can be looked at for so long.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Older ones are swept so often.
const SWEEP: Duration = Duration::from_secs(3600);

#[derive(Clone)]
pub struct Delivering {
    /// What is to be sent, and the journals it is about.
    pub database: Arc<dyn Database>,
    pub poster: Poster,
    /// How long is waited before each further attempt.
    pub waits: Arc<Waits>,
    pub metrics: Arc<Metrics>,
    pub log: Log,
    /// Something of this process may be due.
    pub wake: Arc<Notify>,
}

/// How long is waited before each further attempt, in seconds. When all are used, a message is
/// given up.
#[derive(Debug)]
pub struct Waits(pub Vec<u64>);

impl Waits {
    /// The wait after so many attempts, of which the last has just failed: at least as long as the
    /// receiver asked for, and up to a quarter longer by chance, so that what failed together does
    /// not come back together.
    fn after(&self, attempts: u32, asked: Option<Duration>, chance: f64) -> Option<Duration> {
        let at = usize::try_from(attempts).ok()?.checked_sub(1)?;
        let wait = Duration::from_secs(*self.0.get(at)?).mul_f64(1.0 + chance / 4.0);
        Some(wait.max(asked.unwrap_or_default()))
    }
}

impl Delivering {
    /// Delivers until it is told to stop; then what is under way may end.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut under_way = UnderWay::default();
        let mut swept: Option<Instant> = None;
        let mut is_away = false;
        loop {
            if swept.is_none_or(|when| when.elapsed() >= SWEEP) {
                self.told(self.database.sweep_deliveries(KEPT).await, &mut is_away);
                swept = Some(Instant::now());
            }
            let except: Vec<String> = under_way.webhooks();
            let webhooks = WEBHOOKS.saturating_sub(except.len());
            let asked = Claiming {
                except,
                webhooks,
                each: EACH,
                lease: LEASE,
            };
            for claimed in self
                .told(self.database.claim_deliveries(&asked).await, &mut is_away)
                .unwrap_or_default()
            {
                under_way.start(claimed.webhook.clone(), self.clone().deliver(claimed));
            }
            tokio::select! {
                _ = stop.wait_for(|stops| *stops) => break,
                () = self.wake.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = under_way.one_free() => {}
            }
        }
        while under_way.tasks.join_next().await.is_some() {}
    }

    /// What the database answered. That it is away is told once, and once more when it is back.
    fn told<T>(&self, answered: Result<T, StoreError>, is_away: &mut bool) -> Option<T> {
        match &answered {
            Ok(_) if *is_away => self.log.say("webhooks are looked after again", &[]),
            Err(error) if !*is_away => self
                .log
                .complain("webhooks wait", &[("why", &error.to_string())]),
            _ => {}
        }
        *is_away = answered.is_err();
        answered.ok()
    }

    /// Sends one message and records what came of it.
    async fn deliver(self, claimed: Claimed) {
        let id = message_id(claimed.debate, claimed.seq);
        let posted = match self.body(claimed.debate, claimed.seq).await {
            Ok(Some(body)) => {
                self.poster
                    .post(
                        &claimed.url,
                        Message {
                            id: &id,
                            body: &body,
                            secret: &claimed.secret,
                        },
                    )
                    .await
            }
            // The debate was removed a moment ago, and the delivery with it.
            Ok(None) => return,
            // It is there again when its time is over.
            Err(error) if error.is_passing() => return,
            Err(error) => Posted {
                came: Err(NotTaken::Unread(error.to_string())),
                within: Duration::ZERO,
            },
        };
        let came = self.judge(&posted, claimed.attempt);
        // Recorded before it is told, so that whoever reads it can rely on that.
        if let Err(error) = self.database.settle_delivery(&claimed, &came).await {
            // It is sent once more when its time is over: its name tells receivers that it is the
            // same.
            self.log.complain(
                "webhook not recorded",
                &[("message", &id), ("why", &error.to_string())],
            );
        }
        self.tell(&claimed, &posted, &came);
    }

    /// The event as a watcher is shown it; a redacted one as what is left of it.
    async fn body(&self, debate: DebateId, seq: u64) -> Result<Option<String>, StoreError> {
        let records = self.database.page(debate, seq.saturating_sub(1), 1).await?;
        let record = records.first().filter(|record| record.seq == seq);
        // Envelopes are made of strings, numbers and JSON.
        Ok(record.map(|record| {
            serde_json::to_string(&record.envelope()).expect("an envelope is always JSON")
        }))
    }

    fn judge(&self, posted: &Posted, attempt: u32) -> Settled {
        match &posted.came {
            Ok(_) => Settled::Delivered,
            Err(why) if why.is_gone() => Settled::Gone {
                why: "the receiver answered 410: it wants nothing any more".to_owned(),
            },
            Err(why) => Settled::Failed {
                why: why.to_string(),
                again: self.waits.after(attempt, why.wait(), super::chance()),
            },
        }
    }

    /// Counts and tells. Of the address only host and port: its path may hold a secret.
    fn tell(&self, claimed: &Claimed, posted: &Posted, came: &Settled) {
        let (what, result) = match came {
            Settled::Delivered => ("webhook.delivered", "delivered"),
            Settled::Failed { again: Some(_), .. } => ("webhook.failed", "failed"),
            Settled::Failed { again: None, .. } => ("webhook.given_up", "given_up"),
            Settled::Gone { .. } => ("webhook.off", "given_up"),
        };
        self.metrics.sent(result);
        let host = Address::parse(&claimed.url)
            .map(|address| address.place())
            .unwrap_or_default();
        let (debate, seq, attempt) = (
            claimed.debate.to_string(),
            claimed.seq.to_string(),
            claimed.attempt.to_string(),
        );
        let (ms, why) = (
            posted.within.as_millis().to_string(),
            posted
                .came
                .as_ref()
                .err()
                .map(NotTaken::to_string)
                .unwrap_or_default(),
        );
        let mut details = vec![
            ("webhook", &*claimed.webhook),
            ("host", &host),
            ("debate", &debate),
            ("seq", &seq),
            ("attempt", &attempt),
            ("ms", &ms),
        ];
        if posted.came.is_err() {
            details.push(("why", &why));
        }
        match came {
            Settled::Failed { again: None, .. } | Settled::Gone { .. } => {
                self.log.complain(what, &details)
            }
            _ => self.log.say(what, &details),
        }
    }
}

/// Messages under way, and whose they are.
#[derive(Default)]
struct UnderWay {
    tasks: JoinSet<()>,
    of: HashMap<Id, String>,
}

impl UnderWay {
    fn start(&mut self, webhook: String, delivery: impl Future<Output = ()> + Send + 'static) {
        let id = self.tasks.spawn(delivery).id();
        self.of.insert(id, webhook);
    }

    fn webhooks(&self) -> Vec<String> {
        self.of
            .values()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .cloned()
            .collect()
    }

    /// Waits until a webhook has nothing under way any more; for ever where none has. May be
    /// dropped and asked again.
    async fn one_free(&mut self) {
        while let Some(ended) = self.tasks.join_next_with_id().await {
            let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
            let webhook = self.of.remove(&id);
            if !self
                .of
                .values()
                .any(|other| Some(other) == webhook.as_ref())
            {
                return;
            }
        }
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end() {
        let waits = Waits(vec![5, 30]);
        let seconds = Duration::from_secs_f64;
        let rows = [
            ((1, None, 0.0), Some(seconds(5.0))),
            ((1, None, 1.0), Some(seconds(6.25))),
            ((2, None, 0.5), Some(seconds(33.75))),
            ((1, Some(seconds(2.0)), 0.0), Some(seconds(5.0))),
            ((1, Some(seconds(60.0)), 0.0), Some(seconds(60.0))),
            ((3, None, 0.0), None),
            ((3, Some(seconds(60.0)), 0.0), None),
            ((0, None, 0.0), None),
        ];
        for ((attempts, asked, chance), expected) in rows {
            assert_eq!(
                waits.after(attempts, asked, chance),
                expected,
                "{attempts} {asked:?} {chance}"
            );
        }
    }
}
