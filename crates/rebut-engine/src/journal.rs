//! A debate's journal while it is open: appends in order, remembers what is recorded, and takes in
//! what others append.

mod entry;
mod meeting;
mod steering;
mod window;
mod writing;

pub use entry::Entry;
pub use writing::Patience;

use crate::{
    DebateId,
    budget::{Amount, Spent, may_be_billed},
    clock::Clock,
    debate::Steer,
    desk::Subscribers,
    error::{Stop, TooLate},
    event::{
        Event, GateDecided, GateOpened, HumanAnswered, HumanCancelled, HumanNoted, Limits, Started,
        TurnCompleted, TurnFailed,
    },
    model::Fault,
    outcome::Outcome,
    record::{Hash, Place, Record},
    run_code::RunCompleted,
    seal::Seal,
    store::{Append, Claim, Durability, Session, Store, StoreError},
};
use std::{
    collections::{BTreeMap, HashMap},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{Notify, futures::Notified, watch};
use window::{Mark, Window};
use writing::{Backoff, Means};

pub struct Journal {
    debate: DebateId,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    seal: Option<Arc<Seal>>,
    end: tokio::sync::Mutex<End>,
    memory: Mutex<Memory>,
    /// Told of every append, whoever made it.
    grown: Notify,
    /// What people want of its run.
    steer: watch::Sender<Steer>,
    ears: Arc<Subscribers>,
    patience: Arc<Patience>,
}

/// The journal's end, and what waits to be appended there.
struct End {
    count: u64,
    head: Hash,
    /// The last of what is known, in case the store loses it.
    window: Window,
    queued: Vec<Entry>,
    /// Replies that survive a crash of the process but perhaps not a power cut yet.
    unsynced: bool,
    /// Whether this process runs the debate, as far as it knows.
    holds: bool,
    under_way: Option<UnderWay>,
    /// How many appends were begun, and the last that was refused with why.
    begun: u64,
    refused: Option<(u64, TooLate)>,
}

/// An append that was begun. It stays here until it is done: whoever waited for it may leave (a
/// debate's time is over), and then the store may have written it although nobody was told. The
/// next one to come finishes it first.
struct UnderWay {
    /// Its number among those of this journal.
    number: u64,
    entries: Vec<Entry>,
    /// So many of them were only waiting for some append; the rest is what this one is about.
    queued: usize,
    unless: Option<Unless>,
    now: Arc<str>,
    session: Option<MakeSession>,
    seal: bool,
    claim: Claim,
    durability: Durability,
    /// What the store is doing; nothing when the journal turned out to end elsewhere than was
    /// known.
    writing: Option<Written>,
}

/// An append that the store is doing, and the end it leads to.
struct Written {
    doing: writing::Writing,
    count: u64,
    head: Hash,
    /// What its records have besides their events.
    marks: Vec<Mark>,
}

/// Makes a session row from the time of the append; again, where that has to be written again.
pub type MakeSession = Box<dyn Fn(&str) -> Session + Send>;

#[derive(Default)]
pub struct Commit {
    /// Close the journal here with a signed checkpoint.
    pub seal: bool,
    pub session: Option<MakeSession>,
    /// Take or give up the debate.
    pub claim: Option<Claim>,
    pub durability: Option<Durability>,
    /// What forbids it, looked at when nothing can come between that look and the append.
    pub unless: Option<Unless>,
}

/// Says what is recorded already that makes an append come too late.
pub type Unless = Box<dyn Fn(&Memory) -> Option<TooLate> + Send>;

pub type Appending<'a> = Pin<Box<dyn Future<Output = Result<u64, Stop>> + Send + 'a>>;

/// What is recorded, as far as a re-run of the format needs it.
#[derive(Default)]
pub struct Memory {
    pub started: Option<Arc<Started>>,
    pub created_at: Arc<str>,
    /// The end, if there is one.
    pub outcome: Option<Arc<Outcome>>,
    /// Whether the last word was a pause.
    pub paused: bool,
    pub notes: BTreeMap<u64, HumanNoted>,
    pub cancelled: Option<HumanCancelled>,
    /// Who asked for a pause that has not come yet.
    pub pause_asked: Option<String>,
    /// Gates that were opened or decided.
    pub gates: HashMap<String, Gate>,
    /// A person's choice after a contested end.
    pub answered: Option<HumanAnswered>,
    /// The limits from the last resume on, where it changed them.
    pub limits: Option<Limits>,
    /// What was used so far, as far as it is recorded; calls under way when the record ends are
    /// charged as held.
    pub spent: Spent,
    /// Whether a text was taken out: such a debate can be read, but not run again.
    pub redacted: bool,
    turns: HashMap<Arc<str>, RecordedTurn>,
    runs: HashMap<Arc<str>, RecordedRun>,
    rounds_started: HashMap<String, Vec<u64>>,
    facts: HashMap<FactKey, String>,
}

/// What is recorded of a gate.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// How it was opened; one that is switched off is only decided.
    pub opened: Option<Box<GateOpened>>,
    pub decided: Option<GateDecided>,
}

/// The hash of a run's job, and what came of it.
type RecordedRun = (Hash, Option<Arc<RunCompleted>>);

/// Kind, place, and what tells several of that kind at one place apart.
type FactKey = (
    String,
    Option<u32>,
    Option<Arc<str>>,
    Option<Arc<str>>,
    String,
);

/// What is known of one turn.
#[derive(Clone, Debug, Default)]
pub struct RecordedTurn {
    /// The hash of the prompt it was asked with.
    pub prompt: Option<Hash>,
    pub failed: u32,
    /// How many of them with the model that is asked now.
    pub failed_here: u32,
    /// Who is asked now, as far as it is recorded.
    pub model: Option<Arc<str>>,
    /// What is held for the call under way.
    held: Option<Amount>,
    /// Whether a call left and nothing came back before the record ends.
    pub in_flight: bool,
    pub completed: Option<Arc<TurnCompleted>>,
    /// The last fault, when it was given up.
    pub given_up: Option<Fault>,
}

impl End {
    /// Keeps what only waited for some append for the next one, where the append it waited for came
    /// to nothing: facts of the run must not go with the words of a person that were refused.
    fn put_back(&mut self, mut begun: UnderWay) {
        begun.entries.truncate(begun.queued);
        self.queued.splice(0..0, begun.entries);
    }
}

impl Journal {
    /// A journal with nothing in it yet.
    pub fn new(
        debate: DebateId,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        seal: Option<Arc<Seal>>,
        ears: Arc<Subscribers>,
        patience: Arc<Patience>,
    ) -> Self {
        let end = End {
            count: 0,
            head: Hash::default(),
            window: Window::default(),
            queued: Vec::new(),
            unsynced: false,
            holds: false,
            under_way: None,
            begun: 0,
            refused: None,
        };
        let (memory, grown, steer) = (Mutex::default(), Notify::new(), watch::Sender::default());
        Self {
            debate,
            store,
            clock,
            seal,
            end: end.into(),
            memory,
            grown,
            steer,
            ears,
            patience,
        }
    }

    /// Reads everything that is recorded after what is already known.
    pub async fn catch_up(&self) -> Result<(), Stop> {
        let mut end = self.end.lock().await;
        self.finish(&mut end).await?;
        self.absorb_tail(&mut end).await.map(drop)
    }

    /// Appends in order, together with whatever was queued. Returns the number of the last record.
    pub fn append(&self, entries: Vec<Entry>, commit: Commit) -> Appending<'_> {
        // Boxed, so that a turn that waits for its answer does not carry the room an append would
        // need.
        Box::pin(self.append_now(entries, commit))
    }

    async fn append_now(&self, entries: Vec<Entry>, commit: Commit) -> Result<u64, Stop> {
        let mut end = self.end.lock().await;
        self.finish(&mut end).await?;
        if let Some(late) = commit
            .unless
            .as_ref()
            .and_then(|unless| unless(&self.memory()))
        {
            return Err(late.into());
        }
        let mut all = std::mem::take(&mut end.queued);
        let queued = all.len();
        if all.is_empty() {
            all = entries;
        } else {
            all.extend(entries);
        }
        let now = self.now();
        end.begun += 1;
        let number = end.begun;
        let mut begun = UnderWay {
            number,
            entries: all,
            queued,
            unless: commit.unless,
            now,
            session: commit.session,
            seal: commit.seal,
            claim: commit.claim.unwrap_or(Claim::Keep),
            durability: commit.durability.unwrap_or(Durability::Process),
            writing: None,
        };
        begun.writing = Some(self.write(&end, &begun));
        end.under_way = Some(begun);
        self.finish(&mut end).await?;
        match end.refused.take_if(|(refused, _)| *refused == number) {
            Some((_, late)) => Err(late.into()),
            None => Ok(end.count),
        }
    }

    /// Sees the append under way through, if there is one.
    async fn finish(&self, end: &mut End) -> Result<(), Stop> {
        let mut pause = Backoff::default();
        let mut there = None;
        while let Some(begun) = &mut end.under_way {
            let Some(writing) = &mut begun.writing else {
                if !self.meet(end, there.take()).await? {
                    // What refuses it does not show in what can be read, for instance since another
                    // server answers.
                    pause
                        .wait(&*self.clock, || {
                            self.ears
                                .stalled(self.debate, "its journal cannot be added to")
                        })
                        .await;
                }
                self.write_again(end);
                continue;
            };
            match writing.doing.as_mut().await {
                Ok(()) => self.written(end),
                // Somebody steered the debate from elsewhere: take that in and append behind it. Or
                // the store went back.
                Err(StoreError::Conflict { count, head, .. }) => {
                    (there, begun.writing) = (Some((count, head)), None)
                }
                Err(error) => {
                    if let Some(begun) = end.under_way.take() {
                        end.put_back(begun);
                    }
                    return Err(match error {
                        StoreError::Lost { .. } => Stop::TakenOver,
                        error => error.into(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Begins what is under way anew behind what others appended, unless that makes it come too
    /// late.
    fn write_again(&self, end: &mut End) {
        let Some(mut begun) = end.under_way.take() else {
            return;
        };
        if let Some(late) = begun
            .unless
            .as_ref()
            .and_then(|unless| unless(&self.memory()))
        {
            end.refused = Some((begun.number, late));
            return end.put_back(begun);
        }
        begun.writing = Some(self.write(end, &begun));
        end.under_way = Some(begun);
    }

    fn write(&self, end: &End, begun: &UnderWay) -> Written {
        let mut append = self.chain(end, &begun.entries, &begun.now);
        let head = append.records.last().map_or(end.head, |record| record.hash);
        let marks = append.records.iter().filter_map(Mark::of).collect();
        let count = append.after + append.records.len() as u64;
        append.session = begun
            .session
            .as_ref()
            .map(|make| Box::new(make(&begun.now)));
        let claim = if begun.claim == Claim::Keep && end.holds {
            Claim::Hold
        } else {
            begun.claim
        };
        (append.claim, append.durability) = (claim, begun.durability);
        append.checkpoints = self
            .seal
            .iter()
            .filter(|_| begun.seal)
            .map(|seal| seal.close(self.debate, count, head))
            .collect();
        let runs = end.holds || begun.claim == Claim::Take;
        Written {
            doing: writing::write(self.means(), append, runs),
            count,
            head,
            marks,
        }
    }

    fn written(&self, end: &mut End) {
        let Some((begun, writing)) = end
            .under_way
            .take()
            .and_then(|mut begun| begun.writing.take().map(|writing| (begun, writing)))
        else {
            return;
        };
        let Written {
            count, head, marks, ..
        } = writing;
        if end.count == 0 {
            self.memory().created_at.clone_from(&begun.now);
        }
        (end.count, end.head) = (count, head);
        end.holds = begun.claim != Claim::Release && (end.holds || begun.claim == Claim::Take);
        let has_reply = begun
            .entries
            .iter()
            .any(|entry| matches!(entry.event, Event::TurnCompleted(_)));
        end.unsynced = begun.durability != Durability::Power && (end.unsynced || has_reply);
        let before = count - begun.entries.len() as u64;
        self.remember_steering(before, &begun.entries);
        self.heed(end);
        self.grown.notify_waiters();
        self.ears.appended(self.debate, before, &begun.entries);
        if end.holds {
            for (entry, mark) in begun.entries.into_iter().zip(marks) {
                end.window.push(entry, begun.now.clone(), mark);
            }
        } else {
            end.window.begin(count, head);
        }
    }

    /// Remembers events that are about to be appended, from that number on, as if an earlier run
    /// had left them: a fork finds the turns it copies.
    pub fn recall(&self, entries: &[Entry], first: u64) {
        for (seq, entry) in (first..).zip(entries) {
            let record = Record::new(
                self.debate,
                seq,
                Hash::default(),
                self.now(),
                entry.place.clone(),
                &entry.event,
            );
            self.memory().absorb(&record, Some(entry.event.clone()));
        }
    }

    /// Keeps an event for the next append: facts the format derives need no commit of their own.
    pub async fn queue(&self, entry: Entry) {
        self.end.lock().await.queued.push(entry);
    }

    /// How to append before a call leaves: replies it builds on must be on the disk.
    pub async fn commit_before_call(&self) -> Commit {
        let end = self.end.lock().await;
        // What is being written may be a reply too.
        let builds_on_replies = end.unsynced || end.under_way.is_some();
        let durability = if builds_on_replies {
            Durability::Power
        } else {
            Durability::Process
        };
        Commit {
            durability: Some(durability),
            ..Commit::default()
        }
    }

    /// How many records it has, as far as is known here; `None` while somebody appends.
    pub fn count(&self) -> Option<u64> {
        self.end.try_lock().ok().map(|end| end.count)
    }

    pub fn debate(&self) -> DebateId {
        self.debate
    }

    /// Waits for the next append; those from this call on count.
    pub fn grown(&self) -> Notified<'_> {
        self.grown.notified()
    }

    pub fn memory(&self) -> MutexGuard<'_, Memory> {
        // Nothing panics while holding it; should it ever, what was recorded is still right.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn means(&self) -> Means {
        Means {
            store: self.store.clone(),
            clock: self.clock.clone(),
            patience: self.patience.clone(),
        }
    }

    fn now(&self) -> Arc<str> {
        format!("{:.3}", self.clock.now()).into()
    }

    fn chain(&self, end: &End, entries: &[Entry], now: &Arc<str>) -> Append {
        let mut append = Append::new(self.debate, end.count, end.head);
        let mut head = end.head;
        append.records = Vec::with_capacity(entries.len());
        for (entry, seq) in entries.iter().zip(end.count + 1..) {
            head = entry.add_to(&mut append, seq, head, now, None);
        }
        append
    }
}

impl Memory {
    /// What is recorded of a turn. A reply is handed out once: a turn is asked once per run.
    pub fn take_turn(&mut self, turn: &str) -> RecordedTurn {
        self.turns.remove(turn).unwrap_or_default()
    }

    /// What is recorded of a run; handed out once, like a turn.
    pub fn take_run(&mut self, run: &str) -> Option<RecordedRun> {
        self.runs.remove(run)
    }

    /// The notes a round heard when it was first started.
    pub fn notes_heard(&self, step: &str) -> Option<Vec<u64>> {
        self.rounds_started.get(step).cloned()
    }

    /// What an earlier run used: calls that were under way when it ended may have been billed, and
    /// are asked again.
    pub fn spent_before(&self) -> Spent {
        let mut spent = self.spent;
        for turn in self.turns.values().filter(|turn| turn.in_flight) {
            spent.charge(turn.held.unwrap_or_default(), None, true);
        }
        spent
    }

    /// Turns that were in flight when the record ends.
    pub fn in_doubt(&self) -> Vec<String> {
        let mut turns: Vec<String> = self
            .turns
            .iter()
            .filter(|(_, turn)| turn.in_flight)
            .map(|(name, _)| name.to_string())
            .collect();
        turns.sort();
        turns
    }

    /// The recorded data of the derived fact that stands for this one at this place, if it is
    /// recorded.
    pub fn fact(&self, event: &Event, place: &Place) -> Option<&str> {
        // A debate that was never interrupted has none to compare with.
        if self.facts.is_empty() {
            return None;
        }
        let key = (
            event.kind().to_owned(),
            place.round,
            place.phase.clone(),
            place.agent.clone(),
            name_at_place(event),
        );
        self.facts.get(&key).map(String::as_str)
    }

    fn absorb(&mut self, record: &Record, event: Option<Event>) {
        if record.is_redacted() {
            self.redacted = true;
            if record.kind == "debate.completed" {
                self.outcome = Some(Arc::new(Outcome::redacted(None)));
            }
        }
        match event {
            Some(Event::DebateStarted(started)) => {
                self.created_at.clone_from(&record.ts);
                self.started = Some(started);
            }
            Some(Event::RoundStarted(round)) => {
                self.rounds_started.insert(round.step, round.notes);
            }
            Some(Event::TurnStarted(started)) => {
                self.spent.calls += 1;
                let turn = self.turns.entry(started.turn).or_default();
                turn.prompt = Some(started.prompt);
                if turn
                    .model
                    .as_ref()
                    .is_some_and(|model| *model != started.model)
                {
                    turn.failed_here = 0;
                }
                turn.model = Some(started.model);
                // A call that never came back may have been billed.
                self.spent.charge(
                    turn.held.take().unwrap_or_default(),
                    None,
                    std::mem::replace(&mut turn.in_flight, true),
                );
                turn.held = started.held;
            }
            Some(Event::TurnFailed(failed)) => self.absorb_failure(*failed),
            Some(Event::TurnCompleted(completed)) => {
                let turn = self.turns.entry(completed.turn.clone()).or_default();
                turn.in_flight = false;
                if completed.copied_from.is_none() {
                    let used = completed
                        .usage
                        .as_ref()
                        .map(|usage| Amount::of(usage, None));
                    self.spent
                        .charge(turn.held.take().unwrap_or_default(), used, true);
                }
                turn.completed = Some(completed);
            }
            Some(Event::RunStarted(started)) => {
                self.runs.insert(started.run, (started.job, None));
            }
            Some(Event::RunCompleted(completed)) => {
                if let Some((_, result)) = self.runs.get_mut(&completed.run) {
                    *result = Some(completed);
                }
            }
            Some(Event::GateOpened(opened)) => self.open_gate(opened),
            Some(Event::GateDecided(decided)) => self.decide_gate(*decided),
            Some(Event::HumanNoted(note)) => {
                self.notes.insert(record.seq, note);
            }
            Some(Event::HumanCancelled(cancelled)) => self.cancelled = Some(cancelled),
            Some(Event::HumanPaused(paused)) => self.pause_asked = Some(paused.by),
            Some(Event::DebatePaused(_)) => (self.paused, self.pause_asked) = (true, None),
            Some(Event::DebateResumed(resumed)) => {
                self.go_on(&resumed);
                self.limits = resumed.limits.or(self.limits);
            }
            Some(Event::DebateCompleted(outcome)) => self.end_with(outcome),
            Some(
                event @ (Event::RoundCompleted(_)
                | Event::PositionRecorded(_)
                | Event::PositionChanged(_)
                | Event::VoteTallied(_)
                | Event::PersonaRecorded(_)
                | Event::VerdictRecorded(_)
                | Event::ScoreAdjusted(_)
                | Event::ConflictsFound(_)
                | Event::MergeRecorded(_)
                | Event::CodeRecorded(_)
                | Event::ReflectionRecorded(_)
                | Event::LessonRecorded(_)
                | Event::ToolCalled(_)),
            ) => self.absorb_fact(record, &event),
            Some(Event::HumanAnswered(answered)) => self.answered = Some(answered),
            Some(Event::HumanMarked(_) | Event::EventRedacted(_)) | None => {}
        }
    }

    fn absorb_failure(&mut self, failed: TurnFailed) {
        let takes_back = failed.takes_back_its_call();
        let turn = self.turns.entry(failed.turn).or_default();
        let lost = std::mem::replace(&mut turn.in_flight, false) && failed.unsent && !takes_back;
        let used = failed
            .fault
            .usage
            .as_deref()
            .map(|usage| Amount::of(usage, None));
        self.spent.charge(
            turn.held.take().unwrap_or_default(),
            used,
            lost || may_be_billed(&failed.fault),
        );
        self.spent.calls = self.spent.calls.saturating_sub(takes_back.into());
        if !failed.unsent {
            turn.failed = turn.failed.max(failed.attempt);
        }
        turn.failed_here = if failed.fallback.is_some() {
            0
        } else {
            turn.failed_here + 1
        };
        turn.model = failed.fallback.or(turn.model.take());
        turn.given_up = (!failed.retry).then_some(failed.fault);
    }

    fn open_gate(&mut self, opened: Box<GateOpened>) {
        let gate = self.gates.entry(opened.gate.clone()).or_default();
        gate.opened = Some(opened);
    }

    /// The first recorded decision is the decision.
    fn decide_gate(&mut self, decided: GateDecided) {
        self.gates
            .entry(decided.gate.clone())
            .or_default()
            .decided
            .get_or_insert(decided);
    }

    fn absorb_fact(&mut self, record: &Record, event: &Event) {
        let key = (
            record.kind.to_string(),
            record.round,
            record.phase.clone(),
            record.agent.clone(),
            name_at_place(event),
        );
        self.facts.insert(key, record.data.clone());
    }
}

/// What tells facts of one kind at one place apart, where there can be several.
fn name_at_place(event: &Event) -> String {
    match event {
        Event::CodeRecorded(code) => code.version.to_string(),
        Event::ReflectionRecorded(reflection) => reflection.run.to_string(),
        Event::ToolCalled(call) => call.turn.to_string(),
        _ => String::new(),
    }
}
