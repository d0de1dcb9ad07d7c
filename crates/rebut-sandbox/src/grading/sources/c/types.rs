//! Types of C and C++ that cross between two processes: plain data, read from tokens and printed
//! again in words of our own.

use super::super::tokens::Token;
use std::fmt::{self, Display, Formatter};

/// A number, a character or a truth value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scalar {
    /// How it is printed, without any header.
    pub words: &'static str,
    pub whole: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Void,
    Scalar(Scalar),
    /// Of C++'s library: its name and what it holds.
    Std(&'static str, Vec<Type>),
    Reference {
        constant: bool,
        to: Box<Type>,
    },
    Pointer {
        constant: bool,
        to: Scalar,
    },
}

impl Display for Type {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let constant = |constant: &bool| if *constant { "const " } else { "" };
        match self {
            Self::Void => out.write_str("void"),
            Self::Scalar(scalar) => out.write_str(scalar.words),
            Self::Std(name, inner) if inner.is_empty() => write!(out, "std::{name}"),
            Self::Std(name, inner) => {
                write!(
                    out,
                    "std::{name}<{}>",
                    inner
                        .iter()
                        .map(Self::to_string)
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
            Self::Reference { constant: is, to } => write!(out, "{}{to} &", constant(is)),
            Self::Pointer { constant: is, to } => write!(out, "{}{} *", constant(is), to.words),
        }
    }
}

/// Names that stand for a number, and words for them that need no header.
const NAMED: &[(&str, &str)] = &[
    ("int8_t", "__INT8_TYPE__"),
    ("int16_t", "__INT16_TYPE__"),
    ("int32_t", "__INT32_TYPE__"),
    ("int64_t", "__INT64_TYPE__"),
    ("uint8_t", "__UINT8_TYPE__"),
    ("uint16_t", "__UINT16_TYPE__"),
    ("uint32_t", "__UINT32_TYPE__"),
    ("uint64_t", "__UINT64_TYPE__"),
    ("size_t", "__SIZE_TYPE__"),
    ("ptrdiff_t", "__PTRDIFF_TYPE__"),
    ("intptr_t", "__INTPTR_TYPE__"),
    ("uintptr_t", "__UINTPTR_TYPE__"),
];
/// Words of which a number's type is made, in any order.
const WORDS: &[&str] = &[
    "char", "short", "int", "long", "signed", "unsigned", "float", "double",
];
/// What C++'s library has that is plain data, and how many types it holds.
const STD: &[(&str, usize)] = &[
    ("string", 0),
    ("vector", 1),
    ("deque", 1),
    ("list", 1),
    ("set", 1),
    ("multiset", 1),
    ("unordered_set", 1),
    ("optional", 1),
    ("pair", 2),
    ("map", 2),
    ("unordered_map", 2),
];
const DEPTH: usize = 6;

/// Reads tokens one after the other.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    pub words: &'a [Token<'a>],
    pub at: usize,
    pub cpp: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn look(&self) -> &'a str {
        self.words.get(self.at).map_or("", |word| word.text)
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

    /// A type of a parameter or a result, if it is one of those that cross.
    pub(super) fn ty(&mut self) -> Option<Type> {
        let mut constant = self.eat("const");
        let base = self.value(DEPTH)?;
        constant |= self.eat("const");
        if self.eat("*") {
            let (Type::Scalar(to), true) = (
                base,
                !self.eat("const") && !matches!(self.look(), "*" | "&"),
            ) else {
                return None;
            };
            let _ = self.eat("restrict");
            return Some(Type::Pointer { constant, to });
        }
        if self.eat("&") {
            let fine = self.cpp && self.look() != "&" && base != Type::Void;
            return fine.then(|| Type::Reference {
                constant,
                to: Box::new(base),
            });
        }
        Some(base)
    }

    /// A type without pointers and references.
    fn value(&mut self, left: usize) -> Option<Type> {
        let left = left.checked_sub(1)?;
        let qualified = self.cpp && self.look() == "std";
        if qualified {
            self.at += 1;
            (self.eat(":") && self.eat(":")).then_some(())?;
        }
        let word = self.look();
        if word == "void" && !qualified {
            self.at += 1;
            return Some(Type::Void);
        }
        if let Some((name, holds)) = STD.iter().find(|(name, _)| self.cpp && *name == word) {
            self.at += 1;
            return self.held(*holds, left).map(|inner| Type::Std(name, inner));
        }
        if let Some((_, words)) = NAMED.iter().find(|(name, _)| *name == word) {
            self.at += 1;
            return Some(Type::Scalar(Scalar { words, whole: true }));
        }
        if qualified {
            return None;
        }
        if matches!(word, "bool" | "_Bool") {
            self.at += 1;
            return Some(Type::Scalar(Scalar {
                words: if self.cpp { "bool" } else { "_Bool" },
                whole: false,
            }));
        }
        self.scalar().map(Type::Scalar)
    }

    /// What stands between `<` and `>`.
    fn held(&mut self, count: usize, left: usize) -> Option<Vec<Type>> {
        if count == 0 {
            return Some(Vec::new());
        }
        self.eat("<").then_some(())?;
        let mut inner = Vec::new();
        for at in 0..count {
            (at == 0 || self.eat(",")).then_some(())?;
            inner.push(self.value(left).filter(|ty| *ty != Type::Void)?);
        }
        self.eat(">").then_some(inner)
    }

    fn scalar(&mut self) -> Option<Scalar> {
        let mut words = Vec::new();
        while WORDS.contains(&self.look()) && words.len() < 5 {
            words.push(self.take());
        }
        words.sort_unstable();
        let whole = |words| Some(Scalar { words, whole: true });
        match words[..] {
            ["float"] => Some(Scalar {
                words: "float",
                whole: false,
            }),
            ["double"] => Some(Scalar {
                words: "double",
                whole: false,
            }),
            ["char"] => whole("char"),
            ["char", "signed"] => whole("signed char"),
            ["char", "unsigned"] => whole("unsigned char"),
            ["short"] | ["int", "short"] | ["short", "signed"] | ["int", "short", "signed"] => {
                whole("short")
            }
            ["short", "unsigned"] | ["int", "short", "unsigned"] => whole("unsigned short"),
            ["int"] | ["signed"] | ["int", "signed"] => whole("int"),
            ["unsigned"] | ["int", "unsigned"] => whole("unsigned int"),
            ["long"] | ["int", "long"] | ["long", "signed"] | ["int", "long", "signed"] => {
                whole("long")
            }
            ["long", "unsigned"] | ["int", "long", "unsigned"] => whole("unsigned long"),
            ["long", "long"]
            | ["int", "long", "long"]
            | ["long", "long", "signed"]
            | ["int", "long", "long", "signed"] => whole("long long"),
            ["long", "long", "unsigned"] | ["int", "long", "long", "unsigned"] => {
                whole("unsigned long long")
            }
            _ => None,
        }
    }
}
