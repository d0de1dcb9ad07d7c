//! A database that goes back under a live run, as a promoted standby or a restored backup does: by
//! every number of events, after every append, alone or while somebody cancels the debate at the
//! shortened journal.

use crate::{
    cases::{Case, Ran},
    crash::resume,
    interposed::Interposed,
};
use futures_util::future::BoxFuture;
use rebut_engine::{
    DebateId,
    audit::{self, ProblemKind},
    error::{DeskError, Stop},
    memory_store::MemoryStore,
    outcome::Ending,
    store::{Append, Claim, Store},
};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Takes all events of a debate behind that number out of the database, with whatever they left.
pub type GoBack = Arc<dyn Fn(DebateId, u64) -> BoxFuture<'static, ()> + Send + Sync>;

/// A database that can go back.
pub struct Database {
    /// What the run under test uses.
    pub store: Arc<dyn Store>,
    /// The same database for another process.
    pub other: Arc<dyn Store>,
    pub go_back: GoBack,
}

/// What came of all the runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs that went on and asked for nothing twice.
    pub went_on: usize,
    /// Runs that were given up; the next one came to the same end.
    pub given_up: usize,
    /// Runs that were cancelled, and ended so.
    pub cancelled: usize,
}

/// No run takes so long: one that does is stuck.
const STUCK: Duration = Duration::from_secs(120);

/// Runs a case again and again. After append number 1, 1 + `step`, … the database goes back by each
/// of `backs` events.
pub async fn suite(
    case: &Case,
    fresh: impl AsyncFn() -> Database,
    step: usize,
    backs: &[u64],
) -> Tally {
    let (_, undisturbed) = case
        .run(Arc::new(MemoryStore::new()))
        .await
        .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let mut tally = Tally::default();
    for is_cancelled in [false, true] {
        for back in backs {
            for at in (1..).step_by(step) {
                let went = Going {
                    case,
                    database: fresh().await,
                    at,
                    back: *back,
                    is_cancelled,
                };
                if !went.check(&undisturbed, &mut tally).await {
                    break;
                }
            }
        }
    }
    tally
}

struct Going<'a> {
    case: &'a Case,
    database: Database,
    at: usize,
    back: u64,
    is_cancelled: bool,
}

impl Going<'_> {
    /// Whether the case has more appends than that.
    async fn check(self, undisturbed: &Ran, tally: &mut Tally) -> bool {
        let Self {
            case,
            database,
            at,
            back,
            is_cancelled,
        } = &self;
        let what = format!(
            "{}: back by {back} after append {at}, cancelled: {is_cancelled}",
            case.name
        );
        let went: Arc<Mutex<Option<DebateId>>> = Arc::default();
        let appends: Arc<AtomicUsize> = Arc::default();
        let store = Arc::new(self.goes_back(went.clone(), appends.clone()));
        let ran = tokio::time::timeout(STUCK, case.run(store))
            .await
            .unwrap_or_else(|_| panic!("{what}: stuck"));
        let Some(id) = *went.lock().unwrap_or_else(PoisonError::into_inner) else {
            return appends.load(Ordering::SeqCst) > *at;
        };
        match (ran, is_cancelled) {
            (Ok((_, ran)), false) => {
                assert_eq!(
                    (&ran.outcome, &ran.calls, &ran.runs),
                    (&undisturbed.outcome, &undisturbed.calls, &undisturbed.runs),
                    "{what}"
                );
                tally.went_on += 1;
            }
            (Err(DeskError::Halted(Stop::WentBack { .. })), false) => {
                assert_eq!(
                    database.other.runner(id).await,
                    Ok(None),
                    "{what}: it is given up"
                );
                if !database
                    .store
                    .page(id, 0, 1)
                    .await
                    .expect("a page")
                    .is_empty()
                {
                    let resumed = resume(case, database.store.clone(), id)
                        .await
                        .unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_eq!(resumed.outcome, undisturbed.outcome, "{what}");
                }
                tally.given_up += 1;
            }
            (Ok((_, ran)), true) => {
                assert_eq!(
                    ran.outcome.outcome,
                    Ending::Cancelled,
                    "{what}: the cancel is heard"
                );
                tally.cancelled += 1;
            }
            (Err(DeskError::Halted(Stop::WentBack { .. })), true) => tally.cancelled += 1,
            (Err(error), _) => panic!("{what}: {error}"),
        }
        self.check_journal(id, &what).await;
        true
    }

    /// The store of the run: after that append the database goes back once, and perhaps somebody
    /// cancels the debate where it ends then.
    fn goes_back(
        &self,
        went: Arc<Mutex<Option<DebateId>>>,
        appends: Arc<AtomicUsize>,
    ) -> Interposed {
        let (at, back, is_cancelled) = (self.at, self.back, self.is_cancelled);
        let (go_back, other, case) = (
            self.database.go_back.clone(),
            self.database.other.clone(),
            self.case.clone(),
        );
        Interposed::over(self.database.store.clone(), move |store, append| {
            // With its last append a run is over: nobody is left who could notice.
            let is_now =
                appends.fetch_add(1, Ordering::SeqCst) + 1 == at && append.claim != Claim::Release;
            let (debate, last) = (append.debate, append.after + append.records.len() as u64);
            let (went, go_back, other, case) =
                (went.clone(), go_back.clone(), other.clone(), case.clone());
            Box::pin(async move {
                let appended = store.append(append).await;
                if is_now && appended.is_ok() && (!is_cancelled || last > back) {
                    go_back(debate, last.saturating_sub(back)).await;
                    *went.lock().unwrap_or_else(PoisonError::into_inner) = Some(debate);
                    if is_cancelled {
                        let cancelled = case
                            .desk(other, case.model())
                            .cancel(debate, "ann", "enough")
                            .await;
                        cancelled.unwrap_or_else(|error| panic!("{}: {error}", case.name));
                    }
                }
                appended
            })
        })
    }

    async fn check_journal(&self, id: DebateId, what: &str) {
        let (records, checkpoints) = (
            self.database.store.load(id, 0).await,
            self.database.store.checkpoints(id).await,
        );
        let (records, checkpoints) = (
            records.expect("a journal"),
            checkpoints.expect("checkpoints"),
        );
        let keys: Vec<String> = checkpoints
            .iter()
            .map(|checkpoint| checkpoint.key.clone())
            .collect();
        let problems = audit::verify(id, &records, &checkpoints, &keys).problems;
        assert!(
            records.is_empty()
                || problems
                    .iter()
                    .all(|problem| problem.kind == ProblemKind::Unsealed),
            "{what}: {problems:?}"
        );
        let count = |kind: &str| records.iter().filter(|record| record.kind == kind).count();
        assert_eq!(
            count("debate.completed"),
            usize::from(!records.is_empty()),
            "{what}: it has one end"
        );
        if self.is_cancelled {
            assert_eq!(count("human.cancelled"), 1, "{what}");
            let ended = records.last().and_then(|last| last.event().ok().flatten());
            let is_cancelled = matches!(ended, Some(rebut_engine::event::Event::DebateCompleted(outcome)) if outcome.outcome == Ending::Cancelled);
            assert!(is_cancelled, "{what}: {records:?}");
        }
        assert_eq!(
            self.database.other.runner(id).await,
            Ok(None),
            "{what}: nobody runs it"
        );
    }
}

/// A database in memory that can go back.
pub fn in_memory() -> Database {
    let memory = Rewinding::default();
    let behind = memory.clone();
    let go_back: GoBack = Arc::new(move |_, keep| {
        let behind = behind.clone();
        Box::pin(async move { behind.go_back(keep).await })
    });
    Database {
        store: memory.store(),
        other: memory.store(),
        go_back,
    }
}

/// Everything that was appended, so that it can be appended again up to a point.
#[derive(Clone, Default)]
struct Rewinding {
    appends: Arc<Mutex<Vec<Append>>>,
    now: Arc<Mutex<MemoryStore>>,
}

impl Rewinding {
    /// A store over what is there now.
    fn store(&self) -> Arc<dyn Store> {
        let (appends, now) = (self.appends.clone(), self.now.clone());
        let reading = self.now.clone();
        let store = Interposed::new(MemoryStore::new(), move |_, append| {
            let (appends, now) = (
                appends.clone(),
                now.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            );
            Box::pin(async move {
                now.append(append.clone()).await?;
                appends
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(append);
                Ok(())
            })
        });
        Arc::new(store.reading(move || {
            Arc::new(
                reading
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone(),
            )
        }))
    }

    async fn go_back(&self, keep: u64) {
        let before = MemoryStore::new();
        let appends = self
            .appends
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut kept = Vec::new();
        for append in appends {
            let end = append.after + append.records.len() as u64;
            // An append is there or is not; and what comes behind one that is not is not there
            // either.
            if end > keep {
                break;
            }
            before
                .append(append.clone())
                .await
                .expect("as it was before");
            kept.push(append);
        }
        *self.appends.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = before;
    }
}
