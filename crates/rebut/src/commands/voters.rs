//! `rebut voters`, and the weights that `--weights learned` takes from the same history.

use crate::{
    app::App,
    cli::{GlobalArgs, JsonArg},
    debates::Debates,
    error::CliError,
    hint_command::command,
    output,
    paint::Paint,
    text::padded,
};
use rebut_engine::{
    agent::Agent,
    clean::on_one_line,
    formats::weights::Weights,
    learning::kept::{ENOUGH, Kept, VoterRow},
    store::{Filter, Status},
};
use serde::Serialize;
use std::fmt::Write;

#[derive(Serialize)]
struct Voters {
    debates: usize,
    /// Whether there are enough of them to go by.
    enough: bool,
    /// How many independent voters all of them are worth, equal votes; null without history.
    effective_voters: Option<f64>,
    voters: Vec<VoterRow>,
}

pub async fn run(global: &GlobalArgs, args: JsonArg) -> Result<u8, CliError> {
    let kept = history(&Debates::open(&App::open(global, &[])?).await?).await?;
    let (rows, worth) = kept.table();
    let debates = kept.debates();
    if args.json {
        let worth = (debates > 0).then_some(worth);
        output::print_json(&Voters {
            debates,
            enough: debates >= ENOUGH,
            effective_voters: worth,
            voters: rows,
        })?;
        return Ok(0);
    }
    output::print(&words(debates, &rows, worth, Paint::stdout()))?;
    Ok(0)
}

/// What is learned from every marked debate.
pub async fn history(debates: &Debates) -> Result<Kept, CliError> {
    let mut kept = Kept::default();
    // Oldest first, so that voters keep their places as debates are added.
    let mut sessions = debates
        .sessions(&Filter {
            status: Some(Status::Completed),
            ..Filter::default()
        })
        .await?;
    sessions.reverse();
    for session in sessions {
        match debates.view(session.id).await {
            Ok(view) => {
                kept.add(&view);
            }
            // Listed, and its journal is gone.
            Err(error) if error.is_usage() => {
                warn_line!(
                    "{} is left out: {error}; `rebut audit verify` says more",
                    session.id.short()
                );
            }
            Err(error) => return Err(error),
        }
    }
    Ok(kept)
}

/// The learned weights of a panel, and one line that says where they come from.
pub async fn learned(debates: &Debates, agents: &[Agent]) -> Result<(Weights, String), CliError> {
    let kept = history(debates).await?;
    let weights = kept.weights(agents);
    let from = debates_word(kept.debates());
    let few = if kept.debates() < ENOUGH {
        format!(" (few: {ENOUGH} are enough to go by)")
    } else {
        String::new()
    };
    let line = match weights.words() {
        None if kept.debates() == 0 => {
            "weights: no debate is marked (rebut mark), so every vote counts the same".to_owned()
        }
        None => {
            format!("weights: {from} tell these judges not apart, so every vote counts the same")
        }
        Some(words) => format!(
            "weights learned from {from}{few}: {words}; worth {:.1} independent votes",
            kept.worth(agents, &weights)
        ),
    };
    Ok((weights, line))
}

fn words(debates: usize, rows: &[VoterRow], worth: f64, paint: Paint) -> String {
    if debates == 0 {
        let mark = command("mark ID OPTION");
        return format!(
            "no debate is marked yet: every vote counts the same (plain plurality)\nmark what \
             turned out right: {mark}\n"
        );
    }
    let mut text = String::new();
    let width = |of: fn(&VoterRow) -> &str, least: usize| {
        rows.iter()
            .map(|row| on_one_line(of(row)).chars().count())
            .max()
            .unwrap_or(0)
            .max(least)
    };
    let (model, role, family) = (
        width(|row| &row.model, 5),
        width(|row| &row.role, 4),
        width(|row| &row.family, 6),
    );
    let head = format!(
        "{}  {}  {}  answers  right  rate             weight",
        padded("model", model),
        padded("role", role),
        padded("family", family)
    );
    let _ = writeln!(text, "{}", paint.faint(&head));
    for row in rows {
        let rate = format!(
            "{:.2} [{:.2} {:.2}]",
            row.rate.value, row.rate.low, row.rate.high
        );
        let _ = writeln!(
            text,
            "{}  {}  {}  {:>7}  {:>5}  {rate}  {}",
            padded(&on_one_line(&row.model), model),
            padded(&on_one_line(&row.role), role),
            padded(&on_one_line(&row.family), family),
            row.answers,
            row.right,
            paint.strong(&row.weight.to_string())
        );
    }
    let voters = if rows.len() == 1 {
        "1 voter is".to_owned()
    } else {
        format!("{} voters are", rows.len())
    };
    let _ = writeln!(
        text,
        "{}; {voters} worth {worth:.1} independent ones",
        debates_word(debates)
    );
    if debates < ENOUGH {
        let _ = writeln!(
            text,
            "{}",
            paint.attention(&format!(
                "too little to go by: from {ENOUGH} marked debates on, weights mean something"
            ))
        );
    }
    text
}

fn debates_word(count: usize) -> String {
    if count == 1 {
        "1 marked debate".to_owned()
    } else {
        format!("{count} marked debates")
    }
}
