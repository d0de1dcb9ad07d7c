//! Candidates are compared: tests on which they differ, a judge's rubric, ranked ballots. Evidence
//! decides who may win, votes who does.

use crate::{
    agent::Agent,
    debate::{Debate, ReplyFrom, Round, Step},
    error::Stop,
    event::{Event, Position, Tally},
    formats::solve::{
        candidates::Candidate,
        config::Phase,
        evidence::Evidence,
        prompts::Setup,
        replies::{Ranking, Rated},
        roles::voters,
        state::{Choice, Happened, Ledger, Trial, many, step},
    },
    moves::{contrast::differences, tools::round_with_tools},
    record::Hash,
    sandbox::Ran,
    voting::{self, Ballot, Count, Gather, Rules},
};
use std::{collections::BTreeMap, sync::Arc};

/// Who can win: where a candidate holds all given tests, only those that do; of these, those that
/// no claim blocks, if there is one; and of these, those whose passes were held apart from their
/// code, if there is one.
pub fn contestants(candidates: &[Candidate], owners_were_asked: bool) -> Vec<&Candidate> {
    let passing = those_or_all(candidates.iter().collect(), |one| one.given.all_passed());
    let unblocked = those_or_all(passing, |one| one.blocked_by(owners_were_asked).is_empty());
    those_or_all(unblocked, |one| {
        one.given.all_passed() && !one.given.is_shared()
    })
}

/// Those that fit; all of them where none does.
fn those_or_all(all: Vec<&Candidate>, fits: impl Fn(&Candidate) -> bool) -> Vec<&Candidate> {
    if all.iter().any(|one| fits(one)) {
        all.into_iter().filter(|one| fits(one)).collect()
    } else {
        all
    }
}

/// Why only one can win: where another holds all tests too and nothing stands against it, what
/// could be forged decided.
fn alone(candidates: &[Candidate], only: &Candidate, owners_were_asked: bool) -> String {
    let left_out = |one: &&Candidate| {
        one.owner != only.owner
            && one.given.all_passed()
            && one.blocked_by(owners_were_asked).is_empty()
    };
    let by = if only.given.all_passed() && candidates.iter().any(|one| left_out(&one)) {
        "it is the only one whose passes were held apart from its code"
    } else {
        "it is the only one that can win"
    };
    by.to_owned()
}

/// The best by evidence alone; the first of equals in the drawn order of names.
pub fn by_evidence<'a>(candidates: &[&'a Candidate]) -> Option<&'a Candidate> {
    // `max_by_key` takes the last of equals, so the list is read from its end.
    candidates
        .iter()
        .rev()
        .max_by_key(|one| one.worth())
        .copied()
}

pub async fn converge(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
) -> Result<Happened, Stop> {
    let able: Vec<Candidate> = contestants(&ledger.candidates, setup.owners_answer())
        .into_iter()
        .cloned()
        .collect();
    if setup.config.contrast && able.len() > 1 {
        contrast(debate, setup, ledger, &able).await?;
    }
    rate(debate, setup, ledger, &able).await?;
    let choice = match able.as_slice() {
        [] => {
            return Ok(Happened {
                words: "there is no candidate".to_owned(),
                as_expected: false,
            });
        }
        [only] => Choice {
            owner: only.owner.clone(),
            by: alone(&ledger.candidates, only, setup.owners_answer()),
            count: None,
        },
        _ => vote(debate, setup, ledger, &able).await?,
    };
    let quality = ledger
        .of(&choice.owner)
        .map(|one| one.label.clone())
        .and_then(|label| quality(&ledger.rubric, &label));
    let owner = choice.owner.clone();
    let words = format!(
        "{} won: {}",
        ledger.of(&owner).map_or("nobody", |one| one.label.as_str()),
        choice.by
    );
    ledger.choice = Some(choice);
    ledger
        .record(
            debate,
            &step("convergence", Phase::Convergence, 3),
            setup,
            &owner,
            quality,
        )
        .await?;
    Ok(Happened {
        words,
        as_expected: true,
    })
}

/// The mean of a candidate's points, where a judge gave them.
pub fn quality(rubric: &[Rated], label: &str) -> Option<f64> {
    let rated = rubric.iter().find(|rated| rated.candidate == label)?;
    let points = rated.points();
    let sum: f64 = points.iter().map(|(_, value)| value).sum();
    Some((sum / points.len() as f64 * 1000.0).round() / 1000.0)
}

/// Tests on which the candidates differ. If nobody writes any, or nothing runs, voters see none.
async fn contrast(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    able: &[Candidate],
) -> Result<(), Stop> {
    let shown: Vec<&Candidate> = able.iter().collect();
    let telling = step("contrast", Phase::Convergence, 1);
    let ask = |agent: &Agent, notes: &str| setup.tell_apart(debate, agent, notes, &shown);
    let heard = round_with_tools(
        debate,
        &telling,
        &[&setup.roles.tester],
        ask,
        &setup.toolbox(),
    )
    .await?;
    let Some(said) = heard.said.first() else {
        return Ok(());
    };
    let trial = |one: &Candidate| Trial {
        owner: one.owner.clone(),
        code: one.code.clone(),
        tests: said.reply.tests.clone(),
        style: None,
    };
    let testing = step("contrast-test", Phase::Convergence, 1);
    let found = ledger
        .run(debate, setup, &testing, able.iter().map(trial).collect())
        .await?;
    let runs: Vec<(&str, &Ran)> = able
        .iter()
        .zip(&found)
        .filter_map(|(one, evidence)| match evidence {
            Evidence::Ran(ran) => Some((one.label.as_str(), &**ran)),
            Evidence::NoTests | Evidence::NotRun(_) => None,
        })
        .collect();
    ledger.differences = differences(&runs);
    Ok(())
}

/// A judge's rubric, where there is a judge.
async fn rate(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    able: &[Candidate],
) -> Result<(), Stop> {
    let (Some(judge), false) = (&setup.roles.judge, able.is_empty()) else {
        return Ok(());
    };
    let shown: Vec<&Candidate> = able.iter().collect();
    let ask = |agent: &Agent, notes: &str| setup.rate(debate, agent, notes, &shown);
    let heard = round_with_tools(
        debate,
        &step("rubric", Phase::Convergence, 2),
        &[judge],
        ask,
        &setup.toolbox(),
    )
    .await?;
    ledger.rubric = heard
        .said
        .into_iter()
        .flat_map(|said| said.reply.scores)
        .collect();
    Ok(())
}

/// Ranked ballots over those who can win.
async fn vote(
    debate: &Debate,
    setup: &Setup,
    ledger: &Ledger,
    able: &[Candidate],
) -> Result<Choice, Stop> {
    let eligible = voters(debate.agents(), |agent| ledger.of(&agent.name).is_some());
    let balloting = step("ballot", Phase::Convergence, 3).closing();
    let seed = debate.started().seed;
    let ask = |agent: &Agent, notes: &str| {
        let mut shown: Vec<&Candidate> = able.iter().collect();
        // Each voter sees another order, so that no place is always first.
        shown.sort_by_key(|one| {
            Hash::of(format!("{seed}/ballot/{}/{}", agent.name, one.label).as_bytes()).0
        });
        setup.rank(debate, agent, notes, &shown, &ledger.differences)
    };
    let heard = round_with_tools(debate, &balloting, &eligible, ask, &setup.toolbox()).await?;
    let count = count(&setup.config.voting, eligible.len(), able, &heard.said);
    record(debate, &balloting, &heard, &count).await?;
    Ok(chosen(able, count))
}

/// Counts by the configured method, or by the number of those who may vote.
fn count(method: &str, eligible: usize, able: &[Candidate], said: &[ReplyFrom<Ranking>]) -> Count {
    let method = voting::method(method).unwrap_or_else(|| voting::auto(eligible));
    let mut gather = Gather::new(able.iter().map(|one| one.label.clone()).collect());
    for ReplyFrom { agent, reply, .. } in said {
        let ranking = reply
            .ranking
            .iter()
            .map(|label| vec![label.clone()])
            .collect();
        gather.add(Ballot {
            voter: agent.to_string(),
            confidence: Some(reply.confidence),
            ranking,
            ..Ballot::default()
        });
    }
    method.count(&gather.finish().0, &Rules::default())
}

/// The winner of the count; where it names none, the best by evidence among those that are tied, or
/// among all.
fn chosen(able: &[Candidate], count: Count) -> Choice {
    let labelled = |label: &String| able.iter().find(|one| one.label == *label);
    if let Some(winner) = count.winner.as_ref().and_then(labelled) {
        let by = format!(
            "by vote ({}, {})",
            count.method,
            many(count.voters, "ballot")
        );
        return Choice {
            owner: winner.owner.clone(),
            by,
            count: Some(count),
        };
    }
    let tied: Vec<&Candidate> = count.winners.iter().filter_map(labelled).collect();
    let left: Vec<&Candidate> = if tied.is_empty() {
        able.iter().collect()
    } else {
        tied
    };
    let owner = by_evidence(&left).map_or_else(|| able[0].owner.clone(), |one| one.owner.clone());
    let by = format!(
        "by evidence, since the vote ({}) ended in {}",
        count.method,
        count.ending.as_str().replace('_', " ")
    );
    Choice {
        owner,
        by,
        count: Some(count),
    }
}

/// Records every ballot as a position, and the count.
async fn record(
    debate: &Debate,
    step: &Step,
    heard: &Round<Ranking>,
    count: &Count,
) -> Result<(), Stop> {
    let mut distribution: BTreeMap<String, Vec<Arc<str>>> = BTreeMap::new();
    for ReplyFrom { agent, turn, reply } in &heard.said {
        let first = reply.ranking.first().cloned();
        if let Some(first) = &first {
            distribution
                .entry(first.clone())
                .or_default()
                .push(agent.clone());
        }
        let position = Position {
            turn: turn.clone(),
            option: first.clone(),
            ranking: reply.ranking.clone(),
            from: None,
            confidence: reply.confidence,
            summary: reply.reason.clone(),
            claims: Vec::new(),
            challenges: Vec::new(),
            because: Vec::new(),
            reason: String::new(),
            documented: true,
            counted: first,
            flips_if: String::new(),
            bad_citations: Vec::new(),
        };
        debate
            .note(
                step.place(Some(agent)),
                Event::PositionRecorded(Arc::new(position)),
            )
            .await?;
    }
    let firsts = count
        .winner
        .as_ref()
        .and_then(|winner| distribution.get(winner))
        .map_or(0, Vec::len);
    let tally = Tally {
        step: step.name.clone(),
        missing: heard
            .absent
            .iter()
            .map(|absence| absence.agent.as_str().into())
            .collect(),
        leader: count.winner.clone(),
        share: if heard.said.is_empty() {
            0.0
        } else {
            firsts as f64 / heard.said.len() as f64
        },
        threshold: 0.0,
        reached: count.winner.is_some(),
        distribution,
    };
    debate
        .note(step.place(None), Event::VoteTallied(Arc::new(tally)))
        .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::ClaimId,
        formats::solve::{candidates::Claimed, replies::Severity},
        sandbox::{End, TestRun, TestVerdict},
    };

    fn candidate(label: &str, held: usize, of: usize, blocked: bool) -> Candidate {
        let verdict = |at: usize| {
            if at < held {
                TestVerdict::Pass
            } else {
                TestVerdict::Fail
            }
        };
        let ran = Ran::plain(
            End::Exited(0),
            (0..of).map(|at| TestRun::new(at.to_string(), verdict(at))),
        );
        let claim = Claimed {
            id: ClaimId::new("critic", 1, 1),
            by: "critic".into(),
            severity: Severity::Severe,
            claim: String::new(),
            fix: String::new(),
            answer: None,
            mended: false,
        };
        Candidate {
            owner: label.into(),
            label: label.to_owned(),
            given: if of == 0 {
                Evidence::NoTests
            } else {
                Evidence::Ran(Box::new(ran))
            },
            claims: if blocked { vec![claim] } else { Vec::new() },
            ..Candidate::default()
        }
    }

    /// The same, but its code could have forged what held.
    fn shared(label: &str, held: usize, of: usize, blocked: bool) -> Candidate {
        let mut candidate = candidate(label, held, of, blocked);
        if let Evidence::Ran(ran) = &mut candidate.given {
            ran.shared_process = true;
        }
        candidate
    }

    #[test]
    fn evidence_decides_who_may_win() {
        let labels = |candidates: &[Candidate]| {
            contestants(candidates, true)
                .iter()
                .map(|one| one.label.clone())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let rows = [
            (
                vec![candidate("C1", 3, 3, false), candidate("C2", 2, 3, false)],
                "C1",
            ),
            (
                vec![candidate("C1", 3, 3, true), candidate("C2", 2, 3, false)],
                "C1",
            ),
            (
                vec![candidate("C1", 3, 3, true), candidate("C2", 3, 3, false)],
                "C2",
            ),
            (
                vec![candidate("C1", 3, 3, true), candidate("C2", 3, 3, true)],
                "C1 C2",
            ),
            (
                vec![candidate("C1", 1, 3, false), candidate("C2", 2, 3, false)],
                "C1 C2",
            ),
            (
                vec![candidate("C1", 0, 0, false), candidate("C2", 0, 0, true)],
                "C1",
            ),
            (
                vec![shared("C1", 3, 3, false), candidate("C2", 3, 3, false)],
                "C2",
            ),
            (
                vec![shared("C1", 3, 3, false), candidate("C2", 3, 3, true)],
                "C1",
            ),
            (
                vec![shared("C1", 3, 3, false), candidate("C2", 2, 3, false)],
                "C1",
            ),
            (
                vec![shared("C1", 3, 3, false), shared("C2", 3, 3, false)],
                "C1 C2",
            ),
            (
                vec![shared("C1", 2, 3, false), candidate("C2", 2, 3, false)],
                "C1 C2",
            ),
            (vec![], ""),
        ];
        for (candidates, expected) in rows {
            assert_eq!(labels(&candidates), expected, "{candidates:?}");
        }
    }

    #[test]
    fn without_a_winner_of_the_vote_evidence_chooses() {
        let able = [
            candidate("C1", 1, 3, false),
            candidate("C2", 2, 3, false),
            candidate("C3", 2, 3, false),
        ];
        let said = |agent: &str, ranking: [&str; 3]| ReplyFrom {
            agent: agent.into(),
            turn: "ballot".into(),
            reply: Ranking {
                ranking: ranking.map(str::to_owned).to_vec(),
                confidence: 1.0,
                reason: String::new(),
            },
        };
        let split = [said("a", ["C1", "C2", "C3"]), said("b", ["C3", "C2", "C1"])];
        let choice = |said: &[ReplyFrom<Ranking>]| chosen(&able, count("auto", 2, &able, said));
        assert_eq!(
            &*choice(&split).owner,
            "C2",
            "not unanimous: the most tests, then the drawn order"
        );
        assert_eq!(
            &*choice(&split[..1]).owner,
            "C1",
            "unanimous: the vote stands"
        );
        assert_eq!(&*choice(&[]).owner, "C2", "no ballot decides nothing");
        assert_eq!(
            &*chosen(&able, count("plurality", 2, &able, &split)).owner,
            "C3",
            "tied: the better of the tied"
        );
        let able = [
            shared("C1", 2, 3, false),
            candidate("C2", 2, 3, false),
            shared("C3", 2, 3, false),
        ];
        assert_eq!(
            &*chosen(&able, count("auto", 2, &able, &split)).owner,
            "C2",
            "of as many tests those that were held apart"
        );
        let able = [
            shared("C1", 3, 3, false),
            candidate("C2", 2, 3, false),
            candidate("C3", 0, 0, false),
        ];
        assert_eq!(
            &*chosen(&able, count("auto", 2, &able, &split)).owner,
            "C1",
            "more tests come first"
        );
    }
}
