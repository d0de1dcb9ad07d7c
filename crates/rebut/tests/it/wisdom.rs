//! Lessons from one `solve` to the next, found by words and by an embedding model on the loopback;
//! and linters that really look at code.

use crate::rebut::{Rebut, script_of};
use rebut_testkit::model_server::{Behaviour, Failure, ModelServer, Seen};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

const SYSTEM: &str = "/usr/bin:/bin";
const KEY: &str = "sk-canary-4Rt8Wq2LmZ6";

/// An installation that knows one lesson, of a run that failed and one that passed.
fn taught(base_url: &str) -> Rebut {
    let mut rebut = Rebut::new();
    rebut.set("PATH", SYSTEM);
    rebut.set("VEC_KEY", KEY);
    rebut.user_config(&format!(
        "[providers.vec]\nbase_url = \"{base_url}\"\nkey_env = \"VEC_KEY\"\nprice = {{ input = \
         1.0, output = 0.0 }}\n[solve]\nembeddings = \"vec:v\"\n"
    ));
    rebut.write("t.py", "assert add(1, 2) == 3\n");
    let code = |sign: &str| {
        json!({"approach": "Plain.", "code": format!("def add(a, b):\n    return a {sign} \
            b\n"), "confidence": 0.9})
        .to_string()
    };
    let reflection = json!({"root_cause": "I \
        subtracted.", "what_went_wrong": "1 - 2 is \
            -1.", "what_to_change": "Add.", "confidence": 0.9});
    let lesson = json!({"lesson": "Mind the sign before the \
        operand", "applies_to": "arithmetic with two operands"});
    let script = [
        ("proposal 1/generator", code("-")),
        ("reflection 1/generator", reflection.to_string()),
        ("proposal 2/generator", code("+")),
        ("lesson/generator", lesson.to_string()),
    ];
    rebut.write("script.md", &script_of(&script));
    rebut
}

fn solve<'a>(task: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let usual = [
        "solve",
        task,
        "--tests",
        "t.py",
        "--judges",
        "generator",
        "-m",
        "script:script.md",
        "--phases",
        "proposal",
    ];
    usual.iter().chain(more).copied().collect()
}

/// Numbers point one way, words another.
fn vectors(seen: &Seen) -> Behaviour {
    let numeric = |text: &str| {
        ["takings", "arithmetic"]
            .iter()
            .any(|word| text.contains(word))
    };
    let texts = seen.json()["input"].as_array().cloned().unwrap_or_default();
    let of = |text: &Value| {
        if numeric(text.as_str().unwrap_or_default()) {
            json!([1.0, 0.25])
        } else {
            json!([-0.25, 1.0])
        }
    };
    Behaviour::Say(Value::from_iter(texts.iter().map(of)).to_string())
}

/// Shares no telling word with the lesson.
const TASK: &str = "Total the takings of a shop.";

#[tokio::test(flavor = "multi_thread")]
async fn a_lesson_reaches_a_later_task_by_meaning_and_a_failing_model_is_told_of() {
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = broken.clone();
    let server = ModelServer::start(move |_, seen| {
        if is_broken.load(Ordering::SeqCst) {
            Behaviour::Fail(Failure::BadKey)
        } else {
            vectors(seen)
        }
    });
    let server = server.await.expect("a server");
    let rebut = taught(&server.base_url());
    assert_eq!(rebut.run(&solve("Add two numbers.", &["-q"])).code, 0);
    assert_eq!(
        server.seen().len(),
        0,
        "nobody had learned anything: nothing is sent"
    );

    let shown = rebut.run(&solve(TASK, &["--dry-run"]));
    assert!(
        shown.code == 0
            && shown.stdout.contains("=== lessons to vec:v ===\nPOST ")
            && shown.stdout.contains("Mind the sign"),
        "{}",
        shown.stdout
    );
    assert!(
        !shown.stdout.contains(KEY) && shown.stderr.contains("not known before"),
        "{}",
        shown.stderr
    );
    assert_eq!(server.seen().len(), 0, "a dry run sends nothing");

    let told = rebut.json(0, &solve(TASK, &["--json"]));
    let (given, search) = (
        &told["result"]["lessons_given"][0],
        &told["result"]["lessons_search"],
    );
    assert_eq!(
        (&given["text"], &given["found_by"]),
        (
            &json!("Mind the sign before the operand"),
            &json!("embedding")
        ),
        "{told}"
    );
    assert!(
        given["score"].as_f64().is_some_and(|score| score > 0.99) && given["debate_id"].is_string(),
        "{given}"
    );
    assert_eq!(
        search,
        &json!({"by": "embedding", "compared": 1, "model": "vec:v", "calls": 1, "tokens": 14, "cost_usd": 1.4e-5})
    );
    assert_eq!(
        rebut.run(&["replay", "last"]).code,
        0,
        "what was found is pinned"
    );
    let other = rebut.expect(0, &solve("Reverse a text.", &[]));
    assert!(
        !other.contains("given:")
            && other.contains("lessons compared by meaning (1 call to vec:v, 7 tokens)"),
        "{other}"
    );
    let inputs: Vec<usize> = server
        .seen()
        .iter()
        .map(|seen| seen.json()["input"].as_array().map_or(0, Vec::len))
        .collect();
    assert_eq!(inputs, [2, 1], "the lesson is asked for once");
    assert!(rebut.data().join("embeddings.json").exists());

    broken.store(true, Ordering::SeqCst);
    let fell = rebut.run(&solve(TASK, &[]));
    assert_eq!(fell.code, 0, "{}", fell.stderr);
    for text in [&fell.stdout, &fell.stderr] {
        assert!(
            text.contains("by words, not by meaning")
                && text.contains("401")
                && !text.contains(KEY),
            "{text}"
        );
    }
    let similar = rebut.json(
        0,
        &solve(
            "Arithmetic with two operands and a sign.",
            &["--json", "-q"],
        ),
    );
    assert_eq!(
        similar["result"]["lessons_given"][0]["found_by"], "bm25",
        "{similar}"
    );
    assert!(
        similar["result"]["lessons_search"]["fell_back"]
            .as_str()
            .is_some_and(|why| why.contains("401")),
        "{similar}"
    );
    assert!(!rebut.holds(KEY));

    rebut.expect(0, &["rm", "last"]);
    assert!(
        !rebut.data().join("embeddings.json").exists(),
        "vectors may tell what was removed"
    );
}

#[test]
fn a_model_that_cannot_be_is_refused_and_a_project_cannot_choose_one() {
    let mut rebut = taught("http://127.0.0.1:9/v1");
    let rows = [
        ("vec", "which model of vec"),
        ("vac:v", "did you mean `vec`"),
        ("anthropic:x", "ANTHROPIC_API_KEY"),
    ];
    rebut.expect(0, &solve("Add two numbers.", &["-q"]));
    for (name, why) in &rows[..2] {
        let refused = rebut.run(&solve(
            TASK,
            &["--set", &format!("solve.embeddings={name}")],
        ));
        assert!(
            refused.code == 2 && refused.stderr.contains(why),
            "{name}: {}",
            refused.stderr
        );
    }
    // Without a key, or without a connection, words decide.
    for (name, why) in [rows[2], ("vec:v", "no connection")] {
        let ran = rebut.run(&solve(
            TASK,
            &["--set", &format!("solve.embeddings={name}")],
        ));
        assert!(
            ran.code == 0
                && ran.stdout.contains("by words, not by meaning")
                && ran.stdout.contains(why),
            "{name}: {}",
            ran.stdout
        );
    }
    let off = rebut.json(0, &solve(TASK, &["--set", "solve.lessons=false", "--json"]));
    assert_eq!(
        (
            &off["result"]["lessons_search"],
            &off["result"]["lessons_given"]
        ),
        (&Value::Null, &json!([]))
    );
    let projects = [
        (
            "[providers.vec]\nbase_url = \"http://127.0.0.1:8/v1\"\n",
            "never taken from a project: providers.vec (a project cannot move",
        ),
        (
            "[solve]\nembeddings = \"ollama:evil\"\n",
            "ignored until you run `rebut trust`: solve.embeddings",
        ),
    ];
    for (project, why) in projects {
        rebut.write("rebut.toml", project);
        let ran = rebut.run(&solve(TASK, &[]));
        assert!(
            ran.code == 0 && ran.stderr.contains(why) && !ran.stdout.contains("evil"),
            "{}",
            ran.stderr
        );
    }
    rebut.set("REBUT_CONFIG", "rebut.toml");
    assert_eq!(
        rebut.run(&solve(TASK, &["-q"])).code,
        0,
        "a file named by hand is a choice"
    );
}

#[test]
fn linters_of_this_machine_really_look_at_code() {
    // What to install: `./check` does it.
    let rows: &[(&str, &str, Value)] = &[
        (
            "python",
            "import os\n\ndef f():\n    x = 1\n    return y\n",
            json!(3),
        ),
        ("python", "def f():\n    return 1\n", json!(0)),
        ("shell", "echo $1\n", json!(1)),
        (
            "c",
            "int f(void) {\n    int x;\n    return 1;\n}\n",
            json!(1),
        ),
        ("cpp", "int f() {\n    int x;\n    return 1;\n}\n", json!(1)),
        (
            "rust",
            "pub fn f() -> i32 {\n    let x = 1;\n    2\n}\n",
            json!(1),
        ),
        (
            "go",
            "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Printf(\"%d\\n\", \"a\")\n}\n",
            json!(1),
        ),
        ("javascript", "let x = 1;\n", Value::Null),
    ];
    let sysroot = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .expect("rustc runs");
    let sysroot = String::from_utf8(sysroot.stdout).expect("a path");
    for (language, code, expected) in rows {
        let mut rebut = Rebut::new();
        rebut.set("PATH", &format!("{SYSTEM}:{}/bin", sysroot.trim()));
        let reply = json!({"approach": "Plain.", "code": code, "confidence": 0.9}).to_string();
        rebut.write("script.md", &script_of(&[("proposal 1/generator", reply)]));
        let args = [
            "solve",
            "Do it.",
            "--lang",
            language,
            "--judges",
            "generator",
            "-m",
            "script:script.md",
            "--phases",
            "proposal",
            "-q",
        ];
        rebut.expect(
            0,
            &[
                &args[..],
                &["--set", "solve.seconds_per_run=120", "-o", "report.md"],
            ]
            .concat(),
        );
        let told = rebut.json(0, &["code", "last", "--json"]);
        let run = rebut.expect(0, &["show", "last", "--events"]);
        assert_eq!(
            told["metrics"].get("lints").unwrap_or(&Value::Null),
            expected,
            "{language}: is its linter installed? {run}"
        );
        assert_eq!(&told["versions"][0]["lints"], expected);
        let counted = expected.as_u64().is_some_and(|count| {
            rebut
                .read("report.md")
                .contains(&format!("a linter found {count} thing"))
        });
        assert_eq!(counted, expected.is_u64(), "{}", rebut.read("report.md"));
        let summary = rebut.run(&["code", "last"]).stderr;
        assert!(
            summary.contains(
                &expected
                    .as_u64()
                    .map_or_else(|| "not linted".to_owned(), |count| format!("{count} lints"))
            ),
            "{summary}"
        );
    }
}
