//! The crash harness: every case is cut after every event and at every append, resumed, and must
//! end the same, with nothing recorded asked again.

use crate::{
    cases::{Case, Ran, sorted},
    interposed::Interposed,
};
use rebut_engine::{
    DebateId,
    event::Event,
    memory_store::MemoryStore,
    record::{Hash, Record},
    report,
    store::{Append, Filter, Store, StoreError},
};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Cuts a case's journal after each of its events and resumes from there.
pub async fn cut_after_every_event(case: &Case) {
    let whole = MemoryStore::new();
    let (id, uninterrupted) = case
        .run(Arc::new(whole.clone()))
        .await
        .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let records = whole.load(id, 0).await.expect("memory can be read");
    for cut in 1..records.len() {
        let part = MemoryStore::new();
        let mut append = Append::new(id, 0, Hash::default());
        append.records = records[..cut].to_vec();
        part.append(append).await.expect("memory can be written");
        let resumed = resume(case, Arc::new(part), id)
            .await
            .unwrap_or_else(|error| panic!("{} cut after event {cut}: {error}", case.name));
        assert_same(
            case,
            &uninterrupted,
            &resumed,
            &format!("cut after event {cut}"),
        );
        let recorded = recorded_calls(&records[..cut]);
        let again: Vec<_> = resumed
            .calls
            .iter()
            .filter(|call| recorded.contains(*call))
            .collect();
        assert!(
            again.is_empty(),
            "{} cut after event {cut}: asked again: {again:?}",
            case.name
        );
        let mut all: Vec<_> = resumed.calls.iter().cloned().chain(recorded).collect();
        all.sort();
        assert_eq!(
            all, uninterrupted.calls,
            "{} cut after event {cut}: recorded and new calls together",
            case.name
        );
        let mut runs: Vec<Hash> = resumed
            .runs
            .iter()
            .copied()
            .chain(recorded_runs(&records[..cut]))
            .collect();
        runs.sort_by_key(|hash| hash.0);
        assert_eq!(
            runs, uninterrupted.runs,
            "{} cut after event {cut}: recorded and new runs together",
            case.name
        );
    }
}

/// Kills a case's run at each append, before or after it is written, and again while it recovers.
pub async fn crash_at_every_append(case: &Case) {
    let (_, uninterrupted) = case
        .run(Arc::new(MemoryStore::new()))
        .await
        .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    for written in [false, true] {
        for at in 1.. {
            let memory = MemoryStore::new();
            let what = format!(
                "crash at append {at}, {}",
                if written { "written" } else { "not written" }
            );
            let first = Arc::new(fuse(memory.clone(), at, written));
            if case.run(first).await.is_ok() {
                break;
            }
            let Some(id) = memory
                .sessions(&Filter::default())
                .await
                .expect("memory can be read")
                .first()
                .map(|session| session.id)
            else {
                continue;
            };
            // The recovery crashes too, at its second append, and the next one goes through.
            let ended = match resume(case, Arc::new(fuse(memory.clone(), 2, written)), id).await {
                Ok(ended) => Ok(ended),
                Err(_) => resume(case, Arc::new(memory.clone()), id).await,
            };
            match ended {
                Ok(resumed) => assert_same(case, &uninterrupted, &resumed, &what),
                // The last event was written although the run did not learn of it.
                Err(error) => assert!(
                    written && error.contains("has ended"),
                    "{}: {what}: {error}",
                    case.name
                ),
            }
            let records = memory.load(id, 0).await.expect("memory can be read");
            assert_each_turn_recorded_once(case, &records, &what);
        }
    }
}

/// Goes on with a debate of a case, with a fresh script.
pub(crate) async fn resume(
    case: &Case,
    store: Arc<dyn Store>,
    id: DebateId,
) -> Result<Ran, String> {
    let (model, sandbox) = (case.model(), case.sandbox());
    let desk = case.desk_with(store, model.clone(), sandbox.clone());
    let running = desk.resume(id).await.map_err(|error| error.to_string())?;
    let outcome = running.outcome().await.map_err(|error| error.to_string())?;
    let view = desk.view(id).await.map_err(|error| error.to_string())?;
    Ok(Ran {
        outcome,
        transcript: report::transcript(&view),
        calls: sorted(model.calls()),
        runs: sandbox.runs(),
    })
}

fn assert_same(case: &Case, uninterrupted: &Ran, resumed: &Ran, what: &str) {
    assert_eq!(
        resumed.outcome, uninterrupted.outcome,
        "{}: {what}",
        case.name
    );
    assert_eq!(
        resumed.transcript, uninterrupted.transcript,
        "{}: {what}",
        case.name
    );
}

/// Calls whose end is on record.
fn recorded_calls(records: &[Record]) -> BTreeSet<(String, u32)> {
    let events = records
        .iter()
        .filter_map(|record| record.event().expect("events can be read"));
    let ended = events.filter_map(|event| match event {
        Event::TurnCompleted(completed) => Some((completed.turn.to_string(), completed.attempt)),
        Event::TurnFailed(failed) if !failed.unsent => {
            Some((failed.turn.to_string(), failed.attempt))
        }
        _ => None,
    });
    ended.collect()
}

/// Runs whose end is on record, by the hash of their job.
fn recorded_runs(records: &[Record]) -> Vec<Hash> {
    let events: Vec<Event> = records
        .iter()
        .filter_map(|record| record.event().expect("events can be read"))
        .collect();
    let ended = |run: &str| {
        events
            .iter()
            .any(|event| matches!(event, Event::RunCompleted(completed) if &*completed.run == run))
    };
    let hashes = events.iter().filter_map(|event| match event {
        Event::RunStarted(started) if ended(&started.run) => Some(started.job),
        _ => None,
    });
    hashes.collect()
}

fn assert_each_turn_recorded_once(case: &Case, records: &[Record], what: &str) {
    let mut seen = BTreeSet::new();
    let mut in_flight: BTreeSet<Arc<str>> = BTreeSet::new();
    for record in records {
        match record.event().expect("events can be read") {
            Some(Event::TurnStarted(started)) => {
                let again = !in_flight.insert(started.turn.clone());
                assert_eq!(
                    started.possibly_paid_twice, again,
                    "{}: {what}: {}",
                    case.name, started.turn
                );
            }
            Some(Event::TurnFailed(failed)) => {
                in_flight.remove(&failed.turn);
            }
            Some(Event::TurnCompleted(completed)) => {
                in_flight.remove(&completed.turn);
                assert!(
                    seen.insert(completed.turn.clone()),
                    "{}: {what}: {} is recorded twice",
                    case.name,
                    completed.turn
                );
            }
            _ => {}
        }
    }
}

/// A store that fails for good at append number `at`, with or without having written it: to the run
/// above it, that is a crash.
pub fn fuse(store: MemoryStore, at: usize, written: bool) -> Interposed {
    let left = Arc::new(AtomicUsize::new(at));
    Interposed::new(store, move |store, append| {
        let left = left.clone();
        Box::pin(async move {
            let crashed = Err(StoreError::Failed("crashed".to_owned()));
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            }) {
                Ok(1) if written => store.append(append).await.and(crashed),
                Ok(2..) => store.append(append).await,
                _ => crashed,
            }
        })
    })
}
