//! The topology of a debate: made of its panel and settings, and changed by who is missing. A run
//! and a reader of its journal use the same functions, so that what is shown is what was enforced.

use super::{Kind, Member, Topology, TopologyError};
use crate::{agent::Agent, view::View};
use serde_json::Value;

/// The kind that a debate's settings name; mesh in formats without the setting.
pub fn kind_of(config: &Value) -> Kind {
    config
        .get("topology")
        .and_then(Value::as_str)
        .and_then(|name| Kind::named(name).ok())
        .unwrap_or_default()
}

/// A debate's topology for its second round and, where absences changed it, for later ones. Empty
/// if the debate has no beginning.
pub fn over_time(view: &View) -> Vec<(u32, Topology)> {
    let Some(started) = &view.started else {
        return Vec::new();
    };
    let Ok(mut topology) = Topology::of_panel(kind_of(&started.config), &started.agents) else {
        return Vec::new();
    };
    let mut changes: Vec<(u32, Topology)> = Vec::new();
    for round in &view.rounds {
        if round.round > 1 && changes.last().is_none_or(|(_, last)| *last != topology) {
            changes.push((round.round, topology.clone()));
        }
        topology = topology.after(
            round.round,
            round.absent.iter().map(|absence| absence.agent.as_str()),
        );
    }
    if changes.is_empty() {
        changes.push((2, topology));
    }
    changes
}

impl Topology {
    /// The topology of a panel. Nobody has a score there, so roles and the panel's order give
    /// places.
    pub fn of_panel(kind: Kind, agents: &[Agent]) -> Result<Self, TopologyError> {
        let member = |agent: &Agent| Member {
            name: agent.name.clone(),
            role: agent.role.clone(),
            stance: Some(agent.stance.clone()).filter(|stance| !stance.is_empty()),
            score: 0.0,
        };
        Self::build(kind, &agents.iter().map(member).collect::<Vec<_>>())
    }

    /// The topology after a round in which some were missing. Whoever misses the first round has
    /// nothing to say and is out. Whoever misses a later one loses its place and sits down again at
    /// the lowest: nobody waits for its words, but it can still be asked.
    pub fn after<'a>(&self, round: u32, missing: impl Iterator<Item = &'a str>) -> Self {
        let (mut left, mut gone) = (self.clone(), Vec::new());
        for name in missing {
            gone.extend(
                left.members()
                    .iter()
                    .find(|member| *member.name == *name)
                    .cloned(),
            );
            left = left.without(name);
        }
        match round {
            0 | 1 => left,
            _ => gone
                .into_iter()
                .fold(left, |topology, member| topology.with(member)),
        }
    }
}
