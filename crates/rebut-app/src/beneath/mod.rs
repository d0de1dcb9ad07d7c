//! One way to files: whatever a user typed, a project names or a folder holds is reached without
//! following a link that somebody may have planted.
//!
//! A path that leads below the current folder, or into a repository, is walked step by step from
//! there and no step may be a link: a clone can hold links to anywhere. Elsewhere (`/dev/fd/63`, a
//! folder in the home) links are the user's own.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
use portable as system;
#[cfg(unix)]
use unix as system;

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    path::{Component, Path, PathBuf},
};

/// An open folder. What it holds is reached through it, not by its name.
#[derive(Debug)]
pub struct Folder {
    dir: system::Dir,
    path: PathBuf,
}

/// What a name in a folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a device, a socket.
    Other,
}

/// What is known of a file before it is read.
#[derive(Clone, Copy, Debug)]
pub struct About {
    pub kind: Kind,
    /// The user who owns it; `None` where the system has no such number.
    pub owner: Option<u32>,
    /// Whether others than its owner may write to it.
    pub others_write: bool,
    pub names: u64,
}

impl About {
    /// Why a file or folder is not one that the user keeps there alone: it is another's, or others
    /// may write to it, or it has a name elsewhere, which may be that of a private file.
    pub fn problem(&self) -> Option<&'static str> {
        let is_own = self
            .owner
            .is_none_or(|owner| owner == 0 || Some(owner) == system::this_user());
        match self.kind {
            Kind::Link => Some("is a link"),
            Kind::Other => Some("is no regular file"),
            _ if !is_own => Some("belongs to another user"),
            Kind::File if self.others_write => Some("can be written by everybody"),
            Kind::File if self.names > 1 => Some(SECOND_NAME),
            Kind::File | Kind::Folder => None,
        }
    }
}

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Whoever the user lets read their files.
    Usual,
    Owner,
}

impl Folder {
    /// A folder that is the user's own choice: links on the way to it are theirs.
    pub fn own(path: &Path) -> io::Result<Self> {
        Ok(Self {
            dir: system::open(path)?,
            path: path.to_owned(),
        })
    }

    /// The same, made with all above it if it is not there, readable by its owner alone.
    pub fn own_or_new(path: &Path) -> io::Result<Self> {
        let mut folders = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        make_folders(path, &mut folders)?;
        Self::own(path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A folder below this one, step by step, without links.
    pub fn below(&self, rest: &Path) -> io::Result<Self> {
        self.walk(rest, |folder, name| system::open_at(&folder.dir, name))
    }

    /// The same, making what is not there.
    pub fn below_or_new(&self, rest: &Path) -> io::Result<Self> {
        self.walk(rest, |folder, name| {
            match system::open_at(&folder.dir, name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match system::make_at(&folder.dir, name) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                            return Err(error);
                        }
                        _ => folder.sync()?,
                    }
                    system::open_at(&folder.dir, name)
                }
                opened => opened,
            }
        })
    }

    fn walk(
        &self,
        rest: &Path,
        step: impl Fn(&Self, &OsStr) -> io::Result<system::Dir>,
    ) -> io::Result<Self> {
        let mut at = Self {
            dir: system::same(&self.dir)?,
            path: self.path.clone(),
        };
        for part in rest.components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) => {
                    let dir = step(&at, name).map_err(|error| at.explained(name, error))?;
                    at = Self {
                        path: at.path.join(name),
                        dir,
                    };
                }
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(io::Error::other(format!(
                        "`{}` leads out of {}",
                        rest.display(),
                        self.path.display()
                    )));
                }
            }
        }
        Ok(at)
    }

    /// Why something could not be opened, where that is because it is a link.
    fn explained(&self, name: &OsStr, error: io::Error) -> io::Error {
        match system::about(&self.dir, name) {
            Ok(About {
                kind: Kind::Link, ..
            }) => planted(&self.path.join(name)),
            _ => error,
        }
    }

    /// What a name in this folder stands for; links are not followed.
    pub fn about(&self, name: &OsStr) -> io::Result<About> {
        system::about(&self.dir, name)
    }

    /// The names in this folder, sorted.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = system::names(&self.dir)?;
        names.sort();
        Ok(names)
    }

    /// A regular file below this folder, to read. A pipe or a device is refused before anybody
    /// waits for it.
    pub fn open(&self, rest: &Path) -> io::Result<File> {
        let (folder, name) = self.parent_of(rest)?;
        regular(
            system::read_at(&folder.dir, &name).map_err(|error| folder.explained(&name, error))?,
        )
    }

    /// A regular file in this folder to add to or to lock, made if it is not there; never through a
    /// link, nor one with a second name, which may be that of a private file.
    pub fn open_or_new(&self, name: &OsStr) -> io::Result<File> {
        let opened = system::append_at(&self.dir, name);
        let file = regular(opened.map_err(|error| self.explained(name, error))?)?;
        if system::names_of(&file)? > 1 {
            return Err(io::Error::other(SECOND_NAME));
        }
        Ok(file)
    }

    /// A new file in this folder: one that is there already, a link too, is an error.
    pub fn create(&self, name: &OsStr, readers: Readers) -> io::Result<File> {
        system::create_at(&self.dir, name, readers)
    }

    /// Gives a file in this folder another name in it, in one step. What had that name is gone; a
    /// link is replaced, not followed.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        system::rename_at(&self.dir, from, to)
    }

    /// Gives a file in this folder a second name, unless that is taken.
    pub fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        system::link_at(&self.dir, from, to)
    }

    /// Removes a file of this folder; a link is removed, not what it leads to.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        system::remove_at(&self.dir, name)
    }

    /// Brings the names in this folder to the disk: a file that was made or renamed in it is there
    /// after a power cut.
    pub fn sync(&self) -> io::Result<()> {
        system::sync(&self.dir)
    }

    fn parent_of(&self, rest: &Path) -> io::Result<(Self, OsString)> {
        let is_folder = || io::Error::new(io::ErrorKind::IsADirectory, "it is a folder");
        let name = rest.file_name().ok_or_else(is_folder)?.to_owned();
        Ok((self.below(rest.parent().unwrap_or(Path::new("")))?, name))
    }
}

/// A file that was opened, unless it is a folder, a pipe or a device.
fn regular(file: File) -> io::Result<File> {
    match file.metadata()? {
        found if found.is_file() => Ok(file),
        found if found.is_dir() => Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "it is a folder",
        )),
        _ => Err(io::Error::other(NOT_REGULAR)),
    }
}

/// What is said of a file that is reached by another name too.
const SECOND_NAME: &str = "has a second name elsewhere (a hard link)";
/// What is said of a pipe or a device.
const NOT_REGULAR: &str = "it is no regular file";

/// Makes a folder and what is missing above it, so that a power cut leaves none of them out.
fn make_folders(path: &Path, folders: &mut std::fs::DirBuilder) -> io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists())
        .collect();
    folders.recursive(true).create(path)?;
    // Each is a name in the folder above it.
    missing
        .iter()
        .rev()
        .filter_map(|dir| dir.parent())
        .try_for_each(|above| match system::open(above) {
            // One that may be written and not read cannot be synced either.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            opened => system::sync(&opened?),
        })
}

#[derive(Debug)]
pub struct Typed {
    /// The folder from which on no step may be a link; `None` where links are the user's own.
    anchor: Option<PathBuf>,
    /// The path from there on, or all of it.
    rest: PathBuf,
    /// The folder that it was typed in.
    typed_in: PathBuf,
}

impl Typed {
    /// Where a typed path leads, and from where on links are not followed.
    pub fn new(path: &Path) -> io::Result<Self> {
        Self::typed_in(&std::env::current_dir()?, path)
    }

    /// The same for a path that was typed in another folder than the current one. Either may be a
    /// project: links of both are not followed.
    pub fn typed_in(dir: &Path, path: &Path) -> io::Result<Self> {
        let here = std::env::current_dir()?;
        let there = Self::from(dir, path);
        if here == dir {
            return Ok(there);
        }
        let seen = Self {
            typed_in: dir.to_owned(),
            ..Self::from(&here, &there.whole())
        };
        Ok(match (&there.anchor, &seen.anchor) {
            (Some(one), Some(other)) if one.starts_with(other) => seen,
            (Some(_), _) => there,
            (None, _) => seen,
        })
    }

    fn from(here: &Path, path: &Path) -> Self {
        let whole = plain(&here.join(path));
        let whole = if path.is_absolute() {
            entered(here, &whole)
        } else {
            whole
        };
        let shared = common(here, &whole).filter(|shared| path.is_relative() || *shared == here);
        // The outermost one: a planted link may lead into another repository.
        let repository = whole
            .ancestors()
            .filter(|dir| dir.join(".git").symlink_metadata().is_ok())
            .last();
        let anchor = match (shared, repository) {
            (Some(shared), Some(repository)) if repository.starts_with(shared) => Some(shared),
            (shared, repository) => repository.or(shared),
        };
        let typed_in = here.to_owned();
        match anchor.and_then(|anchor| Some((anchor, whole.strip_prefix(anchor).ok()?))) {
            Some((anchor, rest)) => Self {
                anchor: Some(anchor.to_owned()),
                rest: rest.to_owned(),
                typed_in,
            },
            None => Self {
                anchor: None,
                rest: whole,
                typed_in,
            },
        }
    }

    /// The whole path, without `.` and `..`. Whatever is checked and used must be this one:
    /// the system takes `name/..` for another place where
    /// `name` is a link.
    pub fn whole(&self) -> PathBuf {
        self.anchor.as_ref().map_or_else(
            || self.rest.clone(),
            |anchor| anchor.join(&self.rest).components().collect(),
        )
    }

    /// The same from the current folder on, where it is below that: shorter to read.
    pub fn seen_from_here(&self) -> io::Result<PathBuf> {
        let (here, whole) = (std::env::current_dir()?, self.whole());
        Ok(whole
            .strip_prefix(here)
            .ok()
            .filter(|rest| *rest != Path::new(""))
            .map_or(whole.clone(), Path::to_owned))
    }

    /// Whether it leads into a project, which may have brought what is there: below the current
    /// folder, into a repository, or into another part of a folder in the user's `home` that the
    /// current folder is in too.
    pub fn is_in_project(&self, home: Option<&Path>) -> io::Result<bool> {
        let (here, whole) = (std::env::current_dir()?, without_links(&self.whole()));
        let shares = |dir: &Path, home: &Path| {
            common(dir, &whole).is_some_and(|shared| shared.starts_with(home) && shared != home)
        };
        let is_shared = |home: &Path| shares(&here, home) || shares(&self.typed_in, home);
        Ok(self.anchor.is_some() || home.is_some_and(is_shared))
    }

    /// A file to read. Below the anchor only a regular one; elsewhere also a pipe, as a shell's
    /// `<(…)` is.
    pub fn open(&self) -> io::Result<File> {
        match &self.anchor {
            Some(anchor) => Folder::own(anchor)?.open(&self.rest),
            None => File::open(&self.rest),
        }
    }

    /// The same for a regular file only, wherever it is: nobody waits for a pipe.
    pub fn open_regular(&self) -> io::Result<File> {
        if self.anchor.is_none() && !self.rest.metadata()?.is_file() {
            return Err(io::Error::other(NOT_REGULAR));
        }
        self.open()
    }

    /// Refuses a path with a link in it that nobody but the folder's author chose. What is not
    /// there yet is fine.
    pub fn check(&self) -> io::Result<()> {
        let Some(anchor) = &self.anchor else {
            return Ok(());
        };
        let mut at = Folder::own(anchor)?;
        for part in self.rest.components() {
            match at.about(part.as_os_str()).map(|found| found.kind) {
                Ok(Kind::Link) => return Err(planted(&at.path.join(part))),
                Ok(Kind::Folder) => at = at.below(Path::new(part.as_os_str()))?,
                Ok(_) | Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// The same, and refuses what is there and is no regular file: whoever opens a pipe waits.
    pub fn check_file(&self) -> io::Result<()> {
        self.check()?;
        let Some(anchor) = &self.anchor else {
            return Ok(());
        };
        match anchor.join(&self.rest).symlink_metadata() {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                Err(io::Error::new(PLANTED, NOT_REGULAR))
            }
            _ => Ok(()),
        }
    }

    /// The folder that a file is to be written into, made if need be, and the file's name in it.
    pub fn parent(&self) -> io::Result<(Folder, OsString)> {
        let name = self
            .rest
            .file_name()
            .ok_or_else(|| io::Error::other("it names no file"))?
            .to_owned();
        let above = self.rest.parent().unwrap_or(Path::new(""));
        let folder = match &self.anchor {
            Some(anchor) => Folder::own(anchor)?.below_or_new(above)?,
            None => {
                make_folders(above, &mut std::fs::DirBuilder::new())?;
                Folder::own(above)?
            }
        };
        Ok((folder, name))
    }

    /// The folder itself, made if need be.
    pub fn folder(&self) -> io::Result<Folder> {
        match &self.anchor {
            Some(anchor) => Folder::own(anchor)?.below_or_new(&self.rest),
            None => {
                make_folders(&self.rest, &mut std::fs::DirBuilder::new())?;
                Folder::own(&self.rest)
            }
        }
    }
}

/// The kind of error that a link in the way is.
pub const PLANTED: io::ErrorKind = io::ErrorKind::Unsupported;

/// What is said of a link in the way.
fn planted(path: &Path) -> io::Error {
    let leads = std::fs::read_link(path).map(|target| {
        format!(
            " to {}",
            rebut_engine::clean::on_one_line(&target.to_string_lossy())
        )
    });
    let leads = leads.unwrap_or_default();
    let path = rebut_engine::clean::on_one_line(&path.display().to_string());
    let message = format!(
        "{path} is a link{leads}, and links below the current folder or in a repository are not \
         followed; give the real path"
    );
    io::Error::new(PLANTED, message)
}

/// A path without `.` and `..`, as it is written: the current folder, which it begins with, holds
/// no link.
fn plain(path: &Path) -> PathBuf {
    let mut made = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                made.pop();
            }
            part => made.push(part),
        }
    }
    made
}

/// A whole path with the user's own links on the way into a project resolved: the shell keeps them
/// in `$PWD`, and the system does not. From the project on (the current folder, or a repository)
/// nothing is resolved: links there may be planted.
fn entered(here: &Path, whole: &Path) -> PathBuf {
    let is_project = |dir: &Path| {
        (dir == here && dir.parent().is_some()) || dir.join(".git").symlink_metadata().is_ok()
    };
    let mut real = PathBuf::new();
    let mut parts = whole.components();
    while let Some(part) = parts.next() {
        let Ok(next) = real.join(part).canonicalize() else {
            break;
        };
        real = next;
        if real.ancestors().any(is_project) {
            return real.join(parts.as_path());
        }
    }
    whole.to_owned()
}

/// The same place without the links that lead to it, as far as it is there.
pub fn without_links(path: &Path) -> PathBuf {
    let found = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    match found.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?))) {
        // An empty rest would leave a slash at the end.
        Some(real) => real.components().collect(),
        None => path.to_owned(),
    }
}

/// The longest path that both begin with; never the root of the file system alone.
fn common<'a>(one: &'a Path, other: &Path) -> Option<&'a Path> {
    one.ancestors()
        .find(|path| other.starts_with(path))
        .filter(|path| path.parent().is_some())
}

#[cfg(all(test, unix))]
mod tests;
