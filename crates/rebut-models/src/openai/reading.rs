//! What endpoints really answer: narrow types that take only what is used and bear with what is odd.

use rebut_engine::model::{Finish, Usage};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// A completion, whole or one piece of a stream.
#[derive(Deserialize)]
pub(super) struct Completion<'a> {
    #[serde(default, borrow)]
    model: Option<Text<'a>>,
    #[serde(default, deserialize_with = "or_default", borrow)]
    choices: Vec<Choice<'a>>,
    // Kept as text: a malformed count must not cost a good answer.
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    /// In a whole answer.
    #[serde(default)]
    message: Option<Message>,
    /// In a stream; a few servers send both, and then this is the new part.
    #[serde(default)]
    delta: Option<Message>,
    #[serde(default, borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
struct Message {
    #[serde(default)]
    content: Content,
    #[serde(default)]
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// What a completion comes to, or the pieces of a stream so far.
#[derive(Default)]
pub(super) struct Outcome {
    pub text: String,
    pub refusal: Option<String>,
    /// `None` when a filter ended the answer.
    pub finish: Option<Finish>,
    pub model: Option<String>,
    pub usage: Option<Usage>,
}

impl<'a> Completion<'a> {
    /// Reads a body or a stream's event.
    pub fn parse(json: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }

    /// Whether it holds anything of a completion at all: any JSON object can be read as an empty one.
    pub fn is_one(&self) -> bool {
        !self.choices.is_empty() || self.usage.is_some() || self.error.is_some() || self.model.is_some()
    }

    /// Adds a piece to what is known. Returns whether it names the end, or the error it holds as JSON.
    pub fn add_to(self, outcome: &mut Outcome) -> Result<bool, String> {
        if let Some(error) = self.error {
            return Err(error.get().to_owned());
        }
        if outcome.model.is_none() {
            outcome.model = self.model.map(|model| model.0.into_owned());
        }
        if let Some(usage) = self.usage {
            outcome.usage = serde_json::from_str::<TokenCounts>(usage.get()).ok().map(Usage::from);
        }
        let Some(choice) = self.choices.into_iter().next() else { return Ok(false) };
        if let Some(Message { content, refusal }) = choice.delta.or(choice.message) {
            // A whole answer is moved, not copied.
            if outcome.text.is_empty() {
                outcome.text = content.0
            } else {
                outcome.text.push_str(&content.0)
            }
            if let Some(refusal) = refusal {
                outcome.refusal.get_or_insert_default().push_str(&refusal);
            }
        }
        let Some(reason) = choice.finish_reason else { return Ok(false) };
        outcome.finish = match &*reason.0 {
            "length" | "max_tokens" => Some(Finish::Length),
            "content_filter" => None,
            _ => Some(Finish::Complete),
        };
        Ok(true)
    }

    /// What a whole completion comes to.
    pub fn into_outcome(self) -> Result<Outcome, String> {
        // Without any reason given, what is there is all there is.
        let mut outcome = Outcome { finish: Some(Finish::Complete), ..Outcome::default() };
        self.add_to(&mut outcome).map(|_| outcome)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenCounts {
    prompt_tokens: Count,
    completion_tokens: Count,
    #[serde(deserialize_with = "or_default")]
    prompt_tokens_details: PromptDetails,
    #[serde(deserialize_with = "or_default")]
    completion_tokens_details: CompletionDetails,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

impl From<TokenCounts> for Usage {
    fn from(counts: TokenCounts) -> Self {
        let cached = counts.prompt_tokens_details.cached_tokens.0.min(counts.prompt_tokens.0);
        let output = counts.completion_tokens.0;
        let reasoning = counts.completion_tokens_details.reasoning_tokens.0.min(output);
        Self { input: counts.prompt_tokens.0 - cached, cached, output, reasoning, cost_usd: None }
    }
}

/// A number of tokens somebody else counted: never negative, never so large that sums could overflow.
#[derive(Clone, Copy, Default)]
struct Count(u64);

const MOST_TOKENS: u64 = 100_000_000;

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The cast saturates, and takes NaN and negative numbers for 0.
        Option::<f64>::deserialize(deserializer).map(|count| Self((count.unwrap_or(0.0) as u64).min(MOST_TOKENS)))
    }
}

/// `null` where a list or an object belongs is what some servers write for "none".
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A message's text: a string, or a list of parts of which the texts count (and not the thinking).
#[derive(Default)]
struct Content(String);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor).map(Self)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a list of parts, or null")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<String, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<Part>()? {
            text.push_str(&part.0);
        }
        Ok(text)
    }
}

struct Part(String);

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartVisitor).map(Self)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<String, A::Error> {
        let mut text = String::new();
        while let Some(field) = fields.next_key::<Cow<'de, str>>()? {
            if field == "text" {
                text = fields.next_value()?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}
