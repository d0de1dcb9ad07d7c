//! Roles are files: built in, or the user's in `.rebut/roles/` and `.claude/agents/`, which win.

use crate::error::CliError;
use rebut_engine::{
    agent::{BUILT_IN, Role},
    nearest::nearest,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Where a role comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Compiled in.
    BuiltIn,
    /// A file.
    File(PathBuf),
}

/// Every role that can be used in a project, by name. A file that makes none is an error.
pub fn all(project: &Path) -> Result<BTreeMap<String, (Role, Source)>, CliError> {
    let texts = texts(project)?.into_iter();
    texts.map(|(name, (text, source))| Ok((name.clone(), (read(&name, &text, &source)?, source)))).collect()
}

/// One role, or an error that names the nearest. Files of other roles are not looked into.
pub fn find(project: &Path, name: &str) -> Result<Role, CliError> {
    if let Some(role) = found(project, name)? {
        return Ok(role);
    }
    let meant =
        nearest(name, texts(project)?.keys().map(String::as_str)).map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    let hint = format!("{meant}Write .rebut/roles/{name}.md to add it, `rebut roles` lists all");
    Err(CliError::usage(format!("there is no role `{name}`")).hint(hint))
}

/// One role, if there is one of that name.
pub fn found(project: &Path, name: &str) -> Result<Option<Role>, CliError> {
    texts(project)?.get(name).map(|(text, source)| read(name, text, source)).transpose()
}

/// The texts of all roles by name, and where they are from.
fn texts(project: &Path) -> Result<BTreeMap<String, (String, Source)>, CliError> {
    let built_in = BUILT_IN.iter().map(|(name, text)| ((*name).to_owned(), ((*text).to_owned(), Source::BuiltIn)));
    let mut texts: BTreeMap<_, _> = built_in.collect();
    // Later ones win: a project's own role file outranks an assistant's agent file.
    for dir in [project.join(".claude").join("agents"), project.join(".rebut").join("roles")] {
        for path in markdown_files(&dir)? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            texts.insert(name, (crate::reading::text(&path)?, Source::File(path)));
        }
    }
    Ok(texts)
}

fn read(name: &str, text: &str, source: &Source) -> Result<Role, CliError> {
    Role::read(name, text).map_err(|problem| match source {
        Source::File(path) => CliError::usage(format!("{}: {problem}", path.display())).hint("mend the file or remove it"),
        Source::BuiltIn => CliError::failed(format!("the role {name}: {problem}")),
    })
}

fn markdown_files(dir: &Path) -> Result<Vec<PathBuf>, CliError> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(dir).map_err(|error| CliError::file("read", dir, &error))?;
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| CliError::file("read", dir, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
