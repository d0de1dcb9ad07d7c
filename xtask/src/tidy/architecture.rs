//! Rules about ARCHITECTURE.md: it is read at a glance, and the files it names exist.

use super::{Complaint, Tree};

const PAGE: &str = "ARCHITECTURE.md";
const WIDTH: usize = 100;

/// Names in backticks that look like files or folders exist: below the folder in the heading above
/// them, or from the root where that heading has none.
pub fn named_files(tree: &Tree, complaints: &mut Vec<Complaint>) {
    let mut folder = String::new();
    for (number, line) in prose(tree) {
        if line.starts_with('#') {
            folder = spans(line).find(|name| is_path(name)).unwrap_or_default();
        }
        // The folder in a heading is looked up from the root, like a name without one.
        let below = if line.starts_with('#') { "" } else { &folder };
        for name in spans(line).filter(|name| is_path(name)) {
            let path = format!("{below}{name}");
            if !tree.holds(path.trim_end_matches('/')) {
                complaints.push(Complaint::new(
                    PAGE,
                    number,
                    format!("there is no `{path}`: correct the map"),
                ));
            }
        }
    }
}

/// No line, and so no table cell, is longer than a screen is wide.
pub fn width(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for file in tree.files.iter().filter(|file| file.path == PAGE) {
        for (at, line) in file.text.lines().enumerate() {
            let length = line.chars().count();
            if length > WIDTH {
                complaints.push(Complaint::new(
                    PAGE,
                    at + 1,
                    format!("{length} columns: wrap the text, or shorten the cell, to {WIDTH}"),
                ));
            }
        }
    }
}

/// The lines of the page outside of code blocks, from 1.
fn prose(tree: &Tree) -> Vec<(usize, &str)> {
    let page = tree.files.iter().find(|file| file.path == PAGE);
    let mut in_code = false;
    let lines = page.map_or("", |file| &file.text).lines().zip(1..);
    lines
        .filter_map(|(line, number)| {
            let is_mark = line.starts_with("```");
            in_code ^= is_mark;
            (!in_code && !is_mark).then_some((number, line))
        })
        .collect()
}

/// What stands in backticks.
fn spans(line: &str) -> impl Iterator<Item = String> {
    line.split('`').skip(1).step_by(2).map(str::to_owned)
}

fn is_path(name: &str) -> bool {
    let is_plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    is_plain
        && !name.starts_with('/')
        && [".rs", ".toml", ".md", "/"]
            .iter()
            .any(|end| name.ends_with(end))
}
