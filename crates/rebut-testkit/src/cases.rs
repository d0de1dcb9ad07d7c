//! A case is a folder: `debate.toml` (what is asked), `script.md` (what is replied), `expected.md`
//! (what must come out), and in some `seen.md` (what each agent was told, word by word).

use crate::{clock::SimulatedClock, toy_sandbox::ToySandbox};
use rebut_engine::{
    Desk, DeskOptions, Start,
    agent::{Agent, Role},
    error::DeskError,
    event::Limits,
    formats::FORMATS,
    memory_store::MemoryStore,
    model::{Answer, Fault, Model, Models, Price, Request},
    outcome::Outcome,
    record::Hash,
    report,
    seal::Seal,
    store::Store,
};
use rebut_models::script::{Script, ScriptModel};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// A case, read from its folder.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub start: Start,
    script: Vec<u8>,
    folder: PathBuf,
    /// Whether code can run, in the [`ToySandbox`].
    has_sandbox: bool,
}

/// What a run of a case gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    pub outcome: Arc<Outcome>,
    pub transcript: String,
    /// Every call that reached the model: turn and attempt, sorted.
    pub calls: Vec<(String, u32)>,
    /// Every job that reached the sandbox, by its hash, sorted.
    pub runs: Vec<Hash>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DebateToml {
    input: toml::Table,
    #[serde(default)]
    judges: Vec<String>,
    #[serde(default)]
    config: toml::Table,
    /// By judge, who answers when its own model cannot.
    #[serde(default)]
    fallbacks: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    limits: Option<Limits>,
    /// Whether there is a sandbox; there is one unless this says otherwise.
    #[serde(default = "yes")]
    sandbox: bool,
}

fn yes() -> bool {
    true
}

struct Everybody<M>(Arc<M>);

impl<M: Model> Models for Everybody<M> {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(self.0.clone())
    }
}

/// A script that keeps what it was told.
struct Witness {
    script: Arc<ScriptModel>,
    seen: Mutex<BTreeMap<String, String>>,
}

#[async_trait::async_trait]
impl Model for Witness {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let (prompt, form) = (request.prompt, request.schema.name);
        let told = format!(
            "### System\n\n{}\n\n### User\n\n{}\n\nAsked for: `{form}`\n",
            prompt.system.trim(),
            prompt.user.trim()
        );
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(request.turn.to_owned(), told);
        self.script.ask(request).await
    }

    fn price(&self) -> Option<Price> {
        self.script.price()
    }
}

impl Case {
    /// Every case of every format: `<folder>/<format>/<case>`. A format without a case fails.
    pub fn all(folder: &Path) -> Vec<Case> {
        let mut cases = Vec::new();
        for format in FORMATS {
            let found = folders_in(&folder.join(format.name));
            assert!(!found.is_empty(), "the format {} has no case", format.name);
            cases.extend(found.iter().map(|folder| Case::read(folder)));
        }
        cases
    }

    /// Reads one case; a broken one fails the test that asked for it.
    pub fn read(folder: &Path) -> Case {
        let read = |file: &str| {
            std::fs::read(folder.join(file))
                .unwrap_or_else(|error| panic!("{}/{file}: {error}", folder.display()))
        };
        let toml: DebateToml = toml::from_slice(&read("debate.toml"))
            .unwrap_or_else(|error| panic!("{}/debate.toml: {error}", folder.display()));
        let named = |path: Option<&Path>| {
            path.and_then(Path::file_name)
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        let format = FORMATS
            .iter()
            .find(|format| format.name == named(folder.parent()))
            .expect("the folder above is named after a format");
        let mut config: toml::Table = toml::from_str(format.preset).expect("presets are tables");
        // A linter is one more run for each version, and every run is crashed and resumed: a case
        // that is about it says so.
        if let Some(lints) = config.get_mut("lints") {
            *lints = false.into();
        }
        config.extend(toml.config);
        let judges = if toml.judges.is_empty() {
            ["risk", "value", "effort"].map(str::to_owned).to_vec()
        } else {
            toml.judges
        };
        Case {
            name: named(Some(folder)),
            script: read("script.md"),
            folder: folder.to_owned(),
            has_sandbox: toml.sandbox,
            start: Start {
                format: format.name.to_owned(),
                input: serde_json::to_value(toml.input).expect("an input is JSON"),
                config: serde_json::to_value(config).expect("settings are JSON"),
                agents: judges
                    .iter()
                    .map(|name| Agent {
                        fallbacks: toml.fallbacks.get(name).cloned().unwrap_or_default(),
                        ..judge(name)
                    })
                    .collect(),
                seed: Some(7),
                initiated_by: "case".to_owned(),
                limits: toml.limits,
            },
        }
    }

    pub fn model(&self) -> Arc<ScriptModel> {
        let script = Script::parse(&self.script)
            .unwrap_or_else(|error| panic!("{}/script.md: {error}", self.folder.display()));
        Arc::new(ScriptModel::new(self.name.clone(), script))
    }

    pub fn sandbox(&self) -> Arc<ToySandbox> {
        Arc::new(if self.has_sandbox {
            ToySandbox::default()
        } else {
            ToySandbox::refusing()
        })
    }

    /// A desk over a store, with this case's script answering for everybody.
    pub fn desk<M: Model>(&self, store: Arc<dyn Store>, model: Arc<M>) -> Desk {
        self.desk_with(store, model, self.sandbox())
    }

    /// The same with a sandbox that can be asked afterwards what it ran.
    pub fn desk_with<M: Model>(
        &self,
        store: Arc<dyn Store>,
        model: Arc<M>,
        sandbox: Arc<ToySandbox>,
    ) -> Desk {
        let options = DeskOptions {
            clock: Arc::new(SimulatedClock::new()),
            seal: Some(Seal::from_secret(&[7; 32])),
            sandbox,
            ..DeskOptions::default()
        };
        Desk::with_options(store, Arc::new(Everybody(model)), options)
    }

    pub async fn run(
        &self,
        store: Arc<dyn Store>,
    ) -> Result<(rebut_engine::DebateId, Ran), DeskError> {
        let (model, sandbox) = (self.model(), self.sandbox());
        let desk = self.desk_with(store, model.clone(), sandbox.clone());
        let (id, outcome) = desk.run(self.start.clone()).await?;
        let transcript = report::transcript(&desk.view(id).await?);
        Ok((
            id,
            Ran {
                outcome,
                transcript,
                calls: sorted(model.calls()),
                runs: sandbox.runs(),
            },
        ))
    }

    /// Whether what agents are told is part of the case.
    pub fn has_seen(&self) -> bool {
        self.folder.join("seen.md").exists()
    }

    /// Runs the case and compares what each agent was told with `seen.md`; the random marker of the
    /// debate is written as `MARKER`.
    pub async fn check_seen(&self) {
        let witness = Arc::new(Witness {
            script: self.model(),
            seen: Mutex::default(),
        });
        let store = Arc::new(MemoryStore::new());
        let desk = self.desk(store, witness.clone());
        let (id, _) = desk
            .run(self.start.clone())
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let marker = desk
            .view(id)
            .await
            .ok()
            .and_then(|view| view.started)
            .map(|started| started.marker.clone())
            .expect("it began");
        let seen = witness.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let told: String = seen
            .iter()
            .map(|(turn, told)| format!("\n## {turn}\n\n{told}"))
            .collect();
        self.compare(
            "seen.md",
            &format!(
                "# What each agent was told\n{}",
                told.replace(&marker, "MARKER")
            ),
        );
    }

    /// Compares with `expected.md`; writes it instead when `REBUT_UPDATE_CASES` is set.
    pub fn check(&self, ran: &Ran) {
        let calls = ran
            .calls
            .iter()
            .map(|(turn, attempt)| format!("- {turn} attempt {attempt}\n"))
            .collect::<String>();
        let found = format!(
            "{}\n## Calls\n\n{calls}\nOutcome {}, exit code {}\n",
            ran.transcript,
            ran.outcome.outcome.as_str(),
            ran.outcome.outcome.exit_code()
        );
        self.compare("expected.md", &found);
    }

    fn compare(&self, name: &str, found: &str) {
        let file = self.folder.join(name);
        if std::env::var_os("REBUT_UPDATE_CASES").is_some() {
            std::fs::write(&file, found)
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_else(|error| {
            panic!(
                "{}: {error}; run with REBUT_UPDATE_CASES=1 and read it",
                file.display()
            )
        });
        assert!(
            found == expected,
            "case {} differs from {name}; it gives:\n{found}",
            self.name
        );
    }
}

/// Calls in an order that does not depend on who was faster.
pub fn sorted(mut calls: Vec<(String, u32)>) -> Vec<(String, u32)> {
    calls.sort();
    calls
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn judge(name: &str) -> Agent {
    let role = Role::built_in(name).unwrap_or_else(|| Role::parse(name, "Weigh the case."));
    role.played_by("script:script.md")
}
