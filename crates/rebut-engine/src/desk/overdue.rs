//! Gates of paused debates: no run waits at them, so somebody has to see that their time is over.

use super::Desk;
use crate::{
    DebateId,
    error::{DeskError, TooLate},
    gating::GateDecided,
    store::{Filter, Session, Status},
};
use jiff::Timestamp;
use std::collections::HashMap;

/// When the gates of paused debates close, as far as they were looked at. Each journal is read once for each pause.
#[derive(Default)]
pub struct PausedGates(HashMap<DebateId, Rests>);

/// What is known of a debate while it rests.
struct Rests {
    /// When its state changed last; after another change it is read again.
    since: String,
    /// The gate at which it waits, and when that closes.
    closes: Option<(String, Timestamp)>,
}

impl Desk {
    /// Records of every paused debate whose gate nobody decided in time that this is so, and gives back those where that failed, each once
    /// for each pause.
    pub async fn close_overdue(&self, known: &mut PausedGates) -> Result<Vec<(DebateId, DeskError)>, DeskError> {
        let paused = self.sessions(&Filter { status: Some(Status::Paused), ..Filter::default() }).await?;
        let mut before = std::mem::take(&mut known.0);
        let mut failed = Vec::new();
        for session in paused {
            let id = session.id;
            let rests = match before.remove(&id).filter(|rests| rests.since == session.updated_at) {
                Some(rests) => Ok(rests),
                None => self.rests(&session).await,
            };
            let closed = match rests {
                Ok(rests) => self.close_if_over(id, rests).await,
                Err(error) => Err(error),
            };
            match closed {
                Ok(rests) => drop(known.0.insert(id, rests)),
                // Nothing is known of this one then, nor of those behind it.
                Err(error) if error.is_away() => return Err(error),
                Err(error) => {
                    known.0.insert(id, Rests { since: session.updated_at, closes: None });
                    failed.push((id, error));
                }
            }
        }
        Ok(failed)
    }

    /// The gate at which a debate rests: of several the first that closes.
    async fn rests(&self, session: &Session) -> Result<Rests, DeskError> {
        let journal = self.open(session.id).await?;
        let memory = journal.memory();
        let open = memory.gates.iter().filter(|(_, gate)| gate.decided.is_none());
        let closes = open.filter_map(|(name, gate)| Some((name.clone(), gate.opened.as_ref()?.closes_at()?))).min_by_key(|(_, at)| *at);
        Ok(Rests { since: session.updated_at.clone(), closes })
    }

    async fn close_if_over(&self, id: DebateId, rests: Rests) -> Result<Rests, DeskError> {
        let Some((gate, _)) = rests.closes.as_ref().filter(|(_, closes)| *closes <= self.now()) else { return Ok(rests) };
        let journal = self.open(id).await?;
        match self.record_timeout(&journal, GateDecided::timed_out(gate)).await {
            // Somebody decided it, or ended the debate, since it was looked at.
            Ok(()) | Err(DeskError::TooLate { what: TooLate::Decided(_) | TooLate::Ended(_), .. }) => Ok(Rests { closes: None, ..rests }),
            Err(error) => Err(error),
        }
    }
}
