//! A secret that goes to its provider and nowhere else.

use rebut_engine::secrets::{BLANK, SHORTEST};
use std::fmt;

/// A provider's key. It has no way to be shown.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// Takes a secret; blanks and line ends around it (a common slip in variables) go.
    pub fn new(secret: &str) -> Self {
        Self(secret.trim().to_owned())
    }

    /// The secret itself, for the request's header only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// How much of a text still being written may be shown: all but an end that could become the secret.
    pub(crate) fn safe_length(&self, text: &str) -> usize {
        if !self.is_secret() {
            return text.len();
        }
        let mut prefixes = self.0.char_indices().rev().map(|(at, _)| &self.0[..at]);
        let held = prefixes.find(|prefix| text.ends_with(prefix)).map_or(0, str::len);
        text.len() - held
    }

    fn is_secret(&self) -> bool {
        self.0.len() >= SHORTEST
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({BLANK})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows() {
        let key = Key::new(" sk-abcdefgh\n");
        assert_eq!(format!("{key:?}"), "Key([secret])");
        assert_eq!(Key::new("none").safe_length("no"), 2, "too short to be a secret");
        for (text, shown) in [("hello", "hello"), ("hello s", "hello "), ("ask-abc", "a"), ("sk-sk-a", "sk-"), ("sk-x", "sk-x")] {
            assert_eq!(&text[..key.safe_length(text)], shown, "{text}");
        }
    }
}
