//! Reading and writing a journal whose database may be out of reach for a while: whoever runs a debate waits for it, all others are told.

use crate::{
    DebateId,
    clock::Clock,
    record::Record,
    store::{Append, Pick, Picked, Store, StoreError},
};
use std::{pin::Pin, sync::Arc, time::Duration};

/// The first wait for a database that cannot be reached; each further one is twice as long, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// An append under way.
type Writing = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Appends. While the database cannot be reached, the runner of the debate tries again, and finds out whether the first try was written.
pub(super) fn write(store: Arc<dyn Store>, clock: Arc<dyn Clock>, append: Append, runs: bool) -> Writing {
    if runs && store.may_be_unreachable() {
        return Box::pin(write_at_last(store, clock, append));
    }
    Box::pin(async move { store.append(append).await })
}

async fn write_at_last(store: Arc<dyn Store>, clock: Arc<dyn Clock>, append: Append) -> Result<(), StoreError> {
    let mut tried = false;
    let mut wait = FIRST_WAIT;
    loop {
        match store.append(append.clone()).await {
            Err(StoreError::Unavailable(_)) => {
                tried = true;
                clock.sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            // What is there may be this very append.
            Err(conflict @ StoreError::Conflict { .. }) if tried => {
                let there = load(&*store, &*clock, append.debate, append.after, true).await?;
                let hashes = |records: &[Record]| records.iter().map(|record| record.hash).take(append.records.len()).collect::<Vec<_>>();
                let is_ours = !append.records.is_empty() && hashes(&there) == hashes(&append.records);
                return if is_ours { Ok(()) } else { Err(conflict) };
            }
            other => return other,
        }
    }
}

/// The records after number `after`. The runner of the debate waits for a database that cannot be reached.
async fn load(store: &dyn Store, clock: &dyn Clock, debate: DebateId, after: u64, runs: bool) -> Result<Vec<Record>, StoreError> {
    let mut wait = FIRST_WAIT;
    loop {
        match store.load(debate, after).await {
            Err(StoreError::Unavailable(_)) if runs => {
                clock.sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            other => return other,
        }
    }
}

/// The same, and where the journal ends.
pub(super) async fn look(store: &dyn Store, clock: &dyn Clock, debate: DebateId, after: u64, runs: bool) -> Result<Picked, StoreError> {
    let mut wait = FIRST_WAIT;
    loop {
        match store.pick(debate, &Pick { after, ..Pick::default() }).await {
            Err(StoreError::Unavailable(_)) if runs => {
                clock.sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            other => return other,
        }
    }
}

/// The pauses between tries that change nothing: each is twice as long as the one before, up to the longest.
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
        let wait = self.last.map_or(FIRST_WAIT, |last| (last * 2).min(LONGEST_WAIT));
        self.last = Some(wait);
        clock.sleep(wait).await;
    }
}
