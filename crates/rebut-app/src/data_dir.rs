//! Where things are kept: the database, on this machine or on a server; the sealing key and trusted
//! keys always here.

mod brought;

pub use brought::{known_by, whole};

use crate::{
    app::{base_directory, environment},
    atomic_file::{append_line, create_private, replace_private},
    beneath::{Folder, Kind, Typed, without_links},
    config::Config,
    error::AppError,
    global::Global,
    read_file,
};
use rebut_engine::{
    DebateId,
    record::{decode_hex, encode_hex},
    seal::Seal,
};
use std::{
    ffi::OsStr,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// The data directory, and the server that has the database if it is not there.
#[derive(Clone)]
pub struct Place {
    dir: PathBuf,
    server: Option<String>,
    /// The user's own folder for what names places of this machine. A data directory may come from
    /// anybody, and names nothing outside itself.
    state: Option<PathBuf>,
    /// Whether the directory lies in a project, which may have brought it.
    in_project: bool,
}

pub enum Kept {
    File(PathBuf),
    Server(String),
}

impl Place {
    /// The directory from the command line, the configuration, or the user's data directory; `None`
    /// where there is none of them.
    pub fn find(global: &Global, config: &Config) -> Result<Option<Self>, AppError> {
        let home = || base_directory("HOME").map(|home| home.join(".local").join("share"));
        let user_data = || base_directory("XDG_DATA_HOME").or_else(home);
        let configured = config.defaults.data.as_ref().map(PathBuf::from);
        if configured
            .as_ref()
            .is_some_and(|dir| dir.as_os_str().is_empty())
        {
            return Err(
                AppError::usage("[defaults] data: an empty name is no directory")
                    .hint("name one, or leave `data` out for the usual"),
            );
        }
        // A name that is meant from here on may lead through links of a project; a whole path in
        // the user's own file or home leads through theirs.
        let from_here = |dir: &PathBuf| global.data.is_some() || dir.is_relative();
        let dir = global
            .data
            .clone()
            .or(configured)
            .or_else(|| user_data().map(|dir| dir.join("rebut")));
        let typed = |dir: &PathBuf| {
            if global.data.is_some() {
                global.path(dir)
            } else {
                Typed::new(dir)
            }
        };
        let typed = dir
            .as_ref()
            .filter(|dir| from_here(dir))
            .map(|dir| check_typed(dir, typed(dir)))
            .transpose()?;
        let in_project = typed.as_ref().is_some_and(|(_, in_project)| *in_project);
        let dir = typed
            .map(|(dir, _)| dir)
            .or_else(|| dir.map(|dir| without_links(&dir)));
        // A directory that was named by hand is meant, whatever the file says.
        let in_file = config
            .defaults
            .database
            .clone()
            .filter(|_| global.data.is_none());
        let server = environment("REBUT_DATABASE")
            .or(in_file)
            .filter(|url| !url.is_empty());
        if server
            .as_ref()
            .is_some_and(|url| !rebut_store::is_postgres_url(url))
        {
            let message = "the database is not named by a URL of PostgreSQL (REBUT_DATABASE, or \
                `database` under [defaults])";
            return Err(AppError::usage(message).hint(
                "it is written postgres://USER:PASSWORD@HOST:PORT/NAME; leave it out for a file",
            ));
        }
        dir.as_deref().map_or(Ok(()), check_links)?;
        Ok(dir.map(|dir| Self {
            dir,
            server,
            state: state_dir(),
            in_project,
        }))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn kept(&self) -> Kept {
        self.server
            .clone()
            .map_or_else(|| Kept::File(self.dir.join("rebut.db")), Kept::Server)
    }

    /// Whether nothing was ever kept here.
    pub fn is_new(&self) -> bool {
        matches!(self.kept(), Kept::File(path) if !path.exists())
    }

    /// The URL of the server for people, if there is one: without the password.
    pub fn shown_server(&self) -> Option<String> {
        self.server.as_deref().map(rebut_store::shown_postgres_url)
    }

    pub fn password(&self) -> Option<String> {
        self.server
            .as_deref()
            .and_then(rebut_store::postgres_password)
    }

    /// Where the worktrees of debates are, while they last; nowhere without a home.
    pub fn worktrees(&self) -> Option<PathBuf> {
        self.state.as_ref().map(|state| state.join("worktrees"))
    }

    /// Vectors of lessons, so that each is asked for once.
    pub fn vectors(&self) -> PathBuf {
        self.dir.join(VECTORS)
    }

    /// Keeps them in one step, readable only by their owner.
    pub fn keep_vectors(&self, text: &str) -> Result<(), AppError> {
        replace_private(&self.vectors(), text)
    }

    /// Forgets them: something was deleted, and they may tell what it said. They are asked for
    /// again when needed.
    pub fn forget_vectors(&self) -> Result<(), AppError> {
        let removed = Folder::own(&self.dir).and_then(|folder| folder.remove(OsStr::new(VECTORS)));
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(AppError::file("remove", &self.vectors(), &error))
            }
            _ => Ok(()),
        }
    }

    /// Where it is written down what is to be done at the end of a debate that is open here;
    /// nowhere without a home.
    pub fn afterwards(&self, id: DebateId) -> Option<PathBuf> {
        self.state
            .as_ref()
            .map(|state| state.join("afterwards").join(format!("{id}.json")))
    }

    /// The same for a debate at a server. Apart, since a server on this machine leaves alone what
    /// commands have to end here.
    pub fn afterwards_there(&self, id: DebateId) -> Option<PathBuf> {
        self.state.as_ref().map(|state| {
            state
                .join("afterwards")
                .join("there")
                .join(format!("{id}.json"))
        })
    }

    /// The sealing key of this installation, made when first needed and readable only by its owner.
    pub fn seal(&self) -> Result<Seal, AppError> {
        self.claim()?;
        let path = self.dir.join(SEAL);
        decode_hex(self.seal_text()?.trim())
            .map(|secret| Seal::from_secret(&secret))
            .ok_or_else(|| {
                AppError::failed(format!("{} is damaged", path.display()))
                    .hint("restore it from a backup; without it old debates cannot be verified")
            })
    }

    /// The same; none where there is none yet and nothing can be written, so that what is there can
    /// at least be read.
    pub fn seal_if_possible(&self) -> Result<Option<Seal>, AppError> {
        let has_none = read_file::text_if_there(&self.dir.join(SEAL))?.is_none();
        if has_none && self.dir.is_dir() && !can_be_written(&self.dir) {
            Ok(None)
        } else {
            self.seal().map(Some)
        }
    }

    fn seal_text(&self) -> Result<String, AppError> {
        let path = self.dir.join(SEAL);
        if let Some(text) = read_file::text_if_there(&path)? {
            if text.trim().is_empty() {
                let hint = "restore it from a backup; without one, remove it: a new key is made, \
                    and audits name the old one as not trusted";
                return Err(AppError::failed(format!(
                    "{} is empty, as a power cut may leave it",
                    path.display()
                ))
                .hint(hint));
            }
            return Ok(text);
        }
        let secret = Seal::new_secret()
            .map_err(|error| AppError::failed(format!("no randomness for a key: {error}")))?;
        // Two first runs at once: whoever creates the file wins, the other reads it.
        create_private(&path, &encode_hex(&secret))?;
        read_file::text_if_there(&path)?
            .ok_or_else(|| AppError::failed(format!("{} vanished", path.display())))
    }

    /// Public keys whose seals count: this installation's, and those the user chose to trust.
    pub fn trusted(&self) -> Result<Vec<String>, AppError> {
        let path = self.dir.join("trusted.keys");
        let mut keys: Vec<String> = self
            .seal_if_possible()?
            .iter()
            .map(|seal| seal.public().to_owned())
            .collect();
        if let Some(text) = read_file::text_if_there(&path)? {
            keys.extend(text.split_whitespace().map(str::to_owned));
        }
        Ok(keys)
    }

    /// Trusts a key from now on.
    pub fn trust(&self, key: &str) -> Result<(), AppError> {
        append_line(&self.dir.join("trusted.keys"), key)
    }
}

#[cfg(unix)]
fn can_be_written(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn can_be_written(_: &Path) -> bool {
    true
}

/// The file of the sealing key.
const SEAL: &str = "seal.key";

const VECTORS: &str = "embeddings.json";

/// The user's own folder for notes of this program.
pub fn state_dir() -> Option<PathBuf> {
    let home = || base_directory("HOME").map(|home| home.join(".local").join("state"));
    base_directory("XDG_STATE_HOME")
        .or_else(home)
        .map(|dir| without_links(&dir.join("rebut")))
}

/// Where a data directory is that was typed, and whether that is in a project;
/// refused is one that is reached by a link there.
fn check_typed(dir: &Path, typed: io::Result<Typed>) -> Result<(PathBuf, bool), AppError> {
    let find = |typed: Typed| {
        typed
            .check()
            .and_then(|()| Ok((typed.seen_from_here()?, is_in_project(&typed)?)))
    };
    typed.and_then(find).map_err(|error| not_there(dir, &error))
}

/// Whether a project may have brought what is at a path that was typed.
pub fn is_in_project(typed: &Typed) -> io::Result<bool> {
    let home = base_directory("HOME").map(|home| without_links(&home));
    typed.is_in_project(home.as_deref())
}

fn not_there(dir: &Path, error: &io::Error) -> AppError {
    AppError::usage(format!(
        "debates cannot be kept in {}: {error}",
        dir.display()
    ))
    .hint("name another directory: --data DIR")
}

/// Refuses a data directory with a link in it, through which what we write would land elsewhere.
fn check_links(dir: &Path) -> Result<(), AppError> {
    let refused = |error: io::Error| not_there(dir, &error);
    let folder = match Folder::own(dir) {
        // Whoever opens the database says what is wrong with it.
        Err(_) => return Ok(()),
        Ok(folder) => folder,
    };
    for name in folder.names().map_err(refused)? {
        if folder
            .about(&name)
            .is_ok_and(|found| found.kind == Kind::Link)
        {
            let name = rebut_engine::clean::on_one_line(&name.to_string_lossy());
            return Err(refused(io::Error::other(format!(
                "it holds a link, `{name}`, and rebut makes none there"
            ))));
        }
    }
    Ok(())
}
