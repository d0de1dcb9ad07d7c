//! `rebut retally`: a debate's votes counted again, by another method, threshold or panel. Nobody
//! is asked, nothing is changed.

use super::vote;
use crate::{
    app::App,
    cli::{GlobalArgs, RetallyArgs},
    debates::Debates,
    error::CliError,
    output,
    paint::Paint,
};
use rebut_engine::{
    clean::on_one_line,
    retally::{Retallied, Retally, Vote, Votes, retally},
    voting::{auto, method},
};
use std::fmt::Write;

/// `rebut retally`. Exit code 0 if somebody wins, 3 if nobody does, as after a debate.
pub async fn run(global: &GlobalArgs, args: RetallyArgs) -> Result<u8, CliError> {
    let debates = Debates::open(&App::open(global, &[])?).await?;
    let view = debates.view(debates.find(&args.id.id).await?).await?;
    let is_out = |vote: &Vote| {
        args.without
            .iter()
            .any(|name| *name == vote.voter || *name == vote.agent)
    };
    let voters = || {
        Votes::of(&view, args.round).map_or(0, |votes| {
            votes
                .votes
                .iter()
                .filter(|vote| vote.choice.is_some() && !is_out(vote))
                .count()
        })
    };
    let method = args.method.as_deref().and_then(|name| {
        if name == "auto" {
            Some(auto(voters()))
        } else {
            method(name)
        }
    });
    let asked = Retally {
        // Clap has checked the name against the same table.
        method,
        threshold: args.threshold,
        without: args.without,
        round: args.round,
        weigh: args.weigh,
        tie_break: args.tie_break,
    };
    let counted = retally(&view, &asked).map_err(CliError::usage)?;
    if args.json {
        output::print_json(&counted)?;
    } else {
        output::print(&in_words(&counted, Paint::stdout()))?;
    }
    Ok(if counted.winner.is_some() { 0 } else { 3 })
}

fn in_words(counted: &Retallied, paint: Paint) -> String {
    let word = if counted.flips {
        paint.attention("FLIPS")
    } else {
        paint.good("STANDS")
    };
    let mut text = format!("{word}  {}\n", paint.strong(&on_one_line(&counted.summary)));
    let mut how = vec![if counted.method == "rule" {
        "the debate's own rule".to_owned()
    } else {
        counted.method.clone()
    }];
    how.extend(
        counted
            .threshold
            .map(|threshold| format!("threshold {threshold}")),
    );
    how.extend(
        (!counted.without.is_empty()).then(|| format!("without {}", counted.without.join(", "))),
    );
    how.extend(
        (!counted.missing.is_empty())
            .then(|| format!("missing, for nobody: {}", counted.missing.join(", "))),
    );
    let _ = writeln!(text, "{}", paint.faint(&how.join(" · ")));
    let candidates: Vec<String> = counted.count.scores.keys().cloned().collect();
    vote::write_working(&mut text, &counted.count, &candidates, paint);
    text
}
