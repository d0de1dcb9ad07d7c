//! Solve: generators write code and really test it, others criticise and attack it, and a vote over
//! evidence chooses; hidden tests score the end.

pub mod candidates;
mod checking;
pub mod config;
pub mod evidence;
pub mod input;
mod lints;
mod metrics;
mod phases;
mod prompts;
pub(crate) mod render;
pub mod replies;
pub mod result;
pub mod roles;
mod state;

pub use config::{Config, Hooks, Phase, Planning};
pub use input::Input;
pub use result::SolveResult;
pub use state::{Drawn, HookRun, PhaseHeld};

use crate::{
    agent::Agent,
    clean::on_one_line,
    debate::Debate,
    error::Stop,
    event::Started,
    formats::{
        Foreseen, Format,
        casting::{Casting, named_or},
        offer::Offer,
        rules::Rules,
    },
    moves::tools,
    outcome::{Ending, LimitMet, Outcome},
    prompt::PromptFile,
    reply::Schema,
    sandbox::{Command, End, Work},
};
use evidence::Evidence;
use phases::{by_evidence, contestants};
use prompts::Setup;
use roles::Roles;
use serde_json::Value;
use state::{Choice, Happened, Ledger, Trial, many, step};
use std::{sync::Arc, time::Duration};

/// The roles when nobody says otherwise: two write, four judge what they wrote.
pub const ROLES: [&str; 6] = [
    "generator",
    "implementer",
    "critic",
    "tester",
    "red-team",
    "judge",
];

/// The row of the table of formats.
pub const FORMAT: Format = Format {
    prompts: &[
        PromptFile::of::<prompts::Clarify>(),
        PromptFile::of::<prompts::Instruct>(),
        PromptFile::of::<prompts::MakePlan>(),
        PromptFile::of::<prompts::Evolve>(),
        PromptFile::of::<prompts::Propose>(),
        PromptFile::of::<prompts::Reflect>(),
        PromptFile::of::<prompts::Learn>(),
        PromptFile::of::<prompts::Criticise>(),
        PromptFile::of::<prompts::Review>(),
        PromptFile::of::<prompts::Optimize>(),
        PromptFile::of::<prompts::Strike>(),
        PromptFile::of::<prompts::Defend>(),
        PromptFile::of::<prompts::Rule>(),
        PromptFile::of::<prompts::Tell>(),
        PromptFile::of::<prompts::Rank>(),
        PromptFile::of::<prompts::Rate>(),
        PromptFile::of::<crate::turn::Clarify>(),
        PromptFile::of::<tools::Offer>(),
        PromptFile::of::<tools::PromptSource>(),
    ],
    replies: || {
        vec![
            Schema::of::<replies::Questions>(),
            Schema::of::<replies::Instruction>(),
            Schema::of::<replies::Planned>(),
            Schema::of::<replies::Draft>(),
            Schema::of::<replies::Proposal>(),
            Schema::of::<replies::Reflection>(),
            Schema::of::<replies::Lesson>(),
            Schema::of::<replies::Critique>(),
            Schema::of::<replies::Answers>(),
            Schema::of::<replies::Improvement>(),
            Schema::of::<replies::Attacks>(),
            Schema::of::<replies::Defence>(),
            Schema::of::<replies::Rulings>(),
            Schema::of::<replies::Contrast>(),
            Schema::of::<replies::Ranking>(),
            Schema::of::<replies::Rubric>(),
        ]
    },
    // The usual voters.
    closing_calls: 4,
    reading: Some(render::READING),
    casting: Casting::panel(&ROLES, |_, named| Ok(named_or(&ROLES, named))),
    offer: Some(Offer {
        operators_input: &["lessons", "lessons_search"],
        operators_config: &["embeddings", "hooks", "tools"],
        ..Offer::of::<Input, Config>()
    }),
    ..Format::by::<Solve>(
        "solve",
        "Generators write code and test it in a sandbox; others criticise and attack it; a vote \
        over evidence chooses.",
        include_str!("../../../presets/solve.toml"),
    )
};

/// The rules in the table's terms.
pub struct Solve;

impl Rules for Solve {
    type Input = Input;
    type Config = Config;

    const TURN_SECONDS: &'static str = "timeout_per_agent";

    fn config(config: &Value) -> Result<Config, String> {
        Config::parse(config)
    }

    fn read(input: &Value, config: &Value) -> Result<(Self::Input, Config), String> {
        Ok((Input::parse(input)?, Config::parse(config)?))
    }

    fn check(input: Self::Input, _: &Config, agents: &[Agent]) -> Result<String, String> {
        Roles::of(agents).ok_or("solve needs at least one agent")?;
        Ok(input.task)
    }

    async fn run(debate: &Debate, input: Self::Input, config: Config) -> Result<Outcome, Stop> {
        run(debate, input, config).await
    }

    fn foresee(
        input: Self::Input,
        config: &Config,
        agents: &[Agent],
    ) -> Result<Vec<Foreseen>, String> {
        let roles = Roles::of(agents).ok_or("solve needs at least one agent")?;
        let at = |who: &Agent| {
            agents
                .iter()
                .position(|agent| agent.name == who.name)
                .unwrap_or_default()
        };
        let call = |who: &Agent, hears: usize, is_sure: bool| Foreseen {
            agent: at(who),
            hears,
            is_sure,
        };
        let makers = roles.makers.len();
        let mut calls: Vec<Foreseen> = Vec::new();
        let mut each = |who: &[Agent], hears: usize, is_sure: bool| {
            calls.extend(who.iter().map(|agent| call(agent, hears, is_sure)))
        };
        if config.holds(Phase::Dehallucination)
            && !crate::moves::clarify::is_simple(&input.task, config.clarify_from_words)
        {
            each(std::slice::from_ref(&roles.asker), 0, true);
            each(roles.instructor.as_slice(), 1, false);
        }
        each(&roles.makers, 0, true);
        if config.holds(Phase::SelfEvolvement) {
            (0..config.self_refinements).for_each(|_| each(&roles.makers, 1, false));
        }
        if config.holds(Phase::Proposal) && !input.tests.trim().is_empty() {
            (1..config.max_attempts).for_each(|_| {
                each(&roles.makers, 1, false);
                each(&roles.makers, 1, false);
            });
        }
        for (phase, who) in [
            (Phase::Critique, &roles.critics),
            (Phase::Review, &roles.makers),
            (Phase::Optimization, &roles.makers),
        ] {
            if config.holds(phase) {
                each(who, makers, phase != Phase::Review);
            }
        }
        if config.holds(Phase::Adversarial) {
            for round in 1..=config.adversarial_rounds {
                each(&roles.reds, makers, round == 1);
                each(&roles.makers, 1, false);
            }
        }
        if config.holds(Phase::Convergence) {
            each(std::slice::from_ref(&roles.tester), makers, false);
            each(roles.judge.as_slice(), makers, true);
            let owns = |agent: &Agent| roles.makers.iter().any(|maker| maker.name == agent.name);
            let voters: Vec<Agent> = roles::voters(agents, owns).into_iter().cloned().collect();
            each(&voters, makers, false);
        }
        Ok(calls)
    }
}

pub async fn run(debate: &Debate, input: Input, config: Config) -> Result<Outcome, Stop> {
    let mut setup = Setup::of(debate, input, config)?;
    let mut ledger = Ledger::new(debate, &setup);
    match hold(debate, &mut setup, &mut ledger).await {
        Ok(hidden) => outcome(debate, &setup, &ledger, hidden, None),
        // What stands so far is worth having; with more to use it goes on from here.
        Err(Stop::Stopped(stop)) => {
            choose(
                &setup,
                &mut ledger,
                "by evidence, since the debate met a limit",
            );
            let hidden = Evidence::NoTests.unless_given(&setup.input.hidden_tests);
            outcome(debate, &setup, &ledger, hidden, Some(stop))
        }
        Err(halt) => Err(halt),
    }
}

/// Phase after phase; then the hidden tests, which nobody was told of.
async fn hold(debate: &Debate, setup: &mut Setup, ledger: &mut Ledger) -> Result<Evidence, Stop> {
    for phase in Phase::ALL {
        if !setup.config.holds(phase) {
            ledger.skip(phase, "it is switched off");
        } else if phase > Phase::Proposal && ledger.candidates.is_empty() {
            ledger.skip(phase, "there is no candidate");
        } else {
            let expected = expected(phase, setup);
            match hold_one(debate, setup, ledger, phase).await? {
                Ok(happened) => close(debate, setup, ledger, phase, expected, happened).await?,
                Err(why) => ledger.skip(phase, &why),
            }
        }
        let nobody_writes =
            !setup.config.holds(Phase::SelfEvolvement) && !setup.config.holds(Phase::Proposal);
        if phase == Phase::Proposal && nobody_writes {
            // Somebody has to: each generator once, without another attempt.
            phases::plan(debate, setup).await?;
            phases::propose(debate, setup, ledger, "draft", 1).await?;
        }
    }
    choose(
        setup,
        ledger,
        "by evidence, since convergence is switched off",
    );
    let Some(winner) = ledger
        .choice
        .as_ref()
        .and_then(|choice| ledger.of(&choice.owner))
    else {
        return Ok(Evidence::NoTests);
    };
    let input = &setup.input;
    let trial = Trial {
        owner: winner.owner.clone(),
        code: winner.code.clone(),
        tests: input.hidden_tests.clone(),
        style: input.hidden_style,
    };
    let testing = step("hidden-tests", Phase::Convergence, 4);
    Ok(ledger
        .run(debate, setup, &testing, vec![trial])
        .await?
        .pop()
        .unwrap_or_default())
}

/// One phase. Why it is not worth holding, where that is so.
async fn hold_one(
    debate: &Debate,
    setup: &mut Setup,
    ledger: &mut Ledger,
    phase: Phase,
) -> Result<Result<Happened, String>, Stop> {
    Ok(Ok(match phase {
        Phase::Dehallucination => return phases::clarify(debate, setup, ledger).await,
        Phase::SelfEvolvement => {
            phases::plan(debate, setup).await?;
            phases::evolve(debate, setup, ledger).await?
        }
        Phase::Proposal => {
            if !setup.config.holds(Phase::SelfEvolvement) {
                phases::plan(debate, setup).await?;
            }
            let happened = phases::propose(
                debate,
                setup,
                ledger,
                phase.name(),
                setup.config.max_attempts,
            )
            .await?;
            phases::learn(debate, setup, ledger).await?;
            happened
        }
        Phase::Critique => phases::critique(debate, setup, ledger).await?,
        Phase::Review => phases::review(debate, setup, ledger).await?,
        Phase::Optimization => phases::optimize(debate, setup, ledger).await?,
        Phase::Adversarial => phases::adversarial(debate, setup, ledger).await?,
        Phase::Convergence => phases::converge(debate, setup, ledger).await?,
    }))
}

/// What follows a phase: hooks, what the next one is told, and a gate.
async fn close(
    debate: &Debate,
    setup: &mut Setup,
    ledger: &mut Ledger,
    phase: Phase,
    expected: String,
    happened: Happened,
) -> Result<(), Stop> {
    if setup.config.cognitive_planning {
        let met = if happened.as_expected {
            "as expected"
        } else {
            "not as expected: plan for that"
        };
        setup.so_far = format!(
            "The phase before, {}, expected: {expected}. What happened: {} ({met}).",
            phase.name(),
            happened.words
        );
    }
    ledger.close(phase, expected, happened);
    if let Some(argv) = setup.config.hooks.after(phase) {
        hook(debate, setup, ledger, phase, argv).await?;
    }
    let wait = setup
        .config
        .gates
        .contains(&phase)
        .then(|| Duration::from_secs(60 * setup.config.gate_minutes));
    debate
        .gate(
            &format!("after {}", phase.name()),
            render::so_far(setup, ledger),
            wait,
        )
        .await?;
    Ok(())
}

/// Runs a command on each candidate; after convergence on the winner alone. What it finds goes to
/// whoever improves or votes.
async fn hook(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    phase: Phase,
    argv: &[String],
) -> Result<(), Stop> {
    let wins = |owner: &Arc<str>| {
        ledger
            .choice
            .as_ref()
            .is_none_or(|choice| choice.owner == *owner)
    };
    let owners: Vec<Arc<str>> = ledger
        .candidates
        .iter()
        .map(|one| one.owner.clone())
        .filter(|owner| wins(owner))
        .collect();
    let running = step(format!("hook after {}", phase.name()), phase, 1);
    for owner in owners {
        let Some(candidate) = ledger.of_mut(&owner) else {
            continue;
        };
        let job = setup.job(
            candidate.code.clone(),
            Work::Command(Command {
                argv: argv.to_vec(),
                files: Vec::new(),
            }),
        );
        let completed = debate.run(&running, &owner, &job).await?;
        let (passed, said) = match completed.result() {
            Ok(ran) => (
                Some(ran.end == End::Exited(0)),
                evidence::ended_saying(&ran.end, &[&*ran.stdout, &*ran.stderr].join("\n")),
            ),
            Err(refused) => (None, refused.to_string()),
        };
        if passed == Some(false) {
            candidate.findings.push(format!(
                "found by the hook after {}: {}",
                phase.name(),
                on_one_line(&said)
            ));
        }
        ledger.hooks.push(HookRun {
            after: phase.name().to_owned(),
            candidate: owner,
            passed,
            said,
        });
    }
    Ok(())
}

/// Chooses by evidence where nothing was chosen yet.
fn choose(setup: &Setup, ledger: &mut Ledger, why: &str) {
    if ledger.choice.is_none()
        && let Some(best) = by_evidence(&contestants(&ledger.candidates, setup.owners_answer()))
    {
        ledger.choice = Some(Choice {
            owner: best.owner.clone(),
            by: why.to_owned(),
            count: None,
        });
    }
}

/// Whose candidate has a neutral name, such as `C2`, in a debate.
pub fn owner_of(started: &Started, label: &str) -> Option<Arc<str>> {
    let makers: Vec<Arc<str>> = Roles::of(&started.agents)?
        .makers
        .iter()
        .map(|agent| agent.name.clone())
        .collect();
    let found = candidates::labels(started.seed, &makers)
        .into_iter()
        .find(|(_, known)| known.eq_ignore_ascii_case(label));
    found.map(|(owner, _)| owner)
}

/// The fewest calls with which a first candidate can come: all that is asked before it and beside
/// it, and what is kept for the ballots. Planners and instructors may come on top.
pub fn least_calls(input: &Value, config: &Value, agents: &[Agent]) -> Result<u64, String> {
    let (input, config) = (Input::parse(input)?, Config::parse(config)?);
    let roles = Roles::of(agents).ok_or("solve needs at least one agent")?;
    let asks = config.holds(Phase::Dehallucination)
        && !crate::moves::clarify::is_simple(&input.task, config.clarify_from_words);
    Ok(roles.makers.len() as u64 + u64::from(asks) + u64::from(FORMAT.closing_calls))
}

/// What a phase is expected to bring.
fn expected(phase: Phase, setup: &Setup) -> String {
    let makers = setup.roles.makers.len();
    match phase {
        Phase::Dehallucination => "every open question is answered".to_owned(),
        Phase::SelfEvolvement => format!("{} with own tests that hold", many(makers, "candidate")),
        Phase::Proposal if setup.input.tests.trim().is_empty() => many(makers, "candidate"),
        Phase::Proposal => format!("{} with all given tests held", many(makers, "candidate")),
        Phase::Critique => "no severe claim".to_owned(),
        Phase::Review => "every claim is answered".to_owned(),
        Phase::Optimization => "no test breaks".to_owned(),
        Phase::Adversarial => "no attack stands at the end".to_owned(),
        Phase::Convergence => "one candidate wins".to_owned(),
    }
}

/// How it ends; `stopped` says why it goes no further for now.
fn outcome(
    debate: &Debate,
    setup: &Setup,
    ledger: &Ledger,
    hidden: Evidence,
    stopped: Option<LimitMet>,
) -> Result<Outcome, Stop> {
    let absences = debate.absences();
    if ledger.candidates.is_empty() && stopped.is_none() {
        return Err(Stop::NoQuorum {
            step: Phase::Proposal.name().to_owned(),
            answered: 0,
            needed: 1,
            absent: absences,
        });
    }
    let result = result::of(setup, ledger, &hidden);
    Outcome::with_result(
        Ending::Completed,
        &result.summary(),
        &result,
        stopped,
        absences,
    )
}
