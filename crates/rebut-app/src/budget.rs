//! What a debate may use: flags over the configuration, as the engine's limits.

use crate::{
    config::BudgetSection,
    error::AppError,
    hint_command::command,
    words::{dollars, short},
};
use rebut_engine::{
    More,
    agent::Agent,
    budget::{ANSWER_TOKENS, Caps, LONGEST_DEBATE},
    event::{Limits, Started},
    formats::Format,
    model::{Price, Usage},
    outcome::Limit,
    view::{TurnState, View},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, str::FromStr};

/// Caps and time of one debate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    pub caps: Caps,
    pub seconds: Option<u64>,
    /// Seconds a person may take to approve the result.
    pub approval: Option<u64>,
}

impl Budget {
    /// What was asked for where it was, else the configuration.
    pub fn new(asked: &BudgetSection, config: &BudgetSection) -> Self {
        let caps = |section: &BudgetSection| Caps {
            cost_usd: section.max_cost,
            tokens: section.max_tokens,
            calls: section.max_calls,
            unknown_prices: section.allow_unknown_price.unwrap_or_default(),
        };
        Self {
            caps: caps(asked).or(caps(config)),
            seconds: asked.max_time.or(config.max_time).map(|span| span.0),
            approval: None,
        }
    }

    /// The same for a debate whose result a person approves within so many seconds.
    pub fn approved_within(self, seconds: Option<u64>) -> Self {
        Self {
            approval: seconds,
            ..self
        }
    }

    pub fn is_empty(&self) -> bool {
        self.caps.is_empty() && self.seconds.is_none()
    }

    /// A format's own limits with these.
    pub fn limits(&self, format: &str, config: &Value) -> Result<Limits, AppError> {
        let usual = Format::named(format)
            .map(|format| (format.limits)(config))
            .ok_or_else(|| AppError::failed("there is no such format"))?;
        Ok(Limits {
            caps: self.caps,
            debate_seconds: self.seconds.unwrap_or(usual.debate_seconds),
            approval_seconds: self.approval.unwrap_or_default(),
            ..usual
        })
    }

    /// For a debate that goes on, or a fork.
    pub fn more(&self) -> More {
        More {
            caps: self.caps,
            debate_seconds: self.seconds,
            approval_seconds: self.approval,
        }
    }
}

/// What to type to go on with a debate that met a limit: enough for all that is left of it, as far
/// as that can be told.
pub fn go_on(view: &View, price: &dyn Fn(&str) -> Option<Price>) -> Option<String> {
    let met = view.outcome.as_ref()?.stopped.as_ref()?.limit;
    let started = view.started.as_ref()?;
    let limits = view
        .resumed
        .iter()
        .rev()
        .find_map(|resumed| resumed.limits)
        .unwrap_or(started.limits);
    let (caps, left, spent) = (limits.caps, Left::of(view, started, price), view.spent());
    // What is held against a cap counts, known or not.
    let charged = spent.charged.unwrap_or_default();
    let flag = match met {
        Limit::Cost => {
            let enough =
                (charged.cost_usd + left.cost).max(caps.cost_usd.unwrap_or_default() + 0.01);
            let cents = if enough < 1.0 { 1000.0 } else { 100.0 };
            format!(
                "--max-cost {}",
                dollars((enough * cents).ceil() / cents).trim_start_matches('$')
            )
        }
        Limit::Tokens => {
            format!(
                "--max-tokens {}",
                (charged.tokens + left.tokens)
                    .max(caps.tokens.unwrap_or_default() + 1)
                    .next_multiple_of(1000)
            )
        }
        Limit::Calls => format!(
            "--max-calls {}",
            (left.made + left.calls).max(caps.calls.unwrap_or_default() + 1)
        ),
        Limit::Time => format!(
            "--max-time {}",
            Span(
                limits
                    .debate_seconds
                    .max(1)
                    .saturating_mul(2)
                    .min(LONGEST_DEBATE)
            )
        ),
    };
    Some(command(format_args!("resume {} {flag}", short(view))))
}

/// What a debate may still take until its end.
#[derive(Debug, Default, PartialEq)]
struct Left {
    made: u64,
    /// Calls to come, each with its clarification.
    calls: u64,
    tokens: u64,
    cost: f64,
}

/// Bytes of a prompt besides what was asked: the rules, the role and the form of the reply.
const RULES_BYTES: u64 = 8000;
/// Tokens that are held for what another one said in an earlier round.
const HEARD_TOKENS: u64 = 1600;

impl Left {
    fn of(view: &View, started: &Started, price: &dyn Fn(&str) -> Option<Price>) -> Self {
        let made = view
            .turns
            .iter()
            .map(|turn| {
                turn.faults.len() as u64 + u64::from(turn.state == TurnState::Done && !turn.copied)
            })
            .sum();
        let judges = started.agents.len() as u64;
        let done = view
            .turns
            .iter()
            .filter(|turn| turn.state == TurnState::Done && !turn.turn.ends_with("/clarify"))
            .count() as u64;
        let turns = planned_turns(started).saturating_sub(done).max(1);
        let closing = Format::named(&started.format).map_or(0, |format| format.closing_calls);
        let input = (started.input.to_string().len() as u64 + RULES_BYTES) / 2
            + 256
            + judges * HEARD_TOKENS;
        let dearest = |agent: &Agent| {
            let output = u64::from(agent.max_tokens.unwrap_or(ANSWER_TOKENS));
            let names =
                std::iter::once(&*agent.model).chain(agent.fallbacks.iter().map(String::as_str));
            let usage = Usage {
                input,
                output,
                ..Usage::default()
            };
            let cost = names
                .filter_map(price)
                .map(|price| price.of(&usage))
                .fold(0.0, f64::max);
            (input + output, cost)
        };
        // Whoever is next may be the dearest; so each turn is taken as such.
        let most = started
            .agents
            .iter()
            .map(dearest)
            .fold((0, 0.0), |most, one| {
                (most.0.max(one.0), f64::max(most.1, one.1))
            });
        let calls = turns + u64::from(closing);
        // What the answers so far took tells more than the most that any could take; that much is
        // only held for those under way at once.
        let at_once = calls.min(judges + u64::from(closing));
        let spent = view.spent();
        let used = spent.input_tokens + spent.cached_tokens + spent.output_tokens;
        let answers = u64::from(spent.answers);
        let (tokens, cost) = match (answers, spent.cost_usd) {
            (1.., Some(cost)) => (used.div_ceil(answers), cost / answers as f64),
            (1.., None) => (used.div_ceil(answers), most.1),
            (0, _) => most,
        };
        let tokens = calls * (2 * tokens).min(most.0) + at_once * most.0;
        let cost = calls as f64 * (2.0 * cost).min(most.1) + at_once as f64 * most.1;
        Self {
            made,
            calls: 2 * calls,
            tokens: tokens.min(calls * most.0),
            cost: cost.min(calls as f64 * most.1),
        }
    }
}

/// Turns of a debate that needs all of them.
fn planned_turns(started: &Started) -> u64 {
    let foresee =
        |format: &Format| (format.foresee)(&started.input, &started.config, &started.agents).ok();
    Format::named(&started.format)
        .and_then(foresee)
        .map_or(0, |calls| calls.len() as u64)
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
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let number: u64 = rest[..end].parse().map_err(|_| wrong())?;
            let unit = rest[end..].chars().next();
            let factor = match unit {
                Some('s') => 1,
                Some('m') => 60,
                Some('h') => 3600,
                None if end == text.trim().len() => 1,
                _ => return Err(wrong()),
            };
            seconds = number
                .checked_mul(factor)
                .and_then(|more| seconds.checked_add(more))
                .ok_or_else(wrong)?;
            rest = &rest[end + usize::from(unit.is_some())..];
        }
        match seconds {
            1..=LONGEST_DEBATE => Ok(Self(seconds)),
            0 => Err(wrong()),
            _ => Err(format!(
                "`{text}` is too long; at most {}",
                Self(LONGEST_DEBATE)
            )),
        }
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
        let rows = [
            ("90s", Some(90)),
            ("10m", Some(600)),
            ("1h30m", Some(5400)),
            (" 45 ", Some(45)),
            ("2h", Some(7200)),
        ];
        let bad = [
            "",
            "0",
            "m",
            "1.5h",
            "-1m",
            "5d",
            "10m5",
            "99999999999999999999s",
            "9999h9999999999999999h",
        ];
        for (text, expected) in rows {
            assert_eq!(
                text.parse::<Span>().ok().map(|span| span.0),
                expected,
                "{text}"
            );
        }
        for text in bad {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        for seconds in [59, 60, 90, 3600, 5400] {
            assert_eq!(Span(seconds).to_string().parse(), Ok(Span(seconds)));
        }
    }
}
