//! What an event leaves in the tables for people besides its record: a version of the code, or an
//! entry in the row of a turn. Pure.

use crate::{
    event::Event,
    facts::{CodeMetrics, CodeRecorded},
    record::{Place, Record},
    run_code::RunCompleted,
    sandbox::TestVerdict,
};
use serde::Serialize;
use std::sync::Arc;

/// What one event leaves in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    pub seq: u64,
    pub created_at: Arc<str>,
    pub made: Made,
}

/// What is left in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// A row of `code_versions`, of the turn it names.
    Code(Arc<CodeRecorded>),
    /// One more entry of a list in a row of `debate_turns`; nothing where there is no such row.
    Entry {
        list: TurnList,
        of: OfTurn,
        /// The entry, as a JSON object that holds its `seq`.
        json: String,
    },
}

/// The lists in a row of `debate_turns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnList {
    ToolCalls,
    TestResults,
    Reflections,
}

/// Which turn a list belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfTurn {
    Named(Arc<str>),
    /// The last turn of that agent before the event.
    LastOf(Arc<str>),
}

/// The tables of one debate as far as they come from projections: what a store gives back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// The versions of its code, by the number of their record.
    pub code: Vec<CodeRow>,
    /// The turns whose lists hold anything, by the number of their record.
    pub turns: Vec<TurnLists>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CodeRow {
    pub seq: u64,
    /// The record of the turn it came with; `None` when that is not there.
    pub turn_seq: Option<u64>,
    pub language: String,
    pub code: String,
    pub version_number: u32,
    /// 0 to 1, where somebody rated it.
    pub quality_score: Option<f64>,
    /// The share of tests that held; `None` when there was none.
    pub test_pass_rate: Option<f64>,
    /// What can be counted in it, as JSON; `shared_process` there says that the pass rate could be
    /// forged.
    pub metrics: String,
    /// What changed since the version before; `None` when there is none.
    pub diff_from_previous: Option<String>,
    pub created_at: String,
}

/// The lists in a row of `debate_turns`, each a JSON array.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnLists {
    pub seq: u64,
    pub tool_calls: Option<String>,
    pub test_results: Option<String>,
    pub reflections: Option<String>,
}

impl Projection {
    /// What an event at that place leaves, if anything.
    pub fn of(seq: u64, created_at: &Arc<str>, place: &Place, event: &Event) -> Option<Self> {
        let last = || {
            place
                .agent
                .as_deref()
                .map(|agent| OfTurn::LastOf(agent_in(agent).into()))
        };
        let entry = |list, of, json| Made::Entry { list, of, json };
        let made = match event {
            Event::CodeRecorded(code) => Made::Code(code.clone()),
            Event::ToolCalled(call) => entry(
                TurnList::ToolCalls,
                OfTurn::Named(call.turn.clone()),
                with_seq(seq, &event.to_data()),
            ),
            Event::ReflectionRecorded(_) => entry(
                TurnList::Reflections,
                last()?,
                with_seq(seq, &event.to_data()),
            ),
            Event::RunCompleted(completed) => {
                entry(TurnList::TestResults, last()?, results(seq, completed))
            }
            _ => return None,
        };
        Some(Self {
            seq,
            created_at: created_at.clone(),
            made,
        })
    }

    /// What a record leaves, if it can be read.
    pub fn of_record(record: &Record) -> Option<Self> {
        let event = record
            .event()
            .ok()
            .flatten()
            .filter(|_| !record.is_redacted())?;
        let place = Place {
            round: record.round,
            phase: record.phase.clone(),
            agent: record.agent.clone(),
        };
        Self::of(record.seq, &record.ts, &place, &event)
    }
}

impl CodeRow {
    pub fn of(seq: u64, turn_seq: Option<u64>, created_at: &str, code: &CodeRecorded) -> Self {
        Self {
            seq,
            turn_seq,
            language: code.language.clone(),
            code: code.code.clone(),
            version_number: code.version,
            quality_score: code.quality,
            test_pass_rate: code
                .tests
                .filter(|tests| tests.total > 0)
                .map(|tests| f64::from(tests.passed) / f64::from(tests.total)),
            metrics: metrics(code),
            diff_from_previous: Some(code.diff.clone()).filter(|diff| !diff.is_empty()),
            created_at: created_at.to_owned(),
        }
    }
}

/// What can be counted in a version, and whether its pass rate could be forged: the table has no
/// column of its own for that.
fn metrics(code: &CodeRecorded) -> String {
    #[derive(Serialize)]
    struct Metrics {
        #[serde(flatten)]
        counted: CodeMetrics,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        shared_process: bool,
    }
    let metrics = Metrics {
        counted: code.metrics,
        shared_process: code.tests.is_some_and(|tests| tests.shared_process),
    };
    serde_json::to_string(&metrics).expect("numbers are always JSON")
}

/// A run of `ada` may be named `ada/tool 1`.
fn agent_in(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

/// An object's text with the number of its record as its first field.
fn with_seq(seq: u64, object: &str) -> String {
    format!(
        "{{\"seq\":{seq},{}",
        object.trim_start().trim_start_matches('{')
    )
}

/// How a run went in short: its output stays in the journal.
fn results(seq: u64, completed: &RunCompleted) -> String {
    #[derive(Serialize)]
    struct Results<'a> {
        seq: u64,
        run: &'a str,
        passed: usize,
        total: usize,
        tests: Vec<(&'a str, TestVerdict)>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        shared_process: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        not_believed: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        refused: Option<&'a str>,
    }
    let ran = completed.ran.as_ref();
    let tests = ran.map(|ran| ran.tests.as_slice()).unwrap_or_default();
    let results = Results {
        seq,
        run: &completed.run,
        passed: ran.map_or(0, crate::sandbox::Ran::passed),
        total: tests.len(),
        tests: tests
            .iter()
            .map(|test| (test.name.as_str(), test.verdict))
            .collect(),
        shared_process: ran.is_some_and(|ran| ran.shared_process),
        not_believed: ran.and_then(|ran| ran.distrust.as_deref()),
        refused: completed
            .refused
            .as_ref()
            .map(|refused| refused.reason.as_str()),
    };
    serde_json::to_string(&results).expect("words and numbers are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        facts::TestCount,
        sandbox::{End, Ran, TestRun},
    };

    #[test]
    fn the_tables_say_where_passes_could_be_forged_and_nothing_elsewhere() {
        for shared_process in [false, true] {
            let code = CodeRecorded {
                version: 1,
                candidate: "ada".into(),
                turn: "proposal 1/ada".into(),
                language: "c".to_owned(),
                code: "int x;".to_owned(),
                tests: Some(TestCount {
                    passed: 1,
                    total: 1,
                    shared_process,
                }),
                quality: None,
                metrics: CodeMetrics::default(),
                diff: String::new(),
            };
            let ran = Ran {
                shared_process,
                ..Ran::plain(End::Exited(0), [TestRun::new("a", TestVerdict::Pass)])
            };
            let completed = RunCompleted {
                run: "given-tests 1/ada".into(),
                ran: Some(ran),
                refused: None,
            };
            for text in [
                CodeRow::of(1, None, "now", &code).metrics,
                results(1, &completed),
                serde_json::to_string(&code).expect("JSON"),
            ] {
                assert_eq!(
                    text.contains("\"shared_process\":true"),
                    shared_process,
                    "{text}"
                );
                assert_eq!(
                    text.contains("shared_process"),
                    shared_process,
                    "what was written before reads the same: {text}"
                );
            }
        }
    }
}
