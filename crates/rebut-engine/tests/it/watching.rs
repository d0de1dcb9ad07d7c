//! Who is told of what is appended: watchers, from wherever they begin and however long the journal
//! is, and whoever observes every debate.

use crate::kernel::{Only, case, cut};
use futures_util::FutureExt;
use rebut_engine::{
    DebateId, Desk, DeskOptions,
    event::{DebatePaused, Event, HumanMarked, HumanNoted},
    memory_store::MemoryStore,
    observer::Observer,
    outcome::{Ending, Outcome},
    record::{Hash, Place, Record},
    store::{Append, Store},
};
use rebut_testkit::interposed::Interposed;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// Longer than anything here takes: under simulated time a hang ends in an instant.
const FOR_EVER: Duration = Duration::from_secs(86_400);

#[derive(Default)]
struct Notes(Mutex<Vec<(DebateId, u64, &'static str)>>);

impl Observer for Notes {
    fn saw(&self, debate: DebateId, seq: u64, _: &Place, event: &Event) {
        self.0
            .lock()
            .expect("no panic")
            .push((debate, seq, event.kind()));
    }
}

fn desk(store: Arc<dyn Store>, observer: Arc<Notes>) -> Desk {
    let options = DeskOptions {
        observer: Some(observer),
        ..DeskOptions::default()
    };
    Desk::with_options(store, Arc::new(Only(case("contested").model())), options)
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_comes_before_a_debate_is_gone_on_with_sees_all_of_it() {
    let whole = Arc::new(MemoryStore::new());
    let (id, _) = case("contested").run(whole.clone()).await.expect("it runs");
    let store = cut(&whole, id, 4).await;
    let desk = desk(store.clone(), Arc::default());
    let mut watch = desk.watch(id, 0).await.expect("a watch");
    for seq in 1..=4 {
        assert_eq!(
            watch
                .next()
                .await
                .expect("readable")
                .map(|record| record.seq),
            Some(seq)
        );
    }
    let (told, running) = tokio::join!(
        tokio::time::timeout(FOR_EVER, watch.next()),
        desk.resume(id)
    );
    assert_eq!(
        told.expect("it is told")
            .expect("readable")
            .map(|record| (record.seq, record.kind.to_string())),
        Some((5, "debate.resumed".to_owned()))
    );
    running
        .expect("it resumes")
        .outcome()
        .await
        .expect("it ends");
    let mut rest = Vec::new();
    while let Some(record) = tokio::time::timeout(FOR_EVER, watch.next())
        .await
        .expect("it is told")
        .expect("readable")
    {
        rest.push(record.seq);
    }
    assert_eq!(
        rest,
        (6..=store.load(id, 0).await.expect("a journal").len() as u64).collect::<Vec<_>>()
    );
}

#[tokio::test(start_paused = true)]
async fn an_observer_is_told_of_every_event_once_and_in_order() {
    let (store, notes) = (Arc::new(MemoryStore::new()), Arc::new(Notes::default()));
    let desk = desk(store.clone(), notes.clone());
    let (id, _) = desk.run(case("contested").start).await.expect("it ends");
    desk.mark(id, "A", "", "me").await.expect("marked");
    let written = store.load(id, 0).await.expect("a journal");
    let told: Vec<_> = notes
        .0
        .lock()
        .expect("no panic")
        .iter()
        .map(|(debate, seq, kind)| (*debate, *seq, (*kind).to_owned()))
        .collect();
    assert_eq!(
        told,
        written
            .iter()
            .map(|record| (id, record.seq, record.kind.to_string()))
            .collect::<Vec<_>>()
    );
}

/// A journal of that many notes behind a first event, and at its end what is given.
async fn long(store: &MemoryStore, count: u64, last: &[Event]) -> DebateId {
    let whole = Arc::new(MemoryStore::new());
    let (real, _) = case("contested").run(whole.clone()).await.expect("it runs");
    let id = DebateId::new();
    let note = |number: u64| {
        Event::HumanNoted(HumanNoted {
            text: number.to_string(),
            by: "me".to_owned(),
        })
    };
    let first = whole.load(real, 0).await.expect("a journal")[0]
        .event()
        .expect("readable")
        .expect("known");
    let mut records: Vec<Record> = Vec::new();
    for event in std::iter::once(first)
        .chain((2..=count - last.len() as u64).map(note))
        .chain(last.iter().cloned())
    {
        let (seq, prev) = records
            .last()
            .map_or((1, Hash::default()), |before: &Record| {
                (before.seq + 1, before.hash)
            });
        records.push(Record::new(
            id,
            seq,
            prev,
            "2026-01-02T03:04:05.000Z".into(),
            Place::default(),
            &event,
        ));
    }
    store
        .append(Append {
            records,
            ..Append::new(id, 0, Hash::default())
        })
        .await
        .expect("append");
    id
}

/// Who is far behind reads a little at a time, whatever the length of the journal and wherever its
/// pages end; and knows the last event of one that has ended for the last.
#[tokio::test(start_paused = true)]
async fn a_watcher_holds_a_little_of_a_long_journal() {
    let over = |ending| {
        Event::DebateCompleted(Arc::new(Outcome::without_result(
            ending,
            String::new(),
            Vec::new(),
        )))
    };
    let marked = Event::HumanMarked(HumanMarked {
        option: "A".to_owned(),
        reason: String::new(),
        by: "me".to_owned(),
    });
    for count in [2, 63, 64, 65, 128, 129, 130, 1_000] {
        for last in [
            vec![over(Ending::Contested)],
            vec![over(Ending::Contested), marked.clone()],
        ] {
            let memory = MemoryStore::new();
            let id = long(&memory, count.max(1 + last.len() as u64), &last).await;
            let store = Arc::new(Interposed::counting(memory));
            let desk = desk(store.clone(), Arc::default());
            let count = desk.records(id).await.expect("a journal").len() as u64;
            for after in [0, count / 2, count - 1, count] {
                store.given();
                let mut watch = desk.watch(id, after).await.expect("a watch");
                assert_eq!(
                    (watch.head(), watch.is_over()),
                    (count, after == count),
                    "{count} after {after}"
                );
                assert_eq!(watch.shows_none(None).await, Ok(after == count));
                let mut seen = Vec::new();
                let mut most = store.given();
                while let Some(record) = watch.next().await.expect("readable") {
                    seen.push(record.seq);
                    most = most.max(store.given());
                    assert_eq!(
                        watch.is_over(),
                        record.seq == count,
                        "{count} after {after}, at {}",
                        record.seq
                    );
                }
                assert_eq!(
                    seen,
                    (after + 1..=count).collect::<Vec<_>>(),
                    "{count} after {after}"
                );
                assert!(
                    most <= 65,
                    "{most} were read at once of {count} after {after}"
                );
            }
            let mut late = desk.watch(id, 0).await.expect("a watch").from_here();
            store.given();
            assert_eq!(
                (late.next().await, store.given()),
                (Ok(None), 0),
                "who wants none of what there is reads none"
            );
        }
    }
}

/// Where a debate stands is told by its last pause, resumption or end, wherever the watcher begins.
#[tokio::test(start_paused = true)]
async fn a_watcher_knows_where_a_debate_stands() {
    let paused = Event::DebatePaused(DebatePaused {
        reason: String::new(),
        by: None,
    });
    let resumed = Event::DebateResumed(Box::default());
    let over = Event::DebateCompleted(Arc::new(Outcome::without_result(
        Ending::Stopped,
        String::new(),
        Vec::new(),
    )));
    // What comes last; whether a watcher that saw all is at its end, and one that waits out pauses.
    let rows: &[(&[&Event], bool, bool)] = &[
        (&[], false, false),
        (&[&paused], true, false),
        (&[&paused, &resumed], false, false),
        (&[&paused, &resumed, &paused], true, false),
        (&[&over], true, true),
        (&[&over, &resumed], false, false),
        (&[&paused, &resumed, &over], true, true),
    ];
    for (last, ends, ends_through) in rows {
        let memory = MemoryStore::new();
        let last: Vec<Event> = last.iter().map(|event| (*event).clone()).collect();
        let id = long(&memory, 200, &last).await;
        let desk = desk(Arc::new(memory), Arc::default());
        let kinds = last.iter().map(Event::kind).collect::<Vec<_>>();
        for (through, ends) in [(false, ends), (true, ends_through)] {
            for after in [0, 198, 199, 200] {
                let watch = desk.watch(id, after).await.expect("a watch");
                let mut watch = if through {
                    watch.through_pauses()
                } else {
                    watch
                };
                assert_eq!(
                    watch.is_over(),
                    *ends && after == 200,
                    "{kinds:?} after {after}"
                );
                assert_eq!(
                    watch.shows_none(None).await,
                    Ok(*ends && after == 200),
                    "{kinds:?} after {after}"
                );
                assert_eq!(
                    watch.shows_none(Some(vec!["gate.opened".to_owned()])).await,
                    Ok(*ends),
                    "{kinds:?} after {after}"
                );
                for seq in after + 1..=200 {
                    assert_eq!(
                        watch
                            .next()
                            .await
                            .expect("readable")
                            .map(|record| record.seq),
                        Some(seq)
                    );
                }
                let end = watch.next().now_or_never();
                assert_eq!(end, ends.then_some(Ok(None)), "{kinds:?} after {after}");
            }
        }
    }
}
