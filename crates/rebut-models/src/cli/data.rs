//! An agent CLI as data: how it is called, where its answer is, what it may see.

use rebut_engine::model::FaultKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A CLI as a configuration describes it under `[clis.NAME]`. What is left out keeps its built-in
/// value.
///
/// Texts may hold `{prompt}`, `{system}`, `{schema}`, `{schema_file}`, `{model}`, `{effort}`,
/// `{dir}` and `{home}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CliData {
    /// The program, looked for in `PATH`; the section's name unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments. One that needs a value which is absent is left out, with its group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<Arg>>,
    /// When the prompt goes by standard input instead of `{prompt}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Stdin>,
    /// Whose home directory it sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<Home>,
    /// Variables to set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Variables of ours it may see, besides `PATH` and `LANG`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<Vec<String>>,
    /// Files to write before it starts: below its workspace, or with `~/` below its own home (never
    /// the user's).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Names of files it reads on its own, also in directories above its workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_files: Option<Vec<String>>,
    /// Seconds without any output after which it is ended; 0 for no such limit. 120 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<u64>,
    /// Milliseconds it may take to exit after its result. 5000 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// How many of it may run at once. 4 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Arguments that make it print its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_args: Option<Vec<String>>,
    /// Variables any of which signs it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_vars: Option<Vec<String>>,
    /// Files below the user's home any of which means it is signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_files: Option<Vec<String>>,
    /// What to do when it is not signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// How to install or update it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// What it prints.
    pub output: OutputData,
}

/// One argument, or several that go together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Arg {
    /// One.
    One(String),
    /// All or none.
    Group(Vec<String>),
    /// Only when a variable it may see is set.
    When {
        /// The variable.
        var: String,
        /// The arguments.
        args: Vec<String>,
    },
}

/// When the prompt goes by standard input. It is closed afterwards in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Always: other users of the machine can read arguments.
    Always,
    /// When it is too large for an argument.
    #[default]
    Large,
    /// Never: the program does not read it.
    Never,
}

/// Whose home directory a CLI sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Home {
    /// A fresh one, removed afterwards.
    #[default]
    Own,
    /// The user's: its login lives there.
    User,
    /// A fresh one when one of `key_vars` is set, else the user's.
    OwnWithKey,
}

/// What a CLI prints and where the parts of an answer are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputData {
    /// Its form; `text` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Events that mean it has said all. Without any, the first that holds an answer or an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<Vec<Pick>>,
    /// Where the answer is: the first of these that is there, in the last event that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Vec<Pick>>,
    /// What marks a failure, and where its message is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<Pick>>,
    /// Messages with such words are complaints about an answer that is there all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harmless: Option<Vec<String>>,
    /// Answers that begin so are failures told as answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_text: Option<Vec<String>>,
    /// What marks an answer cut at a length limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Vec<Pick>>,
    /// Who really answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Vec<Pick>>,
    /// What it used, summed over all events that tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageAt>,
}

/// The form of a CLI's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The answer itself; complete when the program exits with 0.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// One JSON array of events.
    JsonArray,
    /// An event a line.
    Jsonl,
}

/// A place in the output: in events that have these values, what is at this path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pick {
    /// Paths and the values they must have, e.g. `{ type = "item.completed", "item.type" =
    /// "agent_message" }`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub event: BTreeMap<String, String>,
    /// Where in the event: names between dots, `*` for every member, `@` for the members' names.
    /// Empty for nothing but the match.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// For failures: their class, where it is not told by the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<FaultKind>,
}

/// Where tokens and money are. Each is a sum of paths; one with a minus before it is taken off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UsageAt {
    /// The events that tell it.
    pub event: BTreeMap<String, String>,
    /// Input that was not cached.
    pub input: Vec<String>,
    /// Input read from a cache.
    pub cached: Vec<String>,
    /// Output, reasoning included.
    pub output: Vec<String>,
    /// The part spent on reasoning.
    pub reasoning: Vec<String>,
    /// US dollars.
    pub cost_usd: Vec<String>,
}

/// The CLIs compiled in.
pub fn built_in() -> BTreeMap<String, CliData> {
    toml::from_str(include_str!("clis.toml"))
        .expect("the compiled-in CLIs are valid, as a test shows")
}

impl CliData {
    /// This section with what another one names.
    pub fn changed_by(mut self, other: &Self) -> Self {
        let other = other.clone();
        self.env.extend(other.env);
        self.files.extend(other.files);
        Self {
            command: other.command.or(self.command),
            args: other.args.or(self.args),
            stdin: other.stdin.or(self.stdin),
            home: other.home.or(self.home),
            pass: other.pass.or(self.pass),
            context_files: other.context_files.or(self.context_files),
            idle_s: other.idle_s.or(self.idle_s),
            grace_ms: other.grace_ms.or(self.grace_ms),
            concurrency: other.concurrency.or(self.concurrency),
            version_args: other.version_args.or(self.version_args),
            key_vars: other.key_vars.or(self.key_vars),
            login_files: other.login_files.or(self.login_files),
            login: other.login.or(self.login),
            install: other.install.or(self.install),
            output: self.output.changed_by(other.output),
            ..self
        }
    }
}

impl OutputData {
    fn changed_by(self, other: Self) -> Self {
        Self {
            format: other.format.or(self.format),
            done: other.done.or(self.done),
            answer: other.answer.or(self.answer),
            errors: other.errors.or(self.errors),
            harmless: other.harmless.or(self.harmless),
            error_text: other.error_text.or(self.error_text),
            cut: other.cut.or(self.cut),
            model: other.model.or(self.model),
            usage: other.usage.or(self.usage),
        }
    }
}
