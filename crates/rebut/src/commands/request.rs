//! A debate as it was typed: its input, settings, panel and limits, and what is done at its end.
//! This machine holds it, or a server.

use super::{prepare::Prepared, progress, remote_run};
use crate::{
    app::App,
    cli::{GlobalArgs, RunArgs},
    config::override_tables,
    error::CliError,
    post_actions::Afterwards,
    remote::Remote,
    request::{DebateRequest, LimitsRequest},
    resolve::{Authority, Resolved, resolve},
};
use rebut_models::Registry;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What was typed, with everything read that it names.
pub struct Case {
    pub format: &'static str,
    pub input: Value,
    /// Changes of settings, as `--set` takes them; flags that are settings among them.
    pub set: Vec<String>,
    /// Who takes part, what it may use, how it is shown.
    pub run: RunArgs,
    /// What is done at its end.
    pub after: Afterwards,
}

/// What a command works with that holds a debate. Changes of settings are for whoever holds it.
pub fn open(global: &GlobalArgs, set: &[String]) -> Result<App, CliError> {
    if global.server.is_none() {
        return App::open(global, set);
    }
    // What is no setting is told before anything is read or sent.
    override_tables(set)?;
    App::open(global, &[])
}

impl Case {
    /// Holds the debate where it was to be held, from its start to what is done at its end. Gives
    /// the exit code.
    pub async fn hold(self, app: &App) -> Result<u8, CliError> {
        match Remote::named(app)? {
            Some(remote) => remote_run::hold(app, remote, self).await,
            None => self.hold_here(app).await,
        }
    }

    async fn hold_here(self, app: &App) -> Result<u8, CliError> {
        let Some(prepared) = self.prepare(app).await? else {
            return Ok(0);
        };
        let Self {
            run, after, format, ..
        } = self;
        after.check(format)?;
        let desk = prepared.desk(app).await?;
        let running = after.start(app, &desk, prepared.start).await?;
        let id = running.id;
        let code = progress::follow(app, &desk, running, &run.output).await?;
        after.finish(app, &(&desk).into(), id, code).await
    }

    /// What was typed, as the request that any surface would make of it.
    pub fn request(&self) -> Result<DebateRequest, CliError> {
        let RunArgs {
            panel,
            budget,
            approve_within,
            seed,
            ..
        } = &self.run;
        Ok(DebateRequest {
            format: self.format.to_owned(),
            input: self.input.as_object().cloned().unwrap_or_default(),
            config: settings_of(self.format, &override_tables(&self.set)?)?,
            panel: panel.panel.clone(),
            agents: Vec::new(),
            roles: panel.judges.clone(),
            models: panel.models.clone(),
            seed: *seed,
            limits: LimitsRequest {
                cost_usd: budget.max_cost,
                tokens: budget.max_tokens,
                calls: budget.max_calls,
                seconds: budget.max_time.map(|span| span.0),
                approval_seconds: approve_within.map(|span| span.0),
            },
        })
    }

    /// The request, resolved for this machine.
    pub async fn resolve(&self, app: &App, registry: &Registry) -> Result<Resolved, CliError> {
        let mut resolved = resolve(app, registry, &self.request()?, Authority::Owner).await?;
        // No request can say that: at a server it is the operator's word.
        resolved.budget.caps.unknown_prices |= self.run.budget.allow_unknown_price;
        Ok(resolved)
    }

    /// The debate with its panel, ready to begin here; nothing where only what it would take or
    /// send was asked for and is printed.
    pub async fn prepare(&self, app: &App) -> Result<Option<Prepared>, CliError> {
        let registry = Arc::new(app.registry()?);
        let resolved = self.resolve(app, &registry).await?;
        let prepared = Prepared::of(registry, resolved)?;
        // Where something was foreseen, all is done, and well.
        Ok(prepared
            .foresee(app, &self.run)
            .await?
            .is_none()
            .then_some(prepared))
    }
}

/// The settings of one format among changes.
fn settings_of(format: &str, changes: &toml::Table) -> Result<Map<String, Value>, CliError> {
    match changes.get(format).map(serde_json::to_value).transpose() {
        Ok(Some(Value::Object(settings))) => Ok(settings),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(CliError::failed(error.to_string())),
    }
}
