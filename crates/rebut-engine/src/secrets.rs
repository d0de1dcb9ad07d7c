//! Keeping known secrets out of everything that is recorded: wherever a key's value appears, it is blanked.

use memchr::memmem::Finder;
use std::{fmt::Write, ops::Range};

/// Blanks known secret values, also in their escaped forms and inside Base64.
#[derive(Default)]
pub struct Scrubber {
    needles: Vec<Needle>,
}

/// What stands where a secret stood.
pub const BLANK: &str = "[secret]";

/// Shorter values are placeholders such as `none`; blanking them would only damage answers.
pub const SHORTEST: usize = 8;

impl Scrubber {
    /// A scrubber for these values, and for each line of those that have several. What is shorter than [`SHORTEST`] is left alone.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = Vec::new();
        for secret in secrets {
            values.extend(secret.lines().map(|line| line.trim().to_owned()));
            values.push(secret);
        }
        values.retain(|value| value.len() >= SHORTEST);
        values.sort_unstable();
        values.dedup();
        let mut needles: Vec<Needle> = values.iter().flat_map(|value| needles_of(value)).collect();
        needles.sort_unstable_by(|a, b| a.finder.needle().cmp(b.finder.needle()));
        needles.dedup_by(|a, b| a.finder.needle() == b.finder.needle() && (a.before, a.after) == (b.before, b.after));
        Self { needles }
    }

    /// The text without any known secret.
    pub fn scrub(&self, text: String) -> String {
        let mut found: Vec<Range<usize>> = self.needles.iter().flat_map(|needle| needle.found_in(&text)).collect();
        if found.is_empty() {
            return text;
        }
        found.sort_unstable_by_key(|range| (range.start, range.end));
        let (mut clean, mut end) = (String::with_capacity(text.len()), 0);
        for range in found {
            // What overlaps is one secret to whoever reads it: part of a longer one, or two in a row of Base64.
            if range.start >= end {
                clean.push_str(&text[end..range.start]);
                clean.push_str(BLANK);
            }
            end = end.max(range.end);
        }
        clean.push_str(&text[end..]);
        clean
    }
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scrubber({} forms)", self.needles.len())
    }
}

/// One form of a secret to look for.
struct Needle {
    finder: Finder<'static>,
    /// Whether the Base64 digit before it holds bits of the secret, too.
    before: bool,
    /// Whether the one after it does.
    after: bool,
}

/// What may stand for one digit of Base64.
const ESCAPED_DIGITS: [&str; 5] = ["%2B", "%2F", "%2b", "%2f", "\\/"];

impl Needle {
    fn new(form: &str, before: bool, after: bool) -> Self {
        Self { finder: Finder::new(form).into_owned(), before, after }
    }

    fn found_in<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let length = self.finder.needle().len();
        self.finder.find_iter(text.as_bytes()).map(move |at| {
            let before = if self.before { last_digit(&text[..at]) } else { 0 };
            let after = if self.after { first_digit(&text[at + length..]) } else { 0 };
            at - before..at + length + after
        })
    }
}

/// The bytes that a text's last digit of Base64 takes; 0 when it ends with something else.
fn last_digit(text: &str) -> usize {
    let escaped = ESCAPED_DIGITS.iter().find(|digit| text.ends_with(*digit)).map(|digit| digit.len());
    escaped.unwrap_or_else(|| usize::from(text.bytes().last().is_some_and(is_digit)))
}

fn first_digit(text: &str) -> usize {
    let escaped = ESCAPED_DIGITS.iter().find(|digit| text.starts_with(*digit)).map(|digit| digit.len());
    escaped.unwrap_or_else(|| usize::from(text.bytes().next().is_some_and(is_digit)))
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// Every form of a secret: as it is, JSON-escaped once and twice (an answer may quote what was escaped already), URL-escaped, and in
/// Base64 of a text that holds it anywhere.
fn needles_of(secret: &str) -> Vec<Needle> {
    let escaped = json_escaped(secret);
    let plain = [json_escaped(&escaped), escaped.replace('/', "\\/"), url_escaped(secret), lower_url_escaped(secret), escaped];
    let mut needles = vec![Needle::new(secret, false, false)];
    needles.extend(plain.iter().map(|form| Needle::new(form, false, false)));
    for offset in 0..3 {
        let (digits, before, after) = base64_inside(secret.as_bytes(), offset);
        let url_alphabet = digits.replace('+', "-").replace('/', "_");
        let forms = [url_escaped(&digits), lower_url_escaped(&digits), digits.replace('/', "\\/"), url_alphabet, digits];
        needles.extend(forms.iter().map(|form| Needle::new(form, before, after)));
    }
    needles
}

/// The digits of Base64 that a secret alone decides when so many bytes (0 to 2, after whole groups) stand before it; and whether the
/// digits before and after them hold some of its bits.
fn base64_inside(secret: &[u8], offset: usize) -> (String, bool, bool) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (start, end) = (8 * offset, 8 * (offset + secret.len()));
    let bit = |at: usize| secret[at / 8 - offset] >> (7 - at % 8) & 1;
    let digit = |at: usize| (6 * at..6 * at + 6).fold(0_u8, |value, at| value << 1 | bit(at));
    let digits = (start.div_ceil(6)..end / 6).map(|at| DIGITS[usize::from(digit(at))] as char).collect();
    (digits, start % 6 != 0, end % 6 != 0)
}

fn json_escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}

fn url_escaped(text: &str) -> String {
    percent_escaped(text, |text, byte| write!(text, "%{byte:02X}"))
}

fn lower_url_escaped(text: &str) -> String {
    percent_escaped(text, |text, byte| write!(text, "%{byte:02x}"))
}

fn percent_escaped(text: &str, write: impl Fn(&mut String, u8) -> std::fmt::Result) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(byte as char);
        } else {
            // Writing to a string cannot fail.
            let _ = write(&mut escaped, byte);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-canary/\"42+x";

    #[test]
    fn every_form_of_a_secret_is_blanked() {
        let scrubber = Scrubber::new([KEY, "sk-canary", "short", "-----BEGIN\nMIIabcdefgh\n-----END"].map(str::to_owned));
        let rows = [
            ("plain sk-canary/\"42+x!", "plain [secret]!"),
            (r#"json "sk-canary/\"42+x""#, r#"json "[secret]""#),
            (r#"slash "sk-canary\/\"42+x""#, r#"slash "[secret]""#),
            (r#"twice "sk-canary/\\\"42+x""#, r#"twice "[secret]""#),
            ("url ?k=sk-canary%2F%2242%2Bx", "url ?k=[secret]"),
            ("url ?k=sk-canary%2f%2242%2bx", "url ?k=[secret]"),
            ("base64 c2stY2FuYXJ5LyI0Mit4", "base64 [secret]"),
            ("the shorter one sk-canary.", "the shorter one [secret]."),
            ("a line MIIabcdefgh | of several", "a line [secret] | of several"),
            ("short stays", "short stays"),
        ];
        for (given, expected) in rows {
            assert_eq!(scrubber.scrub(given.to_owned()), expected);
        }
    }

    /// Wherever the key stands in what was encoded: what is left holds only bits of what stood around it.
    #[test]
    fn base64_leaves_no_bit_of_a_secret() {
        // With digits of both alphabets where they differ.
        for key in ["sk-0123456?>~?>~", "sk-01234567", "?>~?>~?>~", "12345678"] {
            let scrubber = Scrubber::new([key.to_owned()]);
            for (before, after) in ["", "a", "ab", "user:", "\u{3fe}>?"].iter().flat_map(|b| ["", "x", "xy", "xyz~"].map(|a| (*b, a))) {
                let standard = base64(&format!("{before}{key}{after}"));
                let url = standard.replace('+', "-").replace('/', "_");
                let escaped = standard.replace('+', "%2B").replace('/', "%2F");
                for (form, is_whole) in [(&standard, true), (&url, true), (&standard.replace('/', "\\/"), false), (&escaped, false)] {
                    let clean = scrubber.scrub(format!("Basic {form}"));
                    let Some((left, right)) = clean.split_once(BLANK) else { panic!("{key} after {before:?}: {form} is {clean}") };
                    let left = left.strip_prefix("Basic ").expect("what stands before it");
                    assert!(!is_whole || left.len() <= before.len() * 8 / 6, "{key} after {before:?}: {clean}");
                    let most = (before.len() + key.len() + after.len()) * 8;
                    let most = most.div_ceil(6) - ((before.len() + key.len()) * 8).div_ceil(6);
                    assert!(!is_whole || right.trim_end_matches('=').len() <= most, "{key} before {after:?}: {clean}");
                }
            }
        }
    }

    fn base64(text: &str) -> String {
        let padded: Vec<u8> = text.bytes().chain([0, 0]).collect();
        let (mut digits, _, _) = base64_inside(&padded[..text.len().div_ceil(3) * 3], 0);
        digits.truncate((text.len() * 8).div_ceil(6));
        digits + &"=".repeat((3 - text.len() % 3) % 3)
    }
}
