//! What there is on this machine, found without asking any model.

use super::deep::Probe;
use crate::{
    app::{self, App},
    commands::sandbox::Held,
    data_dir::{Kept, Place},
    error::CliError,
    model_discovery::{self, Candidate, Found},
    panel,
};
use rebut_engine::{
    family::{families, only_family, planned},
    model::Models,
};
use rebut_models::{Registry, Server, http::WireKind, registry::EndpointInfo};
use rebut_store::{PostgresStore, SqliteStore};
use serde::Serialize;
use std::path::PathBuf;

/// What was found. Never holds a key's value.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Variables with a key, by provider.
    pub keys: Vec<Key>,
    /// Endpoints that can be asked or were configured.
    pub endpoints: Vec<Endpoint>,
    pub clis: Vec<Cli>,
    pub servers: Vec<Local>,
    /// Everybody who can be asked, in order of preference.
    pub models: Vec<Candidate>,
    /// Providers whose key is set, but none of whose models is named for the auto panel.
    pub nameless: Vec<String>,
    /// Who would debate if nobody says otherwise.
    pub panel: Panel,
    /// The days on which prices were looked up, by provider.
    pub prices: Vec<Priced>,
    pub config: Vec<PathBuf>,
    pub store: Store,
    pub sandbox: Held,
    /// Whether a model can be asked; the rehearsal does not count.
    pub usable: bool,
    /// What models said when asked, with `--deep`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<Vec<Probe>>,
    /// Commands that would fix what is missing, with `--fix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixes: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
pub struct Key {
    pub provider: String,
    pub variable: String,
    pub set: bool,
}

#[derive(Debug, Serialize)]
pub struct Endpoint {
    pub provider: String,
    pub wire: WireKind,
    pub host: String,
    pub ready: bool,
}

#[derive(Debug, Serialize)]
pub struct Cli {
    pub name: String,
    pub program: PathBuf,
    pub version: Option<String>,
    /// Null when that cannot be seen.
    pub signed_in: Option<bool>,
    pub hint: String,
}

/// A server that needs no key.
#[derive(Debug, Serialize)]
pub struct Local {
    pub provider: String,
    pub base_url: String,
    #[serde(skip)]
    pub host: String,
    pub answers: bool,
    pub models: usize,
}

#[derive(Debug, Default, Serialize)]
pub struct Panel {
    /// How it came about, in words.
    pub chosen: String,
    pub models: Vec<String>,
    pub families: Vec<String>,
    /// The family all of several judges are of; null when they differ.
    pub only_family: Option<String>,
    pub unpriced: Vec<String>,
    /// Why there is none; null when there is.
    pub problem: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Priced {
    pub provider: String,
    /// Null for prices of the configuration that do not say it.
    pub priced_on: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Store {
    /// The data folder; null when there is none.
    pub dir: Option<PathBuf>,
    /// The server that has the database, without a password; left out when it is a file in the
    /// directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Why they cannot be kept there; null when they can.
    pub problem: Option<String>,
    /// The public key that seals journals here; null when there is none.
    pub seal: Option<String>,
}

impl Store {
    /// Reads the whole database, and says so if it is damaged.
    pub async fn check(&mut self, app: &App) {
        if self.problem.is_some() {
            return;
        }
        // A server looks after its own disk.
        let Some(Kept::File(path)) = app.place.as_ref().map(Place::kept) else {
            return;
        };
        self.problem = match SqliteStore::open(&path) {
            Ok(store) => store.check().await.err(),
            Err(error) => Some(error),
        }
        .map(|error| error.to_string());
    }
}

impl Findings {
    /// Looks around. Agent programs are asked for their version, servers without a key for their
    /// models.
    pub async fn gather(app: &App, registry: &Registry) -> Result<Self, CliError> {
        let (installed, servers) = tokio::join!(app.clis.with_versions(), registry.servers());
        let clis = installed.into_iter();
        let clis = clis.map(|cli| Cli {
            name: cli.name,
            program: cli.program,
            version: cli.version,
            signed_in: cli.signed_in,
            hint: cli.hint,
        });
        let found = model_discovery::among(registry, &app.clis, &servers);
        let panel = panel_of(app, registry, found.clone());
        let priced = registry
            .endpoints()
            .filter(|endpoint| endpoint.is_ready && endpoint.has_prices);
        Ok(Self {
            keys: registry.endpoints().filter_map(key).collect(),
            endpoints: registry
                .endpoints()
                .map(|endpoint| described(&endpoint, &servers))
                .collect(),
            clis: clis.collect(),
            servers: servers.iter().map(local).collect(),
            // A panel that names its models needs nobody to be found.
            usable: !found.candidates.is_empty()
                || panel
                    .models
                    .iter()
                    .any(|model| can_be_probed(model) && registry.open(model).is_ok()),
            panel,
            prices: priced
                .map(|it| Priced {
                    provider: it.name.to_owned(),
                    priced_on: it.priced_on.map(str::to_owned),
                })
                .collect(),
            config: app
                .config
                .layers
                .iter()
                .map(|layer| layer.path.clone())
                .collect(),
            store: store_of(app).await,
            sandbox: Held::prove(&app::sandbox()?).await,
            models: found.candidates,
            nameless: found.nameless,
            probes: None,
            fixes: None,
        })
    }

    /// Whether a model can answer, as far as it was tried.
    pub fn is_usable(&self) -> bool {
        match &self.probes {
            Some(probes) => probes.iter().any(|probe| probe.ok),
            None => self.usable,
        }
    }

    /// Whom `--deep` asks: the panel, and every agent program in which somebody is, or may be,
    /// signed in.
    pub fn to_probe(&self) -> Vec<String> {
        let programs = self
            .clis
            .iter()
            .filter(|cli| cli.signed_in != Some(false))
            .map(|cli| format!("cli:{}", cli.name));
        let mut all: Vec<String> = Vec::new();
        for model in self
            .panel
            .models
            .iter()
            .filter(|model| can_be_probed(model))
            .cloned()
            .chain(programs)
        {
            if !all.contains(&model) {
                all.push(model);
            }
        }
        all
    }
}

/// A person is not woken, a script not used up, and the rehearsal is no model.
fn can_be_probed(model: &str) -> bool {
    !["human", "rehearsal", "script"].contains(&model.split(':').next().unwrap_or_default())
}

fn key(endpoint: EndpointInfo<'_>) -> Option<Key> {
    Some(Key {
        provider: endpoint.name.to_owned(),
        variable: endpoint.key_env?.to_owned(),
        set: endpoint.is_ready,
    })
}

fn described(endpoint: &EndpointInfo<'_>, servers: &[Server]) -> Endpoint {
    let is_gone = servers
        .iter()
        .any(|server| server.name == endpoint.name && server.models.is_none());
    let ready = endpoint.is_ready && !is_gone;
    Endpoint {
        provider: endpoint.name.to_owned(),
        wire: endpoint.wire,
        host: endpoint
            .address
            .map(|address| address.authority().to_owned())
            .unwrap_or_default(),
        ready,
    }
}

fn local(server: &Server) -> Local {
    Local {
        provider: server.name.clone(),
        base_url: server.address.to_string(),
        host: server.address.authority().to_owned(),
        answers: server.models.is_some(),
        models: server.models.as_ref().map_or(0, Vec::len),
    }
}

/// The panel of a bare `rebut decide`.
fn panel_of(app: &App, registry: &Registry, available: Found) -> Panel {
    let chosen = match panel::choose(
        &panel::PanelRequest::default(),
        &app.config,
        &app.project(),
        available,
        &panel::JUDGES,
    ) {
        Ok(chosen) => chosen,
        Err(error) => {
            return Panel {
                problem: Some(error.to_string()),
                ..Panel::default()
            };
        }
    };
    let mut models: Vec<String> = Vec::new();
    for agent in chosen
        .agents
        .iter()
        .filter(|agent| &*agent.model != "rehearsal")
    {
        if !models.iter().any(|model| **model == *agent.model) {
            models.push(agent.model.to_string());
        }
    }
    let opened = |model: &&String| {
        registry
            .open(model)
            .is_ok_and(|model| model.price().is_none())
    };
    Panel {
        chosen: chosen.chosen,
        unpriced: models.iter().filter(opened).cloned().collect(),
        families: families(&planned(&chosen.agents)),
        only_family: only_family(&planned(&chosen.agents)),
        models,
        problem: None,
    }
}

async fn store_of(app: &App) -> Store {
    let place = match app.place() {
        Ok(place) => place,
        Err(nowhere) => {
            return Store {
                dir: None,
                server: None,
                problem: Some(nowhere.message().to_owned()),
                seal: None,
            };
        }
    };
    let opened = match place.kept() {
        Kept::File(path) => SqliteStore::open(&path).map(drop),
        Kept::Server(url) => PostgresStore::connect(&url).await.map(drop),
    };
    let problem = opened.err().map(|error| error.to_string());
    let seal = place.seal();
    Store {
        dir: Some(place.dir().to_owned()),
        server: place.shown_server(),
        problem: problem.or_else(|| seal.as_ref().err().map(ToString::to_string)),
        seal: seal.ok().map(|seal| seal.public().to_owned()),
    }
}
