//! The results of a bench as lines of a file: what it is, which debates were begun, what came of each problem. Written one by one, so that
//! whatever ends the program, what was done is there.

use super::scoring::Verdict;
use crate::error::CliError;
use rebut_engine::{DebateId, record::Hash};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    path::Path,
};

/// What a bench is: only results of the same may stand in one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The suite's name.
    pub suite: String,
    /// The hash of the data, unpacked.
    pub data: Hash,
    /// Seconds the tests of a program have.
    pub seconds: u32,
    /// Its arms.
    pub arms: BTreeMap<String, Pinned>,
}

/// What shapes an arm's programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pinned {
    /// Who writes, with the model.
    pub agents: Vec<Value>,
    /// The settings.
    pub config: Value,
}

/// What came of one problem in one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The problem.
    pub problem: String,
    /// The arm.
    pub arm: String,
    /// The debate, where there was one.
    pub debate: Option<DebateId>,
    /// How it was scored.
    pub verdict: Verdict,
    /// Why, in one line; empty for a pass.
    pub why: String,
    /// Tests that held.
    pub passed: usize,
    /// Tests there were.
    pub tests: usize,
    /// Whether the program ran in the process that judged it: then a hostile program could have forged its pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_process: bool,
    /// Calls made.
    pub calls: u32,
    /// Tokens used.
    pub tokens: u64,
    /// US dollars; null when a price is unknown.
    pub cost: Option<f64>,
    /// Milliseconds of this run, from the beginning to the score.
    pub ms: u64,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Header(Header),
    /// Written before the debate begins: whatever happens then, it is found by its id.
    Begun {
        problem: String,
        arm: String,
        debate: DebateId,
    },
    Result(Row),
}

/// Which problem in which arm.
pub type Key = (String, String);

/// What is known so far. Without a file it is known to this run only.
pub struct Book {
    file: Option<File>,
    /// What is scored.
    pub rows: BTreeMap<Key, Row>,
    /// Debates that were begun, by what for; the last one counts.
    pub begun: BTreeMap<Key, DebateId>,
}

impl Book {
    /// Opens the file in a folder, or begins it. Another bench's file is refused, and so is one that another process writes.
    pub fn open(dir: Option<&Path>, header: &Header) -> Result<Self, CliError> {
        let mut book = Self { file: None, rows: BTreeMap::new(), begun: BTreeMap::new() };
        let Some(dir) = dir else { return Ok(book) };
        std::fs::create_dir_all(dir).map_err(|error| CliError::file("create", dir, &error))?;
        let path = dir.join("results.ndjson");
        let failed = |doing: &'static str| {
            let path = path.clone();
            move |error: std::io::Error| CliError::file(doing, &path, &error)
        };
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed("write"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(
                    CliError::failed(format!("another process writes {}", path.display())).hint("wait for it, or give another --out")
                );
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock")(error)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed("read"))?;
        // A line without an end is one that was being written when everything stopped.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        book.take_in(&text[..whole], header).map_err(|why| {
            CliError::usage(format!("{}: {why}", path.display())).hint("give another --out, or the same data, arms and models as before")
        })?;
        file.set_len(whole as u64).and_then(|()| file.seek(SeekFrom::End(0)).map(drop)).map_err(failed("write"))?;
        book.file = Some(file);
        if whole == 0 {
            book.write(&Line::Header(header.clone()))?;
        }
        Ok(book)
    }

    /// Records that a debate begins.
    pub fn begin(&mut self, key: &Key, debate: DebateId) -> Result<(), CliError> {
        self.begun.insert(key.clone(), debate);
        self.write(&Line::Begun { problem: key.0.clone(), arm: key.1.clone(), debate })
    }

    /// Records what came of a problem.
    pub fn add(&mut self, row: Row) -> Result<(), CliError> {
        self.write(&Line::Result(row.clone()))?;
        self.rows.insert((row.problem.clone(), row.arm.clone()), row);
        Ok(())
    }

    fn take_in(&mut self, text: &str, header: &Header) -> Result<(), String> {
        for (number, line) in text.lines().enumerate() {
            let line: Line = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
            match line {
                Line::Header(known) if number == 0 => {
                    if let Some(what) = difference(&known, header) {
                        return Err(format!("it holds results of another bench: {what}"));
                    }
                }
                Line::Header(_) => return Err(format!("line {}: a second header", number + 1)),
                _ if number == 0 => return Err("it has no header".to_owned()),
                Line::Begun { problem, arm, debate } => drop(self.begun.insert((problem, arm), debate)),
                Line::Result(row) => drop(self.rows.insert((row.problem.clone(), row.arm.clone()), row)),
            }
        }
        Ok(())
    }

    /// Writes one line, whole, and waits for the disk: a result that was told is not lost.
    fn write(&mut self, line: &Line) -> Result<(), CliError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut text = serde_json::to_string(line).map_err(|error| CliError::failed(error.to_string()))?;
        text.push('\n');
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(|error| {
            CliError::failed(format!("cannot write the results: {error}")).hint("free the disk and start again: what is there is kept")
        })
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
        return Some(format!("tests had {} seconds, not {}", known.seconds, header.seconds));
    }
    if names(known) != names(header) {
        return Some(format!("its arms are {}, not {}", names(known), names(header)));
    }
    let (arm, was, is) =
        known.arms.iter().zip(header.arms.values()).map(|((arm, was), is)| (arm, was, is)).find(|(_, was, is)| was != is)?;
    let what = if was.agents == is.agents { "the settings" } else { "the agents or models" };
    Some(format!("{what} of {arm} differ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let arm = Pinned { agents: vec![serde_json::json!({"name": "ada", "model": "script:a.md"})], config: Value::Null };
        Header { suite: "mbpp".to_owned(), data: Hash::of(b"data"), seconds: 20, arms: BTreeMap::from([("single".to_owned(), arm)]) }
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
            assert!(Book::open(Some(dir.path()), &header()).is_err_and(|error| error.to_string().contains("another process")));
        }
        let text = std::fs::read_to_string(&file).expect("the file");
        std::fs::write(&file, format!("{text}{{\"line\":\"result\",\"prob")).expect("torn");
        let mut book = Book::open(Some(dir.path()), &header()).expect("opened again");
        assert_eq!((book.rows.len(), book.begun.get(&key)), (1, Some(&id)));
        book.add(row("2")).expect("written");
        drop(book);
        let book = Book::open(Some(dir.path()), &header()).expect("and again");
        assert_eq!(book.rows.keys().map(|(problem, _)| problem.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn another_bench_is_refused_and_says_what_differs() {
        let other_arm = |config, model: &str| {
            let agents = vec![serde_json::json!({"name": "ada", "model": model})];
            BTreeMap::from([("single".to_owned(), Pinned { agents, config })])
        };
        let rows = [
            (Header { suite: "custom".to_owned(), ..header() }, "it is of mbpp, not custom"),
            (Header { data: Hash::of(b"other"), ..header() }, "the data differ"),
            (Header { seconds: 3, ..header() }, "20 seconds, not 3"),
            (Header { arms: BTreeMap::from([("poll".to_owned(), Pinned::default())]), ..header() }, "its arms are single, not poll"),
            (Header { arms: other_arm(Value::Null, "script:b.md"), ..header() }, "the agents or models of single differ"),
            (Header { arms: other_arm(Value::Bool(true), "script:a.md"), ..header() }, "the settings of single differ"),
        ];
        let dir = tempfile::tempdir().expect("a folder");
        drop(Book::open(Some(dir.path()), &header()).expect("begun"));
        for (other, says) in rows {
            let error = Book::open(Some(dir.path()), &other).err().expect("refused").to_string();
            assert!(error.contains(says), "{error}");
        }
        std::fs::write(dir.path().join("results.ndjson"), "{}\n").expect("written");
        assert!(Book::open(Some(dir.path()), &header()).is_err_and(|error| error.to_string().contains("line 1")));
    }
}
