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

/// Every role that can be used in a project, by name.
pub fn all(project: &Path) -> Result<BTreeMap<String, (Role, Source)>, CliError> {
    let built_in = BUILT_IN.iter().map(|(name, text)| ((*name).to_owned(), (Role::parse(name, text), Source::BuiltIn)));
    let mut roles: BTreeMap<_, _> = built_in.collect();
    // Later ones win: a project's own role file outranks an assistant's agent file.
    for dir in [project.join(".claude").join("agents"), project.join(".rebut").join("roles")] {
        for path in markdown_files(&dir)? {
            let text = crate::reading::text(&path)?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            roles.insert(name.clone(), (Role::parse(&name, &text), Source::File(path)));
        }
    }
    Ok(roles)
}

/// One role, or an error that names the nearest.
pub fn find(project: &Path, name: &str) -> Result<Role, CliError> {
    let mut roles = all(project)?;
    if let Some((role, _)) = roles.remove(name) {
        return Ok(role);
    }
    let meant = nearest(name, roles.keys().map(String::as_str)).map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    let hint = format!("{meant}Write .rebut/roles/{name}.md to add it, `rebut roles` lists all");
    Err(CliError::usage(format!("there is no role `{name}`")).hint(hint))
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
