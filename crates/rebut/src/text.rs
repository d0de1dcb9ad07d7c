//! A debate's result as people read it on a terminal.

pub mod arms;

pub use crate::words::{dollars, short};
use crate::{hint_command::command, paint::Paint};
use rebut_engine::{
    clean::{for_people, on_one_line, shortened, shortened_reason},
    event::{GateOpened, Position, Started},
    family::only_family,
    formats::{Format, Reading, Shortfall, decide, ending_word, weights::Weights},
    model_mismatch::{Switch, switches},
    outcome::{Ending, Outcome},
    retally::{Robustness, robustness},
    topology::Kind,
    view::{RoundView, Spent, TurnState, TurnView, View},
};
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// What is said when nobody real answered.
pub const REHEARSAL: &str = "REHEARSAL  the built-in speaker answered, not a model: good for \
    trying rebut, not for deciding";

/// So much of what was asked is repeated: whoever asked knows the rest.
pub const TOPIC_CHARS: usize = 200;

/// The whole result. `kept` says whether it can be looked up later, `go_on` what to type when it
/// met a limit.
pub fn result(view: &View, kept: bool, go_on: Option<&str>, paint: Paint) -> String {
    let mut text = String::new();
    let Some(started) = &view.started else {
        return text;
    };
    let _ = writeln!(
        text,
        "{}  {}",
        paint.strong(&shortened(&on_one_line(&started.topic), TOPIC_CHARS)),
        paint.faint(&heading(started))
    );
    if started.rehearsal {
        let _ = writeln!(text, "{}", paint.attention(REHEARSAL));
    }
    if let Some(family) = only_family(&view.voices()) {
        let label = format!(
            "all judges are of one family ({}): they may err together",
            on_one_line(&family)
        );
        let _ = writeln!(text, "{}", paint.attention(&label));
    }
    if let Some(weights) = Weights::of_debate(started).words() {
        let _ = writeln!(
            text,
            "{}",
            paint.attention(&format!("votes are weighed: {}", on_one_line(&weights)))
        );
    }
    if let Some(line) = arms::compared_with(started) {
        let _ = writeln!(text, "{}", paint.faint(&line));
    }
    match Format::of(view).and_then(|format| format.reading) {
        Some(reading) => write_reading(&mut text, view, reading, go_on, paint),
        None => write_count(&mut text, view, go_on, paint),
    }
    if !view.redacted.is_empty() {
        let events = view
            .redacted
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        let _ = writeln!(
            text,
            "{}",
            paint.attention(&format!(
                "redacted: what events {events} said is missing here"
            ))
        );
    }
    let id = short(view);
    let next = if kept {
        format!(" · {id}  →  {}", command(format_args!("show {id}")))
    } else {
        String::new()
    };
    let _ = writeln!(
        text,
        "{}",
        paint.faint(&format!("{}{next}", cost_line(view)))
    );
    text
}

/// What happened in a format that has its own words for it.
fn write_reading(
    text: &mut String,
    view: &View,
    reading: Reading,
    go_on: Option<&str>,
    paint: Paint,
) {
    for line in (reading.lines)(view) {
        let _ = writeln!(text, "{line}");
    }
    let Some(outcome) = &view.outcome else {
        return write_open(text, view, paint);
    };
    let format = view.started.as_ref().map_or("", |started| &started.format);
    let word = ending_word(format, outcome);
    let word = match outcome.outcome {
        _ if Shortfall::of(format, outcome) == Some(Shortfall::TestsFail) => paint.bad(&word),
        _ if Shortfall::of(format, outcome).is_some() => paint.attention(&word),
        Ending::Consensus | Ending::Majority | Ending::Completed => paint.good(&word),
        Ending::Contested | Ending::Stopped | Ending::Redacted => paint.attention(&word),
        _ => paint.bad(&word),
    };
    let _ = writeln!(text, "{word}  {}", paint.strong(&brief(&outcome.summary)));
    if let Some(command) = go_on {
        let _ = writeln!(text, "  go on     {command}");
    }
    if let Some(command) = ask_anew(view) {
        let _ = writeln!(
            text,
            "  go on     {command}   (keeps what was answered before)"
        );
    }
    if outcome.outcome == Ending::Contested && !choices(view).is_empty() {
        write_choose(text, view);
    }
    write_ends(text, view, outcome, paint);
}

/// What happened where agents hold options and are counted.
fn write_count(text: &mut String, view: &View, go_on: Option<&str>, paint: Paint) {
    // What was answered freely may be chosen later, but was not offered.
    for choice in choices(view).iter().filter(|(_, label)| !label.is_empty()) {
        let _ = writeln!(
            text,
            "  {} {}",
            paint.strong(&choice.0),
            on_one_line(&choice.1)
        );
    }
    for round in &view.rounds {
        write_round(text, view, round, paint);
    }
    match &view.outcome {
        Some(outcome) => write_outcome(text, view, outcome, go_on, paint),
        None => write_open(text, view, paint),
    }
}

fn write_open(text: &mut String, view: &View, paint: Paint) {
    if let Some(gate) = view.open_gate.as_ref().filter(|_| !view.paused) {
        let _ = writeln!(
            text,
            "{}  {}",
            paint.attention("WAITING"),
            gate_lines(gate, &short(view))
        );
        if let Some(pending) = &gate.pending {
            let _ = writeln!(text, "  what is to be approved:");
            for line in for_people(&format!("{pending:#}")).lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
        return;
    }
    let word = if view.paused { "PAUSED" } else { "NOT ENDED" };
    let _ = writeln!(
        text,
        "{}  go on with: {}",
        paint.attention(word),
        command(format_args!("resume {}", short(view)))
    );
}

/// What to type to choose, while nobody has.
fn write_choose(text: &mut String, view: &View) {
    if view.answer.is_none() {
        let letters = choices(view)
            .into_iter()
            .map(|(id, _)| id)
            .collect::<Vec<_>>()
            .join("|");
        let _ = writeln!(
            text,
            "  choose    {}",
            command(format_args!(
                "answer {} {letters} --reason \"…\"",
                short(view)
            ))
        );
    }
}

/// What a gate waits for, until when, what is to be approved, and what to type.
pub fn gate_lines(gate: &GateOpened, id: &str) -> String {
    let until = gate
        .until
        .get(..16)
        .unwrap_or(&gate.until)
        .replace('T', " ");
    let shown: String = for_people(&gate.summary)
        .lines()
        .map(|line| format!("\n    {line}"))
        .collect();
    let name = on_one_line(&gate.gate);
    let (approve, reject) = (
        command(format_args!("approve {id}")),
        command(format_args!("reject {id} --reason \"…\"")),
    );
    format!(
        "for a person at the gate `{name}`, until {until} UTC{shown}\n  go on     {approve}\n  end \
         it    {reject}"
    )
}

/// The format and what of its settings matters to a reader.
fn heading(started: &Started) -> String {
    if let Some(reading) = Format::named(&started.format).and_then(|format| format.reading) {
        return format!("{} · {}", started.format, (reading.heading)(started));
    }
    let judges = plural(started.agents.len() as u64, "judge");
    match decide::Config::parse(&started.config) {
        Ok(settings) if started.format == decide::FORMAT.name => {
            let place = if settings.topology == Kind::MESH {
                String::new()
            } else {
                format!(" · {}", settings.topology)
            };
            let rounds = plural(settings.max_rounds.into(), "round");
            format!(
                "{} · {judges}{place} · ≤{rounds} · threshold {}",
                started.format, settings.consensus_threshold
            )
        }
        _ => arms::heading(started).unwrap_or_else(|| started.format.clone()),
    }
}

pub fn cost_line(view: &View) -> String {
    let spent = view.spent();
    let mut parts = vec![
        money(&spent),
        match spent.calls - spent.answers.min(spent.calls) {
            0 => plural(spent.calls.into(), "call"),
            _ => format!(
                "{}, {} answered",
                plural(spent.calls.into(), "call"),
                spent.answers
            ),
        },
        format!(
            "{} in {} out",
            thousands(spent.input_tokens + spent.cached_tokens),
            thousands(spent.output_tokens)
        ),
    ];
    if let Some(seconds) = seconds(view) {
        parts.push(format!("{seconds:.1} s"));
    }
    if !view.lost_replies.is_empty() {
        parts.push(format!(
            "without {} redacted",
            plural(view.lost_replies.len() as u64, "answer")
        ));
    }
    if !spent.possibly_paid_twice.is_empty() {
        parts.push(format!(
            "possibly paid twice: {}",
            spent.possibly_paid_twice.join(", ")
        ));
    }
    parts.join(" · ")
}

/// What to type to keep the paid part of a debate that broke off, and ask its last step anew.
pub fn ask_anew(view: &View) -> Option<String> {
    let outcome = view.outcome.as_ref()?;
    if !matches!(
        outcome.outcome,
        Ending::NoModel | Ending::NoQuorum | Ending::Failed
    ) {
        return None;
    }
    let step = |turn: &TurnView| turn.turn.split('/').next().unwrap_or_default().to_owned();
    // Whatever follows a step at which nobody answered was in vain.
    let is_silent = |name: &String| {
        view.turns
            .iter()
            .filter(|turn| step(turn) == *name)
            .all(|turn| turn.state == TurnState::Failed)
    };
    let at = view
        .turns
        .iter()
        .map(step)
        .find(is_silent)
        .or_else(|| view.turns.last().map(step))?;
    let before = view.turns.iter().take_while(|turn| step(turn) != at);
    before
        .into_iter()
        .any(|turn| turn.state == TurnState::Done)
        .then(|| command(format_args!("fork {} --at \"{at}\"", short(view))))
}

/// A text on one line of a terminal, as long as people read it there.
pub fn brief(text: &str) -> String {
    let line = on_one_line(text);
    let more = line.chars().count().saturating_sub(MOST_CHARS);
    if more == 0 {
        return line;
    }
    format!(
        "{} ({more} characters more: `{}`)",
        shortened(&line, MOST_CHARS),
        command("show ID --transcript")
    )
}

/// More of one text would bury all the others.
const MOST_CHARS: usize = 600;

/// The options a person can choose from.
pub fn choices(view: &View) -> Vec<(String, String)> {
    Format::of(view)
        .map(|format| (format.choices)(view))
        .unwrap_or_default()
}

/// `text` filled up to `width` columns.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

fn write_round(text: &mut String, view: &View, round: &RoundView, paint: Paint) {
    let phase = if round.is_blind() {
        "blind"
    } else {
        &round.phase
    };
    let agreement = round
        .tally
        .as_ref()
        .map(|tally| format!("agreement {:.2}", tally.share))
        .unwrap_or_default();
    let line = padded(&format!("Round {}  {phase}", round.round), 58) + &agreement;
    let _ = writeln!(text, "{}", line.trim_end());
    let width = round
        .agents
        .iter()
        .map(|agent| agent.width())
        .max()
        .unwrap_or(0);
    for (agent, position) in &round.positions {
        let stance = view
            .started
            .as_ref()
            .and_then(|started| started.agents.iter().find(|known| known.name == *agent))
            .map_or("", |known| &known.stance);
        let (lens, held, words) = position_words(position, stance);
        let confidence = format!("{:.2}", position.confidence);
        let held = padded(&held, 14_usize.saturating_sub(lens.width()));
        let agent = padded(agent, width);
        let _ = writeln!(
            text,
            "  {agent}  {lens}{}  {}  {words}",
            paint.strong(&held),
            confidence.trim_start_matches('0')
        );
    }
    for turn in waiting_turns(view, round) {
        let said = match turn.state {
            TurnState::Done => format!(
                "answered, not counted yet: {}",
                shortened(&on_one_line(&turn.text), 110)
            ),
            TurnState::Thinking => "asked, no answer yet".to_owned(),
            TurnState::Failed => "did not answer".to_owned(),
        };
        let _ = writeln!(
            text,
            "  {}  {}",
            padded(&turn.agent, width),
            paint.faint(&said)
        );
    }
    for absence in &round.absent {
        let _ = writeln!(
            text,
            "  {}  {}",
            padded(&absence.agent, width),
            paint.bad(&format!(
                "missing: {} ({})",
                absence.reason,
                shortened_reason(&on_one_line(&absence.detail), 90)
            ))
        );
    }
}

/// The turns of a round that was left open: nothing was made of them yet.
fn waiting_turns<'a>(view: &'a View, round: &'a RoundView) -> impl Iterator<Item = &'a TurnView> {
    let is_open = |agent: &str| {
        !round.completed && !round.positions.iter().any(|(known, _)| **known == *agent)
    };
    view.turns.iter().filter(move |turn| {
        turn.turn == format!("{}/{}", round.step, turn.agent) && is_open(&turn.agent)
    })
}

/// Through which lens an agent speaks, what it holds and why, in three short texts.
fn position_words(position: &Position, stance: &str) -> (String, String, String) {
    let option = position.option.as_deref().unwrap_or("–");
    let summary = shortened(&on_one_line(&position.summary), 110).into_owned();
    match position.from.as_deref() {
        None => (
            format!("{} ", padded(stance, 11)),
            option.to_owned(),
            summary,
        ),
        Some(from) if from == option => (String::new(), format!("{option} (held)"), summary),
        Some(from) if position.documented && position.because.is_empty() => {
            (String::new(), format!("{from} → {option}"), summary)
        }
        Some(from) if position.documented => {
            let cited = position
                .because
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            (
                String::new(),
                format!("{from} → {option}"),
                format!(
                    "convinced by {cited}: {}",
                    shortened(&on_one_line(&position.reason), 110)
                ),
            )
        }
        Some(from) => {
            let counted = position.counted.as_deref().unwrap_or("–");
            (
                String::new(),
                format!("{from} → {option}"),
                format!("undocumented change, counted as {counted}: {summary}"),
            )
        }
    }
}

fn write_outcome(
    text: &mut String,
    view: &View,
    outcome: &Outcome,
    go_on: Option<&str>,
    paint: Paint,
) {
    let last_words = view.last_words();
    match outcome.outcome {
        _ if arms::write_outcome(text, view, outcome, paint) => {}
        Ending::Consensus => {
            let option = outcome
                .result
                .get("recommended_option")
                .and_then(|value| value.as_str())
                .unwrap_or_default();
            // The rules say HIGH whoever spoke; nobody should take that from a rehearsal.
            let rehearsed = if view
                .started
                .as_ref()
                .is_some_and(|started| started.rehearsal)
            {
                " (rehearsed)"
            } else {
                ""
            };
            let summary = paint.strong(&brief(&outcome.summary));
            let _ = writeln!(
                text,
                "{}  {summary}  confidence HIGH{rehearsed}",
                paint.good("RECOMMENDED")
            );
            for (agent, position) in last_words
                .iter()
                .filter(|(_, position)| position.counted.as_deref() != Some(option))
            {
                let held = position.counted.as_deref().unwrap_or("–");
                let _ = writeln!(
                    text,
                    "  dissent   {agent} → {held}: “{}”",
                    brief(&position.last_word())
                );
            }
            for (agent, position) in last_words.iter().filter(|(_, position)| {
                position.counted.as_deref() == Some(option) && !position.flips_if.is_empty()
            }) {
                let _ = writeln!(text, "  flips if  {} ({agent})", brief(&position.flips_if));
            }
        }
        Ending::Contested => {
            let _ = writeln!(
                text,
                "{}  {}",
                paint.attention("CONTESTED"),
                paint.strong(&brief(&outcome.summary))
            );
            for (agent, position) in &last_words {
                let _ = writeln!(
                    text,
                    "  {agent} favours {}: “{}”",
                    position.counted.as_deref().unwrap_or("–"),
                    brief(&position.last_word())
                );
            }
            write_choose(text, view);
        }
        Ending::Stopped => {
            let _ = writeln!(
                text,
                "{}  {}",
                paint.attention("STOPPED"),
                brief(&outcome.summary)
            );
            if let Some(command) = go_on {
                let _ = writeln!(text, "  go on     {command}");
            }
        }
        Ending::Completed => {
            let _ = writeln!(
                text,
                "{}  {}",
                paint.good("COMPLETED"),
                brief(&outcome.summary)
            );
        }
        Ending::Redacted => {
            let _ = writeln!(
                text,
                "{}  {}",
                paint.attention("REDACTED"),
                brief(&outcome.summary)
            );
        }
        ending => {
            let _ = writeln!(
                text,
                "{}  {}",
                paint.bad(&ending.as_str().to_uppercase().replace('_', " ")),
                brief(&outcome.summary)
            );
            if let Some(command) = ask_anew(view) {
                let _ = writeln!(
                    text,
                    "  go on     {command}   (keeps what was answered before)"
                );
            }
        }
    }
    for words in robustness(view).iter().flat_map(Robustness::in_words) {
        let _ = writeln!(text, "  robust    {words}");
    }
    write_ends(text, view, outcome, paint);
}

/// Who was missing, who answered instead, and what people said of it.
fn write_ends(text: &mut String, view: &View, outcome: &Outcome, paint: Paint) {
    for absence in &outcome.degraded {
        let _ = writeln!(
            text,
            "  degraded  {} {} at {}: {}",
            absence.agent,
            absence.reason,
            absence.turn,
            shortened_reason(&on_one_line(&absence.detail), 120)
        );
    }
    for other in &outcome.substituted {
        let lost = if other.diversity_lost {
            paint.attention(" (diversity lost: another judge is of that family)")
        } else {
            String::new()
        };
        let (from, to) = (on_one_line(&other.from), on_one_line(&other.to));
        let _ = writeln!(
            text,
            "  instead   {} at {}: {to} answered for {from}{lost}",
            other.agent, other.turn
        );
    }
    for Switch {
        agent,
        asked,
        answered,
        turns,
    } in switches(view)
    {
        let (asked, answered) = (
            on_one_line(&asked),
            paint.attention(&on_one_line(&answered)),
        );
        let _ = writeln!(
            text,
            "  switched  {agent} at {}: {asked} was asked and answered as {answered}",
            turns.join(", ")
        );
    }
    if let Some(answer) = &view.answer {
        let why = if answer.reason.is_empty() {
            String::new()
        } else {
            format!(": “{}”", brief(&answer.reason))
        };
        let _ = writeln!(
            text,
            "  answered  {} by {}{why}",
            paint.strong(&answer.option),
            on_one_line(&answer.by)
        );
    }
    if let Some(marked) = &view.marked {
        let why = if marked.reason.is_empty() {
            String::new()
        } else {
            format!(": “{}”", brief(&marked.reason))
        };
        let _ = writeln!(
            text,
            "  right     {} by {}{why}",
            paint.strong(&marked.option),
            on_one_line(&marked.by)
        );
    }
}

/// What it cost. Where that is unknown: what its cap on money counts, or the least that it was.
fn money(spent: &Spent) -> String {
    let charged = spent
        .charged
        .map(|charged| charged.cost_usd)
        .filter(|charged| *charged > spent.known_cost_usd);
    match (spent.cost_usd, charged) {
        (Some(dollars), _) => format!("${dollars:.4}"),
        (None, Some(charged)) => format!("cost n/a (${charged:.4} charged)"),
        (None, None) if spent.known_cost_usd > 0.0 => {
            format!("cost n/a (at least ${:.4})", spent.known_cost_usd)
        }
        (None, None) => "cost n/a".to_owned(),
    }
}

fn thousands(count: u64) -> String {
    if count < 10_000 {
        count.to_string()
    } else {
        format!("{:.1}k", count as f64 / 1000.0)
    }
}

pub fn plural(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// How long somebody worked on it; the time it lay still is not counted.
pub fn seconds(view: &View) -> Option<f64> {
    (view.events > 0).then(|| view.worked_ms as f64 / 1000.0)
}
