//! The turns of a solve debate: a stub that says it is a rehearsal. It writes no real code, and
//! never claims that anything passes.

use rebut_engine::{
    agent::Agent,
    clean::{on_one_line, shortened},
    model::{Fault, FaultKind},
    prompt::Prompt,
};
use serde_json::{Value, json};

/// What a turn of that form is answered.
pub fn answer(form: &str, agent: &Agent, prompt: &Prompt) -> Result<Value, Fault> {
    let part = |hole: &str| prompt.part(hole).unwrap_or("");
    let task = format!("{}\n\n{}", part("question"), part("form"));
    Ok(match form {
        "solve_questions" => json!({ "confidence": 1.0, "questions": [] }),
        "solve_answers" => {
            json!({ "answers": [], "confidence": 0.0, "remaining": ["The rehearsal knows no more \
                than the task says."] })
        }
        "solve_plan" => {
            json!({ "tasks": [{ "name": "write a stub", "needs": [], "priority": 1 }] })
        }
        "solve_draft" => json!({
            "approach": approach(agent, &task),
            "code": stub(agent, &task),
            "tests": test(&task),
            "confidence": 0.0,
        }),
        "solve_code" => {
            json!({ "approach": approach(agent, &task), "code": stub(agent, &task), "confidence": 0.0 })
        }
        "solve_reflection" => json!({
            "root_cause": "A rehearsal writes no code.",
            "what_went_wrong": "The stub does nothing, so the tests cannot hold.",
            "what_to_change": "Give this agent a model.",
            "confidence": 0.0,
        }),
        "solve_lesson" => {
            json!({ "lesson": "A rehearsal learns nothing.", "applies_to": "rehearsals" })
        }
        "solve_critique" => {
            let (claim, fix) = (
                "It is a stub of the rehearsal and does nothing.",
                "Give its author a model.",
            );
            let claim = |label: &str| json!({ "candidate": label, "severity": "major", "claim": claim, "fix": fix });
            json!({ "claims": labels(part("candidates")).iter().map(|label| claim(label)).collect::<Vec<_>>() })
        }
        "solve_review" => {
            let names = part("claims")
                .lines()
                .filter(|line| !line.starts_with(' '))
                .filter_map(|line| line.split_once(" ("))
                .map(|(name, _)| name);
            let answer =
                |name: &str| json!({ "claim": name, "verdict": "accept", "why": "It is a stub." });
            json!({ "answers": names.map(answer).collect::<Vec<_>>() })
        }
        "solve_improvement" => {
            json!({ "changed": false, "code": "", "fixed": [], "why": "A rehearsal cannot improve \
                code." })
        }
        "solve_attacks" => json!({ "attacks": [] }),
        "solve_defence" => {
            let names = part("attacks")
                .lines()
                .filter_map(|line| line.split_once(": "))
                .map(|(name, _)| name)
                .filter(|name| is_name(name, 'A'));
            let answer = |name: &str| json!({ "attack": name, "verdict": "contest", "quote": "", "why": "A rehearsal cannot patch code." });
            json!({ "answers": names.map(answer).collect::<Vec<_>>(), "code": "" })
        }
        "solve_ruling" => {
            let names = part("attacks")
                .lines()
                .filter_map(|line| line.split_once(": "))
                .map(|(name, _)| name)
                .filter(|name| is_name(name, 'A'));
            let ruling = |name: &str| {
                json!({ "attack": name, "contradicts": false, "why": "A \
                rehearsal cannot tell." })
            };
            json!({ "rulings": names.map(ruling).collect::<Vec<_>>() })
        }
        "solve_contrast" => {
            json!({ "tests": test(&task), "why": "A rehearsal cannot tell candidates apart." })
        }
        "solve_ballot" => {
            let mut ranking = labels(part("candidates"));
            // The order in which they are shown differs between voters; the names do not.
            ranking.sort_unstable();
            json!({ "ranking": ranking, "confidence": 0.0, "reason": "A rehearsal cannot judge \
                code; this is the order of names." })
        }
        "solve_rubric" => {
            let rated = |label: &&str| {
                json!({
                    "candidate": label,
                    "correctness": 0.0,
                    "maintainability": 0.5,
                    "performance": 0.5,
                    "security": 0.5,
                    "test_coverage": 0.0,
                    "reason": "It is a stub of the rehearsal.",
                })
            };
            json!({ "scores": labels(part("candidates")).iter().map(rated).collect::<Vec<_>>() })
        }
        other => {
            return Err(Fault::new(
                FaultKind::Unavailable,
                format!(
                    "the built-in rehearsal cannot play a `{other}` turn; give this agent a model \
                     or a script"
                ),
            ));
        }
    })
}

/// Whether a word is a name such as `C1`.
fn is_name(word: &str, letter: char) -> bool {
    word.strip_prefix(letter)
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
}

/// The names of the candidates that are shown: each stands on a line of its own above its evidence.
fn labels(shown: &str) -> Vec<&str> {
    let lines: Vec<&str> = shown.lines().collect();
    let is_head = |at: &usize| {
        is_name(lines[*at], 'C')
            && lines
                .get(at + 1)
                .is_some_and(|next| next.starts_with("given tests: "))
    };
    (0..lines.len())
        .filter(is_head)
        .map(|at| lines[at])
        .collect()
}

fn approach(agent: &Agent, task: &str) -> String {
    format!(
        "REHEARSAL by {}: no code, only a place for it. The task: {}",
        agent.role,
        shortened(&on_one_line(task), 120)
    )
}

/// The language that a task names, as its prompt says it.
fn language(task: &str) -> &str {
    task.rsplit_once("Language: ")
        .and_then(|(_, rest)| rest.split_once('.'))
        .map_or("", |(language, _)| language)
}

/// A file that says what it is and does nothing.
fn stub(agent: &Agent, task: &str) -> String {
    let said = format!(
        "REHEARSAL by {}: a stub, not a solution of: {}",
        agent.role,
        shortened(&on_one_line(task), 100)
    );
    match language(task) {
        "python" => format!("# {said}\nraise NotImplementedError(\"rehearsal\")\n"),
        "shell" => format!("#!/bin/sh\n# {said}\nexit 1\n"),
        "javascript" => format!("// {said}\nthrow new Error(\"rehearsal\");\n"),
        "go" => format!("package solution\n\n// {said}\n"),
        _ => format!("// {said}\n"),
    }
}

/// A test that cannot hold.
fn test(task: &str) -> &'static str {
    match language(task) {
        "python" => "def test_rehearsal():\n    assert False, 'a rehearsal writes no code'\n",
        "javascript" => {
            "require(\"node:test\")(\"rehearsal\", () => { throw new Error(\"a rehearsal writes no \
             code\"); });\n"
        }
        "rust" => "#[test]\nfn rehearsal() {\n    panic!(\"a rehearsal writes no code\");\n}\n",
        "go" => {
            "package solution\n\nimport \"testing\"\n\nfunc TestRehearsal(t *testing.T) \
             {\n\tt.Fatal(\"a rehearsal writes no code\")\n}\n"
        }
        "c" | "cpp" => "#include <stdlib.h>\nvoid test_rehearsal(void) { abort(); }\n",
        _ => "exit 1\n",
    }
}
