//! Tidy: house rules that no compiler checks, as a table of functions over the repository's files.

mod architecture;
mod manifests;
mod prompts;
mod rust;
mod source;
mod text;
mod tree;

pub use source::Source;
pub use tree::{File, Tree, TreeError};

use std::{fmt, path::Path};

/// Looks at the tree and complains.
pub type Rule = fn(&Tree, &mut Vec<Complaint>);

/// Every rule by name. A new rule is one function, one row here and one case in the test below.
pub const RULES: &[(&str, Rule)] = &[
    ("opening sentence", rust::opening_sentence),
    ("unwrap", rust::unwrap),
    ("expect", rust::expect),
    ("leftovers", text::leftovers),
    ("ignored test", rust::ignored_test),
    ("sleeping test", rust::sleeping_test),
    ("pure engine", rust::pure_engine),
    ("one way to files", rust::one_way_to_files),
    ("dependency directions", manifests::directions),
    ("pure engine dependencies", manifests::pure_engine),
    ("dependency sources", manifests::sources),
    ("prompt holes", prompts::holes),
    ("unused prompt", prompts::unused),
    ("file length", rust::file_length),
    ("line length", rust::line_length),
    ("machine paths", text::machine_paths),
    ("package hosts", text::package_hosts),
    ("links", text::links),
    ("architecture files", architecture::named_files),
    ("architecture width", architecture::width),
];

/// One thing to mend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complaint {
    /// The file, from the repository's root.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub what: String,
}

impl Complaint {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Everything there is to mend below `root`, in order.
pub fn check(root: &Path) -> Result<Vec<Complaint>, TreeError> {
    let tree = Tree::read(root)?;
    let mut complaints = Vec::new();
    for (_, rule) in RULES {
        rule(&tree, &mut complaints);
    }
    complaints.sort();
    Ok(complaints)
}

#[cfg(test)]
mod tests;
