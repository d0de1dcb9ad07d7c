//! The project's file: looked for no further up than its repository or the home, and taken only if
//! it is the user's own.

use super::layers::Origin;
use crate::{beneath::Folder, error::AppError};
use std::{
    ffi::OsStr,
    io::Read,
    path::{Path, PathBuf},
};

/// The name of a project's file.
pub const NAME: &str = "rebut.toml";

/// The most bytes such a file may have.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Debug, PartialEq)]
pub enum Found {
    Nothing,
    File {
        path: PathBuf,
        text: String,
    },
    /// A file that is passed over, and why.
    PassedOver {
        path: PathBuf,
        why: &'static str,
    },
}

/// Looks for the file from the current folder up.
pub fn find(origin: &Origin) -> Result<Found, AppError> {
    for dir in searched(&origin.current_dir, origin.home.as_deref()) {
        // A folder above that may not be looked into holds nothing for us.
        let Ok(folder) = Folder::own(dir) else {
            continue;
        };
        let Ok(about) = folder.about(OsStr::new(NAME)) else {
            continue;
        };
        let path = dir.join(NAME);
        return match about.problem() {
            Some(why) => Ok(Found::PassedOver { path, why }),
            None => read(&folder, path),
        };
    }
    Ok(Found::Nothing)
}

fn read(folder: &Folder, path: PathBuf) -> Result<Found, AppError> {
    let failed = |error: std::io::Error| AppError::file("read", &path, &error);
    let mut bytes = Vec::new();
    let file = folder.open(Path::new(NAME)).map_err(failed)?;
    // One byte more than allowed shows that there is more.
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Ok(Found::PassedOver {
            path,
            why: "is larger than 1 MiB",
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Found::File { path, text }),
        Err(_) => Err(
            AppError::usage(format!("cannot read {}: it is not text", path.display()))
                .hint("write it as UTF-8"),
        ),
    }
}

/// The folders that are looked into: up to the first that holds a repository or is the home; where
/// there is neither above, only this one.
fn searched<'a>(current: &'a Path, home: Option<&Path>) -> Vec<&'a Path> {
    let is_end = |dir: &Path| dir.join(".git").symlink_metadata().is_ok() || home == Some(dir);
    let all: Vec<&Path> = current.ancestors().collect();
    match all.iter().position(|dir| is_end(dir)) {
        Some(last) => all[..=last].to_vec(),
        None => all[..1].to_vec(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn it_is_looked_for_up_to_the_repository_or_the_home_and_no_further() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a folder");
        for folder in [
            "home/plain/deep",
            "home/repo/.git",
            "home/repo/deep/er",
            "else/deep",
        ] {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        for file in ["", "home", "home/repo", "else"] {
            fs::write(root.join(file).join(NAME), format!("# {file}\n")).expect("a file");
        }
        let rows = [
            ("home/repo/deep/er", Some("home/repo")),
            ("home/plain/deep", Some("home")),
            ("home", Some("home")),
            ("else", Some("else")),
            ("else/deep", None),
        ];
        for (from, expected) in rows {
            let origin = Origin {
                current_dir: root.join(from),
                home: Some(root.join("home")),
                ..Origin::default()
            };
            let found = match find(&origin).expect("readable") {
                Found::File { text, .. } => {
                    Some(text.trim_start_matches("# ").trim_end().to_owned())
                }
                Found::Nothing => None,
                other => panic!("{from}: {other:?}"),
            };
            assert_eq!(found.as_deref(), expected, "{from}");
        }
    }

    #[test]
    fn only_a_file_that_the_user_keeps_there_is_taken() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join(NAME);
        let origin = Origin {
            current_dir: dir.path().to_owned(),
            ..Origin::default()
        };
        let why = || match find(&origin).expect("readable") {
            Found::PassedOver { why, .. } => why,
            other => panic!("{other:?}"),
        };
        fs::write(dir.path().join("private"), "secret").expect("a file");
        std::os::unix::fs::symlink("private", &file).expect("a link");
        assert_eq!(why(), "is a link");
        fs::remove_file(&file).expect("gone");
        fs::hard_link(dir.path().join("private"), &file).expect("a link");
        assert_eq!(why(), "has a second name elsewhere (a hard link)");
        fs::remove_file(&file).expect("gone");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&file)
                .status()
                .expect("mkfifo is there")
                .success()
        );
        assert_eq!(why(), "is no regular file");
        fs::remove_file(&file).expect("gone");
        fs::write(&file, "").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("a mode");
        assert_eq!(why(), "can be written by everybody");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
        fs::write(&file, vec![b'#'; 2 << 20]).expect("a file");
        assert_eq!(why(), "is larger than 1 MiB");
        fs::write(&file, "").expect("a file");
        // Giving a file away is root's right.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(12_345), None).expect("given away");
            assert_eq!(why(), "belongs to another user");
        }
    }
}
