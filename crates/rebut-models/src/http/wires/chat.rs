//! OpenAI's chat completions, which most endpoints speak. Narrow types that take only what is used
//! and bear with what is odd.

use super::{
    Ask, End, Ending, Outcome, Unread, Wire, by_word_only,
    content::Content,
    no_limit,
    tokens::{Count, or_default},
    writing::{push, push_number, push_schema, push_string},
};
use crate::http::endpoint::{EffortForm, MaxTokensField, Structured};
use rebut_engine::model::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

pub(super) const WIRE: Wire = Wire {
    name: "chat",
    answers_with: "chat completion",
    key_header: ("authorization", "Bearer "),
    headers: &[],
    path: |_, _| vec!["chat".to_owned(), "completions".to_owned()],
    stream_query: None,
    models_query: None,
    start,
    body,
    usual_limit: no_limit,
    left_out: by_word_only,
    read: |json, outcome| {
        let completion = Completion::parse(json)?;
        if !completion.is_one() {
            return Ok(false);
        }
        completion.add_to(outcome).map(|_| true)
    },
    event: |json, outcome| Completion::parse(json)?.add_to(outcome),
    ending: Ending::Data("[DONE]"),
};

fn start(model: &str) -> Vec<u8> {
    let mut body = br#"{"model":"#.to_vec();
    push_string(&mut body, model);
    push(&mut body, r#","messages":["#);
    body
}

fn body(ask: &Ask<'_>, body: &mut Vec<u8>) {
    let prompt = ask.request.prompt;
    if !prompt.system.is_empty() {
        push_message(body, "system", &prompt.system);
        body.push(b',');
    }
    push_message(body, "user", &prompt.user);
    body.push(b']');
    push_format(ask, body);
    push_number(body, r#","temperature":"#, ask.temperature());
    let limit = match ask.manner.max_tokens_field {
        MaxTokensField::MaxTokens => r#","max_tokens":"#,
        MaxTokensField::MaxCompletionTokens => r#","max_completion_tokens":"#,
    };
    push_number(body, limit, ask.request.agent.max_tokens);
    if let Some(effort) = ask.effort(EffortForm::Level) {
        push(body, r#","reasoning_effort":"#);
        push_string(body, effort.as_str());
    }
    if ask.streamed {
        push(
            body,
            r#","stream":true,"stream_options":{"include_usage":true}"#,
        );
    }
    body.push(b'}');
}

fn push_format(ask: &Ask<'_>, body: &mut Vec<u8>) {
    match ask.manner.structured {
        Structured::None | Structured::Tool => {}
        Structured::Object => push(body, r#","response_format":{"type":"json_object"}"#),
        Structured::Schema => {
            push(
                body,
                r#","response_format":{"type":"json_schema","json_schema":{"name":"#,
            );
            push_string(body, ask.request.schema.name);
            push_schema(
                body,
                r#","strict":true,"schema":"#,
                ask.request.schema,
                "}}",
            );
        }
    }
}

fn push_message(body: &mut Vec<u8>, role: &str, content: &str) {
    push(body, r#"{"role":""#);
    push(body, role);
    push(body, r#"","content":"#);
    push_string(body, content);
    body.push(b'}');
}

/// A completion, whole or one piece of a stream.
#[derive(Deserialize)]
struct Completion<'a> {
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
    #[serde(default)]
    reasoning: Present,
    #[serde(default)]
    reasoning_content: Present,
    #[serde(default)]
    tool_calls: Present,
}

/// Something whose content does not matter.
#[derive(Default)]
struct Present(bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<serde::de::IgnoredAny>::deserialize(deserializer).map(|any| Self(any.is_some()))
    }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Completion<'a> {
    fn parse(json: &'a str) -> Result<Self, Unread> {
        serde_json::from_str(json).map_err(|_| Unread::Foreign)
    }

    /// Whether it holds anything of a completion at all: any JSON object can be read as an empty
    /// one.
    fn is_one(&self) -> bool {
        !self.choices.is_empty()
            || self.usage.is_some()
            || self.error.is_some()
            || self.model.is_some()
    }

    /// Adds a piece to what is known. Returns whether it names the end.
    fn add_to(self, outcome: &mut Outcome) -> Result<bool, Unread> {
        if let Some(error) = self.error {
            return Err(Unread::error(&format!("{{\"error\":{}}}", error.get())));
        }
        if outcome.model.is_none() {
            outcome.model = self.model.map(|model| model.0.into_owned());
        }
        if let Some(usage) = self.usage {
            outcome.usage = serde_json::from_str::<TokenCounts>(usage.get())
                .ok()
                .map(Usage::from);
        }
        let Some(choice) = self.choices.into_iter().next() else {
            return Ok(false);
        };
        if let Some(message) = choice.delta.or(choice.message) {
            outcome.push(message.content.0);
            outcome.beside |=
                message.reasoning.0 || message.reasoning_content.0 || message.tool_calls.0;
            if let Some(refusal) = message.refusal {
                outcome.refuse(&refusal);
            }
        }
        let reason = choice.finish_reason.map(|reason| reason.0);
        // Some providers send an empty reason with each piece until the last.
        let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) else {
            return Ok(false);
        };
        outcome.end = Some(ended_by(&reason));
        Ok(true)
    }
}

/// What a finish reason says of the answer. Providers have words of their own for an answer that
/// was cut, so only those that are known to mean a whole one are taken for that.
fn ended_by(reason: &str) -> End {
    match reason.trim().to_ascii_lowercase().as_str() {
        "stop" | "stop_sequence" | "end_turn" | "eos" | "eos_token" | "tool_calls"
        | "function_call" => End::Complete,
        "length" | "max_tokens" | "max_output_tokens" | "model_length" => End::Length,
        "content_filter" | "sensitive" | "safety" => End::Filtered(reason.to_owned()),
        _ => End::Broken(reason.to_owned()),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenCounts {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    /// Where DeepSeek counts what was cached.
    prompt_cache_hit_tokens: Count,
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
        let (input, written) = (counts.prompt_tokens.0, counts.completion_tokens.0);
        let cached = counts
            .prompt_tokens_details
            .cached_tokens
            .0
            .max(counts.prompt_cache_hit_tokens.0)
            .min(input);
        let thought = counts.completion_tokens_details.reasoning_tokens.0;
        // Nearly all count thinking as written; where the sum shows that it was counted apart, it
        // is added.
        let output = if counts.total_tokens.0 == input + written + thought {
            written + thought
        } else {
            written
        };
        Self {
            input: input - cached,
            cached,
            output,
            reasoning: thought.min(output),
            cost_usd: None,
        }
    }
}
