//! Problems of public code benchmarks: one record of a HumanEval or MBPP file, or of your own,
//! becomes a task with hidden tests.

pub mod python;

use crate::{error::AppError, read_file};
use rebut_engine::{
    clean::on_one_line,
    sandbox::{LANGUAGES, Style},
    suggest::suggest,
};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};

#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Its name in the file, e.g. `HumanEval/0` or `11`.
    pub id: String,
    /// What is to be written, to the agents.
    pub task: String,
    pub language: String,
    /// The function that is called, where the record says or shows it.
    pub entry_point: Option<String>,
    /// What the agents are shown of the tests; may be empty.
    pub tests: String,
    pub hidden_tests: String,
    pub style: Option<Style>,
    /// Which form of record it was read from.
    pub form: Form,
    /// What the record gives the program to begin with, e.g. imports and helpers that the tests use
    /// too; may be empty.
    pub preamble: String,
    /// The data's own solution, whole; not every record has one.
    pub solution: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    HumanEval,
    /// `task_id`, `text` or `prompt`, `code`, `test_imports`, `test_list`.
    Mbpp,
    /// `id`, `task`, `language`, `entry`, `tests`, `style`, `solution`.
    Custom,
}

/// The largest file that is read, unpacked.
const MOST_BYTES: u64 = 256 << 20;

/// The problem of that name in a JSONL file, plain or `.gz`.
pub fn load(path: &Path, id: &str) -> Result<Problem, AppError> {
    let all = load_all(path)?;
    if let Some(found) = all.iter().find(|problem| problem.id == id) {
        return Ok(found.clone());
    }
    let message = format!("{} has no problem `{}`", path.display(), on_one_line(id));
    let first = || {
        all.first().map_or_else(
            || "it is empty".to_owned(),
            |problem| format!("the first is `{}`", on_one_line(&problem.id)),
        )
    };
    let meant = suggest(id, all.iter().map(|problem| problem.id.as_str()));
    Err(
        AppError::usage(message).hint(meant.map_or_else(first, |meant| {
            format!("did you mean `{}`?", on_one_line(meant))
        })),
    )
}

/// Every problem of a JSONL file, plain or `.gz`, in its order.
pub fn load_all(path: &Path) -> Result<Vec<Problem>, AppError> {
    let text = read(path)?;
    let lines = text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty());
    let (mut all, mut seen) = (Vec::new(), BTreeMap::new());
    for (line, number) in lines {
        let problem = parse(line).map_err(|what| bad(path, number, &what))?;
        if let Some(earlier) = seen.insert(problem.id.clone(), number) {
            return Err(bad(
                path,
                number,
                &format!(
                    "`{}` is the problem of line {earlier} already",
                    on_one_line(&problem.id)
                ),
            ));
        }
        all.push(problem);
    }
    Ok(all)
}

fn bad(path: &Path, line: usize, what: &str) -> AppError {
    AppError::usage(format!("{}, line {line}: {what}", path.display())).hint(
        "each line is a JSON object as in HumanEval (task_id, prompt, entry_point, test), MBPP \
         (task_id, text, \
            test_list), or your own (id, task, language, entry, tests)",
    )
}

/// A file's text; one whose name ends in `.gz` is unpacked.
pub fn read(path: &Path) -> Result<String, AppError> {
    read_file::records(path, MOST_BYTES)
}

#[derive(Deserialize)]
struct HumanEval {
    prompt: String,
    entry_point: String,
    test: String,
    #[serde(default)]
    canonical_solution: Option<String>,
}

#[derive(Deserialize)]
struct Mbpp {
    #[serde(alias = "prompt")]
    text: String,
    test_list: Vec<String>,
    #[serde(default)]
    test_setup_code: String,
    #[serde(default)]
    test_imports: Vec<String>,
    #[serde(default)]
    challenge_test_list: Vec<String>,
    #[serde(default)]
    code: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Custom {
    id: String,
    task: String,
    language: String,
    entry: String,
    tests: String,
    style: Option<Style>,
    solution: Option<String>,
}

/// One line. Which kind of record it is shows in its keys.
fn parse(line: &str) -> Result<Problem, String> {
    let record: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let read_as = |error: serde_json::Error| error.to_string();
    if record.get("tests").is_some() {
        return Custom::deserialize(&record)
            .map_err(read_as)
            .and_then(Custom::problem);
    }
    let id = match &record["task_id"] {
        Value::String(id) if !id.trim().is_empty() => id.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err("it has no `task_id`".to_owned()),
    };
    if record.get("test_list").is_some() {
        return Mbpp::deserialize(&record)
            .map_err(read_as)
            .and_then(|record| record.problem(id));
    }
    HumanEval::deserialize(&record)
        .map_err(read_as)
        .and_then(|record| record.problem(id))
}

impl HumanEval {
    fn problem(self, id: String) -> Result<Problem, String> {
        if self.entry_point.trim().is_empty() || self.test.trim().is_empty() {
            return Err("`entry_point` or `test` is empty".to_owned());
        }
        Ok(Problem {
            task: format!(
                "Complete this Python function. Give the whole file: its imports, the function \
                 `{}` as it is declared here, and its body.\n\n{}",
                self.entry_point,
                self.prompt.trim_end()
            ),
            // Among the tests, `solution` is the module with the code; a function of that name has
            // to be asked for.
            hidden_tests: format!(
                "{}{}\n\ncheck({})\n",
                if self.entry_point == "solution" {
                    "from solution import solution\n\n"
                } else {
                    ""
                },
                self.test.trim_end(),
                self.entry_point
            ),
            id,
            language: "python".to_owned(),
            entry_point: Some(self.entry_point),
            tests: String::new(),
            style: Some(Style::Asserts),
            form: Form::HumanEval,
            solution: self
                .canonical_solution
                .map(|body| python::joined(&unix(&self.prompt), &unix(&body))),
            preamble: unix(&self.prompt),
        })
    }
}

impl Mbpp {
    /// The first assertion is shown, since it alone says what the function is called and takes; all
    /// of them score.
    fn problem(self, id: String) -> Result<Problem, String> {
        let first = self
            .test_list
            .first()
            .ok_or("`test_list` is empty")?
            .clone();
        let entry_point = called(&first).map(str::to_owned);
        let setup: Vec<&str> = self
            .test_imports
            .iter()
            .map(String::as_str)
            .chain([self.test_setup_code.as_str()])
            .filter(|line| !line.trim().is_empty())
            .collect();
        let with_setup = |tests: &[&str]| {
            setup
                .iter()
                .chain(tests)
                .map(|line| format!("{}\n", line.trim_end()))
                .collect::<String>()
        };
        let hidden: Vec<&str> = self
            .test_list
            .iter()
            .chain(&self.challenge_test_list)
            .map(String::as_str)
            .collect();
        let named = entry_point.as_ref().map_or_else(String::new, |name| {
            format!(" The function is called `{name}`.")
        });
        Ok(Problem {
            task: format!("{}{named}", self.text.trim()),
            tests: with_setup(&[first.as_str()]),
            hidden_tests: with_setup(&hidden),
            id,
            language: "python".to_owned(),
            entry_point,
            style: Some(Style::Asserts),
            form: Form::Mbpp,
            preamble: String::new(),
            solution: self.code.as_deref().map(unix),
        })
    }
}

impl Custom {
    fn problem(self) -> Result<Problem, String> {
        let empty = [
            ("id", &self.id),
            ("task", &self.task),
            ("entry", &self.entry),
            ("tests", &self.tests),
        ];
        if let Some((name, _)) = empty.into_iter().find(|(_, text)| text.trim().is_empty()) {
            return Err(format!("`{name}` is empty"));
        }
        if !LANGUAGES.contains(&self.language.as_str()) {
            return Err(format!(
                "`{}` is no language; use one of {}",
                on_one_line(&self.language),
                LANGUAGES.join(", ")
            ));
        }
        Ok(Problem {
            task: format!(
                "{} The function is called `{}`.",
                self.task.trim(),
                self.entry
            ),
            id: self.id,
            language: self.language,
            entry_point: Some(self.entry),
            tests: String::new(),
            hidden_tests: self.tests,
            style: self.style,
            form: Form::Custom,
            preamble: String::new(),
            solution: self.solution,
        })
    }
}

/// A text with plain line ends.
fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Words that are called in assertions without being what is tested.
const WRAPPERS: &[&str] = &[
    "set", "sorted", "list", "tuple", "round", "abs", "not", "len", "str", "int", "float",
    "isclose", "math",
];

/// The function that an assertion calls: the first name before a bracket that is no usual wrapper.
fn called(assertion: &str) -> Option<&str> {
    let body = assertion.trim().strip_prefix("assert")?;
    let mut rest = body;
    while let Some(at) = rest.find('(') {
        let start = rest[..at]
            .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
            .map_or(0, |before| before + 1);
        let name = &rest[start..at];
        if !name.is_empty() && !WRAPPERS.contains(&name) {
            return Some(name);
        }
        rest = &rest[at + 1..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const HUMAN: &str = concat!(
        r#"{"task_id":"HumanEval/7","prompt":"def inc(x):\n    \"\"\"One more.\"\"\"\n","entry_point":"inc","#,
        r#""canonical_solution":"    return x + 1\n","test":"def check(candidate):\n    assert candidate(1) == 2\n"}"#
    );
    const MBPP: &str = concat!(
        r#"{"task_id":11,"text":"Write a function to add.","code":"def add(a, b): return a + b","#,
        r#""test_list":["assert set(add([1], [2])) == {3}","assert add(1, 2) == 3"],"test_setup_code":"import math","challenge_test_list":[]}"#
    );

    const OWN_WRONG: &str =
        r#"{"id":"a","task":"b","language":"latin","entry":"f","tests":"assert f()"}"#;

    #[test]
    fn records_of_both_kinds_become_problems_and_their_tests_stay_hidden() {
        let dir = tempfile::tempdir().expect("a folder");
        let (plain, packed) = (dir.path().join("p.jsonl"), dir.path().join("p.jsonl.gz"));
        std::fs::write(&plain, format!("{HUMAN}\n\n{MBPP}\n")).expect("written");
        let mut gz = flate2::write::GzEncoder::new(
            std::fs::File::create(&packed).expect("a file"),
            flate2::Compression::fast(),
        );
        gz.write_all(format!("{HUMAN}\n{MBPP}").as_bytes())
            .expect("packed");
        gz.finish().expect("packed");
        for path in [&plain, &packed] {
            let human = load(path, "HumanEval/7").expect("the first");
            assert_eq!(
                human.solution.as_deref(),
                Some("def inc(x):\n    \"\"\"One more.\"\"\"\n    return x + 1\n")
            );
            assert!(
                human
                    .task
                    .ends_with("def inc(x):\n    \"\"\"One more.\"\"\""),
                "{}",
                human.task
            );
            assert_eq!(
                human.hidden_tests,
                "def check(candidate):\n    assert candidate(1) == 2\n\ncheck(inc)\n"
            );
            assert_eq!(
                (human.entry_point.as_deref(), human.tests.as_str()),
                (Some("inc"), "")
            );
            let mbpp = load(path, "11").expect("the second");
            assert_eq!(
                mbpp.entry_point.as_deref(),
                Some("add"),
                "the wrapper is not what is tested"
            );
            assert_eq!(
                mbpp.tests,
                "import math\nassert set(add([1], [2])) == {3}\n"
            );
            assert_eq!(
                mbpp.hidden_tests,
                "import math\nassert set(add([1], [2])) == {3}\nassert add(1, 2) == 3\n"
            );
        }
        let missing = load(&plain, "HumanEval/8").expect_err("there is none");
        assert!(
            missing.to_string().contains("no problem `HumanEval/8`"),
            "{missing}"
        );
    }

    #[test]
    fn what_is_no_record_is_refused_with_its_line() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("p.jsonl");
        for bad in [
            "{",
            "[]",
            r#"{"task_id":1}"#,
            r#"{"task_id":1,"text":"x","test_list":[]}"#,
            r#"{"prompt":"x","entry_point":"y","test":"z"}"#,
            MBPP,
            OWN_WRONG,
        ] {
            std::fs::write(&path, format!("{MBPP}\n{bad}\n")).expect("written");
            let error = load_all(&path).expect_err(bad).to_string();
            assert!(error.contains("line 2"), "{bad}: {error}");
        }
        assert!(load_all(&dir.path().join("nothing.jsonl")).is_err());
    }
}
