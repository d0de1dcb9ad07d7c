//! A debate as it was typed: its input, settings, panel and limits, and what is done at its end.
//! This machine holds it, or a server.

use super::{
    prepare::{self, Prepared, Wanted},
    progress, remote_run,
};
use crate::{
    app::App,
    cli::{GlobalArgs, RunArgs},
    config::override_tables,
    error::CliError,
    post_actions::Afterwards,
    remote::Remote,
};
use serde_json::Value;
use std::sync::Arc;

/// What was typed, with everything read that it names.
pub struct Case {
    /// The format's name.
    pub format: &'static str,
    /// Its input.
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

    /// The debate with its panel, ready to begin here; nothing where only what it would take or
    /// send was asked for and is printed.
    pub async fn prepare(&self, app: &App) -> Result<Option<Prepared>, CliError> {
        let config = app.config.format(self.format)?;
        let registry = Arc::new(app.registry()?);
        let wanted = Wanted {
            format: self.format,
            input: &self.input,
            config: &config,
            panel: &(&self.run.panel).into(),
        };
        let panel = prepare::cast(app, &registry, wanted).await?;
        let prepared = Prepared::new(
            app,
            registry,
            &self.run,
            (self.format, &self.input, &config),
            panel,
        )?;
        // Where something was foreseen, all is done, and well.
        Ok(prepared
            .foresee(app, &self.run)
            .await?
            .is_none()
            .then_some(prepared))
    }
}
