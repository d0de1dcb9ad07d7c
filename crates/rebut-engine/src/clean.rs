//! Making untrusted text harmless: what a model, a file or a page said, before a person or another model sees it.

mod documents;

pub use documents::{as_block, as_code, as_inline_code, for_comment, for_markdown, for_sarif};
use std::borrow::Cow;

/// Whether a character could move a cursor, hide text, or reorder it.
pub fn is_hostile(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // C0, DEL and C1 controls: escape sequences begin here.
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Zero-width and joining marks, bidirectional controls, invisible operators, byte order mark, tags.
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => {
            true
        }
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Whether a text holds any such character. Plain ASCII, the usual case, is told by its bytes.
pub fn has_hostile(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = &rest[run_of(rest.as_bytes(), |byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))..];
        let Some(c) = rest.chars().next() else { return false };
        if is_hostile(c) {
            return true;
        }
        rest = &rest[c.len_utf8()..];
    }
}

/// How many bytes at the start of a text are all of one kind. They are looked at in blocks, which a processor does at once: prompts and
/// answers are long, and nearly all of them is plain.
pub fn run_of(text: &[u8], is_kind: impl Fn(u8) -> bool) -> usize {
    const BLOCK: usize = 16;
    // No early end within a block, or it would be looked at byte by byte.
    let all_are = |block: &&[u8]| block.iter().fold(true, |all, byte| all & is_kind(*byte));
    let blocks = BLOCK * text.chunks_exact(BLOCK).take_while(all_are).count();
    text[blocks..].iter().position(|byte| !is_kind(*byte)).map_or(text.len(), |at| blocks + at)
}

/// Text for a terminal or a document: whole escape sequences go, stray controls are shown as `�`.
pub fn for_people(text: &str) -> Cow<'_, str> {
    if !has_hostile(text) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
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

/// The same, on one line.
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

/// Printable ASCII, words apart by single spaces, none at the ends. What else is clean takes the longer way.
fn is_one_line(text: &str) -> bool {
    let bytes = text.as_bytes();
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    let has_gap = pairs.fold(false, |found, (one, next)| found | ((*one == b' ') & (*next == b' ')));
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
            let end = text.char_indices().nth(limit.saturating_sub(1)).map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", text[..end].trim_end()))
        }
    }
}

/// A reason at most `limit` characters long, without what stands in brackets at its end: that says what to do about it, and is kept whole.
pub fn shortened_reason(text: &str, limit: usize) -> Cow<'_, str> {
    let mut hints = text.len();
    while let Some(at) = text[..hints].rfind(" (").filter(|_| text[..hints].ends_with(')')) {
        hints = at;
    }
    match shortened(&text[..hints], limit) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(cut) => Cow::Owned(cut + &text[hints..]),
    }
}

/// JSON text whose strings hold no raw control character that a terminal could obey.
pub fn json_for_terminal(json: &str) -> Cow<'_, str> {
    // JSON has control characters only inside strings (besides its own white space), so escaping them keeps its meaning.
    if !json.chars().any(|c| is_hostile(c) && c != '\r') {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 16);
    let mut units = [0; 2];
    for c in json.chars() {
        if is_hostile(c) && c != '\r' {
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

/// A string sequence: up to its terminator. An unterminated one must not swallow the rest, so it ends at the line's end too.
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
            ("much too long (in brackets) a text (do this) (wait 3 s)", 10, "much too… (do this) (wait 3 s)"),
            ("much too long (never closed", 10, "much too…"),
            ("", 10, ""),
        ];
        for (text, limit, expected) in rows {
            assert_eq!(shortened_reason(text, limit), expected, "{text}");
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        let json = serde_json::to_string("x\u{9b}2J\u{202e}\u{e0041}").expect("a string");
        let safe = json_for_terminal(&json);
        assert!(!safe.chars().any(is_hostile));
        assert_eq!(serde_json::from_str::<String>(&safe).expect("still JSON"), "x\u{9b}2J\u{202e}\u{e0041}");
    }
}
