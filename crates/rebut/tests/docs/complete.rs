//! The reference is complete: whatever the program's own tables hold has its place in the book.

use crate::text;
use rebut_engine::{
    agent, event,
    formats::{arms, decide, review},
    outcome::Ending,
    topology::TOPOLOGIES,
    voting,
};
use std::process::Command;

#[test]
fn every_command_has_its_line() {
    let help = Command::new(env!("CARGO_BIN_EXE_rebut")).arg("--help").output().expect("rebut runs");
    let help = String::from_utf8(help.stdout).expect("text");
    let commands = help.split("Commands:\n").nth(1).expect("a list of commands").split("\n\n").next().unwrap_or_default();
    let names: Vec<&str> = commands.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert!(names.len() > 20, "{names:?}");
    all_in("docs/src/cli.md", names.iter().map(|name| format!("`rebut {name}")));
}

#[test]
fn every_event_setting_role_provider_and_exit_code_is_explained() {
    all_in("docs/src/journal.md", event::KINDS.iter().map(|(kind, _)| format!("`{kind}`")));
    let preset: toml::Table = toml::from_str(decide::FORMAT.preset).expect("a preset");
    all_in("docs/src/decide.md", preset.keys().map(|key| format!("`{key}`")));
    all_in("docs/src/topologies.md", TOPOLOGIES.iter().map(|kind| format!("| `{}` |", kind.name())));
    let preset: toml::Table = toml::from_str(review::FORMAT.preset).expect("a preset");
    let debate = preset["debate"].as_table().expect("a table").keys().map(|key| format!("`debate.{key}`"));
    all_in("docs/src/review.md", preset.keys().map(|key| format!("`{key}`")).chain(debate));
    for arm in [arms::single::FORMAT, arms::poll::FORMAT, arms::society::FORMAT] {
        let preset: toml::Table = toml::from_str(arm.preset).expect("a preset");
        all_in("docs/src/arms.md", preset.keys().map(|key| format!("`{}.{key}`", arm.name)));
    }
    all_in("docs/src/panels.md", agent::BUILT_IN.iter().map(|(role, _)| format!("`{role}`")));
    all_in("docs/src/panels.md", rebut_models::registry::built_in().keys().map(|name| format!("`{name}`")));
    all_in("docs/src/panels.md", rebut_models::cli::built_in().keys().map(|name| format!("`{name}`")));
    all_in("docs/src/voting.md", voting::METHODS.iter().map(|method| format!("| `{}` | ", method.name)));
    all_in("docs/src/voting.md", voting::TIE_RULES.iter().map(|(rule, _)| format!("| `{rule}` | ")));
    let endings =
        [Ending::Consensus, Ending::NoQuorum, Ending::Contested, Ending::NoModel, Ending::Stopped, Ending::Rejected, Ending::Cancelled];
    all_in("docs/src/cli.md", endings.iter().map(|ending| format!("| {} |", ending.exit_code())));
}

fn all_in(page: &str, wanted: impl Iterator<Item = String>) {
    let text = text(page);
    let missing: Vec<String> = wanted.filter(|word| !text.contains(word.as_str())).collect();
    assert!(missing.is_empty(), "{page} does not mention {missing:?}");
}
