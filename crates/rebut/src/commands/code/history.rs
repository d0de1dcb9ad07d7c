//! The history of a debate's code, and who wrote each line: read from the journal, so that every
//! debate that wrote code has them. Pure.

use super::difference;
use crate::{
    text::padded,
    versions::{Change, Version, before, change, origins},
};
use rebut_engine::clean::{for_people, on_one_line};
use serde_json::{Value, json};
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// A line for each version, oldest first; with `patch` also what it changed.
pub fn history(versions: &[Version], won: Option<u32>, patch: bool) -> String {
    let rows: Vec<[String; 5]> = versions
        .iter()
        .map(|version| row(versions, version, won))
        .collect();
    let mut text = String::new();
    // Writing to a String cannot fail.
    for (version, line) in versions.iter().zip(aligned(&rows)) {
        let _ = writeln!(text, "{line}");
        if patch && let Some(before) = before(versions, version) {
            for line in for_people(&difference(&before.code, &version.code)).lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
    text
}

fn row(versions: &[Version], version: &Version, won: Option<u32>) -> [String; 5] {
    let code = &version.code;
    let candidate = on_one_line(&code.candidate);
    let whose = match version.author() {
        author if author == &*code.candidate => candidate,
        author => format!("{candidate} (by {})", on_one_line(author)),
    };
    let changed = match change(versions, version) {
        Change {
            added,
            is_first: true,
            ..
        } => format!("+{added}, the first"),
        Change {
            added: 0,
            removed: 0,
            ..
        } => "unchanged".to_owned(),
        Change { added, removed, .. } => format!("+{added} -{removed}"),
    };
    let mark = if won == Some(code.version) {
        "  won"
    } else {
        ""
    };
    let phase = version
        .phase
        .as_deref()
        .map_or_else(|| "–".to_owned(), on_one_line);
    [
        format!("version {}", code.version),
        whose,
        phase,
        version.tests_in_words(),
        format!("{changed}{mark}"),
    ]
}

/// Rows as lines whose columns stand below each other.
fn aligned<const N: usize>(rows: &[[String; N]]) -> impl Iterator<Item = String> {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].width())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    rows.iter().map(move |row| {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| padded(cell, *width))
            .collect();
        cells.join("  ").trim_end().to_owned()
    })
}

pub fn history_document(versions: &[Version], won: Option<u32>) -> Value {
    let rows = versions.iter().map(|version| {
        let (code, changed) = (&version.code, change(versions, version));
        json!({
            "version": code.version,
            "candidate": code.candidate,
            "author": version.author(),
            "phase": version.phase,
            "turn": code.turn,
            "tests": code.tests,
            "quality": code.quality,
            "added": changed.added,
            "removed": changed.removed,
            "won": won == Some(code.version),
        })
    });
    rows.collect()
}

/// Each line of a version with the version and the agent that wrote it.
pub fn blame(versions: &[Version], number: u32) -> String {
    let Some(version) = versions
        .iter()
        .find(|version| version.code.version == number)
    else {
        return String::new();
    };
    let lines = origins(versions, version);
    let rows = lines
        .iter()
        .zip(1..)
        .map(|((origin, line), number): (_, usize)| {
            // A line may hold what only looks like the end of one.
            let line = for_people(line.trim_end_matches(['\r', '\n'])).replace('\n', " ");
            [
                format!("version {}", origin.code.version),
                on_one_line(origin.author()),
                format!("{number:>4}"),
                line,
            ]
        });
    aligned(&rows.collect::<Vec<_>>())
        .map(|line| format!("{line}\n"))
        .collect()
}

pub fn blame_document(versions: &[Version], number: u32) -> Value {
    let Some(version) = versions
        .iter()
        .find(|version| version.code.version == number)
    else {
        return Value::Null;
    };
    let lines = origins(versions, version)
        .into_iter()
        .map(|(origin, line)| {
            let text = line.strip_suffix('\n').unwrap_or(line);
            json!({"version": origin.code.version, "author": origin.author(), "text": text})
        });
    json!({"version": number, "candidate": version.code.candidate, "lines": lines.collect::<Vec<_>>()})
}
