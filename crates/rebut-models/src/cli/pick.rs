//! Finding parts of an answer in JSON by the paths that data gives.

use super::data::{Pick, UsageAt};
use rebut_engine::model::Usage;
use serde_json::Value;
use std::collections::BTreeMap;

impl Pick {
    /// Whether an event is of this kind.
    pub(super) fn matches(&self, event: &Value) -> bool {
        has_values(event, &self.event)
    }

    /// What is there in the last event that has it.
    pub(super) fn last(&self, events: &[Value]) -> Option<String> {
        events
            .iter()
            .rev()
            .filter(|event| self.matches(event))
            .find_map(|event| text_at(event, &self.at))
    }
}

/// The first of these places that holds something.
pub(super) fn first(picks: Option<&[Pick]>, events: &[Value]) -> Option<String> {
    picks
        .unwrap_or_default()
        .iter()
        .find_map(|pick| pick.last(events))
}

/// Whether any event is of one of these kinds.
pub(super) fn any(picks: Option<&[Pick]>, events: &[Value]) -> bool {
    picks
        .unwrap_or_default()
        .iter()
        .any(|pick| events.iter().any(|event| pick.matches(event)))
}

impl UsageAt {
    /// The sum over all events that tell it; `None` when none does.
    pub(super) fn read(&self, events: &[Value]) -> Option<Usage> {
        let told: Vec<&Value> = events
            .iter()
            .filter(|event| has_values(event, &self.event))
            .collect();
        let sum = |paths: &[String]| {
            told.iter()
                .filter_map(|event| sum_at(event, paths))
                .reduce(|a, b| a + b)
        };
        // The cast saturates: a negative or absurd count does no harm.
        let tokens = |paths: &[String]| sum(paths).unwrap_or(0.0) as u64;
        sum(&self.input).or_else(|| sum(&self.output))?;
        Some(Usage {
            input: tokens(&self.input),
            cached: tokens(&self.cached),
            output: tokens(&self.output),
            reasoning: tokens(&self.reasoning),
            // Programs print 0 for what they have no price of.
            cost_usd: sum(&self.cost_usd).filter(|cost| *cost > 0.0),
        })
    }
}

fn has_values(event: &Value, wanted: &BTreeMap<String, String>) -> bool {
    wanted
        .iter()
        .all(|(path, value)| text_at(event, path).is_some_and(|found| found == *value))
}

/// The text at a path; anything but text as JSON. Several are put together.
fn text_at(event: &Value, path: &str) -> Option<String> {
    let (path, names) = match path.strip_suffix('@') {
        Some(parent) => (parent.trim_end_matches('.'), true),
        None => (path, false),
    };
    let found = values_at(event, path);
    let texts: Vec<String> = match names {
        true => found
            .iter()
            .filter_map(|value| value.as_object())
            .flat_map(|members| members.keys().cloned())
            .collect(),
        false if path.is_empty() => Vec::new(),
        false => found
            .iter()
            .map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            })
            .collect(),
    };
    (!texts.is_empty()).then(|| texts.join("+"))
}

fn sum_at(event: &Value, paths: &[String]) -> Option<f64> {
    let signed = paths.iter().flat_map(|path| {
        let (sign, path) = path
            .strip_prefix('-')
            .map_or((1.0, path.as_str()), |path| (-1.0, path));
        values_at(event, path)
            .into_iter()
            .filter_map(Value::as_f64)
            .map(move |number| sign * number)
    });
    signed.reduce(|a, b| a + b)
}

/// Everything at a path that is not null.
fn values_at<'a>(event: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![event];
    for name in path.split('.').filter(|name| !name.is_empty()) {
        found = found
            .into_iter()
            .flat_map(|value| members(value, name))
            .collect();
    }
    found.retain(|value| !value.is_null());
    found
}

fn members<'a>(value: &'a Value, name: &str) -> Vec<&'a Value> {
    match (value, name) {
        (Value::Object(members), "*") => members.values().collect(),
        (Value::Array(items), "*") => items.iter().collect(),
        (Value::Array(items), number) => number
            .parse()
            .ok()
            .and_then(|at: usize| items.get(at))
            .into_iter()
            .collect(),
        _ => value.get(name).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_to_text_or_nowhere() {
        let event = json!({"a": {"b": "x", "n": null, "o": {"k.1": {"t": 2}, "k2": {"t": 3}}}, "l": [{"v": "p"}, {"v": "q"}], "yes": true});
        let rows = [
            ("a.b", Some("x")),
            (".a.b", Some("x")),
            ("a.n", None),
            ("a.none.b", None),
            ("", None),
            ("yes", Some("true")),
            ("a.o.@", Some("k.1+k2")),
            ("l.*.v", Some("p+q")),
            ("l.1.v", Some("q")),
            ("l.0", Some(r#"{"v":"p"}"#)),
        ];
        for (path, expected) in rows {
            assert_eq!(text_at(&event, path).as_deref(), expected, "{path}");
        }
        assert_eq!(
            sum_at(&event, &["a.o.*.t".to_owned(), "-a.o.k2.t".to_owned()]),
            Some(2.0)
        );
        assert_eq!(sum_at(&event, &["a.b".to_owned()]), None);
    }
}
