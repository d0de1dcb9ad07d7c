//! The position river as a drawing: columns are rounds, lanes are options, a line is an agent, a
//! diamond is a change of mind.

use super::{
    look::{Look, begin, label, point},
    markup::Markup,
    river::{Held, Move, River, RiverStop},
};
use crate::clean::{on_one_line, shortened};

const LEFT: f64 = 190.0;
const HEAD: f64 = 62.0;
const SLOT: f64 = 26.0;
const GAP: f64 = 10.0;
const RIGHT: f64 = 150.0;
/// As wide as a page, unless there are many rounds.
const WIDTH: f64 = 960.0;

/// Draws it. With `captions`, each change of mind is told below: for a drawing that stands alone.
pub fn draw(svg: &mut Markup, river: &River, captions: bool) {
    let drawing = Drawing::new(river);
    let foot = if captions {
        22.0 * river.moves.len() as f64 + 12.0
    } else {
        0.0
    };
    let size = (drawing.width(), drawing.bottom() + 14.0 + foot);
    begin(
        svg,
        "river",
        size,
        "Who held what in which round",
        &river.described(),
    );
    if captions {
        svg.empty(
            "rect",
            &[("class", "paper"), ("width", "100%"), ("height", "100%")],
        );
    }
    drawing.lanes(svg);
    drawing.columns(svg);
    river
        .moves
        .iter()
        .for_each(|moved| drawing.causes(svg, moved));
    (0..river.tracks.len()).for_each(|track| drawing.track(svg, track));
    river
        .moves
        .iter()
        .enumerate()
        .for_each(|(at, moved)| drawing.moved(svg, at + 1, moved));
    if captions {
        for (at, moved) in river.moves.iter().enumerate() {
            let words = format!("◆{}  {}", at + 1, river.move_words(moved));
            let room = (drawing.width() / 6.6) as usize;
            label(
                svg,
                (14.0, drawing.bottom() + 26.0 + 22.0 * at as f64),
                "small",
                &shortened(&words, room),
            );
        }
    }
    svg.close("svg");
}

struct Drawing<'a> {
    river: &'a River,
    /// From one column to the next.
    step: f64,
    lane_height: f64,
}

impl<'a> Drawing<'a> {
    fn new(river: &'a River) -> Self {
        let gaps = river.columns.len().saturating_sub(1).max(1) as f64;
        let step = ((WIDTH - LEFT - 40.0 - RIGHT) / gaps).max(170.0);
        Self {
            river,
            step,
            lane_height: (SLOT * river.tracks.len() as f64 + 18.0).max(64.0),
        }
    }

    fn width(&self) -> f64 {
        (LEFT + 40.0 + self.step * (self.river.columns.len() - 1) as f64 + RIGHT).max(WIDTH)
    }

    fn bottom(&self) -> f64 {
        HEAD + (self.lane_height + GAP) * self.river.lanes.len() as f64
    }

    fn x(&self, column: usize) -> f64 {
        LEFT + 40.0 + self.step * column as f64
    }

    /// Every agent has its own height in each lane, so that lines never lie on each other.
    fn y(&self, lane: usize, track: usize) -> f64 {
        HEAD + (self.lane_height + GAP) * lane as f64
            + (track as f64 + 0.5) * (self.lane_height - 14.0) / self.river.tracks.len() as f64
            + 9.0
    }

    fn lanes(&self, svg: &mut Markup) {
        for (at, (id, words)) in self.river.lanes.iter().enumerate() {
            let top = HEAD + (self.lane_height + GAP) * at as f64;
            let class = if self.river.won == Some(at) {
                "lane won"
            } else {
                "lane"
            };
            let (y, width, height) = (
                point(top),
                point(self.width() - 12.0),
                point(self.lane_height),
            );
            svg.empty(
                "rect",
                &[
                    ("class", class),
                    ("x", "6"),
                    ("y", &y),
                    ("width", &width),
                    ("height", &height),
                    ("rx", "8"),
                ],
            );
            let is_short = id.chars().count() <= 3;
            let name = if self.river.won == Some(at) {
                format!("{} ✓", shortened(id, 20))
            } else {
                shortened(id, 22).into_owned()
            };
            label(svg, (20.0, top + 26.0), "strong", &name);
            let words = if words.is_empty() && !is_short {
                id
            } else {
                words
            };
            if words != id {
                label(
                    svg,
                    (20.0, top + 45.0),
                    "faint",
                    &shortened(&on_one_line(words), 26),
                );
            }
        }
    }

    fn columns(&self, svg: &mut Markup) {
        for (at, column) in self.river.columns.iter().enumerate() {
            let x = self.x(at);
            let (x1, y1, y2) = (point(x), point(HEAD - 8.0), point(self.bottom() - GAP));
            svg.empty(
                "line",
                &[
                    ("class", "rule"),
                    ("x1", &x1),
                    ("x2", &x1),
                    ("y1", &y1),
                    ("y2", &y2),
                ],
            );
            label(
                svg,
                (x, 24.0),
                "strong middle",
                &format!("Round {} · {}", column.round, shortened(&column.phase, 16)),
            );
            if let Some((share, needed, reached)) = column.share {
                let needed = match (needed > 0.0, reached) {
                    (true, true) => format!(", reached {needed}"),
                    (true, false) => format!(" of {needed}"),
                    (false, _) => String::new(),
                };
                label(
                    svg,
                    (x, 43.0),
                    "faint middle",
                    &format!("agreement {share:.2}{needed}"),
                );
            }
        }
    }

    fn track(&self, svg: &mut Markup, track: usize) {
        let look = Look::of(self.river.tracks[track].place);
        let stops = &self.river.tracks[track].stops;
        let mut last: Option<(usize, &Held)> = None;
        for (column, stop) in stops.iter().enumerate() {
            let RiverStop::Held(held) = stop else {
                continue;
            };
            if let Some((before, earlier)) = last.filter(|_| !self.river.columns[column].is_anew) {
                let is_gap = stops[before..column]
                    .iter()
                    .any(|stop| matches!(stop, RiverStop::Missing(_)));
                self.line(
                    svg,
                    (look, is_gap),
                    track,
                    (before, earlier.lane),
                    (column, held.lane),
                );
            }
            last = Some((column, held));
        }
        let end = last.map(|(column, _)| column);
        let mut lane = None;
        for (column, stop) in stops.iter().enumerate() {
            match stop {
                RiverStop::Held(held) => {
                    self.stop(svg, look, (track, column), held, end == Some(column));
                    lane = Some(held.lane);
                }
                RiverStop::Missing(reason) => self.missing(svg, (track, column), lane, reason),
                RiverStop::Silent => {}
            }
        }
    }

    fn line(
        &self,
        svg: &mut Markup,
        (look, is_gap): (Look, bool),
        track: usize,
        from: (usize, usize),
        to: (usize, usize),
    ) {
        let (x1, y1, x2, y2) = (
            self.x(from.0),
            self.y(from.1, track),
            self.x(to.0),
            self.y(to.1, track),
        );
        let middle = point(f64::midpoint(x1, x2));
        let path = format!(
            "M{} {} C{middle} {} {middle} {} {} {}",
            point(x1),
            point(y1),
            point(y1),
            point(y2),
            point(x2),
            point(y2)
        );
        // A line over a round in which it was missing is thin: nobody knows where it stood.
        let class = if is_gap {
            format!("line again {}", look.hue)
        } else {
            format!("line {}", look.hue)
        };
        svg.empty(
            "path",
            &[
                ("class", &class),
                ("stroke-dasharray", look.dash),
                ("d", &path),
            ],
        );
    }

    fn stop(
        &self,
        svg: &mut Markup,
        look: Look,
        (track, column): (usize, usize),
        held: &Held,
        is_last: bool,
    ) {
        let (x, y) = (self.x(column), self.y(held.lane, track));
        let agent = &self.river.tracks[track].agent;
        look.mark(
            svg,
            (x, y),
            7.0,
            &format!(
                "{agent}: {} ({:.2}). {}",
                self.river.lane(held.lane),
                held.confidence,
                held.summary
            ),
        );
        let sure = format!("{:.2}", held.confidence);
        let words = format!("{} {}", shortened(agent, 14), sure.trim_start_matches('0'));
        match is_last {
            true => label(svg, (x + 14.0, y + 4.0), "strong", &words),
            false => label(svg, (x + 12.0, y - 6.0), "small", &words),
        }
    }

    fn missing(
        &self,
        svg: &mut Markup,
        (track, column): (usize, usize),
        lane: Option<usize>,
        reason: &str,
    ) {
        let (x, y) = (
            self.x(column),
            lane.map_or(HEAD - 4.0, |lane| self.y(lane, track)),
        );
        let (left, right, top, bottom) = (
            point(x - 5.0),
            point(x + 5.0),
            point(y - 5.0),
            point(y + 5.0),
        );
        let words = format!("{}: missing ({reason})", self.river.tracks[track].agent);
        svg.open(
            "path",
            &[
                ("class", "missing"),
                (
                    "d",
                    &format!("M{left} {top} L{right} {bottom} M{right} {top} L{left} {bottom}"),
                ),
            ],
        );
        svg.element("title", &[], &words);
        svg.close("path");
        if lane.is_some() {
            label(svg, (x + 12.0, y + 4.0), "faint", &shortened(&words, 30));
        }
    }

    /// Where on its way an agent changed its mind: in the middle between where it was heard before
    /// and where it is now.
    fn place_of(&self, moved: &Move) -> (f64, f64) {
        let stops = &self.river.tracks[moved.track].stops[..moved.column];
        let before = stops
            .iter()
            .rposition(|stop| matches!(stop, RiverStop::Held(_)));
        let x = self.x(moved.column);
        let to = if moved.counts {
            moved.lanes.1
        } else {
            moved.lanes.0
        };
        let (y1, y2) = (self.y(moved.lanes.0, moved.track), self.y(to, moved.track));
        (
            f64::midpoint(before.map_or(x - self.step, |column| self.x(column)), x),
            f64::midpoint(y1, y2),
        )
    }

    fn moved(&self, svg: &mut Markup, number: usize, moved: &Move) {
        let (x, y) = self.place_of(moved);
        Look::of(self.river.tracks[moved.track].place).diamond(
            svg,
            (x, y),
            moved.counts,
            &self.river.move_words(moved),
        );
        label(svg, (x + 13.0, y - 8.0), "strong", &number.to_string());
    }

    /// A thin line from each claim to whom it moved.
    fn causes(&self, svg: &mut Markup, moved: &Move) {
        let (x2, y2) = self.place_of(moved);
        for cause in &moved.causes {
            let (track, column) = cause.said;
            let Some(RiverStop::Held(held)) = self.river.tracks[track].stops.get(column) else {
                continue;
            };
            let (x1, y1) = (self.x(column), self.y(held.lane, track));
            let path = format!("M{} {} L{} {}", point(x1), point(y1), point(x2), point(y2));
            svg.empty("path", &[("class", "cause"), ("d", &path)]);
        }
    }
}
