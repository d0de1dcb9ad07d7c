//! A result that a person approves before it counts, whatever the format.

use crate::kernel::{Only, case, decision};
use rebut_engine::{Desk, DeskOptions, Start, event::Limits, memory::MemoryStore, outcome::Ending};
use rebut_testkit::clock::SimulatedClock;
use std::sync::Arc;

fn desk() -> Desk {
    let options = DeskOptions { clock: Arc::new(SimulatedClock::new()), ..DeskOptions::default() };
    Desk::with_options(Arc::new(MemoryStore::new()), Arc::new(Only(case("unanimous").model())), options)
}

fn start() -> Start {
    Start { limits: Some(Limits { approval_seconds: 1800, ..Limits::default() }), ..case("unanimous").start }
}

#[tokio::test(start_paused = true)]
async fn a_result_counts_when_somebody_approves_it_in_time() {
    for (decided, expected) in [(Some(true), Ending::Consensus), (Some(false), Ending::Rejected), (None, Ending::Rejected)] {
        let desk = desk();
        let running = desk.start(start()).await.expect("it starts");
        let id = running.id;
        let mut watch = desk.watch(id, 0).await.expect("a watch");
        while watch.next().await.expect("readable").expect("more").kind != "gate.opened" {}
        let view = desk.view(id).await.expect("a view");
        let gate = view.open_gate.expect("it waits");
        assert!(view.outcome.is_none() && gate.summary.contains("3 of 3"), "what is to be approved is shown: {}", gate.summary);
        if let Some(approved) = decided {
            desk.decide(id, decision("result", approved, "boss"), Some(gate.content)).await.expect("decided");
        }
        assert_eq!(running.outcome().await.expect("it ends").outcome, expected, "{decided:?}");
        assert!(desk.replay(id).await.expect("it replays").identical, "{decided:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_result_waits_for_nobody() {
    let options = DeskOptions { clock: Arc::new(SimulatedClock::new()), ..DeskOptions::default() };
    let desk = Desk::with_options(Arc::new(MemoryStore::new()), Arc::new(Only(case("contested").model())), options);
    let (id, outcome) = desk.run(Start { limits: start().limits, ..case("contested").start }).await.expect("it ends");
    assert_eq!(outcome.outcome, Ending::Contested);
    assert!(desk.records(id).await.expect("a journal").iter().all(|record| record.kind != "gate.opened"));
}
