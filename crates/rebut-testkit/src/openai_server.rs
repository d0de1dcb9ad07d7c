//! A real HTTP server on the loopback that speaks the OpenAI chat-completions protocol and remembers what it was asked.

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{ConnectInfo, Request, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::Response,
};
use futures_util::stream;
use serde_json::{Value, json};
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinHandle};

/// A running server; it ends when dropped.
pub struct OpenAiServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The client's side of the connection it came on.
    pub peer: SocketAddr,
    /// Method and path.
    pub line: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
}

/// What the server does with a request.
pub enum Behaviour {
    /// A completion with this content, streamed if the request asks for it.
    Say(String),
    /// Exactly this.
    Send {
        /// The status.
        status: u16,
        /// Headers.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// A success of this content type whose connection breaks after these bytes.
    Break {
        /// The content type.
        kind: &'static str,
        /// What is sent before.
        body: Vec<u8>,
    },
    /// No answer at all.
    Hang,
}

impl Behaviour {
    /// A JSON answer of that status.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::Send { status, headers: vec![("content-type", "application/json".to_owned())], body: body.into() }
    }

    /// A whole stream of server-sent events, as it is.
    pub fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::Send { status: 200, headers: vec![("content-type", "text/event-stream; charset=utf-8".to_owned())], body: body.into() }
    }
}

type Behave = dyn Fn(usize, &Seen) -> Behaviour + Send + Sync;

struct Shared {
    seen: Mutex<Vec<Seen>>,
    behave: Box<Behave>,
    latency: Option<Duration>,
}

impl OpenAiServer {
    /// Starts a server that does with the n-th request (from 0) what `behave` says.
    pub async fn start(behave: impl Fn(usize, &Seen) -> Behaviour + Send + Sync + 'static) -> io::Result<Self> {
        Self::run(None, Box::new(behave)).await
    }

    /// Starts a server that answers everything with the same content, each time after `latency`.
    pub async fn start_slow(latency: Duration, content: &str) -> io::Result<Self> {
        let content = content.to_owned();
        Self::run(Some(latency), Box::new(move |_, _| Behaviour::Say(content.clone()))).await
    }

    async fn run(latency: Option<Duration>, behave: Box<Behave>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { seen: Mutex::default(), behave, latency });
        let router = Router::new().fallback(handle).with_state(shared.clone());
        let task = tokio::spawn(async move {
            // It only ends by being aborted.
            let _ = axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await;
        });
        Ok(Self { address, shared, task })
    }

    /// What a client takes as base URL.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for OpenAiServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Seen {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

async fn handle(State(shared): State<Arc<Shared>>, ConnectInfo(peer): ConnectInfo<SocketAddr>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap_or_default();
    let headers = parts.headers.iter().map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let seen = Seen {
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
    respond((shared.behave)(number, &seen), &seen).await
}

async fn respond(behaviour: Behaviour, seen: &Seen) -> Response {
    match behaviour {
        Behaviour::Say(content) if seen.json()["stream"] == true => Box::pin(respond(Behaviour::events(stream_of(&content)), seen)).await,
        Behaviour::Say(content) => Box::pin(respond(Behaviour::json(200, completion(&content)), seen)).await,
        Behaviour::Send { status, headers, body } => {
            let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).expect("tests give valid headers")
        }
        Behaviour::Break { kind, body } => {
            let pieces = stream::iter([Ok(Bytes::from(body)), Err(io::Error::from(io::ErrorKind::ConnectionReset))]);
            Response::builder().header(CONTENT_TYPE, kind).body(Body::from_stream(pieces)).expect("tests give valid headers")
        }
        Behaviour::Hang => std::future::pending().await,
    }
}

/// A whole completion: 100 input tokens of which 40 were cached, 20 output tokens of which 5 were reasoning.
pub fn completion(content: &str) -> String {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "served-model",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content, "refusal": null}, "finish_reason": "stop"}],
        "usage": usage(),
    })
    .to_string()
}

/// The same as a stream: pieces of five characters (so that words and secrets are torn), the reason, the usage, the end.
pub fn stream_of(content: &str) -> String {
    let event = |choices: Value, usage: Value| {
        let chunk =
            json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "served-model", "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let mut text = event(json!([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]), Value::Null);
    let characters: Vec<char> = content.chars().collect();
    for piece in characters.chunks(5).map(String::from_iter) {
        text += &event(json!([{"index": 0, "delta": {"content": piece}, "finish_reason": null}]), Value::Null);
    }
    text += &event(json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]), Value::Null);
    text += &event(json!([]), usage());
    text + "data: [DONE]\n\n"
}

fn usage() -> Value {
    json!({
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 40}, "completion_tokens_details": {"reasoning_tokens": 5},
    })
}
