//! `ls`, `show`, `watch`: reading what is kept.

use super::progress::print_event;
use crate::{
    app::App,
    cli::{GlobalArgs, LsArgs, ShowArgs, WatchArgs},
    debates::Debates,
    error::CliError,
    hint_command::command,
    live, output,
    paint::Paint,
    text,
};
use rebut_engine::{
    clean::{for_people, on_one_line, shortened},
    formats::{Format, Shortfall},
    outcome::{Ending, Outcome},
    report,
    store::{Filter, Session, Status},
};
use std::{collections::BTreeMap, time::Duration};

pub async fn ls(global: &GlobalArgs, args: LsArgs) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let sessions = listed(&debates, &args).await?;
    let mut reasons = BTreeMap::new();
    for (session, _) in sessions.iter().filter(|(_, state)| *state == INTERRUPTED) {
        reasons.extend(
            debates
                .stalled(session.id)
                .await?
                .map(|why| (session.id, why)),
        );
    }
    if args.json {
        let rows = sessions.iter().map(|(session, state)| {
            let mut row = serde_json::to_value(session)?;
            row["status"] = (*state).into();
            row["stalled"] = reasons.get(&session.id).cloned().into();
            Ok(row)
        });
        let rows = rows
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error: serde_json::Error| CliError::failed(error.to_string()))?;
        output::print_json(&rows)?;
        return Ok(0);
    }
    if sessions.is_empty() {
        let why = if args.status.is_some() {
            "no such debates here"
        } else {
            "no debates here yet; try: rebut demo"
        };
        warn_line!("{why}");
        return Ok(0);
    }
    let paint = Paint::stdout();
    for (session, state) in &sessions {
        output::print(&row(session, state, paint))?;
    }
    if let (Some((session, _)), false) = (
        sessions.iter().find(|(_, state)| *state == WAITING),
        global.quiet,
    ) {
        let id = session.id.short();
        let [show, approve, reject] = [
            format!("show {id}"),
            format!("approve {id}"),
            format!("reject {id} --reason \"…\""),
        ]
        .map(|verb| command(format_args!("{verb}")));
        warn_line!("waiting for a person: {show}, then {approve} or {reject}");
    }
    for (id, why) in reasons.iter().filter(|_| !global.quiet) {
        warn_line!("{} is not gone on with: {}", id.short(), on_one_line(why));
    }
    let without_reason = |(session, state): &&(Session, &str)| {
        *state == INTERRUPTED && !reasons.contains_key(&session.id)
    };
    if let (Some((session, _)), false) = (sessions.iter().find(without_reason), global.quiet) {
        warn_line!(
            "interrupted: its process is gone; go on with: {}",
            command(format_args!("resume {}", session.id.short()))
        );
    }
    Ok(0)
}

/// The state of a debate that is recorded as running but that nobody runs.
const INTERRUPTED: &str = "interrupted";

/// The state of a debate that somebody runs, and that waits at a gate for a person.
const WAITING: &str = "waiting";

/// The sessions asked for, each with its state.
async fn listed(
    debates: &Debates,
    args: &LsArgs,
) -> Result<Vec<(Session, &'static str)>, CliError> {
    let wanted = args.status.as_deref().map(Wanted::parse).transpose()?;
    let status = wanted.as_ref().and_then(|wanted| wanted.status);
    // Neither who runs nor how it ended is in the table, so what is left out for that must not
    // count.
    let limit = if wanted.as_ref().is_some_and(|wanted| wanted.word.is_some()) {
        0
    } else {
        args.limit
    };
    let mut listed = Vec::new();
    for session in debates
        .sessions(&Filter {
            status,
            limit,
            ..Filter::default()
        })
        .await?
    {
        // The list of a server tells neither every column nor what a completed debate lacks.
        let session = if args.json || session.outcome.is_some() && may_lack(&session.format) {
            debates.whole(session).await?
        } else {
            session
        };
        let state = match session.status {
            Status::Running if !debates.is_run(session.id).await? => INTERRUPTED,
            Status::Running if debates.open_gate(session.id).await?.is_some() => WAITING,
            status => status.as_str(),
        };
        let word = wanted.as_ref().and_then(|wanted| wanted.word);
        if word.is_none_or(|word| word == state || word == shown(&session, state)) {
            listed.push((session, state));
        }
    }
    listed.truncate(if args.limit == 0 {
        usize::MAX
    } else {
        args.limit
    });
    Ok(listed)
}

struct Wanted<'a> {
    /// What the table tells of them.
    status: Option<Status>,
    /// What the list shows of them, where the table does not tell it.
    word: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    /// By a word that the list shows.
    fn parse(word: &'a str) -> Result<Self, CliError> {
        let endings = || {
            Ending::ALL
                .iter()
                .map(|ending| ending.as_str())
                .chain(Shortfall::ALL.iter().map(|lack| lack.as_str()))
        };
        match Status::parse(word) {
            Some(Status::Running) => Ok(Self {
                status: Some(Status::Running),
                word: Some(word),
            }),
            Some(status) => Ok(Self {
                status: Some(status),
                word: None,
            }),
            None if [INTERRUPTED, WAITING].contains(&word) => Ok(Self {
                status: Some(Status::Running),
                word: Some(word),
            }),
            None if endings().any(|ending| ending == word) => Ok(Self {
                status: None,
                word: Some(word),
            }),
            None => {
                let states = ["running", WAITING, INTERRUPTED, "paused"];
                let known = states
                    .into_iter()
                    .chain(endings())
                    .collect::<Vec<_>>()
                    .join(", ");
                Err(CliError::usage(format!("there is no status `{word}`")).hint(known))
            }
        }
    }
}

/// Whether debates of a format can be completed and still lack something.
fn may_lack(format: &str) -> bool {
    Format::named(format).is_some_and(|format| format.reading.is_some())
}

/// How a debate ended, or else where it stands.
fn shown(session: &Session, state: &'static str) -> &'static str {
    let outcome = session
        .outcome
        .as_deref()
        .and_then(|json| serde_json::from_str::<Outcome>(json).ok());
    let word = |outcome: &Outcome| {
        Shortfall::of(&session.format, outcome).map_or(outcome.outcome.as_str(), Shortfall::as_str)
    };
    outcome.as_ref().map_or(state, word)
}

fn row(session: &Session, state: &'static str, paint: Paint) -> String {
    let state = shown(session, state);
    let mark = if session.rehearsal {
        " (rehearsal)"
    } else {
        ""
    };
    let when = session
        .created_at
        .get(..16)
        .unwrap_or_default()
        .replace('T', " ");
    let topic = shortened(&on_one_line(&session.topic), 70).into_owned();
    format!(
        "{}  {}  {}  {}  {topic}{}\n",
        paint.strong(&session.id.short()),
        paint.faint(&when),
        text::padded(state, 11),
        text::padded(&session.format, 9),
        paint.faint(mark)
    )
}

pub async fn show(global: &GlobalArgs, args: ShowArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let debates = Debates::open(&app).await?;
    let id = debates.find(&args.id.id).await?;
    if args.events {
        debates
            .records(id)
            .await?
            .iter()
            .try_for_each(print_event)?;
        return Ok(0);
    }
    let view = debates.view(id).await?;
    if args.json {
        output::print_json(&report::document(&view))?;
    } else if args.transcript {
        output::print(&for_people(&report::transcript(&view)))?;
    } else {
        output::print(&text::result(
            &view,
            true,
            app.go_on(&view).as_deref(),
            Paint::stdout(),
        ))?;
        if view.open_gate.is_some() && !debates.is_run(id).await? {
            let why = if view.paused {
                "it is paused"
            } else {
                "its process is gone"
            };
            warn_line!(
                "{why}: what is decided is kept, and it goes on with: {}",
                command(format_args!("resume {}", id.short()))
            );
        }
    }
    Ok(0)
}

pub async fn watch(global: &GlobalArgs, args: WatchArgs) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let id = debates.find(&args.id.id).await?;
    let mut watch = debates.watch(id, args.after).await?;
    // A server goes on by itself with what was interrupted.
    let is_here = matches!(debates, Debates::Here(_));
    let mut is_gone = false;
    loop {
        let next = tokio::select! {
            biased;
            next = watch.next() => next?,
            () = tokio::time::sleep(LOOK), if is_here => {
                // Twice, since its last event and the end of its claim are one: whatever it wrote
                // has been read by the second time.
                if is_gone {
                    warn_line!("interrupted: its process is gone; go on with: \
                        {}", command(format_args!("resume {}", id.short())));
                    return Ok(Ending::Cancelled.exit_code());
                }
                is_gone = !debates.is_run(id).await?;
                continue;
            }
        };
        is_gone = false;
        let Some(record) = next else { return Ok(0) };
        match (args.stream_json, record.event()) {
            (true, _) => print_event(&record)?,
            (false, Ok(Some(event))) => output::print(&format!(
                "[{}] {}\n",
                record.seq,
                live::line(&record, &event)
            ))?,
            (false, _) => {
                output::print(&format!("[{}] {}\n", record.seq, on_one_line(&record.kind)))?
            }
        }
    }
}

/// After so long without an event a watcher looks whether somebody still runs the debate.
const LOOK: Duration = Duration::from_millis(500);
