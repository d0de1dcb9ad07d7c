//! Which models debates of a server may use. A request can only choose among them, so it can
//! neither reach an address nor start a program of its own.

use crate::{app::App, error::CliError, resolve::Allowlist};
use rebut_engine::{
    clean::on_one_line,
    family::is_person,
    model::{Fault, FaultKind, Model, Models},
};
use rebut_models::Registry;
use std::{collections::BTreeSet, sync::Arc};

#[derive(Clone, Debug)]
pub struct Allowed {
    names: BTreeSet<String>,
    /// Whether any script may be named.
    scripts: bool,
}

/// What plays where there is no model.
const REHEARSAL: &str = "rehearsal";

/// Any person. Whoever asks for one reaches no address, starts nothing and spends nothing: it is
/// the owner's own people who answer.
const PERSON: &str = "human";

impl Allowlist for Allowed {
    fn check(&self, model: &str) -> Result<(), CliError> {
        Self::check(self, model)
    }
}

impl Allowed {
    /// The list of the configuration; without one, what the operator's own panels can come to, the
    /// rehearsal, and people.
    pub async fn of(app: &App, registry: &Registry, scripts: bool) -> Self {
        if let Some(listed) = &app.config.server.models {
            return Self {
                names: listed.iter().map(|name| name.trim().to_owned()).collect(),
                scripts,
            };
        }
        let members = app.config.panels.values().flat_map(|panel| &panel.members);
        let seated = members
            .flat_map(|member| std::iter::once(&member.model).chain(&member.fallbacks))
            .cloned();
        let mut names: BTreeSet<String> = seated
            .chain([REHEARSAL, PERSON].map(str::to_owned))
            .collect();
        if app
            .config
            .defaults
            .panel
            .as_deref()
            .is_none_or(|panel| panel == "auto")
        {
            names.extend(
                app.found(registry)
                    .await
                    .candidates
                    .into_iter()
                    .map(|found| found.model),
            );
        }
        Self { names, scripts }
    }

    /// Every model that is named, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Whether a model may be used.
    pub fn has(&self, model: &str) -> bool {
        let any_person = || {
            [PERSON, "human:"]
                .iter()
                .any(|listed| self.names.contains(*listed))
        };
        self.names.contains(model)
            || (self.scripts && model.starts_with("script:"))
            || (is_person(model) && any_person())
    }

    /// Refuses a model that may not be used.
    pub fn check(&self, model: &str) -> Result<(), CliError> {
        if self.has(model) {
            return Ok(());
        }
        let hint = format!(
            "choose one of: {}; whoever runs the server can add it under [server] models",
            self.names().collect::<Vec<_>>().join(", ")
        );
        Err(CliError::usage(format!(
            "`{}` is not among the models of this server",
            on_one_line(model)
        ))
        .hint(hint))
    }
}

/// The models of this machine, but for those that may not be used: a fork, or a journal from
/// elsewhere, names models too.
pub struct OnlyAllowed {
    pub registry: Arc<Registry>,
    pub allowed: Arc<Allowed>,
}

impl Models for OnlyAllowed {
    fn open(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        match self.allowed.check(name) {
            Ok(()) => self.registry.open(name),
            Err(refused) => Err(Fault::new(FaultKind::NotFound, refused.message())),
        }
    }
}
