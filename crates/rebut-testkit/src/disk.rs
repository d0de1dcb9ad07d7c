//! Disks of a test: small ones that fill up and have room again, and folders that take no changes.

use std::{
    env,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::Command,
};

/// What a file takes at least.
const PAGE: u64 = 4096;

/// Set where a test has mounts of its own.
const INSIDE: &str = "REBUT_TEST_OWN_MOUNTS";

/// Runs the test of that full name once more in a mount namespace of its own, where whoever it runs
/// as may mount something and nobody else sees it. Says whether this is that run; if not, the test
/// is over. Fails where the system allows no such namespace.
pub fn has_own_mounts(test: &str) -> bool {
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    let is_root = rustix::process::geteuid().is_root();
    let mut command = Command::new("unshare");
    command.args(if is_root {
        &["--mount"][..]
    } else {
        &["--user", "--map-root-user", "--mount"]
    });
    command
        .arg(env::current_exe().expect("this test"))
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "yes");
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("`unshare` of util-linux is needed: {error}"));
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success(),
        "{test} failed in a mount namespace of its own ({}):\n{said}",
        output.status
    );
    assert!(
        said.contains("1 passed"),
        "there is no test `{test}`:\n{said}"
    );
    false
}

/// A file system of its own in memory, with little room. Needs [`has_own_mounts`]. Ends with the
/// namespace.
pub struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts one of so many KiB over a folder, which is made if it is not there.
    pub fn mount(folder: &Path, kib: u64) -> Self {
        fs::create_dir_all(folder).expect("a folder");
        mount(
            &[
                "-t",
                "tmpfs",
                "-o",
                &format!("size={kib}k,mode=700"),
                "rebut-test",
            ],
            folder,
        );
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Fills it, and leaves room for so many pages.
    pub fn fill(&self, pages: u64) {
        let mut file = File::create(self.filler()).expect("a file");
        let page = [1; PAGE as usize];
        let mut filled = 0;
        let full = loop {
            match file.write(&page) {
                Ok(written) => filled += written as u64,
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::StorageFull, "{full}");
        file.set_len(filled.saturating_sub(pages * PAGE))
            .expect("shorter again");
    }

    pub fn free(&self) {
        fs::remove_file(self.filler()).expect("what filled it");
    }

    fn filler(&self) -> PathBuf {
        self.folder.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Where a test failed something may still be open there; it goes with the namespace.
        let _ = Command::new("umount").arg(&self.folder).output();
    }
}

/// Takes a folder from everybody who would change something in it, as a medium does that is written
/// once. Needs [`has_own_mounts`].
pub fn make_read_only(folder: &Path) {
    let itself = folder.to_str().expect("a plain path");
    mount(&["--bind", itself], folder);
    mount(&["-o", "remount,bind,ro"], folder);
    assert!(
        File::create(folder.join("anything")).is_err(),
        "nothing can be made there"
    );
}

fn mount(what: &[&str], folder: &Path) {
    let output = Command::new("mount")
        .args(what)
        .arg(folder)
        .output()
        .expect("`mount` of util-linux");
    assert!(
        output.status.success(),
        "mount {what:?} {}: {}",
        folder.display(),
        String::from_utf8_lossy(&output.stderr)
    );
}
