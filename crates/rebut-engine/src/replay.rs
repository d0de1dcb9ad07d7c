//! Replaying a journal: the recorded replies answer again, offline, and nobody else does.

use crate::{
    event::{Event, HumanNoted, TurnCompleted},
    journal::Gate,
    model::{Answer, Fault, FaultKind, Model, Models, Request},
    outcome::LimitMet,
    record::Record,
    run_code::RunCompleted,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

/// What was said in a recorded debate, by turn and attempt.
#[derive(Debug, Default)]
pub struct Recording {
    turns: HashMap<(String, u32), Result<Arc<TurnCompleted>, Fault>>,
    asked: HashMap<(String, u32), Arc<str>>,
    unsent: HashMap<(String, u32), Fault>,
    /// Failed attempts after which another was to follow.
    to_go_on: HashSet<(String, u32)>,
    stopped: Option<LimitMet>,
    notes: HashMap<String, Vec<HumanNoted>>,
    gates: HashMap<String, Gate>,
    runs: HashMap<Arc<str>, Arc<RunCompleted>>,
}

impl Recording {
    pub fn of(records: &[Record]) -> Result<Self, serde_json::Error> {
        let mut recording = Self::default();
        let mut unheard: BTreeMap<u64, HumanNoted> = BTreeMap::new();
        for record in records {
            match record.event()? {
                Some(Event::TurnStarted(started)) => {
                    recording
                        .asked
                        .insert((started.turn.to_string(), started.attempt), started.model);
                }
                Some(Event::DebateCompleted(outcome)) => {
                    recording.stopped = outcome.stopped.clone();
                }
                Some(Event::TurnCompleted(completed)) => {
                    recording.turns.insert(
                        (completed.turn.to_string(), completed.attempt),
                        Ok(completed),
                    );
                }
                // Whoever was passed over for another model left no attempt behind.
                Some(Event::TurnFailed(failed)) if failed.unsent && failed.retry => {}
                Some(Event::TurnFailed(failed)) if failed.unsent => {
                    recording
                        .unsent
                        .insert((failed.turn.to_string(), failed.attempt), failed.fault);
                }
                Some(Event::TurnFailed(failed)) => {
                    if failed.retry {
                        recording
                            .to_go_on
                            .insert((failed.turn.to_string(), failed.attempt));
                    }
                    recording
                        .turns
                        .insert((failed.turn.to_string(), failed.attempt), Err(failed.fault));
                }
                Some(Event::HumanNoted(note)) => {
                    unheard.insert(record.seq, note);
                }
                Some(Event::RoundStarted(round)) => {
                    let heard = round
                        .notes
                        .iter()
                        .filter_map(|seq| unheard.remove(seq))
                        .collect();
                    recording.notes.insert(round.step, heard);
                }
                Some(Event::GateOpened(opened)) => {
                    let gate = recording.gates.entry(opened.gate.clone()).or_default();
                    gate.opened = Some(opened);
                }
                Some(Event::GateDecided(decided)) => {
                    recording
                        .gates
                        .entry(decided.gate.clone())
                        .or_default()
                        .decided
                        .get_or_insert(*decided);
                }
                Some(Event::RunCompleted(completed)) => {
                    recording.runs.insert(completed.run.clone(), completed);
                }
                _ => {}
            }
        }
        Ok(recording)
    }

    /// Who was asked at that attempt, if it is recorded with its end.
    pub fn asked(&self, turn: &str, attempt: u32) -> Option<Arc<str>> {
        let key = (turn.to_owned(), attempt);
        let ended = self.turns.get(&key)?;
        // A turn copied into a fork has a reply but no call of its own.
        self.asked
            .get(&key)
            .cloned()
            .or_else(|| ended.as_ref().ok().map(|completed| completed.model.clone()))
    }

    /// Why that attempt was given up before anything was sent, if it was.
    pub fn unsent(&self, turn: &str, attempt: u32) -> Option<&Fault> {
        self.unsent.get(&(turn.to_owned(), attempt))
    }

    /// Why the recorded debate was stopped, if it was.
    pub fn stopped(&self) -> Option<&LimitMet> {
        self.stopped.as_ref()
    }

    /// The same if it was stopped after that attempt, before the next one came.
    pub fn stopped_after(&self, turn: &str, attempt: u32) -> Option<&LimitMet> {
        let next_came =
            self.asked(turn, attempt + 1).is_some() || self.unsent(turn, attempt + 1).is_some();
        self.stopped()
            .filter(|_| !next_came && self.to_go_on.contains(&(turn.to_owned(), attempt)))
    }

    /// Notes that the round was the first to hear.
    pub fn notes_before(&self, step: &str) -> Vec<HumanNoted> {
        self.notes.get(step).cloned().unwrap_or_default()
    }

    pub fn run(&self, run: &str) -> Option<&RunCompleted> {
        self.runs.get(run).map(Arc::as_ref)
    }

    /// How a gate was opened and decided. One that was opened and left undecided says nothing here:
    /// nobody waits at it.
    pub fn gate(&self, name: &str) -> Gate {
        self.gates
            .get(name)
            .filter(|gate| gate.decided.is_some())
            .cloned()
            .unwrap_or_default()
    }
}

pub struct Recorded(pub Arc<Recording>);

#[async_trait::async_trait]
impl Model for Recorded {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        match self
            .0
            .turns
            .get(&(request.turn.to_owned(), request.attempt))
        {
            Some(Ok(completed)) => Ok(Answer {
                text: completed.text.clone(),
                model: completed.answered_by.clone(),
                usage: completed.usage,
                finish: completed.finish,
                ..Answer::default()
            }),
            Some(Err(fault)) => Err(fault.clone()),
            None => {
                let what = format!(
                    "turn `{}` (attempt {}) was never recorded; a replay asks nobody",
                    request.turn, request.attempt
                );
                Err(Fault::new(FaultKind::Unrecorded, what))
            }
        }
    }
}

impl Models for Recorded {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(Arc::new(Recorded(self.0.clone())))
    }
}
