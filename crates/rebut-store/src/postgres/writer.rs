//! Group commit: one task owns the connection that writes. Whatever waits is written in one
//! transaction, and only then answered.

use super::{
    Node,
    leases::beat,
    link::Link,
    pool::{borrowed, value},
    probe,
    transaction::{INCOMPLETE, Refusal, transact},
    trouble,
};
use crate::transaction::Work;
use rebut_engine::store::StoreError;
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel},
        oneshot,
    },
    time::timeout,
};
use tokio_postgres::types::Type;

const BATCH: usize = 1024;
/// Most bytes of events in one transaction; a single work may have more.
const BYTES: usize = 16 << 20;

/// A write as short ago says that writing works.
const FRESH: Duration = Duration::from_secs(1);

/// The way to the writing task. Once it is dropped, the task finishes what was sent.
pub(super) struct Writer {
    jobs: UnboundedSender<Job>,
}

enum Job {
    /// Something to write, and who waits for it.
    Write(Box<Work>, Answer),
    /// Find out whether anything can be written.
    Check(Answer),
    /// Renew all leases of this node.
    Renew,
}

type Answer = oneshot::Sender<Result<(), StoreError>>;

impl Writer {
    pub(super) fn start(node: Arc<Node>, link: Link) -> Self {
        let (jobs, waiting) = unbounded_channel();
        tokio::spawn(
            Desk {
                node,
                link: Some(link),
                wrote: None,
                is_full: false,
                broke: false,
            }
            .run(waiting),
        );
        Self { jobs }
    }

    /// Hands over one work and waits for its commit.
    pub(super) async fn work(&self, work: Work) -> Result<(), StoreError> {
        self.send(|answer| Job::Write(Box::new(work), answer)).await
    }

    /// Fails where nothing can be written now.
    pub(super) async fn check(&self) -> Result<(), StoreError> {
        self.send(Job::Check).await
    }

    /// The way for whoever renews leases.
    pub(super) fn renewing(&self) -> Renewing {
        Renewing(self.jobs.downgrade())
    }

    async fn send(&self, job: impl FnOnce(Answer) -> Job) -> Result<(), StoreError> {
        let gone = || {
            StoreError::Failed("the task that writes has ended; open the store again".to_owned())
        };
        let (answer, answered) = oneshot::channel();
        self.jobs.send(job(answer)).map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

/// Has leases renewed on the connection that writes. Does not keep the task going.
pub(super) struct Renewing(WeakUnboundedSender<Job>);

impl Renewing {
    /// As soon as nothing else is being written.
    pub(super) fn renew(&self) {
        if let Some(jobs) = self.0.upgrade() {
            // A task that has ended has let go of its leases.
            let _ = jobs.send(Job::Renew);
        }
    }
}

/// Why a transaction did not happen, or not for sure.
enum Trouble {
    /// Nothing was written, and another transaction with fewer works might be.
    Spoiled(StoreError),
    /// Nothing was written, and nothing would be now.
    Unwritable(StoreError),
    /// The database cannot be reached; whether it was written is not known.
    Away(StoreError),
}

/// What is done in one transaction.
#[derive(Clone, Copy)]
enum Doing<'a> {
    Works(&'a [Work]),
    Probe { is_large: bool },
    Renewal,
}

/// What the task has before it.
struct Desk {
    node: Arc<Node>,
    link: Option<Link>,
    /// When something was written, if nothing failed since.
    wrote: Option<Instant>,
    /// Whether there was no room for the last work that was refused. A smaller one may find some in
    /// a page of its table, so only a large probe says that there is room again.
    is_full: bool,
    /// Whether a transaction came to nobody knows what, and none of works was committed since.
    broke: bool,
}

impl Desk {
    async fn run(mut self, mut waiting: UnboundedReceiver<Job>) {
        let mut jobs = Vec::new();
        while waiting.recv_many(&mut jobs, BATCH).await > 0 {
            let (mut works, mut answers, mut checks, mut renews) =
                (Vec::new(), Vec::new(), Vec::new(), false);
            for job in jobs.drain(..) {
                match job {
                    Job::Write(work, answer) => {
                        works.push(*work);
                        answers.push(answer);
                    }
                    Job::Check(answer) => checks.push(answer),
                    Job::Renew => renews = true,
                }
            }
            if renews {
                self.renew().await;
            }
            let results = self.write(&works).await;
            // Whoever no longer waits for it still has it done.
            answers
                .into_iter()
                .zip(results)
                .for_each(|(answer, result)| drop(answer.send(result)));
            if checks.iter().any(|check| !check.is_closed()) {
                let found = self.check().await;
                checks
                    .into_iter()
                    .for_each(|check| drop(check.send(found.clone())));
            }
        }
        self.let_go().await;
    }

    /// Writes all works in as few transactions as can be: one that is spoiled by a work is halved
    /// until only that one is refused.
    async fn write(&mut self, works: &[Work]) -> Vec<Result<(), StoreError>> {
        let mut results = Vec::with_capacity(works.len());
        let mut parts = by_size(works);
        parts.reverse();
        while let Some(part) = parts.pop() {
            match self.transact(Doing::Works(part)).await {
                Ok(done) => results.extend(done),
                Err(Trouble::Spoiled(_)) if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Err(Trouble::Spoiled(error)) => results.push(Err(error)),
                Err(Trouble::Unwritable(error)) => results.resize(works.len(), Err(error)),
                Err(Trouble::Away(error)) => {
                    results.resize(results.len() + part.len(), Err(error.clone()));
                    // Nobody else of the batch would fare better now, and nothing of theirs was
                    // sent.
                    results.resize(works.len(), Err(untouched(error)));
                }
            }
            if results.len() == works.len() {
                break;
            }
        }
        results
    }

    async fn transact(&mut self, doing: Doing<'_>) -> Result<Vec<Result<(), StoreError>>, Trouble> {
        self.wrote = None;
        let link = self
            .link()
            .await
            .map_err(|error| Trouble::Unwritable(untouched(error)))?;
        if matches!(doing, Doing::Works(works) if works.iter().any(takes)) {
            self.node.runs.store(true, Ordering::Relaxed);
        }
        let words = "writing the database";
        match timeout(
            self.node.answer_within,
            transact_on(&link, &self.node, doing, self.broke),
        )
        .await
        {
            Ok(Ok(results)) => {
                (self.link, self.wrote) = (Some(link), Some(Instant::now()));
                self.broke &= !matches!(doing, Doing::Works(_));
                Ok(results)
            }
            Ok(Err(Refusal::Answered(error))) => {
                let told = trouble::of_writing(words, &error);
                self.is_full |= matches!(told, StoreError::Unwritable(_));
                // Another server may be the right one by now, so the next transaction begins with a
                // new connection.
                if !matches!(told, StoreError::Unavailable(_)) && !trouble::only_reads(&error) {
                    self.take_back(link).await;
                }
                self.broke |= matches!(told, StoreError::Unavailable(_));
                Err(match told {
                    StoreError::Unavailable(_) => Trouble::Away(told),
                    StoreError::Unwritable(_) => Trouble::Unwritable(told),
                    _ => Trouble::Spoiled(told),
                })
            }
            Ok(Err(Refusal::Incomplete)) => {
                self.take_back(link).await;
                Err(Trouble::Unwritable(StoreError::Unwritable(
                    INCOMPLETE.to_owned(),
                )))
            }
            Err(_) => {
                self.node.unanswered.leave(link);
                self.broke = true;
                Err(Trouble::Away(trouble::silent(words)))
            }
        }
    }

    /// A connection on which something may be begun.
    async fn link(&mut self) -> Result<Link, StoreError> {
        let link = match self.link.take().filter(|link| !link.is_over()) {
            Some(link) => link,
            None => self.node.address.reconnect().await?,
        };
        let unanswered = timeout(self.node.answer_within, self.node.unanswered.check(&link)).await;
        match unanswered.unwrap_or_else(|_| Err(trouble::silent("writing the database"))) {
            Ok(()) => Ok(link),
            Err(error) => {
                self.link = Some(link);
                Err(error)
            }
        }
    }

    /// Rolls a failed transaction back, and keeps the connection if that works.
    async fn take_back(&mut self, link: Link) {
        let ended = timeout(self.node.answer_within, link.batch_execute("ROLLBACK")).await;
        self.link = ended.is_ok_and(|answer| answer.is_ok()).then_some(link);
    }

    async fn check(&mut self) -> Result<(), StoreError> {
        if !self.is_full && self.wrote.is_some_and(|when| when.elapsed() < FRESH) {
            return Ok(());
        }
        match self
            .transact(Doing::Probe {
                is_large: self.is_full,
            })
            .await
        {
            Ok(_) => {
                self.is_full = false;
                Ok(())
            }
            Err(Trouble::Spoiled(error) | Trouble::Unwritable(error) | Trouble::Away(error)) => {
                Err(error)
            }
        }
    }

    /// Renews the leases, if there is a connection and anything to renew. Where that fails, the
    /// next beat is soon.
    async fn renew(&mut self) {
        let is_connected = self.link.as_ref().is_some_and(|link| !link.is_over());
        if is_connected && self.node.runs.load(Ordering::Relaxed) {
            let _ = self.transact(Doing::Renewal).await;
        }
    }

    /// Gives up what this node runs: it ends, and nobody need wait for its leases.
    async fn let_go(&mut self) {
        if !self.node.runs.load(Ordering::Relaxed) {
            return;
        }
        if let Some(link) = self.link.take() {
            let me = [value(self.node.id, Type::UUID)];
            // A lease that stays expires by itself.
            let _ = timeout(
                self.node.answer_within,
                link.execute_typed("DELETE FROM claims WHERE node = $1", &borrowed(&me)),
            )
            .await;
        }
    }
}

async fn transact_on(
    link: &Link,
    node: &Node,
    doing: Doing<'_>,
    broke: bool,
) -> Result<Vec<Result<(), StoreError>>, Refusal> {
    match doing {
        Doing::Works(works) => return transact(link, node, works, broke).await,
        Doing::Probe { is_large } => probe::write(link, is_large).await?,
        Doing::Renewal => {
            link.batch_execute("BEGIN; SET LOCAL synchronous_commit = local")
                .await?;
            beat(link, node).await?;
            link.batch_execute("COMMIT").await?;
        }
    }
    Ok(Vec::new())
}

/// The same where nothing was sent to the server: then it is known that nothing was written.
fn untouched(error: StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(why) => StoreError::Unwritable(why),
        other => other,
    }
}

fn takes(work: &Work) -> bool {
    matches!(work, Work::Append(append) if append.claim == rebut_engine::store::Claim::Take)
}

/// Parts in order, none larger than a transaction should be.
fn by_size(works: &[Work]) -> Vec<&[Work]> {
    let mut parts = Vec::new();
    if works.is_empty() {
        return parts;
    }
    let (mut first, mut bytes) = (0, 0);
    for (at, work) in works.iter().enumerate() {
        let more = size(work);
        if at > first && bytes + more > BYTES {
            parts.push(&works[first..at]);
            (first, bytes) = (at, 0);
        }
        bytes += more;
    }
    parts.push(&works[first..]);
    parts
}

fn size(work: &Work) -> usize {
    match work {
        Work::Append(append) | Work::Redact(_, append) => {
            append.records.iter().map(|record| record.data.len()).sum()
        }
        Work::Remove(_) => 0,
    }
}
