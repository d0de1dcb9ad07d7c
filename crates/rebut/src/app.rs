//! Wiring: the one place where adapters meet surfaces.

use crate::{
    budget,
    cli::GlobalArgs,
    config::{Config, Origin},
    error::CliError,
    git::branch,
    human::Human,
    place::Place,
};
use rebut_engine::{
    Desk, DeskOptions,
    model::{Model, Models},
    secrets::Scrubber,
    store::Store,
    view::View,
};
use rebut_models::{Clis, Registry, rehearsal::RehearsalModel};
use rebut_sandbox::BubbleSandbox;
use rebut_store::SqliteStore;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// What a command works with.
pub struct App {
    /// Flags every command has.
    pub global: GlobalArgs,
    /// Where configuration was looked for.
    pub origin: Origin,
    /// The configuration.
    pub config: Config,
    /// The agent programs of this machine.
    pub clis: Arc<Clis>,
    /// Where debates are kept.
    pub place: Place,
    /// Whether what this command runs is kept there.
    pub keeps: bool,
}

impl App {
    /// Reads the configuration. `set` are changes from the command line.
    pub fn open(global: &GlobalArgs, set: &[String]) -> Result<Self, CliError> {
        let origin = origin(global)?;
        let config = Config::load(&origin, set)?;
        let place = Place::find(global, &config)?;
        let clis = Arc::new(Clis::new(&config.clis, &environment).map_err(|fault| CliError::usage(fault.message))?);
        Ok(Self { global: global.clone(), origin, config, clis, place, keeps: true })
    }

    /// The project's directory.
    pub fn project(&self) -> PathBuf {
        self.config.project_dir(&self.origin)
    }

    /// The models of this machine.
    pub fn registry(&self) -> Result<Registry, CliError> {
        let registry = Registry::new(&self.origin.current_dir, &self.config.providers, &environment)
            .map_err(|fault| CliError::usage(fault.message))?;
        let asks = !self.global.no_input;
        Ok(registry
            .with_clis(self.clis.clone())
            .with("rehearsal", Arc::new(|_: &str| Ok(Arc::new(RehearsalModel) as Arc<dyn Model>)))
            .with("human", Arc::new(move |name: &str| Human::open(name, asks).map(|human| Arc::new(human) as Arc<dyn Model>))))
    }

    /// The desk over the database of this machine.
    pub fn desk(&self) -> Result<Desk, CliError> {
        let store = SqliteStore::open(&self.place.database())?;
        branch::clean_up_after_others(self);
        let registry = Arc::new(self.registry()?);
        self.desk_over(Arc::new(store), &registry, registry.clone())
    }

    /// A desk over another store, or other models than the registry's.
    pub fn desk_over(&self, store: Arc<dyn Store>, registry: &Registry, models: Arc<dyn Models>) -> Result<Desk, CliError> {
        let options = DeskOptions {
            seal: Some(self.place.seal()?),
            secrets: self.secrets(registry),
            calls_per_provider: self.config.defaults.calls_per_provider.unwrap_or(DeskOptions::default().calls_per_provider),
            stream_deltas: true,
            sandbox: Arc::new(sandbox()?),
            ..DeskOptions::default()
        };
        Ok(Desk::with_options(store, models, options))
    }

    /// What to type to go on with a debate that met a limit.
    pub fn go_on(&self, view: &View) -> Option<String> {
        let registry = self.registry().ok()?;
        budget::go_on(view, &|model| registry.price_of(model))
    }

    /// What takes every known secret out of a text, for what is printed without having been recorded.
    pub fn scrubber(&self, registry: &Registry) -> Scrubber {
        Scrubber::new(self.secrets(registry))
    }

    fn secrets(&self, registry: &Registry) -> Vec<String> {
        registry.secrets().into_iter().chain(self.clis.secrets()).collect()
    }
}

/// The sandbox of this machine, whose inner stage is this very program.
pub fn sandbox() -> Result<BubbleSandbox, CliError> {
    let program = std::env::current_exe().map_err(|error| CliError::failed(format!("this program cannot find itself: {error}")))?;
    Ok(BubbleSandbox::new(rebut_sandbox::Inner { program, args: vec![rebut_sandbox::INNER.to_owned()] }))
}

/// Who is at the keyboard, for the record.
pub fn user() -> String {
    environment("USER").or_else(|| environment("LOGNAME")).unwrap_or_else(|| "user".to_owned())
}

/// A variable that is set to something.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn origin(global: &GlobalArgs) -> Result<Origin, CliError> {
    let current_dir = std::env::current_dir().map_err(|error| CliError::file("enter", Path::new("."), &error))?;
    let home = || environment("HOME").map(|home| PathBuf::from(home).join(".config"));
    let user_dir = environment("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
    Ok(Origin { current_dir, user_dir, named: global.config.clone() })
}
