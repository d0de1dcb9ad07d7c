//! A store that goes back behind what a live run wrote: what it lost is written again, or the run
//! is given up and says so; never is anything written behind a record that is not its predecessor,
//! and nothing is tried without a pause.

use crate::kernel::{Only, Overheard, case};
use rebut_engine::{
    DebateId, Desk, DeskOptions,
    error::{DeskError, Stop},
    event::{Event, HumanNoted},
    memory_store::MemoryStore,
    observer::Observer,
    record::{Hash, Place, Record},
    store::{Append, Store, StoreError},
};
use rebut_testkit::{
    cases::Case,
    clock::SimulatedClock,
    going_back::{in_memory, suite},
    interposed::Interposed,
};
use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

#[tokio::test(start_paused = true)]
async fn a_store_may_go_back_by_any_number_of_events_after_any_append() {
    let mut given_up = 0;
    for name in [
        "decide/three-rounds",
        "decide/contested",
        "review/two-pairs",
        "solve/reflexion",
    ] {
        let case = Case::read(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/cases")
                .join(name),
        );
        let tally = suite(
            &case,
            async || in_memory(),
            1,
            &[1, 2, 3, 5, 8, 13, 40, 1000],
        )
        .await;
        println!("{name}: {tally:?}");
        assert!(
            tally.went_on > 30 && tally.cancelled > 20,
            "{name}: {tally:?}"
        );
        given_up += tally.given_up;
    }
    assert!(given_up > 0, "no more is kept than a little");
}

#[derive(Default)]
struct Told {
    halted: Mutex<Vec<DeskError>>,
    restored: AtomicUsize,
    stalled: AtomicUsize,
}

impl Observer for Told {
    fn saw(&self, _: DebateId, _: u64, _: &Place, _: &Event) {}

    fn halted(&self, _: DebateId, why: &DeskError) {
        self.halted.lock().expect("nobody panics").push(why.clone());
    }

    fn restored(&self, _: DebateId, events: u64) {
        self.restored
            .fetch_add(usize::try_from(events).expect("few"), Ordering::SeqCst);
    }

    fn stalled(&self, _: DebateId, _: &str) {
        self.stalled.fetch_add(1, Ordering::SeqCst);
    }
}

fn told_desk(case: &Case, store: Arc<dyn Store>, told: &Arc<Told>) -> Desk {
    struct Everybody(Arc<dyn rebut_engine::model::Model>);
    impl rebut_engine::model::Models for Everybody {
        fn open(
            &self,
            _: &str,
        ) -> Result<Arc<dyn rebut_engine::model::Model>, rebut_engine::model::Fault> {
            Ok(self.0.clone())
        }
    }
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        observer: Some(told.clone()),
        ..DeskOptions::default()
    };
    Desk::with_options(store, Arc::new(Everybody(case.model())), options)
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_without_a_reason_is_tried_ever_more_slowly_and_told_of_once() {
    let (case, tries, told) = (
        case("contested"),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(Told::default()),
    );
    let counted = tries.clone();
    // As where what is read comes from another server than the one that is written to.
    let store = Interposed::new(MemoryStore::new(), move |store, append| {
        let tries = counted.clone();
        Box::pin(async move {
            if append.after < 5 {
                return store.append(append).await;
            }
            tries.fetch_add(1, Ordering::SeqCst);
            Err(StoreError::Conflict {
                debate: append.debate,
                count: append.after + 9,
                head: Hash::of(b"elsewhere"),
            })
        })
    });
    let running = told_desk(&case, Arc::new(store), &told)
        .start(case.start.clone())
        .await
        .expect("it begins");
    let waited = tokio::time::timeout(Duration::from_secs(600), running.outcome()).await;
    assert!(waited.is_err(), "it waits: {waited:?}");
    let tries = tries.load(Ordering::SeqCst);
    // From a tenth of a second to five, for ten minutes.
    assert!((100..200).contains(&tries), "{tries}");
    assert_eq!(
        (
            told.stalled.load(Ordering::SeqCst),
            told.restored.load(Ordering::SeqCst)
        ),
        (1, 0)
    );
}

/// Whoever watches a run that is given up is told, not left with events that are there no more.
#[tokio::test(start_paused = true)]
async fn whoever_watched_a_run_that_was_given_up_is_told() {
    let (case, told) = (case("contested"), Arc::new(Told::default()));
    let memory = MemoryStore::new();
    let other: Arc<Mutex<Option<MemoryStore>>> = Arc::default();
    let (first, then) = (memory.clone(), other.clone());
    let current = move || {
        then.lock()
            .expect("nobody panics")
            .clone()
            .unwrap_or_else(|| first.clone())
    };
    let reading = current.clone();
    let store = Interposed::new(MemoryStore::new(), move |_, append| {
        let (store, other) = (current(), other.clone());
        Box::pin(async move {
            let (debate, last) = (append.debate, append.after + append.records.len() as u64);
            let appended = store.append(append).await;
            if appended.is_ok() && last >= 9 && other.lock().expect("nobody panics").is_none() {
                // It comes back shorter, and with another's word behind its end.
                let mut records = store.load(debate, 0).await?;
                records.truncate(6);
                let (ts, prev) = (records[5].ts.clone(), records[5].hash);
                let note = Event::HumanNoted(HumanNoted {
                    text: "x".to_owned(),
                    by: "ann".to_owned(),
                });
                records.push(Record::new(debate, 7, prev, ts, Place::default(), &note));
                let restored = MemoryStore::new();
                restored
                    .append(Append {
                        records,
                        ..Append::new(debate, 0, Hash::default())
                    })
                    .await?;
                *other.lock().expect("nobody panics") = Some(restored);
            }
            appended
        })
    });
    let store = Arc::new(store.reading(move || Arc::new(reading())));
    let desk = told_desk(&case, store.clone(), &told);
    let running = desk.start(case.start.clone()).await.expect("it begins");
    let id = running.id;
    let mut watch = desk.watch(id, 0).await.expect("a watch");
    let mut seen = 0;
    let why = loop {
        match tokio::time::timeout(Duration::from_secs(60), watch.next())
            .await
            .expect("it is told in the end")
        {
            Ok(Some(record)) => seen = record.seq,
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let went_back = |error: &DeskError| matches!(error, DeskError::Halted(Stop::WentBack { .. }));
    assert!(
        seen < 9 || why.as_ref().is_some_and(went_back),
        "{seen}: {why:?}"
    );
    let ended = running.outcome().await;
    assert!(ended.as_ref().is_err_and(went_back), "{ended:?}");
    assert_eq!(
        *told.halted.lock().expect("nobody panics"),
        [ended.expect_err("it was given up")]
    );
    assert_eq!(
        store.runner(id).await,
        Ok(None),
        "whoever looks for it finds it"
    );
    assert_eq!(
        store.load(id, 0).await.expect("a journal").len(),
        7,
        "nothing was written behind what is not ours"
    );
    // Another process goes on, with numbers that were used here before: whoever watches it here
    // stays.
    let model = Arc::new(Overheard::holding(case.model(), "risk"));
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        ..DeskOptions::default()
    };
    let other = Desk::with_options(store.clone(), Arc::new(Only(model.clone())), options);
    let running = other.adopt(id).await.expect("it goes on from there");
    model.asked().await;
    let resumed = store
        .load(id, 0)
        .await
        .expect("a journal")
        .iter()
        .rposition(|record| record.kind == "debate.resumed");
    assert_eq!(
        resumed,
        Some(7),
        "its number is one that the first run gave to something else"
    );
    let mut watch = desk.watch(id, 0).await.expect("a watch");
    let over = async { while watch.next().await.expect("readable").is_some() {} };
    let cut_off = tokio::time::timeout(Duration::from_secs(60), over).await;
    assert!(cut_off.is_err(), "it is not told that nothing more comes");
    model.release();
    running.outcome().await.expect("and ends");
}
