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
    pub system: Cow<'static, str>,
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

    /// How many bytes of the user part's beginning stay the same over a debate, for providers that are told what to keep: up to
    /// the first blank line after the last of the leading holes that do not grow.
    pub fn stable_len(&self) -> usize {
        const STAYS: &[&str] = &["question", "options", "context", "title", "what", "text"];
        let Some((_, last)) = self.parts.iter().take_while(|(name, _)| STAYS.contains(name)).last() else { return 0 };
        self.user[last.end..].find("\n\n").map_or(self.user.len(), |blank| last.end + blank + 2)
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

    /// The file taken apart; done once.
    fn pieces() -> &'static Pieces;

    /// Fills every hole.
    fn render(&self, fence: &Fence) -> Prompt {
        let Pieces { system, user } = Self::pieces();
        let mut parts = Vec::with_capacity(user.len());
        let system = match system.as_slice() {
            [(text, None)] => (*text).into(),
            pieces => fill(self, pieces, fence, &mut Vec::new()).into(),
        };
        Prompt { system, user: fill(self, user, fence, &mut parts), parts }
    }
}

/// A prompt file taken apart: texts, and the number of the hole behind each.
pub struct Pieces {
    system: Vec<Piece>,
    user: Vec<Piece>,
}

type Piece = (&'static str, Option<usize>);

impl Pieces {
    /// Takes a prompt file apart.
    pub fn of<T: Template>() -> Self {
        let (system, user) = split(T::SOURCE);
        let apart = |source: &'static str| {
            let mut pieces = Vec::new();
            let mut rest = source;
            while let Some((before, (name, tail))) =
                rest.split_once("{{").and_then(|(before, after)| Some((before, after.split_once("}}")?)))
            {
                pieces.push((before, T::HOLES.iter().position(|(hole, _)| *hole == name)));
                rest = tail;
            }
            pieces.push((rest, None));
            pieces
        };
        Self { system: apart(system), user: apart(user) }
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

            fn pieces() -> &'static $crate::prompt::Pieces {
                static PIECES: std::sync::OnceLock<$crate::prompt::Pieces> = std::sync::OnceLock::new();
                PIECES.get_or_init($crate::prompt::Pieces::of::<$name<'_>>)
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

    /// How much longer a quoted text is.
    fn len(&self) -> usize {
        "<<<data >>>\n\n<<<end >>>".len() + 2 * self.marker.len()
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

fn fill<T: Template + ?Sized>(values: &T, pieces: &[Piece], fence: &Fence, parts: &mut Vec<(&'static str, Range<usize>)>) -> String {
    // A prompt lives as long as its turn, and thousands may wait at once: it has just the room it needs.
    let filled = |hole: usize| values.value(hole).len() + if T::HOLES[hole].1 == Hole::Data { fence.len() } else { 0 };
    let mut out = String::with_capacity(pieces.iter().map(|(text, hole)| text.len() + hole.map_or(0, filled)).sum());
    for (text, hole) in pieces {
        out.push_str(text);
        let Some(number) = *hole else { continue };
        let ((name, kind), value) = (T::HOLES[number], values.value(number));
        let range = match kind {
            Hole::Data => fence.quote(value, &mut out),
            Hole::Text => {
                let start = out.len();
                out.push_str(value);
                start..out.len()
            }
        };
        parts.push((name, range));
    }
    out
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
