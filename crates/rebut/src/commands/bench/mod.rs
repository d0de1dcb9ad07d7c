//! `rebut bench`: problems go through arms, and each program is scored by tests that nobody who
//! wrote it has seen.

mod arms;
mod book;
mod recorded;
mod report;
mod results;
mod running;
mod scoring;

use crate::{
    app::{self, App},
    budget::Budget,
    casting,
    cli::{BenchCommand, Form as FileForm, GlobalArgs, RunArgs, SuiteArgs},
    error::CliError,
    output,
    problems::{self, Form, Problem},
};
use arms::{ARMS, Arm, Debated, How};
use book::{Book, Header, Pinned};
use rebut_engine::{
    agent::Agent,
    clean::on_one_line,
    formats::{Format, baselines::poll},
    model::Models,
    record::Hash,
    suggest::suggest,
};
use report::Report;
use running::{Cell, End, Runner, Source};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError},
};

/// The names of the arms, for the command line.
pub fn arm_names() -> impl Iterator<Item = &'static str> {
    ARMS.iter().map(|arm| arm.name)
}

/// A suite: its name and the forms its records may have.
struct Suite {
    name: &'static str,
    forms: &'static [Form],
}

const HUMAN_EVAL: Suite = Suite {
    name: "human_eval",
    forms: &[Form::HumanEval],
};
/// There are two: as its makers published it, and in the form of HumanEval.
const MBPP: Suite = Suite {
    name: "mbpp",
    forms: &[Form::Mbpp, Form::HumanEval],
};
const CUSTOM: Suite = Suite {
    name: "custom",
    forms: &[Form::Custom],
};

pub async fn run(global: &GlobalArgs, command: BenchCommand) -> Result<u8, CliError> {
    match command {
        BenchCommand::Recorded(args) => recorded::run(&args),
        BenchCommand::HumanEval(args) => suite(global, &HUMAN_EVAL, &args).await,
        BenchCommand::Mbpp(args) => suite(global, &MBPP, &args).await,
        BenchCommand::Custom(args) => suite(global, &CUSTOM, &args).await,
    }
}

/// An arm that can begin: who writes, by which settings.
struct Ready {
    arm: &'static Arm,
    agents: Vec<Agent>,
    config: Value,
}

async fn suite(global: &GlobalArgs, suite: &Suite, args: &SuiteArgs) -> Result<u8, CliError> {
    let app = App::open(global, &args.panel.set)?;
    check_output(args)?;
    let problems = selected(suite, args)?;
    let (ready, registry) = (ready(&app, args).await?, app.registry()?);
    let cells = cells(&problems, &ready)?;
    let sandbox = Arc::new(app::sandbox()?);
    running::prove(
        &sandbox,
        problems
            .iter()
            .map(|problem| problem.language.as_str())
            .collect(),
    )
    .await?;
    let header = Header {
        suite: suite.name.to_owned(),
        data: Hash::of(problems::read(&args.problems)?.as_bytes()),
        seconds: args.seconds,
        arms: ready
            .iter()
            .map(|ready| (ready.arm.name.to_owned(), pinned(ready)))
            .collect(),
    };
    let book = Book::open(args.out.as_deref(), &header)?;
    let debates = ready
        .iter()
        .any(|ready| matches!(ready.arm.how, How::Debated(_)));
    if debates && args.out.is_none() && !global.quiet {
        warn_line!(
            "results are not kept; with --out DIR a bench that is interrupted goes on where it was"
        );
    }
    let desk = if debates {
        Some(app.desk().await?)
    } else {
        None
    };
    let mut runner = Runner::new(
        &app,
        desk,
        sandbox,
        args,
        Budget::new(&(&args.budget).into(), &app.config.budget),
        book,
    );
    let end = runner.run(&cells).await?;
    let ids: Vec<&str> = problems.iter().map(|problem| problem.id.as_str()).collect();
    let rehearses = |ready: &Ready| {
        ready.agents.iter().any(|agent| {
            registry
                .open(&agent.model)
                .is_ok_and(|model| model.is_rehearsal())
        })
    };
    let names: Vec<(&str, bool)> = ready
        .iter()
        .map(|ready| (ready.arm.name, rehearses(ready)))
        .collect();
    let report = Report::new(
        (suite.name, header.data),
        &ids,
        &names,
        runner.rows(),
        end.words(args.out.is_some()),
    );
    match args.json {
        true => output::print_json(&report)?,
        false => output::print(&report::text(&report))?,
    }
    if let Some(file) = &args.output {
        crate::write_file::write(file, &report::markdown(&report))?;
    }
    runner
        .broke
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or_else(|| Ok(end.exit_code()), Err)
}

/// Whether the report can be written, before anybody is asked and paid.
fn check_output(args: &SuiteArgs) -> Result<(), CliError> {
    let Some(file) = &args.output else {
        return Ok(());
    };
    if output::form_of(file)? != FileForm::Markdown {
        return Err(CliError::usage(format!(
            "`{}`: a bench is written as Markdown",
            file.display()
        ))
        .hint("use .md; --json prints JSON"));
    }
    match file.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        Some(dir) if !dir.is_dir() => {
            Err(CliError::usage(format!("{} is no folder", dir.display())))
        }
        _ => Ok(()),
    }
}

/// The problems asked for, in the data's order. Every record of the file must be whole, also one
/// that is not asked for.
fn selected(suite: &Suite, args: &SuiteArgs) -> Result<Vec<Problem>, CliError> {
    let mut problems = problems::load_all(&args.problems)?;
    if let Some(other) = problems
        .iter()
        .find(|problem| !suite.forms.contains(&problem.form))
    {
        return Err(CliError::usage(format!(
            "{}: `{}` is no record of {}",
            args.problems.display(),
            on_one_line(&other.id),
            suite.name
        ))
        .hint("the forms of records are described in the book, under \"Bench\""));
    }
    for wanted in &args.only {
        if !problems.iter().any(|problem| problem.id == *wanted) {
            let meant = suggest(wanted, problems.iter().map(|problem| problem.id.as_str()));
            let hint = meant.map_or_else(
                || "--only takes ids of the data".to_owned(),
                |meant| format!("did you mean `{}`?", on_one_line(meant)),
            );
            return Err(CliError::usage(format!(
                "{} has no problem `{}`",
                args.problems.display(),
                on_one_line(wanted)
            ))
            .hint(hint));
        }
    }
    let only: BTreeSet<&str> = args.only.iter().map(String::as_str).collect();
    problems.retain(|problem| only.is_empty() || only.contains(problem.id.as_str()));
    problems.truncate(args.first.unwrap_or(usize::MAX));
    if problems.is_empty() {
        return Err(CliError::usage(format!(
            "{} holds no problem to run",
            args.problems.display()
        )));
    }
    Ok(problems)
}

/// The arms asked for, each once.
async fn ready(app: &App, args: &SuiteArgs) -> Result<Vec<Ready>, CliError> {
    let mut all: Vec<Ready> = Vec::new();
    for name in &args.arms {
        let arm =
            Arm::named(name).ok_or_else(|| CliError::usage(format!("there is no arm `{name}`")))?;
        if all.iter().any(|ready| ready.arm.name == arm.name) {
            continue;
        }
        all.push(match &arm.how {
            How::Made(_) => Ready {
                arm,
                agents: Vec::new(),
                config: Value::Null,
            },
            How::Debated(debated) => {
                if Format::named(debated.format).is_none() {
                    return Err(CliError::usage(format!(
                        "the arm `{name}` needs the format {}, which this rebut does not have",
                        debated.format
                    )));
                }
                let (agents, config) = who_writes(app, args, debated).await?;
                Ready {
                    arm,
                    agents,
                    config,
                }
            }
        });
    }
    Ok(all)
}

/// Programs of a poll of one agent.
const SAMPLES: u32 = 5;

async fn who_writes(
    app: &App,
    args: &SuiteArgs,
    debated: &Debated,
) -> Result<(Vec<Agent>, Value), CliError> {
    let (registry, format) = (app.registry()?, debated.format);
    let run = RunArgs {
        panel: args.panel.clone(),
        ..RunArgs::default()
    };
    let panel = casting::panel(app, &registry, &(&run.panel).into(), debated.usual).await?;
    let mut config = app.config.format(format)?;
    if format == poll::FORMAT.name {
        let is_alone = panel.agents.len() == 1 && config.get("answers") == Some(&0.into());
        if let Some(samples) = args.samples.or(is_alone.then_some(SAMPLES)) {
            config["answers"] = samples.into();
        }
    }
    if !app.global.quiet {
        warn_line!("{format}: {}", on_one_line(&panel.chosen));
    }
    Ok((casting::who_answers(format, &config, panel.agents)?, config))
}

fn pinned(ready: &Ready) -> Pinned {
    let agent = |agent: &Agent| serde_json::to_value(agent).unwrap_or_default();
    Pinned {
        agents: ready.agents.iter().map(agent).collect(),
        config: ready.config.clone(),
    }
}

/// Every problem in every arm, problem by problem, so that what is there when it ends early can be
/// compared. A problem that an arm cannot take is told before anything runs.
fn cells<'a>(problems: &'a [Problem], ready: &'a [Ready]) -> Result<Vec<Cell<'a>>, CliError> {
    let mut cells = Vec::new();
    for problem in problems {
        for ready in ready {
            let refused = |why: String| {
                CliError::usage(format!(
                    "{} cannot take `{}`: {why}",
                    ready.arm.name,
                    on_one_line(&problem.id)
                ))
            };
            let source = match &ready.arm.how {
                How::Made(make) => Source::Code(make(problem).map_err(refused)?),
                How::Debated(debated) => {
                    let input = (debated.input)(problem).map_err(refused)?;
                    let format = Format::named(debated.format)
                        .ok_or_else(|| CliError::failed("the format is gone"))?;
                    (format.check)(&input, &ready.config, &ready.agents).map_err(refused)?;
                    Source::Debate {
                        debated,
                        input,
                        config: &ready.config,
                        agents: &ready.agents,
                    }
                }
            };
            cells.push(Cell {
                problem,
                arm: ready.arm.name,
                source,
            });
        }
    }
    Ok(cells)
}

impl End {
    fn words(&self, kept: bool) -> Option<String> {
        match self {
            Self::Complete => None,
            Self::Limit(why) => Some(format!(
                "{why}{}",
                if kept {
                    "; the same command with a higher limit goes on"
                } else {
                    ""
                }
            )),
            Self::Broke(why) => Some(format!(
                "it broke off: {why}{}",
                if kept {
                    "; the same command goes on"
                } else {
                    ""
                }
            )),
            Self::Interrupted => Some(format!(
                "interrupted{}",
                if kept {
                    "; the same command goes on"
                } else {
                    ""
                }
            )),
        }
    }
}
