//! The keys of this machine's server: kept in one file that only its owner reads, by the hash of
//! their tokens.

use crate::{
    atomic_file::replace_private, beneath::Typed, data_dir::Place, error::CliError,
    hint_command::command, read_file,
};
use rebut_engine::{
    clean::{is_hostile, on_one_line},
    gate::NOBODY,
    record::encode_hex,
    seal::Seal,
};
use rebut_server::keys::{Key, Role, digest};
use std::{ffi::OsStr, path::PathBuf};

#[derive(Clone, Debug)]
pub struct Keyring {
    dir: PathBuf,
}

impl Keyring {
    /// The keys of a data directory.
    pub fn of(place: &Place) -> Self {
        Self {
            dir: place.dir().to_owned(),
        }
    }

    pub fn read(&self) -> Result<Vec<Key>, CliError> {
        let path = self.file();
        let Some(text) = read_file::text_if_there(&path)? else {
            return Ok(Vec::new());
        };
        serde_json::from_str(&text).map_err(|error| {
            CliError::failed(format!("{} cannot be read: {error}", path.display()))
                .hint("put a backup in its place, or remove it and add keys anew")
        })
    }

    /// Makes a key and gives its token, which is kept nowhere.
    pub fn add(&self, name: &str, owner: &str, role: Role) -> Result<String, CliError> {
        check_word("a key's name", name)?;
        check_word("an owner's name", owner)?;
        if NOBODY
            .iter()
            .any(|reserved| name.eq_ignore_ascii_case(reserved))
        {
            let message =
                format!("`{name}` cannot be a key's name: journals say it where nobody decided");
            return Err(CliError::usage(message).hint("choose another name"));
        }
        let token = new_token()?;
        self.keep(name, owner, role, &token)?;
        Ok(token)
    }

    fn keep(&self, name: &str, owner: &str, role: Role, token: &str) -> Result<(), CliError> {
        self.change(|keys| {
            if keys.iter().any(|key| key.name == name) {
                return Err(
                    CliError::usage(format!("there is a key `{name}` already")).hint(format!(
                        "{}, or choose another name",
                        command(format_args!("keys rm {name}"))
                    )),
                );
            }
            keys.push(Key {
                name: name.to_owned(),
                owner: owner.to_owned(),
                role,
                sha256: digest(token),
            });
            Ok(())
        })
    }

    pub fn remove(&self, name: &str) -> Result<(), CliError> {
        self.change(|keys| {
            let before = keys.len();
            keys.retain(|key| key.name != name);
            if keys.len() < before {
                Ok(())
            } else {
                Err(
                    CliError::usage(format!("there is no key `{}`", on_one_line(name)))
                        .hint(format!("`{}` lists them", command("keys ls"))),
                )
            }
        })
    }

    /// The first key, for whoever starts the server here: its token is written to a file that only
    /// they read. Nothing where there are keys.
    pub fn first(&self, owner: &str) -> Result<Option<PathBuf>, CliError> {
        if !self.read()?.is_empty() {
            return Ok(None);
        }
        let path = self.token_file();
        check_word("an owner's name", owner)?;
        let token = new_token()?;
        // Its token first: a key whose token nobody knows would keep the next start from making
        // one.
        replace_private(&path, &format!("{token}\n"))?;
        self.keep(LOCAL, owner, Role::Admin, &token)?;
        Ok(Some(path))
    }

    /// Where the token of the first key is.
    pub fn token_file(&self) -> PathBuf {
        self.dir.join("server.token")
    }

    fn file(&self) -> PathBuf {
        self.dir.join("server.keys")
    }

    /// Changes the keys while nobody else does.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Key>) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let folder = Typed::new(&self.dir)
            .and_then(|dir| dir.folder())
            .map_err(|error| CliError::file("create", &self.dir, &error))?;
        let path = self.dir.join(LOCK);
        let lock = folder
            .open_or_new(OsStr::new(LOCK))
            .map_err(|error| CliError::file("open", &path, &error))?;
        lock.lock()
            .map_err(|error| CliError::file("lock", &path, &error))?;
        let mut keys = self.read()?;
        change(&mut keys)?;
        let text = serde_json::to_string_pretty(&keys)
            .map_err(|error| CliError::failed(error.to_string()))?;
        replace_private(&self.file(), &format!("{text}\n"))
    }
}

/// A token that nobody knows yet.
fn new_token() -> Result<String, CliError> {
    let secret = Seal::new_secret()
        .map_err(|error| CliError::failed(format!("no randomness for a key: {error}")))?;
    Ok(format!("rebut_{}", encode_hex(&secret)))
}

/// The file that is locked while keys are changed.
const LOCK: &str = "server.keys.lock";

/// The name of the key that is made for whoever starts the first server.
const LOCAL: &str = "local";

/// Names stand in journals, logs and on terminals.
fn check_word(what: &str, word: &str) -> Result<(), CliError> {
    let is_plain = !word.is_empty()
        && word.chars().count() <= 64
        && !word.chars().any(|c| is_hostile(c) || c.is_whitespace());
    if is_plain {
        Ok(())
    } else {
        Err(
            CliError::usage(format!("`{}` cannot be {what}", on_one_line(word)))
                .hint("use up to 64 letters, digits and dashes"),
        )
    }
}
