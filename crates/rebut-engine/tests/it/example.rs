//! The library example does what its page promises.

use std::process::Command;

#[test]
fn the_library_example_runs_a_debate() {
    let here = std::env::current_exe().expect("this test is a file");
    // Cargo builds examples beside the folder of the tests.
    let example = here
        .parent()
        .and_then(|deps| deps.parent())
        .expect("a target folder")
        .join("examples")
        .join("library");
    let output = Command::new(&example)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", example.display()));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        text.starts_with("consensus: ") && text.contains("Rehearsal"),
        "{text}"
    );
}
