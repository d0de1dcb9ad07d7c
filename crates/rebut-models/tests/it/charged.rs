//! What came and is no answer may have been paid for: it is asked once more at most and charged as
//! held, counted where requests arrive.

use crate::{
    sweep::{THREE_TRIES, attempts, desk_with, judge, priced, start},
    wires::ROWS,
};
use futures_util::future::join_all;
use rebut_engine::{
    DeskOptions,
    budget::Caps,
    event::Limits,
    model::FaultKind,
    outcome::{Ending, Limit},
};
use rebut_models::{ProviderData, http::WireKind};
use rebut_testkit::model_server::{Behaviour, ModelServer, Seen};

/// Room for little more than one call at its most.
const ONE_CALL: f64 = 0.09;

/// A row: what a server does with every request, and why the judge is missing then.
type Row = (&'static str, fn() -> Behaviour, FaultKind);

const BROKEN: &[Row] = &[
    (
        "cut",
        || Behaviour::Cut("one two three".to_owned()),
        FaultKind::Incomplete,
    ),
    (
        "fails in the middle",
        || Behaviour::Late("one two three".to_owned()),
        FaultKind::Incomplete,
    ),
    (
        "falls silent",
        || Behaviour::Stall("one two three".to_owned()),
        FaultKind::Incomplete,
    ),
];

const SPOILT: &[Row] = &[
    (
        "a page",
        || sent("text/html", "", b"<html>Sign in</html>"),
        FaultKind::Unreadable,
    ),
    (
        "nonsense",
        || sent("application/json", "", b"\xff\xfe {"),
        FaultKind::Unreadable,
    ),
    (
        "nothing",
        || sent("application/json", "", b""),
        FaultKind::Unreadable,
    ),
    (
        "compressed",
        || sent("application/json", "gzip", &[0x1f, 0x8b, 8, 0]),
        FaultKind::Unreadable,
    ),
    (
        "events of something else",
        || sent("text/event-stream", "", b"data: <html>\n\n"),
        FaultKind::Unreadable,
    ),
];

fn sent(kind: &str, encoding: &str, body: &[u8]) -> Behaviour {
    let mut headers = vec![("content-type", kind.to_owned())];
    headers.extend((!encoding.is_empty()).then(|| ("content-encoding", encoding.to_owned())));
    Behaviour::Send {
        status: 200,
        headers,
        body: body.to_vec(),
    }
}

/// Asks a streamed endpoint that does the same with every request, with that much to spend. Says
/// how many requests it saw.
async fn asked(wire: WireKind, (name, act, kind): &Row, cap: Option<f64>) -> usize {
    let act = *act;
    let server = ModelServer::start(move |_, _: &Seen| act())
        .await
        .expect("a port");
    let data = ProviderData {
        wire: Some(wire),
        key_env: Some("KEY".to_owned()),
        ..priced(server.base_url())
    };
    let desk = desk_with(
        [("p".to_owned(), data)].into(),
        DeskOptions {
            stream_deltas: true,
            ..DeskOptions::default()
        },
    );
    let limits = Limits {
        caps: Caps {
            cost_usd: cap,
            ..Caps::default()
        },
        ..THREE_TRIES()
    };
    let (id, outcome) = desk
        .run(start(vec![judge("risk", "p:m")], limits))
        .await
        .expect("it runs");
    let about = format!(
        "{wire:?} {name}: {} {:?}",
        outcome.summary, outcome.degraded
    );
    let requests = server.seen().len();
    assert_eq!(
        attempts(&desk.records(id).await.expect("a journal")),
        requests,
        "{about}"
    );
    let spent = desk.view(id).await.expect("a view").spent();
    assert_eq!(
        (spent.calls as usize, spent.unknown_calls as usize),
        (requests, requests),
        "{about}"
    );
    match cap {
        None => assert_eq!(
            outcome.degraded.first().map(|absence| absence.reason),
            Some(*kind),
            "{about}"
        ),
        Some(_) => assert_eq!(
            (
                outcome.outcome,
                outcome.stopped.as_ref().map(|stop| stop.limit)
            ),
            (Ending::Stopped, Some(Limit::Cost)),
            "{about}: what the first may have cost leaves nothing for a second"
        ),
    }
    requests
}

#[tokio::test]
async fn what_is_no_whole_answer_is_charged_as_held_on_every_wire() {
    let rows = || BROKEN.iter().chain(SPOILT);
    join_all(
        ROWS.iter()
            .flat_map(|wire| rows().map(move |row| (wire.wire, row)))
            .map(|(wire, row)| async move {
                assert_eq!(
                    (
                        asked(wire, row, None).await,
                        asked(wire, row, Some(ONE_CALL)).await
                    ),
                    (2, 1),
                    "{wire:?} {}",
                    row.0
                );
            }),
    )
    .await;
}
