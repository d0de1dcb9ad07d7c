//! Agent CLIs as models: `cli:claude`, `cli:codex/MODEL`. Each call is a program of its own in a
//! directory of its own, and nothing of it is left afterwards.

mod data;
mod failing;
mod found;
mod keeper;
mod leftover;
mod pick;
mod place;
mod plan;
mod reading;
mod running;
mod secret;
mod tree;

pub use data::{Arg, CliData, Format, Home, OutputData, Pick, Stdin, UsageAt, built_in};
pub use found::CliInfo;
pub use keeper::{KEEPER, keeper_main};

use keeper::Keeper;
use place::{Paths, Place};
use reading::Reader;
use rebut_engine::{
    model::{Allowance, Answer, Fault, FaultKind, Model, Request},
    secrets::Scrubber,
    suggest::suggest,
};
use running::Limits;
use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{process::Command, sync::OnceCell};

/// Every CLI by name.
pub struct Clis {
    clis: BTreeMap<String, Arc<Cli>>,
    temp: PathBuf,
    keeper: Arc<Keeper>,
}

/// One CLI with what it may see of our environment.
struct Cli {
    name: String,
    command: String,
    data: CliData,
    /// Our variables it may see.
    passed: BTreeMap<String, String>,
    user_home: Option<String>,
    temp: PathBuf,
    keeper: Arc<Keeper>,
    /// Everything it is given that is not known to be harmless.
    secrets: Vec<String>,
    /// Blanks them.
    scrubber: Scrubber,
    version: OnceCell<Option<String>>,
}

/// One CLI, and which model it should use.
struct CliModel {
    cli: Arc<Cli>,
    model: Option<String>,
}

impl Clis {
    /// The built-in CLIs with the configuration's changes; `variable` looks up a variable of the
    /// environment.
    pub fn new(
        config: &BTreeMap<String, CliData>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Fault> {
        let mut all = built_in();
        for (name, data) in config {
            let known = all.remove(name).unwrap_or_default();
            all.insert(name.clone(), known.changed_by(data));
        }
        let (none, keeper) = (CliData::default(), Arc::new(Keeper::default()));
        let temp = variable("TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let clis = all.into_iter().map(|(name, data)| {
            // What is compiled in is no secret.
            let configured = &config.get(&name).unwrap_or(&none).env;
            Ok((
                name.clone(),
                Arc::new(Cli::new(
                    name,
                    data,
                    configured,
                    variable,
                    (&temp, &keeper),
                )?),
            ))
        });
        Ok(Self {
            clis: clis.collect::<Result<_, Fault>>()?,
            temp: temp.clone(),
            keeper,
        })
    }

    /// The same, kept by `program`: an executable that calls [`keeper_main`] when its first
    /// argument is [`KEEPER`]. Then nothing that was started here lives on when this process is
    /// killed.
    pub fn kept_by(self, program: PathBuf) -> Self {
        self.keeper.is(program);
        self
    }

    /// Ends what calls of other processes, which are gone, left behind; says of how many. For those
    /// who were killed together with their keeper.
    pub fn clear_left(&self) -> usize {
        leftover::clear(&self.temp)
    }

    /// The model behind `NAME` or `NAME/MODEL`.
    pub fn open(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        let (name, model) = name
            .split_once('/')
            .map_or((name, None), |(name, model)| (name, Some(model)));
        let Some(cli) = self.clis.get(name) else {
            let known: Vec<&str> = self.clis.keys().map(String::as_str).collect();
            let meant = suggest(name, known.iter().copied())
                .map(|meant| format!("; did you mean `cli:{meant}`?"));
            let meant = meant.unwrap_or_else(|| ".".to_owned());
            let message = format!("unknown CLI `{name}`{meant} Known: {}", known.join(", "));
            return Err(Fault::new(FaultKind::NotFound, message));
        };
        if model.is_some_and(|model| {
            model.is_empty() || model.starts_with('-') || model.chars().any(char::is_control)
        }) {
            return Err(cli.fault(
                FaultKind::NotFound,
                &format!("write cli:{name} or cli:{name}/MODEL"),
            ));
        }
        cli.program()?;
        Ok(Arc::new(CliModel {
            cli: cli.clone(),
            model: model.map(str::to_owned),
        }))
    }

    /// What CLIs are given in confidence, so that nothing that is recorded holds them.
    pub fn secrets(&self) -> Vec<String> {
        self.clis
            .values()
            .flat_map(|cli| cli.secrets.iter().cloned())
            .collect()
    }
}

impl Cli {
    fn new(
        name: String,
        data: CliData,
        configured: &BTreeMap<String, String>,
        variable: &dyn Fn(&str) -> Option<String>,
        (temp, keeper): (&Path, &Arc<Keeper>),
    ) -> Result<Self, Fault> {
        let is_inside = |path: &str| {
            Path::new(path.trim_start_matches("~/"))
                .components()
                .all(|part| matches!(part, Component::Normal(_)))
        };
        if let Some(path) = data.files.keys().find(|path| !is_inside(path)) {
            let message = format!(
                "[clis.{name}] files: `{path}` must be a path inside the workspace, or begin with \
                 ~/"
            );
            return Err(Fault::new(FaultKind::BadRequest, message));
        }
        if data.args.is_none() {
            return Err(Fault::new(
                FaultKind::BadRequest,
                format!(
                    "[clis.{name}] has no args; say how the program is called (`args = []` if it \
                     takes none)"
                ),
            ));
        }
        let names = ["PATH", "LANG"]
            .into_iter()
            .chain(data.pass.iter().flatten().map(String::as_str));
        let passed: BTreeMap<String, String> = names
            .filter_map(|name| Some((name.to_owned(), variable(name)?)))
            .collect();
        let secrets = secret::among(&passed, configured);
        Ok(Self {
            command: data.command.clone().unwrap_or_else(|| name.clone()),
            scrubber: Scrubber::new(secrets.iter().cloned()),
            secrets,
            user_home: variable("HOME"),
            temp: temp.to_owned(),
            keeper: keeper.clone(),
            version: OnceCell::new(),
            name,
            data,
            passed,
        })
    }

    fn has_key(&self) -> bool {
        self.data.key_vars.iter().flatten().any(|name| {
            self.passed
                .get(name)
                .is_some_and(|value| !value.trim().is_empty())
        })
    }

    fn limits(&self, time_left: Duration) -> Limits {
        // A little earlier than the kernel, so that our own end, which knows more, is the one that
        // is told.
        let margin = (time_left / 10).min(Duration::from_secs(1));
        let total = time_left.saturating_sub(margin);
        let idle = self.data.idle_s.unwrap_or(120);
        Limits {
            total,
            idle: if idle == 0 {
                total
            } else {
                Duration::from_secs(idle).min(total)
            },
            grace: Duration::from_millis(self.data.grace_ms.unwrap_or(5000)).min(total),
        }
    }

    /// Where a call runs, with somebody who clears up if we cannot.
    fn place(&self, context_files: &[String]) -> Result<Place, Fault> {
        self.keeper.start(&self.temp);
        Place::make(&self.temp, context_files)
    }

    /// One call, from an empty directory to none.
    async fn ask(&self, model: Option<&str>, request: &Request<'_>) -> Result<Answer, Fault> {
        let program = self.program()?;
        let mut place = self.place(self.data.context_files.as_deref().unwrap_or_default())?;
        let plan = self.plan(model, request, &place.paths())?;
        place.fill(&plan)?;
        let mut command = Command::new(program);
        command
            .args(&plan.args)
            .env_clear()
            .envs(&plan.env)
            .current_dir(place.dir());
        let reader = Reader::new(&self.data.output);
        let run = running::run(
            command,
            place.paths().mark(),
            plan.stdin,
            self.limits(request.time_left),
            reader,
        )
        .await;
        let finished = run.map_err(|error| self.not_started(&error))?;
        if let Some(file) = place.changed() {
            let message = format!(
                "its agent changed {file}, which holds its instructions; what it says this turn is \
                 not trusted"
            );
            return Err(self.fault(FaultKind::InvalidReply, &message));
        }
        self.judged(&finished)
    }
}

#[async_trait::async_trait]
impl Model for CliModel {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let cli = &self.cli;
        let answer = cli.ask(self.model.as_deref(), &request);
        let (answer, version) = tokio::try_join!(answer, async { Ok(cli.version().await) })?;
        let version = version
            .map(|version| format!(" {version}"))
            .unwrap_or_default();
        Ok(Answer {
            program: Some(format!("{}{version}", cli.name)),
            ..answer
        })
    }

    fn wire(&self, request: &Request<'_>) -> String {
        let paths = Paths::shown(&self.cli.temp);
        match self.cli.plan(self.model.as_deref(), request, &paths) {
            Ok(plan) => self.cli.shown(&plan, &paths),
            Err(fault) => fault.to_string(),
        }
    }

    fn allowance(&self) -> Allowance {
        Allowance {
            concurrency: Some(self.cli.data.concurrency.unwrap_or(4)),
            ..Allowance::default()
        }
    }
}
