//! Policy: what judges say of reviewers is added up right, and better words are only ever proposed.

use crate::rebut::{Rebut, script_of};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};

fn operation(kind: &str, text: &str) -> Value {
    json!({"kind": kind, "severity": "high", "target": "env \
        access", "text": text, "rationale": "because", "confidence": 0.8})
}

fn critique(kind: &str, text: &str) -> String {
    json!({"summary": "one thing", "operations": [operation(kind, text)]}).to_string()
}

/// The judge's marks of one side: all four the same, so that their mean is this score.
fn marks(score: f64, label: &str, signal: &str) -> Value {
    json!({"specificity": score, "reasoning": score, "calibration": score, "responsiveness": score, "labels": [label], "policy_signal": signal})
}

/// Security adds what testing removes; the judge gives these scores to security and to testing.
fn judged(security: f64, testing: f64) -> String {
    let verdict = |winner: &str, first: Value, second: Value| {
        json!({"winner": winner, "reasoning": "clearer", "confidence": 0.8, "first": first, "second": second}).to_string()
    };
    let sides = || {
        (
            marks(security, "precise", "good calibration"),
            marks(testing, "vague", "name the test that fails"),
        )
    };
    // One mark more in the other order of the first review: 8.125 on average, which the record
    // rounds.
    let more = |mut marks: Value| {
        marks["specificity"] = json!(security + f64::from(security == 8.0));
        marks
    };
    let said = |what: &str| json!({what: "because it is so", "confidence": 0.7}).to_string();
    let (first, second) = sides();
    let (other, one) = sides();
    script_of(&[
        (
            "review/security",
            critique("AddConstraint", "Read DEPLOY_TOKEN only."),
        ),
        ("review/testing", critique("RemoveConstraint", "")),
        ("argue *", said("argument")),
        ("rebut *", said("rebuttal")),
        ("judge * forwards/judge", verdict("first", first, second)),
        (
            "judge * backwards/judge",
            verdict("second", one, more(other)),
        ),
    ])
}

/// A project in which two reviews were debated and judged.
fn project() -> Rebut {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.write("rebut.toml", "");
    rebut.write(
        "prompt.md",
        "You deploy the app. Read the environment to find the token.\n",
    );
    rebut.write(
        ".rebut/roles/security.md",
        "---\nstance: wary\n---\nYou look for what an attacker could do.\n",
    );
    rebut.write(
        ".claude/agents/helper.md",
        "---\nname: helper\n---\nYou help.\n",
    );
    for (number, (security, testing)) in [(8.0, 5.5), (7.5, 6.0)].into_iter().enumerate() {
        let file = format!("judged{number}.md");
        rebut.write(&file, &judged(security, testing));
        let model = format!("script:{file}");
        rebut.expect(
            0,
            &[
                "review",
                "prompt.md",
                "--reviewers",
                "security,testing",
                "--debate",
                "--no-edit",
                "-m",
                &model,
                "-q",
            ],
        );
    }
    rebut
}

/// Every file that a role could stand in, with its content.
fn roles(rebut: &Rebut) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for dir in [".rebut", ".claude"] {
        collect(&rebut.path(dir), &mut found);
    }
    assert!(found.len() >= 2, "{found:?}");
    found
}

fn collect(dir: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => collect(&path, found),
            // A link may lead nowhere yet.
            false => drop(found.insert(
                path.display().to_string(),
                fs::read(&path).unwrap_or_default(),
            )),
        }
    }
}

#[test]
fn what_judges_said_is_added_up() {
    let empty = Rebut::new();
    empty.user_config("");
    assert_eq!(empty.json(0, &["policy", "insights", "--json"]), json!({}));
    assert!(
        empty
            .expect(0, &["policy", "insights"])
            .contains("no judge has said anything")
    );
    let refused = empty.run(&["policy", "propose", "security"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("nobody was asked"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        empty.json(0, &["ls", "--json"]),
        json!([]),
        "nothing was asked"
    );

    let rebut = project();
    let found = rebut.json(0, &["policy", "insights", "--days", "7", "--json"]);
    let expected = json!({
        "security": {"avg_argument_quality": 7.81, "common_labels": ["precise"], "policy_signal": "good calibration",
                     "needs_update": false, "debates": 2},
        "testing": {"avg_argument_quality": 5.75, "common_labels": ["vague"], "policy_signal": "name the test that fails",
                    "needs_update": true, "debates": 2},
    });
    assert_eq!(found, expected);
    let text = rebut.expect(0, &["policy", "insights"]);
    assert!(
        text.contains("testing  5.75 of 10 over 2 debates  needs better words"),
        "{text}"
    );
    assert_eq!(rebut.run(&["policy", "insights", "--days", "0"]).code, 2);
}

#[test]
fn a_proposal_is_written_beside_and_no_role_is_touched() {
    let rebut = project();
    let before = roles(&rebut);
    let hostile = "../../.rebut/roles/security.md\n/etc/passwd\nreviewers/security.cjs\n\u{1b}[31mYou look for holes.";
    rebut.write(
        "writer.md",
        &script_of(&[(
            "propose/neutral",
            json!({"text": hostile, "why": "shorter"}).to_string(),
        )]),
    );
    let propose = |model: &str| rebut.run(&["policy", "propose", "security", "-m", model]);

    let shown = rebut.run(&[
        "policy",
        "propose",
        "security",
        "-m",
        "script:writer.md",
        "--dry-run",
    ]);
    assert!(
        shown.code == 0 && shown.stdout.contains("good calibration"),
        "{}",
        shown.stdout
    );
    assert!(
        !rebut.path("reviewers").exists(),
        "a dry run writes nothing"
    );

    let output = propose("script:writer.md");
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(
        rebut.read("reviewers/prompts/security.txt"),
        format!("{}\n", hostile.replace("\u{1b}[31m", ""))
    );
    for line in [
        "+++ reviewers/prompts/security.txt",
        "-You look for what an attacker could do.",
        "+../../.rebut/roles/security.md",
    ] {
        assert!(output.stdout.contains(line), "{line}: {}", output.stdout);
    }
    assert_eq!(roles(&rebut), before, "whatever the model says");
    let left: Vec<_> = fs::read_dir(rebut.path("reviewers/prompts"))
        .expect("a directory")
        .collect();
    assert_eq!(left.len(), 1, "nothing else is left");

    let rehearsed = propose("rehearsal");
    assert_eq!(rehearsed.code, 0, "{}", rehearsed.stderr);
    let text = rebut.read("reviewers/prompts/security.txt");
    assert!(
        text.contains("You look for what an attacker could do.") && text.contains('“'),
        "{text}"
    );
    assert!(
        rehearsed.stderr.contains("REHEARSAL"),
        "{}",
        rehearsed.stderr
    );
    assert_eq!(roles(&rebut), before);

    rebut.write(
        "broken.md",
        &script_of(&[("propose/*", "!error 401".to_owned())]),
    );
    let kept = rebut.read("reviewers/prompts/security.txt");
    assert_ne!(propose("script:broken.md").code, 0);
    assert_eq!(
        rebut.read("reviewers/prompts/security.txt"),
        kept,
        "without an answer nothing is written"
    );
}

#[test]
fn names_that_are_paths_are_refused() {
    let rebut = project();
    let before = roles(&rebut);
    for name in [
        "../security",
        "security/../x",
        "/etc/passwd",
        "a b",
        ".hidden",
        "",
        "..",
        "security.md",
        "sécurité",
        "x\u{0}y",
    ] {
        if name.contains('\u{0}') {
            continue;
        }
        let output = rebut.run(&["policy", "propose", name, "-m", "rehearsal"]);
        assert_eq!(output.code, 2, "{name:?}: {}", output.stderr);
    }
    let unknown = rebut.run(&["policy", "propose", "securty", "-m", "rehearsal"]);
    assert!(
        unknown.code == 2 && unknown.stderr.contains("did you mean `security`?"),
        "{}",
        unknown.stderr
    );
    assert_eq!(roles(&rebut), before);
    assert!(!rebut.path("reviewers").exists());
}

#[cfg(unix)]
#[test]
fn nothing_that_leads_to_a_role_is_followed() {
    use std::os::unix::fs::symlink;
    type Trap = fn(&Rebut);
    let rows: &[(&str, Trap)] = &[
        ("reviewers is a link", |rebut| {
            symlink(rebut.path(".rebut/roles"), rebut.path("reviewers")).expect("a link")
        }),
        ("prompts is a link", |rebut| {
            fs::create_dir(rebut.path("reviewers")).expect("a directory");
            symlink(rebut.path(".rebut/roles"), rebut.path("reviewers/prompts")).expect("a link");
        }),
        ("the file is a link", |rebut| {
            fs::create_dir_all(rebut.path("reviewers/prompts")).expect("directories");
            symlink(
                rebut.path(".rebut/roles/security.md"),
                rebut.path("reviewers/prompts/security.txt"),
            )
            .expect("a link");
        }),
        ("the file is a hard link", |rebut| {
            fs::create_dir_all(rebut.path("reviewers/prompts")).expect("directories");
            fs::hard_link(
                rebut.path(".rebut/roles/security.md"),
                rebut.path("reviewers/prompts/security.txt"),
            )
            .expect("a link");
        }),
        ("a dangling link", |rebut| {
            fs::create_dir_all(rebut.path("reviewers/prompts")).expect("directories");
            symlink(
                rebut.path(".rebut/roles/new.md"),
                rebut.path("reviewers/prompts/security.txt"),
            )
            .expect("a link");
        }),
        ("the roles lead here", |rebut| {
            fs::create_dir_all(rebut.path("reviewers/prompts")).expect("directories");
            fs::rename(
                rebut.path(".rebut/roles/security.md"),
                rebut.path("reviewers/prompts/security.md"),
            )
            .expect("a file");
            fs::remove_dir(rebut.path(".rebut/roles")).expect("an empty directory");
            symlink(rebut.path("reviewers/prompts"), rebut.path(".rebut/roles")).expect("a link");
        }),
        ("a role leads to the file", |rebut| {
            rebut.write("reviewers/prompts/security.txt", "You look for holes.\n");
            fs::remove_file(rebut.path(".rebut/roles/security.md")).expect("a file");
            symlink(
                "../../reviewers/prompts/security.txt",
                rebut.path(".rebut/roles/security.md"),
            )
            .expect("a link");
        }),
        ("a role of another name leads to the file", |rebut| {
            rebut.write("reviewers/prompts/security.txt", "You look for holes.\n");
            symlink(
                "../../reviewers/prompts/security.txt",
                rebut.path(".claude/agents/other.md"),
            )
            .expect("a link");
        }),
        ("a role leads to where the file will be", |rebut| {
            symlink(
                "../../reviewers/prompts/security.txt",
                rebut.path(".rebut/roles/later"),
            )
            .expect("a link");
        }),
        ("a directory", |rebut| {
            fs::create_dir_all(rebut.path("reviewers/prompts/security.txt")).expect("directories")
        }),
        ("a file in the way", |rebut| {
            rebut.write("reviewers", "mine")
        }),
    ];
    for (name, trap) in rows {
        let rebut = project();
        trap(&rebut);
        let (before, asked) = (roles(&rebut), rebut.json(0, &["ls", "--json", "-n", "0"]));
        let output = rebut.run(&["policy", "propose", "security", "-m", "rehearsal"]);
        assert_eq!(output.code, 1, "{name}: {}", output.stderr);
        assert!(
            output.stderr.contains("the proposal is not written there"),
            "{name}: {}",
            output.stderr
        );
        assert_eq!(roles(&rebut), before, "{name}");
        assert_eq!(
            rebut.json(0, &["ls", "--json", "-n", "0"]),
            asked,
            "{name}: nobody was asked"
        );
    }
}
