//! A decision record: what was decided, between what, why, and who disagreed.

use super::markdown::{choices, cost, redacted};
use crate::{
    clean::{for_markdown, shortened},
    outcome::Ending,
    retally::{Robustness, robustness},
    view::View,
};
use std::fmt::Write;

/// The decision record of a debate that ended with a recommendation, or contested; an error in
/// words otherwise.
pub fn adr(view: &View) -> Result<String, String> {
    let (started, outcome) = view
        .started
        .as_ref()
        .zip(view.outcome.as_ref())
        .ok_or("the debate has not ended; there is nothing to record yet")?;
    let options = choices(view);
    let label = |id: &str| {
        options.iter().find(|(known, _)| known == id).map_or_else(
            || for_markdown(id),
            |(id, label)| format!("{}, {}", for_markdown(id), for_markdown(label)),
        )
    };
    let found = |key: &str| outcome.result.get(key).and_then(|value| value.as_str());
    let recommended = found("recommended_option").or_else(|| found("winner"));
    let (status, decision) = match (outcome.outcome, recommended, &view.answer) {
        (Ending::Consensus | Ending::Majority | Ending::Completed, Some(option), _) => {
            ("Accepted", format!("We choose {}.", label(option)))
        }
        (Ending::Contested, _, Some(answer)) => {
            let why = if answer.reason.is_empty() {
                String::new()
            } else {
                format!(" {}", for_markdown(&answer.reason))
            };
            (
                "Accepted",
                format!(
                    "The judges disagreed; {} chose {}.{why}",
                    for_markdown(&answer.by),
                    label(&answer.option)
                ),
            )
        }
        (Ending::Contested, _, None) => (
            "Proposed",
            "The judges disagreed; the choice is open.".to_owned(),
        ),
        (ending, _, _) => {
            return Err(format!(
                "the debate ended {}; there is no decision to record",
                ending.as_str()
            ));
        }
    };
    let chosen = view
        .answer
        .as_ref()
        .map(|answer| answer.option.as_str())
        .or(recommended);
    let mut text = format!(
        "# {}\n\nDate: {}\nStatus: {status}\n",
        for_markdown(&started.topic),
        view.ended_at
            .as_deref()
            .unwrap_or_default()
            .get(..10)
            .unwrap_or_default()
    );
    if started.rehearsal {
        text.push_str("\n> Made by the built-in rehearsal, not by models: do not rely on it.\n");
    }
    if let Some(redacted) = redacted(view) {
        let _ = writeln!(text, "\n> {redacted}");
    }
    let context = started
        .input
        .get("context")
        .and_then(|context| context.as_str())
        .unwrap_or_default();
    let _ = writeln!(text, "\n## Context\n\n{}\n", quoted(context));
    text.push_str("## Considered options\n\n");
    for (id, label) in &options {
        let _ = writeln!(text, "- {}: {}", for_markdown(id), for_markdown(label));
    }
    let _ = writeln!(text, "\n## Decision\n\n{decision}\n\n## Reasons\n");
    let last_words = view.last_words();
    for (agent, position) in last_words
        .iter()
        .filter(|(_, position)| chosen.is_some() && position.counted.as_deref() == chosen)
    {
        let _ = writeln!(
            text,
            "- {}: {}",
            for_markdown(agent),
            for_markdown(&position.last_word())
        );
    }
    text.push_str("\n## Dissent\n\n");
    for (agent, position) in last_words
        .iter()
        .filter(|(_, position)| chosen.is_none() || position.counted.as_deref() != chosen)
    {
        let _ = writeln!(
            text,
            "- {} for {}: {}",
            for_markdown(agent),
            for_markdown(position.counted.as_deref().unwrap_or("none")),
            for_markdown(&position.last_word())
        );
    }
    text.push_str("\n## What would change it\n\n");
    for (agent, position) in last_words
        .iter()
        .filter(|(_, position)| !position.flips_if.trim().is_empty())
    {
        let _ = writeln!(
            text,
            "- {}: {}",
            for_markdown(agent),
            for_markdown(&position.flips_if)
        );
    }
    for words in robustness(view).iter().flat_map(Robustness::in_words) {
        let _ = writeln!(text, "- {}", for_markdown(&words));
    }
    let id = view.id.map(|id| id.to_string()).unwrap_or_default();
    let _ = writeln!(
        text,
        "\n## Record\n\nDebate `{id}`, {}, {}.",
        for_markdown(&outcome.summary),
        cost(view.spent().cost_usd)
    );
    Ok(text)
}

fn quoted(context: &str) -> String {
    if context.trim().is_empty() {
        return "(none given)".to_owned();
    }
    let short = shortened(context.trim(), 2000);
    let clean = crate::clean::for_people(&short);
    clean
        .lines()
        .map(|line| format!("> {}", for_markdown(line)).trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}
