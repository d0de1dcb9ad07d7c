//! Progress on standard error while a debate runs: spinners on a terminal, one line per event
//! elsewhere.

use crate::{
    paint::{Paint, is_plain},
    remote::Voice,
    text::{TOPIC_CHARS, gate_lines, padded},
};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rebut_engine::{
    clean::{on_one_line, shortened},
    event::{Event, TurnCompleted, TurnFailed},
    lessons::shared_note,
    model::Delta,
    model_mismatch::is_switch,
    record::Record,
    view::BLIND_PHASES,
};
use std::{collections::HashMap, sync::Arc, time::Duration};

pub enum Progress {
    Silent,
    Lines(Paint),
    /// A line per agent that thinks, taken away at the end.
    Spinners(Box<Spinners>),
}

/// The lines of agents that think.
pub struct Spinners {
    all: MultiProgress,
    bars: HashMap<Arc<str>, (ProgressBar, usize)>,
    ended: Vec<ProgressBar>,
    heading: ProgressBar,
    paint: Paint,
}

impl Progress {
    /// What fits the flags and the terminal. While a person is one of the judges nothing is shown:
    /// the first round is blind.
    pub fn new(quiet: bool, person_answers: bool) -> Self {
        let all = MultiProgress::new();
        // Spinners are hidden where standard error is no terminal, or one that cannot move its
        // cursor.
        let interactive = !all.is_hidden() && !is_plain() && std::env::var_os("CI").is_none();
        match (quiet || person_answers, interactive) {
            (true, _) => Self::Silent,
            (false, false) => Self::Lines(Paint::stderr()),
            (false, true) => {
                let heading = all.add(ProgressBar::new_spinner().with_style(style("{wide_msg}")));
                Self::Spinners(Box::new(Spinners {
                    all,
                    bars: HashMap::new(),
                    ended: Vec::new(),
                    heading,
                    paint: Paint::stderr(),
                }))
            }
        }
    }

    pub fn event(&mut self, record: &Record) {
        let Ok(Some(event)) = record.event() else {
            return;
        };
        match (&mut *self, &event) {
            // Nothing goes on before somebody is told.
            (Self::Silent | Self::Spinners(_), Event::GateOpened(_)) => {
                return self.say(&line(record, &event));
            }
            // A phase without a gate is nothing to tell.
            (_, Event::GateDecided(gate)) if gate.by == "auto" => return,
            _ => {}
        }
        match self {
            Self::Silent => {}
            Self::Lines(paint) => {
                warn_line!(
                    "{} {}",
                    paint.faint(&format!("[{}]", record.seq)),
                    line(record, &event)
                );
            }
            Self::Spinners(spinners) => spinners.event(record, &event),
        }
    }

    pub fn delta(&mut self, delta: &Delta) {
        if let Self::Spinners(spinners) = self
            && let Some((bar, words)) = spinners.bars.get_mut(delta.turn.as_str())
        {
            *words += delta.text.split_whitespace().count();
            bar.set_message(format!("writing, {words} words"));
        }
    }

    /// Says something without disturbing the spinners.
    pub fn say(&self, text: &str) {
        (self.voice())(text);
    }

    /// The same for whoever has something to say later.
    pub fn voice(&self) -> Voice {
        match self {
            Self::Spinners(spinners) => {
                let all = spinners.all.clone();
                Box::new(move |text| all.suspend(|| warn_line!("{text}")))
            }
            Self::Lines(_) | Self::Silent => Box::new(|text| warn_line!("{text}")),
        }
    }

    pub fn finish(&mut self) {
        if let Self::Spinners(spinners) = self {
            spinners.heading.finish_and_clear();
            for bar in spinners
                .bars
                .values()
                .map(|(bar, _)| bar)
                .chain(&spinners.ended)
            {
                bar.finish_and_clear();
            }
        }
    }
}

impl Spinners {
    fn event(&mut self, record: &Record, event: &Event) {
        match event {
            Event::RoundStarted(round) => {
                self.ended.drain(..).for_each(|bar| bar.finish_and_clear());
                let phase = record.phase.as_deref().unwrap_or_default();
                let phase = if BLIND_PHASES.contains(&phase) {
                    "blind"
                } else {
                    phase
                };
                let heading = format!(
                    "Round {} {phase}: {}",
                    record.round.unwrap_or(0),
                    round.agents.join(", ")
                );
                self.heading.set_message(self.paint.faint(&heading));
            }
            Event::TurnStarted(started) => {
                let agent = record.agent.as_deref().unwrap_or_default();
                let bar = self.all.add(
                    ProgressBar::new_spinner()
                        .with_style(style("  {spinner} {prefix} {msg} {elapsed}")),
                );
                bar.set_prefix(padded(agent, 8));
                bar.set_message(format!("thinking ({})", on_one_line(&started.model)));
                bar.enable_steady_tick(Duration::from_millis(100));
                if let Some((old, _)) = self.bars.insert(started.turn.clone(), (bar, 0)) {
                    old.finish_and_clear();
                }
            }
            Event::TurnCompleted(completed) => {
                let usage = completed
                    .usage
                    .map(|usage| format!(", {} tokens", usage.output))
                    .unwrap_or_default();
                let said = peek(&completed.text).unwrap_or_else(|| "answered".to_owned());
                self.end(
                    &completed.turn,
                    &format!(
                        "{said} ({:.1} s{usage}){}",
                        completed.ms as f64 / 1000.0,
                        other_model(completed)
                    ),
                );
            }
            Event::TurnFailed(failed) => {
                self.end(
                    &failed.turn,
                    &format!(
                        "{}{}",
                        on_one_line(&failed.fault.to_string()),
                        what_follows(failed)
                    ),
                );
            }
            _ => {}
        }
    }

    fn end(&mut self, turn: &str, message: &str) {
        // Taken out, so that pieces of text that arrive late no longer change the line.
        if let Some((bar, _)) = self.bars.remove(turn) {
            bar.set_style(style("  · {prefix} {wide_msg}"));
            bar.finish_with_message(message.to_owned());
            self.ended.push(bar);
        }
    }
}

/// The position in a reply, where there is one that can be read at a glance.
fn peek(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Peek {
        #[serde(alias = "answer")]
        option: String,
        confidence: f64,
        summary: String,
    }
    let peek = serde_json::from_str::<Peek>(text).ok()?;
    let (option, summary) = (on_one_line(&peek.option), on_one_line(&peek.summary));
    Some(format!(
        "{} {:.2} {}",
        shortened(&option, 16),
        peek.confidence,
        shortened(&summary, 70)
    ))
}

pub fn line(record: &Record, event: &Event) -> String {
    let agent = record.agent.as_deref().unwrap_or_default();
    match event {
        Event::DebateStarted(started) => format!(
            "{} {} “{}”{}",
            started.format,
            record.debate.short(),
            shortened(&on_one_line(&started.topic), TOPIC_CHARS),
            if started.rehearsal {
                " (rehearsal)"
            } else {
                ""
            }
        ),
        Event::RoundStarted(round) => {
            format!(
                "round {}, {}: {}",
                record.round.unwrap_or(0),
                record.phase.as_deref().unwrap_or(&round.step),
                round.agents.join(", ")
            )
        }
        Event::TurnStarted(started) => {
            format!("{} asked ({})", started.turn, on_one_line(&started.model))
        }
        Event::TurnFailed(failed) => {
            format!(
                "{} failed: {}{}",
                failed.turn,
                on_one_line(&failed.fault.to_string()),
                what_follows(failed)
            )
        }
        Event::TurnCompleted(completed) => {
            let said = peek(&completed.text)
                .map(|said| format!(": {said}"))
                .unwrap_or_default();
            format!(
                "{} answered in {:.1} s{}{said}",
                completed.turn,
                completed.ms as f64 / 1000.0,
                other_model(completed)
            )
        }
        Event::RoundCompleted(round) => {
            format!(
                "{} completed: {} answered, {} missing",
                round.step,
                round.answered.len(),
                round.absent.len()
            )
        }
        Event::PositionRecorded(position) => {
            format!(
                "{agent} holds {} ({:.2})",
                position.option.as_deref().unwrap_or("nothing"),
                position.confidence
            )
        }
        Event::PositionChanged(position) => {
            let cited = position
                .because
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            let why = match (position.documented, cited.as_str()) {
                // Where nobody has to name what convinced it.
                (true, "") => String::new(),
                (true, cited) => format!(", because of {cited}"),
                (false, _) => ", undocumented".to_owned(),
            };
            format!(
                "{agent} moved {} → {}{why}",
                position.from.as_deref().unwrap_or("–"),
                position.option.as_deref().unwrap_or("–")
            )
        }
        Event::VoteTallied(tally) if tally.threshold == 0.0 => {
            let leader = tally
                .leader
                .as_deref()
                .map_or_else(|| "nobody".to_owned(), on_one_line);
            format!("agreement {:.2}, {leader} leads", tally.share)
        }
        Event::VoteTallied(tally) => {
            format!(
                "agreement {:.2} of {} needed{}",
                tally.share,
                tally.threshold,
                if tally.reached { ": reached" } else { "" }
            )
        }
        Event::PersonaRecorded(persona) => format!("{agent} is {}", on_one_line(&persona.title)),
        Event::VerdictRecorded(ruling) => {
            let winner = ruling
                .winner
                .as_deref()
                .map_or_else(|| "a draw".to_owned(), on_one_line);
            let flipped = if ruling.flipped {
                ", the verdict flipped with the order"
            } else {
                ""
            };
            format!(
                "verdict on {}: {winner} ({:.2}){flipped}",
                on_one_line(&ruling.about),
                ruling.confidence
            )
        }
        Event::ScoreAdjusted(score) => {
            format!(
                "{} {:.1} → {:.1}: {}",
                on_one_line(&score.category),
                score.before,
                score.after,
                on_one_line(&score.why)
            )
        }
        Event::CodeRecorded(code) => format!(
            "version {} of {}, {}",
            code.version,
            code.candidate,
            code.metrics.words()
        ),
        Event::ReflectionRecorded(reflection) => {
            format!(
                "after attempt {}: {}",
                reflection.attempt,
                on_one_line(&reflection.what_to_change)
            )
        }
        Event::LessonRecorded(lesson) => format!(
            "{}{}",
            on_one_line(&lesson.text),
            shared_note(lesson.shared_process)
        ),
        Event::ToolCalled(call) => match &call.refused {
            Some(refused) => format!(
                "{agent} was refused {}: {}",
                on_one_line(&call.tool),
                shortened(&on_one_line(refused), 100)
            ),
            None => {
                let said = call.result.as_deref().map(on_one_line).unwrap_or_default();
                format!(
                    "{agent} used {}: {}",
                    on_one_line(&call.tool),
                    shortened(&said, 100)
                )
            }
        },
        Event::RunStarted(started) => {
            format!("{}: {} in {}", started.run, started.work, started.language)
        }
        Event::RunCompleted(completed) => match completed.result() {
            Err(refused) => format!(
                "{}: not run: {}",
                completed.run,
                on_one_line(&refused.to_string())
            ),
            Ok(ran) if ran.tests.is_empty() => format!("{}: ended, {} ms", completed.run, ran.ms),
            Ok(ran) => {
                let tests = if ran.tests.len() == 1 {
                    "test"
                } else {
                    "tests"
                };
                format!(
                    "{}: {} of {} {tests} passed{}",
                    completed.run,
                    ran.passed(),
                    ran.tests.len(),
                    ran.shared_note()
                )
            }
        },
        Event::MergeRecorded(merge) => format!(
            "{} operations stand, {} do not",
            merge.merged.len(),
            merge.dropped.len()
        ),
        Event::ConflictsFound(found) => format!("{} conflicts found", found.conflicts.len()),
        Event::GateOpened(gate) => format!("waiting {}", gate_lines(gate, &record.debate.short())),
        Event::GateDecided(gate) if gate.by == "auto" => format!("no gate {}", gate.gate),
        Event::GateDecided(gate) => {
            format!(
                "gate {} {} by {}",
                gate.gate,
                if gate.approved {
                    "approved"
                } else {
                    "rejected"
                },
                on_one_line(&gate.by)
            )
        }
        Event::HumanNoted(note) => format!(
            "note by {}: {}",
            on_one_line(&note.by),
            shortened(&on_one_line(&note.text), 100)
        ),
        Event::HumanMarked(marked) => format!(
            "marked {} as right by {}",
            marked.option,
            on_one_line(&marked.by)
        ),
        Event::HumanAnswered(answer) => {
            format!("answered {} by {}", answer.option, on_one_line(&answer.by))
        }
        Event::HumanCancelled(cancelled) => format!("cancelled by {}", on_one_line(&cancelled.by)),
        Event::HumanPaused(paused) => format!("a pause asked for by {}", on_one_line(&paused.by)),
        Event::DebatePaused(paused) => {
            format!("paused: {}{}", paused.reason, by(paused.by.as_deref()))
        }
        Event::DebateResumed(resumed) if resumed.drift.is_empty() => {
            format!("resumed{}", by(resumed.by.as_deref()))
        }
        Event::DebateResumed(resumed) => format!(
            "resumed with changed prompts ({}); recorded turns stand",
            resumed.drift.join(", ")
        ),
        Event::DebateCompleted(outcome) => format!(
            "{}: {}",
            outcome.outcome.as_str(),
            on_one_line(&outcome.summary)
        ),
        Event::EventRedacted(redacted) => format!(
            "event {} redacted: {}",
            redacted.seq,
            on_one_line(&redacted.reason)
        ),
    }
}

/// Whose word something followed, if anybody's.
fn by(name: Option<&str>) -> String {
    name.map(|name| format!(" by {}", on_one_line(name)))
        .unwrap_or_default()
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Who answered, where the provider used another model than it was asked for.
fn other_model(completed: &TurnCompleted) -> String {
    let other = completed
        .answered_by
        .as_deref()
        .filter(|answered| is_switch(&completed.model, answered));
    other
        .map(|answered| {
            format!(
                " as {}, not {}",
                on_one_line(answered),
                on_one_line(&completed.model)
            )
        })
        .unwrap_or_default()
}

/// Who is asked after a failed attempt.
fn what_follows(failed: &TurnFailed) -> String {
    match &failed.fallback {
        Some(model) => format!(", asking {}", on_one_line(model)),
        None if failed.retry => ", asking again".to_owned(),
        None => String::new(),
    }
}
