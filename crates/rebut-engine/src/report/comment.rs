//! A review as a comment on a change: short, with a mark by which the next run finds and replaces
//! it. Pure.

use super::markdown::cost;
use crate::{
    clean::{as_inline_code, for_comment as md, on_one_line, shortened},
    formats::review::{
        ReviewResult,
        audit::TIE,
        locate::Spot,
        operations::Merged,
        render::{place_words, ruling_on, silent_reviewers, spots},
        result::counted,
    },
    view::View,
};
use std::fmt::Write;

/// The first line of every such comment.
pub const MARKER: &str = "<!-- rebut:review -->";

/// Hosts take comments up to some size; a longer one says what is left out.
const MOST_BYTES: usize = 60_000;

/// A comment for a change in which there was nothing to review, so that none of an earlier run
/// stays.
pub fn empty_comment(why: &str) -> String {
    format!(
        "{MARKER}\n**rebut review**: nothing to review: {}\n",
        md(why)
    )
}

/// A review as a comment; an error in words for anything that is none.
pub fn comment(view: &View) -> Result<String, String> {
    let result = ReviewResult::of(view)
        .ok_or("only a review that ended with a result can be written as a comment")?;
    let mut text = format!(
        "{MARKER}\n**rebut review**: {}\n",
        first_line(view, &result)
    );
    if view
        .started
        .as_ref()
        .is_some_and(|started| started.rehearsal)
    {
        text.push_str("\n> Rehearsal: the built-in speaker answered, not a model.\n");
    }
    let degraded = view.outcome.iter().flat_map(|outcome| &outcome.degraded);
    for absence in degraded {
        let _ = writeln!(
            text,
            "\n> Missing: {} ({} at {})",
            md(&absence.agent),
            absence.reason,
            as_inline_code(&absence.turn)
        );
    }
    let mut left_out = 0;
    text.push('\n');
    let mut findings: Vec<_> = result.merged.iter().zip(spots(view, &result)).collect();
    // The worst first; of one severity, as they were merged.
    findings.sort_by_key(|(merged, _)| std::cmp::Reverse(merged.operation.severity));
    for (merged, spot) in findings {
        let finding = finding(merged, spot);
        if text.len() + finding.len() > MOST_BYTES {
            left_out += 1;
        } else {
            text.push_str(&finding);
        }
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "\n{} left out; see the report.",
            counted(left_out, "operation")
        );
    }
    for conflict in &result.conflicts {
        let block = details(view, &result, conflict);
        if text.len() + block.len() <= MOST_BYTES {
            text.push_str(&block);
        }
    }
    Ok(text)
}

fn first_line(view: &View, result: &ReviewResult) -> String {
    let mut parts: Vec<String> = result
        .by_severity()
        .into_iter()
        .map(|(severity, count)| format!("{count} {}", severity.as_str()))
        .collect();
    let silent = silent_reviewers(view, result);
    if parts.is_empty() {
        // Who is missing does not agree.
        parts.push(
            if silent == 0 {
                "nothing to change"
            } else {
                "nothing found"
            }
            .to_owned(),
        );
    }
    if silent > 0 {
        parts.push(format!("{} missing", counted(silent, "reviewer")));
    }
    if !result.conflicts.is_empty() {
        parts.push(counted(result.conflicts.len(), "conflict"));
    }
    parts.push(cost(view.spent().cost_usd));
    parts.join(" · ")
}

fn finding(merged: &Merged, spot: Option<Spot>) -> String {
    let operation = &merged.operation;
    let place = spot
        .map(|spot| format!(" {}", as_inline_code(&place_words(&spot))))
        .unwrap_or_default();
    let does = on_one_line(&operation.text);
    let does = if does.is_empty() {
        String::new()
    } else {
        format!(" → {}", md(&shortened(&does, 600)))
    };
    let unverified = if operation.misquotes() {
        " _(quotes what is not there)_"
    } else {
        ""
    };
    format!(
        "- **{}** {}{place} on {}: {}{does}{unverified} ({})\n",
        operation.severity.as_str(),
        operation.kind.name(),
        md(&operation.target),
        md(&shortened(&on_one_line(&operation.rationale), 600)),
        merged
            .proposed_by
            .iter()
            .map(|by| md(by))
            .collect::<Vec<_>>()
            .join(", ")
    )
}

fn details(view: &View, result: &ReviewResult, conflict: &crate::facts::Conflict) -> String {
    let mut text = format!(
        "\n<details><summary>{} {}: {}</summary>\n\n",
        md(&conflict.id),
        md(&conflict.description),
        md(&conflict.agents.join(" ✕ "))
    );
    for id in &conflict.operations {
        let Some(operation) = result
            .operations
            .iter()
            .find(|operation| operation.id == *id)
        else {
            continue;
        };
        let says = [operation.text.trim(), operation.rationale.trim()]
            .into_iter()
            .filter(|part| !part.is_empty());
        let says = says.map(on_one_line).collect::<Vec<_>>().join(" — ");
        let _ = writeln!(
            text,
            "- {} {}: {}",
            md(&operation.by),
            operation.kind.name(),
            md(&shortened(&says, 600))
        );
    }
    for dropped in result
        .dropped
        .iter()
        .filter(|dropped| conflict.operations.contains(&dropped.operation))
    {
        let _ = writeln!(
            text,
            "- dropped {}: {}",
            md(&dropped.operation),
            md(&dropped.because)
        );
    }
    if let Some(ruling) = ruling_on(view, conflict) {
        let winner = ruling.winner.as_deref().map_or_else(
            || TIE.to_owned(),
            |winner| format!("{} argued better", md(winner)),
        );
        let _ = writeln!(
            text,
            "- debated: {winner} (logged only, the merge does not depend on it)"
        );
    }
    text.push_str("\n</details>\n");
    text
}
