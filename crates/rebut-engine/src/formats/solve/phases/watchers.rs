//! Who sees whose candidate, and whose candidate it is.

use crate::{
    agent::Agent,
    debate::Debate,
    error::Stop,
    formats::solve::{candidates::Candidate, prompts::Setup, state::Ledger},
    topology::Topology,
};
use std::sync::Arc;

/// Who sees whose candidate: those of others whose words reach it by the topology. Whoever
/// delivered nothing has no place in it.
pub fn seen_by<'a>(
    debate: &Debate,
    setup: &Setup,
    ledger: &'a Ledger,
    agent: &Agent,
) -> Result<Vec<&'a Candidate>, Stop> {
    let mut topology = Topology::of_panel(setup.config.topology, debate.agents())
        .map_err(|error| Stop::Broken(error.to_string()))?;
    for maker in setup
        .roles
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
    setup: &Setup,
    ledger: &'a Ledger,
    agents: &'b [Agent],
) -> Result<Vec<(&'b Agent, Vec<&'a Candidate>)>, Stop> {
    let mut all = Vec::new();
    for agent in agents {
        let seen = seen_by(debate, setup, ledger, agent)?;
        if !seen.is_empty() {
            all.push((agent, seen));
        }
    }
    Ok(all)
}

/// The owners of candidates of a kind.
pub fn owners<'a>(
    setup: &'a Setup,
    ledger: &Ledger,
    fits: impl Fn(&Candidate) -> bool,
) -> Vec<&'a Agent> {
    setup
        .roles
        .makers
        .iter()
        .filter(|agent| ledger.of(&agent.name).is_some_and(&fits))
        .collect()
}

pub fn agent_named<'a>(debate: &'a Debate, name: &Arc<str>) -> Option<&'a Agent> {
    debate.agents().iter().find(|agent| agent.name == *name)
}
