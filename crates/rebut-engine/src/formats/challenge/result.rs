//! The result of a challenge debate: the position, how it came about, who validated it, what is
//! still open.

use super::{
    prompts::Setup,
    replies::{Grounds, Stand},
    state::{Ledger, Standing},
};
use crate::{
    agent::Agent,
    clean,
    moves::{
        assumptions::{Assumption, Mapped, mapped, table},
        objections::{Objection, Reception},
    },
    outcome::Absence,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt::Write, sync::Arc};

/// What a challenge debate found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChallengeResult {
    /// `CONSENSUS` or `TRADEOFF`.
    pub outcome: String,
    /// The position as it stands.
    pub final_position: String,
    /// Its number.
    pub version: usize,
    /// `HIGH` when every challenger agreed; `MEDIUM` when some did not, or were not heard.
    pub confidence: String,
    /// Rounds in which the challengers spoke.
    pub rounds: u32,
    /// Who proposes, by name.
    pub proposer: Arc<str>,
    /// Every challenger, in order.
    pub perspectives: Vec<Perspective>,
    /// Every version of the position, oldest first.
    pub position_history: Vec<HistoryEntry>,
    /// Objections that changed the position, wholly or in part.
    pub accepted: Vec<Settled>,
    /// Objections that still stand.
    pub unresolved: Vec<Unresolved>,
    /// Assumptions and who holds them; empty on consensus.
    pub assumptions: Vec<Mapped>,
    /// What would make the other side right, by party; empty on consensus.
    pub other_right_if: Vec<(Arc<str>, String)>,
    /// What could not be resolved, in a sentence; empty on consensus.
    pub core_disagreement: String,
    /// The field of the topic, and how the personas came about.
    pub personas: PersonasFrom,
}

/// How the personas came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PersonasFrom {
    /// The field of the topic.
    pub domain: String,
    /// Whether a model wrote them.
    pub generated: bool,
    /// Why they are built-in ones although a model was asked; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_built_in: String,
}

/// One challenger and where it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Perspective {
    /// Its name.
    pub agent: Arc<str>,
    /// The persona's title.
    pub perspective: String,
    /// Who spoke for it: the program's name, or the model's.
    pub speaker: String,
    /// `agree`, `partial`, `disagree`, `dropped` or `missing`.
    pub verdict: String,
    /// Its last word, or why it is missing.
    pub summary: String,
    /// Whether it agreed at first without showing a finding on its own angle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unengaged: bool,
}

/// One version of the position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// `v1`, `v2`, …
    pub version: String,
    /// After which round it came; 0 is the opening.
    pub after_round: u32,
    /// What it says.
    pub position: String,
    /// What caused it.
    pub changed_because: Vec<Cause>,
}

/// An objection that caused a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Its name.
    pub objection: String,
    /// Who raised it.
    pub by: Arc<str>,
    /// What it said.
    pub text: String,
}

/// An objection that was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// Who raised it.
    pub by: Arc<str>,
    /// Its name.
    pub objection: String,
    /// The aspect it is filed under.
    pub aspect: String,
    /// What it said.
    pub text: String,
    /// ACCEPT or PARTIAL.
    pub verdict: Reception,
    /// What changed by it.
    pub why: String,
}

/// An objection that still stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unresolved {
    /// Who raised it.
    pub by: Arc<str>,
    /// Its name.
    pub objection: String,
    /// The aspect it is filed under.
    pub aspect: String,
    /// What it says.
    pub text: String,
    /// Why it is open: `maintained`, `minor`, `not answered`, or that its author was dropped.
    pub because: String,
}

/// What the parties said at the end of a debate without agreement.
#[derive(Clone, Debug, Default)]
pub struct Closing {
    pub grounds: Vec<(Arc<str>, Grounds)>,
    pub absent: Vec<Absence>,
}

impl ChallengeResult {
    /// The result in an outcome, if it is one.
    pub fn read(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    /// Whether everybody who gave a verdict was content.
    pub fn is_consensus(&self) -> bool {
        self.outcome == "CONSENSUS"
    }

    /// What a person can choose between: the proposer's side and each dissenter's.
    pub fn choices(&self) -> Vec<(String, String)> {
        let proposer = (
            self.proposer.to_string(),
            clean::on_one_line(&self.final_position),
        );
        let dissents = |perspective: &&Perspective| {
            matches!(
                perspective.verdict.as_str(),
                "partial" | "disagree" | "dropped"
            )
        };
        let others = self
            .perspectives
            .iter()
            .filter(dissents)
            .map(|one| (one.agent.to_string(), clean::on_one_line(&one.summary)));
        std::iter::once(proposer).chain(others).collect()
    }

    /// The document of the outcome, in one of its two forms.
    pub fn markdown(&self) -> String {
        if self.is_consensus() {
            self.consensus()
        } else {
            self.tradeoff()
        }
    }

    fn consensus(&self) -> String {
        let mut text = format!(
            "## DEBATE OUTCOME: CONSENSUS\n\n**Final position:** {}\n**Confidence:** {}\n**Rounds \
             to consensus:** {}\n**Perspectives validated:**\n",
            clean::for_markdown(&self.final_position),
            self.confidence,
            self.rounds
        );
        for one in &self.perspectives {
            let mark = if one.verdict == "missing" {
                "⚠️"
            } else {
                "✅"
            };
            let _ = writeln!(
                text,
                "- {mark} {}: {}",
                one.named(),
                clean::for_markdown(&one.summary)
            );
        }
        if self.accepted.is_empty() {
            text.push_str("**What changed:** nothing\n");
            return text;
        }
        text.push_str("**What changed:**\n");
        for settled in &self.accepted {
            let _ = writeln!(
                text,
                "- {}: {} (`{}`)",
                large(&settled.by),
                clean::for_markdown(&settled.why),
                settled.objection
            );
        }
        text
    }

    fn tradeoff(&self) -> String {
        let mut text = format!(
            "## DEBATE OUTCOME: TRADEOFF\n\n**Final position:** {} (v{}, \
             contested)\n**Confidence:** {}\n**Rounds:** {} (no consensus)\n\n\
             **Perspective Breakdown:**\n",
            clean::for_markdown(&self.final_position),
            self.version,
            self.confidence,
            self.rounds
        );
        for one in &self.perspectives {
            let _ = writeln!(
                text,
                "- {}: {} - {}",
                one.named(),
                one.verdict.to_uppercase(),
                clean::for_markdown(&one.summary)
            );
        }
        let _ = writeln!(
            text,
            "\n**Core disagreement:** {}",
            clean::for_markdown(&self.core_disagreement)
        );
        if self.assumptions.is_empty() {
            text.push_str("**Assumptions exposed:** none\n");
        } else {
            let _ = write!(
                text,
                "**Assumptions exposed:**\n\n{}\nWhich assumption matches your reality?\n",
                table(&self.assumptions)
            );
        }
        text
    }
}

impl Perspective {
    pub fn named(&self) -> String {
        format!(
            "{} ({})",
            large(&self.agent),
            clean::for_markdown(&self.speaker)
        )
    }
}

/// The result of a debate as it stands.
pub fn of(
    setup: &Setup,
    ledger: &Ledger,
    closing: &Closing,
    absences: &[Absence],
    consensus: bool,
) -> ChallengeResult {
    let because = |objection: &Objection| {
        let standing = ledger
            .standings
            .iter()
            .find(|standing| standing.agent == objection.by);
        match standing.and_then(|standing| standing.dropped.as_ref()) {
            Some(dropped) => format!("unresolved by absence: {dropped}"),
            None if consensus => "minor".to_owned(),
            None if objection.answer.is_none() => "not answered".to_owned(),
            None => "maintained".to_owned(),
        }
    };
    let everybody_heard = ledger.standings.len() == setup.challengers.len()
        && ledger
            .standings
            .iter()
            .all(|standing| standing.dropped.is_none());
    ChallengeResult {
        outcome: if consensus { "CONSENSUS" } else { "TRADEOFF" }.to_owned(),
        final_position: ledger.position().to_owned(),
        version: ledger.version(),
        confidence: if consensus && everybody_heard {
            "HIGH"
        } else {
            "MEDIUM"
        }
        .to_owned(),
        rounds: ledger.rounds,
        proposer: setup.proposer.name.clone(),
        perspectives: setup
            .challengers
            .iter()
            .map(|challenger| {
                perspective(
                    &challenger.agent,
                    &challenger.persona.title,
                    ledger,
                    absences,
                )
            })
            .collect(),
        position_history: history(ledger),
        accepted: ledger.objections.all().iter().filter_map(settled).collect(),
        unresolved: ledger
            .objections
            .open()
            .map(|objection| Unresolved {
                by: objection.by.clone(),
                objection: objection.id.to_string(),
                aspect: objection.aspect.clone(),
                text: objection.text.clone(),
                because: because(objection),
            })
            .collect(),
        assumptions: if consensus {
            Vec::new()
        } else {
            assumptions(setup, ledger, closing)
        },
        other_right_if: closing
            .grounds
            .iter()
            .map(|(party, grounds)| (party.clone(), grounds.other_right_if.clone()))
            .collect(),
        core_disagreement: if consensus {
            String::new()
        } else {
            core_disagreement(ledger, closing)
        },
        personas: PersonasFrom {
            domain: setup.cast.domain.to_owned(),
            generated: setup.cast.generated,
            why_built_in: setup.cast.why_built_in.clone(),
        },
    }
}

pub fn summary(ledger: &Ledger, result: &ChallengeResult) -> String {
    let named = |fits: &dyn Fn(&&Perspective) -> bool| {
        result
            .perspectives
            .iter()
            .filter(fits)
            .map(|one| one.agent.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let missing = named(&|one| one.verdict == "missing");
    let missing = if missing.is_empty() {
        String::new()
    } else {
        format!("; missing: {missing}")
    };
    let rounds = counted(result.rounds as usize, "round");
    if !result.is_consensus() {
        let open = counted(result.unresolved.len(), "objection");
        let against =
            named(&|one| matches!(one.verdict.as_str(), "partial" | "disagree" | "dropped"));
        let against = if against.is_empty() {
            "no verdict yet".to_owned()
        } else {
            format!("not validated by {against}")
        };
        return format!(
            "v{} after {rounds}, {against}, {open} open{missing}",
            result.version
        );
    }
    let minor = result.unresolved.len();
    let minor = if minor == 0 {
        String::new()
    } else {
        format!(" with {}", counted(minor, "minor objection"))
    };
    let by = ledger
        .standings
        .iter()
        .map(|standing| standing.agent.to_string())
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "v{} after {rounds}, validated by {by}{minor}{missing}",
        result.version
    )
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Why nobody is left to give a verdict.
pub fn all_dropped(ledger: &Ledger) -> String {
    let dropped: Vec<String> = ledger
        .standings
        .iter()
        .filter_map(|one| Some(format!("{} ({})", one.agent, one.dropped.as_ref()?)))
        .collect();
    format!(
        "no challenger is left: {}; v{} is neither validated nor refuted",
        dropped.join(", "),
        ledger.version()
    )
}

fn perspective(agent: &Agent, title: &str, ledger: &Ledger, absences: &[Absence]) -> Perspective {
    let standing = ledger
        .standings
        .iter()
        .find(|standing| standing.agent == agent.name);
    let (verdict, summary) = match standing {
        Some(Standing {
            dropped: Some(why),
            summary,
            ..
        }) => (
            "dropped",
            format!("{why}; its last word: {}", clean::on_one_line(summary)),
        ),
        Some(standing) => (
            standing.stand.as_str(),
            clean::on_one_line(&standing.summary),
        ),
        None => {
            let absence = absences
                .iter()
                .find(|absence| *absence.agent == *agent.name);
            let why = absence.map_or_else(
                || "not asked yet".to_owned(),
                |absence| format!("{} at {}", absence.reason, absence.turn),
            );
            ("missing", format!("missing: {why}"))
        }
    };
    let unengaged = standing.is_some_and(|standing| standing.unengaged);
    Perspective {
        agent: agent.name.clone(),
        perspective: title.to_owned(),
        speaker: speaker(agent),
        verdict: verdict.to_owned(),
        summary,
        unengaged,
    }
}

/// Who speaks for an agent: `cli:gemini` is Gemini.
fn speaker(agent: &Agent) -> String {
    let program = agent
        .model
        .strip_prefix("cli:")
        .map(|name| name.split('/').next().unwrap_or(name));
    program.map_or_else(|| agent.model.to_string(), large)
}

fn history(ledger: &Ledger) -> Vec<HistoryEntry> {
    let entry = |version: &super::Version| HistoryEntry {
        version: format!("v{}", version.number),
        after_round: version.after_round,
        position: version.position.clone(),
        changed_because: version
            .because
            .iter()
            .filter_map(|id| ledger.objection(id))
            .map(|objection| Cause {
                objection: objection.id.to_string(),
                by: objection.by.clone(),
                text: objection.text.clone(),
            })
            .collect(),
    };
    ledger.versions().iter().map(entry).collect()
}

fn settled(objection: &Objection) -> Option<Settled> {
    let answer = objection
        .answer
        .as_ref()
        .filter(|answer| answer.verdict.changes())?;
    Some(Settled {
        by: objection.by.clone(),
        objection: objection.id.to_string(),
        aspect: objection.aspect.clone(),
        text: objection.text.clone(),
        verdict: answer.verdict,
        why: answer.why.clone(),
    })
}

/// The proposer's and the dissenters' assumptions. A proposer who is silent at the end stands by
/// those of its opening.
fn assumptions(setup: &Setup, ledger: &Ledger, closing: &Closing) -> Vec<Mapped> {
    let said = |name: &str| {
        closing
            .grounds
            .iter()
            .find(|(party, _)| &**party == name)
            .map(|(_, grounds)| grounds.assumptions.clone())
    };
    let opened = || {
        ledger
            .opening
            .assumptions
            .iter()
            .map(|text| Assumption {
                text: text.clone(),
                falsified_by: String::new(),
            })
            .collect()
    };
    let proposer = &setup.proposer.name;
    let mut parties = vec![(
        proposer.clone(),
        format!("v{}", ledger.version()),
        said(proposer).unwrap_or_else(opened),
    )];
    for standing in ledger
        .standings
        .iter()
        .filter(|standing| standing.dissents())
    {
        let held = format!("{} by {}", standing.stand.as_str(), standing.agent);
        parties.extend(said(&standing.agent).map(|own| (standing.agent.clone(), held, own)));
    }
    mapped(&parties)
}

fn core_disagreement(ledger: &Ledger, closing: &Closing) -> String {
    let mut sides = Vec::new();
    for standing in ledger
        .standings
        .iter()
        .filter(|standing| standing.dissents())
    {
        let why = closing
            .grounds
            .iter()
            .find(|(party, _)| *party == standing.agent)
            .map(|(_, grounds)| grounds.why.as_str());
        let why = why.unwrap_or(&standing.summary);
        let absent = closing
            .absent
            .iter()
            .any(|absence| *absence.agent == *standing.agent);
        let missing = if absent {
            " (said nothing about its assumptions)"
        } else {
            ""
        };
        sides.push(format!(
            "{}: {}{missing}",
            large(&standing.agent),
            clean::on_one_line(why)
        ));
    }
    if sides.is_empty() {
        "no verdict yet".to_owned()
    } else {
        sides.join("; ")
    }
}

fn large(name: &str) -> String {
    let mut chars = name.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + chars.as_str())
        .unwrap_or_default()
}

/// The word for a stand in lists.
pub(super) fn word_of(stand: Stand) -> String {
    stand.as_str().to_uppercase()
}
