//! Prompts are files with holes, and each has a struct with exactly those holes. What a file, a page or
//! another agent said goes in between fences that it cannot forge.

use crate::{
    clean::{has_hostile, is_hostile},
    record::Hash,
};
use std::{borrow::Cow, ops::Range};

/// What one agent is told at one turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// Who the agent is and the rules: the same for all its turns.
    pub system: String,
    /// The case: what stays the same first, what grows last.
    pub user: String,
    parts: Vec<(&'static str, Range<usize>)>,
}

impl Prompt {
    /// What filled a hole of the user part, fences excluded.
    pub fn part(&self, hole: &str) -> Option<&str> {
        let (_, range) = self.parts.iter().find(|(name, _)| *name == hole)?;
        self.user.get(range.clone())
    }

    /// The hash the journal holds.
    pub fn hash(&self) -> Hash {
        use sha2::{Digest, Sha256};
        let mut hasher = Sha256::new();
        hasher.update((self.system.len() as u64).to_le_bytes());
        hasher.update(self.system.as_bytes());
        hasher.update(self.user.as_bytes());
        Hash(hasher.finalize().into())
    }

    /// The same prompt with more at its end.
    pub fn followed_by(&self, more: &Prompt) -> Prompt {
        let mut longer = self.clone();
        longer.user.push_str("\n\n");
        let shift = longer.user.len();
        longer.user.push_str(&more.user);
        longer.parts.extend(more.parts.iter().map(|(name, range)| (*name, range.start + shift..range.end + shift)));
        longer
    }
}

/// How a hole is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hole {
    /// Our own words, or the user's: as they are.
    Text,
    /// Somebody else's words: cleaned and fenced.
    Data,
}

/// A prompt file together with what fills its holes. Made by [`prompt!`](crate::prompt!).
pub trait Template {
    /// The file below `prompts/`.
    const FILE: &'static str;
    /// Its text.
    const SOURCE: &'static str;
    /// Its holes.
    const HOLES: &'static [(&'static str, Hole)];

    /// What fills the hole of that number.
    fn value(&self, hole: usize) -> &str;

    /// Fills every hole.
    fn render(&self, fence: &Fence) -> Prompt {
        let (system, user) = split(Self::SOURCE);
        let mut prompt = Prompt::default();
        let mut ignored = Vec::new();
        fill(self, system, fence, &mut prompt.system, &mut ignored);
        prompt.user.reserve(user.len() + 1024);
        prompt.parts.reserve_exact(Self::HOLES.len());
        fill(self, user, fence, &mut prompt.user, &mut prompt.parts);
        // A prompt lives as long as its turn; thousands may wait at once.
        prompt.system.shrink_to_fit();
        prompt.user.shrink_to_fit();
        prompt
    }
}

/// Declares a prompt file's struct: `prompt!(Name, "file.md" { hole: Text, other: Data })`.
#[macro_export]
macro_rules! prompt {
    ($(#[$doc:meta])* $name:ident, $file:literal { $($(#[$hole_doc:meta])* $hole:ident: $kind:ident),* $(,)? }) => {
        $(#[$doc])*
        pub struct $name<'a> { $($(#[$hole_doc])* pub $hole: &'a str),* }

        impl $crate::prompt::Template for $name<'_> {
            const FILE: &'static str = $file;
            const SOURCE: &'static str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/prompts/", $file));
            const HOLES: &'static [(&'static str, $crate::prompt::Hole)] =
                &[$((stringify!($hole), $crate::prompt::Hole::$kind)),*];

            fn value(&self, hole: usize) -> &str {
                [$(self.$hole),*][hole]
            }
        }
    };
}

/// The per-debate marker around quoted text.
#[derive(Clone, Debug, PartialEq)]
pub struct Fence {
    marker: String,
}

impl Fence {
    /// A fence with this marker.
    pub fn new(marker: &str) -> Self {
        Self { marker: marker.to_owned() }
    }

    /// A marker nobody can guess before the debate.
    pub fn random_marker() -> String {
        let mut bytes = [0; 8];
        match getrandom::fill(&mut bytes) {
            Ok(()) => crate::record::encode_hex(&bytes),
            // Ids are random too, by another path; a debate must not fail for its marker.
            Err(_) => crate::DebateId::new().to_string().replace('-', ""),
        }
    }

    /// Puts `text` between fences and says where it stands. The agent has seen the marker, so its own
    /// words may hold it: every occurrence is taken out, and whatever could hide one too.
    fn quote(&self, text: &str, out: &mut String) -> Range<usize> {
        out.push_str("<<<data ");
        out.push_str(&self.marker);
        out.push_str(">>>\n");
        let start = out.len();
        let visible: Cow<'_, str> = match has_hostile(text) {
            true => text.chars().filter(|c| !is_hostile(*c)).collect(),
            false => text.into(),
        };
        let mut rest = &*visible;
        while let Some(at) = memchr::memmem::find(rest.as_bytes(), self.marker.as_bytes()) {
            out.push_str(&rest[..at]);
            out.push_str("[marker removed]");
            rest = &rest[at + self.marker.len()..];
        }
        out.push_str(rest);
        let end = out.len();
        out.push_str("\n<<<end ");
        out.push_str(&self.marker);
        out.push_str(">>>");
        start..end
    }
}

/// The system and the user part of a prompt file.
fn split(source: &'static str) -> (&'static str, &'static str) {
    let body = source.strip_prefix("[system]\n").unwrap_or(source);
    match body.split_once("\n[user]\n") {
        Some((system, user)) => (system.trim(), user.trim()),
        None => ("", body.trim()),
    }
}

fn fill<T: Template + ?Sized>(values: &T, source: &str, fence: &Fence, out: &mut String, parts: &mut Vec<(&'static str, Range<usize>)>) {
    let mut rest = source;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, tail)) = after.split_once("}}") else { break };
        if let Some(number) = T::HOLES.iter().position(|(hole, _)| *hole == name) {
            let (name, kind) = T::HOLES[number];
            let value = values.value(number);
            let range = match kind {
                Hole::Data => fence.quote(value, out),
                Hole::Text => {
                    let start = out.len();
                    out.push_str(value);
                    start..out.len()
                }
            };
            parts.push((name, range));
        }
        rest = tail;
    }
    out.push_str(rest);
}

/// The names of the holes a prompt file really has, for the test that compares them with its struct.
pub fn holes_in(source: &str) -> Vec<&str> {
    source.split("{{").skip(1).filter_map(|after| after.split_once("}}")).map(|(name, _)| name).collect()
}

/// What is wrong between a prompt file and its struct; empty when they agree.
pub fn mismatches<T: Template>() -> Vec<String> {
    let found = holes_in(T::SOURCE);
    let declared: Vec<&str> = T::HOLES.iter().map(|(name, _)| *name).collect();
    let missing = declared.iter().filter(|name| !found.contains(name)).map(|name| format!("{}: no hole {{{{{name}}}}}", T::FILE));
    let extra = found.iter().filter(|name| !declared.contains(name)).map(|name| format!("{}: nothing fills {{{{{name}}}}}", T::FILE));
    missing.chain(extra).collect()
}
