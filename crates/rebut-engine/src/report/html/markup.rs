//! Writing HTML and SVG: every text and every attribute goes through here and comes out harmless.
//! Names of elements and attributes are the program's own; only what stands between them may come
//! from a model.

use crate::clean::{for_people, one_line};

/// Text of a document that grows.
#[derive(Default)]
pub struct Markup {
    text: String,
}

/// An attribute: its name is ours, its value may be anybody's.
pub type Attribute<'a> = (&'static str, &'a str);

impl Markup {
    pub fn finish(self) -> String {
        self.text
    }

    pub fn open(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.begin(name, attributes);
        self.text.push('>');
    }

    /// Closes the element that was opened last under this name.
    pub fn close(&mut self, name: &'static str) {
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push('>');
        if !INLINE.contains(&name) {
            self.text.push('\n');
        }
    }

    pub fn empty(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.begin(name, attributes);
        self.text.push_str("/>");
    }

    /// An element that holds one line of text.
    pub fn element(&mut self, name: &'static str, attributes: &[Attribute<'_>], text: &str) {
        self.open(name, attributes);
        self.line(text);
        self.close(name);
    }

    /// An element whose content is written by `fill`.
    pub fn within(
        &mut self,
        name: &'static str,
        attributes: &[Attribute<'_>],
        fill: impl FnOnce(&mut Self),
    ) {
        self.open(name, attributes);
        fill(self);
        self.close(name);
    }

    /// Anybody's text, brought onto one line. A space at an end stays one: it parts the text from
    /// what stands beside it.
    pub fn line(&mut self, text: &str) {
        if text.starts_with(' ') {
            self.text.push(' ');
        }
        escape(&mut self.text, &one_line(text));
        if text.ends_with(' ') {
            self.text.push(' ');
        }
    }

    /// Anybody's text with its own line breaks and spaces.
    pub fn text(&mut self, text: &str) {
        escape(&mut self.text, &for_people(text));
    }

    /// A table: its heading, the titles of its columns, its rows. The first cell of a row names it.
    pub fn table(
        &mut self,
        caption: &str,
        titles: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) {
        self.within(
            "div",
            &[
                ("class", "scroll"),
                ("tabindex", "0"),
                ("role", "region"),
                ("aria-label", caption),
            ],
            |page| {
                page.open("table", &[]);
                page.element("caption", &[], caption);
                page.within("thead", &[], |page| {
                    page.within("tr", &[], |page| {
                        titles
                            .iter()
                            .for_each(|title| page.element("th", &[("scope", "col")], title))
                    });
                });
                page.open("tbody", &[]);
                for row in rows {
                    page.within("tr", &[], |page| {
                        row.iter()
                            .enumerate()
                            .for_each(|(at, cell)| page.cell(at, cell))
                    });
                }
                page.close("tbody");
                page.close("table");
            },
        );
    }

    /// A table without a caption of its own: each title says whether numbers stand below it, and
    /// with `has_sum` the last row sums them up.
    pub fn numbers(
        &mut self,
        caption: &str,
        titles: &[(&str, bool)],
        rows: &[Vec<String>],
        has_sum: bool,
    ) {
        let class = |at: usize| {
            if titles.get(at).is_some_and(|(_, is_number)| *is_number) {
                &[("class", "number")][..]
            } else {
                &[]
            }
        };
        let row = |page: &mut Self, cells: &[String]| {
            page.within("tr", &[], |page| {
                for (at, cell) in cells.iter().enumerate() {
                    match at {
                        0 => page.element("th", &[("scope", "row")], cell),
                        _ => page.element("td", class(at), cell),
                    }
                }
            });
        };
        self.within(
            "div",
            &[
                ("class", "scroll"),
                ("tabindex", "0"),
                ("role", "region"),
                ("aria-label", caption),
            ],
            |page| {
                page.open("table", &[]);
                page.within("thead", &[], |page| {
                    page.within("tr", &[], |page| {
                        for (at, (title, _)) in titles.iter().enumerate() {
                            let scope = [("scope", "col")];
                            page.element("th", &[&scope, class(at)].concat(), title);
                        }
                    });
                });
                let (sum, rows) = rows
                    .split_last()
                    .filter(|_| has_sum)
                    .map_or((None, rows), |(sum, rows)| (Some(sum), rows));
                page.within("tbody", &[], |page| {
                    rows.iter().for_each(|cells| row(page, cells))
                });
                if let Some(sum) = sum {
                    page.within("tfoot", &[], |page| row(page, sum));
                }
                page.close("table");
            },
        );
    }

    fn cell(&mut self, at: usize, text: &str) {
        match at {
            0 => self.element("th", &[("scope", "row")], text),
            _ => self.element("td", &[], text),
        }
    }

    /// Text of the program's own, as it stands: style sheets and finished drawings.
    pub fn own(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn begin(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.text.push('<');
        self.text.push_str(name);
        for (key, value) in attributes {
            self.text.push(' ');
            self.text.push_str(key);
            self.text.push_str("=\"");
            escape(&mut self.text, &one_line(value));
            self.text.push('"');
        }
    }
}

/// Elements that stand inside a line, where a line break would be seen as a space.
const INLINE: &[&str] = &[
    "a", "b", "code", "em", "strong", "s", "span", "text", "tspan",
];

fn escape(into: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            // No characters by definition; an XML reader refuses a drawing that holds them.
            '\u{fffe}' | '\u{ffff}' => into.push('\u{fffd}'),
            c => into.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_becomes_markup() {
        let rows = [
            (
                "<script>alert(1)</script>",
                "&lt;script&gt;alert(1)&lt;/script&gt;",
            ),
            ("\" onload=\"x", "&quot; onload=&quot;x"),
            ("' onload='x", "&#39; onload=&#39;x"),
            ("]]>&amp;", "]]&gt;&amp;amp;"),
            ("a\u{202e}b\u{ffff}\u{1b}[31mc", "a\u{fffd}b\u{fffd}c"),
        ];
        for (said, written) in rows {
            let mut page = Markup::default();
            page.element("p", &[("title", said)], said);
            assert_eq!(
                page.finish(),
                format!("<p title=\"{written}\">{written}</p>\n"),
                "{said}"
            );
        }
    }
}
