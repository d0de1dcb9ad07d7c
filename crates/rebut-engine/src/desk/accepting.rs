//! What was accepted is done: work that changes something ends whether or not its caller waits, and
//! debates that this process has claimed and does not run are found.

use super::{Desk, Inner};
use crate::{DebateId, error::DeskError};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::Ordering},
};
use tokio::sync::watch as channel;

/// Does something in a task of its own. The caller only waits for word of it, and may stop waiting:
/// it is done all the same.
pub(super) async fn apart<T: Send + 'static>(
    work: impl Future<Output = Result<T, DeskError>> + Send + 'static,
) -> Result<T, DeskError> {
    match tokio::spawn(work)
        .await
        .map_err(tokio::task::JoinError::try_into_panic)
    {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => Err(DeskError::WrongState("this process is ending".to_owned())),
    }
}

/// Debates to which something is being done here, and how many times each.
pub(super) type Marked = channel::Sender<HashMap<DebateId, usize>>;

fn mark(all: &Marked, id: DebateId) {
    all.send_modify(|all| *all.entry(id).or_default() += 1);
}

fn unmark(all: &Marked, id: DebateId) {
    all.send_modify(|all| match all.get(&id).map_or(0, |count| count - 1) {
        0 => drop(all.remove(&id)),
        left => drop(all.insert(id, left)),
    });
}

/// A debate that is being begun or taken up here, until it runs or turned out not to.
pub(super) struct Beginning {
    inner: Arc<Inner>,
    id: DebateId,
}

impl Beginning {
    /// From before its claim is written: whoever looks for claims without a run must not find it.
    pub(super) fn of(inner: &Arc<Inner>, id: DebateId) -> Self {
        mark(&inner.begun, id);
        Self {
            inner: inner.clone(),
            id,
        }
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        unmark(&self.inner.begun, self.id);
    }
}

/// A debate that is being given up here, until that is done.
struct GivingUp {
    inner: Arc<Inner>,
    id: DebateId,
}

impl GivingUp {
    fn of(inner: &Arc<Inner>, id: DebateId) -> Self {
        mark(&inner.given_up, id);
        Self {
            inner: inner.clone(),
            id,
        }
    }
}

impl Drop for GivingUp {
    fn drop(&mut self) {
        unmark(&self.inner.given_up, self.id);
    }
}

impl Inner {
    /// Waits until a debate is not being given up here.
    pub(super) async fn not_given_up(&self, id: DebateId) {
        // The other end lives as long as this.
        let _ = self
            .given_up
            .subscribe()
            .wait_for(|all| !all.contains_key(&id))
            .await;
    }

    /// From now on whatever begins here leaves at once.
    pub(super) fn leave(&self) {
        self.leaving.store(true, Ordering::SeqCst);
    }

    /// Whether this process lets go of its debates.
    pub(super) fn leaves(&self) -> bool {
        self.leaving.load(Ordering::SeqCst)
    }

    /// Waits until nothing is being begun here.
    pub(super) async fn all_begun(&self) {
        // The other end lives as long as this.
        let _ = self.begun.subscribe().wait_for(HashMap::is_empty).await;
    }

    /// Debates that run here or are about to.
    fn occupied(&self) -> HashSet<DebateId> {
        // In this order: one that is about to run is listed as such until it runs.
        let mut occupied: HashSet<DebateId> = self.begun.borrow().keys().copied().collect();
        occupied.extend(self.live().keys().copied());
        occupied
    }
}

impl Desk {
    /// Debates that are recorded as running, that this process has claimed and does not run, the
    /// oldest first: their runs ended without a word, e.g. since the database could not be read.
    /// One whose run crashed here is left alone for a while.
    pub async fn stranded(&self) -> Result<Vec<DebateId>, DeskError> {
        // Looked at before and after: one that began or ended meanwhile is not stranded.
        let before = self.inner.occupied();
        let mut held = self.inner.store.held_here().await?;
        let after = self.inner.occupied();
        let crashed = self.inner.crashed();
        held.retain(|id| !before.contains(id) && !after.contains(id) && !crashed.contains_key(id));
        Ok(held)
    }

    /// Gives up a debate that cannot be run here, and keeps the reason until somebody runs it.
    pub async fn give_up(&self, id: DebateId, why: &str) -> Result<(), DeskError> {
        // Before looking: whoever takes it up looks after saying so. One of both sees the other, so
        // that the claim of a run that has just begun is never given up.
        let giving_up = GivingUp::of(&self.inner, id);
        if self.inner.occupied().contains(&id) {
            return Err(DeskError::WrongState(format!(
                "debate {} runs here; it is not given up",
                id.short()
            )));
        }
        let (store, why) = (self.inner.store.clone(), why.to_owned());
        apart(async move {
            let _giving_up = giving_up;
            Ok(store.give_up(id, &why).await?)
        })
        .await
    }

    /// Of these debates, those that were given up, each with the reason.
    pub async fn given_up(&self, ids: &[DebateId]) -> Result<HashMap<DebateId, String>, DeskError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        Ok(self.inner.store.given_up(ids).await?.into_iter().collect())
    }
}
