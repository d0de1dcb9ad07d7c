//! Gates of paused debates: no run waits at them, so somebody has to see that their time is over.
//! And paused debates that somebody cancelled while another process held them without a run.

use super::Desk;
use crate::{
    DebateId,
    error::{DeskError, Stop, TooLate},
    gate::{GateDecided, GateOpened},
    store::{Filter, Session, Status, StoreError},
};
use std::{collections::HashMap, time::Duration};

/// When the gates of paused debates close, as far as they were looked at. Each journal is read once
/// for each pause.
#[derive(Default)]
pub struct PausedGates(HashMap<DebateId, Rests>);

/// What is known of a debate while it rests.
struct Rests {
    /// When its state changed last; after another change it is read again.
    since: String,
    /// The gate at which it waits.
    waits: Option<Box<GateOpened>>,
}

impl Desk {
    /// Records of every paused debate whose gate nobody decided in time that this is so, ends those
    /// that are cancelled, and gives back those where that failed, each once for each pause.
    pub async fn close_overdue(
        &self,
        known: &mut PausedGates,
    ) -> Result<Vec<(DebateId, DeskError)>, DeskError> {
        let paused = self
            .sessions(&Filter {
                status: Some(Status::Paused),
                ..Filter::default()
            })
            .await?;
        let cancelled = std::mem::take(&mut *self.inner.unended());
        let mut before = std::mem::take(&mut known.0);
        before.retain(|id, _| !cancelled.contains(id));
        let mut failed = Vec::new();
        for session in paused {
            let id = session.id;
            let rests = match before
                .remove(&id)
                .filter(|rests| rests.since == session.updated_at)
            {
                Some(rests) => Ok(rests),
                None => self.rests(&session).await,
            };
            let closed = match rests {
                Ok(rests) => self.close_if_over(id, rests).await,
                Err(error) => Err(error),
            };
            match closed {
                Ok(rests) => drop(known.0.insert(id, rests)),
                // Another process has it, and nothing is known of it until it lets go.
                Err(DeskError::Halted(Stop::Store(StoreError::Held { .. }) | Stop::TakenOver)) => {}
                // Nothing is known of this one then, nor of those behind it.
                Err(error) if error.is_away() => return Err(error),
                Err(error) => {
                    known.0.insert(
                        id,
                        Rests {
                            since: session.updated_at,
                            waits: None,
                        },
                    );
                    failed.push((id, error));
                }
            }
        }
        Ok(failed)
    }

    /// How long it is until the next of them closes, as far as they are known.
    pub fn next_overdue(&self, known: &PausedGates) -> Option<Duration> {
        let waiting = known
            .0
            .iter()
            .filter_map(|(id, rests)| Some((*id, rests.waits.as_ref()?)));
        waiting
            .map(|(id, gate)| self.inner.deadlines.roughly_left(id, gate))
            .min()
    }

    /// Waits until a debate is paused here, which may rest at a gate. One that was since this was
    /// asked last counts.
    pub async fn until_paused(&self) {
        self.inner.paused.notified().await;
    }

    /// The gate at which a debate rests: of several the first that closes. One that was cancelled
    /// is ended, and rests at none.
    async fn rests(&self, session: &Session) -> Result<Rests, DeskError> {
        let journal = self.open(session.id).await?;
        let (is_cancelled, waits) = {
            let memory = journal.memory();
            let open = memory.gates.values().filter(|gate| gate.decided.is_none());
            let waits = open
                .filter_map(|gate| gate.opened.as_ref())
                .min_by_key(|gate| gate.closes_at())
                .cloned();
            (memory.cancelled.is_some(), waits)
        };
        if is_cancelled {
            self.end_cancelled(session.id).await?;
        }
        Ok(Rests {
            since: session.updated_at.clone(),
            waits: waits.filter(|_| !is_cancelled),
        })
    }

    async fn close_if_over(&self, id: DebateId, rests: Rests) -> Result<Rests, DeskError> {
        let Some(gate) = &rests.waits else {
            return Ok(rests);
        };
        if !self.is_over(id, gate).await? {
            return Ok(rests);
        }
        let journal = self.open(id).await?;
        match self
            .record_timeout(&journal, GateDecided::timed_out(&gate.gate))
            .await
        {
            // Somebody decided it, or ended the debate, since it was looked at.
            Ok(())
            | Err(DeskError::TooLate {
                what: TooLate::Decided(_) | TooLate::Ended(_),
                ..
            }) => Ok(Rests {
                waits: None,
                ..rests
            }),
            Err(error) => Err(error),
        }
    }
}
