//! Debates at a server: what is asked of it, over HTTP. What it answers is read into the same types that a desk of this machine gives.

use crate::{app::App, cli::Form, error::CliError, serve::Keyring};
use futures_util::{Stream, StreamExt};
use rebut_engine::{
    DebateId,
    clean::on_one_line,
    event::GateOpened,
    outcome::{Ending, Outcome},
    record::{Envelope, Record},
    store::{Session, Status},
};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url, header};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{collections::VecDeque, path::Path, pin::Pin, time::Duration};

/// A server, and the key that is shown to it.
#[derive(Clone)]
pub struct Remote {
    client: reqwest::Client,
    base: Url,
    token: String,
}

/// A connection is not waited for longer.
const CONNECT: Duration = Duration::from_secs(10);

/// An answer is not waited for longer; streams are.
const PATIENCE: Duration = Duration::from_secs(90);

/// Answers are read up to this size.
const MOST_BYTES: usize = 256 << 20;

/// A debate in a list.
#[derive(Deserialize)]
struct Card {
    id: DebateId,
    format: String,
    topic: String,
    status: Status,
    outcome: Option<Ending>,
    consensus_score: Option<f64>,
    created_at: String,
    updated_at: String,
    completed_at: Option<String>,
    rounds: u32,
    rehearsal: bool,
}

#[derive(Deserialize)]
struct Cards {
    debates: Vec<Card>,
    next: Option<String>,
}

/// Where a debate stands.
#[derive(Deserialize)]
pub struct Standing {
    /// Whether a process runs it now.
    pub is_run: bool,
    /// A gate that waits.
    pub open_gate: Option<GateOpened>,
}

#[derive(Deserialize)]
struct Page {
    events: Vec<Envelope<'static>>,
    after: u64,
    has_more: bool,
}

impl Remote {
    /// The server that was named, if one was.
    pub fn named(app: &App) -> Result<Option<Self>, CliError> {
        let Some(url) = &app.global.server else { return Ok(None) };
        let bad = |why: &str| CliError::usage(format!("`--server {}`: {why}", on_one_line(url))).hint("write it as http://127.0.0.1:7878");
        let base = Url::parse(url.trim_end_matches('/')).map_err(|error| bad(&error.to_string()))?;
        let host = base.host_str().ok_or_else(|| bad("there is no host in it"))?.to_owned();
        if !base.username().is_empty() || base.password().is_some() {
            return Err(
                bad("a key does not belong into an address").hint("put the token into REBUT_TOKEN, or name its file with --token-file")
            );
        }
        let is_here = host == "localhost" || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        match base.scheme() {
            "https" => {}
            "http" if is_here => {}
            "http" => return Err(bad("over http anybody on the way could read the token").hint("use https; http is for this machine only")),
            _ => return Err(bad("only http and https are spoken")),
        }
        let client = rebut_models::http::client(CONNECT).map_err(|fault| CliError::failed(fault.message))?;
        Ok(Some(Self { client, base, token: token(app, is_here)? }))
    }

    /// Sends a request without a body.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.read(self.request(Method::GET, path).timeout(PATIENCE)).await
    }

    /// Sends a request with a body.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl serde::Serialize) -> Result<T, CliError> {
        self.read(self.request(Method::POST, path).timeout(PATIENCE).json(body)).await
    }

    /// Removes something.
    pub async fn delete(&self, path: &str) -> Result<(), CliError> {
        self.send(self.request(Method::DELETE, path).timeout(PATIENCE)).await.map(drop)
    }

    /// Sessions, newest first, at most so many; 0 is all.
    pub async fn sessions(&self, status: Option<Status>, limit: usize) -> Result<Vec<Session>, CliError> {
        let mut sessions = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut query = "/v1/debates?limit=100".to_owned();
            if let Some(status) = status {
                query.push_str(&format!("&status={}", status.as_str()));
            }
            // What came from the server goes back to it as it is: digits, letters and signs that mean nothing in an address.
            if let Some(cursor) = &cursor {
                query.push_str(&format!("&cursor={cursor}"));
            }
            let page: Cards = self.get(&query).await?;
            sessions.extend(page.debates.into_iter().map(session));
            cursor = page.next;
            if cursor.is_none() || (limit > 0 && sessions.len() >= limit) {
                sessions.truncate(if limit == 0 { usize::MAX } else { limit });
                return Ok(sessions);
            }
        }
    }

    /// Where a debate stands.
    pub async fn standing(&self, id: DebateId) -> Result<Standing, CliError> {
        self.get(&format!("/v1/debates/{id}/status")).await
    }

    /// Everything recorded of a debate.
    pub async fn records(&self, id: DebateId) -> Result<Vec<Record>, CliError> {
        let (mut records, mut after) = (Vec::new(), 0);
        loop {
            let page: Page = self.get(&format!("/v1/debates/{id}/events?after={after}")).await?;
            records.extend(page.events.into_iter().map(Envelope::into_record));
            after = page.after;
            if !page.has_more {
                return Ok(records);
            }
        }
    }

    /// A debate as a file of that form.
    pub async fn export(&self, id: DebateId, form: Form) -> Result<String, CliError> {
        let name = clap::ValueEnum::to_possible_value(&form).map(|value| value.get_name().to_owned()).unwrap_or_default();
        let request = self.request(Method::GET, &format!("/v1/debates/{id}/export?format={name}")).timeout(PATIENCE);
        let bytes = body(self.send(request).await?).await?;
        String::from_utf8(bytes).map_err(|_| CliError::failed("the server sent something that is no text"))
    }

    /// What is recorded after an event, as it comes.
    pub fn follow(&self, id: DebateId, after: u64) -> Following {
        Following { remote: self.clone(), id, seen: after, stream: None, rest: Vec::new(), waiting: VecDeque::new(), tries: 0 }
    }

    /// Does something to a debate.
    pub async fn act(&self, id: DebateId, what: &str, body: &Value) -> Result<Value, CliError> {
        let request = self.request(Method::POST, &format!("/v1/debates/{id}/{what}")).timeout(PATIENCE).json(body);
        let bytes = self::body(self.send(request).await?).await?;
        Ok(if bytes.is_empty() { json!({}) } else { serde_json::from_slice(&bytes).map_err(unreadable)? })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        self.client.request(method, url).bearer_auth(&self.token)
    }

    async fn read<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, CliError> {
        serde_json::from_slice(&body(self.send(request).await?).await?).map_err(unreadable)
    }

    /// Sends a request; a problem becomes the error that the same command has here.
    async fn send(&self, request: RequestBuilder) -> Result<Response, CliError> {
        let response = request.send().await.map_err(|error| self.away(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        Err(problem(status, &body(response).await?))
    }

    fn away(&self, error: &reqwest::Error) -> CliError {
        // Without the address in it, which the sentence has already.
        let why = std::error::Error::source(error).map_or_else(|| "no answer".to_owned(), ToString::to_string);
        CliError::failed(format!("{} does not answer: {}", self.base, on_one_line(&why)))
            .hint("is the server running there? `rebut serve` starts one")
    }
}

/// The token: from the environment, from a file, or from the one that a server of this machine wrote.
fn token(app: &App, is_here: bool) -> Result<String, CliError> {
    let own = Keyring::of(&app.place).token_file();
    let from = |path: &Path| std::fs::read_to_string(path).map_err(|error| CliError::file("read", path, &error));
    let token = match (&app.global.token_file, crate::app::environment("REBUT_TOKEN")) {
        (Some(path), _) => from(path)?,
        (None, Some(token)) => token,
        (None, None) if is_here && own.exists() => from(&own)?,
        (None, None) => {
            return Err(
                CliError::usage("a server wants a key").hint("put its token into REBUT_TOKEN, or name its file with --token-file FILE")
            );
        }
    };
    let token = token.trim();
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if is_token { Ok(token.to_owned()) } else { Err(CliError::usage("that is no token: it is one word of letters, digits and signs")) }
}

/// The body of an answer, as long as it has an end.
async fn body(response: Response) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(&piece.map_err(|error| CliError::failed(format!("the answer broke off: {error}")))?);
        if bytes.len() > MOST_BYTES {
            return Err(CliError::failed("the answer is too large"));
        }
    }
    Ok(bytes)
}

fn unreadable(error: serde_json::Error) -> CliError {
    CliError::failed(format!("the server said something unexpected: {error}")).hint("is it a server of rebut, of this version?")
}

/// A problem as an error of this command line: what was asked wrongly is a usage error here too.
fn problem(status: StatusCode, body: &[u8]) -> CliError {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Problem {
        detail: String,
        hint: Option<String>,
    }
    let Problem { detail, hint } = serde_json::from_slice(body).unwrap_or_default();
    let message = if detail.is_empty() { format!("the server answered {status}") } else { detail };
    let error = match status.as_u16() {
        400 | 403 | 404 | 409 | 422 => CliError::usage(message),
        401 => CliError::usage("the server does not know this key")
            .hint("put its token into REBUT_TOKEN, or name its file with --token-file FILE"),
        _ => CliError::failed(message),
    };
    match hint {
        Some(hint) => error.hint(hint),
        None if status == StatusCode::NOT_FOUND => error.hint("`rebut ls` lists the debates of this key"),
        None => error,
    }
}

/// A session as far as a card tells it.
fn session(card: Card) -> Session {
    let outcome = card.outcome.map(|ending| Outcome::without_result(ending, "", Vec::new()));
    Session {
        id: card.id,
        topic: card.topic,
        status: card.status,
        format: card.format,
        topology_type: String::new(),
        coordination_protocol: String::new(),
        config: "{}".to_owned(),
        initiated_by: String::new(),
        created_at: card.created_at,
        updated_at: card.updated_at,
        completed_at: card.completed_at,
        total_rounds: card.rounds,
        final_consensus_score: card.consensus_score,
        outcome: outcome.and_then(|outcome| serde_json::to_string(&outcome).ok()),
        rehearsal: card.rehearsal,
    }
}

type Bytes = Pin<Box<dyn Stream<Item = Result<Vec<u8>, reqwest::Error>> + Send>>;

/// The events of one debate, one after the other. A connection that breaks is made anew, from the last event that was seen.
pub struct Following {
    remote: Remote,
    id: DebateId,
    seen: u64,
    stream: Option<Bytes>,
    rest: Vec<u8>,
    waiting: VecDeque<Record>,
    /// How often in a row nothing came.
    tries: u32,
}

/// So often in a row a connection is made anew before the server counts as gone.
const TRIES: u32 = 30;

/// So long is waited in between.
const BETWEEN: Duration = Duration::from_secs(1);

impl Following {
    /// The next event; `None` when the debate has ended or was left. May be dropped and asked again: nothing is lost.
    pub async fn next(&mut self) -> Result<Option<Record>, CliError> {
        loop {
            if let Some(record) = self.waiting.pop_front() {
                (self.seen, self.tries) = (record.seq, 0);
                return Ok(Some(record));
            }
            let Some(stream) = &mut self.stream else {
                if !self.connect().await? {
                    return Ok(None);
                }
                continue;
            };
            match stream.next().await {
                Some(Ok(piece)) => {
                    self.rest.extend_from_slice(&piece);
                    self.take_lines()?;
                }
                // Over, or broken: coming back tells which.
                Some(Err(_)) | None => (self.stream, self.rest) = (None, Vec::new()),
            }
        }
    }

    /// Whether there is more to come.
    async fn connect(&mut self) -> Result<bool, CliError> {
        if self.tries > 0 {
            tokio::time::sleep(BETWEEN).await;
        }
        self.tries += 1;
        let request = self.remote.request(Method::GET, &format!("/v1/debates/{}/events", self.id));
        let request = request.header(header::ACCEPT, "text/event-stream").header("last-event-id", self.seen.to_string());
        match self.remote.send(request).await {
            Ok(response) if response.status() == StatusCode::NO_CONTENT => return Ok(false),
            Ok(response) => self.stream = Some(Box::pin(response.bytes_stream().map(|piece| piece.map(|bytes| bytes.to_vec())))),
            Err(error) if error.is_usage() || self.tries > TRIES => return Err(error),
            Err(_) => {}
        }
        Ok(true)
    }

    /// Takes what lines are complete. An event is one line of JSON; what has no number is passing.
    fn take_lines(&mut self) -> Result<(), CliError> {
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data:") else { continue };
            let value: Value = serde_json::from_slice(data.trim_ascii()).map_err(unreadable)?;
            if value.get("seq").is_some() {
                self.waiting.push_back(Envelope::deserialize(value).map_err(unreadable)?.into_record());
            }
        }
        Ok(())
    }
}
