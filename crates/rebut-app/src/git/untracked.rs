//! Files that git does not know yet, told as a diff that adds them. Git itself is only asked for
//! their names.

use super::{Change, SECRETS, git, succeeded};
use crate::{beneath::Folder, context::is_denied, error::AppError};
use std::{
    fmt::Write,
    io::{ErrorKind, Read},
    path::Path,
};

/// So much of them at most: what lies about can be anything.
const MOST_BYTES: usize = 128 * 1024;

const TOO_MUCH: &str = "is new, and too much together with the others";

/// Adds them to a change, unless they are ignored, and says which are left out.
pub fn add(change: &mut Change, top: &Path, deny: &[String]) -> Result<(), AppError> {
    let listed = git(
        top,
        &[
            "ls-files",
            "--others",
            "--exclude-standard",
            "--full-name",
            "-z",
        ],
    )?;
    let names = succeeded("list the new files", listed)?;
    let mut room = MOST_BYTES.min(super::MOST_BYTES.saturating_sub(change.text.len()));
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        match content(top, name, deny, room as u64).map(|text| added(name, &text)) {
            Ok(diff) if diff.len() <= room => {
                room -= diff.len();
                change.text.push_str(&diff);
            }
            Ok(_) => change.left_out.push((name.to_owned(), TOO_MUCH)),
            Err(why) => change.left_out.push((name.to_owned(), why)),
        }
    }
    Ok(())
}

/// What stands in a file, if it may be sent.
fn content(top: &Path, name: &str, deny: &[String], room: u64) -> Result<String, &'static str> {
    if is_denied(Path::new(name), deny) {
        return Err(SECRETS);
    }
    // Its name stands on a line of the diff.
    if name.contains(char::is_control) {
        return Err("has an unusual name");
    }
    if super::has_second_name(top, Path::new(name)) {
        return Err(super::SECOND_NAME);
    }
    let file = match Folder::own(top).and_then(|top| top.open(Path::new(name))) {
        Ok(file) => file,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::PermissionDenied
            ) =>
        {
            return Err("cannot be read");
        }
        Err(_) => return Err("is new, and no plain file"),
    };
    let mut bytes = Vec::new();
    // One byte more than there is room for shows that there is more.
    file.take(room + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| "cannot be read")?;
    if bytes.len() as u64 > room {
        return Err(TOO_MUCH);
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not text")?;
    if text.contains('\0') {
        Err("is not text")
    } else {
        Ok(text)
    }
}

/// The diff by which a file comes into being.
fn added(name: &str, text: &str) -> String {
    let mut diff = format!("diff --git a/{name} b/{name}\nnew file mode 100644\n");
    if text.is_empty() {
        return diff;
    }
    let lines = text.split_inclusive('\n').count();
    // Writing to a string cannot fail.
    let _ = write!(diff, "--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{lines} @@\n");
    for line in text.split_inclusive('\n') {
        diff.push('+');
        diff.push_str(line);
    }
    if !text.ends_with('\n') {
        diff.push_str("\n\\ No newline at end of file\n");
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_told_as_git_would() {
        let rows = [
            (
                "one\ntwo\n",
                "--- /dev/null\n+++ b/x.md\n@@ -0,0 +1,2 @@\n+one\n+two\n",
            ),
            (
                "one",
                "--- /dev/null\n+++ b/x.md\n@@ -0,0 +1,1 @@\n+one\n\\ No newline at end of file\n",
            ),
            ("", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(
                added("x.md", text),
                format!("diff --git a/x.md b/x.md\nnew file mode 100644\n{expected}"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn only_plain_texts_that_fit_are_sent() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(dir.path().join(name), bytes).expect("a file")
        };
        write("fine.md", b"ten bytes\n");
        write("picture.png", b"a\0b");
        write("latin.txt", b"\xe9");
        write("my.pem", b"key");
        write("private.md", b"mine");
        std::fs::create_dir(dir.path().join("nested")).expect("a directory");
        let rows = [
            ("fine.md", 10, Ok("ten bytes\n".to_owned())),
            ("fine.md", 9, Err(TOO_MUCH)),
            ("picture.png", 10, Err("is not text")),
            ("latin.txt", 10, Err("is not text")),
            ("my.pem", 10, Err(SECRETS)),
            ("private.md", 10, Err(SECRETS)),
            ("nested", 10, Err("is new, and no plain file")),
            ("x\n+++ b/y", 10, Err("has an unusual name")),
            ("gone.md", 10, Err("cannot be read")),
        ];
        for (name, room, expected) in rows {
            assert_eq!(
                content(dir.path(), name, &["private*".to_owned()], room),
                expected,
                "{name:?}"
            );
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("fine.md", dir.path().join("link.md")).expect("a link");
            assert!(
                content(dir.path(), "link.md", &[], 10).is_err(),
                "a link is not followed"
            );
        }
    }
}
