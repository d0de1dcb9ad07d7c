//! Keeping debates: fork, replay, export, import, audit, redact, remove.

use super::{Desk, DeskOptions, More, Running, Start, accepting::apart, quoting::still_quoting};
use crate::{
    DebateId,
    audit::{self, Audit, ProblemKind},
    error::{DeskError, Stop, TooLate},
    event::{Event, EventRedacted, ForkedFrom, Limits, RoundStarted, Started, TurnCompleted},
    gate::LONGEST_GATE,
    journal::{Commit, Entry},
    journal_file::Portable,
    memory_store::MemoryStore,
    model::Deltas,
    outcome::{Ending, Outcome},
    projection::Projection,
    record::{Hash, Place, Record},
    replay::{Recorded, Recording},
    report,
    store::{Append, Claim, Durability, Filter, StoreError},
    topology::kind_of,
    view::{self, View},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// What is different in a fork.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// The first step to be asked anew; `end` keeps every turn.
    pub at: String,
    pub config: BTreeMap<String, Value>,
    pub models: BTreeMap<String, String>,
    /// What it may use, copied turns not counted; without caps if left out.
    pub more: More,
    pub initiated_by: String,
}

#[derive(Clone, Debug)]
pub struct Replayed {
    pub transcript: String,
    pub outcome: Outcome,
    /// Whether transcript and outcome are byte for byte those of the record.
    pub identical: bool,
}

impl Desk {
    /// Starts a new debate from an old one's turns before a step.
    pub async fn fork(&self, id: DebateId, fork: Fork) -> Result<Running, DeskError> {
        self.fork_as(DebateId::new(), id, fork, None).await
    }

    /// The same for a request that may come again, under an id of its own, as for
    /// [`Desk::start_once`].
    pub async fn fork_once(
        &self,
        new: DebateId,
        id: DebateId,
        fork: Fork,
        request: Hash,
    ) -> Result<Running, DeskError> {
        if self.inner.store.is_removed(new).await? {
            return Err(DeskError::TooLate {
                debate: new,
                what: TooLate::Removed,
            });
        }
        self.fork_as(new, id, fork, Some(request)).await
    }

    async fn fork_as(
        &self,
        new: DebateId,
        id: DebateId,
        fork: Fork,
        request: Option<Hash>,
    ) -> Result<Running, DeskError> {
        let records = self.records(id).await?;
        let view = View::of(&records);
        let origin = view
            .started
            .clone()
            .ok_or_else(|| DeskError::NotFound(id.to_string()))?;
        if !view.redacted.is_empty() {
            return Err(DeskError::WrongState(format!(
                "debate {} has redacted events; it cannot be forked",
                id.short()
            )));
        }
        let kept = kept_steps(&view, &fork.at)?;
        let format = self.format(&origin.format)?;
        let start = changed_start(&origin, &fork)?;
        check_heard(&view, &kept, &start)?;
        let usual = (format.limits)(&start.config);
        let debate_seconds = fork.more.debate_seconds.unwrap_or(usual.debate_seconds);
        let approval_seconds = approval_of(
            &fork,
            view.limits().map_or(0, |limits| limits.approval_seconds),
        )?;
        let start = Start {
            limits: Some(Limits {
                caps: fork.more.caps,
                debate_seconds,
                approval_seconds,
                ..usual
            }),
            ..start
        };
        let (started, models) = self.pin(format, start)?;
        let forked_from = Some(ForkedFrom {
            debate_id: id,
            at: fork.at.clone(),
        });
        let started = Started {
            marker: origin.marker.clone(),
            forked_from,
            request,
            ..started
        };
        let copied = copy_turns(&records, &kept);
        self.begin(new, format, Arc::new(started), models, copied)
            .await
    }

    /// Runs the format again with the recorded replies only, and compares. Asking for anything
    /// unrecorded fails.
    pub async fn replay(&self, id: DebateId) -> Result<Replayed, DeskError> {
        let records = self.records(id).await?;
        self.check_whole(id).await?;
        let original = View::of(&records);
        let started = original
            .started
            .clone()
            .ok_or_else(|| DeskError::NotFound(id.to_string()))?;
        if !original.redacted.is_empty() {
            return Err(DeskError::WrongState(format!(
                "debate {} has redacted events; it can be read but not run again",
                id.short()
            )));
        }
        let recording = Recording::of(&records).map_err(|error| {
            DeskError::WrongState(format!("the journal cannot be read: {error}"))
        })?;
        let recording = Arc::new(recording);
        let store = Arc::new(MemoryStore::new());
        let options = DeskOptions {
            clock: self.inner.clock.clone(),
            formats: self.inner.formats,
            ..DeskOptions::default()
        };
        let desk = Desk::with_options(store, Arc::new(Recorded(recording.clone())), options);
        let format = desk.format(&started.format)?;
        let journal = Arc::new(desk.inner.journal(id));
        let first = Entry::new(Place::default(), Event::DebateStarted(started.clone()));
        journal.append(vec![first], Commit::default()).await?;
        // Whether the result was to be approved is what counted at the end.
        journal.memory().limits = original.limits();
        let models = desk.open_all(&started);
        let debate = desk.debate(
            id,
            started,
            models,
            journal.clone(),
            Deltas::default(),
            Some(recording),
            true,
        );
        let result = super::run::approved(format, &debate).await;
        let failed_then = original
            .outcome
            .as_ref()
            .is_some_and(|outcome| outcome.outcome == Ending::Failed);
        if let (Err(Stop::Broken(problem)), false) = (&result, failed_then) {
            return Err(DeskError::WrongState(problem.clone()));
        }
        let outcome = super::run::ending(&debate, result)?;
        let last = Entry::new(
            Place::default(),
            Event::DebateCompleted(Arc::new(outcome.clone())),
        );
        journal.append(vec![last], Commit::default()).await?;
        // What people said after the end does not follow from the replies; it is taken over.
        let mut again = desk.view(id).await?;
        (again.answer, again.marked) = (original.answer.clone(), original.marked.clone());
        let transcript = report::transcript(&again);
        let identical = transcript == report::transcript(&original)
            && original.outcome.as_ref() == Some(&outcome);
        Ok(Replayed {
            transcript,
            outcome,
            identical,
        })
    }

    /// Refuses a journal that is not as it was written: whatever came out of it would be blamed on
    /// the rules.
    async fn check_whole(&self, id: DebateId) -> Result<(), DeskError> {
        let keys: Vec<String> = self
            .inner
            .store
            .checkpoints(id)
            .await?
            .into_iter()
            .map(|checkpoint| checkpoint.key)
            .collect();
        // Who signed it, and whether anybody did, is for an audit.
        let damage = self
            .verify(id, &keys)
            .await?
            .problems
            .into_iter()
            .find(|problem| problem.kind != ProblemKind::Unsealed);
        damage.map_or(Ok(()), |problem| {
            Err(DeskError::Damaged {
                debate: id,
                seq: problem.seq,
                problem: problem.detail,
            })
        })
    }

    pub async fn export(&self, id: DebateId) -> Result<Portable, DeskError> {
        let checkpoints = self.inner.store.checkpoints(id).await?;
        Ok(Portable {
            debate: id,
            records: self.records(id).await?,
            checkpoints,
        })
    }

    /// Takes a debate from a file. Its chain must hold; `trusted` are the keys whose seals count.
    pub async fn import(&self, file: Portable, trusted: &[String]) -> Result<Audit, DeskError> {
        let audit = audit::verify(file.debate, &file.records, &file.checkpoints, trusted);
        if let Some(problem) = audit.problems.first() {
            return Err(DeskError::Damaged {
                debate: file.debate,
                seq: problem.seq,
                problem: problem.detail.clone(),
            });
        }
        let session = View::of(&file.records).session();
        let session =
            session.ok_or_else(|| DeskError::BadRequest("the file holds no debate".to_owned()))?;
        if !self.inner.store.page(file.debate, 0, 1).await?.is_empty() {
            return Err(DeskError::WrongState(format!(
                "debate {} is here already",
                file.debate
            )));
        }
        // All in one: a part of it, left by a process that was killed, would look like the whole.
        let mut append = Append::new(file.debate, 0, Hash::default());
        append.turns = view::turn_rows(&file.records);
        append.projections = file
            .records
            .iter()
            .filter_map(Projection::of_record)
            .collect();
        append.records = file.records;
        append.checkpoints = file.checkpoints;
        append.session = Some(Box::new(session));
        append.durability = Durability::Power;
        append.is_news = false;
        self.inner.store.append(append).await?;
        Ok(audit)
    }

    pub async fn verify(&self, id: DebateId, trusted: &[String]) -> Result<Audit, DeskError> {
        // The row first: what it knows of the end is in the journal by then.
        let filter = Filter {
            prefix: Some(id.to_string()),
            ..Filter::default()
        };
        let row = self
            .inner
            .store
            .sessions(&filter)
            .await?
            .into_iter()
            .find(|session| session.id == id);
        let loaded = match self.inner.store.load(id, 0).await {
            Ok(records) => self
                .inner
                .store
                .checkpoints(id)
                .await
                .map(|checkpoints| (records, checkpoints)),
            Err(error) => Err(error),
        };
        let (records, checkpoints) = match loaded {
            Err(StoreError::Unreadable { seq, why, .. }) => {
                return Ok(Audit::unreadable(id, seq, &why));
            }
            loaded => loaded?,
        };
        if records.is_empty() && checkpoints.is_empty() {
            return row
                .map(|row| Audit::wiped(&row))
                .ok_or_else(|| DeskError::NotFound(id.to_string()));
        }
        let mut audit = audit::verify(id, &records, &checkpoints, trusted);
        audit.compare(row.as_ref(), &records);
        Ok(audit)
    }

    /// Takes an event's text out of the journal; the chain stays valid and says so. Returns the
    /// events that still hold sentences of it: what was derived from a reply quotes it.
    pub async fn redact(
        &self,
        id: DebateId,
        seq: u64,
        reason: &str,
        by: &str,
    ) -> Result<Vec<u64>, DeskError> {
        if self.inner.live().contains_key(&id) {
            return Err(DeskError::WrongState(format!(
                "debate {} is running; redact it when it has ended",
                id.short()
            )));
        }
        let records = self.records(id).await?;
        let record = records.iter().find(|record| record.seq == seq);
        let record = record.ok_or_else(|| {
            DeskError::BadRequest(format!("debate {} has no event {seq}", id.short()))
        })?;
        check_redactable(record)?;
        let head = records.last().map_or(Hash::default(), |record| record.hash);
        let count = records.len() as u64;
        let kept = EventRedacted::of(record);
        let event = Event::EventRedacted(Box::new(EventRedacted {
            reason: reason.to_owned(),
            by: by.to_owned(),
            ..kept
        }));
        let now = format!("{:.3}", self.inner.clock.now()).into();
        let announced = Record::new(id, count + 1, head, now, Place::default(), &event);
        let mut append = Append::new(id, count, head);
        append.checkpoints = self
            .inner
            .seal
            .iter()
            .map(|seal| seal.close(id, count + 1, announced.hash))
            .collect();
        if record.kind == "debate.completed" {
            // The session row repeats the outcome; it says what the journal still tells.
            let told = records.iter().map(|known| {
                if known.seq == seq {
                    known.tombstone()
                } else {
                    known.clone()
                }
            });
            append.session = View::of(&told.chain([announced.clone()]).collect::<Vec<_>>())
                .session()
                .map(Box::new);
        }
        append.records = vec![announced];
        append.durability = Durability::Power;
        append.claim = Claim::Release;
        let (desk, tombstone) = (self.clone(), record.tombstone());
        apart(async move {
            match desk.inner.store.redact(tombstone, append).await {
                // Nothing was ours before.
                Err(StoreError::Lost { debate, by }) => Err(StoreError::Held { debate, by }),
                other => other,
            }
            .map_err(DeskError::from)
        })
        .await?;
        Ok(still_quoting(record, &records))
    }

    pub async fn remove(&self, id: DebateId) -> Result<(), DeskError> {
        self.see_off(id).await?;
        if self.inner.live().contains_key(&id) {
            return Err(DeskError::WrongState(format!(
                "debate {} is running; cancel it first",
                id.short()
            )));
        }
        let desk = self.clone();
        apart(async move {
            desk.inner.store.remove(id).await?;
            desk.inner.ears.removed(id);
            Ok(())
        })
        .await
    }
}

fn check_redactable(record: &Record) -> Result<(), DeskError> {
    match &*record.kind {
        "event.redacted" => Err(DeskError::BadRequest(
            "a redaction cannot be redacted".to_owned(),
        )),
        "debate.started" => {
            let what = "the first event holds the rules of the debate; remove the debate instead \
                (`rebut rm`)";
            Err(DeskError::BadRequest(what.to_owned()))
        }
        _ if record.is_redacted() => Err(DeskError::WrongState(format!(
            "event {} is redacted already",
            record.seq
        ))),
        _ => Ok(()),
    }
}

/// The steps before `at`, in the order they were begun.
fn kept_steps(view: &View, at: &str) -> Result<Vec<String>, DeskError> {
    let mut steps: Vec<String> = Vec::new();
    for turn in &view.turns {
        let step = step_of(&turn.turn);
        if !steps.iter().any(|known| known == step) {
            steps.push(step.to_owned());
        }
    }
    if at == "end" {
        return Ok(steps);
    }
    match steps.iter().position(|step| step == at) {
        Some(place) => Ok(steps[..place].to_vec()),
        None => Err(DeskError::BadRequest(format!(
            "there is no step `{at}`; fork at one of: {}, end",
            steps.join(", ")
        ))),
    }
}

/// What a person was to approve is to be approved in a fork too, however that ended; only the time
/// may be another.
fn approval_of(fork: &Fork, before: u64) -> Result<u64, DeskError> {
    match fork.more.approval_seconds {
        Some(0) if before > 0 => {
            let what = "the result that is forked was to be approved, and so is that of the fork; \
                leave `approval_seconds` out, \
                        or set another time";
            Err(DeskError::BadRequest(what.to_owned()))
        }
        asked => Ok(asked.unwrap_or(before.min(LONGEST_GATE))),
    }
}

fn step_of(turn: &str) -> &str {
    turn.split_once('/').map_or(turn, |(step, _)| step)
}

/// Gates that a format has by its settings stay in a fork too.
fn check_gates(origin: &Started, fork: &Fork) -> Result<(), DeskError> {
    let names =
        |gates: Option<&Value>| gates.and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(kept) = fork.config.get("gates").map(|gates| names(Some(gates))) else {
        return Ok(());
    };
    match names(origin.config.get("gates"))
        .into_iter()
        .find(|gate| !kept.contains(gate))
    {
        Some(lost) => Err(DeskError::BadRequest(format!(
            "a person was to approve what comes after {lost}, and so in a fork; keep it in `gates`"
        ))),
        None => Ok(()),
    }
}

fn changed_start(origin: &Started, fork: &Fork) -> Result<Start, DeskError> {
    check_gates(origin, fork)?;
    let mut config = origin.config.clone();
    for (key, value) in &fork.config {
        if let Some(settings) = config.as_object_mut() {
            settings.insert(key.clone(), value.clone());
        }
    }
    let mut agents = origin.agents.clone();
    for (name, model) in &fork.models {
        let agent = agents.iter_mut().find(|agent| *agent.name == **name);
        agent
            .ok_or_else(|| DeskError::BadRequest(format!("there is no agent `{name}`")))?
            .model = model.as_str().into();
    }
    Ok(Start {
        format: origin.format.clone(),
        input: origin.input.clone(),
        config,
        agents,
        seed: Some(origin.seed),
        initiated_by: fork.initiated_by.clone(),
        limits: None,
    })
}

/// Turns that are kept were shown what their own topology allows. Under another one, the record
/// would say otherwise.
fn check_heard(view: &View, kept: &[String], start: &Start) -> Result<(), DeskError> {
    let before = view
        .started
        .as_ref()
        .map(|started| kind_of(&started.config))
        .unwrap_or_default();
    match view.rounds.iter().find(|round| round.round > 1) {
        Some(first) if before != kind_of(&start.config) && kept.contains(&first.step) => {
            Err(DeskError::BadRequest(format!(
                "who heard whom at `{0}` is past and cannot change; fork at `{0}` or earlier for \
                 another topology",
                first.step
            )))
        }
        _ => Ok(()),
    }
}

/// The turns of the kept steps, and the notes they heard under their new numbers.
fn copy_turns(records: &[Record], kept: &[String]) -> Vec<Entry> {
    let mut copies: Vec<Entry> = Vec::new();
    let mut notes: HashMap<u64, (Place, Event)> = HashMap::new();
    let mut renumbered: HashMap<u64, u64> = HashMap::new();
    for record in records {
        let place = Place {
            round: record.round,
            phase: record.phase.clone(),
            agent: record.agent.clone(),
        };
        let Ok(Some(event)) = record.event() else {
            continue;
        };
        match event {
            Event::HumanNoted(_) => {
                notes.insert(record.seq, (place, event));
            }
            Event::RoundStarted(round) if kept.contains(&round.step) => {
                for seq in &round.notes {
                    if let Some((place, note)) = notes.remove(seq) {
                        // The first event of the new journal has number 1.
                        renumbered.insert(*seq, copies.len() as u64 + 2);
                        copies.push(Entry::new(place, note));
                    }
                }
                let heard = round
                    .notes
                    .iter()
                    .filter_map(|seq| renumbered.get(seq).copied())
                    .collect();
                copies.push(Entry::new(
                    place,
                    Event::RoundStarted(RoundStarted {
                        notes: heard,
                        ..round
                    }),
                ));
            }
            Event::TurnCompleted(completed)
                if kept.iter().any(|step| step == step_of(&completed.turn)) =>
            {
                let role = place.agent.clone().unwrap_or_default();
                let copied_from = Some(completed.copied_from.unwrap_or(record.debate));
                let completed = Arc::new(TurnCompleted {
                    copied_from,
                    ..Arc::unwrap_or_clone(completed)
                });
                copies.push(Entry {
                    place,
                    role: Some(role),
                    event: Event::TurnCompleted(completed),
                });
            }
            Event::TurnFailed(failed)
                if !failed.retry && kept.iter().any(|step| step == step_of(&failed.turn)) =>
            {
                copies.push(Entry::new(place, Event::TurnFailed(failed)));
            }
            _ => {}
        }
    }
    copies
}
