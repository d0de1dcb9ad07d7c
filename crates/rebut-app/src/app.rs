//! Wiring: the one place where adapters meet surfaces.

use crate::{
    budget,
    config::{Config, Origin},
    data_dir::{self, Kept, Place},
    error::AppError,
    git::branch,
    global::Global,
    model_discovery::{self, Found},
    read_file,
};
use rebut_engine::{
    Desk, DeskOptions,
    model::{Fault, FaultKind, Model, Models},
    observer::Observer,
    outbox::Database,
    secrets::Scrubber,
    store::{Store, StoreError},
    view::View,
};
use rebut_models::{Clis, Registry, registry::built_in, simulator::Simulator};
use rebut_sandbox::BubbleSandbox;
use rebut_store::{PostgresOptions, PostgresStore, SqliteStore};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::OnceCell;

/// Answers are asked for piece by piece, whatever the command, its flags and the terminal: what is
/// sent is known before, and a dry run shows it. It costs nothing, and who answers slowly is told
/// from who is gone.
pub const STREAMS: bool = true;

/// A command whose debate cannot be written down ends after so long.
const PATIENCE: Duration = Duration::from_secs(4);

#[derive(Clone)]
pub struct App {
    /// What the process was started with.
    pub global: Global,
    pub origin: Origin,
    pub config: Config,
    /// The agent programs of this machine.
    pub clis: Arc<Clis>,
    /// Where debates are kept, if anywhere: what keeps nothing needs no place.
    pub place: Option<Place>,
    /// Whether what this command runs is kept there.
    pub keeps: bool,
    /// Where paths of scripts are meant, if not here.
    pub scripts: Option<PathBuf>,
    /// The models of this machine, once somebody looked for them.
    pub found: Arc<OnceCell<Found>>,
}

impl App {
    /// Reads the configuration. `set` are changes from the command line.
    pub fn open(global: impl Into<Global>, set: &[String]) -> Result<Self, AppError> {
        let app = Self::open_untrusted(global, set)?;
        app.place
            .as_ref()
            .map_or(Ok(()), Place::check_not_brought)?;
        Ok(app)
    }

    /// The same for the one command that decides whether the data directory may be used.
    pub fn open_untrusted(global: impl Into<Global>, set: &[String]) -> Result<Self, AppError> {
        let global = global.into();
        let origin = origin(&global)?;
        let config = Config::load(&origin, set)?;
        if let Some(notice) = config.notice.as_ref().filter(|_| !global.quiet) {
            say_once(notice);
        }
        let place = Place::find(&global, &config)?;
        let clis = Clis::new(&config.clis, &environment)
            .map_err(|fault| AppError::usage(fault.message))?;
        let clis = Arc::new(clis.kept_by(this_program()?));
        Ok(Self {
            global,
            origin,
            config,
            clis,
            place,
            keeps: true,
            scripts: None,
            found: Arc::default(),
        })
    }

    pub fn project(&self) -> PathBuf {
        self.config.project_dir(&self.origin)
    }

    pub fn registry(&self) -> Result<Registry, AppError> {
        let scripts = self.scripts.as_ref().unwrap_or(&self.origin.current_dir);
        let registry = Registry::new(scripts, &self.config.providers, &environment)
            .map_err(|fault| AppError::usage(fault.message))?;
        let scripts = scripts.clone();
        let registry = registry.with_scripts_from(Arc::new(move |name: &str| {
            read_file::script(&scripts, name)
        }));
        let (asks, human) = (!self.global.no_input, self.global.human);
        let registry = self.waiting().fold(registry, |registry, name| {
            registry.with(&name, Arc::new(|_: &str| Err(untrusted())))
        });
        let (clis, config) = (self.clis.clone(), self.config.clone());
        let program = move |name: &str| {
            let waits = config.waits("clis", name.split('/').next().unwrap_or_default());
            if waits {
                Err(untrusted())
            } else {
                clis.open(name)
            }
        };
        Ok(registry
            .with("cli", Arc::new(program))
            .with(
                "rehearsal",
                Arc::new(|_: &str| Ok(Arc::new(Simulator) as Arc<dyn Model>)),
            )
            .with("human", Arc::new(move |name: &str| human(name, asks))))
    }

    /// Providers that only the project declares, and that wait for the user's trust.
    fn waiting(&self) -> impl Iterator<Item = String> {
        let powers = self
            .config
            .project
            .iter()
            .flat_map(|project| &project.divided.powers);
        let names = powers.filter_map(|power| power.key.strip_prefix("providers."));
        names
            .filter(|name| self.config.waits("providers", name) && !built_in().contains_key(*name))
            .map(str::to_owned)
    }

    pub fn place(&self) -> Result<&Place, AppError> {
        let nowhere = || {
            AppError::usage("there is no place to keep debates: HOME is not set")
                .hint("name one with --data DIR")
        };
        let place = self.place.as_ref().ok_or_else(nowhere)?;
        place.claim()?;
        Ok(place)
    }

    /// Where the worktrees of debates are.
    pub fn worktrees(&self) -> Result<PathBuf, AppError> {
        let nowhere = || {
            AppError::usage("there is no place for worktrees: HOME is not set")
                .hint("set HOME or XDG_STATE_HOME")
        };
        self.place()?.worktrees().ok_or_else(nowhere)
    }

    /// Whoever this machine can ask; looked for once.
    pub async fn found(&self, registry: &Registry) -> Found {
        self.found
            .get_or_init(|| model_discovery::candidates(registry, &self.clis))
            .await
            .clone()
    }

    /// The database that debates are kept in. One that cannot be written, on a full disk or in a
    /// folder that takes no changes, can still be read; what is to be written there is refused.
    pub async fn store(&self) -> Result<Arc<dyn Store>, AppError> {
        let Kept::File(path) = self.place()?.kept() else {
            return Ok(self.database().await?);
        };
        Ok(match SqliteStore::open(&path) {
            Err(why @ (StoreError::NoPlace { .. } | StoreError::Unwritable(_)))
                if path.is_file() =>
            {
                let opened =
                    SqliteStore::open_read_only(&path, why.clone()).map_err(|error| match error {
                        StoreError::NoPlace { .. } => why,
                        other => other,
                    });
                Arc::new(opened?)
            }
            opened => Arc::new(opened?),
        })
    }

    /// The same with who wants word of them, for whoever writes there.
    pub async fn database(&self) -> Result<Arc<dyn Database>, AppError> {
        Ok(match self.place()?.kept() {
            Kept::File(path) => Arc::new(SqliteStore::open(&path)?),
            Kept::Server(url) => {
                self.config.server.check().map_err(AppError::usage)?;
                let lease = Duration::from_secs(self.config.server.lease_seconds);
                let options = PostgresOptions {
                    lease,
                    ..PostgresOptions::default()
                };
                Arc::new(PostgresStore::connect_with(&url, options).await?)
            }
        })
    }

    pub async fn desk(&self) -> Result<Desk, AppError> {
        let store = self.store().await?;
        branch::clean_up_after_others(self);
        let registry = Arc::new(self.registry()?);
        self.desk_over(store, &registry, registry.clone())
    }

    /// A desk over another store, or other models than the registry's.
    pub fn desk_over(
        &self,
        store: Arc<dyn Store>,
        registry: &Registry,
        models: Arc<dyn Models>,
    ) -> Result<Desk, AppError> {
        self.desk_with(
            store,
            registry,
            models,
            DeskOptions {
                patience: self.patience(),
                ..DeskOptions::default()
            },
        )
    }

    /// How long a debate of a command waits for a disk that is full. Somebody sits before it, and
    /// can go on when there is room again.
    fn patience(&self) -> Option<Duration> {
        self.place
            .as_ref()
            .is_some_and(|place| matches!(place.kept(), Kept::File(_)))
            .then_some(PATIENCE)
    }

    /// The same with somebody who is told of every event, for debates that wait as long as it
    /// takes.
    pub fn desk_observed(
        &self,
        store: Arc<dyn Store>,
        registry: &Registry,
        models: Arc<dyn Models>,
        observer: Arc<dyn Observer>,
    ) -> Result<Desk, AppError> {
        self.desk_with(
            store,
            registry,
            models,
            DeskOptions {
                observer: Some(observer),
                ..DeskOptions::default()
            },
        )
    }

    fn desk_with(
        &self,
        store: Arc<dyn Store>,
        registry: &Registry,
        models: Arc<dyn Models>,
        options: DeskOptions,
    ) -> Result<Desk, AppError> {
        self.clear_left();
        let options = DeskOptions {
            seal: self
                .place
                .as_ref()
                .map(Place::seal_if_possible)
                .transpose()?
                .flatten(),
            secrets: self.secrets(registry),
            calls_per_provider: self
                .config
                .defaults
                .calls_per_provider
                .unwrap_or(DeskOptions::default().calls_per_provider),
            stream_deltas: STREAMS,
            sandbox: Arc::new(sandbox()?),
            ..options
        };
        Ok(Desk::with_options(store, models, options))
    }

    /// Ends the agent programs that a killed process left, if any.
    pub fn clear_left(&self) {
        let calls = self.clis.clear_left();
        if calls > 0 && !self.global.quiet {
            notice!(
                "cleared up: what agent programs of a process that was killed had left ({calls} \
                 calls)"
            );
        }
    }

    /// What to type to go on with a debate that met a limit.
    pub fn go_on(&self, view: &View) -> Option<String> {
        let registry = self.registry().ok()?;
        budget::go_on(view, &|model| registry.price_of(model))
    }

    /// What takes every known secret out of a text, for what is printed without having been
    /// recorded.
    pub fn scrubber(&self, registry: &Registry) -> Scrubber {
        Scrubber::new(self.secrets(registry))
    }

    fn secrets(&self, registry: &Registry) -> Vec<String> {
        registry
            .secrets()
            .into_iter()
            .chain(self.clis.secrets())
            .chain(self.place.as_ref().and_then(Place::password))
            .collect()
    }
}

/// Why somebody of the project's own cannot be asked yet.
fn untrusted() -> Fault {
    let message = "it belongs to this project, which you have not trusted; `rebut trust` shows \
        what that would allow";
    Fault::new(FaultKind::NotFound, message)
}

/// Says something once in a process, however often the configuration and the roles are read.
pub fn say_once(words: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(words.to_owned())
    {
        notice!("{words}");
    }
}

/// The sandbox of this machine, whose inner stage is this very program.
pub fn sandbox() -> Result<BubbleSandbox, AppError> {
    Ok(BubbleSandbox::new(rebut_sandbox::Inner {
        program: this_program()?,
        args: vec![rebut_sandbox::INNER.to_owned()],
    }))
}

fn this_program() -> Result<PathBuf, AppError> {
    std::env::current_exe()
        .map_err(|error| AppError::failed(format!("this program cannot find itself: {error}")))
}

/// Who is at the keyboard, for the record.
pub fn user() -> String {
    environment("USER")
        .or_else(|| environment("LOGNAME"))
        .unwrap_or_else(|| "user".to_owned())
}

/// A variable that is set to something.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The same for a path: one that is empty would mean wherever we are.
pub fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// A folder of the user's that a variable names, `HOME` or one of the XDG Base Directory
/// Specification: one that is no whole path is ignored, since it would lead into whatever folder we
/// are in.
pub fn base_directory(name: &str) -> Option<PathBuf> {
    path_variable(name).filter(|path| path.is_absolute())
}

fn origin(global: &Global) -> Result<Origin, AppError> {
    let current_dir =
        std::env::current_dir().map_err(|error| AppError::file("enter", Path::new("."), &error))?;
    let home = || base_directory("HOME").map(|home| home.join(".config"));
    let user_dir = base_directory("XDG_CONFIG_HOME").or_else(home);
    let home = base_directory("HOME").map(|home| home.canonicalize().unwrap_or(home));
    let named = global
        .config
        .as_ref()
        .map(|file| named(global, file))
        .transpose()?;
    Ok(Origin {
        current_dir,
        user_dir,
        named,
        home,
        state_dir: data_dir::state_dir(),
    })
}

/// The file that `--config` names. One that was typed in another folder is looked at from there,
/// too: links in it may be a project's.
fn named(global: &Global, file: &Path) -> Result<PathBuf, AppError> {
    if global.typed_in.is_none() {
        return Ok(file.to_owned());
    }
    let whole = global
        .path(file)
        .and_then(|typed| typed.check().map(|()| typed.whole()));
    whole.map_err(|error| AppError::file("read", file, &error))
}
