//! Single: one agent answers, nobody else is asked. The cheapest arm, and the one every other has
//! to beat.

use super::{
    count::{ArmResult, named},
    grouping::Groups,
    program,
    question::{self, Question, position},
};
use crate::{
    agent::Agent,
    debate::{Debate, Step},
    error::Stop,
    event::Event,
    formats::{Foreseen, Format, Run, casting::Casting, casting::Wanted, offer::Offer},
    outcome::{Ending, Outcome},
    prompt::PromptFile,
    reply::Schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The row of the table of formats.
pub const FORMAT: Format = Format {
    name: "single",
    version: 1,
    about: "One agent answers; nobody else is asked.",
    preset: include_str!("../../../presets/single.toml"),
    prompts: &[
        PromptFile::of::<question::Blind>(),
        PromptFile::of::<program::Write>(),
        PromptFile::of::<crate::turn::Clarify>(),
    ],
    replies: || {
        vec![
            Schema::of::<super::Answer>(),
            Schema::of::<program::Program>(),
        ]
    },
    check,
    check_config: |config| Config::parse(config).map(drop),
    limits: question::limits,
    closing_calls: 0,
    run: |debate| -> Run<'_> { Box::pin(run(debate)) },
    choices: question::choices,
    foresee: |_, _, agents| Ok(Foreseen::rounds(agents.len().min(1), 1, 1)),
    suffices: crate::formats::anybody,
    reading: None,
    casting: Casting {
        asked,
        ..Casting::JUDGES
    },
    offer: Some(Offer::question::<Config>()),
};

/// The one agent that answers.
fn asked(wanted: &Wanted<'_>, agents: Vec<Agent>) -> Result<Vec<Agent>, String> {
    Ok(vec![Config::parse(wanted.config)?.chosen(&agents)?.clone()])
}

/// The settings of single.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Who answers, by name; empty is the first of the panel.
    pub agent: String,
    /// Seconds the agent has.
    pub timeout: u64,
}

impl Config {
    /// Reads settings and checks their ranges.
    pub fn parse(config: &Value) -> Result<Self, String> {
        let config: Self = question::parse("single", config)?;
        question::check_common(config.timeout, 0.0).map(|()| config)
    }

    /// Who of a panel answers.
    pub fn chosen<'a>(&self, agents: &'a [Agent]) -> Result<&'a Agent, String> {
        let mut fitting = agents
            .iter()
            .filter(|agent| self.agent.is_empty() || *agent.name == *self.agent);
        fitting.next().ok_or_else(|| {
            let names = agents
                .iter()
                .map(|agent| &*agent.name)
                .collect::<Vec<_>>()
                .join(", ");
            format!(
                "single.agent is `{}`, but the panel has {names}",
                self.agent
            )
        })
    }
}

/// The rules.
pub async fn run(debate: &Debate) -> Result<Outcome, Stop> {
    let question = Question::of(debate)?;
    let config = Config::parse(&debate.started().config).map_err(Stop::Broken)?;
    let agent = config.chosen(debate.agents()).map_err(Stop::Broken)?;
    if let Some(wanted) = &question.input.program {
        return program::one(debate, &question, wanted, agent).await;
    }
    let step = Step::once("answer", 1);
    let round = debate
        .round(&step, [agent], |agent, notes| {
            question.blind(debate, agent, notes)
        })
        .await?
        .quorum(1)?;
    let said = round
        .said
        .into_iter()
        .next()
        .ok_or_else(|| Stop::Broken("a quorum of one is nobody".to_owned()))?;
    let held = question.held(&mut Groups::default(), &said.reply);
    let position = Arc::new(position(
        &said.agent,
        said.turn,
        1,
        said.reply,
        held.clone(),
        None,
    ));
    debate
        .note(
            step.place(Some(&said.agent)),
            Event::PositionRecorded(position),
        )
        .await?;
    let result = ArmResult {
        question_id: question.input.question_id.clone(),
        label: question
            .option(&held)
            .map(|option| option.label.clone())
            .unwrap_or_default(),
        winner: Some(held.clone()),
        distribution: BTreeMap::from([(held.clone(), vec![said.agent])]),
        answers: 1,
        calls: 1,
        saved: None,
        rounds: Vec::new(),
        changes: Vec::new(),
        program: None,
    };
    // One voice agrees with nobody: the work is done, nothing was counted.
    Outcome::with_result(
        Ending::Completed,
        &named(&question, &held),
        &result,
        None,
        debate.absences(),
    )
}

fn check(input: &Value, config: &Value, agents: &[Agent]) -> Result<String, String> {
    let topic = question::check(input, agents.len(), 0)?;
    Config::parse(config)?.chosen(agents).map(|_| topic)
}
