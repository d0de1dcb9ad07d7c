//! Leaving in the middle: a debate whose time is over while its journal is being written, and a
//! watcher whose run is gone.

use crate::kernel::{Only, Overheard, case, cut};
use rebut_engine::{
    DebateId, Desk, DeskOptions, Start,
    error::{DeskError, Stop},
    event::{Event, HumanPaused, Limits},
    memory_store::MemoryStore,
    outcome::Ending,
    record::{Place, Record},
    report,
    store::{Append, Store, StoreError},
    view::View,
};
use rebut_testkit::{clock::SimulatedClock, crash::fuse, interposed::Interposed};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

/// Longer than anything here takes: under simulated time a hang ends in an instant.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// A store that has written a reply long before it says so.
fn slow_to_say(memory: MemoryStore) -> Interposed {
    Interposed::new(memory, |store, append| {
        Box::pin(async move {
            let reply = append
                .records
                .iter()
                .any(|record| &*record.kind == "turn.completed");
            store.append(append).await?;
            if reply {
                tokio::time::sleep(Duration::from_secs(2)).await; // tidy: this is the disk, in simulated time
            }
            Ok(())
        })
    })
}

/// A store that cannot be reached every other time; what is asked then may happen all the same.
fn often_away(memory: MemoryStore, calls: &Arc<AtomicUsize>) -> Interposed {
    let (appends, loads) = (calls.clone(), calls.clone());
    let away = || Err(StoreError::Unavailable("it is away".to_owned()));
    let store = Interposed::new(memory, move |store, append| {
        let call = appends.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            match call % 4 {
                0 => store.append(append).await.and(away()),
                2 => away(),
                _ => store.append(append).await,
            }
        })
    });
    store.unreachable(move || {
        if loads.fetch_add(1, Ordering::SeqCst) % 3 == 0 {
            away()
        } else {
            Ok(())
        }
    })
}

/// Everything a watcher sees until it is told that there is no more.
async fn watched(desk: &Desk, id: DebateId) -> Vec<String> {
    let mut watch = desk.watch(id, 0).await.expect("a watch");
    let mut kinds = Vec::new();
    while let Some(record) = watch.next().await.expect("readable") {
        kinds.push(record.kind.to_string());
    }
    kinds
}

fn desk(store: Arc<dyn Store>) -> Desk {
    desk_of("unanimous", store)
}

fn desk_of(name: &str, store: Arc<dyn Store>) -> Desk {
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        ..DeskOptions::default()
    };
    Desk::with_options(store, Arc::new(Only(case(name).model())), options)
}

#[tokio::test(start_paused = true)]
async fn a_debate_whose_time_is_over_while_a_reply_is_written_is_stopped_and_keeps_the_reply() {
    let memory = MemoryStore::new();
    let desk = desk(Arc::new(slow_to_say(memory.clone())));
    let limits = Limits {
        debate_seconds: 1,
        ..Limits::default()
    };
    let running = desk
        .start(Start {
            limits: Some(limits),
            ..case("unanimous").start
        })
        .await
        .expect("it starts");
    let id = running.id;
    let seen = tokio::time::timeout(FOR_EVER, watched(&desk, id))
        .await
        .expect("the watcher is told of the end");
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Stopped
    );
    assert_eq!(seen.last().map(String::as_str), Some("debate.completed"));
    assert_eq!(
        seen.iter().filter(|kind| *kind == "turn.completed").count(),
        1,
        "the reply that was being written: {seen:?}"
    );

    let again = self::desk(Arc::new(memory));
    let running = again
        .resume_with(
            id,
            rebut_engine::More {
                debate_seconds: Some(0),
                ..Default::default()
            },
        )
        .await
        .expect("it resumes");
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Consensus
    );
    let spent = again.view(id).await.expect("a view").spent();
    assert_eq!(
        spent.possibly_paid_twice.len(),
        2,
        "only the two that never were recorded are asked again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watcher_of_a_run_that_broke_sees_the_rest_and_then_the_end() {
    for (at, written) in (1..20).flat_map(|at| [(at, false), (at, true)]) {
        let memory = MemoryStore::new();
        let desk = desk(Arc::new(fuse(memory.clone(), at, written)));
        let Ok(running) = desk.start(case("contested").start).await else {
            continue;
        };
        let seen = tokio::time::timeout(FOR_EVER, watched(&desk, running.id)).await;
        let seen = seen.unwrap_or_else(|_| {
            panic!("the watcher waits for ever after a crash at append {at}, written: {written}")
        });
        assert_eq!(
            seen.len(),
            memory.load(running.id, 0).await.expect("readable").len(),
            "crash at append {at}, written: {written}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_debate_waits_for_a_database_that_is_away_and_writes_nothing_twice() {
    let undisturbed = MemoryStore::new();
    let (expected, _) = desk(Arc::new(undisturbed.clone()))
        .run(case("contested").start)
        .await
        .expect("it ends");
    let expected = undisturbed.load(expected, 0).await.expect("a journal");
    for first in 0..12 {
        let (memory, calls) = (MemoryStore::new(), Arc::new(AtomicUsize::new(first)));
        let desk = desk(Arc::new(often_away(memory.clone(), &calls)));
        let run = desk.run(case("contested").start);
        let (id, _) = tokio::time::timeout(FOR_EVER, run)
            .await
            .expect("it goes on when the database is back")
            .expect("it ends");
        let records = memory.load(id, 0).await.expect("a journal");
        let kinds = |records: &[Record]| {
            records
                .iter()
                .map(|record| record.kind.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            kinds(&records),
            kinds(&expected),
            "away from call {first} on"
        );
        let transcript = |records: &[Record]| report::transcript(&View::of(records));
        assert_eq!(
            transcript(&records),
            transcript(&expected),
            "away from call {first} on"
        );
    }
}

#[tokio::test]
async fn whoever_does_not_run_a_debate_is_told_that_the_database_is_away() {
    let memory = MemoryStore::new();
    let (id, _) = desk(Arc::new(memory.clone()))
        .run(case("contested").start)
        .await
        .expect("it ends");
    let away = || Err(StoreError::Unavailable("it is away".to_owned()));
    let desk = desk(Arc::new(
        Interposed::new(memory, move |_, _| Box::pin(async move { away() })).unreachable(|| Ok(())),
    ));
    let said = desk.mark(id, "A", "", "me").await;
    assert!(
        matches!(
            said,
            Err(DeskError::Halted(Stop::Store(StoreError::Unavailable(_))))
        ),
        "{said:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_pause_outlives_the_process_that_was_to_make_it_unless_a_person_says_go_on() {
    let whole = MemoryStore::new();
    let (id, _) = desk_of("contested", Arc::new(whole.clone()))
        .run(case("contested").start)
        .await
        .expect("it ends");
    let records = whole.load(id, 0).await.expect("a journal");
    let asked = records
        .iter()
        .rposition(|record| &*record.kind == "turn.started")
        .expect("turns");
    for (word, ending) in [
        ("nobody's", Err(DeskError::Halted(Stop::Paused))),
        ("a person's", Ok(Ending::Contested)),
    ] {
        // Its process was told to pause in the last round, and died.
        let store = cut(&whole, id, asked + 1).await;
        let last = &records[asked];
        let paused = Event::HumanPaused(HumanPaused {
            by: "anna".to_owned(),
        });
        let mut append = Append::new(id, last.seq, last.hash);
        append.records = vec![Record::new(
            id,
            last.seq + 1,
            last.hash,
            last.ts.clone(),
            Place::default(),
            &paused,
        )];
        store.append(append).await.expect("memory can be written");
        let desk = desk_of("contested", store.clone());
        let running = if word == "nobody's" {
            desk.adopt(id).await
        } else {
            desk.resume(id).await
        }
        .expect("it goes on");
        let ended = tokio::time::timeout(FOR_EVER, running.outcome())
            .await
            .expect("it ends or rests");
        assert_eq!(ended.map(|outcome| outcome.outcome), ending, "{word}");
        let paused = store
            .load(id, last.seq + 1)
            .await
            .expect("a journal")
            .into_iter()
            .find(|record| &*record.kind == "debate.paused");
        let by =
            paused.map(|record| matches!(record.event(), Ok(Some(Event::DebatePaused(paused))) if paused.by.as_deref() == Some("anna")));
        assert_eq!(by, (word == "nobody's").then_some(true), "{word}");
    }
}

/// Whoever is waited for could not be heard any more; a pause that was asked for before is made all
/// the same.
#[tokio::test(start_paused = true)]
async fn a_process_that_leaves_waits_for_no_person_whatever_it_was_told_before() {
    for (word, rests) in [("none", false), ("its own", true), ("a person's", true)] {
        let mut asked = case("contested").start;
        let risk = asked
            .agents
            .iter_mut()
            .find(|agent| &*agent.name == "risk")
            .expect("a judge");
        risk.model = "human:anna".into();
        let person = Arc::new(Overheard::holding(
            case("contested").model(),
            "recommend/risk",
        ));
        let store = MemoryStore::new();
        let options = DeskOptions {
            clock: Arc::new(SimulatedClock::new()),
            ..DeskOptions::default()
        };
        let desk = Desk::with_options(
            Arc::new(store.clone()),
            Arc::new(Only(person.clone())),
            options,
        );
        let running = desk.start(asked).await.expect("it starts");
        person.asked().await;
        match word {
            "none" => {}
            "its own" => desk.pause(running.id).expect("it runs here"),
            _ => desk.pause_by(running.id, "ben").await.expect("it runs"),
        }
        assert_eq!(
            desk.leave_all(Duration::from_secs(1)).await,
            0,
            "{word}: cut off in a turn"
        );
        let last = store
            .load(running.id, 0)
            .await
            .expect("a journal")
            .pop()
            .expect("events");
        assert_eq!(&*last.kind == "debate.paused", rests, "{word}: {last:?}");
    }
}

/// A store that takes the first so many appends, and then none until it is told to.
fn full_after(memory: MemoryStore, appends: usize, has_room: &Arc<AtomicUsize>) -> Interposed {
    let (count, has_room) = (Arc::new(AtomicUsize::new(0)), has_room.clone());
    let store = Interposed::new(memory, move |store, append| {
        let is_full =
            count.fetch_add(1, Ordering::SeqCst) >= appends && has_room.load(Ordering::SeqCst) == 0;
        Box::pin(async move {
            if is_full {
                Err(StoreError::Unwritable("it is full".to_owned()))
            } else {
                store.append(append).await
            }
        })
    });
    store.unreachable(|| Ok(()))
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_patience_is_over_ends_and_stays_open_and_whoever_watches_late_is_told() {
    for appends in 1..12 {
        let (memory, has_room) = (MemoryStore::new(), Arc::new(AtomicUsize::new(0)));
        let store = Arc::new(full_after(memory.clone(), appends, &has_room));
        let patience = Some(Duration::from_secs(4));
        let options = DeskOptions {
            clock: Arc::new(SimulatedClock::new()),
            patience,
            ..DeskOptions::default()
        };
        let desk = Desk::with_options(store, Arc::new(Only(case("contested").model())), options);
        let running = desk
            .start(case("contested").start)
            .await
            .expect("it starts");
        let (id, begun) = (running.id, tokio::time::Instant::now());
        let ended = tokio::time::timeout(FOR_EVER, running.outcome())
            .await
            .expect("it does not wait for ever");
        let full = Err(DeskError::Halted(Stop::Store(StoreError::Unwritable(
            "it is full".to_owned(),
        ))));
        if ended != full {
            assert!(
                ended.is_ok() && appends > 6,
                "after {appends} appends: {ended:?}"
            );
            continue;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "after {appends} appends: judges do not wait one after the other"
        );
        let there = memory.load(id, 0).await.expect("a journal").len();
        let late = tokio::time::timeout(FOR_EVER, watched(&desk, id)).await;
        assert_eq!(
            late.expect("it is told that nothing more comes").len(),
            there,
            "after {appends} appends"
        );
        has_room.store(1, Ordering::SeqCst);
        let resumed = desk.resume(id).await.expect("it resumes").outcome();
        let (_, seen) = tokio::join!(resumed, tokio::time::timeout(FOR_EVER, watched(&desk, id)));
        let seen = seen.expect("it is told of the end");
        assert_eq!(
            seen.last().map(String::as_str),
            Some("debate.completed"),
            "after {appends} appends"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_limit_to_its_patience_goes_on_when_there_is_room_and_a_start_is_refused_at_once()
 {
    let (memory, has_room) = (MemoryStore::new(), Arc::new(AtomicUsize::new(0)));
    let desk = desk_of(
        "contested",
        Arc::new(full_after(memory.clone(), 3, &has_room)),
    );
    let running = desk
        .start(case("contested").start)
        .await
        .expect("it starts");
    let id = running.id;
    tokio::time::sleep(Duration::from_secs(3600)).await; // tidy: an hour of simulated time in which nothing can be written
    assert!(desk.runs_here(id), "it waits");
    let refused = desk.start(case("contested").start).await.err();
    assert_eq!(
        refused,
        Some(DeskError::Halted(Stop::Store(StoreError::Unwritable(
            "it is full".to_owned()
        ))))
    );
    assert_eq!(
        memory
            .sessions(&rebut_engine::store::Filter::default())
            .await
            .expect("sessions")
            .len(),
        1,
        "nothing is left of it"
    );
    has_room.store(1, Ordering::SeqCst);
    let ended = tokio::time::timeout(FOR_EVER, running.outcome())
        .await
        .expect("it goes on");
    assert_eq!(ended.expect("it ends").outcome, Ending::Contested);
}

/// A store that fails at some appends, as often as is said then.
fn failing(memory: MemoryStore, now: &Arc<Mutex<Option<(StoreError, bool)>>>) -> Interposed {
    let now = now.clone();
    Interposed::new(memory, move |store, append| {
        let failing = now.lock().expect("no panic").take();
        Box::pin(async move {
            let Some((error, is_written)) = failing else {
                return store.append(append).await;
            };
            if is_written {
                store.append(append).await?;
            }
            Err(error)
        })
    })
}

/// What failed and works again counts no more: the next failure, much later, is waited for as the
/// first was.
#[tokio::test(start_paused = true)]
async fn patience_begins_anew_when_something_worked() {
    let full = || StoreError::Unwritable("it is full".to_owned());
    let away = || StoreError::Unavailable("it is away".to_owned());
    for first in ["an append that was written", "a reading"] {
        let (memory, now) = (MemoryStore::new(), Arc::new(Mutex::new(None)));
        let (is_away, news) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let reads = is_away.clone();
        let fails = move || match reads.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            left.checked_sub(1)
        }) {
            Ok(_) => Err(StoreError::Unavailable("it is away".to_owned())),
            Err(_) => Ok(()),
        };
        let store = failing(memory.clone(), &now)
            .unreachable(fails)
            .hearing(news.clone());
        let model = Arc::new(Overheard::holding(
            case("contested").model(),
            "recommend/risk",
        ));
        let clock = Arc::new(SimulatedClock::new());
        let options = DeskOptions {
            clock,
            patience: Some(Duration::from_secs(4)),
            ..DeskOptions::default()
        };
        let desk = Desk::with_options(Arc::new(store), Arc::new(Only(model.clone())), options);
        let running = desk
            .start(case("contested").start)
            .await
            .expect("it starts");
        model.asked().await;
        if first == "a reading" {
            is_away.store(1, Ordering::SeqCst);
            news.notify_one();
        } else {
            *now.lock().expect("no panic") = Some((away(), true));
            desk.note(running.id, "x", "ben")
                .await
                .expect("it is written in the end");
        }
        tokio::time::sleep(Duration::from_secs(20)).await; // tidy: simulated time in which all is well, longer than the patience
        assert_eq!(is_away.load(Ordering::SeqCst), 0, "{first}: it failed");
        *now.lock().expect("no panic") = Some((full(), false));
        model.release();
        let ended = tokio::time::timeout(FOR_EVER, running.outcome())
            .await
            .expect("it ends");
        assert_eq!(
            ended.map(|outcome| outcome.outcome),
            Ok(Ending::Contested),
            "{first}"
        );
    }
}
