//! Making untrusted text harmless: what a model, a file or a page said, before a person or another
//! model sees it.

mod documents;

pub use documents::{as_block, as_code, as_inline_code, for_comment, for_markdown, for_sarif};
use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// So many marks may stand on one character. No script needs more; a terminal draws them all in one
/// place, or over the lines around it.
const MOST_MARKS: usize = 8;

/// Whether a character could move a cursor, hide text, or reorder it.
pub fn is_hostile(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // C0, DEL and C1 controls: escape sequences begin here.
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Zero-width and joining marks, bidirectional controls, invisible operators, byte order
        // mark, tags.
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Whether a text holds any such character. Plain ASCII, the usual case, is told by its bytes.
pub fn has_hostile(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = &rest[run_of(rest.as_bytes(), |byte| {
            matches!(byte, b' '..=b'~' | b'\n' | b'\t')
        })..];
        let Some(c) = rest.chars().next() else {
            return false;
        };
        if is_hostile(c) {
            return true;
        }
        rest = &rest[c.len_utf8()..];
    }
}

/// Whether more marks stand on a character than any script needs.
fn has_heap_of_marks(text: &str) -> bool {
    let mut marks = Marks::default();
    !text.is_ascii() && text.chars().any(|c| marks.is_too_many(c))
}

/// Counts the marks that stand on a character, and what else has no width of its own.
#[derive(Default)]
struct Marks(usize);

impl Marks {
    /// Whether the next character is a mark beyond those that may stand here.
    fn is_too_many(&mut self, c: char) -> bool {
        self.0 = if !c.is_ascii() && c.width() == Some(0) {
            self.0 + 1
        } else {
            0
        };
        self.0 > MOST_MARKS
    }
}

/// How many bytes at the start of a text are all of one kind. They are looked at in blocks, which a
/// processor does at once: prompts and answers are long, and nearly all of them is plain.
fn run_of(text: &[u8], is_kind: impl Fn(u8) -> bool) -> usize {
    const BLOCK: usize = 16;
    // No early end within a block, or it would be looked at byte by byte.
    let all_are = |block: &&[u8]| block.iter().fold(true, |all, byte| all & is_kind(*byte));
    let blocks = BLOCK * text.chunks_exact(BLOCK).take_while(all_are).count();
    text[blocks..]
        .iter()
        .position(|byte| !is_kind(*byte))
        .map_or(text.len(), |at| blocks + at)
}

/// Text for a terminal or a document: whole escape sequences go, stray controls are shown as `�`,
/// and heaps of marks become a few.
pub fn for_people(text: &str) -> Cow<'_, str> {
    cleaned(text, false)
}

/// A line of ours for a terminal, with its colours: the last net under what should be clean
/// already.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    cleaned(text, true)
}

fn cleaned(text: &str, has_colours: bool) -> Cow<'_, str> {
    if !has_hostile(text) && !has_heap_of_marks(text) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut marks = Marks::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if marks.is_too_many(c) {
            continue;
        }
        match c {
            '\u{1b}' if has_colours && colour(&chars).is_some() => {
                clean.push(c);
                clean.extend(
                    colour(&chars)
                        .into_iter()
                        .flat_map(|length| chars.by_ref().take(length).collect::<Vec<_>>()),
                );
            }
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            c if is_hostile(c) => clean.push('\u{fffd}'),
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

pub fn on_one_line(text: &str) -> String {
    one_line(text).into_owned()
}

/// The same, without a copy where the text is already one clean line, as most are.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if is_one_line(text) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for word in for_people(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    Cow::Owned(line)
}

/// Printable ASCII, words apart by single spaces, none at the ends. What else is clean takes the
/// longer way.
fn is_one_line(text: &str) -> bool {
    let bytes = text.as_bytes();
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    let has_gap = pairs.fold(false, |found, (one, next)| {
        found | ((*one == b' ') & (*next == b' '))
    });
    let is_printable = run_of(bytes, |byte| matches!(byte, b' '..=b'~')) == bytes.len();
    is_printable && !has_gap && !text.starts_with(' ') && !text.ends_with(' ')
}

/// At most `limit` characters, cut at a character's border and marked when cut.
pub fn shortened(text: &str, limit: usize) -> Cow<'_, str> {
    // A text has no more characters than bytes.
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    match text.char_indices().nth(limit) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let end = text
                .char_indices()
                .nth(limit.saturating_sub(1))
                .map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", text[..end].trim_end()))
        }
    }
}

/// A reason at most `limit` characters long, without what stands in brackets at its end: that says
/// what to do about it, and is kept whole.
pub fn shortened_reason(text: &str, limit: usize) -> Cow<'_, str> {
    let mut hints = text.len();
    while let Some(at) = text[..hints]
        .rfind(" (")
        .filter(|_| text[..hints].ends_with(')'))
    {
        hints = at;
    }
    match shortened(&text[..hints], limit) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(cut) => Cow::Owned(cut + &text[hints..]),
    }
}

/// JSON text whose strings hold no raw control character that a terminal could obey.
pub fn json_for_terminal(json: &str) -> Cow<'_, str> {
    // JSON has control characters only inside strings (besides its own white space), so escaping
    // them keeps its meaning.
    if !json.chars().any(|c| is_hostile(c) && c != '\r') && !has_heap_of_marks(json) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 16);
    let mut units = [0; 2];
    let mut marks = Marks::default();
    for c in json.chars() {
        if marks.is_too_many(c) || is_hostile(c) && c != '\r' {
            for unit in c.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// How many characters are left of a sequence that only sets colours: `[1;31m`.
fn colour(rest: &Rest<'_>) -> Option<usize> {
    let mut rest = rest.clone();
    rest.next_if_eq(&'[')?;
    let numbers = std::iter::from_fn(|| rest.next_if(|c| c.is_ascii_digit() || *c == ';')).count();
    rest.next_if_eq(&'m').map(|_| numbers + 2)
}

fn skip_escape(rest: &mut Rest<'_>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_csi(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        Some(c) if ('\u{20}'..='\u{7e}').contains(c) => {
            rest.next();
        }
        _ => {}
    }
}

/// A control sequence: parameters, then one final byte.
fn skip_csi(rest: &mut Rest<'_>) {
    while let Some(c) = rest.next_if(|c| ('\u{20}'..='\u{7e}').contains(c)) {
        if ('\u{40}'..='\u{7e}').contains(&c) {
            break;
        }
    }
}

/// A string sequence: up to its terminator. An unterminated one must not swallow the rest, so it
/// ends at the line's end too.
fn skip_string(rest: &mut Rest<'_>) {
    while let Some(c) = rest.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => break,
            '\u{1b}' => {
                rest.next_if_eq(&'\\');
                break;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_disappear_and_text_stays() {
        let rows = [
            ("plain", "plain"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7}", "link"),
            ("open \u{1b}]0;title\nnext line", "open \nnext line"),
            ("\u{9b}2Jclear", "clear"),
            ("a\u{202e}b\u{200b}c", "a\u{fffd}b\u{fffd}c"),
            ("bell\u{7}", "bell\u{fffd}"),
            ("crlf\r\nnext\rover", "crlf\nnext\u{fffd}over"),
            // Words of people in scripts that stack their marks, and what nobody writes.
            (
                "Việt Nam, שִׁ֔יר, นี้, བསྒྲུབས, e\u{301}\u{323}",
                "Việt Nam, שִׁ֔יר, นี้, བསྒྲུབས, e\u{301}\u{323}",
            ),
            (
                &format!("z{}algo", "\u{301}".repeat(10_000)),
                &format!("z{}algo", "\u{301}".repeat(MOST_MARKS)),
            ),
            (
                &format!("a{}", "\u{e0101}\u{fe0f}".repeat(500)),
                &format!("a{}", "\u{e0101}\u{fe0f}".repeat(MOST_MARKS / 2)),
            ),
        ];
        for (given, expected) in rows {
            assert_eq!(for_people(given), expected, "{given:?}");
        }
    }

    #[test]
    fn a_reason_that_is_cut_keeps_what_to_do() {
        let rows = [
            ("short (do this)", 20, "short (do this)"),
            ("much too long a text", 10, "much too…"),
            ("much too long a text (do this)", 10, "much too… (do this)"),
            (
                "much too long (in brackets) a text (do this) (wait 3 s)",
                10,
                "much too… (do this) (wait 3 s)",
            ),
            ("much too long (never closed", 10, "much too…"),
            ("", 10, ""),
        ];
        for (text, limit, expected) in rows {
            assert_eq!(shortened_reason(text, limit), expected, "{text}");
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        let text = format!("x\u{9b}2J\u{202e}\u{e0041}{}", "\u{301}".repeat(99));
        let json = serde_json::to_string(&text).expect("a string");
        let safe = json_for_terminal(&json);
        assert!(!safe.chars().any(is_hostile) && !has_heap_of_marks(&safe));
        assert_eq!(
            serde_json::from_str::<String>(&safe).expect("still JSON"),
            text
        );
    }

    #[test]
    fn of_all_sequences_only_colours_are_left_in_lines_of_ours() {
        let rows = [
            (
                "\u{1b}[1;31merror:\u{1b}[0m \u{1b}[2Jwho",
                "\u{1b}[1;31merror:\u{1b}[0m who",
            ),
            (
                "\u{1b}]0;title\u{7}panel \u{9b}2J\u{202e}x",
                "panel \u{fffd}x",
            ),
            ("\u{1b}[31", ""),
            ("\u{1b}[mplain\u{1b}", "\u{1b}[mplain"),
        ];
        for (given, expected) in rows {
            assert_eq!(for_terminal(given), expected, "{given:?}");
        }
    }
}
