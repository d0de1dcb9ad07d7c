//! Leaving in the middle: a debate whose time is over while its journal is being written, and a watcher whose run is gone.

use crate::kernel::{Only, case};
use rebut_engine::{
    DebateId, Desk, DeskOptions, Start,
    event::Limits,
    memory::MemoryStore,
    outcome::Ending,
    projection::Tables,
    record::Record,
    seal::Checkpoint,
    store::{Append, Filter, Session, Store, StoreError},
};
use rebut_testkit::{clock::SimulatedClock, crash::Fuse};
use std::{sync::Arc, time::Duration};

/// Longer than anything here takes: under simulated time a hang ends in an instant.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// A store that has written a reply long before it says so.
struct SlowToSay(MemoryStore);

#[async_trait::async_trait]
impl Store for SlowToSay {
    async fn append(&self, append: Append) -> Result<(), StoreError> {
        let reply = append.records.iter().any(|record| &*record.kind == "turn.completed");
        self.0.append(append).await?;
        if reply {
            tokio::time::sleep(Duration::from_secs(2)).await; // tidy: this is the disk, in simulated time
        }
        Ok(())
    }

    async fn load(&self, debate: DebateId, after: u64) -> Result<Vec<Record>, StoreError> {
        self.0.load(debate, after).await
    }

    async fn checkpoints(&self, debate: DebateId) -> Result<Vec<Checkpoint>, StoreError> {
        self.0.checkpoints(debate).await
    }

    async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError> {
        self.0.sessions(filter).await
    }

    async fn tables(&self, debate: DebateId) -> Result<Tables, StoreError> {
        self.0.tables(debate).await
    }

    async fn redact(&self, tombstone: Record, append: Append) -> Result<(), StoreError> {
        self.0.redact(tombstone, append).await
    }

    async fn remove(&self, debate: DebateId) -> Result<(), StoreError> {
        self.0.remove(debate).await
    }

    async fn runner(&self, debate: DebateId) -> Result<Option<String>, StoreError> {
        self.0.runner(debate).await
    }

    async fn changed_elsewhere(&self) -> Result<Vec<DebateId>, StoreError> {
        self.0.changed_elsewhere().await
    }
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
    let options = DeskOptions { clock: Arc::new(SimulatedClock::new()), ..DeskOptions::default() };
    Desk::with_options(store, Arc::new(Only(case("unanimous").model())), options)
}

#[tokio::test(start_paused = true)]
async fn a_debate_whose_time_is_over_while_a_reply_is_written_is_stopped_and_keeps_the_reply() {
    let memory = MemoryStore::new();
    let desk = desk(Arc::new(SlowToSay(memory.clone())));
    let limits = Limits { debate_seconds: 1, ..Limits::default() };
    let running = desk.start(Start { limits: Some(limits), ..case("unanimous").start }).await.expect("it starts");
    let id = running.id;
    let seen = tokio::time::timeout(FOR_EVER, watched(&desk, id)).await.expect("the watcher is told of the end");
    assert_eq!(running.outcome().await.expect("it ends").outcome, Ending::Stopped);
    assert_eq!(seen.last().map(String::as_str), Some("debate.completed"));
    assert_eq!(seen.iter().filter(|kind| *kind == "turn.completed").count(), 1, "the reply that was being written: {seen:?}");

    let again = self::desk(Arc::new(memory));
    let running = again.resume_with(id, rebut_engine::More { debate_seconds: Some(0), ..Default::default() }).await.expect("it resumes");
    assert_eq!(running.outcome().await.expect("it ends").outcome, Ending::Consensus);
    let spent = again.view(id).await.expect("a view").spent();
    assert_eq!(spent.possibly_paid_twice.len(), 2, "only the two that never were recorded are asked again");
}

#[tokio::test(start_paused = true)]
async fn a_watcher_of_a_run_that_broke_sees_the_rest_and_then_the_end() {
    for (at, written) in (1..20).flat_map(|at| [(at, false), (at, true)]) {
        let memory = MemoryStore::new();
        let desk = desk(Arc::new(Fuse::new(memory.clone(), at, written)));
        let Ok(running) = desk.start(case("contested").start).await else { continue };
        let seen = tokio::time::timeout(FOR_EVER, watched(&desk, running.id)).await;
        let seen = seen.unwrap_or_else(|_| panic!("the watcher waits for ever after a crash at append {at}, written: {written}"));
        assert_eq!(seen.len(), memory.load(running.id, 0).await.expect("readable").len(), "crash at append {at}, written: {written}");
    }
}
