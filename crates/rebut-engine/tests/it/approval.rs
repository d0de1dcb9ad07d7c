//! A result that a person approves before it counts, whatever the format, and whatever is done to
//! get around that.

use crate::kernel::{Only, case, cut, decision};
use rebut_engine::{
    DebateId, Desk, DeskOptions, Fork, More, PausedGates, Running, Start,
    budget::Caps,
    error::{DeskError, Stop, TooLate},
    event::{Event, GateOpened, Limits},
    memory_store::MemoryStore,
    outcome::{Ending, Outcome},
    record::{Hash, Place, Record},
    store::{Append, Store},
};
use rebut_testkit::clock::SimulatedClock;
use std::{sync::Arc, time::Duration};

/// How long the results here wait, in seconds.
const WAITS: u64 = 1800;

fn desk() -> Desk {
    desk_over(
        &Arc::new(MemoryStore::new()),
        &Arc::new(SimulatedClock::new()),
    )
}

fn desk_over(store: &Arc<MemoryStore>, clock: &Arc<SimulatedClock>) -> Desk {
    let options = DeskOptions {
        clock: clock.clone(),
        ..DeskOptions::default()
    };
    Desk::with_options(
        store.clone(),
        Arc::new(Only(case("unanimous").model())),
        options,
    )
}

pub fn start() -> Start {
    Start {
        limits: Some(Limits {
            approval_seconds: WAITS,
            ..Limits::default()
        }),
        ..case("unanimous").start
    }
}

/// A debate that waits at its gate, and what the gate shows.
pub async fn at_gate(desk: &Desk) -> (Running, DebateId, GateOpened) {
    let running = desk.start(start()).await.expect("it starts");
    let id = running.id;
    (running, id, open_gate(desk, id).await)
}

pub async fn open_gate(desk: &Desk, id: DebateId) -> GateOpened {
    let mut watch = desk.watch(id, 0).await.expect("a watch");
    while desk.view(id).await.expect("a view").open_gate.is_none() {
        watch.next().await.expect("readable").expect("more");
    }
    desk.view(id)
        .await
        .expect("a view")
        .open_gate
        .expect("it waits")
}

/// The same, paused.
pub async fn paused_at_gate(desk: &Desk) -> (DebateId, GateOpened) {
    let (running, id, gate) = at_gate(desk).await;
    desk.pause(id).expect("it runs");
    assert_eq!(
        running.outcome().await,
        Err(DeskError::Halted(Stop::Paused))
    );
    (id, gate)
}

pub async fn kinds(desk: &Desk, id: DebateId, prefix: &str) -> Vec<String> {
    let records = desk.records(id).await.expect("a journal");
    records
        .iter()
        .filter(|record| record.kind.starts_with(prefix))
        .map(|record| record.kind.to_string())
        .collect()
}

fn approval(seconds: u64) -> More {
    More {
        approval_seconds: Some(seconds),
        ..More::default()
    }
}

fn timed_out(debate: DebateId) -> DeskError {
    let reason = "nobody decided in time".to_owned();
    let decided = rebut_engine::event::GateDecided {
        reason,
        ..decision("result", false, "timeout")
    };
    DeskError::TooLate {
        debate,
        what: TooLate::Decided(Box::new(decided)),
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_counts_when_somebody_approves_it_in_time() {
    for (decided, expected) in [
        (Some(true), Ending::Consensus),
        (Some(false), Ending::Rejected),
        (None, Ending::Rejected),
    ] {
        let desk = desk();
        let (running, id, gate) = at_gate(&desk).await;
        assert!(
            gate.summary.contains("3 of 3"),
            "what is to be approved is shown: {}",
            gate.summary
        );
        if let Some(approved) = decided {
            desk.decide(id, decision("result", approved, "boss"), Some(gate.content))
                .await
                .expect("decided");
        }
        let outcome = running.outcome().await.expect("it ends");
        assert_eq!(outcome.outcome, expected, "{decided:?}");
        let pending: Outcome =
            serde_json::from_value(gate.pending.expect("what is pending")).expect("an outcome");
        assert_eq!(
            pending == *outcome,
            decided == Some(true),
            "what was approved is what counts, word for word"
        );
        assert_eq!(
            desk.view(id).await.expect("a view").open_gate,
            None,
            "nothing waits after the end"
        );
        assert!(
            desk.replay(id).await.expect("it replays").identical,
            "{decided:?}"
        );
        for approved in [true, false] {
            let late = desk
                .decide(id, decision("result", approved, "rival"), None)
                .await;
            assert!(
                matches!(
                    late,
                    Err(DeskError::TooLate {
                        what: TooLate::Decided(_),
                        ..
                    })
                ),
                "{late:?}"
            );
        }
    }
}

/// A desk for a case, and the case with its result to be approved.
fn asking(name: &str, store: &Arc<MemoryStore>) -> (Desk, Start) {
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        ..DeskOptions::default()
    };
    let desk = Desk::with_options(store.clone(), Arc::new(Only(case(name).model())), options);
    (
        desk,
        Start {
            limits: start().limits,
            ..case(name).start
        },
    )
}

#[tokio::test(start_paused = true)]
async fn what_is_no_result_waits_for_nobody() {
    let (desk, start) = asking("everybody-times-out", &Arc::new(MemoryStore::new()));
    let (id, outcome) = desk.run(start).await.expect("it ends");
    assert!(!outcome.outcome.is_result(), "{outcome:?}");
    assert_eq!(kinds(&desk, id, "gate.").await, [""; 0]);
}

/// That a panel does not agree is something others use, too.
#[tokio::test(start_paused = true)]
async fn a_contested_result_counts_when_somebody_approves_it() {
    for (decided, expected) in [
        (Some(true), Ending::Contested),
        (Some(false), Ending::Rejected),
        (None, Ending::Rejected),
    ] {
        let (desk, start) = asking("contested", &Arc::new(MemoryStore::new()));
        let running = desk.start(start).await.expect("it starts");
        let id = running.id;
        let gate = open_gate(&desk, id).await;
        let early = desk.answer(id, "A", "", "boss").await;
        assert!(
            matches!(&early, Err(DeskError::WrongState(why)) if why.contains("has not ended")),
            "{early:?}"
        );
        if let Some(approved) = decided {
            desk.decide(id, decision("result", approved, "boss"), Some(gate.content))
                .await
                .expect("decided");
        }
        assert_eq!(
            running.outcome().await.expect("it ends").outcome,
            expected,
            "{decided:?}"
        );
        let answered = desk.answer(id, "A", "", "boss").await;
        assert_eq!(
            answered.is_ok(),
            expected == Ending::Contested,
            "{decided:?}: {answered:?}"
        );
        assert!(
            desk.replay(id).await.expect("it replays").identical,
            "{decided:?}"
        );
    }
}

/// Two debates with the same summary show different things; one that is gone on with shows the
/// same.
#[tokio::test(start_paused = true)]
async fn a_decision_holds_for_one_result_of_one_debate() {
    let desk = desk();
    let (id, gate) = paused_at_gate(&desk).await;
    let (_, other, shown_there) = at_gate(&desk).await;
    assert_eq!(gate.summary, shown_there.summary);
    let elsewhere = desk
        .decide(other, decision("result", true, "boss"), Some(gate.content))
        .await;
    assert!(
        matches!(
            elsewhere,
            Err(DeskError::TooLate {
                what: TooLate::ShowsOther { .. },
                ..
            })
        ),
        "{elsewhere:?}"
    );
    let running = desk.resume(id).await.expect("it resumes");
    desk.decide(id, decision("result", true, "boss"), Some(gate.content))
        .await
        .expect("the same is shown");
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Consensus
    );
    assert_eq!(
        kinds(&desk, id, "gate.").await,
        ["gate.opened", "gate.decided"],
        "it was opened once"
    );
}

#[tokio::test(start_paused = true)]
async fn a_resume_gives_more_time_and_takes_nothing_back() {
    let desk = desk();
    let (id, gate) = paused_at_gate(&desk).await;
    for less in [0, 60, WAITS - 1] {
        let refused = desk
            .resume_with(id, approval(less))
            .await
            .map(|running| running.id);
        assert!(
            matches!(&refused, Err(DeskError::BadRequest(why)) if why.contains("1800")),
            "{less}: {refused:?}"
        );
    }
    let running = desk
        .resume_with(id, approval(2 * WAITS))
        .await
        .expect("more is fine");
    let longer = loop {
        let open = open_gate(&desk, id).await;
        if open.until != gate.until {
            break open;
        }
        tokio::task::yield_now().await;
    };
    let until = |gate: &GateOpened| gate.until.parse::<jiff::Timestamp>().expect("a time");
    assert_eq!(
        until(&longer).duration_since(until(&gate)).as_secs(),
        WAITS.cast_signed()
    );
    assert_eq!(
        (longer.content, longer.seconds),
        (gate.content, Some(2 * WAITS)),
        "only the time is another"
    );
    tokio::time::advance(Duration::from_secs(WAITS + 60)).await;
    desk.decide(id, decision("result", true, "boss"), Some(gate.content))
        .await
        .expect("in time, now");
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Consensus
    );
    assert!(desk.replay(id).await.expect("it replays").identical);
}

#[tokio::test(start_paused = true)]
async fn a_debate_that_met_a_limit_or_is_forked_still_asks() {
    let desk = desk();
    let limits = Limits {
        caps: Caps {
            calls: Some(2),
            ..Caps::default()
        },
        approval_seconds: WAITS,
        ..Limits::default()
    };
    let (id, stopped) = desk
        .run(Start {
            limits: Some(limits),
            ..start()
        })
        .await
        .expect("it ends");
    assert_eq!(stopped.outcome, Ending::Stopped);
    let more = |approval_seconds| More {
        caps: Caps {
            calls: Some(9),
            ..Caps::default()
        },
        approval_seconds,
        ..More::default()
    };
    assert!(
        matches!(
            desk.resume_with(id, more(Some(0))).await,
            Err(DeskError::BadRequest(_))
        ),
        "its gate cannot be taken away"
    );
    let running = desk.resume_with(id, more(None)).await.expect("it resumes");
    open_gate(&desk, id).await;
    desk.decide(id, decision("result", false, "boss"), None)
        .await
        .expect("decided");
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Rejected
    );
    let fork = |more| Fork {
        at: "end".to_owned(),
        more,
        initiated_by: "somebody".to_owned(),
        ..Fork::default()
    };
    assert!(
        matches!(
            desk.fork(id, fork(approval(0))).await,
            Err(DeskError::BadRequest(_))
        ),
        "nor that of its fork"
    );
    for (asked, seconds) in [(More::default(), WAITS), (approval(60), 60)] {
        let running = desk.fork(id, fork(asked)).await.expect("it forks");
        let forked = running.id;
        assert_eq!(
            open_gate(&desk, forked).await.seconds,
            Some(seconds),
            "a fork of what was rejected asks again"
        );
        desk.decide(forked, decision("result", true, "boss"), None)
            .await
            .expect("decided");
        assert_eq!(
            running.outcome().await.expect("it ends").outcome,
            Ending::Consensus
        );
    }
}

/// Wherever the debate is, who comes after the time is shown the timer's decision, which is on
/// record then.
#[tokio::test(start_paused = true)]
async fn nobody_decides_after_the_time() {
    let (store, clock) = (
        Arc::new(MemoryStore::new()),
        Arc::new(SimulatedClock::new()),
    );
    let desks = [desk_over(&store, &clock), desk_over(&store, &clock)];
    for there in &desks {
        let (id, _) = paused_at_gate(&desks[0]).await;
        tokio::time::advance(Duration::from_secs(WAITS)).await;
        for approved in [true, false] {
            assert_eq!(
                there
                    .decide(id, decision("result", approved, "boss"), None)
                    .await,
                Err(timed_out(id))
            );
        }
        assert_eq!(
            kinds(there, id, "gate.").await,
            ["gate.opened", "gate.decided"]
        );
        let outcome = there
            .resume_with(id, approval(9 * WAITS))
            .await
            .expect("it resumes")
            .outcome()
            .await
            .expect("it ends");
        assert_eq!(
            outcome.summary, "gate result rejected by timeout: nobody decided in time",
            "more time comes too late"
        );
    }
    let (id, _) = paused_at_gate(&desks[0]).await;
    tokio::time::advance(Duration::from_secs(WAITS)).await;
    let outcome = desks[1]
        .resume_with(id, approval(9 * WAITS))
        .await
        .expect("it resumes")
        .outcome()
        .await
        .expect("it ends");
    assert_eq!(
        outcome.outcome,
        Ending::Rejected,
        "the time was over before more was given"
    );
}

/// No run waits at the gate of a paused debate: whoever looks after debates closes it, once, and
/// nobody's word is written over.
#[tokio::test(start_paused = true)]
async fn the_time_of_a_paused_debate_is_over_without_anybody_asking() {
    let (store, clock) = (
        Arc::new(MemoryStore::new()),
        Arc::new(SimulatedClock::new()),
    );
    let (desk, other) = (desk_over(&store, &clock), desk_over(&store, &clock));
    let mut known = [PausedGates::default(), PausedGates::default()];
    let (forgotten, _) = paused_at_gate(&desk).await;
    let (decided, _) = paused_at_gate(&desk).await;
    let (goes_on, _) = paused_at_gate(&desk).await;
    let look = async |known: &mut [PausedGates; 2]| {
        for (desk, known) in [&desk, &other].into_iter().zip(known) {
            assert_eq!(desk.close_overdue(known).await, Ok(Vec::new()));
        }
    };
    look(&mut known).await;
    assert_eq!(
        kinds(&desk, forgotten, "gate.").await,
        ["gate.opened"],
        "there is still time"
    );
    other
        .decide(decided, decision("result", true, "boss"), None)
        .await
        .expect("in time");
    let running = desk
        .resume_with(goes_on, approval(2 * WAITS))
        .await
        .expect("it resumes");
    while open_gate(&desk, goes_on).await.seconds != Some(2 * WAITS) {
        tokio::task::yield_now().await;
    }
    tokio::time::advance(Duration::from_secs(WAITS)).await;
    assert_eq!(
        desk.view(forgotten).await.expect("a view").open_gate,
        None,
        "nobody is waited for any more"
    );
    look(&mut known).await;
    look(&mut known).await;
    for (id, by) in [(forgotten, "timeout"), (decided, "boss")] {
        assert_eq!(
            kinds(&desk, id, "gate.").await,
            ["gate.opened", "gate.decided"],
            "{by}"
        );
        let outcome = desk
            .resume(id)
            .await
            .expect("it resumes")
            .outcome()
            .await
            .expect("it ends");
        assert_eq!(
            outcome.outcome,
            if by == "boss" {
                Ending::Consensus
            } else {
                Ending::Rejected
            },
            "{}",
            outcome.summary
        );
    }
    desk.decide(goes_on, decision("result", true, "boss"), None)
        .await
        .expect("it was given more time");
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Consensus
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_decides_after_the_end_or_in_the_name_of_the_timer() {
    let desk = desk();
    let (running, id, _) = at_gate(&desk).await;
    for by in ["timeout", "auto"] {
        assert!(
            matches!(
                desk.decide(id, decision("result", true, by), None).await,
                Err(DeskError::BadRequest(_))
            ),
            "{by}"
        );
    }
    desk.cancel(id, "boss", "enough").await.expect("cancelled");
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Cancelled
    );
    assert_eq!(desk.view(id).await.expect("a view").open_gate, None);
    for gate in ["result", "never opened"] {
        let late = desk.decide(id, decision(gate, true, "boss"), None).await;
        assert_eq!(
            late,
            Err(DeskError::TooLate {
                debate: id,
                what: TooLate::Ended(Ending::Cancelled)
            }),
            "{gate}"
        );
    }
    assert!(
        desk.replay(id)
            .await
            .is_err_and(|why| why.to_string().contains("waits for nobody")),
        "a replay does not wait either"
    );
}

#[tokio::test(start_paused = true)]
async fn times_that_make_no_sense_are_refused_with_the_most_there_is() {
    let desk = desk();
    let rows = [
        (
            Limits {
                approval_seconds: 2_592_001,
                ..Limits::default()
            },
            "at most 2592000 seconds",
        ),
        (
            Limits {
                approval_seconds: 1 << 63,
                ..Limits::default()
            },
            "at most 2592000 seconds",
        ),
        (
            Limits {
                debate_seconds: 31_536_001,
                ..Limits::default()
            },
            "at most 31536000 seconds",
        ),
        (
            Limits {
                debate_seconds: u64::MAX,
                ..Limits::default()
            },
            "at most 31536000 seconds",
        ),
        (
            Limits {
                turn_seconds: u64::MAX,
                ..Limits::default()
            },
            "at most 86400 seconds",
        ),
    ];
    let (id, _) = paused_at_gate(&desk).await;
    for (limits, expected) in rows {
        let refused = desk
            .start(Start {
                limits: Some(limits),
                ..start()
            })
            .await
            .map(|running| running.id);
        assert!(
            matches!(&refused, Err(DeskError::BadRequest(why)) if why.contains(expected)),
            "{limits:?}: {refused:?}"
        );
        let more = More {
            debate_seconds: Some(limits.debate_seconds),
            ..approval(limits.approval_seconds.max(WAITS))
        };
        if limits.turn_seconds == Limits::default().turn_seconds {
            assert!(
                matches!(
                    desk.resume_with(id, more).await,
                    Err(DeskError::BadRequest(_))
                ),
                "{limits:?}"
            );
        }
    }
    let most = Limits {
        approval_seconds: 2_592_000,
        debate_seconds: 31_536_000,
        ..Limits::default()
    };
    let (_, outcome) = desk
        .run(Start {
            limits: Some(most),
            ..start()
        })
        .await
        .expect("it ends");
    assert_eq!(outcome.outcome, Ending::Rejected, "thirty days pass");
}

/// A journal with other events behind some of another's.
async fn rewritten(
    store: &MemoryStore,
    id: DebateId,
    keep: usize,
    then: &[Event],
) -> Arc<MemoryStore> {
    let part = cut(store, id, keep).await;
    let mut records = part.load(id, 0).await.expect("readable");
    for event in then {
        let last = records.last().expect("some are kept");
        records.push(Record::new(
            id,
            last.seq + 1,
            last.hash,
            last.ts.clone(),
            Place::default(),
            event,
        ));
    }
    let mut append = Append::new(id, keep as u64, records[keep - 1].hash);
    append.records = records.split_off(keep);
    part.append(append).await.expect("writable");
    part
}

/// What was approved is not what a run has to show: nothing passes as approved. What nobody decided
/// yet is shown anew.
#[tokio::test(start_paused = true)]
async fn what_was_shown_before_is_not_approved_for_something_else() {
    let (store, clock) = (
        Arc::new(MemoryStore::new()),
        Arc::new(SimulatedClock::new()),
    );
    let (id, gate) = paused_at_gate(&desk_over(&store, &clock)).await;
    let before = store.load(id, 0).await.expect("a journal").len() - 2;
    let other = Event::GateOpened(Box::new(GateOpened {
        content: Hash::of(b"something else"),
        ..gate.clone()
    }));
    let approved = [
        other.clone(),
        Event::GateDecided(Box::new(decision("result", true, "boss"))),
    ];
    let desk = desk_over(&rewritten(&store, id, before, &approved).await, &clock);
    let outcome = desk
        .resume(id)
        .await
        .expect("it resumes")
        .outcome()
        .await
        .expect("it ends");
    assert!(
        outcome.outcome == Ending::Failed && outcome.summary.contains("what was approved"),
        "{}",
        outcome.summary
    );

    let desk = desk_over(&rewritten(&store, id, before, &[other]).await, &clock);
    let running = desk.resume(id).await.expect("it resumes");
    while open_gate(&desk, id).await.content != gate.content {
        tokio::task::yield_now().await;
    }
    let stale = desk
        .decide(
            id,
            decision("result", true, "boss"),
            Some(Hash::of(b"something else")),
        )
        .await;
    assert!(
        matches!(
            stale,
            Err(DeskError::TooLate {
                what: TooLate::ShowsOther { .. },
                ..
            })
        ),
        "{stale:?}"
    );
    desk.decide(id, decision("result", true, "boss"), Some(gate.content))
        .await
        .expect("decided");
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Consensus
    );
}
