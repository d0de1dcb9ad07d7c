//! Where an operation belongs: the file and the line, found by what the reviewer says or quotes.
//! Never a file that is not there. Pure.

use super::{
    input::{Input, TextKind},
    operations::Operation,
};
use crate::moves::quotes::{bare, in_one_line};

/// A place in what was reviewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The file; empty where the text came from none.
    pub file: String,
    /// The line in it, from 1.
    pub line: Option<usize>,
}

/// The lines of what was reviewed, each with its file and number.
pub struct Lines<'a> {
    lines: Vec<Line<'a>>,
    files: Vec<String>,
}

struct Line<'a> {
    file: usize,
    number: usize,
    text: &'a str,
}

/// A quotation may run over so many lines.
const WINDOW: usize = 8;

impl<'a> Lines<'a> {
    /// The lines of an input: its own, or those a diff shows.
    pub fn of(input: &'a Input) -> Self {
        match input.kind {
            TextKind::Text => {
                let lines = (1..).zip(input.text.lines()).map(|(number, text)| Line {
                    file: 0,
                    number,
                    text,
                });
                Self {
                    lines: lines.collect(),
                    files: vec![input.file.clone()],
                }
            }
            TextKind::Diff => of_diff(&input.text),
        }
    }

    /// Where an operation belongs: by the place the reviewer names, else by what it quotes there or
    /// as evidence.
    pub fn find(&self, operation: &Operation) -> Option<Spot> {
        let said = operation.location.trim();
        self.named(said)
            .or_else(|| self.quoted(said))
            .or_else(|| self.quoted(&operation.evidence))
    }

    /// `FILE:LINE`, `line 12`, `L12`, `12-14`; the file must be there.
    fn named(&self, said: &str) -> Option<Spot> {
        let words = said
            .trim_start_matches("lines")
            .trim_start_matches("line")
            .trim_start_matches(['L', 'l', ' ', ':']);
        if let Some(number) = leading_number(words).filter(|_| self.files.len() == 1) {
            return self.line_of(0, number);
        }
        let (path, rest) = said.rsplit_once(':').unwrap_or((said, ""));
        let path = path.trim().trim_matches(['`', '"', '\'']);
        let file = self
            .files
            .iter()
            .position(|known| !known.is_empty() && known == path)?;
        let line = leading_number(rest.trim().trim_start_matches(['L', 'l']))
            .and_then(|number| self.line_of(file, number));
        Some(line.unwrap_or(Spot {
            file: self.files[file].clone(),
            line: None,
        }))
    }

    fn line_of(&self, file: usize, number: usize) -> Option<Spot> {
        let line = self
            .lines
            .iter()
            .find(|line| line.file == file && line.number == number)?;
        Some(Spot {
            file: self.files[file].clone(),
            line: Some(line.number),
        })
    }

    /// The first line on which a quotation begins.
    fn quoted(&self, quote: &str) -> Option<Spot> {
        let bare = bare(quote);
        if bare.is_empty() {
            return None;
        }
        let count = self.lines.len();
        let holds = |from: usize, to: usize| {
            in_one_line(
                &self.lines[from..to]
                    .iter()
                    .map(|line| line.text)
                    .collect::<Vec<_>>()
                    .join(" "),
            )
            .contains(&bare)
        };
        // What stands there twice is meant where it stands first: the earliest end, and from there
        // back to where it begins.
        let from = (0..count).find(|from| holds(*from, (from + WINDOW).min(count)))?;
        let end = (from + 1..=count).find(|end| holds(from, *end))?;
        let line = &self.lines[(from..end).rev().find(|start| holds(*start, end))?];
        Some(Spot {
            file: self.files[line.file].clone(),
            line: Some(line.number),
        })
    }
}

/// The lines a unified diff shows, by their numbers on the new side. Headings are told from changed
/// lines by the counts of each hunk.
fn of_diff(text: &str) -> Lines<'_> {
    let (mut lines, mut files) = (Vec::new(), Vec::new());
    let (mut old_left, mut new_left, mut number) = (0_usize, 0_usize, 0_usize);
    let mut before = "";
    for line in text.lines() {
        if old_left > 0 || new_left > 0 {
            let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            if sign == "\\" {
                continue;
            }
            lines.push(Line {
                file: files.len().saturating_sub(1),
                number: number.max(1),
                text: rest,
            });
            let is_new = sign != "-";
            (old_left, new_left) = (
                old_left - usize::from(sign != "+").min(old_left),
                new_left - usize::from(is_new).min(new_left),
            );
            number += usize::from(is_new);
        } else if let Some(path) = line.strip_prefix("--- ") {
            before = path;
        } else if let Some(path) = line.strip_prefix("+++ ") {
            let path = if path.trim() == "/dev/null" {
                before
            } else {
                path
            };
            files.push(plain_path(path));
        } else if let Some(counts) = line.strip_prefix("@@ ").filter(|_| !files.is_empty()) {
            (old_left, number, new_left) = hunk(counts).unwrap_or_default();
        }
    }
    Lines { lines, files }
}

/// `-1,3 +1,4 @@`: how many old lines, the first new line, how many new lines.
fn hunk(counts: &str) -> Option<(usize, usize, usize)> {
    let mut parts = counts.split(' ');
    let range = |part: &str| {
        let (start, count) = part.split_once(',').unwrap_or((part, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let (_, old) = range(parts.next()?.strip_prefix('-')?)?;
    let (start, new) = range(parts.next()?.strip_prefix('+')?)?;
    Some((old, start, new))
}

fn plain_path(path: &str) -> String {
    let path = path
        .split('\t')
        .next()
        .unwrap_or(path)
        .trim()
        .trim_matches('"');
    path.strip_prefix("a/")
        .or_else(|| path.strip_prefix("b/"))
        .unwrap_or(path)
        .to_owned()
}

fn leading_number(text: &str) -> Option<usize> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let rest = &text[digits.len()..];
    // `3 retries` is a quotation, `3` and `3-5` are lines.
    let is_alone = rest.trim().is_empty() || rest.starts_with(['-', '–', ',']);
    digits.parse().ok().filter(|_| is_alone)
}

#[cfg(test)]
mod tests {
    use super::{
        super::operations::{OperationKind::Clarify, sample},
        *,
    };

    const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs
--- a/src/a.rs
+++ b/src/a.rs
@@ -10,3 +10,4 @@ fn main
 let a = 1;
--- not a heading
+++ neither
+let b = env();
 let c = 3;
diff --git a/gone.rs b/gone.rs
--- a/gone.rs
+++ /dev/null
@@ -1 +0,0 @@
-old words
";

    /// A location, evidence, and the file and line they lead to.
    type Row = (
        &'static str,
        &'static str,
        Option<(&'static str, Option<usize>)>,
    );

    fn spots(input: &Input, rows: &[Row]) {
        let lines = Lines::of(input);
        for (location, evidence, expected) in rows {
            let mut operation = sample("a", 1, Clarify, "t", "x");
            (operation.location, operation.evidence) =
                ((*location).to_owned(), (*evidence).to_owned());
            let expected = expected.map(|(file, line)| Spot {
                file: file.to_owned(),
                line,
            });
            assert_eq!(lines.find(&operation), expected, "{location} | {evidence}");
        }
    }

    #[test]
    fn places_in_a_text_are_lines_or_quotations_that_are_there() {
        let text = "One rule.\nRead the\n  environment freely.\n3 retries\nOne rule.\nRead the \
            environment freely.\n"
            .to_owned();
        let input = Input {
            title: "p".to_owned(),
            text,
            file: "p.md".to_owned(),
            ..Input::default()
        };
        spots(
            &input,
            &[
                ("line 2", "", Some(("p.md", Some(2)))),
                ("L3", "", Some(("p.md", Some(3)))),
                ("1-2", "", Some(("p.md", Some(1)))),
                ("p.md:4", "", Some(("p.md", Some(4)))),
                ("p.md:99", "", Some(("p.md", None))),
                ("line 99", "One rule", Some(("p.md", Some(1)))),
                ("", "rule. Read", Some(("p.md", Some(1)))),
                ("“Read the environment freely”", "", Some(("p.md", Some(2)))),
                ("3 retries", "", Some(("p.md", Some(4)))),
                ("", "environment", Some(("p.md", Some(3)))),
                ("the end", "not there", None),
                ("/etc/passwd:1", "", None),
                ("../p.md:1", "", None),
                ("", "", None),
            ],
        );
    }

    #[test]
    fn places_in_a_diff_are_lines_of_its_new_side() {
        let input = Input {
            title: "d".to_owned(),
            text: DIFF.to_owned(),
            kind: TextKind::Diff,
            ..Input::default()
        };
        spots(
            &input,
            &[
                ("src/a.rs:12", "", Some(("src/a.rs", Some(12)))),
                ("src/a.rs", "", Some(("src/a.rs", None))),
                ("src/a.rs:500", "", Some(("src/a.rs", None))),
                ("other.rs:12", "", None),
                ("12", "", None),
                ("", "let b = env();", Some(("src/a.rs", Some(12)))),
                ("", "let c = 3;", Some(("src/a.rs", Some(13)))),
                ("", "-- not a heading", Some(("src/a.rs", Some(11)))),
                ("gone.rs", "", Some(("gone.rs", None))),
                ("", "old words", Some(("gone.rs", Some(1)))),
            ],
        );
    }
}
