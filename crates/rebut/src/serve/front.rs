//! The server's side of what the application knows: requests of guests are resolved with models,
//! roles and limits of this machine's configuration.

use super::{human_inbox::DeskInbox, model_allowlist::Allowed, webhooks::Hooks};
use crate::{
    app::App,
    commands::{archive, doctor::Findings},
    data_dir::Place,
    dry_run,
    error::CliError,
    format_catalog::{self, Card, FormatForClients},
    lessons,
    request::{DebateRequest, LimitsRequest},
    resolve::{self, Authority, resolve},
    roles::{self, Source},
    solve_checks::check_tests,
};
use rebut_engine::{
    DebateId, Desk, More, Start,
    agent::Role,
    budget::Caps,
    formats::solve,
    model::{Models, Price},
};
use rebut_models::Registry;
use rebut_server::{
    resolver::{Change, DebateResolver, Forked, FormatCard, Inbox, PersonaCard, Refusal},
    webhooks::Webhooks,
};
use serde_json::{Map, Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// The front of a server that is started at a command line.
pub struct CommandFront {
    pub app: App,
    pub registry: Arc<Registry>,
    pub allowed: Arc<Allowed>,
    pub models: Arc<dyn Models>,
    /// Where lessons of earlier debates are.
    pub desk: Desk,
    pub inbox: Arc<DeskInbox>,
    pub hooks: Arc<Hooks>,
    /// What was found of providers, and when.
    pub found: Mutex<Option<(Instant, Value)>>,
}

#[async_trait::async_trait]
impl DebateResolver for CommandFront {
    async fn prepare(&self, asked: DebateRequest, by: &str) -> Result<Start, Refusal> {
        let start = self.resolve(asked, by).await.map_err(refusal)?;
        if start.format == solve::FORMAT.name {
            let input = solve::Input::parse(&start.input)
                .map_err(CliError::usage)
                .map_err(refusal)?;
            check_tests(&input, true).await.map_err(refusal)?;
        }
        Ok(start)
    }

    async fn estimate(&self, asked: DebateRequest, by: &str) -> Result<Value, Refusal> {
        self.foresee(asked, by).await.map_err(refusal)
    }

    async fn change(&self, change: Change, _by: &str) -> Result<More, Refusal> {
        change
            .models
            .iter()
            .try_for_each(|model| self.allowed.check(model))
            .map_err(refusal)?;
        let most = resolve::budget(change.limits, &self.app.config.budget, self.guest()).more();
        if let Some(Forked { format, config }) = &change.fork {
            Card::named(format)
                .and_then(|card| card.check(&Map::new(), config))
                .map_err(refusal)?;
            return Ok(most);
        }
        // What was not asked for stays as it was pinned; what was, is never more than the operator
        // allows.
        let LimitsRequest {
            cost_usd,
            tokens,
            calls,
            seconds,
            approval_seconds,
        } = change.limits;
        let caps = Caps {
            cost_usd: cost_usd.and(most.caps.cost_usd),
            tokens: tokens.and(most.caps.tokens),
            calls: calls.and(most.caps.calls),
            unknown_prices: most.caps.unknown_prices,
        };
        Ok(More {
            caps,
            debate_seconds: seconds.and(most.debate_seconds),
            approval_seconds,
        })
    }

    fn formats(&self) -> Vec<FormatCard> {
        let card = |offer: FormatForClients| FormatCard {
            name: offer.name,
            about: offer.about,
            input: offer.input,
            config: offer.config,
        };
        format_catalog::all().into_iter().map(card).collect()
    }

    fn panels(&self) -> Result<Value, Refusal> {
        let usual = self.app.config.defaults.panel.as_deref().unwrap_or("auto");
        Ok(
            json!({"usual": usual, "panels": self.app.config.panels, "models": self.allowed.names().collect::<Vec<_>>()}),
        )
    }

    fn personas(&self) -> Result<Vec<PersonaCard>, Refusal> {
        // Where a file is, is nobody's business outside; and what it says is told to those who take
        // part.
        let card = |(role, source): (Role, Source)| PersonaCard {
            name: role.name,
            stance: role.stance,
            about: role.about,
            is_built_in: source == Source::BuiltIn,
        };
        Ok(roles::all(&self.app.project())
            .map_err(refusal)?
            .into_values()
            .map(card)
            .collect())
    }

    async fn forget_debate(&self, debate: DebateId) -> Result<(), Refusal> {
        archive::forget(&self.app, debate).map_err(refusal)
    }

    async fn forget_text(&self) -> Result<(), Refusal> {
        self.app
            .place()
            .and_then(Place::forget_vectors)
            .map_err(refusal)
    }

    fn inbox(&self) -> Option<Arc<dyn Inbox>> {
        Some(self.inbox.clone())
    }

    fn webhooks(&self) -> Option<Arc<dyn Webhooks>> {
        Some(self.hooks.clone())
    }

    async fn providers(&self) -> Value {
        let mut found = self.found.lock().await;
        match &*found {
            Some((when, value)) if when.elapsed() < FRESH => value.clone(),
            _ => {
                let value = self.look().await;
                *found = Some((Instant::now(), value.clone()));
                value
            }
        }
    }
}

/// Looking asks programs for their version and servers for their models, so it is not done for each
/// request.
const FRESH: Duration = Duration::from_secs(30);

impl CommandFront {
    fn guest(&self) -> Authority<'_> {
        Authority::Guest(&*self.allowed)
    }

    /// The request as a debate: everything is decided, nothing is read later.
    async fn resolve(&self, asked: DebateRequest, by: &str) -> Result<Start, CliError> {
        let mut resolved = resolve(&self.app, &self.registry, &asked, self.guest()).await?;
        if resolved.format == solve::FORMAT.name {
            let mut input = solve::Input::parse(&resolved.input).map_err(CliError::usage)?;
            let config = solve::Config::parse(&resolved.config).map_err(CliError::usage)?;
            lessons::give_by_words(&self.desk, by, &config, &mut input).await?;
            resolved.input = resolve::value(&input)?;
        }
        resolved.start(by.to_owned())
    }

    async fn foresee(&self, asked: DebateRequest, by: &str) -> Result<Value, CliError> {
        let start = self.resolve(asked, by).await?;
        let shown = dry_run::run(self.models.clone(), start.clone()).await?;
        let estimate = dry_run::estimate(&start, &shown, &|model| self.price_of(model))?;
        let mut value = resolve::value(&estimate)?;
        value["words"] = estimate.words().into();
        value["models"] = start
            .agents
            .iter()
            .map(|agent| json!({"agent": agent.name, "model": agent.model}))
            .collect();
        Ok(value)
    }

    fn price_of(&self, model: &str) -> Option<Price> {
        self.models.open(model).ok().and_then(|model| model.price())
    }

    /// What `doctor` finds, but for places of this machine.
    async fn look(&self) -> Value {
        let found = match Findings::gather(&self.app, &self.registry).await {
            Ok(found) => found,
            Err(error) => return json!({"problem": error.message()}),
        };
        let programs: Vec<Value> = found
            .clis
            .iter()
            .map(
                |cli| json!({"name": cli.name, "version": cli.version, "signed_in": cli.signed_in}),
            )
            .collect();
        // Addresses inside the operator's network are nobody's business.
        let endpoints: Vec<Value> = found
            .endpoints
            .iter()
            .map(|one| json!({"provider": one.provider, "wire": one.wire, "ready": one.ready}))
            .collect();
        json!({
            "keys": found.keys, "endpoints": endpoints, "programs": programs, "panel": found.panel, "usable": found.usable,
            "models": self.allowed.names().collect::<Vec<_>>(),
        })
    }
}

/// The error of a command as that of a request.
fn refusal(error: CliError) -> Refusal {
    Refusal {
        message: error.message().to_owned(),
        hint: error.advice().map(str::to_owned),
        is_request: error.is_usage(),
    }
}
