//! From a resolved request to a running debate: what people are told of it before, what it will
//! take, what would be sent.

use crate::{
    app::{App, user},
    budget::Budget,
    cli::RunArgs,
    config::BudgetSection,
    dry_run,
    error::CliError,
    git::branch,
    output,
    paint::Paint,
    panel::Panel,
    resolve::Resolved,
};
use rebut_engine::{
    Desk, Start,
    model::{Models, Price},
};
use rebut_models::Registry;
use serde_json::Value;
use std::sync::Arc;

pub struct Prepared {
    /// What the desk is asked for.
    pub start: Start,
    pub models: Arc<dyn Models>,
    registry: Arc<Registry>,
    budget: Budget,
    /// How the panel came about, for people.
    chosen: String,
}

/// What a debate may use that begins: flags where they are given, else the configuration; and the
/// time a person has to approve it.
pub fn of_run(run: &RunArgs, config: &BudgetSection) -> Budget {
    Budget::new(&(&run.budget).into(), config)
        .approved_within(run.approve_within.map(|span| span.0))
}

impl Prepared {
    pub fn of(registry: Arc<Registry>, resolved: Resolved) -> Result<Self, CliError> {
        let (budget, chosen) = (resolved.budget, resolved.panel.chosen.clone());
        Ok(Self {
            start: resolved.start(user())?,
            models: registry.clone(),
            registry,
            budget,
            chosen,
        })
    }

    /// A debate of a format with this input, these settings and this panel, which nobody asked for
    /// by name.
    pub fn new(
        app: &App,
        registry: Arc<Registry>,
        run: &RunArgs,
        (format, input, config): (&'static str, Value, Value),
        panel: Panel,
    ) -> Result<Self, CliError> {
        let resolved = Resolved {
            format,
            input,
            config,
            panel,
            budget: of_run(run, &app.config.budget),
            seed: run.seed,
        };
        Self::of(registry, resolved)
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
