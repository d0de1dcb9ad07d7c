//! From a name such as `openai:gpt-5` to whoever answers.

pub use crate::provider::{ProviderData, built_in};

use crate::{
    address::Address,
    cli::Clis,
    http::{self, Endpoint, HttpEmbedder, HttpModel, WireKind},
    script::{Script, ScriptModel},
};
use rebut_engine::{
    family::are_kin,
    model::{Fault, FaultKind, Model, Models, Price},
    suggest::suggest,
};
use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub struct Registry {
    base_dir: PathBuf,
    /// Another way to read scripts than by their path alone.
    read_script: Option<ReadScript>,
    scripts: Mutex<HashMap<PathBuf, Arc<ScriptModel>>>,
    endpoints: BTreeMap<String, KnownEndpoint>,
    others: BTreeMap<String, Open>,
    /// One per time that is waited for a connection, which nearly always is the usual one.
    clients: Mutex<HashMap<Duration, reqwest::Client>>,
    /// Endpoint models by name: many debates ask the same few.
    opened: Mutex<HashMap<String, Arc<HttpModel>>>,
}

/// Opens the model behind what follows the colon (nothing, when there is no colon).
pub type Open = Arc<dyn Fn(&str) -> Result<Arc<dyn Model>, Fault> + Send + Sync>;

/// Reads the script of a name, as it stands behind `script:`.
pub type ReadScript = Arc<dyn Fn(&str) -> io::Result<Vec<u8>> + Send + Sync>;

struct KnownEndpoint {
    endpoint: Arc<Endpoint>,
    /// The variable its key comes from.
    key_env: Option<String>,
    /// The model the auto panel takes.
    auto_model: Option<String>,
    /// The day its prices were looked up.
    priced_on: Option<String>,
}

impl KnownEndpoint {
    fn new(
        name: &str,
        data: ProviderData,
        key: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Fault> {
        Ok(Self {
            key_env: data.key_env.clone().filter(|variable| !variable.is_empty()),
            auto_model: data.auto_model.clone(),
            priced_on: data.priced_on.clone(),
            endpoint: Arc::new(data.endpoint(name, key)?),
        })
    }

    fn check_key(&self, provider: &str) -> Result<(), Fault> {
        match (&self.key_env, &self.endpoint.key) {
            (Some(variable), None) => Err(Fault::new(
                FaultKind::Auth,
                format!("no key for {provider}: set the variable {variable}"),
            )),
            _ => Ok(()),
        }
    }
}

/// What is known of an endpoint without asking it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointInfo<'a> {
    pub name: &'a str,
    /// Where it is; `None` when what is configured is no address.
    pub address: Option<&'a Address>,
    /// The variable its key comes from; `None` when it needs no key.
    pub key_env: Option<&'a str>,
    /// Whether nothing is missing to ask it.
    pub is_ready: bool,
    /// The model the auto panel takes.
    pub auto_model: Option<&'a str>,
    pub wire: WireKind,
    /// The day its prices were looked up, if that is known.
    pub priced_on: Option<&'a str>,
    /// Whether any of its models has a price that is not zero.
    pub has_prices: bool,
}

impl Registry {
    /// The built-in endpoints with the configuration's changes. Scripts are looked for below
    /// `base_dir`; `key` looks up a variable.
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
        let endpoints = all
            .into_iter()
            .map(|(name, data)| KnownEndpoint::new(&name, data, key).map(|known| (name, known)))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            base_dir: base_dir.into(),
            read_script: None,
            scripts: Mutex::default(),
            endpoints,
            others: BTreeMap::new(),
            clients: Mutex::default(),
            opened: Mutex::default(),
        })
    }

    /// Has scripts read in another way than by their path alone, for a program that starts in
    /// folders of others.
    pub fn with_scripts_from(mut self, read: ReadScript) -> Self {
        self.read_script = Some(read);
        self
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
            address: known.endpoint.address().ok(),
            key_env: known.key_env.as_deref(),
            is_ready: known.key_env.is_none() || known.endpoint.key.is_some(),
            auto_model: known.auto_model.as_deref(),
            wire: known.endpoint.manner.wire,
            priced_on: known.priced_on.as_deref(),
            has_prices: known
                .endpoint
                .prices
                .values()
                .chain(&known.endpoint.price)
                .any(|price| *price != Price::FREE),
        })
    }

    /// What is wrong with endpoints of which nobody would notice before they are asked: their
    /// address or their headers.
    pub fn problems(&self) -> Vec<String> {
        let problems = self
            .endpoints
            .iter()
            .filter_map(|(name, known)| Some((name, known.endpoint.problem()?)));
        problems
            .map(|(name, problem)| format!("[providers.{name}] {problem}"))
            .collect()
    }

    /// Every key and secret header, so that nothing that is recorded or printed holds them.
    pub fn secrets(&self) -> Vec<String> {
        self.endpoints
            .values()
            .flat_map(|known| known.endpoint.secrets())
            .map(|key| key.reveal().to_owned())
            .collect()
    }

    /// What a model of an endpoint costs, with or without its key; `None` when nobody knows.
    pub fn price_of(&self, name: &str) -> Option<Price> {
        let (provider, model) = name.split_once(':')?;
        self.endpoints.get(provider)?.endpoint.price_of(model)
    }

    /// The models of a provider that have a price of their own.
    pub fn priced_models(&self, provider: &str) -> Vec<String> {
        self.endpoints
            .get(provider)
            .map(|known| known.endpoint.prices.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// The one model that answers from that script; everybody who opens the file shares it.
    pub fn script(&self, file: &str) -> Result<Arc<ScriptModel>, Fault> {
        let path = self.base_dir.join(file);
        let mut scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = scripts.get(&path) {
            return Ok(model.clone());
        }
        // A name or a file that is wrong is a mistake to mend, not somebody who is away.
        let unusable = |kind, why: String| Fault::new(kind, format!("script {file}: {why}"));
        let read = self
            .read_script
            .as_ref()
            .map_or_else(|| read_regular(&path), |read| read(file));
        let bytes = read.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                unusable(FaultKind::NotFound, format!("cannot be read ({error})"))
            }
            _ => unusable(FaultKind::BadRequest, error.to_string()),
        })?;
        let script = Script::parse(&bytes)
            .map_err(|error| unusable(FaultKind::BadRequest, error.to_string()))?;
        let model = Arc::new(ScriptModel::new(file, script));
        scripts.insert(path, model.clone());
        Ok(model)
    }

    fn endpoint_model(
        &self,
        provider: &str,
        known: &KnownEndpoint,
        model: &str,
    ) -> Result<Arc<dyn Model>, Fault> {
        if model.is_empty() {
            let message = format!("which model of {provider}? Write {provider}:MODEL");
            return Err(Fault::new(FaultKind::NotFound, message));
        }
        known.check_key(provider)?;
        let name = format!("{provider}:{model}");
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = opened.get(&name) {
            return Ok(known.clone());
        }
        let fresh = Arc::new(HttpModel::new(
            self.client(&known.endpoint)?,
            known.endpoint.clone(),
            model.to_owned(),
        )?);
        opened.insert(name, fresh.clone());
        Ok(fresh)
    }

    /// The embedding model of that name; only endpoints have some.
    pub fn embedder(&self, name: &str) -> Result<HttpEmbedder, Fault> {
        let (provider, model) = name.split_once(':').unwrap_or((name, ""));
        let known = self
            .endpoints
            .get(provider)
            .filter(|_| !self.others.contains_key(provider))
            .ok_or_else(|| self.unknown(provider, name))?;
        if model.is_empty() {
            return Err(Fault::new(
                FaultKind::NotFound,
                format!("which model of {provider}? Write {provider}:MODEL"),
            ));
        }
        known.check_key(provider)?;
        HttpEmbedder::new(
            self.client(&known.endpoint)?,
            known.endpoint.clone(),
            model.to_owned(),
        )
    }

    /// The endpoint of that name, if nothing is missing to ask it.
    pub(crate) fn endpoint(&self, provider: &str) -> Result<Arc<Endpoint>, Fault> {
        let known = self
            .endpoints
            .get(provider)
            .ok_or_else(|| self.unknown(provider, provider))?;
        known.check_key(provider)?;
        Ok(known.endpoint.clone())
    }

    /// Made when first needed: loading certificates takes time, and a script or rehearsal needs
    /// none.
    pub(crate) fn client(&self, endpoint: &Endpoint) -> Result<reqwest::Client, Fault> {
        let connect = endpoint.timeouts.connect();
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&connect) {
            return Ok(client.clone());
        }
        let client = http::client(connect)?;
        clients.insert(connect, client.clone());
        Ok(client)
    }

    /// Nobody is called so; `name` is all that was written.
    fn unknown(&self, provider: &str, name: &str) -> Fault {
        let mut known: Vec<&str> = self
            .endpoints
            .keys()
            .chain(self.others.keys())
            .map(String::as_str)
            .chain(["script"])
            .collect();
        known.sort_unstable();
        known.dedup();
        let meant = if name.contains(':') {
            None
        } else {
            self.offering(name)
        }
        .map(|provider| format!("{provider}:{name}"));
        let meant = meant.or_else(|| suggest(provider, known.iter().copied()).map(str::to_owned));
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?"));
        let meant = meant.unwrap_or_else(|| "; models are written PROVIDER:MODEL.".to_owned());
        let message = format!(
            "unknown provider `{provider}`{meant} Known: {}",
            known.join(", ")
        );
        Fault::new(FaultKind::NotFound, message)
    }
}

impl Registry {
    /// The provider that has a model of that name, as far as tables tell: by its own name, else by
    /// the family of what it usually asks.
    fn offering(&self, model: &str) -> Option<&str> {
        let usual = |known: &KnownEndpoint| known.auto_model.clone().unwrap_or_default();
        let has = |known: &KnownEndpoint| {
            known.endpoint.prices.contains_key(model) || usual(known) == model
        };
        // Who passes on the models of others has a slash in their names.
        let is_kin = |known: &KnownEndpoint| {
            !usual(known).contains('/') && are_kin(&usual(known), model) && !usual(known).is_empty()
        };
        let found = self
            .endpoints
            .iter()
            .find(|(_, known)| has(known))
            .or_else(|| self.endpoints.iter().find(|(_, known)| is_kin(known)));
        found.map(|(name, _)| name.as_str())
    }

    /// Providers whose key is set, but none of whose models is named as the usual one: the auto
    /// panel cannot ask them.
    pub fn nameless(&self) -> Vec<&str> {
        let ready = self
            .endpoints()
            .filter(|endpoint| endpoint.key_env.is_some() && endpoint.is_ready);
        ready
            .filter(|endpoint| endpoint.auto_model.is_none())
            .map(|endpoint| endpoint.name)
            .collect()
    }
}

/// The bytes of a regular file: nobody waits for a pipe.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    fs::read(path)
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
            None => Err(self.unknown(provider, name)),
        }
    }
}
