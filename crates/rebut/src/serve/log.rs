//! What a server tells on standard error: one line for each thing that happened, for people or for
//! programs. No secret and nothing that could steer a terminal is in it.

use crate::cli::LogForm;
use rebut_engine::{clean::on_one_line, secrets::Scrubber};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Tells what happens. Cheap to clone.
#[derive(Clone)]
pub struct Log {
    form: LogForm,
    quiet: bool,
    scrubber: Arc<Scrubber>,
}

impl Log {
    /// Tells in that form; when quiet, only what went wrong.
    pub fn new(form: LogForm, quiet: bool, scrubber: Scrubber) -> Self {
        Self {
            form,
            quiet,
            scrubber: Arc::new(scrubber),
        }
    }

    pub fn say(&self, what: &str, details: &[(&str, &str)]) {
        if !self.quiet {
            self.write("info", what, details);
        }
    }

    pub fn complain(&self, what: &str, details: &[(&str, &str)]) {
        self.write("error", what, details);
    }

    fn write(&self, level: &str, what: &str, details: &[(&str, &str)]) {
        let now = format!("{:.3}", jiff::Timestamp::now());
        let details = details.iter().map(|(name, value)| {
            (
                *name,
                on_one_line(&self.scrubber.scrub((*value).to_owned())),
            )
        });
        let line = match self.form {
            LogForm::Text => words(&now, what, details),
            LogForm::Json => {
                let head = [("ts", now.as_str()), ("level", level), ("event", what)]
                    .map(|(name, value)| (name.to_owned(), Value::from(value)));
                let all: Map<String, Value> = head
                    .into_iter()
                    .chain(details.map(|(name, value)| (name.to_owned(), as_json(value))))
                    .collect();
                Value::Object(all).to_string()
            }
        };
        eprintln!("{line}");
    }
}

/// For people: the time, what happened, and what belongs to it.
fn words<'a>(now: &str, what: &str, details: impl Iterator<Item = (&'a str, String)>) -> String {
    let time = now.get(11..19).unwrap_or(now);
    let details: Vec<String> = details
        .map(|(name, value)| {
            if value.contains(' ') {
                format!("{name}=\"{value}\"")
            } else {
                format!("{name}={value}")
            }
        })
        .collect();
    format!("{time} {what} {}", details.join(" "))
        .trim_end()
        .to_owned()
}

/// A whole number is one in JSON too, so that programs can count with it; and yes and no are.
fn as_json(value: String) -> Value {
    let number = value.parse::<u64>().ok().map(Value::from);
    number
        .or_else(|| value.parse::<bool>().ok().map(Value::from))
        .unwrap_or(Value::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_programs_are_told_the_same() {
        let details = || {
            [("id", "1f"), ("why", "a b")]
                .map(|(name, value)| (name, value.to_owned()))
                .into_iter()
        };
        assert_eq!(
            words("2026-01-02T03:04:05.678Z", "ended", details()),
            "03:04:05 ended id=1f why=\"a b\""
        );
        for (text, json) in [
            ("12", "12"),
            ("-1", "\"-1\""),
            ("12ms", "\"12ms\""),
            ("", "\"\""),
            ("true", "true"),
            ("True", "\"True\""),
        ] {
            assert_eq!(as_json(text.to_owned()).to_string(), json);
        }
    }
}
