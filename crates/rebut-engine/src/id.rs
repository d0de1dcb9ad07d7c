//! The name of a debate: random, so that a few leading characters already tell it from the others.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// A debate's identifier.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct DebateId(#[schemars(with = "String")] Uuid);

impl DebateId {
    pub fn new() -> Self {
        Self(Uuid::new_v4())
    }

    /// The sixteen bytes behind the text form.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The first eight characters: what people read and type.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl Default for DebateId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for DebateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for DebateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for DebateId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(Self)
    }
}
