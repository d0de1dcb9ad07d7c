//! Decide: judges of fixed stance answer blind; without consensus each hears the others and keeps
//! or changes its mind.

mod config;
mod input;
mod prompts;
pub mod replies;
pub mod result;
mod state;

pub use config::Config;
pub use input::{Choice, Input, options_of};
pub use prompts::{Hall, Setup};
pub use state::Ledger;

use crate::{
    agent::Agent,
    debate::{Debate, Step},
    error::Stop,
    event::{Event, Tally},
    formats::{Foreseen, Format, consensus, offer::Offer, rules::Rules},
    outcome::{Ending, LimitMet, Outcome},
    prompt::PromptFile,
    reply::Schema,
    stopping::Saved,
    view::View,
};
use replies::{OptionDraft, Recommendation, Response};
use serde_json::Value;
use std::sync::Arc;

/// The row of the table of formats.
pub const FORMAT: Format = Format {
    prompts: &[
        PromptFile::of::<prompts::Recommend>(),
        PromptFile::of::<prompts::Challenge>(),
        PromptFile::of::<prompts::Draft>(),
        PromptFile::of::<crate::turn::Clarify>(),
    ],
    replies: || {
        vec![
            Schema::of::<Recommendation>(),
            Schema::of::<Response>(),
            Schema::of::<OptionDraft>(),
        ]
    },
    choices,
    offer: Some(Offer::question::<Config>()),
    ..Format::by::<Decide>(
        "decide",
        "Judges of fixed stance choose between options; without consensus each hears the others \
        once more.",
        include_str!("../../../presets/decide.toml"),
    )
};

/// The rules in the table's terms.
pub struct Decide;

impl Rules for Decide {
    type Input = Input;
    type Config = Config;

    const TURN_SECONDS: &'static str = "timeout_per_judge";

    fn config(config: &Value) -> Result<Config, String> {
        Config::parse(config)
    }

    fn read(input: &Value, config: &Value) -> Result<(Self::Input, Config), String> {
        let input = Input::parse_without_program(input, "decide")?;
        Ok((input, Config::parse(config)?))
    }

    fn check(input: Self::Input, config: &Config, agents: &[Agent]) -> Result<String, String> {
        if agents.is_empty() {
            return Err("decide needs at least one judge".to_owned());
        }
        config.weights.check_for(agents)?;
        if config.min_judges > agents.len() {
            return Err(format!(
                "min_judges is {}, but there are only {} judges",
                config.min_judges,
                agents.len()
            ));
        }
        Ok(input.question)
    }

    async fn run(debate: &Debate, input: Self::Input, config: Config) -> Result<Outcome, Stop> {
        run(debate, input, config).await
    }

    fn foresee(
        input: Self::Input,
        config: &Config,
        agents: &[Agent],
    ) -> Result<Vec<Foreseen>, String> {
        let drafts = input.options.is_empty();
        let draft = drafts.then_some(Foreseen {
            agent: 0,
            hears: 0,
            is_sure: true,
        });
        Ok(draft
            .into_iter()
            .chain(Foreseen::rounds(agents.len(), config.max_rounds, 1))
            .collect())
    }

    fn suffices(config: &Config, agents: &[Agent], can_answer: &[bool]) -> bool {
        can_answer.iter().filter(|can| **can).count() >= config.quorum(agents.len())
    }
}

pub async fn run(debate: &Debate, input: Input, config: Config) -> Result<Outcome, Stop> {
    let setup = Setup::of(debate, input, config).await?;
    let blind = Step::once("recommend", 1);
    let first = debate
        .round(&blind, debate.agents(), |judge, notes| {
            setup.recommend(debate, judge, notes)
        })
        .await?;
    let first = first.quorum(setup.quorum())?;
    let mut topology = setup
        .topology(debate)?
        .after(1, first.absent.iter().map(|absence| absence.agent.as_str()));
    let mut ledger = Ledger::open(first);
    let mut tally = record(debate, &setup, &ledger, &blind).await?;
    let mut saved = None;
    for round in 2..=setup.config.max_rounds {
        if tally.reached {
            break;
        }
        saved = setup
            .config
            .stop_when_stable
            .then(|| ledger.nothing_moves(round - 1, setup.config.max_rounds))
            .flatten();
        if saved.is_some() {
            break;
        }
        let step = Step::numbered("challenge", round);
        let judges = debate
            .agents()
            .iter()
            .filter(|judge| ledger.holds(&judge.name));
        let hall = Hall {
            ledger: &ledger,
            topology: &topology,
        };
        let heard = match debate
            .round(&step, judges, |judge, notes| {
                setup.challenge(debate, judge, notes, &hall, round)
            })
            .await
        {
            // What stands so far is worth having; with more to use it goes on from here.
            Err(Stop::Stopped(stop)) => {
                return outcome(debate, &setup, &ledger, &tally, None, Some(stop));
            }
            heard => heard?,
        };
        let heard = heard.quorum(setup.quorum())?;
        let next = topology.after(
            round,
            heard.absent.iter().map(|absence| absence.agent.as_str()),
        );
        ledger.hear(
            round,
            heard,
            &topology,
            setup.config.require_change_documentation,
        );
        topology = next;
        tally = record(debate, &setup, &ledger, &step).await?;
    }
    outcome(debate, &setup, &ledger, &tally, saved, None)
}

/// Where the debate stands after a count; `stopped` says why it goes no further for now.
fn outcome(
    debate: &Debate,
    setup: &Setup,
    ledger: &Ledger,
    tally: &Tally,
    saved: Option<Saved>,
    stopped: Option<LimitMet>,
) -> Result<Outcome, Stop> {
    let absences = debate.absences();
    let spared = saved
        .as_ref()
        .map(|saved| format!("; {saved}"))
        .unwrap_or_default();
    let result = result::of(setup, ledger, tally, &absences, saved);
    let ending = if tally.reached {
        Ending::Consensus
    } else {
        Ending::Contested
    };
    let stands = format!("{}{spared}", result::summary(setup, tally));
    let outcome = Outcome::with_result(ending, &stands, &result, stopped, absences)?;
    Ok(Outcome {
        consensus_score: Some(tally.share),
        ..outcome
    })
}

/// Records where everybody stands after a round, and the count.
async fn record(
    debate: &Debate,
    setup: &Setup,
    ledger: &Ledger,
    step: &Step,
) -> Result<Arc<Tally>, Stop> {
    for (agent, position) in ledger.positions_of(step.round) {
        let changed = position.from.is_some() && position.from != position.option;
        let event = if changed {
            Event::PositionChanged
        } else {
            Event::PositionRecorded
        };
        debate
            .note(step.place(Some(agent)), event(position.clone()))
            .await?;
    }
    let (ballots, weights) = (ledger.ballots(step.round), &setup.config.weights);
    let tally = consensus::weighed_tally(&step.name, &ballots, setup.config.threshold(), |judge| {
        weights.of(judge).units()
    });
    let tally = Arc::new(tally);
    debate
        .note(step.place(None), Event::VoteTallied(tally.clone()))
        .await?;
    Ok(tally)
}

fn choices(view: &View) -> Vec<(String, String)> {
    options_of(view)
        .into_iter()
        .map(|choice| (choice.id, choice.label))
        .collect()
}
