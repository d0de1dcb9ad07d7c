//! What the agents of an evaluation reply: scores, arguments, answers to arguments, verdicts.

use crate::{
    clean::{on_one_line, shortened},
    event::Verdict,
    formats::{decide::replies::sentences, question::number},
    moves::judge::Comparison,
    reply,
    suggest::suggest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;

/// A side's arguments on a topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arguments {
    /// Separate arguments, strongest first.
    pub arguments: Vec<Argument>,
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Argument {
    /// What is claimed, in one sentence.
    pub claim: String,
    /// Why it follows.
    pub reasoning: String,
    /// Passages of the idea that show it, word for word.
    #[serde(default, deserialize_with = "sentences")]
    pub evidence: Vec<String>,
}

/// A side's answers to the other's arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answers {
    /// At least one answer.
    pub answers: Vec<Answer>,
}

/// An answer to one argument of the other side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The argument's name, such as `#2`.
    pub argument: String,
    /// Whether it is attacked or conceded.
    pub verdict: Verdict,
    /// Why.
    pub text: String,
    /// Passages of the idea that show it, word for word.
    #[serde(default, deserialize_with = "sentences")]
    pub evidence: Vec<String>,
}

/// The arbiter's verdict on one topic, in one order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// The side that argued better: `1`, `2` or `draw`.
    #[serde(deserialize_with = "word")]
    pub winner: String,
    /// Why.
    pub reasoning: String,
    /// What mattered most.
    #[serde(default, deserialize_with = "sentences")]
    pub key_points: Vec<String>,
    /// How sure the arbiter is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
    /// The name of the strongest argument of either side, such as `1#2`.
    #[serde(default)]
    pub strongest: String,
}

/// Scores for the categories that have none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CategoryScores {
    /// One for each category asked for.
    pub scores: Vec<CategoryScore>,
}

/// One category's score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CategoryScore {
    /// Which category.
    pub category: String,
    /// From 1 to 10.
    #[serde(deserialize_with = "number")]
    pub score: f64,
    /// How sure the evaluator is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
    /// Why, in a sentence or two.
    pub reason: String,
    /// Passages of the idea that show it, word for word.
    #[serde(default, deserialize_with = "sentences")]
    pub evidence: Vec<String>,
}

reply!(Arguments, "topic_arguments");
reply!(Answers, "topic_answers");
reply!(Judgement, "topic_verdict");
reply!(CategoryScores, "category_scores");

/// The words a verdict may name as its winner.
pub const WINNERS: [&str; 3] = ["1", "2", "draw"];

/// More quotations than this show nothing that fewer do not.
const MOST_QUOTES: usize = 8;
/// More key points than this are no longer key.
const MOST_POINTS: usize = 8;

impl Arguments {
    /// At least one and at most `most` substantive arguments: a claim, a reason that is not the
    /// claim again, nothing said twice.
    pub fn check(&mut self, most: usize) -> Result<(), String> {
        match self.arguments.len() {
            0 => return Err("\"arguments\" is empty; give at least one".to_owned()),
            count if count > most => {
                return Err(format!(
                    "{count} arguments; give at most {most}, the strongest"
                ));
            }
            _ => {}
        }
        for at in 0..self.arguments.len() {
            let place = at + 1;
            let (earlier, rest) = self.arguments.split_at_mut(at);
            let argument = &mut rest[0];
            let (claim, reasoning) = (same_words(&argument.claim), same_words(&argument.reasoning));
            match () {
                () if claim.is_empty() => return Err(format!("argument {place} has no \"claim\"")),
                () if reasoning.is_empty() => {
                    return Err(format!("argument {place} has no \"reasoning\""));
                }
                () if claim == reasoning => {
                    return Err(format!(
                        "argument {place}: \"reasoning\" only repeats the claim; say why it follows"
                    ));
                }
                () if earlier
                    .iter()
                    .any(|other| same_words(&other.claim) == claim) =>
                {
                    return Err(format!(
                        "argument {place} claims what an earlier one claims already"
                    ));
                }
                () => check_evidence(&mut argument.evidence)
                    .map_err(|problem| format!("argument {place}: {problem}"))?,
            }
        }
        Ok(())
    }
}

impl Answers {
    /// At least one answer to one of the other side's `others` arguments. Answers to arguments that
    /// do not exist are passed over.
    pub fn check(&mut self, others: usize) -> Result<(), String> {
        let exists = |answer: &Answer| {
            argument_number(&answer.argument).is_some_and(|number| number <= others)
        };
        self.answers.retain(exists);
        if self.answers.is_empty() {
            return Err(format!(
                "\"answers\" answers no argument of the other side; they are #1 to #{others}"
            ));
        }
        for answer in &mut self.answers {
            let name = on_one_line(&answer.argument);
            if answer.text.trim().is_empty() {
                return Err(format!(
                    "the answer to {} has no \"text\"",
                    shortened(&name, 20)
                ));
            }
            check_evidence(&mut answer.evidence)
                .map_err(|problem| format!("the answer to {}: {problem}", shortened(&name, 20)))?;
        }
        Ok(())
    }
}

impl Judgement {
    /// Normalises the winner and checks the rest.
    pub fn check(&mut self) -> Result<(), String> {
        let said = self
            .winner
            .trim()
            .trim_matches(['"', '\'', '*', '.'])
            .to_lowercase();
        let said = said.strip_prefix("side").unwrap_or(&said).trim();
        let Some(winner) = WINNERS.iter().find(|known| **known == said) else {
            return Err(format!(
                "\"winner\" must be 1, 2 or draw, not \"{}\"",
                shortened(&on_one_line(&self.winner), 40)
            ));
        };
        self.winner = (*winner).to_owned();
        self.key_points.retain(|point| !point.trim().is_empty());
        match () {
            () if self.reasoning.trim().is_empty() => Err("\"reasoning\" is empty".to_owned()),
            () if !(0.0..=1.0).contains(&self.confidence) => Err(format!(
                "\"confidence\" must be from 0 to 1, not {}",
                self.confidence
            )),
            () if self.key_points.len() > MOST_POINTS => Err(format!(
                "{} key points; give one to five, never more than {MOST_POINTS}",
                self.key_points.len()
            )),
            () => Ok(()),
        }
    }

    /// The argument named as strongest: the side as shown (0 or 1) and its number; `None` when it
    /// names none.
    pub fn strongest(&self) -> Option<(usize, usize)> {
        let (side, number) = self
            .strongest
            .trim()
            .trim_matches(['"', '`', '[', ']'])
            .split_once('#')?;
        let side: usize = side
            .trim()
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .parse()
            .ok()?;
        let number: usize = number.trim().parse().ok()?;
        (matches!(side, 1 | 2) && number > 0).then(|| (side - 1, number))
    }
}

impl Comparison for Judgement {
    fn better(&self) -> Option<usize> {
        WINNERS[..2]
            .iter()
            .position(|winner| *winner == self.winner)
    }
}

impl CategoryScores {
    /// Exactly one score for each wanted category, in its range.
    pub fn check(&mut self, wanted: &[String]) -> Result<(), String> {
        for score in &mut self.scores {
            let said = on_one_line(&score.category);
            let known = wanted
                .iter()
                .find(|known| known.trim().eq_ignore_ascii_case(said.trim()));
            score.category = known.cloned().ok_or_else(|| {
                let meant = suggest(&said, wanted.iter().map(String::as_str))
                    .map(|meant| format!("; did you mean {meant}?"));
                format!(
                    "\"{}\" is no category to score{}",
                    shortened(&said, 40),
                    meant.unwrap_or_default()
                )
            })?;
            let CategoryScore {
                category,
                score: points,
                confidence,
                ..
            } = &*score;
            if !(1.0..=10.0).contains(points) {
                return Err(format!(
                    "the score of {category} must be from 1 to 10, not {points}"
                ));
            }
            if !(0.0..=1.0).contains(confidence) {
                return Err(format!(
                    "the confidence of {category} must be from 0 to 1, not {confidence}"
                ));
            }
            if score.reason.trim().is_empty() {
                return Err(format!("the score of {category} has no \"reason\""));
            }
            check_evidence(&mut score.evidence)
                .map_err(|problem| format!("{}: {problem}", score.category))?;
        }
        for category in wanted {
            match self
                .scores
                .iter()
                .filter(|score| score.category == *category)
                .count()
            {
                1 => {}
                0 => return Err(format!("there is no score for {category}")),
                _ => return Err(format!("there are several scores for {category}")),
            }
        }
        Ok(())
    }
}

/// The number in an argument's name: `#2`, `2`, `1#2`.
pub fn argument_number(name: &str) -> Option<usize> {
    let name = name.trim().trim_matches(['"', '`', '[', ']', '(', ')']);
    let number = name.rsplit_once('#').map_or(name, |(_, number)| number);
    number.trim().parse().ok().filter(|number| *number > 0)
}

fn check_evidence(evidence: &mut Vec<String>) -> Result<(), String> {
    evidence.retain(|quote| !quote.trim().is_empty());
    match evidence.len() {
        0..=MOST_QUOTES => Ok(()),
        count => Err(format!("{count} quotations; give at most {MOST_QUOTES}")),
    }
}

/// A text by its words alone.
fn same_words(text: &str) -> String {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// A word, also when it was written as a number.
fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(D::Error::custom("\"winner\" must be 1, 2 or draw")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Reply, extract};

    fn complaint<R: Reply>(
        text: &str,
        check: impl Fn(&mut R) -> Result<(), String> + Send + Sync,
    ) -> Option<String> {
        extract(text, &check).err()
    }

    #[test]
    fn only_substantive_arguments_are_taken() {
        let rows = [
            (
                r#"{"arguments":[{"claim":"A","reasoning":"B","evidence":["q"]}]}"#,
                None,
            ),
            (
                r#"{"arguments":[{"claim":"A","reasoning":"B"},{"claim":"C","reasoning":"B"}]}"#,
                None,
            ),
            (r#"{"arguments":[]}"#, Some("is empty")),
            (
                r#"{"arguments":[{"claim":"A","reasoning":" "}]}"#,
                Some("no \"reasoning\""),
            ),
            (
                r#"{"arguments":[{"claim":"!?","reasoning":"B"}]}"#,
                Some("no \"claim\""),
            ),
            (
                r#"{"arguments":[{"claim":"It is real.","reasoning":"it  is REAL"}]}"#,
                Some("only repeats"),
            ),
            (
                r#"{"arguments":[{"claim":"A","reasoning":"B"},{"claim":"a.","reasoning":"C"}]}"#,
                Some("argument 2 claims"),
            ),
            (
                r#"{"arguments":[{"claim":"A","reasoning":"x"},{"claim":"B","reasoning":"x"},{"claim":"C","reasoning":"x"}]}"#,
                Some("at most 2"),
            ),
            (
                r#"{"winner":"1","reasoning":"mine is better","confidence":1}"#,
                Some("missing field `arguments`"),
            ),
            ("I argue well.", Some("no JSON object")),
        ];
        for (text, expected) in rows {
            let found = complaint(text, |reply: &mut Arguments| reply.check(2));
            assert_eq!(found.is_some(), expected.is_some(), "{text}: {found:?}");
            assert!(
                found
                    .unwrap_or_default()
                    .contains(expected.unwrap_or_default()),
                "{text}"
            );
        }
    }

    #[test]
    fn answers_name_arguments_that_exist() {
        let rows = [
            (
                r##"{"answers":[{"argument":"#2","verdict":"attack","text":"t"},{"argument":"#9","verdict":"attack","text":"t"}]}"##,
                Ok(1),
            ),
            (
                r#"{"answers":[{"argument":"1","verdict":"concede","text":"t"},{"argument":"2#2","verdict":"attack","text":"t"}]}"#,
                Ok(2),
            ),
            (
                r##"{"answers":[{"argument":"#3","verdict":"attack","text":"t"}]}"##,
                Err("they are #1 to #2"),
            ),
            (
                r##"{"answers":[{"argument":"#0","verdict":"attack","text":"t"}]}"##,
                Err("they are #1 to #2"),
            ),
            (
                r##"{"answers":[{"argument":"#1","verdict":"attack","text":""}]}"##,
                Err("no \"text\""),
            ),
            (
                r##"{"answers":[{"argument":"#1","verdict":"maybe","text":"t"}]}"##,
                Err("unknown variant"),
            ),
        ];
        for (text, expected) in rows {
            match (
                extract(text, &|reply: &mut Answers| reply.check(2)),
                expected,
            ) {
                (Ok(found), Ok(count)) => assert_eq!(found.reply.answers.len(), count, "{text}"),
                (Err(said), Err(part)) => assert!(said.contains(part), "{text}: {said}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_verdict_names_a_side_as_shown_or_nobody() {
        let verdict = |winner: &str, confidence: &str| {
            format!(
                r#"{{"winner":{winner},"reasoning":"r","confidence":{confidence},"strongest":"Side 2 #3"}}"#
            )
        };
        let rows = [
            (verdict("\"1\"", "0.5"), Ok(Some(0))),
            (verdict("2", "\"0.5\""), Ok(Some(1))),
            (verdict("\"Side 2\"", "1"), Ok(Some(1))),
            (verdict("\"DRAW\"", "0"), Ok(None)),
            (verdict("\"advocate\"", "0.5"), Err("must be 1, 2 or draw")),
            (verdict("\"1 or 2\"", "0.5"), Err("must be 1, 2 or draw")),
            (verdict("[1]", "0.5"), Err("must be 1, 2 or draw")),
            (verdict("\"1\"", "7"), Err("from 0 to 1, not 7")),
            (verdict("\"1\"", "-0.1"), Err("from 0 to 1")),
            (
                format!("{}\n{}", verdict("\"1\"", "0.5"), verdict("\"2\"", "0.5")),
                Err("two different answers"),
            ),
        ];
        for (text, expected) in rows {
            match (extract(&text, &Judgement::check), expected) {
                (Ok(found), Ok(better)) => {
                    assert_eq!(
                        (found.reply.better(), found.reply.strongest()),
                        (better, Some((1, 3))),
                        "{text}"
                    );
                }
                (Err(said), Err(part)) => assert!(said.contains(part), "{text}: {said}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn every_wanted_category_is_scored_once_and_within_the_scale() {
        let wanted = ["problem".to_owned(), "market".to_owned()];
        let score = |category: &str, points: &str| {
            format!(r#"{{"category":"{category}","score":{points},"confidence":0.6,"reason":"r"}}"#)
        };
        let all = |scores: &[String]| format!(r#"{{"scores":[{}]}}"#, scores.join(","));
        let rows = [
            (
                all(&[score("problem", "7"), score("Market", "\"5.5\"")]),
                None,
            ),
            (all(&[score("problem", "7")]), Some("no score for market")),
            (
                all(&[
                    score("problem", "7"),
                    score("problem", "6"),
                    score("market", "5"),
                ]),
                Some("several scores for problem"),
            ),
            (
                all(&[score("problem", "11"), score("market", "5")]),
                Some("from 1 to 10, not 11"),
            ),
            (
                all(&[score("problm", "7"), score("market", "5")]),
                Some("did you mean problem?"),
            ),
        ];
        for (text, expected) in rows {
            let found = complaint(&text, |reply: &mut CategoryScores| reply.check(&wanted));
            assert_eq!(found.is_some(), expected.is_some(), "{text}: {found:?}");
            assert!(
                found
                    .unwrap_or_default()
                    .contains(expected.unwrap_or_default()),
                "{text}"
            );
        }
    }
}
