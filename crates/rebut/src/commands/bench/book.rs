//! The results of a bench as lines of a file: what it is, which debates were begun, what came of
//! each problem. Written one by one, so that whatever ends the program, what was done is there.

use super::{results::Results, scoring::Verdict};
use crate::error::CliError;
use rebut_engine::{DebateId, record::Hash};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};

/// What a bench is: only results of the same may stand in one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub suite: String,
    /// The hash of the data, unpacked.
    pub data: Hash,
    /// Seconds the tests of a program have.
    pub seconds: u32,
    pub arms: BTreeMap<String, Pinned>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pinned {
    pub agents: Vec<Value>,
    pub config: Value,
}

/// What came of one problem in one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub problem: String,
    pub arm: String,
    /// The debate, where there was one.
    pub debate: Option<DebateId>,
    pub verdict: Verdict,
    /// Why, in one line; empty for a pass.
    pub why: String,
    pub passed: usize,
    pub tests: usize,
    /// Whether the program ran in the process that judged it: then a hostile program could have
    /// forged its pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_process: bool,
    pub calls: u32,
    pub tokens: u64,
    /// US dollars; null when a price is unknown.
    pub cost: Option<f64>,
    /// Milliseconds of this run, from the beginning to the score.
    pub ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Header {
        #[serde(flatten)]
        header: Header,
        /// By which the file is known as one that was made here, where it lies in a project.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        key: String,
    },
    /// Written before the debate begins: whatever happens then, it is found by its id.
    Begun {
        problem: String,
        arm: String,
        debate: DebateId,
    },
    Result(Row),
}

pub type Key = (String, String);

/// What is known so far. Without a file it is known to this run only.
pub struct Book {
    results: Option<Results>,
    pub rows: BTreeMap<Key, Row>,
    /// Debates that were begun, by what for; the last one counts.
    pub begun: BTreeMap<Key, DebateId>,
}

impl Book {
    /// Opens the file in a folder, or begins it. Refused is another bench's file, one that another
    /// process writes, and one that a project brought.
    pub fn open(dir: Option<&Path>, header: &Header) -> Result<Self, CliError> {
        let mut book = Self {
            results: None,
            rows: BTreeMap::new(),
            begun: BTreeMap::new(),
        };
        let Some(dir) = dir else { return Ok(book) };
        let mut results = Results::open(dir)?;
        let text = results.read()?;
        // A line without an end is one that was being written when everything stopped.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        results.check_not_brought(&text, &key_of(whole))?;
        book.take_in(whole, header).map_err(|why| {
            CliError::usage(format!("{}: {why}", results.path().display()))
                .hint("give another --out, or the same data, arms and models as before")
        })?;
        results.cut(whole.len())?;
        let key = if whole.is_empty() {
            Some(results.claim()?)
        } else {
            None
        };
        book.results = Some(results);
        if let Some(key) = key {
            book.write(&Line::Header {
                header: header.clone(),
                key,
            })?;
        }
        Ok(book)
    }

    pub fn begin(&mut self, key: &Key, debate: DebateId) -> Result<(), CliError> {
        self.begun.insert(key.clone(), debate);
        self.write(&Line::Begun {
            problem: key.0.clone(),
            arm: key.1.clone(),
            debate,
        })
    }

    /// Records what came of a problem.
    pub fn add(&mut self, row: Row) -> Result<(), CliError> {
        self.write(&Line::Result(row.clone()))?;
        self.rows
            .insert((row.problem.clone(), row.arm.clone()), row);
        Ok(())
    }

    fn take_in(&mut self, text: &str, header: &Header) -> Result<(), String> {
        for (number, line) in text.lines().enumerate() {
            let line: Line = serde_json::from_str(line)
                .map_err(|error| format!("line {}: {error}", number + 1))?;
            match line {
                Line::Header { header: known, .. } if number == 0 => {
                    if let Some(what) = difference(&known, header) {
                        return Err(format!("it holds results of another bench: {what}"));
                    }
                }
                Line::Header { .. } => return Err(format!("line {}: a second header", number + 1)),
                _ if number == 0 => return Err("it has no header".to_owned()),
                Line::Begun {
                    problem,
                    arm,
                    debate,
                } => drop(self.begun.insert((problem, arm), debate)),
                Line::Result(row) => drop(
                    self.rows
                        .insert((row.problem.clone(), row.arm.clone()), row),
                ),
            }
        }
        Ok(())
    }

    fn write(&mut self, line: &Line) -> Result<(), CliError> {
        let Some(results) = &mut self.results else {
            return Ok(());
        };
        results.add(
            &serde_json::to_string(line).map_err(|error| CliError::failed(error.to_string()))?,
        )
    }
}

/// The key in the header of a file, or nothing.
fn key_of(text: &str) -> String {
    match text.lines().next().map(serde_json::from_str) {
        Some(Ok(Line::Header { key, .. })) => key,
        _ => String::new(),
    }
}

/// What differs between two benches, in words; nothing if they are the same.
fn difference(known: &Header, header: &Header) -> Option<String> {
    let names = |header: &Header| header.arms.keys().cloned().collect::<Vec<_>>().join(", ");
    if known.suite != header.suite {
        return Some(format!("it is of {}, not {}", known.suite, header.suite));
    }
    if known.data != header.data {
        return Some("the data differ".to_owned());
    }
    if known.seconds != header.seconds {
        return Some(format!(
            "tests had {} seconds, not {}",
            known.seconds, header.seconds
        ));
    }
    if names(known) != names(header) {
        return Some(format!(
            "its arms are {}, not {}",
            names(known),
            names(header)
        ));
    }
    let (arm, was, is) = known
        .arms
        .iter()
        .zip(header.arms.values())
        .map(|((arm, was), is)| (arm, was, is))
        .find(|(_, was, is)| was != is)?;
    let what = if was.agents == is.agents {
        "the settings"
    } else {
        "the agents or models"
    };
    Some(format!("{what} of {arm} differ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let arm = Pinned {
            agents: vec![serde_json::json!({"name": "ada", "model": "script:a.md"})],
            config: Value::Null,
        };
        Header {
            suite: "mbpp".to_owned(),
            data: Hash::of(b"data"),
            seconds: 20,
            arms: BTreeMap::from([("single".to_owned(), arm)]),
        }
    }

    fn row(problem: &str) -> Row {
        Row {
            problem: problem.to_owned(),
            arm: "single".to_owned(),
            debate: None,
            verdict: Verdict::Passed,
            why: String::new(),
            passed: 1,
            tests: 1,
            shared_process: false,
            calls: 1,
            tokens: 2,
            cost: None,
            ms: 3,
        }
    }

    #[test]
    fn what_was_written_is_there_again_and_a_torn_line_is_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("results.ndjson");
        let key = ("2".to_owned(), "single".to_owned());
        let id = DebateId::new();
        {
            let mut book = Book::open(Some(dir.path()), &header()).expect("begun");
            book.add(row("1")).expect("written");
            book.begin(&key, id).expect("written");
            assert!(
                Book::open(Some(dir.path()), &header())
                    .is_err_and(|error| error.to_string().contains("another process"))
            );
        }
        let text = std::fs::read_to_string(&file).expect("the file");
        std::fs::write(&file, format!("{text}{{\"line\":\"result\",\"prob")).expect("torn");
        let mut book = Book::open(Some(dir.path()), &header()).expect("opened again");
        assert_eq!((book.rows.len(), book.begun.get(&key)), (1, Some(&id)));
        book.add(row("2")).expect("written");
        drop(book);
        let book = Book::open(Some(dir.path()), &header()).expect("and again");
        assert_eq!(
            book.rows
                .keys()
                .map(|(problem, _)| problem.as_str())
                .collect::<Vec<_>>(),
            ["1", "2"]
        );
    }

    #[test]
    fn another_bench_is_refused_and_says_what_differs() {
        let other_arm = |config, model: &str| {
            let agents = vec![serde_json::json!({"name": "ada", "model": model})];
            BTreeMap::from([("single".to_owned(), Pinned { agents, config })])
        };
        let rows = [
            (
                Header {
                    suite: "custom".to_owned(),
                    ..header()
                },
                "it is of mbpp, not custom",
            ),
            (
                Header {
                    data: Hash::of(b"other"),
                    ..header()
                },
                "the data differ",
            ),
            (
                Header {
                    seconds: 3,
                    ..header()
                },
                "20 seconds, not 3",
            ),
            (
                Header {
                    arms: BTreeMap::from([("poll".to_owned(), Pinned::default())]),
                    ..header()
                },
                "its arms are single, not poll",
            ),
            (
                Header {
                    arms: other_arm(Value::Null, "script:b.md"),
                    ..header()
                },
                "the agents or models of single differ",
            ),
            (
                Header {
                    arms: other_arm(Value::Bool(true), "script:a.md"),
                    ..header()
                },
                "the settings of single differ",
            ),
        ];
        let dir = tempfile::tempdir().expect("a folder");
        drop(Book::open(Some(dir.path()), &header()).expect("begun"));
        for (other, says) in rows {
            let error = Book::open(Some(dir.path()), &other)
                .err()
                .expect("refused")
                .to_string();
            assert!(error.contains(says), "{error}");
        }
        std::fs::write(dir.path().join("results.ndjson"), "{}\n").expect("written");
        assert!(
            Book::open(Some(dir.path()), &header())
                .is_err_and(|error| error.to_string().contains("line 1"))
        );
    }
}
