//! Types of Go that cross between two processes: plain data, read from tokens and printed again in
//! words of our own.

use super::super::tokens::Token;
use std::fmt::{self, Display, Formatter};

/// Types that Go has itself and whose values are plain.
const BASIC: &str = "bool string int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 \
    uintptr byte rune float32 float64 complex64 \
    complex128";
const KEYWORDS: &str = "break case chan const continue default defer else fallthrough for func go \
    goto if import interface map \
    package range return select struct switch type var";
/// Other names that mean something without being declared; code that declares one gives it another
/// meaning.
const PREDECLARED: &str = "any comparable error true false iota nil append cap close complex copy \
    delete imag len make new panic \
    print println real recover";
/// The deepest type that is understood, and the longest array.
const DEPTH: usize = 8;
const ARRAY: u32 = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Basic(&'static str),
    Named(String),
    Slice(Box<Type>),
    Array(u32, Box<Type>),
    Map(Box<Type>, Box<Type>),
    Pointer(Box<Type>),
    Error,
    /// A lock: it is there on both sides, and says nothing.
    Lock(&'static str),
}

impl Display for Type {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Basic(name) => out.write_str(name),
            Self::Named(name) => out.write_str(name),
            Self::Slice(inner) => write!(out, "[]{inner}"),
            Self::Array(length, inner) => write!(out, "[{length}]{inner}"),
            Self::Map(key, value) => write!(out, "map[{key}]{value}"),
            Self::Pointer(inner) => write!(out, "*{inner}"),
            Self::Error => out.write_str("error"),
            Self::Lock(name) => write!(out, "sync.{name}"),
        }
    }
}

impl Type {
    /// The types inside it that have a name.
    pub(super) fn names<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Self::Named(name) => into.push(name),
            Self::Slice(inner) | Self::Array(_, inner) | Self::Pointer(inner) => inner.names(into),
            Self::Map(key, value) => {
                key.names(into);
                value.names(into);
            }
            Self::Basic(_) | Self::Error | Self::Lock(_) => {}
        }
    }

    /// The keys of the maps in it.
    pub(super) fn keys<'a>(&'a self, into: &mut Vec<&'a Type>) {
        match self {
            Self::Map(key, value) => {
                into.push(key);
                value.keys(into);
            }
            Self::Slice(inner) | Self::Array(_, inner) | Self::Pointer(inner) => inner.keys(into),
            Self::Named(_) | Self::Basic(_) | Self::Error | Self::Lock(_) => {}
        }
    }
}

/// Whether it is a plain name that a program may give.
pub(super) fn is_name(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins
        && text != "_"
        && text.len() <= 100
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !KEYWORDS.split(' ').any(|word| word == text)
}

/// Whether Go gives that name a meaning itself.
pub(super) fn is_predeclared(text: &str) -> bool {
    BASIC
        .split(' ')
        .chain(PREDECLARED.split(' '))
        .any(|word| word == text)
}

/// Whether it may be declared beside the tests: plain, Go's own names and ours left out.
pub(super) fn may_declare(text: &str) -> bool {
    is_name(text) && !is_predeclared(text) && !text.to_ascii_lowercase().starts_with("rebut")
}

/// Reads tokens one after the other.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    pub text: &'a str,
    pub words: &'a [Token<'a>],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn look(&self) -> &'a str {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, by: usize) -> &'a str {
        self.words.get(self.at + by).map_or("", |word| word.text)
    }

    pub(super) fn take(&mut self) -> &'a str {
        let word = self.look();
        self.at += 1;
        word
    }

    /// Takes that word if it is the next one.
    pub(super) fn eat(&mut self, word: &str) -> bool {
        let is = self.look() == word;
        self.at += usize::from(is);
        is
    }

    /// What stands between the last token and the next one: blanks, comments, strings.
    pub(super) fn gap(&self) -> &'a str {
        let end = |word: &Token<'_>| word.at + word.text.len();
        let from = self
            .at
            .checked_sub(1)
            .and_then(|last| self.words.get(last))
            .map_or(0, end);
        let to = self
            .words
            .get(self.at)
            .map_or(self.text.len(), |word| word.at);
        self.text.get(from..to).unwrap_or_default()
    }

    /// Passes over what is between this bracket and the one that closes it.
    pub(super) fn skip(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.words.len() {
            match self.take() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// A type, if it is one of those that cross.
    pub(super) fn ty(&mut self) -> Option<Type> {
        self.deep(DEPTH)
    }

    fn deep(&mut self, left: usize) -> Option<Type> {
        let left = left.checked_sub(1)?;
        Some(match self.take() {
            "*" => Type::Pointer(Box::new(self.deep(left)?)),
            "[" if self.eat("]") => Type::Slice(Box::new(self.deep(left)?)),
            "[" => {
                let length = self.take().parse().ok().filter(|length| *length <= ARRAY)?;
                self.eat("]").then_some(())?;
                Type::Array(length, Box::new(self.deep(left)?))
            }
            "map" => {
                self.eat("[").then_some(())?;
                let key = self.deep(left)?;
                self.eat("]").then_some(())?;
                Type::Map(Box::new(key), Box::new(self.deep(left)?))
            }
            "error" => Type::Error,
            "sync" if self.eat(".") => match self.take() {
                "Mutex" => Type::Lock("Mutex"),
                "RWMutex" => Type::Lock("RWMutex"),
                _ => return None,
            },
            name => match BASIC.split(' ').find(|basic| *basic == name) {
                Some(basic) => Type::Basic(basic),
                None if may_declare(name) && !matches!(self.look(), "." | "[") => {
                    Type::Named(name.to_owned())
                }
                None => return None,
            },
        })
    }
}
