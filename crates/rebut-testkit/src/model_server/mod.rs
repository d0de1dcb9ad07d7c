//! A real HTTP server on the loopback that speaks each vendor's wire format as strictly as the
//! vendor, and remembers what it was asked.

mod anthropic;
mod chat;
mod embeddings;
mod gemini;
mod responses;
mod strict;
mod vendor;

pub use chat::{completion, stream_of};
pub use vendor::{Ending, Failure, Said};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{ConnectInfo, Request, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::Response,
};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use vendor::{Vendor, vendor_of};

/// A running server; it ends when dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Instant,
    /// The client's side of the connection it came on.
    pub peer: SocketAddr,
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// What the server does with a request that the vendor would accept.
pub enum Behaviour {
    /// An answer with this text, streamed if the request asks for it.
    Say(String),
    /// The same, once it is told to, or nobody can tell it any more.
    SayWhen(watch::Receiver<bool>, String),
    /// A complete stream whose head calls it a plain text.
    Mislabelled(String),
    /// An answer that is not just a text.
    Give(Said),
    /// An error in the vendor's own words.
    Fail(Failure),
    /// A stream whose end is missing.
    Cut(String),
    /// A stream that breaks off with an error event.
    Late(String),
    /// A whole stream with its end, on a connection that stays open.
    Kept(String),
    /// A stream that stops coming, on a connection that stays open.
    Stall(String),
    /// The same with keep-alive pings for ever.
    Ping(String),
    Send {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// A success of this content type whose connection breaks after these bytes.
    Break {
        kind: &'static str,
        body: Vec<u8>,
    },
    Hang,
}

impl Behaviour {
    /// A JSON answer of that status.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::Send {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.into(),
        }
    }

    /// A whole stream of server-sent events, as it is.
    pub fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::Send {
            status: 200,
            headers: vec![("content-type", EVENTS.to_owned())],
            body: body.into(),
        }
    }
}

const EVENTS: &str = "text/event-stream; charset=utf-8";

type Behave = dyn Fn(usize, &Seen) -> Behaviour + Send + Sync;

struct Shared {
    seen: Mutex<Vec<Seen>>,
    behave: Box<Behave>,
    latency: Option<Duration>,
}

impl ModelServer {
    /// Starts a server that does with the n-th request (from 0) what `behave` says.
    pub async fn start(
        behave: impl Fn(usize, &Seen) -> Behaviour + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::run(None, Box::new(behave)).await
    }

    /// Starts a server that answers everything with the same content, each time after `latency`.
    pub async fn start_slow(latency: Duration, content: &str) -> io::Result<Self> {
        let content = content.to_owned();
        Self::run(
            Some(latency),
            Box::new(move |_, _| Behaviour::Say(content.clone())),
        )
        .await
    }

    async fn run(latency: Option<Duration>, behave: Box<Behave>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            seen: Mutex::default(),
            behave,
            latency,
        });
        let router = Router::new().fallback(handle).with_state(shared.clone());
        let task = tokio::spawn(async move {
            // It only ends by being aborted.
            let _ = axum::serve(
                listener,
                router.into_make_service_with_connect_info::<SocketAddr>(),
            )
            .await;
        });
        Ok(Self {
            address,
            shared,
            task,
        })
    }

    /// What a client takes as base URL.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    fn path(&self) -> &str {
        let uri = self.line.split_once(' ').map_or("", |(_, uri)| uri);
        uri.split('?').next().unwrap_or_default()
    }
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap_or_default();
    let headers = parts.headers.iter().map(|(name, value)| {
        (
            name.to_string(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    });
    let seen = Seen {
        at: Instant::now(),
        peer,
        line: format!("{} {}", parts.method, parts.uri),
        headers: headers.collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let number = {
        let mut all = shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(seen.clone());
        all.len() - 1
    };
    if let Some(latency) = shared.latency {
        tokio::time::sleep(latency).await;
    }
    let vendor = vendor_of(&seen);
    if let Err((status, why)) = (vendor.check)(&seen) {
        return send(
            status,
            &[("content-type", "application/json")],
            (vendor.error)(status, &why).to_string(),
        );
    }
    if seen.line.starts_with("GET ") && seen.path().ends_with("/models") {
        return send(
            200,
            &[("content-type", "application/json")],
            (vendor.models)().to_string(),
        );
    }
    respond(vendor, (shared.behave)(number, &seen), &seen).await
}

async fn respond(vendor: &'static Vendor, behaviour: Behaviour, seen: &Seen) -> Response {
    match behaviour {
        Behaviour::Say(text) => give(vendor, &Said::text(text), seen),
        Behaviour::SayWhen(mut told, text) => {
            let _ = told.wait_for(|told| *told).await;
            give(vendor, &Said::text(text), seen)
        }
        Behaviour::Mislabelled(text) => send(
            200,
            &[("content-type", "text/plain")],
            all_events(vendor, &Said::text(text), seen),
        ),
        Behaviour::Give(said) => give(vendor, &said, seen),
        Behaviour::Fail(failure) => {
            let (status, message) = (vendor.failure)(failure, seen);
            let mut headers = vec![("content-type", "application/json")];
            headers.extend(vendor.limits);
            if matches!(failure, Failure::RateLimited) && vendor.waits_by_header {
                headers.push(("retry-after", "3"));
            }
            send(status, &headers, message.to_string())
        }
        Behaviour::Cut(text) => send(
            200,
            &[("content-type", EVENTS)],
            events(vendor, &text, seen).concat(),
        ),
        Behaviour::Late(text) => {
            let late = events(vendor, &text, seen).concat() + &(vendor.late_error)();
            send(200, &[("content-type", EVENTS)], late)
        }
        Behaviour::Kept(text) => {
            let parts = (vendor.events)(&Said::text(text), &seen.json());
            endless([parts.beginning, parts.end].concat(), stream::pending())
        }
        Behaviour::Stall(text) => endless(events(vendor, &text, seen), stream::pending()),
        Behaviour::Ping(text) => {
            let pings = stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_millis(5)).await;
                Some((vendor.ping.to_owned(), ()))
            });
            endless(events(vendor, &text, seen), pings)
        }
        Behaviour::Send {
            status,
            headers,
            body,
        } => send(
            status,
            &headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect::<Vec<_>>(),
            body,
        ),
        Behaviour::Break { kind, body } => {
            // A pause between the two, or the bytes would be thrown away together with the
            // connection.
            let broken = stream::once(async {
                tokio::task::yield_now().await;
                Err(io::Error::from(io::ErrorKind::ConnectionReset))
            });
            let pieces = stream::once(async { Ok(Bytes::from(body)) }).chain(broken);
            Response::builder()
                .header(CONTENT_TYPE, kind)
                .body(Body::from_stream(pieces))
                .expect("tests give valid headers")
        }
        Behaviour::Hang => std::future::pending().await,
    }
}

/// A complete answer, streamed if that was asked for.
fn give(vendor: &Vendor, said: &Said, seen: &Seen) -> Response {
    let streamed = (vendor.is_streamed)(seen);
    let mut headers = vec![(
        "content-type",
        if streamed { EVENTS } else { "application/json" },
    )];
    headers.extend(vendor.limits);
    let body = if streamed {
        all_events(vendor, said, seen)
    } else {
        (vendor.whole)(said, &seen.json()).to_string()
    };
    send(200, &headers, body)
}

fn all_events(vendor: &Vendor, said: &Said, seen: &Seen) -> String {
    let parts = (vendor.events)(said, &seen.json());
    parts.beginning.concat() + &parts.end.concat()
}

/// The events of a text without its end.
fn events(vendor: &Vendor, text: &str, seen: &Seen) -> Vec<String> {
    (vendor.events)(&Said::text(text), &seen.json()).beginning
}

fn endless(
    beginning: Vec<String>,
    more: impl futures_util::Stream<Item = String> + Send + 'static,
) -> Response {
    let pieces = stream::iter(beginning)
        .chain(more)
        .map(|piece| Ok::<_, io::Error>(Bytes::from(piece)));
    Response::builder()
        .header(CONTENT_TYPE, EVENTS)
        .body(Body::from_stream(pieces))
        .expect("a valid header")
}

fn send(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response {
    let mut response = Response::builder()
        .status(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response
        .body(body.into())
        .expect("tests give valid headers")
}
