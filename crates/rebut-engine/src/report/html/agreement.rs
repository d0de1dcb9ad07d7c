//! How far the agents agreed after each round, as bars with the mark they had to reach, and as a
//! table.

use super::{
    look::{begin, label, point},
    markup::Markup,
    section,
};
use crate::{
    clean::{on_one_line, shortened},
    event::Tally,
    view::{RoundView, View},
};

pub fn is_there(view: &View) -> bool {
    counted(view).next().is_some()
}

/// Writes it, if anything was counted.
pub fn write(page: &mut Markup, view: &View) {
    if !is_there(view) {
        return;
    }
    section(page, "agreement", "Agreement after each round", |page| {
        page.within("figure", &[], |page| draw(page, view));
        let rows = counted(view).map(|(round, tally)| {
            let sides: Vec<String> = tally
                .distribution
                .iter()
                .map(|(option, voters)| format!("{}: {}", shortened(option, 60), voters.join(", ")))
                .collect();
            let needed = if tally.threshold > 0.0 {
                tally.threshold.to_string()
            } else {
                "most".to_owned()
            };
            let reached = if tally.reached { "yes" } else { "no" };
            vec![
                format!("{} {}", round.round, round.phase),
                format!("{:.2}", tally.share),
                needed,
                reached.to_owned(),
                sides.join("; "),
                tally.missing.join(", "),
            ]
        });
        page.table(
            "Counted after each round",
            &[
                "Round",
                "Agreement",
                "Needed",
                "Reached",
                "Who stands for what",
                "Missing",
            ],
            rows,
        );
    });
}

fn counted(view: &View) -> impl Iterator<Item = (&RoundView, &Tally)> {
    view.rounds
        .iter()
        .filter_map(|round| Some((round, &**round.tally.as_ref()?)))
}

const LEFT: f64 = 170.0;
const FULL: f64 = 480.0;
const ROW: f64 = 32.0;

fn draw(page: &mut Markup, view: &View) {
    let rows: Vec<(&RoundView, &Tally)> = counted(view).collect();
    let words = |(round, tally): &(&RoundView, &Tally)| {
        format!("Round {}: {:.2}.", round.round, tally.share)
    };
    let described = rows.iter().map(words).collect::<Vec<_>>().join(" ");
    begin(
        page,
        "agreed",
        (LEFT + FULL + 90.0, ROW * rows.len() as f64 + 10.0),
        "Agreement after each round",
        &described,
    );
    for (at, (round, tally)) in rows.iter().enumerate() {
        let top = ROW * at as f64 + 6.0;
        let bar = |page: &mut Markup, class: &str, width: f64| {
            let (x, y, width) = (point(LEFT), point(top), point(width));
            page.empty(
                "rect",
                &[
                    ("class", class),
                    ("x", &x),
                    ("y", &y),
                    ("width", &width),
                    ("height", "18"),
                    ("rx", "4"),
                ],
            );
        };
        bar(page, "trough", FULL);
        bar(page, "bar", FULL * tally.share.clamp(0.0, 1.0));
        if tally.threshold > 0.0 {
            let x = point(LEFT + FULL * tally.threshold.clamp(0.0, 1.0));
            page.empty(
                "line",
                &[
                    ("class", "needed"),
                    ("x1", &x),
                    ("x2", &x),
                    ("y1", &point(top - 4.0)),
                    ("y2", &point(top + 22.0)),
                ],
            );
        }
        label(
            page,
            (LEFT - 12.0, top + 14.0),
            "end",
            &format!(
                "Round {} · {}",
                round.round,
                shortened(&on_one_line(&round.phase), 14)
            ),
        );
        let mark = if tally.reached { " ✓" } else { "" };
        label(
            page,
            (LEFT + FULL + 12.0, top + 14.0),
            "strong",
            &format!("{:.2}{mark}", tally.share),
        );
    }
    page.close("svg");
}
