//! Critique: claims against candidates, each by name.

use super::watchers::watchers;
use crate::{
    agent::Agent,
    debate::{Debate, ReplyFrom},
    error::Stop,
    event::ClaimId,
    formats::solve::{
        candidates::Claimed,
        config::Phase,
        prompts::Setup,
        replies::Severity,
        state::{Happened, Ledger, many, step},
    },
    moves::tools::round_with_tools,
};

/// Critique: claims against candidates, each by name.
pub async fn critique(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
) -> Result<Happened, Stop> {
    let critics = watchers(debate, setup, ledger, &setup.roles.critics)?;
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
        setup.critique(debate, agent, notes, seen)
    };
    let who: Vec<&Agent> = critics.iter().map(|(critic, _)| *critic).collect();
    let heard = round_with_tools(debate, &criticising, &who, ask, &setup.toolbox()).await?;
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
