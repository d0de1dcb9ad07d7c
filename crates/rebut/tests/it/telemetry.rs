//! Debates as OpenTelemetry spans, sent to a collector that the standard variables name.

use crate::rebut::Rebut;
use rebut_testkit::catcher::Catcher;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const DECIDE: &[&str] = &[
    "decide",
    "Tabs or spaces?",
    "-O",
    "A=Tabs",
    "-O",
    "B=Spaces",
    "-m",
    "rehearsal:",
];

/// A span's attributes as text.
fn attributes(span: &Value) -> BTreeMap<String, String> {
    let list = span["attributes"].as_array().expect("attributes");
    let value = |value: &Value| {
        value
            .as_object()
            .and_then(|object| object.values().next())
            .map(|value| value.to_string().trim_matches('"').to_owned())
    };
    list.iter()
        .map(|pair| {
            (
                pair["key"].as_str().expect("a key").to_owned(),
                value(&pair["value"]).expect("a value"),
            )
        })
        .collect()
}

#[test]
fn a_debate_is_one_trace_of_its_rounds_and_calls() {
    let collector = Catcher::start(&[200]);
    let mut rebut = Rebut::new();
    rebut.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    rebut.set(
        "OTEL_EXPORTER_OTLP_HEADERS",
        "authorization=Bearer%20letmein",
    );
    let id = rebut.json(0, &[DECIDE, &["--json", "--exit-zero"]].concat())["debate_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let caught = collector.next();
    assert_eq!(
        (caught.line.as_str(), caught.header("authorization")),
        ("POST /v1/traces HTTP/1.1", Some("Bearer letmein"))
    );
    let sent: Value = serde_json::from_str(&caught.body).expect("JSON");
    let spans = sent["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .expect("spans");
    let trace = id.replace('-', "");
    assert!(
        spans.iter().all(|span| span["traceId"] == trace.as_str()),
        "the trace is the debate"
    );
    let ids: BTreeSet<&str> = spans
        .iter()
        .filter_map(|span| span["spanId"].as_str())
        .collect();
    assert_eq!(ids.len(), spans.len(), "every span has an id of its own");
    let (roots, others): (Vec<&Value>, Vec<&Value>) = spans
        .iter()
        .partition(|span| span["parentSpanId"].is_null());
    assert!(
        others
            .iter()
            .all(|span| ids.contains(span["parentSpanId"].as_str().expect("a parent"))),
        "parents are there"
    );
    assert_eq!(
        (roots.len(), roots[0]["name"].as_str()),
        (1, Some("invoke_workflow decide"))
    );
    let calls = spans
        .iter()
        .map(attributes)
        .filter(|attributes| {
            attributes
                .get("gen_ai.operation.name")
                .is_some_and(|name| name == "chat")
        })
        .count();
    let recorded = rebut
        .events(&id)
        .iter()
        .filter(|event| event["type"] == "turn.completed")
        .count();
    assert_eq!(calls, recorded, "one span for each call");
    assert!(
        !caught.body.contains("Tabs or spaces"),
        "no text of the debate is sent"
    );
    assert_eq!(attributes(roots[0])["gen_ai.conversation.id"], id);
}

#[test]
fn a_collector_that_is_away_or_unwilling_costs_a_warning() {
    let unwilling = Catcher::start(&[503]);
    for (url, complaint) in [
        ("http://127.0.0.1:9".to_owned(), "spans were not sent"),
        (unwilling.url(), "the collector answered 503"),
    ] {
        let mut rebut = Rebut::new();
        rebut.set("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
        let output = rebut.run(&[DECIDE, &["--exit-zero"]].concat());
        assert_eq!(output.code, 0, "{}", output.stderr);
        assert!(output.stderr.contains(complaint), "{}", output.stderr);
    }
}
