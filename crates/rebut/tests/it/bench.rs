//! Problems through arms, scored by hidden tests in the real sandbox: oracle and broken, single and
//! poll by a script, limits, bad data, and a bench that was killed.

use crate::rebut::Rebut;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
};

/// An installation with the example's problems and script, and this machine's programs: Python runs
/// what is scored.
fn installed() -> Rebut {
    let mut rebut = Rebut::new();
    rebut.set("PATH", &std::env::var("PATH").expect("a path"));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bench");
    for name in ["problems.jsonl", "script.md"] {
        rebut.write(
            name,
            &fs::read_to_string(example.join(name)).expect("the example"),
        );
    }
    rebut
}

fn bench<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [
        "bench",
        "human_eval",
        "problems.jsonl",
        "-m",
        "script:script.md",
        "--json",
    ]
    .into_iter()
    .chain(more.iter().copied())
    .collect()
}

/// What of a report does not depend on ids and times.
fn totals(report: &Value) -> Value {
    let result = |row: &Value| {
        json!([
            row["problem"],
            row["arm"],
            row["verdict"],
            row["passed"],
            row["tests"],
            row["calls"],
            row["tokens"]
        ])
    };
    let results: Vec<Value> = report["results"]
        .as_array()
        .expect("a list")
        .iter()
        .map(result)
        .collect();
    json!({"arms": report["arms"], "pairs": report["pairs"], "results": results, "unfinished": report["unfinished"]})
}

/// The same without what depends on the number of calls: one that was cut is made again, and both
/// are counted.
fn totals_without_calls(report: &Value) -> Value {
    let mut totals = totals(report);
    for list in ["arms", "pairs"] {
        for row in totals[list]
            .as_array_mut()
            .expect("a list")
            .iter_mut()
            .filter_map(Value::as_object_mut)
        {
            row.retain(|name, _| !["calls", "equal_calls", "budgets"].contains(&name.as_str()));
        }
    }
    totals["results"]
        .as_array_mut()
        .expect("rows")
        .iter_mut()
        .for_each(|row| drop(row[5].take()));
    totals
}

fn debates(rebut: &Rebut) -> usize {
    rebut
        .expect(0, &["ls", "-n", "0"])
        .lines()
        .filter(|line| !line.trim().is_empty())
        .count()
}

#[test]
fn the_solutions_pass_and_empty_bodies_do_not() {
    let rebut = installed();
    let report = rebut.json(
        0,
        &[
            "bench",
            "human_eval",
            "problems.jsonl",
            "--arm",
            "oracle,broken",
            "--json",
            "-o",
            "report.md",
        ],
    );
    let verdicts = |arm: usize| &report["arms"][arm]["verdicts"];
    assert_eq!(
        (verdicts(0), verdicts(1)),
        (&json!({"passed": 8}), &json!({"failed": 8})),
        "{report}"
    );
    assert_eq!(
        (&report["pairs"][0]["lost"], &report["pairs"][0]["budgets"]),
        (&json!(8), &json!("nobody was asked"))
    );
    assert!(
        rebut
            .read("report.md")
            .contains("| own/3 | broken | failed |"),
        "{}",
        rebut.read("report.md")
    );
    assert!(
        !rebut.data().join("rebut.db").exists(),
        "nobody was asked, so nothing is kept"
    );
}

#[test]
fn one_answer_is_scored_as_it_is_and_a_poll_by_what_most_programs_do() {
    let rebut = installed();
    let report = rebut.json(0, &bench(&["--arm", "single,poll"]));
    let [single, poll] = &report["arms"].as_array().expect("arms")[..] else {
        panic!("two arms: {report}")
    };
    assert_eq!(
        (&single["verdicts"]["passed"], &single["calls"]),
        (&json!(6), &json!(8)),
        "{report}"
    );
    assert_eq!(
        (&poll["verdicts"]["passed"], &poll["calls"]),
        (&json!(8), &json!(40)),
        "{report}"
    );
    let pair = &report["pairs"][0];
    assert_eq!(
        (
            &pair["gained"],
            &pair["lost"],
            &pair["p"],
            &pair["equal_calls"]
        ),
        (&json!(2), &json!(0), &json!(0.5), &json!(false))
    );
    let of_poll = |problem: &str| {
        let rows = report["results"].as_array().expect("rows");
        let row = rows
            .iter()
            .find(|row| row["arm"] == "poll" && row["problem"] == problem)
            .expect("a row");
        rebut.json(
            0,
            &["show", row["debate"].as_str().expect("an id"), "--json"],
        )
    };
    // own/2: two are right, two wrong in ways of their own, one does not load. own/0: all that load
    // do the same.
    for (problem, why) in [
        ("own/2", "2 of 5 behave the same"),
        ("own/6", "3 of 5 behave the same"),
        ("own/0", "4 of 5 behave the same"),
    ] {
        assert_eq!(of_poll(problem)["result"]["program"]["why"], why);
    }
    let shown = rebut.expect(0, &["show", "last"]);
    assert!(shown.contains("program"), "{shown}");
    assert_eq!(
        rebut.run(&["replay", "last"]).code,
        0,
        "runs are replayed from the record"
    );
}

/// One answer is wrong. The same agent in a debate writes the same, runs tests of its own, sees
/// them fail, and mends it.
#[test]
fn solve_passes_what_one_answer_fails_because_code_really_ran() {
    let mut rebut = Rebut::new();
    rebut.set("PATH", "/usr/bin:/bin");
    let tests = "assert f(2, 3) == 5\nassert f(-1, 1) == 0";
    let record = json!({"id": "sum", "task": "Write f(a, b) that \
        adds.", "language": "python", "entry": "f", "tests": tests});
    rebut.write("own.jsonl", &record.to_string());
    let code = |sign: &str| format!("def f(a, b):\n    return a {sign} b\n");
    let draft = |sign: &str| {
        json!({"approach": "Plain.", "code": code(sign), "tests": "assert f(1, 2) == \
            3", "confidence": 0.9})
        .to_string()
    };
    let answer =
        json!({"code": code("-"), "calls": [], "confidence": 0.8, "summary": "Quickly written."});
    let rated = |name: &str| {
        json!({"candidate": name, "correctness": 1, "maintainability": 1, "performance": 1,
            "security": 1, "test_coverage": 0.5, "reason": "Plain."})
    };
    let script = [
        ("answer/generator", answer.to_string()),
        ("self-evolvement 1/*", draft("-")),
        ("self-evolvement 2/*", draft("+")),
        (
            "rubric/judge",
            json!({"scores": [rated("C1"), rated("C2")]}).to_string(),
        ),
        (
            "ballot/*",
            json!({"ranking": ["C1", "C2"], "confidence": 0.8, "reason": "Its tests hold."})
                .to_string(),
        ),
    ];
    rebut.write("script.md", &crate::rebut::script_of(&script));
    let set = [
        "--set",
        "solve.phases=[\"self-evolvement\", \"convergence\"]",
        "--set",
        "solve.contrast=false",
    ];
    let args = [
        "bench",
        "custom",
        "own.jsonl",
        "-m",
        "script:script.md",
        "--arm",
        "single,solve",
        "--json",
    ];
    let report = rebut.json(0, &[&args[..], &set[..]].concat());
    let verdicts = |arm: usize| &report["arms"][arm]["verdicts"];
    assert_eq!(
        (verdicts(0), verdicts(1)),
        (&json!({"failed": 1}), &json!({"passed": 1})),
        "{report}"
    );
    assert_eq!(
        (&report["pairs"][0]["gained"], &report["pairs"][0]["lost"]),
        (&json!(1), &json!(0)),
        "{report}"
    );
    // Two wrote and mended, one rated, four voted.
    assert_eq!(
        (&report["arms"][0]["calls"], &report["arms"][1]["calls"]),
        (&json!(1), &json!(9)),
        "{report}"
    );
    let row = report["results"]
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["arm"] == "solve"))
        .expect("a row");
    let debate = rebut.json(
        0,
        &["show", row["debate"].as_str().expect("an id"), "--json"],
    );
    assert_eq!(
        debate["result"]["candidates"][0]["own_tests_words"], "1 of 1 hold",
        "{debate}"
    );
    assert_eq!(
        (
            &debate["result"]["hidden"],
            &debate["result"]["lessons_given"]
        ),
        (&Value::Null, &json!([])),
        "nothing but the problem is told"
    );
}

#[test]
fn a_rehearsed_bench_says_so_in_every_report() {
    let rebut = installed();
    let args = |more: &[&'static str]| {
        let usual = [
            "bench",
            "human_eval",
            "problems.jsonl",
            "--arm",
            "oracle,single",
            "--first",
            "1",
            "-m",
            "rehearsal",
            "-o",
            "report.md",
        ];
        usual
            .into_iter()
            .chain(more.iter().copied())
            .collect::<Vec<&str>>()
    };
    let label = "REHEARSAL: the built-in speaker wrote for single, not a model";
    assert!(rebut.expect(0, &args(&[])).contains(label));
    assert!(rebut.read("report.md").contains(label));
    let report = rebut.json(0, &args(&["--json"]));
    let marks = [
        &report["rehearsal"],
        &report["arms"][0]["rehearsal"],
        &report["arms"][1]["rehearsal"],
    ];
    assert_eq!(
        marks,
        [&json!(true), &json!(false), &json!(true)],
        "{report}"
    );
    let real = rebut.json(0, &bench(&["--arm", "single", "--first", "1"]));
    assert_eq!(real["rehearsal"], false);
    assert!(
        rebut
            .expect(
                0,
                &[
                    "bench",
                    "human_eval",
                    "problems.jsonl",
                    "--arm",
                    "oracle",
                    "--first",
                    "1"
                ]
            )
            .contains("human_eval  1 problem ·")
    );
}

#[test]
fn a_bench_that_breaks_off_reports_what_was_scored_and_leaves_no_debate_open() {
    let rebut = installed();
    let good = rebut.read("script.md");
    let (head, polls) = good
        .split_once("## answer 1/generator")
        .expect("the poll's answers");
    let title = head.split("## answer/generator").next().expect("a title");
    rebut.write(
        "script.md",
        &format!("{title}## answer/generator\n!error 401\n\n## answer 1/generator{polls}"),
    );
    let report = rebut.json(4, &bench(&["--arm", "poll,single", "--jobs", "4"]));
    let results = report["results"].as_array().expect("rows");
    assert!(
        !results.is_empty()
            && results
                .iter()
                .all(|row| row["arm"] == "poll" && row["verdict"] == "passed"),
        "{report}"
    );
    assert!(
        report["unfinished"]
            .as_str()
            .is_some_and(|why| why.starts_with("it broke off")),
        "{report}"
    );
    let listed = rebut.expect(0, &["ls", "-n", "0"]);
    assert!(
        !listed.contains("interrupted") && listed.contains("no_model"),
        "{listed}"
    );
}

#[test]
fn bad_data_arms_and_places_are_refused_before_anything_runs() {
    let rebut = installed();
    let good = rebut.read("problems.jsonl");
    let first = good.lines().next().expect("a problem").to_owned();
    rebut.write("twice.jsonl", &format!("{good}{first}\n"));
    rebut.write("torn.jsonl", &format!("{good}{}\n", &first[..40]));
    rebut.write("empty.jsonl", "\n");
    rebut
        .write("own.jsonl", "{\"id\":\"a\",\"task\":\"Add.\",\"language\":\"python\",\"entry\":\"f\",\"tests\":\"assert f(1, 2) == 3\"}\n");
    let rows: [(&[&str], &str); 10] = [
        (
            &["human_eval", "twice.jsonl", "--arm", "oracle"],
            "line 9: `own/0` is the problem of line 1 already",
        ),
        (&["human_eval", "torn.jsonl", "--arm", "oracle"], "line 9"),
        (
            &["human_eval", "empty.jsonl", "--arm", "oracle"],
            "no problem to run",
        ),
        (
            &["human_eval", "nothing.jsonl", "--arm", "oracle"],
            "cannot read",
        ),
        (
            &["human_eval", "own.jsonl", "--arm", "oracle"],
            "`a` is no record of human_eval",
        ),
        (
            &["custom", "own.jsonl", "--arm", "oracle"],
            "oracle cannot take `a`: the record has no solution",
        ),
        (
            &[
                "human_eval",
                "problems.jsonl",
                "--arm",
                "oracle",
                "--only",
                "own/9",
            ],
            "did you mean `own/",
        ),
        (
            &["human_eval", "problems.jsonl", "--arm", "best"],
            "[possible values: oracle, broken, single, poll, solve]",
        ),
        (
            &[
                "human_eval",
                "problems.jsonl",
                "--arm",
                "oracle",
                "-o",
                "report.html",
            ],
            "a bench is written as Markdown",
        ),
        (
            &[
                "human_eval",
                "problems.jsonl",
                "--arm",
                "poll",
                "-m",
                "rehearsal",
                "--set",
                "poll.batch=2",
            ],
            "leave `batch` and `threshold` at 0",
        ),
    ];
    for (args, says) in rows {
        let args: Vec<&str> = ["bench"]
            .into_iter()
            .chain(args.iter().copied())
            .chain(["--out", "kept"])
            .collect();
        let refused = rebut.run(&args);
        assert!(
            refused.code == 2 && refused.stderr.contains(says) && refused.stdout.is_empty(),
            "{args:?}: {refused:?}"
        );
        assert!(!rebut.path("kept").exists(), "{args:?}");
    }
}

#[test]
fn without_a_way_to_run_code_nothing_is_scored() {
    // The path has no Python.
    let rebut = Rebut::new();
    rebut
        .write("own.jsonl", "{\"id\":\"a\",\"task\":\"Add.\",\"language\":\"python\",\"entry\":\"f\",\"tests\":\"assert f(1, 2) == 3\"}\n");
    let refused = rebut.run(&[
        "bench",
        "custom",
        "own.jsonl",
        "--arm",
        "single",
        "-m",
        "rehearsal",
        "--out",
        "kept",
    ]);
    assert!(
        refused.code == 4 && refused.stderr.contains("nothing can be scored"),
        "{refused:?}"
    );
    assert!(
        !rebut.path("kept").exists() && refused.stdout.is_empty(),
        "{refused:?}"
    );
}

#[test]
fn own_problems_in_other_languages_and_ways_to_fail_are_told_apart() {
    let rebut = installed();
    let record = |id: &str, tests: &str| {
        json!({"id": id, "task": "Add.", "language": "python", "entry": "f", "tests": tests, "solution": "def f(a, b):\n    return a + b\n"}).to_string()
    };
    let endless = json!({
        "id": "endless", "task": "Wait.", "language": "python", "entry": "f", "tests": "assert f()",
        "solution": "def f():\n    while True: pass\n",
    });
    let imports = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { f } \
        from './solution.mjs';\n";
    let node = json!({
        "id": "node", "task": "Add.", "language": "javascript", "entry": "f", "style": "node-test",
        "tests": format!("{imports}test('adds', () => assert.equal(f(1, 2), 3));\n"),
        "solution": "export function f(a, b) { return a + b; }\n",
    });
    let records = [
        record("right", "assert f(1, 2) == 3"),
        record("wrong", "assert f(1, 2) == 4"),
        record("broken", "import nothing_like_this\nassert f(1, 2) == 3"),
        record("none", "x = 1"),
        endless.to_string(),
        node.to_string(),
    ];
    rebut.write("own.jsonl", &records.join("\n"));
    let report = rebut.json(
        0,
        &[
            "bench",
            "custom",
            "own.jsonl",
            "--arm",
            "oracle",
            "--seconds",
            "8",
            "--json",
        ],
    );
    let found: Vec<(&str, &str)> = report["results"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            (
                row["problem"].as_str().expect("an id"),
                row["verdict"].as_str().expect("a verdict"),
            )
        })
        .collect();
    let expected = [
        ("right", "passed"),
        ("wrong", "failed"),
        ("broken", "error"),
        ("none", "error"),
        ("endless", "timeout"),
        ("node", "passed"),
    ];
    assert_eq!(found, expected, "{report}");
}

#[test]
fn a_limit_holds_for_all_and_a_higher_one_goes_on() {
    let rebut = installed();
    let args = |calls: &'static str| {
        bench(&[
            "--arm",
            "single,poll",
            "--out",
            "kept",
            "--max-calls",
            calls,
        ])
    };
    // Six calls are one problem in both arms; the seventh is the second single, and a poll does not
    // fit any more.
    let stopped = rebut.json(5, &args("8"));
    assert!(
        stopped["unfinished"]
            .as_str()
            .is_some_and(|why| why.contains("higher limit")),
        "{stopped}"
    );
    assert_eq!(
        stopped["results"].as_array().map(Vec::len),
        Some(3),
        "{stopped}"
    );
    let begun = debates(&rebut);
    let whole = rebut.json(0, &args("100"));
    assert_eq!(
        (
            whole["results"].as_array().map(Vec::len),
            &whole["unfinished"]
        ),
        (Some(16), &Value::Null)
    );
    assert_eq!(
        (begun, debates(&rebut)),
        (4, 16),
        "the poll that was stopped went on"
    );
    let other = rebut.run(&bench(&["--arm", "single", "--out", "kept"]));
    assert!(
        other.code == 2
            && other
                .stderr
                .contains("its arms are poll, single, not single"),
        "{}",
        other.stderr
    );
}

/// Starts a bench and gives its standard error.
fn start(rebut: &Rebut, args: &[&str]) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = rebut
        .command(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let said = BufReader::new(child.stderr.take().expect("its standard error")).lines();
    (child, said.map_while(Result::ok))
}

fn kill(mut child: Child) {
    child.kill().expect("killed");
    child.wait().expect("gone");
}

#[test]
fn a_killed_bench_goes_on_and_runs_nothing_twice() {
    let whole = installed();
    let whole = whole.json(0, &bench(&["--arm", "single,poll", "--jobs", "2"]));

    let rebut = installed();
    let args = bench(&["--arm", "single,poll", "--jobs", "2", "--out", "kept"]);
    let good = rebut.read("script.md");
    let (child, mut said) = start(&rebut, &args);
    assert!(said.any(|line| line.starts_with("[5/16]")), "it got so far");
    kill(child);
    let mut open = &begun(&rebut) - &scored(&rebut);

    // Now nobody answers: a debate is cut in the middle of a turn.
    let silent: String = good
        .lines()
        .filter(|line| line.starts_with("## "))
        .map(|line| format!("{line}\n!timeout\n\n"))
        .collect();
    rebut.write("script.md", &format!("# Nobody\n\n{silent}"));
    let (child, _said) = start(&rebut, &args);
    let cut = loop {
        match (&begun(&rebut) - &scored(&rebut))
            .into_iter()
            .find(|id| asks(&rebut, id))
        {
            Some(id) => break id,
            None => std::thread::yield_now(),
        }
    };
    kill(child);
    open.extend(&begun(&rebut) - &scored(&rebut));
    rebut.write("script.md", &good);

    let before = scored(&rebut);
    let report = rebut.json(0, &args);
    assert_eq!(totals_without_calls(&report), totals_without_calls(&whole));
    let rows = report["results"].as_array().expect("rows");
    for (row, whole) in rows.iter().zip(whole["results"].as_array().expect("rows")) {
        let id = row["debate"].as_str().expect("an id");
        let made = events(&rebut, id).matches("\"turn.started\"").count();
        assert_eq!(
            row["calls"],
            json!(made),
            "{row}: what was cut is counted too"
        );
        assert!(
            row["calls"] == whole["calls"] || open.contains(id),
            "{row}: it was not cut, {whole}"
        );
    }
    let rows: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["debate"].as_str())
        .collect();
    assert!(
        rows.contains(&cut.as_str()),
        "what was cut was finished under its id"
    );
    assert!(
        before.iter().all(|id| rows.contains(&id.as_str())),
        "what was scored stays"
    );
    assert_eq!(
        (rows.len(), debates(&rebut)),
        (16, 16),
        "no problem was run twice"
    );
    let results = rebut.read("kept/results.ndjson");
    assert_eq!(
        results
            .lines()
            .filter(|line| line.contains("\"line\":\"result\""))
            .count(),
        16
    );
    // Nothing is left to do.
    assert_eq!(totals(&rebut.json(0, &args)), totals(&report));
    assert_eq!(rebut.read("kept/results.ndjson"), results);
}

fn lines(rebut: &Rebut, kind: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(rebut.path("kept/results.ndjson")).unwrap_or_default();
    let parsed = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed
        .filter(|line| line["line"] == kind)
        .filter_map(|line| line["debate"].as_str().map(str::to_owned))
        .collect()
}

fn begun(rebut: &Rebut) -> BTreeSet<String> {
    lines(rebut, "begun")
}

fn scored(rebut: &Rebut) -> BTreeSet<String> {
    lines(rebut, "result")
}

fn events(rebut: &Rebut, id: &str) -> String {
    rebut.run(&["show", id, "--events"]).stdout
}

/// Whether somebody is asked in a debate right now.
fn asks(rebut: &Rebut, id: &str) -> bool {
    let events = events(rebut, id);
    let count = |kind: &str| events.matches(kind).count();
    count("\"turn.started\"") > count("\"turn.completed\"") + count("\"turn.failed\"")
}
