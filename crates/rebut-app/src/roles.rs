//! Roles are files: built in, or the user's in `.rebut/roles/` and `.claude/agents/`, which win.

use crate::{app::say_once, beneath::Folder, error::AppError};
use rebut_engine::{
    agent::{BUILT_IN, Role},
    clean::on_one_line,
    suggest::suggest,
};
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
};

#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    BuiltIn,
    File(PathBuf),
}

/// Every role that can be used in a project, by name. A file that makes none is an error.
pub fn all(project: &Path) -> Result<BTreeMap<String, (Role, Source)>, AppError> {
    let (texts, unread) = texts(project)?;
    unread.iter().for_each(|unread| say_once(&unread.why));
    texts
        .into_iter()
        .map(|(name, (text, source))| Ok((name.clone(), (read(&name, &text, &source)?, source))))
        .collect()
}

/// One role, or an error that names the nearest. Files of other roles are not looked into.
pub fn find(project: &Path, name: &str) -> Result<Role, AppError> {
    if let Some(role) = found(project, name)? {
        return Ok(role);
    }
    let (texts, unread) = texts(project)?;
    if let Some(unread) = unread.iter().find(|unread| unread.is(name)) {
        return Err(
            AppError::usage(format!("there is no role `{name}`: {}", unread.why))
                .hint("put the file itself there"),
        );
    }
    let meant = suggest(name, texts.keys().map(String::as_str))
        .map(|meant| format!("did you mean `{meant}`? "))
        .unwrap_or_default();
    let hint = format!("{meant}Write .rebut/roles/{name}.md to add it, `rebut roles` lists all");
    let error = AppError::usage(format!("there is no role `{name}`")).hint(hint);
    // A folder that is not read may have it.
    Err(unread
        .into_iter()
        .filter(|unread| unread.role.is_none())
        .fold(error, |error, unread| error.and_hint(unread.why)))
}

/// One role, if there is one of that name. A file of that name that is not read is told of,
/// since another role stands in for it.
pub fn found(project: &Path, name: &str) -> Result<Option<Role>, AppError> {
    let (texts, unread) = texts(project)?;
    let found = texts
        .get(name)
        .map(|(text, source)| read(name, text, source))
        .transpose()?;
    if found.is_some() {
        unread
            .iter()
            .filter(|unread| unread.is(name))
            .for_each(|unread| say_once(&unread.why));
    }
    Ok(found)
}

struct Unread {
    /// The role that it would be; `None` for a whole folder.
    role: Option<String>,
    /// What it is, and the reason.
    why: String,
}

impl Unread {
    fn is(&self, name: &str) -> bool {
        self.role.as_deref() == Some(name)
    }
}

/// Texts of roles by name, and where they are from.
type Texts = BTreeMap<String, (String, Source)>;

/// The texts of all roles; and what was not read.
fn texts(project: &Path) -> Result<(Texts, Vec<Unread>), AppError> {
    let built_in = BUILT_IN
        .iter()
        .map(|(name, text)| ((*name).to_owned(), ((*text).to_owned(), Source::BuiltIn)));
    let mut texts: BTreeMap<_, _> = built_in.collect();
    let mut unread = Vec::new();
    // Later ones win: a project's own role file outranks an assistant's agent file.
    for dir in FOLDERS {
        let not_read = |role: Option<String>, path: &Path, error: &io::Error| Unread {
            role,
            why: format!(
                "{} is not read: {error}",
                on_one_line(&path.display().to_string())
            ),
        };
        let folder = match Folder::own(project).and_then(|project| project.below(Path::new(dir))) {
            Ok(folder) => folder,
            Err(error) => {
                let is_missing =
                    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
                unread.extend((!is_missing).then(|| not_read(None, &project.join(dir), &error)));
                continue;
            }
        };
        for name in names(&folder)? {
            let path = folder.path().join(&name);
            let role = Path::new(&name)
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            match text(&folder, &name) {
                Ok(text) => drop(texts.insert(role, (text, Source::File(path)))),
                Err(error) => unread.push(not_read(Some(role), &path, &error)),
            }
        }
    }
    Ok((texts, unread))
}

const FOLDERS: [&str; 2] = [".claude/agents", ".rebut/roles"];
/// The most bytes a role may have.
const MOST_BYTES: u64 = 256 << 10;

/// The names of the role files in a folder.
fn names(folder: &Folder) -> Result<Vec<OsString>, AppError> {
    let names = folder
        .names()
        .map_err(|error| AppError::file("read", folder.path(), &error))?;
    Ok(names
        .into_iter()
        .filter(|name| {
            Path::new(name)
                .extension()
                .is_some_and(|ending| ending == "md")
        })
        .collect())
}

/// The text of a role: a file of this project alone, and not too long.
fn text(folder: &Folder, name: &OsStr) -> io::Result<String> {
    if let Some(problem) = folder.about(name)?.problem() {
        return Err(io::Error::other(format!("it {problem}")));
    }
    let mut text = String::new();
    folder
        .open(Path::new(name))?
        .take(MOST_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!(
            "a role is at most {} KiB long",
            MOST_BYTES >> 10
        )));
    }
    Ok(text)
}

fn read(name: &str, text: &str, source: &Source) -> Result<Role, AppError> {
    Role::read(name, text).map_err(|problem| match source {
        Source::File(path) => AppError::usage(format!("{}: {problem}", path.display()))
            .hint("mend the file or remove it"),
        Source::BuiltIn => AppError::failed(format!("the role {name}: {problem}")),
    })
}
