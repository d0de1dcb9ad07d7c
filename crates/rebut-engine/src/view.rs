//! Folds of the journal: everything a person sees of a debate is read from here, live or
//! afterwards.

mod spending;

pub use spending::Spent;

use crate::{
    DebateId,
    event::{
        DebateResumed, Event, EventRedacted, GateOpened, HumanAnswered, HumanMarked, HumanNoted,
        Limits, Position, Started, Tally, TurnCompleted, json_text,
    },
    facts::{
        CodeRecorded, Conflict, LessonRecorded, MergeRecorded, PersonaRecorded, ReflectionRecorded,
        Ruling, ScoreAdjusted, ToolCalled,
    },
    family::{Voice, is_person},
    model::{Fault, Finish, Usage},
    outcome::{Absence, Ending, Outcome},
    record::Record,
    reply::{Check, Reply, read_answer},
    run_code::RunCompleted,
    store::{Picked, Session, Status, TurnRow},
    topology,
};
use spending::Untold;
use std::{collections::BTreeSet, sync::Arc};

/// A debate as its journal tells it so far.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub id: Option<DebateId>,
    pub started: Option<Arc<Started>>,
    /// When it began, and when the last event was written.
    pub created_at: Arc<str>,
    pub updated_at: Arc<str>,
    pub ended_at: Option<Arc<str>>,
    /// Milliseconds somebody ran it: without the time between an interruption, pause or limit and
    /// the next resumption.
    pub worked_ms: u64,
    /// Since when it works, until it ends or is left.
    works_since: Option<jiff::Timestamp>,
    pub events: u64,
    pub rounds: Vec<RoundView>,
    /// Every turn that was asked, in order.
    pub turns: Vec<TurnView>,
    pub personas: Vec<(Arc<str>, Arc<PersonaRecorded>)>,
    /// Verdicts of judges between two sides, in order.
    pub verdicts: Vec<Arc<Ruling>>,
    /// What verdicts did to scores, in order.
    pub scores: Vec<Arc<ScoreAdjusted>>,
    /// Proposals that cannot both be followed.
    pub conflicts: Vec<Conflict>,
    /// Which proposals stand, once that is decided.
    pub merge: Option<Arc<MergeRecorded>>,
    /// What ran in the sandbox, in the order it ended.
    pub runs: Vec<Arc<RunCompleted>>,
    pub code: Vec<Arc<CodeRecorded>>,
    /// What agents learned from failed attempts, by agent.
    pub reflections: Vec<(Arc<str>, Arc<ReflectionRecorded>)>,
    pub lessons: Vec<Arc<LessonRecorded>>,
    /// What tools were used for, by agent.
    pub tool_calls: Vec<(Arc<str>, Arc<ToolCalled>)>,
    pub notes: Vec<HumanNoted>,
    pub open_gate: Option<GateOpened>,
    pub outcome: Option<Outcome>,
    /// The person's choice after a contested end.
    pub answer: Option<HumanAnswered>,
    /// Which option turned out right, as last said.
    pub marked: Option<HumanMarked>,
    /// Whether it was saved and left.
    pub paused: bool,
    pub resumed: Vec<DebateResumed>,
    /// Events whose text was taken out.
    pub redacted: Vec<u64>,
    /// Replies among them of which nothing was kept: their number and who gave them. Figures lack
    /// them.
    pub lost_replies: Vec<(u64, Arc<str>)>,
    /// Positions among them: who held them, in which round.
    pub lost_positions: Vec<(Arc<str>, u32)>,
    /// Whether a count is among them: an earlier one must not be taken for the last.
    pub lost_count: bool,
    /// The number of the last end, and its kind where only that is left.
    last_end: (u64, Option<Ending>),
}

#[derive(Clone, Debug, Default)]
pub struct RoundView {
    pub step: String,
    pub round: u32,
    pub phase: String,
    pub agents: Vec<Arc<str>>,
    pub positions: Vec<(Arc<str>, Arc<Position>)>,
    pub absent: Vec<Absence>,
    pub tally: Option<Arc<Tally>>,
    /// Whether everybody has answered or is missing.
    pub completed: bool,
}

/// The phases in which agents are asked blind: of decide, and of the control arms.
pub const BLIND_PHASES: [&str; 2] = ["recommend", "answer"];

impl RoundView {
    pub fn is_blind(&self) -> bool {
        BLIND_PHASES.contains(&self.phase.as_str())
    }
}

#[derive(Clone, Debug, Default)]
pub struct TurnView {
    pub turn: String,
    pub agent: Arc<str>,
    pub round: u32,
    /// Who was asked; once it answered, who the provider says answered.
    pub model: String,
    /// Who was asked last, by the name it is asked under.
    pub asked: Arc<str>,
    pub asked_at: Arc<str>,
    pub calls: u32,
    /// Failed attempts, those included where nothing was sent.
    pub faults: Vec<Fault>,
    /// The reply as it came; empty while it is awaited, or if it never came.
    pub text: String,
    pub finish: Finish,
    /// What it cost; `None` when unknown.
    pub usage: Option<Usage>,
    pub ms: u64,
    pub state: TurnState,
    /// Whether a call in flight at a crash may have been paid too.
    pub possibly_paid_twice: bool,
    /// Whether it was taken over from another debate, which paid for it.
    pub copied: bool,
    /// Calls of which nobody said what they used.
    untold: Untold,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnState {
    #[default]
    Thinking,
    Done,
    Failed,
}

impl View {
    /// The valid reply in what was said at a turn, if there is one: by the same rules by which it
    /// counted or did not.
    pub(crate) fn reply<R: Reply>(&self, turn: &TurnView, check: &Check<'_, R>) -> Option<R> {
        read_answer(&turn.text, turn.finish, check).ok()
    }

    /// The view of a whole journal.
    pub fn of(records: &[Record]) -> Self {
        let mut view = Self::default();
        for record in records {
            view.apply(record);
        }
        view
    }

    /// The view of a part of a journal: what the rest tells is missing, but for how many events
    /// there are and when the last was written.
    pub fn picked(Picked { records, head }: Picked) -> Self {
        let mut view = Self::of(&records);
        if let Some(head) = head {
            (view.events, view.updated_at) = (head.seq, head.ts);
        }
        view
    }

    pub fn last_words(&self) -> Vec<(&str, &Position)> {
        let mut last: Vec<(&str, &Position)> = Vec::new();
        for (agent, position) in self.rounds.iter().flat_map(|round| &round.positions) {
            match last.iter_mut().find(|(known, _)| *known == &**agent) {
                Some(known) => known.1 = position,
                None => last.push((agent, position)),
            }
        }
        // Whose last word was taken out has none: an earlier one is not it.
        let last_round = |agent: &str| {
            self.rounds
                .iter()
                .filter(|round| round.positions.iter().any(|(known, _)| &**known == agent))
                .map(|round| round.round)
                .max()
        };
        last.retain(|(agent, _)| {
            !self
                .lost_positions
                .iter()
                .any(|(lost, round)| **lost == **agent && Some(*round) >= last_round(agent))
        });
        last
    }

    /// Who answered so far, and through which model: after fallbacks not always the planned one.
    /// Each pair once.
    pub fn voices(&self) -> Vec<Voice<'_>> {
        let mut seen = BTreeSet::new();
        let answered = self
            .turns
            .iter()
            .filter(|turn| turn.state == TurnState::Done)
            .map(|turn| (&*turn.agent, &*turn.asked));
        answered.filter(|voice| seen.insert(*voice)).collect()
    }

    /// The limits in force: the pinned ones, or those of the last resume that changed them.
    pub fn limits(&self) -> Option<Limits> {
        let changed = self.resumed.iter().rev().find_map(|resumed| resumed.limits);
        changed.or_else(|| self.started.as_ref().map(|started| started.limits))
    }

    /// Turns that wait for a person, in the order they were asked.
    pub fn waiting_for_people(&self) -> impl Iterator<Item = &TurnView> {
        let goes_on = self.outcome.is_none() && !self.paused;
        self.turns.iter().filter(move |turn| {
            goes_on && turn.state == TurnState::Thinking && is_person(&turn.asked)
        })
    }

    /// Takes in one more record. Kinds this program does not know are passed over.
    pub fn apply(&mut self, record: &Record) {
        self.id = Some(record.debate);
        self.count_work(record);
        self.events = record.seq;
        self.updated_at.clone_from(&record.ts);
        if record.is_redacted() {
            self.redacted.push(record.seq);
            return self.apply_tombstone(record);
        }
        let Ok(Some(event)) = record.event() else {
            return;
        };
        match event {
            Event::DebateStarted(started) => {
                self.created_at.clone_from(&record.ts);
                self.started = Some(started);
            }
            Event::RoundStarted(round) => self.rounds.push(RoundView {
                step: round.step,
                round: record.round.unwrap_or(0),
                phase: record.phase.as_deref().unwrap_or_default().to_owned(),
                agents: round.agents,
                ..RoundView::default()
            }),
            Event::RoundCompleted(round) => {
                // Rounds may run side by side under one number.
                if let Some(view) = self
                    .rounds
                    .iter_mut()
                    .rev()
                    .find(|view| view.step == round.step)
                {
                    view.absent = round.absent;
                    view.completed = true;
                }
            }
            Event::PositionRecorded(position) | Event::PositionChanged(position) => {
                let agent = record.agent.clone().unwrap_or_default();
                if let Some(view) = self.round_mut(record) {
                    view.positions.push((agent, position));
                }
            }
            Event::VoteTallied(tally) => {
                if let Some(view) = self.round_mut(record) {
                    view.tally = Some(tally);
                }
            }
            Event::PersonaRecorded(persona) => self
                .personas
                .push((record.agent.clone().unwrap_or_default(), persona)),
            Event::VerdictRecorded(ruling) => self.verdicts.push(ruling),
            Event::ScoreAdjusted(score) => self.scores.push(score),
            Event::MergeRecorded(merge) => self.merge = Some(merge),
            Event::RunCompleted(completed) => self.runs.push(completed),
            Event::CodeRecorded(code) => self.code.push(code),
            Event::ReflectionRecorded(reflection) => self
                .reflections
                .push((record.agent.clone().unwrap_or_default(), reflection)),
            Event::LessonRecorded(lesson) => self.lessons.push(lesson),
            Event::ToolCalled(call) => self
                .tool_calls
                .push((record.agent.clone().unwrap_or_default(), call)),
            Event::ConflictsFound(found) => self.conflicts = Arc::unwrap_or_clone(found).conflicts,
            Event::TurnStarted(_) | Event::TurnFailed(_) | Event::TurnCompleted(_) => {
                self.apply_turn(record, event)
            }
            Event::GateOpened(gate) => self.open_gate = Some(*gate),
            Event::GateDecided(_) => self.open_gate = None,
            Event::HumanNoted(note) => self.notes.push(note),
            Event::HumanAnswered(answer) => self.answer = Some(answer),
            Event::HumanMarked(marked) => self.marked = Some(marked),
            Event::DebatePaused(_) => self.paused = true,
            Event::DebateResumed(resumed) => {
                (self.paused, self.outcome, self.ended_at) = (false, None, None);
                self.resumed.push(*resumed);
            }
            Event::DebateCompleted(outcome) => {
                (self.ended_at, self.last_end) = (Some(record.ts.clone()), (record.seq, None));
                (self.outcome, self.open_gate) = (Some(Arc::unwrap_or_clone(outcome)), None);
            }
            Event::EventRedacted(redacted) => self.apply_kept(*redacted, record),
            Event::HumanCancelled(_) | Event::HumanPaused(_) | Event::RunStarted(_) => {}
        }
    }

    /// Takes in what a record without its text still tells: what happened, and to whom.
    fn apply_tombstone(&mut self, record: &Record) {
        let agent = record.agent.clone().unwrap_or_default();
        match &*record.kind {
            "debate.completed" => {
                (self.ended_at, self.last_end) = (Some(record.ts.clone()), (record.seq, None));
                (self.outcome, self.open_gate) = (Some(Outcome::redacted(None)), None);
            }
            "debate.resumed" => (self.paused, self.outcome, self.ended_at) = (false, None, None),
            "debate.paused" => self.paused = true,
            "gate.decided" => self.open_gate = None,
            "round.completed" => {
                if let Some(view) = self.round_mut(record) {
                    view.completed = true;
                }
            }
            "vote.tallied" => self.lost_count = true,
            "turn.completed" => {
                // Its call is over, and counted with the reply that is lost.
                let answered = self
                    .turns
                    .iter_mut()
                    .rev()
                    .find(|turn| turn.agent == agent && turn.untold.is_under_way());
                answered.into_iter().for_each(|turn| turn.untold.end(true));
                self.lost_replies.push((record.seq, agent));
            }
            "position.recorded" | "position.changed" => {
                self.lost_positions.push((agent, record.round.unwrap_or(0)))
            }
            _ => {}
        }
    }

    /// Takes in what was kept of an event when its text was taken out.
    fn apply_kept(&mut self, redacted: EventRedacted, record: &Record) {
        if redacted.ended.is_some() && redacted.seq == self.last_end.0 {
            self.last_end.1 = redacted.ended;
            self.outcome = Some(Outcome::redacted(redacted.ended));
        }
        let Some(reply) = redacted.reply else { return };
        let Some(at) = self
            .lost_replies
            .iter()
            .position(|(seq, _)| *seq == redacted.seq)
        else {
            return;
        };
        let (_, agent) = self.lost_replies.remove(at);
        let turn = self.turn_mut(&reply.turn, record);
        turn.agent = agent;
        if reply.usage.is_none() && !reply.copied {
            turn.untold.begin(&reply.model, None);
            turn.untold.end(false);
        }
        (turn.model, turn.usage, turn.ms, turn.state, turn.copied) = (
            reply.model,
            reply.usage,
            reply.ms,
            TurnState::Done,
            reply.copied,
        );
        turn.text = "(redacted)".to_owned();
    }

    /// Adds the time since the last sign of work. What people do between two runs is none.
    fn count_work(&mut self, record: &Record) {
        if record.kind.starts_with("human.") || record.kind == "event.redacted" {
            return;
        }
        let now: Option<jiff::Timestamp> = record.ts.parse().ok();
        let since = self.works_since.filter(|_| record.kind != "debate.resumed");
        if let (Some(since), Some(now)) = (since, now) {
            self.worked_ms +=
                u64::try_from(now.duration_since(since).as_millis()).unwrap_or_default();
        }
        let is_over = matches!(&*record.kind, "debate.completed" | "debate.paused");
        self.works_since = now.filter(|_| !is_over);
    }

    pub fn status(&self) -> Status {
        match &self.outcome {
            None if self.paused => Status::Paused,
            None => Status::Running,
            // Nobody can go on with it.
            Some(_) if self.last_end.1 == Some(Ending::Stopped) => Status::Completed,
            Some(outcome) => status_of(self.last_end.1.unwrap_or(outcome.outcome)),
        }
    }

    /// The row for lists; `None` before the first event.
    pub fn session(&self) -> Option<Session> {
        let (id, started) = (self.id?, self.started.as_ref()?);
        let mut session = session(id, started, &self.created_at);
        session.status = self.status();
        session.updated_at = self.updated_at.to_string();
        session.completed_at = self.ended_at.as_deref().map(str::to_owned);
        session.total_rounds =
            u32::try_from(self.rounds.iter().filter(|round| round.completed).count())
                .unwrap_or(u32::MAX);
        if let Some(outcome) = &self.outcome {
            end_session(&mut session, outcome);
            session.status = self.status();
        }
        Some(session)
    }

    fn apply_turn(&mut self, record: &Record, event: Event) {
        match event {
            Event::TurnStarted(started) => {
                let turn = self.turn_mut(&started.turn, record);
                turn.untold.begin(&started.model, started.held);
                turn.model = started.model.to_string();
                turn.asked = started.model;
                turn.calls += 1;
                turn.state = TurnState::Thinking;
                turn.possibly_paid_twice |= started.possibly_paid_twice;
            }
            Event::TurnFailed(failed) => {
                let turn = self.turn_mut(&failed.turn, record);
                turn.calls -= u32::from(failed.takes_back_its_call()).min(turn.calls);
                if !failed.unsent || failed.takes_back_its_call() {
                    turn.untold.fail(&failed.fault);
                }
                turn.faults.push(failed.fault);
                turn.state = if failed.retry {
                    TurnState::Thinking
                } else {
                    TurnState::Failed
                };
            }
            Event::TurnCompleted(completed) => {
                let TurnCompleted {
                    turn: name,
                    model,
                    answered_by,
                    text,
                    finish,
                    usage,
                    ms,
                    copied_from,
                    ..
                } = Arc::unwrap_or_clone(completed);
                let turn = self.turn_mut(&name, record);
                turn.model = answered_by.unwrap_or_else(|| model.to_string());
                turn.asked = model;
                turn.untold.end(usage.is_some());
                (turn.text, turn.usage, turn.ms, turn.state) = (text, usage, ms, TurnState::Done);
                (turn.finish, turn.copied) = (finish, copied_from.is_some());
            }
            _ => {}
        }
    }

    fn turn_mut(&mut self, name: &str, record: &Record) -> &mut TurnView {
        let at = self
            .turns
            .iter()
            .position(|turn| turn.turn == name)
            .unwrap_or_else(|| {
                self.turns.push(TurnView {
                    turn: name.to_owned(),
                    agent: record.agent.clone().unwrap_or_default(),
                    round: record.round.unwrap_or(0),
                    asked_at: record.ts.clone(),
                    ..TurnView::default()
                });
                self.turns.len() - 1
            });
        &mut self.turns[at]
    }

    fn round_mut(&mut self, record: &Record) -> Option<&mut RoundView> {
        let is_of = |view: &RoundView| {
            Some(view.round) == record.round
                && record
                    .phase
                    .as_deref()
                    .is_none_or(|phase| view.phase == phase)
        };
        self.rounds.iter_mut().rev().find(|view| is_of(view))
    }
}

/// The session row of a debate that just began.
pub fn session(id: DebateId, started: &Started, now: &str) -> Session {
    Session {
        id,
        topic: started.topic.clone(),
        status: Status::Running,
        format: started.format.clone(),
        topology_type: topology::kind_of(&started.config)
            .rules()
            .stored_as
            .to_owned(),
        coordination_protocol: "CPDE".to_owned(),
        config: json_text(&started.config),
        initiated_by: started.initiated_by.clone(),
        created_at: now.to_owned(),
        updated_at: now.to_owned(),
        completed_at: None,
        total_rounds: 0,
        final_consensus_score: None,
        outcome: None,
        rehearsal: started.rehearsal,
    }
}

/// Writes an outcome into a session row.
pub fn end_session(session: &mut Session, outcome: &Outcome) {
    session.status = status_of(outcome.outcome);
    session.final_consensus_score = outcome.consensus_score;
    session.outcome = Some(json_text(outcome));
}

/// The rows of `debate_turns` that a journal makes.
pub fn turn_rows(records: &[Record]) -> Vec<TurnRow> {
    let view = View::of(records);
    let agents = view
        .started
        .as_ref()
        .map(|started| started.agents.clone())
        .unwrap_or_default();
    let completed = records.iter().filter_map(|record| match record.event() {
        Ok(Some(Event::TurnCompleted(completed))) => Some((record, completed)),
        _ => None,
    });
    let rows = completed.map(|(record, completed)| {
        let agent_id = record.agent.clone().unwrap_or_default();
        TurnRow {
            seq: record.seq,
            round: record.round.unwrap_or(0),
            phase: record.phase.clone().unwrap_or_default(),
            agent_role: agents
                .iter()
                .find(|known| known.name == agent_id)
                .map_or_else(|| agent_id.clone(), |known| known.role.clone()),
            agent_id,
            completed,
            created_at: record.ts.clone(),
        }
    });
    rows.collect()
}

fn status_of(ending: Ending) -> Status {
    match ending {
        Ending::Consensus
        | Ending::Majority
        | Ending::Completed
        | Ending::Contested
        | Ending::Redacted => Status::Completed,
        Ending::Stopped => Status::Paused,
        Ending::NoQuorum | Ending::Failed | Ending::NoModel | Ending::Rejected => Status::Failed,
        Ending::Cancelled => Status::Cancelled,
    }
}
