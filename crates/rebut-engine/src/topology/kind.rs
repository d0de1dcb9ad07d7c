//! A kind of topology: its row, and its name wherever settings are read or written.

use super::{Member, Shape, TOPOLOGIES, shape::Heard};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::{borrow::Cow, fmt};

/// A kind of topology, a row of the table [`TOPOLOGIES`].
#[derive(Clone, Copy)]
pub struct Kind(pub(super) &'static Rules);

/// What makes a kind: words for people, and pure functions over members and places. Members are
/// meant by their number.
pub struct Rules {
    pub name: &'static str,
    /// What the table of sessions calls it.
    pub stored_as: &'static str,
    /// Who hears whom, in one line.
    pub about: &'static str,
    /// What the places are called, from the top down.
    pub places: &'static [&'static str],
    pub(super) seat: fn(&[Member]) -> Shape,
    /// Gives a place to whoever has none, after somebody left or came, and leaves the others where
    /// they are.
    pub(super) mend: fn(&[Member], Shape) -> Shape,
    /// Members laid out in a row, and for each member the run of those it hears.
    pub(super) hears: fn(&Shape) -> Heard,
    pub(super) leader: fn(&[Member], &Shape, phase: &str) -> Option<usize>,
    /// Who speaks together, one group after another.
    pub(super) groups: fn(&Shape, phase: &str) -> Vec<Vec<usize>>,
    /// The way from one member to another.
    pub(super) route: fn(&Shape, from: usize, to: usize) -> Vec<usize>,
}

impl Kind {
    pub const MESH: Kind = TOPOLOGIES[0];

    pub fn named(name: &str) -> Result<Self, String> {
        TOPOLOGIES
            .iter()
            .find(|kind| kind.name() == name)
            .copied()
            .ok_or_else(|| {
                let known = TOPOLOGIES
                    .iter()
                    .map(|kind| kind.name())
                    .collect::<Vec<_>>()
                    .join(", ");
                format!(
                    "there is no topology `{}`; take one of {known}",
                    crate::clean::on_one_line(name)
                )
            })
    }

    pub fn name(self) -> &'static str {
        self.0.name
    }

    pub fn rules(self) -> &'static Rules {
        self.0
    }
}

impl Default for Kind {
    fn default() -> Self {
        Self::MESH
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Kind {}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        Self::named(&name).map_err(D::Error::custom)
    }
}

impl JsonSchema for Kind {
    fn schema_name() -> Cow<'static, str> {
        "Topology".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = TOPOLOGIES.iter().map(|kind| kind.name()).collect();
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}
