//! `rebut solve`: from a task, or a problem of a benchmark, to code with its evidence.

use super::{
    begin::{self, Prepared},
    follow,
};
use crate::{
    afterwards::Afterwards,
    app::App,
    cli::{GlobalArgs, SolveArgs},
    context,
    error::CliError,
    output,
    problems::{self, Problem},
};
use rebut_engine::{
    clean::on_one_line,
    formats::solve::{FORMAT, Input, Phase, ROLES, SolveResult},
    moves::clarify::GivenAnswer,
    view::View,
};
use serde::Deserialize;
use std::{io::Read, path::Path, sync::Arc};

/// The language when nobody says otherwise.
const LANGUAGE: &str = "python";

/// `rebut solve`.
pub async fn run(global: &GlobalArgs, args: SolveArgs) -> Result<u8, CliError> {
    let app = App::open(global, &settings(&args)?)?;
    output::check_files(&args.run.output, FORMAT.name)?;
    let input = input(&args, &app)?;
    let config = app.config.format(FORMAT.name)?;
    let value = serde_json::to_value(&input).map_err(|error| CliError::failed(error.to_string()))?;
    Input::parse(&value).map_err(CliError::usage)?;
    let registry = Arc::new(app.registry()?);
    let panel = begin::panel(&app, &registry, &args.run, &ROLES).await?;
    (FORMAT.check)(&value, &config, &panel.agents).map_err(CliError::usage)?;
    let prepared = Prepared::new(&app, registry, &args.run, (FORMAT.name, &input, config), (panel.agents, panel.chosen))?;
    if let Some(code) = prepared.foresee(&app, &args.run).await? {
        return Ok(code);
    }
    let desk = prepared.desk(&app).await?;
    let after = Afterwards { code: args.code.clone(), ..Afterwards::of(&args.run.output) };
    let running = after.start(&app, &desk, prepared.start).await?;
    let id = running.id;
    let code = follow::follow(&app, &desk, running, &args.run.output).await?;
    after.finish(&app, &desk, id, code).await
}

/// What was typed, as changes of settings.
fn settings(args: &SolveArgs) -> Result<Vec<String>, CliError> {
    let mut set = args.run.panel.set.clone();
    let listed =
        |names: &mut dyn Iterator<Item = &str>| format!("[{}]", names.map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", "));
    if !args.phases.is_empty() {
        set.push(format!("solve.phases={}", listed(&mut args.phases.iter().map(String::as_str))));
    }
    if !args.without.is_empty() {
        let left = |name: &&str| !args.without.iter().any(|without| without == name);
        set.push(format!("solve.phases={}", listed(&mut Phase::ALL.iter().map(|phase| phase.name()).filter(left))));
    }
    if !args.gate.is_empty() {
        set.push(format!("solve.gates={}", listed(&mut args.gate.iter().map(String::as_str))));
    }
    for (key, value) in [("topology", &args.topology), ("planning", &args.planning)] {
        if let Some(value) = value {
            set.push(format!("solve.{key}={value:?}"));
        }
    }
    for hook in &args.hook {
        let bad = || {
            CliError::usage(format!("`--hook {}` should look like `--hook post-proposal=\"ruff check {{code}}\"`", on_one_line(hook)))
                .hint("the points are post-proposal, post-optimization, post-adversarial, post-convergence")
        };
        let (point, command) = hook.split_once('=').ok_or_else(bad)?;
        let is_point = ["post-proposal", "post-optimization", "post-adversarial", "post-convergence"].contains(&point);
        if !is_point || command.trim().is_empty() {
            return Err(bad());
        }
        set.push(format!("solve.hooks.{point}={}", listed(&mut command.split_whitespace())));
    }
    Ok(set)
}

fn input(args: &SolveArgs, app: &App) -> Result<Input, CliError> {
    let gathered = context::gather(&args.context, &app.config.deny)?;
    for (path, why) in &gathered.left_out {
        eprintln!("left out {}: {why}", path.display());
    }
    let answers = args.answer.iter().map(|text| answer(text)).collect::<Result<_, _>>()?;
    let input = Input { context: gathered.text, answers, ..Input::default() };
    if let Some(named) = &args.problem {
        return Ok(of_problem(input, problem(named)?, args));
    }
    let read = |file: &Option<std::path::PathBuf>| file.as_deref().map_or_else(|| Ok(String::new()), read);
    let style = args.style.map(Into::into);
    Ok(Input {
        task: task(args.task.as_deref().unwrap_or_default())?,
        language: args.lang.clone().unwrap_or_else(|| LANGUAGE.to_owned()),
        tests: read(&args.tests)?,
        hidden_tests: read(&args.hidden_tests)?,
        style,
        hidden_style: style,
        entry_point: args.entry.clone().unwrap_or_default(),
        ..input
    })
}

fn of_problem(input: Input, problem: Problem, args: &SolveArgs) -> Input {
    Input {
        task: problem.task,
        language: args.lang.clone().unwrap_or(problem.language),
        style: problem.style.filter(|_| !problem.tests.is_empty()),
        tests: problem.tests,
        hidden_tests: problem.hidden_tests,
        hidden_style: problem.style,
        entry_point: problem.entry_point.unwrap_or_default(),
        ..input
    }
}

/// `FILE#ID`. The id of a problem may hold slashes, a file's name hardly ever a `#`.
fn problem(named: &str) -> Result<Problem, CliError> {
    let bad = || CliError::usage(format!("`--problem {}` should look like `--problem HumanEval.jsonl.gz#HumanEval/0`", on_one_line(named)));
    let (file, id) = named.rsplit_once('#').ok_or_else(bad)?;
    problems::load(Path::new(file), id)
}

fn answer(text: &str) -> Result<GivenAnswer, CliError> {
    let bad =
        || CliError::usage(format!("`--answer {}` should look like `--answer edge_cases=\"empty input is an error\"`", on_one_line(text)));
    let (about, answer) = text.split_once('=').ok_or_else(bad)?;
    Ok(GivenAnswer { about: about.trim().to_owned(), answer: answer.trim().to_owned() })
}

fn task(typed: &str) -> Result<String, CliError> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| CliError::failed(format!("cannot read standard input: {error}")))?;
    Ok(text)
}

fn read(file: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(file).map_err(|error| CliError::file("read", file, &error))
}

/// Writes the code that won. A debate without any leaves the file as it is.
pub fn write_code(view: &View, file: &Path) -> Result<(), CliError> {
    let result = view.outcome.as_ref().and_then(|outcome| SolveResult::deserialize(&outcome.result).ok());
    match result.filter(|result| !result.code.is_empty()) {
        Some(result) => {
            std::fs::write(file, &result.code).map_err(|error| CliError::file("write", file, &error))?;
            eprintln!("wrote {}", file.display());
        }
        None => eprintln!("{} was not written: there is no code", file.display()),
    }
    Ok(())
}
