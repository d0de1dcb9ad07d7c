//! What a watcher of one debate is shown, one thing after the other: recorded events, text being
//! written, the end of the server. A watcher pulls: one that stalls stops pulling, and slows
//! nobody.

use crate::{limits::Place, problem::Problem, server::Shared, web_session::StreamAuth};
use rebut_engine::{DebateId, Watch, event::KINDS, model::Delta, record::Record};
use serde::Serialize;
use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};
use tokio::sync::{broadcast, watch};

/// The rest of a debate, for one watcher.
pub struct Tail {
    server: Arc<Shared>,
    id: DebateId,
    stay: StreamAuth,
    watch: Watch,
    deltas: Option<broadcast::Receiver<Delta>>,
    /// Answers that were being written when it began to listen, not shown yet.
    so_far: VecDeque<Delta>,
    /// The last event, while something is told that comes before it.
    held: Option<Record>,
    /// The kinds that are wanted; all if not given.
    types: Option<BTreeSet<String>>,
    stopping: watch::Receiver<bool>,
    is_over: bool,
    _place: Place,
}

/// One thing a watcher is shown.
pub enum Shown {
    Event(Box<Record>),
    /// Something that is in no journal.
    Passing(Passing),
}

/// What is shown and not kept.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type")]
pub enum Passing {
    /// The next piece of an answer that is being written.
    #[serde(rename = "turn.delta")]
    Delta {
        /// The turn it belongs to.
        turn: String,
        /// The piece.
        text: String,
    },
    /// The text so far of an answer that was being written when the watcher came.
    #[serde(rename = "turn.snapshot")]
    Snapshot {
        /// The turn it belongs to.
        turn: String,
        /// What is there of it.
        text: String,
    },
    /// Pieces were missed, since they came faster than they were taken; events never are.
    #[serde(rename = "lagged")]
    Lagged {
        /// So many.
        missed: u64,
    },
    /// The server stops; come back with the last number seen.
    #[serde(rename = "shutdown")]
    Shutdown {},
    /// Nothing more can be shown: the journal cannot be read on now, or the key or the session of
    /// whoever watches is gone.
    #[serde(rename = "problem")]
    Problem {
        /// Why.
        problem: Problem,
    },
}

impl Passing {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Delta { .. } => "turn.delta",
            Self::Snapshot { .. } => "turn.snapshot",
            Self::Lagged { .. } => "lagged",
            Self::Shutdown {} => "shutdown",
            Self::Problem { .. } => "problem",
        }
    }
}

/// The name of a recorded event, if this program knows the kind.
pub fn known_kind(kind: &str) -> Option<&'static str> {
    KINDS
        .iter()
        .map(|(known, _)| *known)
        .find(|known| *known == kind)
}

impl Tail {
    /// What comes after a watch's beginning.
    pub fn new(
        server: Arc<Shared>,
        id: DebateId,
        stay: StreamAuth,
        watch: Watch,
        types: Option<BTreeSet<String>>,
        place: Place,
    ) -> Self {
        let stopping = server.stopping.clone();
        let mut tail = Self {
            server,
            id,
            stay,
            watch,
            deltas: None,
            so_far: VecDeque::new(),
            held: None,
            types,
            stopping,
            is_over: false,
            _place: place,
        };
        tail.listen();
        tail
    }

    /// The next thing; `None` after the last. May be dropped and asked again: nothing is lost.
    pub async fn next(&mut self) -> Option<Shown> {
        while !self.is_over {
            // Whoever could say so and is gone has stopped it too.
            if *self.stopping.borrow() || self.stopping.has_changed().is_err() {
                return self.last(Passing::Shutdown {});
            }
            if !self.stay.holds(&self.server).await {
                return self.last(Passing::Problem {
                    problem: Problem::unauthorized(),
                });
            }
            if let Some(Delta { turn, text }) = self.so_far.pop_front() {
                match self.passing(Passing::Snapshot { turn, text }) {
                    None => continue,
                    shown => return shown,
                }
            }
            if let Some(record) = self.held.take() {
                match self.event(record) {
                    None => continue,
                    shown => return shown,
                }
            }
            // Behind the end of a debate there is nothing that is still being written.
            let is_written = !self.watch.is_over();
            tokio::select! {
                // What it was is looked at above.
                () = sent_away(&mut self.stopping, &mut self.stay, &self.server) => {}
                record = self.watch.next() => match record {
                    Ok(Some(record)) => {
                        let missed = if self.watch.is_over() { self.missed() } else { None };
                        self.held = Some(record);
                        if missed.is_some() {
                            return missed;
                        }
                    }
                    Ok(None) => self.is_over = true,
                    Err(error) => return self.last(Passing::Problem { problem: error.into() }),
                },
                delta = piece(&mut self.deltas), if is_written => if let Some(shown) = self.delta(delta) {
                    return Some(shown);
                },
            }
        }
        None
    }

    /// Whether the debate has ended and everything was shown; not so where only its run left this
    /// server.
    pub fn is_at_end(&self) -> bool {
        self.watch.is_over()
    }

    fn last(&mut self, passing: Passing) -> Option<Shown> {
        self.is_over = true;
        Some(Shown::Passing(passing))
    }

    fn event(&mut self, record: Record) -> Option<Shown> {
        // It may have been gone on with here since this began.
        if self.deltas.is_none() && record.kind == "turn.started" {
            self.listen();
        }
        let wanted = self
            .types
            .as_ref()
            .is_none_or(|types| types.contains(&*record.kind));
        wanted.then(|| Shown::Event(Box::new(record)))
    }

    fn delta(&mut self, delta: Result<Delta, broadcast::error::RecvError>) -> Option<Shown> {
        let passing = match delta {
            Ok(Delta { turn, text }) => Passing::Delta { turn, text },
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                self.server.metrics.missed(missed);
                Passing::Lagged { missed }
            }
            Err(broadcast::error::RecvError::Closed) => {
                self.deltas = None;
                return None;
            }
        };
        self.passing(passing)
    }

    /// That pieces were missed of which nobody was told: behind the last event it would be too
    /// late.
    fn missed(&mut self) -> Option<Shown> {
        match self.deltas.as_mut()?.try_recv() {
            Err(broadcast::error::TryRecvError::Lagged(missed)) => {
                self.delta(Err(broadcast::error::RecvError::Lagged(missed)))
            }
            _ => None,
        }
    }

    fn passing(&self, passing: Passing) -> Option<Shown> {
        let wanted = self
            .types
            .as_ref()
            .is_none_or(|types| types.contains(passing.name()));
        wanted.then_some(Shown::Passing(passing))
    }

    /// Hears what is being written, from what is there of it on.
    fn listen(&mut self) {
        if let Some(listening) = self.server.desk.deltas(self.id) {
            (self.so_far, self.deltas) = (listening.so_far.into(), Some(listening.pieces));
        }
    }
}

/// Waits until the server stops, or whoever watches may have to go.
async fn sent_away(stopping: &mut watch::Receiver<bool>, stay: &mut StreamAuth, server: &Shared) {
    tokio::select! {
        _ = stopping.wait_for(|stops| *stops) => {}
        () = stay.is_in_doubt(server) => {}
    }
}

/// The next piece of text; never, where there is nothing to listen to.
async fn piece(
    deltas: &mut Option<broadcast::Receiver<Delta>>,
) -> Result<Delta, broadcast::error::RecvError> {
    match deltas {
        Some(deltas) => deltas.recv().await,
        None => std::future::pending().await,
    }
}
