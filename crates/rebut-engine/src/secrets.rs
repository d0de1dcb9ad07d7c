//! Keeping known secrets out of everything that is recorded: wherever a key's value appears, it is
//! blanked.
//!
//! A text is looked at as it is and as whoever unescapes it would read it (`readings.rs`), so that
//! it does not matter which of its characters somebody chose to escape.

mod readings;

use memchr::memmem::Finder;
use readings::{LONGEST_ESCAPE, Reading, is_escape};
use std::ops::Range;

/// Blanks known secret values, also where they are escaped for JSON or an address, and inside
/// Base64.
#[derive(Default)]
pub struct Scrubber {
    needles: Vec<Needle>,
}

/// What stands where a secret stood.
pub const BLANK: &str = "[secret]";

/// Shorter values are placeholders such as `none`; blanking them would only damage answers.
pub const SHORTEST: usize = 8;

impl Scrubber {
    /// A scrubber for these values, and for each line of those that have several. What is shorter
    /// than [`SHORTEST`] is left alone.
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
        needles.dedup_by(|a, b| {
            a.finder.needle() == b.finder.needle() && (a.before, a.after) == (b.before, b.after)
        });
        Self { needles }
    }

    /// The text without any known secret.
    pub fn scrub(&self, text: String) -> String {
        let found = self.found_in(&text);
        if found.is_empty() {
            return text;
        }
        let (mut clean, mut end) = (String::with_capacity(text.len()), 0);
        for range in found {
            // What overlaps is one secret to whoever reads it: part of a longer one, or two in a
            // row of Base64.
            if range.start >= end {
                clean.push_str(&text[end..range.start]);
                clean.push_str(BLANK);
            }
            end = end.max(range.end);
        }
        clean.push_str(&text[end..]);
        clean
    }

    /// How much of a text that is still being written may be shown: what follows may become a
    /// secret.
    pub fn safe_length(&self, text: &str) -> usize {
        let neighbour = text.len() - usize::from(text.bytes().last().is_some_and(is_digit));
        let first = self
            .open_ends(text)
            .flat_map(|(end, open)| [end, open])
            .chain([neighbour])
            .min();
        self.outside_of_secrets(text, first)
    }

    /// How much of a text that broke off may be kept: all but the beginning of a secret.
    pub fn kept_length(&self, text: &str) -> usize {
        self.outside_of_secrets(
            text,
            self.open_ends(text)
                .filter(|(end, open)| open < end)
                .map(|(_, open)| open)
                .min(),
        )
    }

    /// Where the text ends, or would if an escape at its end is not all there, and from where on
    /// that may become a secret.
    fn open_ends<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        let tail = text.floor_char_boundary(text.len().saturating_sub(LONGEST_ESCAPE));
        let escapes = text[tail..]
            .bytes()
            .enumerate()
            .filter(|(_, byte)| is_escape(*byte))
            .map(move |(at, _)| tail + at);
        let open_in = |end| {
            let readings = Reading::all(&text[..end]);
            let open = readings
                .iter()
                .flat_map(|reading| self.needles.iter().map(|needle| needle.open_in(reading)));
            (end, open.min().unwrap_or(end))
        };
        escapes.chain([text.len()]).map(open_in)
    }

    fn outside_of_secrets(&self, text: &str, place: Option<usize>) -> usize {
        let Some(place) = place.filter(|_| !self.needles.is_empty()) else {
            return text.len();
        };
        let around = self
            .found_in(text)
            .into_iter()
            .find(|range| range.start < place && place < range.end);
        text.floor_char_boundary(around.map_or(place, |range| range.start))
    }

    fn found_in(&self, text: &str) -> Vec<Range<usize>> {
        if self.needles.is_empty() {
            return Vec::new();
        }
        let readings = Reading::all(text);
        let found = readings.iter().flat_map(|reading| {
            self.needles
                .iter()
                .flat_map(|needle| needle.found_in(reading))
        });
        let mut found: Vec<Range<usize>> = found.collect();
        found.sort_unstable_by_key(|range| (range.start, range.end));
        found
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

impl Needle {
    fn new(form: &str, before: bool, after: bool) -> Self {
        Self {
            finder: Finder::new(form).into_owned(),
            before,
            after,
        }
    }

    /// Where it is, in the text that was read.
    fn found_in<'a>(&'a self, reading: &'a Reading<'_>) -> impl Iterator<Item = Range<usize>> + 'a {
        let (bytes, length) = (reading.bytes(), self.finder.needle().len());
        self.finder.find_iter(bytes).map(move |at| {
            let end = at + length;
            let after =
                usize::from(self.after && bytes.get(end).is_some_and(|byte| is_digit(*byte)));
            reading.at(self.beginning(bytes, at))..reading.at(end + after)
        })
    }

    /// Where the end of a text begins that may become it; behind the text if none may.
    fn open_in(&self, reading: &Reading<'_>) -> usize {
        let (bytes, needle) = (reading.bytes(), self.finder.needle());
        // All of it is still open where the digit that follows holds some of its bits.
        let longest = if self.after {
            needle.len()
        } else {
            needle.len() - 1
        };
        let begun = (1..=longest.min(bytes.len()))
            .rev()
            .find(|length| bytes.ends_with(&needle[..*length]));
        reading.at(begun.map_or(bytes.len(), |begun| {
            self.beginning(bytes, bytes.len() - begun)
        }))
    }

    /// Where it begins if its own digits begin here.
    fn beginning(&self, bytes: &[u8], at: usize) -> usize {
        at - usize::from(self.before && at > 0 && is_digit(bytes[at - 1]))
    }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// A secret as it is, and in Base64 of a text that holds it anywhere.
fn needles_of(secret: &str) -> Vec<Needle> {
    let mut needles = vec![Needle::new(secret, false, false)];
    for offset in 0..3 {
        let (digits, before, after) = base64_inside(secret.as_bytes(), offset);
        let url_alphabet = digits.replace('+', "-").replace('/', "_");
        needles.extend(
            [url_alphabet, digits]
                .iter()
                .map(|form| Needle::new(form, before, after)),
        );
    }
    needles
}

/// The digits of Base64 that a secret alone decides when so many bytes (0 to 2, after whole groups)
/// stand before it; and whether the digits before and after them hold some of its bits.
fn base64_inside(secret: &[u8], offset: usize) -> (String, bool, bool) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (start, end) = (8 * offset, 8 * (offset + secret.len()));
    let bit = |at: usize| secret[at / 8 - offset] >> (7 - at % 8) & 1;
    let digit = |at: usize| (6 * at..6 * at + 6).fold(0_u8, |value, at| value << 1 | bit(at));
    let digits = (start.div_ceil(6)..end / 6)
        .map(|at| DIGITS[usize::from(digit(at))] as char)
        .collect();
    (digits, start % 6 != 0, end % 6 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-canary/\"42+x";

    #[test]
    fn every_form_of_a_secret_is_blanked() {
        let scrubber = Scrubber::new(
            [
                KEY,
                "sk-canary",
                "short",
                "-----BEGIN\nMIIabcdefgh\n-----END",
            ]
            .map(str::to_owned),
        );
        let rows = [
            ("plain sk-canary/\"42+x!", "plain [secret]!"),
            (r#"json "sk-canary/\"42+x""#, r#"json "[secret]""#),
            (r#"slash "sk-canary\/\"42+x""#, r#"slash "[secret]""#),
            (r#"twice "sk-canary/\\\"42+x""#, r#"twice "[secret]""#),
            ("url ?k=sk-canary%2F%2242%2Bx", "url ?k=[secret]"),
            ("url ?k=sk-canary%2f%2242%2bx", "url ?k=[secret]"),
            (
                "all of it ?k=%73%6B%2D%63%61%6E%61%72%79%2F%22%34%32%2B%78&x=%41",
                "all of it ?k=[secret]&x=%41",
            ),
            (
                "url twice ?k=sk-canary%252F%252242%252Bx",
                "url twice ?k=[secret]",
            ),
            (
                r#"some "sk-canary\/\u002242\u002Bx\u0021""#,
                r#"some "[secret]\u0021""#,
            ),
            (
                r#"all "\u0073\u006b\u002d\u0063\u0061\u006e\u0061\u0072\u0079""#,
                r#"all "[secret]""#,
            ),
            (
                r#"twice "\\u0073k-canary\\u002f\\\"42\\u002bx""#,
                r#"twice "[secret]""#,
            ),
            (
                r#"json in a url %22sk-canary%2F%5Cu002242%5Cu002bx%22"#,
                r#"json in a url %22[secret]%22"#,
            ),
            (
                r#"a url in json "sk-canary\u00252F\u00252242%2Bx""#,
                r#"a url in json "[secret]""#,
            ),
            (
                r"no escape \u12 \ud83d \ %zz % é\u00e9\ud83d\ude00 sk-canary",
                r"no escape \u12 \ud83d \ %zz % é\u00e9\ud83d\ude00 [secret]",
            ),
            ("base64 c2stY2FuYXJ5LyI0Mit4", "base64 [secret]"),
            ("the shorter one sk-canary.", "the shorter one [secret]."),
            (
                "a line MIIabcdefgh | of several",
                "a line [secret] | of several",
            ),
            ("short stays", "short stays"),
        ];
        for (given, expected) in rows {
            assert_eq!(scrubber.scrub(given.to_owned()), expected);
        }
    }

    /// Wherever the key stands in what was encoded: what is left holds only bits of what stood
    /// around it.
    #[test]
    fn base64_leaves_no_bit_of_a_secret() {
        // With digits of both alphabets where they differ.
        for key in ["sk-0123456?>~?>~", "sk-01234567", "?>~?>~?>~", "12345678"] {
            let scrubber = Scrubber::new([key.to_owned()]);
            for (before, after) in ["", "a", "ab", "user:", "\u{3fe}>?"]
                .iter()
                .flat_map(|b| ["", "x", "xy", "xyz~"].map(|a| (*b, a)))
            {
                let standard = base64(&format!("{before}{key}{after}"));
                let url = standard.replace('+', "-").replace('/', "_");
                let escaped = standard.replace('+', "%2B").replace('/', "%2F");
                for (form, is_whole) in [
                    (&standard, true),
                    (&url, true),
                    (&standard.replace('/', "\\u002f"), false),
                    (&escaped, false),
                ] {
                    let clean = scrubber.scrub(format!("Basic {form}"));
                    let Some((left, right)) = clean.split_once(BLANK) else {
                        panic!("{key} after {before:?}: {form} is {clean}")
                    };
                    let left = left.strip_prefix("Basic ").expect("what stands before it");
                    assert!(
                        !is_whole || left.len() <= before.len() * 8 / 6,
                        "{key} after {before:?}: {clean}"
                    );
                    let most = (before.len() + key.len() + after.len()) * 8;
                    let most = most.div_ceil(6) - ((before.len() + key.len()) * 8).div_ceil(6);
                    assert!(
                        !is_whole || right.trim_end_matches('=').len() <= most,
                        "{key} before {after:?}: {clean}"
                    );
                }
            }
        }
    }

    /// However a text comes in pieces: what was shown of it, put together, holds no part of a
    /// secret, and nothing else is missing.
    #[test]
    fn what_is_shown_of_a_text_in_pieces_is_what_is_shown_of_all() {
        let scrubber = Scrubber::new([KEY.to_owned()]);
        let texts = [
            "hello sk-canary/\"42+x there",
            r#"{"a": "\u0073k-canary\/\"42\u002Bx", "b": "sk-canary/ no"}"#,
            "?k=%73k-canary%2F%2242%2Bx&é=%C3%A9",
            "Basic YTpzay1jYW5hcnkvIjQyK3g= and more",
            "sk-sk-canary/\"42+x",
        ];
        for text in texts {
            for size in 1..12 {
                let (mut held, mut shown) = (String::new(), String::new());
                let mut pieces = text.chars().peekable();
                while pieces.peek().is_some() {
                    held.extend(pieces.by_ref().take(size));
                    let rest = held.split_off(scrubber.safe_length(&held));
                    shown.push_str(&scrubber.scrub(std::mem::replace(&mut held, rest)));
                }
                shown.push_str(&scrubber.scrub(held));
                assert_eq!(
                    shown,
                    scrubber.scrub(text.to_owned()),
                    "{text} in pieces of {size}"
                );
            }
        }
        assert_eq!(
            Scrubber::new(["none".to_owned()]).safe_length("no"),
            2,
            "too short to be a secret"
        );
        for (broken, kept) in [
            ("hello", "hello"),
            ("hello sk-c", "hello "),
            (r"hello sk-canary\", "hello "),
            (r"a\nb\", r"a\nb\"),
        ] {
            assert_eq!(&broken[..scrubber.kept_length(broken)], kept);
        }
    }

    fn base64(text: &str) -> String {
        let padded: Vec<u8> = text.bytes().chain([0, 0]).collect();
        let (mut digits, _, _) = base64_inside(&padded[..text.len().div_ceil(3) * 3], 0);
        digits.truncate((text.len() * 8).div_ceil(6));
        digits + &"=".repeat((3 - text.len() % 3) % 3)
    }
}
