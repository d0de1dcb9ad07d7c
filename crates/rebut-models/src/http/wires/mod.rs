//! The wire formats: how a request is written, and how answers, events and counts are read. One row
//! each.

mod anthropic;
mod chat;
mod content;
mod gemini;
mod responses;
mod tokens;
mod writing;

use super::{
    classes::Reported,
    endpoint::{EffortForm, Manner},
};
use rebut_engine::{
    agent::Effort,
    model::{Request, Usage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a wire format is. The same functions serve every endpoint that speaks it.
pub(crate) struct Wire {
    pub name: &'static str,
    pub answers_with: &'static str,
    /// The header of the key, and what stands before the key in it.
    pub key_header: (&'static str, &'static str),
    pub headers: &'static [(&'static str, &'static str)],
    /// Where a model is asked, below the base URL; the second argument says whether the answer is
    /// to be streamed.
    pub path: fn(&str, bool) -> Vec<String>,
    /// The query of a streamed request.
    pub stream_query: Option<&'static str>,
    /// The query that lists as many models as possible at once.
    pub models_query: Option<&'static str>,
    /// The beginning of a body, the same for every request to a model.
    pub start: fn(&str) -> Vec<u8>,
    /// Writes the rest of the body.
    pub body: fn(&Ask<'_>, &mut Vec<u8>),
    /// The limit of an answer's tokens that is sent although the agent has none, with thinking in
    /// this effort.
    pub usual_limit: fn(&Manner, Option<Effort>) -> Option<u32>,
    /// Which setting of an agent cannot be said on it, or not together with others, and why.
    pub left_out: fn(&Ask<'_>) -> Option<&'static str>,
    /// Reads a whole answer. `false` when it is none.
    pub read: fn(&str, &mut Outcome) -> Result<bool, Unread>,
    /// Reads an event of a stream. `true` when the answer ends with it.
    pub event: fn(&str, &mut Outcome) -> Result<bool, Unread>,
    pub ending: Ending,
}

/// How a stream ends whose answer has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With an event of this data, after everything.
    Data(&'static str),
    /// With the event that ends the answer.
    LastEvent,
    /// With the event that ends the answer if it holds the counts too, else with the body.
    Counts,
}

const WIRES: &[(WireKind, Wire)] = &[
    (WireKind::Chat, chat::WIRE),
    (WireKind::Responses, responses::WIRE),
    (WireKind::Anthropic, anthropic::WIRE),
    (WireKind::Gemini, gemini::WIRE),
];

/// A wire format by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WireKind {
    /// OpenAI's chat completions, which most endpoints speak.
    #[default]
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
}

impl WireKind {
    /// The word for it in configurations.
    pub fn name(self) -> &'static str {
        self.wire().name
    }

    pub(crate) fn wire(self) -> &'static Wire {
        let row = WIRES.iter().find(|(kind, _)| *kind == self);
        &row.expect("every kind has a row, as a test shows").1
    }
}

pub(crate) struct Ask<'a> {
    pub request: &'a Request<'a>,
    pub manner: &'a Manner,
    pub streamed: bool,
}

impl Ask<'_> {
    /// The temperature, where the agent has one and the model takes one.
    fn temperature(&self) -> Option<f64> {
        self.request
            .agent
            .temperature
            .filter(|temperature| self.manner.temperature && temperature.is_finite())
    }

    /// How hard to think, where the agent says so and the model can be told in this form.
    fn effort(&self, form: EffortForm) -> Option<Effort> {
        self.request
            .agent
            .effort
            .filter(|_| self.manner.effort == form)
    }

    /// Which of the agent's settings are not sent, and why.
    pub fn left_out(&self, wire: &Wire) -> Vec<&'static str> {
        let agent = self.request.agent;
        let temperature = agent.temperature.is_some() && !self.manner.temperature;
        let effort = agent.effort.is_some() && self.manner.effort == EffortForm::None;
        let general = [
            temperature.then_some("temperature: the model takes none"),
            effort.then_some("effort: the model cannot be told"),
        ];
        general
            .into_iter()
            .chain([(wire.left_out)(self)])
            .flatten()
            .collect()
    }

    /// How hard to think as a number of tokens.
    fn thinking_budget(&self) -> Option<u32> {
        self.effort(EffortForm::Budget).map(budget_of)
    }
}

/// An effort as a number of tokens.
fn budget_of(effort: Effort) -> u32 {
    match effort {
        Effort::Minimal => 1024,
        Effort::Low => 2048,
        Effort::Medium => 8192,
        Effort::High => 16_384,
    }
}

/// For wires that send no limit of their own.
fn no_limit(_: &Manner, _: Option<Effort>) -> Option<u32> {
    None
}

/// For wires that know effort as a word.
fn by_word_only(ask: &Ask<'_>) -> Option<&'static str> {
    ask.thinking_budget()
        .map(|_| "effort: this wire takes no number of tokens for it; set effort = \"level\"")
}

/// What an answer comes to, or the pieces of a stream so far.
#[derive(Default)]
pub(crate) struct Outcome {
    pub text: String,
    pub refusal: Option<String>,
    /// Why it ended, as far as it is said.
    pub end: Option<End>,
    pub model: Option<String>,
    pub usage: Option<Usage>,
    /// Whether there was thinking or a tool call beside the text.
    pub beside: bool,
    /// Whether the reply is what a tool is called with.
    pub by_tool: bool,
    /// Whether the counts came with the end, on a wire where they may come later.
    pub is_counted: bool,
}

impl Outcome {
    /// Whether anything of an answer has come.
    pub fn has_begun(&self) -> bool {
        !self.text.is_empty() || self.beside || self.model.is_some() || self.usage.is_some()
    }

    /// Adds text; a whole answer is moved, not copied.
    fn push(&mut self, text: String) {
        if self.text.is_empty() {
            self.text = text;
        } else {
            self.text.push_str(&text);
        }
    }

    fn refuse(&mut self, text: &str) {
        self.refusal.get_or_insert_default().push_str(text);
    }
}

/// Why an answer ended, as its provider says.
pub(crate) enum End {
    Complete,
    Length,
    /// A filter, or the model declined.
    Filtered(String),
    /// For a reason that makes it no answer.
    Broken(String),
}

/// Why something could not be read as part of an answer.
pub(crate) enum Unread {
    Foreign,
    Reported(Box<Reported>),
}

impl Unread {
    /// An error, given as JSON that is it or holds it.
    pub fn error(json: &str) -> Self {
        Self::Reported(Box::new(Reported::parse(json)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_row_under_its_name() {
        for kind in [
            WireKind::Chat,
            WireKind::Responses,
            WireKind::Anthropic,
            WireKind::Gemini,
        ] {
            assert_eq!(
                serde_json::to_value(kind).expect("a name"),
                kind.wire().name
            );
        }
    }
}
