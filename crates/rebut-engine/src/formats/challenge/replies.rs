//! What the proposer and its challengers reply: one form per phase, each with a check that says
//! what is wrong.

use super::personas::Persona;
use crate::{
    clean,
    event::ClaimId,
    formats::{decide::replies::sentences, question::number},
    moves::{
        assumptions::Assumption,
        objections::{Reception, all_named, named},
    },
    reply,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Personas for the challengers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PersonaDraft {
    /// One for each challenger.
    pub personas: Vec<DraftedPersona>,
}

/// One persona.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DraftedPersona {
    /// For which challenger, by name.
    pub challenger: String,
    /// Who it is, in two to five words.
    pub title: String,
    /// Its experience and how it thinks, to itself, in two to five sentences.
    pub text: String,
    /// Three to six aspects of its angle.
    pub aspects: Vec<DraftedAspect>,
}

/// One aspect of a persona's angle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DraftedAspect {
    /// Its name, one or two words.
    pub name: String,
    /// What to look for.
    pub looks_for: String,
}

/// The proof that a challenger has read who it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ready {
    /// The title at the head of its persona.
    pub title: String,
}

/// How sure the proposer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Confidence {
    /// Very.
    #[serde(alias = "high")]
    High,
    /// Somewhat.
    #[serde(alias = "med", alias = "MEDIUM", alias = "medium")]
    Med,
    /// Little.
    #[serde(alias = "low")]
    Low,
}

impl Confidence {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "HIGH",
            Self::Med => "MED",
            Self::Low => "LOW",
        }
    }

    /// As a number, for readers that compare.
    pub fn share(self) -> f64 {
        match self {
            Self::High => 0.9,
            Self::Med => 0.6,
            Self::Low => 0.3,
        }
    }
}

/// The proposer's first position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Opening {
    /// What should be done, in one to three sentences.
    pub position: String,
    /// One to six separate reasons, strongest first.
    #[serde(deserialize_with = "sentences")]
    pub reasoning: Vec<String>,
    /// HIGH, MED or LOW.
    pub confidence: Confidence,
    /// What is weak about it.
    #[serde(deserialize_with = "sentences")]
    pub weaknesses: Vec<String>,
    /// What it takes for granted.
    #[serde(deserialize_with = "sentences")]
    pub assumptions: Vec<String>,
}

/// What a challenger makes of the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stand {
    /// It holds.
    #[serde(alias = "AGREE")]
    Agree,
    /// It holds in part.
    #[serde(alias = "PARTIAL")]
    Partial,
    /// It does not hold.
    #[serde(alias = "DISAGREE")]
    Disagree,
}

impl Stand {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Partial => "partial",
            Self::Disagree => "disagree",
        }
    }
}

/// How much an objection weighs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Strength {
    /// There is none.
    #[serde(alias = "NONE")]
    None,
    /// It can be met in passing.
    #[serde(alias = "MINOR")]
    Minor,
    /// The position should change.
    #[serde(alias = "MODERATE")]
    Moderate,
    /// The position falls with it.
    #[serde(alias = "STRONG")]
    Strong,
}

impl Strength {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minor => "minor",
            Self::Moderate => "moderate",
            Self::Strong => "strong",
        }
    }
}

/// A challenger's verdict on the position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Critique {
    /// agree, partial or disagree.
    pub verdict: Stand,
    /// The strength of the strongest objection: none, minor, moderate or strong.
    #[serde(alias = "objection_strength")]
    pub strength: Strength,
    /// What is wrong, each under an aspect of the challenger's own angle; empty when it agrees.
    pub objections: Vec<Objected>,
    /// What was looked at under which aspect, and what was found.
    pub checked: Vec<Checked>,
    /// The verdict in one sentence.
    pub summary: String,
    /// How sure the challenger is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
}

/// One objection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Objected {
    /// The aspect, by name.
    pub aspect: String,
    /// What is wrong, why, and what follows.
    pub text: String,
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// The aspect, by name.
    pub aspect: String,
    /// What was found there.
    pub found: String,
}

/// The proposer's answer to every open objection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confrontation {
    /// One answer to each open objection.
    pub answers: Vec<Received>,
    /// The position as it is now; the same as before when nothing was accepted.
    pub position: String,
    /// HIGH, MED or LOW.
    pub confidence: Confidence,
}

/// The answer to one objection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Received {
    /// Its name, such as `architect·1·#2`.
    pub objection: String,
    /// ACCEPT, PARTIAL or REJECT.
    pub verdict: Reception,
    /// What changes, or why nothing does.
    pub why: String,
}

/// What a dissenter makes of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Rejoinder {
    /// Its objections are met.
    #[serde(alias = "accept")]
    Accept,
    /// Some are not.
    #[serde(alias = "maintain")]
    Maintain,
    /// It got worse: there are new ones.
    #[serde(alias = "escalate")]
    Escalate,
}

impl Rejoinder {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "ACCEPT",
            Self::Maintain => "MAINTAIN",
            Self::Escalate => "ESCALATE",
        }
    }
}

/// A dissenter's answer to the proposer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rebuttal {
    /// ACCEPT, MAINTAIN or ESCALATE.
    pub verdict: Rejoinder,
    /// Why, in one or two sentences.
    pub why: String,
    /// The names of its objections that still stand; empty when it accepts.
    #[serde(default)]
    pub maintained: Vec<String>,
    /// New objections; only when it escalates.
    #[serde(default)]
    pub new_objections: Vec<Objected>,
    /// How sure the challenger is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
}

/// What lies behind a party's side of a disagreement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grounds {
    /// Why it disagrees, in one or two sentences.
    pub why: String,
    /// What would make the other side right.
    pub other_right_if: String,
    /// One to five assumptions its position stands on.
    pub assumptions: Vec<Assumption>,
}

reply!(PersonaDraft, "personas");
reply!(Ready, "ready");
reply!(Opening, "opening");
reply!(Critique, "critique");
reply!(Confrontation, "confrontation");
reply!(Rebuttal, "rebuttal");
reply!(Grounds, "grounds");

/// The most objections, reasons or assumptions one turn may bring.
const MOST: usize = 8;

impl Ready {
    /// Only who has read its persona knows its title.
    pub fn check(&mut self, persona: &Persona) -> Result<(), String> {
        let plain = |title: &str| {
            clean::on_one_line(title)
                .trim_matches(['#', '"', '“', '”', '*', ' ', '.'])
                .to_lowercase()
        };
        if plain(&self.title) == plain(&persona.title) {
            return Ok(());
        }
        Err("\"title\" is not the title at the head of your persona".to_owned())
    }
}

impl Opening {
    /// A position with reasons and what it rests on.
    pub fn check(&mut self) -> Result<(), String> {
        for list in [
            &mut self.reasoning,
            &mut self.weaknesses,
            &mut self.assumptions,
        ] {
            list.retain(|text| !text.trim().is_empty());
        }
        filled("position", &self.position)?;
        counted("reasoning", self.reasoning.len())?;
        counted("weaknesses", self.weaknesses.len())?;
        counted("assumptions", self.assumptions.len())
    }
}

impl Critique {
    /// Verdict, strength and objections must say the same, and every objection belongs to the
    /// challenger's own angle.
    pub fn check(&mut self, persona: &Persona) -> Result<(), String> {
        filled("summary", &self.summary)?;
        within(self.confidence)?;
        spell_aspects(&mut self.objections, persona)?;
        // What was looked at outside of the own angle is no mistake; it only does not count as
        // looking.
        match (self.verdict, self.objections.len()) {
            (Stand::Agree, 0) if self.strength == Strength::None => Ok(()),
            (Stand::Agree, 0) => Err(format!(
                "\"verdict\" is agree, but \"strength\" is {}; say none, or name the \
                    objection",
                self.strength.as_str()
            )),
            (Stand::Agree, _) => Err(
                "\"verdict\" is agree, but there are objections; say partial or disagree, or \
                    leave them out"
                    .to_owned(),
            ),
            (_, 0) => Err(format!(
                "\"verdict\" is {}, but \"objections\" is empty; name at least \
                one",
                self.verdict.as_str()
            )),
            (_, _) if self.strength == Strength::None => Err("there are objections, but \
                \"strength\" is none"
                .to_owned()),
            (_, count) => counted("objections", count),
        }
    }

    /// Whether it really looked at something of its own angle: an aspect of the persona with a
    /// finding in some words.
    pub fn engages(&self, persona: &Persona) -> bool {
        let says_something =
            |text: &str| text.split_whitespace().map(words_in).sum::<usize>() >= FINDING_WORDS;
        self.checked.iter().any(|checked| {
            persona.aspect(&checked.aspect).is_some() && says_something(&checked.found)
        })
    }
}

/// "Fine" and "looks good" are no findings.
const FINDING_WORDS: usize = 4;

/// How many words stand in a piece of text without spaces: one, unless its script writes words
/// without spaces between them.
fn words_in(piece: &str) -> usize {
    // Thai and Lao, Burmese, Khmer; kana and Han.
    const UNSPACED: [std::ops::RangeInclusive<char>; 5] = [
        '\u{0e00}'..='\u{0eff}',
        '\u{1000}'..='\u{109f}',
        '\u{1780}'..='\u{17ff}',
        '\u{3040}'..='\u{9fff}',
        '\u{20000}'..='\u{3ffff}',
    ];
    let is_unspaced = |c: char| UNSPACED.iter().any(|range| range.contains(&c));
    match piece.chars().filter(|c| is_unspaced(*c)).count() {
        0 => 1,
        // Two letters to a word, about.
        letters => letters.div_ceil(2),
    }
}

impl Confrontation {
    /// Every open objection is answered once, nothing else is, and what is accepted changes the
    /// position.
    pub fn check(&mut self, open: &[ClaimId], before: &str) -> Result<(), String> {
        filled("position", &self.position)?;
        let mut answered: Vec<&ClaimId> = Vec::new();
        for answer in &mut self.answers {
            all_named("answers", std::slice::from_ref(&answer.objection), open)?;
            let id = named(&answer.objection, open).ok_or_else(|| {
                format!("no objection `{}`", clean::on_one_line(&answer.objection))
            })?;
            if answered.contains(&id) {
                return Err(format!("\"answers\" has {id} twice"));
            }
            filled("why", &answer.why)?;
            answer.objection = id.to_string();
            answered.push(id);
        }
        let missing: Vec<String> = open
            .iter()
            .filter(|id| !answered.contains(id))
            .map(ToString::to_string)
            .collect();
        if !missing.is_empty() {
            return Err(format!(
                "\"answers\" does not answer {}",
                missing.join(", ")
            ));
        }
        if self.changes() && clean::on_one_line(&self.position) == clean::on_one_line(before) {
            return Err(
                "an objection is accepted, at least in part, but \"position\" is the same \
                as before; write what changes"
                    .to_owned(),
            );
        }
        Ok(())
    }

    pub fn changes(&self) -> bool {
        self.answers.iter().any(|answer| answer.verdict.changes())
    }
}

impl Rebuttal {
    /// Verdict, maintained and new objections must say the same.
    pub fn check(&mut self, own: &[ClaimId], persona: &Persona) -> Result<(), String> {
        filled("why", &self.why)?;
        within(self.confidence)?;
        spell_aspects(&mut self.new_objections, persona)?;
        self.maintained = all_named("maintained", &self.maintained, own)?
            .iter()
            .map(ToString::to_string)
            .collect();
        match self.verdict {
            Rejoinder::Accept if self.maintained.is_empty() && self.new_objections.is_empty() => {
                Ok(())
            }
            Rejoinder::Accept => {
                Err("\"verdict\" is ACCEPT, but objections are maintained or new".to_owned())
            }
            Rejoinder::Maintain if self.maintained.is_empty() => Err(
                "\"verdict\" is MAINTAIN, but \"maintained\" is empty; name what still stands"
                    .to_owned(),
            ),
            Rejoinder::Maintain if !self.new_objections.is_empty() => {
                Err("new objections come only with ESCALATE".to_owned())
            }
            Rejoinder::Escalate if self.new_objections.is_empty() => {
                Err("\"verdict\" is ESCALATE, but \"new_objections\" is empty".to_owned())
            }
            Rejoinder::Maintain | Rejoinder::Escalate => {
                counted("new_objections", self.new_objections.len().max(1))
            }
        }
    }
}

impl Grounds {
    /// At least one assumption, each in words.
    pub fn check(&mut self) -> Result<(), String> {
        self.assumptions
            .retain(|assumption| !assumption.text.trim().is_empty());
        filled("why", &self.why)?;
        filled("other_right_if", &self.other_right_if)?;
        counted("assumptions", self.assumptions.len())
    }
}

/// Spells each aspect as the persona does; one that it does not have is an error that lists those
/// it has.
fn spell_aspects(objections: &mut Vec<Objected>, persona: &Persona) -> Result<(), String> {
    objections.retain(|objection| !objection.text.trim().is_empty());
    for objection in objections {
        let known = persona.aspect(&objection.aspect).ok_or_else(|| {
            let said = clean::on_one_line(&objection.aspect);
            format!(
                "\"aspect\" must be one of your own, {}, not \"{}\"",
                persona.aspect_names(", "),
                clean::shortened(&said, 40)
            )
        })?;
        objection.aspect = known.to_owned();
    }
    Ok(())
}

fn filled(field: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        Err(format!("\"{field}\" is empty"))
    } else {
        Ok(())
    }
}

fn within(confidence: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&confidence) {
        Ok(())
    } else {
        Err(format!(
            "\"confidence\" must be from 0 to 1, not {confidence}"
        ))
    }
}

fn counted(field: &str, count: usize) -> Result<(), String> {
    match count {
        0 => Err(format!("\"{field}\" is empty; give at least one")),
        1..=MOST => Ok(()),
        count => Err(format!("{count} {field}; give at most {MOST}")),
    }
}
