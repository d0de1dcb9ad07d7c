//! Links that somebody planted lead nowhere, and what is not planted works.

use super::*;
use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::symlink,
};

/// A home with something private, and a clone in it that holds links.
fn stage() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    for folder in ["clone/.git", "clone/sub", "private", "plain"] {
        fs::create_dir_all(at(folder)).expect("a folder");
    }
    for (name, text) in [
        ("private/key", "secret"),
        ("clone/sub/fine", "fine"),
        ("plain/fine", "fine"),
    ] {
        fs::write(at(name), text).expect("a file");
    }
    symlink("../private/key", at("clone/file")).expect("a link");
    symlink("../private", at("clone/folder")).expect("a link");
    symlink("nowhere", at("clone/dangling")).expect("a link");
    symlink("../private/key", at("plain/mine")).expect("a link");
    dir
}

#[test]
fn links_of_a_project_are_not_followed_and_those_of_the_user_are() {
    let dir = stage();
    let root = dir.path().canonicalize().expect("a folder");
    let clone = root.join("clone");
    // From where, what is typed, what can be read.
    let rows = [
        (&clone, "sub/fine", Ok("fine")),
        (&clone, "./sub/../sub/fine", Ok("fine")),
        (&clone, "file", Err("is a link to ../private/key")),
        (&clone, "folder/key", Err("is a link to ../private")),
        (&clone, "sub", Err("it is a folder")),
        (&clone, "gone", Err("No such file")),
        // Out of the clone by the user's own words, and into it by an absolute path.
        (&clone, "../plain/fine", Ok("fine")),
        (&clone, "../plain/mine", Err("is a link")),
        (&root.join("plain"), "../clone/file", Err("is a link")),
        (&root.join("plain"), "mine", Err("is a link")),
    ];
    for (from, typed, expected) in rows {
        let mut text = String::new();
        let read = Typed::from(from, Path::new(typed))
            .open()
            .and_then(|mut file| file.read_to_string(&mut text));
        check(typed, read.map(|_| text.as_str()), expected);
    }
    let absolute = [
        (clone.join("file"), Err("is a link")),
        (root.join("plain/mine"), Ok("secret")),
        (clone.join("sub/fine"), Ok("fine")),
    ];
    for (typed, expected) in absolute {
        let mut text = String::new();
        let read = Typed::from(Path::new("/nowhere"), &typed)
            .open()
            .and_then(|mut file| file.read_to_string(&mut text));
        check(
            &typed.display().to_string(),
            read.map(|_| text.as_str()),
            expected,
        );
    }
}

#[test]
fn a_link_of_the_users_own_on_the_way_into_a_project_changes_nothing_there() {
    let dir = stage();
    let root = dir.path().canonicalize().expect("a folder");
    let (clone, plain) = (root.join("clone"), root.join("plain"));
    for (link, to) in [
        ("to-all", "."),
        ("to-clone", "clone"),
        ("to-sub", "clone/sub"),
        ("to-plain", "plain"),
    ] {
        symlink(to, root.join(link)).expect("a link");
    }
    // From where, what is typed as the shell's `$PWD` has it, what can be read.
    let rows = [
        (&clone, "to-clone/sub/fine", Ok("fine")),
        (&clone, "to-clone/file", Err("is a link to ../private/key")),
        (
            &clone,
            "to-all/clone/folder/key",
            Err("is a link to ../private"),
        ),
        (&clone, "to-sub/../file", Err("No such file")),
        (&plain, "to-plain/mine", Err("is a link")),
        (&plain, "to-all/plain/fine", Ok("fine")),
        (&plain, "to-all/to-plain/mine", Err("is a link")),
        (&plain, "to-sub/fine", Ok("fine")),
    ];
    for (from, typed, expected) in rows {
        let mut text = String::new();
        let read = Typed::from(from, &root.join(typed))
            .open()
            .and_then(|mut file| file.read_to_string(&mut text));
        check(typed, read.map(|_| text.as_str()), expected);
    }
    assert!(
        Typed::from(Path::new("/nowhere"), &root.join("to-sub/new"))
            .anchor
            .is_some(),
        "a link into the middle of a repository"
    );
}

fn check(what: &str, found: io::Result<&str>, expected: Result<&str, &str>) {
    match (found, expected) {
        (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{what}"),
        (Err(error), Err(expected)) => {
            assert!(error.to_string().contains(expected), "{what}: {error}")
        }
        (found, expected) => panic!("{what}: {found:?}, expected {expected:?}"),
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let dir = stage();
    let clone = dir.path().canonicalize().expect("a folder").join("clone");
    for typed in ["folder/new", "folder/deep/new", "dangling/new"] {
        let error = Typed::from(&clone, Path::new(typed))
            .parent()
            .expect_err(typed)
            .to_string();
        assert!(error.contains("is a link"), "{typed}: {error}");
    }
    for typed in ["folder", "folder/x", "file"] {
        assert!(
            Typed::from(&clone, Path::new(typed)).check().is_err(),
            "{typed}"
        );
    }
    for typed in ["sub", "sub/new", "new/deep"] {
        Typed::from(&clone, Path::new(typed))
            .check()
            .unwrap_or_else(|error| panic!("{typed}: {error}"));
    }
    let (folder, name) = Typed::from(&clone, Path::new("new/deep/file"))
        .parent()
        .expect("made");
    folder
        .create(&name, Readers::Usual)
        .and_then(|mut file| file.write_all(b"text"))
        .expect("written");
    assert_eq!(
        fs::read(clone.join("new/deep/file")).expect("a file"),
        b"text"
    );
    // A name that is a link is refused to those who add, and replaced by those who put a new file
    // in its place.
    let folder = Folder::own(&clone).expect("a folder");
    assert!(
        folder.open_or_new(OsStr::new("file")).is_err()
            && folder.create(OsStr::new("file"), Readers::Owner).is_err()
    );
    folder
        .create(OsStr::new("fresh"), Readers::Owner)
        .expect("made");
    folder
        .rename(OsStr::new("fresh"), OsStr::new("file"))
        .expect("replaced");
    assert!(!clone.join("file").is_symlink());
    assert_eq!(
        fs::read(dir.path().join("private/key")).expect("a file"),
        b"secret"
    );
    assert_eq!(
        fs::read_dir(dir.path().join("private"))
            .expect("a folder")
            .count(),
        1
    );
}

#[test]
fn a_pipe_is_not_waited_for() {
    let dir = stage();
    let clone = dir.path().canonicalize().expect("a folder").join("clone");
    let made = std::process::Command::new("mkfifo")
        .arg(clone.join("pipe"))
        .status()
        .expect("mkfifo is there");
    assert!(made.success());
    let error = Typed::from(&clone, Path::new("pipe"))
        .open()
        .expect_err("no file")
        .to_string();
    assert!(error.contains("no regular file"), "{error}");
}

#[test]
fn what_was_typed_in_another_folder_is_meant_from_there() {
    let dir = stage();
    let root = dir.path().canonicalize().expect("a folder");
    fs::remove_dir(root.join("clone/.git")).expect("an unpacked archive has none");
    let (clone, sub) = (root.join("clone"), root.join("clone/sub"));
    // In which folder, what was typed, whether that is in a project.
    let rows = [
        (&clone, "file", true),
        (&clone, "sub/fine", true),
        (&sub, "../folder/key", true),
        (&sub, "fine", true),
    ];
    for (from, typed, in_project) in rows {
        let found = Typed::typed_in(from, Path::new(typed)).expect("a path");
        assert_eq!(
            found.is_in_project(None).expect("known"),
            in_project,
            "{typed}"
        );
        assert_eq!(found.check().is_ok(), typed.contains("fine"), "{typed}");
        assert_eq!(found.whole(), plain(&from.join(typed)), "{typed}");
    }
    let elsewhere = Typed::typed_in(&clone, &root.join("plain/mine")).expect("a path");
    assert!(
        !elsewhere.is_in_project(None).expect("known") && elsewhere.check().is_ok(),
        "a link of the user's own"
    );
    // In the home, whatever shares a folder with the one it was typed in may have come with that.
    let shared = Typed::typed_in(&sub, &root.join("clone/new")).expect("a path");
    assert!(shared.is_in_project(Some(&root)).expect("known"));
}

#[test]
fn a_pipe_is_neither_added_to_nor_locked() {
    let dir = stage();
    let clone = dir.path().join("clone");
    let made = std::process::Command::new("mkfifo")
        .arg(clone.join("pipe"))
        .status()
        .expect("mkfifo is there");
    assert!(made.success());
    let error = Folder::own(&clone)
        .and_then(|clone| clone.open_or_new(OsStr::new("pipe")))
        .expect_err("no file")
        .to_string();
    assert!(error.contains("no regular file"), "{error}");
}

#[test]
fn a_second_name_of_a_private_file_is_neither_added_to_nor_locked() {
    let dir = stage();
    let clone = dir.path().join("clone");
    let private = dir.path().join("precious");
    std::fs::write(&private, "precious").expect("written");
    std::fs::hard_link(&private, clone.join("claim")).expect("a second name");
    let error = Folder::own(&clone)
        .and_then(|clone| clone.open_or_new(OsStr::new("claim")))
        .expect_err("refused")
        .to_string();
    assert!(error.contains("second name"), "{error}");
}
