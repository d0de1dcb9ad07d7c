//! The table of formats. A format is one row here, one file (or folder) beside this one, and its prompts and preset.

pub mod arms;
pub mod consensus;
pub mod decide;
mod hearing;
pub mod question;
pub mod triage;
pub mod weights;

use crate::{agent::Agent, debate::Debate, error::Halt, event::Limits, outcome::Outcome, record::Hash, reply::Schema, view::View};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

/// The future of a format's run.
pub type Run<'a> = Pin<Box<dyn Future<Output = Result<Outcome, Halt>> + Send + 'a>>;

/// The rules of one kind of debate.
#[derive(Clone, Copy)]
pub struct Format {
    /// What users type.
    pub name: &'static str,
    /// Grows when recorded debates could not be re-run by the new rules.
    pub version: u32,
    /// One line.
    pub about: &'static str,
    /// The defaults, as TOML.
    pub preset: &'static str,
    /// Its prompt files and their text.
    pub prompts: &'static [(&'static str, &'static str)],
    /// The forms of its replies.
    pub replies: fn() -> Vec<Schema>,
    /// Checks a request; gives the topic.
    pub check: fn(input: &Value, config: &Value, agents: &[Agent]) -> Result<String, String>,
    /// Checks complete settings.
    pub check_config: fn(config: &Value) -> Result<(), String>,
    /// The limits its settings ask for.
    pub limits: fn(config: &Value) -> Limits,
    /// How many calls its closing steps make, such as a final judge's: under a cap, room is kept for them.
    pub closing_calls: u32,
    /// The rules themselves.
    pub run: for<'a> fn(&'a Debate) -> Run<'a>,
    /// What a person may answer when it ends contested: letter and label.
    pub choices: fn(&View) -> Vec<(String, String)>,
}

/// Every format there is.
pub const FORMATS: &[Format] = &[decide::FORMAT, triage::FORMAT, arms::single::FORMAT, arms::poll::FORMAT, arms::society::FORMAT];

impl Format {
    /// The hash of each prompt file.
    pub fn prompt_hashes(&self) -> Arc<BTreeMap<String, Hash>> {
        // Every debate pins them, and they never change while the program runs.
        static KNOWN: Mutex<BTreeMap<&str, Arc<BTreeMap<String, Hash>>>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let hashes = || self.prompts.iter().map(|(file, source)| ((*file).to_owned(), Hash::of(source.as_bytes()))).collect();
        known.entry(self.name).or_insert_with(|| Arc::new(hashes())).clone()
    }
}
