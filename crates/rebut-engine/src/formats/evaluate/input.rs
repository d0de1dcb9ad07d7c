//! What is evaluated: the idea, prior scores, what a red team found, and topics.

use super::config::Config;
use crate::{
    clean::{on_one_line, shortened},
    suggest::suggest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::collections::BTreeMap;

/// What is evaluated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The idea's name.
    pub title: String,
    /// The idea: all that quotations are looked up in.
    pub idea: String,
    /// Scores it has already, by category. The evaluator gives those that are missing.
    #[serde(default)]
    pub scores: BTreeMap<String, Prior>,
    /// What a red team found; the challenger is told.
    #[serde(default)]
    pub challenges: Vec<RedTeam>,
    /// What is debated, instead of the topics of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<Vec<Topic>>,
}

/// A score from before the debate. A bare number is a score without a confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "PriorAsWritten")]
pub struct Prior {
    /// From 1 to 10.
    pub score: f64,
    /// How sure it is, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
enum PriorAsWritten {
    Bare(f64),
    Full(FullPrior),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FullPrior {
    score: f64,
    #[serde(default)]
    confidence: Option<f64>,
}

impl<'de> Deserialize<'de> for PriorAsWritten {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Value::deserialize(deserializer)?;
        match written.as_f64() {
            Some(score) => Ok(Self::Bare(score)),
            None => full(
                written,
                &["score", "confidence"],
                "a score is a number from 1 to 10, or has `score` and `confidence`",
            )
            .map(Self::Full),
        }
    }
}

impl From<PriorAsWritten> for Prior {
    fn from(written: PriorAsWritten) -> Self {
        match written {
            PriorAsWritten::Bare(score) => Self {
                score,
                confidence: None,
            },
            PriorAsWritten::Full(FullPrior { score, confidence }) => Self { score, confidence },
        }
    }
}

/// Reads what is more than bare, and says in plain words what is wrong with it: which key, and
/// which one was probably meant.
fn full<T: DeserializeOwned, E: serde::de::Error>(
    written: Value,
    keys: &[&str],
    form: &str,
) -> Result<T, E> {
    let Some(object) = written.as_object() else {
        // Numbers that are none, such as TOML's `nan`, have become null on the way.
        let found = if written.is_null() {
            "null or nan".to_owned()
        } else {
            on_one_line(&written.to_string())
        };
        return Err(E::custom(format!("{form}, not {}", shortened(&found, 60))));
    };
    if let Some(key) = object.keys().find(|key| !keys.contains(&key.as_str())) {
        let meant = suggest(key, keys.iter().copied())
            .map(|meant| format!("did you mean `{meant}`? "))
            .unwrap_or_default();
        return Err(E::custom(format!(
            "unknown key `{}`; {meant}Known: {}",
            on_one_line(key),
            keys.join(", ")
        )));
    }
    serde_json::from_value(written).map_err(|error| E::custom(format!("{form}: {error}")))
}

/// Something a red team holds against the idea. A bare text bears on every category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "RedTeamAsWritten")]
pub struct RedTeam {
    /// What.
    pub text: String,
    /// Which category it bears on; every one if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
enum RedTeamAsWritten {
    Bare(String),
    Full(FullRedTeam),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FullRedTeam {
    text: String,
    #[serde(default)]
    category: Option<String>,
}

impl<'de> Deserialize<'de> for RedTeamAsWritten {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Bare(text)),
            written => full(
                written,
                &["text", "category"],
                "a challenge is a text, or has `text` and `category`",
            )
            .map(Self::Full),
        }
    }
}

impl From<RedTeamAsWritten> for RedTeam {
    fn from(written: RedTeamAsWritten) -> Self {
        match written {
            RedTeamAsWritten::Bare(text) => Self {
                text,
                category: None,
            },
            RedTeamAsWritten::Full(FullRedTeam { text, category }) => Self { text, category },
        }
    }
}

/// What one round is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// The category whose score it may change.
    pub category: String,
    /// What the advocate stands for.
    pub advocate_position: String,
    /// What the challenger stands for.
    pub challenger_position: String,
}

impl Input {
    /// Reads the input and checks it against the topics that will be debated, which it gives too.
    pub fn parse(input: &Value, config: &Config) -> Result<(Self, Vec<Topic>), String> {
        let input = Self::deserialize(input).map_err(|error| format!("the input: {error}"))?;
        if input.title.trim().is_empty() {
            return Err("the idea has no title".to_owned());
        }
        if input.idea.trim().is_empty() {
            return Err("the idea is empty".to_owned());
        }
        let topics = input
            .topics
            .clone()
            .unwrap_or_else(|| config.topics.clone());
        check_topics(&topics).map_err(|problem| format!("topics: {problem}"))?;
        for (category, prior) in &input.scores {
            check_category(category, &topics).map_err(|problem| format!("scores: {problem}"))?;
            check_prior(category, prior)?;
        }
        for (number, challenge) in (1..).zip(&input.challenges) {
            if challenge.text.trim().is_empty() {
                return Err(format!("challenge {number} has no text"));
            }
            if let Some(category) = &challenge.category {
                check_category(category, &topics)
                    .map_err(|problem| format!("challenge {number}: {problem}"))?;
            }
        }
        Ok((input, topics))
    }
}

/// The categories that topics are about, each once, in their order.
pub fn categories(topics: &[Topic]) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for topic in topics {
        if !found.contains(&topic.category.as_str()) {
            found.push(&topic.category);
        }
    }
    found
}

/// The most topics one debate takes.
const MOST_TOPICS: usize = 20;

/// Each topic is complete and debated once.
pub fn check_topics(topics: &[Topic]) -> Result<(), String> {
    if !(1..=MOST_TOPICS).contains(&topics.len()) {
        return Err(format!("{} topics; give 1 to {MOST_TOPICS}", topics.len()));
    }
    for (number, topic) in topics.iter().enumerate() {
        let fields = [
            ("name", &topic.name),
            ("category", &topic.category),
            ("advocate_position", &topic.advocate_position),
            ("challenger_position", &topic.challenger_position),
        ];
        if let Some((field, _)) = fields.iter().find(|(_, text)| text.trim().is_empty()) {
            return Err(format!("topic {} has no {field}", number + 1));
        }
        if topics[..number]
            .iter()
            .any(|earlier| earlier.name.trim().eq_ignore_ascii_case(topic.name.trim()))
        {
            return Err(format!(
                "`{}` is there twice; each topic is debated once",
                on_one_line(&topic.name)
            ));
        }
    }
    Ok(())
}

/// A category that no topic is about would be silently left alone, which nobody who wrote it wants.
fn check_category(category: &str, topics: &[Topic]) -> Result<(), String> {
    let known = categories(topics);
    if known.contains(&category) {
        return Ok(());
    }
    let meant = suggest(category, known.iter().copied())
        .map(|meant| format!("; did you mean `{meant}`?"))
        .unwrap_or_default();
    Err(format!(
        "no topic is about the category `{}`{meant} Known: {}",
        on_one_line(category),
        on_one_line(&known.join(", "))
    ))
}

fn check_prior(category: &str, prior: &Prior) -> Result<(), String> {
    let category = on_one_line(category);
    if !(1.0..=10.0).contains(&prior.score) {
        return Err(format!(
            "scores: `{category}` is {}; a score is from 1 to 10",
            prior.score
        ));
    }
    match prior.confidence {
        Some(confidence) if !(0.0..=1.0).contains(&confidence) => Err(format!(
            "scores: the confidence of `{category}` is {confidence}; it is from 0 to 1"
        )),
        _ => Ok(()),
    }
}
