//! Watching: the journal's tail, live or afterwards, from any event on.

use super::{Desk, Inner, run::leave, steer::GIVING_UP};
use crate::{
    DebateId,
    clean::on_one_line,
    error::{DeskError, Stop},
    journal::{Entry, Journal},
    observer::Observer,
    record::{Hash, Record},
    store::{Pick, Picked, StoreError},
};
use futures_util::{FutureExt, future::BoxFuture};
use std::{
    any::Any,
    collections::{HashMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::watch as channel, time::Instant};

/// Events that a watcher reads at once, and holds at most: one that is far behind, or slow, does
/// not hold the journal.
const AT_ONCE: usize = 64;

/// The kinds of events after which a debate stands elsewhere than before.
const STANDING: [&str; 3] = ["debate.completed", "debate.paused", "debate.resumed"];

/// The events of one debate, one after the other, until it ends or is left; until it ends, for
/// whoever [waits out pauses](Watch::through_pauses).
pub struct Watch {
    desk: Desk,
    id: DebateId,
    seen: u64,
    /// The number of the last event when it began.
    known: u64,
    waiting: VecDeque<Record>,
    /// Whether there are events behind those that wait here.
    more: bool,
    /// The reading under way. It stays here while whoever asked turns to something else, and is not
    /// begun anew.
    reading: Option<Reading>,
    ticks: channel::Receiver<u64>,
    /// The hash of the last event that was given.
    last: Option<Hash>,
    /// Where the debate stands after the last event that is known; while some of those are still to
    /// be given, after the last that was.
    stands: Stands,
    through_pauses: bool,
    /// Whether it was seen running here, and whether it does not any more: then nothing more comes,
    /// whatever its last event is.
    ran: bool,
    left: bool,
}

impl Desk {
    /// Watches a debate from the event after number `after`.
    pub async fn watch(&self, id: DebateId, after: u64) -> Result<Watch, DeskError> {
        self.listen_elsewhere();
        let ticks = self.inner.ears.listen(id);
        let runs = self.inner.live().contains_key(&id);
        let Picked { records, head } = self
            .pick(
                id,
                &Pick {
                    most: Some(1),
                    from_end: true,
                    ..Pick::of(&STANDING)
                },
            )
            .await?;
        let known = head.map_or(0, |head| head.seq);
        // A run may have ended before anybody could watch it, unless somebody has gone on with the
        // debate since.
        let ran = runs || self.inner.is_halted(id, &records);
        Ok(Watch {
            desk: self.clone(),
            id,
            seen: after,
            known,
            waiting: VecDeque::new(),
            more: after < known,
            reading: None,
            ticks,
            last: None,
            // What comes before it counts no more, and what is still to be given leads there.
            stands: records.iter().fold(Stands::Running, Stands::after),
            through_pauses: false,
            ran,
            left: false,
        })
    }
}

impl Inner {
    /// Whether a debate's run ended here and nobody has gone on since, by its last event that tells
    /// where it stands. Forgets what is over.
    fn is_halted(&self, id: DebateId, last: &[Record]) -> bool {
        let mut halted = self.halted();
        let is_halted = halted
            .get(&id)
            .is_some_and(|ends| last.iter().all(|record| record.seq <= *ends));
        if !is_halted {
            halted.remove(&id);
        }
        is_halted
    }
}

/// Who is told of what is appended: watchers, by debate, so that one that grows wakes only its own;
/// and whoever observes them all.
pub(crate) struct Subscribers {
    watchers: Mutex<HashMap<DebateId, channel::Sender<u64>>>,
    observer: Option<Arc<dyn Observer>>,
}

impl Subscribers {
    pub(super) fn new(observer: Option<Arc<dyn Observer>>) -> Self {
        Self {
            watchers: Mutex::default(),
            observer,
        }
    }

    /// Passes on what was appended here behind the first `before` events.
    pub(crate) fn appended(&self, id: DebateId, before: u64, entries: &[Entry]) {
        if let Some(observer) = &self.observer {
            for (seq, entry) in (before + 1..).zip(entries) {
                observer.saw(id, seq, &entry.place, &entry.event);
            }
        }
        self.tell(id);
    }

    /// Passes on that a debate was removed.
    pub(super) fn removed(&self, id: DebateId) {
        if let Some(observer) = &self.observer {
            observer.removed(id);
        }
        self.tell(id);
    }

    /// Passes on why a run ended without a word in its journal.
    pub(super) fn halted(&self, id: DebateId, why: &DeskError) {
        if let Some(observer) = &self.observer {
            observer.halted(id, why);
        }
    }

    /// Passes on that the store had lost events and has them again.
    pub(crate) fn restored(&self, id: DebateId, events: u64) {
        if let Some(observer) = &self.observer {
            observer.restored(id, events);
        }
        self.tell(id);
    }

    /// Passes on that an append is tried again and again.
    pub(crate) fn stalled(&self, id: DebateId, why: &str) {
        if let Some(observer) = &self.observer {
            observer.stalled(id, why);
        }
    }

    /// Passes on that no word comes of what other processes append.
    pub(super) fn deaf(&self, why: &str) {
        if let Some(observer) = &self.observer {
            observer.deaf(why);
        }
    }

    fn listen(&self, id: DebateId) -> channel::Receiver<u64> {
        let mut all = self.lock();
        if all.len() >= all.capacity() {
            // Growing is the moment to forget those that nobody listens to any more.
            all.retain(|_, ticks| !ticks.is_closed());
        }
        all.entry(id)
            .or_insert_with(|| channel::Sender::new(0))
            .subscribe()
    }

    /// Wakes everybody who watches a debate.
    pub(super) fn tell(&self, id: DebateId) {
        if let Some(ticks) = self.lock().get(&id) {
            ticks.send_modify(|tick| *tick += 1);
        }
    }

    pub(super) fn watched(&self) -> Vec<DebateId> {
        self.lock()
            .iter()
            .filter(|(_, ticks)| !ticks.is_closed())
            .map(|(id, _)| *id)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<DebateId, channel::Sender<u64>>> {
        // The map is whole between any two statements that hold the lock.
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a run off the desk's list when it ends, however it ends, and wakes its watchers.
pub(super) struct Leaving {
    pub(super) inner: Arc<Inner>,
    pub(super) id: DebateId,
}

impl Leaving {
    /// Gives up a debate whose run crashed, so that nobody takes it for one that is run here, and
    /// remembers that it did. Why it ended.
    pub(super) async fn crashed<T>(
        &self,
        journal: &Journal,
        panic: Box<dyn Any + Send>,
    ) -> Result<T, DeskError> {
        let said = panic.downcast::<String>().map(|words| *words);
        let said = said.or_else(|panic| panic.downcast::<&str>().map(|words| (*words).to_owned()));
        let words = said.unwrap_or_else(|_| "nobody knows why".to_owned());
        self.inner.crashed().insert(self.id, Instant::now());
        // Where it cannot be given up, perhaps because its store is what crashed, its claim ends
        // with this process.
        let _ =
            tokio::time::timeout(GIVING_UP, AssertUnwindSafe(leave(journal)).catch_unwind()).await;
        Err(DeskError::Halted(Stop::Crashed(on_one_line(&words))))
    }
}

impl Leaving {
    /// Remembers where the journal ends of a debate whose run ended without a word in it, unless
    /// another process runs it: whoever begins to watch it is told that nothing more comes. Before
    /// it leaves the list of those that run, so that it is found in one of them.
    pub(super) async fn halted(&self, journal: &Journal, why: &DeskError) {
        let ends = match why {
            DeskError::Halted(Stop::TakenOver) => None,
            DeskError::Halted(Stop::WentBack { has, .. }) => self.part(*has).await,
            _ => Some(journal.count().unwrap_or_default()),
        };
        if let Some(ends) = ends {
            self.inner.halted().insert(self.id, ends);
        }
    }

    /// Gives up a debate whose database went back behind what was written here, and waits for that
    /// database as long as it takes: whoever looks for debates that nobody runs finds it, and goes
    /// on from what is there. A cancel that is there is carried out at once. Where the journal
    /// ends, by what is there now: others use numbers again that were used here. `None` where
    /// another process has the debate.
    async fn part(&self, has: u64) -> Option<u64> {
        let desk = Desk {
            inner: self.inner.clone(),
        };
        let mut pause = Duration::from_millis(100);
        loop {
            let parted = match desk.release(self.id).await {
                Ok(ends) => desk.end_cancelled(self.id).await.map(|()| ends),
                failed => failed,
            };
            match parted {
                Ok(ends) => return Some(ends),
                Err(error) if error.is_away() => self.inner.clock.sleep(pause).await,
                // Another process has it already.
                Err(
                    DeskError::Store(StoreError::Lost { .. })
                    | DeskError::Halted(Stop::Store(StoreError::Held { .. })),
                ) => return None,
                Err(error) => {
                    self.inner.ears.halted(self.id, &error);
                    return Some(has);
                }
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.inner.live().remove(&self.id);
        self.inner.ears.tell(self.id);
    }
}

type Reading = BoxFuture<'static, Result<Vec<Record>, StoreError>>;

/// Where a debate stands, as far as its watchers need to know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Running,
    Paused,
    Ended,
}

impl Stands {
    fn after(self, record: &Record) -> Self {
        match &*record.kind {
            "debate.completed" => Self::Ended,
            "debate.paused" => Self::Paused,
            "debate.resumed" => Self::Running,
            _ => self,
        }
    }
}

impl Watch {
    /// The same for whoever waits until a debate that was paused goes on, here or elsewhere.
    pub fn through_pauses(self) -> Self {
        Self {
            through_pauses: true,
            ..self
        }
    }

    /// The same for whoever wants none of the events there are.
    pub fn from_here(self) -> Self {
        Self {
            seen: self.known,
            more: false,
            ..self
        }
    }

    /// The number of the last event there was when it began.
    pub fn head(&self) -> u64 {
        self.known
    }

    /// Whether the debate has ended or was left, and everything was seen.
    pub fn is_over(&self) -> bool {
        self.waiting.is_empty() && !self.more && self.ends_at(self.stands)
    }

    /// Whether the debate had ended or was left when this began, and nothing that is still to be
    /// seen is of the wanted kinds; all are if not given. Asked before the first event is taken.
    pub async fn shows_none(&mut self, kinds: Option<Vec<String>>) -> Result<bool, DeskError> {
        if !self.ends_at(self.stands) {
            return Ok(false);
        }
        let wanted = Pick {
            after: self.seen,
            kinds,
            most: Some(1),
            ..Pick::default()
        };
        Ok(self.desk.pick(self.id, &wanted).await?.records.is_empty())
    }

    fn ends_at(&self, stands: Stands) -> bool {
        stands == Stands::Ended || (stands == Stands::Paused && !self.through_pauses)
    }

    /// Reads what comes next, as far as it is there.
    async fn read_on(&mut self) -> Result<(), DeskError> {
        if self.reading.is_none() {
            self.ticks.mark_unchanged();
            // Asked before looking: what a run wrote last is there when it is gone.
            let runs = self.desk.inner.live().contains_key(&self.id);
            self.left = !runs && (self.left || self.ran);
            self.ran = runs;
        }
        let (store, id, seen) = (&self.desk.inner.store, self.id, self.seen);
        let reading = self.reading.get_or_insert_with(|| {
            let store = store.clone();
            // One more than is kept tells whether there are more.
            Box::pin(async move { store.page(id, seen, AT_ONCE + 1).await })
        });
        let read = reading.await;
        self.reading = None;
        let mut records = read?;
        let follows = |next: &Record| {
            next.seq != self.seen + 1 || self.last.is_none_or(|last| next.prev == last)
        };
        if !records.first().is_none_or(follows) {
            return Err(self.went_back(self.seen).into());
        }
        self.more = records.len() > AT_ONCE;
        records.truncate(AT_ONCE);
        self.waiting = records.into();
        Ok(())
    }

    /// A run that is gone may have left since the database went back: whoever saw what is there no
    /// more is told.
    async fn check_shown(&mut self) -> Result<(), DeskError> {
        let head = self
            .desk
            .inner
            .store
            .pick(
                self.id,
                &Pick {
                    most: Some(0),
                    ..Pick::default()
                },
            )
            .await?
            .head;
        let (seq, hash) = head.map_or_else(Default::default, |head| (head.seq, head.hash));
        let is_other = seq == self.seen && self.last.is_some_and(|last| last != hash);
        if seq < self.seen || is_other {
            Err(self.went_back(seq).into())
        } else {
            Ok(())
        }
    }

    fn went_back(&self, has: u64) -> Stop {
        Stop::WentBack {
            has,
            had: self.seen,
        }
    }

    /// The next event; `None` when the debate has ended or was left and everything was seen.
    pub async fn next(&mut self) -> Result<Option<Record>, DeskError> {
        loop {
            if let Some(record) = self.waiting.pop_front() {
                (self.seen, self.last) = (record.seq, Some(record.hash));
                if self.through_pauses && record.kind == "debate.resumed" {
                    // That it was left for the pause says nothing about now.
                    (self.ran, self.left) = (false, false);
                }
                self.stands = self.stands.after(&record);
                return Ok(Some(record));
            }
            self.read_on().await?;
            if !self.waiting.is_empty() {
                continue;
            }
            if self.ends_at(self.stands) {
                return Ok(None);
            }
            if self.left && self.stands != Stands::Paused {
                self.check_shown().await?;
                return Ok(None);
            }
            let closed = self.ticks.changed().await.is_err();
            if closed {
                return Err(DeskError::WrongState("the desk was closed".to_owned()));
            }
        }
    }
}
