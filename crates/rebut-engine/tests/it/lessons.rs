//! Wisdom: a lesson that runs proved reaches a similar task, and nothing else reaches any.

use rebut_engine::{
    DebateId, Desk, DeskOptions,
    event::Event,
    facts::LessonRecorded,
    lessons::{Bounds, Given, Lesson},
    memory_store::MemoryStore,
    record::{Hash, Place, Record},
    run_code::RunCompleted,
    sandbox::{End, Ran, Refused, TestRun, TestVerdict},
    store::{Append, Session, Status, Store},
};
use rebut_testkit::{
    cases::Case,
    clock::SimulatedClock,
    conformance::{append_of, session_of},
};
use std::{path::Path, sync::Arc};

const SIMILAR: &str = "Write a function that parses a date written in one of several formats";
const UNRELATED: &str = "Write a function that reverses a linked list and returns it";
const APPLIES: &str = "parsing a date that comes in several formats";
const LESSON: &str = "Try each format in order and refuse what fits none";

fn lesson(text: &str, verified: bool) -> Event {
    lesson_for(APPLIES, text, verified)
}

fn lesson_for(applies_to: &str, text: &str, verified: bool) -> Event {
    Event::LessonRecorded(Arc::new(LessonRecorded {
        text: text.to_owned(),
        applies_to: applies_to.to_owned(),
        verified,
        shared_process: false,
    }))
}

fn run(verdict: Option<TestVerdict>) -> Event {
    let ran = Ran::plain(
        End::Exited(0),
        verdict.map(|verdict| TestRun::new("one", verdict)),
    );
    Event::RunCompleted(Arc::new(RunCompleted {
        run: "proposal 1/ada".into(),
        ran: Some(ran),
        refused: None,
    }))
}

/// A run that failed, one that passed, and then a lesson.
fn proved(text: &str) -> Vec<Event> {
    proved_for(APPLIES, text)
}

/// The same for something else.
pub(crate) fn proved_for(applies_to: &str, text: &str) -> Vec<Event> {
    vec![
        run(Some(TestVerdict::Fail)),
        run(Some(TestVerdict::Pass)),
        lesson_for(applies_to, text, true),
    ]
}

/// Keeps a debate of that day, with these events, and gives its id.
pub(crate) async fn keep(
    store: &MemoryStore,
    day: &str,
    events: &[Event],
    change: impl Fn(&mut Session),
) -> DebateId {
    let debate = DebateId::new();
    let at = format!("{day}T10:00:00.000Z");
    let mut records: Vec<Record> = Vec::new();
    for (event, seq) in events.iter().zip(1..) {
        let prev = records.last().map_or(Hash::default(), |last| last.hash);
        records.push(Record::new(
            debate,
            seq,
            prev,
            at.as_str().into(),
            Place::default(),
            event,
        ));
    }
    let mut session = Session {
        updated_at: at.clone(),
        ..session_of(debate, &at, Status::Completed)
    };
    session.initiated_by = "me".to_owned();
    session.rehearsal = false;
    change(&mut session);
    store
        .append(Append {
            session: Some(Box::new(session)),
            ..append_of(debate, &records)
        })
        .await
        .expect("append");
    debate
}

/// A desk on the first of January 2026 whose models nobody asks.
pub(crate) fn desk(store: &MemoryStore) -> Desk {
    let nobody =
        Case::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/decide/unanimous"))
            .model();
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        ..DeskOptions::default()
    };
    Desk::with_options(
        Arc::new(store.clone()),
        Arc::new(crate::kernel::Only(nobody)),
        options,
    )
}

/// What a task is given on the first of January 2026.
async fn given(store: &MemoryStore, task: &str, bounds: &Bounds) -> Vec<Lesson> {
    let desk = desk(store);
    desk.lessons_for(task, bounds, None)
        .await
        .expect("memory can be read")
        .lessons
}

#[tokio::test(start_paused = true)]
async fn a_proved_lesson_reaches_a_similar_task_and_no_other() {
    let store = MemoryStore::new();
    let mine = Bounds::of("me");
    assert_eq!(
        given(&store, SIMILAR, &mine).await,
        [],
        "nobody has learned anything yet"
    );
    let debate = keep(&store, "2025-12-20", &proved(LESSON), |_| {}).await;
    let found = given(&store, SIMILAR, &mine).await;
    let [only] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (only.debate_id, only.text.as_str(), only.applies_to.as_str()),
        (debate, LESSON, APPLIES)
    );
    assert!(only.score > 0.0);
    for task in [UNRELATED, "", "Write a function"] {
        assert_eq!(given(&store, task, &mine).await, [], "{task:?}");
    }
    store.remove(debate).await.expect("removed");
    assert_eq!(
        given(&store, SIMILAR, &mine).await,
        [],
        "with its debate the lesson is gone"
    );
}

/// The run that proves a lesson shared the process of the code: whoever is given it is told. One
/// run that was held apart suffices.
#[tokio::test(start_paused = true)]
async fn a_lesson_says_that_its_proof_could_be_forged() {
    let passed = |shared_process: bool| {
        let ran = Ran {
            shared_process,
            ..Ran::plain(End::Exited(0), [TestRun::new("one", TestVerdict::Pass)])
        };
        Event::RunCompleted(Arc::new(RunCompleted {
            run: "proposal 2/ada".into(),
            ran: Some(ran),
            refused: None,
        }))
    };
    let failed = || run(Some(TestVerdict::Fail));
    let drawn = |shared_process| {
        let (text, applies_to) = (LESSON.to_owned(), APPLIES.to_owned());
        Event::LessonRecorded(Arc::new(LessonRecorded {
            text,
            applies_to,
            verified: true,
            shared_process,
        }))
    };
    let rows = [
        (vec![failed(), passed(true), drawn(false)], true),
        (
            vec![failed(), passed(true), passed(false), drawn(false)],
            false,
        ),
        (vec![failed(), passed(false), drawn(true)], true),
        (
            vec![passed(false), failed(), passed(true), drawn(false)],
            true,
        ),
        (vec![failed(), passed(false), drawn(false)], false),
    ];
    for (events, shared) in rows {
        let store = MemoryStore::new();
        keep(&store, "2025-12-20", &events, |_| {}).await;
        let found = given(&store, SIMILAR, &Bounds::of("me")).await;
        let told = Given::Found(found.first().expect("it is given").clone()).told();
        assert_eq!(
            told.ends_with(" (shown by tests in the same process: could be forged)"),
            shared,
            "{told}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_proved_too_old_or_of_somebody_else_is_never_given() {
    use TestVerdict::{Fail, Pass};
    let refused = RunCompleted {
        run: "proposal 1/ada".into(),
        ran: None,
        refused: Some(Refused {
            reason: "none".to_owned(),
            fix: "one".to_owned(),
        }),
    };
    let refused = Event::RunCompleted(Arc::new(refused));
    let unclear = Event::LessonRecorded(Arc::new(LessonRecorded {
        text: LESSON.to_owned(),
        applies_to: " \u{202e} ".to_owned(),
        verified: true,
        shared_process: false,
    }));
    type Change = fn(&mut Session);
    let rows: &[(&str, &str, Vec<Event>, Change)] = &[
        (
            "not verified",
            "2025-12-20",
            vec![run(Some(Fail)), run(Some(Pass)), lesson(LESSON, false)],
            |_| {},
        ),
        (
            "only said to be verified",
            "2025-12-20",
            vec![lesson(LESSON, true)],
            |_| {},
        ),
        (
            "nothing failed before",
            "2025-12-20",
            vec![run(Some(Pass)), lesson(LESSON, true)],
            |_| {},
        ),
        (
            "nothing passed after",
            "2025-12-20",
            vec![run(Some(Pass)), run(Some(Fail)), lesson(LESSON, true)],
            |_| {},
        ),
        (
            "passed too late",
            "2025-12-20",
            vec![run(Some(Fail)), lesson(LESSON, true), run(Some(Pass))],
            |_| {},
        ),
        (
            "no test is no pass",
            "2025-12-20",
            vec![run(Some(Fail)), run(None), lesson(LESSON, true)],
            |_| {},
        ),
        (
            "refused is no failure",
            "2025-12-20",
            vec![refused, run(Some(Pass)), lesson(LESSON, true)],
            |_| {},
        ),
        (
            "does not say when",
            "2025-12-20",
            vec![run(Some(Fail)), run(Some(Pass)), unclear],
            |_| {},
        ),
        ("too old", "2025-06-01", proved(LESSON), |_| {}),
        ("of unknown age", "someday", proved(LESSON), |_| {}),
        ("somebody else's", "2025-12-20", proved(LESSON), |session| {
            session.initiated_by = "you".to_owned()
        }),
        ("rehearsed", "2025-12-20", proved(LESSON), |session| {
            session.rehearsal = true
        }),
    ];
    for (why, day, events, change) in rows {
        let store = MemoryStore::new();
        keep(&store, day, events, change).await;
        assert_eq!(given(&store, SIMILAR, &Bounds::of("me")).await, [], "{why}");
    }
    let store = MemoryStore::new();
    let debate = keep(&store, "2025-12-20", &proved(LESSON), |_| {}).await;
    let records = store.load(debate, 0).await.expect("memory can be read");
    let report = rebut_testkit::conformance::more_records(debate, &records, 1, "report");
    store
        .redact(records[2].tombstone(), append_of(debate, &report))
        .await
        .expect("redacted");
    assert_eq!(
        given(&store, SIMILAR, &Bounds::of("me")).await,
        [],
        "taken out"
    );
}

#[tokio::test(start_paused = true)]
async fn bounds_keep_the_newest_and_each_lesson_comes_once() {
    let store = MemoryStore::new();
    for (day, text) in [
        ("2025-12-01", "Oldest date rule"),
        ("2025-12-02", LESSON),
        ("2025-12-03", LESSON),
        ("2025-12-04", "Newest date rule"),
    ] {
        keep(&store, day, &proved(text), |_| {}).await;
    }
    let texts = |found: Vec<Lesson>| {
        let mut texts: Vec<String> = found.into_iter().map(|lesson| lesson.text).collect();
        texts.sort();
        texts
    };
    let wide = Bounds::of("me");
    assert_eq!(
        texts(given(&store, SIMILAR, &wide).await),
        ["Newest date rule", "Oldest date rule", LESSON]
    );
    assert_eq!(
        texts(
            given(
                &store,
                SIMILAR,
                &Bounds {
                    debates: 2,
                    ..wide.clone()
                }
            )
            .await
        ),
        ["Newest date rule", LESSON]
    );
    assert_eq!(
        texts(
            given(
                &store,
                SIMILAR,
                &Bounds {
                    lessons: 1,
                    ..wide.clone()
                }
            )
            .await
        ),
        ["Newest date rule"]
    );
    assert_eq!(
        given(
            &store,
            SIMILAR,
            &Bounds {
                most: 1,
                ..wide.clone()
            }
        )
        .await
        .len(),
        1
    );
    assert_eq!(
        given(&store, SIMILAR, &Bounds { most: 0, ..wide }).await,
        []
    );
    let hostile = "Dates: \u{1b}[31mdo as\nI say\u{202e} ".repeat(100);
    keep(&store, "2025-12-05", &proved(&hostile), |_| {}).await;
    let found = given(
        &store,
        SIMILAR,
        &Bounds {
            most: 9,
            ..Bounds::of("me")
        },
    )
    .await;
    assert!(
        found
            .iter()
            .any(|lesson| lesson.text.starts_with("Dates: do as I say"))
    );
    assert!(found.iter().all(|lesson| lesson.text.chars().count() <= 400
        && !lesson.text.contains(['\u{1b}', '\n', '\u{202e}'])));
}
