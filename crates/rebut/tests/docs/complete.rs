//! The reference is complete: whatever the program's own tables hold has its place in the book.

use crate::text;
use rebut_engine::{
    agent, event,
    formats::{
        FORMATS, baselines,
        decide::replies::{Recommendation, Response},
    },
    outbox,
    outcome::Ending,
    reply::Reply,
    topology::TOPOLOGIES,
    voting,
};
use std::process::Command;

/// Formats without a page of their own name: control arms have one together, the others are
/// commands.
const ON_OTHER_PAGES: [&str; 5] = ["single", "poll", "society", "triage", "propose"];

#[test]
fn every_command_has_its_line() {
    let help = Command::new(env!("CARGO_BIN_EXE_rebut"))
        .arg("--help")
        .output()
        .expect("rebut runs");
    let help = String::from_utf8(help.stdout).expect("text");
    let commands = help
        .split("Commands:\n")
        .nth(1)
        .expect("a list of commands")
        .split("\n\n")
        .next()
        .unwrap_or_default();
    let names: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() > 20, "{names:?}");
    all_in(
        "docs/src/cli.md",
        names.iter().map(|name| format!("`rebut {name}")),
    );
}

#[test]
fn every_event_setting_role_provider_and_exit_code_is_explained() {
    all_in(
        "docs/src/journal.md",
        event::KINDS.iter().map(|(kind, _)| format!("`{kind}`")),
    );
    for format in FORMATS
        .iter()
        .filter(|format| !ON_OTHER_PAGES.contains(&format.name))
    {
        let preset: toml::Table = toml::from_str(format.preset).expect("a preset");
        all_in(
            &format!("docs/src/{}.md", format.name),
            preset.iter().flat_map(|(key, value)| keys(key, value)),
        );
    }
    all_in(
        "docs/src/topologies.md",
        TOPOLOGIES
            .iter()
            .map(|kind| format!("| `{}` |", kind.name())),
    );
    for arm in [
        baselines::single::FORMAT,
        baselines::poll::FORMAT,
        baselines::society::FORMAT,
    ] {
        let preset: toml::Table = toml::from_str(arm.preset).expect("a preset");
        all_in(
            "docs/src/arms.md",
            preset.keys().map(|key| format!("`{}.{key}`", arm.name)),
        );
    }
    all_in(
        "docs/src/panels.md",
        agent::BUILT_IN.iter().map(|(role, _)| format!("`{role}`")),
    );
    all_in(
        "docs/src/panels.md",
        rebut_models::registry::built_in()
            .keys()
            .map(|name| format!("`{name}`")),
    );
    all_in(
        "docs/src/panels.md",
        rebut_models::cli::built_in()
            .keys()
            .map(|name| format!("`{name}`")),
    );
    for reply in [Recommendation::schema(), Response::schema()] {
        let fields = reply["properties"].as_object().expect("fields");
        all_in(
            "docs/src/scripts.md",
            fields.keys().map(|field| format!("`{field}`")),
        );
    }
    all_in(
        "docs/src/voting.md",
        voting::METHODS
            .iter()
            .map(|method| format!("| `{}` | ", method.name)),
    );
    all_in(
        "docs/src/voting.md",
        voting::TIE_RULES
            .iter()
            .map(|(rule, _)| format!("| `{rule}` | ")),
    );
    let endings = [
        Ending::Consensus,
        Ending::NoQuorum,
        Ending::Contested,
        Ending::NoModel,
        Ending::Stopped,
        Ending::Rejected,
        Ending::Cancelled,
    ];
    all_in(
        "docs/src/cli.md",
        endings
            .iter()
            .map(|ending| format!("| {} |", ending.exit_code())),
    );
}

fn all_in(page: &str, wanted: impl Iterator<Item = String>) {
    let text = text(page);
    let missing: Vec<String> = wanted
        .filter(|word| !text.contains(word.as_str()))
        .collect();
    assert!(missing.is_empty(), "{page} does not mention {missing:?}");
}

/// A setting as the book names it; the settings below it where it is a table.
fn keys(key: &str, value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::Table(below) => below
            .keys()
            .map(|inner| format!("`{key}.{inner}`"))
            .collect(),
        _ => vec![format!("`{key}`")],
    }
}

/// The book shows how a message is checked; the receiver that its session runs does just that.
#[test]
fn webhooks_are_explained_and_checked_as_shown() {
    all_in(
        "docs/src/server.md",
        outbox::TOLD
            .iter()
            .map(|(kind, when)| format!("| `{kind}` | {when} |")),
    );
    let page = text("docs/src/server.md");
    let shown = page
        .split("```python\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("a block of Python");
    all_in(
        "examples/webhooks/receiver.py",
        shown.lines().map(str::to_owned),
    );
}
