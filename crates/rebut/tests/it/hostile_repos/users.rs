//! Running a test again as an ordinary user, when the tests run as root.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

/// Where copies of the program, the hostile repositories and the examples are, when a test runs
/// again.
pub const BINARY: &str = "REBUT_TEST_BINARY";
pub const FOLDER: &str = "REBUT_TEST_HOSTILE";
pub const EXAMPLES: &str = "REBUT_TEST_EXAMPLES";
/// Any user will do that is not root and has no rights.
const NOBODY: &str = "65534";

/// Whether root has run this test, and it runs again.
pub fn is_second_run() -> bool {
    std::env::var_os(BINARY).is_some()
}

/// Runs the test of that name as an ordinary user. Whoever is one already has run it by its own
/// name, and nothing is left to do.
pub fn as_ordinary_user(test: &str) {
    if !rustix::process::geteuid().is_root() {
        println!("this is an ordinary user: `{test}` has shown it");
        return;
    }
    // Copies, because the folder of the project may be root's own.
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))
        .expect("a folder for all");
    let copy = |from: &Path, name: &str| {
        let to = folder.path().join(name);
        // By another name where that goes: programs with their symbols are large.
        if fs::hard_link(from, &to).is_ok() {
            return to;
        }
        let copied = Command::new("cp")
            .arg("-R")
            .arg(from)
            .arg(&to)
            .status()
            .expect("cp");
        assert!(copied.success(), "{} could not be copied", from.display());
        let opened = Command::new("chmod")
            .args(["-R", "a+rX"])
            .arg(&to)
            .status()
            .expect("chmod");
        assert!(
            opened.success(),
            "{} could not be opened to all",
            to.display()
        );
        to
    };
    let tests = copy(
        &std::env::current_exe().expect("a test knows itself"),
        "tests",
    );
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]);
    command
        .arg(tests)
        .args(["--exact", test, "--nocapture"])
        .env_remove("TMPDIR")
        .current_dir("/");
    command
        .env(BINARY, copy(super::binary(), "rebut"))
        .env(FOLDER, copy(super::folder(), "hostile"));
    command.env(EXAMPLES, copy(super::examples(), "examples"));
    let output = command.output().expect("setpriv: install util-linux");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(
        output.status.success() && said.contains("1 passed"),
        "as an ordinary user:\n{said}"
    );
}
