//! What of Go code its tests name, as far as plain data goes in and out of it.

use super::{
    super::tokens::{Dialect, Token, has_computed_format, tokens},
    declared::{Declared, Function, Shape, declared},
    types::{Type, is_name, is_predeclared, may_declare},
};
use std::collections::{BTreeMap, BTreeSet};

/// Methods that Go's own library calls without being told to: with one of these the code would
/// judge in the tests' process.
const UNASKED: &str = "String GoString Error Format Is As Unwrap Equal Len Less Swap Read Write \
    Scan MarshalJSON MarshalText MarshalBinary \
    UnmarshalJSON UnmarshalText UnmarshalBinary GobEncode GobDecode";

/// Words of tests that look at or prepare the process itself, its files or its random numbers: the
/// code must be in it then. Its time and memory too, and what several goroutines do at once.
const TOGETHER: &str = "ioutil TempDir Setenv Chdir SetOutput Seed runtime syscall exec \
    AllocsPerRun Benchmark unsafe fstest httptest debug go";

/// What stands for the code beside its tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Surface {
    pub package: String,
    pub functions: Vec<Function>,
    pub types: BTreeMap<String, Shape>,
    /// Errors that are known by name, and their texts.
    pub errors: Vec<(String, String)>,
}

/// Functions whose format could take what is expected out of their arguments, and its place.
const FORMATS: &[(&str, usize)] = &[
    ("Sprintf", 0),
    ("Fprintf", 1),
    ("Appendf", 1),
    ("Sscanf", 1),
];

/// What the tests need of the code, if all of it is plain.
pub(super) fn surface(code: &str, tests: &str) -> Option<Surface> {
    let (words, test_words) = (tokens(code, Dialect::Go), tokens(tests, Dialect::Go));
    let package = package_of(&words)
        .filter(|name| is_name(name) && !name.ends_with("_test") && !name.starts_with("rebut"))?;
    let tests_package = package_of(&test_words)?;
    let outside = tests_package.strip_suffix("_test") == Some(package);
    (outside || tests_package == package).then_some(())?;
    let together = |word: &str| TOGETHER.split(' ').any(|other| other == word);
    let of_system = |three: &[Token<'_>]| {
        three[0].text == "os" && three[1].text == "." && three[2].text != "Exit"
    };
    // Errors of the library cross as their texts.
    let of_library = |three: &[Token<'_>]| match (three[0].text, three[1].text, three[2].text) {
        ("errors", ".", "As") | (_, ".", "EOF") => true,
        (owner, ".", name) => {
            owner != package
                && name
                    .strip_prefix("Err")
                    .is_some_and(|rest| rest.starts_with(char::is_uppercase))
        }
        _ => false,
    };
    let looks = |three: &[Token<'_>]| of_system(three) || of_library(three);
    let is_plain = !test_words.iter().any(|word| together(word.text))
        && !test_words.windows(3).any(looks)
        && !has_computed_format(&test_words, FORMATS);
    is_plain.then_some(())?;
    let declared = declared(code, &words);
    (!declared.names.iter().any(|name| is_predeclared(name))).then_some(())?;
    let named = named(&test_words, outside);
    let mut found = Surface {
        package: package.to_owned(),
        ..Surface::default()
    };
    let mut wanted = Vec::new();
    for (name, function) in declared
        .functions
        .iter()
        .filter(|(name, _)| named.contains(name.as_str()) && *name != "main")
    {
        let function = function
            .as_ref()
            .filter(|_| may_declare(name) && !name.starts_with("Test"))?;
        function
            .given
            .iter()
            .chain(&function.results)
            .for_each(|one| wanted.push(one.clone()));
        found.functions.push(function.clone());
    }
    wanted.extend(
        declared
            .types
            .keys()
            .filter(|name| named.contains(name.as_str()))
            .cloned()
            .map(Type::Named),
    );
    let all_words: BTreeSet<&str> = test_words.iter().map(|word| word.text).collect();
    add_types(&mut found, &declared, wanted, &all_words)?;
    // A type that the tests do not name has no say: its methods could answer in place of those of
    // another one that they think of.
    let asks_unnamed = |function: &Function| {
        function
            .receiver
            .as_ref()
            .is_some_and(|(_, owner)| !is_meant(owner, &named, &declared))
    };
    (!found.functions.iter().any(asks_unnamed)).then_some(())?;
    found.errors = declared
        .errors
        .into_iter()
        .filter(|(name, _)| named.contains(name.as_str()) && may_declare(name))
        .collect();
    keys_are_plain(&found).then_some(found)
}

fn package_of<'a>(words: &[Token<'a>]) -> Option<&'a str> {
    words
        .first()
        .filter(|first| first.text == "package")
        .and(words.get(1))
        .map(|name| name.text)
}

/// Names of the tests that may be the code's: those behind no dot, or from outside its package
/// those behind one.
fn named<'a>(words: &[Token<'a>], outside: bool) -> BTreeSet<&'a str> {
    let behind_dot = |at: usize| at > 0 && words[at - 1].text == ".";
    words
        .iter()
        .enumerate()
        .filter(|(at, _)| outside || !behind_dot(*at))
        .map(|(_, word)| word.text)
        .collect()
}

/// Whether the tests name a type, or call what makes one by its name.
fn is_meant(name: &str, named: &BTreeSet<&str>, declared: &Declared) -> bool {
    let makers = ["New", "new", "Make", "make", "Create", "create"];
    let made = |maker: &str| {
        let results = declared
            .functions
            .get(maker)
            .and_then(Option::as_ref)
            .map_or(&[][..], |function| &function.results);
        named.contains(maker)
            && results
                .iter()
                .any(|ty| *ty == Type::Named(name.to_owned()) || is_pointer_to(ty, name))
    };
    named.contains(name)
        || made("New")
        || makers.iter().any(|maker| made(&format!("{maker}{name}")))
}

fn is_pointer_to(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Pointer(inner) if **inner == Type::Named(name.to_owned()))
}

/// Adds each wanted type with its methods, and what those need.
fn add_types(
    found: &mut Surface,
    declared: &Declared,
    mut wanted: Vec<Type>,
    all_words: &BTreeSet<&str>,
) -> Option<()> {
    while let Some(next) = wanted.pop() {
        let mut names = Vec::new();
        next.names(&mut names);
        for name in names {
            if found.types.contains_key(name) {
                continue;
            }
            let shape = declared
                .types
                .get(name)
                .filter(|_| may_declare(name))?
                .clone()?;
            match &shape {
                Shape::Struct(fields) => wanted.extend(fields.iter().map(|(_, ty)| ty.clone())),
                Shape::Of(ty) => wanted.push(ty.clone()),
            }
            found.types.insert(name.to_owned(), shape);
            for (_, method, function) in declared
                .methods
                .iter()
                .filter(|(owner, _, _)| owner == name)
            {
                (!UNASKED.split(' ').any(|word| word == method)).then_some(())?;
                if all_words.contains(method.as_str()) {
                    let function = function.as_ref().filter(|_| may_declare(method))?;
                    wanted.extend(function.given.iter().chain(&function.results).cloned());
                    found.functions.push(function.clone());
                }
            }
        }
    }
    Some(())
}

/// Keys of maps are written before their entries are put in order: nothing in them may lead
/// elsewhere.
fn keys_are_plain(found: &Surface) -> bool {
    let mut all: Vec<&Type> = found
        .functions
        .iter()
        .flat_map(|function| function.given.iter().chain(&function.results))
        .collect();
    all.extend(found.types.values().flat_map(|shape| match shape {
        Shape::Struct(fields) => fields.iter().map(|(_, ty)| ty).collect::<Vec<_>>(),
        Shape::Of(ty) => vec![ty],
    }));
    let mut keys = Vec::new();
    all.into_iter().for_each(|ty| ty.keys(&mut keys));
    keys.into_iter().all(|key| is_key(key, found, 8))
}

fn is_key(ty: &Type, found: &Surface, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else {
        return false;
    };
    match ty {
        Type::Basic(_) => true,
        Type::Array(_, inner) => is_key(inner, found, left),
        Type::Named(name) => match found.types.get(name) {
            Some(Shape::Struct(fields)) => fields.iter().all(|(_, ty)| is_key(ty, found, left)),
            Some(Shape::Of(ty)) => is_key(ty, found, left),
            None => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUDGE: &str =
        "package solution\nimport \"testing\"\nfunc TestA(t *testing.T) { F(G, T{}, ErrX); x.M() }";

    #[test]
    fn plain_functions_and_types_are_found() {
        let rows = [
            (
                "func F(a, b int, c ...string) (x []int, err error) { return }",
                "F(int int string...) []int error",
            ),
            (
                "func F(int, map[string][]float64) *T { }\ntype T struct {\n\tA, B int\n\tn *T\n}",
                "F(int map[string][]float64) *T",
            ),
            (
                "func (t *T) M(x [3]byte) bool { }\ntype T struct{}\nfunc F() {}\nfunc unseen(f \
                 func()) {}",
                "F() T.M([3]byte) bool",
            ),
            (
                "func F(a T) {}\ntype (\n\tT []int\n\tU struct {\n\t\tf func()\n\t}\n)",
                "F(T)",
            ),
            (
                "func G() { func() { }() }\nfunc F(s string) rune { return '}' }",
                "F(string) rune G()",
            ),
        ];
        for (code, expected) in rows {
            let found = surface(&format!("package solution\n{code}"), JUDGE)
                .unwrap_or_else(|| panic!("{code}"));
            let shown: Vec<String> = found.functions.iter().map(shown).collect();
            assert_eq!(shown.join(" "), expected, "{code}");
        }
    }

    fn shown(function: &Function) -> String {
        let list = |types: &[Type]| {
            types
                .iter()
                .map(Type::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let owner = function
            .receiver
            .as_ref()
            .map_or(String::new(), |(_, owner)| format!("{owner}."));
        let dots = if function.variadic { "..." } else { "" };
        format!(
            "{owner}{}({}{dots}) {}",
            function.name,
            list(&function.given),
            list(&function.results)
        )
        .trim_end()
        .to_owned()
    }

    #[test]
    fn whatever_is_more_than_plain_data_shares_the_process() {
        let rows = [
            "func F[T any](x T) T { }",
            "func F(x interface{}) {}",
            "func F(x any) {}",
            "func F(x func(int) int) {}",
            "func F(x chan int) {}",
            "func F(x T) {}\ntype T interface { M() }",
            "func F(x T) {}\ntype T = int",
            "func F(x T) {}\ntype T struct {\n\tBase\n\tOther\n}",
            "func F(x T) {}\ntype T struct {\n\tA int `json:\"a\"`\n}",
            "func F(x T) {}\ntype T struct { A int }\nfunc (t T) String() string { }",
            "func F(x T) {}\ntype T struct { A int }\nfunc (t T) M(f func()) { }",
            "func F(x T) {}\ntype T struct { A interface{} }",
            "func F(x map[*int]int) {}",
            "func F(x os.File) {}",
            "func F(x int) {}\nfunc len(x int) int { return 0 }",
            "func F(x int) {}\nconst nil = 0",
            "func F(x int) {}\ntype int float64",
            "func F(x rebutwire) {}\ntype rebutwire int",
            "func F(x [99999999999]int) {}",
            "func F(x [][][][][][][][][][]int) {}",
            "func F(x int)",
            "func F(",
            "func F(x int) U { }\ntype U struct { n int }\nfunc (u U) M() bool { }",
        ];
        for code in rows {
            assert_eq!(
                surface(&format!("package solution\n{code}"), JUDGE),
                None,
                "{code}"
            );
        }
        for code in [
            "",
            "package",
            "package _ func F() {}",
            "package solution_test\nfunc F() {}",
            "package other\nfunc F() {}",
        ] {
            assert_eq!(surface(code, JUDGE), None, "{code}");
        }
    }

    #[test]
    fn tests_that_look_at_the_process_share_it() {
        let code = "package solution\nfunc F() {}";
        for (line, apart) in [
            ("os.Exit(F())", true),
            ("go F()", false),
            ("testing.Benchmark(F)", false),
            ("F() == io.EOF", false),
            ("F() == ErrX", true),
            ("os.Stdout = w; F()", false),
            ("F(t.TempDir())", false),
            ("rand.Seed(1); F()", false),
        ] {
            let tests = format!("package solution\nfunc TestA(t *testing.T) {{ {line} }}");
            assert_eq!(surface(code, &tests).is_some(), apart, "{line}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        let parts = [
            "func",
            "type",
            "var (",
            "(",
            ")",
            "{",
            "}",
            "[",
            "]",
            "struct",
            "F",
            "T",
            "*",
            ",",
            ".",
            "map",
            "\n",
            "=",
            "errors.New(",
            "\"",
            "`",
            "'",
            "é",
            ";",
            "_",
        ];
        let mut state = 1_u64;
        for _ in 0..4_000 {
            let mut text = String::from("package solution\n");
            for _ in 0..24 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                text.push_str(parts[usize::try_from(state >> 33).unwrap_or(0) % parts.len()]);
                text.push_str(if state & 1 == 0 { " " } else { "" });
            }
            let _ = surface(&text, JUDGE);
        }
    }
}
