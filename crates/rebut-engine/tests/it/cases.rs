//! Every case folder gives what it promises, also when it is crashed at any point; and can be
//! replayed.

use rebut_engine::{formats::FORMATS, memory_store::MemoryStore};
use rebut_testkit::{cases::Case, crash};
use std::{path::Path, sync::Arc};

fn cases() -> Vec<Case> {
    let cases = Case::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases"));
    assert!(cases.len() >= 20, "the case folders are there");
    cases
}

#[tokio::test(start_paused = true)]
async fn cases_give_what_they_promise() {
    for case in cases() {
        let (_, ran) = case
            .run(Arc::new(MemoryStore::new()))
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        case.check(&ran);
    }
}

#[tokio::test(start_paused = true)]
async fn agents_are_told_what_the_snapshots_show() {
    let mut formats = std::collections::BTreeSet::new();
    for case in cases().into_iter().filter(Case::has_seen) {
        case.check_seen().await;
        formats.insert(case.start.format.clone());
    }
    let missing: Vec<&str> = FORMATS
        .iter()
        .map(|format| format.name)
        .filter(|name| !formats.contains(*name))
        .collect();
    assert!(
        missing.is_empty(),
        "no case of {missing:?} has a seen.md; make an empty one and run with REBUT_UPDATE_CASES=1"
    );
}

/// The cases of solve, or all others: they are long, and two tests run side by side.
fn cases_of_solve(wanted: bool) -> impl Iterator<Item = Case> {
    cases()
        .into_iter()
        .filter(move |case| (case.start.format == "solve") == wanted)
}

#[tokio::test(start_paused = true)]
async fn a_journal_cut_after_any_event_leads_to_the_same_end() {
    for case in cases_of_solve(false) {
        crash::cut_after_every_event(&case).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_journal_of_solve_cut_after_any_event_leads_to_the_same_end() {
    for case in cases_of_solve(true) {
        crash::cut_after_every_event(&case).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_append_leads_to_the_same_end() {
    for case in cases_of_solve(false) {
        crash::crash_at_every_append(&case).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_of_solve_at_any_append_leads_to_the_same_end() {
    for case in cases_of_solve(true) {
        crash::crash_at_every_append(&case).await;
    }
}

#[tokio::test(start_paused = true)]
async fn every_case_replays_byte_for_byte_without_its_model() {
    for case in cases() {
        let store = Arc::new(MemoryStore::new());
        let (id, ran) = case
            .run(store.clone())
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let model = case.model();
        let replayed = case
            .desk(store, model.clone())
            .replay(id)
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(replayed.transcript, ran.transcript, "{}", case.name);
        assert!(replayed.identical, "{}", case.name);
        assert_eq!(
            model.calls(),
            Vec::new(),
            "{}: a replay asks nobody",
            case.name
        );
    }
}
