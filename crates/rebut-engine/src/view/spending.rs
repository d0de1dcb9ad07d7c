//! What a debate took: what is known, and what nobody told. Unknown is never nothing. Pure.

use super::{TurnState, TurnView, View};
use crate::{
    budget::{Amount, may_be_billed},
    family::is_model,
    model::{Fault, Usage},
};
use serde::Serialize;

/// Use of a whole debate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Spent {
    /// Requests made, failed ones included.
    pub calls: u32,
    /// How many of them brought an answer.
    pub answers: u32,
    /// Input tokens that were not cached.
    pub input_tokens: u64,
    /// Input tokens read from a cache.
    pub cached_tokens: u64,
    /// Output tokens, those for reasoning included.
    pub output_tokens: u64,
    /// The part of the output spent on reasoning, as far as providers tell it.
    pub reasoning_tokens: u64,
    /// US dollars; null when the cost of any call is unknown: its price, or what it used.
    pub cost_usd: Option<f64>,
    /// US dollars as far as they are known: the same, or the least that it cost.
    pub known_cost_usd: f64,
    /// What its caps count: what is known, and what was held for calls of unknown use. Left out
    /// where neither money nor tokens are capped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charged: Option<Amount>,
    /// Calls whose use is unknown: those without a word of it, those that failed and may have been
    /// billed, those under way or lost.
    pub unknown_calls: u32,
    /// Turns that may have been paid twice because a crash hit them in flight.
    pub possibly_paid_twice: Vec<String>,
}

/// The calls of a turn of which nobody said what they used.
#[derive(Clone, Debug, Default)]
pub(super) struct Untold {
    calls: u32,
    /// Whether any of them may have cost something: a script, the rehearsal and a person never do,
    /// however they end.
    may_cost: bool,
    held: Amount,
    under_way: Option<UnderWay>,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    held: Amount,
    may_cost: bool,
}

impl Untold {
    /// A call leaves. One that was under way before is lost.
    pub fn begin(&mut self, model: &str, held: Option<Amount>) {
        self.end(false);
        self.under_way = Some(UnderWay {
            held: held.unwrap_or_default(),
            may_cost: is_model(model),
        });
    }

    /// The call under way ended. Whether it is known what it used.
    pub fn end(&mut self, told: bool) {
        if let Some(call) = self.under_way.take().filter(|_| !told) {
            self.calls += 1;
            self.may_cost |= call.may_cost;
            self.held.add(call.held);
        }
    }

    pub fn fail(&mut self, fault: &Fault) {
        self.end(fault.usage.is_some() || !may_be_billed(fault));
    }

    /// Whether a call is under way.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }
}

impl View {
    pub fn spent(&self) -> Spent {
        let (mut spent, held) = spent(self.turns.iter());
        let capped = self
            .limits()
            .is_some_and(|limits| limits.caps.cost_usd.is_some() || limits.caps.tokens.is_some());
        spent.charged = capped.then(|| {
            let tokens = spent.input_tokens + spent.cached_tokens + spent.output_tokens;
            let mut charged = Amount {
                tokens,
                cost_usd: spent.known_cost_usd,
            };
            charged.add(held);
            charged
        });
        spent.without(self.lost_replies.len())
    }

    /// What one agent cost so far.
    pub fn spent_by(&self, agent: &str) -> Spent {
        let lost = self
            .lost_replies
            .iter()
            .filter(|(_, by)| **by == *agent)
            .count();
        spent(self.turns.iter().filter(|turn| &*turn.agent == agent))
            .0
            .without(lost)
    }
}

impl Spent {
    /// The same where so many answers are known to have come, and nothing else of them.
    fn without(mut self, lost: usize) -> Self {
        let lost = u32::try_from(lost).unwrap_or(u32::MAX);
        self.answers = self.answers.saturating_add(lost);
        self.unknown_calls = self.unknown_calls.saturating_add(lost);
        self.cost_usd = self.cost_usd.filter(|_| lost == 0);
        self
    }

    fn add(&mut self, usage: &Usage) {
        self.input_tokens += usage.input;
        self.cached_tokens += usage.cached;
        self.output_tokens += usage.output;
        self.reasoning_tokens += usage.reasoning;
        self.known_cost_usd += usage.cost_usd.unwrap_or_default();
        self.cost_usd = self
            .cost_usd
            .zip(usage.cost_usd)
            .map(|(sum, cost)| sum + cost);
    }
}

/// What turns took, and what was held for those calls of which nobody told it.
fn spent<'a>(turns: impl Iterator<Item = &'a TurnView>) -> (Spent, Amount) {
    let (mut spent, mut all_held) = (
        Spent {
            cost_usd: Some(0.0),
            ..Spent::default()
        },
        Amount::default(),
    );
    for turn in turns {
        spent.calls += turn.calls;
        if turn.possibly_paid_twice {
            spent.possibly_paid_twice.push(turn.turn.clone());
        }
        turn.faults
            .iter()
            .filter_map(|fault| fault.usage.as_deref())
            .for_each(|usage| spent.add(usage));
        let mut untold = turn.untold.clone();
        untold.end(false);
        spent.unknown_calls += untold.calls;
        spent.cost_usd = spent.cost_usd.filter(|_| !untold.may_cost);
        all_held.add(untold.held);
        if turn.state == TurnState::Done && !turn.copied {
            spent.answers += 1;
            turn.usage.iter().for_each(|usage| spent.add(usage));
        }
    }
    (spent, all_held)
}
