//! Running a test again as an ordinary user, when the tests run as root.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

/// Where the inner stage is, when a test runs again from a copy.
pub const INNER: &str = "REBUT_TEST_INNER";
/// Any user will do that is not root and has no rights.
const NOBODY: &str = "65534";

/// Shows the toolchain in `$0` as `$1` to whoever the other words start and to nobody else. The
/// system's own can be used by all anyway.
const SHOWING: &str = r#"case "$0" in /usr | /usr/*) ;; *) mount --bind "$0" "$1"; PATH="$1/bin:$PATH" ;; esac; shift; exec "$@""#;

/// Runs the test of that name as an ordinary user. Whoever is one already has run it by its own
/// name, and nothing is left to do.
pub fn as_ordinary_user(test: &str) {
    if !rustix::process::geteuid().is_root() {
        println!(
            "this is an ordinary user: `{test}` has shown it, and only that half can be shown"
        );
        return;
    }
    // Copies, because the folder of the project may be root's own.
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))
        .expect("a folder for all");
    let copy = |from: &Path, name: &str| {
        let to = folder.path().join(name);
        fs::copy(from, &to).expect("a copy");
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).expect("a program for all");
        to
    };
    let tests = copy(
        &std::env::current_exe().expect("a test knows itself"),
        "tests",
    );
    let inner = copy(&crate::inner().program, "inner");
    let rust = folder.path().join("rust");
    fs::create_dir(&rust).expect("a folder");
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--", "sh", "-ec", SHOWING])
        .arg(rust_of_root())
        .arg(&rust);
    command.args([
        "setpriv",
        "--reuid",
        NOBODY,
        "--regid",
        NOBODY,
        "--clear-groups",
        "--",
    ]);
    command.arg(tests).args(["--exact", test, "--nocapture"]);
    command
        .env(INNER, inner)
        .env_remove("TMPDIR")
        .current_dir("/");
    let output = command
        .output()
        .expect("unshare, setpriv: install util-linux");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(
        output.status.success() && said.contains("1 passed"),
        "as an ordinary user:\n{said}"
    );
}

/// Where Rust lives. People install it for themselves, and nobody else may enter root's home.
fn rust_of_root() -> String {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .expect("rustc: install Rust");
    String::from_utf8(output.stdout)
        .expect("a plain path")
        .trim_end()
        .to_owned()
}
