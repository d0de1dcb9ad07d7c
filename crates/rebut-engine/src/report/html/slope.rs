//! The slope chart: each score before and after what was said about it, and the table of the same.

use super::{
    look::{Look, begin, label, point},
    markup::Markup,
};
use crate::{
    clean::{on_one_line, shortened},
    report::{shown, signed},
    view::View,
};

pub struct Slope {
    pub category: String,
    pub score: (f64, f64),
    /// The confidence in it before and after.
    pub confidence: (f64, f64),
    /// Why, one sentence for each verdict.
    pub why: Vec<String>,
}

impl Slope {
    /// The slope of every category, in the order in which they were first spoken of.
    pub fn all(view: &View) -> Vec<Self> {
        let mut slopes: Vec<Self> = Vec::new();
        for step in &view.scores {
            match slopes
                .iter_mut()
                .find(|slope| slope.category == step.category)
            {
                Some(slope) => {
                    (slope.score.1, slope.confidence.1) = (step.after, step.confidence_after);
                    slope.why.push(step.why.clone());
                }
                None => slopes.push(Self {
                    category: step.category.clone(),
                    score: (step.before, step.after),
                    confidence: (step.confidence_before, step.confidence_after),
                    why: vec![step.why.clone()],
                }),
            }
        }
        slopes
    }

    /// By how much it changed, with its sign.
    pub fn change(&self) -> String {
        signed(((self.score.1 - self.score.0) * 100.0).round() / 100.0)
    }

    fn words(&self) -> String {
        let why = self
            .why
            .iter()
            .map(|why| on_one_line(why))
            .collect::<Vec<_>>()
            .join(" ");
        let (before, after) = (shown(self.score.0), shown(self.score.1));
        format!(
            "{}: {before} before, {after} after ({}). {why}",
            on_one_line(&self.category),
            self.change()
        )
    }
}

const TOP: f64 = 56.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 300.0;
const RIGHT: f64 = 560.0;
const WIDTH: f64 = 860.0;
/// Labels nearer than this would cover each other.
const APART: f64 = 20.0;

/// Whether so many can be told apart.
pub fn can_be_drawn(slopes: &[Slope]) -> bool {
    !slopes.is_empty() && slopes.len() <= 16
}

/// Writes the drawing for a page.
pub fn figure(page: &mut Markup, slopes: &[Slope]) {
    page.within("figure", &[], |page| {
        page.within(
            "div",
            &[
                ("class", "scroll"),
                ("tabindex", "0"),
                ("role", "region"),
                ("aria-label", "Slope chart"),
            ],
            |page| {
                draw(page, slopes, false);
            },
        );
    });
}

/// Draws it; with `ground`, on a ground of its own.
pub fn draw(svg: &mut Markup, slopes: &[Slope], ground: bool) {
    let described = slopes
        .iter()
        .map(Slope::words)
        .collect::<Vec<_>>()
        .join(" ");
    let scale = Scale::of(slopes);
    let before = spread(slopes.iter().map(|slope| scale.y(slope.score.0)).collect());
    let after = spread(slopes.iter().map(|slope| scale.y(slope.score.1)).collect());
    let lowest = before
        .iter()
        .chain(&after)
        .copied()
        .fold(TOP + HEIGHT, f64::max);
    begin(
        svg,
        "slope",
        (WIDTH, lowest + 24.0),
        "Scores before and after",
        &described,
    );
    if ground {
        svg.empty(
            "rect",
            &[("class", "paper"), ("width", "100%"), ("height", "100%")],
        );
    }
    for (x, title) in [(LEFT, "Before"), (RIGHT, "After")] {
        let (x1, y2) = (point(x), point(TOP + HEIGHT));
        svg.empty(
            "line",
            &[
                ("class", "axis"),
                ("x1", &x1),
                ("x2", &x1),
                ("y1", &point(TOP)),
                ("y2", &y2),
            ],
        );
        label(svg, (x, 28.0), "strong middle", title);
    }
    for (place, slope) in slopes.iter().enumerate() {
        let look = Look::of(place);
        let (y1, y2) = (scale.y(slope.score.0), scale.y(slope.score.1));
        let path = format!(
            "M{} {} L{} {}",
            point(LEFT),
            point(y1),
            point(RIGHT),
            point(y2)
        );
        svg.open(
            "path",
            &[
                ("class", &format!("line {}", look.hue)),
                ("stroke-dasharray", look.dash),
                ("d", &path),
            ],
        );
        svg.element("title", &[], &slope.words());
        svg.close("path");
        look.mark(svg, (LEFT, y1), 7.0, &slope.words());
        look.mark(svg, (RIGHT, y2), 7.0, &slope.words());
        let category = on_one_line(&slope.category);
        label(
            svg,
            (LEFT - 16.0, before[place] + 4.0),
            "end",
            &format!("{}  {}", shortened(&category, 34), shown(slope.score.0)),
        );
        let words = format!(
            "{}  {}  {}",
            shown(slope.score.1),
            slope.change(),
            shortened(&category, 26)
        );
        label(svg, (RIGHT + 16.0, after[place] + 4.0), "strong", &words);
    }
    svg.close("svg");
}

/// From a score to its height.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Scores are from 1 to 10; what is recorded otherwise widens the scale.
    fn of(slopes: &[Slope]) -> Self {
        let all = || {
            slopes
                .iter()
                .flat_map(|slope| [slope.score.0, slope.score.1])
                .filter(|score| score.is_finite())
        };
        Self {
            low: all().fold(1.0, f64::min),
            high: all().fold(10.0, f64::max),
        }
    }

    fn y(&self, score: f64) -> f64 {
        let score = if score.is_finite() { score } else { self.low };
        TOP + HEIGHT * (self.high - score) / (self.high - self.low)
    }
}

/// The heights of labels: near their marks, in the same order, none upon another.
fn spread(heights: Vec<f64>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|a, b| heights[*a].total_cmp(&heights[*b]));
    let mut placed = heights;
    for pair in 1..order.len() {
        let least = placed[order[pair - 1]] + APART;
        placed[order[pair]] = placed[order[pair]].max(least);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_never_cover_each_other() {
        let placed = spread(vec![50.0, 40.0, 50.0, 200.0, 41.0]);
        assert_eq!(placed, [80.0, 40.0, 100.0, 200.0, 60.0]);
    }
}
