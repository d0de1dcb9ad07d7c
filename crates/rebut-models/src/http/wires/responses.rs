//! OpenAI's responses, which some of its models insist on. Nothing is stored at the provider.

use super::{
    Ask, End, Ending, Outcome, Unread, Wire, by_word_only, no_limit,
    tokens::{Count, or_default},
    writing::{push, push_number, push_schema, push_string},
};
use crate::http::endpoint::{EffortForm, Structured};
use rebut_engine::model::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) const WIRE: Wire = Wire {
    name: "responses",
    answers_with: "response",
    key_header: ("authorization", "Bearer "),
    headers: &[],
    path: |_, _| vec!["responses".to_owned()],
    stream_query: None,
    models_query: None,
    start,
    body,
    usual_limit: no_limit,
    left_out: by_word_only,
    read: |json, outcome| {
        let response: Response<'_> = serde_json::from_str(json).map_err(|_| Unread::Foreign)?;
        if response.status.is_empty() && response.error.is_none() {
            return Ok(false);
        }
        response.add_to(outcome).map(|()| true)
    },
    event,
    ending: Ending::LastEvent,
};

fn start(model: &str) -> Vec<u8> {
    let mut body = br#"{"model":"#.to_vec();
    push_string(&mut body, model);
    push(&mut body, r#","store":false"#);
    body
}

fn body(ask: &Ask<'_>, body: &mut Vec<u8>) {
    let prompt = ask.request.prompt;
    if !prompt.system.is_empty() {
        push(body, r#","instructions":"#);
        push_string(body, &prompt.system);
    }
    push(body, r#","input":"#);
    push_string(body, &prompt.user);
    match ask.manner.structured {
        Structured::None | Structured::Tool => {}
        Structured::Object => push(body, r#","text":{"format":{"type":"json_object"}}"#),
        Structured::Schema => {
            push(body, r#","text":{"format":{"type":"json_schema","name":"#);
            push_string(body, ask.request.schema.name);
            push_schema(
                body,
                r#","strict":true,"schema":"#,
                ask.request.schema,
                "}}",
            );
        }
    }
    push_number(body, r#","temperature":"#, ask.temperature());
    push_number(
        body,
        r#","max_output_tokens":"#,
        ask.request.agent.max_tokens,
    );
    if let Some(effort) = ask.effort(EffortForm::Level) {
        push(body, r#","reasoning":{"effort":"#);
        push_string(body, effort.as_str());
        body.push(b'}');
    }
    if ask.streamed {
        push(body, r#","stream":true"#);
    }
    body.push(b'}');
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(default)]
    status: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    output: Vec<Item>,
    // Kept as text: a malformed count must not cost a good answer.
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    incomplete_details: Option<Details>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    content: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    refusal: String,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default)]
    reason: String,
}

impl Response<'_> {
    /// Adds what a response holds. The texts of one that ends a stream are known already.
    fn add_to(self, outcome: &mut Outcome) -> Result<(), Unread> {
        if let Some(usage) = self.usage {
            outcome.usage = serde_json::from_str::<TokenCounts>(usage.get())
                .ok()
                .map(Usage::from)
                .or(outcome.usage);
        }
        outcome.model = self.model.or(outcome.model.take());
        if let Some(error) = self.error {
            outcome.end = Some(End::Broken("error".to_owned()));
            return Err(Unread::error(error.get()));
        }
        let is_known = !outcome.text.is_empty() || outcome.refusal.is_some();
        for item in self.output {
            outcome.beside |= item.kind != "message";
            for part in item
                .content
                .into_iter()
                .filter(|_| item.kind == "message" && !is_known)
            {
                match part.kind.as_str() {
                    "output_text" => outcome.push(part.text),
                    "refusal" => outcome.refuse(&part.refusal),
                    _ => {}
                }
            }
        }
        let reason = self.incomplete_details.unwrap_or_default().reason;
        outcome.end = Some(match (self.status.as_str(), reason.as_str()) {
            ("completed", _) => End::Complete,
            ("incomplete", "max_output_tokens") => End::Length,
            ("incomplete", "content_filter") => End::Filtered(reason),
            ("incomplete", _) => End::Broken(reason),
            (status, _) => End::Broken(format!("status {status}")),
        });
        Ok(())
    }
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    delta: Option<String>,
    #[serde(default, borrow)]
    response: Option<Response<'a>>,
}

fn event(json: &str, outcome: &mut Outcome) -> Result<bool, Unread> {
    let event: Event<'_> = serde_json::from_str(json).map_err(|_| Unread::Foreign)?;
    match (event.kind.as_str(), event.response) {
        ("response.output_text.delta", _) => outcome.push(event.delta.unwrap_or_default()),
        ("response.refusal.delta", _) => outcome.refuse(&event.delta.unwrap_or_default()),
        ("response.completed" | "response.incomplete" | "response.failed", Some(response)) => {
            return response.add_to(outcome).map(|()| true);
        }
        ("response.created", Some(response)) => outcome.model = response.model,
        ("error", _) => return Err(Unread::error(json)),
        (kind, _) => {
            outcome.beside |=
                kind.starts_with("response.reasoning") || kind.starts_with("response.function_call")
        }
    }
    Ok(false)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenCounts {
    input_tokens: Count,
    output_tokens: Count,
    #[serde(deserialize_with = "or_default")]
    input_tokens_details: InputDetails,
    #[serde(deserialize_with = "or_default")]
    output_tokens_details: OutputDetails,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Count,
}

impl From<TokenCounts> for Usage {
    fn from(counts: TokenCounts) -> Self {
        let cached = counts
            .input_tokens_details
            .cached_tokens
            .0
            .min(counts.input_tokens.0);
        let output = counts.output_tokens.0;
        let reasoning = counts.output_tokens_details.reasoning_tokens.0.min(output);
        Self {
            input: counts.input_tokens.0 - cached,
            cached,
            output,
            reasoning,
            cost_usd: None,
        }
    }
}
