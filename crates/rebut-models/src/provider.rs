//! A provider as data: the built-in ones and what a configuration changes of them.

use crate::{
    address::{Address, BadAddress},
    http::{
        EffortForm, Endpoint, Manner, MaxTokensField, ModelData, Structured, Timeouts, WireKind,
        price_of,
    },
    key::Key,
};
use rebut_engine::model::{Allowance, Fault, FaultKind, Price};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A provider as a configuration describes it under `[providers.NAME]`. What is left out keeps its
/// built-in value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderData {
    /// Where the endpoint is, up to and with its version, e.g. `https://example.org/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Whether it may be asked over `http://` although it is not on this machine: what is sent,
    /// keys too, can then be read on the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_http: Option<bool>,
    /// The environment variable that holds the key; empty or left out for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// The wire format it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireKind>,
    /// More headers to send.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How the form of a reply is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Structured>,
    /// The field that limits an answer's tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_field: Option<MaxTokensField>,
    /// The most tokens of an answer, where a number must be sent and the agent has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How its models are told to think harder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortForm>,
    /// Whether its models take a temperature; where they do not, an agent's temperature is left
    /// out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<bool>,
    /// What is different for models whose name begins so; the longest beginning wins.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelData>,
    /// The model the auto panel takes when the key is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_model: Option<String>,
    /// How often and how widely it may be asked, over all debates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Allowance>,
    /// How long it is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
    /// US dollars per million tokens, by model.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// US dollars per million tokens of every model without a price of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The day the prices were looked up, `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priced_on: Option<String>,
}

pub fn built_in() -> BTreeMap<String, ProviderData> {
    toml::from_str(include_str!("providers.toml"))
        .expect("the compiled-in providers are valid, as a test shows")
}

impl ProviderData {
    /// The same with a configuration's changes.
    pub fn changed_by(mut self, other: &Self) -> Self {
        let other = other.clone();
        self.headers.extend(other.headers);
        self.prices.extend(other.prices);
        for (beginning, changes) in other.models {
            let known = self.models.remove(&beginning).unwrap_or_default();
            self.models.insert(beginning, changed_model(known, changes));
        }
        Self {
            base_url: other.base_url.or(self.base_url),
            allow_http: other.allow_http.or(self.allow_http),
            key_env: other.key_env.or(self.key_env),
            wire: other.wire.or(self.wire),
            structured: other.structured.or(self.structured),
            max_tokens_field: other.max_tokens_field.or(self.max_tokens_field),
            max_tokens: other.max_tokens.or(self.max_tokens),
            effort: other.effort.or(self.effort),
            temperature: other.temperature.or(self.temperature),
            auto_model: other.auto_model.or(self.auto_model),
            allowance: changed_allowance(self.allowance, other.allowance),
            timeouts: self.timeouts.map_or(other.timeouts, |known| {
                Some(known.changed_by(other.timeouts.unwrap_or_default()))
            }),
            price: other.price.or(self.price),
            priced_on: other.priced_on.or(self.priced_on),
            ..self
        }
    }

    /// What the model of that name costs; `None` when nobody knows.
    pub fn price_of(&self, model: &str) -> Option<Price> {
        price_of(&self.prices, self.price, model)
    }

    /// The endpoint it describes; `key` looks up a variable. Fails when something is missing or
    /// cannot be.
    pub(crate) fn endpoint(
        self,
        name: &str,
        key: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, Fault> {
        let unusable = |what: String| {
            Err(Fault::new(
                FaultKind::BadRequest,
                format!("provider {name}: {what}"),
            ))
        };
        let Some(base_url) = self.base_url else {
            let message =
                format!("provider {name} has no base_url; add one under [providers.{name}]");
            return Err(Fault::new(FaultKind::NotFound, message));
        };
        let own = self.price.iter().map(|price| ("its models", price));
        let prices = self
            .prices
            .iter()
            .map(|(model, price)| (model.as_str(), price))
            .chain(own);
        if let Some((model, _)) = prices.into_iter().find(|(_, price)| !price.is_possible()) {
            return unusable(format!(
                "the price of {model} must be made of numbers that are not negative"
            ));
        }
        let timeouts = self.timeouts.unwrap_or_default();
        if !timeouts.is_possible() {
            return unusable("timeouts must be seconds, more than 0 and at most a day".to_owned());
        }
        let allowance = self.allowance.unwrap_or_default();
        if allowance.concurrency == Some(0)
            || allowance.requests_per_minute == Some(0)
            || allowance.tokens_per_minute == Some(0)
        {
            return unusable(
                "an allowance of 0 would wait for ever; leave it out for no limit".to_owned(),
            );
        }
        let general = ModelData {
            wire: self.wire,
            structured: self.structured,
            max_tokens_field: self.max_tokens_field,
            max_tokens: self.max_tokens,
            effort: self.effort,
            temperature: self.temperature,
        };
        let secret = self
            .key_env
            .as_deref()
            .filter(|variable| !variable.is_empty())
            .and_then(key);
        Ok(Endpoint {
            name: name.to_owned(),
            address: Some(address_of(&base_url, self.allow_http.unwrap_or_default())),
            key: secret
                .filter(|secret| !secret.trim().is_empty())
                .map(|secret| Key::new(&secret)),
            key_env: self.key_env.filter(|variable| !variable.is_empty()),
            headers: self.headers,
            prices: self.prices,
            price: self.price,
            manner: Manner::default().changed_by(&general),
            models: self.models,
            allowance,
            timeouts,
        })
    }
}

/// The address that a configuration writes, or what is wrong with it in words that hold no secret.
fn address_of(base_url: &str, in_clear: bool) -> Result<Address, String> {
    Address::parse_base(base_url)
        .and_then(|address| address.secure(in_clear))
        .map_err(|error| match error {
            // Not echoed: what is wrong here may be a secret.
            BadAddress::Holds(_) => format!(
                "base_url {error}; put a key in key_env, anything else in \
            headers"
            ),
            BadAddress::InClear(_) => format!(
                "base_url {error}; allow_http = true in your own \
            configuration lets it be asked in clear"
            ),
            _ => format!(
                "base_url `{}` {error}",
                rebut_engine::clean::on_one_line(base_url)
            ),
        })
}

fn changed_model(known: ModelData, other: ModelData) -> ModelData {
    ModelData {
        wire: other.wire.or(known.wire),
        structured: other.structured.or(known.structured),
        max_tokens_field: other.max_tokens_field.or(known.max_tokens_field),
        max_tokens: other.max_tokens.or(known.max_tokens),
        effort: other.effort.or(known.effort),
        temperature: other.temperature.or(known.temperature),
    }
}

fn changed_allowance(known: Option<Allowance>, other: Option<Allowance>) -> Option<Allowance> {
    let (Some(known), Some(other)) = (known, other) else {
        return other.or(known);
    };
    Some(Allowance {
        concurrency: other.concurrency.or(known.concurrency),
        requests_per_minute: other.requests_per_minute.or(known.requests_per_minute),
        tokens_per_minute: other.tokens_per_minute.or(known.tokens_per_minute),
    })
}
