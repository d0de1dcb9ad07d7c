//! The versions of a debate's code as its journal tells them: who wrote which, at which phase, what
//! changed, where each line comes from. Pure.

use rebut_engine::{
    event::{Event, Started},
    facts::{CodeRecorded, TestCount},
    formats::solve::Phase,
    record::Record,
    view::View,
};
use serde_json::Value;
use similar::{ChangeTag, DiffOp, TextDiff};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Version {
    pub code: Arc<CodeRecorded>,
    /// The phase it was recorded in; `None` where the journal says none.
    pub phase: Option<Arc<str>>,
    pub tests_of: TestsOf,
    /// When it was recorded, in seconds since 1970; 0 where the journal's time is none.
    pub at: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestsOf {
    #[default]
    Unknown,
    Task,
    Author,
}

impl TestsOf {
    /// While authors try their own code, and where the task has no tests, the tests are theirs.
    fn at(phase: Option<&str>, started: Option<&Started>) -> Self {
        let given = started.and_then(|started| started.input.get("tests")?.as_str());
        match given {
            None => Self::Unknown,
            Some(_) if phase == Some(Phase::SelfEvolvement.name()) => Self::Author,
            Some(tests) if tests.trim().is_empty() => Self::Author,
            Some(_) => Self::Task,
        }
    }
}

impl Version {
    /// The version an event brings, if it brings one, in the debate that began so.
    pub fn of(record: &Record, started: Option<&Started>) -> Option<Self> {
        match record.event() {
            Ok(Some(Event::CodeRecorded(code))) => {
                let at = record
                    .ts
                    .parse::<jiff::Timestamp>()
                    .map_or(0, |at| at.as_second().max(0));
                let tests_of = TestsOf::at(record.phase.as_deref(), started);
                Some(Self {
                    code,
                    phase: record.phase.clone(),
                    tests_of,
                    at,
                })
            }
            _ => None,
        }
    }

    /// What came of its tests, in words. No run is no pass.
    pub fn tests_in_words(&self) -> String {
        let Some(tests) = self.code.tests else {
            return "nothing was run".to_owned();
        };
        let TestCount { passed, total, .. } = tests;
        let whose = match self.tests_of {
            TestsOf::Unknown => "",
            TestsOf::Task => "given ",
            TestsOf::Author => "own ",
        };
        format!(
            "{passed} of {total} {whose}{} passed{}",
            if total == 1 { "test" } else { "tests" },
            tests.shared_note()
        )
    }

    /// Who wrote it: whoever spoke at its turn, e.g. the blue team that patched another's
    /// candidate.
    pub fn author(&self) -> &str {
        let spoke = self
            .code
            .turn
            .split('/')
            .nth(1)
            .filter(|name| !name.trim().is_empty());
        spoke.unwrap_or(&self.code.candidate)
    }
}

/// All versions of a journal, in their order.
pub fn all(records: &[Record]) -> Vec<Version> {
    let started = View::of(records).started;
    records
        .iter()
        .filter_map(|record| Version::of(record, started.as_deref()))
        .collect()
}

/// The version the outcome names: its very code, else the last version of the candidate that won.
/// Without a winner there is none.
pub fn winner(view: &View) -> Option<&CodeRecorded> {
    let result = &view.outcome.as_ref()?.result;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let name = text(&result["winner"]).or_else(|| text(&result["winner"]["candidate"]));
    let of_winner =
        |code: &&Arc<CodeRecorded>| name.as_deref().is_none_or(|name| &*code.candidate == name);
    let exact = result["code"].as_str().and_then(|won| {
        view.code
            .iter()
            .rev()
            .filter(of_winner)
            .find(|code| code.code == won)
    });
    exact
        .map(Arc::as_ref)
        .or_else(|| last_of(view, name.as_deref()?))
}

/// The last version of a candidate.
pub fn last_of<'a>(view: &'a View, candidate: &str) -> Option<&'a CodeRecorded> {
    view.code
        .iter()
        .rev()
        .find(|code| &*code.candidate == candidate)
        .map(Arc::as_ref)
}

/// How a version came to be from the one before it of the same candidate.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    pub added: usize,
    pub removed: usize,
    /// Whether there was none before it.
    pub is_first: bool,
}

/// The version before this one of the same candidate.
pub fn before<'a>(versions: &'a [Version], of: &Version) -> Option<&'a Version> {
    let earlier = versions
        .iter()
        .take_while(|known| known.code.version != of.code.version);
    earlier
        .filter(|known| known.code.candidate == of.code.candidate)
        .last()
}

pub fn change(versions: &[Version], of: &Version) -> Change {
    let before = before(versions, of);
    let diff = TextDiff::from_lines(before.map_or("", |before| &before.code.code), &of.code.code);
    let count = |tag: ChangeTag| {
        diff.iter_all_changes()
            .filter(|change| change.tag() == tag)
            .count()
    };
    Change {
        added: count(ChangeTag::Insert),
        removed: count(ChangeTag::Delete),
        is_first: before.is_none(),
    }
}

/// Each line of a version with the version that wrote it: lines that a candidate kept are whoever's
/// wrote them first.
pub fn origins<'a>(versions: &'a [Version], of: &'a Version) -> Vec<(&'a Version, &'a str)> {
    let mut lines: Vec<(&Version, &str)> = Vec::new();
    let up_to = versions
        .iter()
        .position(|known| known.code.version == of.code.version)
        .map_or(0, |at| at + 1);
    let mut text = "";
    for version in versions[..up_to]
        .iter()
        .filter(|known| known.code.candidate == of.code.candidate)
    {
        let diff = TextDiff::from_lines(text, &version.code.code);
        let mut next = Vec::new();
        for op in diff.ops() {
            match *op {
                DiffOp::Equal { old_index, len, .. } => {
                    next.extend_from_slice(&lines[old_index..old_index + len])
                }
                DiffOp::Insert {
                    new_index, new_len, ..
                }
                | DiffOp::Replace {
                    new_index, new_len, ..
                } => {
                    next.extend(
                        diff.new_slices()[new_index..new_index + new_len]
                            .iter()
                            .map(|line| (version, *line)),
                    );
                }
                DiffOp::Delete { .. } => {}
            }
        }
        text = &version.code.code;
        lines = next;
    }
    lines
}

/// The name of a file with code in that language.
pub fn usual_name(language: &str) -> String {
    const ENDINGS: &[(&str, &str)] = &[
        ("python", "py"),
        ("javascript", "js"),
        ("rust", "rs"),
        ("go", "go"),
        ("c", "c"),
        ("cpp", "cpp"),
        ("shell", "sh"),
    ];
    let ending = ENDINGS
        .iter()
        .find(|(known, _)| *known == language)
        .map_or("txt", |(_, ending)| ending);
    format!("solution.{ending}")
}

/// The code as a file holds it: with an end to its last line.
pub fn as_file(code: &str) -> String {
    let end = if code.ends_with('\n') { "" } else { "\n" };
    format!("{code}{end}")
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use rebut_engine::facts::CodeMetrics;

    /// A version of that number, candidate, turn and code.
    pub fn version(number: u32, candidate: &str, turn: &str, code: &str) -> Version {
        let code = CodeRecorded {
            version: number,
            candidate: candidate.into(),
            turn: turn.into(),
            language: "python".to_owned(),
            code: code.to_owned(),
            tests: Some(TestCount {
                passed: number,
                total: 3,
                shared_process: false,
            }),
            quality: None,
            metrics: CodeMetrics::default(),
            diff: String::new(),
        };
        Version {
            code: Arc::new(code),
            phase: Some("proposal".into()),
            tests_of: TestsOf::Unknown,
            at: i64::from(number),
        }
    }

    #[test]
    fn every_line_is_the_version_s_that_wrote_it() {
        let rows: &[(&str, &[&str], &[u32])] = &[
            ("the first wrote all", &["a\nb\n"], &[1, 1]),
            ("a line between", &["a\nb\n", "a\nx\nb\n"], &[1, 2, 1]),
            (
                "a line changed and changed back",
                &["a\nb\n", "a\nx\n", "a\nb\n"],
                &[1, 3],
            ),
            ("a line gone", &["a\nb\nc\n", "a\nc\n"], &[1, 1]),
            ("unchanged", &["a\n", "a\n"], &[1]),
            ("everything anew", &["a\nb\n", "c\nd\n"], &[2, 2]),
            ("the last line gets an end", &["a", "a\n"], &[2]),
            ("nothing left", &["a\n", ""], &[]),
        ];
        for (what, texts, expected) in rows {
            let mut versions: Vec<Version> = texts
                .iter()
                .zip(1..)
                .map(|(text, number)| {
                    version(number, "ada", &format!("proposal {number}/ada"), text)
                })
                .collect();
            // Another's lines are never hers.
            versions.insert(1, version(9, "bob", "proposal 1/bob", "a\nx\nb\nc\nd\n"));
            let last = versions
                .last()
                .filter(|last| last.code.version != 9)
                .or(versions.first())
                .expect("a version")
                .clone();
            let lines = origins(&versions, &last);
            let numbers: Vec<u32> = lines
                .iter()
                .map(|(version, _)| version.code.version)
                .collect();
            assert_eq!(&numbers, expected, "{what}");
            assert_eq!(
                lines.iter().map(|(_, line)| *line).collect::<String>(),
                last.code.code,
                "{what}"
            );
        }
    }

    #[test]
    fn passes_that_could_be_forged_say_so() {
        let mut one = version(2, "ada", "proposal 1/ada", "a\n");
        assert_eq!(one.tests_in_words(), "2 of 3 tests passed");
        Arc::make_mut(&mut one.code).tests = Some(TestCount {
            passed: 2,
            total: 3,
            shared_process: true,
        });
        assert_eq!(
            one.tests_in_words(),
            "2 of 3 tests passed (same process: could be forged)"
        );
    }

    #[test]
    fn who_wrote_a_version_and_what_it_changed() {
        let versions = [
            version(1, "ada", "proposal 1/ada", "a\nb\n"),
            version(2, "bob", "proposal 1/bob/clarify", "z\n"),
            version(3, "ada", "defence 1 C1/blue-team", "a\nc\nd\n"),
            version(4, "ada", "odd", "a\nc\nd\n"),
        ];
        let rows = [
            ("ada", 2, 0, true),
            ("bob", 1, 0, true),
            ("blue-team", 2, 1, false),
            ("ada", 0, 0, false),
        ];
        for (known, (author, added, removed, is_first)) in versions.iter().zip(rows) {
            assert_eq!(known.author(), author);
            assert_eq!(
                change(&versions, known),
                Change {
                    added,
                    removed,
                    is_first
                },
                "{}",
                known.code.version
            );
        }
    }
}
