//! What people want of the run of a debate. Wherever the journal learns of it, the run is told at
//! once: from an append of this process, from news of another, or from what an append of the run
//! itself met.

use super::{End, Entry, Journal, Memory};
use crate::{
    debate::Steer,
    event::{DebateResumed, Event},
    outcome::Outcome,
};
use std::sync::Arc;
use tokio::sync::watch;

impl Journal {
    /// What is wanted of the run, now and from now on.
    pub(crate) fn steered(&self) -> watch::Receiver<Steer> {
        self.steer.subscribe()
    }

    /// Tells the run what is wanted of it. The first word counts, except that a cancel always does;
    /// who is told to leave while it was to pause makes that pause at once.
    pub(crate) fn steer_to(&self, wanted: Steer) {
        self.steer.send_if_modified(|steer| {
            let next = match (*steer, wanted) {
                (Steer::Run, _) | (_, Steer::Cancel) => wanted,
                (Steer::Pause, Steer::Leave) => Steer::PauseAtOnce,
                (told, _) => told,
            };
            std::mem::replace(steer, next) != next
        });
    }

    /// Takes a person's word that was recorded through another journal of this process, opened
    /// before this one had a run.
    pub(crate) fn hear(&self, word: impl FnOnce(&mut Memory)) {
        word(&mut self.memory());
        self.heed_memory();
    }

    /// Tells the run what the record says that people want. What was said before this process took
    /// the debate counts from the moment it has it.
    pub(super) fn heed(&self, end: &End) {
        if end.holds {
            self.heed_memory();
        }
    }

    fn heed_memory(&self) {
        let wanted = {
            let memory = self.memory();
            let cancelled = memory.cancelled.as_ref().map(|_| Steer::Cancel);
            cancelled.or_else(|| memory.pause_asked.as_ref().map(|_| Steer::Pause))
        };
        if let Some(wanted) = wanted {
            self.steer_to(wanted);
        }
    }

    pub(super) fn remember_steering(&self, before: u64, appended: &[Entry]) {
        let mut memory = self.memory();
        for (seq, entry) in (before + 1..).zip(appended) {
            match &entry.event {
                Event::HumanNoted(note) => {
                    memory.notes.insert(seq, note.clone());
                }
                Event::HumanCancelled(cancelled) => memory.cancelled = Some(cancelled.clone()),
                Event::HumanPaused(paused) => memory.pause_asked = Some(paused.by.clone()),
                Event::GateOpened(opened) => memory.open_gate(opened.clone()),
                Event::GateDecided(decided) => memory.decide_gate((**decided).clone()),
                Event::HumanAnswered(answered) => memory.answered = Some(answered.clone()),
                Event::DebateCompleted(outcome) => memory.end_with(outcome.clone()),
                Event::DebateResumed(resumed) => memory.go_on(resumed),
                _ => {}
            }
        }
    }
}

impl Memory {
    /// The debate goes on. A cancel holds until it ended the debate, whoever dies meanwhile; a
    /// pause until it came, or a person says go on.
    pub(super) fn go_on(&mut self, resumed: &DebateResumed) {
        (self.paused, self.outcome) = (false, None);
        if !resumed.adopted {
            self.pause_asked = None;
        }
    }

    /// The debate ended: nothing is left to do of what was asked for.
    pub(super) fn end_with(&mut self, outcome: Arc<Outcome>) {
        (self.outcome, self.cancelled, self.pause_asked) = (Some(outcome), None, None);
    }
}
