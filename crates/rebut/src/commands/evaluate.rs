//! `rebut evaluate`: from an idea on disk to a debate about it, and what is written beside the
//! idea.

use super::{
    prepare::{self, Wanted},
    request::{self, Case},
    server_support::{of_run, refuse},
};
use crate::{
    app::App,
    atomic_file::replace,
    cli::{EvaluateArgs, Form, GlobalArgs, PanelArgs},
    debates::Debates,
    error::CliError,
    idea, output,
    paint::Paint,
    panel::Panel,
    post_actions::Afterwards,
    roles,
};
use rebut_engine::{
    agent::Agent,
    clean::on_one_line,
    family::family_of,
    formats::evaluate::{Config, EvaluateResult, FORMAT, Input, ROLES, input::categories},
    view::View,
};
use rebut_models::Registry;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeSet, path::Path, sync::Arc};

/// `rebut evaluate`.
pub async fn run(global: &GlobalArgs, args: EvaluateArgs) -> Result<u8, CliError> {
    check_flags(&args)?;
    refuse(global, &of_run(&args.run))?;
    let set = args.run.panel.set.clone();
    let app = request::open(global, &set)?;
    output::check_files(&args.run.output, FORMAT.name)?;
    let idea = idea::read(&args, &app.config.deny)?;
    if !global.quiet {
        let paint = Paint::stderr(global.color);
        idea.remarks
            .iter()
            .for_each(|remark| warn_line!("{}", paint.faint(remark)));
    }
    let after = Afterwards {
        analysis: idea.analysis,
        least: args.fail_on,
        ..Afterwards::of(&args.run.output)
    };
    Case {
        format: FORMAT.name,
        input: prepare::value(&idea.input)?,
        set,
        run: args.run,
        after,
    }
    .hold(&app)
    .await
}

fn check_flags(args: &EvaluateArgs) -> Result<(), CliError> {
    if let Some(score) = args.fail_on.filter(|score| !(1.0..=10.0).contains(score)) {
        return Err(CliError::usage(format!(
            "--fail-on {score}: a score is from 1 to 10"
        )));
    }
    if args.run.panel.judges.is_empty() {
        return Ok(());
    }
    Err(
        CliError::usage("evaluate has no judges to choose").hint(format!(
            "its seats are {}; say who sits there with -m SEAT=MODEL",
            ROLES.join(", ")
        )),
    )
}

/// Who sits in its seats.
pub async fn cast(app: &App, registry: &Registry, wanted: Wanted<'_>) -> Result<Panel, CliError> {
    let needs_evaluator = lacks_scores(wanted.input, wanted.config)?;
    let panel = prepare::panel(app, registry, wanted.panel, &ROLES).await?;
    seat(app, wanted.panel, panel, needs_evaluator)
}

/// Whether somebody has to score the idea first. Checks the idea on the way, before a panel is
/// looked for.
fn lacks_scores(input: &Value, config: &Value) -> Result<bool, CliError> {
    let config = Config::parse(config).map_err(CliError::usage)?;
    let (input, topics) = Input::parse(input, &config).map_err(CliError::usage)?;
    Ok(categories(&topics)
        .iter()
        .any(|category| !input.scores.contains_key(*category)))
}

/// Puts the panel into the seats. Whoever has none, or is not needed, does not take part.
fn seat(
    app: &App,
    flags: &PanelArgs,
    panel: Panel,
    needs_evaluator: bool,
) -> Result<Panel, CliError> {
    let wanted = if needs_evaluator {
        &ROLES[..]
    } else {
        &ROLES[..3]
    };
    let fits = |agents: &[Agent]| {
        wanted
            .iter()
            .all(|role| agents.iter().any(|agent| &*agent.role == *role))
    };
    let was_chosen = flags.panel.is_some() || !flags.models.is_empty();
    let Panel {
        mut agents,
        mut chosen,
    } = panel;
    if !fits(&agents) && flags.panel.is_none() {
        // A panel of judges from the configuration: its models can sit here as well.
        let models: Vec<Arc<str>> = agents.iter().map(|agent| agent.model.clone()).collect();
        let seats = wanted.iter().zip(models.iter().cycle());
        agents = seats
            .map(|(role, model)| Ok(roles::find(&app.project(), role)?.played_by(model.clone())))
            .collect::<Result<_, CliError>>()?;
        chosen = format!("{chosen}, its models seated as {}", wanted.join(", "));
    }
    if fits(&agents) {
        agents.retain(|agent| wanted.contains(&&*agent.role));
    }
    if !was_chosen {
        seat_fairly(&mut agents);
    }
    Ok(Panel { agents, chosen })
}

/// An arbiter should not judge its own family. Where there are two families only, both sides speak
/// through the one and the arbiter judges with the other.
fn seat_fairly(agents: &mut [Agent]) {
    let model_of = |agents: &[Agent], role: &str| {
        agents
            .iter()
            .find(|agent| &*agent.role == role)
            .map(|agent| agent.model.clone())
    };
    let Some(arbiter) = model_of(agents, "arbiter") else {
        return;
    };
    let sides: Vec<Arc<str>> = ["advocate", "challenger"]
        .iter()
        .filter_map(|role| model_of(agents, role))
        .collect();
    let is_own = |model: &Arc<str>| family_of(model) == family_of(&arbiter);
    let Some(other) = sides
        .iter()
        .find(|model| !is_own(model))
        .filter(|_| sides.iter().any(is_own))
        .cloned()
    else {
        return;
    };
    for agent in agents
        .iter_mut()
        .filter(|agent| ["advocate", "challenger"].contains(&&*agent.role))
    {
        agent.model = other.clone();
    }
}

/// Writes the transcript and the whole result, also when topics were skipped or a limit was met.
pub async fn write(app: &App, debates: &Debates, view: &View, dir: &Path) -> Result<(), CliError> {
    let files = [("debate.md", Form::Markdown), ("debate.json", Form::Json)];
    for (name, form) in files {
        // The folder may come from somebody else: no link in it is followed.
        let (file, text) = (dir.join(name), output::render(debates, view, form).await?);
        replace(&file, text.as_bytes())?;
    }
    if !app.global.quiet {
        warn_line!(
            "wrote {}, {}",
            dir.join(files[0].0).display(),
            dir.join(files[1].0).display()
        );
    }
    Ok(())
}

/// Whether the gate lets it through, if there is one; otherwise says why not.
pub fn passes(view: &View, least: Option<f64>) -> bool {
    let Some(needed) = least else { return true };
    let result = view
        .outcome
        .as_ref()
        .and_then(|outcome| EvaluateResult::deserialize(&outcome.result).ok());
    let why = result.map_or_else(
        || Some("there is no result".to_owned()),
        |result| held_back(&result, needed),
    );
    if let Some(why) = &why {
        warn_line!("{why}");
    }
    why.is_none()
}

/// Why a result does not reach what is needed. A total over a part of the categories says nothing
/// of the whole, so it never does.
fn held_back(result: &EvaluateResult, needed: f64) -> Option<String> {
    let unscored: BTreeSet<String> = result
        .rounds
        .iter()
        .filter(|round| round.score_after.is_none())
        .map(|round| on_one_line(&round.target_category))
        .collect();
    match result.totals {
        _ if !unscored.is_empty() => {
            let unscored = Vec::from_iter(unscored).join(", ");
            Some(format!(
                "the total is incomplete, without a score of {unscored}: it does not pass \
                 --fail-on {needed}"
            ))
        }
        None => Some(format!(
            "there are no scores: nothing passes --fail-on {needed}"
        )),
        Some(total) if total.post < needed => Some(format!(
            "the total is {} after the debate, below {needed}",
            total.post
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rebut_engine::agent::Role;

    #[test]
    fn an_arbiter_is_kept_from_its_own_family_where_that_is_possible() {
        let rows = [
            (
                ["openai:gpt-5", "anthropic:claude-x", "ollama:qwen3"],
                ["openai:gpt-5", "anthropic:claude-x", "ollama:qwen3"],
            ),
            (
                ["openai:gpt-5", "anthropic:claude-x", "openai:gpt-5"],
                ["anthropic:claude-x", "anthropic:claude-x", "openai:gpt-5"],
            ),
            (
                ["openai:gpt-5", "anthropic:claude-x", "cli:claude"],
                ["openai:gpt-5", "openai:gpt-5", "cli:claude"],
            ),
            (
                ["openai:gpt-5", "openai:gpt-5-mini", "openai:gpt-5"],
                ["openai:gpt-5", "openai:gpt-5-mini", "openai:gpt-5"],
            ),
        ];
        for (given, expected) in rows {
            let mut agents: Vec<Agent> = ROLES
                .iter()
                .zip(given)
                .map(|(role, model)| {
                    Role::built_in(role)
                        .expect("a built-in role")
                        .played_by(model)
                })
                .collect();
            seat_fairly(&mut agents);
            assert_eq!(
                agents.iter().map(|agent| &*agent.model).collect::<Vec<_>>(),
                expected,
                "{given:?}"
            );
        }
    }
}
