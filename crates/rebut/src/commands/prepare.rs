//! From a request to a running debate: who takes part, what it will take, what would be sent. Every
//! format begins here.

use crate::{
    app::{App, user},
    budget::Budget,
    casting,
    cli::RunArgs,
    config::BudgetSection,
    dry_run,
    error::CliError,
    git::branch,
    model_discovery::Found,
    output,
    paint::Paint,
    panel::{self, PanelRequest},
};
use rebut_engine::{
    Desk, Start,
    agent::Agent,
    formats::{Format, solve},
    model::{Models, Price},
};
use rebut_models::Registry;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// A debate that can begin.
pub struct Prepared {
    /// What the desk is asked for.
    pub start: Start,
    /// Who answers.
    pub models: Arc<dyn Models>,
    registry: Arc<Registry>,
    budget: Budget,
    /// How the panel came about, for people.
    chosen: String,
}

/// A debate that somebody wants, but for who takes part.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The format's name.
    pub format: &'a str,
    /// Its input.
    pub input: &'a Value,
    /// Its settings, complete.
    pub config: &'a Value,
    /// What was said about who takes part.
    pub panel: &'a PanelRequest,
}

/// Who takes part, by the rules of the format, whoever asks.
pub async fn cast(
    app: &App,
    registry: &Registry,
    wanted: Wanted<'_>,
) -> Result<panel::Panel, CliError> {
    let asked = rebut_engine::formats::casting::Wanted {
        input: wanted.input,
        config: wanted.config,
    };
    casting::cast(app, registry, wanted.format, asked, wanted.panel).await
}

/// A panel: `usual` are the roles when nobody says otherwise. Searches the machine only if somebody
/// lacks a model.
pub async fn panel(
    app: &App,
    registry: &Registry,
    args: &PanelRequest,
    usual: &[&str],
) -> Result<panel::Panel, CliError> {
    let wants_auto = panel::wants_auto(args, &app.config, usual)?;
    let available = if wants_auto {
        app.found(registry).await
    } else {
        Found::default()
    };
    panel::choose(args, &app.config, &app.project(), available, usual)
}

/// The request for a debate: checked by the rules of its format, before anybody is asked and paid.
pub fn start(
    wanted: Wanted<'_>,
    agents: Vec<Agent>,
    budget: Budget,
    seed: Option<u64>,
    by: String,
) -> Result<Start, CliError> {
    let format = Format::named(wanted.format)
        .ok_or_else(|| CliError::usage(format!("there is no format `{}`", wanted.format)))?;
    (format.check)(wanted.input, wanted.config, &agents).map_err(CliError::usage)?;
    let start = Start {
        format: format.name.to_owned(),
        input: wanted.input.clone(),
        limits: Some(budget.limits(format.name, wanted.config)?),
        agents,
        config: wanted.config.clone(),
        seed,
        initiated_by: by,
    };
    if format.name == solve::FORMAT.name {
        super::solve::check_calls(&start)?;
    }
    Ok(start)
}

/// What a debate may use that begins: flags where they are given, else the configuration; and the
/// time a person has to approve it.
pub fn of_run(run: &RunArgs, config: &BudgetSection) -> Budget {
    Budget::new(&(&run.budget).into(), config)
        .approved_within(run.approve_within.map(|span| span.0))
}

/// An input as a debate holds it.
pub fn value(input: &impl Serialize) -> Result<Value, CliError> {
    serde_json::to_value(input).map_err(|error| CliError::failed(error.to_string()))
}

impl Prepared {
    /// A debate of a format with this input, these settings and this panel.
    pub fn new(
        app: &App,
        registry: Arc<Registry>,
        run: &RunArgs,
        (format, input, config): (&str, &Value, &Value),
        panel: panel::Panel,
    ) -> Result<Self, CliError> {
        let budget = of_run(run, &app.config.budget);
        let wanted = Wanted {
            format,
            input,
            config,
            panel: &(&run.panel).into(),
        };
        let start = start(wanted, panel.agents, budget, run.seed, user())?;
        Ok(Self {
            start,
            models: registry.clone(),
            registry,
            budget,
            chosen: panel.chosen,
        })
    }

    /// Where only that was asked for: prints what the first round would send and what the debate
    /// will take. Gives the exit code then.
    pub async fn foresee(&self, app: &App, run: &RunArgs) -> Result<Option<u8>, CliError> {
        if !run.dry_run && !run.estimate {
            return Ok(None);
        }
        let shown = dry_run::run(self.models.clone(), self.start.clone()).await?;
        let estimate = dry_run::estimate(&self.start, &shown, &|model| self.price_of(model))?;
        if run.estimate {
            match run.output.json {
                true => output::print_json(&estimate)?,
                false => output::print(&format!("{}\n", estimate.words()))?,
            }
            return Ok(Some(0));
        }
        for request in &shown {
            output::print(&format!(
                "{}\n\n",
                rebut_engine::clean::for_people(&request.text)
            ))?;
        }
        output::print(&format!("estimate: {}\n", estimate.words()))?;
        if !app.global.quiet {
            warn_line!(
                "nothing was sent ({} requests shown); later rounds depend on the answers",
                shown.len()
            );
        }
        Ok(Some(0))
    }

    /// Says who was chosen and what it will take, and opens the desk it runs on.
    pub async fn desk(&self, app: &App) -> Result<Desk, CliError> {
        if !app.global.quiet {
            let paint = Paint::stderr();
            if !self.chosen.is_empty() {
                warn_line!("{}", paint.faint(&self.chosen));
            }
            self.announce(app, paint).await?;
        }
        let store = app.store().await?;
        branch::clean_up_after_others(app);
        app.desk_over(store, &self.registry, self.models.clone())
    }

    /// Says what the debate will take, where that costs money or is limited.
    async fn announce(&self, app: &App, paint: Paint) -> Result<(), CliError> {
        let is_paid = |model: &str| self.price_of(model) != Some(Price::FREE);
        let agents = &self.start.agents;
        let costs = agents.iter().any(|agent| is_paid(&agent.model));
        let fallback_costs = agents
            .iter()
            .flat_map(|agent| &agent.fallbacks)
            .any(|model| is_paid(model));
        if !costs && !fallback_costs && self.budget.is_empty() {
            return Ok(());
        }
        let shown = dry_run::run(self.models.clone(), self.start.clone()).await?;
        let estimate = dry_run::estimate(&self.start, &shown, &|model| self.price_of(model))?;
        let more = if fallback_costs {
            "; a fallback that answers may cost more"
        } else {
            ""
        };
        warn_line!(
            "{}",
            paint.faint(&format!("estimate: {}{more}", estimate.words()))
        );
        if !app.config.capped_twice.is_empty() {
            let names = app.config.capped_twice.join(", ");
            warn_line!(
                "{}",
                paint.faint(&format!(
                    "{names}: your configuration and the project's both set it; the smaller counts"
                ))
            );
        }
        Ok(())
    }

    /// What a model costs; `None` when nobody knows, or nobody can be asked.
    fn price_of(&self, model: &str) -> Option<Price> {
        self.registry
            .open(model)
            .ok()
            .and_then(|model| model.price())
    }
}
