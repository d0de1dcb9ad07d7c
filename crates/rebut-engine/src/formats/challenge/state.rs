//! The ledger of a challenge debate: the position in all its versions, who stands where, and what
//! is still objected. Pure.

use super::{
    prompts::Setup,
    replies::{Confidence, Confrontation, Critique, Opening, Rebuttal, Rejoinder, Stand, Strength},
};
use crate::{
    clean,
    debate::{ReplyFrom, Round},
    event::{Challenge, Claim, ClaimId, Position, Verdict},
    model::FaultKind,
    moves::objections::{Answer, Objection, Objections, Reception, all_named},
    outcome::Absence,
};
use std::{fmt::Write, sync::Arc};

/// Everything held and objected so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    pub objections: Objections,
    /// Every challenger that gave a verdict, in the panel's order.
    pub standings: Vec<Standing>,
    /// The rounds in which challengers spoke or could have.
    pub rounds: u32,
    pub opening: Opening,
    /// How sure the proposer is now.
    pub confidence: Confidence,
    versions: Vec<Version>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    pub number: usize,
    /// After which round it came; 0 is the opening.
    pub after_round: u32,
    pub position: String,
    pub because: Vec<ClaimId>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    pub agent: Arc<str>,
    pub stand: Stand,
    /// The strength of its strongest objection, as it said.
    pub strength: Strength,
    pub summary: String,
    /// Whether it agreed without showing a finding on its own angle.
    pub unengaged: bool,
    /// Why it is out for good, if it is.
    pub dropped: Option<String>,
}

impl Standing {
    /// Whether it still has something to answer.
    pub fn dissents(&self) -> bool {
        self.stand != Stand::Agree
    }

    /// Whether its verdict needs no confrontation.
    fn is_content(&self) -> bool {
        let minor =
            self.stand == Stand::Partial && self.strength <= Strength::Minor && !self.unengaged;
        self.dropped.is_none() && (minor || !self.dissents())
    }
}

impl Ledger {
    /// The ledger after the opening, and the proposer's position for the record.
    pub fn open(said: &ReplyFrom<Opening>) -> (Self, Position) {
        let reply = &said.reply;
        let claims = reply.reasoning.iter().enumerate();
        let claims = claims
            .map(|(at, text)| Claim {
                id: ClaimId::new(&said.agent, 1, at + 1),
                text: text.clone(),
            })
            .collect();
        let position = Position {
            claims,
            confidence: reply.confidence.share(),
            ..holding(&said.turn, "v1", &reply.position)
        };
        let first = Version {
            number: 1,
            after_round: 0,
            position: reply.position.clone(),
            because: Vec::new(),
        };
        let ledger = Self {
            objections: Objections::default(),
            standings: Vec::new(),
            rounds: 1,
            opening: reply.clone(),
            confidence: reply.confidence,
            versions: vec![first],
        };
        (ledger, position)
    }

    /// Takes in the challengers' verdicts. With `sceptical`, an agreement without a finding on the
    /// own angle counts as partial.
    pub fn challenge(
        &mut self,
        setup: &Setup,
        heard: &Round<Critique>,
    ) -> Vec<(Arc<str>, Position)> {
        let mut positions = Vec::new();
        for said in &heard.said {
            let Some(challenger) = setup.challenger(&said.agent) else {
                continue;
            };
            let reply = &said.reply;
            let unengaged = setup.config.sceptical
                && reply.verdict == Stand::Agree
                && !reply.engages(&challenger.persona);
            let stand = if unengaged {
                Stand::Partial
            } else {
                reply.verdict
            };
            let mut raised: Vec<(String, String)> = reply
                .objections
                .iter()
                .map(|objection| (objection.aspect.clone(), objection.text.clone()))
                .collect();
            if unengaged {
                let aspects = challenger.persona.aspect_names(", ");
                raised.push((
                    aspects.clone(),
                    format!(
                        "Agreed without a finding on its own angle ({aspects}); how does the \
                        position stand there?"
                    ),
                ));
            }
            let claims = self.objections.raise(&said.agent, 1, raised);
            let reason = if unengaged {
                "said agree without a finding on its own angle: counts as partial"
            } else {
                ""
            };
            positions.push((
                said.agent.clone(),
                Position {
                    claims,
                    confidence: reply.confidence,
                    reason: reason.to_owned(),
                    ..holding(&said.turn, stand.as_str(), &reply.summary)
                },
            ));
            self.standings.push(Standing {
                agent: said.agent.clone(),
                stand,
                strength: reply.strength,
                summary: reply.summary.clone(),
                unengaged,
                dropped: None,
            });
        }
        positions
    }

    /// Takes in the proposer's answers after a round. A new version names the objections that
    /// caused it; without one that was accepted there is none, whatever the words are.
    pub fn confront(&mut self, round: u32, said: &ReplyFrom<Confrontation>) -> Position {
        let reply = &said.reply;
        let known: Vec<ClaimId> = self
            .objections
            .open()
            .map(|objection| objection.id.clone())
            .collect();
        let before = format!("v{}", self.version());
        let (mut claims, mut challenges, mut because) = (Vec::new(), Vec::new(), Vec::new());
        for (at, id) in known.iter().enumerate() {
            let Some(received) = reply
                .answers
                .iter()
                .find(|received| received.objection == id.0)
            else {
                continue;
            };
            let (verdict, why) = (received.verdict, received.why.clone());
            let claim = ClaimId::new(&said.agent, round + 1, at + 1);
            claims.push(Claim {
                id: claim.clone(),
                text: format!("{} {id}: {why}", verdict.as_str()),
            });
            let stance = if verdict == Reception::Reject {
                Verdict::Attack
            } else {
                Verdict::Concede
            };
            challenges.push(Challenge {
                claim: id.clone(),
                verdict: stance,
                text: why.clone(),
            });
            if verdict.changes() {
                because.push(id.clone());
            }
            self.objections.answer(
                id,
                Answer {
                    claim,
                    round,
                    verdict,
                    why,
                },
            );
        }
        self.confidence = reply.confidence;
        if !because.is_empty() {
            let number = self.versions.len() + 1;
            self.versions.push(Version {
                number,
                after_round: round,
                position: reply.position.clone(),
                because: because.clone(),
            });
        }
        let reworded = because.is_empty()
            && clean::on_one_line(&reply.position) != clean::on_one_line(self.position());
        let now = format!("v{}", self.version());
        Position {
            from: Some(before),
            confidence: reply.confidence.share(),
            claims,
            challenges,
            because,
            reason: if reworded {
                "other words, but nothing was accepted: the version stays".to_owned()
            } else {
                String::new()
            },
            ..holding(&said.turn, &now, self.position())
        }
    }

    /// Takes in what the dissenters make of the answers. Who is missing stays a dissenter.
    pub fn rebut(&mut self, round: u32, heard: &Round<Rebuttal>) -> Vec<(Arc<str>, Position)> {
        self.rounds = round;
        let mut positions = Vec::new();
        for said in &heard.said {
            let reply = &said.reply;
            let answers: Vec<ClaimId> = self.answer_claims(&said.agent, round);
            let own: Vec<ClaimId> = self
                .objections
                .open_by(&said.agent)
                .map(|objection| objection.id.clone())
                .collect();
            let kept = all_named("maintained", &reply.maintained, &own).unwrap_or_default();
            self.objections.settle(&said.agent, &kept);
            let raised = reply
                .new_objections
                .iter()
                .map(|objection| (objection.aspect.clone(), objection.text.clone()));
            let claims = self.objections.raise(&said.agent, round, raised);
            let Some(standing) = self
                .standings
                .iter_mut()
                .find(|standing| standing.agent == said.agent)
            else {
                continue;
            };
            let from = standing.stand;
            standing.stand = match reply.verdict {
                Rejoinder::Accept => Stand::Agree,
                Rejoinder::Maintain => from,
                Rejoinder::Escalate => Stand::Disagree,
            };
            standing.summary.clone_from(&reply.why);
            let position = Position {
                from: Some(from.as_str().to_owned()),
                confidence: reply.confidence,
                claims,
                because: if standing.stand == from {
                    Vec::new()
                } else {
                    answers
                },
                reason: reply.verdict.as_str().to_owned(),
                ..holding(&said.turn, standing.stand.as_str(), &reply.why)
            };
            positions.push((said.agent.clone(), position));
        }
        positions
    }

    /// Drops whoever is no longer who it was: its context file was changed or taken away.
    pub fn drop_changed(&mut self, absent: &[Absence]) {
        for absence in absent
            .iter()
            .filter(|absence| absence.reason == FaultKind::ContextChanged)
        {
            if let Some(standing) = self
                .standings
                .iter_mut()
                .find(|standing| *standing.agent == *absence.agent)
            {
                standing.dropped = Some(format!("{} at {}", absence.reason, absence.turn));
            }
        }
    }

    /// Whether every verdict there is needs no confrontation. Nobody's silence is one of them.
    pub fn all_content(&self) -> bool {
        !self.standings.is_empty() && self.standings.iter().all(Standing::is_content)
    }

    /// Who still dissents and can be asked.
    pub fn dissenters(&self) -> impl Iterator<Item = &Standing> {
        self.standings
            .iter()
            .filter(|standing| standing.dissents() && standing.dropped.is_none())
    }

    /// Whether anybody is left who gave a verdict.
    pub fn anybody_left(&self) -> bool {
        self.standings
            .iter()
            .any(|standing| standing.dropped.is_none())
    }

    /// The number of the position that stands.
    pub fn version(&self) -> usize {
        self.versions.len()
    }

    pub fn position(&self) -> &str {
        self.versions.last().map_or("", |version| &version.position)
    }

    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    pub fn objection(&self, id: &ClaimId) -> Option<&Objection> {
        self.objections
            .all()
            .iter()
            .find(|objection| objection.id == *id)
    }

    /// The opening as challengers read it.
    pub fn opening_text(&self) -> String {
        let Opening {
            position,
            reasoning,
            confidence,
            weaknesses,
            assumptions,
        } = &self.opening;
        let mut text = format!(
            "{}\n\nConfidence: {}\n",
            quoted(position),
            confidence.as_str()
        );
        for (title, lines) in [
            ("Reasons", reasoning),
            ("Weaknesses it admits", weaknesses),
            ("Assumptions", assumptions),
        ] {
            let _ = writeln!(text, "\n{title}:");
            for line in lines {
                let _ = writeln!(text, "- {}", quoted(line));
            }
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// The open objections as the proposer reads them.
    pub fn open_text(&self) -> String {
        let lines = self.objections.open().map(|objection| {
            format!(
                "{} ({}): {}",
                objection.id,
                objection.aspect,
                quoted(&objection.text)
            )
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        if text.is_empty() {
            "(none)".to_owned()
        } else {
            text
        }
    }

    /// A dissenter's open objections with the answers to them.
    pub fn answers_text(&self, agent: &str) -> String {
        let mut text = String::new();
        for objection in self.objections.open_by(agent) {
            let _ = writeln!(
                text,
                "{} ({}): {}",
                objection.id,
                objection.aspect,
                quoted(&objection.text)
            );
            let _ = match &objection.answer {
                Some(answer) => writeln!(
                    text,
                    "  {}: {}",
                    answer.verdict.as_str(),
                    quoted(&answer.why)
                ),
                None => writeln!(text, "  (not answered)"),
            };
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// The proposer's claims that answered an agent's open objections before a round.
    fn answer_claims(&self, agent: &str, round: u32) -> Vec<ClaimId> {
        let answers = self
            .objections
            .open_by(agent)
            .filter_map(|objection| objection.answer.as_ref());
        answers
            .filter(|answer| answer.round + 1 == round)
            .map(|answer| answer.claim.clone())
            .collect()
    }
}

/// One text is quoted at most this long to the others.
const QUOTED_CHARS: usize = 1200;

fn quoted(text: &str) -> String {
    clean::shortened(&clean::one_line(text), QUOTED_CHARS).into_owned()
}

/// A position with nothing but what is held.
fn holding(turn: &Arc<str>, option: &str, summary: &str) -> Position {
    Position {
        turn: turn.clone(),
        option: Some(option.to_owned()),
        counted: Some(option.to_owned()),
        ranking: Vec::new(),
        from: None,
        confidence: 0.0,
        summary: summary.to_owned(),
        claims: Vec::new(),
        challenges: Vec::new(),
        because: Vec::new(),
        reason: String::new(),
        documented: true,
        flips_if: String::new(),
        bad_citations: Vec::new(),
    }
}
