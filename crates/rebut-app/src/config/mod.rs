//! The configuration: `rebut.toml` of the project over the user's file over the presets, resolved
//! once.

mod budget;
mod checking;
mod file;
mod hook;
mod layers;
mod limits;
mod powers;
mod project;
mod server;
mod shape;
mod trust;

pub use file::{BudgetSection, ConfigFile, ContextSection, Defaults, Member, PanelSection};
pub use hook::HookSection;
pub use layers::{Layer, Origin, Project, override_tables};
pub use powers::{Power, recorded as recorded_powers};
pub use server::ServerSection;
pub use trust::{Standing, Trust};

use crate::error::AppError;
use rebut_engine::formats::{FORMATS, decide};
use rebut_models::{CliData, ProviderData};
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf};

#[derive(Clone, Debug)]
pub struct Config {
    /// The files it came from, strongest last.
    pub layers: Vec<Layer>,
    /// The project's file, if there is one and nobody named another.
    pub project: Option<Project>,
    /// What of files was not used, on one line.
    pub notice: Option<String>,
    pub defaults: Defaults,
    pub panels: BTreeMap<String, PanelSection>,
    pub providers: BTreeMap<String, ProviderData>,
    pub clis: BTreeMap<String, CliData>,
    /// What a debate may use at most, unless a flag says otherwise.
    pub budget: BudgetSection,
    /// Caps that two files set, so that the smaller counts.
    pub capped_twice: Vec<&'static str>,
    pub deny: Vec<String>,
    /// What happens when a coding agent calls.
    pub hook: HookSection,
    /// What a server allows and keeps.
    pub server: ServerSection,
    formats: toml::Table,
}

impl Config {
    /// Reads and joins the files. `overrides` are `format.key=value` from the command line.
    pub fn load(origin: &Origin, overrides: &[String]) -> Result<Self, AppError> {
        let read = layers::read(origin)?;
        let notice = notice(&read);
        let layers::Read {
            layers, project, ..
        } = read;
        let mut merged = layers::presets()?;
        for layer in &layers {
            layers::merge(&mut merged, layers::with_long_names(layer.table.clone()));
        }
        let (budget, capped_twice) = layers::budget(&layers)?;
        if merged.contains_key("budget") {
            let table = toml::Table::try_from(budget)
                .map_err(|error| AppError::failed(error.to_string()))?;
            merged.insert("budget".to_owned(), toml::Value::Table(table));
        }
        for text in overrides {
            layers::merge(
                &mut merged,
                layers::with_long_names(layers::override_table(text)?),
            );
        }
        let file: ConfigFile = layers::typed("the configuration", &merged)?;
        let deny = layers::denied(&layers, file.context.deny)?;
        Ok(Self {
            layers,
            project,
            notice,
            defaults: file.defaults,
            panels: file.panels,
            providers: file.providers,
            clis: file.clis,
            budget: file.budget,
            capped_twice,
            deny,
            hook: file.hook,
            server: file.server,
            formats: FORMATS
                .iter()
                .filter_map(|format| {
                    Some((format.name.to_owned(), merged.get(format.name)?.clone()))
                })
                .collect(),
        })
    }

    /// The resolved settings of a format.
    pub fn format(&self, name: &str) -> Result<Value, AppError> {
        let table = self
            .formats
            .get(name)
            .ok_or_else(|| AppError::usage(format!("there is no format `{name}`")))?;
        serde_json::to_value(table).map_err(|error| AppError::failed(error.to_string()))
    }

    /// The settings of a format with some of them changed, checked as those of a file are.
    pub fn format_with(
        &self,
        name: &str,
        changes: &serde_json::Map<String, Value>,
    ) -> Result<Value, AppError> {
        let rules = FORMATS
            .iter()
            .find(|format| format.name == name)
            .ok_or_else(|| AppError::usage(format!("there is no format `{name}`")))?;
        let changed = |changes: &serde_json::Map<String, Value>| {
            let mut config = self.format(name)?;
            if let Some(settings) = config.as_object_mut() {
                layers::merge_json(settings, changes);
            }
            Ok::<_, AppError>(config)
        };
        // One by one first, so that the one that is wrong is named.
        for (key, value) in changes {
            let config = changed(&serde_json::Map::from_iter([(key.clone(), value.clone())]))?;
            (rules.check_config)(&config).map_err(|problem| {
                let named = if problem.contains(key.as_str()) {
                    problem
                } else {
                    format!("{name}.{key}: {problem}")
                };
                AppError::usage(layers::with_suggestion(&named))
            })?;
        }
        let config = changed(changes)?;
        (rules.check_config)(&config).map_err(AppError::usage)?;
        Ok(config)
    }

    /// The settings of decide, typed and checked.
    pub fn decide(&self) -> Result<decide::Config, AppError> {
        decide::Config::parse(&self.format("decide")?).map_err(AppError::usage)
    }

    /// Everything as TOML, for `config show`.
    pub fn to_toml(&self) -> Result<String, AppError> {
        let file = ConfigFile {
            defaults: Defaults {
                database: self
                    .defaults
                    .database
                    .as_deref()
                    .map(rebut_store::shown_postgres_url),
                ..self.defaults.clone()
            },
            panels: self.panels.clone(),
            providers: self.providers.clone(),
            clis: self.clis.clone(),
            budget: self.budget.clone(),
            context: ContextSection {
                deny: self.deny.clone(),
            },
            hook: self.hook.clone(),
            server: self.server.clone(),
            ..ConfigFile::default()
        };
        let mut table =
            toml::Table::try_from(file).map_err(|error| AppError::failed(error.to_string()))?;
        table.retain(|_, value| value.as_table().is_none_or(|section| !section.is_empty()));
        table.extend(self.formats.clone());
        toml::to_string(&table).map_err(|error| AppError::failed(error.to_string()))
    }

    /// Whether a provider or a program of that name is only the project's, and waits for the user's
    /// trust.
    pub fn waits(&self, section: &str, name: &str) -> bool {
        let project = self
            .project
            .as_ref()
            .filter(|project| project.standing != Standing::Trusted);
        let is_known = if section == "providers" {
            self.providers.contains_key(name)
        } else {
            self.clis.contains_key(name)
        };
        project.is_some_and(|project| {
            project
                .divided
                .powers
                .iter()
                .any(|power| power.key == format!("{section}.{name}"))
        }) && !is_known
    }

    /// The project's directory: where its `rebut.toml` is, or where we are.
    pub fn project_dir(&self, origin: &Origin) -> PathBuf {
        let project = self
            .layers
            .iter()
            .rev()
            .find(|layer| layer.is_project)
            .and_then(|layer| layer.path.parent());
        project.map_or_else(|| origin.current_dir.clone(), PathBuf::from)
    }
}

/// What of the files is not used, in one line.
fn notice(read: &layers::Read) -> Option<String> {
    if let Some((path, why)) = &read.passed_over {
        return Some(format!("{} is not used: it {why}", path.display()));
    }
    let project = read.project.as_ref()?;
    let keys: Vec<&str> = project
        .divided
        .powers
        .iter()
        .map(|power| power.key.as_str())
        .collect();
    let waiting = (project.standing != Standing::Trusted && !keys.is_empty()).then(|| {
        let changed = if project.standing == Standing::Changed {
            " again, since the file has changed"
        } else {
            ""
        };
        format!(
            "ignored until you run `rebut trust`{changed}: {}",
            keys.join(", ")
        )
    });
    let never = &project.divided.never;
    let never =
        (!never.is_empty()).then(|| format!("never taken from a project: {}", never.join(", ")));
    let all: Vec<String> = waiting.into_iter().chain(never).collect();
    (!all.is_empty()).then(|| {
        rebut_engine::clean::on_one_line(&format!("{}: {}", project.path.display(), all.join("; ")))
    })
}
