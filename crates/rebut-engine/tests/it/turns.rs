//! What a turn does when models fail, hang, are limited or spared: who is asked, how often, and
//! what is said about it.

use crate::kernel::case;
use rebut_engine::{
    DebateId, Desk, DeskOptions, More, Start,
    agent::Agent,
    budget::Caps,
    error::DeskError,
    event::{Event, Limits},
    memory_store::MemoryStore,
    model::{Allowance, Answer, Fault, FaultKind, Model, Models, Price, Request, Usage},
    outcome::{Ending, Outcome},
    record::Hash,
    store::{Append, Store},
};
use rebut_testkit::clock::SimulatedClock;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::Notify;

/// What a model does with its n-th request, of all turns together.
type Act = fn(usize) -> Does;

enum Does {
    Answer,
    Say(&'static str),
    Fail(FaultKind, &'static str, Option<u64>),
    Hang,
    AnswerAfter(u64),
}

/// Models by name: how they act, what they allow and cost, and whether they can be opened.
#[derive(Clone, Default)]
struct Stage {
    acts: HashMap<&'static str, (Act, Allowance)>,
    /// Names that cannot be opened, and why.
    closed: HashMap<&'static str, FaultKind>,
    seen: Arc<Mutex<Vec<String>>>,
    asked: Arc<Notify>,
}

struct Actor {
    name: String,
    act: Act,
    allowance: Allowance,
    seen: Arc<Mutex<Vec<String>>>,
    asked: Arc<Notify>,
}

const GOOD: &str = r#"{"option":"A","confidence":0.9,"summary":"Simple.","claims":["It is simple."],"flips_if":"it were not"}"#;

#[async_trait::async_trait]
impl Model for Actor {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let number = {
            let mut seen = self.seen.lock().expect("no panic");
            seen.push(format!("{} {}", self.name, request.turn));
            seen.iter()
                .filter(|call| call.starts_with(&self.name))
                .count()
                - 1
        };
        self.asked.notify_one();
        let usage = Usage {
            input: 10,
            output: 10,
            ..Usage::default()
        };
        let answer = Answer {
            text: GOOD.to_owned(),
            usage: Some(usage),
            ..Answer::default()
        };
        match (self.act)(number) {
            Does::Answer => Ok(answer),
            Does::Say(text) => Ok(Answer {
                text: text.to_owned(),
                ..answer
            }),
            Does::Fail(kind, why, retry_after_ms) => Err(Fault {
                retry_after_ms,
                ..Fault::new(kind, why)
            }),
            Does::Hang => std::future::pending().await,
            Does::AnswerAfter(seconds) => {
                tokio::time::sleep(Duration::from_secs(seconds)).await; // tidy: the model thinks, in simulated time
                Ok(answer)
            }
        }
    }

    fn allowance(&self) -> Allowance {
        self.allowance
    }

    fn price(&self) -> Option<Price> {
        Some(Price {
            input: 10.0,
            cached: None,
            output: 10.0,
        })
    }
}

impl Models for Stage {
    fn open(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        if let Some(kind) = self.closed.get(name) {
            return Err(Fault::new(*kind, format!("{name} cannot be had")));
        }
        let (act, allowance) = self.acts[name];
        Ok(Arc::new(Actor {
            name: name.to_owned(),
            act,
            allowance,
            seen: self.seen.clone(),
            asked: self.asked.clone(),
        }))
    }
}

impl Stage {
    fn with(mut self, name: &'static str, act: Act) -> Self {
        self.acts.insert(name, (act, Allowance::default()));
        self
    }

    fn allowing(mut self, name: &'static str, allowance: Allowance) -> Self {
        self.acts.get_mut(name).expect("a model").1 = allowance;
        self
    }

    fn desk(&self) -> Desk {
        let options = DeskOptions {
            clock: Arc::new(SimulatedClock::new()),
            ..DeskOptions::default()
        };
        Desk::with_options(
            Arc::new(MemoryStore::new()),
            Arc::new(self.clone()),
            options,
        )
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no panic").clone()
    }

    /// Runs three judges on `p:m`, with these fallbacks, and makes sure that the journal holds
    /// exactly the requests made and that it replays.
    async fn run(
        &self,
        desk: &Desk,
        fallbacks: &[&str],
        limits: Limits,
    ) -> (DebateId, Arc<Outcome>) {
        let before = self.seen().len();
        let (id, outcome) = desk.run(start(fallbacks, limits)).await.expect("it runs");
        let records = desk.records(id).await.expect("a journal");
        let attempts = records
            .iter()
            .filter(|record| &*record.kind == "turn.started")
            .count();
        assert_eq!(
            attempts,
            self.seen().len() - before,
            "the journal holds the requests that were made: {:?}",
            self.seen()
        );
        let replayed = desk.replay(id).await.expect("it replays");
        assert_eq!(replayed.outcome, *outcome);
        (id, outcome)
    }
}

fn start(fallbacks: &[&str], limits: Limits) -> Start {
    let mut start = case("unanimous").start;
    start.config["min_judges"] = 1.into();
    for agent in &mut start.agents {
        *agent = Agent {
            model: "p:m".into(),
            fallbacks: fallbacks.iter().map(|name| (*name).to_owned()).collect(),
            ..agent.clone()
        };
    }
    Start {
        limits: Some(limits),
        ..start
    }
}

fn limits(turn_seconds: u64, caps: Caps) -> Limits {
    Limits {
        turn_seconds,
        caps,
        ..Limits::default()
    }
}

fn reasons(outcome: &Outcome) -> Vec<(FaultKind, &str)> {
    outcome
        .degraded
        .iter()
        .map(|absence| (absence.reason, absence.detail.as_str()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_breaker_uses_up_neither_attempts_nor_calls() {
    let stage = Stage::default().with("p:m", |n| {
        if n < 6 {
            Does::Fail(FaultKind::Server, "no room", None)
        } else {
            Does::Answer
        }
    });
    // Each judge fails twice, which opens the breaker; then the server is well.
    let caps = Caps {
        calls: Some(9),
        ..Caps::default()
    };
    let (id, outcome) = stage.run(&stage.desk(), &[], limits(120, caps)).await;
    assert_eq!(
        (outcome.outcome, reasons(&outcome)),
        (Ending::Consensus, vec![]),
        "{} of {id}",
        outcome.summary
    );
    assert_eq!(stage.seen().len(), 9);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_told_is_not_taken_for_nothing() {
    // What the model does; calls of unknown use, and what is known of the cost; whether that is all
    // of it.
    let answered = 0.0002;
    let rows: [(Act, (u32, f64, bool)); 5] = [
        (|_| Does::Answer, (0, 3.0 * answered, true)),
        (
            |_| Does::Fail(FaultKind::BadRequest, "never looked at", None),
            (0, 0.0, true),
        ),
        (
            |_| Does::Fail(FaultKind::Incomplete, "cut", None),
            (6, 0.0, false),
        ),
        (
            |n| {
                if n == 0 {
                    Does::Fail(FaultKind::Incomplete, "cut", None)
                } else {
                    Does::Answer
                }
            },
            (1, 3.0 * answered, false),
        ),
        (
            |n| if n == 0 { Does::Hang } else { Does::Answer },
            (1, 2.0 * answered, false),
        ),
    ];
    for (act, (unknown, known, is_all)) in rows {
        for caps in [
            Caps::default(),
            Caps {
                cost_usd: Some(100.0),
                ..Caps::default()
            },
        ] {
            let stage = Stage::default().with("p:m", act);
            let desk = stage.desk();
            // What hangs is cut by the time of the whole debate.
            let (id, _) = stage
                .run(
                    &desk,
                    &[],
                    Limits {
                        debate_seconds: 60,
                        ..limits(120, caps)
                    },
                )
                .await;
            let spent = desk.view(id).await.expect("a view").spent();
            let about = (caps, &spent);
            assert_eq!(
                (spent.unknown_calls, spent.cost_usd.is_some()),
                (unknown, is_all),
                "{about:?}"
            );
            assert!(
                (spent.known_cost_usd - known).abs() < 1e-9
                    && spent
                        .cost_usd
                        .is_none_or(|cost| cost == spent.known_cost_usd),
                "{about:?}"
            );
            let more = spent
                .charged
                .map(|charged| charged.cost_usd > spent.known_cost_usd);
            assert_eq!(
                more,
                caps.cost_usd.map(|_| !is_all),
                "what is held for it counts against a cap: {about:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_answered_instead_is_in_every_end() {
    let ends = [
        (Caps::default(), Ending::NoQuorum),
        (
            Caps {
                calls: Some(5),
                ..Caps::default()
            },
            Ending::Stopped,
        ),
    ];
    for (caps, ending) in ends {
        let stage = Stage::default()
            .with("p:m", |_| {
                Does::Fail(FaultKind::NotFound, "no such model", None)
            })
            .with("q:m", |n| {
                if n == 0 {
                    Does::Answer
                } else {
                    Does::Fail(FaultKind::NotFound, "no such model", None)
                }
            });
        let desk = stage.desk();
        let mut start = start(&["q:m"], limits(30, caps));
        start.config["min_judges"] = 2.into();
        let (id, outcome) = desk.run(start).await.expect("it runs");
        assert_eq!(
            (
                outcome.outcome,
                outcome.result.is_null(),
                outcome.substituted.len()
            ),
            (ending, true, 1),
            "{outcome:?}"
        );
        assert_eq!(
            (&*outcome.substituted[0].from, &*outcome.substituted[0].to),
            ("p:m", "q:m")
        );
        assert!(desk.replay(id).await.expect("it replays").identical);
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_answers_for_one_who_declined_or_could_not_be_understood() {
    for (kind, calls) in [(FaultKind::Refused, 3), (FaultKind::InvalidReply, 6)] {
        let act: Act = if kind == FaultKind::Refused {
            |_| Does::Fail(FaultKind::Refused, "I will not", None)
        } else {
            |_| Does::Say("Perhaps A?")
        };
        let stage = Stage::default()
            .with("p:m", act)
            .with("q:m", |_| Does::Answer);
        let (_, outcome) = stage
            .run(&stage.desk(), &["q:m"], limits(30, Caps::default()))
            .await;
        assert_eq!(
            reasons(&outcome)
                .iter()
                .map(|(reason, _)| *reason)
                .collect::<Vec<_>>(),
            [kind; 3]
        );
        assert_eq!(
            (stage.seen().len(), outcome.substituted.len()),
            (calls, 0),
            "one clarification each at most: {:?}",
            stage.seen()
        );
        assert!(
            stage.seen().iter().all(|call| call.starts_with("p:m")),
            "{:?}",
            stage.seen()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_spared_says_why_and_promises_nothing() {
    let stage = Stage::default().with("p:m", |_| {
        Does::Fail(FaultKind::Network, "cannot connect to the moon", None)
    });
    let desk = stage.desk();
    let (_, first) = stage.run(&desk, &[], limits(10, Caps::default())).await;
    assert_eq!(stage.seen().len(), 6);
    let (id, second) = stage.run(&desk, &[], limits(10, Caps::default())).await;
    assert_eq!(
        (second.outcome, stage.seen().len()),
        (Ending::NoQuorum, 6),
        "the breaker is open: nobody is asked"
    );
    for (_, why) in reasons(&first).iter().chain(&reasons(&second)) {
        assert!(
            why.contains("cannot connect to the moon") && !why.contains("asked again"),
            "{why}"
        );
    }
    assert_eq!(reasons(&first).len() + reasons(&second).len(), 6);
    assert_eq!(desk.view(id).await.expect("a view").spent().calls, 0);
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_asked_in_time_is_rate_limited_at_once_and_another_answers() {
    let rarely = Allowance {
        requests_per_minute: Some(1),
        ..Allowance::default()
    };
    let pace = Stage::default()
        .with("p:m", |_| Does::Answer)
        .allowing("p:m", rarely)
        .with("q:m", |_| Does::Answer);
    let one_at_a_time = Allowance {
        concurrency: Some(1),
        ..Allowance::default()
    };
    let asked_to_wait = Stage::default()
        .with("p:m", |n| {
            if n == 0 {
                Does::Fail(FaultKind::RateLimited, "slow down", Some(1_000_000))
            } else {
                Does::Answer
            }
        })
        .allowing("p:m", one_at_a_time)
        .with("q:m", |_| Does::Answer);
    for (stage, answered) in [(pace, 1), (asked_to_wait, 0)] {
        let caps = Caps {
            cost_usd: Some(1.0),
            ..Caps::default()
        };
        let (_, outcome) = stage.run(&stage.desk(), &["q:m"], limits(30, caps)).await;
        assert_eq!(
            (outcome.outcome, outcome.substituted.len()),
            (Ending::Consensus, 3 - answered),
            "{:?}",
            outcome.degraded
        );
        assert_eq!(
            stage
                .seen()
                .iter()
                .filter(|call| call.starts_with("p:m"))
                .count(),
            1,
            "{:?}",
            stage.seen()
        );
        let stage = Stage {
            seen: Arc::default(),
            ..stage
        };
        let (_, alone) = stage.run(&stage.desk(), &[], limits(30, caps)).await;
        let kinds: Vec<FaultKind> = reasons(&alone).iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            vec![FaultKind::RateLimited; 3 - answered],
            "{:?}",
            alone.degraded
        );
        assert!(
            reasons(&alone)
                .iter()
                .all(|(_, why)| why.contains("s are left for it")),
            "{:?}",
            alone.degraded
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_leaves_time_for_those_behind_it() {
    let stage = Stage::default()
        .with("p:m", |_| Does::Hang)
        .with("q:m", |_| Does::Hang)
        .with("r:m", |_| Does::AnswerAfter(9));
    let (id, outcome) = stage
        .run(&stage.desk(), &["q:m", "r:m"], limits(30, Caps::default()))
        .await;
    assert_eq!(
        (outcome.outcome, outcome.substituted.len()),
        (Ending::Consensus, 3),
        "{id}: {:?}",
        outcome.degraded
    );
    let by = |name: &str| {
        stage
            .seen()
            .iter()
            .filter(|call| call.starts_with(name))
            .count()
    };
    assert_eq!((by("p:m"), by("q:m"), by("r:m")), (3, 3, 3));
    let alone = Stage::default().with("p:m", |_| Does::AnswerAfter(29));
    let (_, outcome) = alone
        .run(&alone.desk(), &[], limits(30, Caps::default()))
        .await;
    assert_eq!(reasons(&outcome), vec![], "who is alone has all the time");
}

#[tokio::test(start_paused = true)]
async fn a_cap_does_not_stop_a_debate_while_what_is_held_may_come_back() {
    let stage = Stage::default().with("p:m", |_| Does::AnswerAfter(5));
    let desk = stage.desk();
    let wide = Caps {
        cost_usd: Some(100.0),
        ..Caps::default()
    };
    let (id, _) = stage.run(&desk, &[], limits(30, wide)).await;
    let held = desk
        .records(id)
        .await
        .expect("a journal")
        .iter()
        .find_map(|record| match record.event() {
            Ok(Some(Event::TurnStarted(started))) => started.held,
            _ => None,
        });
    let one = held.expect("something is held").cost_usd;
    for (calls, expected) in [(1.5, Ending::Consensus), (0.9, Ending::Stopped)] {
        let caps = Caps {
            cost_usd: Some(one * calls),
            ..Caps::default()
        };
        let (_, outcome) = stage.run(&desk, &[], limits(30, caps)).await;
        assert_eq!(
            outcome.outcome, expected,
            "room for {calls} calls at their most: {}",
            outcome.summary
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_debate_stopped_between_two_attempts_replays_as_stopped() {
    let fails: Act = |_| Does::Fail(FaultKind::Server, "no room", None);
    let stage = Stage::default().with("p:m", fails);
    let (_, out_of_calls) = stage
        .run(
            &stage.desk(),
            &[],
            limits(
                30,
                Caps {
                    calls: Some(3),
                    ..Caps::default()
                },
            ),
        )
        .await;
    assert_eq!(
        (out_of_calls.outcome, stage.seen().len()),
        (Ending::Stopped, 3),
        "{}",
        out_of_calls.summary
    );
    let stage = Stage::default().with("p:m", |n| {
        if n < 3 {
            Does::Fail(FaultKind::Server, "no room", None)
        } else {
            Does::Hang
        }
    });
    let (_, out_of_time) = stage
        .run(
            &stage.desk(),
            &[],
            Limits {
                debate_seconds: 5,
                ..limits(30, Caps::default())
            },
        )
        .await;
    assert_eq!(
        (out_of_time.outcome, stage.seen().len()),
        (Ending::Stopped, 6),
        "{}",
        out_of_time.summary
    );
}

#[tokio::test(start_paused = true)]
async fn a_place_is_free_while_its_holder_waits_and_waiting_for_one_can_be_cancelled() {
    let one_at_a_time = Allowance {
        concurrency: Some(1),
        ..Allowance::default()
    };
    let fails_once: Act = |n| {
        if n == 0 {
            Does::Fail(FaultKind::Server, "no room", None)
        } else {
            Does::Answer
        }
    };
    let stage = Stage::default()
        .with("p:m", fails_once)
        .allowing("p:m", one_at_a_time);
    let (_, outcome) = stage
        .run(&stage.desk(), &[], limits(30, Caps::default()))
        .await;
    assert_eq!(reasons(&outcome), vec![]);
    let order: Vec<String> = stage.seen();
    assert_eq!(
        order.first(),
        order.last(),
        "the others are asked while the first waits to be asked again: {order:?}"
    );

    let stage = Stage::default()
        .with("p:m", |_| Does::Hang)
        .allowing("p:m", one_at_a_time);
    let desk = stage.desk();
    let running = desk
        .start(start(&[], limits(30, Caps::default())))
        .await
        .expect("it starts");
    let id = running.id;
    stage.asked.notified().await;
    desk.cancel(id, "boss", "enough").await.expect("cancelled");
    assert_eq!(
        running.outcome().await.expect("it ends").outcome,
        Ending::Cancelled
    );
    assert_eq!(
        stage.seen().len(),
        1,
        "whoever waited for a place was not asked after the cancellation"
    );
    let attempts = desk
        .records(id)
        .await
        .expect("a journal")
        .iter()
        .filter(|record| &*record.kind == "turn.started")
        .count();
    assert_eq!(attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_cannot_be_had_is_what_fallbacks_are_for() {
    let closed = |kind| Stage {
        closed: [("p:m", kind)].into(),
        ..Stage::default().with("q:m", |_| Does::Answer)
    };
    for kind in [FaultKind::Auth, FaultKind::Unavailable] {
        let stage = closed(kind);
        let desk = stage.desk();
        let (id, outcome) = stage
            .run(&desk, &["q:m"], limits(30, Caps::default()))
            .await;
        assert_eq!(
            (outcome.outcome, outcome.substituted.len()),
            (Ending::Consensus, 3),
            "{:?}",
            outcome.degraded
        );
        let view = desk.view(id).await.expect("a view");
        assert!(
            view.turns
                .iter()
                .all(|turn| turn.faults[0].message == "p:m cannot be had"),
            "the reason is on record"
        );
        assert_eq!(view.spent().calls, 3);
        let nobody = desk
            .run(start(&[], limits(30, Caps::default())))
            .await
            .expect_err("nobody could answer")
            .to_string();
        assert!(nobody.contains("p:m cannot be had"), "{nobody}");
    }
    let typo = closed(FaultKind::NotFound)
        .desk()
        .run(start(&["q:m"], limits(30, Caps::default())))
        .await;
    assert!(
        typo.is_err(),
        "a name that means nothing is a mistake, whoever else could answer"
    );
}

#[tokio::test(start_paused = true)]
async fn a_journal_with_attempts_that_were_never_sent_leads_to_the_same_end_from_any_event() {
    let without_key = Stage {
        closed: [("p:m", FaultKind::Auth)].into(),
        ..Stage::default().with("q:m", |_| Does::Answer)
    };
    let desk = without_key.desk();
    let (id, whole) = without_key
        .run(&desk, &["q:m"], limits(30, Caps::default()))
        .await;
    let records = desk.records(id).await.expect("a journal");
    for cut in 1..records.len() {
        let store = Arc::new(MemoryStore::new());
        let mut append = Append::new(id, 0, Hash::default());
        append.records = records[..cut].to_vec();
        store.append(append).await.expect("writable");
        let options = DeskOptions {
            clock: Arc::new(SimulatedClock::new()),
            ..DeskOptions::default()
        };
        let desk = Desk::with_options(store, Arc::new(without_key.clone()), options);
        let outcome = desk
            .resume(id)
            .await
            .expect("it resumes")
            .outcome()
            .await
            .expect("it ends");
        assert_eq!(outcome, whole, "cut after event {cut}");
        assert_eq!(
            desk.replay(id).await.expect("it replays").outcome,
            *whole,
            "cut after event {cut}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_debate_is_not_resumed_while_its_models_are_gone_and_what_was_asked_before_still_counts()
{
    let store = Arc::new(MemoryStore::new());
    let desk = |stage: Stage| {
        let options = DeskOptions {
            clock: Arc::new(SimulatedClock::new()),
            ..DeskOptions::default()
        };
        Desk::with_options(store.clone(), Arc::new(stage), options)
    };
    let caps = Caps {
        cost_usd: Some(1.0),
        ..Caps::default()
    };
    let before = desk(Stage::default().with("p:m", |_| Does::Hang));
    let (id, stopped) = before
        .run(start(
            &[],
            Limits {
                debate_seconds: 5,
                ..limits(30, caps)
            },
        ))
        .await
        .expect("it runs");
    assert_eq!(stopped.outcome, Ending::Stopped);
    let after = desk(Stage {
        closed: [("p:m", FaultKind::Auth)].into(),
        ..Stage::default()
    });
    let recorded = after.records(id).await.expect("a journal");
    let gone = after.resume(id).await.map(|running| running.id);
    assert!(matches!(gone, Err(DeskError::ModelGone { .. })), "{gone:?}");
    assert_eq!(
        after.records(id).await,
        Ok(recorded),
        "it stays as it was, and open"
    );
    let back = desk(Stage::default().with("p:m", |_| Does::Answer));
    let more = More {
        debate_seconds: Some(0),
        ..More::default()
    };
    let ended = back
        .resume_with(id, more)
        .await
        .expect("it resumes")
        .outcome()
        .await
        .expect("it ends");
    assert_eq!(ended.outcome, Ending::Consensus, "{}", ended.summary);
    let view = back.view(id).await.expect("a view");
    assert_eq!(
        (view.spent().calls, view.spent().answers),
        (6, 3),
        "the three that hung count too"
    );
}
