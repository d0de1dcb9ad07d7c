//! Candidates are debated: others criticise what they see, owners answer each claim and improve,
//! and nothing that held may break.

use super::{
    candidates::{Answer, Candidate, Claimed},
    case::Phase,
    evidence::Evidence,
    prompts::Case,
    replies::Severity,
    state::{Happened, Ledger, Trial, many, step},
};
use crate::{
    agent::Agent,
    debate::{Debate, ReplyFrom, Step},
    error::Stop,
    event::ClaimId,
    moves::{red_blue::AttackState, tools::round_with_tools},
    topology::Topology,
};
use std::sync::Arc;

/// Who sees whose candidate: those of others whose words reach it by the topology. Whoever
/// delivered nothing has no place in it.
pub fn seen_by<'a>(
    debate: &Debate,
    case: &Case,
    ledger: &'a Ledger,
    agent: &Agent,
) -> Result<Vec<&'a Candidate>, Stop> {
    let mut topology = Topology::of_panel(case.config.topology, debate.agents())
        .map_err(|error| Stop::Broken(error.to_string()))?;
    for maker in case
        .seats
        .makers
        .iter()
        .filter(|maker| ledger.of(&maker.name).is_none())
    {
        topology = topology.without(&maker.name);
    }
    let heard = topology.hears(&agent.name);
    Ok(ledger
        .candidates
        .iter()
        .filter(|one| one.owner != agent.name && heard.contains(&one.owner))
        .collect())
}

/// Who sees anything, with what it sees.
pub fn watchers<'a, 'b>(
    debate: &Debate,
    case: &Case,
    ledger: &'a Ledger,
    agents: &'b [Agent],
) -> Result<Vec<(&'b Agent, Vec<&'a Candidate>)>, Stop> {
    let mut all = Vec::new();
    for agent in agents {
        let seen = seen_by(debate, case, ledger, agent)?;
        if !seen.is_empty() {
            all.push((agent, seen));
        }
    }
    Ok(all)
}

/// Critique: claims against candidates, each by name.
pub async fn critique(debate: &Debate, case: &Case, ledger: &mut Ledger) -> Result<Happened, Stop> {
    let critics = watchers(debate, case, ledger, &case.seats.critics)?;
    if critics.is_empty() {
        return Ok(Happened {
            words: "nobody sees a candidate of somebody else".to_owned(),
            as_expected: false,
        });
    }
    let criticising = step("critique", Phase::Critique, 1);
    let ask = |agent: &Agent, notes: &str| {
        let seen = critics
            .iter()
            .find(|(critic, _)| critic.name == agent.name)
            .map_or(&[][..], |(_, seen)| seen);
        case.critique(debate, agent, notes, seen)
    };
    let who: Vec<&Agent> = critics.iter().map(|(critic, _)| *critic).collect();
    let heard = round_with_tools(debate, &criticising, &who, ask, &case.toolbox()).await?;
    let asked = critics.len();
    let answered = heard.said.len();
    let mut severe = 0;
    let mut claims = 0;
    for ReplyFrom { agent, reply, .. } in heard.said {
        for (criticism, number) in reply.claims.into_iter().zip(1..) {
            severe += usize::from(criticism.severity == Severity::Severe);
            claims += 1;
            let claimed = Claimed {
                id: ClaimId::new(&agent, 1, number),
                by: agent.clone(),
                severity: criticism.severity,
                claim: criticism.claim,
                fix: criticism.fix,
                answer: None,
                mended: false,
            };
            if let Some(candidate) = ledger.labelled(&criticism.candidate) {
                candidate.claims.push(claimed);
            }
        }
    }
    let words = format!(
        "{answered} of {} made {}, {severe} of them severe",
        many(asked, "critic"),
        many(claims, "claim")
    );
    Ok(Happened {
        words,
        as_expected: answered == asked && severe == 0,
    })
}

/// Review: each owner answers the claims against its candidate. Whoever is missing, or leaves one
/// out, has not answered it.
pub async fn review(debate: &Debate, case: &Case, ledger: &mut Ledger) -> Result<Happened, Stop> {
    let owners = owners(case, ledger, |one| !one.claims.is_empty());
    if owners.is_empty() {
        return Ok(Happened {
            words: "there are no claims to answer".to_owned(),
            as_expected: true,
        });
    }
    let reviewing = step("review", Phase::Review, 1);
    let ask = |agent: &Agent, notes: &str| {
        let own = ledger.of(&agent.name).cloned().unwrap_or_default();
        case.review(debate, agent, notes, &own)
    };
    let heard = round_with_tools(debate, &reviewing, &owners, ask, &case.toolbox()).await?;
    for ReplyFrom { agent, reply, .. } in heard.said {
        let Some(candidate) = ledger.of_mut(&agent) else {
            continue;
        };
        for answered in reply.answers {
            if let Some(claim) = candidate
                .claims
                .iter_mut()
                .find(|claim| claim.id.0 == answered.claim)
            {
                claim.answer = Some(Answer {
                    verdict: answered.verdict,
                    why: answered.why,
                });
            }
        }
    }
    let all: Vec<&Claimed> = ledger
        .candidates
        .iter()
        .flat_map(|one| &one.claims)
        .collect();
    let answered = all.iter().filter(|claim| claim.answer.is_some()).count();
    Ok(Happened {
        words: format!("{answered} of {} answered", many(all.len(), "claim")),
        as_expected: answered == all.len(),
    })
}

/// Optimization: each owner may improve. A new version replaces the old one only if no test that
/// held before breaks.
pub async fn optimize(debate: &Debate, case: &Case, ledger: &mut Ledger) -> Result<Happened, Stop> {
    let owners = owners(case, ledger, |_| true);
    let optimizing = step("optimization", Phase::Optimization, 1);
    let ask = |agent: &Agent, notes: &str| {
        let own = ledger.of(&agent.name).cloned().unwrap_or_default();
        case.optimize(debate, agent, notes, &own)
    };
    let heard = round_with_tools(debate, &optimizing, &owners, ask, &case.toolbox()).await?;
    let (mut changed, mut refused) = (0, 0);
    for ReplyFrom { agent, turn, reply } in heard.said {
        let Some(before) = ledger
            .of(&agent)
            .cloned()
            .filter(|one| reply.changed && one.code != reply.code)
        else {
            continue;
        };
        match attempt(debate, case, ledger, &optimizing, &before, &reply.code).await? {
            Ok(tested) => {
                changed += 1;
                let Some(candidate) = ledger.of_mut(&agent) else {
                    continue;
                };
                candidate.take(reply.code, &turn);
                tested.enter(candidate);
                for claim in candidate
                    .claims
                    .iter_mut()
                    .filter(|claim| reply.fixed.iter().any(|name| is_named(name, &claim.id)))
                {
                    claim.mended = true;
                }
                ledger
                    .record(debate, &optimizing, case, &agent, None)
                    .await?;
            }
            Err(broken) => {
                refused += 1;
                ledger.refusals.push(format!(
                    "{agent}: the optimized version breaks {}",
                    broken.join(", ")
                ));
            }
        }
    }
    let words = format!(
        "{} improved, {} refused because a test broke",
        many(changed, "candidate"),
        many(refused, "new version")
    );
    Ok(Happened {
        words,
        as_expected: refused == 0,
    })
}

fn is_named(said: &str, id: &ClaimId) -> bool {
    crate::moves::objections::named(said, std::slice::from_ref(id)).is_some()
}

/// What the tests of a candidate show of another code.
pub struct Tested {
    given: Evidence,
    own: Evidence,
    attacks: Vec<(String, Evidence)>,
}

impl Tested {
    /// Enters it as what is known of the candidate.
    pub fn enter(self, candidate: &mut Candidate) {
        candidate.given = self.given;
        candidate.own = self.own;
        for (id, evidence) in self.attacks {
            if let Some(attack) = candidate.attacks.iter_mut().find(|attack| attack.id == id) {
                attack.evidence = evidence;
            }
        }
    }

    /// Whether an attack's tests all hold now.
    pub fn withstands(&self, attack: &str) -> bool {
        self.attacks
            .iter()
            .any(|(id, evidence)| id == attack && evidence.all_passed())
    }
}

/// Runs everything that is known to test a candidate on another code: what its tests show, or which
/// of them broke.
pub async fn attempt(
    debate: &Debate,
    case: &Case,
    ledger: &mut Ledger,
    at: &Step,
    before: &Candidate,
    code: &str,
) -> Result<Result<Tested, Vec<String>>, Stop> {
    let trial = |tests: &str, style| Trial {
        owner: before.owner.clone(),
        code: code.to_owned(),
        tests: tests.to_owned(),
        style,
    };
    let named = |what: &str| Step {
        name: format!("{} check {what}", at.name),
        ..at.clone()
    };
    let given = ledger
        .run(
            debate,
            case,
            &named("given"),
            vec![trial(&case.input.tests, case.input.style)],
        )
        .await?
        .pop()
        .unwrap_or_default();
    // Own tests that never ran on the code before can show no break.
    let own_tests = if before.own == Evidence::NoTests {
        ""
    } else {
        &before.own_tests
    };
    let own = ledger
        .run(debate, case, &named("own"), vec![trial(own_tests, None)])
        .await?
        .pop()
        .unwrap_or_default();
    let mut broken = before.given.broken_in(&given);
    broken.extend(before.own.broken_in(&own));
    let mut attacks = Vec::new();
    for attack in before
        .attacks
        .iter()
        .filter(|one| matches!(one.state, AttackState::Confirmed | AttackState::Patched))
    {
        let shown = ledger
            .run(
                debate,
                case,
                &named(&attack.id),
                vec![trial(&attack.test, None)],
            )
            .await?
            .pop()
            .unwrap_or_default();
        if attack.state == AttackState::Patched && !shown.all_passed() {
            broken.push(format!("the patch of {}", attack.id));
        }
        attacks.push((attack.id.clone(), shown));
    }
    Ok(if broken.is_empty() {
        Ok(Tested {
            given,
            own,
            attacks,
        })
    } else {
        Err(broken)
    })
}

/// The owners of candidates of a kind.
fn owners<'a>(
    case: &'a Case,
    ledger: &Ledger,
    fits: impl Fn(&Candidate) -> bool,
) -> Vec<&'a Agent> {
    case.seats
        .makers
        .iter()
        .filter(|agent| ledger.of(&agent.name).is_some_and(&fits))
        .collect()
}

/// The agent of that name.
pub fn agent_named<'a>(debate: &'a Debate, name: &Arc<str>) -> Option<&'a Agent> {
    debate.agents().iter().find(|agent| agent.name == *name)
}
