//! Faults from the server to the outcome: real requests through the kernel's one retry loop,
//! counted where they arrive.

use futures_util::future::join_all;
use rebut_engine::{
    Desk, DeskOptions, More, Start,
    agent::{Agent, Role},
    budget::{Amount, Caps},
    event::{Event, Limits},
    memory_store::MemoryStore,
    model::{Allowance, FaultKind, Price},
    outcome::{Ending, Outcome},
    record::Record,
};
use rebut_models::{ProviderData, Registry, http::Timeouts};
use rebut_testkit::model_server::{
    Behaviour, Ending as Ended, ModelServer, Said, Seen, completion,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub const GOOD: &str = r#"{"option":"A","confidence":0.9,"summary":"Simple.","claims":["It is simple."],"flips_if":"it were not"}"#;

/// What a server does with its n-th request.
pub type Act = fn(usize) -> Behaviour;

pub fn good() -> Behaviour {
    Behaviour::Say(GOOD.to_owned())
}

pub fn refused(status: u16, headers: &[(&'static str, &str)], body: Value) -> Behaviour {
    let headers = [("content-type", "application/json")]
        .iter()
        .chain(headers)
        .map(|(name, value)| (*name, (*value).to_owned()))
        .collect();
    Behaviour::Send {
        status,
        headers,
        body: body.to_string().into_bytes(),
    }
}

pub fn failing(status: u16, headers: &[(&'static str, &str)]) -> Behaviour {
    refused(status, headers, json!({"error": {"message": "not now"}}))
}

/// A provider over that address which gives up on silence soon.
pub fn provider(base_url: String) -> ProviderData {
    let timeouts = Timeouts {
        first_byte: Some(0.5),
        idle: Some(0.5),
        ..Timeouts::default()
    };
    ProviderData {
        base_url: Some(base_url),
        timeouts: Some(timeouts),
        ..ProviderData::default()
    }
}

pub fn desk(providers: BTreeMap<String, ProviderData>) -> Desk {
    desk_with(providers, DeskOptions::default())
}

/// The same where every variable holds a key.
pub fn desk_with(providers: BTreeMap<String, ProviderData>, options: DeskOptions) -> Desk {
    let registry = Registry::new(".", &providers, &|_| {
        Some("key-0123456789abcdef".to_owned())
    })
    .expect("the data is usable");
    Desk::with_options(Arc::new(MemoryStore::new()), Arc::new(registry), options)
}

pub fn judge(name: &str, model: &str) -> Agent {
    Agent {
        name: name.into(),
        ..Role::built_in("risk")
            .expect("a built-in role")
            .played_by(model)
    }
}

pub fn start(agents: Vec<Agent>, limits: Limits) -> Start {
    let config = rebut_engine::formats::decide::Config {
        max_rounds: 1,
        min_judges: 1,
        ..Default::default()
    };
    Start {
        format: "decide".to_owned(),
        input: json!({"question": "Which?", "options": [{"id": "A", "label": "This"}, {"id": "B", "label": "That"}]}),
        config: serde_json::to_value(config).expect("settings are JSON"),
        agents,
        seed: Some(7),
        limits: Some(limits),
        ..Start::default()
    }
}

pub const THREE_TRIES: fn() -> Limits = || Limits {
    turn_seconds: 20,
    attempts: 3,
    ..Limits::default()
};

/// How many attempts a journal holds.
pub fn attempts(records: &[Record]) -> usize {
    records
        .iter()
        .filter(|record| record.kind == "turn.started")
        .count()
}

pub async fn run(desk: &Desk, start: Start) -> (Arc<Outcome>, Vec<Record>) {
    let (id, outcome) = desk.run(start).await.expect("it runs");
    (outcome, desk.records(id).await.expect("a journal"))
}

/// A row: what the server does, how many requests it must see, why the judge is missing (nothing:
/// it answered), and the least time between the first two requests.
type Row = (&'static str, Act, usize, Option<FaultKind>, u64);

const ROWS: &[Row] = &[
    (
        "limited, asks for 80 ms",
        |n| {
            if n == 0 {
                failing(429, &[("retry-after-ms", "80")])
            } else {
                good()
            }
        },
        2,
        None,
        80,
    ),
    (
        "limited, asks for a second",
        |n| {
            if n == 0 {
                failing(429, &[("retry-after", "1")])
            } else {
                good()
            }
        },
        2,
        None,
        1000,
    ),
    (
        "limited, asks for a date by nobody's clock",
        |n| {
            if n == 0 {
                failing(
                    429,
                    &[("retry-after", &in_three_seconds()), ("date", "unknown")],
                )
            } else {
                good()
            }
        },
        2,
        None,
        2000,
    ),
    (
        "limited, asks for years",
        |_| failing(429, &[("retry-after", "1000000000")]),
        1,
        Some(FaultKind::RateLimited),
        0,
    ),
    (
        "limited, asks for the past",
        |n| {
            if n == 0 {
                failing(429, &[("retry-after", "-5")])
            } else {
                good()
            }
        },
        2,
        None,
        500,
    ),
    (
        "limited, asks for no time at all",
        |n| {
            if n == 0 {
                failing(429, &[("retry-after", "0")])
            } else {
                good()
            }
        },
        2,
        None,
        500,
    ),
    (
        "overloaded",
        |n| if n == 0 { failing(529, &[]) } else { good() },
        2,
        None,
        500,
    ),
    (
        "nothing left to spend",
        |_| {
            refused(
                429,
                &[("retry-after", "1")],
                json!({"error": {"message": "You exceeded your current \
                    quota", "code": "insufficient_quota"}}),
            )
        },
        1,
        Some(FaultKind::Quota),
        0,
    ),
    (
        "payment required",
        |_| failing(402, &[]),
        1,
        Some(FaultKind::Quota),
        0,
    ),
    (
        "fails, then works",
        |n| if n == 0 { failing(500, &[]) } else { good() },
        2,
        None,
        500,
    ),
    (
        "fails for good",
        |_| failing(503, &[("retry-after-ms", "20")]),
        3,
        Some(FaultKind::Server),
        0,
    ),
    (
        "bad request",
        |_| failing(400, &[]),
        1,
        Some(FaultKind::BadRequest),
        0,
    ),
    (
        "wrong key",
        |_| failing(401, &[]),
        1,
        Some(FaultKind::Auth),
        0,
    ),
    (
        "forbidden",
        |_| failing(403, &[]),
        1,
        Some(FaultKind::Auth),
        0,
    ),
    (
        "no such model",
        |_| failing(404, &[]),
        1,
        Some(FaultKind::NotFound),
        0,
    ),
    (
        "not processable",
        |_| failing(422, &[]),
        1,
        Some(FaultKind::BadRequest),
        0,
    ),
    (
        "longer than it reads",
        |_| {
            refused(
                400,
                &[],
                json!({"error": {"message": "maximum context length is 8192 \
                    tokens", "code": "context_length_exceeded"}}),
            )
        },
        1,
        Some(FaultKind::TooLong),
        0,
    ),
    (
        "breaks off once",
        |n| if n == 0 { broken() } else { good() },
        2,
        None,
        500,
    ),
    (
        "breaks off always",
        |_| broken(),
        2,
        Some(FaultKind::Incomplete),
        500,
    ),
    (
        "silent",
        |_| Behaviour::Hang,
        2,
        Some(FaultKind::Timeout),
        500,
    ),
    (
        "says nothing",
        |_| Behaviour::Say(" ".to_owned()),
        3,
        Some(FaultKind::Empty),
        500,
    ),
    (
        "declines",
        |_| {
            Behaviour::Give(Said {
                ending: Ended::Filtered,
                ..Said::text("")
            })
        },
        1,
        Some(FaultKind::Refused),
        0,
    ),
    (
        "prose, then an answer",
        |n| {
            if n == 0 {
                Behaviour::Say("I would go for A.".to_owned())
            } else {
                good()
            }
        },
        2,
        None,
        0,
    ),
    (
        "prose for ever",
        |_| Behaviour::Say("I would go for A.".to_owned()),
        2,
        Some(FaultKind::InvalidReply),
        0,
    ),
    (
        "cut at its limit",
        |_| at_the_limit("{\"option\": \"A\", \"summ"),
        2,
        Some(FaultKind::InvalidReply),
        0,
    ),
    (
        "cut at its limit, behind all it needs",
        |_| at_the_limit(&GOOD[..GOOD.len() - 3]),
        2,
        Some(FaultKind::InvalidReply),
        0,
    ),
    (
        "cut at its limit, behind its reply",
        |_| at_the_limit(&format!("{GOOD} Or rath")),
        2,
        Some(FaultKind::InvalidReply),
        0,
    ),
    (
        "cut, and said to be complete",
        |_| Behaviour::Say(GOOD[..GOOD.len() - 3].to_owned()),
        2,
        Some(FaultKind::InvalidReply),
        0,
    ),
    (
        "cut at its limit once",
        |n| {
            if n == 0 {
                at_the_limit(&GOOD[..GOOD.len() - 3])
            } else {
                good()
            }
        },
        2,
        None,
        0,
    ),
];

fn at_the_limit(text: &str) -> Behaviour {
    Behaviour::Give(Said {
        ending: Ended::Length,
        ..Said::text(text)
    })
}

/// As HTTP writes dates, which knows whole seconds only.
fn in_three_seconds() -> String {
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3);
    soon.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn broken() -> Behaviour {
    let whole = completion(GOOD);
    Behaviour::Break {
        kind: "application/json",
        body: whole.as_bytes()[..whole.len() / 2].to_vec(),
    }
}

#[tokio::test]
async fn every_class_of_fault_makes_the_requests_it_should() {
    join_all(
        ROWS.iter()
            .map(|(name, act, requests, missing, gap)| async move {
                let server = ModelServer::start(|number, _: &Seen| act(number))
                    .await
                    .expect("a port");
                let desk = desk([("p".to_owned(), provider(server.base_url()))].into());
                let (outcome, records) =
                    run(&desk, start(vec![judge("risk", "p:m")], THREE_TRIES())).await;
                let seen = server.seen();
                assert_eq!(seen.len(), *requests, "{name}: {:?}", outcome.degraded);
                assert_eq!(
                    attempts(&records),
                    *requests,
                    "{name}: each attempt on record is one request"
                );
                assert_eq!(
                    outcome.degraded.first().map(|absence| absence.reason),
                    *missing,
                    "{name}: {:?}",
                    outcome.degraded
                );
                assert_eq!(
                    outcome.outcome == Ending::Consensus,
                    missing.is_none(),
                    "{name}: an absent judge agrees with nobody"
                );
                if let [first, second, ..] = &seen[..] {
                    let between = second.at.duration_since(first.at);
                    assert!(
                        between >= Duration::from_millis(*gap),
                        "{name}: asked again after {between:?}, not {gap} ms"
                    );
                }
            }),
    )
    .await;
}

#[tokio::test]
async fn an_answer_cut_at_its_limit_is_said_to_be_so_to_everybody() {
    let cut = || {
        Behaviour::Give(Said {
            ending: Ended::Length,
            ..Said::text("{\"option\": \"A\", \"summ")
        })
    };
    for (name, mends, missing) in [
        ("for ever", false, Some(FaultKind::InvalidReply)),
        ("once", true, None),
    ] {
        let server = ModelServer::start(
            move |number, _: &Seen| if number == 1 && mends { good() } else { cut() },
        )
        .await
        .expect("a port");
        let desk = desk([("p".to_owned(), provider(server.base_url()))].into());
        let (outcome, _) = run(&desk, start(vec![judge("risk", "p:m")], THREE_TRIES())).await;
        let [_, clarification] = &server.seen()[..] else {
            panic!("{name}: asked once more")
        };
        assert!(
            clarification
                .body
                .contains("cut off at the limit of its length")
                && clarification.body.contains("Write less"),
            "{name}"
        );
        assert!(
            !clarification.body.contains("EOF"),
            "{name}: where the parser stopped helps nobody"
        );
        assert_eq!(
            outcome.degraded.first().map(|absence| absence.reason),
            missing,
            "{name}"
        );
        let words = outcome
            .degraded
            .first()
            .map(|absence| absence.detail.clone())
            .unwrap_or_default();
        assert_eq!(
            words.contains("cut off at its token limit; raise max_tokens"),
            missing.is_some(),
            "{name}: {words}"
        );
    }
}

/// What the server saw and held of a judge whose answers are cut, with these limits of its own and
/// of the debate.
async fn cut_with_room(
    most: Option<u32>,
    caps: Caps,
    act: impl Fn(usize) -> Behaviour + Send + Sync + 'static,
) -> (Vec<Value>, Vec<u64>) {
    let server = ModelServer::start(move |number, _: &Seen| act(number))
        .await
        .expect("a port");
    let desk = desk([("p".to_owned(), priced(server.base_url()))].into());
    let judge = Agent {
        max_tokens: most,
        ..judge("risk", "p:m")
    };
    let (_, records) = run(
        &desk,
        start(
            vec![judge],
            Limits {
                caps,
                ..THREE_TRIES()
            },
        ),
    )
    .await;
    let started = records.iter().filter_map(|record| match record.event() {
        Ok(Some(Event::TurnStarted(started))) => Some(started.held.unwrap_or_default().tokens),
        _ => None,
    });
    (
        server
            .seen()
            .iter()
            .map(|seen| seen.json()["max_tokens"].clone())
            .collect(),
        started.collect(),
    )
}

#[tokio::test]
async fn a_cut_answer_gets_more_room_where_the_limit_was_ours_and_the_budget_has_it() {
    let cut = |_: usize| at_the_limit(&GOOD[..20]);
    let tokens = |tokens: u64| Caps {
        tokens: Some(tokens),
        ..Caps::default()
    };
    assert_eq!(
        cut_with_room(None, Caps::default(), cut).await.0,
        [Value::Null, Value::Null],
        "a limit of the provider's own"
    );
    assert_eq!(
        cut_with_room(Some(300), Caps::default(), cut).await.0,
        [json!(300), json!(600)]
    );
    let prose = |_: usize| Behaviour::Say("I would go for A.".to_owned());
    assert_eq!(
        cut_with_room(Some(300), Caps::default(), prose).await.0,
        [json!(300), json!(300)],
        "what was not cut needs no room"
    );

    let (sent, held) = cut_with_room(Some(9000), tokens(1_000_000), cut).await;
    assert_eq!(sent, [json!(9000), json!(18_000)]);
    assert!(
        held[1] >= held[0] + 9000,
        "what it may use more is held too: {held:?}"
    );
    // The server counts 120 tokens for the first answer: what is left has no room for twice as
    // much.
    let (sent, _) = cut_with_room(Some(9000), tokens(held[0] + 2000), cut).await;
    assert_eq!(sent, [json!(9000), json!(9000)], "a cap is a cap");
    // More than a model can write is refused, and nothing of it is paid.
    let (sent, _) = cut_with_room(Some(9000), Caps::default(), |n| {
        if n == 1 {
            failing(400, &[])
        } else {
            at_the_limit("{")
        }
    })
    .await;
    assert_eq!(sent, [json!(9000), json!(18_000), json!(9000)]);
}

/// How far a server gets with its answer before it resets the connection, and how often it is
/// asked: what may have been billed, twice.
#[tokio::test]
async fn a_connection_that_is_reset_within_an_answer_is_asked_once_more() {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n";
    let half = [HEAD, &completion(GOOD)[..40]].concat();
    let rows = [
        ("before it", String::new(), 3, FaultKind::Network),
        ("after its head", HEAD.to_owned(), 2, FaultKind::Incomplete),
    ];
    for (name, answer, requests, kind) in
        rows.into_iter()
            .chain([("in its middle", half, 2, FaultKind::Incomplete)])
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let server = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = read_request(&mut stream).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                stream
                    .set_zero_linger()
                    .expect("a socket that can be reset");
            }
        });
        let desk = desk([("p".to_owned(), provider(base_url))].into());
        let (outcome, records) = run(&desk, start(vec![judge("risk", "p:m")], THREE_TRIES())).await;
        assert_eq!(
            outcome.degraded.first().map(|absence| absence.reason),
            Some(kind),
            "{name}: {:?}",
            outcome.degraded
        );
        assert_eq!(
            attempts(&records),
            requests,
            "{name}: {:?}",
            outcome.degraded
        );
        server.abort();
    }
}

/// Reads a request with its body, so that nothing unread is what resets the connection.
pub async fn read_request(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return Ok(());
            }
        }
        if stream.read_buf(&mut read).await? == 0 {
            return Ok(());
        }
    }
}

#[tokio::test]
async fn one_refusal_holds_back_everybody_at_that_provider() {
    let server = ModelServer::start(|number, _| {
        if number == 0 {
            failing(429, &[("retry-after-ms", "300")])
        } else {
            good()
        }
    });
    let server = server.await.expect("a port");
    let one_at_a_time = Allowance {
        concurrency: Some(1),
        ..Allowance::default()
    };
    let desk = desk(
        [(
            "p".to_owned(),
            ProviderData {
                allowance: Some(one_at_a_time),
                ..provider(server.base_url())
            },
        )]
        .into(),
    );
    let judges = (0..5)
        .map(|number| judge(&format!("j{number}"), "p:m"))
        .collect();
    let (outcome, _) = run(&desk, start(judges, THREE_TRIES())).await;
    assert_eq!(
        (outcome.outcome, outcome.degraded.len()),
        (Ending::Consensus, 0)
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 6);
    let first_after = seen[1..]
        .iter()
        .map(|seen| seen.at)
        .min()
        .expect("more than one");
    assert!(
        first_after.duration_since(seen[0].at) >= Duration::from_millis(300),
        "nobody comes before the time asked for"
    );
}

#[tokio::test]
async fn whoever_has_a_wrong_key_or_no_money_is_asked_once_in_a_run() {
    /// What it refuses to the model `m`, which models the judges have, how many requests a run
    /// makes, and how many judges answer.
    type Case = (&'static str, Act, &'static [&'static str], usize, usize);
    let rows: &[Case] = &[
        (
            "wrong key",
            |_| failing(401, &[]),
            &["p:m", "p:m", "p:m"],
            1,
            0,
        ),
        (
            "wrong key, for every model of the provider",
            |_| failing(401, &[]),
            &["p:m", "p:n", "q:m"],
            2,
            1,
        ),
        (
            "wrong key, in other words",
            |_| refused(400, &[], json!({"error": {"status": "API_KEY_INVALID"}})),
            &["p:m", "p:n"],
            1,
            0,
        ),
        (
            "one model forbidden",
            |_| failing(403, &[]),
            &["p:m", "p:m", "p:n"],
            2,
            1,
        ),
        (
            "nothing left to spend",
            |_| refused(429, &[], json!({"error": {"code": "insufficient_quota"}})),
            &["p:m", "p:m", "p:n"],
            2,
            1,
        ),
        (
            "a passing failure",
            |_| failing(400, &[]),
            &["p:m", "p:m", "p:m"],
            3,
            0,
        ),
    ];
    join_all(
        rows.iter()
            .map(|(name, act, models, requests, answers)| async move {
                let refuse = move |number, seen: &Seen| {
                    if seen.json()["model"] == "m" {
                        act(number)
                    } else {
                        good()
                    }
                };
                let (server, other) = (
                    ModelServer::start(refuse).await.expect("a port"),
                    ModelServer::start(|_, _| good()).await.expect("a port"),
                );
                let one_at_a_time = Some(Allowance {
                    concurrency: Some(1),
                    ..Allowance::default()
                });
                let data = ProviderData {
                    allowance: one_at_a_time,
                    ..provider(server.base_url())
                };
                let desk = desk(
                    [
                        ("p".to_owned(), data),
                        ("q".to_owned(), provider(other.base_url())),
                    ]
                    .into(),
                );
                // The second run asks again: the key may be another, the account may be filled.
                for run_number in 1..=2 {
                    let judges = models
                        .iter()
                        .enumerate()
                        .map(|(number, model)| judge(&format!("j{number}"), model))
                        .collect();
                    let (outcome, records) = run(&desk, start(judges, THREE_TRIES())).await;
                    let seen = server.seen().len() + other.seen().len();
                    assert_eq!(
                        (seen, attempts(&records)),
                        (requests * run_number, *requests),
                        "{name}: {:?}",
                        outcome.degraded
                    );
                    assert_eq!(
                        models.len() - outcome.degraded.len(),
                        *answers,
                        "{name}: {:?}",
                        outcome.degraded
                    );
                    let kinds: Vec<FaultKind> = outcome
                        .degraded
                        .iter()
                        .map(|absence| absence.reason)
                        .collect();
                    assert!(
                        kinds.windows(2).all(|two| two[0] == two[1]),
                        "{name}: all are missing for the same reason: {kinds:?}"
                    );
                }
            }),
    )
    .await;
}

#[tokio::test]
async fn tokens_per_minute_hold_also_where_nothing_is_capped() {
    let server = ModelServer::start(|_, _| good()).await.expect("a port");
    let allowance = Allowance {
        tokens_per_minute: Some(8000),
        ..Allowance::default()
    };
    let desk = desk(
        [(
            "p".to_owned(),
            ProviderData {
                allowance: Some(allowance),
                ..provider(server.base_url())
            },
        )]
        .into(),
    );
    let judges = (0..3)
        .map(|number| judge(&format!("j{number}"), "p:m"))
        .collect();
    // One call may use some 5,000 tokens: the others would have to wait for the next minute, and
    // have two seconds.
    let (outcome, _) = run(
        &desk,
        start(
            judges,
            Limits {
                turn_seconds: 2,
                ..THREE_TRIES()
            },
        ),
    )
    .await;
    let reasons: Vec<FaultKind> = outcome
        .degraded
        .iter()
        .map(|absence| absence.reason)
        .collect();
    assert_eq!(
        (server.seen().len(), reasons),
        (1, vec![FaultKind::RateLimited; 2]),
        "who was never asked did not time out"
    );
}

#[tokio::test]
async fn whoever_fails_too_often_is_spared_and_others_answer() {
    let bad = ModelServer::start(|_, _| failing(500, &[]))
        .await
        .expect("a port");
    let well = ModelServer::start(|_, _| good()).await.expect("a port");
    let one_at_a_time = Some(Allowance {
        concurrency: Some(1),
        ..Allowance::default()
    });
    let bad_provider = ProviderData {
        allowance: one_at_a_time,
        ..provider(bad.base_url())
    };
    let desk = desk(
        [
            ("bad".to_owned(), bad_provider),
            ("well".to_owned(), provider(well.base_url())),
        ]
        .into(),
    );
    let judges = (0..9)
        .map(|number| Agent {
            fallbacks: vec!["well:m".to_owned()],
            ..judge(&format!("j{number}"), "bad:m")
        })
        .collect();
    let (outcome, records) = run(
        &desk,
        start(
            judges,
            Limits {
                attempts: 1,
                ..THREE_TRIES()
            },
        ),
    )
    .await;
    assert_eq!(
        (
            outcome.outcome,
            outcome.degraded.len(),
            outcome.substituted.len()
        ),
        (Ending::Consensus, 0, 9)
    );
    assert_eq!(
        (bad.seen().len(), well.seen().len()),
        (6, 9),
        "after six failures it is left alone"
    );
    let unsent = records.iter().filter(
        |record| matches!(record.event(), Ok(Some(Event::TurnFailed(failed))) if failed.unsent),
    );
    assert_eq!(
        (attempts(&records), unsent.count()),
        (6 + 9, 3),
        "whoever is spared is sent nothing, and it is said why"
    );
    assert_eq!(outcome.substituted[0].to, "well:m");
}

const PRICE: Price = Price {
    input: 3.0,
    cached: None,
    output: 15.0,
};

/// A provider whose calls cost money.
pub fn priced(base_url: String) -> ProviderData {
    ProviderData {
        price: Some(PRICE),
        ..provider(base_url)
    }
}

#[tokio::test]
async fn a_connection_that_was_never_made_is_no_call_and_costs_nothing() {
    let server = ModelServer::start(|_, _| good()).await.expect("a port");
    let closed = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let nobody = format!("http://{}/v1", closed.local_addr().expect("an address"));
    drop(closed);
    // Connections are made by the system, and nobody ever answers on them.
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let rows = [
        ("nobody listens", nobody, 2, FaultKind::Unreachable),
        (
            "no secure connection is spoken there",
            server.base_url().replace("http:", "https:"),
            1,
            FaultKind::Insecure,
        ),
        (
            "no secure connection in time",
            format!("https://{}/v1", silent.local_addr().expect("an address")),
            1,
            FaultKind::Unreachable,
        ),
    ];
    join_all(rows.into_iter().map(|(name, base_url, tries, kind)| async move {
        let desk = desk([("p".to_owned(), ProviderData { timeouts: None, ..priced(base_url) })].into());
        // Room for little more than one call at its most: were the first one charged or counted,
        // there would be none for the second.
        let caps = Caps { cost_usd: Some(0.09), calls: Some(1), ..Caps::default() };
        let (id, outcome) = desk
            .run(start(vec![judge("risk", "p:m")], Limits { attempts: 2, turn_seconds: 2, caps, ..Limits::default() }))
            .await
            .expect("it runs");
        assert_eq!(outcome.outcome, Ending::NoQuorum, "{name}: {}", outcome.summary);
        assert_eq!(outcome.degraded[0].reason, kind, "{name}: {:?}", outcome.degraded);
        let spent = desk.view(id).await.expect("a view").spent();
        assert_eq!((spent.calls, spent.answers, spent.unknown_calls, spent.cost_usd), (0, 0, 0, Some(0.0)), "{name}");
        let records = desk.records(id).await.expect("a journal");
        let unsent = records.iter().filter(|record| matches!(record.event(), Ok(Some(Event::TurnFailed(failed))) if failed.unsent));
        assert_eq!((attempts(&records), unsent.count()), (tries, tries), "{name}: what was begun \
            is taken back");
        let replayed = desk.replay(id).await.expect("a replay");
        assert!(replayed.identical, "{name}: {:?}\n{}", replayed.outcome, replayed.transcript);
    }))
    .await;
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn calls_are_requests_made_wherever_they_are_counted() {
    type Case = (&'static str, Act, u32, u32);
    let rows: &[Case] = &[
        ("fails", |_| failing(500, &[]), 3, 0),
        ("says nothing", |_| Behaviour::Say(" ".to_owned()), 3, 0),
        (
            "fails once",
            |n| if n == 0 { failing(500, &[]) } else { good() },
            2,
            1,
        ),
        (
            "unclear once",
            |n| {
                if n == 0 {
                    Behaviour::Say("A, I think.".to_owned())
                } else {
                    good()
                }
            },
            2,
            2,
        ),
    ];
    for (name, act, calls, answers) in rows {
        let server = ModelServer::start(|number, _: &Seen| act(number))
            .await
            .expect("a port");
        let desk = desk([("p".to_owned(), provider(server.base_url()))].into());
        let capped = Limits {
            caps: Caps {
                calls: Some((*calls).into()),
                ..Caps::default()
            },
            ..THREE_TRIES()
        };
        let (id, outcome) = desk
            .run(start(vec![judge("risk", "p:m")], capped))
            .await
            .expect("it runs");
        assert!(
            outcome.stopped.is_none(),
            "{name}: as many calls as the cap allows are counted so: {}",
            outcome.summary
        );
        let spent = desk.view(id).await.expect("a view").spent();
        assert_eq!(
            (spent.calls, spent.answers, server.seen().len()),
            (*calls, *answers, *calls as usize),
            "{name}"
        );
    }
}

/// What a server bills for a request: its own count of tokens.
fn billed(seen: &Seen) -> (u64, u64) {
    (seen.body.len() as u64 / 4, 2000)
}

#[tokio::test]
async fn fifty_agents_cannot_spend_more_than_the_cap() {
    let server = ModelServer::start(|_, seen| {
        let (input, output) = billed(seen);
        let mut answer: Value = serde_json::from_str(&completion(GOOD)).expect("JSON");
        answer["usage"] = json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output});
        Behaviour::json(200, answer.to_string())
    });
    let server = server.await.expect("a port");
    let desk = desk([("p".to_owned(), priced(server.base_url()))].into());
    let capped = |cap: f64| Limits {
        caps: Caps {
            cost_usd: Some(cap),
            ..Caps::default()
        },
        ..THREE_TRIES()
    };
    let (_, records) = run(&desk, start(vec![judge("only", "p:m")], capped(1.0))).await;
    let held: Vec<Amount> = records
        .iter()
        .filter_map(|record| match record.event() {
            Ok(Some(Event::TurnStarted(started))) => started.held,
            _ => None,
        })
        .collect();
    let cap = held[0].cost_usd * 10.0 + 1e-6;

    let before = server.seen().len();
    let judges: Vec<Agent> = (0..50)
        .map(|number| judge(&format!("j{number:02}"), "p:m"))
        .collect();
    let (id, outcome) = desk.run(start(judges, capped(cap))).await.expect("it runs");
    let bill = |seen: &[Seen]| {
        seen.iter()
            .map(billed)
            .map(|(input, output)| {
                (input as f64 * PRICE.input + output as f64 * PRICE.output) / 1e6
            })
            .sum::<f64>()
    };
    let seen = server.seen().split_off(before);
    assert_eq!(outcome.outcome, Ending::Stopped, "{}", outcome.summary);
    assert!(
        (11..50).contains(&seen.len()),
        "ten fit at their most, and more as those are settled, but not all: {}",
        seen.len()
    );
    assert!(bill(&seen) <= cap, "{} billed, {cap} allowed", bill(&seen));
    let ledger = |view: &rebut_engine::view::View| view.spent().cost_usd.unwrap_or(0.0);
    assert!(
        ledger(&desk.view(id).await.expect("a view")) >= bill(&seen) - 1e-9,
        "the ledger is not below the bill"
    );

    let more = More {
        caps: Caps {
            cost_usd: Some(cap * 100.0),
            ..Caps::default()
        },
        ..More::default()
    };
    let done = desk
        .resume_with(id, more)
        .await
        .expect("it resumes")
        .outcome()
        .await
        .expect("it ends");
    assert_eq!(
        (done.outcome, server.seen().len() - before),
        (Ending::Consensus, 50),
        "nobody is asked twice"
    );
}
