//! `rebut solve`: from a task, or a problem of a benchmark, to code with its evidence.

use super::{
    code::applying,
    prepare::Prepared,
    progress,
    request::{self, Case},
    server_support::{of_run, refuse},
};
use crate::{
    app::App,
    cli::{GlobalArgs, SolveArgs},
    context,
    error::CliError,
    git::branch,
    hint_command::command,
    lessons, output,
    post_actions::Afterwards,
    problems::{self, Problem},
    read_file,
    resolve::value,
    solve_checks::check_tests,
    versions::winner,
};
use rebut_engine::{
    DebateId,
    clean::{for_people, on_one_line},
    formats::solve::{Config, FORMAT, Input, Phase},
    moves::clarify::GivenAnswer,
    sandbox::Style,
    view::View,
};
use rebut_models::Registry;
use rebut_sandbox::check_style;
use serde_json::Value;
use std::{path::Path, sync::Arc};

/// The language when nobody says otherwise.
const LANGUAGE: &str = "python";

pub async fn run(global: &GlobalArgs, args: SolveArgs) -> Result<u8, CliError> {
    let flags = [
        (
            "--git",
            args.git,
            "a branch is written as versions come; `rebut code ID --branch` writes it at the end",
        ),
        (
            "--hook",
            !args.hook.is_empty(),
            "commands are run where the debate is held, and whoever runs the server chooses them",
        ),
    ];
    refuse(global, &[&of_run(&args.run)[..], &flags].concat())?;
    let set = settings(&args)?;
    let app = request::open(global, &set)?;
    output::check_files(&args.run.output, FORMAT.name)?;
    args.code
        .as_deref()
        .map_or(Ok(()), |file| applying::check_free(file, args.force))?;
    let input = input(&args, &app)?;
    let typed = value(&input)?;
    Input::parse(&typed).map_err(CliError::usage)?;
    let after = Afterwards {
        code: args.code.clone(),
        force: args.force,
        ..Afterwards::of(&args.run.output)
    };
    let case = Case {
        format: FORMAT.name,
        input: typed,
        set,
        run: args.run.clone(),
        after,
    };
    match global.server {
        Some(_) => case.hold(&app).await,
        None => hold_here(&app, case, input, &args).await,
    }
}

/// Holds it here, with lessons of earlier debates, and a branch if one was asked for.
async fn hold_here(
    app: &App,
    case: Case,
    mut input: Input,
    args: &SolveArgs,
) -> Result<u8, CliError> {
    let plan = args
        .git
        .then(|| {
            branch::Plan::check(
                &app.origin.current_dir,
                args.git_file.as_deref(),
                &input.language,
            )
        })
        .transpose()?;
    let registry = Arc::new(app.registry()?);
    let mut resolved = case.resolve(app, &registry).await?;
    let Case { run, after, .. } = case;
    (FORMAT.check)(&resolved.input, &resolved.config, &resolved.panel.agents)
        .map_err(CliError::usage)?;
    look_for_lessons(app, &registry, args, &resolved.config, &mut input).await?;
    resolved.input = value(&input)?;
    let prepared = Prepared::of(registry, resolved)?;
    if let Some(code) = prepared.foresee(app, &run).await? {
        return Ok(code);
    }
    after.check(FORMAT.name)?;
    check_tests(&input, app.global.quiet).await?;
    let desk = prepared.desk(app).await?;
    let id = DebateId::new();
    let recorder = plan
        .map(|plan| plan.begin(&app.worktrees()?, id))
        .transpose()?;
    let running = match after.start_as(app, &desk, id, prepared.start).await {
        Ok(running) => running,
        Err(error) => {
            recorder.into_iter().for_each(branch::Recorder::discard);
            return Err(error);
        }
    };
    let keeping = recorder.map(|recorder| recorder.keep(&desk));
    let code = progress::follow_beside_branch(app, &desk, running, &run.output, keeping).await?;
    after.finish(app, &(&desk).into(), id, code).await
}

/// Nothing is sent, and so nothing is found by meaning, where only that is asked for which would be
/// sent.
async fn look_for_lessons(
    app: &App,
    registry: &Arc<Registry>,
    args: &SolveArgs,
    config: &Value,
    input: &mut Input,
) -> Result<(), CliError> {
    let config = Config::parse(config).map_err(CliError::usage)?;
    if !args.run.dry_run && !args.run.estimate {
        return lessons::give(app, registry, &config, input).await;
    }
    let unsent = lessons::foresee(app, registry, &config, input).await?;
    if args.run.dry_run {
        for text in &unsent {
            output::print(&format!("{}\n\n", for_people(text)))?;
        }
        if !unsent.is_empty() && !app.global.quiet {
            warn_line!(
                "the lessons in what follows were found by words; those found by meaning are not \
                 known before"
            );
        }
    }
    Ok(())
}

/// What was typed, as changes of settings.
fn settings(args: &SolveArgs) -> Result<Vec<String>, CliError> {
    let mut set = args.run.panel.set.clone();
    let listed = |names: &mut dyn Iterator<Item = &str>| {
        format!(
            "[{}]",
            names
                .map(|name| format!("{name:?}"))
                .collect::<Vec<_>>()
                .join(", ")
        )
    };
    if !args.phases.is_empty() {
        set.push(format!(
            "solve.phases={}",
            listed(&mut args.phases.iter().map(String::as_str))
        ));
    }
    if !args.without.is_empty() {
        let left = |name: &&str| !args.without.iter().any(|without| without == name);
        set.push(format!(
            "solve.phases={}",
            listed(&mut Phase::ALL.iter().map(|phase| phase.name()).filter(left))
        ));
    }
    if !args.gate.is_empty() {
        set.push(format!(
            "solve.gates={}",
            listed(&mut args.gate.iter().map(String::as_str))
        ));
    }
    for (key, value) in [("topology", &args.topology), ("planning", &args.planning)] {
        if let Some(value) = value {
            set.push(format!("solve.{key}={value:?}"));
        }
    }
    for hook in &args.hook {
        let bad = || {
            CliError::usage(format!(
                "`--hook {}` should look like `--hook post-proposal=\"ruff \
                check {{code}}\"`",
                on_one_line(hook)
            ))
            .hint(
                "the points are post-proposal, post-optimization, post-adversarial, \
                    post-convergence",
            )
        };
        let (point, command) = hook.split_once('=').ok_or_else(bad)?;
        let is_point = [
            "post-proposal",
            "post-optimization",
            "post-adversarial",
            "post-convergence",
        ]
        .contains(&point);
        if !is_point || command.trim().is_empty() {
            return Err(bad());
        }
        set.push(format!(
            "solve.hooks.{point}={}",
            listed(&mut command.split_whitespace())
        ));
    }
    Ok(set)
}

fn input(args: &SolveArgs, app: &App) -> Result<Input, CliError> {
    let gathered = context::gather(&args.context, &app.config.deny)?;
    for (path, why) in &gathered.left_out {
        warn_line!(
            "left out {}: {why}",
            on_one_line(&path.display().to_string())
        );
    }
    let answers = args
        .answer
        .iter()
        .map(|text| answer(text))
        .collect::<Result<_, _>>()?;
    let input = Input {
        context: gathered.text,
        answers,
        ..Input::default()
    };
    if let Some(named) = &args.problem {
        return of_problem(input, problem(named)?, args);
    }
    let hidden_style = args.style.map(Into::into);
    let style = if args.test_command.is_some() {
        Some(Style::Command)
    } else {
        hidden_style
    };
    let language = args.lang.clone().unwrap_or_else(|| LANGUAGE.to_owned());
    check_style(&language, hidden_style)
        .map_err(|refused| CliError::usage(refused.reason).hint(refused.fix))?;
    Ok(Input {
        task: task(args.task.as_deref().unwrap_or_default())?,
        language,
        tests: args
            .test_command
            .clone()
            .map_or_else(|| tests(args.tests.as_deref()), Ok)?,
        hidden_tests: tests(args.hidden_tests.as_deref())?,
        style,
        hidden_style,
        entry_point: args.entry.clone().unwrap_or_default(),
        ..input
    })
}

fn of_problem(input: Input, problem: Problem, args: &SolveArgs) -> Result<Input, CliError> {
    if let Some(lang) = args.lang.as_ref().filter(|lang| **lang != problem.language) {
        let message = format!(
            "the tests of this problem are for {}, not for {lang}",
            problem.language
        );
        return Err(
            CliError::usage(message).hint("leave out --lang, or give your own task and --tests")
        );
    }
    Ok(Input {
        task: problem.task,
        language: problem.language,
        style: problem.style.filter(|_| !problem.tests.is_empty()),
        tests: problem.tests,
        hidden_tests: problem.hidden_tests,
        hidden_style: problem.style,
        entry_point: problem.entry_point.unwrap_or_default(),
        ..input
    })
}

/// The tests of a file; none where no file is named.
fn tests(file: Option<&Path>) -> Result<String, CliError> {
    let Some(file) = file else {
        return Ok(String::new());
    };
    let text = read_file::text(file)?;
    if text.trim().is_empty() {
        return Err(CliError::usage(format!("{} is empty", file.display()))
            .hint("write a test into it, or leave it out"));
    }
    Ok(text)
}

/// `FILE#ID`. The id of a problem may hold slashes, a file's name hardly ever a `#`.
fn problem(named: &str) -> Result<Problem, CliError> {
    let bad = || {
        CliError::usage(format!(
            "`--problem {}` should look like `--problem HumanEval.jsonl.gz#HumanEval/0`",
            on_one_line(named)
        ))
    };
    let (file, id) = named.rsplit_once('#').ok_or_else(bad)?;
    problems::load(Path::new(file), id)
}

fn answer(text: &str) -> Result<GivenAnswer, CliError> {
    let bad = || {
        CliError::usage(format!(
            "`--answer {}` should look like `--answer edge_cases=\"empty input is an error\"`",
            on_one_line(text)
        ))
    };
    let (about, answer) = text.split_once('=').ok_or_else(bad)?;
    Ok(GivenAnswer {
        about: about.trim().to_owned(),
        answer: answer.trim().to_owned(),
    })
}

fn task(typed: &str) -> Result<String, CliError> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    read_file::stdin()
}

/// Writes the code that won, by the rules of `rebut code --apply`. A debate without any leaves the
/// file as it is.
pub fn write_code(view: &View, file: &Path, force: bool, quiet: bool) -> Result<(), CliError> {
    let Some(won) = winner(view) else {
        warn_line!("{} was not written: there is no code", file.display());
        return Ok(());
    };
    let id = view.id.map(|id| id.short().to_string()).unwrap_or_default();
    // It was free when the debate began; whoever wrote it meanwhile keeps it.
    applying::apply(view, won, file, force, quiet).map_err(|error| {
        error.and_hint(format!(
            "the code is kept: {}",
            command(format_args!("code {id} --apply FILE"))
        ))
    })
}
