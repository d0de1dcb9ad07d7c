//! An event on its way into the journal, and the record and rows it makes there.

use crate::{
    event::Event,
    projection::Projection,
    record::{Hash, Place, Record},
    store::{Append, TurnRow},
};
use std::sync::Arc;

pub struct Entry {
    pub place: Place,
    pub event: Event,
    /// The role of whoever replied: a reply makes a row of `debate_turns`.
    pub role: Option<Arc<str>>,
}

impl Entry {
    /// An event that makes no row.
    pub fn new(place: Place, event: Event) -> Self {
        Self {
            place,
            event,
            role: None,
        }
    }

    /// Adds its record and rows to an append, behind the record of that hash. With the salt it was
    /// written with before it is the same record again. Gives its hash.
    pub(super) fn add_to(
        &self,
        append: &mut Append,
        seq: u64,
        prev: Hash,
        now: &Arc<str>,
        salt: Option<[u8; 16]>,
    ) -> Hash {
        let record = Record::salted(
            append.debate,
            seq,
            prev,
            now.clone(),
            self.place.clone(),
            &self.event,
            salt,
        );
        let hash = record.hash;
        append.turns.extend(self.turn_row(seq, now));
        append
            .projections
            .extend(Projection::of(seq, now, &self.place, &self.event));
        append.records.push(record);
        hash
    }

    fn turn_row(&self, seq: u64, now: &Arc<str>) -> Option<TurnRow> {
        let (Some(role), Event::TurnCompleted(completed)) = (&self.role, &self.event) else {
            return None;
        };
        Some(TurnRow {
            seq,
            round: self.place.round.unwrap_or(0),
            phase: self.place.phase.clone().unwrap_or_default(),
            agent_id: self.place.agent.clone().unwrap_or_default(),
            agent_role: role.clone(),
            completed: completed.clone(),
            created_at: now.clone(),
        })
    }
}
