//! Gathering context: files, directories and standard input, never a file that is likely to hold a
//! secret.

use crate::{
    beneath::{Folder, Typed},
    error::AppError,
};
use rebut_engine::clean;
use rebut_models::script::glob;
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// Files that are never sent, whatever the configuration says.
pub const DENIED: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".htpasswd",
    "credentials",
    "credentials.json",
    "*.kdbx",
    ".aws",
    ".ssh",
    ".gnupg",
    ".docker",
    "*secret*.json",
    "*secrets*.y*ml",
    "service-account*.json",
    "*.tfstate",
    "*.tfvars",
];

/// At most so much is gathered; more would not be read by anybody.
const MOST_BYTES: usize = 512 * 1024;

#[derive(Debug, Default, PartialEq)]
pub struct Gathered {
    /// The text, each file under its name.
    pub text: String,
    /// The white space with which the last file ended; the text is without it.
    pub end: String,
    pub taken: Vec<PathBuf>,
    /// Files that were left out of a directory, with the reason.
    pub left_out: Vec<(PathBuf, &'static str)>,
    /// What was named and brought no text.
    silent: Vec<PathBuf>,
    /// How much text there is, without titles.
    bytes: usize,
}

/// Gathers the named files and directories; `-` is standard input. A denied file named outright is
/// an error. So is one that brings no text: whoever names it expects that it is read.
pub fn gather(names: &[PathBuf], deny: &[String]) -> Result<Gathered, AppError> {
    let gathered = gather_without(names, deny, &[])?;
    match gathered.silent.first() {
        None => Ok(gathered),
        Some(name) => {
            let what = if name.as_os_str() == "-" {
                "standard input".to_owned()
            } else {
                name.display().to_string()
            };
            Err(AppError::usage(format!("there is no text in {what}"))
                .hint("name what the judges should read, or leave it out"))
        }
    }
}

/// The same, passing over some files and directories below those that are named. What brings no
/// text is only listed.
pub fn gather_without(
    names: &[PathBuf],
    deny: &[String],
    without: &[PathBuf],
) -> Result<Gathered, AppError> {
    let mut gathered = Gathered::default();
    for name in names {
        let before = gathered.bytes;
        if name.as_os_str() != "-" {
            Typed::new(name)
                .and_then(|typed| typed.check())
                .map_err(|error| AppError::file("read", name, &error))?;
        }
        if name.as_os_str() == "-" {
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .take(MOST_BYTES as u64 + 1)
                .read_to_end(&mut bytes)
                .map_err(|error| {
                    AppError::failed(format!("cannot read standard input: {error}"))
                })?;
            if bytes.contains(&0) {
                return Err(
                    AppError::usage("standard input is not text").hint("give text in UTF-8")
                );
            }
            gathered.add(
                "standard input",
                &String::from_utf8_lossy(&bytes),
                names.len() > 1,
            )?;
        } else if name.is_dir() {
            gathered.walk(name, deny, without)?;
        } else {
            gathered.read_named(name, deny, names.len() > 1)?;
        }
        if gathered.bytes == before {
            gathered.silent.push(name.clone());
        }
    }
    Ok(gathered)
}

impl Gathered {
    fn read_named(&mut self, path: &Path, deny: &[String], titled: bool) -> Result<(), AppError> {
        let real = path
            .canonicalize()
            .map_err(|error| AppError::file("read", path, &error))?;
        // A link must not smuggle in what its own name would forbid.
        if is_denied(path, deny) || is_denied(&real, deny) {
            let message = format!(
                "{} looks like a file with secrets and is not sent",
                path.display()
            );
            return Err(
                AppError::usage(message).hint("copy what the judges need into another file")
            );
        }
        let bytes = crate::read_file::bytes(path)?;
        let not_text = || {
            AppError::usage(format!("{} is not a text file", path.display()))
                .hint("give text in UTF-8")
        };
        let text = as_text(bytes).ok_or_else(not_text)?;
        self.taken.push(path.to_owned());
        self.add(&path.display().to_string(), &text, titled)
    }

    fn walk(&mut self, dir: &Path, deny: &[String], without: &[PathBuf]) -> Result<(), AppError> {
        let entries =
            std::fs::read_dir(dir).map_err(|error| AppError::file("read", dir, &error))?;
        let mut paths: Vec<PathBuf> = entries
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| AppError::file("read", dir, &error))?
            .iter()
            .map(std::fs::DirEntry::path)
            .collect();
        paths.sort();
        for path in paths
            .into_iter()
            .filter(|path| !without.iter().any(|other| is_same(path, other)))
        {
            let hidden = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_denied(&path, deny) {
                self.left_out.push((path, "may hold secrets"));
            } else if path.is_symlink() {
                self.left_out.push((path, "a link"));
            } else if hidden {
                self.left_out.push((path, "hidden"));
            } else if path.is_dir() {
                self.walk(&path, deny, without)?;
            } else if !path.is_file() {
                self.left_out.push((path, "no regular file"));
            } else if has_second_name(&path) {
                self.left_out
                    .push((path, "has a second name elsewhere (a hard link)"));
            } else {
                match as_text(crate::read_file::bytes(&path)?) {
                    Some(text) => {
                        self.add(&path.display().to_string(), &text, true)?;
                        self.taken.push(path);
                    }
                    None => self.left_out.push((path, "not text")),
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, text: &str, titled: bool) -> Result<(), AppError> {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        if titled {
            // A file's name may hold anything: here it is a short line of its own.
            self.text.push_str(&format!(
                "=== {} ===\n",
                clean::shortened(&clean::one_line(name), 200)
            ));
        }
        let (text, end) = text.split_at(text.trim_end().len());
        self.bytes += text.len();
        self.text.push_str(text);
        end.clone_into(&mut self.end);
        if self.text.len() > MOST_BYTES {
            let message = format!(
                "the context is larger than {} KiB at {name}",
                MOST_BYTES / 1024
            );
            return Err(AppError::usage(message).hint("give the judges the relevant parts only"));
        }
        Ok(())
    }
}

/// Whether a file has another name, which may be that of a private one.
fn has_second_name(path: &Path) -> bool {
    let about = path
        .parent()
        .and_then(|dir| Folder::own(dir).ok()?.about(path.file_name()?).ok());
    about.is_some_and(|about| about.names > 1)
}

/// The text that bytes are, if they are any: a zero stands in none.
fn as_text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
}

/// Whether two paths lead to the same file, however they are written.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
        || one
            .canonicalize()
            .is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Whether any part of a path matches a denied pattern.
pub fn is_denied(path: &Path, deny: &[String]) -> bool {
    let parts: Vec<String> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
        .collect();
    let patterns = DENIED
        .iter()
        .copied()
        .chain(deny.iter().map(String::as_str));
    let mut names = patterns.map(|pattern| pattern.trim_start_matches("**/").to_lowercase());
    names.any(|pattern| parts.iter().any(|part| glob::matches(&pattern, part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_files_are_denied_by_name() {
        for denied in [
            ".env",
            "app/.env.local",
            "deploy/server.PEM",
            "/x/.ssh/config",
            "id_rsa",
            "a/id_ed25519.pub",
            ".npmrc",
            "prod.tfvars",
            "my-secret-data.json",
        ] {
            assert!(is_denied(Path::new(denied), &[]), "{denied}");
        }
        for fine in [
            "spec.md",
            "environment.md",
            "keys-of-success.txt",
            "src/env.rs",
            "secretary.md",
        ] {
            assert!(!is_denied(Path::new(fine), &[]), "{fine}");
        }
        assert!(is_denied(
            Path::new("notes/private.md"),
            &["**/private*".to_owned()]
        ));
    }
}
