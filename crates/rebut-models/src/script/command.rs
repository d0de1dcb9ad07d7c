//! The lines of a script that start with `!`.

use super::parse::{ScriptError, Text};
use crate::status;
use rebut_engine::{
    model::{Fault, FaultKind, Usage},
    suggest::suggest,
};
use std::time::Duration;

pub(super) enum Command {
    Say(Text),
    Fail(Fault),
    Hang,
    Modify(Modifier),
}

pub(super) enum Modifier {
    Truncated,
    Repeat(usize),
    Delay(Duration),
    Usage(Usage),
}

/// Every word: how it is written, and how what stands behind it is read.
const WORDS: &[(&str, &str, Read)] = &[
    ("timeout", "!timeout", |rest| alone(rest, Command::Hang)),
    ("error", "!error 429 retry_after=2", |rest| {
        error(rest).map(Command::Fail)
    }),
    ("garbage", "!garbage", |rest| {
        alone(rest, Command::Say(Text::Garbage))
    }),
    ("empty", "!empty", |rest| {
        alone(
            rest,
            Command::Fail(Fault::new(FaultKind::Empty, "the script says nothing here")),
        )
    }),
    ("refusal", "!refusal", |rest| {
        alone(
            rest,
            Command::Fail(Fault::new(
                FaultKind::Refused,
                "the script declines to answer",
            )),
        )
    }),
    ("changed", "!changed", |rest| {
        alone(
            rest,
            Command::Fail(Fault::new(
                FaultKind::ContextChanged,
                "the script says that its context file was changed",
            )),
        )
    }),
    ("bytes", r"!bytes \xff\xfe text", |rest| {
        bytes(rest).map(|text| Command::Say(Text::Given(text)))
    }),
    ("truncated", "!truncated", |rest| {
        alone(rest, Command::Modify(Modifier::Truncated))
    }),
    ("repeat", "!repeat 1000", |rest| {
        repeat(rest).map(|times| Command::Modify(Modifier::Repeat(times)))
    }),
    ("delay", "!delay 200ms", |rest| {
        duration(rest).map(|time| Command::Modify(Modifier::Delay(time)))
    }),
    ("usage", "!usage input=100 output=20 cached=0", |rest| {
        usage(rest).map(|usage| Command::Modify(Modifier::Usage(usage)))
    }),
];

type Read = fn(&str) -> Option<Command>;

impl Command {
    /// Reads what stands behind the `!`.
    pub fn parse(line: usize, text: &str) -> Result<Self, ScriptError> {
        let (word, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        match WORDS.iter().find(|(known, ..)| *known == word) {
            Some((_, example, read)) => read(rest.trim()).ok_or(ScriptError::BadArgument {
                line,
                text: format!("!{text}"),
                example,
            }),
            None => {
                let words = || WORDS.iter().map(|(known, ..)| *known);
                let known = match suggest(word, words()) {
                    Some(meant) => format!("did you mean `!{meant}`?"),
                    None => format!(
                        "known are {}",
                        words()
                            .map(|known| format!("!{known}"))
                            .collect::<Vec<_>>()
                            .join(", ")
                    ),
                };
                Err(ScriptError::UnknownWord {
                    line,
                    word: word.to_owned(),
                    known,
                })
            }
        }
    }
}

fn alone(rest: &str, command: Command) -> Option<Command> {
    rest.is_empty().then_some(command)
}

fn error(rest: &str) -> Option<Fault> {
    let mut words = rest.split_whitespace();
    let code: u16 = words
        .next()?
        .parse()
        .ok()
        .filter(|code| (300..600).contains(code))?;
    let mut fault = Fault::new(
        status::kind_of(code),
        format!("the script answers with status {code}"),
    );
    for word in words {
        let seconds: f64 = word.strip_prefix("retry_after=")?.parse().ok()?;
        fault.retry_after_ms = Some(status::wait_ms(seconds));
    }
    Some(fault)
}

fn repeat(rest: &str) -> Option<usize> {
    rest.parse().ok().filter(|times| *times > 0)
}

fn duration(rest: &str) -> Option<Duration> {
    let (number, unit) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
    let number: u32 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number.into())),
        "s" => Some(Duration::from_secs(number.into())),
        _ => None,
    }
}

fn usage(rest: &str) -> Option<Usage> {
    let mut usage = Usage::default();
    let mut any = false;
    for word in rest.split_whitespace() {
        let (name, value) = word.split_once('=')?;
        // As tokens of one call these would be absurd already; sums of them must not overflow.
        let count = value.parse::<u32>().ok().map(u64::from);
        match name {
            "input" => usage.input = count?,
            "cached" => usage.cached = count?,
            "output" => usage.output = count?,
            "reasoning" => usage.reasoning = count?,
            "cost" => {
                usage.cost_usd = Some(
                    value
                        .parse()
                        .ok()
                        .filter(|cost: &f64| cost.is_finite() && *cost >= 0.0)?,
                )
            }
            _ => return None,
        }
        any = true;
    }
    any.then_some(usage)
}

/// Text with `\xNN`, `\n`, `\r`, `\t`, `\\`, as a client that decodes lossily would see those
/// bytes.
fn bytes(rest: &str) -> Option<String> {
    let mut found = Vec::with_capacity(rest.len());
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            found.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        found.push(match chars.next()? {
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            '\\' => b'\\',
            'x' => {
                let (high, low) = (chars.next()?.to_digit(16)?, chars.next()?.to_digit(16)?);
                u8::try_from(high * 16 + low).ok()?
            }
            _ => return None,
        });
    }
    Some(String::from_utf8_lossy(&found).into_owned())
}
