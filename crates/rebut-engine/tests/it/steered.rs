//! A person's word that is on record reaches the run, however it comes there: by news, by what an
//! append of the run itself meets, before, during or after a resumption, and though whoever was to
//! carry it out dies.

use crate::kernel::{Only, Overheard, case, cut};
use rebut_engine::{
    DebateId, Desk, DeskOptions,
    debate::Debate,
    error::{DeskError, Stop},
    event::{Event, HumanCancelled, HumanNoted, HumanPaused, RoundCompleted},
    formats::{FORMATS, Format, Run},
    memory_store::MemoryStore,
    model::{Answer, Fault, Model, Request},
    outcome::{Ending, Outcome},
    record::{Hash, Place, Record},
    store::{Append, Pick, Store, StoreError},
};
use rebut_testkit::{clock::SimulatedClock, interposed::Interposed};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

/// Longer than anything here takes: under simulated time a hang ends in an instant.
const FOR_EVER: Duration = Duration::from_secs(86_400);

fn cancel() -> Event {
    Event::HumanCancelled(HumanCancelled {
        by: "anna".to_owned(),
        reason: "enough".to_owned(),
    })
}

fn pause() -> Event {
    Event::HumanPaused(HumanPaused {
        by: "anna".to_owned(),
    })
}

fn note() -> Event {
    Event::HumanNoted(HumanNoted {
        text: "x".to_owned(),
        by: "ben".to_owned(),
    })
}

/// Another process appends to a debate. The number of its event.
async fn say(store: &dyn Store, id: DebateId, event: &Event) -> u64 {
    let head = store
        .pick(
            id,
            &Pick {
                most: Some(0),
                ..Pick::default()
            },
        )
        .await
        .expect("readable")
        .head;
    let (seq, hash) = head.map_or((0, Hash::default()), |head| (head.seq, head.hash));
    let record = Record::new(
        id,
        seq + 1,
        hash,
        "2026-01-01T00:00:00.000Z".into(),
        Place::default(),
        event,
    );
    store
        .append(Append {
            records: vec![record],
            ..Append::new(id, seq, hash)
        })
        .await
        .expect("memory can be written");
    seq + 1
}

/// A model that counts what is asked of it after a word was said.
struct Counted {
    inner: Arc<dyn Model>,
    said: Arc<AtomicBool>,
    asked: AtomicUsize,
}

impl Counted {
    fn new(said: &Arc<AtomicBool>) -> Arc<Self> {
        Arc::new(Self {
            inner: case("contested").model(),
            said: said.clone(),
            asked: AtomicUsize::new(0),
        })
    }
}

#[async_trait::async_trait]
impl Model for Counted {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        if self.said.load(Ordering::SeqCst) {
            self.asked.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.ask(request).await
    }
}

fn desk(store: impl Store, model: Arc<dyn Model>) -> Desk {
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        ..DeskOptions::default()
    };
    Desk::with_options(Arc::new(store), Arc::new(Only(model)), options)
}

/// What was said before an append, and what that append came to.
#[derive(Default)]
struct Met {
    said: Arc<AtomicBool>,
    /// The number of the word, and of the last event of the append that met it.
    at: Mutex<(u64, u64)>,
}

/// A store in which somebody else says something right before an append: the first that `is_it`
/// picks.
fn meets(
    memory: &MemoryStore,
    event: Event,
    is_it: impl Fn(&Append) -> bool + Send + Sync + 'static,
    met: &Arc<Met>,
) -> Interposed {
    let met = met.clone();
    Interposed::new(memory.clone(), move |store, append| {
        let is_now = is_it(&append) && !met.said.swap(true, Ordering::SeqCst);
        let (met, event) = (met.clone(), event.clone());
        Box::pin(async move {
            if is_now {
                let at = say(&*store, append.debate, &event).await;
                *met.at.lock().expect("no panic") = (at, at + append.records.len() as u64);
            }
            store.append(append).await
        })
    })
}

/// Picks the append of that number, from 1.
fn number(at: usize) -> impl Fn(&Append) -> bool + Send + Sync + 'static {
    let count = AtomicUsize::new(0);
    move |_| count.fetch_add(1, Ordering::SeqCst) + 1 == at
}

/// Picks appends of such an event.
fn of(kind: &'static str) -> impl Fn(&Append) -> bool + Send + Sync + 'static {
    move |append| append.records.iter().any(|record| record.kind == kind)
}

async fn ended(running: rebut_engine::Running, what: &str) -> Result<Ending, DeskError> {
    let ended = tokio::time::timeout(FOR_EVER, running.outcome())
        .await
        .unwrap_or_else(|_| panic!("{what}: it waits for ever"));
    ended.map(|outcome| outcome.outcome)
}

const PAUSED: Result<Ending, DeskError> = Err(DeskError::Halted(Stop::Paused));

/// No news comes here: all the run learns it learns from its own appends.
#[tokio::test(start_paused = true)]
async fn a_cancel_that_any_append_of_the_run_meets_ends_the_debate_and_nobody_is_asked_again() {
    let mut met_by = 0;
    for at in 2.. {
        let (memory, met) = (MemoryStore::new(), Arc::new(Met::default()));
        let model = Counted::new(&met.said);
        let desk = desk(meets(&memory, cancel(), number(at), &met), model.clone());
        let running = desk
            .start(case("contested").start)
            .await
            .expect("it starts");
        let (id, what) = (running.id, format!("before append {at}"));
        let ending = ended(running, &what).await;
        if !met.said.load(Ordering::SeqCst) {
            break;
        }
        met_by += 1;
        assert_eq!(
            (ending, model.asked.load(Ordering::SeqCst)),
            (Ok(Ending::Cancelled), 0),
            "{what}"
        );
        let view = desk.view(id).await.expect("a view");
        let summary = view.outcome.expect("an end").summary;
        assert!(
            summary.contains("anna") && summary.contains("enough"),
            "{what}: {summary}"
        );
        assert_eq!(memory.runner(id).await, Ok(None), "{what}");
    }
    assert!(met_by > 8, "{met_by} appends");
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_an_append_of_the_run_meets_is_made_before_the_next_round() {
    let mut paused = 0;
    for at in 2.. {
        let (memory, met) = (MemoryStore::new(), Arc::new(Met::default()));
        let desk = desk(
            meets(&memory, pause(), number(at), &met),
            case("contested").model(),
        );
        let running = desk
            .start(case("contested").start)
            .await
            .expect("it starts");
        let (id, what) = (running.id, format!("before append {at}"));
        let ending = ended(running, &what).await;
        if !met.said.load(Ordering::SeqCst) {
            break;
        }
        let records = memory.load(id, 0).await.expect("a journal");
        let (_, last) = *met.at.lock().expect("no panic");
        let later = records
            .iter()
            .filter(|record| record.seq > last && record.kind == "turn.started")
            .count();
        assert_eq!(later, 0, "{what}: {ending:?}");
        if ending == PAUSED {
            paused += 1;
            let by = records
                .last()
                .and_then(|record| record.event().ok().flatten());
            assert!(
                matches!(by, Some(Event::DebatePaused(paused)) if paused.by.as_deref() == Some("anna")),
                "{what}"
            );
        } else {
            assert_eq!(ending, Ok(Ending::Contested), "{what}");
        }
    }
    assert!(paused > 3, "{paused} pauses");
}

/// A debate whose process died in its last round, in a store of its own.
async fn interrupted() -> (MemoryStore, DebateId) {
    interrupted_at(|records| {
        records
            .iter()
            .rposition(|record| record.kind == "turn.started")
    })
    .await
}

async fn interrupted_at(last: fn(&[Record]) -> Option<usize>) -> (MemoryStore, DebateId) {
    let whole = MemoryStore::new();
    let (id, _) = desk(whole.clone(), case("contested").model())
        .run(case("contested").start)
        .await
        .expect("it ends");
    let records = whole.load(id, 0).await.expect("a journal");
    let asked = last(&records).expect("such an event");
    ((*cut(&whole, id, asked + 1).await).clone(), id)
}

async fn go_on(desk: &Desk, id: DebateId, word: &str) -> rebut_engine::Running {
    if word == "nobody's" {
        desk.adopt(id).await
    } else {
        desk.resume(id).await
    }
    .expect("it goes on")
}

#[tokio::test(start_paused = true)]
async fn what_is_said_while_a_debate_is_taken_up_is_heard() {
    let rows = [
        ("nobody's", cancel(), Ok(Ending::Cancelled)),
        ("a person's", cancel(), Ok(Ending::Cancelled)),
        ("nobody's", pause(), PAUSED),
        // They say go on after it.
        ("a person's", pause(), Ok(Ending::Contested)),
        ("nobody's", note(), Ok(Ending::Contested)),
    ];
    for (word, event, ending) in rows {
        let what = format!("{} during a resumption at {word} word", event.kind());
        let (memory, id) = interrupted().await;
        let met = Arc::new(Met::default());
        let model = Counted::new(&met.said);
        let desk = desk(
            meets(&memory, event.clone(), of("debate.resumed"), &met),
            model.clone(),
        );
        let running = go_on(&desk, id, word).await;
        assert_eq!(ended(running, &what).await, ending, "{what}");
        let goes_on = ending == Ok(Ending::Contested);
        assert_eq!(model.asked.load(Ordering::SeqCst) > 0, goes_on, "{what}");
    }
}

/// Whoever takes a debate up to carry out a word may die before it has; the next one carries it
/// out.
#[tokio::test(start_paused = true)]
async fn a_word_outlives_whoever_was_to_carry_it_out() {
    // What was said, at whose word the debate goes on first, what cannot be written then, and how
    // it ends.
    let rows = [
        (
            cancel(),
            "nobody's",
            "debate.completed",
            Ok(Ending::Cancelled),
        ),
        (
            cancel(),
            "a person's",
            "debate.completed",
            Ok(Ending::Cancelled),
        ),
        (pause(), "nobody's", "debate.paused", PAUSED),
        (pause(), "a person's", "turn.started", Ok(Ending::Contested)),
    ];
    for (event, word, breaks, ending) in rows {
        let what = format!(
            "{}, then a death at {breaks} after {word} word",
            event.kind()
        );
        let (memory, id) = interrupted().await;
        say(&memory, id, &event).await;
        let dies = Interposed::new(memory.clone(), move |store, append| {
            let breaks = append.records.iter().any(|record| record.kind == breaks);
            Box::pin(async move {
                if breaks {
                    Err(StoreError::Failed("it dies".to_owned()))
                } else {
                    store.append(append).await
                }
            })
        });
        let first = desk(dies, case("contested").model());
        let died = ended(go_on(&first, id, word).await, &what).await;
        assert_eq!(
            died,
            Err(DeskError::Halted(Stop::Store(StoreError::Failed(
                "it dies".to_owned()
            )))),
            "{what}"
        );
        let model = Counted::new(&Arc::new(AtomicBool::new(true)));
        let second = desk(memory.clone(), model.clone());
        assert_eq!(
            ended(second.adopt(id).await.expect("it goes on"), &what).await,
            ending,
            "{what}"
        );
        assert_eq!(
            model.asked.load(Ordering::SeqCst) > 0,
            ending == Ok(Ending::Contested),
            "{what}"
        );
    }
}

/// A pause that a person undid by going on does not come back with the next news.
#[tokio::test(start_paused = true)]
async fn a_pause_that_a_person_undid_does_not_come_back() {
    let (memory, id) = interrupted_at(|records| {
        records
            .iter()
            .position(|record| record.kind == "turn.started")
    })
    .await;
    say(&memory, id, &pause()).await;
    let model = Arc::new(Overheard::holding(
        case("contested").model(),
        "recommend/risk",
    ));
    let news = Arc::new(Notify::new());
    let desk = desk(
        Interposed::counting(memory.clone()).hearing(news.clone()),
        model.clone(),
    );
    let running = desk.resume(id).await.expect("it goes on");
    model.asked().await;
    let mut watch = desk.watch(id, 0).await.expect("a watch").from_here();
    say(&memory, id, &note()).await;
    news.notify_one();
    // Whoever watches is told after the run is.
    let told = tokio::time::timeout(FOR_EVER, watch.next())
        .await
        .expect("news")
        .expect("readable")
        .expect("an event");
    assert_eq!(told.kind, "human.noted");
    model.release();
    assert_eq!(ended(running, "resumed").await, Ok(Ending::Contested));
}

static WAITS: Notify = Notify::const_new();
static GOES_ON: Notify = Notify::const_new();

/// Records a fact, which waits for the next append, and waits itself.
async fn noting(debate: &Debate) -> Result<Outcome, Stop> {
    let fact = RoundCompleted {
        step: "thinking".to_owned(),
        answered: Vec::new(),
        absent: Vec::new(),
    };
    debate
        .note(Place::default(), Event::RoundCompleted(fact))
        .await?;
    WAITS.notify_one();
    GOES_ON.notified().await;
    (FORMATS[0].run)(debate).await
}

const NOTING: &[Format] = &[Format {
    name: "decide",
    run: |debate| -> Run<'_> { Box::pin(noting(debate)) },
    ..FORMATS[0]
}];

/// What a run derived waits for some append. If that is a person's, and fails, it waits for the
/// next.
#[tokio::test(start_paused = true)]
async fn facts_of_the_run_do_not_go_with_a_note_that_cannot_be_written() {
    let memory = MemoryStore::new();
    let store = Interposed::new(memory.clone(), |store, append| {
        let is_note = append
            .records
            .iter()
            .any(|record| record.kind == "human.noted");
        Box::pin(async move {
            if is_note {
                Err(StoreError::Failed("broken".to_owned()))
            } else {
                store.append(append).await
            }
        })
    });
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        formats: NOTING,
        ..DeskOptions::default()
    };
    let desk = Desk::with_options(
        Arc::new(store),
        Arc::new(Only(case("contested").model())),
        options,
    );
    let running = desk
        .start(case("contested").start)
        .await
        .expect("it starts");
    let id = running.id;
    WAITS.notified().await;
    assert!(
        desk.note(id, "mind the rain", "ben").await.is_err(),
        "it is told"
    );
    GOES_ON.notify_one();
    assert_eq!(ended(running, "after a note").await, Ok(Ending::Contested));
    let is_fact =
        |record: &Record| record.kind == "round.completed" && record.data.contains("thinking");
    assert!(
        memory
            .load(id, 0)
            .await
            .expect("a journal")
            .iter()
            .any(is_fact),
        "the fact is on record"
    );
}

/// A claim is not given up under a run that has just begun.
#[tokio::test(start_paused = true)]
async fn a_debate_that_is_taken_up_while_it_is_given_up_keeps_its_claim() {
    let (memory, id) = interrupted().await;
    let (begun, goes_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tells, waits) = (begun.clone(), goes_on.clone());
    let store = Interposed::counting(memory.clone()).giving_up(move || {
        let (tells, waits) = (tells.clone(), waits.clone());
        Box::pin(async move {
            tells.notify_one();
            waits.notified().await;
        })
    });
    let model = Arc::new(Overheard::holding(case("contested").model(), "risk"));
    let desk = desk(store, model.clone());
    let giving_up = tokio::spawn({
        let desk = desk.clone();
        async move { desk.give_up(id, "no model").await }
    });
    begun.notified().await;
    let taking_up = tokio::spawn({
        let desk = desk.clone();
        async move { desk.adopt(id).await }
    });
    // As far as it comes by itself.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    goes_on.notify_one();
    assert_eq!(giving_up.await.expect("no panic"), Ok(()));
    let running = taking_up.await.expect("no panic").expect("it goes on");
    model.asked().await;
    assert!(
        memory.runner(id).await.expect("claims").is_some(),
        "it runs here, and nobody else may take it"
    );
    assert!(desk.give_up(id, "no model").await.is_err(), "it runs");
    model.release();
    assert_eq!(ended(running, "taken up").await, Ok(Ending::Contested));
}
