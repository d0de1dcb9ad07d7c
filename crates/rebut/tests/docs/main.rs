//! The documents are true: their commands run, their links lead somewhere, and they name everything
//! there is.

mod blocks;
mod complete;
mod library;
mod links;
mod stage;

use std::path::{Path, PathBuf};

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the repository")
}

/// A document's text.
fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Markdown files below a folder, from the root, in order.
fn markdown(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder))
            .unwrap_or_else(|error| panic!("{folder}: {error}"))
        {
            let entry = entry.expect("an entry");
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_command_runs_and_prints_what_the_documents_show() {
    let mut pages = vec!["README.md".to_owned()];
    pages.extend(markdown("docs/src"));
    pages.extend(
        markdown("examples")
            .into_iter()
            .filter(|path| path.ends_with("README.md")),
    );
    let blocks: Vec<blocks::Block> = pages
        .iter()
        .flat_map(|page| blocks::of(page, &text(page)))
        .collect();
    assert!(
        blocks.len() >= 15,
        "only {} console blocks were found",
        blocks.len()
    );
    let wrong: Vec<String> = blocks
        .iter()
        .filter_map(|block| stage::play(block).err())
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} blocks are wrong:\n\n{}",
        wrong.len(),
        blocks.len(),
        wrong.join("\n\n")
    );
}
