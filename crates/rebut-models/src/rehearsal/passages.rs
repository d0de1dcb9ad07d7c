//! Walking a Markdown text: headings and labels say which option and which side the lines below
//! them are about.

use super::{
    names::Names,
    split::{clauses, sentences},
    table,
    words::words,
};

/// A piece of the user's text that says one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage<'a> {
    /// Its words, as they stand there.
    pub text: &'a str,
    /// The row or column of a table it stands under; empty elsewhere.
    pub topic: &'a str,
    /// Whether it is listed as good or bad.
    pub side: Side,
    /// The options its surroundings are about.
    pub scope: Vec<usize>,
    /// Whether it goes on with the passage before: a later clause, or "It …".
    pub continues: bool,
}

/// How the text itself files a passage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Nothing said.
    #[default]
    Open,
    /// Under the pros.
    Pro,
    /// Under the cons.
    Con,
}

/// The passages of a text, in order.
pub fn passages<'a>(text: &'a str, names: &Names<'_>) -> Vec<Passage<'a>> {
    let plus_minus = text.lines().any(|line| line.trim_start().starts_with("+ "));
    let mut walk = Walk {
        text,
        names,
        plus_minus,
        out: Vec::new(),
        scope: Vec::new(),
        level: 0,
        side: Side::Open,
        block: None,
        table: Vec::new(),
        loose: false,
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        walk.line(at, line);
        at += line.len();
    }
    walk.flush();
    walk.out
}

/// The level of a label line: below every heading.
const LABEL: usize = 7;
/// A label or a prefix is short.
const LABEL_WORDS: usize = 8;

struct Walk<'a, 'n> {
    text: &'a str,
    names: &'n Names<'n>,
    /// Whether the text uses `+` and `-` bullets for pros and cons.
    plus_minus: bool,
    out: Vec<Passage<'a>>,
    scope: Vec<usize>,
    level: usize,
    side: Side,
    block: Option<Block>,
    table: Vec<&'a str>,
    /// Whether a blank line came since the last label.
    loose: bool,
}

struct Block {
    start: usize,
    end: usize,
    side: Side,
}

impl<'a> Walk<'a, '_> {
    fn line(&mut self, at: usize, line: &'a str) {
        let trimmed = line.trim();
        let start = at + (line.len() - line.trim_start().len());
        let end = start + trimmed.len();
        if trimmed.starts_with('|') {
            self.flush_block();
            return self.table.push(trimmed);
        }
        self.flush_table();
        if !trimmed.chars().any(char::is_alphanumeric)
            || trimmed.starts_with("```")
            || trimmed.starts_with("~~~")
        {
            self.flush_block();
            self.loose = true;
        } else if let Some((level, title)) = heading(trimmed) {
            self.flush_block();
            self.open(level, title);
        } else if let Some((marker, content)) = bullet(trimmed) {
            self.flush_block();
            match label(content) {
                Some(title) if self.files(title) => self.open(LABEL, title),
                _ => {
                    self.block = Some(Block {
                        start: end - content.len(),
                        end,
                        side: self.bullet_side(marker, content),
                    })
                }
            }
        } else if let Some(title) = label(trimmed).filter(|title| self.files(title)) {
            self.flush_block();
            self.open(LABEL, title);
        } else {
            self.prose(start, end);
        }
    }

    fn prose(&mut self, start: usize, end: usize) {
        if let Some(block) = &mut self.block {
            block.end = end;
            return;
        }
        if self.loose && self.level == LABEL {
            (self.scope, self.side, self.level) = (Vec::new(), Side::Open, 0);
        }
        self.block = Some(Block {
            start,
            end,
            side: Side::Open,
        });
    }

    /// Whether a title says whom or which side the lines below it are about.
    fn files(&self, title: &str) -> bool {
        side_of(title) != Side::Open || !self.names.named(title).is_empty()
    }

    fn open(&mut self, level: usize, title: &str) {
        let named: Vec<usize> = self
            .names
            .named(title)
            .into_iter()
            .map(|(option, _)| option)
            .collect();
        let side = side_of(title);
        // "### Cons" below "## Option A" still speaks of A; any other heading without an option
        // ends A's part.
        if !named.is_empty() || side == Side::Open {
            self.scope = if named.len() < self.names.options.len() {
                named
            } else {
                Vec::new()
            };
            self.level = level;
        } else if level < self.level {
            (self.scope, self.level) = (Vec::new(), level);
        }
        self.side = side;
        self.loose = false;
    }

    fn bullet_side(&self, marker: char, content: &str) -> Side {
        match marker {
            _ if content.starts_with(['✅', '👍', '✔']) || content.starts_with("(+)") => {
                Side::Pro
            }
            _ if content.starts_with(['❌', '👎', '✘']) || content.starts_with("(-)") => {
                Side::Con
            }
            '+' => Side::Pro,
            '-' if self.plus_minus => Side::Con,
            _ => Side::Open,
        }
    }

    fn flush(&mut self) {
        self.flush_block();
        self.flush_table();
    }

    fn flush_block(&mut self) {
        let Some(block) = self.block.take() else {
            return;
        };
        let mut text = &self.text[block.start..block.end];
        let mut scope = self.scope.clone();
        let mut side = if block.side == Side::Open {
            self.side
        } else {
            block.side
        };
        if let Some((prefix, rest)) = prefix(text) {
            let named: Vec<usize> = self
                .names
                .named(prefix)
                .into_iter()
                .map(|(option, _)| option)
                .collect();
            let filed = side_of(prefix);
            if filed != Side::Open || !named.is_empty() {
                text = rest;
            }
            if filed != Side::Open {
                side = filed;
            }
            if !named.is_empty() {
                scope = named;
            }
        }
        for sentence in sentences(text) {
            for (number, clause) in clauses(sentence).into_iter().enumerate() {
                let text =
                    clause.trim_matches(['*', '_', ' ', '✅', '❌', '👍', '👎', '✔', '✘', '>']);
                let continues = number > 0 || is_pronoun(text);
                self.out.push(Passage {
                    text,
                    topic: "",
                    side,
                    scope: scope.clone(),
                    continues,
                });
            }
        }
    }

    fn flush_table(&mut self) {
        let lines = std::mem::take(&mut self.table);
        for cell in table::cells(&lines, self.names) {
            self.out.push(Passage {
                text: cell.text,
                topic: cell.topic,
                side: side_of(cell.topic),
                scope: cell.options,
                continues: false,
            });
        }
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (1..LABEL)
        .contains(&level)
        .then_some((level, title))
        .filter(|(_, title)| title.starts_with(' '))
}

fn bullet(line: &str) -> Option<(char, &str)> {
    let marker = line.chars().next()?;
    if ['-', '*', '+', '•', '–'].contains(&marker) {
        return line[marker.len_utf8()..]
            .strip_prefix(' ')
            .map(|content| (marker, content.trim_start()));
    }
    let digits = line
        .find(|c: char| !c.is_ascii_digit())
        .filter(|at| (1..3).contains(at))?;
    line[digits..]
        .strip_prefix(". ")
        .or_else(|| line[digits..].strip_prefix(") "))
        .map(|content| ('1', content.trim_start()))
}

/// A line that only announces: `Cons:` or `**Redis**`.
fn label(line: &str) -> Option<&str> {
    let bold = line
        .strip_prefix("**")
        .and_then(|rest| rest.strip_suffix("**"))
        .filter(|title| !title.contains("**"));
    bold.or_else(|| line.trim_end_matches(['*', '_']).strip_suffix(':'))
        .filter(|title| is_short(title))
}

/// What stands before the colon of `Redis: fast`, or in the brackets of `(A) fast`.
fn prefix(text: &str) -> Option<(&str, &str)> {
    if let Some(at) = text.starts_with('(').then(|| text.find(") ")).flatten() {
        return Some((&text[..=at], &text[at + 2..])).filter(|(prefix, _)| is_short(prefix));
    }
    text.split_once(':')
        .map(|(prefix, rest)| (&text[..=prefix.len()], rest))
        .filter(|(prefix, rest)| is_short(prefix) && rest.starts_with([' ', '*', '_']))
}

fn is_short(text: &str) -> bool {
    words(text).take(LABEL_WORDS + 1).count() <= LABEL_WORDS
}

fn side_of(title: &str) -> Side {
    const PRO: &[&str] = &[
        "pro",
        "pros",
        "advantage",
        "advantages",
        "benefit",
        "benefits",
        "strengths",
        "upside",
        "upsides",
        "plus",
    ];
    const CON: &[&str] = &[
        "con",
        "cons",
        "disadvantage",
        "disadvantages",
        "drawback",
        "drawbacks",
        "weaknesses",
        "downside",
        "downsides",
        "risks",
        "problems",
        "minus",
    ];
    let has = |list: &[&str]| {
        words(title).any(|word| list.iter().any(|known| word.eq_ignore_ascii_case(known)))
    };
    match (has(PRO), has(CON)) {
        (true, false) => Side::Pro,
        (false, true) => Side::Con,
        _ => Side::Open,
    }
}

fn is_pronoun(text: &str) -> bool {
    words(text).next().is_some_and(|word| {
        ["it", "this", "they", "its", "these", "both"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    })
}
