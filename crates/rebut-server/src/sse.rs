//! A debate as server-sent events: numbers only for what is recorded, so that a client that comes
//! back never goes on from something passing.

use crate::event_stream::{Passing, Shown, Tail, known_kind};
use axum::{
    http::{HeaderName, HeaderValue},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use std::{convert::Infallible, time::Duration};

/// After how long a client comes back.
const RETRY: Duration = Duration::from_secs(2);

/// The stream of what a watcher is shown.
pub fn stream(tail: Tail, heartbeat: Duration) -> Response {
    let first = Event::default().retry(RETRY);
    let events = stream::unfold((tail, Some(first)), |(mut tail, first)| async move {
        let event = match first {
            Some(first) => first,
            None => event(tail.next().await?),
        };
        Some((Ok::<_, Infallible>(event), (tail, None)))
    });
    let mut response = Sse::new(events)
        .keep_alive(KeepAlive::new().interval(heartbeat).text("hb"))
        .into_response();
    // Proxies that hold events back until there are many would make them late.
    response.headers_mut().insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

/// Names come from the table of kinds, numbers are numbers, and JSON has no line ends: nobody's
/// text can begin a field of its own.
fn event(shown: Shown) -> Event {
    match shown {
        Shown::Event(record) => {
            let event = Event::default()
                .id(record.seq.to_string())
                .data(one_line(&record.envelope()));
            match known_kind(&record.kind) {
                Some(kind) => event.event(kind),
                None => event,
            }
        }
        Shown::Passing(passing @ Passing::Shutdown {}) => Event::default()
            .event(passing.name())
            .retry(RETRY)
            .data(one_line(&passing)),
        Shown::Passing(passing) => Event::default()
            .event(passing.name())
            .data(one_line(&passing)),
    }
}

fn one_line(value: &impl serde::Serialize) -> String {
    // Envelopes are made of strings, numbers and JSON.
    serde_json::to_string(value).expect("what is shown is always JSON")
}
