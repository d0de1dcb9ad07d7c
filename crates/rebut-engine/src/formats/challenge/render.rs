//! How a challenge debate is read: short lines for a terminal, the whole course as Markdown. Made
//! from the journal alone.

use super::{
    Config,
    replies::{Confrontation, Critique, Grounds, Opening, Rebuttal},
    result::{ChallengeResult, word_of},
};
use crate::{
    clean::{as_block, as_inline_code, for_markdown, on_one_line, shortened},
    event::{Position, Started},
    model::FaultKind,
    reply::Reply,
    report::write_panel,
    view::{RoundView, View},
};
use std::fmt::Write;

/// What of its settings matters to a reader.
pub fn heading(started: &Started) -> String {
    let challengers = started.agents.len().saturating_sub(1);
    let rounds = Config::parse(&started.config).map_or_else(
        |_| String::new(),
        |config| {
            format!(
                " · ≤{} round{}",
                config.max_rounds,
                if config.max_rounds == 1 { "" } else { "s" }
            )
        },
    );
    format!(
        "{challengers} challenger{}{rounds}",
        if challengers == 1 { "" } else { "s" }
    )
}

pub fn lines(view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    let width = view
        .started
        .iter()
        .flat_map(|started| &started.agents)
        .map(|agent| agent.name.chars().count())
        .max()
        .unwrap_or(0);
    for round in view
        .rounds
        .iter()
        .filter(|round| round.phase != "assumptions")
    {
        let mark = match round.phase.as_str() {
            "opening" => "v1".to_owned(),
            "challenge" | "rebuttal" => format!("R{}", round.round),
            _ => String::new(),
        };
        let said = round
            .positions
            .iter()
            .map(|(agent, position)| (&**agent, said_line(view, round, position)));
        let missing = round.absent.iter().map(|absence| {
            (
                absence.agent.as_str(),
                format!("missing: {}", absence.reason),
            )
        });
        for (at, (agent, words)) in said.chain(missing).enumerate() {
            let mark = if at == 0 { mark.as_str() } else { "" };
            lines.push(format!("{mark:<3} {agent:<width$}  {words}"));
        }
    }
    if let Some(result) = view
        .outcome
        .as_ref()
        .and_then(|outcome| ChallengeResult::read(&outcome.result))
    {
        result_lines(&result, &mut lines);
    }
    lines
}

fn result_lines(result: &ChallengeResult, lines: &mut Vec<String>) {
    if result.version > 1 {
        let causes = result
            .accepted
            .iter()
            .map(|settled| format!("{}→{}", settled.by, settled.aspect))
            .collect::<Vec<_>>();
        lines.push(format!(
            "changed because: {}",
            on_one_line(&causes.join(", "))
        ));
    }
    lines.push(format!(
        "v{}: {}",
        result.version,
        on_one_line(&result.final_position)
    ));
    for open in &result.unresolved {
        lines.push(format!(
            "  open      {} ({}): {}",
            open.objection,
            open.because,
            shortened(&on_one_line(&open.text), 120)
        ));
    }
    for row in &result.assumptions {
        let falsifier = if row.falsified_by.is_empty() {
            String::new()
        } else {
            format!("; wrong if {}", row.falsified_by)
        };
        lines.push(format!(
            "  assumes   {}: {}{}",
            row.held_by.join(", "),
            on_one_line(&row.assumption),
            on_one_line(&falsifier)
        ));
    }
    if !result.personas.why_built_in.is_empty() {
        lines.push(format!(
            "  personas  built-in ones for {}: {}",
            result.personas.domain,
            on_one_line(&result.personas.why_built_in)
        ));
    }
}

fn said_line(view: &View, round: &RoundView, position: &Position) -> String {
    let summary = shortened(&on_one_line(&position.summary), 110).into_owned();
    let option = position.option.as_deref().unwrap_or_default();
    match round.phase.as_str() {
        "opening" => {
            let confidence = reply_of::<Opening>(view, &position.turn)
                .map_or("", |reply| reply.confidence.as_str());
            format!("{summary}  {confidence}").trim_end().to_owned()
        }
        "challenge" => {
            let strength = reply_of::<Critique>(view, &position.turn)
                .map_or("", |reply| reply.strength.as_str());
            let doubt = if position.reason.is_empty() {
                String::new()
            } else {
                format!("  ({})", on_one_line(&position.reason))
            };
            format!(
                "{:<8}  {strength:<8}  {summary}{doubt}",
                option.to_uppercase()
            )
        }
        "confrontation" => {
            let answers = position
                .claims
                .iter()
                .filter_map(|claim| claim.text.split(':').next())
                .map(on_one_line);
            let answers = answers.collect::<Vec<_>>().join(" · ");
            if position.from.as_deref() == Some(option) {
                format!("{answers}  ({option} stays)")
            } else {
                format!("{answers}  → {option}")
            }
        }
        _ => format!("{:<8}  {summary}", position.reason),
    }
}

/// The same in full as Markdown.
pub fn transcript(view: &View) -> String {
    let mut text = String::new();
    let Some(started) = &view.started else {
        return text;
    };
    write_panel(&mut text, &started.agents, |agent| {
        let persona = view
            .personas
            .iter()
            .find(|(name, _)| *name == agent.name)
            .map(|(_, persona)| persona);
        persona.map_or_else(
            || for_markdown(&agent.stance),
            |persona| for_markdown(&persona.title),
        )
    });
    if let Some((_, persona)) = view.personas.first() {
        let by = if persona.generated {
            "written by a model"
        } else {
            "built in"
        };
        let _ = writeln!(
            text,
            "\nField: {}. Personas: {by}.",
            for_markdown(&persona.domain)
        );
    }
    let result = view
        .outcome
        .as_ref()
        .and_then(|outcome| ChallengeResult::read(&outcome.result));
    if let Some(why) = result
        .as_ref()
        .map(|result| &result.personas.why_built_in)
        .filter(|why| !why.is_empty())
    {
        let _ = writeln!(
            text,
            "A model was asked for personas and gave none that could be used: {}.",
            for_markdown(why)
        );
    }
    for round in &view.rounds {
        write_round(&mut text, view, round);
    }
    match (&result, &view.outcome) {
        (Some(result), Some(outcome)) => {
            write_history(&mut text, result);
            let _ = write!(text, "\n{}", result.markdown());
            let _ = writeln!(
                text,
                "\nEnded {}: {}",
                outcome.outcome.as_str(),
                for_markdown(&outcome.summary)
            );
        }
        (None, Some(outcome)) => {
            let _ = writeln!(
                text,
                "\n## {}\n\n{}",
                outcome.outcome.as_str().to_uppercase(),
                for_markdown(&outcome.summary)
            );
        }
        _ => {}
    }
    text
}

fn write_history(text: &mut String, result: &ChallengeResult) {
    text.push_str("\n## Position history\n\n");
    for version in &result.position_history {
        let after = if version.after_round == 0 {
            "opening".to_owned()
        } else {
            format!("after round {}", version.after_round)
        };
        let _ = writeln!(
            text,
            "- {} ({after}): {}",
            version.version,
            for_markdown(&version.position)
        );
        for cause in &version.changed_because {
            let _ = writeln!(
                text,
                "  - Changed because: {} found {}: {}",
                for_markdown(&cause.by),
                as_inline_code(&cause.objection.to_string()),
                for_markdown(&cause.text)
            );
        }
    }
    if !result.unresolved.is_empty() {
        text.push_str("\n## Unresolved objections\n\n");
    }
    for open in &result.unresolved {
        let (objection, aspect) = (
            as_inline_code(&open.objection.to_string()),
            for_markdown(&open.aspect),
        );
        let _ = writeln!(
            text,
            "- {objection} ({aspect}): {} — {}",
            for_markdown(&open.text),
            for_markdown(&open.because)
        );
    }
}

fn write_round(text: &mut String, view: &View, round: &RoundView) {
    let title = match round.phase.as_str() {
        "preflight" => "Preflight".to_owned(),
        "assumptions" => "Assumptions".to_owned(),
        phase => format!("Round {}: {phase}", round.round),
    };
    let _ = writeln!(text, "\n## {title}");
    if round.phase == "preflight" && round.completed {
        let out = |agent: &str| round.absent.iter().any(|absence| absence.agent == agent);
        let there: Vec<&str> = round
            .agents
            .iter()
            .map(|agent| &**agent)
            .filter(|agent| !out(agent))
            .collect();
        let _ = writeln!(
            text,
            "\nReady: {}.",
            if there.is_empty() {
                "nobody".to_owned()
            } else {
                for_markdown(&there.join(", "))
            }
        );
    }
    for agent in &round.agents {
        if let Some(said) = said_in_full(view, round, agent) {
            let _ = writeln!(text, "\n### {}\n\n{}", for_markdown(agent), said.trim_end());
        }
    }
}

/// What an agent said in a round, or why it is missing, as Markdown; nothing while that is open.
pub fn said_in_full(view: &View, round: &RoundView, agent: &str) -> Option<String> {
    if let Some(absence) = round.absent.iter().find(|absence| absence.agent == agent) {
        let raw = if absence.reason == FaultKind::InvalidReply {
            raw_replies(view, &absence.turn)
        } else {
            String::new()
        };
        return Some(format!(
            "Missing: {} ({}).\n{raw}",
            absence.reason,
            for_markdown(&absence.detail)
        ));
    }
    if round.phase == "assumptions" {
        return reply_of::<Grounds>(view, &format!("{}/{agent}", round.step))
            .map(|grounds| grounds_in_full(&grounds));
    }
    let (_, position) = round.positions.iter().find(|(name, _)| &**name == agent)?;
    Some(position_in_full(view, &round.phase, position))
}

fn grounds_in_full(grounds: &Grounds) -> String {
    let mut text = format!(
        "{}\n\n- The other side is right if: {}\n",
        for_markdown(&grounds.why),
        for_markdown(&grounds.other_right_if)
    );
    for assumption in &grounds.assumptions {
        let _ = writeln!(text, "- Assumes: {}", for_markdown(&assumption.text));
    }
    text
}

fn position_in_full(view: &View, phase: &str, position: &Position) -> String {
    let mut text = String::new();
    let option = position.option.as_deref().unwrap_or("none");
    match phase {
        "opening" => write_opening(&mut text, view, position),
        "challenge" => write_critique(&mut text, view, position, option),
        "confrontation" => {
            let moved = if position.from.as_deref() == Some(option) {
                format!("{option} stays")
            } else {
                format!("Position {option}")
            };
            let confidence = reply_of::<Confrontation>(view, &position.turn)
                .map_or("", |reply| reply.confidence.as_str());
            let _ = writeln!(
                text,
                "**{moved}** {confidence}: {}\n",
                for_markdown(&position.summary)
            );
            for claim in &position.claims {
                let _ = writeln!(
                    text,
                    "- {} {}",
                    as_inline_code(&claim.id.to_string()),
                    for_markdown(&claim.text)
                );
            }
            if !position.reason.is_empty() {
                let _ = writeln!(text, "\n{}.", for_markdown(&position.reason));
            }
        }
        _ => {
            let _ = writeln!(
                text,
                "**{}** ({option}, confidence {:.2}): {}\n",
                for_markdown(&position.reason),
                position.confidence,
                for_markdown(&position.summary)
            );
            if let Some(reply) = reply_of::<Rebuttal>(view, &position.turn)
                .filter(|reply| !reply.maintained.is_empty())
            {
                let _ = writeln!(
                    text,
                    "- maintains {}",
                    for_markdown(&reply.maintained.join(", "))
                );
            }
            write_objections(&mut text, view, position);
        }
    }
    text
}

fn write_opening(text: &mut String, view: &View, position: &Position) {
    let reply = reply_of::<Opening>(view, &position.turn);
    let confidence = reply.as_ref().map_or("", |reply| reply.confidence.as_str());
    let _ = writeln!(
        text,
        "**Position v1** {confidence}: {}\n",
        for_markdown(&position.summary)
    );
    for claim in &position.claims {
        let _ = writeln!(
            text,
            "- {} {}",
            as_inline_code(&claim.id.to_string()),
            for_markdown(&claim.text)
        );
    }
    for (title, lines) in reply.iter().flat_map(|reply| {
        [
            ("Weakness", &reply.weaknesses),
            ("Assumes", &reply.assumptions),
        ]
    }) {
        for line in lines {
            let _ = writeln!(text, "- {title}: {}", for_markdown(line));
        }
    }
}

fn write_critique(text: &mut String, view: &View, position: &Position, option: &str) {
    let reply = reply_of::<Critique>(view, &position.turn);
    let said = reply
        .as_ref()
        .map_or_else(|| option.to_uppercase(), |reply| word_of(reply.verdict));
    let counts = if said == option.to_uppercase() {
        said
    } else {
        format!("{said}, counts as {}", option.to_uppercase())
    };
    let strength = reply.as_ref().map_or("", |reply| reply.strength.as_str());
    let _ = writeln!(
        text,
        "**{counts}** (strength {strength}, confidence {:.2}): {}\n",
        position.confidence,
        for_markdown(&position.summary)
    );
    write_objections(text, view, position);
    for checked in reply.iter().flat_map(|reply| &reply.checked) {
        let _ = writeln!(
            text,
            "- checked {}: {}",
            for_markdown(&checked.aspect),
            for_markdown(&checked.found)
        );
    }
    if !position.reason.is_empty() {
        let _ = writeln!(
            text,
            "\nNot taken as agreement: {}.",
            for_markdown(&position.reason)
        );
    }
}

/// The objections of a position, each with its aspect as the agent filed it.
fn write_objections(text: &mut String, view: &View, position: &Position) {
    let filed = reply_of::<Critique>(view, &position.turn).map(|reply| reply.objections);
    let filed = filed
        .or_else(|| reply_of::<Rebuttal>(view, &position.turn).map(|reply| reply.new_objections))
        .unwrap_or_default();
    for claim in &position.claims {
        let aspect = filed
            .iter()
            .find(|objection| objection.text == claim.text)
            .map(|objection| format!(" ({})", for_markdown(&objection.aspect)));
        let _ = writeln!(
            text,
            "- {}{} {}",
            as_inline_code(&claim.id.to_string()),
            aspect.unwrap_or_default(),
            for_markdown(&claim.text)
        );
    }
}

/// The longest raw reply that is shown, in characters; the journal has it whole.
const RAW_CHARS: usize = 4000;

/// Replies that could not be used, wrapped so that nothing in them can be taken for a part of the
/// document.
fn raw_replies(view: &View, turn: &str) -> String {
    let mut text = String::new();
    for raw in view
        .turns
        .iter()
        .filter(|known| known.turn == turn || known.turn == format!("{turn}/clarify"))
        .map(|known| &known.text)
    {
        if raw.trim().is_empty() {
            continue;
        }
        let block = as_block(&shortened(raw, RAW_CHARS));
        let _ = write!(text, "\nIts reply, which could not be used:\n\n{block}");
    }
    text
}

/// The valid reply of a turn: the clarified one, else the first. It was checked when it came.
fn reply_of<R: Reply>(view: &View, turn: &str) -> Option<R> {
    let said = |name: &str| {
        view.turns
            .iter()
            .find(|known| known.turn == name)
            .and_then(|known| view.reply::<R>(known, &|_| Ok(())))
    };
    said(&format!("{turn}/clarify")).or_else(|| said(turn))
}
