//! Votes that count differently: a weight per agent as a decimal text, summed exactly.

use crate::{agent::Agent, event::Started, voting::Weight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Weights by agent's name, such as `{ risk = "1.37" }`. Empty: every vote counts the same. Who is
/// not named counts 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Weights(pub BTreeMap<String, Weight>);

impl Weights {
    /// Whether every vote counts the same because nothing else was said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The weights that a debate's settings pin, whatever its format.
    pub fn of_debate(started: &Started) -> Self {
        let pinned = started.config.get("weights").cloned();
        pinned
            .and_then(|weights| serde_json::from_value(weights).ok())
            .unwrap_or_default()
    }

    /// Whether they fit a panel: nobody unknown, and somebody who counts.
    pub fn check_for(&self, agents: &[Agent]) -> Result<(), String> {
        if let Some(name) = self
            .0
            .keys()
            .find(|name| !agents.iter().any(|agent| *agent.name == ***name))
        {
            let known = agents
                .iter()
                .map(|agent| &*agent.name)
                .collect::<Vec<_>>()
                .join(", ");
            return Err(format!(
                "there is a weight for `{name}`, but the panel has {known}"
            ));
        }
        if !agents.is_empty()
            && agents
                .iter()
                .all(|agent| self.of(&agent.name) == Weight::ZERO)
        {
            return Err("every weight is 0; nobody's vote would count".to_owned());
        }
        Ok(())
    }

    pub fn of(&self, agent: &str) -> Weight {
        self.0.get(agent).copied().unwrap_or_default()
    }

    /// One line for people: `risk 1.37, value 0.81`; `None` where all count the same.
    pub fn words(&self) -> Option<String> {
        let each = self
            .0
            .iter()
            .map(|(agent, weight)| format!("{agent} {weight}"))
            .collect::<Vec<_>>()
            .join(", ");
        (!each.is_empty()).then_some(each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Role;

    #[test]
    fn weights_fit_their_panel() {
        let agents: Vec<Agent> = ["risk", "value"]
            .iter()
            .map(|role| Role::built_in(role).expect("a role").played_by("rehearsal"))
            .collect();
        type Given = &'static [(&'static str, &'static str)];
        let rows: [(Given, Option<&str>); 4] = [
            (&[], None),
            (&[("risk", "2.5")], None),
            (
                &[("risk", "0"), ("value", "0")],
                Some("nobody's vote would count"),
            ),
            (&[("nobody", "1")], Some("the panel has risk, value")),
        ];
        for (given, problem) in rows {
            let weights = Weights(
                given
                    .iter()
                    .map(|(agent, weight)| ((*agent).to_owned(), weight.parse().expect("a weight")))
                    .collect(),
            );
            let found = weights.check_for(&agents);
            assert_eq!(found.is_ok(), problem.is_none(), "{given:?}");
            assert!(
                problem.is_none_or(|problem| found.is_err_and(|found| found.contains(problem))),
                "{given:?}"
            );
        }
    }
}
