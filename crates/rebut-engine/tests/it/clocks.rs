//! Gates under wall clocks that are wrong or jump: what counts is the store's clock where it has
//! one, and otherwise how much time has passed.

use crate::{
    approval::{at_gate, kinds, open_gate, paused_at_gate, start},
    kernel::{Only, case, decision},
};
use jiff::{SignedDuration, Timestamp};
use rebut_engine::{
    DebateId, Desk, DeskOptions, More, PausedGates,
    clock::Clock,
    error::{DeskError, TooLate},
    memory_store::MemoryStore,
    model::{Answer, Fault, Model, Request},
    outcome::Ending,
    store::{Store, StoreError},
};
use rebut_testkit::{
    clock::{SimulatedClock, WrongClock},
    interposed::Interposed,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// How long the results here wait, in seconds.
const WAITS: u64 = 1800;

/// By so many seconds clocks are wrong.
const OFF: i64 = 900;

fn desk_with(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Desk {
    Desk::with_options(
        store,
        Arc::new(Only(case("unanimous").model())),
        DeskOptions {
            clock,
            ..DeskOptions::default()
        },
    )
}

/// Desks of nodes whose clocks are wrong, over a store that has a clock.
fn nodes() -> (Arc<SimulatedClock>, [Desk; 2]) {
    let shared = Arc::new(SimulatedClock::new());
    let store = Arc::new(Interposed::counting(MemoryStore::new()).with_clock(shared.clone()));
    (
        shared,
        [OFF, -OFF].map(|off| desk_with(store.clone(), Arc::new(WrongClock::new(off)))),
    )
}

async fn pass(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

async fn look(desk: &Desk, known: &mut PausedGates) {
    assert_eq!(desk.close_overdue(known).await, Ok(Vec::new()));
}

async fn is_decided(desk: &Desk, id: DebateId) -> bool {
    kinds(desk, id, "gate.")
        .await
        .contains(&"gate.decided".to_owned())
}

fn is_too_late(decided: &Result<(), DeskError>) -> bool {
    matches!(decided, Err(DeskError::TooLate { what: TooLate::Decided(decided), .. }) if decided.by == "timeout")
}

#[tokio::test(start_paused = true)]
async fn the_clock_of_the_store_decides_whatever_its_nodes_think() {
    for (opens, decides) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        let (shared, nodes) = nodes();
        let (running, id, gate) = at_gate(&nodes[opens]).await;
        let until: Timestamp = gate.until.parse().expect("a time");
        assert_eq!(
            until.duration_since(shared.now()).as_secs(),
            WAITS.cast_signed(),
            "{opens}"
        );
        pass(WAITS - 1).await;
        assert!(
            nodes[decides]
                .view(id)
                .await
                .expect("a view")
                .open_gate
                .is_some(),
            "{opens} {decides}"
        );
        assert_eq!(
            nodes[decides]
                .decide(id, decision("result", true, "boss"), None)
                .await,
            Ok(()),
            "{opens} {decides}"
        );
        // A run in another process would be told of it by the store.
        if opens == decides {
            assert_eq!(
                running.outcome().await.expect("it ends").outcome,
                Ending::Consensus
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_decides_after_the_time_of_the_store_wherever_they_ask() {
    for (opens, decides) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        let (_, nodes) = nodes();
        let (id, _) = paused_at_gate(&nodes[opens]).await;
        let mut known = PausedGates::default();
        look(&nodes[decides], &mut known).await;
        pass(WAITS - 1).await;
        look(&nodes[decides], &mut known).await;
        assert!(!is_decided(&nodes[opens], id).await, "{decides} was early");
        assert_eq!(
            nodes[decides].next_overdue(&known),
            Some(Duration::from_secs(1))
        );
        pass(1).await;
        assert_eq!(
            nodes[decides].view(id).await.expect("a view").open_gate,
            None
        );
        let late = nodes[decides]
            .decide(id, decision("result", true, "boss"), None)
            .await;
        assert!(is_too_late(&late), "{opens} {decides}: {late:?}");
    }
    for closes in [0, 1] {
        let (_, nodes) = nodes();
        let (id, _) = paused_at_gate(&nodes[0]).await;
        pass(WAITS).await;
        look(&nodes[closes], &mut PausedGates::default()).await;
        assert!(is_decided(&nodes[0], id).await, "{closes} was late");
    }
}

/// Every time of a journal is by the same clock, whoever wrote it.
#[tokio::test(start_paused = true)]
async fn the_times_of_a_journal_are_those_of_the_store() {
    let (shared, nodes) = nodes();
    let began = shared.now();
    let (id, _) = paused_at_gate(&nodes[0]).await;
    nodes[1]
        .note(id, "mind the gap", "anna")
        .await
        .expect("noted");
    for record in nodes[0].records(id).await.expect("a journal") {
        let at: Timestamp = record.ts.parse().expect("a time");
        assert!(
            (began..=shared.now()).contains(&at),
            "{}: {at}",
            record.kind
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_jump_neither_ends_nor_extends_a_wait() {
    for jump in [5 * 3600, -5 * 3600] {
        let clock = Arc::new(WrongClock::new(0));
        let desk = desk_with(Arc::new(MemoryStore::new()), clock.clone());
        let (in_time, waits, _) = at_gate(&desk).await;
        let (late, ends, _) = at_gate(&desk).await;
        let (paused, _) = paused_at_gate(&desk).await;
        let (forgotten, _) = paused_at_gate(&desk).await;
        let mut known = PausedGates::default();
        look(&desk, &mut known).await;
        clock.set(jump);
        look(&desk, &mut known).await;
        for id in [waits, ends, paused, forgotten] {
            assert!(
                desk.view(id).await.expect("a view").open_gate.is_some()
                    && !is_decided(&desk, id).await,
                "{jump}"
            );
        }
        pass(WAITS - 1).await;
        for id in [waits, paused] {
            assert_eq!(
                desk.decide(id, decision("result", true, "boss"), None)
                    .await,
                Ok(()),
                "{jump}"
            );
        }
        assert_eq!(
            in_time.outcome().await.expect("it ends").outcome,
            Ending::Consensus,
            "{jump}"
        );
        assert!(
            !is_decided(&desk, ends).await && !is_decided(&desk, forgotten).await,
            "{jump}: early"
        );
        pass(1).await;
        assert_eq!(
            late.outcome().await.expect("it ends").outcome,
            Ending::Rejected,
            "{jump}"
        );
        let decided = desk
            .decide(forgotten, decision("result", true, "boss"), None)
            .await;
        assert!(is_too_late(&decided), "{jump}: {decided:?}");
    }
}

/// What is said to be so much longer is that much longer, and what the journal says then is right
/// for whoever knows of no jump.
#[tokio::test(start_paused = true)]
async fn more_time_is_added_to_what_is_left() {
    let clock = Arc::new(WrongClock::new(0));
    let desk = desk_with(Arc::new(MemoryStore::new()), clock.clone());
    let (id, before) = paused_at_gate(&desk).await;
    clock.set(-5 * 3600);
    pass(WAITS - 60).await;
    let more = More {
        approval_seconds: Some(2 * WAITS),
        ..More::default()
    };
    let running = desk.resume_with(id, more).await.expect("it resumes");
    let gate = loop {
        match open_gate(&desk, id).await {
            gate if gate.until != before.until => break gate,
            _ => tokio::task::yield_now().await,
        }
    };
    let until: Timestamp = gate.until.parse().expect("a time");
    let left = until.duration_since(clock.now()).as_secs();
    assert!((left - (60 + WAITS).cast_signed()).abs() <= 1, "{left}");
    pass(WAITS + 59).await;
    assert!(!is_decided(&desk, id).await, "early");
    pass(1).await;
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Rejected
    );
}

/// A process that only looks has no say while another waits at the gate: a jump may be all it
/// knows.
#[tokio::test(start_paused = true)]
async fn whoever_waits_at_a_gate_says_when_it_closes() {
    let store = Arc::new(MemoryStore::new());
    let waits = desk_with(store.clone(), Arc::new(SimulatedClock::new()));
    let began_after_a_jump = desk_with(store, Arc::new(WrongClock::new(5 * 3600)));
    let (_running, id, _) = at_gate(&waits).await;
    assert!(
        began_after_a_jump
            .view(id)
            .await
            .expect("a view")
            .open_gate
            .is_some()
    );
    assert_eq!(
        began_after_a_jump
            .decide(id, decision("result", true, "boss"), None)
            .await,
        Ok(())
    );
    let (paused, _) = paused_at_gate(&waits).await;
    let late = began_after_a_jump
        .decide(paused, decision("result", true, "boss"), None)
        .await;
    assert!(
        is_too_late(&late),
        "where nobody waits, whoever is asked decides by the clock there is: {late:?}"
    );
}

/// While nobody can ask for the time, nobody can decide either; then it is judged by what the time
/// is.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_at_the_end_is_waited_for() {
    let away = Arc::new(AtomicBool::new(false));
    let is_away = away.clone();
    let refuses = move || match is_away.load(Ordering::SeqCst) {
        true => Err(StoreError::Unavailable("it is away".to_owned())),
        false => Ok(()),
    };
    let store = Interposed::counting(MemoryStore::new())
        .unreachable(refuses)
        .with_clock(Arc::new(SimulatedClock::new()));
    let desk = desk_with(Arc::new(store), Arc::new(WrongClock::new(OFF)));
    let (running, id, _) = at_gate(&desk).await;
    away.store(true, Ordering::SeqCst);
    let asked = desk
        .decide(id, decision("result", true, "boss"), None)
        .await;
    assert!(asked.as_ref().is_err_and(DeskError::is_away), "{asked:?}");
    pass(WAITS + 60).await;
    away.store(false, Ordering::SeqCst);
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Rejected
    );
    assert_eq!(
        start().limits.map(|limits| limits.approval_seconds),
        Some(WAITS)
    );
}

/// Whoever answers is told the time by the clock of the store, to show a person until when they
/// may.
#[tokio::test(start_paused = true)]
async fn who_is_asked_is_told_the_time_of_the_store() {
    struct Told(Mutex<Vec<Timestamp>>, Arc<dyn Model>);
    #[async_trait::async_trait]
    impl Model for Told {
        async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
            self.0.lock().expect("no panic").push(request.now);
            self.1.ask(request).await
        }
    }
    let shared = Arc::new(SimulatedClock::new());
    let store = Arc::new(Interposed::counting(MemoryStore::new()).with_clock(shared.clone()));
    let told = Arc::new(Told(Mutex::default(), case("unanimous").model()));
    let options = DeskOptions {
        clock: Arc::new(WrongClock::new(OFF)),
        ..DeskOptions::default()
    };
    let desk = Desk::with_options(store, Arc::new(Only(told.clone())), options);
    desk.run(case("unanimous").start).await.expect("it ends");
    let told = told.0.lock().expect("no panic").clone();
    assert!(
        !told.is_empty()
            && told
                .iter()
                .all(|now| now.duration_since(shared.now()).abs() < SignedDuration::from_secs(60)),
        "{told:?}"
    );
}
