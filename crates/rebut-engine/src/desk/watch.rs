//! Watching: the journal's tail, live or afterwards, from any event on.

use super::Desk;
use crate::{DebateId, error::DeskError, record::Record};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch as channel;

/// The events of one debate, one after the other, until it ends or is left.
pub struct Watch {
    desk: Desk,
    id: DebateId,
    seen: u64,
    /// The number of the last event when it began.
    known: u64,
    waiting: VecDeque<Record>,
    grown: Option<channel::Receiver<u64>>,
    elsewhere: channel::Receiver<u64>,
    over: bool,
    /// Whether it ran here and does not any more: then nothing more comes, whatever its last event is.
    gone: bool,
}

impl Desk {
    /// Watches a debate from the event after number `after`.
    pub async fn watch(&self, id: DebateId, after: u64) -> Result<Watch, DeskError> {
        self.listen_elsewhere();
        let grown = self.inner.live().get(&id).map(|live| live.journal.grown());
        let elsewhere = self.inner.watched.listen(id);
        let (seen, waiting): (Vec<Record>, VecDeque<Record>) = {
            let mut records = self.records(id).await?;
            let rest = records.split_off(records.iter().take_while(|record| record.seq <= after).count());
            (records, rest.into())
        };
        let over = seen.iter().fold(false, is_over);
        let known = waiting.back().or(seen.last()).map_or(0, |record| record.seq);
        Ok(Watch { desk: self.clone(), id, seen: after, known, waiting, grown, elsewhere, over, gone: false })
    }
}

/// Who waits for what other processes append, by debate: one that grows wakes only its own watchers.
#[derive(Default)]
pub(super) struct Watched(Mutex<HashMap<DebateId, channel::Sender<u64>>>);

impl Watched {
    fn listen(&self, id: DebateId) -> channel::Receiver<u64> {
        let mut all = self.lock();
        if all.len() >= all.capacity() {
            // Growing is the moment to forget those that nobody listens to any more.
            all.retain(|_, ticks| !ticks.is_closed());
        }
        all.entry(id).or_insert_with(|| channel::Sender::new(0)).subscribe()
    }

    /// Wakes everybody who watches a debate.
    pub(super) fn tell(&self, id: DebateId) {
        if let Some(ticks) = self.lock().get(&id) {
            ticks.send_modify(|tick| *tick += 1);
        }
    }

    /// Every debate that somebody watches.
    pub(super) fn ids(&self) -> Vec<DebateId> {
        self.lock().iter().filter(|(_, ticks)| !ticks.is_closed()).map(|(id, _)| *id).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<DebateId, channel::Sender<u64>>> {
        // The map is whole between any two statements that hold the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a debate is over after one more event.
fn is_over(before: bool, record: &Record) -> bool {
    match &*record.kind {
        "debate.completed" | "debate.paused" => true,
        "debate.resumed" => false,
        _ => before,
    }
}

impl Watch {
    /// The number of the last event there was when it began.
    pub fn head(&self) -> u64 {
        self.known
    }

    /// Whether the debate has ended or was left, and everything was seen.
    pub fn is_over(&self) -> bool {
        self.over && self.waiting.is_empty()
    }

    /// The next event; `None` when the debate has ended or was left and everything was seen.
    pub async fn next(&mut self) -> Result<Option<Record>, DeskError> {
        loop {
            if let Some(record) = self.waiting.pop_front() {
                self.seen = record.seq;
                self.over = is_over(self.over, &record);
                return Ok(Some(record));
            }
            match &mut self.grown {
                Some(grown) => grown.mark_unchanged(),
                // It may have been gone on with here since.
                None => self.grown = self.desk.inner.live().get(&self.id).map(|live| live.journal.grown()),
            }
            self.elsewhere.mark_unchanged();
            self.waiting.extend(self.desk.inner.store.load(self.id, self.seen).await?);
            if !self.waiting.is_empty() {
                continue;
            }
            if self.over || self.gone {
                return Ok(None);
            }
            self.wait().await?;
        }
    }

    async fn wait(&mut self) -> Result<(), DeskError> {
        let Some(grown) = &mut self.grown else {
            let stopped = self.elsewhere.changed().await.is_err();
            return if stopped { Err(DeskError::WrongState("the desk was closed".to_owned())) } else { Ok(()) };
        };
        tokio::select! {
            // A run that ends without a last event (its journal could not be written) leaves what is there, and that is all.
            changed = grown.changed() => self.gone = changed.is_err(),
            _ = self.elsewhere.changed() => {}
        }
        Ok(())
    }
}
