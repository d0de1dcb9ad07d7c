//! Wisdom over debates: what one solve proved by its runs is given to a similar task, and to no other.

use crate::rebut::{Rebut, script_of};
use serde_json::{Value, json};

/// Where the sandbox's own programs are.
const SYSTEM: &str = "/usr/bin:/bin";

fn code(text: &str) -> String {
    json!({"approach": "Plain.", "code": text, "confidence": 0.9}).to_string()
}

/// Fails, reflects, passes, and draws a lesson.
fn script() -> String {
    let reflection =
        json!({"root_cause": "One format only.", "what_went_wrong": "The other failed.", "what_to_change": "Try both.", "confidence": 0.9});
    let lesson = json!({"lesson": "Try each format in order.", "applies_to": "parsing a date in several formats"});
    let scores = json!({"candidate": "C1", "correctness": 1, "maintainability": 1, "performance": 1, "security": 1, "test_coverage": 0.5,
        "reason": "Plain."});
    let rubric = json!({"scores": [scores]});
    script_of(&[
        ("proposal 1/generator", code("def day(text):\n    return 0\n")),
        ("reflection 1/generator", reflection.to_string()),
        ("proposal 2/generator", code("def day(text):\n    return 1\n")),
        ("lesson/generator", lesson.to_string()),
        ("rubric/judge", rubric.to_string()),
    ])
}

/// Solves a task and gives the lessons it was given.
fn given(rebut: &Rebut, task: &str, more: &[&str]) -> Value {
    let usual = [
        "solve",
        task,
        "--tests",
        "t.py",
        "--judges",
        "generator,judge",
        "-m",
        "script:script.md",
        "--phases",
        "proposal,convergence",
        "-q",
    ];
    let ran = rebut.run(&[&usual[..], more].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    rebut.events("last").swap_remove(0)["data"]["input"]["lessons"].take()
}

#[test]
fn a_lesson_reaches_a_similar_task_with_its_origin_and_no_other_task() {
    let mut rebut = Rebut::new();
    rebut.set("PATH", SYSTEM);
    rebut.write("script.md", &script());
    rebut.write("t.py", "assert day('1.2.2026') == 1\n");
    assert_eq!(given(&rebut, "The day of a date that comes in several formats", &[]), json!([]), "nobody has learned anything yet");
    let id = rebut.json(0, &["ls", "--json"])[0]["id"].as_str().expect("an id").to_owned();
    let expected = format!("Try each format in order. (about parsing a date in several formats; from debate {})", &id[..8]);
    assert_eq!(given(&rebut, "The month of a date in one of several formats", &[]), json!([expected]));
    assert_eq!(given(&rebut, "The month of a date in one of several formats", &["--set", "solve.lessons=false"]), json!([]));
    assert_eq!(given(&rebut, "Reverse a linked list", &[]), json!([]));
    rebut.set("USER", "somebody");
    assert_eq!(given(&rebut, "The month of a date in one of several formats", &[]), json!([]), "a lesson stays with its person");
}
