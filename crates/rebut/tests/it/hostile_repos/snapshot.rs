//! What a folder holds, byte for byte, and how it differs from what it held before.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Everything below a folder, by path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot(BTreeMap<PathBuf, Entry>);

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    mode: u32,
    owner: u32,
    content: Content,
}

#[derive(Clone, Debug, PartialEq)]
enum Content {
    File(Vec<u8>),
    /// Too large to be kept: only its length.
    Large(u64),
    Link(PathBuf),
    Folder,
    /// A pipe or a device, which must not be opened.
    Special,
}

/// Larger files are made of holes here.
const LARGE: u64 = 32 << 20;

impl Snapshot {
    /// What is below `root`, without the folders in `without`.
    pub fn of(root: &Path, without: &[PathBuf]) -> Self {
        let mut all = BTreeMap::new();
        add(root, without, &mut all);
        Self(all)
    }

    /// How another differs from this one, a line per path.
    pub fn changes_to(&self, now: &Self) -> Vec<(PathBuf, &'static str)> {
        let gone = self
            .0
            .keys()
            .filter(|path| !now.0.contains_key(*path))
            .map(|path| (path.clone(), "was removed"));
        let other = now
            .0
            .iter()
            .filter_map(|(path, entry)| match self.0.get(path) {
                None => Some((path.clone(), "was made")),
                Some(before) if before != entry => Some((path.clone(), "was changed")),
                Some(_) => None,
            });
        gone.chain(other).collect()
    }
}

fn add(path: &Path, without: &[PathBuf], all: &mut BTreeMap<PathBuf, Entry>) {
    if without.iter().any(|left_out| left_out == path) {
        return;
    }
    let Ok(found) = fs::symlink_metadata(path) else {
        return;
    };
    let kind = found.file_type();
    let content = match () {
        () if kind.is_symlink() => Content::Link(fs::read_link(path).unwrap_or_default()),
        () if kind.is_dir() => Content::Folder,
        () if kind.is_file() && found.len() > LARGE => Content::Large(found.len()),
        () if kind.is_file() => Content::File(fs::read(path).unwrap_or_default()),
        () => Content::Special,
    };
    if content == Content::Folder {
        let entries = fs::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        entries.for_each(|entry| add(&entry.path(), without, all));
    }
    all.insert(
        path.to_owned(),
        Entry {
            mode: found.permissions().mode(),
            owner: found.uid(),
            content,
        },
    );
}

#[test]
fn a_snapshot_sees_every_change_and_no_other() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("kept")).expect("a folder");
    for name in ["same", "other", "gone", "kept/left-out"] {
        fs::write(at(name), name).expect("a file");
    }
    std::os::unix::fs::symlink("same", at("link")).expect("a link");
    let look = || Snapshot::of(dir.path(), &[at("kept")]);
    let before = look();
    assert_eq!(before.changes_to(&look()), []);
    fs::write(at("other"), "OTHER").expect("a file");
    fs::write(at("kept/left-out"), "changed").expect("a file");
    fs::remove_file(at("gone")).expect("a file");
    fs::remove_file(at("link")).expect("a link");
    std::os::unix::fs::symlink("other", at("link")).expect("a link");
    fs::write(at("new"), "").expect("a file");
    fs::set_permissions(at("same"), fs::Permissions::from_mode(0o600)).expect("a mode");
    let expected = [
        ("gone", "was removed"),
        ("link", "was changed"),
        ("new", "was made"),
        ("other", "was changed"),
        ("same", "was changed"),
    ];
    assert_eq!(
        before.changes_to(&look()),
        expected.map(|(name, what)| (at(name), what))
    );
}
