//! `[hook]`: what happens when a coding agent calls.

use rebut_engine::{budget::Caps, formats::review::Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reviews that a coding agent's hooks ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookSection {
    /// Whether hooks do anything at all.
    pub enabled: bool,
    /// Who looks, by role.
    pub reviewers: Vec<String>,
    /// The model of all of them; without one, what is found on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// US dollars at most for one call.
    pub max_cost: f64,
    /// Seconds at most for one call.
    pub timeout: u64,
    /// Whether a finding may stop the agent.
    pub block: bool,
    /// From which severity on it does: low, medium, high or critical.
    pub fail_on: Severity,
}

impl Default for HookSection {
    fn default() -> Self {
        Self {
            enabled: false,
            reviewers: ["security", "testing"].map(str::to_owned).to_vec(),
            model: None,
            max_cost: 0.05,
            timeout: 45,
            block: false,
            fail_on: Severity::High,
        }
    }
}

impl HookSection {
    /// What is wrong with it, in words.
    pub fn check(&self) -> Result<(), String> {
        let cost = Caps {
            cost_usd: Some(self.max_cost),
            ..Caps::default()
        }
        .problem();
        match (self.reviewers.len(), self.timeout) {
            (0, _) => Err("[hook] reviewers is empty; name at least one role".to_owned()),
            (9.., _) => Err("[hook] reviewers: at most 8 look at once".to_owned()),
            (_, 2..=600) => {
                cost.map_or(Ok(()), |problem| Err(format!("[hook] max_cost: {problem}")))
            }
            (_, seconds) => Err(format!(
                "[hook] timeout must be 2 to 600 seconds, not {seconds}"
            )),
        }
    }
}
