//! Through how many source files one debate passes, from the keyboard to the result: those in which
//! a function ran.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

/// Runs `rebut` with these arguments under callgrind and lists the source files of ours in which a
/// function ran.
pub fn walk(root: &Path, arguments: &[String]) -> Result<(), String> {
    let binary = built(root)?;
    let folder =
        tempfile::tempdir().map_err(|error| format!("no folder for the debate: {error}"))?;
    let profile = folder.path().join("callgrind");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(binary)
        .arg("--data")
        .arg(folder.path().join("data"))
        .args(arguments)
        .current_dir(folder.path());
    let status = command
        .status()
        .map_err(|error| format!("valgrind did not start (is it installed?): {error}"))?;
    let profile = std::fs::read_to_string(&profile)
        .map_err(|error| format!("no profile after {status}: {error}"))?;
    let files = files(&profile);
    for file in &files {
        println!("{file}");
    }
    println!("{} files", files.len());
    Ok(())
}

/// The debug build of the binary: without inlining, so that every function is seen in its own file.
fn built(root: &Path) -> Result<PathBuf, String> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "rebut"])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    if status.success() {
        Ok(target.join("debug/rebut"))
    } else {
        Err(format!("cargo build: {status}"))
    }
}

/// Source files of this workspace that a callgrind profile names.
fn files(profile: &str) -> BTreeSet<&str> {
    let named = profile.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        // `(12) path` the first time, `(12)` later.
        let path = value.split_once(") ")?.1;
        (["fl", "fi", "fe", "cfi", "cfl"].contains(&key)).then_some(path)
    });
    named
        .filter_map(|path| {
            path.split_once("crates/")
                .map(|(_, ours)| ours)
                .filter(|ours| ours.contains("/src/"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_profile_names_each_file_once() {
        let profile = "fl=(1) crates/rebut/src/main.rs\nfn=(1) main\ncfi=(2) \
            /somewhere/crates/rebut-engine/src/desk/mod.rs\nfl=(1)\nfl=(3) /rustc/x.rs\n";
        let files: Vec<&str> = super::files(profile).into_iter().collect();
        assert_eq!(files, ["rebut-engine/src/desk/mod.rs", "rebut/src/main.rs"]);
    }
}
