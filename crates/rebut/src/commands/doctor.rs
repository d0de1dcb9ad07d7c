//! `doctor`, and bare `rebut`: what this machine has.

use crate::{
    app::App,
    cli::{GlobalArgs, JsonArg},
    error::CliError,
    output,
    paint::Paint,
};
use rebut_engine::outcome::Ending;
use rebut_store::SqliteStore;
use serde::Serialize;
use std::path::PathBuf;

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    /// Variables with a key, by provider.
    keys: Vec<Key>,
    /// Models the auto panel would use.
    models: Vec<String>,
    /// Agent programs on the path. They are found, but not driven yet.
    agents: Vec<String>,
    /// Configuration files in use.
    config: Vec<PathBuf>,
    /// Where debates are kept.
    data: PathBuf,
    /// Why they cannot be kept there; null when they can.
    problem: Option<String>,
    /// The public key that seals journals here.
    seal: String,
    /// Whether a model can answer; otherwise only the rehearsal can.
    usable: bool,
}

#[derive(Debug, Serialize)]
struct Key {
    provider: String,
    variable: String,
    set: bool,
}

/// Agent programs looked for.
const AGENTS: &[&str] = &["claude", "codex", "gemini", "qwen", "opencode"];

/// `rebut doctor`.
pub async fn run(global: &GlobalArgs, args: JsonArg) -> Result<u8, CliError> {
    let findings = find(global).await?;
    if args.json {
        output::print_json(&findings)?;
    } else {
        output::print(&report(&findings, Paint::stdout(global.color)))?;
    }
    Ok(if findings.usable { 0 } else { Ending::NoModel.exit_code() })
}

/// Bare `rebut`: what is here and what to try.
pub async fn first_run(global: &GlobalArgs) -> Result<u8, CliError> {
    let findings = find(global).await?;
    let paint = Paint::stdout(global.color);
    let mut text = report(&findings, paint);
    text.push_str("\nTry:   rebut demo                                   no key, no cost, 20 seconds\n");
    text.push_str("       rebut \"Redis or Memcached for sessions?\"     a debate on your question\n");
    text.push_str("       rebut init                                   write rebut.toml\n       rebut --help\n");
    output::print(&text)?;
    Ok(0)
}

async fn find(global: &GlobalArgs) -> Result<Findings, CliError> {
    let app = App::open(global, &[])?;
    let registry = app.registry()?;
    let keys = registry.endpoints().filter_map(|endpoint| {
        let variable = endpoint.key_env?.to_owned();
        Some(Key { provider: endpoint.name.to_owned(), variable, set: endpoint.is_ready })
    });
    let keys: Vec<Key> = keys.collect();
    let models = registry.find_models().await;
    Ok(Findings {
        keys,
        agents: AGENTS.iter().filter(|name| on_path(name)).map(|name| (*name).to_owned()).collect(),
        config: app.config.layers.iter().map(|layer| layer.path.clone()).collect(),
        data: app.place.dir().to_owned(),
        problem: SqliteStore::open(&app.place.database()).err().map(|error| error.to_string()),
        seal: app.place.seal()?.public().to_owned(),
        usable: !models.is_empty(),
        models,
    })
}

fn report(findings: &Findings, paint: Paint) -> String {
    let none = |list: String| if list.is_empty() { "none".to_owned() } else { list };
    let set = findings.keys.iter().filter(|key| key.set).map(|key| key.variable.as_str()).collect::<Vec<_>>().join(", ");
    let unset = findings.keys.iter().filter(|key| !key.set).map(|key| key.variable.as_str()).collect::<Vec<_>>().join(", ");
    let config = findings.config.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let database = match &findings.problem {
        None => findings.data.display().to_string(),
        Some(problem) => format!("{}: {}", findings.data.display(), paint.bad(problem)),
    };
    let mut text = format!("keys     {}\n", none(set));
    if !findings.usable {
        text.push_str(&format!("         {}\n", paint.faint(&format!("set one of {unset}"))));
    }
    text.push_str(&format!("models   {}\n", none(findings.models.join(", "))));
    let agents = findings.agents.join(", ");
    let note = if agents.is_empty() { "" } else { "  (found; rebut does not drive agent programs yet)" };
    text.push_str(&format!("agents   {}{}\n", none(agents), paint.faint(note)));
    text.push_str(&format!("config   {}\n", none(config)));
    text.push_str(&format!("data     {database}\n"));
    text.push_str(&format!("seal     {}\n", findings.seal));
    if findings.usable {
        text.push_str(&format!("{}\n", paint.good("ready")));
    } else {
        text.push_str(&format!("{} debates run with the built-in rehearsal, which is not a model\n", paint.attention("no model found:")));
    }
    text
}

fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
}
