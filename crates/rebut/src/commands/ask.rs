//! `rebut decide` and `rebut "question"`: from what was typed to a running debate.

use super::{follow, voters};
use crate::{
    app::{App, user},
    auto,
    budget::Budget,
    cli::{AskArgs, Cli, GlobalArgs, Weighing},
    context, dry,
    error::CliError,
    output,
    paint::Paint,
    panel,
};
use clap::CommandFactory;
use rebut_engine::{
    Start,
    agent::Agent,
    formats::{
        decide::{self, Choice, Input},
        weights::Weights,
    },
    model::{Models, Price},
    report, triage,
};
use rebut_models::Registry;
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// `rebut "question"`: says which format it chooses and why. Without a question: what is here.
pub async fn route(global: &GlobalArgs, args: AskArgs) -> Result<u8, CliError> {
    let Some(question) = args.question.clone().or_else(|| args.from.as_ref().map(|_| String::new())) else {
        return super::doctor::first_run(global).await;
    };
    if args.from.is_none() && !question.trim().contains(' ') && args.options.is_empty() {
        let message = format!("`{question}` is neither a command nor a question");
        let command = Cli::command();
        let nearest =
            command.get_subcommands().map(|known| (strsim::damerau_levenshtein(known.get_name(), &question), known.get_name())).min();
        return Err(CliError::usage(message).hint(match nearest {
            Some((0..=2, known)) => format!("did you mean `rebut {known}`? Put a question in quotes"),
            _ => "`rebut --help` lists the commands; put a question in quotes".to_owned(),
        }));
    }
    let advice = triage::triage(&question, args.options.len(), "");
    let why = advice.signals.iter().filter(|signal| signal.weight > 0).map(|signal| signal.seen.as_str()).collect::<Vec<_>>().join("; ");
    let why = if why.is_empty() { "the one format for open questions".to_owned() } else { why };
    if !global.quiet {
        let paint = Paint::stderr(global.color);
        eprintln!("{}", paint.faint(&format!("decide: {why}")));
        if advice.advice == triage::Advice::Single {
            eprintln!("{}", paint.faint("this question may not need a debate; `rebut triage` says why"));
        }
    }
    decide(global, args).await
}

/// `rebut decide`.
pub async fn decide(global: &GlobalArgs, args: AskArgs) -> Result<u8, CliError> {
    let app = App::open(global, &settings(&args))?;
    output::check_files(&args.output)?;
    let (input, feature_dir) = input(&args, &app).await?;
    let config = app.config.decide()?;
    let registry = Arc::new(app.registry()?);
    let wants_auto = panel::wants_auto(&args.panel, &app.config);
    let available = if wants_auto { auto::candidates(&registry, &app.clis).await } else { Vec::new() };
    let panel = panel::choose(&args.panel, &app.config, &app.project(), available)?;
    let config = decide::Config { weights: weights(&app, &args, config.weights, &panel.agents).await?, ..config };
    let config = serde_json::to_value(&config).map_err(|error| CliError::failed(error.to_string()))?;
    let budget = Budget::new(&args.budget, &app.config.budget);
    let start = Start {
        format: "decide".to_owned(),
        input: serde_json::to_value(&input).map_err(|error| CliError::failed(error.to_string()))?,
        limits: Some(budget.limits("decide", &config)?),
        config,
        agents: panel.agents,
        seed: args.seed,
        initiated_by: user(),
    };
    if args.dry_run || args.estimate {
        return foresee(&app, registry, start, &args).await;
    }
    if !global.quiet && !panel.chosen.is_empty() {
        eprintln!("{}", Paint::stderr(global.color).faint(&panel.chosen));
    }
    if !global.quiet {
        announce(&app, &registry, &start, &budget).await?;
    }
    let store = rebut_store::SqliteStore::open(&app.place.database())?;
    let desk = app.desk_over(Arc::new(store), registry)?;
    let running = desk.start(start).await?;
    let id = running.id;
    let code = follow::follow(&app, &desk, running, &args.output).await?;
    if let Some(dir) = &feature_dir {
        let written = output::write_judges(&desk.view(id).await?, dir)?;
        if !global.quiet {
            eprintln!("wrote {} files below {}", written.len(), dir.join("sadd").display());
        }
    }
    Ok(code)
}

/// What votes count: pinned in the debate's settings, so that a replay needs no history.
async fn weights(app: &App, args: &AskArgs, configured: Weights, agents: &[Agent]) -> Result<Weights, CliError> {
    match args.weights {
        None => Ok(configured),
        Some(Weighing::Equal) => Ok(Weights::default()),
        Some(Weighing::Learned) => {
            let (weights, line) = voters::learned(&app.desk()?, agents).await?;
            if !app.global.quiet {
                eprintln!("{}", Paint::stderr(app.global.color).faint(&line));
            }
            Ok(weights)
        }
    }
}

/// Flags that are settings of the format.
fn settings(args: &AskArgs) -> Vec<String> {
    let mut set = args.panel.set.clone();
    set.extend(args.threshold.map(|value| format!("decide.consensus_threshold={value:?}")));
    set.extend(args.rounds.map(|value| format!("decide.max_rounds={value}")));
    set.extend(args.timeout.map(|value| format!("decide.timeout_per_judge={value}")));
    set
}

/// Prints what the first round would send and what the debate will take, or only the latter.
async fn foresee(app: &App, registry: Arc<Registry>, start: Start, args: &AskArgs) -> Result<u8, CliError> {
    let shown = dry::run(registry.clone(), start.clone()).await?;
    let estimate = dry::estimate(&start, &shown, &|model| price_of(&registry, model))?;
    if args.estimate {
        match args.output.json {
            true => output::print_json(&estimate)?,
            false => output::print(&format!("{}\n", estimate.words()))?,
        }
        return Ok(0);
    }
    for request in &shown {
        output::print(&format!("{}\n\n", rebut_engine::clean::for_people(&request.text)))?;
    }
    output::print(&format!("estimate: {}\n", estimate.words()))?;
    if !app.global.quiet {
        eprintln!("nothing was sent ({} requests shown); later rounds depend on the answers", shown.len());
    }
    Ok(0)
}

/// Says what the debate will take, where that costs money or is limited.
async fn announce(app: &App, registry: &Arc<Registry>, start: &Start, budget: &Budget) -> Result<(), CliError> {
    let costs = start.agents.iter().any(|agent| price_of(registry, &agent.model) != Some(Price::FREE));
    if !costs && budget.is_empty() {
        return Ok(());
    }
    let paint = Paint::stderr(app.global.color);
    let shown = dry::run(registry.clone(), start.clone()).await?;
    let estimate = dry::estimate(start, &shown, &|model| price_of(registry, model))?;
    eprintln!("{}", paint.faint(&format!("estimate: {}", estimate.words())));
    if !app.config.capped_twice.is_empty() {
        let names = app.config.capped_twice.join(", ");
        eprintln!("{}", paint.faint(&format!("{names}: your configuration and the project's both set it; the smaller counts")));
    }
    Ok(())
}

/// What a model costs; `None` when nobody knows, or nobody can be asked.
fn price_of(registry: &Registry, model: &str) -> Option<Price> {
    registry.open(model).ok().and_then(|model| model.price())
}

/// The question, options and context, from the flags or a file, and where each judge's words go.
async fn input(args: &AskArgs, app: &App) -> Result<(Input, Option<PathBuf>), CliError> {
    let (mut input, feature_dir) = match (&args.from, &args.follow) {
        (Some(file), _) => read_case(file)?,
        (None, Some(id)) => (followed(app, id).await?, None),
        (None, None) => (Input::default(), None),
    };
    if let Some(question) = &args.question {
        input.question.clone_from(question);
    }
    if input.question.trim().is_empty() {
        return Err(
            CliError::usage("what is the question?").hint("rebut decide \"Offline support?\" -O A=\"Online only\" -O B=\"Full offline\"")
        );
    }
    if !args.options.is_empty() {
        input.options = parse_options(&args.options)?;
    }
    let gathered = context::gather(&args.context, &app.config.deny)?;
    for (path, why) in &gathered.left_out {
        eprintln!("left out {}: {why}", path.display());
    }
    if !gathered.text.is_empty() {
        let join = if input.context.is_empty() { "" } else { "\n\n" };
        input.context = format!("{}{join}{}", input.context, gathered.text);
    }
    if let Some(id) = &args.question_id {
        input.question_id.clone_from(id);
    }
    if input.question_id.is_empty() {
        input.question_id = slug(&input.question);
    }
    let value = serde_json::to_value(&input).map_err(|error| CliError::failed(error.to_string()))?;
    Ok((Input::parse(&value).map_err(CliError::usage)?, args.feature_dir.clone().or(feature_dir)))
}

/// The input of a further question: the options of an earlier debate, and what was known and said there.
async fn followed(app: &App, id: &str) -> Result<Input, CliError> {
    let desk = app.desk()?;
    let view = desk.view(desk.find(id).await?.id).await?;
    let started = view.started.as_ref().ok_or_else(|| CliError::usage(format!("debate {id} has no beginning")))?;
    let earlier = Input::parse(&started.input).map_err(CliError::usage)?;
    let options = crate::text::choices(&view).into_iter();
    Ok(Input {
        question_id: String::new(),
        question: String::new(),
        options: options.map(|(id, label)| Choice { id, label, description: String::new() }).collect(),
        context: format!("{}\n\n=== What an earlier panel said ===\n{}", earlier.context, report::transcript(&view)).trim().to_owned(),
    })
}

/// `A=Label`, `A=Label -- description`, or just a label, which gets the next letter.
pub fn parse_options(texts: &[String]) -> Result<Vec<Choice>, CliError> {
    let mut options: Vec<Choice> = Vec::new();
    for (letter, text) in ('A'..='Z').zip(texts) {
        let (id, rest) = match text.split_once('=') {
            Some((id, rest)) if !id.trim().contains(' ') => (id.trim().to_owned(), rest),
            _ => (letter.to_string(), text.as_str()),
        };
        let (label, description) = rest.split_once(" -- ").unwrap_or((rest, ""));
        if label.trim().is_empty() {
            return Err(CliError::usage(format!("option `{text}` has no label")).hint("write -O A=\"Online only\""));
        }
        options.push(Choice { id, label: label.trim().to_owned(), description: description.trim().to_owned() });
    }
    if texts.len() > 26 {
        return Err(CliError::usage(format!("{} options; at most 26 can be told apart", texts.len())));
    }
    Ok(options)
}

/// Reads a `debate_context` file: the input, and its feature's directory if it names one.
fn read_case(file: &Path) -> Result<(Input, Option<PathBuf>), CliError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wrapped {
        debate_context: DebateContext,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct DebateContext {
        #[serde(default)]
        question_id: String,
        question_text: String,
        #[serde(default)]
        options: Vec<Choice>,
        #[serde(default)]
        spec_context: String,
        #[serde(default)]
        feature_name: String,
        feature_dir: Option<PathBuf>,
    }
    let text = std::fs::read_to_string(file).map_err(|error| CliError::file("read", file, &error))?;
    let Wrapped { debate_context: case } = serde_saphyr::from_str(&text)
        .map_err(|error| CliError::usage(format!("{}: {}", file.display(), error.to_string().trim_start_matches("error: "))))?;
    let context =
        if case.feature_name.is_empty() { case.spec_context } else { format!("Feature: {}\n\n{}", case.feature_name, case.spec_context) };
    let input = Input { question_id: case.question_id, question: case.question_text, options: case.options, context };
    Ok((input, case.feature_dir.filter(|dir| !dir.as_os_str().is_empty())))
}

/// A short name made of the question's words.
fn slug(question: &str) -> String {
    let lower = question.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.take(6).collect::<Vec<_>>().join("-");
    if slug.is_empty() { "question".to_owned() } else { slug.chars().take(48).collect() }
}
