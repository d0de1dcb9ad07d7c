//! The candidates of a solve debate and what is known of each: versions, evidence, claims, attacks.
//! Pure.

use super::{
    evidence::Evidence,
    metrics::{diff, metrics},
    replies::{Severity, Taken},
};
use crate::{
    clean::{for_people, on_one_line},
    event::ClaimId,
    facts::{CodeMetrics, CodeRecorded},
    moves::{red_blue::AttackState, reflect::Reflected},
    record::Hash,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt::Write, sync::Arc};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    pub owner: Arc<str>,
    pub label: String,
    pub code: String,
    /// How it works, in its author's words.
    pub approach: String,
    /// The turn the code came with.
    pub turn: Arc<str>,
    /// The number of its last version; 0 before the first.
    pub version: u32,
    pub(super) before: String,
    pub own_tests: String,
    pub own: Evidence,
    pub given: Evidence,
    /// How many attempts it took against the given tests.
    pub attempts: u32,
    /// Why there was no further one.
    pub attempts_ended: String,
    /// Whether an attempt failed before one passed.
    pub recovered: bool,
    /// What a linter found in the code as it stands; `None` where none looked.
    pub lints: Option<u32>,
    /// What its author made of failures.
    pub reflections: Vec<Reflected>,
    pub claims: Vec<Claimed>,
    pub attacks: Vec<Attack>,
    pub findings: Vec<String>,
}

/// A claim against a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claimed {
    /// Its name, e.g. `critic·1·#2`.
    pub id: ClaimId,
    /// Who says so.
    pub by: Arc<str>,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub claim: String,
    /// What would mend it.
    pub fix: String,
    /// What the owner made of it; `None` is no answer.
    pub answer: Option<Answer>,
    /// Whether a later version mends it, as its owner says.
    pub mended: bool,
}

/// What an owner made of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Whether it holds.
    pub verdict: Taken,
    /// Why.
    pub why: String,
}

/// An attack on a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attack {
    /// Its name, `A1`, unique in the debate.
    pub id: String,
    /// Who attacked.
    pub by: Arc<str>,
    /// In which round.
    pub round: u32,
    /// What breaks.
    pub claim: String,
    /// The tests that show it.
    pub test: String,
    /// What became of it.
    pub state: AttackState,
    /// Why, where that needs words.
    pub why: String,
    /// What its tests showed of the code as it stands.
    #[serde(skip)]
    pub evidence: Evidence,
}

impl Candidate {
    pub fn new(owner: &Arc<str>, label: String) -> Self {
        Self {
            owner: owner.clone(),
            label,
            ..Self::default()
        }
    }

    /// Takes a new code. What was known of the old one is forgotten: whoever calls this says what
    /// is known of the new one.
    pub fn take(&mut self, code: String, turn: &Arc<str>) {
        self.before = std::mem::replace(&mut self.code, code);
        self.turn = turn.clone();
        (self.own, self.given, self.lints) = (Evidence::NoTests, Evidence::NoTests, None);
    }

    /// The fact that is recorded of the code as it stands.
    pub fn recorded(&mut self, version: u32, language: &str, quality: Option<f64>) -> CodeRecorded {
        self.version = version;
        let diff = diff(&self.before, &self.code);
        // Recorded again unchanged, as the winner is, it differs by nothing.
        self.before.clone_from(&self.code);
        CodeRecorded {
            version,
            candidate: self.owner.clone(),
            turn: self.turn.clone(),
            language: language.to_owned(),
            code: self.code.clone(),
            tests: self.given.count().or_else(|| self.own.count()),
            quality,
            metrics: CodeMetrics {
                lints: self.lints,
                ..metrics(&self.code)
            },
            diff,
        }
    }

    /// Why it cannot win while others can: a severe claim that its owner was asked about and did
    /// not answer, or accepted and did not mend.
    pub fn blocked_by(&self, owners_were_asked: bool) -> Vec<&ClaimId> {
        let blocks = |claim: &&Claimed| {
            let settled = match &claim.answer {
                None => claim.mended,
                Some(answer) => answer.verdict == Taken::Reject || claim.mended,
            };
            owners_were_asked && claim.severity == Severity::Severe && !settled
        };
        self.claims
            .iter()
            .filter(blocks)
            .map(|claim| &claim.id)
            .collect()
    }

    pub fn open_attacks(&self) -> impl Iterator<Item = &Attack> {
        self.attacks
            .iter()
            .filter(|attack| attack.state == AttackState::Confirmed)
    }

    /// What it is worth by evidence alone, better is higher: whether the given tests hold, how many
    /// do, of as many whether they were held apart from the code, how few attacks stand, own tests
    /// likewise.
    pub fn worth(&self) -> impl Ord + use<> {
        let open = std::cmp::Reverse(self.open_attacks().count());
        (
            self.given.all_passed(),
            self.given.strength(),
            open,
            self.own.strength(),
        )
    }

    /// Evidence first, then the code, for a prompt.
    pub fn text(&self, owners_were_asked: bool) -> String {
        let mut text = format!("{}\ngiven tests: {}\n", self.label, self.given.words());
        // Writing to a String cannot fail.
        if self.own != Evidence::NoTests {
            let _ = writeln!(text, "tests of its author: {}", self.own.words());
        }
        for attack in self
            .attacks
            .iter()
            .filter(|attack| attack.state != AttackState::NotReproduced)
        {
            let _ = writeln!(
                text,
                "attack {}, {}{}: {}",
                attack.id,
                attack.state.as_str(),
                attack.shared_note(),
                on_one_line(&attack.claim)
            );
        }
        for claim in &self.claims {
            let _ = writeln!(
                text,
                "claim {} ({}): {}",
                claim.id,
                claim.severity.as_str(),
                on_one_line(&claim.claim)
            );
            let _ = writeln!(text, "  {}", claim.standing(owners_were_asked));
        }
        for finding in &self.findings {
            let _ = writeln!(text, "{}", on_one_line(finding));
        }
        let _ = write!(
            text,
            "approach: {}\ncode:\n{}",
            on_one_line(&self.approach),
            for_people(&self.code).trim_end()
        );
        text
    }
}

impl Attack {
    /// What has to be said beside a state that rests on passes which the code could have forged.
    pub fn shared_note(&self) -> &'static str {
        let rests_on_passes = self.state != AttackState::Confirmed;
        self.evidence
            .count()
            .filter(|_| rests_on_passes)
            .map_or("", |count| count.shared_note())
    }
}

impl Claimed {
    pub fn standing(&self, owners_were_asked: bool) -> String {
        let mended = if self.mended {
            ", mended in a later version"
        } else {
            ""
        };
        match &self.answer {
            Some(Answer {
                verdict: Taken::Accept,
                why,
            }) => format!("accepted{mended}: {}", on_one_line(why)),
            Some(Answer {
                verdict: Taken::Reject,
                why,
            }) => format!("rejected{mended}: {}", on_one_line(why)),
            None if owners_were_asked => format!("not answered{mended}"),
            None => format!("nobody was asked to answer{mended}"),
        }
    }
}

/// Neutral names: an order drawn from the seed, so that a name says nothing about a place in the
/// panel.
pub fn labels(seed: u64, owners: &[Arc<str>]) -> Vec<(Arc<str>, String)> {
    let mut drawn: Vec<&Arc<str>> = owners.iter().collect();
    drawn.sort_by_key(|owner| Hash::of(format!("{seed}/candidate/{owner}").as_bytes()).0);
    drawn
        .into_iter()
        .zip(1..)
        .map(|(owner, number)| (owner.clone(), format!("C{number}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severe_claims_block_unless_answered_or_mended() {
        use Severity::{Major, Severe};
        let rows = [
            (Severe, None, false, true, true),
            (Severe, None, true, true, false),
            (Severe, Some(Taken::Reject), false, true, false),
            (Severe, Some(Taken::Accept), false, true, true),
            (Severe, Some(Taken::Accept), true, true, false),
            (Major, None, false, true, false),
            (Severe, None, false, false, false),
        ];
        for (severity, verdict, mended, asked, expected) in rows {
            let answer = verdict.map(|verdict| Answer {
                verdict,
                why: "so".to_owned(),
            });
            let claim = Claimed {
                id: ClaimId::new("critic", 1, 1),
                by: "critic".into(),
                severity,
                claim: "wrong".to_owned(),
                fix: String::new(),
                answer,
                mended,
            };
            let candidate = Candidate {
                claims: vec![claim],
                ..Candidate::default()
            };
            assert_eq!(
                !candidate.blocked_by(asked).is_empty(),
                expected,
                "{severity:?} {verdict:?} {mended} {asked}"
            );
        }
    }
}
