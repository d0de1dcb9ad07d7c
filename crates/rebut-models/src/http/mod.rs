//! Any endpoint that answers over HTTP, whichever wire format it speaks. One `ask` is one request:
//! no retries, no redirects.
//!
//! What is sent depends on the endpoint's data and the request alone, never on what happened
//! before, so that `wire` is exact and every attempt in a journal stands for one request. An
//! endpoint that does not know JSON schemas therefore fails with [`FaultKind::BadRequest`] and the
//! setting that helps (`structured = "object"` or `"none"`); nothing is tried behind the user's
//! back.

mod caller;
mod classes;
mod embeddings;
mod endpoint;
mod headroom;
mod incoming;
mod listing;
mod sse;
mod streaming;
mod wires;

pub use embeddings::HttpEmbedder;
pub use endpoint::{EffortForm, Endpoint, Manner, MaxTokensField, ModelData, Structured, Timeouts};
pub use wires::WireKind;

pub(crate) use endpoint::price_of;
pub(crate) use listing::list;

use crate::address::KnownNames;
use caller::{Caller, chain, shown_headers};
use incoming::{Deadlines, Incoming};
use rebut_engine::{
    agent::Agent,
    model::{Allowance, Answer, Fault, FaultKind, Finish, Model, Price, Request, Usage},
};
use reqwest::{Client, ClientBuilder, Url, header::CONTENT_TYPE};
use std::{sync::Arc, sync::Once, time::Duration};
use wires::{Ask, End, Outcome, Wire};

/// The most text one answer may have.
pub const MOST_TEXT: usize = 4 << 20;
/// The most of a broken answer that is kept as evidence.
const MOST_PARTIAL: usize = 16 << 10;

pub struct HttpModel {
    caller: Caller,
    model: String,
    wire: &'static Wire,
    manner: Manner,
    url: Url,
    stream_url: Url,
    /// The body's beginning, which is the same for every request.
    body_start: Vec<u8>,
    price: Option<Price>,
}

pub fn client(connect: Duration) -> Result<Client, Fault> {
    build(client_builder(connect))
}

/// A client that differs from the shared one in something.
pub fn build(builder: ClientBuilder) -> Result<Client, Fault> {
    builder.build().map_err(|error| {
        Fault::new(
            FaultKind::Unavailable,
            format!("no HTTPS client: {}", chain(&error)),
        )
    })
}

/// What every client here is: it reads no proxy from the environment, follows nothing, repeats
/// nothing and unpacks nothing.
pub fn client_builder(connect: Duration) -> ClientBuilder {
    static TLS: Once = Once::new();
    // A provider somebody else installed before is as good.
    TLS.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Client::builder()
        .no_proxy()
        .dns_resolver(Arc::new(KnownNames))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .http1_only()
        .connect_timeout(connect)
}

impl HttpModel {
    /// The model of that name at that endpoint. Fails when the endpoint's data cannot be used.
    pub fn new(client: Client, endpoint: Arc<Endpoint>, model: String) -> Result<Self, Fault> {
        let manner = endpoint.manner_of(&model);
        let wire = manner.wire.wire();
        let unusable = |what: String| {
            Fault::new(
                FaultKind::BadRequest,
                format!("provider {}: {what}", endpoint.name),
            )
        };
        if manner.structured == Structured::Tool && manner.wire != WireKind::Anthropic {
            return Err(unusable(format!(
                "structured = \"tool\" is for the wire anthropic; {} takes schema, object or none",
                wire.name
            )));
        }
        let url = |streamed| {
            let path = (wire.path)(&model, streamed);
            endpoint.url(
                &path.iter().map(String::as_str).collect::<Vec<_>>(),
                if streamed { wire.stream_query } else { None },
            )
        };
        let (url, stream_url) = (url(false).map_err(unusable)?, url(true).map_err(unusable)?);
        let body_start = (wire.start)(&model);
        let price = endpoint.price_of(&model);
        Ok(Self {
            caller: Caller::new(client, endpoint, wire)?,
            model,
            wire,
            manner,
            url,
            stream_url,
            body_start,
            price,
        })
    }

    fn body(&self, request: &Request<'_>, streamed: bool) -> Vec<u8> {
        let prompt = request.prompt;
        // A little more than the texts, for what must be escaped.
        let size = prompt.system.len() + prompt.user.len() + request.schema.json.len();
        let mut body = Vec::with_capacity(self.body_start.len() + size + size / 16 + 256);
        body.extend_from_slice(&self.body_start);
        (self.wire.body)(
            &Ask {
                request,
                manner: &self.manner,
                streamed,
            },
            &mut body,
        );
        body
    }

    fn url(&self, streamed: bool) -> &Url {
        if streamed {
            &self.stream_url
        } else {
            &self.url
        }
    }

    fn outcome(&self) -> Outcome {
        Outcome {
            by_tool: self.manner.structured == Structured::Tool,
            ..Outcome::default()
        }
    }

    async fn whole(&self, mut incoming: Incoming<'_>) -> Result<Answer, Fault> {
        let body = incoming.read(MOST_TEXT).await?;
        let text = String::from_utf8_lossy(&body);
        let mut outcome = self.outcome();
        let reported = match (self.wire.read)(&text, &mut outcome) {
            Ok(true) => return self.answer(outcome),
            Ok(false) | Err(wires::Unread::Foreign) => return Err(self.foreign(&text)),
            Err(wires::Unread::Reported(error)) => error,
        };
        Err(self.enriched(self.caller.reported(&reported, &self.model), outcome))
    }

    /// What the outcome comes to: an answer, or why it is none.
    fn answer(&self, mut outcome: Outcome) -> Result<Answer, Fault> {
        let end = outcome.end.take().unwrap_or(End::Complete);
        let fault = |kind, why: &str| self.caller.fault(kind, why);
        let finish = match (&outcome.refusal, end) {
            (Some(refusal), _) if !refusal.is_empty() => {
                let fault = fault(FaultKind::Refused, refusal);
                return Err(self.enriched(fault, outcome));
            }
            (_, End::Filtered(why)) => {
                let fault = fault(
                    FaultKind::Refused,
                    &format!("the provider's content filter stopped the answer ({why})"),
                );
                return Err(self.enriched(fault, outcome));
            }
            (_, End::Broken(why)) => {
                let fault = fault(
                    FaultKind::Incomplete,
                    &format!("the provider broke the answer off ({why})"),
                );
                return Err(self.enriched(fault, outcome));
            }
            (_, End::Complete) => Finish::Complete,
            (_, End::Length) => Finish::Length,
        };
        if outcome.text.trim().is_empty() {
            let why = match (finish, outcome.beside) {
                (Finish::Length, _) => "no text before the token limit; raise max_tokens",
                (Finish::Complete, true) => "the answer has no text, only thinking or tool calls",
                (Finish::Complete, false) => "the answer has no text",
            };
            return Err(self.enriched(fault(FaultKind::Empty, why), outcome));
        }
        let usage = self.priced(outcome.usage);
        let model = outcome.model.map(|model| self.caller.blanked(model));
        Ok(Answer {
            text: self.caller.blanked(outcome.text),
            model,
            usage,
            finish,
            ..Answer::default()
        })
    }

    /// The fault with what the attempt used and wrote: evidence, never an answer.
    fn enriched(&self, fault: Fault, outcome: Outcome) -> Fault {
        let partial = (!outcome.text.is_empty()).then(|| self.caller.partial(outcome.text));
        Fault {
            usage: self.priced(outcome.usage).map(Box::new),
            partial: partial.or(fault.partial),
            ..fault
        }
    }

    fn priced(&self, usage: Option<Usage>) -> Option<Usage> {
        usage.map(|usage| Usage {
            cost_usd: self.price.map(|price| price.of(&usage)),
            ..usage
        })
    }

    /// A success whose body is something else: a proxy's or a login's page, or an answer that
    /// somebody on the way has spoilt.
    fn foreign(&self, body: &str) -> Fault {
        self.caller.fault(
            FaultKind::Unreadable,
            &format!(
                "the answer is no {}: {}",
                self.wire.answers_with,
                caller::plain(body)
            ),
        )
    }
}

fn is_event_stream(kind: &[u8]) -> bool {
    const STREAM: &[u8] = b"text/event-stream";
    kind.get(..STREAM.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(STREAM))
}

#[async_trait::async_trait]
impl Model for HttpModel {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let deadlines = Deadlines::start(request.time_left, &self.caller.endpoint.timeouts);
        let streamed = request.deltas.wanted();
        let call = self
            .caller
            .post(self.url(streamed), self.body(&request, streamed));
        let response = self.caller.send(call, &deadlines).await?;
        let headroom = headroom::headroom(response.headers());
        let result = if !response.status().is_success() {
            Err(self.caller.refused(response, &deadlines, &self.model).await)
        } else if caller::is_packed(response.headers()) {
            Err(self.caller.fault(
                FaultKind::Unreadable,
                "the answer is compressed, which was not asked for; a proxy may do that",
            ))
        } else {
            let is_stream = response
                .headers()
                .get(CONTENT_TYPE)
                .is_some_and(|kind| is_event_stream(kind.as_bytes()));
            let mut incoming = Incoming::new(&self.caller, response, &deadlines);
            // What comes decides, not what was asked for or is written above it: some servers
            // stream always, some never.
            let is_stream = if is_stream {
                Ok(true)
            } else {
                incoming.begins_with_an_event().await
            };
            match is_stream {
                Ok(true) => self.streamed(&request, incoming).await,
                Ok(false) => self.whole(incoming).await,
                Err(fault) => Err(fault),
            }
        };
        match result {
            Ok(answer) => Ok(Answer { headroom, ..answer }),
            Err(fault) => Err(Fault {
                headroom: headroom.map(Box::new),
                ..fault
            }),
        }
    }

    fn wire(&self, request: &Request<'_>) -> String {
        let streamed = request.deltas.wanted();
        let mut text = format!(
            "POST {}\n{}\n",
            self.url(streamed),
            shown_headers(&self.caller.headers)
        );
        text.push_str(&String::from_utf8_lossy(&self.body(request, streamed)));
        self.caller.blanked(text)
    }

    fn left_out(&self, request: &Request<'_>) -> Vec<&'static str> {
        Ask {
            request,
            manner: &self.manner,
            streamed: request.deltas.wanted(),
        }
        .left_out(self.wire)
    }

    fn answer_limit(&self, agent: &Agent) -> Option<u32> {
        agent
            .max_tokens
            .or_else(|| (self.wire.usual_limit)(&self.manner, agent.effort))
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    fn allowance(&self) -> Allowance {
        self.caller.endpoint.allowance
    }
}
