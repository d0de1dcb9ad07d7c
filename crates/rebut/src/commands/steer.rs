//! `gates`, `cancel`, `approve`, `reject`, `answer`, `mark`, `note`: what a person says to a
//! debate.

use crate::{
    app::App,
    cli::{AnswerArgs, CancelArgs, GateArgs, GlobalArgs, JsonArg, MarkArgs, NoteArgs},
    debates::Debates,
    error::CliError,
    hint_command::command,
    output,
    paint::Paint,
    text,
};
use rebut_engine::{
    clean::{on_one_line, shortened},
    store::{Filter, Status},
};
use serde_json::json;

pub async fn cancel(global: &GlobalArgs, args: CancelArgs) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let id = debates.find(&args.id.id).await?;
    debates.cancel(id, &args.reason).await?;
    warn_line!("cancelled {}", id.short());
    Ok(0)
}

/// `rebut gates`: every gate that waits, over all debates.
pub async fn gates(global: &GlobalArgs, args: JsonArg) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let mut open = Vec::new();
    for session in debates
        .sessions(&Filter {
            status: Some(Status::Running),
            ..Filter::default()
        })
        .await?
    {
        if let Some(gate) = debates.open_gate(session.id).await? {
            open.push((session, gate));
        }
    }
    if args.json {
        let rows: Vec<_> =
            open.iter().map(|(session, gate)| json!({"debate_id": session.id, "topic": session.topic, "gate": gate})).collect();
        output::print_json(&rows)?;
        return Ok(0);
    }
    if open.is_empty() {
        warn_line!("no debate waits at a gate");
    }
    let paint = Paint::stdout();
    for (session, gate) in &open {
        let (id, topic) = (session.id.short().to_string(), on_one_line(&session.topic));
        let waits = text::gate_lines(gate, &id);
        let see = command(format_args!("show {id}"));
        output::print(&format!(
            "{}  {}\n  waits {waits}\n  see it    {see}\n",
            paint.strong(&id),
            shortened(&topic, 70)
        ))?;
    }
    Ok(0)
}

/// `rebut approve` and `rebut reject`: decides the gate at which a debate waits.
pub async fn decide(global: &GlobalArgs, args: GateArgs, approved: bool) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let id = debates.find(&args.id.id).await?;
    let Some(open) = debates.open_gate(id).await? else {
        let outcome = debates.view(id).await?.outcome;
        let ended = outcome
            .map(|outcome| format!("; it has already ended: {}", outcome.outcome.as_str()))
            .unwrap_or_default();
        let message = format!("debate {} waits at no gate{ended}", id.short());
        return Err(CliError::usage(message)
            .hint(format!("`{}` tells where it stands", command("show ID"))));
    };
    debates.decide(id, &open, approved, args.reason).await?;
    warn_line!(
        "{} `{}`",
        if approved { "approved" } else { "rejected" },
        open.gate
    );
    Ok(0)
}

pub async fn answer(global: &GlobalArgs, args: AnswerArgs) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let id = debates.find(&args.id.id).await?;
    let option = debates.answer(id, &args.option, &args.reason).await?;
    warn_line!("recorded: {option}");
    Ok(0)
}

pub async fn mark(global: &GlobalArgs, args: MarkArgs) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let id = debates.find(&args.id.id).await?;
    let option = debates.mark(id, &args.option, &args.reason).await?;
    warn_line!("marked: {option} turned out right");
    Ok(0)
}

pub async fn note(global: &GlobalArgs, args: NoteArgs) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let id = debates.find(&args.id.id).await?;
    debates.note(id, &args.text).await?;
    warn_line!("noted; the next round of {} hears it", id.short());
    Ok(0)
}
