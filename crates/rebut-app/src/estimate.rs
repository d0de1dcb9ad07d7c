//! What a debate will take, before it starts: ranges of calls, tokens and money. Pure.

use crate::words::dollars;
use rebut_engine::{
    clean::on_one_line,
    formats::Foreseen,
    model::{Price, Usage},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq)]
pub struct Speaker {
    pub model: String,
    /// What its tokens cost; `None` when nobody knows.
    pub price: Option<Price>,
    /// The size of what it is told in the first round, with the form of the reply.
    pub prompt_bytes: u64,
    pub max_tokens: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range<T> {
    /// When everybody agrees at once, in few words.
    pub low: T,
    /// When every round is needed, in many.
    pub high: T,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub calls: Range<u64>,
    /// Calls when every reply has to be asked for again. Retries after failures come on top.
    pub most_calls: u64,
    pub tokens: Range<u64>,
    /// US dollars; null when a price is unknown, which is not zero.
    pub cost_usd: Option<Range<f64>>,
    /// US dollars of those whose price is known.
    pub known_cost_usd: Range<f64>,
    pub unpriced: Vec<String>,
}

/// Tokens of an answer, unless a speaker is limited.
const ANSWER: Range<u64> = Range {
    low: 150,
    high: 800,
};
/// Bytes a token has at most and at least, in ordinary prose.
const BYTES: Range<u64> = Range { low: 5, high: 3 };

impl Speaker {
    fn answer(&self) -> Range<u64> {
        let limit = self.max_tokens.map(u64::from);
        Range {
            low: limit.map_or(ANSWER.low, |limit| limit.min(ANSWER.low)),
            high: limit.unwrap_or(ANSWER.high),
        }
    }

    /// One turn in which it hears so many tokens of others.
    fn turn(&self, heard: u64) -> Range<Usage> {
        let answer = self.answer();
        let usage = |input, output| Usage {
            input,
            output,
            ..Usage::default()
        };
        Range {
            low: usage(self.prompt_bytes / BYTES.low, answer.low),
            high: usage(self.prompt_bytes / BYTES.high + heard, answer.high),
        }
    }
}

impl Estimate {
    /// A debate of these speakers that makes these calls.
    pub fn new(speakers: &[Speaker], calls: &[Foreseen]) -> Self {
        let mut estimate = Self::default();
        let said: u64 = speakers.iter().map(|speaker| speaker.answer().high).sum();
        for call in calls {
            let Some(speaker) = speakers.get(call.agent) else {
                continue;
            };
            estimate.add(
                speaker,
                said * call.hears as u64 / speakers.len() as u64,
                call.is_sure,
            );
        }
        estimate.summed()
    }

    fn summed(mut self) -> Self {
        self.most_calls = 2 * self.calls.high;
        self.cost_usd = self.unpriced.is_empty().then_some(self.known_cost_usd);
        self
    }

    /// Adds a turn; one that may not be needed counts only for the upper end.
    fn add(&mut self, speaker: &Speaker, heard: u64, is_sure: bool) {
        let turn = speaker.turn(heard);
        let price = speaker.price.unwrap_or(Price::FREE);
        if is_sure {
            self.calls.low += 1;
            self.tokens.low += turn.low.input + turn.low.output;
            self.known_cost_usd.low += price.of(&turn.low);
        }
        self.calls.high += 1;
        self.tokens.high += turn.high.input + turn.high.output;
        self.known_cost_usd.high += price.of(&turn.high);
        if speaker.price.is_none() && !self.unpriced.contains(&speaker.model) {
            self.unpriced.push(speaker.model.clone());
        }
    }

    pub fn words(&self) -> String {
        let span = |low: String, high: String| {
            if low == high {
                high
            } else {
                format!("{low}–{high}")
            }
        };
        let calls = span(self.calls.low.to_string(), self.calls.high.to_string());
        let (low, high) = (self.tokens.low, self.tokens.high);
        let tokens = match high {
            10_000.. => format!(
                "{}k",
                span(
                    (low as f64 / 1000.0).round().to_string(),
                    (high as f64 / 1000.0).round().to_string()
                )
            ),
            _ => span(
                (low / 100 * 100).to_string(),
                high.next_multiple_of(100).to_string(),
            ),
        };
        let money = |range: Range<f64>| {
            span(
                dollars(range.low),
                dollars(range.high).trim_start_matches('$').to_owned(),
            )
        };
        let cost = match self.cost_usd {
            Some(cost) if cost.high == 0.0 => "$0".to_owned(),
            Some(cost) => money(cost),
            None => {
                let unpriced = self
                    .unpriced
                    .iter()
                    .map(|model| on_one_line(model))
                    .collect::<Vec<_>>()
                    .join(", ");
                let known = self.known_cost_usd;
                let others = if known.high > 0.0 {
                    format!("; the others {}", money(known))
                } else {
                    String::new()
                };
                format!("cost n/a (no price for {unpriced}{others})")
            }
        };
        let word = if self.calls.high == 1 {
            "call"
        } else {
            "calls"
        };
        format!(
            "{calls} {word}, at most {} with clarifications, about {tokens} tokens, {cost}",
            self.most_calls
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_grow_with_rounds_and_unknown_prices_stay_unknown() {
        let speaker = |price: Option<Price>, max_tokens| Speaker {
            model: "a:b".to_owned(),
            price,
            prompt_bytes: 6000,
            max_tokens,
        };
        let priced = Some(Price {
            input: 1.0,
            cached: None,
            output: 10.0,
        });
        let three = |one: Speaker| vec![one.clone(), one.clone(), one];
        let rows = [
            // 3 × (1200 + 150) to 3 × (2000 + 800) + 3 × (2000 + 2400 + 800).
            (
                0,
                three(speaker(priced, None)),
                2,
                "3–6 calls, at most 12 with clarifications, about 4–24k tokens, $0.0081–0.067",
            ),
            (
                0,
                three(speaker(priced, Some(100))),
                1,
                "3 calls, at most 6 with clarifications, about 3900–6300 tokens, $0.0066–0.0090",
            ),
            (
                1,
                three(speaker(priced, None)),
                1,
                "4 calls, at most 8 with clarifications, about 5–11k tokens, $0.011–0.040",
            ),
            (
                0,
                vec![speaker(priced, None), speaker(None, None)],
                1,
                "2 calls, at most 4 with clarifications, about 2700–5600 tokens, cost n/a (no \
                 price for a:b; the others $0.0027–0.010)",
            ),
            (
                0,
                vec![speaker(Some(Price::FREE), None)],
                1,
                "1 call, at most 2 with clarifications, about 1300–2800 tokens, $0",
            ),
        ];
        for (drafts, speakers, rounds, expected) in rows {
            let draft = Foreseen {
                agent: 0,
                hears: 0,
                is_sure: true,
            };
            let calls: Vec<Foreseen> = std::iter::repeat_n(draft, drafts)
                .chain(Foreseen::rounds(speakers.len(), rounds, 1))
                .collect();
            let estimate = Estimate::new(&speakers, &calls);
            assert_eq!(estimate.words(), expected);
            assert_eq!(estimate.cost_usd.is_some(), estimate.unpriced.is_empty());
        }
    }
}
