//! What people do to a debate: add a note, decide a gate, answer a contested question, pause,
//! cancel.

use super::{
    Desk, Inner, Live,
    accepting::apart,
    run::{closing, leave},
};
use crate::{
    DebateId,
    debate::Steer,
    error::{DeskError, Stop, TooLate},
    event::{
        Event, GateDecided, HumanAnswered, HumanCancelled, HumanMarked, HumanNoted, HumanPaused,
    },
    fallback_report::substitutions_in,
    gate::{Closes, NOBODY, in_time, undecided},
    journal::{Commit, Entry, Journal, Memory},
    outcome::{Ending, Outcome},
    record::{Hash, Place},
    store::{Append, Changed, Claim, Durability, Status, StoreError},
    view::{self, View},
};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

/// Longest time to give up debates that were cut off, or whose run crashed.
pub(super) const GIVING_UP: Duration = Duration::from_secs(3);

/// The most bytes of a note: every agent of the next round reads it.
const LONGEST_NOTE: usize = 64 << 10;

/// The most notes of a debate.
const MOST_NOTES: usize = 1_000;

impl Desk {
    /// Adds a note that the next round hears.
    pub async fn note(&self, id: DebateId, text: &str, by: &str) -> Result<(), DeskError> {
        if text.trim().is_empty() {
            return Err(DeskError::BadRequest("the note is empty".to_owned()));
        }
        if text.len() > LONGEST_NOTE {
            return Err(DeskError::BadRequest(format!(
                "a note has at most {LONGEST_NOTE} bytes; this one has {}",
                text.len()
            )));
        }
        let journal = self.open(id).await?;
        if journal.memory().notes.len() >= MOST_NOTES {
            return Err(DeskError::WrongState(format!(
                "debate {} has {MOST_NOTES} notes already, and no more are taken",
                id.short()
            )));
        }
        let note = Event::HumanNoted(HumanNoted {
            text: text.to_owned(),
            by: by.to_owned(),
        });
        // After the end a note would reach nobody.
        self.append_human(
            &journal,
            note,
            Commit {
                unless: Some(Box::new(ended)),
                ..Commit::default()
            },
        )
        .await
    }

    /// Decides a gate. There is exactly one decision, the first that is recorded, and none after
    /// the gate's time or the debate's end; any other comes [too late](DeskError::TooLate). `seen`
    /// is the hash of what was looked at, if the decision is to hold for that only.
    pub async fn decide(
        &self,
        id: DebateId,
        decision: GateDecided,
        seen: Option<Hash>,
    ) -> Result<(), DeskError> {
        if NOBODY.contains(&decision.by.as_str()) {
            return Err(DeskError::BadRequest(format!(
                "`{}` stands for nobody in a journal; decide under another name",
                decision.by
            )));
        }
        let journal = self.open(id).await?;
        let (known, ended) = {
            let memory = journal.memory();
            (memory.gates.get(&decision.gate).cloned(), ended(&memory))
        };
        let known = match (known, ended) {
            (Some(known), _) => known,
            (None, Some(what)) => return Err(DeskError::TooLate { debate: id, what }),
            (None, None) => {
                return Err(DeskError::WrongState(format!(
                    "debate {} has no open gate `{}`",
                    id.short(),
                    decision.gate
                )));
            }
        };
        let closes = match known.opened {
            Some(opened) => self.gate_closes(id, &opened).await?.map(|at| Closes {
                until: opened.until,
                at,
            }),
            None => None,
        };
        let commit = in_time(&decision.gate, seen, closes, self.inner.clock.clone());
        match self
            .append_human(&journal, Event::GateDecided(Box::new(decision)), commit)
            .await
        {
            Err(DeskError::TooLate {
                what: TooLate::Decided(late),
                ..
            }) if late.is_timeout() => {
                self.record_timeout(&journal, (*late).clone()).await?;
                Err(DeskError::TooLate {
                    debate: id,
                    what: TooLate::Decided(late),
                })
            }
            decided => decided,
        }
    }

    /// Records that nobody decided a gate in time, where the timer has not: its process may be
    /// gone, or the debate paused.
    pub(super) async fn record_timeout(
        &self,
        journal: &Arc<Journal>,
        late: GateDecided,
    ) -> Result<(), DeskError> {
        let commit = undecided(&late.gate);
        self.append_human(journal, Event::GateDecided(Box::new(late)), commit)
            .await
    }

    /// Records a person's choice after a contested end.
    pub async fn answer(
        &self,
        id: DebateId,
        option: &str,
        reason: &str,
        by: &str,
    ) -> Result<String, DeskError> {
        let view = self.view(id).await?;
        let contested = view
            .outcome
            .as_ref()
            .is_some_and(|outcome| outcome.outcome == Ending::Contested);
        if !contested {
            let state = view
                .outcome
                .map_or("has not ended", |outcome| outcome.outcome.as_str());
            return Err(DeskError::WrongState(format!(
                "debate {} is not contested ({state}); there is nothing to answer",
                id.short()
            )));
        }
        let chosen = self.option_of(&view, option)?;
        let journal = self.open(id).await?;
        let answered = HumanAnswered {
            option: chosen.clone(),
            reason: reason.to_owned(),
            by: by.to_owned(),
        };
        let before = |memory: &Memory| {
            memory
                .answered
                .clone()
                .map(|answer| TooLate::Answered(Box::new(answer)))
        };
        let commit = Commit {
            seal: true,
            unless: Some(Box::new(before)),
            ..Commit::default()
        };
        self.append_human(&journal, Event::HumanAnswered(answered), commit)
            .await?;
        Ok(chosen)
    }

    /// Records which option turned out right, so that weights can be learned. May be said again;
    /// the last word counts.
    pub async fn mark(
        &self,
        id: DebateId,
        option: &str,
        reason: &str,
        by: &str,
    ) -> Result<String, DeskError> {
        let view = self.view(id).await?;
        let ended = view.outcome.as_ref().map(|outcome| outcome.outcome);
        if !matches!(
            ended,
            Some(Ending::Consensus | Ending::Majority | Ending::Completed | Ending::Contested)
        ) {
            let state = ended.map_or("has not ended", Ending::as_str);
            return Err(DeskError::WrongState(format!(
                "debate {} came to no count ({state}); there is nothing to mark",
                id.short()
            )));
        }
        let chosen = self.option_of(&view, option)?;
        let journal = self.open(id).await?;
        let marked = HumanMarked {
            option: chosen.clone(),
            reason: reason.to_owned(),
            by: by.to_owned(),
        };
        self.append_human(
            &journal,
            Event::HumanMarked(marked),
            Commit {
                seal: true,
                ..Commit::default()
            },
        )
        .await?;
        Ok(chosen)
    }

    /// An option as the debate spells it; the error lists all.
    fn option_of(&self, view: &View, option: &str) -> Result<String, DeskError> {
        let format = self.format(view.started.as_ref().map_or("", |started| &started.format))?;
        let choices = (format.choices)(view);
        if let Some((chosen, _)) = choices
            .iter()
            .find(|(id, _)| id.eq_ignore_ascii_case(option.trim()))
        {
            return Ok(chosen.clone());
        }
        let known = choices
            .iter()
            .map(|(id, label)| format!("{id} {label}").trim_end().to_owned())
            .collect::<Vec<_>>()
            .join(", ");
        let known = if known.is_empty() {
            "the debate has none".to_owned()
        } else {
            format!("choose one of: {known}")
        };
        Err(DeskError::BadRequest(format!(
            "`{option}` is not an option; {known}"
        )))
    }

    /// Lets running turns finish, then saves and leaves the debate.
    pub fn pause(&self, id: DebateId) -> Result<(), DeskError> {
        let live = self.inner.live().get(&id).cloned();
        let live = live.ok_or_else(|| {
            DeskError::WrongState(format!("debate {} does not run here", id.short()))
        })?;
        live.journal.steer_to(Steer::Pause);
        Ok(())
    }

    /// The same at a person's word, whoever runs the debate; the journal says whose it was.
    pub async fn pause_by(&self, id: DebateId, by: &str) -> Result<(), DeskError> {
        if !self.is_run(id).await? {
            return Err(DeskError::WrongState(format!(
                "nobody runs debate {}; there is nothing to pause",
                id.short()
            )));
        }
        let journal = self.open(id).await?;
        let commit = Commit {
            unless: Some(Box::new(ended)),
            ..Commit::default()
        };
        let (desk, by) = (self.clone(), by.to_owned());
        apart(async move {
            desk.append_human(
                &journal,
                Event::HumanPaused(HumanPaused { by: by.clone() }),
                commit,
            )
            .await?;
            // Another process that runs it is told by the event.
            let live = desk.inner.live().get(&id).cloned();
            if let Some(live) = live {
                live.journal.hear(|memory| memory.pause_asked = Some(by));
            }
            Ok(())
        })
        .await
    }

    /// Lets go of every debate that runs here: turns under way may finish for so long, then nothing
    /// of any is left in this process. No journal says a word about it, so each is among [those
    /// that nobody runs](Desk::abandoned) and goes on wherever it is found; one that a person
    /// paused stays paused. How many were cut off in a turn.
    pub async fn leave_all(&self, patience: Duration) -> usize {
        self.inner.leave();
        let all = || -> Vec<Live> { self.inner.live().values().cloned().collect() };
        all()
            .iter()
            .for_each(|live| live.journal.steer_to(Steer::Leave));
        let ended = async {
            // What was asked for before is begun, so that it is on record; it leaves at once.
            self.inner.all_begun().await;
            futures_util::future::join_all(
                all()
                    .into_iter()
                    .map(|mut live| async move { while live.ended.changed().await.is_ok() {} }),
            )
            .await;
        };
        // Whoever has not ended by then is cut off below.
        let _ = tokio::time::timeout(patience, ended).await;
        let left = all();
        self.stop_all().await;
        // They are given up too, so that nobody need wait until a claim of this process has no
        // worth. Where that fails, somebody has to.
        let given_up = futures_util::future::join_all(left.iter().map(|live| leave(&live.journal)));
        let _ = tokio::time::timeout(GIVING_UP, given_up).await;
        left.len()
    }

    /// Ends a debate: calls in flight are dropped. Works for a debate of another process too.
    pub async fn cancel(&self, id: DebateId, by: &str, reason: &str) -> Result<(), DeskError> {
        let cancelled = HumanCancelled {
            by: by.to_owned(),
            reason: reason.to_owned(),
        };
        let desk = self.clone();
        apart(async move { desk.cancel_now(id, cancelled).await }).await
    }

    async fn cancel_now(&self, id: DebateId, cancelled: HumanCancelled) -> Result<(), DeskError> {
        let journal = self.open(id).await?;
        let commit = Commit {
            unless: Some(Box::new(ended)),
            ..Commit::default()
        };
        self.append_human(&journal, Event::HumanCancelled(cancelled.clone()), commit)
            .await?;
        let live = self.inner.live().get(&id).cloned();
        if let Some(live) = live {
            live.journal
                .hear(|memory| memory.cancelled = Some(cancelled));
            return Ok(());
        }
        match self.end_dead(id, &journal, &cancelled).await {
            // Another process runs it, or has just ended it or taken it up, and learns of the event
            // above.
            Err(DeskError::Halted(Stop::Store(StoreError::Held { .. }) | Stop::TakenOver)) => {
                Ok(())
            }
            other => other,
        }
    }

    /// Starts listening for what other processes do, once per desk.
    pub(super) fn listen_elsewhere(&self) {
        self.inner.listening.call_once(|| {
            let desk = Arc::downgrade(&self.inner);
            let store = self.inner.store.clone();
            tokio::spawn(async move {
                while let Ok(changed) = store.changed_elsewhere().await {
                    let Some(inner) = Weak::upgrade(&desk) else {
                        return;
                    };
                    let ids = match changed {
                        Changed::These(ids) => ids,
                        Changed::Anything => inner.known(),
                    };
                    for id in ids {
                        take_in(&inner, id).await;
                        inner.ears.tell(id);
                    }
                }
            });
        });
    }

    pub(super) async fn open(&self, id: DebateId) -> Result<Arc<Journal>, DeskError> {
        let live = self.inner.live().get(&id).map(|live| live.journal.clone());
        if let Some(journal) = live {
            return Ok(journal);
        }
        let journal = Arc::new(self.inner.journal(id));
        journal.catch_up().await?;
        let known = journal.memory().started.is_some();
        if known {
            Ok(journal)
        } else {
            Err(DeskError::NotFound(id.to_string()))
        }
    }

    /// In a task of its own: a run that waits at this journal hears of what was recorded even if
    /// nobody waits for the answer.
    async fn append_human(
        &self,
        journal: &Arc<Journal>,
        event: Event,
        commit: Commit,
    ) -> Result<(), DeskError> {
        let (desk, journal) = (self.clone(), journal.clone());
        apart(async move { desk.append_human_now(&journal, event, commit).await }).await
    }

    async fn append_human_now(
        &self,
        journal: &Journal,
        event: Event,
        commit: Commit,
    ) -> Result<(), DeskError> {
        let commit = Commit {
            durability: Some(Durability::Power),
            ..commit
        };
        match journal
            .append(vec![Entry::new(Place::default(), event)], commit)
            .await
        {
            Err(Stop::TooLate(what)) => Err(DeskError::TooLate {
                debate: journal.debate(),
                what,
            }),
            Err(halt @ (Stop::TakenOver | Stop::WentBack { .. })) => {
                // Asked again, it is written behind what is there.
                if let Some(live) = self.inner.live().get(&journal.debate()) {
                    live.lose(halt.clone());
                }
                Err(DeskError::Halted(halt))
            }
            other => Ok(other.map(drop)?),
        }
    }

    /// Gives up a debate wherever its journal ends, and says where that is.
    pub(super) async fn release(&self, id: DebateId) -> Result<u64, DeskError> {
        let mut append = Append {
            claim: Claim::Release,
            durability: Durability::Power,
            ..Append::new(id, 0, Hash::default())
        };
        loop {
            match self.inner.store.append(append.clone()).await {
                Err(StoreError::Conflict { count, head, .. })
                    if (count, head) != (append.after, append.prev) =>
                {
                    (append.after, append.prev) = (count, head);
                }
                other => return Ok(other.map(|()| append.after)?),
            }
        }
    }

    /// Ends a debate that nobody runs, if a person has cancelled it.
    pub(super) async fn end_cancelled(&self, id: DebateId) -> Result<(), DeskError> {
        let journal = self.inner.journal(id);
        journal.catch_up().await?;
        let cancelled = {
            let memory = journal.memory();
            memory
                .cancelled
                .clone()
                .filter(|_| memory.outcome.is_none())
        };
        match cancelled {
            Some(cancelled) => self.end_dead(id, &journal, &cancelled).await,
            None => Ok(()),
        }
    }

    /// Waits until everything that is recorded of a debate would survive a power cut.
    pub async fn secure(&self, id: DebateId) -> Result<(), DeskError> {
        let journal = self.open(id).await?;
        let commit = Commit {
            durability: Some(Durability::Power),
            ..Commit::default()
        };
        apart(async move { Ok(journal.append(Vec::new(), commit).await.map(drop)?) }).await
    }

    /// Ends a debate that nobody runs.
    pub(super) async fn end_dead(
        &self,
        id: DebateId,
        journal: &Journal,
        cancelled: &HumanCancelled,
    ) -> Result<(), DeskError> {
        journal
            .append(
                Vec::new(),
                Commit {
                    claim: Some(Claim::Take),
                    ..Commit::default()
                },
            )
            .await?;
        let mut view = self.view(id).await?;
        let ended = Outcome::without_result(
            Ending::Cancelled,
            format!("cancelled by {}", cancelled.by),
            Vec::new(),
        );
        let outcome = Outcome {
            substituted: substitutions_in(&view),
            ..ended
        };
        view.outcome = Some(outcome.clone());
        let mut session = view
            .session()
            .ok_or_else(|| DeskError::NotFound(id.to_string()))?;
        view::end_session(&mut session, &outcome);
        session.status = Status::Cancelled;
        let stamp = move |now: &str| crate::store::Session {
            updated_at: now.to_owned(),
            completed_at: Some(now.to_owned()),
            ..session.clone()
        };
        let commit = closing(stamp);
        journal
            .append(
                vec![Entry::new(
                    Place::default(),
                    Event::DebateCompleted(Arc::new(outcome)),
                )],
                commit,
            )
            .await?;
        Ok(())
    }
}

impl Live {
    /// Ends a run that cannot go on, whatever it waits for.
    fn lose(&self, why: Stop) {
        // Only the first reason counts.
        let _ = self.lost.set(why);
    }
}

/// The end of a debate, after which nobody hears a person's word.
fn ended(memory: &Memory) -> Option<TooLate> {
    memory
        .outcome
        .as_ref()
        .map(|outcome| TooLate::Ended(outcome.outcome))
}

/// Takes in what another process appended to a debate that runs here.
async fn take_in(inner: &Inner, id: DebateId) {
    let live = inner.live().get(&id).cloned();
    let Some(live) = live else { return };
    // A journal that cannot be read stops the run itself at its next append; here there is nobody
    // to tell.
    if let Err(halt @ (Stop::TakenOver | Stop::WentBack { .. })) = live.journal.catch_up().await {
        // One that waits for a person would not notice for days, and what people say here would be
        // written by nobody.
        live.lose(halt);
    }
}
