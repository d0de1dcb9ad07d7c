//! Results of a bench in a project: what rebut made there for this user is gone on with, what came
//! with the project is not.

use crate::rebut::Rebut;
use serde_json::json;
use std::{fs, os::unix::fs::symlink, path::Path};

/// A folder with the example's problems, and this machine's programs: Python runs what is scored.
fn installed() -> Rebut {
    let mut rebut = Rebut::new();
    rebut.set("PATH", &std::env::var("PATH").expect("a path"));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bench/problems.jsonl");
    rebut.write(
        "problems.jsonl",
        &fs::read_to_string(example).expect("the example"),
    );
    rebut
}

/// Two problems in the arm whose programs must all fail.
const BENCH: &[&str] = &[
    "bench",
    "human_eval",
    "problems.jsonl",
    "--arm",
    "broken",
    "--first",
    "2",
    "--json",
    "--out",
];

fn bench(out: &str) -> Vec<&str> {
    BENCH.iter().copied().chain([out]).collect()
}

fn refused(rebut: &Rebut, out: &str, why: &str) {
    let before = fs::read(rebut.path(out).join("results.ndjson")).ok();
    let output = rebut.run(&bench(out));
    assert!(
        output.code == 2 && output.stderr.contains(why),
        "{out}: {output:?}"
    );
    assert_eq!(
        fs::read(rebut.path(out).join("results.ndjson")).ok(),
        before,
        "{out}: nothing was changed"
    );
}

#[test]
fn results_that_came_with_a_project_are_not_counted() {
    let mut rebut = installed();
    let (home, author) = (rebut.path(".."), rebut.path("../author"));
    fs::create_dir(&author).expect("a home");
    rebut.set("HOME", &author.display().to_string());
    rebut.expect(0, &bench("kept"));
    rebut.set("HOME", &home.display().to_string());
    let forged = rebut
        .read("kept/results.ndjson")
        .replace(r#""verdict":"failed""#, r#""verdict":"passed""#);
    assert!(forged.contains(r#""verdict":"passed""#), "{forged}");
    rebut.write("kept/results.ndjson", &forged);
    refused(&rebut, "kept", "was not made by you");

    // The user's own are gone on with, until somebody replaces them.
    let own = rebut.json(0, &bench("own"));
    assert_eq!(own["arms"][0]["verdicts"], json!({"failed": 2}), "{own}");
    let again = rebut.run(&bench("own"));
    assert!(
        again.code == 0 && again.stderr.contains("2 of 2 are there already"),
        "{again:?}"
    );
    let made = rebut.read("own/results.ndjson");
    rebut.write("own/results.ndjson", &forged);
    refused(&rebut, "own", "was not made by you");
    // What a crash leaves of a header is begun anew; nothing else without an end is cut.
    rebut.write("own/results.ndjson", &made[..40]);
    assert_eq!(
        rebut.json(0, &bench("own"))["arms"][0]["verdicts"],
        json!({"failed": 2})
    );
    rebut.write(
        "notes/results.ndjson",
        "a file of the project, without an end",
    );
    refused(&rebut, "notes", "was not made by you");
}

#[test]
fn results_that_git_tracks_are_not_counted() {
    let rebut = installed();
    rebut.expect(0, &bench("kept"));
    let tracked = rebut.shell("git init -q . && git add -f kept/results.ndjson");
    assert_eq!(tracked.code, 0, "{}", tracked.stderr);
    refused(&rebut, "kept", "is tracked by git");
    // A pull may have brought other rows with the same key.
    rebut.shell("git rm -q --cached kept/results.ndjson");
    refused(&rebut, "kept", "was not made by you");
}

#[test]
fn results_are_not_written_through_links() {
    let rebut = installed();
    rebut.write("../private/token", "a token without an end");
    let linked = [
        ("file", "../../private/token"),
        ("nothing", "../../private/new"),
    ];
    for (out, to) in linked {
        fs::create_dir(rebut.path(out)).expect("a folder");
        symlink(to, rebut.path(out).join("results.ndjson")).expect("a link");
        refused(&rebut, out, "is a link");
    }
    symlink("../private", rebut.path("folder")).expect("a link");
    for out in ["folder", "folder/deep"] {
        refused(&rebut, out, "is a link");
    }
    let names: Vec<_> = fs::read_dir(rebut.path("../private"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(
        (names, rebut.read("../private/token").as_str()),
        (vec!["token".into()], "a token without an end")
    );
}
