//! Noticing what other processes appended: every event has a number in the file, and those we did not write are theirs.

use crate::{
    failed,
    readers::{Reader, Readers},
    rows,
};
use rebut_engine::{DebateId, store::StoreError};
use rusqlite::Connection;
use std::{
    collections::BTreeSet,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::sync::Notify;

/// How often to look.
const PAUSE: Duration = Duration::from_millis(100);

/// Stretches of our own numbers to remember. Forgetting one only reports a debate too many.
const MOST_RANGES: usize = 4096;

/// What is known about changes by others.
pub(crate) struct Elsewhere {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    /// The last number looked at.
    seen: i64,
    /// First and last numbers of what we wrote since, in order.
    own: Vec<(i64, i64)>,
    /// Not fetched yet.
    changed: BTreeSet<DebateId>,
}

impl Elsewhere {
    /// Everything after number `seen` counts.
    pub(crate) fn new(seen: i64) -> Self {
        Self { state: Mutex::new(State { seen, ..State::default() }), news: Notify::new() }
    }

    /// Notes numbers of our own. To be called before the commit that makes them visible.
    pub(crate) fn wrote(&self, first: i64, last: i64) {
        let own = &mut self.state().own;
        match own.last_mut() {
            Some(range) if range.1 + 1 == first => range.1 = last,
            _ => own.push((first, last)),
        }
        if own.len() > MOST_RANGES {
            own.drain(..MOST_RANGES / 2);
        }
    }

    /// Waits for news.
    pub(crate) async fn changed(&self) -> Vec<DebateId> {
        loop {
            let news = self.news.notified();
            {
                let mut state = self.state();
                if !state.changed.is_empty() {
                    return mem::take(&mut state.changed).into_iter().collect();
                }
            }
            news.await;
        }
    }

    /// Looks once for events that are not ours.
    fn look(&self, connection: &Connection) -> rusqlite::Result<()> {
        let last = rows::last_event(connection)?;
        let gaps = self.state().pass(last);
        for (first, last) in gaps {
            let debates = rows::debates_between(connection, first, last)?;
            self.state().changed.extend(debates);
        }
        if !self.state().changed.is_empty() {
            self.news.notify_waiters();
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Moves on to number `last` and says which stretches on the way are not ours.
    fn pass(&mut self, last: i64) -> Vec<(i64, i64)> {
        let mut gaps = Vec::new();
        let mut next = self.seen + 1;
        for &(own_first, own_last) in self.own.iter().take_while(|own| own.0 <= last) {
            if next < own_first {
                gaps.push((next, own_first - 1));
            }
            next = next.max(own_last + 1);
        }
        if next <= last {
            gaps.push((next, last));
        }
        self.seen = self.seen.max(last);
        self.own.retain(|own| own.1 > last);
        gaps
    }
}

/// The thread that looks. Ends when dropped.
pub(crate) struct Watcher {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts looking through a connection of these readers.
    pub(crate) fn start(readers: Arc<Readers>, elsewhere: Arc<Elsewhere>) -> Result<Self, StoreError> {
        let first = readers.open()?;
        let (stop, stopped) = channel();
        let run = move || watch(&readers, first, &elsewhere, &stopped);
        let thread = thread::Builder::new().name("rebut-watch".to_owned()).spawn(run);
        let thread = thread.map_err(|error| failed("starting the watcher's thread", error))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It panicked: that was already shown, and there is nothing left to save.
            let _ = thread.join();
        }
    }
}

/// Looks until it is stopped. What could not be looked at is looked at later: the numbers of events tell
/// what was missed.
fn watch(readers: &Readers, first: Reader, elsewhere: &Elsewhere, stopped: &Receiver<()>) {
    let mut reader = Some(first);
    let mut known = None;
    loop {
        let opened = reader.take().filter(|_| !readers.are_closed()).map_or_else(|| readers.open(), Ok);
        if let Ok(opened) = opened
            && look(&opened, elsewhere, &mut known).is_ok()
        {
            reader = Some(opened);
        } else {
            // Another connection counts versions anew.
            known = None;
        }
        if stopped.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn look(connection: &Connection, elsewhere: &Elsewhere, known: &mut Option<i64>) -> rusqlite::Result<()> {
    // Cheap, and enough to tell that nobody committed anything.
    let version = rows::data_version(connection)?;
    if *known != Some(version) {
        elsewhere.look(connection)?;
        *known = Some(version);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_between_ours_are_theirs() {
        // (ours, last) → theirs, starting after 10.
        type Ranges = &'static [(i64, i64)];
        let cases: &[(Ranges, i64, Ranges)] = &[
            (&[], 10, &[]),
            (&[], 12, &[(11, 12)]),
            (&[(11, 12)], 12, &[]),
            (&[(11, 12), (13, 20)], 20, &[]),
            (&[(12, 12), (15, 16)], 18, &[(11, 11), (13, 14), (17, 18)]),
            // Noted, but not committed yet.
            (&[(11, 14)], 10, &[]),
        ];
        for (own, last, theirs) in cases {
            let elsewhere = Elsewhere::new(10);
            own.iter().for_each(|&(first, last)| elsewhere.wrote(first, last));
            assert_eq!(elsewhere.state().pass(*last), *theirs, "{own:?} {last}");
            assert_eq!(elsewhere.state().pass(*last), [], "{own:?} {last}, again");
        }
        let elsewhere = Elsewhere::new(0);
        elsewhere.wrote(1, 5);
        assert_eq!(elsewhere.state().pass(3), []);
        assert_eq!(elsewhere.state().pass(6), [(6, 6)], "the rest of a stretch stays ours");
    }
}
