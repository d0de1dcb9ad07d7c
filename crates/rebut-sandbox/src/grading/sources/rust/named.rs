//! Which names of the tests may be types of the code: those that stand alone or behind its name,
//! and that the tests have from nowhere else.
//!
//! Code that has a type by a word which the tests only happen to hold could answer for it by
//! methods of its own (`parse("x").is_ok()`).

use super::{
    super::tokens::Token,
    types::{Cursor, is_name},
};
use std::collections::BTreeSet;

/// What stands for the code in a path.
const CODE: &[&str] = &["solution", "super", "crate", "self"];
/// What has nothing of the code.
const LIBRARY: &[&str] = &["std", "core", "alloc"];
/// What comes with all names of a module of the library. Of any other module it is not known what
/// comes.
const GLOBS: &[(&str, &str)] = &[
    (
        "collections",
        "BinaryHeap LinkedList BTreeMap BTreeSet HashMap HashSet VecDeque Bound TryReserveError",
    ),
    ("prelude", ""),
    ("v1", ""),
    ("rust_2021", ""),
    ("rust_2024", ""),
    ("Ordering", "Less Equal Greater"),
];
/// Words before the name of an item.
const ITEMS: &[&str] = &[
    "struct", "enum", "union", "type", "trait", "const", "static", "mod", "fn", "let",
];
/// The deepest group of a `use`.
const DEPTH: usize = 32;

/// The words that may name types of the code. Nothing where tests take in all its names within a
/// function: these would come before names of their own.
pub(super) fn named<'a>(words: &'a [Token<'a>]) -> Option<BTreeSet<&'a str>> {
    let uses = uses(words);
    let is_hidden = |one: &Use<'_>| {
        one.within
            && one
                .leaves
                .iter()
                .any(|leaf| leaf.name == "*" && !LIBRARY.contains(&leaf.path[0]))
    };
    (!uses.iter().any(is_hidden)).then_some(())?;
    let mut own: BTreeSet<&str> = items(words);
    let mut roots: BTreeSet<&str> = CODE.iter().copied().collect();
    let (mut found, mut all_alone) = (BTreeSet::new(), true);
    // Twice, since the order of `use` says nothing.
    for leaf in uses.iter().chain(&uses).flat_map(|one| &one.leaves) {
        let is_code = roots.contains(leaf.path[0]);
        let is_foreign = LIBRARY.contains(&leaf.path[0]) || own.contains(leaf.path[0]);
        match (leaf.name, leaf.path.last()) {
            ("*", _) if !is_foreign => {}
            ("*", last) => match GLOBS.iter().find(|(path, _)| last == Some(path)) {
                Some((_, names)) => own.extend(names.split(' ')),
                None => all_alone = false,
            },
            (name, _) if is_code && leaf.path.len() == 1 => {
                roots.insert(name);
            }
            (name, Some(last)) if is_code => {
                let is_direct = leaf.path[..leaf.path.len() - 1]
                    .iter()
                    .all(|part| roots.contains(part));
                found.extend(is_direct.then_some(*last));
                own.extend((name != *last).then_some(name));
            }
            (name, _) => {
                own.insert(name);
            }
        }
    }
    let within_use = |at: usize| uses.iter().any(|one| one.from <= at && at < one.to);
    let free = (0..words.len()).filter(|at| !within_use(*at) && is_name(words[*at].text));
    found.extend(
        free.filter(|at| may_mean(words, *at, &roots, all_alone))
            .map(|at| words[at].text),
    );
    found.retain(|name| !own.contains(name));
    Some(found)
}

/// Whether a word may mean an item of the code, by what stands before it.
fn may_mean(words: &[Token<'_>], at: usize, roots: &BTreeSet<&str>, all_alone: bool) -> bool {
    let before = |by: usize| at.checked_sub(by).map_or("", |at| words[at].text);
    match (before(2), before(1)) {
        (":", ":") => roots.contains(before(3)),
        (_, "." | "'" | "$") => false,
        _ => all_alone,
    }
}

/// Names that the tests give: to items, and to what these are generic over.
fn items<'a>(words: &[Token<'a>]) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for (at, word) in words.iter().enumerate() {
        let look = |by: usize| words.get(at + by).map_or("", |word| word.text);
        if ITEMS.contains(&word.text) {
            let by = if look(1) == "mut" { 2 } else { 1 };
            found.extend(is_name(look(by)).then(|| look(by)));
            found.extend(if look(by + 1) == "<" {
                generics(words, at + by + 1)
            } else {
                Vec::new()
            });
        }
        if matches!(word.text, "impl" | "for") && look(1) == "<" {
            found.extend(generics(words, at + 1));
        }
    }
    found
}

/// The names right behind `<` and its commas.
fn generics<'a>(words: &[Token<'a>], open: usize) -> Vec<&'a str> {
    let (mut found, mut depth) = (Vec::new(), 0_usize);
    for at in open..words.len() {
        let look = |by: usize| words.get(at + by).map_or("", |word| word.text);
        match look(0) {
            "<" | "(" | "[" => depth += 1,
            // Not the end of an arrow.
            ">" if words[at - 1].text == "-" => {}
            ">" | ")" | "]" => depth = depth.saturating_sub(1),
            "{" | ";" => return found,
            _ => {}
        }
        if depth == 0 {
            return found;
        }
        if depth == 1 && matches!(look(0), "<" | ",") {
            found.push(if look(1) == "const" { look(2) } else { look(1) });
        }
    }
    found
}

struct Use<'a> {
    from: usize,
    to: usize,
    /// Whether it stands within a function.
    within: bool,
    leaves: Vec<Leaf<'a>>,
}

/// One thing that comes by a `use`: where it is, never empty, and the name it has then.
struct Leaf<'a> {
    path: Vec<&'a str>,
    name: &'a str,
}

fn uses<'a>(words: &'a [Token<'a>]) -> Vec<Use<'a>> {
    let mut found: Vec<Use<'a>> = Vec::new();
    let mut braces: Vec<bool> = Vec::new();
    let mut to = 0;
    for (at, word) in words.iter().enumerate() {
        if at < to {
            continue;
        }
        match word.text {
            "{" => braces.push(at >= 2 && words[at - 2].text == "mod"),
            "}" => {
                braces.pop();
            }
            "use" => {
                to = words[at..]
                    .iter()
                    .position(|word| word.text == ";")
                    .map_or(words.len(), |end| at + end);
                let mut leaves = Vec::new();
                tree(
                    &mut Cursor {
                        words: &words[..to],
                        at: at + 1,
                    },
                    &mut Vec::new(),
                    &mut leaves,
                    DEPTH,
                );
                found.push(Use {
                    from: at,
                    to,
                    within: braces.contains(&false),
                    leaves,
                });
            }
            _ => {}
        }
    }
    found
}

fn tree<'a>(
    cursor: &mut Cursor<'a>,
    path: &mut Vec<&'a str>,
    leaves: &mut Vec<Leaf<'a>>,
    left: usize,
) -> Option<()> {
    let (left, length) = (left.checked_sub(1)?, path.len());
    cursor.colons();
    loop {
        if cursor.take("{") {
            while !cursor.take("}") {
                tree(cursor, path, leaves, left)?;
                if !cursor.take(",") && cursor.peek() != "}" {
                    return None;
                }
            }
            break;
        }
        let word = cursor.words.get(cursor.at)?.text;
        cursor.at += 1;
        // `self` in a group is what the group is of.
        if word != "*" && (word != "self" || path.is_empty()) {
            path.push(word);
        }
        if cursor.colons() {
            continue;
        }
        let name = match (word, cursor.take("as")) {
            ("*", _) => "*",
            (_, false) => path.last()?,
            (_, true) => {
                cursor.at += 1;
                cursor.words.get(cursor.at - 1)?.text
            }
        };
        leaves.extend((!path.is_empty()).then(|| Leaf {
            path: path.clone(),
            name,
        }));
        break;
    }
    path.truncate(length);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::tokens::{Dialect, tokens},
        *,
    };

    #[test]
    fn only_what_may_be_of_the_code_is_named() {
        // The tests, and which of `T`, `U`, `V` may be types of the code.
        let rows = [
            ("use solution::*; T::new(); x.U(); V", Some("T V")),
            ("use solution::*; use std::time::T; T::new(); U", Some("U")),
            (
                "use solution::*; use std::{a::{self, T}, b::c as U, V}; T U V",
                Some(""),
            ),
            ("use solution::{T, a::U, W as V}; T U V", Some("T U")),
            (
                "use solution as s; fn a() { s::T; std::U::V; Some::<V>(1) }",
                Some("T V"),
            ),
            ("use std::time; use time::T; T U", Some("U")),
            ("use time::T; use std::time; T U", Some("U")),
            (
                "fn a<'a, T: A<U>, const V: usize>(x: T) -> U { }",
                Some("U"),
            ),
            ("impl<T> X for U<T> { type V = T; }", Some("U")),
            ("struct T { x: U } const V: u8 = 1; T V", Some("U")),
            (
                "macro_rules! m { ($T:ty) => { $T } } E::U; <V as E>::T; 'U: loop {}",
                Some("V"),
            ),
            (
                "use solution::*; use std::sync::atomic::*; T super::U crate::V",
                Some("U V"),
            ),
            ("use solution::*; use std::collections::*; T", Some("T")),
            (
                "mod a { use super::*; fn b() { use solution::T; T } }",
                Some("T"),
            ),
            ("mod a { fn b() { use solution::*; T } }", None),
            (
                "mod a { fn b() { use std::fmt::*; T; solution::U } }",
                Some("U"),
            ),
        ];
        for (tests, expected) in rows {
            let words = tokens(tests, Dialect::Rust);
            let found = named(&words);
            let of_three = |found: BTreeSet<&str>| {
                ["T", "U", "V"]
                    .into_iter()
                    .filter(|one| found.contains(one))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            assert_eq!(found.map(of_three).as_deref(), expected, "{tests}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        let parts = [
            "use", "solution", "::", ":", "{", "}", "*", ",", ";", "as", "self", "T", "fn", "<",
            ">", "-", "mod", "impl", "'", "$",
        ];
        let mut state = 1_u64;
        for _ in 0..4_000 {
            let mut text = String::new();
            for _ in 0..24 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                text.push_str(parts[usize::try_from(state >> 33).unwrap_or(0) % parts.len()]);
                text.push_str(if state & 1 == 0 { " " } else { "" });
            }
            let _ = named(&tokens(&text, Dialect::Rust));
        }
        let _ = named(&tokens(&"use {".repeat(100_000), Dialect::Rust));
    }
}
