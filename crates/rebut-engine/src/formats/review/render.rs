//! How a review is read by people: a heading, lines for a terminal, and the transcript. What has
//! not ended is read as far as it came.

use super::{
    audit::TIE,
    config::Config,
    input::{Input, TextKind},
    locate::{Lines, Spot},
    operations::{Merged, Operation},
    replies::{Argument, Critique, Rebuttal},
    result::{EditState, ReviewResult, counted},
    roles::is_reviewer,
};
use crate::{
    clean::{as_block, for_markdown, on_one_line, shortened},
    event::Started,
    facts::{Conflict, Ruling},
    reply::Reply,
    report::write_panel,
    view::{TurnState, View},
};
use std::{fmt::Write, sync::Arc};

/// What of the settings matters to a reader.
pub fn heading(started: &Started) -> String {
    let mut parts = vec![counted(
        started
            .agents
            .iter()
            .filter(|agent| is_reviewer(agent))
            .count(),
        "reviewer",
    )];
    let Ok(config) = Config::parse(&started.config) else {
        return parts.concat();
    };
    if let Ok(input) = Input::parse(&started.input) {
        match input.kind {
            TextKind::Diff => parts.push(format!("diff against {}", on_one_line(&input.base))),
            TextKind::Text if !config.edit => parts.push("not edited".to_owned()),
            TextKind::Text => {}
        }
    }
    parts.push(format!(
        "debate {}",
        if config.debate.enabled { "on" } else { "off" }
    ));
    parts.join(" · ")
}

/// What happened and what came out, for a terminal.
pub fn lines(view: &View) -> Vec<String> {
    let Some(result) = ReviewResult::of(view) else {
        return open_lines(view);
    };
    let mut lines = vec![first_line(view, &result)];
    lines.extend(
        result
            .conflicts
            .iter()
            .map(|conflict| conflict_line(&result, conflict)),
    );
    lines.extend(debate_lines(view, &result));
    lines.push(merged_line(&result));
    let spots = spots(view, &result);
    lines.extend(
        result
            .merged
            .iter()
            .zip(spots)
            .map(|(merged, spot)| operation_line(merged, spot)),
    );
    for dropped in &result.dropped {
        lines.push(format!(
            "  dropped   {}: {}",
            dropped.operation, dropped.because
        ));
    }
    lines.extend(editing_line(&result));
    if let Some(debate) = &result.debate {
        lines.push("  note      judge scores are logged, they do not change the merge".to_owned());
        for feedback in debate
            .judge_feedback
            .iter()
            .filter(|feedback| !feedback.policy_signal.is_empty())
        {
            lines.push(format!(
                "  policy    {} “{}”",
                feedback.role,
                shortened(&feedback.policy_signal, 100)
            ));
        }
    }
    lines
}

/// How many reviewers were asked and are not in the result.
pub fn silent_reviewers(view: &View, result: &ReviewResult) -> usize {
    let asked = view
        .started
        .iter()
        .flat_map(|started| &started.agents)
        .filter(|agent| is_reviewer(agent))
        .count();
    asked.saturating_sub(result.reviewers.len())
}

pub fn spots(view: &View, result: &ReviewResult) -> Vec<Option<Spot>> {
    let input = view
        .started
        .as_ref()
        .and_then(|started| Input::parse(&started.input).ok());
    let Some(input) = input else {
        return vec![None; result.merged.len()];
    };
    let lines = Lines::of(&input);
    result
        .merged
        .iter()
        .map(|merged| lines.find(&merged.operation))
        .collect()
}

fn first_line(view: &View, result: &ReviewResult) -> String {
    let debated = result.debate.as_ref().map(|debate| {
        let pairs = debate.pairs.len() + debate.failed_pairs.len();
        let most = view
            .started
            .as_ref()
            .and_then(|started| Config::parse(&started.config).ok())
            .map_or(0, |config| config.debate.max_pairs);
        format!(" → {} (max {most})", counted(pairs, "pair"))
    });
    format!(
        "{} · {} · {}{}",
        counted(result.reviewers.len(), "reviewer"),
        counted(result.operations.len(), "operation"),
        counted(result.conflicts.len(), "conflict"),
        debated.unwrap_or_default()
    )
}

fn conflict_line(result: &ReviewResult, conflict: &Conflict) -> String {
    let side = |at: usize| {
        let operation = result
            .operations
            .iter()
            .find(|operation| operation.id == conflict.operations[at]);
        let kind = operation
            .map(|operation| format!(" {}{}", operation.kind.row().sign, operation.kind.name()));
        format!("{}{}", conflict.agents[at], kind.unwrap_or_default())
    };
    format!(
        "  {} {}  {}  ✕  {}",
        conflict.id,
        on_one_line(&conflict.target),
        side(0),
        side(1)
    )
}

fn debate_lines(view: &View, result: &ReviewResult) -> Vec<String> {
    let Some(debate) = &result.debate else {
        return Vec::new();
    };
    // Pairs are logged in the order of their conflicts, and only those with a verdict.
    let ruled = result
        .conflicts
        .iter()
        .filter_map(|conflict| Some((conflict, ruling_on(view, conflict)?)));
    let judged = debate
        .pairs
        .iter()
        .zip(debate.judge_feedback.chunks(2))
        .zip(ruled)
        .map(|((pair, feedback), (conflict, ruling))| {
            let sides = feedback.iter().map(|side| {
                let labels = if side.argument_labels.is_empty() {
                    String::new()
                } else {
                    format!(" “{}”", side.argument_labels.join(", "))
                };
                format!(
                    "{} {}{}",
                    side.role,
                    side.argument_quality_score,
                    shortened(&labels, 60)
                )
            });
            let ending = if pair.winner == TIE {
                TIE.to_owned()
            } else {
                format!("winner {}", pair.winner)
            };
            let flipped = if ruling.flipped {
                " (the verdict flipped with the order)"
            } else {
                ""
            };
            format!(
                "Pair {}  {}  {ending}{flipped}",
                conflict.id,
                sides.collect::<Vec<_>>().join("  ·  ")
            )
        });
    let failed = debate.failed_pairs.iter().map(|pair| {
        format!(
            "Pair {}  {} · {}  failed: {}",
            pair.id,
            pair.role_a,
            pair.role_b,
            shortened(&on_one_line(&pair.why), 160)
        )
    });
    judged.chain(failed).collect()
}

/// The verdict on a conflict, if it was judged; it is named `C1 Add vs Remove on …`.
pub fn ruling_on<'a>(view: &'a View, conflict: &Conflict) -> Option<&'a Ruling> {
    view.verdicts
        .iter()
        .find(|ruling| ruling.about.split(' ').next() == Some(&conflict.id))
        .map(|ruling| &**ruling)
}

fn merged_line(result: &ReviewResult) -> String {
    let order = result.order.join(" > ");
    format!(
        "MERGED {} of {} (order: {order})",
        result.merged.len(),
        counted(result.operations.len(), "operation")
    )
}

fn operation_line(merged: &Merged, spot: Option<Spot>) -> String {
    let Operation {
        kind,
        severity,
        target,
        text,
        rationale,
        ..
    } = &merged.operation;
    let place = spot
        .map(|spot| format!(" {}", place_words(&spot)))
        .unwrap_or_default();
    let says = if text.trim().is_empty() {
        rationale
    } else {
        text
    };
    let unverified = if merged.operation.misquotes() {
        " (quotes what is not there)"
    } else {
        ""
    };
    let by = merged.proposed_by.join(", ");
    let says = on_one_line(says);
    format!(
        "  {:<9} {}{} {target}{place}: {}{unverified} [{by}]",
        severity.as_str(),
        kind.row().sign,
        kind.name(),
        shortened(&says, 110)
    )
}

pub fn place_words(spot: &Spot) -> String {
    match (spot.file.is_empty(), spot.line) {
        (false, Some(line)) => format!("{}:{line}", on_one_line(&spot.file)),
        (false, None) => on_one_line(&spot.file),
        (true, Some(line)) => format!("line {line}"),
        (true, None) => String::new(),
    }
}

fn editing_line(result: &ReviewResult) -> Option<String> {
    let editing = &result.editing;
    match editing.state {
        EditState::Done => {
            let left = editing
                .not_applied
                .iter()
                .map(|left| format!("; not {}: {}", left.operation, on_one_line(&left.reason)));
            Some(format!(
                "  edited    {} applied{}",
                counted(editing.applied.len(), "operation"),
                left.collect::<String>()
            ))
        }
        EditState::Missing | EditState::NoEditor | EditState::Stopped => {
            Some(format!("  unedited  {}", shortened(&editing.detail, 160)))
        }
        EditState::Off | EditState::Diff | EditState::NothingToApply => None,
    }
}

/// A review that has no result (yet): who answered, and what was found so far.
fn open_lines(view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    for turn in &view.turns {
        let word = match turn.state {
            TurnState::Done => "answered",
            TurnState::Thinking => "asked, no answer yet",
            TurnState::Failed => "did not answer",
        };
        lines.push(format!("  {}  {word}", on_one_line(&turn.turn)));
    }
    lines.extend(facts_so_far(view));
    lines
}

/// What was found so far: the same in every re-run, whoever was being asked when it ended.
fn facts_so_far(view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    for conflict in &view.conflicts {
        lines.push(format!(
            "  {} {}: {}",
            conflict.id,
            on_one_line(&conflict.description),
            conflict.agents.join(" ✕ ")
        ));
    }
    if let Some(merge) = &view.merge {
        lines.push(format!(
            "MERGED {} of {}",
            merge.merged.len(),
            counted(proposed(view), "operation")
        ));
    }
    lines
}

/// How many operations were proposed; those that were joined to another are neither merged nor
/// dropped.
fn proposed(view: &View) -> usize {
    let reviewers = view
        .started
        .iter()
        .flat_map(|started| &started.agents)
        .filter(|agent| is_reviewer(agent));
    reviewers
        .filter_map(|agent| said::<Critique>(view, &format!("review/{}", agent.name)))
        .map(|critique| critique.operations.len())
        .sum()
}

/// The same in full as Markdown.
pub fn transcript(view: &View) -> String {
    let mut text = String::new();
    let Some(started) = &view.started else {
        return text;
    };
    write_panel(&mut text, &started.agents, |agent| {
        for_markdown(&agent.stance)
    });
    let Some(result) = ReviewResult::of(view) else {
        write_open(&mut text, view);
        return text;
    };
    write_reviews(&mut text, &result);
    write_conflicts(&mut text, &result);
    write_merge(&mut text, &result);
    write_debate(&mut text, view, &result);
    write_end(&mut text, view);
    text
}

fn write_open(text: &mut String, view: &View) {
    for round in view.rounds.iter().filter(|round| round.completed) {
        let _ = writeln!(text, "\n## {}\n", for_markdown(&round.step));
        for agent in &round.agents {
            let missing = round
                .absent
                .iter()
                .find(|absence| *absence.agent == **agent);
            let word = missing.map_or_else(
                || "answered".to_owned(),
                |absence| format!("missing: {}", absence.reason),
            );
            let _ = writeln!(text, "- {} {word}", for_markdown(agent));
        }
    }
    for line in facts_so_far(view) {
        let _ = writeln!(text, "- {}", for_markdown(&line));
    }
    write_end(text, view);
}

fn write_end(text: &mut String, view: &View) {
    if let Some(outcome) = &view.outcome {
        let _ = writeln!(
            text,
            "\n## {}\n\n{}",
            outcome.outcome.as_str().to_uppercase(),
            for_markdown(&outcome.summary)
        );
    }
}

fn write_reviews(text: &mut String, result: &ReviewResult) {
    for reviewer in &result.reviewers {
        let _ = writeln!(
            text,
            "\n## {} reviews\n\n{}",
            for_markdown(&reviewer.name),
            for_markdown(&reviewer.summary)
        );
        text.push_str(if reviewer.operations > 0 { "\n" } else { "" });
        for operation in result
            .operations
            .iter()
            .filter(|operation| *operation.by == *reviewer.name)
        {
            write_operation(text, operation);
        }
    }
}

fn write_operation(text: &mut String, operation: &Operation) {
    let Operation {
        id,
        kind,
        severity,
        target,
        location,
        confidence,
        ..
    } = operation;
    let place = if location.is_empty() {
        String::new()
    } else {
        format!(" at {}", for_markdown(location))
    };
    let _ = writeln!(
        text,
        "- `{id}` {} ({}) on {}{place}, confidence {confidence:.2}",
        kind.name(),
        severity.as_str(),
        for_markdown(target)
    );
    if !operation.text.trim().is_empty() {
        let _ = writeln!(text, "  - do: {}", for_markdown(&operation.text));
    }
    let _ = writeln!(text, "  - why: {}", for_markdown(&operation.rationale));
    if !operation.evidence.trim().is_empty() {
        let word = if operation.verified {
            "evidence"
        } else {
            "evidence, unverified: not in the text"
        };
        let _ = writeln!(text, "  - {word}: “{}”", for_markdown(&operation.evidence));
    }
}

fn write_conflicts(text: &mut String, result: &ReviewResult) {
    if result.conflicts.is_empty() {
        return;
    }
    text.push_str("\n## Conflicts\n\n");
    for conflict in &result.conflicts {
        let direct = if conflict.is_direct {
            ""
        } else {
            " (not direct)"
        };
        let _ = writeln!(
            text,
            "- **{}** {}: `{}`{direct}",
            conflict.id,
            for_markdown(&conflict.description),
            conflict.operations.join("` against `")
        );
    }
}

fn write_merge(text: &mut String, result: &ReviewResult) {
    let _ = writeln!(
        text,
        "\n## Merged\n\nOrder: {}",
        for_markdown(&result.order.join(" > "))
    );
    text.push_str(if result.operations.is_empty() {
        ""
    } else {
        "\n"
    });
    for merged in &result.merged {
        let Operation {
            id,
            kind,
            severity,
            target,
            ..
        } = &merged.operation;
        let _ = writeln!(
            text,
            "- `{id}` {} ({}) on {}, by {}",
            kind.name(),
            severity.as_str(),
            for_markdown(target),
            merged.proposed_by.join(", ")
        );
    }
    for dropped in &result.dropped {
        let _ = writeln!(
            text,
            "- dropped `{}`: {}",
            dropped.operation,
            for_markdown(&dropped.because)
        );
    }
    let editing = &result.editing;
    match &result.edited {
        Some(edited) => {
            let _ = writeln!(
                text,
                "\n## Edited\n\nApplied: {}\n",
                for_markdown(&editing.applied.join(", "))
            );
            for left in &editing.not_applied {
                let _ = writeln!(
                    text,
                    "- not applied `{}`: {}",
                    left.operation,
                    for_markdown(&left.reason)
                );
            }
            text.push_str(if editing.not_applied.is_empty() {
                ""
            } else {
                "\n"
            });
            text.push_str(&as_block(edited));
        }
        None => {
            let _ = writeln!(text, "\nNot edited: {}.", for_markdown(&editing.detail));
        }
    }
}

fn write_debate(text: &mut String, view: &View, result: &ReviewResult) {
    let Some(debate) = &result.debate else {
        let _ = writeln!(text, "\nNo debate: {}.", for_markdown(&result.no_debate));
        return;
    };
    text.push_str("\n## Debate\n\nIt is logged only; nothing above depends on it.\n");
    for conflict in &result.conflicts {
        write_pair(text, view, conflict);
    }
    for pair in &debate.failed_pairs {
        let (about, why) = (for_markdown(&pair.conflict), for_markdown(&pair.why));
        let _ = writeln!(
            text,
            "\nFailed: {} {} · {} on {about}: {why}",
            pair.id, pair.role_a, pair.role_b
        );
    }
    text.push_str(if debate.judge_feedback.is_empty() {
        ""
    } else {
        "\n"
    });
    for feedback in &debate.judge_feedback {
        let labels = for_markdown(&feedback.argument_labels.join(", "));
        let signal = if feedback.policy_signal.is_empty() {
            "no signal"
        } else {
            &for_markdown(&feedback.policy_signal)
        };
        let _ = writeln!(
            text,
            "- {} {}: {labels}; {signal}",
            feedback.role, feedback.argument_quality_score
        );
    }
}

/// What two sides said about one conflict, and the verdict.
fn write_pair(text: &mut String, view: &View, conflict: &Conflict) {
    let mut spoken = String::new();
    for agent in sides_heard(view, "argue", conflict) {
        if let Some(said) = said::<Argument>(view, &turn_name("argue", conflict, agent)) {
            let _ = writeln!(
                spoken,
                "- {} argues: {}",
                for_markdown(agent),
                for_markdown(&said.argument)
            );
        }
    }
    for agent in sides_heard(view, "rebut", conflict) {
        if let Some(said) = said::<Rebuttal>(view, &turn_name("rebut", conflict, agent)) {
            let _ = writeln!(
                spoken,
                "- {} answers: {}",
                for_markdown(agent),
                for_markdown(&said.rebuttal)
            );
        }
    }
    if spoken.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n### {} {}\n\n{}",
        conflict.id,
        for_markdown(&conflict.description),
        spoken.trim_end()
    );
    if let Some(ruling) = ruling_on(view, conflict) {
        let winner = ruling.winner.as_deref().unwrap_or(TIE);
        let scores: Vec<String> = ruling
            .scores
            .iter()
            .map(|(side, score)| format!("{side} {score}"))
            .collect();
        let flipped = if ruling.flipped {
            ", the verdict flipped with the order"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "- verdict: {winner} ({}){flipped}: {}",
            scores.join(", "),
            for_markdown(&ruling.reasoning)
        );
    }
}

/// The sides of a pair at one of its steps, if both were asked: where a limit came between them,
/// that step never was.
fn sides_heard<'a>(view: &View, phase: &str, conflict: &'a Conflict) -> &'a [Arc<str>] {
    let asked = |agent: &Arc<str>| {
        view.turns
            .iter()
            .any(|turn| turn.turn == turn_name(phase, conflict, agent))
    };
    if conflict.agents.iter().all(asked) {
        &conflict.agents
    } else {
        &[]
    }
}

fn turn_name(phase: &str, conflict: &Conflict, agent: &str) -> String {
    format!("{phase} {}/{agent}", conflict.id)
}

/// The valid reply of a turn, or of its clarification.
fn said<R: Reply>(view: &View, turn: &str) -> Option<R> {
    let clarified = format!("{turn}/clarify");
    let mut turns = view
        .turns
        .iter()
        .rev()
        .filter(|known| known.turn == turn || known.turn == clarified);
    turns.find_map(|known| view.reply::<R>(known, &|_| Ok(())))
}
