//! Lessons found by meaning: what is near is given without a word in common, each text is asked for
//! once, and whatever goes wrong falls back and says so.

use crate::lessons::{desk, keep, proved_for};
use rebut_engine::{
    embedding::{Embedded, Embedder, KeptVectors},
    lessons::{Bounds, Found, FoundBy, Near},
    memory_store::MemoryStore,
    model::{Fault, FaultKind, Usage},
};
use std::{sync::Mutex, time::Duration};

const TASK: &str = "Write a function that parses a date written in one of several formats";
/// Shares no telling word with the task.
const NEAR: (&str, &str) = ("calendars and timestamps", "Be strict about leap years");
const FAR: (&str, &str) = (
    "graph traversal",
    "Mark nodes as visited before you enqueue them",
);
/// Shares words, and means something else.
const WORDY: (&str, &str) = ("formats of a date palm", "Several formats parse badly");

/// What it does when it is asked.
#[derive(Clone, Copy)]
enum Does {
    Answer,
    Fail(FaultKind),
    Hang,
    OneTooFew,
    Uneven,
    NotANumber,
    Zero,
    Longer,
}

struct Toy {
    does: Does,
    asked: Mutex<Vec<Vec<String>>>,
}

impl Toy {
    fn new(does: Does) -> Self {
        Self {
            does,
            asked: Mutex::default(),
        }
    }

    fn asked(&self) -> Vec<Vec<String>> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

/// Times point one way, graphs another, trees a third.
fn vector(text: &str) -> Vec<f32> {
    match text {
        text if text.contains("palm") => vec![0.1, 0.0, 3.0],
        text if text.contains("graph") => vec![0.1, 1.0, 0.0],
        text if text.contains("calendars") => vec![0.9, 0.0, 0.3],
        _ => vec![2.0, 0.0, 0.0],
    }
}

#[async_trait::async_trait]
impl Embedder for Toy {
    fn name(&self) -> &str {
        "toy:v"
    }

    async fn embed(&self, texts: &[String], _: Duration) -> Result<Embedded, Fault> {
        self.asked
            .lock()
            .expect("nobody panicked")
            .push(texts.to_vec());
        let mut vectors: Vec<Vec<f32>> = texts.iter().map(|text| vector(text)).collect();
        let last = vectors.last_mut().expect("somebody asks for something");
        match self.does {
            Does::Answer => {}
            Does::Fail(kind) => return Err(Fault::new(kind, "toy: no \u{1b}[31msuch luck")),
            Does::Hang => std::future::pending().await,
            Does::OneTooFew => drop(vectors.pop()),
            Does::Uneven => last.push(1.0),
            Does::NotANumber => last[0] = f32::NAN,
            Does::Zero => last.fill(0.0),
            Does::Longer => vectors.iter_mut().for_each(|vector| vector.push(1.0)),
        }
        let usage = Usage {
            input: 10 * texts.len() as u64,
            cost_usd: Some(0.5),
            ..Usage::default()
        };
        Ok(Embedded {
            vectors,
            usage: Some(usage),
        })
    }

    fn wire(&self, texts: &[String]) -> String {
        texts.join("\n")
    }
}

async fn store() -> MemoryStore {
    let store = MemoryStore::new();
    for ((applies, text), day) in [
        (FAR, "2025-12-01"),
        (NEAR, "2025-12-02"),
        (WORDY, "2025-12-03"),
    ] {
        keep(&store, day, &proved_for(applies, text), |_| {}).await;
    }
    store
}

async fn find(store: &MemoryStore, toy: &Toy, kept: &mut KeptVectors, at_least: f64) -> Found {
    let mut near = Near {
        embedder: toy,
        kept,
        at_least,
    };
    desk(store)
        .lessons_for(TASK, &Bounds::of("me"), Some(&mut near))
        .await
        .expect("memory can be read")
}

fn texts(found: &Found) -> Vec<&str> {
    found
        .lessons
        .iter()
        .map(|lesson| lesson.text.as_str())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_near_is_given_without_a_word_in_common_and_asked_for_once() {
    let (store, toy, mut kept) = (
        store().await,
        Toy::new(Does::Answer),
        KeptVectors::default(),
    );
    let found = find(&store, &toy, &mut kept, 0.4).await;
    assert_eq!(
        texts(&found),
        [NEAR.1],
        "the far one is not given, nor the one that only shares words"
    );
    let only = &found.lessons[0];
    assert!(
        only.found_by == FoundBy::Embedding && (only.score - 0.9 / 0.9_f64.hypot(0.3)).abs() < 1e-6,
        "{only:?}"
    );
    let search = &found.search;
    assert_eq!(
        (
            search.by,
            search.compared,
            search.calls,
            search.tokens,
            search.cost_usd
        ),
        (FoundBy::Embedding, 3, 1, Some(40), Some(0.5))
    );
    assert_eq!(
        (search.model.as_deref(), &search.fell_back),
        (Some("toy:v"), &None)
    );
    assert_eq!(
        (toy.asked()[0].len(), toy.asked()[0][0].as_str()),
        (4, TASK),
        "one request holds the task and every lesson"
    );

    let again = find(&store, &toy, &mut kept, 0.4).await;
    assert_eq!(
        (texts(&again), toy.asked()[1].clone()),
        (vec![NEAR.1], vec![TASK.to_owned()]),
        "only the task is asked for again"
    );
    assert_eq!(
        texts(&find(&store, &toy, &mut kept, -1.0).await),
        [NEAR.1, FAR.1, WORDY.1],
        "best first"
    );
    assert_eq!(
        texts(&find(&store, &toy, &mut kept, 0.99).await),
        [""; 0],
        "near is not near enough"
    );
    let graphs = desk(&store)
        .lessons_for(TASK, &Bounds::of("me"), None)
        .await
        .expect("memory can be read");
    assert_eq!(
        (texts(&graphs), graphs.lessons[0].found_by),
        (vec![WORDY.1], FoundBy::Bm25),
        "words would have chosen otherwise"
    );

    // With the debates their vectors go.
    for session in rebut_engine::store::Store::sessions(&store, &Default::default())
        .await
        .expect("a list")
    {
        rebut_engine::store::Store::remove(&store, session.id)
            .await
            .expect("removed");
    }
    let calls = toy.asked().len();
    let nothing = find(&store, &toy, &mut kept, 0.4).await;
    assert_eq!(
        (nothing.lessons.len(), kept.len(), toy.asked().len()),
        (0, 0, calls),
        "nothing to compare with, nothing sent"
    );
}

#[tokio::test(start_paused = true)]
async fn every_failure_falls_back_to_words_and_says_so() {
    let rows = [
        (Does::Fail(FaultKind::Auth), "no such luck"),
        (
            Does::Fail(FaultKind::Server),
            "provider failed: toy: no such luck",
        ),
        (Does::Hang, "no answer within 30 s"),
        (Does::OneTooFew, "3 vectors came for 4 texts"),
        (Does::Uneven, "different lengths"),
        (Does::NotANumber, "no number"),
        (Does::Zero, "zero"),
    ];
    for (does, why) in rows {
        let (store, mut kept) = (store().await, KeptVectors::default());
        let found = find(&store, &Toy::new(does), &mut kept, 0.4).await;
        assert_eq!(
            (texts(&found), found.lessons[0].found_by, found.search.by),
            (vec![WORDY.1], FoundBy::Bm25, FoundBy::Bm25),
            "{why}"
        );
        let said = found.search.fell_back.as_deref().unwrap_or_default();
        assert!(said.contains(why) && !said.contains('\u{1b}'), "{said}");
        assert!(
            found
                .search
                .words()
                .is_some_and(|words| words.contains("by words, not by meaning")
                    && words.contains("1 call to toy:v"))
        );
        assert!(kept.is_empty(), "{why}: nothing of it is kept");
    }
    // A model that changed its vectors behind its name.
    let (store, mut kept) = (store().await, KeptVectors::default());
    find(&store, &Toy::new(Does::Answer), &mut kept, 0.4).await;
    let changed = Toy::new(Does::Longer);
    let found = find(&store, &changed, &mut kept, 0.4).await;
    assert!(
        found
            .search
            .fell_back
            .as_deref()
            .is_some_and(|why| why.contains("another length"))
            && kept.is_empty(),
        "{found:?}"
    );
    assert_eq!(
        find(&store, &changed, &mut kept, 0.4)
            .await
            .search
            .fell_back,
        None,
        "the next time all are asked for anew"
    );
}

#[tokio::test(start_paused = true)]
async fn many_lessons_go_in_few_requests_and_a_long_task_is_cut() {
    let store = MemoryStore::new();
    let many: Vec<_> = (0..300)
        .flat_map(|number| proved_for("calendars", &format!("Rule {number}")))
        .collect();
    keep(&store, "2025-12-01", &many, |_| {}).await;
    let (toy, mut kept) = (Toy::new(Does::Answer), KeptVectors::default());
    let mut near = Near {
        embedder: &toy,
        kept: &mut kept,
        at_least: 0.4,
    };
    let long = "x".repeat(50_000);
    let found = desk(&store)
        .lessons_for(&long, &Bounds::of("me"), Some(&mut near))
        .await
        .expect("memory can be read");
    assert_eq!(
        (
            found.lessons.len(),
            found.search.compared,
            found.search.calls,
            found.search.tokens
        ),
        (3, 300, 2, Some(3010))
    );
    assert_eq!(
        toy.asked().iter().map(Vec::len).collect::<Vec<_>>(),
        [256, 45]
    );
    assert_eq!((toy.asked()[0][0].len(), kept.len()), (4000, 300));
    assert_eq!(found.search.cost_usd, Some(1.0));
}
