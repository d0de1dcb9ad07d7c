//! `script:FILE`: replies read from a Markdown file, to rehearse a panel and to test every failure
//! it may meet.
//!
//! A script is headings, each with the replies for attempts 1, 2, 3 … of its turns:
//!
//! ~~~markdown
//! Any other line is commentary.
//!
//! ## recommend/risk
//! !error 429 retry_after=2
//! ```json
//! {"option": "A", "reason": "cheaper"}
//! ```
//!
//! ## challenge 2/*
//! !timeout
//! ~~~
//!
//! - `## NAME`: a turn's full name, or a pattern in which `*` stands for anything and `?` for one
//!   character. The exact name wins, then the pattern with the most characters spelled out, then
//!   the first in the file. No heading may stand twice, and none may be without a reply.
//! - A fenced code block (at least three backticks or tildes, any info string) is a reply, taken as
//!   it is. It ends at a line of the same character at least as long, so a longer fence can hold
//!   shorter ones. A reply of nothing but blanks is the fault `empty`, as it is at an endpoint.
//! - The last reply of a section also serves all later attempts.
//! - Lines that start with `!` (an image, `![…`, is commentary):
//!
//! | line | meaning |
//! |---|---|
//! | `!timeout` | never answers; the turn's deadline ends it |
//! | `!error STATUS [retry_after=SECONDS]` | fails as an endpoint with that HTTP status (300–599) would |
//! | `!empty`, `!refusal` | fails as an empty or a refused answer |
//! | `!changed` | fails as an agent does whose context file was changed |
//! | `!garbage` | answers with nonsense, the same for the same turn and attempt |
//! | `!bytes \xff\xfe…` | answers with these bytes, decoded lossily; knows `\xNN \n \r \t \\` |
//! | `!truncated` | the next text is cut in its middle and marked as cut at a length limit |
//! | `!repeat N` | the next text is repeated N times (64 MiB at most) |
//! | `!delay 200ms` | the next reply comes after that time (`ms` or `s`) |
//! | `!usage input=1 output=2 [cached=3] [reasoning=4] [cost=0.5]` | usage of the following replies of this section |
//!
//! Without `!usage` the words of the prompt and of the reply are counted. A script costs nothing,
//! unless `cost` says so.

mod command;
pub mod glob;
mod parse;

pub use parse::{Script, ScriptError};

use parse::{Act, Section, Text};
use rebut_engine::{
    model::{Answer, Fault, FaultKind, Finish, Model, Price, Request, Usage},
    suggest::suggest,
};
use std::sync::{Mutex, PoisonError};

pub struct ScriptModel {
    name: String,
    script: Script,
    calls: Mutex<Vec<(String, u32)>>,
}

impl ScriptModel {
    /// A model that answers from `script`; `name` is what messages call the file.
    pub fn new(name: impl Into<String>, script: Script) -> Self {
        Self {
            name: name.into(),
            script,
            calls: Mutex::default(),
        }
    }

    /// What was really asked so far, in order: turn and attempt.
    pub fn calls(&self) -> Vec<(String, u32)> {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn section(&self, turn: &str) -> Result<&Section, Fault> {
        self.script.section(turn).ok_or_else(|| {
            let headings: Vec<&str> = self
                .script
                .sections
                .iter()
                .map(|section| section.heading.as_str())
                .collect();
            let there = match suggest(turn, headings.iter().copied()) {
                Some(closest) => format!("the closest heading is `## {closest}`"),
                None => {
                    format!(
                        "it has {}",
                        headings
                            .iter()
                            .take(5)
                            .map(|heading| format!("`## {heading}`"))
                            .collect::<Vec<_>>()
                            .join(", ")
                    )
                }
            };
            let message = format!("{} has no reply for the turn `{turn}`; {there}", self.name);
            Fault::new(FaultKind::Unavailable, message)
        })
    }
}

#[async_trait::async_trait]
impl Model for ScriptModel {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((request.turn.to_owned(), request.attempt));
        let section = self.section(request.turn)?;
        let number = usize::try_from(request.attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        let reply = &section.replies[number.min(section.replies.len() - 1)];
        if let Some(delay) = reply.delay {
            tokio::time::sleep(delay).await;
        }
        let (text, finish) = match &reply.act {
            Act::Hang => std::future::pending().await,
            Act::Fail(fault) => return Err(fault.clone()),
            Act::Say {
                text,
                repeat,
                truncated,
            } => spoken(&request, text, *repeat, *truncated),
        };
        if text.trim().is_empty() {
            return Err(Fault::new(FaultKind::Empty, "the script's reply is blank"));
        }
        stream(&request, &text);
        let usage = reply.usage.unwrap_or_else(|| Usage {
            input: words(&request.prompt.system) + words(&request.prompt.user),
            output: words(&text),
            ..Usage::default()
        });
        Ok(Answer {
            text,
            model: None,
            usage: Some(usage),
            finish,
            ..Answer::default()
        })
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }
}

impl Script {
    /// The section that serves a turn.
    fn section(&self, turn: &str) -> Option<&Section> {
        let exact = self.sections.iter().find(|section| section.heading == turn);
        exact.or_else(|| {
            let fitting = self
                .sections
                .iter()
                .filter(|section| glob::matches(&section.heading, turn));
            // `max_by_key` takes the last of equals, so the file is read from its end.
            fitting
                .rev()
                .max_by_key(|section| glob::literals(&section.heading))
        })
    }
}

fn spoken(request: &Request<'_>, text: &Text, repeat: usize, truncated: bool) -> (String, Finish) {
    let mut text = match text {
        Text::Given(text) => text.repeat(repeat),
        Text::Garbage => garbage(request.turn, request.attempt).repeat(repeat.min(1000)),
    };
    if !truncated {
        return (text, Finish::Complete);
    }
    text.truncate(text.floor_char_boundary(text.len() / 2));
    (text, Finish::Length)
}

/// Hands the text on in a few pieces, as an endpoint would.
fn stream(request: &Request<'_>, text: &str) {
    const PIECES: usize = 4;
    if !request.deltas.wanted() {
        return;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(rest.ceil_char_boundary(text.len().div_ceil(PIECES)));
        request.deltas.push(request.turn, piece);
        rest = later;
    }
}

/// Nonsense with everything in it that breaks careless readers: half JSON, controls, reordering
/// marks.
fn garbage(turn: &str, attempt: u32) -> String {
    const PIECES: [&str; 10] = [
        "}{",
        "\"option\": ",
        "\u{202e}",
        "\u{1b}[2J",
        "lorem",
        "[[[",
        "\u{fffd}",
        "NaN,",
        "\u{0}",
        "APPROVE or not",
    ];
    // FNV-1a: the same nonsense everywhere, without a dependency.
    let mut state = turn
        .bytes()
        .chain(attempt.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    let mut text = String::new();
    for _ in 0..24 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(PIECES[(state >> 33) as usize % PIECES.len()]);
        text.push(' ');
    }
    text
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}
