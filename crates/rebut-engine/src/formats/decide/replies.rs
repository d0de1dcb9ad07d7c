//! What judges reply: one form for the blind round, one for the rounds in which they hear the
//! others.

use crate::{
    event::Verdict,
    formats::question::{number, option_of},
    reply,
};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;
use std::fmt;

/// A judge's blind recommendation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recommendation {
    /// The letter of the recommended option.
    pub option: String,
    /// The letters of all options, best first, the recommended one at the head. May stop early:
    /// what is left out is last.
    #[serde(default, deserialize_with = "letters")]
    pub ranking: Vec<String>,
    /// How sure the judge is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
    /// The reason in one sentence.
    pub summary: String,
    /// One to five separate arguments, strongest first.
    #[serde(deserialize_with = "sentences")]
    pub claims: Vec<String>,
    /// The one fact that would change the judge's mind.
    #[serde(default)]
    pub flips_if: String,
}

/// A judge's answer to the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// The letter of the option recommended now.
    pub option: String,
    /// The letters of all options, best first, the recommended one at the head. May stop early:
    /// what is left out is last.
    #[serde(default, deserialize_with = "letters")]
    pub ranking: Vec<String>,
    /// How sure the judge is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
    /// The reason in one sentence.
    pub summary: String,
    /// One to five separate arguments, strongest first.
    #[serde(deserialize_with = "sentences")]
    pub claims: Vec<String>,
    /// At least one answer to each other judge.
    pub challenges: Vec<Answered>,
    /// The names of the claims that changed the option; empty if it is kept.
    #[serde(default)]
    pub convinced_by: Vec<String>,
    /// Exactly what convinced the judge; empty if the option is kept.
    #[serde(default)]
    pub change_reason: String,
    /// The one fact that would change the judge's mind.
    #[serde(default)]
    pub flips_if: String,
}

/// An answer to one claim of another judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The claim's name, such as `J2#1`.
    pub claim: String,
    /// Whether it is attacked or conceded.
    pub verdict: Verdict,
    /// Why.
    pub text: String,
}

/// Options drafted for a question that came without any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OptionDraft {
    /// Two to five options.
    pub options: Vec<DraftedOption>,
}

/// One drafted option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DraftedOption {
    /// Two to six words.
    pub label: String,
    /// What it means in practice.
    #[serde(default)]
    pub description: String,
}

reply!(
    Recommendation,
    "recommendation",
    taken_otherwise = Recommendation::ranked_otherwise
);
reply!(
    Response,
    "response",
    taken_otherwise = Response::ranked_otherwise
);
reply!(OptionDraft, "option_draft");

/// The most arguments one turn may bring. Five are asked for; a few more are not worth a
/// clarification.
const MOST_CLAIMS: usize = 8;

impl Recommendation {
    /// Normalises the option to one of `ids` and checks the rest.
    pub fn check(&mut self, ids: &[String]) -> Result<(), String> {
        self.option = option_of("option", &self.option, ids)?;
        self.ranking = ranking_of(&self.option, &self.ranking, ids);
        check_argument(self.confidence, &self.summary, &mut self.claims)
    }

    fn ranked_otherwise(&self, taken: &Self) -> Option<String> {
        ranking_differs(&taken.option, &self.ranking, &taken.ranking)
    }
}

impl Response {
    /// Like a recommendation, and every judge in `others` (its number and how many claims it has)
    /// must be answered by at least one claim that exists.
    pub fn check(&mut self, ids: &[String], others: &[(usize, usize)]) -> Result<(), String> {
        self.option = option_of("option", &self.option, ids)?;
        self.ranking = ranking_of(&self.option, &self.ranking, ids);
        check_argument(self.confidence, &self.summary, &mut self.claims)?;
        let answers = |judge: usize, claims: usize| {
            move |named: &Answered| {
                claim_name(&named.claim)
                    .is_some_and(|(who, number)| who == judge && number <= claims)
            }
        };
        let ignored = others
            .iter()
            .filter(|(judge, claims)| !self.challenges.iter().any(answers(*judge, *claims)));
        let ignored: Vec<String> = ignored.map(|(judge, _)| format!("J{judge}")).collect();
        if ignored.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "\"challenges\" answers no claim of {}",
                ignored.join(", ")
            ))
        }
    }

    fn ranked_otherwise(&self, taken: &Self) -> Option<String> {
        ranking_differs(&taken.option, &self.ranking, &taken.ranking)
    }
}

impl OptionDraft {
    /// Two to five options with different labels.
    pub fn check(&mut self) -> Result<(), String> {
        for option in &mut self.options {
            option.label = crate::clean::on_one_line(&option.label);
        }
        let mut labels: Vec<String> = self
            .options
            .iter()
            .map(|option| option.label.to_lowercase())
            .collect();
        labels.sort();
        labels.dedup();
        match self.options.len() {
            2..=5 if labels.len() == self.options.len() && !labels.iter().any(String::is_empty) => {
                Ok(())
            }
            2..=5 => Err("options need different, non-empty labels".to_owned()),
            count => Err(format!("{count} options; draft two to five")),
        }
    }
}

/// A claim's neutral name, `J2#1`, as two numbers: judge and claim. Judges write it in a few ways:
/// `J2 #1`, `j2·#1`, `J2-1`.
pub fn claim_name(text: &str) -> Option<(usize, usize)> {
    let rest = text
        .trim()
        .trim_matches(['"', '`', '[', ']', '(', ')'])
        .strip_prefix(['J', 'j'])?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (judge, claim) = rest.split_at(digits);
    let claim: usize = claim
        .trim_start_matches(['#', '·', ' ', '-', '.', ':', 'C', 'c'])
        .trim()
        .parse()
        .ok()?;
    let judge: usize = judge.parse().ok()?;
    (claim > 0).then_some((judge, claim))
}

/// The ranking behind a choice. The choice itself is what the judge argued for, so it leads
/// whatever the list says; what is no option, or comes again, is passed over: a second opinion on
/// the others is not worth a clarification.
fn ranking_of(choice: &str, said: &[String], ids: &[String]) -> Vec<String> {
    if said.is_empty() {
        return Vec::new();
    }
    let mut ranking = vec![choice.to_owned()];
    for option in said
        .iter()
        .filter_map(|said| option_of("ranking", said, ids).ok())
    {
        if !ranking.contains(&option) {
            ranking.push(option);
        }
    }
    // A list of one says nothing that the choice does not say.
    if ranking.len() > 1 {
        ranking
    } else {
        Vec::new()
    }
}

/// How a ranking is to be written that was not taken as it was. A list of the choice alone is
/// taken: it says the same as none.
fn ranking_differs(choice: &str, said: &[String], taken: &[String]) -> Option<String> {
    let same = |said: &String, taken: &str| said.trim().eq_ignore_ascii_case(taken);
    let is_taken = said.len() == taken.len()
        && said
            .iter()
            .zip(taken)
            .all(|(said, taken)| same(said, taken));
    let is_choice_alone = matches!(said, [one] if same(one, choice));
    (!is_taken && !is_choice_alone).then(|| {
        format!("\"ranking\" holds letters of options, each once, `{choice}` first; or it is empty")
    })
}

fn check_argument(confidence: f64, summary: &str, claims: &mut Vec<String>) -> Result<(), String> {
    claims.retain(|claim| !claim.trim().is_empty());
    if !(0.0..=1.0).contains(&confidence) {
        return Err(format!(
            "\"confidence\" must be from 0 to 1, not {confidence}"
        ));
    }
    if summary.trim().is_empty() {
        return Err("\"summary\" is empty".to_owned());
    }
    match claims.len() {
        0 => Err("\"claims\" is empty; give at least one argument".to_owned()),
        1..=MOST_CLAIMS => Ok(()),
        count => Err(format!(
            "{count} claims; give one to five, never more than {MOST_CLAIMS}"
        )),
    }
}

/// A list of letters, also when it was written as `B > A > C`. It is an extra: whatever else stands
/// there is as good as nothing.
fn letters<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Value::String(text) => text
            .split(['>', ',', ';'])
            .map(|part| part.trim().to_owned())
            .collect(),
        _ => Vec::new(),
    })
}

/// A list of sentences, also when each was wrapped in an object.
pub(in crate::formats) fn sentences<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    struct Written(String);
    impl<'de> Deserialize<'de> for Written {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(Sentence).map(Written)
        }
    }
    let written = Vec::<Written>::deserialize(deserializer)?;
    Ok(written.into_iter().map(|Written(text)| text).collect())
}

struct Sentence;

impl<'de> Visitor<'de> for Sentence {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sentence")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<String, A::Error> {
        #[derive(Deserialize)]
        struct Wrapped {
            #[serde(alias = "claim", alias = "argument")]
            text: String,
        }
        Wrapped::deserialize(MapAccessDeserializer::new(map)).map(|wrapped| wrapped.text)
    }
}
