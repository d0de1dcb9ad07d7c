//! A debate as OpenTelemetry spans, in the JSON that collectors take (OTLP). The debate's id is the
//! trace's, and a span's id comes from its event's number: whoever sends a debate twice sends the
//! same spans. Names follow the conventions for generative AI, which still move: they are all here.

use crate::{
    event::{Event, TurnCompleted, TurnFailed, TurnStarted},
    model::Finish,
    record::{Hash, Record, encode_hex},
    view::View,
};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Kinds of spans in the protocol.
const INTERNAL: u32 = 1;
const CLIENT: u32 = 3;

/// The status of a span that failed.
const FAILED: u32 = 2;

/// Providers that the conventions know by another name than ours.
const PROVIDERS: &[(&str, &str)] = &[
    ("gemini", "gcp.gemini"),
    ("mistral", "mistral_ai"),
    ("xai", "x_ai"),
];

/// What is sent to a collector: one span for the debate, one for each round, one for each call.
/// `resource` says who sends, e.g. `service.name`.
pub fn spans(records: &[Record], resource: &[(String, String)]) -> Value {
    let resource: Vec<Value> = resource
        .iter()
        .map(|(key, value)| text(key, value))
        .collect();
    let scope = json!({"name": "rebut", "version": env!("CARGO_PKG_VERSION")});
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": scope, "spans": read(records)}],
    }]})
}

fn read(records: &[Record]) -> Vec<Value> {
    let Some((first, last)) = records.first().zip(records.last()) else {
        return Vec::new();
    };
    let mut spans = vec![whole(records, first, last)];
    let mut rounds: HashMap<String, &Record> = HashMap::new();
    let mut calls: HashMap<String, (&Record, TurnStarted)> = HashMap::new();
    for record in records {
        // What cannot be read was redacted, or a newer program wrote it.
        match record.event() {
            Ok(Some(Event::RoundStarted(started))) => drop(rounds.insert(started.step, record)),
            Ok(Some(Event::RoundCompleted(completed))) => {
                spans.extend(
                    rounds
                        .get(&completed.step)
                        .map(|begun| round(first, begun, record, &completed.step)),
                );
            }
            Ok(Some(Event::TurnStarted(started))) => {
                drop(calls.insert(started.turn.to_string(), (record, started)))
            }
            Ok(Some(Event::TurnCompleted(completed))) if completed.copied_from.is_none() => {
                if let Some((begun, asked)) = calls.remove(&*completed.turn) {
                    let parent = parent(&rounds, first, &completed.turn);
                    spans.push(call(
                        parent,
                        begun,
                        record,
                        &asked,
                        answered(&completed),
                        None,
                    ));
                }
            }
            Ok(Some(Event::TurnFailed(failed))) if !failed.unsent => {
                if let Some((begun, asked)) = calls.remove(&*failed.turn) {
                    let parent = parent(&rounds, first, &failed.turn);
                    spans.push(call(
                        parent,
                        begun,
                        record,
                        &asked,
                        Vec::new(),
                        Some(&failed),
                    ));
                }
            }
            _ => {}
        }
    }
    spans
}

fn whole(records: &[Record], first: &Record, last: &Record) -> Value {
    let view = View::of(records);
    let format = view
        .started
        .as_ref()
        .map_or("", |started| started.format.as_str());
    let mut attributes = vec![
        text("gen_ai.operation.name", "invoke_workflow"),
        text("gen_ai.workflow.name", format),
        text("gen_ai.conversation.id", &first.debate.to_string()),
    ];
    if let Some(outcome) = &view.outcome {
        attributes.push(text("rebut.outcome", outcome.outcome.as_str()));
        attributes.push(number("rebut.degraded", outcome.degraded.len() as u64));
    }
    span(
        None,
        (first, INTERNAL),
        last,
        &format!("invoke_workflow {format}"),
        attributes,
    )
}

fn round(root: &Record, begun: &Record, ended: &Record, step: &str) -> Value {
    span(
        Some(root),
        (begun, INTERNAL),
        ended,
        step,
        vec![text("rebut.step", step)],
    )
}

/// The round a turn belongs to, by its name; the debate itself where there is none.
fn parent<'a>(rounds: &HashMap<String, &'a Record>, root: &'a Record, turn: &str) -> &'a Record {
    std::iter::successors(turn.rsplit_once('/').map(|(step, _)| step), |step| {
        step.rsplit_once('/').map(|(step, _)| step)
    })
    .find_map(|step| rounds.get(step).copied())
    .unwrap_or(root)
}

fn call(
    parent: &Record,
    begun: &Record,
    ended: &Record,
    asked: &TurnStarted,
    answered: Vec<Value>,
    failed: Option<&TurnFailed>,
) -> Value {
    let (provider, model) = asked
        .model
        .split_once(':')
        .unwrap_or((&asked.model, &asked.model));
    let known = PROVIDERS
        .iter()
        .find(|(ours, _)| *ours == provider)
        .map_or(provider, |(_, theirs)| theirs);
    let mut attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.provider.name", known),
        text("gen_ai.request.model", model),
        text("gen_ai.conversation.id", &begun.debate.to_string()),
        text(
            "gen_ai.agent.name",
            begun.agent.as_deref().unwrap_or_default(),
        ),
        text("rebut.turn", &asked.turn),
        number("rebut.attempt", asked.attempt.into()),
    ];
    attributes.extend(answered);
    attributes.extend(
        failed.map(
            |failed| json!({"key": "error.type", "value": {"stringValue": failed.fault.kind}}),
        ),
    );
    let mut span = span(
        Some(parent),
        (begun, CLIENT),
        ended,
        &format!("chat {model}"),
        attributes,
    );
    if let Some(failed) = failed {
        span["status"] = json!({"code": FAILED, "message": failed.fault.kind.describe()});
    }
    span
}

fn answered(completed: &TurnCompleted) -> Vec<Value> {
    let finish = match completed.finish {
        Finish::Complete => "stop",
        Finish::Length => "length",
    };
    let mut attributes = vec![
        json!({"key": "gen_ai.response.finish_reasons", "value": {"arrayValue": {"values": [{"stringValue": finish}]}}}),
    ];
    attributes.extend(
        completed
            .answered_by
            .as_deref()
            .map(|model| text("gen_ai.response.model", model)),
    );
    if let Some(usage) = &completed.usage {
        attributes.push(number(
            "gen_ai.usage.input_tokens",
            usage.input + usage.cached,
        ));
        attributes.push(number("gen_ai.usage.cache_read.input_tokens", usage.cached));
        attributes.push(number("gen_ai.usage.output_tokens", usage.output));
        attributes.extend(
            usage
                .cost_usd
                .map(|cost| json!({"key": "rebut.cost_usd", "value": {"doubleValue": cost}})),
        );
    }
    attributes
}

fn span(
    parent: Option<&Record>,
    (begun, kind): (&Record, u32),
    ended: &Record,
    name: &str,
    attributes: Vec<Value>,
) -> Value {
    let mut span = json!({
        "traceId": encode_hex(begun.debate.as_bytes()),
        "spanId": span_id(begun),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds(&begun.ts),
        "endTimeUnixNano": nanoseconds(&ended.ts),
        "attributes": attributes,
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = span_id(parent).into();
    }
    span
}

/// The hash of the record would do, but a redaction must not change an id, and neither must a
/// program that cannot see hashes.
fn span_id(begun: &Record) -> String {
    encode_hex(&Hash::of(format!("{}/{}", begun.debate, begun.seq).as_bytes()).0[..8])
}

/// Numbers of this size are text in the protocol's JSON. A time that cannot be read is the
/// beginning of all times, which shows.
fn nanoseconds(ts: &str) -> String {
    ts.parse::<jiff::Timestamp>()
        .map_or(0, jiff::Timestamp::as_nanosecond)
        .to_string()
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}
