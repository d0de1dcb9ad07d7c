//! `kill -9` at many moments: `resume` ends as if nothing had happened, and asks nothing twice that
//! is recorded.

use crate::{
    evaluate,
    rebut::{CASE, Rebut, case, script, script_of, split_then_c},
};
use serde_json::Value;
use std::{collections::HashMap, fmt::Debug};

#[test]
fn a_killed_debate_is_resumed_without_asking_again() {
    let whole = Rebut::new();
    whole.write("debate.md", &script_of(&split_then_c()));
    let expected = whole.json(0, &case(&["--json"]));
    let transcript = whole.expect(
        0,
        &[
            "show",
            expected["debate_id"].as_str().expect("an id"),
            "--transcript",
        ],
    );

    // Event 19 is the last before the judge that never answers.
    for last_seen in [1, 2, 5, 6, 8, 13, 14, 17, 19] {
        let rebut = Rebut::new();
        let mut stuck = split_then_c();
        stuck.last_mut().expect("six turns").1 = "!timeout".to_owned();
        rebut.write("debate.md", &script_of(&stuck));
        let mut run = rebut.start(&case(&[]));
        if last_seen > 1 {
            run.until(|event| event["seq"] == last_seen);
        }
        let id = run.id.clone();
        run.kill();
        let recorded = completed(&rebut.events(&id));

        rebut.write("debate.md", &script_of(&split_then_c()));
        let resumed = rebut.json(0, &["resume", &id[..8], "--json"]);
        assert_eq!(
            (&resumed["result"], &resumed["outcome"]),
            (&expected["result"], &expected["outcome"]),
            "killed at {last_seen}"
        );
        assert_eq!(
            rebut.expect(0, &["show", &id, "--transcript"]),
            transcript,
            "killed at {last_seen}"
        );
        check_turns(&rebut.events(&id), &recorded, &last_seen);
        rebut.expect(0, &["audit", "verify", &id]);
        rebut.expect(0, &["replay", &id]);
        assert_eq!(rebut.run(&["resume", &id]).code, 2, "it has ended");
    }
}

/// A command, the script of all who answer, whose turn comes first, the exit code, and the files it
/// leaves.
type Asked<'a> = (&'a [&'a str], String, &'a str, i32, &'a [&'a str]);

/// What was to be done at the end is done by whoever goes on, wherever that is typed: files, and
/// the exit code.
#[test]
fn what_was_asked_for_at_the_end_is_not_forgotten() {
    let finding = r#"{"summary":"one thing","operations":[{"kind":"AddConstraint","severity":"critical","target":"env access",
        "text":"Read one variable.","rationale":"because","confidence":0.8}]}"#;
    let review = script(&[("review/*", finding)]);
    let low = evaluate::debate();
    let rows: [Asked; 4] = [
        (
            &[
                "review",
                "prompt.md",
                "--reviewers",
                "security,testing",
                "--no-edit",
                "--fail-on",
                "high",
                "--write",
                "out",
                "-o",
                "z.sarif",
            ],
            review.clone(),
            "review/security",
            6,
            &["out/audit.ndjson", "z.sarif"],
        ),
        (
            &["evaluate", "idea", "--fail-on", "9"],
            low.clone(),
            "argue 1/advocate",
            6,
            &["idea/analysis/debate.md", "idea/analysis/debate.json"],
        ),
        (
            &[
                "evaluate",
                "idea",
                "--fail-on",
                "9",
                "--exit-zero",
                "--no-files",
            ],
            low,
            "argue 1/advocate",
            0,
            &[],
        ),
        (
            &[&CASE[..10], &["--feature-dir", "feature", "-o", "new/d.md"]].concat(),
            script_of(&split_then_c()),
            "recommend/risk",
            0,
            &["feature/sadd/debate-offline-support-risk.md", "new/d.md"],
        ),
    ];
    for (args, whole, first, code, files) in rows {
        let rebut = evaluate::with_idea();
        rebut.write("prompt.md", "Deploy the app.\n");
        rebut.write("elsewhere/x", "");
        // Everybody but the first waits for ever.
        let stuck = script_of(&[("*", "!timeout".to_owned())]);
        let said = whole.split("## ").find(|section| {
            section.starts_with(first) || section.starts_with(&first.replace('1', "?"))
        });
        let said = said
            .or_else(|| whole.split("## ").nth(1))
            .expect("the first reply")
            .split_once('\n')
            .expect("a reply")
            .1;
        rebut.write("debate.md", &format!("## {first}\n{said}{stuck}"));
        let model = format!("script:{}", rebut.path("debate.md").display());
        let mut run = rebut.start(&[args, &["-m", &model, "-q"]].concat());
        run.until(|event| event["type"] == "turn.completed");
        let id = run.id.clone();
        run.kill();
        let kept = rebut.state().join("afterwards").join(format!("{id}.json"));
        let asked_for = std::fs::read(&kept).unwrap_or_else(|error| panic!("{args:?}: {error}"));
        assert!(
            files.iter().all(|file| !rebut.path(file).exists()),
            "{args:?}: nothing is written yet"
        );
        rebut.write("debate.md", &whole);
        let resume = || {
            rebut
                .command(&["resume", &id, "-q"])
                .current_dir(rebut.path("elsewhere"))
                .output()
                .expect("it runs")
        };
        let check = |when: &str, ended: &std::process::Output| {
            assert_eq!(
                ended.status.code(),
                Some(code),
                "{args:?}, {when}: {}",
                String::from_utf8_lossy(&ended.stderr)
            );
            assert!(
                files.iter().all(|file| rebut.path(file).exists()),
                "{args:?}, {when}: {}",
                String::from_utf8_lossy(&ended.stderr)
            );
            assert!(
                !kept.exists(),
                "{args:?}, {when}: nothing is left to be done"
            );
        };
        check("resumed", &resume());
        assert_eq!(
            std::fs::read_dir(rebut.path("elsewhere"))
                .expect("a directory")
                .count(),
            1,
            "{args:?}: paths mean what they meant"
        );
        // Killed behind the end of the debate, but before the files.
        std::fs::write(&kept, asked_for).expect("a file");
        files
            .iter()
            .for_each(|file| std::fs::remove_file(rebut.path(file)).expect(file));
        check("ended before", &resume());
        assert_eq!(
            rebut.run(&["resume", &id]).code,
            2,
            "{args:?}: now all is done"
        );
        rebut.expect(0, &["rm", &id]);
    }
}

/// Each turn is completed once; asked twice only where the first call was in flight, and then it
/// says so.
pub fn check_turns(events: &[Value], recorded_before_kill: &[String], killed_at: &dyn Debug) {
    let mut asked: HashMap<String, Vec<bool>> = HashMap::new();
    for event in events
        .iter()
        .filter(|event| event["type"] == "turn.started")
    {
        asked
            .entry(turn(event))
            .or_default()
            .push(event["data"]["possibly_paid_twice"] == true);
    }
    let mut done = completed(events);
    done.sort();
    let mut names: Vec<String> = asked.keys().cloned().collect();
    names.sort();
    assert_eq!(
        done, names,
        "killed at {killed_at:?}: every turn is completed exactly once"
    );
    for (turn, marks) in asked {
        let (first, again) = marks.split_first().expect("asked at least once");
        assert!(
            !first && again.iter().all(|mark| *mark),
            "killed at {killed_at:?}: {turn} was asked again without a mark"
        );
        assert!(
            again.is_empty() || !recorded_before_kill.contains(&turn),
            "killed at {killed_at:?}: {turn} was recorded and asked again"
        );
    }
}

/// The turns that are completed.
pub fn completed(events: &[Value]) -> Vec<String> {
    events
        .iter()
        .filter(|event| event["type"] == "turn.completed")
        .map(turn)
        .collect()
}

fn turn(event: &Value) -> String {
    event["data"]["turn"]
        .as_str()
        .expect("a turn's name")
        .to_owned()
}
