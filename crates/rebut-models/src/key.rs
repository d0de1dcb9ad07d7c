//! A secret that goes to its provider and nowhere else.

use rebut_engine::secrets::BLANK;
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
    }
}
