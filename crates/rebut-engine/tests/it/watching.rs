//! Who is told of what is appended: watchers that came before the run did, and whoever observes every debate.

use crate::kernel::{Only, case, cut};
use rebut_engine::{DebateId, Desk, DeskOptions, event::Event, memory::MemoryStore, observing::Observer, record::Place, store::Store};
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
        self.0.lock().expect("no panic").push((debate, seq, event.kind()));
    }
}

fn desk(store: Arc<dyn Store>, observer: Arc<Notes>) -> Desk {
    let options = DeskOptions { observer: Some(observer), ..DeskOptions::default() };
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
        assert_eq!(watch.next().await.expect("readable").map(|record| record.seq), Some(seq));
    }
    let (told, running) = tokio::join!(tokio::time::timeout(FOR_EVER, watch.next()), desk.resume(id));
    assert_eq!(
        told.expect("it is told").expect("readable").map(|record| (record.seq, record.kind.to_string())),
        Some((5, "debate.resumed".to_owned()))
    );
    running.expect("it resumes").outcome().await.expect("it ends");
    let mut rest = Vec::new();
    while let Some(record) = tokio::time::timeout(FOR_EVER, watch.next()).await.expect("it is told").expect("readable") {
        rest.push(record.seq);
    }
    assert_eq!(rest, (6..=store.load(id, 0).await.expect("a journal").len() as u64).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn an_observer_is_told_of_every_event_once_and_in_order() {
    let (store, notes) = (Arc::new(MemoryStore::new()), Arc::new(Notes::default()));
    let desk = desk(store.clone(), notes.clone());
    let (id, _) = desk.run(case("contested").start).await.expect("it ends");
    desk.mark(id, "A", "", "me").await.expect("marked");
    let written = store.load(id, 0).await.expect("a journal");
    let told: Vec<_> = notes.0.lock().expect("no panic").iter().map(|(debate, seq, kind)| (*debate, *seq, (*kind).to_owned())).collect();
    assert_eq!(told, written.iter().map(|record| (id, record.seq, record.kind.to_string())).collect::<Vec<_>>());
}
