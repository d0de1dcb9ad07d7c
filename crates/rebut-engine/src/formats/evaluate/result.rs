//! The result of an evaluation: every topic with its arguments and verdict, and every score before
//! and after.

use super::{
    evidence::{Quoted, look_up, strength, weight},
    input::Topic,
    replies::{Answers, Arguments, CategoryScore, Judgement, argument_number},
    roles::SIDES,
    state::{Scored, Totals, Winner},
};
use crate::{
    clean::on_one_line,
    event::{ClaimId, Verdict},
    facts::{Ruling, ScoreAdjusted},
    moves::{
        exchange::Exchange,
        judge::{Judged, Order},
        quotes::Source,
    },
    outcome::Outcome,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What an evaluation found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluateResult {
    /// The idea's name.
    pub title: String,
    /// One for each topic that was heard, in order.
    pub rounds: Vec<TopicRound>,
    /// Every score before and after, by category.
    pub scores: BTreeMap<String, Scored>,
    /// The mean of all scores; null without any.
    pub totals: Option<Totals>,
    /// The strongest argument of all topics that were judged.
    pub strongest: Option<Strongest>,
    /// How the evaluator came to the scores that were not given, by category.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub evaluation: BTreeMap<String, Evaluated>,
    /// Whether the arbiter's model is of the family of a side's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_family: bool,
}

/// One topic as it was debated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopicRound {
    /// Its number, from 1.
    pub round: u32,
    /// Its name.
    pub topic: String,
    /// The category whose score it may change.
    pub target_category: String,
    /// What the advocate stands for.
    pub advocate_position: String,
    /// What the challenger stands for.
    pub challenger_position: String,
    /// The advocate's arguments.
    pub advocate_arguments: Vec<Argued>,
    /// The challenger's arguments.
    pub challenger_arguments: Vec<Argued>,
    /// The advocate's answers to the challenger.
    pub advocate_answers: Vec<Answered>,
    /// The challenger's answers to the advocate.
    pub challenger_answers: Vec<Answered>,
    /// What the arbiter said.
    pub arbiter_verdict: TopicVerdict,
    /// How far scores moved, by category.
    pub score_adjustments: BTreeMap<String, f64>,
    /// The category's score before this topic; null without one.
    pub score_before: Option<f64>,
    /// And after.
    pub score_after: Option<f64>,
}

/// An argument as it was checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Argued {
    /// Its name, e.g. `challenger·2·#3`.
    pub id: ClaimId,
    /// What is claimed.
    pub claim: String,
    /// Why.
    pub reasoning: String,
    /// Its quotations.
    pub evidence: Vec<Quoted>,
    /// The share of its quotations that stand in the idea; 0.5 without any.
    pub strength: f64,
}

/// An answer to an argument, as it was checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The argument.
    pub argument: ClaimId,
    /// Whether it is attacked or conceded.
    pub verdict: Verdict,
    /// Why.
    pub text: String,
    /// Its quotations.
    pub evidence: Vec<Quoted>,
}

/// The arbiter's verdict on a topic, both orders taken together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopicVerdict {
    /// Who was better; null if the topic was skipped.
    pub winner: Option<Winner>,
    /// Why, or why it was skipped.
    pub reasoning: String,
    /// What mattered most.
    pub key_points: Vec<String>,
    /// How sure the arbiter is: the lower of the two orders.
    pub confidence: f64,
    /// Whether the verdict changed with the order in which the sides were shown, so that it is a
    /// draw.
    pub flipped: bool,
    /// Whether nobody judged, so that the score stays.
    pub skipped: bool,
    /// The arguments the arbiter named as strongest, in either order.
    pub strongest: Vec<ClaimId>,
}

/// The strongest argument of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Strongest {
    /// Its name.
    pub id: ClaimId,
    /// The topic it was made on.
    pub topic: String,
    /// What it claims.
    pub claim: String,
}

/// How the evaluator scored a category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluated {
    /// The score.
    pub score: f64,
    /// How sure it is.
    pub confidence: f64,
    /// Why.
    pub reason: String,
    /// Its quotations.
    pub evidence: Vec<Quoted>,
}

impl Evaluated {
    /// The evaluator's word with its quotations looked up.
    pub fn of(score: &CategoryScore, source: &Source) -> Self {
        let CategoryScore {
            score: points,
            confidence,
            reason,
            evidence,
            ..
        } = score;
        Self {
            score: *points,
            confidence: *confidence,
            reason: reason.clone(),
            evidence: look_up(source, evidence),
        }
    }
}

impl TopicRound {
    /// A topic nobody has spoken on yet.
    pub fn open(round: u32, topic: &Topic, score: Option<f64>) -> Self {
        Self {
            round,
            topic: topic.name.clone(),
            target_category: topic.category.clone(),
            advocate_position: topic.advocate_position.clone(),
            challenger_position: topic.challenger_position.clone(),
            advocate_arguments: Vec::new(),
            challenger_arguments: Vec::new(),
            advocate_answers: Vec::new(),
            challenger_answers: Vec::new(),
            arbiter_verdict: TopicVerdict::default(),
            score_adjustments: BTreeMap::new(),
            score_before: score,
            score_after: score,
        }
    }

    /// Takes down what both sides said.
    pub fn hear(&mut self, exchange: &Exchange<Arguments, Answers>, source: &Source) {
        let argued = exchange
            .sides
            .each_ref()
            .map(|side| side.argued.as_ref().map(|said| &said.reply));
        let answered = exchange
            .sides
            .each_ref()
            .map(|side| side.answered.as_ref().map(|said| &said.reply));
        self.advocate_arguments = arguments(argued[0], SIDES[0], self.round, source);
        self.challenger_arguments = arguments(argued[1], SIDES[1], self.round, source);
        self.advocate_answers = answers(answered[0], SIDES[1], self.round, source);
        self.challenger_answers = answers(answered[1], SIDES[0], self.round, source);
    }

    /// The topic with both sides' arguments as one side sees them: its own and the other's. Nobody
    /// has answered yet.
    pub fn with_arguments(
        &self,
        side: usize,
        own: &Arguments,
        other: &Arguments,
        source: &Source,
    ) -> Self {
        let [advocate, challenger] = if side == 0 {
            [own, other]
        } else {
            [other, own]
        };
        Self {
            advocate_arguments: arguments(Some(advocate), SIDES[0], self.round, source),
            challenger_arguments: arguments(Some(challenger), SIDES[1], self.round, source),
            ..self.clone()
        }
    }

    /// A side's arguments and answers: 0 is the advocate.
    pub fn side(&self, side: usize) -> (&[Argued], &[Answered]) {
        match side {
            0 => (&self.advocate_arguments, &self.advocate_answers),
            _ => (&self.challenger_arguments, &self.challenger_answers),
        }
    }

    /// A side's position: 0 is the advocate's.
    pub fn position(&self, side: usize) -> &str {
        [&self.advocate_position, &self.challenger_position][side]
    }

    /// What a side's words are worth by their quotations.
    pub fn weight_of(&self, side: usize) -> f64 {
        let (arguments, answers) = self.side(side);
        rounded(weight(
            arguments.iter().map(|argued| &*argued.evidence),
            answers.iter().map(|answered| &*answered.evidence),
        ))
    }

    /// Says that nobody judged, and why.
    pub fn skip(&mut self, why: String) {
        self.arbiter_verdict = TopicVerdict {
            skipped: true,
            reasoning: format!("skipped: {why}"),
            ..TopicVerdict::default()
        };
    }

    /// Takes down the verdict, and gives it as a fact. Only with a verdict in each order.
    pub fn judge(&mut self, judged: &Judged<Judgement>, own_family: bool) -> Ruling {
        let said: Vec<(Order, &Judgement)> = judged
            .said()
            .map(|(order, said)| (order, &said.reply))
            .collect();
        let flipped = judged.flipped();
        let told = if flipped {
            &said[..]
        } else {
            &said[..1.min(said.len())]
        };
        let reasoning: Vec<String> = told
            .iter()
            .map(|(order, verdict)| with_names(&verdict.reasoning, *order))
            .collect();
        let mut key_points: Vec<String> = Vec::new();
        for point in told.iter().flat_map(|(order, verdict)| {
            verdict
                .key_points
                .iter()
                .map(|point| with_names(point, *order))
        }) {
            if !key_points.contains(&point) {
                key_points.push(point);
            }
        }
        let named = said.iter().filter_map(|(order, verdict)| {
            verdict
                .strongest()
                .map(|(place, number)| (order.at(place), number))
        });
        let strongest = named
            .filter_map(|(side, number)| self.side(side).0.get(number - 1))
            .map(|argued| argued.id.clone())
            .collect();
        let winner = judged.winner();
        let verdict = TopicVerdict {
            winner: Some(Winner::of(winner)),
            reasoning: reasoning.join(" In the other order: "),
            key_points,
            confidence: rounded(
                said.iter()
                    .map(|(_, verdict)| verdict.confidence)
                    .fold(1.0, f64::min),
            ),
            flipped,
            skipped: false,
            strongest,
        };
        self.arbiter_verdict = verdict.clone();
        Ruling {
            about: self.topic.clone(),
            sides: SIDES.map(str::to_owned),
            winner: winner.map(|side| SIDES[side].to_owned()),
            reasoning: verdict.reasoning,
            key_points: verdict.key_points,
            confidence: verdict.confidence,
            scores: BTreeMap::new(),
            flipped,
            own_family,
        }
    }

    /// Takes down what the verdict did to the score.
    pub fn adjust(&mut self, adjusted: &ScoreAdjusted) {
        (self.score_before, self.score_after) = (Some(adjusted.before), Some(adjusted.after));
        self.score_adjustments = BTreeMap::from([(
            adjusted.category.clone(),
            rounded(adjusted.after - adjusted.before),
        )]);
    }
}

/// The strongest argument of the topics that were judged: named most often by the arbiter, then by
/// what it is worth, then of a winner; the earlier one among equals.
pub fn strongest(rounds: &[TopicRound]) -> Option<Strongest> {
    let mut best: Option<((usize, f64, bool), Strongest)> = None;
    for round in rounds.iter().filter(|round| !round.arbiter_verdict.skipped) {
        for side in 0..SIDES.len() {
            let won = round.arbiter_verdict.winner == Some(Winner::of(Some(side)));
            for argued in round.side(side).0 {
                let named = round
                    .arbiter_verdict
                    .strongest
                    .iter()
                    .filter(|id| **id == argued.id)
                    .count();
                let rank = (named, argued.strength, won);
                if best.as_ref().is_none_or(|(known, _)| rank > *known) {
                    best = Some((
                        rank,
                        Strongest {
                            id: argued.id.clone(),
                            topic: round.topic.clone(),
                            claim: argued.claim.clone(),
                        },
                    ));
                }
            }
        }
    }
    best.map(|(_, strongest)| strongest)
}

fn arguments(said: Option<&Arguments>, side: &str, round: u32, source: &Source) -> Vec<Argued> {
    let said = said.map(|said| &*said.arguments).unwrap_or_default();
    let argued = (1..).zip(said).map(|(number, argument)| {
        let evidence = look_up(source, &argument.evidence);
        Argued {
            id: ClaimId::new(side, round, number),
            claim: argument.claim.clone(),
            reasoning: argument.reasoning.clone(),
            strength: rounded(strength(&evidence)),
            evidence,
        }
    });
    argued.collect()
}

fn answers(said: Option<&Answers>, other: &str, round: u32, source: &Source) -> Vec<Answered> {
    let said = said.map(|said| &*said.answers).unwrap_or_default();
    let answered = said.iter().filter_map(|answer| {
        Some(Answered {
            argument: ClaimId::new(other, round, argument_number(&answer.argument)?),
            verdict: answer.verdict,
            text: answer.text.clone(),
            evidence: look_up(source, &answer.evidence),
        })
    });
    answered.collect()
}

/// The arbiter's words with the sides called by their names. Only for readers: nothing is concluded
/// from it.
fn with_names(text: &str, order: Order) -> String {
    let mut named = on_one_line(text);
    for (place, number) in ["1", "2"].iter().enumerate() {
        let side = SIDES[order.at(place)];
        for word in ["Side", "side", "SIDE"] {
            let shown = format!("{word} {number}");
            named = named.replace(&format!(". {shown}"), &format!(". The {side}"));
            named = match named.strip_prefix(&shown) {
                Some(rest) => format!("The {side}{rest}"),
                None => named,
            };
            named = named.replace(&shown, &format!("the {side}"));
        }
    }
    named
}

/// Two decimals are enough for anybody.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Why a result does not reach what is needed. A total over a part of the categories says nothing
/// of the whole, so it never does.
pub fn held_back(outcome: &Outcome, needed: f64) -> Option<String> {
    let Ok(result) = EvaluateResult::deserialize(&outcome.result) else {
        return Some("there is no result".to_owned());
    };
    let unscored: BTreeSet<String> = result
        .rounds
        .iter()
        .filter(|round| round.score_after.is_none())
        .map(|round| on_one_line(&round.target_category))
        .collect();
    match result.totals {
        _ if !unscored.is_empty() => {
            let unscored = Vec::from_iter(unscored).join(", ");
            Some(format!(
                "the total is incomplete, without a score of {unscored}: it does not pass \
                 --fail-on {needed}"
            ))
        }
        None => Some(format!(
            "there are no scores: nothing passes --fail-on {needed}"
        )),
        Some(total) if total.post < needed => Some(format!(
            "the total is {} after the debate, below {needed}",
            total.post
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_called_by_their_names_in_either_order() {
        let text = "Side 1 shows it;\nside 2 only says so. Side 2 loses.";
        assert_eq!(
            with_names(text, Order::Forwards),
            "The advocate shows it; the challenger only says so. The challenger loses."
        );
        assert_eq!(
            with_names(text, Order::Backwards),
            "The challenger shows it; the advocate only says so. The advocate loses."
        );
    }

    #[test]
    fn the_strongest_argument_is_named_by_the_arbiter_then_shown_then_of_a_winner() {
        let topic = Topic {
            name: "T".to_owned(),
            category: "c".to_owned(),
            advocate_position: "yes".to_owned(),
            challenger_position: "no".to_owned(),
        };
        let argued = |side: &str, number: usize, strength: f64| Argued {
            id: ClaimId::new(side, 1, number),
            claim: format!("{side} {number}"),
            reasoning: "r".to_owned(),
            evidence: Vec::new(),
            strength,
        };
        let mut round = TopicRound::open(1, &topic, Some(5.0));
        round.advocate_arguments = vec![argued("advocate", 1, 0.5), argued("advocate", 2, 1.0)];
        round.challenger_arguments = vec![argued("challenger", 1, 1.0)];
        let found = |round: &TopicRound| {
            strongest(std::slice::from_ref(round)).map(|strongest| strongest.id.0)
        };
        round.arbiter_verdict.winner = Some(Winner::Draw);
        assert_eq!(
            found(&round).as_deref(),
            Some("advocate·1·#2"),
            "the first of the best shown"
        );
        round.arbiter_verdict.winner = Some(Winner::Challenger);
        assert_eq!(found(&round).as_deref(), Some("challenger·1·#1"));
        round.arbiter_verdict.strongest = vec![ClaimId::new("advocate", 1, 1)];
        assert_eq!(found(&round).as_deref(), Some("advocate·1·#1"));
        round.skip("nobody".to_owned());
        assert_eq!(found(&round), None);
    }
}
