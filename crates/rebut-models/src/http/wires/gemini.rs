//! Google's `generateContent`.

use super::{
    Ask, End, Ending, Outcome, Unread, Wire, no_limit,
    tokens::{Count, or_default},
    writing::{push, push_number, push_schema, push_string},
};
use crate::http::endpoint::{EffortForm, Structured};
use rebut_engine::model::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) const WIRE: Wire = Wire {
    name: "gemini",
    answers_with: "generated content",
    key_header: ("x-goog-api-key", ""),
    headers: &[],
    path: |model, streamed| {
        let verb = if streamed {
            "streamGenerateContent"
        } else {
            "generateContent"
        };
        vec![
            "models".to_owned(),
            format!("{}:{verb}", model.strip_prefix("models/").unwrap_or(model)),
        ]
    },
    stream_query: Some("alt=sse"),
    models_query: Some("pageSize=1000"),
    start: |_| br#"{"#.to_vec(),
    body,
    usual_limit: no_limit,
    left_out: |_| None,
    read: |json, outcome| {
        let content = Generated::parse(json)?;
        if !content.is_one() {
            return Ok(false);
        }
        content.add_to(outcome).map(|ended| {
            if !ended {
                outcome.end = Some(End::Broken("no reason given".to_owned()));
            }
            true
        })
    },
    event: |json, outcome| Generated::parse(json)?.add_to(outcome),
    ending: Ending::Counts,
};

fn body(ask: &Ask<'_>, body: &mut Vec<u8>) {
    let prompt = ask.request.prompt;
    if !prompt.system.is_empty() {
        push(body, r#""systemInstruction":{"parts":[{"text":"#);
        push_string(body, &prompt.system);
        push(body, "}]},");
    }
    push(body, r#""contents":[{"role":"user","parts":[{"text":"#);
    push_string(body, &prompt.user);
    push(body, r#"}]}],"generationConfig":{"candidateCount":1"#);
    match ask.manner.structured {
        Structured::None | Structured::Tool => {}
        Structured::Object => push(body, r#","responseMimeType":"application/json""#),
        Structured::Schema => {
            push_schema(
                body,
                r#","responseMimeType":"application/json","responseJsonSchema":"#,
                ask.request.schema,
                "",
            );
        }
    }
    push_number(body, r#","temperature":"#, ask.temperature());
    push_number(body, r#","maxOutputTokens":"#, ask.request.agent.max_tokens);
    if let Some(effort) = ask.effort(EffortForm::Level) {
        push(body, r#","thinkingConfig":{"thinkingLevel":"#);
        push_string(body, effort.as_str());
        body.push(b'}');
    }
    if let Some(budget) = ask.thinking_budget() {
        // Thinking counts as output: what is written needs as much room.
        let budget = ask
            .request
            .agent
            .max_tokens
            .map_or(budget, |most| budget.min(most / 2));
        push_number(
            body,
            r#","thinkingConfig":{"thinkingBudget":"#,
            Some(budget),
        );
        body.push(b'}');
    }
    push(body, "}}");
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Generated<'a> {
    #[serde(default, deserialize_with = "or_default")]
    candidates: Vec<Candidate>,
    #[serde(default)]
    prompt_feedback: Option<Feedback>,
    // Kept as text: a malformed count must not cost a good answer.
    #[serde(default, borrow)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(default)]
    model_version: Option<String>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default, deserialize_with = "or_default")]
    content: Content,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    finish_message: Option<String>,
}

#[derive(Default, Deserialize)]
struct Content {
    #[serde(default, deserialize_with = "or_default")]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thought: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default)]
    block_reason: Option<String>,
}

const FILTERS: &[&str] = &[
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
];

impl<'a> Generated<'a> {
    fn parse(json: &'a str) -> Result<Self, Unread> {
        serde_json::from_str(json).map_err(|_| Unread::Foreign)
    }

    fn is_one(&self) -> bool {
        !self.candidates.is_empty()
            || self.prompt_feedback.is_some()
            || self.usage_metadata.is_some()
            || self.error.is_some()
    }

    /// Adds a piece to what is known. Returns whether it names the end.
    fn add_to(self, outcome: &mut Outcome) -> Result<bool, Unread> {
        if let Some(error) = self.error {
            return Err(Unread::error(error.get()));
        }
        outcome.model = self.model_version.or(outcome.model.take());
        outcome.is_counted = self.usage_metadata.is_some();
        if let Some(usage) = self.usage_metadata {
            outcome.usage = serde_json::from_str::<TokenCounts>(usage.get())
                .ok()
                .map(Usage::from);
        }
        if let Some(reason) = self
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason)
        {
            outcome.end = Some(End::Filtered(reason));
            return Ok(true);
        }
        let Some(candidate) = self.candidates.into_iter().next() else {
            return Ok(false);
        };
        for part in candidate.content.parts {
            match part.text {
                Some(text) if !part.thought => outcome.push(text),
                _ => outcome.beside = true,
            }
        }
        let Some(reason) = candidate.finish_reason else {
            return Ok(false);
        };
        outcome.end = Some(match reason.as_str() {
            "STOP" => End::Complete,
            "MAX_TOKENS" => End::Length,
            filter if FILTERS.contains(&filter) => End::Filtered(reason),
            _ => End::Broken(candidate.finish_message.unwrap_or(reason)),
        });
        Ok(true)
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TokenCounts {
    prompt_token_count: Count,
    cached_content_token_count: Count,
    candidates_token_count: Count,
    thoughts_token_count: Count,
}

impl From<TokenCounts> for Usage {
    fn from(counts: TokenCounts) -> Self {
        let cached = counts
            .cached_content_token_count
            .0
            .min(counts.prompt_token_count.0);
        // Google counts thinking beside what is written.
        let reasoning = counts.thoughts_token_count.0;
        let output = counts.candidates_token_count.0 + reasoning;
        Self {
            input: counts.prompt_token_count.0 - cached,
            cached,
            output,
            reasoning,
            cost_usd: None,
        }
    }
}
