//! `rebut decide` and its control arms: from what was typed to a running debate.

use super::{
    baseline,
    prepare::{self, Prepared, Wanted},
    progress,
    request::{self, Case},
    server_support::{of_run, refuse},
    voters,
};
use crate::{
    app::App,
    casting::casting_of,
    cli::{AskArgs, GlobalArgs, Weighing},
    context,
    debates::Debates,
    error::CliError,
    output,
    paint::Paint,
    post_actions::Afterwards,
};
use rebut_engine::{
    agent::Agent,
    clean::on_one_line,
    formats::{
        casting,
        decide::{Choice, Input},
        weights::Weights,
    },
    report,
    view::View,
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// `rebut decide`, `single`, `poll` and `society`.
pub async fn ask(format: &'static str, global: &GlobalArgs, args: AskArgs) -> Result<u8, CliError> {
    let flags = [
        (
            "--weights",
            args.weights.is_some(),
            "what votes count is learned from debates of this machine, for judges that are known \
             here",
        ),
        (
            "--baseline",
            args.baseline.is_some(),
            "the arm is tied to its debate on this machine; ask `rebut poll` the same question \
             there",
        ),
    ];
    refuse(global, &[&of_run(&args.run)[..], &flags].concat())?;
    let set = settings(format, &args)?;
    let app = request::open(global, &set)?;
    output::check_files(&args.run.output, format)?;
    let (input, feature_dir) = input(&args, &app).await?;
    let baseline = args.baseline.map(|arm| arm.format().to_owned());
    let after = Afterwards {
        feature_dir,
        baseline,
        ..Afterwards::of(&args.run.output)
    };
    let case = Case {
        format,
        input: prepare::value(&input)?,
        set,
        run: args.run.clone(),
        after,
    };
    match (args.weights, args.baseline) {
        (None, None) => case.hold(&app).await,
        _ => hold_compared(&app, case, &args).await,
    }
}

/// Holds a debate here whose votes are weighed, or that is compared with an arm.
async fn hold_compared(app: &App, case: Case, args: &AskArgs) -> Result<u8, CliError> {
    let Case {
        format,
        input,
        run,
        after,
        ..
    } = case;
    let mut config = app.config.format(format)?;
    let registry = Arc::new(app.registry()?);
    let panel = prepare::cast(
        app,
        &registry,
        Wanted {
            format,
            input: &input,
            config: &config,
            panel: &(&run.panel).into(),
        },
    )
    .await?;
    weigh(app, args, format, &mut config, &panel.agents).await?;
    let prepared = Prepared::new(app, registry, &run, (format, &input, &config), panel)?;
    if let Some(code) = prepared.foresee(app, &run).await? {
        return Ok(code);
    }
    after.check(format)?;
    let desk = prepared.desk(app).await?;
    let start = prepared.start;
    let running = after.start(app, &desk, start.clone()).await?;
    let (id, code) = match args.baseline {
        None => (
            running.id,
            progress::follow(app, &desk, running, &run.output).await?,
        ),
        Some(arm) => baseline::compare(app, &desk, running, start, arm, &run.output).await?,
    };
    after.finish(app, &(&desk).into(), id, code).await
}

/// Writes each judge's words into the feature's directory.
pub fn write_words(app: &App, view: &View, dir: &Path) -> Result<(), CliError> {
    let written = output::write_judges(view, dir)?;
    if !app.global.quiet {
        warn_line!(
            "wrote {} files below {}",
            written.len(),
            output::judges_dir(dir).display()
        );
    }
    Ok(())
}

/// Puts what votes count into the settings, where they are pinned with the debate: a replay needs
/// no history.
async fn weigh(
    app: &App,
    args: &AskArgs,
    format: &str,
    config: &mut Value,
    agents: &[Agent],
) -> Result<(), CliError> {
    let Some(wanted) = args.weights else {
        return Ok(());
    };
    let Some(place) = config.get_mut("weights") else {
        return Err(CliError::usage(format!(
            "{format} has no weights; every answer counts the same"
        ))
        .hint("--weights is for decide"));
    };
    let weights = match wanted {
        Weighing::Equal => Weights::default(),
        Weighing::Learned => {
            let (weights, line) = voters::learned(&Debates::open(app).await?, agents).await?;
            if !app.global.quiet {
                warn_line!("{}", Paint::stderr().faint(&line));
            }
            weights
        }
    };
    *place = serde_json::to_value(weights).map_err(|error| CliError::failed(error.to_string()))?;
    Ok(())
}

/// What a flag is called among the settings of each format that has it.
const SETTINGS: &[(&str, &[(&str, &str)])] = &[
    (
        "threshold",
        &[
            ("decide", "consensus_threshold"),
            ("poll", "threshold"),
            ("society", "threshold"),
        ],
    ),
    (
        "rounds",
        &[
            ("decide", "max_rounds"),
            ("society", "rounds"),
            ("challenge", "max_rounds"),
        ],
    ),
    (
        "timeout",
        &[
            ("decide", "timeout_per_judge"),
            ("single", "timeout"),
            ("poll", "timeout"),
            ("society", "timeout"),
            ("challenge", "timeout_per_agent"),
        ],
    ),
    ("samples", &[("poll", "answers")]),
    ("batch", &[("poll", "batch")]),
    ("topology", &[("decide", "topology")]),
];

/// Flags that are settings of the format. One that the format does not have is a mistake, not a
/// wish to ignore.
pub fn settings(format: &str, args: &AskArgs) -> Result<Vec<String>, CliError> {
    let typed = [
        args.threshold.map(|value| format!("{value:?}")),
        args.rounds.map(|value| value.to_string()),
        args.timeout.map(|value| value.to_string()),
        args.samples.map(|value| value.to_string()),
        args.batch.map(|value| value.to_string()),
        args.topology.as_ref().map(|kind| format!("{kind:?}")),
    ];
    let mut set = args.run.panel.set.clone();
    for ((flag, formats), value) in SETTINGS.iter().zip(typed) {
        let Some(value) = value else { continue };
        set.push(format!(
            "{format}.{}={value}",
            key_of(flag, formats, format)?
        ));
    }
    if args.baseline.is_some() && format != "decide" {
        return Err(CliError::usage(format!("{format} has no --baseline"))
            .hint("--baseline compares decide with an arm"));
    }
    Ok(set)
}

/// The key behind a flag among the settings of a format.
pub fn setting_of(flag: &str, format: &str) -> Result<&'static str, CliError> {
    let formats = SETTINGS
        .iter()
        .find(|(known, _)| *known == flag)
        .map_or(&[][..], |(_, formats)| formats);
    key_of(flag, formats, format)
}

fn key_of(
    flag: &str,
    formats: &[(&str, &'static str)],
    format: &str,
) -> Result<&'static str, CliError> {
    formats
        .iter()
        .find(|(known, _)| *known == format)
        .map(|(_, key)| *key)
        .ok_or_else(|| {
            let names = formats
                .iter()
                .map(|(known, _)| *known)
                .collect::<Vec<_>>()
                .join(", ");
            CliError::usage(format!("{format} has no --{flag}"))
                .hint(format!("--{flag} is for {names}"))
        })
}

/// Those of a panel that are really asked: only they belong to the debate.
pub fn who_answers(
    format: &str,
    config: &Value,
    agents: Vec<Agent>,
) -> Result<Vec<Agent>, CliError> {
    let wanted = casting::Wanted {
        input: &Value::Null,
        config,
    };
    (casting_of(format)?.asked)(&wanted, agents).map_err(CliError::usage)
}

/// The question, options and context, from the flags or a file, and where each judge's words go.
pub async fn input(args: &AskArgs, app: &App) -> Result<(Input, Option<PathBuf>), CliError> {
    let (mut input, feature_dir) = match (&args.from, &args.follow) {
        (Some(file), _) => read_case(file)?,
        (None, Some(id)) => (followed(app, id).await?, None),
        (None, None) => (Input::default(), None),
    };
    if let Some(question) = &args.question {
        input.question.clone_from(question);
    }
    if input.question.trim().is_empty() {
        return Err(CliError::usage("what is the question?")
            .hint("rebut decide \"Offline support?\" -O A=\"Online only\" -O B=\"Full offline\""));
    }
    if !args.options.is_empty() {
        input.options = parse_options(&args.options)?;
    }
    let gathered = context::gather(&args.context, &app.config.deny)?;
    for (path, why) in &gathered.left_out {
        warn_line!(
            "left out {}: {why}",
            on_one_line(&path.display().to_string())
        );
    }
    if !gathered.text.is_empty() {
        let join = if input.context.is_empty() { "" } else { "\n\n" };
        input.context = format!("{}{join}{}", input.context, gathered.text);
    }
    if let Some(id) = &args.question_id {
        input.question_id.clone_from(id);
    }
    Ok((
        checked(&prepare::value(&input)?)?,
        args.feature_dir.clone().or(feature_dir),
    ))
}

/// A question as it is debated: checked, and with an id.
pub fn checked(input: &Value) -> Result<Input, CliError> {
    let mut input = Input::parse(input).map_err(CliError::usage)?;
    if input.question_id.is_empty() {
        input.question_id = slug(&input.question);
    }
    Ok(input)
}

/// The input of a further question: the options of an earlier debate, and what was known and said
/// there.
async fn followed(app: &App, id: &str) -> Result<Input, CliError> {
    let debates = Debates::open(app).await?;
    let view = debates.view(debates.find(id).await?).await?;
    let started = view
        .started
        .as_ref()
        .ok_or_else(|| CliError::usage(format!("debate {id} has no beginning")))?;
    let earlier = Input::parse(&started.input).map_err(CliError::usage)?;
    // What was answered freely was never an option.
    let options = crate::text::choices(&view)
        .into_iter()
        .filter(|(_, label)| !label.is_empty());
    Ok(Input {
        options: options
            .map(|(id, label)| Choice {
                id,
                label,
                description: String::new(),
            })
            .collect(),
        context: format!(
            "{}\n\n=== What an earlier panel said ===\n{}",
            earlier.context,
            report::transcript(&view)
        )
        .trim()
        .to_owned(),
        ..Input::default()
    })
}

/// `A=Label`, `A=Label -- description`, or just a label, which gets the next letter.
pub fn parse_options(texts: &[String]) -> Result<Vec<Choice>, CliError> {
    let mut options: Vec<Choice> = Vec::new();
    for (letter, text) in ('A'..='Z').zip(texts) {
        let (id, rest) = match text.split_once('=') {
            Some((id, rest)) if !id.trim().contains(' ') => (id.trim().to_owned(), rest),
            Some((before, _)) => {
                warn_line!(
                    "option {letter} is all of `{}`: `{}` is no id, it has a space",
                    on_one_line(text),
                    on_one_line(before.trim())
                );
                (letter.to_string(), text.as_str())
            }
            None => (letter.to_string(), text.as_str()),
        };
        let (label, description) = rest.split_once(" -- ").unwrap_or((rest, ""));
        if label.trim().is_empty() {
            return Err(CliError::usage(format!("option `{text}` has no label"))
                .hint("write -O A=\"Online only\""));
        }
        options.push(Choice {
            id,
            label: label.trim().to_owned(),
            description: description.trim().to_owned(),
        });
    }
    if texts.len() > 26 {
        return Err(CliError::usage(format!(
            "{} options; at most 26 can be told apart",
            texts.len()
        )));
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
        // A key with nothing behind it is as good as none.
        question_id: Option<String>,
        question_text: Option<String>,
        options: Option<Vec<Choice>>,
        spec_context: Option<String>,
        feature_name: Option<String>,
        feature_dir: Option<PathBuf>,
    }
    let text = crate::read_file::text(file)?;
    let Wrapped {
        debate_context: case,
    } = serde_saphyr::from_str(&text).map_err(|error| {
        // The parser's advice is for programmers.
        let said = error.to_string().replace(
            "cannot deserialize null into string; use Option<String>",
            "a text is missing here",
        );
        CliError::usage(format!(
            "{}: {}",
            file.display(),
            said.trim_start_matches("error: ")
        ))
    })?;
    let known = case.spec_context.unwrap_or_default();
    let context = match case.feature_name.filter(|name| !name.is_empty()) {
        Some(name) => format!("Feature: {name}\n\n{known}"),
        None => known,
    };
    let (question_id, question) = (
        case.question_id.unwrap_or_default(),
        case.question_text.unwrap_or_default(),
    );
    let input = Input {
        question_id,
        question,
        options: case.options.unwrap_or_default(),
        context,
        ..Input::default()
    };
    Ok((
        input,
        case.feature_dir.filter(|dir| !dir.as_os_str().is_empty()),
    ))
}

/// A short name made of the question's words.
fn slug(question: &str) -> String {
    let lower = question.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let slug = words.take(6).collect::<Vec<_>>().join("-");
    if slug.is_empty() {
        "question".to_owned()
    } else {
        slug.chars().take(48).collect()
    }
}
