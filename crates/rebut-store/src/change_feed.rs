//! Noticing what other processes appended: every event has a number in the file, and those we did
//! not write are theirs. A file that was restored in place counts anew; then anything may have
//! changed.

use crate::{
    failed,
    readers::{Reader, Readers},
    rows,
};
use rebut_engine::{
    DebateId,
    store::{Changed, StoreError},
};
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

const PAUSE: Duration = Duration::from_millis(100);

/// Stretches of our own numbers to remember. Forgetting one only reports a debate too many.
const MOST_RANGES: usize = 4096;

/// How far a file has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Changes when the file is restored from a copy, and seldom otherwise: the version of its
    /// schema.
    pub(crate) schema: i64,
    /// The number of the event written last, even if it was removed since.
    pub(crate) last: i64,
}

/// What is known about changes by others.
pub(crate) struct Elsewhere {
    state: Mutex<State>,
    news: Notify,
}

struct State {
    /// Events up to here have been looked at.
    seen: Position,
    /// First and last numbers of what we committed since, in order.
    own: Vec<(i64, i64)>,
    /// Those of a commit of ours of which nobody knows yet whether it happens. If it does not,
    /// another process may be given the same numbers.
    under_way: Option<(i64, i64)>,
    changed: BTreeSet<DebateId>,
    /// Nor is this: the file went back, so that nobody knows what changed.
    went_back: bool,
}

impl Elsewhere {
    /// Reports what others write after that position.
    pub(crate) fn new(seen: Position) -> Self {
        let state = State {
            seen,
            own: Vec::new(),
            under_way: None,
            changed: BTreeSet::new(),
            went_back: false,
        };
        Self {
            state: Mutex::new(state),
            news: Notify::new(),
        }
    }

    /// Notes numbers of a commit of our own. To be called before it makes them visible.
    pub(crate) fn begins(&self, first: i64, last: i64) {
        self.state().under_way = Some((first, last));
    }

    /// Notes what came of that commit.
    pub(crate) fn ended(&self, committed: bool) {
        let mut state = self.state();
        let Some((first, last)) = state.under_way.take().filter(|_| committed) else {
            return;
        };
        let own = &mut state.own;
        match own.last_mut() {
            Some(range) if range.1 + 1 == first => range.1 = last,
            _ => own.push((first, last)),
        }
        if own.len() > MOST_RANGES {
            own.drain(..MOST_RANGES / 2);
        }
    }

    pub(crate) async fn changed(&self) -> Changed {
        loop {
            let news = self.news.notified();
            if let Some(changed) = self.state().fetch() {
                return changed;
            }
            news.await;
        }
    }

    /// Looks once for events that are not ours; whether it could be told of all whose they are.
    fn look(&self, connection: &Connection) -> rusqlite::Result<bool> {
        // What was committed before is in what is read now, unless the file went back.
        let committed = self.state().committed();
        // Only reads, and all from what is committed now; when it is dropped, it is over.
        let moment = connection.unchecked_transaction()?;
        let position = rows::position(&moment)?;
        let Passed { gaps, whole } = self.state().pass(committed, position);
        for (first, last) in gaps {
            let debates = rows::debates_between(&moment, first, last)?;
            self.state().changed.extend(debates);
        }
        if self.state().has_news() {
            self.news.notify_waiters();
        }
        Ok(whole)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one look at the file found.
#[derive(Debug, PartialEq, Eq)]
struct Passed {
    /// First and last numbers of events that others wrote.
    gaps: Vec<(i64, i64)>,
    /// Whether nothing is left that has to be looked at again.
    whole: bool,
}

impl State {
    /// The last number that is known to be taken.
    fn committed(&self) -> i64 {
        self.own
            .iter()
            .map(|own| own.1)
            .fold(self.seen.last, i64::max)
    }

    /// Moves on to a position and says which stretches on the way are not ours; `committed` was
    /// known before that position was read.
    fn pass(&mut self, committed: i64, position: Position) -> Passed {
        if position.schema != self.seen.schema || position.last < committed {
            // Numbers mean other events now.
            self.seen = position;
            self.own.clear();
            self.changed.clear();
            self.went_back = true;
            return Passed {
                gaps: Vec::new(),
                whole: true,
            };
        }
        let last = self
            .under_way
            .map_or(position.last, |(first, _)| position.last.min(first - 1));
        let mut gaps = Vec::new();
        let mut next = self.seen.last + 1;
        for &(own_first, own_last) in self.own.iter().take_while(|own| own.0 <= last) {
            if next < own_first {
                gaps.push((next, own_first - 1));
            }
            next = next.max(own_last + 1);
        }
        if next <= last {
            gaps.push((next, last));
        }
        self.seen.last = self.seen.last.max(last);
        self.own.retain(|own| own.1 > last);
        Passed {
            gaps,
            whole: last == position.last,
        }
    }

    fn has_news(&self) -> bool {
        self.went_back || !self.changed.is_empty()
    }

    fn fetch(&mut self) -> Option<Changed> {
        if mem::take(&mut self.went_back) {
            // Whatever else is known of is among it.
            self.changed.clear();
            return Some(Changed::Anything);
        }
        let changed = mem::take(&mut self.changed);
        (!changed.is_empty()).then(|| Changed::These(changed.into_iter().collect()))
    }
}

/// The thread that looks. Ends when dropped.
pub(crate) struct Watcher {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts looking through connections of these readers.
    pub(crate) fn start(
        readers: Arc<Readers>,
        elsewhere: Arc<Elsewhere>,
    ) -> Result<Self, StoreError> {
        let (stop, stopped) = channel();
        let run = move || watch(&readers, &elsewhere, &stopped);
        let thread = thread::Builder::new()
            .name("rebut-watch".to_owned())
            .spawn(run);
        let thread = thread.map_err(|error| failed("starting the watcher's thread", error))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
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

/// Looks until it is stopped. What could not be looked at is looked at later: the numbers of events
/// tell what was missed.
fn watch(readers: &Readers, elsewhere: &Elsewhere, stopped: &Receiver<()>) {
    loop {
        if let Ok(mut reader) = readers.take()
            && look(&mut reader, elsewhere).is_ok()
        {
            // Not kept until the next time: whoever has one keeps the log open.
            readers.put_back(reader);
        }
        if stopped.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn look(reader: &mut Reader, elsewhere: &Elsewhere) -> rusqlite::Result<()> {
    // Cheap, and enough to tell that nobody committed anything. Each connection counts by itself.
    let version = rows::data_version(reader)?;
    if reader.looked_at != Some(version) {
        let whole = elsewhere.look(reader)?;
        reader.looked_at = whole.then_some(version);
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
            // Committed after the position was read.
            (&[(11, 14)], 10, &[]),
        ];
        for (own, last, theirs) in cases {
            let elsewhere = after(10);
            own.iter()
                .for_each(|&(first, last)| wrote(&elsewhere, first, last));
            let look = || elsewhere.state().pass(10, at(*last)).gaps;
            assert_eq!(
                (look(), look()),
                (theirs.to_vec(), Vec::new()),
                "{own:?} {last}, and again"
            );
        }
        let elsewhere = after(0);
        wrote(&elsewhere, 1, 5);
        assert_eq!(elsewhere.state().pass(0, at(3)).gaps, []);
        assert_eq!(
            elsewhere.state().pass(0, at(6)).gaps,
            [(6, 6)],
            "the rest of a stretch stays ours"
        );
    }

    #[test]
    fn numbers_of_a_commit_are_ours_only_if_it_happened() {
        for (committed, theirs) in [(true, &[(12, 12)][..]), (false, &[(11, 12)])] {
            let elsewhere = after(10);
            elsewhere.begins(11, 11);
            let undecided = elsewhere.state().pass(10, at(11));
            assert_eq!(
                undecided,
                Passed {
                    gaps: Vec::new(),
                    whole: false
                },
                "it may be of somebody else, whose number it became"
            );
            elsewhere.ended(committed);
            assert_eq!(
                elsewhere.state().pass(10, at(12)),
                Passed {
                    gaps: theirs.to_vec(),
                    whole: true
                },
                "{committed}"
            );
        }
    }

    #[test]
    fn a_file_that_went_back_counts_anew() {
        let restored = |last| Position { schema: 2, last };
        // Fewer events than were seen, fewer than were committed, as many again.
        for position in [at(9), at(11), restored(10), restored(40)] {
            let elsewhere = after(10);
            wrote(&elsewhere, 11, 12);
            let mut state = elsewhere.state();
            let committed = state.committed();
            assert_eq!(
                state.pass(committed, position),
                Passed {
                    gaps: Vec::new(),
                    whole: true
                },
                "{position:?}"
            );
            assert_eq!(
                (state.fetch(), state.fetch()),
                (Some(Changed::Anything), None),
                "{position:?}"
            );
            let (committed, next) = (
                state.committed(),
                Position {
                    last: position.last + 1,
                    ..position
                },
            );
            assert_eq!(
                state.pass(committed, next).gaps,
                [(next.last, next.last)],
                "{position:?}: no number of before is ours"
            );
        }
    }

    fn at(last: i64) -> Position {
        Position { schema: 1, last }
    }

    fn after(last: i64) -> Elsewhere {
        Elsewhere::new(at(last))
    }

    fn wrote(elsewhere: &Elsewhere, first: i64, last: i64) {
        elsewhere.begins(first, last);
        elsewhere.ended(true);
    }
}
