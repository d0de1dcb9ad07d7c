//! Group commit: one task owns the connection that writes. Whatever waits is written in one transaction, and only then answered.

use super::{
    Node,
    pool::{LONGEST, borrowed, value},
    transaction::transact,
    trouble,
};
use crate::ledger::Work;
use rebut_engine::store::StoreError;
use std::sync::{Arc, atomic::Ordering};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    time::timeout,
};
use tokio_postgres::{Client, types::Type};

/// Most works in one transaction.
const BATCH: usize = 1024;
/// Most bytes of events in one transaction; a single work may have more.
const BYTES: usize = 16 << 20;

/// The way to the writing task. Once it is dropped, the task finishes what was sent.
pub(super) struct Writer {
    jobs: UnboundedSender<Job>,
}

struct Job {
    work: Work,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

impl Writer {
    /// Starts the task.
    pub(super) fn start(node: Arc<Node>, client: Client) -> Self {
        let (jobs, waiting) = unbounded_channel();
        tokio::spawn(Desk { node, client: Some(client) }.run(waiting));
        Self { jobs }
    }

    /// Hands over one work and waits for its commit.
    pub(super) async fn work(&self, work: Work) -> Result<(), StoreError> {
        let gone = || StoreError::Failed("the task that writes has ended; open the store again".to_owned());
        let (answer, answered) = oneshot::channel();
        self.jobs.send(Job { work, answer }).map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

/// Why a transaction did not happen, or not for sure.
enum Trouble {
    /// Nothing was written, and another transaction with fewer works might be.
    Spoiled(StoreError),
    /// The database cannot be reached; whether it was written is not known.
    Away(StoreError),
}

/// What the task has before it.
struct Desk {
    node: Arc<Node>,
    client: Option<Client>,
}

impl Desk {
    async fn run(mut self, mut waiting: UnboundedReceiver<Job>) {
        let mut jobs = Vec::new();
        while waiting.recv_many(&mut jobs, BATCH).await > 0 {
            let (works, answers): (Vec<_>, Vec<_>) = jobs.drain(..).map(|job: Job| (job.work, job.answer)).unzip();
            let results = self.write(&works).await;
            for (answer, result) in answers.into_iter().zip(results) {
                // Whoever no longer waits for it still has it done.
                let _ = answer.send(result);
            }
        }
        self.let_go().await;
    }

    /// Writes all works in as few transactions as can be: one that is spoiled by a work is halved until only that one is refused.
    async fn write(&mut self, works: &[Work]) -> Vec<Result<(), StoreError>> {
        let mut results = Vec::with_capacity(works.len());
        let mut parts = by_size(works);
        parts.reverse();
        while let Some(part) = parts.pop() {
            match self.transact(part).await {
                Ok(done) => results.extend(done),
                Err(Trouble::Spoiled(_)) if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Err(Trouble::Spoiled(error)) => results.push(Err(error)),
                Err(Trouble::Away(error)) => {
                    // Nobody else of the batch would fare better now.
                    results.resize(works.len(), Err(error));
                    return results;
                }
            }
        }
        results
    }

    async fn transact(&mut self, works: &[Work]) -> Result<Vec<Result<(), StoreError>>, Trouble> {
        let client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.node.address.connect().await.map_err(Trouble::Away)?,
        };
        if works.iter().any(takes) {
            self.node.runs.store(true, Ordering::Relaxed);
        }
        let doing = "writing the database";
        match timeout(LONGEST, transact(&client, &self.node, works)).await {
            Ok(Ok(results)) => {
                self.client = Some(client);
                Ok(results)
            }
            Ok(Err(error)) => match trouble::of(doing, &error) {
                // Another server may be the right one by now, so the next transaction begins with a new connection.
                away @ StoreError::Unavailable(_) => Err(Trouble::Away(away)),
                spoiled => {
                    self.client = client.batch_execute("ROLLBACK").await.is_ok().then_some(client);
                    Err(Trouble::Spoiled(spoiled))
                }
            },
            Err(_) => Err(Trouble::Away(trouble::silent(doing))),
        }
    }

    /// Gives up what this node runs: it ends, and nobody need wait for its leases.
    async fn let_go(&mut self) {
        if !self.node.runs.load(Ordering::Relaxed) {
            return;
        }
        if let Some(client) = self.client.take() {
            let me = [value(self.node.id, Type::UUID)];
            // A lease that stays expires by itself.
            let _ = timeout(LONGEST, client.execute_typed("DELETE FROM claims WHERE node = $1", &borrowed(&me))).await;
        }
    }
}

fn takes(work: &Work) -> bool {
    matches!(work, Work::Append(append) if append.claim == rebut_engine::store::Claim::Take)
}

/// Parts in order, none larger than a transaction should be.
fn by_size(works: &[Work]) -> Vec<&[Work]> {
    let mut parts = Vec::new();
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
        Work::Append(append) | Work::Redact(_, append) => append.records.iter().map(|record| record.data.len()).sum(),
        Work::Remove(_) => 0,
    }
}
