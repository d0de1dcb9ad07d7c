//! `ls`, `show`, `watch`: reading what is kept.

use crate::{
    app::App,
    cli::{GlobalArgs, LsArgs, ShowArgs, WatchArgs},
    error::CliError,
    live, output,
    paint::Paint,
    text,
};
use rebut_engine::{
    clean::{for_people, json_for_terminal, on_one_line, shortened},
    outcome::Outcome,
    report,
    store::{Filter, Session, Status},
};
use std::time::Duration;

/// `rebut ls`.
pub async fn ls(global: &GlobalArgs, args: LsArgs) -> Result<u8, CliError> {
    let status = args.status.as_deref().map(|word| {
        Status::parse(word)
            .ok_or_else(|| CliError::usage(format!("there is no status `{word}`")).hint("running, paused, completed, failed, cancelled"))
    });
    let filter = Filter { status: status.transpose()?, limit: args.limit, ..Filter::default() };
    let sessions = App::open(global, &[])?.desk()?.sessions(&filter).await?;
    if args.json {
        output::print_json(&sessions)?;
        return Ok(0);
    }
    if sessions.is_empty() {
        eprintln!("no debates here yet; try: rebut demo");
        return Ok(0);
    }
    let paint = Paint::stdout(global.color);
    for session in &sessions {
        output::print(&row(session, paint))?;
    }
    Ok(0)
}

fn row(session: &Session, paint: Paint) -> String {
    let outcome = session.outcome.as_deref().and_then(|json| serde_json::from_str::<Outcome>(json).ok());
    let state = outcome.map_or(session.status.as_str(), |outcome| outcome.outcome.as_str());
    let mark = if session.rehearsal { " (rehearsal)" } else { "" };
    let when = session.created_at.get(..16).unwrap_or_default().replace('T', " ");
    let topic = shortened(&on_one_line(&session.topic), 70).into_owned();
    format!(
        "{}  {}  {}  {}  {topic}{}\n",
        paint.strong(&session.id.short()),
        paint.faint(&when),
        text::padded(state, 10),
        text::padded(&session.format, 9),
        paint.faint(mark)
    )
}

/// `rebut show`.
pub async fn show(global: &GlobalArgs, args: ShowArgs) -> Result<u8, CliError> {
    let desk = App::open(global, &[])?.desk()?;
    let id = desk.find(&args.id.id).await?.id;
    if args.events {
        for record in desk.records(id).await? {
            let line = serde_json::to_string(&record.envelope()).map_err(|error| CliError::failed(error.to_string()))?;
            output::print(&format!("{}\n", json_for_terminal(&line)))?;
        }
        return Ok(0);
    }
    let view = desk.view(id).await?;
    if args.json {
        output::print_json(&report::document(&view))?;
    } else if args.transcript {
        output::print(&for_people(&report::transcript(&view)))?;
    } else {
        output::print(&text::result(&view, true, Paint::stdout(global.color)))?;
    }
    Ok(0)
}

/// `rebut watch`.
pub async fn watch(global: &GlobalArgs, args: WatchArgs) -> Result<u8, CliError> {
    let desk = App::open(global, &[])?.desk()?;
    let session = desk.find(&args.id.id).await?;
    let mut watch = desk.watch(session.id, args.after).await?;
    let mut hinted = global.quiet;
    loop {
        let next = tokio::select! {
            next = watch.next() => next?,
            // Its process may have died without a word; a live one may just as well be thinking.
            () = tokio::time::sleep(SILENCE), if !hinted => {
                hinted = true;
                eprintln!("nothing new for {} s; if nobody runs it any more: rebut resume {}", SILENCE.as_secs(), session.id.short());
                continue;
            }
        };
        let Some(record) = next else { return Ok(0) };
        let line = match (args.stream_json, record.event()) {
            (true, _) => {
                json_for_terminal(&serde_json::to_string(&record.envelope()).map_err(|error| CliError::failed(error.to_string()))?)
                    .into_owned()
            }
            (false, Ok(Some(event))) => format!("[{}] {}", record.seq, live::line(&record, &event)),
            (false, _) => format!("[{}] {}", record.seq, on_one_line(&record.kind)),
        };
        output::print(&format!("{line}\n"))?;
    }
}

/// After so long without an event a watcher is told what may be the matter.
const SILENCE: Duration = Duration::from_secs(5);
