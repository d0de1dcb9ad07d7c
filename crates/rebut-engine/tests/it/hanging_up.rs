//! Whoever asks for something may leave at any moment: then either nothing is recorded, or what was
//! asked for is done.

use crate::kernel::{Only, case, decision};
use rebut_engine::{
    DebateId, Desk, DeskOptions, Fork, Start,
    error::{DeskError, Stop},
    event::Limits,
    memory_store::MemoryStore,
    outcome::Ending,
    record::Hash,
    store::{Durability, Filter, Status, Store, StoreError},
};
use rebut_testkit::{clock::SimulatedClock, interposed::Interposed};
use std::{
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

/// Longer than anything here takes: under simulated time a hang ends in an instant.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// So often whoever asks looks for an answer, at most: more than the store takes for the longest of
/// what is asked here.
const LOOKS: usize = 24;

/// So many steps the store takes before it writes, and again before it says so.
const STEPS: usize = 2;

async fn steps(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

fn desk(memory: &MemoryStore) -> Desk {
    let slow = Interposed::new(memory.clone(), |store, append| {
        Box::pin(async move {
            steps(STEPS).await;
            let done = store.append(append).await;
            steps(STEPS).await;
            done
        })
    });
    desk_over(slow)
}

fn desk_over(store: impl Store) -> Desk {
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        ..DeskOptions::default()
    };
    Desk::with_options(
        Arc::new(store),
        Arc::new(Only(case("unanimous").model())),
        options,
    )
}

fn asked() -> Start {
    case("unanimous").start
}

fn asked_with_approval() -> Start {
    Start {
        limits: Some(Limits {
            approval_seconds: 1800,
            ..Limits::default()
        }),
        ..asked()
    }
}

/// Looks for the answer so often, then leaves.
async fn hang_up<T>(looks: usize, asking: impl Future<Output = T>) -> Option<T> {
    let mut asking = pin!(asking);
    for _ in 0..looks {
        if let Poll::Ready(answer) = futures_util::poll!(asking.as_mut()) {
            return Some(answer);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// Waits until nothing is done any more, and gives how every debate stands.
async fn settled(desk: &Desk, memory: &MemoryStore) -> Vec<(DebateId, Status)> {
    steps(200).await;
    let sessions = memory.sessions(&Filter::default()).await.expect("sessions");
    for session in sessions
        .iter()
        .filter(|session| session.status == Status::Running)
    {
        let mut watch = desk
            .watch(session.id, 0)
            .await
            .expect("a watch")
            .through_pauses();
        let seen = async { while watch.next().await.expect("readable").is_some() {} };
        let ended = tokio::time::timeout(FOR_EVER, seen).await;
        ended.unwrap_or_else(|_| {
            panic!("{} is recorded as running, and nobody runs it", session.id)
        });
    }
    let sessions = memory.sessions(&Filter::default()).await.expect("sessions");
    sessions
        .into_iter()
        .map(|session| (session.id, session.status))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_start_that_nobody_waits_for_runs_or_was_never_recorded() {
    let id = || {
        "00000000-0000-4000-8000-000000000001"
            .parse::<DebateId>()
            .expect("an id")
    };
    let mut seen = [0, 0];
    for looks in 0..LOOKS {
        let memory = MemoryStore::new();
        let desk = desk(&memory);
        let once = || desk.start_once(id(), asked(), Hash::of(b"a request"));
        drop(hang_up(looks, once()).await);
        let stand = settled(&desk, &memory).await;
        assert!(
            stand.len() < 2 && stand.iter().all(|(_, status)| *status == Status::Completed),
            "after {looks} looks: {stand:?}"
        );
        seen[stand.len()] += 1;
        match once().await {
            Ok(running) => assert_eq!(
                running.outcome().await.expect("it ends").outcome,
                Ending::Consensus
            ),
            Err(error) => assert!(
                matches!(error, DeskError::TooLate { .. }) && stand.len() == 1,
                "after {looks} looks: {error}"
            ),
        }
        assert_eq!(
            settled(&desk, &memory).await,
            [(id(), Status::Completed)],
            "after {looks} looks"
        );
    }
    assert!(seen[0] > 0 && seen[1] > STEPS * 2, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn what_goes_on_at_a_word_goes_on_though_nobody_waits_for_the_answer() {
    for looks in 0..LOOKS {
        let memory = MemoryStore::new();
        let desk = desk(&memory);
        let running = desk.start(asked_with_approval()).await.expect("it starts");
        let id = running.id;
        desk.pause(id).expect("it runs");
        assert_eq!(
            running.outcome().await.err(),
            Some(DeskError::Halted(Stop::Paused))
        );
        drop(hang_up(looks, desk.resume(id)).await);
        steps(200).await;
        let paused = desk.view(id).await.expect("a view").paused;
        assert_ne!(desk.runs_here(id), paused, "after {looks} looks");
    }
    for looks in 0..LOOKS {
        let memory = MemoryStore::new();
        let desk = desk(&memory);
        let (origin, _) = desk.run(asked()).await.expect("it ends");
        let fork = Fork {
            at: "end".to_owned(),
            initiated_by: "anna".to_owned(),
            ..Fork::default()
        };
        drop(hang_up(looks, desk.fork(origin, fork)).await);
        let stand = settled(&desk, &memory).await;
        assert!(
            stand.iter().all(|(_, status)| *status == Status::Completed),
            "after {looks} looks: {stand:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_persons_word_that_is_recorded_is_heard_though_nobody_waits_for_the_answer() {
    for (looks, word) in (0..LOOKS).flat_map(|looks| {
        ["approve", "cancel", "pause", "cancel a paused one"].map(|word| (looks, word))
    }) {
        let memory = MemoryStore::new();
        let desk = desk(&memory);
        let running = desk.start(asked_with_approval()).await.expect("it starts");
        let id = running.id;
        while desk.view(id).await.expect("a view").open_gate.is_none() {
            steps(1).await;
        }
        if word == "cancel a paused one" {
            desk.pause(id).expect("it runs");
            drop(running.outcome().await);
        }
        match word {
            "approve" => drop(
                hang_up(
                    looks,
                    desk.decide(id, decision("result", true, "boss"), None),
                )
                .await,
            ),
            "pause" => drop(hang_up(looks, desk.pause_by(id, "boss")).await),
            _ => drop(hang_up(looks, desk.cancel(id, "boss", "")).await),
        }
        steps(200).await;
        let records = desk.records(id).await.expect("a journal");
        let is_said = records.iter().any(|record| {
            ["gate.decided", "human.cancelled", "human.paused"].contains(&&*record.kind)
        });
        let status = desk.view(id).await.expect("a view").status();
        let expected = match word {
            "approve" if is_said => Status::Completed,
            "pause" if is_said => Status::Paused,
            "cancel" | "cancel a paused one" if is_said => Status::Cancelled,
            "cancel a paused one" => Status::Paused,
            _ => Status::Running,
        };
        assert_eq!(status, expected, "{word} after {looks} looks");
        let held = memory.held_here().await.expect("claims").len();
        assert_eq!(
            held,
            usize::from(status == Status::Running),
            "{word} after {looks} looks"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_debate_that_is_claimed_here_and_not_run_is_found_and_taken_up() {
    let memory = MemoryStore::new();
    // Its first reply cannot be written, as where a process has no file descriptor left.
    let broken = Interposed::new(memory.clone(), |store, append| {
        Box::pin(async move {
            let is_reply = append
                .records
                .iter()
                .any(|record| &*record.kind == "turn.completed");
            if is_reply {
                Err(StoreError::Failed("too many open files".to_owned()))
            } else {
                store.append(append).await
            }
        })
    });
    let (sick, well) = (desk_over(broken), desk_over(memory.clone()));
    let running = sick.start(asked()).await.expect("it starts");
    let id = running.id;
    assert_eq!(sick.stranded().await, Ok(Vec::new()), "it runs");
    assert!(running.outcome().await.is_err());
    assert_eq!(sick.stranded().await, Ok(vec![id]));
    assert_eq!(
        sick.abandoned(10).await,
        Ok(Vec::new()),
        "a living process has claimed it"
    );
    sick.give_up(id, "no model").await.expect("given up");
    assert_eq!(
        sick.given_up(&[id])
            .await
            .expect("reasons")
            .get(&id)
            .map(String::as_str),
        Some("no model")
    );
    assert_eq!(
        (sick.stranded().await, sick.abandoned(10).await),
        (Ok(Vec::new()), Ok(vec![id])),
        "anybody may take it"
    );
    let running = well.adopt(id).await.expect("it goes on");
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Consensus
    );
    assert!(
        well.given_up(&[id]).await.expect("reasons").is_empty(),
        "what was said is over"
    );
}

#[tokio::test(start_paused = true)]
async fn what_begins_while_a_process_leaves_is_recorded_and_asks_nobody() {
    for looks in 1..LOOKS {
        let memory = MemoryStore::new();
        let desk = desk(&memory);
        drop(hang_up(looks, desk.start(asked_with_approval())).await);
        assert_eq!(
            desk.leave_all(Duration::from_secs(60)).await,
            0,
            "after {looks} looks"
        );
        let sessions = memory.sessions(&Filter::default()).await.expect("sessions");
        let nobody_runs = memory.abandoned(10).await.expect("claims").len();
        assert_eq!(
            (sessions.len(), nobody_runs, desk.live()),
            (1, 1, 0),
            "after {looks} looks"
        );
        let late = desk.start(asked()).await.expect("it is recorded");
        assert_eq!(
            late.outcome().await.err(),
            Some(DeskError::Halted(Stop::Paused))
        );
        let kinds: Vec<String> = desk
            .records(sessions[0].id)
            .await
            .expect("a journal")
            .iter()
            .map(|r| r.kind.to_string())
            .collect();
        assert!(
            looks > STEPS || !kinds.iter().any(|kind| kind == "turn.completed"),
            "after {looks} looks: {kinds:?}"
        );
        assert_eq!(memory.abandoned(10).await.expect("claims").len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_person_is_told_of_survives_a_power_cut() {
    let memory = MemoryStore::new();
    let seen: Arc<Mutex<Vec<(String, Durability)>>> = Arc::default();
    let told = seen.clone();
    let heard = Interposed::new(memory.clone(), move |store, append| {
        let kinds = append
            .records
            .iter()
            .map(|record| (record.kind.to_string(), append.durability));
        told.lock().expect("no panic").extend(kinds);
        Box::pin(async move { store.append(append).await })
    });
    let desk = desk_over(heard);
    let running = desk.start(asked_with_approval()).await.expect("it starts");
    let id = running.id;
    desk.pause(id).expect("it runs");
    drop(running.outcome().await);
    desk.resume(id).await.expect("it goes on");
    desk.cancel(id, "boss", "").await.expect("it is heard");
    let origin = desk.run(asked()).await.expect("it ends").0;
    let fork = Fork {
        at: "end".to_owned(),
        initiated_by: "anna".to_owned(),
        ..Fork::default()
    };
    desk.fork(origin, fork).await.expect("it begins");
    let acknowledged = ["debate.started", "debate.resumed", "human.cancelled"];
    let seen: Vec<_> = seen
        .lock()
        .expect("no panic")
        .iter()
        .filter(|(kind, _)| acknowledged.contains(&kind.as_str()))
        .cloned()
        .collect();
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(
        seen.iter()
            .all(|(_, durability)| *durability == Durability::Power),
        "{seen:?}"
    );
}
