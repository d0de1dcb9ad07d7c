//! What is put into a cell, and what comes out of it.

use crate::limits::Limits;
use rebut_engine::sandbox::{End, Refused};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One program and all it finds around it.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// The program and its arguments. Without a slash the program is looked for in the cell's
    /// `PATH`.
    pub argv: Vec<String>,
    /// Files below `/in`, which nobody in the cell can change.
    pub read_only: Vec<Given>,
    /// Files below `/box`, the working directory.
    pub writable: Vec<Given>,
    /// Folders of the machine (toolchains) that are there too, read-only, under the same path.
    pub folders: Vec<PathBuf>,
    /// The whole environment, but for `PATH` and `HOME`, which are set unless given here.
    pub env: Vec<(String, String)>,
    pub limits: Limits,
    /// Files below `/box` that are wanted afterwards.
    pub collect: Vec<String>,
    /// Whether the program judges others: it can read nothing of `/proc`, and where root makes
    /// cells its user is none that runs code.
    pub judges: bool,
    /// Files below `/box` that nobody in the cell can change, remove or put another in the place
    /// of.
    pub pinned: Vec<Given>,
    /// Whether all that is below `/box` is wanted afterwards, within bounds. Folders are among it
    /// then, with a `/` at the end of their path, and `/` alone says that there was more than is
    /// taken.
    pub collect_all: bool,
}

/// One file that is put into a cell or taken out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    pub path: String,
    #[serde(skip)]
    pub bytes: Vec<u8>,
    pub executable: bool,
}

impl Given {
    /// A file that is no program.
    pub fn text(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            bytes: bytes.into(),
            executable: false,
        }
    }
}

/// How the inner stage is started: our own executable with a word that `main` knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inner {
    pub program: PathBuf,
    pub args: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub end: End,
    pub ms: u64,
    /// What it wrote to standard output, unless somebody took the stream.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, unless somebody took the stream.
    pub stderr: Vec<u8>,
    /// The wanted files that were there as regular files, and not too large; others are simply not
    /// among them.
    pub files: Vec<Given>,
}

/// The longest path of a file in a cell, in bytes.
const LONGEST: usize = 255;
/// Names that mean a device on some system, whatever their ending.
const RESERVED: &[&str] = &["con", "prn", "aux", "nul"];

/// Whether a file may have that path in a cell: relative, plain, and meaning the same wherever it
/// is looked at.
pub fn check_path(path: &str) -> Result<(), Refused> {
    let wrong = |what: &str| {
        Err(Refused {
            reason: format!(
                "the file name {:?} {what}",
                rebut_engine::clean::on_one_line(path)
            ),
            fix: "give it a plain relative name".to_owned(),
        })
    };
    if path.is_empty() || path.len() > LONGEST {
        return wrong("is empty or too long");
    }
    if path.starts_with('/') || path.contains('\\') {
        return wrong("is not relative");
    }
    if path.chars().any(|c| c.is_control() || is_deceiving(c)) {
        return wrong("holds characters that cannot be seen");
    }
    path.split('/')
        .find_map(|part| wrong_part(part))
        .map_or(Ok(()), wrong)
}

/// What is wrong with one part of a path.
fn wrong_part(part: &str) -> Option<&'static str> {
    let lower = part.to_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    let is_port = stem.len() == 4
        && (stem.starts_with("com") || stem.starts_with("lpt"))
        && stem.ends_with(|c: char| c.is_ascii_digit());
    match lower.as_str() {
        "" | "." | ".." => Some("leaves its folder"),
        ".git" => Some("is in a folder of git's own"),
        _ if part.starts_with('-') => Some("looks like an option"),
        _ if RESERVED.contains(&stem) || is_port => Some("is reserved"),
        _ if part.ends_with(['.', ' ']) || part.starts_with(' ') || part.contains(':') => {
            Some("means another file on some systems")
        }
        _ => None,
    }
}

/// Characters that show nothing or turn the direction of what follows.
fn is_deceiving(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
}
