//! One way to an endpoint: sends requests, and puts what goes wrong into few classes and words that
//! hold no secret.

use super::{
    MOST_PARTIAL,
    classes::Reported,
    endpoint::{Endpoint, is_secret_name},
    incoming::{Deadlines, Incoming, Limit},
    wires::Wire,
};
use crate::status;
use futures_util::{StreamExt, stream};
use rebut_engine::{
    clean,
    model::{Fault, FaultKind},
    secrets::{BLANK, Scrubber},
};
use reqwest::{
    Body, Client, Method, Request, Response, StatusCode, Url,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, LOCATION},
};
use std::{
    borrow::Cow,
    convert::Infallible,
    error::Error,
    fmt::Write as _,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Most bytes read of an error's body.
const MOST_READ: usize = 64 << 10;
/// Most characters of it that are shown.
const MOST_SHOWN: usize = 300;

/// A client with an endpoint's headers and secrets.
pub(super) struct Caller {
    client: Client,
    pub endpoint: Arc<Endpoint>,
    pub headers: HeaderMap,
    /// Everything that must not come back out.
    scrubber: Scrubber,
}

/// A request, and whether anything of it has left: a body is taken once there is a connection.
pub(super) struct Call {
    request: Request,
    left: Arc<AtomicBool>,
}

impl Caller {
    pub fn new(client: Client, endpoint: Arc<Endpoint>, wire: &Wire) -> Result<Self, Fault> {
        let unusable = |what: String| {
            Fault::new(
                FaultKind::BadRequest,
                format!("provider {}: {what}", endpoint.name),
            )
        };
        let headers = endpoint.request_headers(wire).map_err(unusable)?;
        let scrubber = Scrubber::new(
            endpoint
                .secrets()
                .iter()
                .map(|secret| secret.reveal().to_owned()),
        );
        Ok(Self {
            client,
            headers,
            scrubber,
            endpoint,
        })
    }

    /// A request whose body is gone when it is sent. One that could be sent again is kept until the
    /// answer comes, which may take minutes and is never made use of: nothing is repeated or
    /// redirected here.
    pub fn post(&self, url: &Url, body: Vec<u8>) -> Call {
        let mut request = Request::new(Method::POST, url.clone());
        *request.headers_mut() = self.headers.clone();
        request
            .headers_mut()
            .insert(CONTENT_LENGTH, body.len().into());
        let left = Arc::new(AtomicBool::new(false));
        let leaving = left.clone();
        let body = stream::iter([body]).map(move |body| {
            leaving.store(true, Ordering::Relaxed);
            Ok::<_, Infallible>(body)
        });
        *request.body_mut() = Some(Body::wrap_stream(body));
        Call { request, left }
    }

    pub fn get(&self, url: Url) -> Call {
        let mut request = Request::new(Method::GET, url);
        *request.headers_mut() = self.headers.clone();
        Call {
            request,
            left: Arc::new(AtomicBool::new(true)),
        }
    }

    /// Sends, and waits for the head of the answer.
    pub async fn send(&self, call: Call, deadlines: &Deadlines) -> Result<Response, Fault> {
        let sent = self.client.execute(call.request);
        let late = |limit| match call.left.load(Ordering::Relaxed) {
            true => self.late(limit, false),
            false => self.fault(
                FaultKind::Unreachable,
                &format!(
                    "cannot connect to {}: {limit}",
                    self.endpoint.shown_address()
                ),
            ),
        };
        let sent = match deadlines.first() {
            None => sent.await,
            Some((at, limit)) => tokio::time::timeout_at(at, sent)
                .await
                .map_err(|_| late(limit))?,
        };
        sent.map_err(|error| self.unsent(&error))
    }

    /// The request could not be made, or the connection broke before anything came.
    fn unsent(&self, error: &reqwest::Error) -> Fault {
        if !error.is_connect() {
            return self.fault(FaultKind::Network, &chain(error));
        }
        let why = match error.is_timeout() {
            true => Limit::Connect(self.endpoint.timeouts.connect()).to_string(),
            false => format!(
                "cannot connect to {}: {}",
                self.endpoint.shown_address(),
                chain(error)
            ),
        };
        self.fault(
            if is_insecure(error) {
                FaultKind::Insecure
            } else {
                FaultKind::Unreachable
            },
            &why,
        )
    }

    /// A deadline passed. Whoever had begun to answer may be paid for it.
    pub fn late(&self, limit: Limit, begun: bool) -> Fault {
        let kind = if begun && matches!(limit, Limit::Idle(_)) {
            FaultKind::Incomplete
        } else {
            FaultKind::Timeout
        };
        self.fault(kind, &limit.to_string())
    }

    /// The endpoint answered with a status that is no success.
    pub async fn refused(&self, response: Response, deadlines: &Deadlines, model: &str) -> Fault {
        let status = response.status();
        if status.is_redirection() {
            return self.redirected(&response);
        }
        let asked = status::retry_after_ms(response.headers());
        let packed = is_packed(response.headers());
        let body = Incoming::new(self, response, deadlines)
            .read_some(MOST_READ)
            .await;
        let reported = if packed {
            Reported::default()
        } else {
            Reported::parse(&String::from_utf8_lossy(&body))
        };
        let mut fault = self.classified(status.as_u16(), &reported, model);
        fault.retry_after_ms = asked
            .or(reported.retry_after_ms)
            .filter(|_| fault.kind.is_passing());
        fault
    }

    /// The endpoint says that it is elsewhere. Only the host is told: what follows it may hold
    /// anything.
    fn redirected(&self, response: &Response) -> Fault {
        let location = response
            .headers()
            .get(LOCATION)
            .and_then(|location| location.to_str().ok());
        let host = location.and_then(|location| {
            response
                .url()
                .join(location)
                .ok()?
                .host_str()
                .map(str::to_owned)
        });
        let to = host.map_or_else(String::new, |host| format!(" to {host}"));
        let what = self.shown(&format!(
            "{} is a redirect{to}, and redirects are not followed",
            response.status()
        ));
        let (name, hint) = (
            &self.endpoint.name,
            format!("check base_url of the provider {}", self.endpoint.name),
        );
        Fault::new(
            status::kind_of(response.status().as_u16()),
            format!("{name}: {what} ({hint})"),
        )
    }

    /// An error inside an answer that calls itself a success.
    pub fn reported(&self, reported: &Reported, model: &str) -> Fault {
        let mut fault = self.classified(reported.status().unwrap_or(500), reported, model);
        fault.retry_after_ms = reported.retry_after_ms.filter(|_| fault.kind.is_passing());
        fault
    }

    fn classified(&self, status: u16, reported: &Reported, model: &str) -> Fault {
        let kind = reported.kind(status);
        let name = StatusCode::from_u16(status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or("status");
        let provider = &self.endpoint.name;
        let hint = match kind {
            FaultKind::Auth => match (&self.endpoint.key_env, &self.endpoint.key) {
                (Some(variable), Some(_)) => format!(" (check the key in {variable})"),
                _ => format!(
                    " (it wants a key; name its variable as key_env of the provider {provider})"
                ),
            },
            FaultKind::NotFound => {
                format!(" (model `{model}` at {})", self.endpoint.shown_address())
            }
            FaultKind::BadRequest if reported.is_about_form() => format!(
                " (this model does not take that form of structured output; set structured = \
                 \"object\" or \"none\" for the provider {provider})"
            ),
            _ => String::new(),
        };
        // The hint comes last but must survive the cut.
        let what = self.shown(&format!("{status} {name}: {}", reported.message));
        Fault {
            bars: reported.bars(status),
            ..Fault::new(kind, format!("{provider}: {what}{}", self.blanked(hint)))
        }
    }

    /// A fault whose message names the provider and is safe to show.
    pub fn fault(&self, kind: FaultKind, message: &str) -> Fault {
        Fault::new(
            kind,
            format!("{}: {}", self.endpoint.name, self.shown(message)),
        )
    }

    /// Cleaned first, as that may join a secret's halves; then blanked; cut last, as that may leave
    /// half of one.
    fn shown(&self, text: &str) -> String {
        let line = self.blanked(clean::on_one_line(text));
        clean::shortened(&line, MOST_SHOWN).into_owned()
    }

    pub fn blanked(&self, text: String) -> String {
        self.scrubber.scrub(text)
    }

    /// What there is of a broken answer, without secrets and without what may become one, and not
    /// too much of it.
    pub fn partial(&self, mut text: String) -> String {
        text.truncate(self.scrubber.kept_length(&text));
        let mut text = self.blanked(text);
        text.truncate(text.floor_char_boundary(MOST_PARTIAL));
        text
    }

    /// How much of a text still being written may be shown.
    pub fn safe_length(&self, text: &str) -> usize {
        self.scrubber.safe_length(text)
    }
}

/// Whether the body is compressed: nobody asked for that, and what it unpacks to is not known
/// before.
pub(super) fn is_packed(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_ENCODING)
        .is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Headers as people are shown them: one in each line, secrets blanked.
pub(super) fn shown_headers(headers: &HeaderMap) -> String {
    let mut text = String::new();
    for (name, value) in headers {
        let shown = match String::from_utf8_lossy(value.as_bytes()).into_owned() {
            bearer if is_secret_name(name.as_str()) && bearer.starts_with("Bearer ") => {
                format!("Bearer {BLANK}")
            }
            _ if is_secret_name(name.as_str()) => BLANK.to_owned(),
            value => value,
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name}: {shown}");
    }
    text
}

/// An error with its causes; the innermost is the one that helps.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

/// Whether the two sides could not agree on a secure connection, which the next attempt would not
/// change. A connection that merely broke is no such thing.
fn is_insecure(error: &(dyn Error + 'static)) -> bool {
    let inner = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    error.is::<rustls::Error>()
        || inner.is_some_and(|inner| is_insecure(inner))
        || error.source().is_some_and(is_insecure)
}

/// A body's text; of a page, what is between its tags.
pub(super) fn plain(body: &str) -> Cow<'_, str> {
    if !body.trim_start().starts_with('<') {
        return body.into();
    }
    let mut text = String::with_capacity(body.len().min(4096));
    for piece in body.split('<') {
        text.push_str(piece.split_once('>').map_or("", |(_, after)| after));
        text.push(' ');
    }
    text.into()
}
