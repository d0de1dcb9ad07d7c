//! A debate as Markdown: the transcript (the same for every re-run) and the report around it.

use crate::{
    agent::Agent,
    clean::{as_code, as_inline_code, for_markdown, for_people},
    event::{HumanAnswered, HumanMarked, Position, Verdict},
    family::only_family,
    formats::{
        Format, baselines,
        decide::{self, result::Change},
        weights::Weights,
    },
    model_mismatch::{Switch, switches},
    outcome::Ending,
    retally::robustness,
    topology::{self, Kind},
    view::{RoundView, View},
};
use std::fmt::Write;

/// Everything that was said and decided, without times, ids or costs: equal runs give equal bytes.
pub fn transcript(view: &View) -> String {
    let mut text = String::new();
    let Some(started) = &view.started else {
        return text;
    };
    let _ = writeln!(text, "# {}\n", for_markdown(&started.topic));
    if started.rehearsal {
        text.push_str("> Rehearsal: the built-in speaker answered, not a model.\n\n");
    }
    if let Some(redacted) = redacted(view) {
        let _ = writeln!(text, "> {redacted}\n");
    }
    if let Some(reading) = Format::of(view).and_then(|format| format.reading) {
        text.push_str((reading.transcript)(view).trim_start());
        write_ends(&mut text, view, &[]);
        write_waiting(&mut text, view);
        return text;
    }
    let options = choices(view);
    // What was answered freely may be chosen later, but was not offered.
    let offered: Vec<&(String, String)> = options
        .iter()
        .filter(|(_, label)| !label.is_empty())
        .collect();
    if !offered.is_empty() {
        text.push_str("## Options\n\n");
        for (id, label) in offered {
            let _ = writeln!(text, "- **{}** {}", for_markdown(id), for_markdown(label));
        }
        text.push('\n');
    }
    write_panel(&mut text, &started.agents, |agent| {
        for_markdown(&agent.stance)
    });
    if let Some(family) = only_family(&view.voices()) {
        let _ = writeln!(
            text,
            "\nAll judges are of one family ({}): they may err together.",
            for_markdown(&family)
        );
    }
    write_topology(&mut text, view);
    if let Some(weights) = Weights::of_debate(started).words() {
        let _ = writeln!(text, "\nVotes are weighed: {}.", for_markdown(&weights));
    }
    for round in &view.rounds {
        write_round(&mut text, round);
    }
    write_outcome(&mut text, view, &options);
    write_waiting(&mut text, view);
    text
}

/// That texts were taken out, if any were.
pub(super) fn redacted(view: &View) -> Option<String> {
    let events = view.redacted.iter().map(u64::to_string).collect::<Vec<_>>();
    (!events.is_empty()).then(|| {
        format!(
            "Redacted: what events {} said is missing here.",
            events.join(", ")
        )
    })
}

/// What a person is shown at the gate where the debate waits.
fn write_waiting(text: &mut String, view: &View) {
    let Some(gate) = &view.open_gate else { return };
    let _ = writeln!(
        text,
        "\n## WAITING\n\nfor a person at the gate {}: {}",
        as_inline_code(&gate.gate),
        by_lines(&gate.summary)
    );
    if let Some(pending) = &gate.pending {
        let _ = writeln!(text, "\n{}", as_code("json", &format!("{pending:#}")));
    }
}

/// The list of who takes part: name, what each is there for, model.
pub(crate) fn write_panel(text: &mut String, agents: &[Agent], title: impl Fn(&Agent) -> String) {
    text.push_str("## Panel\n\n");
    for agent in agents {
        let _ = writeln!(
            text,
            "- **{}** ({}), {}",
            for_markdown(&agent.name),
            title(agent),
            for_markdown(&agent.model)
        );
    }
}

/// The transcript with its circumstances: id, time, cost, seals.
pub fn markdown(view: &View) -> String {
    let mut text = transcript(view);
    if let Some(robustness) = robustness(view) {
        text.push_str("\n## How firmly it stands\n\n");
        for words in robustness.in_words() {
            let _ = writeln!(text, "- {}", for_markdown(&words));
        }
    }
    let spent = view.spent();
    text.push_str("\n## Record\n\n");
    if let Some(id) = view.id {
        let _ = writeln!(text, "- Debate `{id}`, {} events", view.events);
    }
    let _ = writeln!(
        text,
        "- Began {}{}",
        view.created_at,
        view.ended_at
            .as_ref()
            .map(|at| format!(", ended {at}"))
            .unwrap_or_default()
    );
    let _ = writeln!(
        text,
        "- {} calls, {} answered, {} input and {} output tokens, cost {}",
        spent.calls,
        spent.answers,
        spent.input_tokens + spent.cached_tokens,
        spent.output_tokens,
        cost(spent.cost_usd)
    );
    for turn in &spent.possibly_paid_twice {
        let _ = writeln!(
            text,
            "- Possibly paid twice (in flight at a crash): {}",
            as_inline_code(turn)
        );
    }
    for resumed in view
        .resumed
        .iter()
        .filter(|resumed| !resumed.drift.is_empty())
    {
        let _ = writeln!(
            text,
            "- Resumed by {} with changed prompts: {}",
            for_markdown(&resumed.engine),
            for_markdown(&resumed.drift.join(", "))
        );
    }
    text
}

/// One judge's file for one round, or `None` if it did not speak in it.
pub fn judge_file(view: &View, agent: &str, round: u32) -> Option<String> {
    let started = view.started.as_ref()?;
    let judge = started.agents.iter().find(|known| &*known.name == agent)?;
    let position = view
        .rounds
        .iter()
        .find(|known| known.round == round)?
        .positions
        .iter()
        .find(|(name, _)| &**name == agent)
        .map(|(_, position)| position)?;
    let mut text = format!(
        "# {} judge, round {round}\n\nStance: {}\n\nQuestion: {}\n\n",
        for_markdown(&judge.name),
        for_markdown(&judge.stance),
        for_markdown(&started.topic)
    );
    write_position(&mut text, position);
    Some(text)
}

/// Money for people; unknown is never zero.
pub(super) fn cost(cost_usd: Option<f64>) -> String {
    cost_usd.map_or_else(|| "n/a".to_owned(), |dollars| format!("${dollars:.4}"))
}

pub(super) fn choices(view: &View) -> Vec<(String, String)> {
    Format::of(view)
        .map(|format| (format.choices)(view))
        .unwrap_or_default()
}

/// Who heard whom, where that was not simply everybody.
fn write_topology(text: &mut String, view: &View) {
    for (round, topology) in topology::over_time(view) {
        if topology.kind() == Kind::MESH {
            return;
        }
        let _ = writeln!(text, "\n## Who hears whom from round {round}\n");
        for line in topology.to_text().lines() {
            let _ = writeln!(text, "- {line}");
        }
        let _ = writeln!(text, "\n```mermaid\n{}```", topology.to_mermaid());
    }
}

fn write_round(text: &mut String, round: &RoundView) {
    let blind = if round.is_blind() { " (blind)" } else { "" };
    let _ = writeln!(
        text,
        "\n## Round {}: {}{blind}",
        round.round,
        for_markdown(&round.phase)
    );
    for (agent, position) in &round.positions {
        let _ = writeln!(text, "\n### {}\n", for_markdown(agent));
        write_position(text, position);
    }
    for absence in &round.absent {
        let _ = writeln!(
            text,
            "\n### {}\n\nMissing: {} ({}).",
            for_markdown(&absence.agent),
            absence.reason,
            for_markdown(&absence.detail)
        );
    }
    if let Some(tally) = &round.tally {
        let sides = tally
            .distribution
            .iter()
            .map(|(option, judges)| format!("{option}: {}", judges.join(", ")));
        let missing =
            (!tally.missing.is_empty()).then(|| format!("missing: {}", tally.missing.join(", ")));
        let count = sides.chain(missing).collect::<Vec<_>>().join("; ");
        let needed = if tally.threshold > 0.0 {
            format!(", needed {}", tally.threshold)
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "\nCount: {}. Agreement {:.2}{needed}.",
            for_markdown(&count),
            tally.share
        );
    }
}

fn write_position(text: &mut String, position: &Position) {
    let option = position.option.as_deref().unwrap_or("none");
    let moved = position.from.as_deref().filter(|from| *from != option);
    let heading = match moved {
        Some(from) => format!("{from} → {option}"),
        None => option.to_owned(),
    };
    let _ = writeln!(
        text,
        "**Chosen option: {}** · confidence {:.2}\n\n{}\n",
        for_markdown(&heading),
        position.confidence,
        for_markdown(&position.summary)
    );
    if moved.is_some() {
        write_change(text, position);
    }
    for claim in &position.claims {
        let _ = writeln!(
            text,
            "- {} {}",
            as_inline_code(&claim.id.to_string()),
            for_markdown(&claim.text)
        );
    }
    for challenge in &position.challenges {
        let word = if challenge.verdict == Verdict::Attack {
            "attacks"
        } else {
            "concedes"
        };
        let _ = writeln!(
            text,
            "- {word} {}: {}",
            as_inline_code(&challenge.claim.to_string()),
            for_markdown(&challenge.text)
        );
    }
    if !position.flips_if.trim().is_empty() {
        let _ = writeln!(text, "\nFlips if: {}", for_markdown(&position.flips_if));
    }
}

fn write_change(text: &mut String, position: &Position) {
    if position.documented && position.because.is_empty() {
        // Where nobody has to name what convinced it.
        let _ = writeln!(text, "Changed its answer.\n");
    } else if position.documented {
        let cited = position
            .because
            .iter()
            .map(|claim| as_inline_code(&claim.to_string()))
            .collect::<Vec<_>>()
            .join(", ");
        let _ = writeln!(
            text,
            "Convinced by {cited}: {}\n",
            for_markdown(&position.reason)
        );
    } else {
        let counted = position.counted.as_deref().unwrap_or("none");
        let _ = writeln!(
            text,
            "Undocumented change: no valid claim of another judge is named. Counted: {}.\n",
            for_markdown(counted)
        );
    }
    for bad in &position.bad_citations {
        let _ = writeln!(text, "Citation that does not hold: {}\n", for_markdown(bad));
    }
}

/// What a control arm found besides its one sentence.
fn write_arm(text: &mut String, result: &serde_json::Value) {
    let Ok(result) = serde_json::from_value::<baselines::ArmResult>(result.clone()) else {
        return;
    };
    for (answer, voters) in &result.distribution {
        let _ = writeln!(
            text,
            "- **{}**: {} ({})",
            for_markdown(answer),
            voters.len(),
            for_markdown(&voters.join(", "))
        );
    }
    for round in &result.rounds {
        let winner = round
            .winner
            .as_deref()
            .map_or_else(|| "nobody".to_owned(), for_markdown);
        let _ = writeln!(text, "- Winner after round {}: {winner}", round.round);
    }
    for Change {
        judge,
        round,
        from,
        to,
        reason,
    } in &result.changes
    {
        let _ = writeln!(
            text,
            "- Round {round}: {} went from {} to {}: {}",
            for_markdown(judge),
            for_markdown(from),
            for_markdown(to),
            for_markdown(reason)
        );
    }
}

fn write_outcome(text: &mut String, view: &View, options: &[(String, String)]) {
    let Some(outcome) = &view.outcome else { return };
    let word = match outcome.outcome {
        Ending::Consensus => "RECOMMENDED".to_owned(),
        ending => ending.as_str().to_uppercase(),
    };
    let _ = writeln!(text, "\n## {word}\n\n{}\n", for_markdown(&outcome.summary));
    match serde_json::from_value::<decide::result::DebateResult>(outcome.result.clone()) {
        Ok(decide::result::DebateResult::Consensus(result)) => {
            for (judge, says) in &result.perspectives {
                let _ = writeln!(
                    text,
                    "- **{}**: {}",
                    for_markdown(judge),
                    for_markdown(says)
                );
            }
            for change in &result.change_log {
                let _ = writeln!(
                    text,
                    "- Round {}: {} went from {} to {}: {}",
                    change.round,
                    for_markdown(&change.judge),
                    for_markdown(&change.from),
                    for_markdown(&change.to),
                    for_markdown(&change.reason)
                );
            }
        }
        Ok(decide::result::DebateResult::Contested(result)) => {
            for (judge, says) in &result.perspectives {
                let _ = writeln!(
                    text,
                    "- **{}**: {}",
                    for_markdown(judge),
                    for_markdown(says)
                );
            }
            let _ = writeln!(text, "\n{}", by_lines(&result.user_prompt));
        }
        Err(_) => write_arm(text, &outcome.result),
    }
    write_ends(text, view, options);
}

/// Lines that the engine wrote, with what models said in them: lists stay lists.
fn by_lines(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("- ") {
        Some(item) => format!("- {}", for_markdown(item)),
        None => for_markdown(line),
    };
    for_people(text)
        .trim()
        .lines()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// What every format's transcript ends with: who was missing, who answered instead, and what people
/// said of it.
fn write_ends(text: &mut String, view: &View, options: &[(String, String)]) {
    let Some(outcome) = &view.outcome else { return };
    if !outcome.degraded.is_empty() {
        text.push('\n');
    }
    for absence in &outcome.degraded {
        let _ = writeln!(
            text,
            "- Degraded: {} {} at {} ({})",
            for_markdown(&absence.agent),
            absence.reason,
            as_inline_code(&absence.turn),
            for_markdown(&absence.detail)
        );
    }
    if !outcome.substituted.is_empty() {
        text.push('\n');
    }
    for other in &outcome.substituted {
        let lost = if other.diversity_lost {
            "; diversity lost: another judge's model is of the same family"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "- Substituted: {} at {}, {} for {}{lost}",
            for_markdown(&other.agent),
            as_inline_code(&other.turn),
            as_inline_code(&other.to),
            as_inline_code(&other.from)
        );
    }
    let switched = switches(view);
    if !switched.is_empty() {
        text.push('\n');
    }
    for Switch {
        agent,
        asked,
        answered,
        turns,
    } in &switched
    {
        let (asked, answered) = (as_inline_code(asked), as_inline_code(answered));
        let turns = turns
            .iter()
            .map(|turn| as_inline_code(turn))
            .collect::<Vec<_>>()
            .join(", ");
        let _ = writeln!(
            text,
            "- Switched: {} at {turns}, {asked} was asked and answered as {answered}",
            for_markdown(agent)
        );
    }
    if let Some(answer) = &view.answer {
        let HumanAnswered { by, option, reason } = answer;
        write_chosen(text, options, "Answered", [by, option, reason]);
    }
    if let Some(marked) = &view.marked {
        let HumanMarked { by, option, reason } = marked;
        write_chosen(text, options, "Turned out right,", [by, option, reason]);
    }
}

/// What a person said of one option, and why.
fn write_chosen(
    text: &mut String,
    options: &[(String, String)],
    what: &str,
    [by, option, reason]: [&str; 3],
) {
    let label = options
        .iter()
        .find(|(id, _)| id == option)
        .map_or("", |(_, label)| label.as_str());
    let why = if reason.is_empty() {
        String::new()
    } else {
        format!(": {}", for_markdown(reason))
    };
    let _ = writeln!(
        text,
        "\n**{what} by {}: {} {}**{why}",
        for_markdown(by),
        for_markdown(option),
        for_markdown(label)
    );
}
