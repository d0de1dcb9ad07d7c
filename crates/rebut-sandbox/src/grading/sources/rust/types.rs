//! The types that cross between the code and its tests: read from the code's words, and printed
//! anew from what was understood.

use super::super::tokens::Token;

/// A type of plain data, or a name of the code. Nothing else is read; doubt is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// A type without parameters, as it is printed.
    Simple(&'static str),
    /// A type of the standard library with parameters.
    Of(&'static str, Vec<Ty>),
    Tuple(Vec<Ty>),
    Array(Box<Ty>, u32),
    Str,
    Slice(Box<Ty>),
    Ref(Box<Ty>),
    RefMut(Box<Ty>),
    /// A type that the code defines.
    Named(String),
}

/// How deep a type may be nested.
pub(super) const DEPTH: usize = 12;
/// The most elements of a tuple.
const TUPLE: usize = 8;
/// The most elements of an array.
const ARRAY: u32 = 1 << 16;

/// Types without parameters, by the code's word for them.
const SIMPLE: &[&str] = &[
    "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f32",
    "f64", "bool", "char",
];
/// Types with parameters, how they are printed, and with how many.
const WITH: &[(&str, &str, usize)] = &[
    ("Vec", "::std::vec::Vec", 1),
    ("Option", "::std::option::Option", 1),
    ("Box", "::std::boxed::Box", 1),
    ("Result", "::std::result::Result", 2),
    ("HashMap", "::std::collections::HashMap", 2),
    ("BTreeMap", "::std::collections::BTreeMap", 2),
    ("HashSet", "::std::collections::HashSet", 1),
    ("BTreeSet", "::std::collections::BTreeSet", 1),
    ("VecDeque", "::std::collections::VecDeque", 1),
];
pub(super) const STRING: &str = "::std::string::String";
pub(super) const ORDERING: &str = "::std::cmp::Ordering";
pub(super) const UNIT: &str = "()";
/// Where types of the standard library and of the code itself are named from.
const BEFORE: &[&str] = &[
    "std",
    "core",
    "alloc",
    "collections",
    "vec",
    "string",
    "option",
    "result",
    "boxed",
    "cmp",
    "primitive",
    "crate",
    "self",
];

/// Words that are read one by one.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    pub words: &'a [Token<'a>],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn peek(&self) -> &'a str {
        self.words.get(self.at).map_or("", |word| word.text)
    }

    /// Goes past a word if it is next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.at < self.words.len() && self.peek() == text;
        self.at += usize::from(is_next);
        is_next
    }

    /// Goes past a word that must be next.
    pub(super) fn want(&mut self, text: &str) -> Option<()> {
        self.take(text).then_some(())
    }

    /// A plain name that is next.
    pub(super) fn name(&mut self) -> Option<&'a str> {
        let name = self.peek();
        is_name(name).then(|| self.at += 1).map(|()| name)
    }

    pub(super) fn lifetime(&mut self) -> bool {
        let is_next = self.take("'");
        self.at += usize::from(is_next);
        is_next
    }

    /// Goes past a group in brackets that is next; where it never ends, to the end.
    pub(super) fn group(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.words.len() {
            match self.peek() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    pub(super) fn colons(&mut self) -> bool {
        let both = self.peek() == ":"
            && self
                .words
                .get(self.at + 1)
                .is_some_and(|next| next.text == ":");
        self.at += if both { 2 } else { 0 };
        both
    }
}

/// Words of the language, which are no names; old and reserved ones too.
const KEYWORDS: &str = "as async await break const continue crate dyn else enum extern false fn \
    for gen if impl in let loop match mod move mut \
    pub ref return self Self static struct super trait true type unsafe use where while abstract \
    become box do final macro \
    override priv try typeof unsized virtual yield union auto default raw safe macro_rules";

/// Whether a word is a plain name: letters of ASCII, digits, underscores, and no word of the
/// language.
pub(super) fn is_name(word: &str) -> bool {
    let plain = word
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain
        && word.len() <= 100
        && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word != "_"
        && !KEYWORDS.split(' ').any(|known| known == word)
}

/// Reads a type. `own` is what `Self` means.
pub(super) fn read(cursor: &mut Cursor<'_>, own: Option<&str>, depth: usize) -> Option<Ty> {
    let depth = depth.checked_sub(1)?;
    if cursor.take("&") {
        cursor.lifetime();
        let is_mut = cursor.take("mut");
        let inner = Box::new(behind(cursor, own, depth)?);
        return Some(if is_mut {
            Ty::RefMut(inner)
        } else {
            Ty::Ref(inner)
        });
    }
    if cursor.take("(") {
        let mut parts = list(cursor, ")", own, depth)?;
        return match parts.len() {
            0 => Some(Ty::Simple(UNIT)),
            // `(T,)` is rare, and `(T)` is `T`: which of them it was is not told apart.
            1 => parts
                .pop()
                .filter(|_| cursor.words[cursor.at - 2].text != ","),
            2..=TUPLE => Some(Ty::Tuple(parts)),
            _ => None,
        };
    }
    if cursor.peek() == "[" {
        return bracket(cursor, own, depth).filter(|ty| !matches!(ty, Ty::Slice(_)));
    }
    path(cursor, own, depth)
}

/// What may stand behind a reference: texts and slices besides other types.
fn behind(cursor: &mut Cursor<'_>, own: Option<&str>, depth: usize) -> Option<Ty> {
    if cursor.take("str") {
        return Some(Ty::Str);
    }
    if cursor.peek() == "[" {
        bracket(cursor, own, depth)
    } else {
        read(cursor, own, depth)
    }
}

fn bracket(cursor: &mut Cursor<'_>, own: Option<&str>, depth: usize) -> Option<Ty> {
    cursor.want("[")?;
    let element = Box::new(read(cursor, own, depth)?);
    if cursor.take("]") {
        return Some(Ty::Slice(element));
    }
    cursor.want(";")?;
    let length: u32 = cursor
        .peek()
        .parse()
        .ok()
        .filter(|length| *length <= ARRAY)?;
    cursor.at += 1;
    cursor.want("]")?;
    Some(Ty::Array(element, length))
}

fn list(cursor: &mut Cursor<'_>, end: &str, own: Option<&str>, depth: usize) -> Option<Vec<Ty>> {
    let mut found = Vec::new();
    while !cursor.take(end) {
        found.push(read(cursor, own, depth)?);
        if !cursor.take(",") {
            cursor.want(end)?;
            break;
        }
    }
    Some(found)
}

fn path(cursor: &mut Cursor<'_>, own: Option<&str>, depth: usize) -> Option<Ty> {
    cursor.colons();
    loop {
        let word = cursor.peek();
        let mut after = cursor.clone();
        after.at += 1;
        if !(BEFORE.contains(&word) && after.colons()) {
            break;
        }
        *cursor = after;
    }
    if cursor.take("Self") {
        return own
            .map(|own| Ty::Named(own.to_owned()))
            .filter(|_| cursor.peek() != ":");
    }
    let name = cursor.name()?;
    if name == "Box" && any_error(cursor) {
        return Some(Ty::Simple("::std::boxed::Box<dyn ::std::error::Error>"));
    }
    let parameters = if cursor.take("<") {
        list(cursor, ">", own, depth)?
    } else {
        Vec::new()
    };
    if cursor.peek() == ":"
        && cursor
            .words
            .get(cursor.at + 1)
            .is_some_and(|next| next.text == ":")
    {
        return None;
    }
    if let Some((_, printed, count)) = WITH.iter().find(|(known, ..)| *known == name) {
        return (parameters.len() == *count).then_some(Ty::Of(printed, parameters));
    }
    if !parameters.is_empty() {
        return None;
    }
    Some(
        match (name, SIMPLE.iter().find(|simple| **simple == name)) {
            (_, Some(simple)) => Ty::Simple(simple),
            ("String", _) => Ty::Simple(STRING),
            ("Ordering", _) => Ty::Simple(ORDERING),
            _ => Ty::Named(name.to_owned()),
        },
    )
}

/// Goes past `<dyn Error>`, an error of any kind: its words cross.
fn any_error(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    if !(ahead.take("<") && ahead.take("dyn")) {
        return false;
    }
    ahead.colons();
    while matches!(ahead.peek(), "std" | "core" | "error")
        && ahead.name().is_some()
        && ahead.colons()
    {}
    let is_error = ahead.take("Error") && ahead.take(">");
    if is_error {
        *cursor = ahead;
    }
    is_error
}

impl Ty {
    pub(super) fn text() -> Self {
        Self::Simple(STRING)
    }

    /// The type as it is printed: `life` stands behind every `&`, `home` before every name of the
    /// code.
    pub(super) fn print(&self, life: &str, home: &str) -> String {
        let all = |types: &[Ty]| {
            types
                .iter()
                .map(|ty| ty.print(life, home))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match self {
            Self::Simple(name) => (*name).to_owned(),
            Self::Of(name, parameters) => format!("{name}<{}>", all(parameters)),
            Self::Tuple(parts) => format!("({})", all(parts)),
            Self::Array(element, length) => format!("[{}; {length}]", element.print(life, home)),
            Self::Str => "str".to_owned(),
            Self::Slice(element) => format!("[{}]", element.print(life, home)),
            Self::Ref(inner) => format!("&{life}{}", inner.print(life, home)),
            Self::RefMut(inner) => format!("&{life}mut {}", inner.print(life, home)),
            Self::Named(name) => format!("{home}{name}"),
        }
    }

    pub(super) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Simple(_) | Self::Str | Self::Named(_) => Vec::new(),
            Self::Of(_, parts) | Self::Tuple(parts) => parts.iter().collect(),
            Self::Array(inner, _) | Self::Slice(inner) | Self::Ref(inner) | Self::RefMut(inner) => {
                vec![inner]
            }
        }
    }

    /// Whether it, or a type within it, is as asked. Types are not nested deeply: `DEPTH`.
    pub(super) fn any(&self, is: &dyn Fn(&Self) -> bool) -> bool {
        is(self) || self.parts().into_iter().any(|part| part.any(is))
    }

    /// The type with the code's other names for types replaced by what they mean; nothing where
    /// that becomes too large.
    pub(super) fn resolve(&self, aliases: &[(bool, String, Ty)]) -> Option<Self> {
        self.resolved(aliases, DEPTH, &mut 200)
    }

    fn resolved(
        &self,
        aliases: &[(bool, String, Ty)],
        depth: usize,
        left: &mut usize,
    ) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        *left = left.checked_sub(1)?;
        let mut one = |ty: &Ty| ty.resolved(aliases, depth, left);
        Some(match self {
            Self::Named(name) => match aliases.iter().find(|(_, alias, _)| alias == name) {
                Some((.., meant)) => one(meant)?,
                None => self.clone(),
            },
            Self::Simple(_) | Self::Str => self.clone(),
            Self::Of(name, parts) => Self::Of(name, parts.iter().map(one).collect::<Option<_>>()?),
            Self::Tuple(parts) => Self::Tuple(parts.iter().map(one).collect::<Option<_>>()?),
            Self::Array(ty, length) => Self::Array(Box::new(one(ty)?), *length),
            Self::Slice(ty) => Self::Slice(Box::new(one(ty)?)),
            Self::Ref(ty) => Self::Ref(Box::new(one(ty)?)),
            Self::RefMut(ty) => Self::RefMut(Box::new(one(ty)?)),
        })
    }
}
