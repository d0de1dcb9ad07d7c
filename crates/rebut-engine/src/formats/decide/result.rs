//! The result of a decide debate, with exactly the keys its readers rely on.

use super::{Ledger, Setup};
use crate::{
    clean,
    event::{Position, Tally},
    outcome::Absence,
    stopping::Saved,
    voting::Weight,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// What a decide debate found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DebateResult {
    /// The threshold was reached.
    Consensus(Consensus),
    /// It was not, and a person decides.
    Contested(Contested),
}

/// An agreed recommendation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Consensus {
    /// The question's id.
    pub question_id: String,
    /// Always true here.
    pub consensus: bool,
    /// The option's id.
    pub recommended_option: String,
    /// `HIGH`.
    pub confidence: String,
    /// Each judge's last word.
    pub perspectives: BTreeMap<String, String>,
    /// Every counted change of mind.
    pub change_log: Vec<Change>,
}

/// A question for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contested {
    /// The question's id.
    pub question_id: String,
    /// Always false here.
    pub consensus: bool,
    /// `CONTESTED`.
    pub outcome: String,
    /// `REQUIRES_INPUT`.
    pub confidence: String,
    /// Who stands for what.
    pub distribution: BTreeMap<String, Vec<Arc<str>>>,
    /// What each judge favours, and why, as `<judge>_favors`.
    pub perspectives: BTreeMap<String, String>,
    /// What to ask the person.
    pub user_prompt: String,
    /// What was spared because nothing moved any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Saved>,
}

/// One change of mind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Who.
    pub judge: String,
    /// When.
    pub round: u32,
    /// Before.
    pub from: String,
    /// After.
    pub to: String,
    /// What convinced it.
    pub reason: String,
}

pub fn of(
    setup: &Setup,
    ledger: &Ledger,
    tally: &Tally,
    absences: &[Absence],
    saved: Option<Saved>,
) -> DebateResult {
    let question_id = setup.input.question_id.clone();
    match tally.leader.as_ref().filter(|_| tally.reached) {
        Some(option) => DebateResult::Consensus(Consensus {
            question_id,
            consensus: true,
            recommended_option: option.clone(),
            confidence: "HIGH".to_owned(),
            perspectives: perspectives(ledger, absences, "", |position| {
                let first = ledger_first(ledger, &position.turn);
                let moved = first.filter(|first| Some(first) != position.counted.as_ref());
                let note = moved
                    .map(|first| format!(" (changed from {first})"))
                    .unwrap_or_default();
                format!(
                    "Option {} - {}{note}",
                    counted(position),
                    position.last_word()
                )
            }),
            change_log: changes(ledger),
        }),
        None => DebateResult::Contested(Contested {
            question_id,
            consensus: false,
            outcome: "CONTESTED".to_owned(),
            confidence: "REQUIRES_INPUT".to_owned(),
            distribution: tally.distribution.clone(),
            perspectives: perspectives(ledger, absences, "_favors", |position| {
                format!(
                    "Option {} - \"{}\"\n",
                    counted(position),
                    position.last_word()
                )
            }),
            user_prompt: user_prompt(setup),
            saved,
        }),
    }
}

pub fn summary(setup: &Setup, tally: &Tally) -> String {
    let cast = tally.distribution.values().map(Vec::len).sum::<usize>() + tally.missing.len();
    match tally.leader.as_ref().filter(|_| tally.reached) {
        Some(option) => {
            let label = setup
                .option(option)
                .map_or("", |choice| choice.label.as_str());
            let votes = tally.distribution.get(option).map_or(0, Vec::len);
            format!(
                "{option} {}, {votes} of {cast}{}",
                clean::on_one_line(label),
                by_weight(setup, tally, option)
            )
        }
        None => {
            let sides = tally
                .distribution
                .iter()
                .map(|(option, judges)| format!("{option} {}", judges.join(", ")));
            sides.collect::<Vec<_>>().join(" · ")
        }
    }
}

/// The same count by weight, where votes count differently.
fn by_weight(setup: &Setup, tally: &Tally, option: &str) -> String {
    let weights = &setup.config.weights;
    if weights.is_empty() {
        return String::new();
    }
    let sum = |voters: &[Arc<str>]| voters.iter().map(|voter| weights.of(voter)).sum::<Weight>();
    let votes = tally
        .distribution
        .get(option)
        .map_or(Weight::ZERO, |voters| sum(voters));
    let cast = tally
        .distribution
        .values()
        .chain([&tally.missing])
        .map(|voters| sum(voters))
        .sum::<Weight>();
    format!(" ({votes} of {cast} by weight)")
}

/// Every change that counted, in order.
fn changes(ledger: &Ledger) -> Vec<Change> {
    let mut all: Vec<Change> = Vec::new();
    for (judge, positions) in ledger.history() {
        for (round, position) in positions {
            let (Some(from), Some(to)) = (&position.from, &position.counted) else {
                continue;
            };
            if from != to {
                let reason = clean::on_one_line(&position.reason);
                let cited = position
                    .because
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ");
                let reason = if cited.is_empty() {
                    reason
                } else {
                    format!("{reason} ({cited})").trim().to_owned()
                };
                all.push(Change {
                    judge: judge.to_string(),
                    round: *round,
                    from: from.clone(),
                    to: to.clone(),
                    reason,
                });
            }
        }
    }
    all.sort_by_key(|change| change.round);
    all
}

fn perspectives(
    ledger: &Ledger,
    absences: &[Absence],
    suffix: &str,
    say: impl Fn(&Position) -> String,
) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for (judge, positions) in ledger.history() {
        if let Some((_, position)) = positions.last() {
            found.insert(format!("{judge}{suffix}"), say(position));
        }
    }
    let heard = ledger.history().count();
    for absence in absences {
        let missing = format!(
            "{} at {} - only {heard} perspectives available",
            absence.reason, absence.turn
        );
        found
            .entry(format!("{}{suffix}", absence.agent))
            .and_modify(|said| *said = format!("{} ({})", said.trim_end(), absence_note(absence)))
            .or_insert_with(|| format!("No recommendation - {missing}"));
    }
    found
}

fn absence_note(absence: &Absence) -> String {
    format!("{} at {}, not counted there", absence.reason, absence.turn)
}

fn ledger_first(ledger: &Ledger, turn: &str) -> Option<String> {
    let (_, positions) = ledger.history().find(|(_, positions)| {
        positions
            .iter()
            .any(|(_, position)| *position.turn == *turn)
    })?;
    positions
        .first()
        .and_then(|(_, position)| position.counted.clone())
}

fn counted(position: &Position) -> &str {
    position.counted.as_deref().unwrap_or("none")
}

fn user_prompt(setup: &Setup) -> String {
    let mut text =
        "⚠️ Judges disagreed on this question. Review perspectives above.\n\nWhich option would \
         you like to proceed with?\n"
            .to_owned();
    for option in &setup.input.options {
        let says = if option.description.trim().is_empty() {
            &option.label
        } else {
            &option.description
        };
        text.push_str(&format!("[{}] {}\n", option.id, clean::on_one_line(says)));
    }
    text
}
