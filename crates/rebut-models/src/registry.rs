//! From a name such as `openai:gpt-5` to whoever answers.

use crate::{
    cli::Clis,
    key::Key,
    nearest::nearest,
    openai::{self, Endpoint, MaxTokensField, OpenAiModel, Structured},
    script::{Script, ScriptModel},
};
use rebut_engine::model::{Fault, FaultKind, Model, Models, Price};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Every provider by name.
pub struct Registry {
    base_dir: PathBuf,
    scripts: Mutex<HashMap<PathBuf, Arc<ScriptModel>>>,
    endpoints: BTreeMap<String, KnownEndpoint>,
    others: BTreeMap<String, Open>,
    client: OnceLock<reqwest::Client>,
    /// Endpoint models by name: many debates ask the same few.
    opened: Mutex<HashMap<String, Arc<OpenAiModel>>>,
}

/// Opens the model behind what follows the colon (nothing, when there is no colon).
pub type Open = Arc<dyn Fn(&str) -> Result<Arc<dyn Model>, Fault> + Send + Sync>;

/// A provider as a configuration describes it under `[providers.NAME]`. What is left out keeps its built-in value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderData {
    /// Where the endpoint is, up to and with its version, e.g. `https://example.org/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key; empty or left out for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// More headers to send.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How the form of a reply is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Structured>,
    /// The field that limits an answer's tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_field: Option<MaxTokensField>,
    /// The model the auto panel takes when the key is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_model: Option<String>,
    /// US dollars per million tokens, by model.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
}

struct KnownEndpoint {
    endpoint: Arc<Endpoint>,
    /// The variable its key comes from.
    key_env: Option<String>,
    /// The model the auto panel takes.
    auto_model: Option<String>,
}

/// What is known of an endpoint without asking it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointInfo<'a> {
    /// The provider's name.
    pub name: &'a str,
    /// Where it is.
    pub base_url: &'a str,
    /// The variable its key comes from; `None` when it needs no key.
    pub key_env: Option<&'a str>,
    /// Whether nothing is missing to ask it.
    pub is_ready: bool,
    /// The model the auto panel takes.
    pub auto_model: Option<&'a str>,
}

impl Registry {
    /// The built-in endpoints with the configuration's changes. Scripts are looked for below `base_dir`; `key` looks up
    /// a variable.
    pub fn new(
        base_dir: impl Into<PathBuf>,
        providers: &BTreeMap<String, ProviderData>,
        key: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Fault> {
        let mut all = built_in();
        for (name, data) in providers {
            let known = all.remove(name).unwrap_or_default();
            all.insert(name.clone(), known.changed_by(data));
        }
        let endpoints =
            all.into_iter().map(|(name, data)| known_endpoint(&name, data, key).map(|known| (name, known))).collect::<Result<_, _>>()?;
        Ok(Self {
            base_dir: base_dir.into(),
            scripts: Mutex::default(),
            endpoints,
            others: BTreeMap::new(),
            client: OnceLock::new(),
            opened: Mutex::default(),
        })
    }

    /// Adds a provider of another kind; it wins over an endpoint of the same name.
    pub fn with(mut self, provider: &str, open: Open) -> Self {
        self.others.insert(provider.to_owned(), open);
        self
    }

    /// Adds the agent CLIs, as `cli:NAME` and `cli:NAME/MODEL`.
    pub fn with_clis(self, clis: Arc<Clis>) -> Self {
        self.with("cli", Arc::new(move |name| clis.open(name)))
    }

    /// Every endpoint, to choose from or to list.
    pub fn endpoints(&self) -> impl Iterator<Item = EndpointInfo<'_>> {
        self.endpoints.iter().map(|(name, known)| EndpointInfo {
            name,
            base_url: &known.endpoint.base_url,
            key_env: known.key_env.as_deref(),
            is_ready: known.key_env.is_none() || known.endpoint.key.is_some(),
            auto_model: known.auto_model.as_deref(),
        })
    }

    /// The one model that answers from that script; everybody who opens the file shares it.
    pub fn script(&self, file: &str) -> Result<Arc<ScriptModel>, Fault> {
        let path = self.base_dir.join(file);
        let mut scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = scripts.get(&path) {
            return Ok(model.clone());
        }
        let unusable = |why: String| Fault::new(FaultKind::Unavailable, format!("script {file}: {why}"));
        let bytes = fs::read(&path).map_err(|error| unusable(format!("cannot be read ({error})")))?;
        let script = Script::parse(&bytes).map_err(|error| unusable(error.to_string()))?;
        let model = Arc::new(ScriptModel::new(file, script));
        scripts.insert(path, model.clone());
        Ok(model)
    }

    fn endpoint_model(&self, provider: &str, known: &KnownEndpoint, model: &str) -> Result<Arc<dyn Model>, Fault> {
        if model.is_empty() {
            let message = format!("which model of {provider}? Write {provider}:MODEL");
            return Err(Fault::new(FaultKind::NotFound, message));
        }
        if let (Some(variable), None) = (&known.key_env, &known.endpoint.key) {
            let message = format!("no key for {provider}: set the variable {variable}");
            return Err(Fault::new(FaultKind::Auth, message));
        }
        let name = format!("{provider}:{model}");
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = opened.get(&name) {
            return Ok(known.clone());
        }
        let fresh = Arc::new(OpenAiModel::new(self.client()?, known.endpoint.clone(), model.to_owned())?);
        opened.insert(name, fresh.clone());
        Ok(fresh)
    }

    /// Made when first needed: loading certificates takes time, and a script or rehearsal needs none.
    pub(crate) fn client(&self) -> Result<reqwest::Client, Fault> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = openai::client()?;
        Ok(self.client.get_or_init(|| client).clone())
    }

    fn unknown(&self, provider: &str) -> Fault {
        let mut known: Vec<&str> = self.endpoints.keys().chain(self.others.keys()).map(String::as_str).chain(["script"]).collect();
        known.sort_unstable();
        known.dedup();
        let meant = nearest(provider, known.iter().copied()).unwrap_or("script");
        let message = format!("unknown provider `{provider}`; did you mean `{meant}`? Known: {}", known.join(", "));
        Fault::new(FaultKind::NotFound, message)
    }
}

impl Models for Registry {
    fn open(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        let (provider, model) = name.split_once(':').unwrap_or((name, ""));
        if let Some(open) = self.others.get(provider) {
            return open(model);
        }
        if provider == "script" {
            return Ok(self.script(model)?);
        }
        match self.endpoints.get(provider) {
            Some(known) => self.endpoint_model(provider, known, model),
            None => Err(self.unknown(provider)),
        }
    }
}

impl ProviderData {
    fn changed_by(mut self, other: &Self) -> Self {
        let other = other.clone();
        self.headers.extend(other.headers);
        self.prices.extend(other.prices);
        Self {
            base_url: other.base_url.or(self.base_url),
            key_env: other.key_env.or(self.key_env),
            structured: other.structured.or(self.structured),
            max_tokens_field: other.max_tokens_field.or(self.max_tokens_field),
            auto_model: other.auto_model.or(self.auto_model),
            ..self
        }
    }
}

/// The endpoints compiled in.
pub fn built_in() -> BTreeMap<String, ProviderData> {
    toml::from_str(include_str!("providers.toml")).expect("the compiled-in providers are valid, as a test shows")
}

fn known_endpoint(name: &str, data: ProviderData, key: &dyn Fn(&str) -> Option<String>) -> Result<KnownEndpoint, Fault> {
    let Some(base_url) = data.base_url else {
        let message = format!("provider {name} has no base_url; add one under [providers.{name}]");
        return Err(Fault::new(FaultKind::NotFound, message));
    };
    if let Some((model, _)) = data.prices.iter().find(|(_, price)| !price.is_possible()) {
        let message = format!("provider {name}: the price of {model} must be made of numbers that are not negative");
        return Err(Fault::new(FaultKind::BadRequest, message));
    }
    let key_env = data.key_env.filter(|variable| !variable.is_empty());
    let secret = key_env.as_deref().and_then(key).filter(|secret| !secret.trim().is_empty());
    let endpoint = Endpoint {
        name: name.to_owned(),
        base_url,
        key: secret.map(|secret| Key::new(&secret)),
        headers: data.headers,
        prices: data.prices,
        structured: data.structured.unwrap_or_default(),
        max_tokens_field: data.max_tokens_field.unwrap_or_default(),
    };
    Ok(KnownEndpoint { endpoint: Arc::new(endpoint), key_env, auto_model: data.auto_model })
}
