//! The verdict card: what was decided, how sure, who disagrees; or honestly that nothing was.

use super::{card_of, markup::Markup, named};
use crate::{
    clean::{for_people, on_one_line},
    event::{Position, Started},
    family::only_family,
    formats::{Format, Shortfall, ending_word, weights::Weights},
    model_mismatch::switches,
    outcome::{Ending, Outcome},
    report::markdown::choices,
    retally::robustness,
    view::View,
};

/// How an ending looks: its class, its mark and its word. The mark and the word say the same as the
/// colour.
fn face(format: &str, outcome: &Outcome, decides: bool) -> (&'static str, String) {
    let word = ending_word(format, outcome);
    match outcome.outcome {
        _ if Shortfall::of(format, outcome) == Some(Shortfall::TestsFail) => {
            ("card bad", format!("✕ {word}"))
        }
        _ if Shortfall::of(format, outcome).is_some() => ("card attention", format!("▮ {word}")),
        Ending::Consensus if decides => ("card good", "✓ RECOMMENDED".to_owned()),
        Ending::Consensus | Ending::Majority | Ending::Completed => {
            ("card good", format!("✓ {word}"))
        }
        Ending::Contested => (
            "card attention",
            "⚖ CONTESTED: a person must choose".to_owned(),
        ),
        Ending::Stopped => ("card attention", "▮ STOPPED at a limit".to_owned()),
        Ending::Redacted => ("card attention", "▮ REDACTED".to_owned()),
        Ending::NoQuorum
        | Ending::Failed
        | Ending::NoModel
        | Ending::Rejected
        | Ending::Cancelled => ("card bad", format!("✕ {word}")),
    }
}

pub fn write(page: &mut Markup, view: &View, started: &Started) {
    let Some(outcome) = &view.outcome else {
        return open(page, view);
    };
    let reading = Format::of(view).and_then(|format| format.reading);
    let (class, word) = face(&started.format, outcome, reading.is_none());
    page.within(
        "section",
        &[
            ("id", "verdict"),
            ("class", class),
            ("aria-label", "Verdict"),
        ],
        |page| {
            page.element("p", &[("class", "word")], &word);
            page.element("p", &[("class", "big")], &outcome.summary);
            match (card_of(view), reading) {
                (Some(card), _) => card.card(page, view),
                (None, Some(reading)) => lines(page, &(reading.lines)(view)),
                (None, None) => counted(page, view, started, outcome),
            }
            warnings(page, view, started, outcome);
            people(page, view);
        },
    );
}

/// The lines of a terminal, which stand in columns.
fn lines(page: &mut Markup, lines: &[String]) {
    let lines: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| !line.trim().is_empty())
        .collect();
    if !lines.is_empty() {
        page.within("pre", &[("class", "lines")], |page| {
            for line in lines {
                // Each its own block, so that one that is too long goes on under itself.
                page.open("span", &[]);
                page.text(line);
                page.close("span");
            }
        });
    }
}

fn open(page: &mut Markup, view: &View) {
    page.within(
        "section",
        &[
            ("id", "verdict"),
            ("class", "card attention"),
            ("aria-label", "Verdict"),
        ],
        |page| {
            page.element(
                "p",
                &[("class", "word")],
                if view.paused {
                    "▮ PAUSED"
                } else {
                    "… NOT ENDED"
                },
            );
            let words = format!(
                "Read-only copy made after event {}, {}.",
                view.events, view.updated_at
            );
            page.element("p", &[("class", "big")], &words);
            let id = view.id.map(|id| id.short()).unwrap_or_default();
            page.within("p", &[], |page| {
                page.line("Go on with ");
                page.element("code", &[], &format!("rebut resume {id}"));
            });
        },
    );
}

/// The lane that won, as formats that count name it.
fn winner(outcome: &Outcome) -> Option<&str> {
    let found = |key: &str| outcome.result.get(key).and_then(|value| value.as_str());
    found("recommended_option").or_else(|| found("winner"))
}

fn counted(page: &mut Markup, view: &View, started: &Started, outcome: &Outcome) {
    let place = |agent: &str| {
        started
            .agents
            .iter()
            .position(|known| &*known.name == agent)
            .unwrap_or(started.agents.len())
    };
    let last = view.last_words();
    let won = winner(outcome);
    match won {
        Some(won) => {
            sureness(page, view, &last, won);
            let against: Vec<_> = last
                .iter()
                .filter(|(_, position)| position.counted.as_deref() != Some(won))
                .collect();
            page.element(
                "h3",
                &[],
                if against.is_empty() {
                    "Nobody who answered disagrees"
                } else {
                    "Who disagrees"
                },
            );
            page.within("ul", &[], |page| {
                against
                    .iter()
                    .for_each(|(agent, position)| holds(page, place(agent), agent, position))
            });
        }
        None if outcome.outcome == Ending::Contested => sides(page, view, &last, &place),
        None => {}
    }
    let flips: Vec<_> = last
        .iter()
        .filter(|(_, position)| !position.flips_if.trim().is_empty())
        .collect();
    if !flips.is_empty() {
        page.element("h3", &[], "What would change it");
        page.within("ul", &[], |page| {
            flips.iter().for_each(|(agent, position)| {
                page.element("li", &[], &format!("{agent}: {}", position.flips_if))
            });
        });
    }
}

/// How sure: votes, agreement, the confidence of those for it, and how firmly it stands.
fn sureness(page: &mut Markup, view: &View, last: &[(&str, &Position)], won: &str) {
    let holders: Vec<f64> = last
        .iter()
        .filter(|(_, position)| position.counted.as_deref() == Some(won))
        .map(|(_, at)| at.confidence)
        .collect();
    let tally = view
        .rounds
        .iter()
        .rev()
        .find_map(|round| round.tally.as_ref());
    page.within("dl", &[("class", "facts")], |page| {
        let mut fact = |name: &str, value: String| {
            page.within("div", &[], |page| {
                page.element("dt", &[], name);
                page.element("dd", &[], &value);
            });
        };
        if let Some(tally) = tally {
            let needed = if tally.threshold > 0.0 {
                format!(", {} needed", tally.threshold)
            } else {
                String::new()
            };
            fact("Agreement", format!("{:.2}{needed}", tally.share));
        }
        if !holders.is_empty() {
            fact(
                "Confidence of those for it",
                format!(
                    "{:.2} on average",
                    holders.iter().sum::<f64>() / holders.len() as f64
                ),
            );
        }
        if let Some(robust) = robustness(view) {
            fact(
                "How firmly it stands",
                robust
                    .in_words()
                    .into_iter()
                    .take(2)
                    .collect::<Vec<_>>()
                    .join("; "),
            );
            fact(
                "Independent voters",
                format!(
                    "{} voted, worth about {:.1}",
                    robust.voters, robust.effective_voters
                ),
            );
        }
    });
}

fn sides(
    page: &mut Markup,
    view: &View,
    last: &[(&str, &Position)],
    place: &impl Fn(&str) -> usize,
) {
    let mut options = choices(view);
    for held in last
        .iter()
        .filter_map(|(_, position)| position.counted.as_ref())
    {
        if !options.iter().any(|(id, _)| id == held) {
            options.push((held.clone(), String::new()));
        }
    }
    page.within("div", &[("class", "sides")], |page| {
        for (id, label) in &options {
            page.within("div", &[("class", "side")], |page| {
                page.element("h3", &[], format!("{id} {label}").trim());
                let holders: Vec<_> = last
                    .iter()
                    .filter(|(_, position)| position.counted.as_ref() == Some(id))
                    .collect();
                match holders.is_empty() {
                    true => page.element("p", &[("class", "faint")], "nobody"),
                    false => page.within("ul", &[], |page| {
                        holders
                            .iter()
                            .for_each(|(agent, at)| holds(page, place(agent), agent, at))
                    }),
                }
            });
        }
    });
    if view.answer.is_none() && !options.is_empty() {
        let (id, letters) = (
            view.id.map(|id| id.short()).unwrap_or_default(),
            options.iter().map(|(id, _)| on_one_line(id)),
        );
        let command = format!(
            "rebut answer {id} {} --reason \"…\"",
            letters.collect::<Vec<_>>().join("|")
        );
        page.within("p", &[], |page| page.element("code", &[], &command));
    }
}

fn holds(page: &mut Markup, place: usize, agent: &str, position: &Position) {
    page.within("li", &[], |page| {
        named(page, place, agent);
        let held = position.counted.as_deref().unwrap_or("nothing");
        page.line(&format!(
            " holds {held} ({:.2}): {}",
            position.confidence,
            position.last_word()
        ));
    });
}

/// What a reader must know before relying on it.
fn warnings(page: &mut Markup, view: &View, started: &Started, outcome: &Outcome) {
    let mut words: Vec<String> = Vec::new();
    words.extend(
        only_family(&view.voices()).map(|family| {
            format!("All models are of one family ({family}): they may err together.")
        }),
    );
    words.extend(
        Weights::of_debate(started)
            .words()
            .map(|weights| format!("Votes are weighed: {weights}.")),
    );
    words.extend(outcome.degraded.iter().map(|gone| {
        format!(
            "Missing: {} at {} ({}: {}).",
            gone.agent, gone.turn, gone.reason, gone.detail
        )
    }));
    words.extend(outcome.substituted.iter().map(|other| {
        let lost = if other.diversity_lost {
            "; another agent's model is of the same family"
        } else {
            ""
        };
        format!(
            "Substituted: {} at {}, {} for {}{lost}.",
            other.agent, other.turn, other.to, other.from
        )
    }));
    words.extend(switches(view).iter().map(|switch| {
        format!(
            "Switched: {} at {}, {} was asked and answered as {}.",
            switch.agent,
            switch.turns.join(", "),
            switch.asked,
            switch.answered
        )
    }));
    words.extend(
        outcome
            .stopped
            .as_ref()
            .map(|limit| format!("Stopped: {}.", limit.why)),
    );
    if !view.redacted.is_empty() {
        words.push(format!(
            "{} events were redacted; what they said is missing here.",
            view.redacted.len()
        ));
    }
    if !words.is_empty() {
        page.element("h3", &[], "To know before relying on it");
        page.within("ul", &[], |page| {
            words
                .iter()
                .for_each(|words| page.element("li", &[], words))
        });
    }
}

fn people(page: &mut Markup, view: &View) {
    let mut line = |what: &str, by: &str, option: &str, reason: &str| {
        let why = if reason.trim().is_empty() {
            String::new()
        } else {
            format!(": {}", for_people(reason))
        };
        page.element("p", &[], &format!("{what} by {by}: {option}{why}"));
    };
    if let Some(answer) = &view.answer {
        line("Chosen", &answer.by, &answer.option, &answer.reason);
    }
    if let Some(marked) = &view.marked {
        line(
            "Marked as right",
            &marked.by,
            &marked.option,
            &marked.reason,
        );
    }
}
