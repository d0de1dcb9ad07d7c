//! The budget of a debate is a contract: every call is held against its caps before it leaves, at the most it could use,
//! and settled when it ended. What nobody knows is charged as held.

use crate::{
    agent::Agent,
    model::{FaultKind, Price, Usage},
    outcome::{Limit, LimitMet},
    prompt::Prompt,
    reply::Schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a debate may use at most; what is left out has no cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Caps {
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens, input and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Calls, retries included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Whether models of unknown price may run under a cap on money, where they count nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown_prices: bool,
}

impl Caps {
    /// Whether nothing is capped.
    pub fn is_empty(&self) -> bool {
        self.cost_usd.is_none() && self.tokens.is_none() && self.calls.is_none()
    }

    /// These caps where they are set, else the others.
    pub fn or(self, other: Self) -> Self {
        Self {
            cost_usd: self.cost_usd.or(other.cost_usd),
            tokens: self.tokens.or(other.tokens),
            calls: self.calls.or(other.calls),
            unknown_prices: self.unknown_prices || other.unknown_prices,
        }
    }

    /// What is wrong with them, if anything.
    pub fn problem(&self) -> Option<String> {
        let cost = self.cost_usd.filter(|cost| !cost.is_finite() || *cost < 0.0)?;
        Some(format!("the most a debate may cost must be a number of dollars, not {cost}"))
    }
}

/// The most tokens an answer may have when there is a cap on money or tokens and the agent says nothing: without a limit
/// nothing could be held for it.
pub const ANSWER_TOKENS: u32 = 4096;

/// What a call may use, or did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    /// Tokens, input and output.
    pub tokens: u64,
    /// US dollars; 0 where no price is known, which only a user who allows it lets happen.
    pub cost_usd: f64,
}

impl Amount {
    /// The most that asking this once may use: a token is hardly ever shorter than two bytes.
    pub fn at_most(prompt: &Prompt, schema: &Schema, agent: &Agent, price: Option<Price>) -> Self {
        let bytes = prompt.system.len() + prompt.user.len() + schema.json.len();
        let input = bytes as u64 / 2 + 256;
        let output = u64::from(agent.max_tokens.unwrap_or(ANSWER_TOKENS));
        Self::of(&Usage { input, output, ..Usage::default() }, price)
    }

    /// What a known use comes to. The provider's own figure for the cost goes before ours.
    pub fn of(usage: &Usage, price: Option<Price>) -> Self {
        let cost_usd = usage.cost_usd.or_else(|| price.map(|price| price.of(usage))).unwrap_or(0.0);
        Self { tokens: usage.input + usage.cached + usage.output, cost_usd }
    }

    fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost_usd += other.cost_usd;
    }

    fn take(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.cost_usd = (self.cost_usd - other.cost_usd).max(0.0);
    }
}

/// What was used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Calls begun.
    pub calls: u64,
    /// Tokens and money.
    pub amount: Amount,
}

impl Spent {
    /// A call ended: what it used, or what was held where nobody knows and it may have been billed.
    pub fn charge(&mut self, held: Amount, used: Option<Amount>, may_be_billed: bool) {
        self.amount.add(used.unwrap_or(if may_be_billed { held } else { Amount::default() }));
    }
}

/// Whether a failed call may have been billed although nobody says so.
pub fn may_be_billed(kind: FaultKind) -> bool {
    use FaultKind::{Empty, Incomplete, InvalidReply, Network, Refused, Timeout, TooLarge};
    matches!(kind, Empty | Incomplete | InvalidReply | Network | Refused | Timeout | TooLarge)
}

/// The books of one running debate.
#[derive(Debug, Default)]
pub struct Budget {
    caps: Caps,
    /// Calls for which room is kept until the closing steps.
    closing_calls: u32,
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    spent: Spent,
    held: Amount,
}

impl Budget {
    /// A budget with what an earlier run used.
    pub fn new(caps: Caps, closing_calls: u32, spent: Spent) -> Self {
        Self { caps, closing_calls, books: Mutex::new(Books { spent, held: Amount::default() }) }
    }

    /// Whether anything is capped at all.
    pub fn is_capped(&self) -> bool {
        !self.caps.is_empty()
    }

    /// Holds the most a call may use, or says which cap it would break. Unless it is itself a closing call, room must be left
    /// for those: each is taken to be as large as this one.
    pub fn hold(&self, most: Amount, is_closing: bool) -> Result<(), LimitMet> {
        let mut books = self.lock();
        let (spent, held) = (books.spent, books.held);
        let calls = 1 + if is_closing { 0 } else { u64::from(self.closing_calls) };
        let tokens = spent.amount.tokens.saturating_add(held.tokens).saturating_add(most.tokens.saturating_mul(calls));
        let cost = spent.amount.cost_usd + held.cost_usd + most.cost_usd * calls as f64;
        if let Some(cap) = self.caps.calls.filter(|cap| spent.calls + calls > *cap) {
            return Err(LimitMet { limit: Limit::Calls, why: format!("the {cap} calls it may make are made") });
        }
        if let Some(cap) = self.caps.tokens.filter(|cap| tokens > *cap) {
            let why = format!("the next call might go past the cap of {cap} tokens ({} used)", spent.amount.tokens);
            return Err(LimitMet { limit: Limit::Tokens, why });
        }
        // Sums of prices are not exact; a billionth of a dollar is nobody's money.
        if let Some(cap) = self.caps.cost_usd.filter(|cap| cost > cap + 1e-9) {
            let why = format!("the next call might go past the cap of ${cap} (${:.4} used)", spent.amount.cost_usd);
            return Err(LimitMet { limit: Limit::Cost, why });
        }
        books.spent.calls += 1;
        books.held.add(most);
        Ok(())
    }

    /// Settles a held call.
    pub fn settle(&self, held: Amount, used: Option<Amount>, may_be_billed: bool) {
        let mut books = self.lock();
        books.held.take(held);
        books.spent.charge(held, used, may_be_billed);
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever happens in whatever order, no more is let out than the caps allow, as long as no call uses more than was held.
        #[test]
        fn held_and_spent_never_pass_the_caps(
            cap in 0u64..2000,
            calls in 0u64..30,
            steps in prop::collection::vec((0u64..300, 0u64..300, any::<bool>()), 0..80),
        ) {
            let caps = Caps { tokens: Some(cap), cost_usd: Some(cap as f64 / 100.0), calls: Some(calls), ..Caps::default() };
            let budget = Budget::new(caps, 0, Spent::default());
            let (mut open, mut billed, mut begun) = (Vec::new(), 0, 0);
            for (most, used, settle) in steps {
                let most = Amount { tokens: most, cost_usd: most as f64 / 100.0 };
                if budget.hold(most, false).is_ok() {
                    begun += 1;
                    open.push((most, used.min(most.tokens)));
                }
                if settle && let Some((held, used)) = open.pop() {
                    billed += used;
                    budget.settle(held, Some(Amount { tokens: used, cost_usd: used as f64 / 100.0 }), true);
                }
                let could_be: u64 = billed + open.iter().map(|(_, used)| used).sum::<u64>();
                prop_assert!(could_be <= cap && begun <= calls);
            }
        }
    }

    #[test]
    fn what_nobody_knows_is_charged_as_held() {
        let held = Amount { tokens: 100, cost_usd: 1.0 };
        let budget = Budget::new(Caps { cost_usd: Some(1.5), ..Caps::default() }, 0, Spent::default());
        assert_eq!(budget.hold(held, false), Ok(()));
        assert!(budget.hold(held, false).is_err(), "while the first is under way");
        budget.settle(held, None, false);
        assert_eq!(budget.hold(held, false), Ok(()), "a refused call cost nothing");
        budget.settle(held, None, true);
        assert!(budget.hold(held, false).is_err_and(|stop| stop.limit == Limit::Cost && stop.why.contains("$1.5")), "a lost one may have");
    }

    #[test]
    fn room_is_kept_for_the_end() {
        let call = Amount { tokens: 100, cost_usd: 0.0 };
        for caps in [Caps { tokens: Some(350), ..Caps::default() }, Caps { calls: Some(3), ..Caps::default() }] {
            let budget = Budget::new(caps, 1, Spent::default());
            assert_eq!([budget.hold(call, false), budget.hold(call, false)], [Ok(()), Ok(())], "{caps:?}");
            assert!(budget.hold(call, false).is_err(), "the last one is the closing step's: {caps:?}");
            assert_eq!(budget.hold(call, true), Ok(()), "{caps:?}");
            assert!(budget.hold(call, true).is_err(), "and a cap is a cap: {caps:?}");
        }
    }
}
