//! A question at a server: what was typed becomes a request, and what comes back is shown as if the debate ran here.

use super::{
    ask,
    follow::{self, Interrupts},
};
use crate::{
    app::App,
    cli::{AskArgs, Command, GlobalArgs, PanelArgs},
    config::override_tables,
    debates::{Debates, Tail},
    error::CliError,
    live::Progress,
    output,
    panel::{JUDGES, split_models},
    remote::Remote,
};
use rebut_engine::{DebateId, clean::json_for_terminal, formats::Shortfall, outcome::Ending, view::View};
use rebut_server::front::{NewAgent, NewDebate, NewLimits};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Where a command does its work when a server was named.
enum Where {
    /// At the server.
    There,
    /// On this machine, whatever was named: it is about the machine itself.
    Here,
    /// It would have to be done there, and cannot be yet.
    Nowhere,
}

fn place_of(command: Option<&Command>) -> Where {
    match command {
        Some(
            Command::Decide(_)
            | Command::Ls(_)
            | Command::Show(_)
            | Command::Watch(_)
            | Command::Cancel(_)
            | Command::Gates(_)
            | Command::Approve(_)
            | Command::Reject(_)
            | Command::Answer(_)
            | Command::Note(_)
            | Command::Export(_)
            | Command::Webhooks(_),
        ) => Where::There,
        Some(
            Command::Bench(_)
            | Command::Vote(_)
            | Command::Sandbox(_)
            | Command::Triage(_)
            | Command::Demo(_)
            | Command::Init(_)
            | Command::Doctor(_)
            | Command::Models(_)
            | Command::Config(_)
            | Command::Schema(_)
            | Command::Roles(_)
            | Command::Serve(_)
            | Command::Keys(_)
            | Command::Hook(_)
            | Command::Completions(_)
            | Command::Man,
        ) => Where::Here,
        _ => Where::Nowhere,
    }
}

/// Refuses what cannot be done at a server: done here it would be about other debates than was meant.
pub fn check(global: &GlobalArgs, command: Option<&Command>) -> Result<(), CliError> {
    match (&global.server, place_of(command)) {
        (Some(_), Where::Nowhere) => Err(CliError::usage("this cannot be done at a server")
            .hint("decide, ls, show, watch, cancel, note, answer, gates, approve, reject, export and webhooks can; without --server and REBUT_SERVER it is done here")),
        _ => Ok(()),
    }
}

/// `rebut --server URL decide`.
pub async fn ask(format: &str, global: &GlobalArgs, args: AskArgs) -> Result<u8, CliError> {
    // Before anything is sent, as here.
    let changes = override_tables(&ask::settings(format, &args)?)?;
    check_flags(&args)?;
    let app = App::open(global, &[])?;
    output::check_files(&args.run.output, format)?;
    let (input, feature_dir) = ask::input(&args, &app).await?;
    let remote = Remote::named(&app)?.ok_or_else(|| CliError::usage("which server?").hint("--server URL"))?;
    let asked = NewDebate {
        format: format.to_owned(),
        input: object(super::begin::value(&input)?),
        config: settings_of(format, &changes)?,
        panel: args.run.panel.panel.clone(),
        agents: agents(&args.run.panel)?,
        seed: args.run.seed,
        limits: NewLimits {
            cost_usd: args.run.budget.max_cost,
            tokens: args.run.budget.max_tokens,
            calls: args.run.budget.max_calls,
            seconds: args.run.budget.max_time.map(|span| span.0),
            approval_seconds: args.run.approve_within.map(|span| span.0),
        },
    };
    if args.run.estimate {
        return estimate(&remote, &asked, args.run.output.json).await;
    }
    #[derive(Deserialize)]
    struct Begun {
        id: DebateId,
    }
    let Begun { id } = remote.post("/v1/debates", &asked).await?;
    let debates = Debates::There(remote);
    let Some(view) = follow_there(&app, &debates, id, args.run.output.stream_json).await? else {
        return Ok(Ending::Cancelled.exit_code());
    };
    output::result_of(&debates, &view, &args.run.output, &app).await?;
    if let Some(dir) = &feature_dir {
        ask::write_words(&app, &view, dir)?;
    }
    Ok(match (&view.outcome, view.started.as_ref()) {
        (Some(outcome), Some(started)) if Shortfall::of(&started.format, outcome).is_some() => {
            follow::exit_code(Ending::Contested, &args.run.output)
        }
        (Some(outcome), _) => follow::exit_code(outcome.outcome, &args.run.output),
        (None, _) => Ending::Cancelled.exit_code(),
    })
}

/// Flags that need something of this machine.
fn check_flags(args: &AskArgs) -> Result<(), CliError> {
    let rows = [
        ("--dry-run", args.run.dry_run),
        ("--baseline", args.baseline.is_some()),
        ("--weights", args.weights.is_some()),
        ("--follow", args.follow.is_some()),
        ("--allow-unknown-price", args.run.budget.allow_unknown_price),
    ];
    match rows.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(CliError::usage(format!("{flag} cannot be used with a server")).hint("leave it out, or leave out --server")),
        None => Ok(()),
    }
}

/// Who was asked for: nobody in particular, roles, models for all, or models for some.
fn agents(args: &PanelArgs) -> Result<Vec<NewAgent>, CliError> {
    let (everybody, single) = split_models(&args.models)?;
    if args.judges.is_empty() && everybody.is_empty() && single.is_empty() {
        return Ok(Vec::new());
    }
    if args.panel.is_some() {
        return Err(CliError::usage("at a server, a panel is taken as it is").hint("leave out -m and --judges, or --panel"));
    }
    let roles: Vec<String> = if args.judges.is_empty() { JUDGES.map(str::to_owned).to_vec() } else { args.judges.clone() };
    if let Some((judge, _)) = single.iter().find(|(judge, _)| !roles.contains(judge)) {
        return Err(CliError::usage(format!("there is no judge `{judge}`; the panel has {}", roles.join(", "))));
    }
    let mut models = everybody.iter().cycle();
    let seated = roles.into_iter().map(|role| {
        let usual = models.next().cloned();
        let model = single.iter().find(|(judge, _)| *judge == role).map(|(_, model)| model.clone()).or(usual);
        NewAgent { role, model, ..NewAgent::default() }
    });
    Ok(seated.collect())
}

/// The settings of one format among changes; others would be silently lost.
fn settings_of(format: &str, changes: &toml::Table) -> Result<Map<String, Value>, CliError> {
    if let Some(other) = changes.keys().find(|key| *key != format) {
        return Err(CliError::usage(format!("`--set {other}.…` belongs to whoever runs the server"))
            .hint(format!("only settings of {format} can be sent")));
    }
    let value = changes.get(format).map(serde_json::to_value).transpose().map_err(|error| CliError::failed(error.to_string()))?;
    Ok(value.map(object).unwrap_or_default())
}

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

async fn estimate(remote: &Remote, asked: &NewDebate, json: bool) -> Result<u8, CliError> {
    let estimate: Value = remote.post("/v1/estimates", asked).await?;
    match json {
        true => output::print_json(&estimate)?,
        false => output::print(&format!("{}\n", rebut_engine::clean::on_one_line(estimate["words"].as_str().unwrap_or_default())))?,
    }
    Ok(0)
}

/// Shows a debate of a server until it ends; nothing when somebody stopped watching. The debate goes on there.
async fn follow_there(app: &App, debates: &Debates, id: DebateId, stream_json: bool) -> Result<Option<View>, CliError> {
    let mut interrupts = Interrupts::listen()?;
    let mut progress = Progress::new(&app.global, false);
    let mut tail: Tail = debates.watch(id, 0).await?;
    let mut view = View::default();
    loop {
        tokio::select! {
            next = tail.next() => {
                let Some(record) = next? else { break };
                view.apply(&record);
                progress.event(&record);
                if stream_json {
                    let line = serde_json::to_string(&record.envelope()).map_err(|error| CliError::failed(error.to_string()))?;
                    output::print(&format!("{}\n", json_for_terminal(&line)))?;
                }
            }
            () = interrupts.next() => {
                progress.finish();
                let id = id.short();
                eprintln!("the debate goes on at the server; follow it with: rebut watch {id}, end it with: rebut cancel {id}");
                return Ok(None);
            }
        }
    }
    progress.finish();
    Ok(Some(view))
}
