//! Commands that would fix what is missing. They are printed, never run.

use super::findings::Findings;
use crate::hint_command::{command, quoted};
use rebut_models::cli;
use std::path::Path;

/// The commands, the most useful first.
pub fn commands(findings: &Findings) -> Vec<String> {
    let mut all = Vec::new();
    // What is wrong with a server is said with the problem; no command of this machine mends it.
    if findings.store.problem.is_some() && findings.store.server.is_none() {
        all.push(findings.store.dir.as_deref().map_or_else(
            || "rebut --data DIR …   # there is no HOME".to_owned(),
            usable_dir,
        ));
    }
    all.extend(refused_keys(findings));
    all.extend(
        findings
            .clis
            .iter()
            .filter(|cli| cli.signed_in == Some(false))
            .filter_map(|cli| login(&cli.hint)),
    );
    // With several families at hand nothing more is missing.
    if findings.panel.families.len() < 2 {
        all.extend(findings.nameless.iter().map(|provider| {
            let models = command(format_args!("models {}", quoted(provider)));
            format!(
                "{models}   # then write auto_model = \"one of them\" under [providers.{provider}]"
            )
        }));
        all.extend(more_models(findings));
    }
    all.extend(
        findings
            .panel
            .unpriced
            .iter()
            .filter_map(|model| price(model)),
    );
    all
}

/// Makes a data folder one that debates can be kept in.
fn usable_dir(dir: &Path) -> String {
    let database = dir.join("rebut.db");
    let name = |path: &Path| quoted(&path.display().to_string());
    match (database.is_file(), dir.is_dir() || !dir.exists()) {
        (true, _) => format!(
            "mv {} {}   # keep it: sqlite3 can often recover what is in it",
            name(&database),
            name(&database.with_extension("damaged"))
        ),
        (false, true) => format!("mkdir -p {0} && chmod u+rwx {0}", name(dir)),
        (false, false) => "rebut --data DIR …   # what is named there is no directory".to_owned(),
    }
}

/// Keys and logins that were refused when asked.
fn refused_keys(findings: &Findings) -> Vec<String> {
    let refused = findings
        .probes
        .iter()
        .flatten()
        .filter(|probe| probe.refused);
    let fixes = refused.filter_map(|probe| {
        let (provider, name) = probe.model.split_once(':')?;
        if provider == "cli" {
            let name = name.split('/').next().unwrap_or_default();
            return login(&findings.clis.iter().find(|cli| cli.name == name)?.hint);
        }
        let key = findings.keys.iter().find(|key| key.provider == provider)?;
        Some(format!(
            "export {}='…'   # the one that is set was refused by {provider}",
            key.variable
        ))
    });
    let mut all: Vec<String> = fixes.collect();
    all.dedup();
    all
}

/// Ways to more models: keys, agent programs, a server.
fn more_models(findings: &Findings) -> Vec<String> {
    let unset = findings.keys.iter().filter(|key| !key.set);
    let keys = unset.map(|key| {
        format!(
            "export {}='…'   # your key of {}",
            key.variable, key.provider
        )
    });
    let missing = cli::built_in()
        .into_iter()
        .filter(|(name, _)| !findings.clis.iter().any(|cli| cli.name == *name));
    let server = (!findings.servers.iter().any(|server| server.answers))
        .then(|| "ollama serve & ollama pull qwen3:8b   # a model on this machine".to_owned());
    keys.chain(missing.filter_map(|(_, data)| data.install))
        .chain(server)
        .collect()
}

/// The command in a hint such as "run `codex login`, or …".
fn login(hint: &str) -> Option<String> {
    hint.split('`')
        .nth(1)
        .map(|command| format!("{command}   # {hint}"))
}

/// Writes a price into the project's file. An agent program has none per token.
fn price(model: &str) -> Option<String> {
    let (provider, name) = model
        .split_once(':')
        .filter(|(provider, _)| *provider != "cli")?;
    let section =
        format!("[providers.{provider}.prices.\"{name}\"]\\ninput = 0.0\\noutput = 0.0\\n");
    Some(format!(
        "printf {} >> {}   # with the real dollars per million tokens",
        quoted(&section),
        "rebut.toml"
    ))
}
