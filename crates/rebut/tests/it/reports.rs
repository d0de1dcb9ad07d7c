//! Reports in files: by the ending while a debate runs, and the same bytes afterwards.

use crate::rebut::{Rebut, case, recommends, script, script_of, split_then_c};

#[test]
fn a_report_is_the_same_while_it_runs_and_afterwards() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.write("debate.md", &script_of(&split_then_c()));
    rebut.expect(0, &case(&["-q", "-o", "report.html", "-o", "river.svg"]));
    let id = rebut.json(0, &["ls", "--json"])[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    rebut.expect(0, &["export", &id, "again.html"]);
    rebut.expect(0, &["export", &id, "-o", "again.svg"]);
    assert_eq!(rebut.read("report.html"), rebut.read("again.html"));
    assert_eq!(rebut.read("river.svg"), rebut.read("again.svg"));
    assert_eq!(
        rebut.expect(0, &["export", &id, "-f", "html"]),
        rebut.read("report.html")
    );
    let html = rebut.read("report.html");
    for words in [
        "✓ RECOMMENDED",
        "C Limited offline, 2 of 3",
        "effort·1·#1",
        "Content-Security-Policy",
    ] {
        assert!(html.contains(words), "{words}");
    }
    assert!(
        rebut
            .read("river.svg")
            .starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")
    );
    assert_eq!(
        rebut.run(&["export", &id, "a.html", "-o", "b.html"]).code,
        2,
        "one file, not two"
    );
    let unknown = rebut.run(&["export", &id, "report.pdf"]);
    assert!(
        unknown.code == 2 && unknown.stderr.contains(".html"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn what_has_no_positions_has_no_drawing_and_a_rehearsal_is_loud() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.write(
        "one.md",
        &script(&[(
            "triage/neutral",
            r#"{"worth_a_debate":true,"reason":"yes","confidence":0.8}"#,
        )]),
    );
    rebut.expect(0, &["triage", "Redis or Memcached?", "-m", "script:one.md"]);
    let nothing = rebut.run(&["export", "last", "chart.svg"]);
    assert!(
        nothing.code == 2 && nothing.stderr.contains("nothing to draw"),
        "{}",
        nothing.stderr
    );
    rebut.expect(0, &["export", "last", "report.html"]);
    assert!(rebut.read("report.html").contains("worth a debate: yes"));
    assert!(!rebut.read("report.html").contains("REHEARSAL"));
    rebut.write(
        "debate.md",
        &script(&[("recommend/*", recommends("A").as_str())]),
    );
    rebut.expect(
        0,
        &case(&[
            "-q",
            "-m",
            "risk=rehearsal",
            "-o",
            "mixed.html",
            "--exit-zero",
            "--rounds",
            "1",
        ]),
    );
    assert!(
        rebut.read("mixed.html").contains("class=\"loud\""),
        "one of them is enough"
    );
}

/// No file may grow beyond 50 KiB here, as on a full disk.
#[test]
fn a_file_that_cannot_be_written_leaves_the_old_one_whole() {
    let rebut = Rebut::new();
    let mut long: serde_json::Value = serde_json::from_str(&recommends("A")).expect("JSON");
    long["summary"] = "word ".repeat(40_000).into();
    rebut.write("debate.md", &script(&[("*", &long.to_string())]));
    rebut.expect(0, &case(&["-q"]));
    rebut.write("a.md", "the old one");
    std::os::unix::fs::symlink("a.md", rebut.path("link.md")).expect("a link");
    let mut command = std::process::Command::new("/bin/sh");
    command.args([
        "-c",
        "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_rebut"),
    ]);
    let plain = rebut.command(&[]);
    command
        .current_dir(plain.get_current_dir().expect("a directory"))
        .env_clear();
    command.envs(
        plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let output = command
        .args(["export", "last", "a.md"])
        .output()
        .expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1) && stderr.contains("cannot write a.md"),
        "{stderr}"
    );
    assert_eq!(rebut.read("a.md"), "the old one");
    rebut.expect(2, &["export", "last", "link.md"]);
    assert!(
        rebut.read("a.md") == "the old one" && rebut.path("link.md").is_symlink(),
        "a link may lead anywhere"
    );
    rebut.expect(0, &["export", "last", "a.md"]);
    assert!(rebut.read("a.md").contains("word word"));
    let left = std::fs::read_dir(rebut.path("."))
        .expect("a directory")
        .filter_map(Result::ok);
    assert!(
        left.map(|file| file.file_name())
            .all(|name| !name.to_string_lossy().ends_with(".part")),
        "nothing is left beside it"
    );
}
