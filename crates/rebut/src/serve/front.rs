//! How requests become debates here: by the same rules as what is typed, with models, roles and
//! limits of this machine's configuration.

use super::{
    format_catalog::{self, Card},
    human_inbox::DeskInbox,
    model_allowlist::Allowed,
    webhooks::Hooks,
};
use crate::{
    app::App,
    budget::{Budget, Span},
    commands::{
        archive, ask,
        doctor::Findings,
        prepare::{self, Wanted},
        solve as solving,
    },
    config::{BudgetSection, Member, PanelSection},
    data_dir::Place,
    dry_run,
    error::CliError,
    lessons,
    panel::PanelRequest,
    roles::{self, Source},
};
use rebut_engine::{
    DebateId, Desk, More, Start,
    agent::{Agent, Role},
    budget::Caps,
    formats::solve,
    model::{Models, Price},
};
use rebut_models::Registry;
use rebut_server::{
    resolver::{
        Change, DebateResolver, Forked, FormatCard, Inbox, NewAgent, NewDebate, NewLimits,
        PersonaCard, Refusal,
    },
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
    /// The configuration.
    pub app: App,
    /// Every model of this machine.
    pub registry: Arc<Registry>,
    /// Those that may be used.
    pub allowed: Arc<Allowed>,
    /// Only they can be opened.
    pub models: Arc<dyn Models>,
    /// Where lessons of earlier debates are.
    pub desk: Desk,
    /// Turns that wait for people.
    pub inbox: Arc<DeskInbox>,
    /// Who is told of events.
    pub hooks: Arc<Hooks>,
    /// What was found of providers, and when.
    pub found: Mutex<Option<(Instant, Value)>>,
}

#[async_trait::async_trait]
impl DebateResolver for CommandFront {
    async fn prepare(&self, asked: NewDebate, by: &str) -> Result<Start, Refusal> {
        let start = self.resolve(asked, by).await.map_err(refusal)?;
        if start.format == solve::FORMAT.name {
            let input = solve::Input::parse(&start.input)
                .map_err(CliError::usage)
                .map_err(refusal)?;
            solving::check_tests(&input, true).await.map_err(refusal)?;
        }
        Ok(start)
    }

    async fn estimate(&self, asked: NewDebate, by: &str) -> Result<Value, Refusal> {
        self.foresee(asked, by).await.map_err(refusal)
    }

    async fn change(&self, change: Change, _by: &str) -> Result<More, Refusal> {
        change
            .models
            .iter()
            .try_for_each(|model| self.allowed.check(model))
            .map_err(refusal)?;
        let most = self.budget(change.limits).more();
        if let Some(Forked { format, config }) = &change.fork {
            Card::named(format)
                .and_then(|card| card.check(&Map::new(), config))
                .map_err(refusal)?;
            return Ok(most);
        }
        // What was not asked for stays as it was pinned; what was, is never more than the operator
        // allows.
        let NewLimits {
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
        format_catalog::all()
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

/// The panel that a request puts together itself.
const REQUESTED: &str = "request";

impl CommandFront {
    /// The request as a debate: everything is decided, nothing is read later.
    async fn resolve(&self, asked: NewDebate, by: &str) -> Result<Start, CliError> {
        let card = Card::named(&asked.format)?;
        let format = card.format.name;
        card.check(&asked.input, &asked.config)?;
        let config = self.app.config.format_with(format, &asked.config)?;
        let (app, panel) = self.seats(format, &asked).await?;
        let input = self
            .input(format, Value::Object(asked.input), &config, by)
            .await?;
        let wanted = Wanted {
            format,
            input: &input,
            config: &config,
            panel: &panel,
        };
        let cast = prepare::cast(&app, &self.registry, wanted).await?;
        cast.agents
            .iter()
            .try_for_each(|agent| self.check_models(agent))?;
        prepare::start(
            wanted,
            cast.agents,
            self.budget(asked.limits),
            asked.seed,
            by.to_owned(),
        )
    }

    async fn foresee(&self, asked: NewDebate, by: &str) -> Result<Value, CliError> {
        let start = self.resolve(asked, by).await?;
        let shown = dry_run::run(self.models.clone(), start.clone()).await?;
        let estimate = dry_run::estimate(&start, &shown, &|model| self.price_of(model))?;
        let mut value = prepare::value(&estimate)?;
        value["words"] = estimate.words().into();
        value["models"] = start
            .agents
            .iter()
            .map(|agent| json!({"agent": agent.name, "model": agent.model}))
            .collect();
        Ok(value)
    }

    /// The input as the command line would make it from what was typed.
    async fn input(
        &self,
        format: &str,
        input: Value,
        config: &Value,
        by: &str,
    ) -> Result<Value, CliError> {
        if format == solve::FORMAT.name {
            let mut input = solve::Input::parse(&input).map_err(CliError::usage)?;
            let config = solve::Config::parse(config).map_err(CliError::usage)?;
            lessons::give_by_words(&self.desk, by, &config, &mut input).await?;
            return prepare::value(&input);
        }
        let is_question = Card::named(format)?.offer.is_question;
        if is_question {
            prepare::value(&ask::checked(&input)?)
        } else {
            Ok(input)
        }
    }

    /// Who was asked for, as flags; and the configuration they are looked up in.
    async fn seats(
        &self,
        format: &str,
        asked: &NewDebate,
    ) -> Result<(App, PanelRequest), CliError> {
        let NewDebate {
            panel,
            agents,
            roles,
            models,
            ..
        } = asked;
        let most = agents.len().max(roles.len()).max(models.len());
        if most > MOST_AGENTS {
            return Err(CliError::usage(format!(
                "{most} agents; at most {MOST_AGENTS} can take part"
            )));
        }
        if agents.is_empty() {
            let flags = PanelRequest {
                panel: panel.clone(),
                models: models.clone(),
                judges: roles.clone(),
            };
            return Ok((self.app.clone(), flags));
        }
        for (other, is_given) in [
            ("panel", panel.is_some()),
            ("roles", !roles.is_empty()),
            ("models", !models.is_empty()),
        ] {
            if is_given {
                return Err(CliError::usage(format!(
                    "`{other}` and `agents` both say who takes part"
                ))
                .hint("give one of them"));
            }
        }
        let own = if asked.agents.iter().all(|agent| agent.model.is_some()) {
            Vec::new()
        } else {
            self.own_models(format).await?
        };
        let mut models = own.iter().cycle();
        let members = asked
            .agents
            .iter()
            .map(|agent| self.member(agent, &mut || models.next().cloned()))
            .collect::<Result<_, _>>()?;
        let mut app = self.app.clone();
        app.config
            .panels
            .insert(REQUESTED.to_owned(), PanelSection { members });
        Ok((
            app,
            PanelRequest {
                panel: Some(REQUESTED.to_owned()),
                ..PanelRequest::default()
            },
        ))
    }

    fn member(
        &self,
        agent: &NewAgent,
        own: &mut dyn FnMut() -> Option<String>,
    ) -> Result<Member, CliError> {
        for named in agent.model.iter().chain(&agent.fallbacks) {
            self.allowed.check(named)?;
        }
        let model = agent
            .model
            .clone()
            .or_else(own)
            .ok_or_else(|| CliError::no_model("the server has no model of its own"))?;
        Ok(Member {
            role: agent.role.clone(),
            name: agent.name.clone(),
            model,
            fallbacks: agent.fallbacks.clone(),
            ..Member::default()
        })
    }

    /// The models that take part when nobody says otherwise.
    async fn own_models(&self, format: &str) -> Result<Vec<String>, CliError> {
        let usual: &[&str] = if format == solve::FORMAT.name {
            &solve::ROLES
        } else {
            &crate::panel::JUDGES
        };
        let panel =
            prepare::panel(&self.app, &self.registry, &PanelRequest::default(), usual).await?;
        Ok(panel
            .agents
            .iter()
            .map(|agent| agent.model.to_string())
            .collect())
    }

    fn check_models(&self, agent: &Agent) -> Result<(), CliError> {
        std::iter::once(&*agent.model)
            .chain(agent.fallbacks.iter().map(String::as_str))
            .try_for_each(|model| self.allowed.check(model))
    }

    /// What was asked for, but never more than the operator allows.
    fn budget(&self, asked: NewLimits) -> Budget {
        let approval = asked.approval_seconds;
        let asked = BudgetSection {
            max_cost: asked.cost_usd,
            max_tokens: asked.tokens,
            max_calls: asked.calls,
            max_time: asked.seconds.map(Span),
            allow_unknown_price: None,
        };
        Budget {
            approval,
            ..Budget::new(
                &BudgetSection::default(),
                &self.app.config.budget.clone().tightened_by(asked),
            )
        }
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

/// More agents are no panel.
const MOST_AGENTS: usize = 32;

/// The error of a command as that of a request.
fn refusal(error: CliError) -> Refusal {
    Refusal {
        message: error.message().to_owned(),
        hint: error.advice().map(str::to_owned),
        is_request: error.is_usage(),
    }
}
