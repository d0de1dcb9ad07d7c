//! Challenge: one proposes a position, experts of different angles attack it, the proposer answers
//! every objection, until all accept or the assumptions behind the disagreement are laid open.

mod config;
mod input;
pub mod personas;
mod prompts;
mod render;
pub mod replies;
pub mod result;
mod roles;
mod state;

pub use config::{Casting, Config};
pub use input::Input;
pub use prompts::{Challenger, Setup};
pub use render::said_in_full;
pub use state::{Ledger, Standing, Version};

use crate::{
    agent::Agent,
    debate::{Debate, Step},
    error::Stop,
    event::{Event, Position},
    formats::{Foreseen, Format, Reading, offer::Offer, rules::Rules},
    outcome::{Absence, Ending, LimitMet, Outcome},
    prompt::PromptFile,
    reply::Schema,
    view::View,
};
use replies::{Confrontation, Critique, Grounds, Opening, PersonaDraft, Ready, Rebuttal};
use result::Closing;
use serde_json::Value;
use std::sync::Arc;

/// The row of the table of formats.
pub const FORMAT: Format = Format {
    prompts: &[
        PromptFile::of::<prompts::Personas>(),
        PromptFile::of::<prompts::Preflight>(),
        PromptFile::of::<prompts::Open>(),
        PromptFile::of::<prompts::Challenge>(),
        PromptFile::of::<prompts::Confront>(),
        PromptFile::of::<prompts::Rebut>(),
        PromptFile::of::<prompts::Rest>(),
        PromptFile::of::<crate::turn::Clarify>(),
    ],
    replies: || {
        vec![
            Schema::of::<PersonaDraft>(),
            Schema::of::<Ready>(),
            Schema::of::<Opening>(),
            Schema::of::<Critique>(),
            Schema::of::<Confrontation>(),
            Schema::of::<Rebuttal>(),
            Schema::of::<Grounds>(),
        ]
    },
    // The proposer and three dissenters say what their sides rest on.
    closing_calls: 4,
    choices,
    reading: Some(Reading::of(
        render::heading,
        render::lines,
        render::transcript,
    )),
    casting: roles::CASTING,
    offer: Some(Offer {
        operators_input: &["workspace"],
        ..Offer::of::<Input, Config>()
    }),
    ..Format::by::<Challenge>(
        "challenge",
        "One proposes, experts of different angles attack, the proposer answers every \
        objection.",
        include_str!("../../../presets/challenge.toml"),
    )
};

/// The rules in the table's terms.
pub struct Challenge;

impl Rules for Challenge {
    type Input = Input;
    type Config = Config;

    const TURN_SECONDS: &'static str = "timeout_per_agent";

    fn config(config: &Value) -> Result<Config, String> {
        Config::parse(config)
    }

    fn read(input: &Value, config: &Value) -> Result<(Self::Input, Config), String> {
        Ok((Input::parse(input)?, Config::parse(config)?))
    }

    fn check(input: Self::Input, config: &Config, agents: &[Agent]) -> Result<String, String> {
        match agents.len() {
            0 | 1 => Err("challenge needs a proposer and at least one challenger".to_owned()),
            count if config.min_challengers >= count => Err(format!(
                "min_challengers is {}, but there are only {} challengers",
                config.min_challengers,
                count - 1
            )),
            _ => Ok(input.topic),
        }
    }

    async fn run(debate: &Debate, input: Self::Input, config: Config) -> Result<Outcome, Stop> {
        run(debate, input, config).await
    }

    fn foresee(_: Self::Input, config: &Config, agents: &[Agent]) -> Result<Vec<Foreseen>, String> {
        let others = agents.len().saturating_sub(1);
        let call = |agent: usize, hears: usize, is_sure: bool| Foreseen {
            agent,
            hears,
            is_sure,
        };
        let challengers = |hears: usize, is_sure: bool| {
            (1..agents.len()).map(move |agent| call(agent, hears, is_sure))
        };
        let rehearsed = agents.iter().any(|agent| agent.provider() == "rehearsal");
        let mut calls: Vec<Foreseen> = Vec::new();
        calls.extend((config.personas == Casting::Auto && !rehearsed).then(|| call(0, 0, true)));
        calls.extend(challengers(0, true).filter(|_| config.preflight));
        calls.push(call(0, 0, true));
        calls.extend(challengers(1, true));
        for _ in 1..config.max_rounds {
            calls.push(call(0, others, false));
            calls.extend(challengers(1, false));
        }
        calls.push(call(0, others, false));
        calls.extend(challengers(others, false));
        Ok(calls)
    }

    fn suffices(config: &Config, _: &[Agent], can_answer: &[bool]) -> bool {
        let needed = config.min_challengers.max(1);
        can_answer.split_first().is_some_and(|(proposer, others)| {
            *proposer && others.iter().filter(|can| **can).count() >= needed
        })
    }
}

pub async fn run(debate: &Debate, input: Input, config: Config) -> Result<Outcome, Stop> {
    let setup = Setup::of(debate, input, config).await?;
    let present = preflight(debate, &setup).await?;
    if present.is_empty() {
        return Ok(Outcome::without_result(
            Ending::NoModel,
            nobody_there(&debate.absences()),
            debate.absences(),
        ));
    }
    let mut ledger = open(debate, &setup).await?;
    match argue(debate, &setup, &present, &mut ledger).await {
        // What stands so far is worth having; with more to use it goes on from here.
        Err(Stop::Stopped(stop)) => {
            return outcome(debate, &setup, &ledger, Closing::default(), Some(stop));
        }
        argued => argued?,
    }
    if !ledger.anybody_left() {
        return Ok(Outcome::without_result(
            Ending::NoQuorum,
            result::all_dropped(&ledger),
            debate.absences(),
        ));
    }
    match closing(debate, &setup, &ledger).await {
        Err(Stop::Stopped(stop)) => {
            outcome(debate, &setup, &ledger, Closing::default(), Some(stop))
        }
        closing => outcome(debate, &setup, &ledger, closing?, None),
    }
}

/// The challengers that are there and have read who they are.
async fn preflight<'a>(debate: &Debate, setup: &'a Setup) -> Result<Vec<&'a Agent>, Stop> {
    let all: Vec<&Agent> = setup
        .challengers
        .iter()
        .map(|challenger| &challenger.agent)
        .collect();
    if !setup.config.preflight {
        return Ok(all);
    }
    let ready = debate
        .round(
            &Step::once("preflight", 0),
            all.iter().copied(),
            |agent, _| setup.preflight(debate, agent),
        )
        .await?;
    if ready.said.is_empty() {
        return Ok(Vec::new());
    }
    let ready = ready.quorum(setup.config.min_challengers)?;
    Ok(all
        .into_iter()
        .filter(|agent| ready.said.iter().any(|said| said.agent == agent.name))
        .collect())
}

/// The proposer's opening. Without one there is nothing to challenge.
async fn open(debate: &Debate, setup: &Setup) -> Result<Ledger, Stop> {
    let step = Step::once("opening", 1);
    let opened = debate
        .round(&step, [&setup.proposer], |agent, notes| {
            setup.opening(debate, agent, notes)
        })
        .await?
        .quorum(1)?;
    let said = opened
        .said
        .first()
        .ok_or_else(|| Stop::Broken("nobody opened".to_owned()))?;
    let (ledger, position) = Ledger::open(said);
    record(debate, &step, vec![(setup.proposer.name.clone(), position)]).await?;
    Ok(ledger)
}

/// Challenge, then answers and rebuttals, until nobody dissents or the rounds are over.
async fn argue(
    debate: &Debate,
    setup: &Setup,
    present: &[&Agent],
    ledger: &mut Ledger,
) -> Result<(), Stop> {
    let step = Step::once("challenge", 1);
    let heard = debate
        .round(&step, present.iter().copied(), |agent, notes| {
            setup.critique(debate, agent, notes, ledger)
        })
        .await?;
    let heard = heard.quorum(setup.config.min_challengers)?;
    let positions = ledger.challenge(setup, &heard);
    record(debate, &step, positions).await?;
    for round in 1..setup.config.max_rounds {
        if ledger.all_content() || ledger.dissenters().next().is_none() {
            break;
        }
        if !confront(debate, setup, round, ledger).await? {
            // A proposer who is silent has met nothing: nobody is asked what it makes of that, and
            // the next round asks again.
            ledger.rounds = round + 1;
            continue;
        }
        rebut(debate, setup, round + 1, ledger).await?;
    }
    Ok(())
}

/// The proposer answers every open objection. Whether it did.
async fn confront(
    debate: &Debate,
    setup: &Setup,
    round: u32,
    ledger: &mut Ledger,
) -> Result<bool, Stop> {
    let step = Step::numbered("confrontation", round);
    let answered = debate
        .round(&step, [&setup.proposer], |agent, notes| {
            setup.confront(debate, agent, notes, ledger)
        })
        .await?;
    let Some(said) = answered.said.first() else {
        return Ok(false);
    };
    let position = ledger.confront(round, said);
    record(debate, &step, vec![(setup.proposer.name.clone(), position)]).await?;
    Ok(true)
}

/// The dissenters say what they make of it.
async fn rebut(
    debate: &Debate,
    setup: &Setup,
    round: u32,
    ledger: &mut Ledger,
) -> Result<(), Stop> {
    let step = Step::numbered("rebuttal", round);
    let dissenters: Vec<&Agent> = ledger
        .dissenters()
        .filter_map(|standing| setup.challenger(&standing.agent))
        .map(|challenger| &challenger.agent)
        .collect();
    let heard = debate
        .round(&step, dissenters, |agent, notes| {
            setup.rebut(debate, agent, notes, ledger)
        })
        .await?;
    let positions = ledger.rebut(round, &heard);
    ledger.drop_changed(&heard.absent);
    record(debate, &step, positions).await
}

/// What each side of a disagreement rests on; nothing when there is none, or nobody is left to
/// disagree.
async fn closing(debate: &Debate, setup: &Setup, ledger: &Ledger) -> Result<Closing, Stop> {
    let dissenters: Vec<&Agent> = ledger
        .dissenters()
        .filter_map(|standing| setup.challenger(&standing.agent))
        .map(|challenger| &challenger.agent)
        .collect();
    if ledger.all_content() || dissenters.is_empty() {
        return Ok(Closing::default());
    }
    let step = Step::once("assumptions", ledger.rounds).closing();
    let parties = std::iter::once(&setup.proposer).chain(dissenters);
    let heard = debate
        .round(&step, parties, |agent, notes| {
            setup.grounds(debate, agent, notes, ledger)
        })
        .await?;
    Ok(Closing {
        grounds: heard
            .said
            .into_iter()
            .map(|said| (said.agent, said.reply))
            .collect(),
        absent: heard.absent,
    })
}

/// Where the debate stands; `stopped` says why it goes no further for now.
fn outcome(
    debate: &Debate,
    setup: &Setup,
    ledger: &Ledger,
    closing: Closing,
    stopped: Option<LimitMet>,
) -> Result<Outcome, Stop> {
    let absences = debate.absences();
    let agreed = stopped.is_none() && ledger.all_content();
    let ending = if agreed {
        Ending::Consensus
    } else {
        Ending::Contested
    };
    let result = result::of(setup, ledger, &closing, &absences, agreed);
    Outcome::with_result(
        ending,
        &result::summary(ledger, &result),
        &result,
        stopped,
        absences,
    )
}

fn nobody_there(absences: &[Absence]) -> String {
    let missing: Vec<String> = absences
        .iter()
        .map(|absence| format!("{} {}", absence.agent, absence.reason))
        .collect();
    format!(
        "no challenger is there ({}); `rebut doctor` says who can be asked",
        missing.join(", ")
    )
}

/// Records where everybody stands after a step.
async fn record(
    debate: &Debate,
    step: &Step,
    positions: Vec<(Arc<str>, Position)>,
) -> Result<(), Stop> {
    for (agent, position) in positions {
        let changed = position.from.is_some() && position.from != position.option;
        let event = if changed {
            Event::PositionChanged
        } else {
            Event::PositionRecorded
        };
        debate
            .note(step.place(Some(&agent)), event(Arc::new(position)))
            .await?;
    }
    Ok(())
}

/// After a tradeoff: the proposer's side, or that of a dissenter.
fn choices(view: &View) -> Vec<(String, String)> {
    let found = view
        .outcome
        .as_ref()
        .and_then(|outcome| result::ChallengeResult::read(&outcome.result));
    found.map(|result| result.choices()).unwrap_or_default()
}
