//! Reading and writing a journal whose database may be out of reach, or its disk full, for a while:
//! whoever runs a debate waits for it, all others are told.

use crate::{
    DebateId,
    clock::Clock,
    record::Record,
    store::{Append, Claim, Pick, Picked, Store, StoreError},
};
use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The first wait for a database that cannot be used; each further one is twice as long, up to the
/// longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How long the runs of a desk wait for a database that cannot be used. They share it, since they
/// share the database: where one has waited in vain, the next does not begin to wait anew.
#[derive(Default)]
pub struct Patience {
    /// As long as it takes, where this is `None`.
    longest: Option<Duration>,
    /// Since when nothing could be read, and since when nothing could be written: on a full disk
    /// reading works, and says nothing of writing.
    reading: Failing,
    writing: Failing,
}

/// Since when something has not worked.
#[derive(Default)]
struct Failing(Mutex<Option<Instant>>);

impl Failing {
    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        // It is one value, whole at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn worked(&self) {
        *self.since() = None;
    }
}

impl Patience {
    /// Waits at most so long; `None` is as long as it takes.
    pub fn new(longest: Option<Duration>) -> Self {
        Self {
            longest,
            ..Self::default()
        }
    }

    /// A read worked: the time without one begins anew.
    fn has_read(&self) {
        self.reading.worked();
    }

    /// Something was written, or refused for a reason of its own: then reading works too.
    fn has_written(&self) {
        self.reading.worked();
        self.writing.worked();
    }

    /// How long to wait after one more failure, where `wait` would be next; `None` when it is
    /// enough.
    fn after_failure(&self, failing: &Failing, wait: Duration) -> Option<Duration> {
        let since = *failing.since().get_or_insert_with(Instant::now);
        let Some(longest) = self.longest else {
            return Some(wait);
        };
        let left = longest.saturating_sub(since.elapsed());
        (!left.is_zero()).then(|| wait.min(left))
    }
}

/// What reading and writing a journal takes.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) patience: Arc<Patience>,
}

pub(super) type Writing = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Appends. While that cannot work, the runner of the debate tries again, and finds out whether the
/// first try was written.
pub(super) fn write(means: Means, append: Append, runs: bool) -> Writing {
    if runs && means.store.may_be_unreachable() {
        let is_asked_for = append.claim == Claim::Take;
        return Box::pin(write_at_last(means, append, is_asked_for));
    }
    Box::pin(async move { means.store.append(append).await })
}

/// Appends what the runner of a debate wrote before and the store has lost, with its claim.
pub(super) fn write_again(means: Means, append: Append) -> Writing {
    Box::pin(write_at_last(means, append, false))
}

async fn write_at_last(means: Means, append: Append, is_asked_for: bool) -> Result<(), StoreError> {
    let mut is_uncertain = false;
    let mut wait = FIRST_WAIT;
    loop {
        let result = means.store.append(append.clone()).await;
        match result {
            // Whoever asks for a debate is told at once that nothing came of it; there is no run
            // yet that could wait.
            Err(StoreError::Unwritable(_) | StoreError::Busy(_))
                if is_asked_for && !is_uncertain =>
            {
                return result;
            }
            Err(error) if error.is_passing() => {
                is_uncertain |= matches!(error, StoreError::Unavailable(_));
                let Some(pause) = means.patience.after_failure(&means.patience.writing, wait)
                else {
                    return Err(error);
                };
                means.clock.sleep(pause).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            // What is there may be this very append.
            Err(conflict @ StoreError::Conflict { .. }) if is_uncertain => {
                means.patience.has_written();
                let there = load(&means, append.debate, append.after, true).await?;
                let hashes = |records: &[Record]| {
                    records
                        .iter()
                        .map(|record| record.hash)
                        .take(append.records.len())
                        .collect::<Vec<_>>()
                };
                let is_ours =
                    !append.records.is_empty() && hashes(&there) == hashes(&append.records);
                return if is_ours { Ok(()) } else { Err(conflict) };
            }
            other => {
                means.patience.has_written();
                return other;
            }
        }
    }
}

/// The records after number `after`. The runner of the debate waits for a database that cannot be
/// used.
async fn load(
    means: &Means,
    debate: DebateId,
    after: u64,
    runs: bool,
) -> Result<Vec<Record>, StoreError> {
    look(means, debate, after, runs)
        .await
        .map(|picked| picked.records)
}

/// The same, and where the journal ends.
pub(super) async fn look(
    means: &Means,
    debate: DebateId,
    after: u64,
    runs: bool,
) -> Result<Picked, StoreError> {
    let mut wait = FIRST_WAIT;
    loop {
        match means
            .store
            .pick(
                debate,
                &Pick {
                    after,
                    ..Pick::default()
                },
            )
            .await
        {
            Err(error) if runs && error.is_passing() => {
                let Some(pause) = means.patience.after_failure(&means.patience.reading, wait)
                else {
                    return Err(error);
                };
                means.clock.sleep(pause).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            other => {
                if other.is_ok() {
                    means.patience.has_read();
                }
                return other;
            }
        }
    }
}

/// The pauses between tries that change nothing: each is twice as long as the one before, up to the
/// longest.
#[derive(Default)]
pub(super) struct Backoff {
    last: Option<Duration>,
}

impl Backoff {
    /// Waits before the next try. Before the first of them it is told that there will be more.
    pub(super) async fn wait(&mut self, clock: &dyn Clock, tell: impl FnOnce()) {
        if self.last.is_none() {
            tell();
        }
        let wait = self
            .last
            .map_or(FIRST_WAIT, |last| (last * 2).min(LONGEST_WAIT));
        self.last = Some(wait);
        clock.sleep(wait).await;
    }
}
