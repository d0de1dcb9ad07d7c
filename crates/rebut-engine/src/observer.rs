//! Being told what happens in every debate of a desk, as it is recorded: for counters, spans and
//! messages to other systems.

use crate::{DebateId, error::DeskError, event::Event, record::Place};

/// Is told of every event that a desk appends, after it was written. It may be told of one that a
/// power cut takes back. It is called by whoever appends, so it only takes notes: what takes time
/// is done elsewhere.
pub trait Observer: Send + Sync + 'static {
    /// An event was appended as number `seq` of its debate.
    fn saw(&self, debate: DebateId, seq: u64, place: &Place, event: &Event);

    /// A debate was removed, and all that was known of it.
    fn removed(&self, _debate: DebateId) {}

    /// A debate is not run here any more, and no event of this desk says so: another process took
    /// it over, or its journal cannot be written.
    fn halted(&self, _debate: DebateId, _why: &DeskError) {}

    /// The database had lost the last events of a debate that runs here, and so many were written
    /// again.
    fn restored(&self, _debate: DebateId, _events: u64) {}

    /// An append is tried again and again, ever more slowly; told once, not for every try.
    fn stalled(&self, _debate: DebateId, _why: &str) {}

    /// No word comes of what other processes append; all is looked at again and again instead. Told
    /// once, until word comes again.
    fn deaf(&self, _why: &str) {}
}
