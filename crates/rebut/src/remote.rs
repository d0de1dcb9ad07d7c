//! Debates at a server: what is asked of it, over HTTP. What it answers is read into the same types
//! that a desk of this machine gives.

mod following;

pub use following::{Following, Voice};

use crate::{
    app::App,
    cli::Form,
    error::{CliError, innermost},
    hint_command::command,
    read_file,
    serve::Keyring,
};
use futures_util::StreamExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rebut_engine::{
    DebateId,
    audit::Audit,
    clean::on_one_line,
    event::GateOpened,
    outcome::{Ending, Outcome},
    record::{Envelope, Record},
    store::{Filter, Session, Status},
};
use rebut_server::resolver::TurnRequest;
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::time::Duration;

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

#[derive(Deserialize)]
pub struct Standing {
    /// Whether a process runs it now.
    pub is_run: bool,
    /// Why it is not, where the server says so.
    #[serde(default)]
    pub stalled: Option<String>,
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
        let Some(url) = &app.global.server else {
            return Ok(None);
        };
        let bad = |why: &str| {
            CliError::usage(format!("`--server {}`: {why}", on_one_line(url)))
                .hint("write it as http://127.0.0.1:7878")
        };
        let base =
            Url::parse(url.trim_end_matches('/')).map_err(|error| bad(&error.to_string()))?;
        let host = base
            .host_str()
            .ok_or_else(|| bad("there is no host in it"))?
            .to_owned();
        if !base.username().is_empty() || base.password().is_some() {
            return Err(bad("a key does not belong into an address")
                .hint("put the token into REBUT_TOKEN, or name its file with --token-file"));
        }
        let is_here = host == "localhost"
            || host
                .trim_matches(['[', ']'])
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback());
        match base.scheme() {
            "https" => {}
            "http" if is_here => {}
            "http" => {
                return Err(bad("over http anybody on the way could read the token")
                    .hint("use https; http is for this machine only"));
            }
            _ => return Err(bad("only http and https are spoken")),
        }
        let client =
            rebut_models::http::client(CONNECT).map_err(|fault| CliError::failed(fault.message))?;
        Ok(Some(Self {
            client,
            base,
            token: token(app, is_here)?,
        }))
    }

    /// Sends a request without a body.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.read(self.request(Method::GET, path).timeout(PATIENCE))
            .await
    }

    /// Sends a request with a body.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl serde::Serialize,
    ) -> Result<T, CliError> {
        self.read(
            self.request(Method::POST, path)
                .timeout(PATIENCE)
                .json(body),
        )
        .await
    }

    pub async fn delete(&self, path: &str) -> Result<(), CliError> {
        self.send(self.request(Method::DELETE, path).timeout(PATIENCE))
            .await
            .map(drop)
    }

    /// Sessions of the key's owner, newest first. Whose they are and where to begin are not among
    /// what can be asked for.
    pub async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, CliError> {
        let most = if filter.limit == 0 {
            usize::MAX
        } else {
            filter.limit
        };
        let (mut sessions, mut cursor): (Vec<Session>, Option<String>) = (Vec::new(), None);
        loop {
            let page: Cards = self
                .get(&format!(
                    "/v1/debates?{}",
                    query(filter, most - sessions.len(), cursor.as_deref())
                ))
                .await?;
            sessions.extend(page.debates.into_iter().map(session));
            cursor = page.next;
            if cursor.is_none() || sessions.len() >= most {
                sessions.truncate(most);
                return Ok(sessions);
            }
        }
    }

    pub async fn standing(&self, id: DebateId) -> Result<Standing, CliError> {
        self.get(&format!("/v1/debates/{id}/status")).await
    }

    pub async fn records(&self, id: DebateId) -> Result<Vec<Record>, CliError> {
        let (mut records, mut after) = (Vec::new(), 0);
        loop {
            let page: Page = self
                .get(&format!("/v1/debates/{id}/events?after={after}"))
                .await?;
            records.extend(page.events.into_iter().map(Envelope::into_record));
            after = page.after;
            if !page.has_more {
                return Ok(records);
            }
        }
    }

    /// A debate as a file of that form.
    pub async fn export(&self, id: DebateId, form: Form) -> Result<String, CliError> {
        let name = clap::ValueEnum::to_possible_value(&form)
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default();
        let request = self
            .request(
                Method::GET,
                &format!("/v1/debates/{id}/export?format={name}"),
            )
            .timeout(PATIENCE);
        let bytes = body(self.send(request).await?).await?;
        String::from_utf8(bytes)
            .map_err(|_| CliError::failed("the server sent something that is no text"))
    }

    /// What is recorded after an event, as it comes.
    pub fn follow(&self, id: DebateId, after: u64) -> Following {
        Following::new(self.clone(), id, after)
    }

    pub async fn act(&self, id: DebateId, what: &str, body: &Value) -> Result<Value, CliError> {
        let request = self
            .request(Method::POST, &format!("/v1/debates/{id}/{what}"))
            .timeout(PATIENCE)
            .json(body);
        let bytes = self::body(self.send(request).await?).await?;
        Ok(if bytes.is_empty() {
            json!({})
        } else {
            serde_json::from_slice(&bytes).map_err(unreadable)?
        })
    }

    pub async fn remove(&self, id: DebateId) -> Result<(), CliError> {
        self.delete(&format!("/v1/debates/{id}")).await
    }

    /// What the server itself says of a journal.
    pub async fn audit(&self, id: DebateId) -> Result<Audit, CliError> {
        self.get(&format!("/v1/debates/{id}/audit")).await
    }

    /// The turns of a debate that wait for people.
    pub async fn turns(&self, id: DebateId) -> Result<Vec<TurnRequest>, CliError> {
        #[derive(Deserialize)]
        struct Turns {
            turns: Vec<TurnRequest>,
        }
        let Turns { turns } = self.get(&format!("/v1/debates/{id}/turn-requests")).await?;
        Ok(turns)
    }

    pub async fn turn(&self, id: DebateId, turn: &str) -> Result<TurnRequest, CliError> {
        self.get(&format!("/v1/debates/{id}/turn-requests/{}", encoded(turn)))
            .await
    }

    pub async fn answer_turn(&self, id: DebateId, turn: &str, text: &str) -> Result<(), CliError> {
        self.act(
            id,
            &format!("turn-requests/{}", encoded(turn)),
            &json!({ "text": text }),
        )
        .await
        .map(drop)
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
        let why = if error.is_timeout() {
            "it takes too long".to_owned()
        } else {
            innermost(error)
        };
        CliError::failed(format!("{} does not answer: {why}", self.base))
            .hint("is the server running there? `rebut serve` starts one")
    }
}

/// So many debates come in a page at most.
const MOST_IN_PAGE: usize = 100;

/// What stands behind the question mark of a list. What came from the server goes back to it as it
/// is.
fn query(filter: &Filter, left: usize, cursor: Option<&str>) -> String {
    let limit = left.min(MOST_IN_PAGE).to_string();
    let rows = [
        ("limit", Some(limit.as_str())),
        ("status", filter.status.map(Status::as_str)),
        ("format", filter.format.as_deref()),
        ("q", filter.topic.as_deref()),
        ("prefix", filter.prefix.as_deref()),
        ("cursor", cursor),
    ];
    let given = rows
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", encoded(value?))));
    given.collect::<Vec<_>>().join("&")
}

/// What means something in an address.
const MEANT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A text as one part of an address.
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, MEANT).to_string()
}

/// The token: from the environment, from a file, or from the one that a server of this machine
/// wrote.
fn token(app: &App, is_here: bool) -> Result<String, CliError> {
    let own = app
        .place
        .as_ref()
        .map(|place| Keyring::of(place).token_file())
        .filter(|file| is_here && file.exists());
    let token = match (
        &app.global.token_file,
        crate::app::environment("REBUT_TOKEN"),
        own,
    ) {
        (Some(path), ..) => read_file::text(path)?,
        (None, Some(token), _) => token,
        (None, None, Some(own)) => read_file::text(&own)?,
        (None, None, None) => {
            return Err(CliError::usage("a server wants a key")
                .hint("put its token into REBUT_TOKEN, or name its file with --token-file FILE"));
        }
    };
    let token = token.trim();
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if is_token {
        Ok(token.to_owned())
    } else {
        Err(CliError::usage(
            "that is no token: it is one word of letters, digits and signs",
        ))
    }
}

/// The body of an answer, as long as it has an end.
async fn body(response: Response) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(
            &piece.map_err(|error| CliError::failed(format!("the answer broke off: {error}")))?,
        );
        if bytes.len() > MOST_BYTES {
            return Err(CliError::failed("the answer is too large"));
        }
    }
    Ok(bytes)
}

fn unreadable(error: serde_json::Error) -> CliError {
    CliError::failed(format!("the server said something unexpected: {error}"))
        .hint("is it a server of rebut, of this version?")
}

/// A problem as an error of this command line: what was asked wrongly is a usage error here too.
fn problem(status: StatusCode, body: &[u8]) -> CliError {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Problem {
        #[serde(rename = "type")]
        kind: String,
        detail: String,
        hint: Option<String>,
    }
    let Problem { kind, detail, hint } = serde_json::from_slice(body).unwrap_or_default();
    let message = if detail.is_empty() {
        format!("the server answered {status}")
    } else {
        detail
    };
    let error = match status.as_u16() {
        _ if kind == "urn:rebut:no-model" => {
            CliError::no_model(message).hint("whoever runs the server sees why with: rebut doctor")
        }
        400 | 403 | 404 | 409 | 422 => CliError::usage(message),
        401 => CliError::usage("the server does not know this key")
            .hint("put its token into REBUT_TOKEN, or name its file with --token-file FILE"),
        _ => CliError::failed(message),
    };
    match hint {
        Some(hint) => error.hint(hint),
        None if status == StatusCode::NOT_FOUND => {
            error.hint(format!("`{}` lists the debates of this key", command("ls")))
        }
        None => error,
    }
}

/// A session as far as a card tells it.
fn session(card: Card) -> Session {
    let outcome = card
        .outcome
        .map(|ending| Outcome::without_result(ending, "", Vec::new()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_of_a_list_is_an_address_whatever_it_says() {
        let rows = [
            (Filter::default(), usize::MAX, None, "limit=100"),
            (
                Filter {
                    prefix: Some("0a-".to_owned()),
                    ..Filter::default()
                },
                2,
                None,
                "limit=2&prefix=0a-",
            ),
            (
                Filter {
                    status: Some(Status::Paused),
                    format: Some("a&b=c".to_owned()),
                    topic: Some("é #".to_owned()),
                    ..Filter::default()
                },
                7,
                Some("2026-01-01T00:00:00.000Z~0"),
                "limit=7&status=paused&format=a%26b%3Dc&q=%C3%A9%20%23&cursor=2026-01-01T00%3A00%3A00.000Z~0",
            ),
        ];
        for (filter, left, cursor, expected) in rows {
            assert_eq!(query(&filter, left, cursor), expected);
        }
        assert_eq!(encoded("recommend/effort 2"), "recommend%2Feffort%202");
    }
}
