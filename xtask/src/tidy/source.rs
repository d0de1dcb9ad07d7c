//! A Rust file taken apart just enough: what is code, what is a comment, which lines are tests.

/// A Rust file in two readings of the same length and lines as the text.
pub struct Source {
    /// The code; comments and what is inside quotes are blanks.
    pub code: String,
    /// The comments; all else is blanks.
    pub comments: String,
    test_lines: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Quoted,
}

impl Source {
    /// Takes a file apart.
    pub fn parse(text: &str) -> Self {
        let kinds = kinds(text.as_bytes());
        let only = |wanted: Kind| -> String {
            let keep = |(at, c): (usize, char)| match c {
                '\n' => "\n".to_owned(),
                c if kinds[at] == wanted => c.to_string(),
                c => " ".repeat(c.len_utf8()),
            };
            text.char_indices().map(keep).collect()
        };
        let code = only(Kind::Code);
        let test_lines = test_lines(&code);
        Self {
            comments: only(Kind::Comment),
            code,
            test_lines,
        }
    }

    /// Whether that line, from 1, belongs to a `#[cfg(test)]` item.
    pub fn is_test(&self, line: usize) -> bool {
        self.test_lines.get(line - 1).copied().unwrap_or_default()
    }

    /// Lines of code with their numbers from 1, and whether they belong to a `#[cfg(test)]` item.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str, bool)> {
        self.code
            .lines()
            .zip(&self.test_lines)
            .enumerate()
            .map(|(at, (line, test))| (at + 1, line, *test))
    }
}

/// What each byte of a Rust file is.
fn kinds(text: &[u8]) -> Vec<Kind> {
    let mut kinds = vec![Kind::Code; text.len()];
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (kind, length) = match rest {
            [b'/', b'/', ..] => (
                Kind::Comment,
                rest.iter()
                    .position(|byte| *byte == b'\n')
                    .unwrap_or(rest.len()),
            ),
            [b'/', b'*', ..] => (Kind::Comment, block_comment(rest)),
            [b'r', b'"' | b'#', ..] if !continues_word(text, at) => match raw_string(rest) {
                Some(length) => (Kind::Quoted, length),
                None => (Kind::Code, 1),
            },
            [b'"', ..] => (Kind::Quoted, quoted(rest, b'"')),
            [b'\'', b'\\', ..] => (Kind::Quoted, quoted(rest, b'\'')),
            // A quote two to five bytes on is a character's end; otherwise this is a lifetime.
            [b'\'', ..] => match character(rest) {
                Some(length) => (Kind::Quoted, length),
                None => (Kind::Code, 1),
            },
            _ => (Kind::Code, 1),
        };
        // The quotes themselves stay code, so that a string is still seen to be one.
        let inner = if kind == Kind::Quoted {
            at + 1..at + length.max(2) - 1
        } else {
            at..at + length
        };
        kinds[inner].fill(kind);
        at += length;
    }
    kinds
}

fn continues_word(text: &[u8], at: usize) -> bool {
    // `br"…"` is a raw string as well.
    let before = if at > 0 && text[at - 1] == b'b' {
        at - 1
    } else {
        at
    };
    before > 0 && (text[before - 1].is_ascii_alphanumeric() || text[before - 1] == b'_')
}

fn block_comment(text: &[u8]) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        match &text[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    break;
                }
            }
            _ => at += 1,
        }
    }
    at
}

fn raw_string(text: &[u8]) -> Option<usize> {
    let hashes = text[1..].iter().take_while(|byte| **byte == b'#').count();
    let body = 1 + hashes + 1;
    if text.get(body - 1) != Some(&b'"') {
        return None;
    }
    let end: Vec<u8> = std::iter::once(b'"')
        .chain(std::iter::repeat_n(b'#', hashes))
        .collect();
    let length = text[body..]
        .windows(end.len())
        .position(|window| window == end);
    Some(length.map_or(text.len(), |length| body + length + end.len()))
}

fn quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

fn character(text: &[u8]) -> Option<usize> {
    let width = match text.get(1)? {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    (text.get(1 + width) == Some(&b'\'')).then_some(width + 2)
}

/// Which lines belong to an item under `#[cfg(test)]`, or under `#[cfg(all(test, …))]`.
fn test_lines(code: &str) -> Vec<bool> {
    let mut lines = vec![false; code.lines().count()];
    let starts = ["#[cfg(test)]", "#[cfg(all(test,"]
        .into_iter()
        .flat_map(|attribute| code.match_indices(attribute));
    for (start, attribute) in starts {
        let end = item_end(code, start + attribute.len());
        let first = line_of(code, start);
        lines[first - 1..line_of(code, end)].fill(true);
    }
    lines
}

/// Where the item after `from` ends: at its closing brace, or at a semicolon before any brace.
fn item_end(code: &str, from: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b';' if depth == 0 => return at,
            b'{' => depth += 1,
            b'}' if depth <= 1 => return at,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.trim_end().len().max(from) - 1
}

/// The line, from 1, in which a byte stands.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}
