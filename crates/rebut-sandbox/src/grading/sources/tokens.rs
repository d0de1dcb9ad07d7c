//! Words and signs of a program's text, without its comments and strings. Enough to find functions
//! by name; not a parser.

/// A word or a sign, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub text: &'a str,
    pub at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Rust,
    Go,
    C,
}

/// The words and signs of a text, in order.
pub(super) fn tokens(text: &str, dialect: Dialect) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let skipped = comment(rest).or_else(|| string(rest, dialect));
        if let Some(length) = skipped {
            at += length;
        } else if next.is_alphanumeric() || next == '_' {
            let length = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            found.push(Token {
                text: &rest[..length],
                at,
            });
            at += length;
        } else {
            if !next.is_whitespace() {
                found.push(Token {
                    text: &rest[..next.len_utf8()],
                    at,
                });
            }
            at += next.len_utf8();
        }
    }
    found
}

/// The words of each argument of a call, from behind its bracket.
pub(super) fn arguments<'a>(words: &'a [Token<'a>]) -> Vec<&'a [Token<'a>]> {
    let (mut found, mut depth, mut begin) = (Vec::new(), 0_usize, 0);
    for (at, word) in words.iter().enumerate() {
        match word.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth > 0 => depth -= 1,
            ")" | "," if depth == 0 => {
                found.push(&words[begin..at]);
                begin = at + 1;
                if word.text == ")" {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether one of these functions is called with a format that is not written out, or is not
/// called. Each has the place of its format among the arguments.
pub(super) fn has_computed_format(words: &[Token<'_>], functions: &[(&str, usize)]) -> bool {
    // Texts are no words, and what stands between them may be a macro of `<inttypes.h>`.
    let is_written = |format: &&[Token<'_>]| {
        let mut words = format.iter();
        words.all(|word| word.text.starts_with("PRI") || word.text.starts_with("SCN"))
    };
    words.iter().enumerate().any(|(at, word)| {
        let known = functions.iter().find(|(name, _)| *name == word.text);
        let is_call = words.get(at + 1).is_some_and(|next| next.text == "(");
        known.is_some_and(|(_, place)| {
            !is_call
                || !arguments(&words[at + 2..])
                    .get(*place)
                    .is_some_and(is_written)
        })
    })
}

fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    rest.starts_with("/*")
        .then(|| rest[2..].find("*/").map_or(rest.len(), |end| end + 4))
}

fn string(rest: &str, dialect: Dialect) -> Option<usize> {
    let first = rest.chars().next()?;
    match (first, dialect) {
        ('`', Dialect::Go) => Some(rest[1..].find('`').map_or(rest.len(), |end| end + 2)),
        ('r' | 'b', Dialect::Rust) => raw(rest),
        ('R', Dialect::C) if rest.starts_with("R\"") => raw_c(rest),
        ('"', _) => Some(quoted(rest, '"')),
        // A lifetime is no character.
        ('\'', Dialect::Rust) => {
            let mut chars = rest[1..].chars();
            let (one, two) = (chars.next(), chars.next());
            (one == Some('\\') || two == Some('\'')).then(|| quoted(rest, '\''))
        }
        ('\'', _) => Some(quoted(rest, '\'')),
        _ => None,
    }
}

/// The length of a quoted text with backslashes.
pub(super) fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

fn raw(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('b').unwrap_or(rest);
    let before = rest.len() - body.len();
    if before == 1 && body.starts_with('"') {
        return Some(before + quoted(body, '"'));
    }
    let marks = body.strip_prefix('r')?;
    let hashes = marks.len() - marks.trim_start_matches('#').len();
    let inner = marks[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let head = before + 2 + hashes;
    Some(
        inner
            .find(&close)
            .map_or(rest.len(), |end| head + end + close.len()),
    )
}

fn raw_c(rest: &str) -> Option<usize> {
    let open = rest.find('(')?;
    let close = format!("){}\"", &rest[2..open]);
    Some(
        rest[open..]
            .find(&close)
            .map_or(rest.len(), |end| open + end + close.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_hold_no_words() {
        let rows: &[(Dialect, &str, &str)] = &[
            (
                Dialect::Rust,
                "fn a<'x>() { // b\n 'c'; '\\''; \"d \\\" e\" r#\"f\"g\"# b\"h\" /* i */ j }",
                "fn a < ' x > ( ) { ; ; j }",
            ),
            (
                Dialect::Go,
                "func A() { `b \" c`; 'd' }",
                "func A ( ) { ; }",
            ),
            (Dialect::C, "int a = 'b'; R\"x(c)\")x\"; \"d", "int a = ; ;"),
        ];
        for (dialect, text, expected) in rows {
            let words: Vec<&str> = tokens(text, *dialect)
                .iter()
                .map(|token| token.text)
                .collect();
            assert_eq!(words.join(" "), *expected, "{text}");
        }
    }
}
