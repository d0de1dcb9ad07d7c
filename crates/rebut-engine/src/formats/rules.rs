//! The rules of one kind of debate in its own types, and the adapter that makes a row of the table
//! of them: it alone reads input and settings, so that the rules never see JSON.

use super::{Foreseen, Format, Run, casting::Casting, timeouts::limits_by};
use crate::{agent::Agent, debate::Debate, error::Stop, event::Limits, outcome::Outcome};
use serde_json::Value;

/// The rules of one kind of debate.
pub trait Rules: 'static {
    type Input: Send;
    type Config: Send;

    /// The setting that says how many seconds a turn may take.
    const TURN_SECONDS: &'static str;

    /// Reads complete settings and checks their ranges.
    fn config(config: &Value) -> Result<Self::Config, String>;

    /// Reads the input and the settings and checks both.
    fn read(input: &Value, config: &Value) -> Result<(Self::Input, Self::Config), String>;

    /// Checks whether these agents can hold it; gives the topic.
    fn check(input: Self::Input, config: &Self::Config, agents: &[Agent])
    -> Result<String, String>;

    fn run(
        debate: &Debate,
        input: Self::Input,
        config: Self::Config,
    ) -> impl Future<Output = Result<Outcome, Stop>> + Send;

    /// The calls it will make, as far as they can be foreseen; retries and clarifications come on
    /// top.
    fn foresee(
        input: Self::Input,
        config: &Self::Config,
        agents: &[Agent],
    ) -> Result<Vec<Foreseen>, String>;

    /// Whether it could come to an end if only those agents answered who are marked. Usually
    /// anybody will do.
    fn suffices(_config: &Self::Config, _agents: &[Agent], can_answer: &[bool]) -> bool {
        can_answer.contains(&true)
    }
}

impl Format {
    /// A row of the table by its rules. What is not said besides is as most formats have it.
    pub const fn by<R: Rules>(
        name: &'static str,
        about: &'static str,
        preset: &'static str,
    ) -> Self {
        Self {
            name,
            version: 1,
            about,
            preset,
            prompts: &[],
            replies: Vec::new,
            check: check::<R>,
            check_config: check_config::<R>,
            limits: limits::<R>,
            closing_calls: 0,
            run: run::<R>,
            choices: |_| Vec::new(),
            foresee: foresee::<R>,
            suffices: suffices::<R>,
            reading: None,
            casting: Casting::JUDGES,
            offer: None,
        }
    }
}

fn check<R: Rules>(input: &Value, config: &Value, agents: &[Agent]) -> Result<String, String> {
    let (input, config) = R::read(input, config)?;
    R::check(input, &config, agents)
}

fn check_config<R: Rules>(config: &Value) -> Result<(), String> {
    R::config(config).map(drop)
}

fn limits<R: Rules>(config: &Value) -> Limits {
    limits_by(config, R::TURN_SECONDS)
}

fn run<R: Rules>(debate: &Debate) -> Run<'_> {
    Box::pin(async move {
        let started = debate.started();
        let (input, config) = R::read(&started.input, &started.config).map_err(Stop::Broken)?;
        R::run(debate, input, config).await
    })
}

fn foresee<R: Rules>(
    input: &Value,
    config: &Value,
    agents: &[Agent],
) -> Result<Vec<Foreseen>, String> {
    let (input, config) = R::read(input, config)?;
    R::foresee(input, &config, agents)
}

fn suffices<R: Rules>(config: &Value, agents: &[Agent], can_answer: &[bool]) -> bool {
    // Settings were read when the debate began, so they can be read now.
    R::config(config).is_ok_and(|config| R::suffices(&config, agents, can_answer))
}
