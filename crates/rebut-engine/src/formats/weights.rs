//! Votes that count differently: a weight per agent as a decimal text, summed exactly in thousandths.

use crate::{agent::Agent, event::Started};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Weights by agent's name, such as `{ risk = "1.37" }`. Empty: every vote counts the same. Who is not named counts 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Weights(pub BTreeMap<String, String>);

/// A vote that counts 1.
const ONE: usize = 1000;

/// The most a vote may count.
const MOST: usize = 1000 * ONE;

impl Weights {
    /// Whether every vote counts the same because nothing else was said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The weights that a debate's settings pin, whatever its format.
    pub fn of_debate(started: &Started) -> Self {
        let pinned = started.config.get("weights").cloned();
        pinned.and_then(|weights| serde_json::from_value(weights).ok()).unwrap_or_default()
    }

    /// Whether all weights can be read; the error says which cannot.
    pub fn check(&self) -> Result<(), String> {
        match self.0.iter().find(|(_, weight)| thousandths(weight).is_none()) {
            Some((agent, weight)) => Err(format!(
                "the weight of {agent} must be a decimal text from \"0\" to \"1000\" with at most three decimals, not \"{weight}\""
            )),
            None => Ok(()),
        }
    }

    /// Whether they fit a panel: nobody unknown, and somebody who counts.
    pub fn check_for(&self, agents: &[Agent]) -> Result<(), String> {
        self.check()?;
        if let Some(name) = self.0.keys().find(|name| !agents.iter().any(|agent| *agent.name == ***name)) {
            let known = agents.iter().map(|agent| &*agent.name).collect::<Vec<_>>().join(", ");
            return Err(format!("there is a weight for `{name}`, but the panel has {known}"));
        }
        if !agents.is_empty() && agents.iter().all(|agent| self.of(&agent.name) == 0) {
            return Err("every weight is 0; nobody's vote would count".to_owned());
        }
        Ok(())
    }

    /// What an agent's vote counts, in thousandths.
    pub fn of(&self, agent: &str) -> usize {
        self.0.get(agent).and_then(|weight| thousandths(weight)).unwrap_or(ONE)
    }

    /// One line for people: `risk 1.37, value 0.81`; `None` where all count the same.
    pub fn words(&self) -> Option<String> {
        let each = self.0.iter().map(|(agent, weight)| format!("{agent} {weight}")).collect::<Vec<_>>().join(", ");
        (!each.is_empty()).then_some(each)
    }
}

/// A sum of weights as people write it: without digits that say nothing.
pub fn decimal(thousandths: usize) -> String {
    let text = format!("{}.{:03}", thousandths / ONE, thousandths % ONE);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn thousandths(text: &str) -> Option<usize> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str, most: usize| (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole, 4) || !digits(rest, 3) {
        return None;
    }
    let value = whole.parse::<usize>().ok()? * ONE + format!("{rest:0<3}").parse::<usize>().ok()?;
    (value <= MOST).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Role;

    #[test]
    fn weights_are_decimals_and_nothing_else() {
        let rows = [("1", Some(1000)), ("1.37", Some(1370)), ("0", Some(0)), ("0.001", Some(1)), ("1000", Some(1_000_000))];
        let bad = ["", ".", "1.", ".5", "-1", "+1", "1e3", "1.2345", "1000.001", "NaN", "inf", " 1", "1,5", "99999"];
        for (text, expected) in rows.into_iter().chain(bad.map(|text| (text, None))) {
            assert_eq!(thousandths(text), expected, "{text:?}");
        }
        for (thousandths, text) in [(0, "0"), (1370, "1.37"), (2000, "2"), (10, "0.01"), (1_000_001, "1000.001")] {
            assert_eq!(decimal(thousandths), text);
        }
    }

    #[test]
    fn weights_fit_their_panel() {
        let agents: Vec<Agent> =
            ["risk", "value"].iter().map(|role| Role::built_in(role).expect("a role").played_by("rehearsal")).collect();
        type Given = &'static [(&'static str, &'static str)];
        let rows: [(Given, Option<&str>); 5] = [
            (&[], None),
            (&[("risk", "2.5")], None),
            (&[("risk", "0"), ("value", "0")], Some("nobody's vote would count")),
            (&[("nobody", "1")], Some("the panel has risk, value")),
            (&[("risk", "x")], Some("decimal text")),
        ];
        for (given, problem) in rows {
            let weights = Weights(given.iter().map(|(agent, weight)| ((*agent).to_owned(), (*weight).to_owned())).collect());
            let found = weights.check_for(&agents);
            assert_eq!(found.is_ok(), problem.is_none(), "{given:?}");
            assert!(problem.is_none_or(|problem| found.is_err_and(|found| found.contains(problem))), "{given:?}");
        }
    }
}
