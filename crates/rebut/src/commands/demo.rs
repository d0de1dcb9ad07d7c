//! `demo`: a written debate through the real engine. Nothing is kept, nobody is asked.

use super::progress;
use crate::{
    app::{App, STREAMS},
    cli::{DemoArgs, GlobalArgs},
    error::CliError,
    output,
    paint::Paint,
    panel::JUDGES,
};
use rebut_engine::{
    Desk, DeskOptions, Start,
    agent::Role,
    formats::decide::{Choice, Config, Input},
    memory_store::MemoryStore,
    model::{Fault, Model, Models},
};
use rebut_models::script::{Script, ScriptModel};
use std::sync::Arc;

const SPEC: &str = include_str!("../../../../examples/decide/spec.md");
const SCRIPT: &str = include_str!("../../../../examples/decide/script.md");

struct Written(Arc<ScriptModel>);

impl Models for Written {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(self.0.clone())
    }
}

pub async fn run(global: &GlobalArgs, args: DemoArgs) -> Result<u8, CliError> {
    let app = App {
        keeps: false,
        ..App::open(global, &[])?
    };
    output::check_files(&args.output, "decide")?;
    let text: String = if args.fast {
        SCRIPT
            .lines()
            .filter(|line| !line.starts_with("!delay"))
            .map(|line| format!("{line}\n"))
            .collect()
    } else {
        SCRIPT.to_owned()
    };
    let script =
        Script::parse(text.as_bytes()).map_err(|error| CliError::failed(error.to_string()))?;
    let models = Written(Arc::new(ScriptModel::new("demo", script)));
    let options = DeskOptions {
        stream_deltas: STREAMS,
        ..DeskOptions::default()
    };
    let desk = Desk::with_options(Arc::new(MemoryStore::new()), Arc::new(models), options);
    if !global.quiet {
        warn_line!(
            "{}",
            Paint::stderr().faint(
                "demo: three judges played by a written script, \
                through the real engine; nothing is kept"
            )
        );
    }
    let running = desk.start(start()?).await?;
    let code = progress::follow(&app, &desk, running, &args.output).await?;
    if code == 0 && !global.quiet {
        warn_line!(
            "{}",
            Paint::stderr().faint("now yours: rebut \"Redis or Memcached for sessions?\"")
        );
    }
    Ok(code)
}

fn start() -> Result<Start, CliError> {
    let choice = |id: &str, label: &str| Choice {
        id: id.to_owned(),
        label: label.to_owned(),
        description: String::new(),
    };
    let input = Input {
        question_id: "offline-support".to_owned(),
        question: "Offline support in the field app?".to_owned(),
        options: vec![
            choice("A", "Online only"),
            choice("B", "Full offline"),
            choice("C", "Limited offline"),
        ],
        context: SPEC.to_owned(),
        ..Input::default()
    };
    let failed = |error: serde_json::Error| CliError::failed(error.to_string());
    Ok(Start {
        format: "decide".to_owned(),
        input: serde_json::to_value(input).map_err(failed)?,
        config: serde_json::to_value(Config::default()).map_err(failed)?,
        agents: JUDGES
            .iter()
            .filter_map(|role| Role::built_in(role))
            .map(|role| role.played_by("script:demo"))
            .collect(),
        seed: Some(1),
        initiated_by: "demo".to_owned(),
        limits: None,
    })
}
