//! A secret that goes to its provider and nowhere else.

use std::{borrow::Cow, fmt};

/// A provider's key. It has no way to be shown; [`Key::blank`] takes it out of whatever came back.
#[derive(Clone)]
pub struct Key(String);

/// What stands where a secret was.
pub const BLANKED: &str = "***";

/// Shorter values are placeholders such as `none` or `ollama`; blanking them would only damage answers.
const SHORTEST_SECRET: usize = 8;

impl Key {
    /// Takes a secret; blanks and line ends around it (a common slip in variables) go.
    pub fn new(secret: &str) -> Self {
        Self(secret.trim().to_owned())
    }

    /// The secret itself, for the request's header only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text without the secret.
    pub fn blank<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_secret() && text.contains(&self.0) { Cow::Owned(text.replace(&self.0, BLANKED)) } else { Cow::Borrowed(text) }
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
        self.0.len() >= SHORTEST_SECRET
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({BLANKED})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows() {
        let key = Key::new(" sk-abcdefgh\n");
        assert_eq!(format!("{key:?}"), "Key(***)");
        assert_eq!(key.blank("x sk-abcdefghsk-abcdefgh y"), "x ****** y");
        assert_eq!(Key::new("none").blank("none of it"), "none of it");
        for (text, shown) in [("hello", "hello"), ("hello s", "hello "), ("ask-abc", "a"), ("sk-sk-a", "sk-"), ("sk-x", "sk-x")] {
            assert_eq!(&text[..key.safe_length(text)], shown, "{text}");
        }
    }
}
