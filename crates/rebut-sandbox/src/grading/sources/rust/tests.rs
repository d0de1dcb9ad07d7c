//! What is read of code, and that nothing of hostile code goes into the program of the tests but
//! names.

use super::{
    super::tokens::{Dialect, tokens},
    check_words, find, has_own_module,
    named::named,
    offer::{Kind, Offer, offer},
    open, print,
    surface::surface,
};
use std::collections::BTreeSet;

fn offered(code: &str, tests: &str, private: bool) -> Option<Offer> {
    offer(
        surface(code),
        &named(&tokens(tests, Dialect::Rust))?,
        private,
    )
}

/// The names of what can be asked for, in order.
fn names(code: &str, tests: &str, private: bool) -> String {
    let offer = offered(code, tests, private).expect("it is small");
    let calls = offer.calls.iter().map(|call| match &call.kind {
        Kind::Function(one) => one
            .of
            .iter()
            .map(|of| format!("{of}::"))
            .chain([one.name.clone()])
            .collect::<String>(),
        Kind::Trait(name, of) => format!("{name} for {of}"),
    });
    let copied = offer.copied.iter().map(|one| format!("copy {}", one.name));
    let kept = offer.kept.iter().map(|one| format!("keep {}", one.name));
    let consts = offer
        .consts
        .iter()
        .map(|one| format!("{} = {}", one.name, one.value));
    copied
        .chain(kept)
        .chain(consts)
        .chain(calls)
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn what_is_not_understood_is_not_offered() {
    let rows = [
        (
            "pub fn f(x: i32) -> i32 { x } fn g() {} pub(crate) fn h() {}",
            "f",
        ),
        (
            "pub const fn f() {} pub async fn g() {} pub unsafe fn h() {} pub extern \"C\" fn i() \
             {}",
            "f",
        ),
        (
            "pub fn f<T>(x: T) {} pub fn g<'a>(x: &'a str) -> &'a str { x } pub fn h<const N: \
             usize>() {}",
            "g",
        ),
        (
            "pub fn f(x: impl Fn()) {} pub fn g(x: &dyn Fn()) {} pub fn h(x: fn(i32)) {} pub fn \
             i() -> impl Iterator {}",
            "",
        ),
        (
            "pub fn f(x: &mut Vec<i32>, y: &mut [u8]) {} pub fn g(x: &mut str) {} pub fn h() -> \
             &'static mut i32 {}",
            "f",
        ),
        (
            "pub fn f(x: Vec<i32, A>) {} pub fn g(x: Option) {} pub fn h(x: Rc<i32>) {} pub fn \
             i(x: a::b::C) {}",
            "",
        ),
        (
            "#[cfg(test)] pub fn f() {} #[no_mangle] pub fn g() {} #[inline] #[must_use] pub fn \
             h() {}",
            "h",
        ),
        (
            "pub fn f() {} pub fn f(x: i32) {} pub fn r#g() {} pub fn é() {} pub fn drop() {} pub \
             fn rebut_x() {}",
            "",
        ),
        (
            "mod m { pub fn f() {} } macro_rules! m { () => { pub fn g() {} } } m! { pub fn h() {} \
             } pub use m::f;",
            "",
        ),
        (
            "pub const A: i32 = 0x1_0; pub const b: i32 = 1; pub const C: i32 = f(); pub const D: \
             u8 = 7u8; pub const E: bool = true;",
            "A = 16, D = 7, E = true",
        ),
        (
            "pub struct T { pub a: i32 } pub fn f() -> T {} impl T { pub fn m(&self) {} fn \
             n(&self) {} }",
            "copy T, f, T::m",
        ),
        (
            "pub struct T { a: i32 } impl T { pub fn new() -> Self {} pub fn m(&self) {} }",
            "keep T, T::new, T::m",
        ),
        (
            "pub struct U { pub a: i32 } impl U { pub fn m(&self) {} } pub fn f() -> U {}",
            "copy U, f",
        ),
        (
            "pub struct U { a: i32 } impl U { pub fn is_ok(&self) -> bool { true } } pub fn f() -> \
             U {}",
            "",
        ),
        (
            "pub struct T { pub a: i32 } impl T { pub fn ok() -> T {} pub fn is_ok(&self) -> bool \
             { true } }",
            "copy T, T::ok",
        ),
        (
            "pub struct T { pub a: i32 } impl PartialEq for T { } pub fn f() -> T {}",
            "keep T, f, PartialEq for T",
        ),
        (
            "pub struct T { pub a: i32 } impl PartialEq<i32> for T { } pub fn f() -> T {}",
            "copy T, f",
        ),
        (
            "#[derive(Debug, Serialize)] pub struct T { pub a: i32 }",
            "keep T, Debug for T",
        ),
        (
            "pub struct T<X> { pub a: X } impl<X> T<X> { pub fn m(&self) {} } pub fn f() -> T<i32> \
             {}",
            "",
        ),
        ("pub struct T; impl Drop for T { } pub fn f() -> T {}", ""),
        (
            "pub struct String; pub enum Option { Some } pub struct item; pub struct i32; pub \
             struct Item;",
            "copy Item",
        ),
        (
            "pub type T = (i32, G); type G = Vec<u8>; pub fn f(x: &T) -> G {}",
            "f",
        ),
        (
            "type A = (B, B, B, B, B, B, B, B); type B = (C, C, C, C, C, C, C, C); type C = (A, A, \
             A, A, A, A, A, A); pub fn f(x: A) {}",
            "",
        ),
    ];
    for (code, expected) in rows {
        assert_eq!(names(code, "T Item", false), expected, "{code}");
    }
    assert_eq!(
        names(
            "fn f() {} struct P { a: i32 } const LIMIT: u8 = 3;",
            "P",
            true
        ),
        "copy P, LIMIT = 3, f"
    );
}

/// Code with most of what can be offered, and with words that must stay where they are.
const CODE: &str = r#"
//! canary
use canary::*;
#[doc = "canary"] #[derive(Debug, Clone, PartialEq)] /* canary */
pub struct T { pub a: Vec<Option<(i32, f64)>>, b: [u8; 3] }
#[derive(Debug, PartialEq)] pub enum E { #[doc = "canary"] A, B(String), C { x: Box<E> } }
impl std::fmt::Display for E { fn canary() {} }
pub struct K { canary: canary::Canary }
impl K { pub fn new(canary: i32) -> Result<Self, E> { canary!() } pub fn m(&mut self, o: &K) -> Option<Vec<K>> { "canary" } }
pub const LIMIT: u64 = 10;
pub fn f<'canary>(x: &'canary str, canary: &mut [i32], (canary, _): (T, E)) -> &'canary str { let canary = r"canary"; canary }
trait Canary { fn canary(&self); }
"#;

#[test]
fn the_program_of_the_tests_holds_nothing_of_the_code_but_names() {
    let offer = offered(CODE, "T E K", false).expect("it is small");
    assert_eq!(offer.calls.len(), 4, "{offer:#?}");
    let stubs = print::stubs(&offer);
    assert!(!stubs.to_lowercase().contains("canary"), "{stubs}");
    for name in [
        "pub struct T",
        "pub enum E",
        "pub struct K",
        "pub const LIMIT",
        "pub fn new(a0: i32)",
        "pub fn f(a0: &str, a1: &mut [i32]",
    ] {
        assert!(stubs.contains(name), "{name}: {stubs}");
    }
}

#[test]
fn hostile_text_is_read_to_its_end() {
    let deep = |text: &str| text.repeat(100_000);
    let mut all: Vec<String> = [
        "&",
        "[",
        "(",
        "{",
        "Vec<",
        "#[",
        "impl T {",
        "pub fn f(x: ",
        "'",
        "r#",
        "/*",
        "::",
        "pub(",
        "<",
        "-",
        "fn",
        "}",
    ]
    .map(deep)
    .to_vec();
    all.extend(
        [
            "pub fn f(x: &",
            "pub fn f(x: (",
            "pub struct T { a: ",
            "impl T { fn f(",
            "#",
            "pub",
            "const A: i32 = -",
            "enum E { A = ",
        ]
        .map(str::to_owned),
    );
    all.push(format!("pub fn f(x: {}", deep("&[")));
    all.push(format!(
        "pub fn f(x: {}i32{}) {{}}",
        deep("Vec<"),
        deep(">")
    ));
    all.push(
        deep("pub fn f(x: &[&[&[&[&[&[&[&[&[&[&[&[x) {}\n")
            .split_at(1 << 20)
            .0
            .to_owned(),
    );
    all.extend(
        CODE.char_indices()
            .flat_map(|(at, _)| [CODE[..at].to_owned(), CODE[at..].to_owned()]),
    );
    for code in &all {
        if let Some(offer) = offered(code, "T E K", true) {
            assert!(print::stubs(&offer).len() < 1 << 20 && !print::answers(&offer).is_empty());
        }
    }
}

#[test]
fn the_code_does_not_change_what_tests_judge_with() {
    let tests = "#[test] fn a() { assert_eq!(f(), 1); }";
    let rows = [
        ("pub fn f() -> i32 { assert_eq!(1, 1); 1 }", true),
        (
            "#[derive(PartialEq, Debug)] pub struct A; impl PartialEq for B { }",
            true,
        ),
        (
            "#[macro_export] macro_rules! assert_eq { ($($t:tt)*) => {} }",
            false,
        ),
        ("pub use std::stringify as assert_eq;", false),
        ("make!(assert_eq);", false),
        (
            "impl PartialEq<i32> for Any { fn eq(&self, _: &i32) -> bool { true } }",
            false,
        ),
        ("use std::cmp::PartialEq as P;", false),
        (
            "impl PartialEq::<i32> for Any { fn eq(&self, _: &i32) -> bool { true } }",
            false,
        ),
        (
            "macro_rules! m { ($t:ident) => { impl $t<i32> for Any {} } } m!(PartialEq);",
            false,
        ),
        (
            "macro_rules! m { () => { impl PartialEq ::<i32> for Any {} } } m!{}",
            false,
        ),
        ("m! { #[derive(PartialEq)] }", false),
        (
            "macro_rules! m { ($t:tt) => { impl PartialEq $t for Any {} } }",
            false,
        ),
        (
            "fn f(a: &mut Vec<i32>) { vec![1]; } #[derive(PartialEq)] struct A; fn g<T: PartialEq \
             + Copy>(t: T) {}",
            true,
        ),
        (
            "fn f(a: bool) -> bool { !a } fn g() -> bool { if !(1 == 2) { x() } true } \
             #[derive(PartialEq)] struct A;",
            true,
        ),
    ];
    let tests: BTreeSet<&str> = tokens(tests, Dialect::Rust)
        .iter()
        .map(|word| word.text)
        .collect();
    for (code, fine) in rows {
        assert_eq!(check_words(code, &tests).is_ok(), fine, "{code}");
    }
}

#[test]
fn tests_are_found_by_their_paths_and_opened() {
    let text = "use solution::*;\n#[test]\nfn a() {}\n// #[test] fn no() {}\n#[test] \
        #[should_panic(expected = \"x\")] fn b() { if x {} }\nfn helper() {}\n\
                mod inner { use super::*; #[test]\n fn c() -> Result<(), String> { Ok(()) } \
                #[should_panic] #[ignore] #[test] pub fn d() {} }";
    let opened = open(text);
    let found: Vec<(String, Option<String>, bool)> = find(&opened)
        .into_iter()
        .map(|test| (test.path, test.should_panic, test.ignored))
        .collect();
    let expected = [
        ("a", None, false),
        ("b", Some("\"x\""), false),
        ("inner::c", None, false),
        ("inner::d", Some("\"\""), true),
    ];
    assert_eq!(
        found,
        expected.map(|(path, panics, ignored)| (
            path.to_owned(),
            panics.map(str::to_owned),
            ignored
        ))
    );
    assert!(
        opened.contains("pub mod inner")
            && !opened.contains("#[test]\n")
            && opened.contains("\nfn helper"),
        "{opened}"
    );
    assert!(has_own_module("use x; mod tests { }") && !has_own_module("fn a() { mod x { } }"));
}

#[test]
fn methods_that_are_meant_to_be_of_others_are_not_the_codes() {
    let code = "pub struct T { a: i32 } pub fn f() -> T {} impl T { pub fn new() -> T {} pub fn \
        len(&self) -> usize {} \
                pub fn check(&self) {} pub fn eq(&self, x: &i32) -> bool {} pub fn turned(&self) \
                -> T {} }";
    // The methods that are left, if any.
    let rows = [
        ("T::new().check(); f();", Some("len check turned")),
        (
            "trait C { fn check(&self); } T::new(); f().check();",
            Some("len turned"),
        ),
        ("T::new(); f().len();", None),
        ("T::new(); let mut x = f(); x.check(); x.len();", None),
        ("let x = T::new().turned(); x.len();", None),
        (
            "let x: T = T::new(); x.len(); f();",
            Some("len check turned"),
        ),
        (
            "let x = T::new(); x.len(); let y: T = f(); y.len();",
            Some("len check turned"),
        ),
        ("T::new().turned().check();", Some("len check turned")),
    ];
    for (tests, expected) in rows {
        let (words, mut found) = (tokens(tests, Dialect::Rust), surface(code));
        let held = super::meant::Meant::of(&words).hold(&mut found, &named(&words).expect(tests));
        let left: Vec<&str> = found
            .functions
            .iter()
            .filter(|one| one.method)
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(
            held.map(|()| left.join(" ")).as_deref(),
            expected,
            "{tests}"
        );
    }
}
