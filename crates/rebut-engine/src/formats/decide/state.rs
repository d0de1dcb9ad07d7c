//! The position ledger: who holds what, what was claimed, who was shown it, and whether a change of
//! mind names what caused it. Pure.

use super::replies::{Recommendation, Response, claim_name};
use crate::{
    agent::Agent,
    clean,
    debate::{ReplyFrom, Round},
    event::{Challenge, Claim, ClaimId, Position},
    formats::{
        consensus::Ballot,
        peer_view::{Other, order, own_words},
    },
    record::Hash,
    stopping::{Saved, stable},
    topology::Topology,
};
use std::{collections::BTreeMap, sync::Arc};

/// Everything held and claimed so far.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    judges: Vec<Judge>,
}

/// One judge's positions, one per round it spoke in, and whose words it has answered.
#[derive(Clone, Debug)]
struct Judge {
    agent: Arc<str>,
    positions: Vec<(u32, Arc<Position>)>,
    /// By the judge's number: the round of the last words of theirs that it was shown when it
    /// spoke.
    answered: BTreeMap<usize, u32>,
}

impl Ledger {
    /// The ledger after the blind round.
    pub fn open(round: Round<Recommendation>) -> Self {
        let judges = round.said.into_iter().map(|said| {
            let claims = numbered(&said.agent, 1, said.reply.claims);
            let position = Position {
                turn: said.turn,
                counted: Some(said.reply.option.clone()),
                option: Some(said.reply.option),
                ranking: said.reply.ranking,
                from: None,
                confidence: said.reply.confidence,
                summary: said.reply.summary,
                claims,
                challenges: Vec::new(),
                because: Vec::new(),
                reason: String::new(),
                documented: true,
                flips_if: said.reply.flips_if,
                bad_citations: Vec::new(),
            };
            Judge {
                agent: said.agent,
                positions: vec![(1, Arc::new(position))],
                answered: BTreeMap::new(),
            }
        });
        Self {
            judges: judges.collect(),
        }
    }

    /// Takes in a later round, in which everybody was shown what the topology lets it hear. With
    /// `strict`, a change that cites no valid claim does not count.
    pub fn hear(&mut self, round: u32, heard: Round<Response>, topology: &Topology, strict: bool) {
        // Everybody answered what stood before this round, so all are judged before any is entered.
        let judged = heard.said.into_iter().map(|said| {
            let shown: BTreeMap<usize, u32> = self
                .shown_to(&said.agent, topology)
                .map(|(at, judge)| (at, judge.last_round()))
                .collect();
            (
                said.agent.clone(),
                self.judge_reply(round, said, &shown, strict),
                shown,
            )
        });
        let judged: Vec<_> = judged.collect();
        for (agent, position, shown) in judged {
            if let Some(judge) = self.judges.iter_mut().find(|judge| judge.agent == agent) {
                judge.answered.extend(shown);
                judge.positions.push((round, Arc::new(position)));
            }
        }
    }

    /// Whether a judge has a position.
    pub fn holds(&self, agent: &str) -> bool {
        self.judges.iter().any(|judge| &*judge.agent == agent)
    }

    /// The positions taken in one round.
    pub fn positions_of(&self, round: u32) -> impl Iterator<Item = (&Arc<str>, &Arc<Position>)> {
        self.judges
            .iter()
            .filter_map(move |judge| judge.at(round).map(|position| (&judge.agent, position)))
    }

    /// The ballots of one round, one for everybody who ever took a position.
    pub fn ballots(&self, round: u32) -> Vec<(&Arc<str>, Ballot<'_>)> {
        let ballot = |judge| {
            Judge::at(judge, round)
                .and_then(|position| position.counted.as_deref())
                .map_or(Ballot::Missing, Ballot::For)
        };
        self.judges
            .iter()
            .map(|judge| (&judge.agent, ballot(judge)))
            .collect()
    }

    /// What the rounds after this one would cost, if this one changed nothing: the same judges
    /// spoke, and each stands where it stood. What they argue may be new; it moved nobody, and that
    /// is all that is looked at.
    pub fn nothing_moves(&self, round: u32, max_rounds: u32) -> Option<Saved> {
        let stands = |round| {
            self.judges
                .iter()
                .filter_map(move |judge| Some((&judge.agent, judge.at(round)?.counted.as_deref())))
        };
        let same = round > 1 && stable(&stands(round - 1).collect(), &stands(round).collect());
        let calls =
            max_rounds.saturating_sub(round) * u32::try_from(self.judges.len()).unwrap_or(u32::MAX);
        same.then(|| Saved {
            calls,
            why: "positions are stable".to_owned(),
        })
    }

    /// Every judge with its positions, oldest first.
    pub fn history(&self) -> impl Iterator<Item = (&Arc<str>, &[(u32, Arc<Position>)])> {
        self.judges
            .iter()
            .map(|judge| (&judge.agent, judge.positions.as_slice()))
    }

    /// What one judge is shown of those it hears: neutral names, in an order drawn from the seed.
    pub fn others_for<'a>(
        &'a self,
        viewer: &str,
        topology: &Topology,
        agents: &'a [Agent],
        seed: u64,
        round: u32,
    ) -> Vec<Other<'a>> {
        let mut others: Vec<(Hash, Other<'a>)> = self
            .shown_to(viewer, topology)
            .map(|(at, judge)| {
                let stance = agents
                    .iter()
                    .find(|agent| agent.name == judge.agent)
                    .map_or("", |agent| &*agent.stance);
                let order = order(seed, round, viewer, &judge.agent);
                // The number follows the panel's order, which says nothing about models. It stays
                // the same whoever looks.
                (
                    order,
                    Other {
                        number: at + 1,
                        stance,
                        position: judge.last(),
                    },
                )
            })
            .collect();
        others.sort_by_key(|(order, _)| order.0);
        others.into_iter().map(|(_, other)| other).collect()
    }

    /// A judge's own last word, as it is reminded of it.
    pub fn own_words(&self, agent: &str) -> String {
        let Some(judge) = self.judges.iter().find(|judge| &*judge.agent == agent) else {
            return String::new();
        };
        own_words(judge.last())
    }

    /// Whose last words a judge is shown, with their numbers.
    fn shown_to(&self, viewer: &str, topology: &Topology) -> impl Iterator<Item = (usize, &Judge)> {
        let heard = topology.hears(viewer);
        self.judges
            .iter()
            .enumerate()
            .filter(move |(_, judge)| heard.contains(&judge.agent))
    }

    /// The claim behind a neutral name, as it stood when the others were last shown, with its
    /// judge's number.
    fn claim(&self, name: &str) -> Option<(usize, &Claim)> {
        let (judge, number) = claim_name(name)?;
        let at = judge.checked_sub(1)?;
        Some((at, self.judges.get(at)?.last().claims.get(number - 1)?))
    }

    /// `shown` are the numbers of those whose words the judge was shown, and from which round these
    /// are.
    fn judge_reply(
        &self,
        round: u32,
        said: ReplyFrom<Response>,
        shown: &BTreeMap<usize, u32>,
        strict: bool,
    ) -> Position {
        let reply = said.reply;
        let before = self.judges.iter().find(|judge| judge.agent == said.agent);
        let from = before.and_then(|judge| judge.last().counted.clone());
        let (because, bad_citations) = self.citations(before, shown, &reply.convinced_by);
        let changed = from.as_ref() != Some(&reply.option);
        let documented = !changed || !because.is_empty();
        let counts = documented || !strict;
        let stands = || {
            before
                .map(|judge| judge.last().ranking.clone())
                .unwrap_or_default()
        };
        let challenges = reply.challenges.into_iter().filter_map(|answered| {
            let (judge, claim) = self.claim(&answered.claim)?;
            shown.contains_key(&judge).then(|| Challenge {
                claim: claim.id.clone(),
                verdict: answered.verdict,
                text: answered.text,
            })
        });
        Position {
            turn: said.turn,
            counted: if counts {
                Some(reply.option.clone())
            } else {
                from.clone()
            },
            option: Some(reply.option),
            // Whoever ranked before and only names its choice now has said nothing new about the
            // rest.
            ranking: match (counts, reply.ranking.is_empty()) {
                (true, false) => reply.ranking,
                (true, true) if changed => Vec::new(),
                _ => stands(),
            },
            from,
            confidence: reply.confidence,
            summary: reply.summary,
            claims: numbered(&said.agent, round, reply.claims),
            challenges: challenges.collect(),
            because: if changed { because } else { Vec::new() },
            reason: if changed {
                reply.change_reason
            } else {
                String::new()
            },
            documented,
            flips_if: reply.flips_if,
            bad_citations: if changed { bad_citations } else { Vec::new() },
        }
    }

    /// The citations that hold, and why the others do not: a claim must exist, be somebody else's,
    /// have been shown, and be new since the agent's last position.
    fn citations(
        &self,
        before: Option<&Judge>,
        shown: &BTreeMap<usize, u32>,
        cited: &[String],
    ) -> (Vec<ClaimId>, Vec<String>) {
        let answered = |judge: &usize| before.and_then(|before| before.answered.get(judge));
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for name in cited {
            let written = clean::shortened(&clean::on_one_line(name), 40).into_owned();
            match self.claim(name) {
                None => bad.push(format!("{written}: no such claim")),
                Some((judge, _))
                    if before.is_some_and(|before| before.agent == self.judges[judge].agent) =>
                {
                    bad.push(format!("{written}: its own claim"))
                }
                Some((judge, claim)) if !shown.contains_key(&judge) => {
                    bad.push(format!("{written} ({}): not shown to it", claim.id))
                }
                Some((judge, claim)) if answered(&judge) == shown.get(&judge) => bad.push(format!(
                    "{written} ({}): known before its last position",
                    claim.id
                )),
                Some((_, claim)) if good.contains(&claim.id) => {}
                Some((_, claim)) => good.push(claim.id.clone()),
            }
        }
        (good, bad)
    }
}

impl Judge {
    fn last(&self) -> &Position {
        &self
            .positions
            .last()
            .expect("a judge enters the ledger with its first position")
            .1
    }

    fn last_round(&self) -> u32 {
        self.positions.last().map_or(0, |(round, _)| *round)
    }

    fn at(&self, round: u32) -> Option<&Arc<Position>> {
        self.positions
            .iter()
            .find(|(spoke, _)| *spoke == round)
            .map(|(_, position)| position)
    }
}

fn numbered(agent: &str, round: u32, claims: Vec<String>) -> Vec<Claim> {
    claims
        .into_iter()
        .enumerate()
        .map(|(at, text)| Claim {
            id: ClaimId::new(agent, round, at + 1),
            text,
        })
        .collect()
}
