//! Optimization: owners improve their candidates, and nothing that held may break.

use super::{trials::attempt, watchers::owners};
use crate::{
    agent::Agent,
    debate::{Debate, ReplyFrom},
    error::Stop,
    event::ClaimId,
    formats::solve::{
        config::Phase,
        prompts::Setup,
        state::{Happened, Ledger, many, step},
    },
    moves::tools::round_with_tools,
};

/// Optimization: each owner may improve. A new version replaces the old one only if no test that
/// held before breaks.
pub async fn optimize(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
) -> Result<Happened, Stop> {
    let owners = owners(setup, ledger, |_| true);
    let optimizing = step("optimization", Phase::Optimization, 1);
    let ask = |agent: &Agent, notes: &str| {
        let own = ledger.of(&agent.name).cloned().unwrap_or_default();
        setup.optimize(debate, agent, notes, &own)
    };
    let heard = round_with_tools(debate, &optimizing, &owners, ask, &setup.toolbox()).await?;
    let (mut changed, mut refused) = (0, 0);
    for ReplyFrom { agent, turn, reply } in heard.said {
        let Some(before) = ledger
            .of(&agent)
            .cloned()
            .filter(|one| reply.changed && one.code != reply.code)
        else {
            continue;
        };
        match attempt(debate, setup, ledger, &optimizing, &before, &reply.code).await? {
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
                    .record(debate, &optimizing, setup, &agent, None)
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
