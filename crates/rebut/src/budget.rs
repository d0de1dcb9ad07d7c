//! What a debate may use: flags over the configuration, as the engine's limits.

use crate::{cli::BudgetArgs, config::BudgetSection, error::CliError, text::dollars};
use rebut_engine::{
    More,
    budget::Caps,
    event::{DebateResumed, Limits, Started},
    formats::FORMATS,
    outcome::Limit,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, str::FromStr};

/// Caps and time of one debate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Money, tokens, calls.
    pub caps: Caps,
    /// Seconds for a whole run.
    pub seconds: Option<u64>,
}

impl Budget {
    /// Flags where they are given, else the configuration.
    pub fn new(args: &BudgetArgs, config: &BudgetSection) -> Self {
        let given =
            Caps { cost_usd: args.max_cost, tokens: args.max_tokens, calls: args.max_calls, unknown_prices: args.allow_unknown_price };
        let configured = Caps {
            cost_usd: config.max_cost,
            tokens: config.max_tokens,
            calls: config.max_calls,
            unknown_prices: config.allow_unknown_price.unwrap_or_default(),
        };
        Self { caps: given.or(configured), seconds: args.max_time.or(config.max_time).map(|span| span.0) }
    }

    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.caps.is_empty() && self.seconds.is_none()
    }

    /// A format's own limits with these.
    pub fn limits(&self, format: &str, config: &Value) -> Result<Limits, CliError> {
        let format = FORMATS.iter().find(|known| known.name == format);
        let usual = format.map(|format| (format.limits)(config)).ok_or_else(|| CliError::failed("there is no such format"))?;
        Ok(Limits { caps: self.caps, debate_seconds: self.seconds.unwrap_or(usual.debate_seconds), ..usual })
    }

    /// For a debate that goes on, or a fork.
    pub fn more(&self) -> More {
        More { caps: self.caps, debate_seconds: self.seconds }
    }
}

/// The flag with which a stopped debate can go on: the limit it met, twice as high.
pub fn raised(started: &Started, resumed: &[DebateResumed], met: Limit) -> String {
    let limits = resumed.iter().rev().find_map(|resumed| resumed.limits).unwrap_or(started.limits);
    let caps = limits.caps;
    match met {
        Limit::Cost => format!("--max-cost {}", dollars(2.0 * caps.cost_usd.unwrap_or_default().max(0.01)).trim_start_matches('$')),
        Limit::Tokens => format!("--max-tokens {}", 2 * caps.tokens.unwrap_or_default().max(1000)),
        Limit::Calls => format!("--max-calls {}", 2 * caps.calls.unwrap_or_default().max(1)),
        Limit::Time => format!("--max-time {}", Span(2 * limits.debate_seconds.max(1))),
    }
}

/// A time as people write it: `90s`, `10m`, `1h30m`, or bare seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Span(pub u64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no time; write 90s, 10m or 1h30m");
        let (mut rest, mut seconds) = (text.trim(), 0_u64);
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number: u64 = rest[..end].parse().map_err(|_| wrong())?;
            let unit = rest[end..].chars().next();
            let factor = match unit {
                Some('s') => 1,
                Some('m') => 60,
                Some('h') => 3600,
                None if end == text.trim().len() => 1,
                _ => return Err(wrong()),
            };
            seconds = number.checked_mul(factor).and_then(|more| seconds.checked_add(more)).ok_or_else(wrong)?;
            rest = &rest[end + usize::from(unit.is_some())..];
        }
        if (1..=31_536_000).contains(&seconds) { Ok(Self(seconds)) } else { Err(wrong()) }
    }
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            seconds if seconds % 3600 == 0 => write!(f, "{}h", seconds / 3600),
            seconds if seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            seconds => write!(f, "{seconds}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let rows = [("90s", Some(90)), ("10m", Some(600)), ("1h30m", Some(5400)), (" 45 ", Some(45)), ("2h", Some(7200))];
        let bad = ["", "0", "m", "1.5h", "-1m", "5d", "10m5", "99999999999999999999s", "9999h9999999999999999h"];
        for (text, expected) in rows {
            assert_eq!(text.parse::<Span>().ok().map(|span| span.0), expected, "{text}");
        }
        for text in bad {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        for seconds in [59, 60, 90, 3600, 5400] {
            assert_eq!(Span(seconds).to_string().parse(), Ok(Span(seconds)));
        }
    }
}
