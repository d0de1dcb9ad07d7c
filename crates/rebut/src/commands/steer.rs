//! `cancel`, `approve`, `reject`, `answer`, `mark`, `note`: what a person says to a debate.

use crate::{
    app::{App, user},
    cli::{AnswerArgs, CancelArgs, GateArgs, GlobalArgs, MarkArgs, NoteArgs},
    error::CliError,
};
use rebut_engine::event::GateDecided;

/// `rebut cancel`.
pub async fn cancel(global: &GlobalArgs, args: CancelArgs) -> Result<u8, CliError> {
    let desk = App::open(global, &[])?.desk().await?;
    let id = desk.find(&args.id.id).await?.id;
    desk.cancel(id, &user(), &args.reason).await?;
    eprintln!("cancelled {}", id.short());
    Ok(0)
}

/// `rebut approve` and `rebut reject`: decides the gate at which a debate waits.
pub async fn decide(global: &GlobalArgs, args: GateArgs, approved: bool) -> Result<u8, CliError> {
    let desk = App::open(global, &[])?.desk().await?;
    let id = desk.find(&args.id.id).await?.id;
    let Some(open) = desk.view(id).await?.open_gate else {
        let message = format!("debate {} waits at no gate", id.short());
        return Err(CliError::usage(message).hint("`rebut show ID` tells where it stands"));
    };
    let decision = GateDecided { gate: open.gate.clone(), approved, by: user(), reason: args.reason };
    desk.decide(id, decision, Some(open.content)).await?;
    eprintln!("{} `{}`", if approved { "approved" } else { "rejected" }, open.gate);
    Ok(0)
}

/// `rebut answer`.
pub async fn answer(global: &GlobalArgs, args: AnswerArgs) -> Result<u8, CliError> {
    let desk = App::open(global, &[])?.desk().await?;
    let id = desk.find(&args.id.id).await?.id;
    let option = desk.answer(id, &args.option, &args.reason, &user()).await?;
    eprintln!("recorded: {option}");
    Ok(0)
}

/// `rebut mark`.
pub async fn mark(global: &GlobalArgs, args: MarkArgs) -> Result<u8, CliError> {
    let desk = App::open(global, &[])?.desk().await?;
    let id = desk.find(&args.id.id).await?.id;
    let option = desk.mark(id, &args.option, &args.reason, &user()).await?;
    eprintln!("marked: {option} turned out right");
    Ok(0)
}

/// `rebut note`.
pub async fn note(global: &GlobalArgs, args: NoteArgs) -> Result<u8, CliError> {
    let desk = App::open(global, &[])?.desk().await?;
    let id = desk.find(&args.id.id).await?.id;
    desk.note(id, &args.text, &user()).await?;
    eprintln!("noted; the next round of {} hears it", id.short());
    Ok(0)
}
