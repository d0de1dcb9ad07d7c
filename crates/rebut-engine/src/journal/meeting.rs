//! Where the store's journal ends, against what is known here: taking in what others appended, and
//! appending again what a store that went back has lost. A standby that is promoted may lack the
//! last commits, and a restored backup lacks more.

use super::{End, Entry, Journal, window::Mark, writing};
use crate::{
    error::Stop,
    event::Event,
    record::{Hash, Place, Record},
    store::{Append, Claim, Durability, Picked, Session, StoreError},
    view,
};

impl Journal {
    /// Takes in what others appended, or mends what the store has lost; `there` is where its
    /// journal ends, if that is known. Whether that changed anything, so that appending again can
    /// come to something else.
    pub(super) async fn meet(
        &self,
        end: &mut End,
        there: Option<(u64, Hash)>,
    ) -> Result<bool, Stop> {
        match there {
            Some((count, head)) if parts(end, count, head) => {
                self.mend(end, count, head).await.map(|()| true)
            }
            _ => self.absorb_tail(end).await,
        }
    }

    /// Reads what is behind what is known here. Whether there was anything, or something was
    /// mended.
    pub(super) async fn absorb_tail(&self, end: &mut End) -> Result<bool, Stop> {
        // Whoever only steers a debate may meet anything.
        let runs = end.holds
            || end
                .under_way
                .as_ref()
                .is_some_and(|begun| begun.claim == Claim::Take);
        let known = end.count;
        let Picked { records, head } =
            writing::look(&self.means(), self.debate, known, end.holds).await?;
        let (count, head) = head.map_or_else(Default::default, |head| (head.seq, head.hash));
        if parts(end, count, head) {
            return self.mend(end, count, head).await.map(|()| true);
        }
        for record in records {
            if known > 0
                && record.prev != end.head
                && record.seq == end.count + 1
                && record.is_whole()
            {
                return Err(Stop::WentBack {
                    has: count,
                    had: end.count,
                });
            }
            // Steering may come from anywhere; turns only from whoever runs the debate.
            if runs && known > 0 && !is_steering(&record) {
                return Err(Stop::TakenOver);
            }
            self.absorb(end, record)?;
        }
        self.heed(end);
        self.grown.notify_waiters();
        Ok(end.count > known)
    }

    fn absorb(&self, end: &mut End, record: Record) -> Result<(), Stop> {
        if record.prev != end.head || record.seq != end.count + 1 || !record.is_whole() {
            return Err(Stop::Broken(format!(
                "the journal is damaged at event {}; run `rebut audit verify`",
                record.seq
            )));
        }
        (end.count, end.head) = (record.seq, record.hash);
        let event = record.event().map_err(|error| {
            Stop::Broken(format!("event {} cannot be read: {error}", record.seq))
        })?;
        match (&event, Mark::of(&record)) {
            // What was taken out must not come back, nor what this program does not know as it was.
            // And only a runner writes again.
            (None | Some(Event::EventRedacted(_)), _) | (_, None) => {
                end.window.begin(record.seq, record.hash)
            }
            _ if !end.holds => end.window.begin(record.seq, record.hash),
            (Some(event), Some(mark)) => end.window.push(
                Entry::new(place_of(&record), event.clone()),
                record.ts.clone(),
                mark,
            ),
        }
        self.memory().absorb(&record, event);
        Ok(())
    }

    /// The store's journal ends before what was written here, or otherwise: what it lost is
    /// appended again where that follows its end. If it does not, or is not kept any more, this run
    /// is over: whoever takes the debate up goes on from what the store has.
    async fn mend(&self, end: &mut End, mut count: u64, mut head: Hash) -> Result<(), Stop> {
        let mut pause = writing::Backoff::default();
        // A journal that is longer is for whoever reads its tail.
        while parts(end, count, head) {
            let went_back = || Stop::WentBack {
                has: count,
                had: end.count,
            };
            let lost = if end.holds {
                end.window.behind(self.debate, count, head)
            } else {
                None
            };
            let lost = lost.ok_or_else(went_back)?;
            if count == 0 && self.store.is_removed(self.debate).await? {
                return Err(went_back());
            }
            let restored = lost.records.len() as u64;
            match writing::write_again(self.means(), self.as_runner(lost)).await {
                Ok(()) => {
                    self.ears.restored(self.debate, restored);
                    return Ok(());
                }
                Err(StoreError::Conflict {
                    count: more,
                    head: other,
                    ..
                }) => {
                    (count, head) = (more, other);
                    pause
                        .wait(&*self.clock, || {
                            self.ears
                                .stalled(self.debate, "its journal changes while it is written")
                        })
                        .await;
                }
                Err(StoreError::Held { .. } | StoreError::Lost { .. }) => {
                    return Err(Stop::TakenOver);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// With the claim and the row that a store which lost events may have lost too.
    fn as_runner(&self, append: Append) -> Append {
        let memory = self.memory();
        let session = memory.started.as_ref().map(|started| {
            Box::new(Session {
                updated_at: self.now().to_string(),
                ..view::session(self.debate, started, &memory.created_at)
            })
        });
        Append {
            session,
            claim: Claim::Take,
            durability: Durability::Power,
            ..append
        }
    }
}

/// Whether a journal that ends so is not the one that is known here, with perhaps more behind it.
fn parts(end: &End, count: u64, head: Hash) -> bool {
    count < end.count || (count == end.count && head != end.head)
}

fn is_steering(record: &Record) -> bool {
    record.kind.starts_with("human.")
        || record.kind.starts_with("gate.")
        || record.kind == "event.redacted"
}

fn place_of(record: &Record) -> Place {
    Place {
        round: record.round,
        phase: record.phase.clone(),
        agent: record.agent.clone(),
    }
}
