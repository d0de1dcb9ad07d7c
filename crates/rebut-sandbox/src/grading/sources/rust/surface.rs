//! What code offers at its top level, as far as it can be understood without a doubt. What is not
//! understood is not offered.

use super::{
    super::tokens::{Dialect, tokens},
    types::{Cursor, DEPTH, Ty, UNIT, is_name, read},
};
use std::collections::BTreeMap;

/// What was understood of a text.
#[derive(Debug, Default)]
pub(super) struct Surface {
    pub functions: Vec<Function>,
    pub types: Vec<Type>,
    pub consts: Vec<Const>,
    /// Traits of the standard library that the code implements by hand: the trait, the type.
    pub impls: Vec<(String, String)>,
    /// Other names of types: public or not, the name, what it means.
    pub aliases: Vec<(bool, String, Ty)>,
    /// Types of the standard library that are in scope by a `use`: public or not, the path.
    pub imports: Vec<(bool, &'static str)>,
}

/// A function, or one of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub public: bool,
    pub of: Option<String>,
    pub name: String,
    /// Whether the first parameter is `self`.
    pub method: bool,
    pub params: Vec<Ty>,
    pub result: Ty,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub public: bool,
    pub name: String,
    pub derives: Vec<String>,
    /// Nothing where it is of another kind than can be copied.
    pub shape: Option<Shape>,
    /// Without parameters. Others are not offered at all.
    pub simple: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Struct(Fields),
    /// The variants: the name, what it holds, its number, whether it is the default.
    Enum(Vec<(String, Fields, Option<i64>, bool)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fields {
    None,
    Tuple(Vec<(bool, Ty)>),
    Named(Vec<(bool, String, Ty)>),
}

/// A constant with a value that is written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Const {
    pub public: bool,
    pub name: String,
    pub ty: Ty,
    pub value: String,
}

/// Names that mean something to whoever writes tests. An item of the code with such a name is not
/// offered.
const TAKEN: &str = "std core alloc solution checks harness test main drop str i8 i16 i32 i64 i128 \
    isize u8 u16 u32 u64 u128 usize f16 f32 \
    f64 f128 bool char Vec String Option Some None Result Ok Err Box HashMap BTreeMap HashSet \
    BTreeSet VecDeque Ordering \
    ToString ToOwned Into From TryFrom TryInto AsyncFn AsyncFnMut AsyncFnOnce Iterator \
    IntoIterator FromIterator Extend \
    DoubleEndedIterator ExactSizeIterator Clone Copy Debug Default Eq PartialEq Ord PartialOrd \
    Hash Send Sync Sized Unpin \
    Drop Fn FnMut FnOnce AsRef AsMut Future IntoFuture size_of align_of size_of_val align_of_val";

/// Attributes that change nothing of what an item means to its callers.
const HARMLESS: &[&str] = &[
    "derive",
    "doc",
    "inline",
    "must_use",
    "allow",
    "warn",
    "deny",
    "expect",
    "track_caller",
    "cold",
    "repr",
    "rustfmt",
];

fn is_free(name: &str) -> bool {
    is_name(name)
        && !TAKEN.split(' ').any(|taken| taken == name)
        && !name.to_ascii_lowercase().starts_with("rebut")
}

/// A name that no variable has: a constant or a type called `item` would take the place of the
/// `item` in `while let Some(item) = …`.
fn is_large(name: &str) -> bool {
    is_free(name) && name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// The same for constants, which are written large as a whole.
fn is_all_large(name: &str) -> bool {
    is_large(name) && !name.contains(|c: char| c.is_ascii_lowercase())
}

pub(super) fn surface(code: &str) -> Surface {
    let words = tokens(code, Dialect::Rust);
    let mut found = Surface::default();
    let mut cursor = Cursor {
        words: &words,
        at: 0,
    };
    while cursor.at < words.len() {
        let head = head(&mut cursor);
        let start = cursor.clone();
        skip_item(&mut cursor);
        if head.odd {
            continue;
        }
        let inner = Cursor {
            words: &words[..cursor.at],
            at: start.at,
        };
        let _ = item(&head, inner, &mut found);
    }
    found.without_doubles();
    found
}

#[derive(Default)]
struct Head {
    public: bool,
    derives: Vec<String>,
    /// An attribute that may change anything.
    odd: bool,
    default: bool,
}

fn head(cursor: &mut Cursor<'_>) -> Head {
    let mut head = Head::default();
    while cursor.peek() == "#" {
        cursor.at += 1;
        cursor.take("!");
        let start = cursor.at;
        cursor.group();
        let inner: Vec<&str> = cursor.words[start.min(cursor.at)..cursor.at]
            .iter()
            .map(|word| word.text)
            .collect();
        match inner.get(1) {
            Some(&"derive") => head.derives.extend(
                inner
                    .iter()
                    .filter(|word| is_name(word) && **word != "derive")
                    .map(|word| (*word).to_owned()),
            ),
            Some(&"default") if inner.len() == 3 => head.default = true,
            Some(word) if HARMLESS.contains(word) => {}
            _ => head.odd = true,
        }
    }
    if cursor.take("pub") {
        head.public = cursor.peek() != "(";
        if !head.public {
            cursor.group();
        }
    }
    head
}

/// To the end of an item: its semicolon, or its braces.
fn skip_item(cursor: &mut Cursor<'_>) {
    while cursor.at < cursor.words.len() {
        match cursor.peek() {
            ";" => {
                cursor.at += 1;
                return;
            }
            "{" => return cursor.group(),
            "(" | "[" => cursor.group(),
            _ => cursor.at += 1,
        }
    }
}

fn item(head: &Head, mut cursor: Cursor<'_>, found: &mut Surface) -> Option<()> {
    let mut after_const = cursor.clone();
    if cursor.peek() == "fn" || (after_const.take("const") && after_const.peek() == "fn") {
        found.functions.push(function(head, cursor, None)?);
    } else if cursor.take("const") {
        found.consts.push(constant(head, cursor)?);
    } else if cursor.take("struct") || cursor.peek() == "enum" {
        let is_enum = cursor.take("enum");
        let name = cursor.name().filter(|name| is_large(name))?.to_owned();
        let simple = cursor.peek() != "<";
        let shape = if is_enum {
            variants(cursor)
        } else {
            fields(&mut cursor, false).map(Shape::Struct)
        };
        found.types.push(Type {
            public: head.public,
            name,
            derives: head.derives.clone(),
            shape: shape.filter(|_| simple),
            simple,
        });
    } else if cursor.take("type") {
        let name = cursor.name().filter(|name| is_large(name))?.to_owned();
        cursor.want("=")?;
        found
            .aliases
            .push((head.public, name, read(&mut cursor, None, DEPTH)?));
    } else if cursor.take("impl") {
        implementation(cursor, found)?;
    } else if cursor.take("use") {
        cursor.colons();
        let words: Vec<&str> = cursor.words[cursor.at..]
            .iter()
            .map(|word| word.text)
            .collect();
        let is_plain = words.first() == Some(&"std") && !words.contains(&"as");
        let known = IMPORTS.iter().filter(|path| {
            is_plain
                && path
                    .rsplit(':')
                    .next()
                    .is_some_and(|name| words.contains(&name))
        });
        found.imports.extend(known.map(|path| (head.public, *path)));
    }
    Some(())
}

/// Types that tests use through the `use` of the code.
const IMPORTS: &[&str] = &[
    "::std::collections::HashMap",
    "::std::collections::HashSet",
    "::std::collections::BTreeMap",
    "::std::collections::BTreeSet",
    "::std::collections::VecDeque",
    "::std::collections::BinaryHeap",
    "::std::cmp::Ordering",
    "::std::cmp::Reverse",
];

/// `impl T { … }`, or `impl Trait for T { … }`.
fn implementation(mut cursor: Cursor<'_>, found: &mut Surface) -> Option<()> {
    let mut first = cursor.name()?;
    while cursor.colons() {
        first = cursor.name()?;
    }
    if cursor.take("for") {
        let of = cursor.name()?;
        cursor.want("{")?;
        found.impls.push((first.to_owned(), of.to_owned()));
        return Some(());
    }
    cursor.want("{")?;
    let end = cursor.words.len().saturating_sub(1);
    while cursor.at < end {
        let head = head(&mut cursor);
        let start = cursor.at;
        skip_item(&mut cursor);
        let words = &cursor.words[..cursor.at];
        if !head.odd {
            found
                .functions
                .extend(function(&head, Cursor { words, at: start }, Some(first)));
        }
    }
    Some(())
}

/// `fn name(…) -> …`, without generic parameters but lifetimes.
fn function(head: &Head, mut cursor: Cursor<'_>, of: Option<&str>) -> Option<Function> {
    cursor.take("const");
    cursor.want("fn")?;
    let name = cursor.name()?.to_owned();
    if of.is_none() && !is_free(&name) {
        return None;
    }
    if cursor.take("<") {
        while cursor.lifetime() {
            cursor.take(",");
        }
        cursor.want(">")?;
    }
    cursor.want("(")?;
    let mut params = Vec::new();
    let own = of.and_then(|of| receiver(&mut cursor, of));
    let method = own.is_some();
    params.extend(own);
    cursor.take(",");
    while !cursor.take(")") {
        let param = head_of_param(&mut cursor)?;
        params.push(read(param, of, DEPTH)?);
        if !cursor.take(",") && cursor.peek() != ")" {
            return None;
        }
    }
    let result = if cursor.take("-") {
        cursor.want(">")?;
        read(&mut cursor, of, DEPTH)?
    } else {
        Ty::Simple(UNIT)
    };
    cursor.want("{")?;
    (params.len() <= 12).then_some(Function {
        public: head.public,
        of: of.map(str::to_owned),
        name,
        method,
        params,
        result,
    })
}

/// Past the name of a parameter, or the pattern in its place, to its type.
fn head_of_param<'a, 'b>(cursor: &'b mut Cursor<'a>) -> Option<&'b mut Cursor<'a>> {
    cursor.take("mut");
    match cursor.peek() {
        "(" | "[" => cursor.group(),
        "_" => cursor.at += 1,
        _ => {
            cursor.name()?;
        }
    }
    cursor.want(":")?;
    Some(cursor)
}

fn receiver(cursor: &mut Cursor<'_>, of: &str) -> Option<Ty> {
    let mut ahead = cursor.clone();
    let is_ref = ahead.take("&");
    if is_ref {
        ahead.lifetime();
    }
    let is_mut = ahead.take("mut");
    if !ahead.take("self") || ahead.peek() == ":" {
        return None;
    }
    *cursor = ahead;
    let own = Ty::Named(of.to_owned());
    Some(match (is_ref, is_mut) {
        (false, _) => own,
        (true, false) => Ty::Ref(Box::new(own)),
        (true, true) => Ty::RefMut(Box::new(own)),
    })
}

/// What a struct or a variant holds.
fn fields(cursor: &mut Cursor<'_>, of_variant: bool) -> Option<Fields> {
    if cursor.take("(") {
        let mut found = Vec::new();
        while !cursor.take(")") {
            let head = head(cursor);
            found.push((
                head.public,
                read(cursor, None, DEPTH).filter(|_| !head.odd)?,
            ));
            if !cursor.take(",") && cursor.peek() != ")" {
                return None;
            }
        }
        return Some(Fields::Tuple(found)).filter(|_| of_variant || cursor.peek() == ";");
    }
    if !cursor.take("{") {
        return Some(Fields::None).filter(|_| of_variant || cursor.peek() == ";");
    }
    let mut found = Vec::new();
    while !cursor.take("}") {
        let head = head(cursor);
        let name = cursor.name().filter(|_| !head.odd)?.to_owned();
        cursor.want(":")?;
        found.push((head.public, name, read(cursor, None, DEPTH)?));
        if !cursor.take(",") && cursor.peek() != "}" {
            return None;
        }
    }
    Some(Fields::Named(found))
}

fn variants(mut cursor: Cursor<'_>) -> Option<Shape> {
    cursor.want("{")?;
    let mut found = Vec::new();
    while !cursor.take("}") {
        let head = head(&mut cursor);
        let name = cursor
            .name()
            .filter(|name| !head.odd && name.starts_with(|c: char| c.is_ascii_uppercase()))?
            .to_owned();
        let holds = fields(&mut cursor, true)?;
        let number = if cursor.take("=") {
            Some(i64::try_from(integer(&mut cursor)?).ok()?)
        } else {
            None
        };
        found.push((name, holds, number, head.default));
        if !cursor.take(",") && cursor.peek() != "}" {
            return None;
        }
    }
    Some(Shape::Enum(found))
}

fn constant(head: &Head, mut cursor: Cursor<'_>) -> Option<Const> {
    let name = cursor.name().filter(|name| is_all_large(name))?.to_owned();
    cursor.want(":")?;
    let ty = read(&mut cursor, None, DEPTH)?;
    cursor.want("=")?;
    let value = match &ty {
        Ty::Simple("bool") => {
            let value = cursor.peek();
            cursor.at += 1;
            ["true", "false"]
                .contains(&value)
                .then(|| value.to_owned())?
        }
        Ty::Simple(kind) if kind.len() <= 5 && kind.starts_with(['i', 'u']) => {
            integer(&mut cursor)?.to_string()
        }
        _ => return None,
    };
    cursor.want(";")?;
    Some(Const {
        public: head.public,
        name,
        ty,
        value,
    })
}

/// A whole number that is written out.
fn integer(cursor: &mut Cursor<'_>) -> Option<i128> {
    let is_negative = cursor.take("-");
    let word = cursor.peek().replace('_', "");
    cursor.at += 1;
    let kinds = [
        "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
    ];
    let digits = kinds
        .iter()
        .find_map(|kind| word.strip_suffix(kind))
        .unwrap_or(&word);
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(start, radix)| digits.strip_prefix(start).map(|rest| (rest, radix)));
    let (digits, radix) = radix.unwrap_or((digits, 10));
    let value = i128::from_str_radix(digits, radix)
        .ok()
        .filter(|value| *value >= 0)?;
    Some(if is_negative { -value } else { value })
}

impl Surface {
    /// Two items of one name (behind conditions, or by a trick) are both not offered.
    fn without_doubles(&mut self) {
        let mut seen: BTreeMap<(u8, String, String), usize> = BTreeMap::new();
        let of = |one: &Function| one.of.clone().unwrap_or_default();
        let functions = self
            .functions
            .iter()
            .map(|one| (0, of(one), one.name.clone()));
        let types = self
            .types
            .iter()
            .map(|one| &one.name)
            .chain(self.aliases.iter().map(|(_, name, _)| name));
        let types = types.map(|name| (1, String::new(), name.clone()));
        let consts = self
            .consts
            .iter()
            .map(|one| (2, String::new(), one.name.clone()));
        for key in functions.chain(types).chain(consts) {
            *seen.entry(key).or_default() += 1;
        }
        let once = |key: (u8, String, String)| seen.get(&key) == Some(&1);
        self.functions
            .retain(|one| once((0, of(one), one.name.clone())));
        self.types
            .retain(|one| once((1, String::new(), one.name.clone())));
        self.aliases
            .retain(|(_, name, _)| once((1, String::new(), name.clone())));
        self.consts
            .retain(|one| once((2, String::new(), one.name.clone())));
    }
}
