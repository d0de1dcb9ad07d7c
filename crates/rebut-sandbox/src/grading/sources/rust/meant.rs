//! Whose methods the tests mean: one of the code's own must not answer in place of one of a text, a
//! number, a row, or of a trait of the tests.

use super::{
    super::tokens::Token,
    surface::{Function, Surface},
    types::Ty,
};
use std::collections::BTreeSet;

/// Methods of traits that everything has. Who calls one means the trait's.
const OF_TRAITS: &str = "eq ne cmp partial_cmp lt le gt ge clone to_string to_owned hash fmt";
/// Methods of texts, numbers, rows, maps and iterators by which tests judge.
const OF_PLAIN: &str = "len is_empty contains starts_with ends_with get first last iter into_iter \
    chars bytes lines split split_whitespace \
    trim to_uppercase to_lowercase parse abs pow sqrt signum floor ceil round is_nan is_positive \
    is_negative is_alphabetic is_sorted \
    contains_key keys values windows chunks join concat find rfind position count sum product min \
    max next nth all any \
    eq_ignore_ascii_case as_str as_bytes as_slice to_vec binary_search repeat char_indices \
    capacity add sub mul div rem";

/// What the words of the tests say about methods.
pub(super) struct Meant<'a> {
    words: &'a [Token<'a>],
    /// Functions of traits of their own.
    traits: BTreeSet<&'a str>,
}

impl<'a> Meant<'a> {
    pub(super) fn of(words: &'a [Token<'a>]) -> Self {
        let mut traits = BTreeSet::new();
        let (mut depth, mut within) = (0_usize, None);
        for (at, word) in words.iter().enumerate() {
            match word.text {
                "trait" if within.is_none() => within = Some(depth),
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    within = within.filter(|begun| *begun < depth);
                }
                "fn" if within.is_some() => traits.extend(words.get(at + 1).map(|name| name.text)),
                _ => {}
            }
        }
        Self { words, traits }
    }

    /// Leaves out methods that are meant to be a trait's. Nothing where a value of the code's own
    /// may stand where the tests mean plain data: it comes of a call that does not say its type,
    /// and has a method of plain data that they call on it.
    pub(super) fn hold(&self, surface: &mut Surface, named: &BTreeSet<&str>) -> Option<()> {
        let is_trait = |name: &str| {
            OF_TRAITS.split_whitespace().any(|other| other == name) || self.traits.contains(name)
        };
        surface
            .functions
            .retain(|one| !(one.method && is_trait(&one.name)));
        let is_plain = |name: &str| OF_PLAIN.split_whitespace().any(|other| other == name);
        let stands_for = |of: &str| {
            let own = surface
                .functions
                .iter()
                .filter(|one| one.method && one.of.as_deref() == Some(of) && is_plain(&one.name));
            let methods: BTreeSet<&str> = own.map(|one| one.name.as_str()).collect();
            let mut givers = surface
                .functions
                .iter()
                .filter(|one| !makes(one, of) && gives(one, of));
            !methods.is_empty() && givers.any(|one| self.asks(one, &methods))
        };
        (!surface
            .types
            .iter()
            .any(|one| named.contains(one.name.as_str()) && stands_for(&one.name)))
        .then_some(())
    }

    fn text(&self, at: usize) -> &'a str {
        self.words.get(at).map_or("", |word| word.text)
    }

    /// Whether one of the methods is called on what the function gives: right behind its call, or
    /// by a name that it is given.
    fn asks(&self, function: &Function, methods: &BTreeSet<&str>) -> bool {
        let calls = (0..self.words.len())
            .filter(|at| self.text(*at) == function.name && self.text(at + 1) == "(");
        let is_asked = |name: &str| {
            let has_name = |at: usize| {
                self.text(at) == name
                    && self.text(at + 1) == "."
                    && methods.contains(self.text(at + 2))
            };
            (0..self.words.len()).any(has_name)
        };
        calls.into_iter().any(|at| {
            self.chain(at + 1, methods)
                || self
                    .bound(at, function.of.is_none())
                    .into_iter()
                    .any(is_asked)
        })
    }

    /// Goes on behind a call: `f(2).unwrap().len()`.
    fn chain(&self, open: usize, methods: &BTreeSet<&str>) -> bool {
        let mut at = self.past_group(open);
        loop {
            while self.text(at) == "?" {
                at += 1;
            }
            if self.text(at) != "." {
                return false;
            }
            if methods.contains(self.text(at + 1)) {
                return true;
            }
            at = if self.text(at + 2) == "(" {
                self.past_group(at + 2)
            } else {
                at + 2
            };
        }
    }

    fn past_group(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.words.len() {
            match self.text(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.words.len()
    }

    /// The names that a statement gives to what a call in it gives: `let x = f(2)`, and with
    /// `parts` those within a pattern too. A name whose type is written beside it says itself what
    /// it is.
    fn bound(&self, call: usize, parts: bool) -> Vec<&'a str> {
        let begin = (0..call)
            .rev()
            .find(|at| matches!(self.text(*at), ";" | "{" | "}"))
            .map_or(0, |at| at + 1);
        let statement = &self.words[begin..call];
        let Some(first) = statement
            .iter()
            .position(|word| matches!(word.text, "let" | "for"))
        else {
            return Vec::new();
        };
        let Some(end) = statement
            .iter()
            .position(|word| matches!(word.text, "=" | "in"))
            .filter(|end| *end > first)
        else {
            return Vec::new();
        };
        let pattern: Vec<&str> = statement[first + 1..end]
            .iter()
            .map(|word| word.text)
            .filter(|word| *word != "mut")
            .collect();
        if pattern.len() > 1 && (!parts || pattern.contains(&":")) {
            return Vec::new();
        }
        pattern
    }
}

/// Whether a function makes values of its own type, as its name says: `T::new`.
fn makes(function: &Function, of: &str) -> bool {
    let is_maker = [
        "new", "with", "from", "default", "empty", "create", "build", "open", "of",
    ]
    .iter()
    .any(|start| {
        function
            .name
            .strip_prefix(start)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    });
    !function.method && function.of.as_deref() == Some(of) && is_maker
}

fn gives(function: &Function, of: &str) -> bool {
    function
        .result
        .any(&|ty| matches!(ty, Ty::Named(name) if name == of))
}
