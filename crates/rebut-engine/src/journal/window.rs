//! The last events of a journal while it is open, kept so that they can be appended again where the
//! store has lost them.

use super::Entry;
use crate::{
    DebateId,
    event::Event,
    record::{Hash, Record},
    store::Append,
};
use std::sync::Arc;

/// So many events are kept at most: a standby that is promoted lacks what was written in the last
/// moments, which is about a round of a panel, not the rounds before it.
const MOST: usize = 8;

/// And so many bytes of them: ten thousand debates may be live.
const MOST_BYTES: usize = 3 << 10;

/// Everything behind the event of number `after`, up to the end. Events share what they hold with
/// the run, so that keeping them costs little.
#[derive(Default)]
pub(super) struct Window {
    after: u64,
    prev: Hash,
    kept: Vec<Kept>,
    bytes: usize,
}

/// One event, and what its record has besides.
struct Kept {
    entry: Entry,
    ts: Arc<str>,
    mark: Mark,
}

/// What cannot be made again from an event: chance, and what follows from it.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    salt: [u8; 16],
    hash: Hash,
    bytes: usize,
}

impl Mark {
    /// Of a record as it was made; none of one whose text was taken out.
    pub(super) fn of(record: &Record) -> Option<Self> {
        Some(Self {
            salt: record.salt?,
            hash: record.hash,
            bytes: record.data.len(),
        })
    }
}

impl Window {
    /// Keeps nothing: the journal ends with that event, and what came before was not written here.
    pub(super) fn begin(&mut self, after: u64, prev: Hash) {
        *self = Self {
            after,
            prev,
            ..Self::default()
        };
    }

    /// Keeps one more event, and forgets the oldest ones where that is too many.
    pub(super) fn push(&mut self, entry: Entry, ts: Arc<str>, mark: Mark) {
        self.bytes += held_by(&entry, mark);
        self.kept.reserve_exact(1);
        self.kept.push(Kept { entry, ts, mark });
        let mut gone = 0;
        while let Some(oldest) = self
            .kept
            .get(gone)
            .filter(|_| self.kept.len() - gone > MOST || self.bytes > MOST_BYTES)
        {
            (self.after, self.prev) = (self.after + 1, oldest.mark.hash);
            self.bytes -= held_by(&oldest.entry, oldest.mark);
            gone += 1;
        }
        self.kept.drain(..gone);
    }

    /// The append of everything behind the event of that number and hash; `None` where that is not
    /// known here to be one of this journal, or the events cannot be made again as they were.
    pub(super) fn behind(&self, debate: DebateId, after: u64, prev: Hash) -> Option<Append> {
        let known = usize::try_from(after.checked_sub(self.after)?).ok()?;
        let own = match known {
            0 => self.prev,
            number => self.kept.get(number - 1)?.mark.hash,
        };
        if own != prev {
            return None;
        }
        let mut append = Append::new(debate, after, prev);
        let (mut seq, mut head) = (after, prev);
        for kept in self.kept.get(known..)? {
            seq += 1;
            let Kept { entry, ts, mark } = kept;
            head = entry.add_to(&mut append, seq, head, ts, Some(mark.salt));
            if head != mark.hash {
                return None;
            }
        }
        Some(append)
    }
}

/// How many bytes are kept for an event that would not be there otherwise.
fn held_by(entry: &Entry, mark: Mark) -> usize {
    size_of::<Kept>()
        + match entry.event {
            // The run has it for as long as it lives.
            Event::DebateStarted(_) => 0,
            _ => mark.bytes,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::HumanNoted,
        record::{Place, encode_hex},
    };

    fn pushed(texts: &[String]) -> (DebateId, Window, Vec<Record>) {
        let debate = DebateId::new();
        let (mut window, mut records, mut prev) = (Window::default(), Vec::new(), Hash::default());
        for (text, seq) in texts.iter().zip(1..) {
            let event = Event::HumanNoted(HumanNoted {
                text: text.clone(),
                by: "me".to_owned(),
            });
            let ts: Arc<str> = format!("2026-01-02T03:04:05.{seq:03}Z").into();
            let record = Record::new(debate, seq, prev, ts.clone(), Place::default(), &event);
            prev = record.hash;
            window.push(
                Entry::new(Place::default(), event),
                ts,
                Mark::of(&record).expect("a salt"),
            );
            records.push(record);
        }
        (debate, window, records)
    }

    #[test]
    fn what_was_kept_comes_back_as_it_was() {
        let (debate, window, records) =
            pushed(&["one".to_owned(), "two".to_owned(), "three".to_owned()]);
        for lost in 0..=3_usize {
            let after = 3 - lost;
            let prev = after
                .checked_sub(1)
                .map_or(Hash::default(), |last| records[last].hash);
            let append = window
                .behind(debate, after as u64, prev)
                .expect("it follows");
            assert_eq!(
                (append.after, append.prev, append.misfit()),
                (after as u64, prev, None)
            );
            assert_eq!(append.records, records[after..], "{lost} lost");
        }
        for (after, prev) in [
            (0, records[0].hash),
            (2, records[0].hash),
            (4, records[2].hash),
            (9, Hash::default()),
        ] {
            assert!(
                window.behind(debate, after, prev).is_none(),
                "{after} {}",
                encode_hex(&prev.0)
            );
        }
    }

    #[test]
    fn an_event_takes_little_room() {
        // Ten thousand live debates keep eight of them each: a large variant of `Event` belongs in
        // a box.
        assert!(size_of::<Kept>() <= 256, "{}", size_of::<Kept>());
    }

    #[test]
    fn it_holds_no_more_than_it_may() {
        for (texts, kept) in [
            (vec!["x".to_owned(); 40], MOST),
            (vec!["x".repeat(1 << 10); 40], 2),
            (vec!["x".repeat(5 << 10)], 0),
        ] {
            let (debate, window, records) = pushed(&texts);
            assert_eq!(window.kept.len(), kept, "{} bytes each", size_of::<Kept>());
            assert!(
                window.bytes <= MOST_BYTES && window.kept.capacity() <= MOST + 1,
                "{}",
                window.bytes
            );
            let first = records.len() - kept;
            let append = window.behind(debate, first as u64, records[first - 1].hash);
            assert_eq!(
                append.map(|append| append.records),
                Some(records[first..].to_vec())
            );
            let before = first
                .checked_sub(2)
                .map_or(Hash::default(), |last| records[last].hash);
            assert!(
                window.behind(debate, first as u64 - 1, before).is_none(),
                "what is not kept is not made up"
            );
        }
    }
}
