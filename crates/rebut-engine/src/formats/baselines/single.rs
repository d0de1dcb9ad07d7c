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
    formats::{
        Foreseen, Format,
        casting::{Casting, Wanted},
        offer::Offer,
        question::Input,
        rules::Rules,
    },
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
    choices: question::choices,
    casting: Casting {
        asked,
        ..Casting::JUDGES
    },
    offer: Some(Offer::question::<Config>()),
    ..Format::by::<Single>(
        "single",
        "One agent answers; nobody else is asked.",
        include_str!("../../../presets/single.toml"),
    )
};

/// The rules in the table's terms.
pub struct Single;

impl Rules for Single {
    type Input = Input;
    type Config = Config;

    const TURN_SECONDS: &'static str = "timeout";

    fn config(config: &Value) -> Result<Config, String> {
        Config::parse(config)
    }

    fn read(input: &Value, config: &Value) -> Result<(Self::Input, Config), String> {
        Ok((Input::parse(input)?, Config::parse(config)?))
    }

    fn check(input: Self::Input, config: &Config, agents: &[Agent]) -> Result<String, String> {
        let topic = question::check(input, agents.len(), 0)?;
        config.chosen(agents).map(|_| topic)
    }

    async fn run(debate: &Debate, input: Self::Input, config: Config) -> Result<Outcome, Stop> {
        run(debate, input, config).await
    }

    fn foresee(_: Self::Input, _: &Config, agents: &[Agent]) -> Result<Vec<Foreseen>, String> {
        Ok(Foreseen::rounds(agents.len().min(1), 1, 1))
    }
}

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

pub async fn run(debate: &Debate, input: Input, config: Config) -> Result<Outcome, Stop> {
    let question = Question::of(input);
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
