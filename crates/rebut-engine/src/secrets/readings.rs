//! What a text says to whoever unescapes it: for JSON, for an address, or one after the other.

use std::borrow::Cow;

/// So often something may be escaped: an answer in JSON may quote what was escaped already.
const DEPTH: usize = 2;

/// The most bytes of an escape that has begun and may go on: that of a character in two halves,
/// escaped twice.
pub const LONGEST_ESCAPE: usize = 13;

/// A text as somebody reads it, with the place of each byte in the text as it is.
pub struct Reading<'a> {
    bytes: Cow<'a, [u8]>,
    /// Where each byte came from, and at last the end; `None` for the text itself.
    from: Option<Vec<usize>>,
    depth: usize,
}

/// Reads an escape at the beginning of some bytes: the bytes it stands for, and how many it takes.
type Unescape = fn(&[u8]) -> Option<(Character, usize)>;

struct Character {
    bytes: [u8; 4],
    length: usize,
}

impl<'a> Reading<'a> {
    /// The text itself, and every other reading of it.
    pub fn all(text: &'a str) -> Vec<Self> {
        let mut all = vec![Self {
            bytes: Cow::Borrowed(text.as_bytes()),
            from: None,
            depth: 0,
        }];
        let mut next = 0;
        while let Some(reading) = all.get(next) {
            let unescaped =
                [json_escape as Unescape, url_escape].map(|escape| reading.unescaped(escape));
            for other in unescaped.into_iter().flatten() {
                if all.iter().all(|known| known.bytes != other.bytes) {
                    all.push(other);
                }
            }
            next += 1;
        }
        all
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The place in the text where what is at this place of the reading begins.
    pub fn at(&self, place: usize) -> usize {
        self.from.as_ref().map_or(place, |from| from[place])
    }

    /// `None` if nothing is escaped in this way, or too often.
    fn unescaped(&self, escape: Unescape) -> Option<Self> {
        let first = memchr::memchr2(b'\\', b'%', &self.bytes)?;
        if self.depth == DEPTH {
            return None;
        }
        let (mut bytes, mut from) = (
            self.bytes[..first].to_vec(),
            (0..first).map(|at| self.at(at)).collect::<Vec<_>>(),
        );
        let (mut at, mut is_other) = (first, false);
        while let Some(byte) = self.bytes.get(at) {
            let escaped = if is_escape(*byte) {
                escape(&self.bytes[at..])
            } else {
                None
            };
            let (character, taken) = escaped.unwrap_or((
                Character {
                    bytes: [*byte, 0, 0, 0],
                    length: 1,
                },
                1,
            ));
            is_other |= taken > 1;
            bytes.extend_from_slice(&character.bytes[..character.length]);
            from.extend(std::iter::repeat_n(self.at(at), character.length));
            at += taken;
        }
        from.push(self.at(self.bytes.len()));
        is_other.then_some(Self {
            bytes: Cow::Owned(bytes),
            from: Some(from),
            depth: self.depth + 1,
        })
    }
}

/// Whether an escape may begin with it.
pub fn is_escape(byte: u8) -> bool {
    byte == b'\\' || byte == b'%'
}

impl From<char> for Character {
    fn from(character: char) -> Self {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        Self { bytes, length }
    }
}

fn url_escape(bytes: &[u8]) -> Option<(Character, usize)> {
    let [b'%', high, low, ..] = bytes else {
        return None;
    };
    let byte = u8::try_from(number(&[*high, *low])?).ok()?;
    Some((
        Character {
            bytes: [byte, 0, 0, 0],
            length: 1,
        },
        3,
    ))
}

/// `\/`, `\n`, `\u002b`, and `\ud83d\ude00` for one character.
fn json_escape(bytes: &[u8]) -> Option<(Character, usize)> {
    let [b'\\', kind, digits @ ..] = bytes else {
        return None;
    };
    let character = match kind {
        b'"' | b'\\' | b'/' => char::from(*kind),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            return unicode_escape(digits).map(|(character, taken)| (character.into(), 2 + taken));
        }
        _ => return None,
    };
    Some((character.into(), 2))
}

/// The digits behind `\u`, and those of the other half where there is one.
fn unicode_escape(digits: &[u8]) -> Option<(char, usize)> {
    let first = number(digits.get(..4)?)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 4));
    }
    let [b'\\', b'u', rest @ ..] = &digits[4..] else {
        return None;
    };
    let second = number(rest.get(..4)?)?;
    let is_pair = (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second);
    let character = is_pair
        .then(|| char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)))
        .flatten()?;
    Some((character, 10))
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| {
        Some(value << 4 | char::from(*digit).to_digit(16)?)
    })
}
