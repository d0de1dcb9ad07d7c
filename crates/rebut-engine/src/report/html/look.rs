//! How one is told from another in drawings: a shape, a dash and a hue each; the name always stands
//! beside. No two of the first 24 look alike, and no two of the first eight have the same shape.

use super::markup::Markup;

/// How somebody, or something, is drawn.
#[derive(Clone, Copy)]
pub struct Look {
    pub hue: &'static str,
    pub dash: &'static str,
    shape: &'static [(f64, f64)],
}

/// Hues that people with any kind of colour vision can tell apart.
pub const HUES: &[&str] = &["hue0", "hue1", "hue2", "hue3", "hue4", "hue5"];

const DASHES: &[&str] = &[
    "none", "10 5", "2 5", "12 4 2 4", "6 3", "16 6", "4 2 1 2", "1 3",
];

/// Corners around the middle; none at all is a circle.
const SHAPES: &[&[(f64, f64)]] = &[
    &[],
    &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    &[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
    &[(0.0, 1.15), (1.1, -0.85), (-1.1, -0.85)],
    &[
        (0.0, -1.1),
        (1.05, -0.3),
        (0.65, 0.95),
        (-0.65, 0.95),
        (-1.05, -0.3),
    ],
    &[
        (-0.4, -1.1),
        (0.4, -1.1),
        (0.4, -0.4),
        (1.1, -0.4),
        (1.1, 0.4),
        (0.4, 0.4),
        (0.4, 1.1),
        (-0.4, 1.1),
        (-0.4, 0.4),
        (-1.1, 0.4),
        (-1.1, -0.4),
        (-0.4, -0.4),
    ],
    &[
        (-1.15, 0.0),
        (-0.6, -1.0),
        (0.6, -1.0),
        (1.15, 0.0),
        (0.6, 1.0),
        (-0.6, 1.0),
    ],
    &[
        (0.0, -1.3),
        (0.35, -0.4),
        (1.25, -0.4),
        (0.5, 0.2),
        (0.8, 1.1),
        (0.0, 0.55),
        (-0.8, 1.1),
        (-0.5, 0.2),
        (-1.25, -0.4),
        (-0.35, -0.4),
    ],
];

/// What a change of mind is drawn as.
const DIAMOND: &[(f64, f64)] = &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)];

impl Look {
    /// The look of the one at this place of a list.
    pub fn of(place: usize) -> Self {
        Self {
            hue: HUES[place % HUES.len()],
            dash: DASHES[place % DASHES.len()],
            shape: SHAPES[place % SHAPES.len()],
        }
    }

    /// Its mark, with words for a pointer that rests on it.
    pub fn mark(self, svg: &mut Markup, (x, y): (f64, f64), size: f64, words: &str) {
        drawn(
            svg,
            self.shape,
            (x, y),
            size,
            &format!("mark {}", self.hue),
            words,
        );
    }

    /// A change of mind of this one; hollow if it does not count.
    pub fn diamond(self, svg: &mut Markup, at: (f64, f64), counts: bool, words: &str) {
        let class = format!("{} {}", if counts { "mark" } else { "hollow" }, self.hue);
        drawn(svg, DIAMOND, at, 8.0, &class, words);
    }

    /// A small drawing of its mark alone, for texts and tables.
    pub fn key(self, page: &mut Markup, name: &str) {
        page.open(
            "svg",
            &[
                ("class", "chart key"),
                ("viewBox", "0 0 20 20"),
                ("role", "img"),
                ("aria-label", name),
            ],
        );
        page.element("title", &[], name);
        drawn(
            page,
            self.shape,
            (10.0, 10.0),
            7.0,
            &format!("mark {}", self.hue),
            "",
        );
        page.close("svg");
    }
}

fn drawn(
    svg: &mut Markup,
    shape: &[(f64, f64)],
    (x, y): (f64, f64),
    size: f64,
    class: &str,
    words: &str,
) {
    let path = match shape {
        [] => format!(
            "M{} {} a{size} {size} 0 1 0 {} 0 a{size} {size} 0 1 0 -{} 0 Z",
            point(x - size),
            point(y),
            2.0 * size,
            2.0 * size
        ),
        corners => {
            let corners = corners
                .iter()
                .map(|(dx, dy)| format!("{} {}", point(x + dx * size), point(y + dy * size)));
            format!("M{} Z", corners.collect::<Vec<_>>().join(" L"))
        }
    };
    svg.open("path", &[("class", class), ("d", &path)]);
    if !words.is_empty() {
        svg.element("title", &[], words);
    }
    svg.close("path");
}

/// A place in a drawing, without digits nobody can see.
pub fn point(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The class, width, height and accessible name with which a drawing begins. `id` tells it from
/// others on the page.
pub fn begin(
    svg: &mut Markup,
    id: &str,
    (width, height): (f64, f64),
    title: &str,
    description: &str,
) {
    let (title_id, description_id) = (format!("{id}-title"), format!("{id}-desc"));
    let (width, height) = (point(width), point(height));
    svg.open(
        "svg",
        &[
            ("xmlns", "http://www.w3.org/2000/svg"),
            ("class", "chart"),
            ("viewBox", &format!("0 0 {width} {height}")),
            ("width", &width),
            ("height", &height),
            ("role", "img"),
            ("aria-labelledby", &format!("{title_id} {description_id}")),
        ],
    );
    svg.element("title", &[("id", &title_id)], title);
    svg.element("desc", &[("id", &description_id)], description);
}

/// One line of text at a place.
pub fn label(svg: &mut Markup, (x, y): (f64, f64), class: &str, text: &str) {
    svg.element(
        "text",
        &[("class", class), ("x", &point(x)), ("y", &point(y))],
        text,
    );
}
