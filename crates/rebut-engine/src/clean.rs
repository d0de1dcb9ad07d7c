//! Making untrusted text harmless: what a model, a file or a page said, before a person or another model sees it.

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

/// The same for a line of Markdown: no tag, link, picture or heading comes out of it. What stands in back quotes stays as it is, since nothing in
/// code is obeyed; a back quote without its partner could find one in another text, so it is escaped.
pub fn for_markdown(text: &str) -> String {
    let line = one_line(text);
    let mut safe = String::with_capacity(line.len() + 8);
    let mut rest = opening(&line, &mut safe);
    while let Some(c) = rest.chars().next() {
        let (ticks, after) = rest.split_at(rest.len() - rest.trim_start_matches('`').len());
        if let Some(code) = code_length(ticks, after) {
            safe.push_str(&rest[..ticks.len() + code]);
            rest = &after[code..];
            continue;
        }
        if !ticks.is_empty() {
            ticks.chars().for_each(|_| safe.push_str("\\`"));
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let next = rest.chars().next();
        let is_risky = match c {
            '<' => true,
            '\\' => next.is_none_or(|next| next.is_ascii_punctuation()),
            // The end of a link's words, here or with what stands after this text.
            ']' => next.is_none_or(|next| "([:".contains(next)),
            _ => false,
        };
        if is_risky {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// Writes what would begin a heading, list, quotation, rule or fence at the start of a line as plain text, and gives the rest.
fn opening<'a>(line: &'a str, safe: &mut String) -> &'a str {
    let word = line.split(' ').next().unwrap_or_default();
    let number = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = number.len() < word.len() && [".", ")"].contains(&number);
    let is_mark = line.starts_with('>') || line.starts_with("~~~") || (!word.is_empty() && word.chars().all(|c| "#-+*=_".contains(c)));
    let plain = if is_numbered { word.len() - 1 } else { 0 };
    if !is_numbered && !is_mark {
        return line;
    }
    safe.push_str(&line[..plain]);
    safe.push('\\');
    safe.push_str(&line[plain..=plain]);
    &line[plain + 1..]
}

/// How far a code span reaches after its opening back quotes, its closing ones included.
fn code_length(ticks: &str, after: &str) -> Option<usize> {
    // Asked at every character: a long text must not be searched each time.
    if ticks.is_empty() {
        return None;
    }
    let mut from = 0;
    while let Some(at) = after[from..].find('`') {
        let run = after[from + at..].len() - after[from + at..].trim_start_matches('`').len();
        from += at + run;
        if run == ticks.len() {
            return Some(from);
        }
    }
    None
}

/// Whole lines in a block of code that nothing in them can end.
pub fn as_block(text: &str) -> String {
    as_code("text", text)
}

/// The same for code, named by its language; a name that is no plain word is left out.
pub fn as_code(language: &str, code: &str) -> String {
    let (language, text) = (if language.chars().all(|c| c.is_ascii_lowercase()) { language } else { "" }, code);
    let shown = for_people(text);
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", shown.trim_end())
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
    fn what_a_model_says_stays_words_in_markdown() {
        let rows = [
            ("plain - 3 < 4, a[0] * b_c!", "plain - 3 \\< 4, a[0] * b_c!"),
            ("<script>alert(1)</script>", "\\<script>alert(1)\\</script>"),
            ("![i](http://x) [a][b] [c]: http://x [d]", "![i\\](http://x) [a\\][b] [c\\]: http://x [d\\]"),
            ("`a < b` and ``x ` <y>`` <z>", "`a < b` and ``x ` <y>`` \\<z>"),
            ("` <b>", "\\` \\<b>"),
            ("\\` <b> `", "\\\\` <b> `"),
            ("``` <b> ``", "\\`\\`\\` \\<b> \\`\\`"),
            ("C:\\dir ends \\", "C:\\dir ends \\\\"),
            ("# not\na heading", "\\# not a heading"),
            ("--- rule", "\\--- rule"),
            ("> quoted", "\\> quoted"),
            ("~~~ fence", "\\~~~ fence"),
            ("12. list", "12\\. list"),
            ("**bold** -1 stays", "**bold** -1 stays"),
            ("", ""),
        ];
        for (said, written) in rows {
            assert_eq!(for_markdown(said), written, "{said}");
        }
        let long = "a word ".repeat(1 << 18);
        assert_eq!(for_markdown(&long), long.trim_end(), "a book is as good as a line");
        assert_eq!(as_code("python", "x = 1\n"), "```python\nx = 1\n```\n");
        assert_eq!(as_code("x` \n# y", "x"), "```\nx\n```\n");
        assert_eq!(as_block("a ```` b\n<c>\n"), "`````text\na ```` b\n<c>\n`````\n");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let json = serde_json::to_string("x\u{9b}2J\u{202e}\u{e0041}").expect("a string");
        let safe = json_for_terminal(&json);
        assert!(!safe.chars().any(is_hostile));
        assert_eq!(serde_json::from_str::<String>(&safe).expect("still JSON"), "x\u{9b}2J\u{202e}\u{e0041}");
    }
}
