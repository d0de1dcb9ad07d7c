//! Embeddings as OpenAI's `POST /embeddings` has them, which most endpoints of chat completions
//! speak too. One call is one request.

use super::{
    caller::{Caller, is_packed, plain, shown_headers},
    endpoint::Endpoint,
    incoming::{Deadlines, Incoming},
    wires::WireKind,
};
use rebut_engine::{
    embedding::{Embedded, Embedder, unpacked},
    model::{Fault, FaultKind, Price, Usage},
};
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

/// An embedding model at an endpoint.
pub struct HttpEmbedder {
    caller: Caller,
    name: String,
    model: String,
    url: Url,
    price: Option<Price>,
}

/// The most bytes one answer may have: some hundred vectors of some thousand numbers, in digits.
const MOST_BYTES: usize = 32 << 20;

impl HttpEmbedder {
    /// The model of that name at that endpoint. Fails when the endpoint's data cannot be used, or
    /// it speaks another format.
    pub fn new(client: Client, endpoint: Arc<Endpoint>, model: String) -> Result<Self, Fault> {
        let unusable = |what: String| {
            Fault::new(
                FaultKind::BadRequest,
                format!("provider {}: {what}", endpoint.name),
            )
        };
        let kind = endpoint.manner.wire;
        if !matches!(kind, WireKind::Chat | WireKind::Responses) {
            let what = format!(
                "the wire {} has no embeddings that rebut speaks; name a provider that speaks chat",
                kind.name()
            );
            return Err(unusable(what));
        }
        let url = endpoint.url(&["embeddings"], None).map_err(unusable)?;
        let (name, price) = (
            format!("{}:{model}", endpoint.name),
            endpoint.price_of(&model),
        );
        Ok(Self {
            caller: Caller::new(client, endpoint, kind.wire())?,
            name,
            model,
            url,
            price,
        })
    }

    fn body(&self, texts: &[String]) -> Vec<u8> {
        // Digits are what every endpoint can write; Base64 is read as well, since some send nothing
        // else.
        let ask = Ask {
            model: &self.model,
            input: texts,
            encoding_format: "float",
        };
        serde_json::to_vec(&ask).expect("strings are always JSON")
    }

    fn read(&self, body: &[u8], texts: usize) -> Result<Embedded, Fault> {
        let foreign = || {
            let text = String::from_utf8_lossy(&body[..body.len().min(1 << 16)]).into_owned();
            self.caller.fault(
                FaultKind::Server,
                &format!("the answer is no list of embeddings: {}", plain(&text)),
            )
        };
        let answer: Answered = serde_json::from_slice(body).map_err(|_| foreign())?;
        let nonsense = |what: String| self.caller.fault(FaultKind::Server, &what);
        if answer.data.len() != texts {
            return Err(nonsense(format!(
                "{} embeddings came for {texts} texts",
                answer.data.len()
            )));
        }
        let mut placed: Vec<Option<Vec<f32>>> = vec![None; texts];
        for (at, one) in answer.data.into_iter().enumerate() {
            // Some leave the index out; then they come in order.
            let index = one.index.unwrap_or(at);
            let place = placed.get_mut(index).filter(|place| place.is_none());
            let place = place.ok_or_else(|| {
                nonsense(format!(
                    "the index {index} is there twice, or belongs to no text"
                ))
            })?;
            *place = Some(
                one.embedding
                    .numbers()
                    .ok_or_else(|| nonsense("an embedding is no list of numbers".to_owned()))?,
            );
        }
        let usage = answer
            .usage
            .and_then(|usage| usage.prompt_tokens.or(usage.total_tokens))
            .map(|input| {
                let usage = Usage {
                    input,
                    ..Usage::default()
                };
                Usage {
                    cost_usd: self.price.map(|price| price.of(&usage)),
                    ..usage
                }
            });
        // As many as there are texts, and no index twice: every place is taken.
        Ok(Embedded {
            vectors: placed.into_iter().flatten().collect(),
            usage,
        })
    }
}

#[async_trait::async_trait]
impl Embedder for HttpEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[String], time_left: Duration) -> Result<Embedded, Fault> {
        let deadlines = Deadlines::start(time_left, &self.caller.endpoint.timeouts);
        let response = self
            .caller
            .send(self.caller.post(&self.url, self.body(texts)), &deadlines)
            .await?;
        if !response.status().is_success() {
            return Err(self.caller.refused(response, &deadlines, &self.model).await);
        }
        if is_packed(response.headers()) {
            return Err(self.caller.fault(
                FaultKind::Server,
                "the answer is compressed, which was not asked for; a proxy may do that",
            ));
        }
        let body = Incoming::new(&self.caller, response, &deadlines)
            .read(MOST_BYTES)
            .await?;
        self.read(&body, texts.len())
    }

    fn wire(&self, texts: &[String]) -> String {
        let body = self.body(texts);
        self.caller.blanked(format!(
            "POST {}\n{}\n{}",
            self.url,
            shown_headers(&self.caller.headers),
            String::from_utf8_lossy(&body)
        ))
    }
}

#[derive(Serialize)]
struct Ask<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Answered {
    data: Vec<One>,
    #[serde(default)]
    usage: Option<Used>,
}

#[derive(Deserialize)]
struct One {
    #[serde(default)]
    index: Option<usize>,
    embedding: Numbers,
}

/// A vector in digits, or in Base64.
#[derive(Deserialize)]
#[serde(untagged)]
enum Numbers {
    Digits(Vec<f32>),
    Packed(String),
}

impl Numbers {
    fn numbers(self) -> Option<Vec<f32>> {
        match self {
            Self::Digits(numbers) => Some(numbers),
            Self::Packed(text) => unpacked(&text),
        }
    }
}

#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    total_tokens: Option<u64>,
}
