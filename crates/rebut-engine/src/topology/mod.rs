//! Who hears whom: a topology gives every member a place, and with it whom it hears, who leads, and
//! how words travel. Pure.

mod chain;
mod draw;
mod kind;
mod mesh;
mod panel;
mod roles;
mod shape;
mod star;
mod tree;

pub use kind::{Kind, Rules};
pub use panel::{kind_of, over_time};
pub use shape::Shape;

use std::{collections::HashMap, ops::Range, sync::Arc};

/// Every kind there is. A kind is one file beside this one, and one row here.
pub const TOPOLOGIES: &[Kind] = &[
    Kind(&mesh::RULES),
    Kind(&star::RULES),
    Kind(&chain::RULES),
    Kind(&tree::RULES),
];

/// Somebody who is given a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: Arc<str>,
    /// What it does; some roles have a place of their own, such as a moderator in the middle of a
    /// star.
    pub role: Arc<str>,
    pub stance: Option<Arc<str>>,
    /// Where roles do not decide, the higher score gets the higher place, and the earlier member
    /// among equals. NaN is the lowest.
    pub score: f64,
}

/// A place for everybody. The same members in the same order always give the same topology.
#[derive(Clone, Debug)]
pub struct Topology {
    kind: Kind,
    members: Vec<Member>,
    numbers: HashMap<Arc<str>, usize>,
    shape: Shape,
    /// Names, laid out so that whoever hears anybody hears one run of them: even a mesh needs no
    /// list per member.
    heard: Vec<Arc<str>>,
    runs: Vec<Range<usize>>,
}

/// Members that cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// Two members share a name.
    #[error("two members are named `{0}`; give each its own name")]
    SameName(Arc<str>),
}

impl Topology {
    /// Places members, given in the order of their panel.
    pub fn build(kind: Kind, members: &[Member]) -> Result<Self, TopologyError> {
        let mut numbers = HashMap::with_capacity(members.len());
        for (number, member) in members.iter().enumerate() {
            if numbers.insert(member.name.clone(), number).is_some() {
                return Err(TopologyError::SameName(member.name.clone()));
            }
        }
        Ok(Self::of(
            kind,
            members.to_vec(),
            numbers,
            (kind.0.seat)(members),
        ))
    }

    fn of(
        kind: Kind,
        members: Vec<Member>,
        numbers: HashMap<Arc<str>, usize>,
        shape: Shape,
    ) -> Self {
        let (heard, runs) = (kind.0.hears)(&shape);
        let heard = heard
            .into_iter()
            .map(|number| members[number].name.clone())
            .collect();
        Self {
            kind,
            members,
            numbers,
            shape,
            heard,
            runs,
        }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Everybody, in the order of the panel; whoever came back stands last.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whose words of the round before reach `listener`. Nobody's, if it is no member.
    pub fn hears(&self, listener: &str) -> &[Arc<str>] {
        self.numbers
            .get(listener)
            .map_or(&[], |number| &self.heard[self.runs[*number].clone()])
    }

    /// Who leads a phase; `None` only where nobody is.
    pub fn leader(&self, phase: &str) -> Option<&Arc<str>> {
        (self.kind.0.leader)(&self.members, &self.shape, phase)
            .map(|number| &self.members[number].name)
    }

    /// Who speaks together in a phase: groups go one after another, those in a group at the same
    /// time.
    pub fn groups(&self, phase: &str) -> Vec<Vec<Arc<str>>> {
        let groups = (self.kind.0.groups)(&self.shape, phase);
        groups
            .into_iter()
            .map(|group| group.into_iter().map(|number| self.name(number)).collect())
            .collect()
    }

    /// The way of a message, both ends included: each on it hears the one before. Empty if either
    /// end is no member.
    pub fn route(&self, from: &str, to: &str) -> Vec<Arc<str>> {
        let (Some(from), Some(to)) = (self.numbers.get(from), self.numbers.get(to)) else {
            return Vec::new();
        };
        let route = if from == to {
            vec![*from]
        } else {
            (self.kind.0.route)(&self.shape, *from, *to)
        };
        route.into_iter().map(|number| self.name(number)).collect()
    }

    /// How far below the top somebody sits: 0 is the top, and everybody where nobody is above
    /// another.
    pub fn level(&self, name: &str) -> Option<usize> {
        self.numbers
            .get(name)
            .map(|number| self.shape.line_up(*number).len() - 1)
    }

    /// The word for somebody's place, such as `hub` or `leaf`; empty if it is no member.
    pub fn place(&self, name: &str) -> &'static str {
        let places = self.kind.0.places;
        self.level(name)
            .and_then(|level| places.get(level).or(places.last()))
            .copied()
            .unwrap_or_default()
    }

    /// The same without somebody. The others keep their places, but for those that lose the one
    /// above them.
    pub fn without(&self, name: &str) -> Self {
        let Some(gone) = self.numbers.get(name).copied() else {
            return self.clone();
        };
        let members = self
            .members
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != gone)
            .map(|(_, member)| member.clone());
        self.mended(members.collect(), self.shape.without(gone))
    }

    /// The same with one more, at the lowest place there is. Somebody who is there already stays
    /// where it is.
    pub fn with(&self, member: Member) -> Self {
        if self.numbers.contains_key(&member.name) {
            return self.clone();
        }
        let members = self.members.iter().cloned().chain([member]).collect();
        self.mended(members, self.shape.with_one_more())
    }

    fn mended(&self, members: Vec<Member>, shape: Shape) -> Self {
        let numbers = members
            .iter()
            .enumerate()
            .map(|(number, member)| (member.name.clone(), number))
            .collect();
        let shape = (self.kind.0.mend)(&members, shape);
        Self::of(self.kind, members, numbers, shape)
    }

    fn name(&self, number: usize) -> Arc<str> {
        self.members[number].name.clone()
    }
}

impl PartialEq for Topology {
    fn eq(&self, other: &Self) -> bool {
        // The rest follows from these.
        self.kind == other.kind && self.members == other.members && self.shape == other.shape
    }
}

/// Everybody, the highest score first, the earlier member first among equals.
fn ranked(members: &[Member]) -> Vec<usize> {
    let mut ranked: Vec<usize> = (0..members.len()).collect();
    ranked.sort_by(|a, b| score_of(&members[*b]).total_cmp(&score_of(&members[*a])));
    ranked
}

/// Who of `candidates` (the best first) plays the earliest of `roles`; else the first of them.
fn best_for(
    roles: &[&str],
    members: &[Member],
    candidates: impl Iterator<Item = usize> + Clone,
) -> Option<usize> {
    let first = candidates.clone().next();
    let fitting =
        candidates.filter_map(|number| Some((roles::index(roles, &members[number].role)?, number)));
    // Of equals, `min_by_key` takes the first, which is the better one.
    let fitting = fitting
        .min_by_key(|(place, _)| *place)
        .map(|(_, number)| number);
    fitting.or(first)
}

fn score_of(member: &Member) -> f64 {
    // Adding zero makes one of the two zeros, which would be told apart otherwise.
    if member.score.is_nan() {
        f64::NEG_INFINITY
    } else {
        member.score + 0.0
    }
}
