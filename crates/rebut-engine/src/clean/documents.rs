//! What others wrote, in documents: one way into each kind of document, and none around it.

use super::{for_people, one_line};

/// A line of Markdown: no tag, link, picture or heading comes out of it, and no host makes a link
/// or a message to somebody of it. What stands in back quotes stays as it is, since nothing in code
/// is obeyed: so addresses, `@names` and `#numbers` are put there. A back quote without its partner
/// could find one in another text, so it is escaped.
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
        // At the beginning of a word, or right behind code, where a host reads on as if one began.
        if safe.is_empty() || safe.ends_with(|c: char| c.is_whitespace() || c == '`') {
            let token = &rest[..rest
                .find(|c: char| c.is_whitespace() || c == '`')
                .unwrap_or(rest.len())];
            if let Some((before, reference)) = reference_in(token) {
                rest = &rest[before.len() + reference.len()..];
                before
                    .chars()
                    .for_each(|c| push_escaped(c, None, &mut safe));
                push_reference(reference, rest.starts_with('`'), &mut safe);
                continue;
            }
        }
        rest = &rest[c.len_utf8()..];
        push_escaped(c, rest.chars().next(), &mut safe);
    }
    safe
}
fn push_escaped(c: char, next: Option<char>, safe: &mut String) {
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

/// What of a word hosts make a link or a message of, and what stands before it: an address,
/// `@somebody`, `#12`.
fn reference_in(token: &str) -> Option<(&str, &str)> {
    const SIGNS: &[char] = &[
        '(', '[', '{', '"', '\'', '“', '‘', '<', '*', '_', '!', '~', '|', '>',
    ];
    let core = token.trim_start_matches(SIGNS);
    let before = &token[..token.len() - core.len()];
    let core = core.trim_end_matches(|c| ".,;:!?)}\"'”’>*_~|".contains(c));
    is_reference(core).then_some((before, core))
}

fn is_reference(word: &str) -> bool {
    let followed_by = |sign: char, is_next: fn(char) -> bool| {
        word.match_indices(sign)
            .any(|(at, sign)| word[at + sign.len()..].starts_with(is_next))
    };
    // Nearly every word is none, and there are many.
    if !word.contains(['@', '#', ':', '.', '-']) {
        return false;
    }
    let lower = word.to_ascii_lowercase();
    let is_address = lower.contains("://") || lower.contains("www.") || lower.contains("mailto:");
    is_address
        || followed_by('@', char::is_alphanumeric)
        || followed_by('#', |c| c.is_ascii_digit())
        || lower.starts_with("gh-")
}

/// In back quotes; where others stand beside it, with a gap of no width behind each sign that a
/// host looks for.
fn push_reference(reference: &str, has_tick_behind: bool, safe: &mut String) {
    if has_tick_behind || safe.ends_with('`') {
        safe.push_str(&for_comment(reference));
    } else {
        safe.push_str(&format!("`{reference}`"));
    }
}

/// Text for a comment at a code host, also inside of tags there: no tag, link or picture comes out
/// of it, nobody is called, nothing is referred to. A host looks for names and numbers when
/// entities are read already, so each sign has a gap of no width behind it.
pub fn for_comment(text: &str) -> String {
    const GAP: &str = "&#8203;";
    let line = one_line(text);
    let mut safe = String::with_capacity(line.len() + 8);
    let mut rest = &*line;
    while let Some(c) = rest.chars().next() {
        let lower = rest.get(..4).unwrap_or_default().to_ascii_lowercase();
        rest = &rest[c.len_utf8()..];
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '@' | '#' => safe.push_str(&format!("{c}{GAP}")),
            ':' if rest.starts_with("//") || ends_in(&safe, "mailto") => {
                safe.push_str(&format!(":{GAP}"))
            }
            _ if lower == "www." => safe.push_str(&format!("{c}{GAP}")),
            '-' if ends_in(&safe, "gh") => safe.push_str(&format!("-{GAP}")),
            '[' | ']' | '!' | '|' | '`' | '*' | '_' | '\\' | '~' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}

fn ends_in(text: &str, word: &str) -> bool {
    text.len()
        .checked_sub(word.len())
        .and_then(|from| text.get(from..))
        .is_some_and(|end| end.eq_ignore_ascii_case(word))
}

/// Text for a message of SARIF, which knows links in brackets; viewers make links of addresses
/// besides.
pub fn for_sarif(text: &str) -> String {
    for_people(text).replace("](", "] (").replace("://", ": //")
}

/// A name or an id in back quotes, which it cannot end.
pub fn as_inline_code(name: &str) -> String {
    format!("`{}`", one_line(name).replace('`', "'"))
}

/// Writes what would begin a heading, list, quotation, rule or fence at the start of a line as
/// plain text, and gives the rest.
fn opening<'a>(line: &'a str, safe: &mut String) -> &'a str {
    let word = line.split(' ').next().unwrap_or_default();
    let number = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = number.len() < word.len() && [".", ")"].contains(&number);
    let is_mark = line.starts_with('>')
        || line.starts_with("~~~")
        || (!word.is_empty() && word.chars().all(|c| "#-+*=_".contains(c)));
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
    let (language, text) = (
        if language.chars().all(|c| c.is_ascii_lowercase()) {
            language
        } else {
            ""
        },
        code,
    );
    let shown = for_people(text);
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", shown.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_says_stays_words_in_markdown() {
        let rows = [
            ("plain - 3 < 4, a[0] * b_c!", "plain - 3 \\< 4, a[0] * b_c!"),
            ("<script>alert(1)</script>", "\\<script>alert(1)\\</script>"),
            (
                "![i](http://x) [a][b] [c]: http://x [d]",
                "![`i](http://x`) [a\\][b] [c\\]: `http://x` [d\\]",
            ),
            (
                "see https://x.y/z, (www.x.y) or me@x.y",
                "see `https://x.y/z`, (`www.x.y`) or `me@x.y`",
            ),
            (
                "@all: #12 and a/b#3, GH-4.",
                "`@all`: `#12` and `a/b#3`, `GH-4`.",
            ),
            ("`a`@all", "`a`@&#8203;all"),
            (
                "a #tag, an @ sign, C# 12, C:/x",
                "a #tag, an @ sign, C# 12, C:/x",
            ),
            (
                "`a < b` and ``x ` <y>`` <z>",
                "`a < b` and ``x ` <y>`` \\<z>",
            ),
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
        assert_eq!(
            for_markdown(&long),
            long.trim_end(),
            "a book is as good as a line"
        );
        assert_eq!(as_code("python", "x = 1\n"), "```python\nx = 1\n```\n");
        assert_eq!(as_code("x` \n# y", "x"), "```\nx\n```\n");
        assert_eq!(
            as_block("a ```` b\n<c>\n"),
            "`````text\na ```` b\n<c>\n`````\n"
        );
    }

    #[test]
    fn nothing_of_a_model_is_a_tag_a_link_or_a_mention_in_a_comment() {
        let rows = [
            ("<!-- rebut:review -->", "&lt;\\!-- rebut:review --&gt;"),
            (
                "see [here](http://x) @all",
                "see \\[here\\](http:&#8203;//x) @&#8203;all",
            ),
            (
                "</details>\n# new #12",
                "&lt;/details&gt; #&#8203; new #&#8203;12",
            ),
            (
                "a & b `c` WWW.x mailto:y GH-1",
                "a &amp; b \\`c\\` W&#8203;WW.x mailto:&#8203;y GH-&#8203;1",
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(for_comment(text), expected);
        }
    }

    #[test]
    fn messages_of_sarif_hold_no_links() {
        let rows = [
            ("[a](http://x) ![b](c)", "[a] (http: //x) ![b] (c)"),
            ("x[0](1)", "x[0] (1)"),
            ("two\nlines \u{1b}[31mred", "two\nlines red"),
        ];
        for (text, expected) in rows {
            assert_eq!(for_sarif(text), expected);
        }
        assert_eq!(as_inline_code("a`b\nc"), "`a'b c`");
    }
}
