//! A debate as one HTML file that needs nothing else: no script, nothing remote, one style sheet
//! known by its hash. In five seconds it says what was decided, how sure, and who disagrees; in
//! thirty who moved, when, and because of which claim. Pure.

mod agreement;
mod findings;
mod ledger;
mod look;
mod markup;
mod prose;
mod result_card;
mod river;
mod river_svg;
mod rounds;
mod slope;
mod verdict;

use super::markdown::transcript;
use crate::{
    clean::{on_one_line, shortened},
    event::Started,
    formats::{Format, ending_word},
    record::Hash,
    report::shown,
    view::View,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use look::Look;
pub use markup::Markup;
pub use result_card::ResultCard;
use result_card::card_of;
use river::River;
use slope::Slope;

const PAGE_STYLE: &str = include_str!("page.css");
const CHART_STYLE: &str = include_str!("chart.css");

/// What is said, loudly, when nobody real answered.
const REHEARSAL: &str = "REHEARSAL: the built-in speaker answered, not a model. Good for trying \
    rebut, not for deciding.";

/// The whole report. Equal journals give equal bytes.
pub fn html(view: &View) -> String {
    let topic = view.started.as_ref().map_or_else(
        || "A debate that has not begun".to_owned(),
        |started| on_one_line(&started.topic),
    );
    let mut page = Markup::default();
    page.own("<!doctype html>\n");
    page.within("html", &[("lang", "en")], |page| {
        head(page, &topic);
        page.within("body", &[], |page| match &view.started {
            Some(started) => body(page, view, started, &topic),
            None => page.element(
                "p",
                &[],
                "This journal has no beginning: there is nothing to report.",
            ),
        });
    });
    page.finish()
}

/// The drawing alone, as an SVG file: the position river, or the scores before and after; an error
/// in words where there is nothing to draw.
pub fn chart(view: &View) -> Result<String, String> {
    let mut drawing = Markup::default();
    let slopes = Slope::all(view);
    match River::of(view) {
        Some(river) if river.can_be_drawn() => river_svg::draw(&mut drawing, &river, true),
        Some(_) => {
            return Err(
                "there are too many agents or options to draw; the HTML report has them as a table"
                    .to_owned(),
            );
        }
        None if slope::can_be_drawn(&slopes) => slope::draw(&mut drawing, &slopes, true),
        None => {
            return Err(
                "there is nothing to draw: nobody holds a position, and there are no scores"
                    .to_owned(),
            );
        }
    }
    let text = drawing.finish();
    // A drawing that stands alone brings its style.
    let style = format!("<style>{}</style><title", plain_style(CHART_STYLE));
    Ok(format!(
        "{}\n",
        text.replacen("<title", &style, 1).trim_end()
    ))
}

/// The style of drawings for programs that know neither variables nor schemes: colours as they are
/// on a light ground, and simple selectors.
fn plain_style(style: &str) -> String {
    let colours: Vec<(&str, &str)> = style
        .split("--")
        .filter_map(|part| {
            let (name, rest) = part.split_once(": light-dark(")?;
            Some((name, rest.split_once(',')?.0))
        })
        .collect();
    let mut plain = String::new();
    for (selector, body) in style
        .split('}')
        .filter_map(|rule| rule.split_once('{'))
        .map(|(selector, body)| (selector.trim(), body))
    {
        let kept: Vec<&str> = body
            .split(';')
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("--"))
            .collect();
        let selector = selector.strip_prefix(".chart ").unwrap_or(selector);
        if kept.is_empty() || selector.starts_with(":root") {
            continue;
        }
        let hues = if selector.contains(ANY_HUE) {
            look::HUES
        } else {
            &[""]
        };
        for hue in hues {
            let mut rule = format!(
                "{} {{ {}; }}\n",
                selector.replace(ANY_HUE, &format!(".{hue}")),
                kept.join("; ")
            );
            rule = rule.replace("var(--hue)", &format!("var(--{hue})"));
            for (name, colour) in &colours {
                rule = rule.replace(&format!("var(--{name})"), colour);
            }
            plain.push_str(&rule);
        }
    }
    plain
}

/// How the style sheet says: of whatever hue.
const ANY_HUE: &str = "[class*=\"hue\"]";

/// What the style sheet is known by.
fn style_source(style: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Hash::of(style.as_bytes()).0))
}

fn head(page: &mut Markup, topic: &str) {
    let style = format!("{PAGE_STYLE}{CHART_STYLE}");
    let policy = format!(
        "default-src 'none'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        style_source(&style)
    );
    page.within("head", &[], |page| {
        page.empty("meta", &[("charset", "utf-8")]);
        page.empty(
            "meta",
            &[
                ("http-equiv", "Content-Security-Policy"),
                ("content", &policy),
            ],
        );
        page.empty(
            "meta",
            &[
                ("name", "viewport"),
                ("content", "width=device-width, initial-scale=1"),
            ],
        );
        page.empty("meta", &[("name", "referrer"), ("content", "no-referrer")]);
        page.empty(
            "meta",
            &[("name", "color-scheme"), ("content", "light dark")],
        );
        page.element("title", &[], &shortened(topic, 120));
        page.own(&format!("<style>{style}</style>\n"));
    });
}

fn body(page: &mut Markup, view: &View, started: &Started, topic: &str) {
    let river = River::of(view);
    let slopes = Slope::all(view);
    page.within("header", &[], |page| {
        page.element("p", &[("class", "kicker")], &kicker(view, started));
        page.element("h1", &[], topic);
        if started.rehearsal {
            page.element("p", &[("class", "loud"), ("role", "note")], REHEARSAL);
        }
    });
    let reading = Format::of(view).and_then(|format| format.reading);
    page.within("main", &[], |page| {
        verdict::write(page, view, started);
        let has_scores = card_of(view).map_or(!slopes.is_empty(), |card| card.has_reasons());
        contents(page, view, river.is_some(), has_scores, reading.is_some());
        if let Some(river) = &river {
            positions(page, river);
        }
        agreement::write(page, view);
        match card_of(view) {
            Some(card) => card.reasons(page),
            None if !slopes.is_empty() => scores(page, &slopes),
            None => {}
        }
        findings::write(page, view, reading.is_some());
        panel(page, view, started);
        match reading {
            Some(reading) => section(page, "transcript", "What was said", |page| {
                prose::write(page, &said(view, &(reading.transcript)(view)))
            }),
            None if view.rounds.is_empty() => {
                section(page, "transcript", "What was said", |page| {
                    prose::write(page, &said(view, &transcript(view)))
                })
            }
            None => rounds::write(page, view),
        }
        ledger::write(page, view, started);
    });
}

/// A transcript without the sections that the page has in its own way already.
fn said(view: &View, transcript: &str) -> String {
    let format = view.started.as_ref().map_or("", |started| &started.format);
    let ending = view
        .outcome
        .as_ref()
        .map(|outcome| ending_word(format, outcome))
        .unwrap_or_default();
    let scores = if card_of(view).is_some() {
        "Scores"
    } else {
        ""
    };
    let stands_already = |heading: &str| {
        [
            "Panel",
            "Conflicts",
            scores,
            &ending,
            &ending.replace(' ', "_"),
        ]
        .contains(&heading)
    };
    // What agents said is never at the start of a line, or in a block of code: there it may look
    // like a heading.
    let mut kept = String::with_capacity(transcript.len());
    let (mut keeps, mut fence) = (true, None);
    for line in transcript.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(open) if ticks == open && line.len() == ticks => fence = None,
            None if ticks >= 3 => fence = Some(ticks),
            None if line.starts_with("## ") => keeps = !stands_already(line[3..].trim()),
            _ => {}
        }
        if keeps {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn kicker(view: &View, started: &Started) -> String {
    let count =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let rounds = view.rounds.iter().filter(|round| round.completed).count();
    let settings = Format::named(&started.format)
        .and_then(|format| format.reading)
        .map(|reading| (reading.heading)(started));
    let mut parts = vec![started.format.clone()];
    match settings.filter(|settings| !settings.is_empty()) {
        Some(settings) => parts.push(settings),
        None => parts.extend([count(started.agents.len(), "agent"), count(rounds, "round")]),
    }
    parts.push(view.created_at.get(..10).unwrap_or_default().to_owned());
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// Links to what follows: a long page is left and entered by them.
fn contents(page: &mut Markup, view: &View, has_river: bool, has_scores: bool, has_reading: bool) {
    let rows = [
        ("#river", "Who moved", has_river),
        ("#agreement", "Agreement", agreement::is_there(view)),
        (
            "#scores",
            if card_of(view).is_some() {
                "Why"
            } else {
                "Scores"
            },
            has_scores,
        ),
        (
            "#verdicts",
            "Verdicts",
            !view.verdicts.is_empty() && !has_reading,
        ),
        ("#conflicts", "Conflicts", !view.conflicts.is_empty()),
        ("#panel", "Panel", true),
        (
            "#transcript",
            if has_reading {
                "What was said"
            } else {
                "Rounds"
            },
            true,
        ),
        ("#record", "Cost and record", true),
    ];
    page.within("nav", &[("aria-label", "Contents")], |page| {
        page.within("ul", &[("class", "skip")], |page| {
            for (link, words, _) in rows.iter().filter(|(_, _, is_there)| *is_there) {
                page.within("li", &[], |page| {
                    page.element("a", &[("href", link)], words)
                });
            }
        });
    });
}

/// A part of the page with its heading.
pub fn section(page: &mut Markup, id: &str, heading: &str, fill: impl FnOnce(&mut Markup)) {
    page.within("section", &[("id", id)], |page| {
        page.element("h2", &[], heading);
        fill(page);
    });
}

fn positions(page: &mut Markup, river: &River) {
    section(page, "river", "Who moved, when, and why", |page| {
        let drawn = river.can_be_drawn();
        if drawn {
            page.within("figure", &[], |page| {
                page.within(
                    "div",
                    &[
                        ("class", "scroll"),
                        ("tabindex", "0"),
                        ("role", "region"),
                        ("aria-label", "Position river"),
                    ],
                    |page| {
                        river_svg::draw(page, river, false);
                    },
                );
                let how = "A column is a round, a lane is what can be held, a line is an agent. A \
                    diamond is a change of mind; the thin \
                           line leads to the claim that caused it. A cross is somebody missing.";
                page.element("figcaption", &[], how);
            });
        }
        match river.moves.is_empty() {
            true => page.element("p", &[], "Nobody changed their mind."),
            false => page.within("ol", &[], |page| {
                river
                    .moves
                    .iter()
                    .for_each(|moved| rounds::moved(page, river, moved))
            }),
        }
        let titles: Vec<String> = river
            .columns
            .iter()
            .map(|column| format!("Round {}", column.round))
            .collect();
        let titles: Vec<&str> = ["Agent"]
            .into_iter()
            .chain(titles.iter().map(String::as_str))
            .collect();
        let rows = river.tracks.iter().map(|track| {
            let stops = track.stops.iter().map(|stop| river.stop_words(stop));
            [track.agent.clone()].into_iter().chain(stops).collect()
        });
        page.open("details", if drawn { &[] } else { &[("open", "")] });
        page.element("summary", &[], "The same as a table");
        page.table(
            "What each agent held in each round, and how sure it was",
            &titles,
            rows,
        );
        page.close("details");
    });
}

/// The drawing of scores before and after, where there is something to draw.
pub fn slopes(page: &mut Markup, view: &View) {
    let slopes = Slope::all(view);
    if slope::can_be_drawn(&slopes) {
        slope::figure(page, &slopes);
    }
}

fn scores(page: &mut Markup, slopes: &[Slope]) {
    section(page, "scores", "Scores before and after", |page| {
        if slope::can_be_drawn(slopes) {
            slope::figure(page, slopes);
        }
        let rows = slopes.iter().map(|slope| {
            let why = slope
                .why
                .iter()
                .map(|why| on_one_line(why))
                .collect::<Vec<_>>()
                .join(" ");
            let ((before, after), (unsure, sure)) = (slope.score, slope.confidence);
            let confidence = format!("{unsure:.2} → {sure:.2}");
            vec![
                slope.category.clone(),
                shown(before),
                shown(after),
                slope.change(),
                confidence,
                why,
            ]
        });
        page.table(
            "Each score before and after the debate",
            &["Category", "Before", "After", "Change", "Confidence", "Why"],
            rows,
        );
    });
}

fn panel(page: &mut Markup, view: &View, started: &Started) {
    section(page, "panel", "Panel", |page| {
        page.within(
            "div",
            &[
                ("class", "scroll"),
                ("tabindex", "0"),
                ("role", "region"),
                ("aria-label", "Panel"),
            ],
            |page| {
                page.open("table", &[]);
                page.element("caption", &[], "Who took part, and what it used");
                page.within("thead", &[], |page| {
                    page.within("tr", &[], |page| {
                        let titles = [
                            "Agent",
                            "Stance",
                            "Model",
                            "Holds now",
                            "Calls",
                            "Tokens in",
                            "Tokens out",
                            "Cost",
                        ];
                        titles
                            .iter()
                            .for_each(|title| page.element("th", &[("scope", "col")], title));
                    });
                });
                page.within("tbody", &[], |page| {
                    started
                        .agents
                        .iter()
                        .enumerate()
                        .for_each(|(place, agent)| ledger::agent_row(page, view, place, agent));
                });
                page.close("table");
            },
        );
    });
}

fn named(page: &mut Markup, place: usize, name: &str) {
    Look::of(place).key(page, name);
    page.line(name);
}

#[cfg(test)]
mod tests;
