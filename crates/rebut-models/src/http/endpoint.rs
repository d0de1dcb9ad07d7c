//! Where and how to ask: what is known of a provider and its models, and the address and headers
//! made from it.

use super::wires::{Wire, WireKind};
use crate::{address::Address, key::Key};
use rebut_engine::model::{Allowance, Price};
use reqwest::{
    Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// A provider, shared by all its models.
#[derive(Clone, Debug, Default)]
pub struct Endpoint {
    pub name: String,
    /// The address below which the wire's paths are, or why there is none.
    pub address: Option<Result<Address, String>>,
    /// The key, sent in the wire's own header.
    pub key: Option<Key>,
    pub key_env: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub prices: BTreeMap<String, Price>,
    /// What a model costs that is not listed; `None` when nobody knows.
    pub price: Option<Price>,
    pub manner: Manner,
    /// What is different for models whose name begins so; the longest beginning wins.
    pub models: BTreeMap<String, ModelData>,
    /// How often and how widely it may be asked.
    pub allowance: Allowance,
    /// How long it is waited for.
    pub timeouts: Timeouts,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manner {
    pub wire: WireKind,
    /// How the reply's form is asked for.
    pub structured: Structured,
    /// How the most tokens of an answer are asked for.
    pub max_tokens_field: MaxTokensField,
    /// The most tokens of an answer when the agent does not say; only sent on wires that insist on
    /// a number.
    pub max_tokens: u32,
    /// How the model is told to think harder.
    pub effort: EffortForm,
    /// Whether the model takes a temperature.
    pub temperature: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            wire: WireKind::default(),
            structured: Structured::default(),
            max_tokens_field: MaxTokensField::default(),
            max_tokens: 4096,
            effort: EffortForm::default(),
            temperature: true,
        }
    }
}

/// What is different for some models of a provider. What is left out is as at the provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelData {
    /// The wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireKind>,
    /// How the form of a reply is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Structured>,
    /// The field that limits an answer's tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_field: Option<MaxTokensField>,
    /// The most tokens of an answer, where a number must be sent and the agent has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How the model is told to think harder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortForm>,
    /// Whether the model takes a temperature; where it does not, an agent's temperature is left
    /// out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<bool>,
}

impl Manner {
    /// The same with the changes of some models.
    pub fn changed_by(self, data: &ModelData) -> Self {
        Self {
            wire: data.wire.unwrap_or(self.wire),
            structured: data.structured.unwrap_or(self.structured),
            max_tokens_field: data.max_tokens_field.unwrap_or(self.max_tokens_field),
            max_tokens: data.max_tokens.unwrap_or(self.max_tokens),
            effort: data.effort.unwrap_or(self.effort),
            temperature: data.temperature.unwrap_or(self.temperature),
        }
    }
}

/// How an endpoint is told the form of the reply (the prompt says it too).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// By a strict JSON schema.
    #[default]
    Schema,
    /// As some JSON object, where the wire can say so.
    Object,
    /// By a tool that must be called, whose input is the reply. Only on the wire `anthropic`.
    Tool,
    /// Not at all.
    None,
}

/// The field that limits an answer's tokens on the wire `chat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// What nearly all endpoints know.
    #[default]
    MaxTokens,
    /// What OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}

/// How a model is told to think harder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffortForm {
    /// By a word such as `low`.
    #[default]
    Level,
    /// By a number of tokens, as older models of Anthropic and Google want it.
    Budget,
    /// Not at all: it would refuse the request.
    None,
}

/// How long an endpoint is waited for, in seconds. The whole turn has its own limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Until there is a connection; 20 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<f64>,
    /// Until the first byte of the answer; 600 if left out, as an answer that is not streamed comes
    /// all at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<f64>,
    /// Between two pieces of an answer; 120 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<f64>,
}

impl Timeouts {
    pub fn connect(&self) -> Duration {
        seconds(self.connect, 20)
    }

    /// Until the first byte of the answer.
    pub fn first_byte(&self) -> Duration {
        seconds(self.first_byte, 600)
    }

    /// Between two pieces of an answer.
    pub fn idle(&self) -> Duration {
        seconds(self.idle, 120)
    }

    /// Whether every number is a time one can wait.
    pub fn is_possible(&self) -> bool {
        let possible = |seconds: f64| {
            seconds > 0.0 && Duration::try_from_secs_f64(seconds).is_ok_and(|time| time <= LONGEST)
        };
        [self.connect, self.first_byte, self.idle]
            .into_iter()
            .flatten()
            .all(possible)
    }

    pub fn changed_by(self, other: Self) -> Self {
        Self {
            connect: other.connect.or(self.connect),
            first_byte: other.first_byte.or(self.first_byte),
            idle: other.idle.or(self.idle),
        }
    }
}

/// Nobody waits longer than a day, and sums of times must not overflow.
const LONGEST: Duration = Duration::from_secs(86_400);

fn seconds(given: Option<f64>, usual: u64) -> Duration {
    given
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or(Duration::from_secs(usual))
        .min(LONGEST)
}

impl Endpoint {
    /// How the model of that name is asked.
    pub fn manner_of(&self, model: &str) -> Manner {
        let special = self
            .models
            .iter()
            .filter(|(beginning, _)| model.starts_with(beginning.as_str()))
            .max_by_key(|(beginning, _)| beginning.len());
        match special {
            Some((_, data)) => self.manner.clone().changed_by(data),
            None => self.manner.clone(),
        }
    }

    /// What the model of that name costs. A name with a date at its end costs what it costs
    /// without.
    pub fn price_of(&self, model: &str) -> Option<Price> {
        price_of(&self.prices, self.price, model)
    }

    /// The address with a path and a query below it.
    pub(super) fn url(&self, path: &[&str], query: Option<&str>) -> Result<Url, String> {
        Ok(self.address()?.below(path, query))
    }

    pub fn address(&self) -> Result<&Address, String> {
        match &self.address {
            Some(address) => address.as_ref().map_err(Clone::clone),
            None => Err("it has no base_url".to_owned()),
        }
    }

    pub(super) fn shown_address(&self) -> String {
        self.address()
            .map_or_else(|_| "its base_url".to_owned(), ToString::to_string)
    }

    /// The headers of every request: the wire's, the configured, the key.
    pub(super) fn request_headers(&self, wire: &Wire) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("rebut/", env!("CARGO_PKG_VERSION"))),
        );
        for (name, value) in wire.headers {
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        headers.extend(self.configured_headers()?);
        if let Some(key) = &self.key {
            let (name, prefix) = wire.key_header;
            let value = HeaderValue::from_str(&format!("{prefix}{}", key.reveal()));
            let mut value = value.map_err(|_| {
                "the key holds characters that cannot be sent; check its variable".to_owned()
            })?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }

    fn configured_headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let known = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| format!("`{name}` is no header's name"))?;
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| format!("the header `{name}` has a value that cannot be sent"))?;
            value.set_sensitive(is_secret_name(name));
            headers.insert(known, value);
        }
        Ok(headers)
    }

    /// What is wrong with its address or headers, if anything: no request could be made.
    pub(crate) fn problem(&self) -> Option<String> {
        self.url(&[], None)
            .err()
            .or_else(|| self.configured_headers().err())
    }

    /// Everything that must not come back out: the key, and headers that look like one.
    pub(crate) fn secrets(&self) -> Vec<Key> {
        let headers = self
            .headers
            .iter()
            .filter(|(name, _)| is_secret_name(name))
            .map(|(_, value)| Key::new(value));
        self.key.iter().cloned().chain(headers).collect()
    }
}

/// What a model costs by a table of prices. A name with a date at its end costs what it costs
/// without.
pub(crate) fn price_of(
    prices: &BTreeMap<String, Price>,
    otherwise: Option<Price>,
    model: &str,
) -> Option<Price> {
    let is_date = |end: &str| {
        end.len() >= 8
            && end.starts_with('-')
            && end
                .bytes()
                .all(|byte| byte == b'-' || byte.is_ascii_digit())
    };
    let undated = || {
        prices
            .iter()
            .find(|(name, _)| model.strip_prefix(name.as_str()).is_some_and(is_date))
            .map(|(_, price)| price)
    };
    prices.get(model).or_else(undated).copied().or(otherwise)
}

/// Whether a header of that name probably holds a secret.
pub(super) fn is_secret_name(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie"]
        .iter()
        .any(|word| header.contains(word))
}
