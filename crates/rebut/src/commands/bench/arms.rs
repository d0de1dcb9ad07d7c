//! Who writes the programs of a bench: one row for each arm.

use crate::problems::{Form, Problem, python};
use rebut_engine::formats::{baselines::program::Wanted, question::Input, solve};
use serde_json::{Value, json};

/// One way to get a program for a problem.
pub struct Arm {
    pub name: &'static str,
    /// How it comes to a program.
    pub how: How,
}

/// How an arm comes to a program.
pub enum How {
    /// From the data alone; nobody is asked.
    Made(fn(&Problem) -> Result<String, String>),
    Debated(Debated),
}

/// A debate that ends with a program.
pub struct Debated {
    pub format: &'static str,
    /// The roles of who writes, when nobody says otherwise.
    pub usual: &'static [&'static str],
    /// What it is asked. The hidden tests are no part of it.
    pub input: fn(&Problem) -> Result<Value, String>,
    /// The program in its result, if there is one.
    pub program: fn(&Value) -> Option<&str>,
}

const ALONE: &[&str] = &["generator"];

pub const ARMS: &[Arm] = &[
    Arm {
        name: "oracle",
        how: How::Made(solution),
    },
    Arm {
        name: "broken",
        how: How::Made(broken),
    },
    Arm {
        name: "single",
        how: How::Debated(Debated {
            format: "single",
            usual: ALONE,
            input: asked,
            program: chosen,
        }),
    },
    Arm {
        name: "poll",
        how: How::Debated(Debated {
            format: "poll",
            usual: ALONE,
            input: asked,
            program: chosen,
        }),
    },
    Arm {
        name: "solve",
        how: How::Debated(Debated {
            format: "solve",
            usual: &solve::ROLES,
            input: solved,
            program: winner,
        }),
    },
];

impl Arm {
    pub fn named(name: &str) -> Option<&'static Self> {
        ARMS.iter().find(|arm| arm.name == name)
    }
}

/// The data's own solution: what it scores is what is wrong with the data, or with the scoring.
fn solution(problem: &Problem) -> Result<String, String> {
    problem
        .solution
        .clone()
        .ok_or_else(|| "the record has no solution of its own".to_owned())
}

/// The solution with an empty body: what it scores is what the tests let through.
fn broken(problem: &Problem) -> Result<String, String> {
    if problem.language != "python" {
        return Err(format!(
            "only Python can be broken, not {}",
            problem.language
        ));
    }
    python::broken(&solution(problem)?, entry(problem)?)
}

fn asked(problem: &Problem) -> Result<Value, String> {
    let entry = entry(problem)?;
    let wanted = Wanted {
        language: problem.language.clone(),
        entry: entry.to_owned(),
        examples: python::examples(&problem.preamble, entry),
    };
    let input = Input {
        question_id: problem.id.clone(),
        question: task(problem)?,
        program: Some(wanted),
        ..Input::default()
    };
    serde_json::to_value(input).map_err(|error| error.to_string())
}

fn solved(problem: &Problem) -> Result<Value, String> {
    Ok(
        json!({"task": task(problem)?, "language": problem.language, "entry_point": entry(problem)?}),
    )
}

/// What is told of a problem. A record of MBPP says nothing of a function's parameters but in its
/// tests, which stay hidden: the signature of its solution says it instead.
fn task(problem: &Problem) -> Result<String, String> {
    let signature = match (problem.form, &problem.solution) {
        (Form::Mbpp, Some(solution)) => python::signature(solution, entry(problem)?),
        _ => None,
    };
    Ok(signature.map_or_else(
        || problem.task.clone(),
        |signature| format!("{} It begins with `{signature}`.", problem.task),
    ))
}

fn entry(problem: &Problem) -> Result<&str, String> {
    problem
        .entry_point
        .as_deref()
        .ok_or_else(|| "nobody can tell which function its tests call".to_owned())
}

fn chosen(result: &Value) -> Option<&str> {
    result.pointer("/program/code").and_then(Value::as_str)
}

fn winner(result: &Value) -> Option<&str> {
    result
        .get("code")
        .and_then(Value::as_str)
        .filter(|code| !code.trim().is_empty())
}

/// A program with what its record gives it to begin with. Only the beginning of a file may reach
/// into the future.
pub fn whole(problem: &Problem, program: &str) -> String {
    if problem.preamble.is_empty()
        || program
            .lines()
            .any(|line| line.starts_with("from __future__"))
    {
        return program.to_owned();
    }
    format!("{}\n\n\n{program}", problem.preamble.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of each form whose tests hold words that stand nowhere else.
    fn problems() -> Vec<Problem> {
        let records = [
            concat!(
                r#"{"task_id":"h","prompt":"def f(a):\n    \"\"\"Double.\n    >>> f(1)\n    2\n    \"\"\"\n","entry_point":"f","#,
                r#""canonical_solution":"    return 2 * a\n","test":"def check(candidate):\n    assert candidate(90210) == 180420\n"}"#
            ),
            concat!(
                r#"{"task_id":1,"prompt":"Write a function to double.","code":"def f(a):\n    return 2 * a","#,
                r#""test_imports":["import hiddenwords"],"test_list":["assert f(90210) == 180420"]}"#
            ),
            r#"{"id":"own","task":"Double.","language":"python","entry":"f","tests":"assert f(90210) == 180420","solution":"def f(a): return 2 * a"}"#,
        ];
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("p.jsonl");
        std::fs::write(&file, records.join("\n")).expect("written");
        crate::problems::load_all(&file).expect("three problems")
    }

    #[test]
    fn no_question_holds_a_word_of_the_hidden_tests_or_of_the_solution() {
        for problem in problems() {
            for arm in ARMS {
                let How::Debated(debated) = &arm.how else {
                    continue;
                };
                let input = (debated.input)(&problem).expect("a question").to_string();
                for word in ["90210", "180420", "check", "hiddenwords", "2 * a", "assert"] {
                    assert!(
                        !input.contains(word),
                        "{} of {} tells `{word}`: {input}",
                        arm.name,
                        problem.id
                    );
                }
                assert!(input.contains("`f`") || input.contains("\"f\""), "{input}");
            }
        }
    }

    #[test]
    fn what_is_made_from_data_is_whole() {
        for problem in problems() {
            assert!(
                solution(&problem).is_ok_and(|code| code.contains("return 2 * a")),
                "{}",
                problem.id
            );
            assert!(
                broken(&problem)
                    .is_ok_and(|code| code.contains("return None") && !code.contains("2 * a")),
                "{}",
                problem.id
            );
        }
        let all = problems();
        let [human, mbpp, _] = &all[..] else {
            panic!("three problems")
        };
        let first = (
            whole(human, "def f(a): pass").starts_with("def f(a):\n    \"\"\"Double."),
            whole(mbpp, "x") == "x",
        );
        assert_eq!(first, (true, true));
        assert!(whole(human, "from __future__ import annotations").starts_with("from"));
        assert_eq!(
            asked(human).expect("a question")["program"]["examples"],
            json!(["f(1)"])
        );
        assert!(
            asked(mbpp).expect("a question")["question"]
                .as_str()
                .is_some_and(|task| task.contains("def f(a):"))
        );
    }
}
