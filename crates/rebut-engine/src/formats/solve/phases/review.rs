//! Review: owners answer the claims against their candidates.

use super::watchers::owners;
use crate::{
    agent::Agent,
    debate::{Debate, ReplyFrom},
    error::Stop,
    formats::solve::{
        candidates::{Answer, Claimed},
        config::Phase,
        prompts::Setup,
        state::{Happened, Ledger, many, step},
    },
    moves::tools::round_with_tools,
};

/// Review: each owner answers the claims against its candidate. Whoever is missing, or leaves one
/// out, has not answered it.
pub async fn review(debate: &Debate, setup: &Setup, ledger: &mut Ledger) -> Result<Happened, Stop> {
    let owners = owners(setup, ledger, |one| !one.claims.is_empty());
    if owners.is_empty() {
        return Ok(Happened {
            words: "there are no claims to answer".to_owned(),
            as_expected: true,
        });
    }
    let reviewing = step("review", Phase::Review, 1);
    let ask = |agent: &Agent, notes: &str| {
        let own = ledger.of(&agent.name).cloned().unwrap_or_default();
        setup.review(debate, agent, notes, &own)
    };
    let heard = round_with_tools(debate, &reviewing, &owners, ask, &setup.toolbox()).await?;
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
