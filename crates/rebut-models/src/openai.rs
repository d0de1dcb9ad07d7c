//! Any endpoint that speaks the OpenAI chat-completions protocol. One `ask` is one request: no retries, no redirects.
//!
//! What is sent depends on the endpoint's data and the request alone, never on what happened before, so that `wire` is
//! exact and every attempt in a journal stands for one request. An endpoint that does not know JSON schemas therefore
//! fails with [`FaultKind::BadRequest`] and the setting that helps (`structured = "object"` or `"none"`);
//! nothing is tried behind the user's back.

mod failure;
mod reading;
mod sending;
mod streaming;

use crate::key::{BLANKED, Key};
use reading::Completion;
use rebut_engine::model::{Answer, Fault, FaultKind, Finish, Model, Price, Request, Usage};
use reqwest::{
    Client, Method, Response, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap, fmt::Write as _, sync::Arc, sync::Once, time::Duration};

/// The most text one answer may have.
pub const MOST_TEXT: usize = 4 << 20;

/// Where and how to ask, shared by all models of one provider.
#[derive(Debug)]
pub struct Endpoint {
    /// The provider's name.
    pub name: String,
    /// Where `chat/completions` is below.
    pub base_url: String,
    /// The key sent as a bearer token.
    pub key: Option<Key>,
    /// More headers.
    pub headers: BTreeMap<String, String>,
    /// What models cost; one that is not listed has no known price.
    pub prices: BTreeMap<String, Price>,
    /// How the reply's form is asked for.
    pub structured: Structured,
    /// How the most tokens of an answer are asked for.
    pub max_tokens_field: MaxTokensField,
}

/// How an endpoint is told the form of the reply (the prompt says it too).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// By a strict JSON schema.
    #[default]
    Schema,
    /// As some JSON object.
    Object,
    /// Not at all.
    None,
}

/// The field that limits an answer's tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// What nearly all endpoints know.
    #[default]
    MaxTokens,
    /// What OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}

/// A model at an endpoint.
pub struct OpenAiModel {
    client: Client,
    endpoint: Arc<Endpoint>,
    model: String,
    url: Url,
    headers: HeaderMap,
    /// The body up to the messages, which is the same for every request.
    body_start: Vec<u8>,
    price: Option<Price>,
    /// Everything that must not come back out: the key, and headers that look like one.
    secrets: Vec<Key>,
}

/// The HTTP client all endpoints share. It reads no proxy from the environment, follows nothing and repeats nothing.
pub fn client() -> Result<Client, Fault> {
    static TLS: Once = Once::new();
    // A provider somebody else installed before is as good.
    TLS.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Client::builder()
        .user_agent(concat!("rebut/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .http1_only()
        .connect_timeout(Duration::from_secs(20))
        .build()
        .map_err(|error| Fault::new(FaultKind::Unavailable, format!("no HTTPS client: {}", failure::chain(&error))))
}

impl OpenAiModel {
    /// The model of that name at that endpoint. Fails when the endpoint's data cannot be used.
    pub fn new(client: Client, endpoint: Arc<Endpoint>, model: String) -> Result<Self, Fault> {
        let unusable = |what: String| Fault::new(FaultKind::BadRequest, format!("provider {}: {what}", endpoint.name));
        let url = chat_url(&endpoint.base_url).map_err(unusable)?;
        let headers = headers(&endpoint).map_err(unusable)?;
        let secret_headers = endpoint.headers.iter().filter(|(name, _)| is_secret_name(name)).map(|(_, value)| Key::new(value));
        let secrets = endpoint.key.iter().cloned().chain(secret_headers).collect();
        let price = endpoint.prices.get(&model).copied();
        let body_start = sending::start(&model);
        Ok(Self { client, endpoint, model, url, headers, body_start, price, secrets })
    }

    async fn send(&self, request: &Request<'_>) -> Result<Response, Fault> {
        let mut call = reqwest::Request::new(Method::POST, self.url.clone());
        *call.headers_mut() = self.headers.clone();
        *call.body_mut() = Some(self.body(request).into());
        self.client.execute(call).await.map_err(|error| self.broken(&error))
    }

    /// A complete, unstreamed answer.
    async fn whole(&self, response: Response) -> Result<Answer, Fault> {
        let body = self.read(response, MOST_TEXT).await?;
        let text = String::from_utf8_lossy(&body);
        let completion = Completion::parse(&text).ok().filter(Completion::is_one).ok_or_else(|| self.not_a_completion(&text))?;
        let outcome = completion.into_outcome().map_err(|error| self.reported(&error))?;
        self.answer(outcome)
    }

    async fn read(&self, mut response: Response, most: usize) -> Result<Vec<u8>, Fault> {
        let expected = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        let mut body = Vec::with_capacity(expected.min(most));
        while let Some(chunk) = response.chunk().await.map_err(|error| self.broken(&error))? {
            if body.len() + chunk.len() > most {
                return Err(self.fault(FaultKind::TooLarge, &format!("the answer is larger than {most} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn answer(&self, outcome: reading::Outcome) -> Result<Answer, Fault> {
        let reading::Outcome { text, refusal, finish, model, usage } = outcome;
        if let Some(refusal) = refusal.filter(|refusal| !refusal.is_empty()) {
            return Err(self.fault(FaultKind::Refused, &refusal));
        }
        let finish = finish.ok_or_else(|| self.fault(FaultKind::Refused, "the provider's content filter stopped the answer"))?;
        if text.trim().is_empty() {
            let why = match finish {
                Finish::Length => "no text before the token limit; raise max_tokens",
                Finish::Complete => "the answer has no text",
            };
            return Err(self.fault(FaultKind::Empty, why));
        }
        let usage = usage.map(|usage| Usage { cost_usd: self.price.map(|price| price.of(&usage)), ..usage });
        Ok(Answer { text: self.blanked(text), model: model.map(|model| self.blanked(model)), usage, finish, ..Answer::default() })
    }

    /// The text without any secret.
    fn blanked(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| match secret.blank(&text) {
            Cow::Owned(blanked) => blanked,
            Cow::Borrowed(_) => text,
        })
    }
}

#[async_trait::async_trait]
impl Model for OpenAiModel {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let response = self.send(&request).await?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let streamed =
            response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().to_ascii_lowercase().starts_with(b"text/event-stream"));
        // What comes decides, not what was asked for: some servers stream always, some never.
        if streamed { self.streamed(&request, response).await } else { self.whole(response).await }
    }

    fn wire(&self, request: &Request<'_>) -> String {
        let mut text = format!("POST {}\n", self.url);
        for (name, value) in &self.headers {
            let shown = match name {
                &AUTHORIZATION => format!("Bearer {BLANKED}"),
                name if is_secret_name(name.as_str()) => BLANKED.to_owned(),
                _ => String::from_utf8_lossy(value.as_bytes()).into_owned(),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name}: {shown}");
        }
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(&self.body(request)));
        self.blanked(text)
    }

    fn price(&self) -> Option<Price> {
        self.price
    }
}

fn chat_url(base: &str) -> Result<Url, String> {
    let mut url = Url::parse(base).map_err(|error| format!("base_url `{base}` is no URL ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("base_url `{base}` must begin with https:// or http://"));
    }
    // Not echoed: what is wrong here may be a secret.
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err("base_url may hold no user, password or query; put a key in key_env, anything else in headers".to_owned());
    }
    url.path_segments_mut().map_err(|()| format!("base_url `{base}` cannot be extended"))?.pop_if_empty().extend(["chat", "completions"]);
    Ok(url)
}

fn headers(endpoint: &Endpoint) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    for (name, value) in &endpoint.headers {
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{name}` is no header's name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| format!("the header `{name}` has a value that cannot be sent"))?;
        value.set_sensitive(is_secret_name(name));
        headers.insert(known, value);
    }
    if let Some(key) = &endpoint.key {
        let bearer = HeaderValue::from_str(&format!("Bearer {}", key.reveal()));
        let mut bearer = bearer.map_err(|_| "the key holds characters that cannot be sent; check its variable".to_owned())?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    Ok(headers)
}

fn is_secret_name(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie"].iter().any(|word| header.contains(word))
}
