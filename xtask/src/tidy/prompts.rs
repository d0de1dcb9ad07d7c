//! Rules about prompt files.

use super::{Complaint, Tree, tree::File};

const PROMPTS: &str = "crates/rebut-engine/prompts/";
const ENGINE: &str = "crates/rebut-engine/src/";

/// Every `{{hole}}` is closed and has a plain name.
pub fn holes(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for (file, _) in prompts(tree) {
        for (at, line) in file.text.lines().enumerate() {
            if let Some(what) = broken_hole(line) {
                complaints.push(Complaint::new(&file.path, at + 1, what));
            }
        }
    }
}

/// Every prompt file is named in the engine's source, in a `prompt!` or an `include_str!`.
pub fn unused(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for (file, name) in prompts(tree) {
        let declared = format!("\"{name}\"");
        let included = format!("/prompts/{name}\"");
        let engine = tree
            .files
            .iter()
            .filter(|source| source.path.starts_with(ENGINE));
        if !engine
            .into_iter()
            .any(|source| source.text.contains(&declared) || source.text.contains(&included))
        {
            complaints.push(Complaint::new(
                &file.path,
                1,
                "no `prompt!` or `include_str!` of the engine names this file: use it or remove it",
            ));
        }
    }
}

fn prompts(tree: &Tree) -> impl Iterator<Item = (&File, &str)> {
    tree.files
        .iter()
        .filter_map(|file| file.path.strip_prefix(PROMPTS).map(|name| (file, name)))
}

fn broken_hole(line: &str) -> Option<String> {
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("{{") {
        if has_stray_end(before) {
            return Some(STRAY_END.to_owned());
        }
        let Some((name, tail)) = after.split_once("}}") else {
            return Some("`{{` without its `}}` in the same line".to_owned());
        };
        if name.is_empty()
            || !name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        {
            return Some(format!("`{{{{{name}}}}}` is not the name of a hole"));
        }
        rest = tail;
    }
    has_stray_end(rest).then(|| STRAY_END.to_owned())
}

const STRAY_END: &str = "`}}` without its `{{`";

/// A `}}` that does not close braces of the same text, as the JSON in `{"claim": {}}` does.
fn has_stray_end(text: &str) -> bool {
    text.contains("}}") && text.matches('}').count() > text.matches('{').count()
}
