//! Tools that look at the files of the task as they were pinned: no file system is reached by them.

use super::{MOST_SAID, Plan, Toolbox, arguments};
use crate::{
    clean::{on_one_line, shortened},
    retrieval::rank,
};
use serde::Deserialize;
use serde_json::Value;

/// Lines of a passage that is found.
const PASSAGE: usize = 15;
const MOST_FOUND: usize = 4;
const MOST_NAMES: usize = 20;

pub fn search(toolbox: &Toolbox, given: &Value) -> Result<Plan, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Query {
        query: String,
    }
    let Query { query } = arguments(given)?;
    let passages: Vec<(&str, usize, String)> = toolbox
        .files
        .iter()
        .flat_map(|(name, text)| passages(name, text))
        .collect();
    // A file's name is part of what it is about.
    let texts: Vec<String> = passages
        .iter()
        .map(|(name, _, text)| format!("{name} {text}"))
        .collect();
    let found = rank(&query, &texts);
    if found.is_empty() {
        return Err(format!(
            "nothing is found for these words; {}",
            there_are(toolbox)
        ));
    }
    let shown = found.iter().take(MOST_FOUND).map(|found| {
        let (name, line, text) = &passages[found.at];
        format!("{name}, from line {line}:\n{text}")
    });
    Ok(Plan::Say(shown.collect::<Vec<_>>().join("\n")))
}

/// A file in passages, each with its name and first line.
fn passages<'a>(name: &'a str, text: &str) -> Vec<(&'a str, usize, String)> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines
        .chunks(PASSAGE)
        .enumerate()
        .map(|(at, lines)| (name, at * PASSAGE + 1, lines.concat()))
        .collect()
}

pub fn read(toolbox: &Toolbox, given: &Value) -> Result<Plan, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        name: String,
        #[serde(default)]
        from: Option<usize>,
    }
    let Wanted { name, from } = arguments(given)?;
    let found = toolbox.files.iter().find(|(known, _)| *known == name);
    let (name, text) = found.ok_or_else(|| {
        format!(
            "there is no file `{}`; {}",
            shortened(&on_one_line(&name), 80),
            there_are(toolbox)
        )
    })?;
    let (from, count) = (from.unwrap_or(1).max(1), text.lines().count());
    if from > count.max(1) {
        return Err(format!("`{name}` has {count} lines"));
    }
    let mut said = format!("{name}, from line {from} of {count}:\n");
    for (line, number) in text.split_inclusive('\n').zip(1..).skip(from - 1) {
        if said.len() + line.len() > MOST_SAID - 40 && number > from {
            said.push_str(&format!("[goes on at line {number}]"));
            break;
        }
        said.push_str(line);
    }
    Ok(Plan::Say(said))
}

fn there_are(toolbox: &Toolbox) -> String {
    let names: Vec<String> = toolbox
        .files
        .iter()
        .take(MOST_NAMES)
        .map(|(name, _)| on_one_line(name))
        .collect();
    let more = toolbox.files.len().saturating_sub(MOST_NAMES);
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    format!("there are: {}{more}", names.join(", "))
}
