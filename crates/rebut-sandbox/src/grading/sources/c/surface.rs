//! What C and C++ code defines at its top level, as far as tests name it and as far as it is plain
//! data that goes in and out.

use super::{
    super::tokens::{Dialect, tokens},
    INCLUDES,
    own::{self, Own},
    process,
    types::{Cursor, Type},
};
use std::collections::BTreeSet;

/// Words of both languages that are no names.
const KEYWORDS: &str = "alignas alignof and asm auto bool break case catch char class compl \
    concept const const_cast consteval constexpr \
    constinit continue co_await co_return co_yield decltype default delete do double dynamic_cast \
    else enum explicit export \
    extern false final float for friend goto if inline int long main mutable namespace new \
    noexcept not nullptr operator or \
    override private protected public register reinterpret_cast requires restrict return short \
    signed sizeof static \
    static_assert static_cast std struct switch template this thread_local throw true try typedef \
    typeid typename typeof \
    union unsigned using virtual void volatile wchar_t while xor";

/// A function that stands for the code's beside the tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub name: String,
    pub given: Vec<Given>,
    pub result: Type,
    /// Whether the tests declare it themselves, with the same parameters.
    pub declared: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub ty: Type,
    pub way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Value,
    /// A text that ends with 0.
    Text,
    /// All that the tests have there, which only the compiler sees.
    Room,
    /// As many as the parameter of that place says.
    Many(usize),
}

impl Given {
    /// Whether what the call changed of it comes back.
    pub(super) fn comes_back(&self) -> bool {
        matches!(
            self.ty,
            Type::Pointer {
                constant: false,
                ..
            } | Type::Reference {
                constant: false,
                ..
            }
        )
    }
}

impl Function {
    /// Whether it must be seen how much stands behind this parameter. The code said how many there
    /// are, unless the tests did so too: a number of another meaning would lead beyond what they
    /// have, and what they expect would go to the code or come back from it.
    pub(super) fn must_see(&self, given: &Given) -> bool {
        match given.way {
            Way::Value | Way::Text => false,
            Way::Room => true,
            Way::Many(_) => !self.declared,
        }
    }

    pub(super) fn is_bounded(&self) -> bool {
        self.given.iter().any(|given| given.way != Way::Value)
    }
}

/// What the tests need of the code, if all of it is plain.
pub(super) fn surface(code: &str, tests: &str, cpp: bool) -> Option<Vec<Function>> {
    let plain = without_directives(code);
    let words = tokens(&plain, Dialect::C);
    let test_words = tokens(tests, Dialect::C);
    let named: BTreeSet<&str> = test_words
        .iter()
        .map(|word| word.text)
        .collect::<BTreeSet<_>>();
    let own = Own::of(tests, cpp);
    let is_included = own::includes(tests)?
        .iter()
        .any(|name| INCLUDES.contains(&name.as_str()));
    (!process::is_looked_at(&test_words, &own.defined) && !own::defines_before(tests, INCLUDES))
        .then_some(())?;
    let mut found: Vec<Function> = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, word) in words.iter().enumerate() {
        match word.text {
            "{" => {
                if depth == 0 {
                    let head = &words[start..at];
                    // One that is named and not understood means that the tests need more than
                    // plain data.
                    let is_named = |name: &str| {
                        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                            && name != "main";
                        is_name && named.contains(name) && !own.defined.contains(name)
                    };
                    if head
                        .windows(2)
                        .any(|two| two[1].text == "(" && is_named(two[0].text))
                    {
                        let function = definition(&mut Cursor {
                            words: head,
                            at: 0,
                            cpp,
                        })
                        .filter(|function| may_declare(&function.name))?;
                        // Of several branches of `#if` the first is taken; the compiler finds out
                        // if it was another one.
                        if found.iter().all(|other| {
                            other.name != function.name || cpp && other.given != function.given
                        }) {
                            found.push(Function {
                                declared: own.declares(&function),
                                ..function
                            });
                        }
                    }
                }
                depth += 1;
            }
            "}" => {
                depth = depth.saturating_sub(1);
                start = at + 1;
            }
            ";" if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    // Of a name with one meaning the compiler finds out whether the tests give it another one.
    let is_single = |function: &Function| {
        found
            .iter()
            .filter(|other| other.name == function.name)
            .count()
            == 1
    };
    let is_sure = |function: &Function| {
        function.declared || is_single(function) || !own.has_outside(&function.name)
    };
    // What nobody declares may be meant to be the system's.
    let is_declared = |function: &Function| cpp || is_included || own.has_outside(&function.name);
    let is_fine = |function: &Function| {
        is_sure(function)
            && is_declared(function)
            && !process::is_memory_shared(function, &test_words, &words)
    };
    (found.len() <= 500 && found.iter().all(is_fine)).then_some(found)
}

pub(super) fn is_keyword(name: &str) -> bool {
    KEYWORDS.split(' ').any(|word| word == name)
}

fn may_declare(name: &str) -> bool {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let ours = ["rebut", "test"]
        .iter()
        .any(|start| name.to_ascii_lowercase().starts_with(start));
    plain && !ours && name.len() <= 100 && !is_keyword(name)
}

/// The text without the lines of the preprocessor.
pub(super) fn without_directives(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut within = false;
    for line in code.lines() {
        let directive = within || line.trim_start().starts_with('#');
        within = directive && line.trim_end().ends_with('\\');
        kept.push_str(if directive { "" } else { line });
        kept.push('\n');
    }
    kept
}

/// The head of a function: its result, its name, its parameters, nothing else.
pub(super) fn definition(cursor: &mut Cursor<'_>) -> Option<Function> {
    while ["static", "inline", "extern"]
        .iter()
        .any(|word| cursor.eat(word))
    {}
    let result = cursor.ty()?;
    let plain = match &result {
        Type::Void | Type::Scalar(_) | Type::Std(..) => true,
        Type::Pointer { to, .. } => to.words == "char",
        Type::Reference { .. } => false,
    };
    let name = cursor.take().to_owned();
    (plain && cursor.eat("(")).then_some(())?;
    let given = parameters(cursor, matches!(result, Type::Scalar(_)))?;
    (cursor.at == cursor.words.len()).then_some(Function {
        name,
        given,
        result,
        declared: false,
    })
}

fn parameters(cursor: &mut Cursor<'_>, gives_scalar: bool) -> Option<Vec<Given>> {
    let mut found: Vec<(Type, &str)> = Vec::new();
    while !cursor.eat(")") {
        (found.len() < 32 && (found.is_empty() || cursor.eat(","))).then_some(())?;
        let ty = cursor.ty()?;
        if ty == Type::Void {
            return (found.is_empty() && cursor.eat(")")).then(Vec::new);
        }
        let is_name = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !is_keyword(word)
        };
        let name = if is_name(cursor.look()) {
            cursor.take()
        } else {
            ""
        };
        found.push((row(cursor, ty)?, name));
    }
    (0..found.len())
        .map(|at| {
            way(&found, at, gives_scalar).map(|way| Given {
                ty: found[at].0.clone(),
                way,
            })
        })
        .collect()
}

/// `int a[]` and `int a[10]` are pointers.
fn row(cursor: &mut Cursor<'_>, ty: Type) -> Option<Type> {
    if !cursor.eat("[") {
        return Some(ty);
    }
    let Type::Scalar(to) = ty else { return None };
    let inner = cursor.look();
    if inner != "]" {
        cursor.at += 1;
    }
    (cursor.eat("]")
        && cursor.look() != "["
        && inner
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ']'))
    .then_some(Type::Pointer {
        constant: false,
        to,
    })
}

fn way(all: &[(Type, &str)], at: usize, gives_scalar: bool) -> Option<Way> {
    let Type::Pointer { constant, to } = &all[at].0 else {
        return Some(Way::Value);
    };
    let count = count_of(all, at);
    if to.words == "char" {
        return match count {
            // Whether it ends with 0 or there are so many is not said.
            Some(place) if !is_length(all[place].1) => None,
            Some(place) => Some(Way::Many(place)),
            None if *constant => Some(Way::Text),
            None => gives_scalar.then_some(Way::Room),
        };
    }
    // `void digits(int n, int *out)`: a number before what is made of it.
    let count =
        count.filter(|place| gives_scalar || *constant || *place > at || is_length(all[*place].1));
    // Values of `bool` that are neither true nor false must not come to be.
    count
        .filter(|_| !matches!(to.words, "bool" | "_Bool"))
        .map(Way::Many)
}

/// The parameter that says how many there are: the next one that is no pointer, or the one before
/// the first pointer.
fn count_of(all: &[(Type, &str)], at: usize) -> Option<usize> {
    let counts = |place: usize| {
        let (ty, name) = &all[place];
        matches!(ty, Type::Scalar(scalar) if scalar.whole && !scalar.words.ends_with("char"))
            && is_count(name)
    };
    let pointer = |place: usize| matches!(all[place].0, Type::Pointer { .. });
    let next = (at + 1..all.len())
        .find(|place| !pointer(*place))
        .filter(|place| counts(*place));
    next.or_else(|| {
        at.checked_sub(1)
            .filter(|before| counts(*before) && !(0..*before).any(pointer))
    })
}

fn is_count(name: &str) -> bool {
    matches!(
        name,
        "n" | "N" | "num" | "nums" | "cnt" | "count" | "elements"
    ) || is_length(name)
        || name.to_ascii_lowercase().ends_with("count")
}

fn is_length(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["len", "length", "size", "sz"]
        .iter()
        .any(|end| lower.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(code: &str, cpp: bool) -> Option<String> {
        let found = surface(code, "HELPER(f, g) f(g(2), test_a);", cpp)
            .filter(|found| !found.is_empty())?;
        let one = |function: &Function| {
            let given: Vec<String> = function
                .given
                .iter()
                .map(|given| format!("{} {:?}", given.ty, given.way))
                .collect();
            format!(
                "{} {}({})",
                function.result,
                function.name,
                given.join(", ")
            )
        };
        Some(found.iter().map(one).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn plain_functions_are_found() {
        let rows = [
            (
                false,
                "#define X {\\\n}\nstatic inline int f(void) { if (1) { } }",
                "int f()",
            ),
            (
                false,
                "struct s { int x; };\nint h(struct s x) { return 1; }\nlong unsigned g(const char \
                 *s) { }",
                "unsigned long g(const char * Text)",
            ),
            (
                false,
                "void f(int a[], size_t n) { }",
                "void f(int * Many(1), __SIZE_TYPE__ Value)",
            ),
            (
                false,
                "double f(int n, const double *a, const double *b) { }",
                "",
            ),
            (false, "int g(char *s) { }", "int g(char * Room)"),
            (
                false,
                "char *f(const char *s, int len) { }",
                "char * f(const char * Many(1), int Value)",
            ),
            (
                true,
                "vector<pair<int, std::string>> f(const std::map<int, bool> &x, string& y) { }",
                "std::vector<std::pair<int, std::string>> f(const std::map<int, bool> & Value, \
                 std::string & Value)",
            ),
            (
                true,
                "namespace a { int f(int x) { } }\nint g() { }",
                "int g()",
            ),
        ];
        for (cpp, code, expected) in rows {
            assert_eq!(shown(code, cpp).unwrap_or_default(), expected, "{code}");
        }
    }

    #[test]
    fn whatever_is_more_than_plain_data_shares_the_process() {
        let rows = [
            (false, "struct s f(int x) { }"),
            (false, "int f(int *x) { }"),
            (false, "int f(int **x, int n) { }"),
            (false, "int f(int x[2][2], int n) { }"),
            (false, "int *f(int n) { }"),
            (false, "void f(char *s) { }"),
            (false, "void f(int n, char *s) { }"),
            (false, "void f(int n, int *out) { }"),
            (false, "static char b[9]; char *f(int n) { }"),
            (false, "int f(const char *s, int n) { }"),
            (false, "int f(_Bool *a, int n) { }"),
            (false, "int f(int (*g)(int)) { }"),
            (false, "int f(int x, ...) { }"),
            (false, "int f(long double x) { }"),
            (false, "__attribute__((constructor)) int f(int x) { }"),
            (false, "int f(x) int x; { }"),
            (true, "template <class T> T f(T x) { }"),
            (true, "int &f(int x) { }"),
            (true, "int f(int x = 3) { }"),
            (true, "auto f(int x) -> int { }"),
            (true, "Any f(int x) { }"),
            (true, "int f(std::function<int()> x) { }"),
            (
                true,
                "std::vector<std::vector<std::vector<std::vector<std::vector<std::vector<int>>>>>> \
                 f() { }",
            ),
        ];
        for (cpp, code) in rows {
            assert_eq!(shown(code, cpp), None, "{code}");
        }
    }

    #[test]
    fn what_the_tests_define_is_not_the_codes() {
        let code = "int f(int x) { }\nvoid check(bool x, const char *y) { }\nvoid check(int x) { }";
        let names = |tests: &str| {
            surface(code, tests, true).map(|found| {
                found
                    .into_iter()
                    .map(|function| function.name)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        };
        let rows = [
            (
                "void check(bool x, std::string y) { } void test_a() { check(f(2)); }",
                Some("f"),
            ),
            (
                "#define check(x) x\nvoid test_a() { check(f(2)); }",
                Some("f"),
            ),
            (
                "struct check { }; void test_a() { check(f(2)); }",
                Some("f"),
            ),
            ("void test_a() { check(f(2)); }", Some("f check check")),
            ("HELPER(check) void test_a() { check(f(2)); }", None),
        ];
        for (tests, expected) in rows {
            assert_eq!(names(tests).as_deref(), expected, "{tests}");
        }
    }

    #[test]
    fn how_many_there_are_must_be_seen_unless_the_tests_say_it() {
        let rows = [
            (
                "void f(int *a, int n) { }",
                "void f(int *b, int count); f(2);",
                false,
            ),
            (
                "void f(int *a, int n) { }",
                "#include \"solution.c\"\nf(2);",
                true,
            ),
            (
                "void f(int *a, int n, int x) { }",
                "void f(int *a, int x, int n); f(2);",
                true,
            ),
            (
                "void f(int *a, int n) { }",
                "void f(int *, int); f(2);",
                true,
            ),
            (
                "int f(const char *a) { }",
                "int f(const char *); f(2);",
                false,
            ),
            ("int f(char *a) { }", "#include \"solution.c\"\nf(2);", true),
            ("int f(char *a) { }", "int f(char *); f(2);", true),
            ("int f(int a) { }", "int f(int); f(2);", false),
        ];
        for (code, tests, expected) in rows {
            let found = surface(code, tests, false).expect(code);
            assert_eq!(
                found[0].given.iter().any(|given| found[0].must_see(given)),
                expected,
                "{code} {tests}"
            );
        }
    }

    #[test]
    fn tests_that_look_at_the_process_or_share_memory_share_it() {
        let included = "#include \"solution.c\"\n";
        let rows = [
            (
                "int f(int x) { }",
                "int f(int); f(2); fflush(stdout);",
                true,
            ),
            ("int f(int x) { }", "void t(void) { f(2); }", false),
            ("int f(int x) { }", "int f(); errno = 0; f(2);", false),
            ("int f(int x) { }", "int f(int); srand(1); f(2);", false),
            ("int f(int x) { }", "int f(int); freopen(n); f(2);", false),
            ("int f(int x) { }", "int f(int); t = clock(); f(2);", false),
            (
                "int f(int x) { }",
                "int f(int); void *operator new(size_t n); f(2);",
                false,
            ),
            (
                "int f(int x) { }",
                "int f(int); void free(void *p) { } f(2);",
                false,
            ),
            ("int f(int x) { }", "#include NET\nint f(int); f(2);", false),
            (
                "int f(int x) { }",
                "#define X 1\n#include \"solution.c\"\nf(2);",
                false,
            ),
            (
                "void f(int *a, const int *b, int n) { }",
                "void f(int *a, const int *b, int n); t() { f(x, y, n); }",
                true,
            ),
            (
                "void f(int *a, const int *b, int n) { }",
                "void f(int *a, const int *b, int n); t() { f(x + 1, x, n); }",
                false,
            ),
            (
                "int f(const int *a, const int *b, int n) { }",
                "int f(const int *a, const int *b, int n); t() { f(x, x, n); }",
                true,
            ),
            (
                "void f(int *a, int n) { }",
                "t() { int x[2]; f(x, 2); }",
                true,
            ),
            (
                "void f(int *a, int n) { }",
                "t() { int x[2][2]; f(x, 2); }",
                false,
            ),
            ("void f(int *a, int n) { }", "t() { f(x[0], 2); }", false),
            (
                "void f(int *a, int n) { }",
                "t() { int *w = x + 2; f(x, 2); }",
                false,
            ),
            (
                "void f(int *a, int n) { }",
                "t() { int *w; w = &x[2]; f(x, 2); }",
                false,
            ),
        ];
        for (code, tests, apart) in rows {
            let tests = if tests.starts_with("t()") {
                format!("{included}{tests}")
            } else {
                tests.to_owned()
            };
            assert_eq!(
                surface(code, &tests, false).is_some(),
                apart,
                "{code} {tests}"
            );
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        let parts = [
            "int", "f", "(", ")", "{", "}", "[", "]", "*", "&", ",", "std::", "vector", "<", ">",
            "const", "n", "#", "\\\n", "\"", "'", "R\"(", "é", ";", "void",
        ];
        let mut state = 1_u64;
        for round in 0..4_000 {
            let mut text = String::new();
            for _ in 0..24 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                text.push_str(parts[usize::try_from(state >> 33).unwrap_or(0) % parts.len()]);
                text.push_str(if state & 1 == 0 { " " } else { "" });
            }
            let _ = surface(&text, "f n vector", round % 2 == 0);
        }
    }
}
