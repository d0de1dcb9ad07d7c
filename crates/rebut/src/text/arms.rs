//! Control arms as people read them on a terminal: what was counted, who moved, how an arm compares
//! with a debate.

use super::{cost_line, plural, short, write_choose};
use crate::{hint_command::command, paint::Paint};
use rebut_engine::{
    clean::on_one_line,
    event::Started,
    formats::baselines::{ArmResult, poll, single, society},
    outcome::{Ending, Outcome},
    view::View,
};
use std::fmt::Write;

/// What of an arm's settings matters to a reader; `None` when it is none.
pub fn heading(started: &Started) -> Option<String> {
    let judges = plural(started.agents.len() as u64, "judge");
    let bar = |threshold: f64| {
        if threshold == 0.0 {
            "plurality".to_owned()
        } else {
            format!("threshold {threshold}")
        }
    };
    let words = match started.format.as_str() {
        name if name == single::FORMAT.name => started
            .agents
            .first()
            .map(|agent| agent.name.to_string())
            .unwrap_or_default(),
        name if name == poll::FORMAT.name => {
            let config = poll::Config::parse(&started.config).ok()?;
            let answers = plural(config.planned(started.agents.len()) as u64, "answer");
            format!("{judges} · {answers} · {}", bar(config.threshold))
        }
        name if name == society::FORMAT.name => {
            let config = society::Config::parse(&started.config).ok()?;
            format!(
                "{judges} · ≤{} · {}",
                plural(config.rounds.into(), "round"),
                bar(config.threshold)
            )
        }
        _ => return None,
    };
    Some(format!("{} · {words}", started.format))
}

/// The debate an arm is compared with, in one line.
pub fn compared_with(started: &Started) -> Option<String> {
    let id = started
        .input
        .get("baseline_of")
        .and_then(|id| id.as_str())
        .filter(|id| !id.is_empty())?;
    let short: String = on_one_line(id).chars().take(8).collect();
    Some(format!(
        "baseline of {short}  →  {}",
        command(format_args!("show {short}"))
    ))
}

/// How an arm ended. Says whether it was one.
pub fn write_outcome(text: &mut String, view: &View, outcome: &Outcome, paint: Paint) -> bool {
    let Ok(result) = serde_json::from_value::<ArmResult>(outcome.result.clone()) else {
        return false;
    };
    let word = match outcome.outcome {
        Ending::Consensus => paint.good("AGREED"),
        Ending::Majority => paint.good("MAJORITY"),
        Ending::Completed => paint.good("ANSWERED"),
        Ending::Contested => paint.attention("CONTESTED"),
        _ => return false,
    };
    let _ = writeln!(
        text,
        "{word}  {}",
        paint.strong(&on_one_line(&outcome.summary))
    );
    if result.answers > 1 {
        let sides = result
            .distribution
            .iter()
            .map(|(answer, voters)| format!("{} {}", on_one_line(answer), voters.len()));
        let _ = writeln!(
            text,
            "  counted   {}",
            sides.collect::<Vec<_>>().join(" · ")
        );
    }
    if let [first, .., last] = result.rounds.as_slice() {
        let name = |winner: &Option<String>| {
            winner
                .as_deref()
                .map_or_else(|| "nobody".to_owned(), on_one_line)
        };
        let _ = writeln!(
            text,
            "  winners   {} after round 1, {} after round {}",
            name(&first.winner),
            name(&last.winner),
            last.round
        );
    }
    for change in &result.changes {
        let (from, to) = (on_one_line(&change.from), on_one_line(&change.to));
        let _ = writeln!(
            text,
            "  changed   {} {from} → {to} in round {}: “{}”",
            change.judge, change.round, change.reason
        );
    }
    if outcome.outcome == Ending::Contested {
        write_choose(text, view);
    }
    true
}

/// A debate and its arm side by side.
pub fn comparison(debate: &View, arm: &View, agrees: Option<bool>, paint: Paint) -> String {
    let format = |view: &View| {
        view.started
            .as_ref()
            .map(|started| started.format.clone())
            .unwrap_or_default()
    };
    let summary = arm.outcome.as_ref().map(|outcome| {
        format!(
            "{}: {}",
            outcome.outcome.as_str(),
            on_one_line(&outcome.summary)
        )
    });
    let verdict = match agrees {
        Some(true) => paint.good("agrees"),
        Some(false) => paint.attention("disagrees"),
        None => paint.faint("nothing to compare: one of them has no winner"),
    };
    let mut text = format!(
        "{}  {} {}  {verdict}\n",
        paint.strong("BASELINE"),
        format(arm),
        summary.unwrap_or_default()
    );
    for view in [debate, arm] {
        let id = short(view);
        let line = format!(
            "{} · {id}  →  {}",
            cost_line(view),
            command(format_args!("show {id}"))
        );
        let _ = writeln!(
            text,
            "  {}  {}",
            super::padded(&format(view), 8),
            paint.faint(&line)
        );
    }
    text
}
