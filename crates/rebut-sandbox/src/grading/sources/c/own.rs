//! What tests of C and C++ say themselves: the names that they define, the functions that they declare,
//! the headers that they take in.

use super::{
    super::tokens::{Dialect, Token, tokens},
    surface::{Function, definition, is_keyword, without_directives},
    types::Cursor,
};
use std::collections::BTreeSet;

/// Words that may stand between the parameters of a function and its body.
const BETWEEN: &[&str] = &["const", "volatile", "noexcept", "override", "final", "try", "&"];

/// What the text of the tests says.
pub(super) struct Own {
    /// Functions, macros and (in C++) types that they define. No name of the code takes their place.
    pub defined: BTreeSet<String>,
    /// Functions that they declare, with parameters of their own naming.
    declared: Vec<Function>,
    /// Names that stand outside of every function and class of theirs.
    outside: BTreeSet<String>,
}

impl Own {
    pub(super) fn of(tests: &str, cpp: bool) -> Self {
        let plain = without_directives(tests);
        let words = tokens(&plain, Dialect::C);
        let mut defined: BTreeSet<String> = functions(&words).into_iter().chain(macros(tests)).collect();
        // Names of structs are names of their own kind in C.
        defined.extend(if cpp { types(&words) } else { Vec::new() });
        let (declared, outside) = file_level(&words, cpp);
        Self { defined, declared, outside }
    }

    /// Whether the tests declare this very function,
    /// and so say themselves how many things stand behind its pointers.
    pub(super) fn declares(&self, function: &Function) -> bool {
        self.declared.iter().any(|own| own.name == function.name && own.given == function.given)
    }

    /// Whether the tests have this name outside of every function,
    /// where a macro may make another function of it.
    pub(super) fn has_outside(&self, name: &str) -> bool {
        self.outside.contains(name)
    }
}

/// The headers of the system that a text takes in.
pub(super) fn headers(text: &str) -> Vec<&str> {
    let is_plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '/'));
    let of_line = |line: &'_ str| -> Option<(usize, usize)> {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        let from = line.len() - rest.trim_start().strip_prefix('<')?.len();
        Some((from, from + line[from..].find('>')?))
    };
    text.lines().filter_map(|line| of_line(line).map(|(from, to)| &line[from..to])).filter(is_plain).collect()
}

fn macros(tests: &str) -> Vec<String> {
    let words = tokens(tests, Dialect::C);
    let defines = words.windows(3).filter(|three| three[0].text == "#" && three[1].text == "define");
    defines.map(|three| three[2].text.to_owned()).collect()
}

/// Names before parameters that a body follows, at any depth:
/// in a namespace or as a friend they are found too.
fn functions(words: &[Token<'_>]) -> Vec<String> {
    let is_name = |name: &str| name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !is_keyword(name);
    let opens = (1..words.len()).filter(|at| words[*at].text == "(" && is_name(words[at - 1].text));
    opens.filter(|at| has_body(words, *at)).map(|at| words[at - 1].text.to_owned()).collect()
}

fn has_body(words: &[Token<'_>], open: usize) -> bool {
    let look = |at: usize| words.get(at).map_or("", |word| word.text);
    let mut at = past_group(words, open);
    while BETWEEN.contains(&look(at)) {
        at = if look(at + 1) == "(" { past_group(words, at + 1) } else { at + 1 };
    }
    if (look(at), look(at + 1)) == ("-", ">") {
        let end = |word: &Token<'_>| matches!(word.text, "{" | ";" | ")");
        at = words[at..].iter().position(end).map_or(words.len(), |found| at + found);
    }
    look(at) == "{"
}

/// Behind the parenthesis that closes this one.
fn past_group(words: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, word) in words.iter().enumerate().skip(open) {
        match word.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    words.len()
}

/// Classes and other names of types: a function of the same name would hide them.
fn types(words: &[Token<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let look = |by: usize| words.get(at + by).map_or("", |word| word.text);
        let by = if word.text == "enum" && matches!(look(1), "class" | "struct") { 2 } else { 1 };
        match word.text {
            "struct" | "class" | "union" | "enum" if matches!(look(by + 1), "{" | ":" | "final") => found.push(look(by).to_owned()),
            "using" if look(2) == "=" => found.push(look(1).to_owned()),
            _ => {}
        }
    }
    found
}

/// What stands outside of functions and classes; namespaces are no such place. Declarations, and all words.
fn file_level(words: &[Token<'_>], cpp: bool) -> (Vec<Function>, BTreeSet<String>) {
    let (mut declared, mut outside) = (Vec::new(), BTreeSet::new());
    let (mut braces, mut start) = (Vec::new(), 0);
    for (at, word) in words.iter().enumerate() {
        let is_outside = !braces.contains(&false);
        match word.text {
            "{" => {
                braces.push(matches!(words[start..at].first().map(|first| first.text), Some("namespace" | "extern" | "inline")));
                start = at + 1;
            }
            "}" => {
                braces.pop();
                start = at + 1;
            }
            ";" => {
                declared.extend(definition(&mut Cursor { words: &words[start..at], at: 0, cpp }).filter(|_| is_outside));
                start = at + 1;
            }
            name if is_outside => {
                outside.insert(name.to_owned());
            }
            _ => {}
        }
    }
    (declared, outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_define_is_theirs() {
        let text = "#include <a.h>\n# define CHECK(x) do { f(x); } while (0)\nint f(int);\nstatic void a(int x) { if (f(2)) { f(3); } }\n\
                    template <class T> auto b(T x) noexcept(true) -> bool { return x; }\nnamespace n { inline int c() { return 1; } }\n\
                    struct D { int e() const { return 1; } };\nenum class E : int { X };\nusing F = int;\nstruct G *g(void);\n\
                    int main() { while (h(1)->x) { } return f(2); }";
        let own = |cpp| Own::of(text, cpp).defined.into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(own(true), "CHECK D E F a b c e");
        assert_eq!(own(false), "CHECK a b c e");
    }

    #[test]
    fn declarations_and_what_stands_outside_are_found() {
        let own = Own::of("void f(int *a, int n);\nnamespace { HELPER(g) }\nvoid test_a() { h(1); void k(int *a, int n); }", true);
        let function = |code: &str| definition(&mut Cursor { words: &tokens(code, Dialect::C), at: 0, cpp: true }).expect(code);
        assert!(own.declares(&function("void f(int *rows, int count)")));
        assert!(!own.declares(&function("void f(long *a, int n)")) && !own.declares(&function("void k(int *a, int n)")));
        assert!(own.has_outside("g") && !own.has_outside("h"));
    }

    #[test]
    fn headers_are_found() {
        let text =
            "#include <assert.h>\n  #  include   <sys/x.h> // <y>\n#include \"solution.c\"\n#include <a\\b>\n#define X <z>\n#include<bit>";
        assert_eq!(headers(text), ["assert.h", "sys/x.h", "bit"]);
    }
}
