//! The repository as tidy sees it: every text file that is, or would be, tracked.

use super::source::Source;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// All text files.
pub struct Tree {
    /// In the order of their paths.
    pub files: Vec<File>,
}

/// One text file.
pub struct File {
    /// From the root, with `/`.
    pub path: String,
    /// As it is.
    pub text: String,
    /// What of it is code, for `.rs` files.
    pub rust: Option<Source>,
}

/// Why the tree could not be read.
#[derive(Debug)]
pub enum TreeError {
    /// `git ls-files` failed.
    Git(String),
    /// A file could not be read.
    Read(PathBuf, io::Error),
}

impl std::fmt::Display for TreeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Git(error) => write!(
                f,
                "git could not list the files (is git installed?): {error}"
            ),
            Self::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for TreeError {}

impl Tree {
    /// Reads what is below `root`.
    pub fn read(root: &Path) -> Result<Self, TreeError> {
        let mut paths = if root.join(".git").exists() {
            tracked(root)?
        } else {
            walked(root)?
        };
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let bytes = match fs::read(root.join(&path)) {
                Ok(bytes) => bytes,
                // Deleted but not yet committed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(TreeError::Read(root.join(&path), error)),
            };
            // What is not text has no lines to complain about.
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File::new(path, text));
            }
        }
        Ok(Self { files })
    }

    /// The `.rs` files with their code.
    pub fn rust(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files
            .iter()
            .filter_map(|file| file.rust.as_ref().map(|source| (file, source)))
    }

    /// Whether there is such a file or folder.
    pub fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self
                .files
                .iter()
                .any(|file| file.path == path || file.path.starts_with(&folder))
    }
}

impl File {
    /// A file with that text.
    pub fn new(path: String, text: String) -> Self {
        let rust = path.ends_with(".rs").then(|| Source::parse(&text));
        Self { path, text, rust }
    }

    /// Whether the whole file is for tests or tools.
    pub fn is_aside(&self) -> bool {
        self.is_test()
            || ["crates/rebut-testkit/", "xtask/"]
                .iter()
                .any(|folder| self.path.starts_with(folder))
    }

    /// Whether the whole file is a test, a benchmark or an example.
    pub fn is_test(&self) -> bool {
        let mut folders: Vec<&str> = self.path.split('/').collect();
        let name = folders.pop();
        name == Some("tests.rs")
            || folders
                .iter()
                .any(|folder| ["tests", "benches", "examples"].contains(folder))
    }
}

/// Tracked files and new ones that are not ignored.
fn tracked(root: &Path) -> Result<Vec<String>, TreeError> {
    let output = Command::new("git")
        // The checkout may belong to another user, as in containers; listing names runs nothing of
        // it.
        .args([
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
        ])
        .current_dir(root)
        .output()
        .map_err(|error| TreeError::Git(error.to_string()))?;
    if !output.status.success() {
        return Err(TreeError::Git(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect())
}

/// Every file of an exported tree, which has no git.
fn walked(root: &Path) -> Result<Vec<String>, TreeError> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let failed = |error| TreeError::Read(root.join(&folder), error);
        for entry in fs::read_dir(root.join(&folder)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = format!("{folder}{}", entry.file_name().to_string_lossy());
            if !entry.file_type().map_err(failed)?.is_dir() {
                found.push(path);
            } else if !["target", "docs/book"].contains(&path.as_str()) {
                folders.push(format!("{path}/"));
            }
        }
    }
    Ok(found)
}
