//! Where proposals for roles are written: `reviewers/prompts/ROLE.txt` of the project, and nowhere
//! else. Nothing that leads elsewhere is followed, so that a role's own file cannot be reached,
//! whatever stands in the way and whatever a model says.

use crate::error::AppError;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

/// The directories of a project in which roles stand.
const ROLES: [&[&str]; 2] = [&[".rebut", "roles"], &[".claude", "agents"]];

/// The directories from the project to the proposals.
const PROPOSALS: [&str; 2] = ["reviewers", "prompts"];

/// The longest name a role may have here.
const MOST_CHARACTERS: usize = 64;

/// The place of one role's proposal.
#[derive(Debug)]
pub struct Place {
    project: PathBuf,
    name: String,
}

/// Refuses a name that could be more than the name of a file.
pub fn check_name(role: &str) -> Result<(), AppError> {
    let is_plain = role
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        && role.starts_with(|c: char| c.is_ascii_alphanumeric());
    if is_plain && role.len() <= MOST_CHARACTERS {
        return Ok(());
    }
    Err(
        AppError::usage(format!("`{role}` cannot be a role's name here")).hint(
            "letters, digits, dashes and underscores, without a path; `rebut roles` lists all \
            roles",
        ),
    )
}

impl Place {
    /// The place for a role's proposal, if nothing stands in the way. Nothing is made yet.
    pub fn find(project: &Path, role: &str) -> Result<Self, AppError> {
        check_name(role)?;
        let project =
            fs::canonicalize(project).map_err(|error| AppError::file("enter", project, &error))?;
        let place = Self {
            project,
            name: format!("{role}.txt"),
        };
        place.check()?;
        Ok(place)
    }

    /// The file from the project's directory, for people.
    pub fn shown(&self) -> String {
        format!("{}/{}", PROPOSALS.join("/"), self.name)
    }

    /// Writes the proposal: into a new file, which then takes the old one's place. What stood there
    /// is never written through.
    pub fn write(&self, text: &str) -> Result<(), AppError> {
        let mut dir = self.project.clone();
        for part in PROPOSALS {
            dir.push(part);
            match fs::create_dir(&dir) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(AppError::file("create", &dir, &error));
                }
                _ => {}
            }
        }
        // Again: somebody may have changed something while the model thought.
        self.check()?;
        let fresh = dir.join(format!(".{}.{}", self.name, std::process::id()));
        let opened = fs::OpenOptions::new() // tidy: a new file goes through no link
            .write(true)
            .create_new(true)
            .open(&fresh);
        let written = opened.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        let placed = written.and_then(|()| fs::rename(&fresh, dir.join(&self.name)));
        placed.map_err(|error| {
            // What could not be finished is taken away, if it is there at all; the error told is
            // the first one.
            let _ = fs::remove_file(&fresh);
            AppError::file("write", &dir.join(&self.name), &error)
        })
    }

    /// Refuses links and everything that is not what it should be, a directory that is one of
    /// roles, and a file that is a role's.
    fn check(&self) -> Result<(), AppError> {
        self.check_roles()?;
        let mut path = self.project.clone();
        for part in PROPOSALS {
            path.push(part);
            match kind(&path)? {
                Kind::Nothing => return Ok(()),
                Kind::Directory => {}
                Kind::Link => return Err(refused(&path, "a link")),
                Kind::File(_) => return Err(refused(&path, "not a directory")),
            }
        }
        for roles in ROLES {
            let roles = roles
                .iter()
                .fold(self.project.clone(), |path, part| path.join(part));
            // Where roles are kept may itself be a link that leads here.
            if fs::canonicalize(&roles)
                .is_ok_and(|roles| roles.starts_with(&path) || path.starts_with(&roles))
            {
                return Err(refused(&path, "where roles are kept"));
            }
        }
        path.push(&self.name);
        match kind(&path)? {
            Kind::Nothing | Kind::File(1) => Ok(()),
            Kind::File(_) => Err(refused(
                &path,
                "a file that also stands elsewhere (a hard link)",
            )),
            Kind::Link => Err(refused(&path, "a link")),
            Kind::Directory => Err(refused(&path, "a directory")),
        }
    }

    /// Refuses a place that a role's file leads to, of whatever name, or could once something
    /// stands there.
    fn check_roles(&self) -> Result<(), AppError> {
        let place = PROPOSALS
            .iter()
            .fold(self.project.clone(), |path, part| path.join(part))
            .join(&self.name);
        let real = fs::canonicalize(&place).ok();
        for roles in ROLES {
            let roles = roles
                .iter()
                .fold(self.project.clone(), |path, part| path.join(part));
            let entries = match fs::read_dir(&roles) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                entries => entries.map_err(|error| AppError::file("look into", &roles, &error))?,
            };
            for entry in entries {
                let role = entry
                    .map_err(|error| AppError::file("look into", &roles, &error))?
                    .path();
                // One that leads nowhere could lead here as soon as there is a file.
                let is_here = fs::canonicalize(&role).map_or(true, |role| Some(role) == real);
                if is_here {
                    return Err(refused(
                        &place,
                        &format!("where {} may lead", role.display()),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// What stands at a path, links not followed.
enum Kind {
    Nothing,
    Directory,
    Link,
    /// A file, with how many names it has.
    File(u64),
}

fn kind(path: &Path) -> Result<Kind, AppError> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Kind::Nothing),
        found => found.map_err(|error| AppError::file("look at", path, &error))?,
    };
    #[cfg(unix)]
    let names = std::os::unix::fs::MetadataExt::nlink(&found);
    #[cfg(not(unix))]
    let names = 1;
    Ok(match found.file_type() {
        kind if kind.is_symlink() => Kind::Link,
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_file() => Kind::File(names),
        // A pipe or device is no place for a text.
        _ => Kind::Link,
    })
}

fn refused(path: &Path, what: &str) -> AppError {
    AppError::failed(format!(
        "{} is {what}; the proposal is not written there",
        path.display()
    ))
    .hint(
        "move it away: proposals are plain files in a plain directory, and never a role's own file",
    )
}
