//! A review as SARIF 2.1.0, the form in which code hosts and editors take findings. Pure.

use crate::{
    clean::{for_sarif, on_one_line},
    formats::review::{
        ReviewResult, Severity,
        locate::Spot,
        operations::{KINDS, Merged},
        render::spots,
    },
    view::View,
};
use serde_json::{Value, json};

/// The merged operations of a review as one SARIF log; an error in words for anything that is none.
pub fn sarif(view: &View) -> Result<String, String> {
    let result = ReviewResult::of(view)
        .ok_or("only a review that ended with a result can be written as SARIF")?;
    let rules = rules(&result);
    let places = spots(view, &result);
    let results: Vec<Value> = result
        .merged
        .iter()
        .zip(places)
        .map(|(merged, spot)| finding(merged, spot, &rules))
        .collect();
    log(&rules, results, invocation(view))
}

/// A log without findings, for when there was nothing to review: what reads it learns that nothing
/// is left of an earlier run.
pub fn empty_sarif(why: &str) -> Result<String, String> {
    let said = notification("note", &format!("nothing to review: {why}"));
    log(
        &[],
        Vec::new(),
        json!({"executionSuccessful": true, "toolExecutionNotifications": [said]}),
    )
}

/// How the review went: who is missing, which limit was met, whether models spoke at all. Without
/// all of that, few findings look like few faults.
fn invocation(view: &View) -> Value {
    let mut said = Vec::new();
    let outcome = view.outcome.as_ref();
    for absence in outcome.iter().flat_map(|outcome| &outcome.degraded) {
        said.push(notification(
            "warning",
            &format!(
                "missing: {} ({} at {})",
                absence.agent, absence.reason, absence.turn
            ),
        ));
    }
    if let Some(stop) = outcome.and_then(|outcome| outcome.stopped.as_ref()) {
        said.push(notification("error", &format!("stopped: {}", stop.why)));
    }
    let is_whole = said.is_empty();
    let is_rehearsal = view
        .started
        .as_ref()
        .is_some_and(|started| started.rehearsal);
    if is_rehearsal {
        said.push(notification(
            "warning",
            "rehearsal: the built-in speaker answered, not a model",
        ));
    }
    json!({"executionSuccessful": is_whole, "toolExecutionNotifications": said, "properties": {"rehearsal": is_rehearsal}})
}

fn notification(level: &str, text: &str) -> Value {
    json!({"level": level, "message": {"text": for_sarif(&on_one_line(text))}})
}

fn log(rules: &[Rule], results: Vec<Value>, invocation: Value) -> Result<String, String> {
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "rebut review",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| rule.json()).collect::<Vec<_>>(),
            }},
            "invocations": [invocation],
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    });
    let text = serde_json::to_string_pretty(&log).map_err(|error| error.to_string())?;
    Ok(format!("{text}\n"))
}

/// A rule: one kind of operation of one reviewer.
#[derive(PartialEq)]
struct Rule {
    id: String,
    kind: &'static str,
    about: &'static str,
    by: String,
}

impl Rule {
    fn of(merged: &Merged) -> Self {
        let row = merged.operation.kind.row();
        let by = on_one_line(&merged.operation.by);
        Self {
            id: format!("{by}/{}", row.name),
            kind: row.name,
            about: row.about,
            by,
        }
    }

    fn json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.kind,
            "shortDescription": {"text": for_sarif(&format!("{}: {}", self.by, self.about))},
        })
    }
}

/// The rules that are used, by reviewer, then in the order of the table of kinds.
fn rules(result: &ReviewResult) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for rule in result.merged.iter().map(Rule::of) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let number = |rule: &Rule| KINDS.iter().position(|row| row.name == rule.kind);
    rules.sort_by(|one, other| (&one.by, number(one)).cmp(&(&other.by, number(other))));
    rules
}

fn finding(merged: &Merged, spot: Option<Spot>, rules: &[Rule]) -> Value {
    let operation = &merged.operation;
    let rule = Rule::of(merged);
    let mut finding = json!({
        "ruleId": rule.id,
        "ruleIndex": rules.iter().position(|known| *known == rule),
        "level": level(operation.severity),
        "message": {"text": message(merged)},
        "partialFingerprints": {"operation/v1": fingerprint(merged)},
        "properties": {
            "severity": operation.severity.as_str(),
            "confidence": operation.confidence,
            "evidence_verified": operation.verified,
            "proposed_by": merged.proposed_by,
        },
    });
    if let Some(location) = spot.and_then(physical) {
        finding["locations"] = json!([location]);
    }
    finding
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    }
}

fn message(merged: &Merged) -> String {
    let operation = &merged.operation;
    let does = operation.text.trim();
    let does = if does.is_empty() {
        String::new()
    } else {
        format!("\n{}: {does}", operation.kind.name())
    };
    let misquotes = if operation.misquotes() {
        " (quotes what is not there)"
    } else {
        ""
    };
    for_sarif(&format!(
        "{}: {}{misquotes}{does}",
        operation.target,
        operation.rationale.trim()
    ))
}

/// The same finding has the same mark in the next run, also when lines moved.
fn fingerprint(merged: &Merged) -> String {
    let operation = &merged.operation;
    let words = format!(
        "{}\n{}\n{}",
        operation.kind.name(),
        operation.by,
        crate::formats::review::operations::normalised(&operation.target)
    );
    crate::record::Hash::of(words.as_bytes()).to_string()
}

fn physical(spot: Spot) -> Option<Value> {
    if spot.file.is_empty() {
        return None;
    }
    let mut place = json!({"artifactLocation": {"uri": uri(&spot.file)}});
    if let Some(line) = spot.line {
        place["region"] = json!({"startLine": line});
    }
    Some(json!({"physicalLocation": place}))
}

/// A path as a relative URI: slashes between its parts, everything unusual encoded. Where on a
/// machine a file lies is nobody's business.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    let path = path.replace('\\', "/");
    let is_absolute = path.starts_with('/') || path.as_bytes().get(1..3) == Some(b":/");
    let path = if is_absolute {
        path.rsplit('/').next().unwrap_or_default()
    } else {
        path.trim_start_matches("./")
    };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte))
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_uris() {
        let rows = [
            ("src/a.rs", "src/a.rs"),
            ("./p q.md", "p%20q.md"),
            ("a\\b", "a/b"),
            ("/some/where/p q.md", "p%20q.md"),
            ("C:\\me\\p.md", "p.md"),
            ("ü#?.md", "%C3%BC%23%3F.md"),
        ];
        for (path, expected) in rows {
            assert_eq!(uri(path), expected);
        }
    }
}
