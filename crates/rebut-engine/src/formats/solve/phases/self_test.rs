//! Self-evolvement: each generator writes code and tests, runs them, and mends.

use super::trials::{Which, record_all, run_tests, shared_words};
use crate::{
    agent::Agent,
    debate::{Debate, ReplyFrom},
    error::Stop,
    formats::solve::{
        config::Phase,
        prompts::Setup,
        state::{Happened, Ledger, many, step},
    },
    moves::tools::round_with_tools,
};
use std::sync::Arc;

/// Self-evolvement: each generator writes code and tests, runs them, and mends until they hold or
/// its refinements are used up.
pub async fn evolve(debate: &Debate, setup: &Setup, ledger: &mut Ledger) -> Result<Happened, Stop> {
    let mut writers: Vec<&Agent> = setup.roles.makers.iter().collect();
    for round in 1..=setup.config.self_refinements + 1 {
        let writing = step(
            format!("self-evolvement {round}"),
            Phase::SelfEvolvement,
            round,
        );
        let ask =
            |agent: &Agent, notes: &str| setup.evolve(debate, agent, notes, ledger.of(&agent.name));
        let heard = round_with_tools(debate, &writing, &writers, ask, &setup.toolbox()).await?;
        for ReplyFrom { agent, turn, reply } in &heard.said {
            let candidate = ledger.entered(agent);
            candidate.take(reply.code.clone(), turn);
            candidate.approach.clone_from(&reply.approach);
            candidate.own_tests.clone_from(&reply.tests);
        }
        let authors: Vec<Arc<str>> = heard.said.iter().map(|said| said.agent.clone()).collect();
        let testing = step(format!("self-test {round}"), Phase::SelfEvolvement, round);
        run_tests(debate, setup, ledger, &testing, &authors, Which::Own).await?;
        record_all(debate, setup, ledger, &writing, &authors).await?;
        // Whoever was missing now is not asked to mend what it did not write.
        let failed = |agent: &&Agent| {
            authors.contains(&agent.name)
                && ledger
                    .of(&agent.name)
                    .is_some_and(|one| one.own.passed() == Some(false))
        };
        writers.retain(failed);
        if writers.is_empty() {
            break;
        }
    }
    let (all, passed) = (
        ledger.candidates.len(),
        ledger
            .candidates
            .iter()
            .filter(|one| one.own.all_passed())
            .count(),
    );
    let words = format!(
        "{passed} of {} hold their authors' own tests{}",
        many(all, "candidate"),
        shared_words(ledger, |one| &one.own)
    );
    Ok(Happened {
        words,
        as_expected: all == setup.roles.makers.len() && passed == all,
    })
}
