//! The readable copy of a debate in its workspace: `state.json`, `transcript.md`, one file per
//! agent and round. Made from the journal alone, so that equal journals give equal files, and
//! rewritten whole, so that nobody ever reads half of one.

use super::{persona_files, speaker_names};
use crate::error::AppError;
use rebut_engine::{
    DebateId, Desk,
    clean::on_one_line,
    event::Started,
    formats::challenge::said_in_full,
    report,
    view::{RoundView, View},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write,
    path::{Path, PathBuf},
};

/// Keeps the files up to date until the debate ends or is left.
pub async fn keep(desk: Desk, id: DebateId, dir: PathBuf) -> Result<(), AppError> {
    let mut watch = desk.watch(id, 0).await?;
    let mut view = View::default();
    let mut written: BTreeMap<String, String> = BTreeMap::new();
    while let Some(record) = watch.next().await? {
        view.apply(&record);
        // What is asked and answered within a round shows when the round is over.
        if !record.kind.starts_with("turn.") {
            write_all(&view, &dir, &mut written)?;
        }
    }
    write_all(&view, &dir, &mut written)
}

fn write_all(
    view: &View,
    dir: &Path,
    written: &mut BTreeMap<String, String>,
) -> Result<(), AppError> {
    for (name, text) in files(view) {
        if written.get(&name) != Some(&text) {
            write_whole(&dir.join(&name), &text)?;
            written.insert(name, text);
        }
    }
    Ok(())
}

/// Writes beside it and renames: a reader sees the old file or the new one.
fn write_whole(path: &Path, text: &str) -> Result<(), AppError> {
    let beside = path.with_extension("new");
    let done =
        super::guard::write_fresh(&beside, text).and_then(|_| std::fs::rename(&beside, path));
    done.map_err(|error| AppError::file("write", path, &error))
}

/// Every file a debate makes, by its path below the workspace.
pub fn files(view: &View) -> Vec<(String, String)> {
    let Some(started) = &view.started else {
        return Vec::new();
    };
    let mut files = vec![
        ("state.json".to_owned(), state(view, started)),
        ("transcript.md".to_owned(), report::transcript(view)),
    ];
    for (agent, speaker) in speaker_names(&started.agents) {
        let mut by_round: BTreeMap<u32, Vec<&RoundView>> = BTreeMap::new();
        for round in view.rounds.iter().filter(|round| {
            round.round > 0 && round.completed && round.agents.iter().any(|known| **known == *agent)
        }) {
            by_round.entry(round.round).or_default().push(round);
        }
        for (number, rounds) in by_round {
            files.push((
                format!("rounds/r{number:03}_{speaker}.md"),
                round_file(view, started, &agent, number, &rounds),
            ));
        }
    }
    files
}

fn round_file(
    view: &View,
    started: &Started,
    agent: &str,
    number: u32,
    rounds: &[&RoundView],
) -> String {
    let persona = view
        .personas
        .iter()
        .find(|(name, _)| **name == *agent)
        .map(|(_, persona)| format!(", {}", on_one_line(&persona.title)));
    let mut text = format!(
        "# Round {number}: {agent}{}\n\nTopic: {}\n",
        persona.unwrap_or_default(),
        on_one_line(&started.topic)
    );
    for round in rounds {
        let said =
            said_in_full(view, round, agent).unwrap_or_else(|| "Nothing was said.".to_owned());
        let _ = write!(text, "\n## {}\n\n{}\n", round.phase, said.trim());
    }
    text
}

/// Where the debate stands, for programs.
fn state(view: &View, started: &Started) -> String {
    let last = |agent: &str| {
        let mut positions = view
            .rounds
            .iter()
            .rev()
            .flat_map(|round| round.positions.iter().rev());
        positions
            .find(|(name, _)| **name == *agent)
            .map(|(_, position)| position)
    };
    let files = persona_files(&started.agents);
    let proposer = started.agents.first().map_or("", |agent| &*agent.name);
    let challengers: Vec<Value> = files
        .iter()
        .map(|(agent, file)| {
            let persona = view.personas.iter().find(|(name, _)| **name == **agent).map(|(_, persona)| persona.title.clone());
            let model = started.agents.iter().find(|known| *known.name == **agent).map(|known| known.model.to_string());
            let verdict = last(agent).and_then(|position| position.counted.clone());
            json!({ "agent": agent, "context_file": file, "model": model, "perspective": persona, "verdict": verdict })
        })
        .collect();
    let position = last(proposer);
    let state = json!({
        "debate_id": view.id.map(|id| id.to_string()),
        "topic": started.topic,
        "status": view.status().as_str(),
        "round": view.rounds.iter().map(|round| round.round).max().unwrap_or(0),
        "phase": view.rounds.last().map(|round| round.phase.clone()),
        "version": position.and_then(|position| position.option.clone()),
        "position": position.map(|position| position.summary.clone()),
        "proposer": proposer,
        "challengers": challengers,
        "outcome": view.outcome.as_ref().map(|outcome| outcome.outcome.as_str()),
        "summary": view.outcome.as_ref().map(|outcome| outcome.summary.clone()),
        "degraded": view.outcome.as_ref().map(|outcome| outcome.degraded.clone()).unwrap_or_default(),
        "result": view.outcome.as_ref().map(|outcome| outcome.result.clone()),
    });
    // Its types are all JSON already.
    format!("{state:#}\n")
}
