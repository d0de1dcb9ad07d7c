//! What tests of C and C++ say themselves: the names that they define, the functions that they
//! declare, the headers that they take in.

use super::{
    super::tokens::{Dialect, Token, quoted, tokens},
    surface::{Function, definition, is_keyword, without_directives},
    types::Cursor,
};
use std::collections::BTreeSet;

/// Words that may stand between the parameters of a function and its body.
const BETWEEN: &[&str] = &[
    "const",
    "volatile",
    "noexcept",
    "override",
    "final",
    "try",
    "&",
    "throw",
    "__attribute__",
];

/// What the text of the tests says.
pub(super) struct Own {
    /// Functions, macros and (in C++) types that they define. No name of the code takes their
    /// place.
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
        let mut defined: BTreeSet<String> =
            functions(&words).into_iter().chain(macros(tests)).collect();
        // Names of structs are names of their own kind in C.
        defined.extend(if cpp { types(&words) } else { Vec::new() });
        let (declared, outside) = file_level(&words, cpp);
        Self {
            defined,
            declared,
            outside,
        }
    }

    /// Whether the tests declare this very function,
    /// and so say themselves how many things stand behind its pointers.
    pub(super) fn declares(&self, function: &Function) -> bool {
        self.declared
            .iter()
            .any(|own| own.name == function.name && own.given == function.given)
    }

    /// Whether the tests have this name outside of every function,
    /// where a macro may make another function of it.
    pub(super) fn has_outside(&self, name: &str) -> bool {
        self.outside.contains(name)
    }
}

/// The headers that a text takes in; nothing where it takes in one whose name cannot be read here.
pub(super) fn includes(text: &str) -> Option<Vec<String>> {
    let is_plain = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '/'))
    };
    let text = without_comments(&text.replace("\\\r\n", "").replace("\\\n", ""));
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        let Some(directive) = ["#", "%:", "??="]
            .iter()
            .find_map(|sign| line.strip_prefix(sign))
            .map(str::trim_start)
        else {
            continue;
        };
        let Some(named) = directive.strip_prefix("include") else {
            if ["import", "embed"]
                .iter()
                .any(|word| directive.starts_with(word))
            {
                return None;
            }
            continue;
        };
        let named = named.trim();
        let name = named
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'));
        let name = name.or_else(|| {
            named
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'))
        });
        found.push(name.filter(|name| is_plain(name))?.to_owned());
    }
    Some(found)
}

/// The text with a blank in place of each comment.
fn without_comments(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(next) = rest.chars().next() {
        let length = match next {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            _ => {
                let length = if matches!(next, '"' | '\'') {
                    quoted(rest, next)
                } else {
                    next.len_utf8()
                };
                kept.push_str(&rest[..length]);
                rest = &rest[length..];
                continue;
            }
        };
        kept.push(' ');
        rest = &rest[length..];
    }
    kept
}

/// Whether the tests give a word another meaning before they take the code in, but one that only
/// asks the system for more.
pub(super) fn defines_before(tests: &str, included: &[&str]) -> bool {
    let asks = |name: &str| {
        [
            "_GNU_SOURCE",
            "_POSIX_C_SOURCE",
            "_XOPEN_SOURCE",
            "_DEFAULT_SOURCE",
            "_USE_MATH_DEFINES",
        ]
        .contains(&name)
    };
    let Some(code) = included
        .iter()
        .filter_map(|name| tests.find(&format!("\"{name}\"")))
        .min()
    else {
        return false;
    };
    macros(&tests[..code]).iter().any(|name| !asks(name))
}

fn macros(tests: &str) -> Vec<String> {
    let words = tokens(tests, Dialect::C);
    let defines = words
        .windows(3)
        .filter(|three| three[0].text == "#" && three[1].text == "define");
    defines.map(|three| three[2].text.to_owned()).collect()
}

/// Names before parameters that a body follows, at any depth:
/// in a namespace or as a friend they are found too.
fn functions(words: &[Token<'_>]) -> Vec<String> {
    let is_name =
        |name: &str| name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !is_keyword(name);
    let opens = (1..words.len()).filter(|at| words[*at].text == "(" && is_name(words[at - 1].text));
    opens
        .filter(|at| has_body(words, *at))
        .map(|at| words[at - 1].text.to_owned())
        .collect()
}

fn has_body(words: &[Token<'_>], open: usize) -> bool {
    let look = |at: usize| words.get(at).map_or("", |word| word.text);
    // To where a body would be, or a declaration would end.
    let to_end = |at: usize| {
        words
            .iter()
            .skip(at)
            .position(|word| matches!(word.text, "{" | ";" | ")"))
            .map_or(words.len(), |by| at + by)
    };
    let mut at = past_group(words, open);
    loop {
        at = match look(at) {
            word if BETWEEN.contains(&word) && look(at + 1) == "(" => past_group(words, at + 1),
            word if BETWEEN.contains(&word) => at + 1,
            "[" if look(at + 1) == "[" => {
                at + words[at..]
                    .iter()
                    .take_while(|word| word.text != "]")
                    .count()
                    + 2
            }
            "requires" => match to_end(at) {
                // `requires (…) {`
                end if look(end) == ")" => past_group(words, at + 1),
                end => end,
            },
            "-" if look(at + 1) == ">" => to_end(at),
            ":" => return has_members_and_body(words, at),
            word => return word == "{",
        };
    }
}

/// What stands between the parameters of a constructor and its body: `: a(1), b{2} {`.
fn has_members_and_body(words: &[Token<'_>], colon: usize) -> bool {
    let look = |at: usize| words.get(at).map_or("", |word| word.text);
    let mut at = colon;
    loop {
        let Some(open) = (at + 1..words.len())
            .take(24)
            .find(|at| matches!(look(*at), "(" | "{" | ";" | "?" | ")"))
        else {
            return false;
        };
        at = match look(open) {
            "(" => past_group(words, open),
            "{" => {
                open + words[open..]
                    .iter()
                    .take_while(|word| word.text != "}")
                    .count()
                    + 1
            }
            _ => return false,
        };
        match look(at) {
            "," => {}
            next => return next == "{",
        }
    }
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
        match word.text {
            "struct" | "class" | "union" | "enum" => found.extend(class_names(words, at + 1)),
            "using" if look(2) == "=" => found.push(look(1).to_owned()),
            _ => {}
        }
    }
    found
}

/// Every word before the body of a class may be its name: attributes and macros stand there too.
fn class_names(words: &[Token<'_>], mut at: usize) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(word) = words.get(at) {
        at = match word.text {
            "{" | ":" => return names,
            ";" | "," | "=" | ">" | ")" | "*" | "&" => break,
            "(" => past_group(words, at),
            "[" => {
                at + words[at..]
                    .iter()
                    .take_while(|word| word.text != "]")
                    .count()
                    + 1
            }
            name => {
                if !is_keyword(name) {
                    names.push(name.to_owned());
                }
                at + 1
            }
        };
    }
    Vec::new()
}

/// What stands outside of functions and classes; namespaces are no such place. Declarations, and
/// all words.
fn file_level(words: &[Token<'_>], cpp: bool) -> (Vec<Function>, BTreeSet<String>) {
    let (mut declared, mut outside) = (Vec::new(), BTreeSet::new());
    let (mut braces, mut start) = (Vec::new(), 0);
    for (at, word) in words.iter().enumerate() {
        let is_outside = !braces.contains(&false);
        match word.text {
            "{" => {
                braces.push(matches!(
                    words[start..at].first().map(|first| first.text),
                    Some("namespace" | "extern" | "inline")
                ));
                start = at + 1;
            }
            "}" => {
                braces.pop();
                start = at + 1;
            }
            ";" => {
                declared.extend(
                    definition(&mut Cursor {
                        words: &words[start..at],
                        at: 0,
                        cpp,
                    })
                    .filter(|_| is_outside),
                );
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
        let text = "#include <a.h>\n# define CHECK(x) do { f(x); } while (0)\nint f(int);\nstatic \
            void a(int x) { if (f(2)) { f(3); } }\n\
                    template <class T> auto b(T x) noexcept(true) -> bool { return x; }\nnamespace \
                    n { inline int c() { return 1; } }\n\
                    struct D { int e() const { return 1; } };\nenum class E : int { X };\nusing F \
                    = int;\nstruct G *g(void);\n\
                    int main() { while (h(1)->x) { } return f(2); }";
        let own = |cpp| {
            Own::of(text, cpp)
                .defined
                .into_iter()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(own(true), "CHECK D E F a b c e");
        assert_eq!(own(false), "CHECK a b c e");
    }

    #[test]
    fn names_of_classes_and_constructors_are_found() {
        let text = "struct [[nodiscard]] A { A(bool o) : ok(o), b{1} { } };\nclass alignas(16) API \
            B final : public A { };\n\
                    struct __attribute__((packed)) C { };\nvoid d() throw() { }\ntemplate <class \
                    T> void e(T x) requires (sizeof(T) > 0) { }\n\
                    void g() [[gnu::cold]] { }\nvoid test_x() { h(x ? f(2) : k(3)); struct Y *y = \
                    m(1); for (auto z : n(2)) { } }";
        let found = Own::of(text, true).defined;
        for name in ["A", "B", "C", "d", "e", "g", "test_x"] {
            assert!(found.contains(name), "{name}: {found:?}");
        }
        for name in ["f", "h", "k", "m", "y"] {
            assert!(!found.contains(name), "{name}: {found:?}");
        }
    }

    #[test]
    fn what_is_defined_before_the_code_is_seen() {
        let rows = [
            ("#define malloc mine\n#include \"solution.c\"", true),
            ("#include \"solution.c\"\n#define X 1", false),
            ("#define _GNU_SOURCE\n#include \"solution.c\"", false),
            ("#define X 1\nint f(int);", false),
        ];
        for (text, expected) in rows {
            assert_eq!(defines_before(text, &["solution.c"]), expected, "{text}");
        }
    }

    #[test]
    fn declarations_and_what_stands_outside_are_found() {
        let own = Own::of(
            "void f(int *a, int n);\nnamespace { HELPER(g) }\nvoid test_a() { h(1); void k(int *a, \
             int n); }",
            true,
        );
        let function = |code: &str| {
            definition(&mut Cursor {
                words: &tokens(code, Dialect::C),
                at: 0,
                cpp: true,
            })
            .expect(code)
        };
        assert!(own.declares(&function("void f(int *rows, int count)")));
        assert!(
            !own.declares(&function("void f(long *a, int n)"))
                && !own.declares(&function("void k(int *a, int n)"))
        );
        assert!(own.has_outside("g") && !own.has_outside("h"));
    }

    #[test]
    fn headers_are_found() {
        let text = "#include <assert.h>\n  #  include   <sys/x.h> // <y>\n#include \
            \"solution.c\"\n#define X <z>\n\"/*\";#\n#include<bit>\n\
                    %:include /* \" */ \"q.h\"\n#include \\\n<two>";
        assert_eq!(
            includes(text).expect("all can be read"),
            ["assert.h", "sys/x.h", "solution.c", "bit", "q.h", "two"]
        );
        for text in [
            "#include NET",
            "#include <a\\b>",
            "#include_next <a>",
            "#import <a>",
            "#include <a> b",
        ] {
            assert_eq!(includes(text), None, "{text}");
        }
    }
}
