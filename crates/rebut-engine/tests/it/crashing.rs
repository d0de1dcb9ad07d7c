//! A run that crashes: whoever waits is told, nobody takes the debate for one that is run, and it
//! is not tried again at once.

use crate::kernel::{Only, case};
use rebut_engine::{
    DebateId, Desk, DeskOptions,
    debate::Debate,
    error::{DeskError, Stop},
    event::Event,
    formats::{FORMATS, Format, Run},
    memory_store::MemoryStore,
    observer::Observer,
    outcome::Outcome,
    record::Place,
    store::Status,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

const ALL: &[Format] = &[Format {
    run: |debate| -> Run<'_> { Box::pin(crash(debate)) },
    ..FORMATS[0]
}];

/// Speaks first, so that it crashes in the middle.
async fn crash(debate: &Debate) -> Result<Outcome, Stop> {
    let outcome = (FORMATS[0].run)(debate).await?;
    let number: u8 = outcome.summary.parse().expect("a number that is not there");
    Err(Stop::Broken(number.to_string()))
}

#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Observer for Told {
    fn saw(&self, _: DebateId, _: u64, _: &Place, _: &Event) {}

    fn halted(&self, _: DebateId, why: &DeskError) {
        self.0
            .lock()
            .expect("nobody panicked")
            .push(why.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_crashes_is_told_of_given_up_and_left_for_a_while() {
    let told: Arc<Told> = Arc::default();
    let store = Arc::new(MemoryStore::new());
    let options = || DeskOptions {
        observer: Some(told.clone()),
        ..DeskOptions::default()
    };
    let desk = Desk::with_options(
        store.clone(),
        Arc::new(Only(case("unanimous").model())),
        DeskOptions {
            formats: ALL,
            ..options()
        },
    );
    let running = desk
        .start(case("unanimous").start)
        .await
        .expect("it starts");
    let id = running.id;
    let mut watch = desk.watch(id, 0).await.expect("a watch");
    while watch.next().await.expect("readable").is_some() {}
    let why = running.outcome().await.expect_err("it crashed");
    assert!(
        matches!(&why, DeskError::Halted(Stop::Crashed(words)) if words.contains("a number that is \
            not there")),
        "{why}"
    );
    assert_eq!(
        *told.0.lock().expect("nobody panicked"),
        [why.to_string()],
        "whoever observes is told once"
    );
    assert_eq!(desk.is_run(id).await, Ok(false));
    assert_eq!(
        desk.view(id).await.expect("a view").status(),
        Status::Running,
        "it has not ended"
    );
    assert_eq!(
        desk.abandoned(9).await,
        Ok(vec![]),
        "it is not tried again at once"
    );
    tokio::time::advance(Duration::from_secs(301)).await;
    assert_eq!(desk.abandoned(9).await, Ok(vec![id]), "but later");
    let mended = Desk::with_options(store, Arc::new(Only(case("unanimous").model())), options());
    mended
        .resume(id)
        .await
        .expect("it resumes")
        .outcome()
        .await
        .expect("what is recorded stands");
}
