//! The table of formats. A format is one row here, one file (or folder) beside this one, and its
//! prompts and preset.

pub mod baselines;
pub mod casting;
pub mod challenge;
pub mod consensus;
pub mod decide;
pub mod evaluate;
pub mod offer;
mod peer_view;
pub mod propose;
pub mod question;
pub mod review;
pub mod rules;
pub mod solve;
pub mod timeouts;
pub mod triage;
pub mod weights;

use crate::{
    agent::Agent,
    debate::Debate,
    error::Stop,
    event::{Limits, Started},
    outcome::{Ending, Outcome},
    prompt::PromptFile,
    record::Hash,
    reply::Schema,
    report::ResultCard,
    view::View,
};
use casting::Casting;
use offer::Offer;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

/// The future of a format's run.
pub type Run<'a> = Pin<Box<dyn Future<Output = Result<Outcome, Stop>> + Send + 'a>>;

/// The rules of one kind of debate.
#[derive(Clone, Copy)]
pub struct Format {
    pub name: &'static str,
    /// Grows when recorded debates could not be re-run by the new rules.
    pub version: u32,
    pub about: &'static str,
    pub preset: &'static str,
    /// Its prompt files and their text.
    pub prompts: &'static [PromptFile],
    pub replies: fn() -> Vec<Schema>,
    /// Checks a request; gives the topic.
    pub check: fn(input: &Value, config: &Value, agents: &[Agent]) -> Result<String, String>,
    pub check_config: fn(config: &Value) -> Result<(), String>,
    /// The limits its settings ask for.
    pub limits: fn(config: &Value) -> Limits,
    /// How many calls its closing steps make, such as a final judge's: under a cap, room is kept
    /// for them.
    pub closing_calls: u32,
    pub run: for<'a> fn(&'a Debate) -> Run<'a>,
    /// What a person may answer when it ends contested: letter and label.
    pub choices: fn(&View) -> Vec<(String, String)>,
    /// The calls it will make, as far as they can be foreseen from a checked request; retries and
    /// clarifications come on top.
    pub foresee: Foresee,
    /// Whether it could come to an end if only those agents answered who are marked.
    pub suffices: fn(config: &Value, agents: &[Agent], can_answer: &[bool]) -> bool,
    /// How its debates are read. `None` is the reading of formats whose agents hold options and are
    /// counted.
    pub reading: Option<Reading>,
    pub casting: Casting,
    /// What can be asked of it; `None` for formats that commands use for one turn of their own.
    pub offer: Option<Offer>,
}

/// Foresees the calls of a debate from its input, settings and agents.
pub type Foresee =
    fn(input: &Value, config: &Value, agents: &[Agent]) -> Result<Vec<Foreseen>, String>;

/// A call that a debate will make, or may have to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// Which of the agents is asked.
    pub agent: usize,
    /// How many answers of others it is told.
    pub hears: usize,
    /// Whether it is made in any case.
    pub is_sure: bool,
}

/// How a format's debates are read by people. Each function also reads a debate that has not ended,
/// or ended without a result.
#[derive(Clone, Copy)]
pub struct Reading {
    /// What of its settings matters to a reader, after the format's name.
    pub heading: fn(&Started) -> String,
    /// What happened and what came out, one line each, for a terminal. Model text in it is made
    /// harmless already.
    pub lines: fn(&View) -> Vec<String>,
    /// The same in full as Markdown, without times, ids and costs: equal runs give equal bytes.
    pub transcript: fn(&View) -> String,
    /// What a completed debate lacks of what was asked of it.
    pub shortfall: fn(&Outcome) -> Option<Shortfall>,
    /// The parts of the HTML report that show its result, once there is one; without them the lines
    /// of a terminal stand there.
    pub card: fn(&View) -> Option<Box<dyn ResultCard>>,
    /// Whether its result is findings in a text, which other tools read, and nothing to draw.
    pub has_findings: bool,
    /// Why a result does not reach the score that somebody asked for.
    pub held_back: fn(&Outcome, least: f64) -> Option<String>,
}

impl Reading {
    /// Heading, lines and transcript, and nothing else that is special.
    pub const fn of(
        heading: fn(&Started) -> String,
        lines: fn(&View) -> Vec<String>,
        transcript: fn(&View) -> String,
    ) -> Self {
        Self {
            heading,
            lines,
            transcript,
            shortfall: |_| None,
            card: |_| None,
            has_findings: false,
            held_back: |_, _| None,
        }
    }
}

/// What a debate that ran to its end lacks of what was asked of it. Its ending is `completed` all
/// the same: nothing went wrong with the debate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// There are tests, and not all of them hold.
    TestsFail,
    /// There are tests, and they did not run.
    NotShown,
}

impl Shortfall {
    pub const ALL: [Self; 2] = [Self::TestsFail, Self::NotShown];

    /// What a debate lacks, by its ending. Only where it was completed: other endings say
    /// themselves what is wrong.
    pub fn of(format: &str, outcome: &Outcome) -> Option<Self> {
        let reading = Format::named(format)?
            .reading
            .filter(|_| outcome.outcome == Ending::Completed)?;
        (reading.shortfall)(outcome)
    }

    /// The word used in JSON and in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TestsFail => "tests_fail",
            Self::NotShown => "not_shown",
        }
    }
}

/// How a debate ended, in a word for people: its ending, or what it lacks.
pub fn ending_word(format: &str, outcome: &Outcome) -> String {
    Shortfall::of(format, outcome)
        .map_or(outcome.outcome.as_str(), Shortfall::as_str)
        .to_uppercase()
        .replace('_', " ")
}

impl Foreseen {
    /// So many rounds in which everybody speaks and hears what all said before; the first `sure` of
    /// them are made in any case.
    pub fn rounds(agents: usize, rounds: u32, sure: u32) -> Vec<Self> {
        let round = |round: u32| {
            (0..agents).map(move |agent| Self {
                agent,
                hears: agents * (round - 1) as usize,
                is_sure: round <= sure,
            })
        };
        (1..=rounds.max(1)).flat_map(round).collect()
    }
}

pub const FORMATS: &[Format] = &[
    decide::FORMAT,
    challenge::FORMAT,
    evaluate::FORMAT,
    review::FORMAT,
    solve::FORMAT,
    triage::FORMAT,
    propose::FORMAT,
    baselines::single::FORMAT,
    baselines::poll::FORMAT,
    baselines::society::FORMAT,
];

impl Format {
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The format of a debate, if this program knows it.
    pub fn of(view: &View) -> Option<&'static Self> {
        Self::named(&view.started.as_ref()?.format)
    }

    /// The hash of each prompt file.
    pub fn prompt_hashes(&self) -> Arc<BTreeMap<String, Hash>> {
        // Every debate pins them, and they never change while the program runs.
        static KNOWN: Mutex<BTreeMap<&str, Arc<BTreeMap<String, Hash>>>> =
            Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let hashes = || {
            self.prompts
                .iter()
                .map(|prompt| (prompt.file.to_owned(), Hash::of(prompt.source.as_bytes())))
                .collect()
        };
        known
            .entry(self.name)
            .or_insert_with(|| Arc::new(hashes()))
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A text that is not pinned could change unnoticed between two runs of a debate: its recorded
    /// turns would seem to come of other prompts, and it would be stopped instead of going on with
    /// the new text.
    #[test]
    fn every_prompt_file_is_pinned_by_the_formats_that_use_it() {
        let prompts = concat!(env!("CARGO_MANIFEST_DIR"), "/prompts");
        let names = |folder: &str| -> Vec<String> {
            let entries = fs::read_dir(format!("{prompts}/{folder}"))
                .expect("a folder")
                .flatten();
            entries
                .map(|entry| entry.file_name().into_string().expect("a plain name"))
                .collect()
        };
        // What a role says is pinned with the agent who plays it.
        for folder in names("").into_iter().filter(|folder| folder != "roles") {
            for file in names(&folder)
                .into_iter()
                .map(|name| format!("{folder}/{name}"))
            {
                let pinning: Vec<&str> = FORMATS
                    .iter()
                    .filter(|format| format.prompts.iter().any(|own| own.file == file))
                    .map(|format| format.name)
                    .collect();
                let expected: Vec<&str> = match file.as_str() {
                    "kernel/clarify.md" => FORMATS.iter().map(|format| format.name).collect(),
                    "kernel/tools.md" | "kernel/tool-result.md" => vec!["solve"],
                    _ if Format::named(&folder).is_some() => vec![folder.as_str()],
                    _ => pinning.clone(),
                };
                assert!(
                    !pinning.is_empty() && pinning == expected,
                    "{file} is pinned by {pinning:?}, not by {expected:?}"
                );
            }
        }
    }
}
