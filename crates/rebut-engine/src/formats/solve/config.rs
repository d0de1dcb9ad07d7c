//! The settings of solve and their ranges: phases, limits, hooks, tools.

use crate::{clean::on_one_line, formats::timeouts::check_seconds, topology::Kind, voting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The phases, in their order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Questions before the work.
    Dehallucination,
    /// Generators test and mend their own code.
    SelfEvolvement,
    /// Candidates meet the given tests.
    Proposal,
    /// Others look for what is wrong.
    Critique,
    /// Owners answer.
    Review,
    /// Owners improve.
    Optimization,
    /// Red attacks, blue patches.
    Adversarial,
    /// Contrast, rubric and vote.
    Convergence,
}

impl Phase {
    /// All of them, in their order.
    pub const ALL: [Self; 8] = [
        Self::Dehallucination,
        Self::SelfEvolvement,
        Self::Proposal,
        Self::Critique,
        Self::Review,
        Self::Optimization,
        Self::Adversarial,
        Self::Convergence,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Dehallucination => "dehallucination",
            Self::SelfEvolvement => "self-evolvement",
            Self::Proposal => "proposal",
            Self::Critique => "critique",
            Self::Review => "review",
            Self::Optimization => "optimization",
            Self::Adversarial => "adversarial",
            Self::Convergence => "convergence",
        }
    }
}

/// Who plans before the first code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Planning {
    /// Nobody.
    Off,
    /// By the features of the task.
    Adaptive,
    /// One for all.
    Cpde,
    /// Each for itself.
    Dpde,
}

/// Commands run on candidates, each as a list of words; empty for none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Hooks {
    /// After the proposal.
    pub post_proposal: Vec<String>,
    /// After the optimization.
    pub post_optimization: Vec<String>,
    /// After the attacks.
    pub post_adversarial: Vec<String>,
    /// After the vote, on the winner.
    pub post_convergence: Vec<String>,
}

impl Hooks {
    /// The command after a phase, if there is one.
    pub fn after(&self, phase: Phase) -> Option<&[String]> {
        let argv = match phase {
            Phase::Proposal => &self.post_proposal,
            Phase::Optimization => &self.post_optimization,
            Phase::Adversarial => &self.post_adversarial,
            Phase::Convergence => &self.post_convergence,
            _ => return None,
        };
        (!argv.is_empty()).then_some(argv)
    }
}

/// The settings of solve, with the defaults of its preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Seconds an agent has for one turn.
    pub timeout_per_agent: u64,
    /// The phases that are held.
    pub phases: Vec<Phase>,
    /// Rounds of questions at most.
    pub clarification_rounds: u32,
    /// How sure the asker must be to stop.
    pub clarification_confidence: f64,
    /// A task of fewer words is simple: nobody asks about it.
    pub clarify_from_words: usize,
    /// How often a generator may mend its code by its own tests.
    pub self_refinements: u32,
    /// Attempts against the given tests.
    pub max_attempts: u32,
    /// Below this confidence in its own reflection a generator is not asked again.
    pub give_up_below: f64,
    /// Rounds of attack and defence at most.
    pub adversarial_rounds: u32,
    /// Who sees whose code.
    pub topology: Kind,
    /// Who plans.
    pub planning: Planning,
    /// Whether each phase hears how the one before went.
    pub cognitive_planning: bool,
    /// `auto`, or a voting method.
    pub voting: String,
    /// Whether tests are sought on which candidates differ.
    pub contrast: bool,
    /// Whether lessons are drawn, and those of earlier debates given.
    pub lessons: bool,
    /// The model that compares lessons by meaning, `provider:model`; empty for none, then by words.
    #[serde(default)]
    pub embeddings: String,
    /// A lesson must be nearer to the task than this.
    #[serde(default)]
    pub similarity: f64,
    /// Whether versions of the code are looked at by a linter, where there is one.
    #[serde(default)]
    pub lints: bool,
    /// Phases after which a person must approve.
    pub gates: Vec<Phase>,
    /// How long that is waited for.
    pub gate_minutes: u64,
    /// The most seconds one run may take.
    pub seconds_per_run: u32,
    /// How often an agent whose role names tools may use them in one turn; 0 for never.
    #[serde(default)]
    pub tool_calls: u32,
    /// The commands behind some of them.
    #[serde(default)]
    pub tools: Tools,
    /// Commands run on candidates.
    pub hooks: Hooks,
}

/// The commands behind tools, as lists of words; an empty one is not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tools {
    /// A linter.
    pub lint: Vec<String>,
    /// A formatter.
    pub format: Vec<String>,
    /// A compiler or type checker.
    pub diagnose: Vec<String>,
}

impl Tools {
    /// Those that are there, by the tool's name.
    pub fn named(&self) -> BTreeMap<String, Vec<String>> {
        let all = [
            ("lint", &self.lint),
            ("format", &self.format),
            ("diagnose", &self.diagnose),
        ];
        all.into_iter()
            .filter(|(_, argv)| !argv.is_empty())
            .map(|(name, argv)| (name.to_owned(), argv.clone()))
            .collect()
    }
}

impl Default for Config {
    fn default() -> Self {
        toml::from_str(super::FORMAT.preset).expect("the compiled-in preset is tested to be valid")
    }
}

impl Config {
    /// Reads settings and checks their ranges.
    pub fn parse(config: &Value) -> Result<Self, String> {
        let config = Self::deserialize(config).map_err(|error| format!("solve: {error}"))?;
        check_seconds("timeout_per_agent", config.timeout_per_agent)?;
        let ranges = [
            ("clarification_rounds", config.clarification_rounds, 1, 10),
            ("self_refinements", config.self_refinements, 0, 10),
            ("max_attempts", config.max_attempts, 1, 10),
            ("adversarial_rounds", config.adversarial_rounds, 1, 10),
            ("seconds_per_run", config.seconds_per_run, 1, 600),
            ("tool_calls", config.tool_calls, 0, 20),
        ];
        for (key, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(format!("{key} must be {least} to {most}, not {value}"));
            }
        }
        let shares = [
            ("clarification_confidence", config.clarification_confidence),
            ("give_up_below", config.give_up_below),
            ("similarity", config.similarity),
        ];
        for (key, value) in shares {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("{key} must be 0 to 1, not {value}"));
            }
        }
        if !(1..=10_080).contains(&config.gate_minutes) {
            return Err(format!(
                "gate_minutes must be 1 to 10080, not {}",
                config.gate_minutes
            ));
        }
        if config.voting != "auto" && voting::method(&config.voting).is_none() {
            let known: Vec<&str> = voting::METHODS.iter().map(|method| method.name).collect();
            return Err(format!(
                "there is no voting method `{}`; take auto or one of {}",
                on_one_line(&config.voting),
                known.join(", ")
            ));
        }
        Ok(config)
    }

    pub fn holds(&self, phase: Phase) -> bool {
        self.phases.contains(&phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_preset_is_complete_and_bad_settings_are_refused() {
        let preset: toml::Table = toml::from_str(super::super::FORMAT.preset).expect("TOML");
        let schema = schemars::schema_for!(Config);
        let known = schema
            .get("properties")
            .and_then(Value::as_object)
            .expect("an object");
        assert_eq!(
            preset.keys().collect::<std::collections::BTreeSet<_>>(),
            known.keys().collect()
        );
        let whole = serde_json::to_value(Config::default()).expect("JSON");
        assert_eq!(Config::parse(&whole), Ok(Config::default()));
        assert_eq!(
            (Config::default().max_attempts, Config::default().phases),
            (3, Phase::ALL.to_vec())
        );
        let bad = [
            ("max_attempts", json!(0)),
            ("max_attempts", json!(11)),
            ("adversarial_rounds", json!(0)),
            ("clarification_confidence", json!(1.1)),
            ("give_up_below", json!(-0.1)),
            ("voting", json!("loudest")),
            ("phases", json!(["proposals"])),
            ("gates", json!(["nowhere"])),
            ("topology", json!("ring")),
            ("hooks", json!({"post-lunch": ["true"]})),
            ("gate_minutes", json!(0)),
            ("seconds_per_run", json!(0)),
            ("similarity", json!(1.5)),
            ("lints", json!("yes")),
            ("surprise", json!(1)),
        ];
        for (key, value) in bad {
            let mut config = whole.clone();
            config[key] = value.clone();
            assert!(Config::parse(&config).is_err(), "{key} = {value}");
        }
    }
}
