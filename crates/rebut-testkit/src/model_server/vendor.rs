//! What tells vendors apart, one row each.

use super::{Seen, anthropic, chat, embeddings, gemini, responses};
use serde_json::Value;

/// One vendor's wire format, from the vendor's side.
#[derive(Clone, Copy)]
pub(super) struct Vendor {
    /// Whether the vendor would accept that, or its status and complaint.
    pub check: fn(&Seen) -> Result<(), (u16, String)>,
    /// Whether the answer is to be streamed.
    pub is_streamed: fn(&Seen) -> bool,
    pub whole: fn(&Said, &Value) -> Value,
    pub events: fn(&Said, &Value) -> Events,
    /// The body of an error of that status.
    pub error: fn(u16, &str) -> Value,
    pub failure: fn(Failure, &Seen) -> (u16, Value),
    pub late_error: fn() -> String,
    pub ping: &'static str,
    /// Headers that say what is left of the limits.
    pub limits: &'static [(&'static str, &'static str)],
    /// Whether a wait is asked for in a header, rather than in the body.
    pub waits_by_header: bool,
    pub models: fn() -> Value,
}

/// A stream's events: without the end, and the end.
pub(super) struct Events {
    pub beginning: Vec<String>,
    pub end: Vec<String>,
}

/// An answer: always 100 input tokens of which 40 were cached, and 20 output tokens of which 5 were
/// thinking.
#[derive(Clone, Debug)]
pub struct Said {
    pub text: String,
    pub ending: Ending,
    /// Whether there is thinking before the text.
    pub thinking: bool,
}

impl Said {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ending: Ending::Complete,
            thinking: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Complete,
    Length,
    /// A filter stopped it, or the model declined.
    Filtered,
}

/// What goes wrong at the vendor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Too many requests; asks for 3 seconds.
    RateLimited,
    Quota,
    /// The prompt is longer than the model reads.
    TooLong,
    /// The key is wrong; the message repeats it where the vendor's does.
    BadKey,
    NoModel,
    Overloaded,
    Internal,
}

/// The vendor whose path this is.
pub(super) fn vendor_of(seen: &Seen) -> &'static Vendor {
    let path = seen.path();
    if path.ends_with("/messages") || seen.header("anthropic-version").is_some() {
        &anthropic::VENDOR
    } else if path.ends_with("/embeddings") {
        &embeddings::VENDOR
    } else if path.ends_with("/responses") {
        &responses::VENDOR
    } else if path.contains(":generateContent")
        || path.contains(":streamGenerateContent")
        || seen.header("x-goog-api-key").is_some()
    {
        &gemini::VENDOR
    } else {
        &chat::VENDOR
    }
}

/// A text in pieces of five characters, so that words and secrets are torn; one that is only there
/// to be large, in larger ones.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let size = if text.len() > 1 << 16 { 1 << 16 } else { 5 };
    text.chars()
        .collect::<Vec<_>>()
        .chunks(size)
        .map(String::from_iter)
        .collect()
}

pub(super) fn named(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}
