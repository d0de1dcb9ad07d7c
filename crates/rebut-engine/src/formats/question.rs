//! The question: input, options and context, the same for every format that answers one.

use super::baselines::program::Wanted;
use crate::{clean, debate::Debate};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, Visitor},
};
use serde_json::Value;
use std::fmt::{self, Write};

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The question's own id, used in file names and results.
    #[serde(default)]
    pub question_id: String,
    /// The question.
    pub question: String,
    /// 2 to 26 options; none to have them drafted, or to answer freely.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// What the agents should know.
    #[serde(default)]
    pub context: String,
    /// The debate this one is compared with, by id, where it is a control arm.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub baseline_of: String,
    /// The program that is asked for instead of an answer, of `single` and `poll`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Wanted>,
}

/// One option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// A letter, or a short word.
    pub id: String,
    /// Its name.
    pub label: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
}

impl Input {
    /// Reads the input and checks it.
    pub fn parse(input: &Value) -> Result<Self, String> {
        let input = Self::deserialize(input).map_err(|error| format!("the input: {error}"))?;
        if input.question.trim().is_empty() {
            return Err("the question is empty".to_owned());
        }
        check_options(&input.options)?;
        if let Some(wanted) = &input.program {
            wanted.check()?;
            if !input.options.is_empty() {
                return Err(
                    "options are chosen from, a program is written: give one of them".to_owned(),
                );
            }
        }
        Ok(input)
    }

    /// The same for a format that cannot be asked for a program.
    pub fn parse_without_program(input: &Value, format: &str) -> Result<Self, String> {
        match Self::parse(input)? {
            Self {
                program: Some(_), ..
            } => Err(format!(
                "{format} writes no programs; `single` and `poll` do"
            )),
            input => Ok(input),
        }
    }
}

fn check_options(options: &[Choice]) -> Result<(), String> {
    match options.len() {
        0 | 2..=26 => {}
        1 => {
            return Err(
                "one option is no choice; give at least two, or none to have them drafted"
                    .to_owned(),
            );
        }
        count => return Err(format!("{count} options; at most 26 can be told apart")),
    }
    for (number, option) in options.iter().enumerate() {
        let id = &option.id;
        if id.is_empty()
            || id.len() > 16
            || !id
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        {
            return Err(format!(
                "option id `{}` must be 1 to 16 letters or digits",
                clean::on_one_line(id)
            ));
        }
        if options[..number]
            .iter()
            .any(|earlier| earlier.id.eq_ignore_ascii_case(id))
        {
            return Err(format!("option id `{id}` is used twice"));
        }
        if option.label.trim().is_empty() {
            return Err(format!("option {id} has no label"));
        }
    }
    Ok(())
}

/// What the agents should know, as it was pinned: the setup keeps no copy of what may be long.
pub(super) fn context_of(debate: &Debate) -> &str {
    let context = debate
        .started()
        .input
        .get("context")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if context.trim().is_empty() {
        "(none)"
    } else {
        context
    }
}

pub(super) fn options_text(options: &[Choice]) -> String {
    let mut text = String::with_capacity(256);
    for option in options {
        let _ = write!(text, "{}. {}", option.id, clean::one_line(&option.label));
        if !option.description.trim().is_empty() {
            let _ = write!(text, " — {}", clean::one_line(&option.description));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// The option a reply's `field` names, forgiving quotes, case and the word "option" in front.
pub(super) fn option_of(field: &str, said: &str, ids: &[String]) -> Result<String, String> {
    let word = said
        .trim()
        .trim_matches(['"', '\'', '*', '.', ':', '(', ')', '[', ']'])
        .trim();
    let word = word
        .get(..7)
        .filter(|start| start.eq_ignore_ascii_case("option "))
        .map_or(word, |_| word[7..].trim());
    ids.iter()
        .find(|id| id.eq_ignore_ascii_case(word))
        .cloned()
        .ok_or_else(|| {
            format!(
                "\"{field}\" must be one of {}, not \"{}\"",
                ids.join(", "),
                crate::clean::shortened(&crate::clean::on_one_line(said), 40)
            )
        })
}

/// A number, also when it was written as text.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    struct Number;
    impl Visitor<'_> for Number {
        type Value = f64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number")
        }

        fn visit_f64<E>(self, value: f64) -> Result<f64, E> {
            Ok(value)
        }

        fn visit_u64<E>(self, value: u64) -> Result<f64, E> {
            Ok(value as f64)
        }

        fn visit_i64<E>(self, value: i64) -> Result<f64, E> {
            Ok(value as f64)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
            text.trim()
                .parse()
                .map_err(|_| E::custom(format!("`{text}` is not a number")))
        }
    }
    deserializer.deserialize_any(Number)
}
