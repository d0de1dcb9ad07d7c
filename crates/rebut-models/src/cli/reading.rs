//! Reading a CLI's output while it comes: events out of noise, and whether it has said all.

use super::{
    data::{Format, OutputData},
    pick,
};
use rebut_engine::{
    clean,
    model::{FaultKind, Usage},
};
use serde_json::Value;

/// Output so far.
pub(super) struct Reader<'a> {
    output: &'a OutputData,
    raw: Vec<u8>,
    /// How much of `raw` became events.
    taken: usize,
    /// How much of `raw` was looked at when it last came to rest.
    looked_at: usize,
    events: Vec<Value>,
    done: bool,
}

/// What a whole output says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// The answer, if there is one.
    pub answer: Option<String>,
    /// Whether it was cut at a length limit.
    pub cut: bool,
    /// The failure it tells, with its class where that is known without its words.
    pub error: Option<(Option<FaultKind>, String)>,
    /// Tokens and money.
    pub usage: Option<Usage>,
    /// Who answered.
    pub model: Option<String>,
}

/// Documents looked for in one output, so that a text full of brackets costs little.
const CANDIDATES: usize = 64;

impl<'a> Reader<'a> {
    pub(super) fn new(output: &'a OutputData) -> Self {
        Self {
            output,
            raw: Vec::new(),
            taken: 0,
            looked_at: 0,
            events: Vec::new(),
            done: false,
        }
    }

    /// Takes in the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        if self.format() == Format::Jsonl {
            while let Some(length) = self.raw[self.taken..]
                .iter()
                .position(|byte| *byte == b'\n')
            {
                let event = event_in(&self.raw[self.taken..self.taken + length]);
                self.taken += length + 1;
                self.add(event);
            }
        }
    }

    /// Looks at what has no visible end: called when nothing comes for a moment, and at the end.
    pub(super) fn rest(&mut self) {
        if self.looked_at == self.raw.len() {
            return;
        }
        self.looked_at = self.raw.len();
        match self.format() {
            Format::Text => {}
            Format::Jsonl => {
                if let Some(event) = event_in(&self.raw[self.taken..]) {
                    self.taken = self.raw.len();
                    self.add(Some(event));
                }
            }
            Format::Json | Format::JsonArray => {
                self.events.clear();
                documents(&String::from_utf8_lossy(&self.raw))
                    .into_iter()
                    .for_each(|event| self.add(Some(event)));
            }
        }
    }

    /// How much came.
    pub(super) fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether the program has said all it will say.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether only the program's exit tells that its answer is complete.
    pub(super) fn ends_with_exit(&self) -> bool {
        self.format() == Format::Text
    }

    /// The output as text, harmless.
    pub(super) fn text(&self) -> String {
        clean::for_people(String::from_utf8_lossy(&self.raw).trim()).into_owned()
    }

    /// What it all says.
    pub(super) fn reading(&self) -> Reading {
        if self.format() == Format::Text {
            return Reading {
                answer: Some(self.text()),
                ..Reading::default()
            };
        }
        let output = self.output;
        Reading {
            answer: pick::first(output.answer.as_deref(), &self.events),
            cut: pick::any(output.cut.as_deref(), &self.events),
            error: self.error(),
            usage: output
                .usage
                .as_ref()
                .and_then(|usage| usage.read(&self.events)),
            model: pick::first(output.model.as_deref(), &self.events),
        }
    }

    /// Everything the marks of failure have to say, once.
    fn error(&self) -> Option<(Option<FaultKind>, String)> {
        let mut said: Vec<String> = Vec::new();
        let (mut found, mut kind) = (false, None);
        for pick in self.output.errors.iter().flatten() {
            let text = pick.last(&self.events);
            // A place is a mark by being there; a kind of event by happening.
            let is_marked = if pick.event.is_empty() {
                text.is_some()
            } else {
                self.events.iter().any(|event| pick.matches(event))
            };
            if is_marked {
                found = true;
                kind = kind.or(pick.kind);
                said.extend(text.filter(|text| !text.is_empty() && !said.contains(text)));
            }
        }
        let message = said.join(": ");
        let is_harmless = self
            .output
            .harmless
            .iter()
            .flatten()
            .any(|words| message.contains(words.as_str()));
        (found && !is_harmless).then_some((kind, message))
    }

    fn add(&mut self, event: Option<Value>) {
        let Some(event) = event else { return };
        let events = match event {
            Value::Array(items) if self.format() == Format::JsonArray => items,
            other => vec![other],
        };
        let output = self.output;
        self.done |= match output.done.as_deref() {
            Some(done) => pick::any(Some(done), &events),
            None => [&output.answer, &output.errors]
                .into_iter()
                .any(|picks| pick::first(picks.as_deref(), &events).is_some()),
        };
        self.events.extend(events);
    }

    fn format(&self) -> Format {
        self.output.format.unwrap_or_default()
    }
}

/// The event on a line, also when a spinner or colours stand before it.
fn event_in(line: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(line);
    let parsed = |text: &str| {
        serde_json::from_str::<Value>(text.trim())
            .ok()
            .filter(Value::is_object)
    };
    parsed(&text).or_else(|| {
        let clean = clean::for_people(&text);
        parsed(clean.get(clean.find('{')?..clean.rfind('}')? + 1)?)
    })
}

/// The whole JSON documents in a text, each at the beginning of a line.
fn documents(text: &str) -> Vec<Value> {
    let found = documents_in(text);
    if found.is_empty() && clean::has_hostile(text) {
        documents_in(&clean::for_people(text))
    } else {
        found
    }
}

fn documents_in(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let (mut at, mut tried) = (0, 0);
    while at < text.len() && tried < CANDIDATES {
        let line = &text[at..];
        let start =
            at + (line.len() - line.trim_start_matches([' ', '\t', '\r', '\u{fffd}']).len());
        let mut next = line.find('\n').map_or(text.len(), |length| at + length + 1);
        if text[start..].starts_with(['{', '[']) {
            tried += 1;
            let mut values =
                serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                next = start + values.byte_offset();
                found.push(value);
            }
        }
        at = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_amid_noise() {
        let rows = [
            ("", 0),
            ("{\"a\":1}", 1),
            ("Warning: {x}\n[API Error]\n{\n \"a\": [1,\n2]\n}\nbye", 1),
            ("{\"a\":1}\r\n\u{1b}[0m{\"b\":2}", 1),
            ("\u{1b}[2K{\"a\":1}\u{1b}[0m", 1),
            ("{\"a\":1}{\"b\":2}\n", 2),
            ("{\"a\":", 0),
            ("[[[[[[[[\n{\"a\":1}", 1),
        ];
        for (text, count) in rows {
            assert_eq!(documents(text).len(), count, "{text:?}");
        }
    }

    #[test]
    fn any_split_of_the_bytes_reads_the_same() {
        let output: OutputData = toml::from_str(
            "format = 'jsonl'\ndone = [{ event = { type = 'end' } }]\nanswer = [{ \
                event = { type = 'say' }, at = 'text' }]",
        )
        .expect("valid data");
        let whole = "noise {\n\u{1b}[1m{\"type\":\"say\",\"text\":\"naïve \
            🦀\"}\u{1b}[0m\r\n{\"type\":\"end\"}"
            .as_bytes();
        for cut in 0..whole.len() {
            let mut reader = Reader::new(&output);
            reader.take(&whole[..cut]);
            reader.rest();
            assert!(!reader.is_done(), "{cut}");
            reader.take(&whole[cut..]);
            reader.rest();
            assert!(reader.is_done(), "{cut}");
            assert_eq!(
                reader.reading().answer.as_deref(),
                Some("naïve 🦀"),
                "{cut}"
            );
        }
    }
}
