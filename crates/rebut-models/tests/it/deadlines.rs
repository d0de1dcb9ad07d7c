//! Four deadlines, each on every wire: connecting, the first byte, the pause between pieces, the
//! whole turn.

use crate::{
    asking::Asking,
    wires::{ROWS, endpoint, model, once},
};
use rebut_engine::model::FaultKind;
use rebut_models::http::{Endpoint, Timeouts};
use rebut_testkit::model_server::Behaviour;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};

/// Short enough for a test; nothing is measured by it.
const SOON: f64 = 0.2;

#[tokio::test]
async fn a_deadline_says_which_one_it_was() {
    for row in ROWS {
        let hang = once(
            row,
            false,
            &mut Asking::new(),
            |it| it.timeouts.first_byte = Some(SOON),
            || Behaviour::Hang,
        )
        .await
        .fault("no byte");
        assert_eq!((hang.kind, hang.partial), (FaultKind::Timeout, None));
        assert!(
            hang.message.contains("within 0.2 s (timeouts.first_byte)"),
            "{}",
            hang.message
        );

        let idle = |it: &mut Endpoint| it.timeouts.idle = Some(SOON);
        let stall = once(row, true, &mut Asking::new(), idle, || {
            Behaviour::Stall("one two".to_owned())
        })
        .await
        .fault("silence");
        assert_eq!(
            (stall.kind, stall.partial.as_deref()),
            (FaultKind::Incomplete, Some("one two")),
            "{:?}",
            row.wire
        );
        assert!(
            stall.message.contains("(timeouts.idle)"),
            "{}",
            stall.message
        );
    }
}

#[tokio::test]
async fn pings_keep_a_stream_alive_but_not_for_ever() {
    for row in ROWS {
        let mut asking = Asking::new();
        asking.time_left = Duration::from_secs(2);
        // Shorter than the turn, longer than the pause between two pings: only the turn's end can
        // stop this.
        let idle = |it: &mut Endpoint| it.timeouts.idle = Some(1.5);
        let fault = once(row, true, &mut asking, idle, || {
            Behaviour::Ping("one two".to_owned())
        })
        .await
        .fault("only pings");
        assert_eq!(
            (fault.kind, fault.partial.as_deref()),
            (FaultKind::Timeout, Some("one two")),
            "{:?}: {fault}",
            row.wire
        );
        assert!(
            fault.message.contains("left for this turn"),
            "{}",
            fault.message
        );
    }
}

#[tokio::test]
async fn nobody_taking_the_connection_is_a_deadline_too() {
    // A listener that accepts nobody: once its queue is full, connecting hangs.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let listener = socket.listen(1).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let mut queue = Vec::new();
    while let Ok(Ok(waiting)) =
        tokio::time::timeout(Duration::from_secs_f64(SOON), TcpStream::connect(address)).await
    {
        queue.push(waiting);
    }
    let timeouts = Timeouts {
        connect: Some(SOON),
        ..Timeouts::default()
    };
    let closed = Endpoint {
        timeouts,
        ..endpoint(&ROWS[0], format!("http://{address}/v1"))
    };
    let fault = Asking::new()
        .ask(&model(closed))
        .await
        .expect_err("no connection");
    assert_eq!(fault.kind, FaultKind::Unreachable, "{fault}");
    assert!(
        fault
            .message
            .contains("no connection within 0.2 s (timeouts.connect)"),
        "{fault}"
    );
}
