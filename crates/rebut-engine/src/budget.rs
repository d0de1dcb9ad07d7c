//! The budget of a debate is a contract: every call is held against its caps before it leaves, at
//! the most it could use, and settled when it ended. What nobody knows is charged as held.

use crate::{
    agent::Agent,
    event::Limits,
    gate::LONGEST_GATE,
    model::{Fault, FaultKind, Price, Usage},
    outcome::{Limit, LimitMet},
    prompt::Prompt,
    reply::Schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

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
        let cost = self
            .cost_usd
            .filter(|cost| !cost.is_finite() || *cost < 0.0)?;
        Some(format!(
            "the most a debate may cost must be a number of dollars, not {cost}"
        ))
    }
}

/// The longest a debate may be given: a year, in seconds.
pub const LONGEST_DEBATE: u64 = 365 * 24 * 60 * 60;

/// The longest a turn may be given: a day, in seconds.
pub const LONGEST_TURN: u64 = 24 * 60 * 60;

impl Limits {
    /// What is wrong with them, if anything.
    pub fn problem(&self) -> Option<String> {
        let times = [
            ("a turn may take", self.turn_seconds, LONGEST_TURN),
            ("a debate may take", self.debate_seconds, LONGEST_DEBATE),
            (
                "a person may take to approve",
                self.approval_seconds,
                LONGEST_GATE,
            ),
        ];
        let too_long = times.into_iter().find(|(_, seconds, most)| seconds > most);
        let words = |(what, seconds, most)| format!("{what} at most {most} seconds, not {seconds}");
        self.caps.problem().or_else(|| too_long.map(words))
    }
}

/// The most tokens an answer may have when there is a cap on money or tokens and the agent says
/// nothing: without a limit nothing could be held for it.
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
        Self::of(
            &Usage {
                input,
                output,
                ..Usage::default()
            },
            price,
        )
    }

    /// What a known use comes to. The provider's own figure for the cost goes before ours.
    pub fn of(usage: &Usage, price: Option<Price>) -> Self {
        let cost_usd = usage
            .cost_usd
            .or_else(|| price.map(|price| price.of(usage)))
            .unwrap_or(0.0);
        Self {
            tokens: usage.input + usage.cached + usage.output,
            cost_usd,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost_usd += other.cost_usd;
    }

    fn take(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.cost_usd = (self.cost_usd - other.cost_usd).max(0.0);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub calls: u64,
    pub amount: Amount,
}

impl Spent {
    /// A call ended: what it used, or what was held where nobody knows and it may have been billed.
    pub fn charge(&mut self, held: Amount, used: Option<Amount>, may_be_billed: bool) {
        self.amount.add(used.unwrap_or(if may_be_billed {
            held
        } else {
            Amount::default()
        }));
    }
}

/// Whether a failed call may have been billed although nobody says so: by its class, or because an
/// answer had begun.
pub fn may_be_billed(fault: &Fault) -> bool {
    use FaultKind::{
        Empty, Incomplete, InvalidReply, Network, Refused, Timeout, TooLarge, Unreadable,
    };
    let by_class = matches!(
        fault.kind,
        Empty | Incomplete | InvalidReply | Network | Refused | Timeout | TooLarge | Unreadable
    );
    by_class || fault.partial.is_some()
}

/// The books of one running debate.
#[derive(Debug, Default)]
pub struct Budget {
    caps: Caps,
    /// Calls for which room is kept until the closing steps.
    closing_calls: u32,
    books: Mutex<Books>,
    /// Told when something that was held is free again.
    settled: Notify,
}

#[derive(Debug, Default)]
struct Books {
    spent: Spent,
    held: Amount,
    /// How many calls something is held for.
    open: u32,
}

/// What is held for one call. Dropped before the call left it is given back; after that, it is
/// charged in full, since nobody knows what the call used.
#[derive(Debug)]
pub struct Hold<'a> {
    budget: &'a Budget,
    amount: Amount,
    state: Held,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Before,
    Sent,
    Settled,
}

impl Hold<'_> {
    pub fn amount(&self) -> Amount {
        self.amount
    }

    pub fn sent(&mut self) {
        self.state = Held::Sent;
    }

    /// The call never left, although it was about to: it counts as none.
    pub fn give_back(mut self) {
        self.state = Held::Before;
    }

    pub fn settle(mut self, used: Option<Amount>, may_be_billed: bool) {
        self.state = Held::Settled;
        self.budget.release(self.amount, |spent| {
            spent.charge(self.amount, used, may_be_billed)
        });
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        match self.state {
            Held::Before => self.budget.release(self.amount, |spent| spent.calls -= 1),
            Held::Sent => self
                .budget
                .release(self.amount, |spent| spent.charge(self.amount, None, true)),
            Held::Settled => {}
        }
    }
}

/// A call that cannot be held.
#[derive(Debug, PartialEq)]
pub struct Refusal {
    pub met: LimitMet,
    /// Whether it might fit once the calls under way are settled: they are held at the most they
    /// could use.
    pub may_pass: bool,
}

impl Budget {
    /// A budget with what an earlier run used.
    pub fn new(caps: Caps, closing_calls: u32, spent: Spent) -> Self {
        Self {
            caps,
            closing_calls,
            books: Mutex::new(Books {
                spent,
                ..Books::default()
            }),
            settled: Notify::new(),
        }
    }

    /// Whether anything is capped at all.
    pub fn is_capped(&self) -> bool {
        !self.caps.is_empty()
    }

    /// The same as `hold`, but a call that might fit later waits while others are under way.
    pub async fn hold_or_wait(&self, most: Amount, is_closing: bool) -> Result<Hold<'_>, LimitMet> {
        loop {
            // Made before looking, so that nothing settled in between is missed.
            let settled = self.settled.notified();
            match self.hold(most, is_closing) {
                Ok(hold) => return Ok(hold),
                Err(refusal) if !refusal.may_pass => return Err(refusal.met),
                Err(_) => settled.await,
            }
        }
    }

    /// Holds the most a call may use, or says which cap it would break. Unless it is itself a
    /// closing call, room must be left for those: each is taken to be as large as this one.
    pub fn hold(&self, most: Amount, is_closing: bool) -> Result<Hold<'_>, Refusal> {
        let mut books = self.lock();
        let (spent, held) = (books.spent, books.held);
        let calls = 1 + if is_closing {
            0
        } else {
            u64::from(self.closing_calls)
        };
        if let Some(cap) = self.caps.calls.filter(|cap| spent.calls + calls > *cap) {
            let met = LimitMet {
                limit: Limit::Calls,
                why: calls_are_over(cap, spent.calls),
            };
            return Err(Refusal {
                met,
                may_pass: false,
            });
        }
        let tokens = spent
            .amount
            .tokens
            .saturating_add(most.tokens.saturating_mul(calls));
        if let Some(cap) = self
            .caps
            .tokens
            .filter(|cap| tokens.saturating_add(held.tokens) > *cap)
        {
            let why = format!(
                "the next call might go past the cap of {cap} tokens ({} used)",
                spent.amount.tokens
            );
            return Err(Refusal {
                met: LimitMet {
                    limit: Limit::Tokens,
                    why,
                },
                may_pass: tokens <= cap,
            });
        }
        let cost = spent.amount.cost_usd + most.cost_usd * calls as f64;
        // Sums of prices are not exact; a billionth of a dollar is nobody's money.
        if let Some(cap) = self
            .caps
            .cost_usd
            .filter(|cap| cost + held.cost_usd > cap + 1e-9)
        {
            let why = format!(
                "the next call might go past the cap of ${cap} (${:.4} used)",
                spent.amount.cost_usd
            );
            return Err(Refusal {
                met: LimitMet {
                    limit: Limit::Cost,
                    why,
                },
                may_pass: cost <= cap + 1e-9,
            });
        }
        books.spent.calls += 1;
        books.held.add(most);
        books.open += 1;
        Ok(Hold {
            budget: self,
            amount: most,
            state: Held::Before,
        })
    }

    fn release(&self, amount: Amount, note: impl FnOnce(&mut Spent)) {
        let mut books = self.lock();
        books.held.take(amount);
        books.open -= 1;
        if books.open == 0 {
            // Sums of prices are not exact, and nothing is held by nobody.
            books.held = Amount::default();
        }
        note(&mut books.spent);
        drop(books);
        self.settled.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why no further call may be made. Room that is kept for the end was not used.
fn calls_are_over(cap: u64, made: u64) -> String {
    let calls = |count: u64| format!("{count} call{}", if count == 1 { "" } else { "s" });
    match cap.saturating_sub(made) {
        0 => format!(
            "the {} it may make {} made",
            calls(cap),
            if cap == 1 { "is" } else { "are" }
        ),
        left => format!(
            "of the {} it may make {} left, kept for its last steps",
            calls(cap),
            if left == 1 {
                "1 is".to_owned()
            } else {
                format!("{left} are")
            }
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever happens in whatever order, no more is let out than the caps allow, as long as
        /// no call uses more than was held.
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
                if let Ok(mut hold) = budget.hold(most, false) {
                    begun += 1;
                    hold.sent();
                    open.push((hold, used.min(most.tokens)));
                }
                if settle && let Some((hold, used)) = open.pop() {
                    billed += used;
                    hold.settle(Some(Amount { tokens: used, cost_usd: used as f64 / 100.0 }), true);
                }
                let could_be: u64 = billed + open.iter().map(|(_, used)| used).sum::<u64>();
                prop_assert!(could_be <= cap && begun <= calls);
            }
        }
    }

    #[test]
    fn what_nobody_knows_is_charged_as_held() {
        let held = Amount {
            tokens: 100,
            cost_usd: 1.0,
        };
        let budget = Budget::new(
            Caps {
                cost_usd: Some(1.5),
                calls: Some(3),
                ..Caps::default()
            },
            0,
            Spent::default(),
        );
        drop(budget.hold(held, false).expect("it fits"));
        let mut first = budget
            .hold(held, false)
            .expect("what never left is given back");
        first.sent();
        assert!(
            budget
                .hold(held, false)
                .is_err_and(|refusal| refusal.may_pass),
            "while the first is under way"
        );
        first.settle(None, false);
        let mut second = budget
            .hold(held, false)
            .expect("a refused call cost nothing");
        second.sent();
        drop(second);
        let refusal = budget.hold(held, false).expect_err("a lost one may have");
        assert!(
            refusal.met.limit == Limit::Cost
                && refusal.met.why.contains("$1.5")
                && !refusal.may_pass,
            "{refusal:?}"
        );
        let free = Amount::default();
        let _third = budget.hold(free, false).expect("the third call");
        let refusal = budget.hold(free, false).expect_err("three are made");
        assert!(
            refusal.met.limit == Limit::Calls && !refusal.may_pass,
            "calls do not come back: {refusal:?}"
        );
    }

    #[test]
    fn room_is_kept_for_the_end() {
        let call = Amount {
            tokens: 100,
            cost_usd: 0.0,
        };
        for caps in [
            Caps {
                tokens: Some(350),
                ..Caps::default()
            },
            Caps {
                calls: Some(3),
                ..Caps::default()
            },
        ] {
            let budget = Budget::new(caps, 1, Spent::default());
            let _two = [
                budget.hold(call, false).expect("the first"),
                budget.hold(call, false).expect("the second"),
            ];
            let refusal = budget
                .hold(call, false)
                .expect_err("the last one is the closing step's");
            assert!(
                caps.calls.is_none()
                    || refusal.met.why
                        == "of the 3 calls it may make 1 is left, kept for its last steps",
                "{refusal:?}"
            );
            let _last = budget.hold(call, true).expect("the closing step's");
            assert!(
                budget.hold(call, true).is_err(),
                "and a cap is a cap: {caps:?}"
            );
        }
    }
}
