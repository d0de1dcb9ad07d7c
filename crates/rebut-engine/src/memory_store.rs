//! A store in memory: for replays, dry runs, tests, and libraries that keep journals elsewhere.

use crate::{
    DebateId,
    projection::{CodeRow, Made, OfTurn, Projection, Tables, TurnList, TurnLists},
    record::{Hash, Record},
    seal::Checkpoint,
    store::{
        Append, Changed, Claim, Filter, Head, Pick, Picked, Session, Status, Store, StoreError,
        TurnRow,
    },
    web_session::{WebSession, WebSessions},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Journals in memory; gone with the process, as is every claim. Clones share their content.
#[derive(Clone, Default)]
pub struct MemoryStore {
    debates: Arc<Mutex<HashMap<DebateId, Kept>>>,
    removed: Arc<Mutex<HashSet<DebateId>>>,
    web_sessions: Arc<Mutex<Vec<WebSession>>>,
}

#[derive(Default)]
struct Kept {
    /// As they were appended: most debates wait, and thousands may, so that no room is kept for
    /// more and nothing is moved.
    appended: Vec<Vec<Record>>,
    checkpoints: Vec<Checkpoint>,
    session: Option<Session>,
    turns: Vec<TurnRow>,
    projections: Vec<Projection>,
    claimed: bool,
    /// Why it was given up, until somebody takes it.
    why: Option<String>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn turns(&self, debate: DebateId) -> Vec<TurnRow> {
        self.lock()
            .get(&debate)
            .map(|kept| kept.turns.clone())
            .unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<DebateId, Kept>> {
        // A panic elsewhere cannot leave a journal half appended: see `Kept::apply`.
        self.debates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn web_sessions(&self) -> MutexGuard<'_, Vec<WebSession>> {
        self.web_sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn check(&self, append: &Append) -> Result<(), StoreError> {
        let count = self.appended.iter().map(Vec::len).sum::<usize>() as u64;
        let head = self
            .appended
            .iter()
            .rev()
            .find_map(|part| part.last())
            .map_or(Hash::default(), |last| last.hash);
        let fits = (count, head) == (append.after, append.prev);
        if fits {
            Ok(())
        } else {
            Err(StoreError::Conflict {
                debate: append.debate,
                count,
                head,
            })
        }
    }

    fn pick(&self, pick: &Pick) -> Picked {
        let all = || self.appended.iter().flatten();
        let is_wanted = |record: &&Record| {
            record.seq > pick.after
                && pick
                    .kinds
                    .as_ref()
                    .is_none_or(|kinds| kinds.iter().any(|kind| *kind == record.kind))
        };
        let mut records: Vec<Record> = match pick.from_end {
            true => all()
                .rev()
                .filter(is_wanted)
                .take(pick.bound())
                .cloned()
                .collect(),
            false => all()
                .filter(is_wanted)
                .take(pick.bound())
                .cloned()
                .collect(),
        };
        if pick.from_end {
            records.reverse();
        }
        Picked {
            records,
            head: all().next_back().map(|last| Head {
                seq: last.seq,
                ts: last.ts.clone(),
                hash: last.hash,
            }),
        }
    }

    fn apply(&mut self, append: Append) {
        self.appended.push(append.records);
        self.checkpoints.extend(append.checkpoints);
        self.turns.extend(append.turns);
        self.projections.extend(append.projections);
        self.claimed = match append.claim {
            Claim::Keep | Claim::Hold => self.claimed,
            Claim::Take => true,
            Claim::Release => false,
        };
        if matches!(append.claim, Claim::Take | Claim::Release) {
            self.why = None;
        }
        if let Some(session) = append.session {
            self.session = Some(*session);
        }
    }

    /// Takes out what a record left in tables; of a turn the row stays, and is empty.
    fn clear(&mut self, seq: u64) {
        let lists_of_it = |left: &Projection| matches!(&left.made, Made::Entry { of, .. } if self.turn_of(of, left.seq) == Some(seq));
        let gone: Vec<bool> = self
            .projections
            .iter()
            .map(|left| left.seq == seq || lists_of_it(left))
            .collect();
        let mut gone = gone.into_iter();
        self.projections
            .retain(|_| !gone.next().unwrap_or_default());
        for turn in self.turns.iter_mut().filter(|turn| turn.seq == seq) {
            Arc::make_mut(&mut turn.completed).text.clear();
        }
    }

    /// The record of the turn that is meant by an event of that number.
    fn turn_of(&self, of: &OfTurn, before: u64) -> Option<u64> {
        let is_meant = |turn: &&TurnRow| match of {
            OfTurn::Named(name) => turn.completed.turn == *name,
            OfTurn::LastOf(agent) => turn.agent_id == *agent,
        };
        self.turns
            .iter()
            .rev()
            .filter(|turn| turn.seq < before)
            .find(is_meant)
            .map(|turn| turn.seq)
    }

    fn tables(&self) -> Tables {
        let mut tables = Tables::default();
        let mut lists: BTreeMap<u64, [Vec<&str>; 3]> = BTreeMap::new();
        for left in &self.projections {
            match &left.made {
                Made::Code(code) => {
                    let turn = self.turn_of(&OfTurn::Named(code.turn.clone()), left.seq);
                    tables
                        .code
                        .push(CodeRow::of(left.seq, turn, &left.created_at, code));
                }
                Made::Entry { list, of, json } => {
                    if let Some(turn) = self.turn_of(of, left.seq) {
                        lists.entry(turn).or_default()[*list as usize].push(json);
                    }
                }
            }
        }
        let array =
            |entries: &[&str]| (!entries.is_empty()).then(|| format!("[{}]", entries.join(",")));
        tables.turns = lists
            .iter()
            .map(|(seq, lists)| TurnLists {
                seq: *seq,
                tool_calls: array(&lists[TurnList::ToolCalls as usize]),
                test_results: array(&lists[TurnList::TestResults as usize]),
                reflections: array(&lists[TurnList::Reflections as usize]),
            })
            .collect();
        tables
    }
}

#[async_trait::async_trait]
impl Store for MemoryStore {
    async fn append(&self, append: Append) -> Result<(), StoreError> {
        let mut debates = self.lock();
        match debates.entry(append.debate) {
            Entry::Occupied(mut kept) => {
                kept.get().check(&append)?;
                kept.get_mut().apply(append);
            }
            Entry::Vacant(place) => {
                let mut kept = Kept::default();
                kept.check(&append)?;
                kept.apply(append);
                place.insert(kept);
            }
        }
        Ok(())
    }

    async fn page(
        &self,
        debate: DebateId,
        after: u64,
        most: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let debates = self.lock();
        let records = debates
            .get(&debate)
            .into_iter()
            .flat_map(|kept| kept.appended.iter().flatten());
        Ok(records
            .skip(usize::try_from(after).unwrap_or(usize::MAX))
            .take(most)
            .cloned()
            .collect())
    }

    async fn pick(&self, debate: DebateId, pick: &Pick) -> Result<Picked, StoreError> {
        Ok(self
            .lock()
            .get(&debate)
            .map(|kept| kept.pick(pick))
            .unwrap_or_default())
    }

    async fn checkpoints(&self, debate: DebateId) -> Result<Vec<Checkpoint>, StoreError> {
        Ok(self
            .lock()
            .get(&debate)
            .map(|kept| kept.checkpoints.clone())
            .unwrap_or_default())
    }

    async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError> {
        let debates = self.lock();
        let mut sessions: Vec<Session> = debates
            .values()
            .filter_map(|kept| kept.session.clone())
            .filter(|session| filter.fits(session))
            .collect();
        sessions.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(b.id.cmp(&a.id)));
        if filter.limit > 0 {
            sessions.truncate(filter.limit);
        }
        Ok(sessions)
    }

    async fn tables(&self, debate: DebateId) -> Result<Tables, StoreError> {
        Ok(self
            .lock()
            .get(&debate)
            .map(Kept::tables)
            .unwrap_or_default())
    }

    async fn redact(&self, tombstone: Record, append: Append) -> Result<(), StoreError> {
        let mut debates = self.lock();
        let kept = debates
            .get_mut(&append.debate)
            .ok_or_else(|| StoreError::NotFound(append.debate.to_string()))?;
        kept.check(&append)?;
        let seq = tombstone.seq;
        let place = kept
            .appended
            .iter_mut()
            .flatten()
            .find(|record| record.seq == seq);
        *place
            .ok_or_else(|| StoreError::NotFound(format!("event {seq} of {}", append.debate)))? =
            tombstone;
        kept.clear(seq);
        kept.apply(append);
        Ok(())
    }

    async fn remove(&self, debate: DebateId) -> Result<(), StoreError> {
        self.lock()
            .remove(&debate)
            .map(drop)
            .ok_or_else(|| StoreError::NotFound(debate.to_string()))?;
        self.removed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(debate);
        Ok(())
    }

    async fn is_removed(&self, debate: DebateId) -> Result<bool, StoreError> {
        let was_removed = self
            .removed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&debate);
        Ok(was_removed && !self.lock().contains_key(&debate))
    }

    async fn runner(&self, debate: DebateId) -> Result<Option<String>, StoreError> {
        Ok(self
            .lock()
            .get(&debate)
            .filter(|kept| kept.claimed)
            .map(|_| "this process".to_owned()))
    }

    async fn held_here(&self) -> Result<Vec<DebateId>, StoreError> {
        let running = self
            .sessions(&Filter {
                status: Some(Status::Running),
                ..Filter::default()
            })
            .await?;
        let debates = self.lock();
        let is_held = |id: &DebateId| debates.get(id).is_some_and(|kept| kept.claimed);
        Ok(running
            .into_iter()
            .rev()
            .map(|session| session.id)
            .filter(is_held)
            .collect())
    }

    async fn give_up(&self, debate: DebateId, why: &str) -> Result<(), StoreError> {
        let mut debates = self.lock();
        let kept = debates
            .get_mut(&debate)
            .ok_or_else(|| StoreError::NotFound(debate.to_string()))?;
        (kept.claimed, kept.why) = (false, Some(why.to_owned()));
        Ok(())
    }

    async fn given_up(&self, wanted: &[DebateId]) -> Result<Vec<(DebateId, String)>, StoreError> {
        let debates = self.lock();
        Ok(wanted
            .iter()
            .filter_map(|id| Some((*id, debates.get(id)?.why.clone()?)))
            .collect())
    }

    async fn changed_elsewhere(&self) -> Result<Changed, StoreError> {
        // No other process can reach this memory.
        std::future::pending().await
    }
}

#[async_trait::async_trait]
impl WebSessions for MemoryStore {
    async fn open_web_session(
        &self,
        web_session: &WebSession,
        now: i64,
        most: usize,
    ) -> Result<(), StoreError> {
        let mut web_sessions = self.web_sessions();
        web_sessions.retain(|known| known.expires_at > now);
        // Whoever ends last comes first.
        web_sessions.sort_by(|a, b| {
            b.expires_at
                .cmp(&a.expires_at)
                .then_with(|| a.id.cmp(&b.id))
        });
        let mut others = 1;
        web_sessions.retain(|known| {
            others += usize::from(known.key == web_session.key);
            known.key != web_session.key || others <= most
        });
        web_sessions.push(web_session.clone());
        Ok(())
    }

    async fn web_session(&self, id: &str) -> Result<Option<WebSession>, StoreError> {
        Ok(self
            .web_sessions()
            .iter()
            .find(|known| known.id == id)
            .cloned())
    }

    async fn close_web_session(&self, id: &str) -> Result<(), StoreError> {
        self.web_sessions().retain(|known| known.id != id);
        Ok(())
    }
}
