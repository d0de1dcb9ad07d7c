//! Anthropic's messages. What stays the same over a debate is marked for its cache.

use super::{
    Ask, End, Ending, Outcome, Unread, Wire, budget_of,
    tokens::{Count, or_default},
    writing::{push, push_number, push_schema, push_string},
};
use crate::http::endpoint::{EffortForm, Manner, Structured};
use rebut_engine::agent::Effort;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) const WIRE: Wire = Wire {
    name: "anthropic",
    answers_with: "message",
    key_header: ("x-api-key", ""),
    headers: &[("anthropic-version", "2023-06-01")],
    path: |_, _| vec!["messages".to_owned()],
    stream_query: None,
    models_query: Some("limit=1000"),
    start,
    body,
    usual_limit: |manner, effort| Some(usual_limit(manner, effort)),
    left_out,
    read,
    event,
    ending: Ending::LastEvent,
};

/// Less thinking than this is not accepted.
const LEAST_BUDGET: u32 = 1024;

fn start(model: &str) -> Vec<u8> {
    let mut body = br#"{"model":"#.to_vec();
    push_string(&mut body, model);
    body
}

fn body(ask: &Ask<'_>, body: &mut Vec<u8>) {
    let prompt = ask.request.prompt;
    let (limit, budget) = limits(ask);
    push_number(body, r#","max_tokens":"#, Some(limit));
    if !prompt.system.is_empty() {
        push(body, r#","system":["#);
        push_block(body, &prompt.system, true);
        body.push(b']');
    }
    push(body, r#","messages":[{"role":"user","content":["#);
    match prompt
        .user
        .split_at_checked(prompt.stable_len())
        .filter(|(stable, growing)| !stable.is_empty() && !growing.is_empty())
    {
        Some((stable, growing)) => {
            push_block(body, stable, true);
            body.push(b',');
            push_block(body, growing, false);
        }
        None => push_block(body, &prompt.user, false),
    }
    push(body, "]}]");
    push_output(ask, body);
    if let Some(budget) = budget {
        push_number(
            body,
            r#","thinking":{"type":"enabled","budget_tokens":"#,
            Some(budget),
        );
        body.push(b'}');
    }
    // Thinking with a budget allows no temperature of one's own.
    push_number(
        body,
        r#","temperature":"#,
        ask.temperature().filter(|_| budget.is_none()),
    );
    if ask.streamed {
        push(body, r#","stream":true"#);
    }
    body.push(b'}');
}

/// The most tokens, thinking included, and how many of them are for thinking.
fn limits(ask: &Ask<'_>) -> (u32, Option<u32>) {
    let agent = ask.request.agent;
    (
        agent
            .max_tokens
            .unwrap_or_else(|| usual_limit(ask.manner, agent.effort)),
        budget(ask).ok().flatten(),
    )
}

/// The most tokens where the agent has no limit: this wire wants one.
fn usual_limit(manner: &Manner, effort: Option<Effort>) -> u32 {
    let thinks = manner.effort == EffortForm::Budget && manner.structured != Structured::Tool;
    manner
        .max_tokens
        .saturating_add(effort.filter(|_| thinks).map_or(0, budget_of))
}

/// How many tokens are for thinking, or why none are although the agent has an effort.
fn budget(ask: &Ask<'_>) -> Result<Option<u32>, &'static str> {
    let Some(budget) = ask.thinking_budget() else {
        return Ok(None);
    };
    if ask.manner.structured == Structured::Tool {
        return Err("effort: a tool that must be called allows no thinking");
    }
    match ask
        .request
        .agent
        .max_tokens
        .map(|most| budget.min(most.saturating_sub(LEAST_BUDGET)))
    {
        None => Ok(Some(budget)),
        Some(fitting) if fitting >= LEAST_BUDGET => Ok(Some(fitting)),
        Some(_) => Err("effort: max_tokens leaves no room to think; give it 2048 or more"),
    }
}

fn left_out(ask: &Ask<'_>) -> Option<&'static str> {
    match budget(ask) {
        Err(why) => Some(why),
        Ok(Some(_)) => ask
            .temperature()
            .map(|_| "temperature: thinking with a number of tokens allows none"),
        Ok(None) => None,
    }
}

fn push_block(body: &mut Vec<u8>, text: &str, cached: bool) {
    push(body, r#"{"type":"text","text":"#);
    push_string(body, text);
    push(
        body,
        if cached {
            r#","cache_control":{"type":"ephemeral"}}"#
        } else {
            "}"
        },
    );
}

/// The form of the answer and the effort, which share a field.
fn push_output(ask: &Ask<'_>, body: &mut Vec<u8>) {
    let schema = ask.request.schema;
    if ask.manner.structured == Structured::Tool {
        push(body, r#","tools":[{"name":"#);
        push_string(body, schema.name);
        push_schema(
            body,
            r#","description":"Gives the reply.","input_schema":"#,
            schema,
            "}]",
        );
        push(body, r#","tool_choice":{"type":"tool","name":"#);
        push_string(body, schema.name);
        body.push(b'}');
    }
    let effort = ask.effort(EffortForm::Level).map(|effort| match effort {
        Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    });
    let has_schema = ask.manner.structured == Structured::Schema;
    if !has_schema && effort.is_none() {
        return;
    }
    push(body, r#","output_config":{"#);
    if has_schema {
        push_schema(
            body,
            r#""format":{"type":"json_schema","schema":"#,
            schema,
            "}",
        );
    }
    if let Some(effort) = effort {
        push(
            body,
            if has_schema {
                r#","effort":"#
            } else {
                r#""effort":"#
            },
        );
        push_string(body, effort);
    }
    body.push(b'}');
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(default, deserialize_with = "or_default", borrow)]
    content: Vec<Block<'a>>,
    #[serde(default)]
    stop_reason: Option<String>,
    // Kept as text: a malformed count must not cost a good answer.
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
    #[serde(default, borrow)]
    input: Option<&'a RawValue>,
}

fn read(json: &str, outcome: &mut Outcome) -> Result<bool, Unread> {
    let message: Message<'_> = serde_json::from_str(json).map_err(|_| Unread::Foreign)?;
    match message.kind.as_str() {
        "message" => message.add_to(outcome),
        "error" => return Err(Unread::error(json)),
        _ => return Ok(false),
    }
    Ok(true)
}

impl Message<'_> {
    fn add_to(self, outcome: &mut Outcome) {
        outcome.model = self.model;
        count(self.usage, outcome);
        for block in self.content {
            match (block.kind.as_str(), block.input) {
                ("text", _) if !outcome.by_tool => outcome.push(block.text),
                ("tool_use", Some(input)) if outcome.by_tool => {
                    outcome.push(input.get().to_owned())
                }
                _ => outcome.beside = true,
            }
        }
        stop(self.stop_reason, outcome);
    }
}

fn stop(reason: Option<String>, outcome: &mut Outcome) {
    let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) else {
        return;
    };
    outcome.end = Some(match reason.as_str() {
        "end_turn" | "stop_sequence" | "tool_use" => End::Complete,
        "max_tokens" | "model_context_window_exceeded" => End::Length,
        "refusal" => End::Filtered(reason),
        // Also a pause of the provider, and whatever is not known to mean a whole answer.
        _ => End::Broken(reason),
    });
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default, borrow)]
    message: Option<Message<'a>>,
    #[serde(default, borrow)]
    content_block: Option<Block<'a>>,
    #[serde(default)]
    delta: Delta,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Delta {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    partial_json: Option<String>,
    #[serde(default)]
    stop_reason: Option<String>,
}

fn event(json: &str, outcome: &mut Outcome) -> Result<bool, Unread> {
    let event: Event<'_> = serde_json::from_str(json).map_err(|_| Unread::Foreign)?;
    match (event.kind.as_str(), event.delta) {
        ("message_start", _) => event.message.map_or((), |message| message.add_to(outcome)),
        ("content_block_start", _) => {
            let kind = event
                .content_block
                .map(|block| block.kind)
                .unwrap_or_default();
            outcome.beside |= kind != if outcome.by_tool { "tool_use" } else { "text" };
        }
        (
            "content_block_delta",
            Delta {
                text: Some(text), ..
            },
        ) if !outcome.by_tool => outcome.push(text),
        (
            "content_block_delta",
            Delta {
                partial_json: Some(json),
                ..
            },
        ) if outcome.by_tool => outcome.push(json),
        ("message_delta", delta) => {
            count(event.usage, outcome);
            stop(delta.stop_reason, outcome);
        }
        ("message_stop", _) => return Ok(true),
        ("error", _) => return Err(Unread::error(json)),
        // Pings, ends of blocks, and kinds that are yet to come.
        _ => {}
    }
    Ok(false)
}

/// Counts come twice in a stream: what was read at the beginning, what was written at the end.
fn count(usage: Option<&RawValue>, outcome: &mut Outcome) {
    let Some(counts) =
        usage.and_then(|usage| serde_json::from_str::<TokenCounts>(usage.get()).ok())
    else {
        return;
    };
    let usage = outcome.usage.get_or_insert_default();
    if let Some(input) = counts.input_tokens {
        usage.input = input.0 + counts.cache_creation_input_tokens.unwrap_or_default().0;
    }
    if let Some(cached) = counts.cache_read_input_tokens {
        usage.cached = cached.0;
    }
    if let Some(output) = counts.output_tokens {
        usage.output = output.0;
    }
    usage.reasoning = counts
        .output_tokens_details
        .thinking_tokens
        .0
        .max(usage.reasoning)
        .min(usage.output);
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenCounts {
    input_tokens: Option<Count>,
    cache_creation_input_tokens: Option<Count>,
    cache_read_input_tokens: Option<Count>,
    output_tokens: Option<Count>,
    #[serde(deserialize_with = "or_default")]
    output_tokens_details: OutputDetails,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Count,
}
