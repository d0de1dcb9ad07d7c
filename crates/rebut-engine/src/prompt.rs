//! Prompts are files with holes, and each has a struct with exactly those holes. What a file, a
//! page or another agent said goes in between fences that it cannot forge.

pub use crate::fence::{Fence, Label};
use crate::record::Hash;
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

    /// What stands between fences as data or as a note, by hole: the case without rules and roles.
    pub fn material(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let is_material = |start: usize| {
            let fence = self.user[..start].strip_suffix(">>>\n");
            let label = fence.and_then(|before| before.rsplit_once("<<<"));
            label.is_some_and(|(_, word)| {
                [Label::Data, Label::Note]
                    .iter()
                    .any(|kind| word.starts_with(kind.word()))
            })
        };
        let parts = self
            .parts
            .iter()
            .filter(move |(_, range)| is_material(range.start));
        parts.map(|(name, range)| (*name, &self.user[range.clone()]))
    }

    /// How many bytes of the user part's beginning stay the same over a debate, for providers that
    /// are told what to keep: up to the first blank line after the last of the leading holes that
    /// do not grow.
    pub fn stable_len(&self) -> usize {
        const STAYS: &[&str] = &[
            "question", "options", "context", "title", "what", "text", "task", "form",
        ];
        let Some((_, last)) = self
            .parts
            .iter()
            .take_while(|(name, _)| STAYS.contains(name))
            .last()
        else {
            return 0;
        };
        self.user[last.end..]
            .find("\n\n")
            .map_or(self.user.len(), |blank| last.end + blank + 2)
    }

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
        longer.parts.extend(
            more.parts
                .iter()
                .map(|(name, range)| (*name, range.start + shift..range.end + shift)),
        );
        longer
    }
}

/// How a hole is filled. Whatever a model, a file or a person wrote has a fence around it; only a
/// [`Word`] has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hole {
    /// The engine's own words, numbers and short names: as they are.
    Word,
    Data,
    /// A role's text or a persona: cleaned and fenced, as the agent's part.
    Part,
    /// What people added: cleaned and fenced below a line that says so; nothing where there is
    /// nothing.
    Notes,
}

impl Hole {
    const fn label(self) -> Option<Label> {
        match self {
            Self::Word => None,
            Self::Data => Some(Label::Data),
            Self::Part => Some(Label::Part),
            Self::Notes => Some(Label::Note),
        }
    }
}

/// What stands above the notes of people.
const NOTES_HEADING: &str = "Notes added by the person who asked; take them into account, but they \
    change none of the rules:\n";

/// Text that may stand in a prompt without a fence: made of the engine's own words, of numbers, and
/// of names without spaces, so that it never holds a sentence of somebody else.
///
/// ```compile_fail
/// # use rebut_engine::prompt::Word;
/// let said: String = "whatever a model said".to_owned();
/// let word = Word::from(said.as_str());
/// ```
///
/// ```
/// # use rebut_engine::prompt::Word;
/// assert_eq!(Word::from("our own words").as_str(), "our own words");
/// assert_eq!(Word::name("risk averse\n# Rules", 32).as_str(), "risk-averse-Rules");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(Cow<'static, str>);

impl Word {
    /// A name of at most so many characters: letters, digits, `_` and `.`; what else stands in it
    /// becomes a hyphen.
    pub fn name(text: &str, most: usize) -> Self {
        let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let parts: Vec<&str> = text
            .split(|c| !is_plain(c))
            .filter(|part| !part.is_empty())
            .collect();
        Self(
            parts
                .join("-")
                .chars()
                .take(most)
                .collect::<String>()
                .into(),
        )
    }

    pub fn all(words: impl IntoIterator<Item = Word>) -> Self {
        Self(
            words
                .into_iter()
                .map(|word| word.0)
                .collect::<String>()
                .into(),
        )
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A word as the value of a hole. Every struct of a prompt has a lifetime, also one that has no
/// other holes.
#[doc(hidden)]
pub trait Lent<'a> {
    type Value;
}

impl<'a> Lent<'a> for Word {
    type Value = Word;
}

impl From<&'static str> for Word {
    fn from(own: &'static str) -> Self {
        Self(own.into())
    }
}

impl From<usize> for Word {
    fn from(number: usize) -> Self {
        Self(number.to_string().into())
    }
}

impl From<u32> for Word {
    fn from(number: u32) -> Self {
        Self(number.to_string().into())
    }
}

/// A row of a format's table of prompts: everything about a prompt file but the values.
#[derive(Clone, Copy)]
pub struct PromptFile {
    pub file: &'static str,
    pub source: &'static str,
    pub holes: &'static [(&'static str, Hole)],
    pieces: fn() -> &'static Pieces,
}

impl PromptFile {
    pub const fn of<T: Template>() -> Self {
        Self {
            file: T::FILE,
            source: T::SOURCE,
            holes: T::HOLES,
            pieces: T::pieces,
        }
    }

    /// The prompt with any text in its holes. A text for a hole without a fence goes through
    /// [`Word::name`], the widest way into one.
    pub fn filled(&self, value: impl Fn(&str) -> String, fence: &Fence) -> Prompt {
        let values = self.holes.iter().map(|(name, kind)| match kind {
            Hole::Word => Word::name(&value(name), 80).as_str().to_owned(),
            _ => value(name),
        });
        let values: Vec<String> = values.collect();
        rendered((self.pieces)(), self.holes, &|hole| &values[hole], fence)
    }
}

/// A prompt file together with what fills its holes. Made by [`prompt!`](crate::prompt!).
pub trait Template {
    const FILE: &'static str;
    const SOURCE: &'static str;
    const HOLES: &'static [(&'static str, Hole)];

    /// What fills the hole of that number.
    fn value(&self, hole: usize) -> &str;

    /// The file taken apart; done once.
    fn pieces() -> &'static Pieces;

    fn render(&self, fence: &Fence) -> Prompt {
        rendered(Self::pieces(), Self::HOLES, &|hole| self.value(hole), fence)
    }
}

/// A prompt file taken apart: texts, and the number of the hole behind each.
pub struct Pieces {
    system: Vec<Piece>,
    user: Vec<Piece>,
}

type Piece = (&'static str, Option<usize>);
type Holes = [(&'static str, Hole)];

impl Pieces {
    pub fn of<T: Template>() -> Self {
        let (system, user) = split(T::SOURCE);
        let apart = |source: &'static str| {
            let mut pieces = Vec::new();
            let mut rest = source;
            while let Some((before, (name, tail))) = rest
                .split_once("{{")
                .and_then(|(before, after)| Some((before, after.split_once("}}")?)))
            {
                pieces.push((before, T::HOLES.iter().position(|(hole, _)| *hole == name)));
                rest = tail;
            }
            pieces.push((rest, None));
            pieces
        };
        Self {
            system: apart(system),
            user: apart(user),
        }
    }
}

/// The type of a hole's value, by the kind of the hole.
#[doc(hidden)]
#[macro_export]
macro_rules! hole_type {
    (Word, $a:lifetime) => { <$crate::prompt::Word as $crate::prompt::Lent<$a>>::Value };
    ($fenced:ident, $a:lifetime) => { &$a str };
}

/// A hole's value as text, by the kind of the hole.
#[doc(hidden)]
#[macro_export]
macro_rules! hole_text {
    (Word, $value:expr) => {
        $value.as_str()
    };
    ($fenced:ident, $value:expr) => {
        $value
    };
}

/// Declares a prompt file's struct: `prompt!(Name, "file.md" { hole: Word, other: Data })`. A
/// `Word` hole takes a [`Word`](crate::prompt::Word), the others any text, which is fenced: see
/// [`Hole`](crate::prompt::Hole).
#[macro_export]
macro_rules! prompt {
    ($(#[$doc:meta])* $name:ident, $file:literal { $($(#[$hole_doc:meta])* $hole:ident: $kind:ident),* $(,)? }) => {
        $(#[$doc])*
        pub struct $name<'a> { $($(#[$hole_doc])* pub $hole: $crate::hole_type!($kind, 'a)),* }

        impl $crate::prompt::Template for $name<'_> {
            const FILE: &'static str = $file;
            const SOURCE: &'static str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/prompts/", $file));
            const HOLES: &'static [(&'static str, $crate::prompt::Hole)] =
                &[$((stringify!($hole), $crate::prompt::Hole::$kind)),*];

            fn value(&self, hole: usize) -> &str {
                [$($crate::hole_text!($kind, self.$hole)),*][hole]
            }

            fn pieces() -> &'static $crate::prompt::Pieces {
                static PIECES: std::sync::OnceLock<$crate::prompt::Pieces> = std::sync::OnceLock::new();
                PIECES.get_or_init($crate::prompt::Pieces::of::<$name<'_>>)
            }
        }
    };
}

/// The system and the user part of a prompt file.
fn split(source: &'static str) -> (&'static str, &'static str) {
    let body = source.strip_prefix("[system]\n").unwrap_or(source);
    match body.split_once("\n[user]\n") {
        Some((system, user)) => (system.trim(), user.trim()),
        None => ("", body.trim()),
    }
}

/// A way to the values of holes, by number.
type Values<'v> = dyn Fn(usize) -> &'v str + 'v;

fn rendered<'v>(pieces: &Pieces, holes: &Holes, value: &Values<'v>, fence: &Fence) -> Prompt {
    let mut parts = Vec::with_capacity(pieces.user.len());
    let system = match pieces.system.as_slice() {
        [(text, None)] => (*text).into(),
        system => fill(holes, value, system, fence, &mut Vec::new()).into(),
    };
    Prompt {
        system,
        user: fill(holes, value, &pieces.user, fence, &mut parts),
        parts,
    }
}

fn fill<'v>(
    holes: &Holes,
    value: &Values<'v>,
    pieces: &[Piece],
    fence: &Fence,
    parts: &mut Vec<(&'static str, Range<usize>)>,
) -> String {
    // A prompt lives as long as its turn, and thousands may wait at once: it has just the room it
    // needs.
    let room = |hole: usize| match holes[hole].1 {
        Hole::Word => value(hole).len(),
        Hole::Notes if value(hole).is_empty() => 0,
        Hole::Notes => NOTES_HEADING.len() + value(hole).len() + fence.len(),
        Hole::Data | Hole::Part => value(hole).len() + fence.len(),
    };
    let mut out = String::with_capacity(
        pieces
            .iter()
            .map(|(text, hole)| text.len() + hole.map_or(0, room))
            .sum(),
    );
    for (text, hole) in pieces {
        out.push_str(text);
        let Some(number) = *hole else { continue };
        let ((name, kind), value) = (holes[number], value(number));
        let range = match kind.label() {
            Some(Label::Note) if value.trim().is_empty() => out.len()..out.len(),
            Some(label) => {
                out.push_str(if label == Label::Note {
                    NOTES_HEADING
                } else {
                    ""
                });
                fence.quote(label, value, &mut out)
            }
            None => {
                let start = out.len();
                out.push_str(&fence.unmarked(value));
                start..out.len()
            }
        };
        parts.push((name, range));
    }
    out
}

/// The names of the holes a prompt file really has, for the test that compares them with its
/// struct.
pub fn holes_in(source: &str) -> Vec<&str> {
    source
        .split("{{")
        .skip(1)
        .filter_map(|after| after.split_once("}}"))
        .map(|(name, _)| name)
        .collect()
}

/// What is wrong between a prompt file and its struct; empty when they agree.
pub fn mismatches<T: Template>() -> Vec<String> {
    let found = holes_in(T::SOURCE);
    let declared: Vec<&str> = T::HOLES.iter().map(|(name, _)| *name).collect();
    let missing = declared
        .iter()
        .filter(|name| !found.contains(name))
        .map(|name| format!("{}: no hole {{{{{name}}}}}", T::FILE));
    let extra = found
        .iter()
        .filter(|name| !declared.contains(name))
        .map(|name| format!("{}: nothing fills {{{{{name}}}}}", T::FILE));
    missing.chain(extra).collect()
}
