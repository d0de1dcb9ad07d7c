//! Replacing a file whole: written beside its place and then renamed there, so that a link in its place is replaced and never followed.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Puts a file with these bytes at `path`. Whatever stood there, a link too, is replaced in one step or stays as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path)?;
    // `create_new` follows no link either: a name that somebody took is an error.
    let written = OpenOptions::new().write(true).create_new(true).open(&beside).and_then(|mut file| file.write_all(bytes));
    let replaced = written.and_then(|()| fs::rename(&beside, path));
    if replaced.is_err() {
        // What is wrong is said already; a part of a file helps nobody.
        let _ = fs::remove_file(&beside);
    }
    replaced
}

/// A name beside a file that nobody else can know in advance.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no name"))?;
    let chance = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(path.with_file_name(format!(".{}.{chance:016x}", name.to_string_lossy())))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_replaced_and_what_it_leads_to_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let (outside, link) = (dir.path().join("outside"), dir.path().join("link"));
        fs::write(&outside, "precious").expect("a file");
        std::os::unix::fs::symlink(&outside, &link).expect("a link");
        for bytes in ["one", "two"] {
            replace(&link, bytes.as_bytes()).expect("replaced");
            assert_eq!(fs::read_to_string(&link).expect("a file"), bytes);
            assert!(!link.is_symlink());
        }
        assert_eq!(fs::read_to_string(&outside).expect("a file"), "precious");
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 2, "nothing is left beside");
        assert!(replace(&dir.path().join("gone/file"), b"x").is_err());
    }
}
