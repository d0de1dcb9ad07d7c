//! The top level of Go code, read from its tokens: whatever is not plainly understood is only a
//! name.

use super::{
    super::tokens::Token,
    types::{Cursor, Type, is_name, may_declare},
};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub name: String,
    /// Of a method: whether it is that of a pointer, and the type's name.
    pub receiver: Option<(bool, String)>,
    pub given: Vec<Type>,
    pub variadic: bool,
    pub results: Vec<Type>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Struct(Vec<(String, Type)>),
    Of(Type),
}

/// All that the code declares; `None` where it is more than plain data.
#[derive(Default)]
pub(super) struct Declared {
    pub functions: BTreeMap<String, Option<Function>>,
    pub methods: Vec<(String, String, Option<Function>)>,
    pub types: BTreeMap<String, Option<Shape>>,
    pub errors: BTreeMap<String, String>,
    pub names: Vec<String>,
}

/// Goes through the top level of the code.
pub(super) fn declared(code: &str, words: &[Token<'_>]) -> Declared {
    let mut all = Declared::default();
    let mut cursor = Cursor {
        text: code,
        words,
        at: 0,
    };
    while cursor.at < words.len() {
        match cursor.look() {
            "func" => function(&mut cursor, &mut all),
            "type" => group(&mut cursor, &mut all, declare_type),
            "var" | "const" => group(&mut cursor, &mut all, declare_value),
            "(" | "[" | "{" => cursor.skip(),
            _ => cursor.at += 1,
        }
    }
    all
}

/// One declaration after a word, or several in parentheses.
fn group(cursor: &mut Cursor<'_>, all: &mut Declared, one: fn(&mut Cursor<'_>, &mut Declared)) {
    cursor.at += 1;
    if !cursor.eat("(") {
        return one(cursor, all);
    }
    while cursor.at < cursor.words.len() && !cursor.eat(")") {
        one(cursor, all);
        to_next_line(cursor);
    }
}

/// Passes over the rest of a declaration.
fn to_next_line(cursor: &mut Cursor<'_>) {
    while cursor.at < cursor.words.len() && cursor.look() != ")" && !cursor.gap().contains('\n') {
        match cursor.look() {
            "(" | "[" | "{" => cursor.skip(),
            ";" => {
                cursor.at += 1;
                return;
            }
            _ => cursor.at += 1,
        }
    }
}

fn declare_value(cursor: &mut Cursor<'_>, all: &mut Declared) {
    let name = cursor.take().to_owned();
    all.names.push(name.clone());
    while cursor.eat(",") {
        all.names.push(cursor.take().to_owned());
    }
    if let Some(text) = error_text(&mut cursor.clone()) {
        all.errors.insert(name, text);
    }
}

/// The text of `= errors.New("…")`, if it is a plain one.
fn error_text(cursor: &mut Cursor<'_>) -> Option<String> {
    cursor.eat("=").then_some(())?;
    let maker = (cursor.take(), cursor.take(), cursor.take());
    (cursor.eat("(") && matches!(maker, ("errors", ".", "New") | ("fmt", ".", "Errorf")))
        .then_some(())?;
    let inside = cursor.gap().trim().strip_prefix('"')?.strip_suffix('"')?;
    let plain = inside.len() <= 500
        && inside
            .chars()
            .all(|c| !c.is_control() && !matches!(c, '"' | '\\' | '%'));
    (plain && cursor.look() == ")").then(|| inside.to_owned())
}

fn declare_type(cursor: &mut Cursor<'_>, all: &mut Declared) {
    let name = cursor.take().to_owned();
    all.names.push(name.clone());
    let mut ahead = cursor.clone();
    let shape = if ahead.eat("struct") {
        fields(&mut ahead).map(Shape::Struct)
    } else {
        defined(&mut ahead).map(Shape::Of)
    };
    if shape.is_some() {
        cursor.at = ahead.at;
    }
    // A second type of that name makes the code not to be built, whatever is taken here.
    all.types.entry(name).or_insert(shape);
}

/// `type Name Other`, with nothing behind it on its line.
fn defined(cursor: &mut Cursor<'_>) -> Option<Type> {
    let ty = cursor
        .ty()
        .filter(|ty| !matches!(ty, Type::Error | Type::Lock(_) | Type::Pointer(_)))?;
    (cursor.gap().contains('\n') || matches!(cursor.look(), "" | ";" | ")")).then_some(ty)
}

/// The fields of a struct: names and a type on each line, no tag behind it.
fn fields(cursor: &mut Cursor<'_>) -> Option<Vec<(String, Type)>> {
    cursor.eat("{").then_some(())?;
    let mut found = Vec::new();
    while !cursor.eat("}") {
        let mut names = vec![cursor.take()];
        while cursor.eat(",") {
            names.push(cursor.take());
        }
        let same_line = !cursor.gap().contains('\n');
        let ty = cursor.ty().filter(|ty| {
            same_line && *ty != Type::Error && names.iter().all(|name| is_name(name))
        })?;
        found.extend(names.into_iter().map(|name| (name.to_owned(), ty.clone())));
        let gap = cursor.gap();
        (!gap.contains(['"', '`'])
            && (gap.contains('\n') || cursor.look() == "}" || cursor.eat(";")))
        .then_some(())?;
    }
    Some(found)
}

fn function(cursor: &mut Cursor<'_>, all: &mut Declared) {
    cursor.at += 1;
    let owner = if cursor.look() == "(" {
        receiver(cursor)
    } else {
        None
    };
    let is_method = cursor.words[cursor.at - 1].text == ")";
    let name = cursor.take().to_owned();
    let made = signature(&mut cursor.clone(), &name, owner.clone());
    match owner {
        Some((_, owner)) => all.methods.push((owner, name, made)),
        None if is_method => {}
        None => {
            all.names.push(name.clone());
            all.functions.entry(name).or_insert(made);
        }
    }
    // To the body, past whatever brackets come before it.
    while cursor.at < cursor.words.len()
        && !matches!(cursor.look(), "{" | "func" | "type" | "var" | "const")
    {
        if matches!(cursor.look(), "(" | "[") {
            cursor.skip()
        } else {
            cursor.at += 1
        }
    }
    if cursor.look() == "{" {
        cursor.skip();
    }
}

fn receiver(cursor: &mut Cursor<'_>) -> Option<(bool, String)> {
    let mut ahead = cursor.clone();
    cursor.skip();
    ahead.at += 1;
    if is_name(ahead.look()) && ahead.ahead(1) != ")" || ahead.look() == "_" {
        ahead.at += 1;
    }
    let pointer = ahead.eat("*");
    let name = ahead.take();
    (may_declare(name) && matches!(ahead.look(), ")" | "[")).then(|| (pointer, name.to_owned()))
}

fn signature(
    cursor: &mut Cursor<'_>,
    name: &str,
    receiver: Option<(bool, String)>,
) -> Option<Function> {
    let (given, variadic) = list(cursor)?;
    let results = match cursor.look() {
        "{" => Vec::new(),
        "(" => list(cursor).filter(|(_, variadic)| !variadic)?.0,
        _ => vec![cursor.ty()?],
    };
    let locked = given
        .iter()
        .chain(&results)
        .any(|ty| matches!(ty, Type::Lock(_)));
    (cursor.look() == "{" && !locked).then(|| Function {
        name: name.to_owned(),
        receiver,
        given,
        variadic,
        results,
    })
}

/// Types between parentheses, with or without names before them; whether the last takes any number.
fn list(cursor: &mut Cursor<'_>) -> Option<(Vec<Type>, bool)> {
    cursor.eat("(").then_some(())?;
    let mut parts: Vec<(Option<Type>, Option<Type>, bool)> = Vec::new();
    while !cursor.eat(")") {
        (parts.len() < 64 && !parts.last().is_some_and(|last| last.2)).then_some(())?;
        let alone = part(&mut cursor.clone(), false);
        let named = part(&mut cursor.clone(), true);
        let (_, end, dots) = named.as_ref().or(alone.as_ref())?;
        cursor.at = *end;
        let dots = *dots;
        (cursor.eat(",") || cursor.look() == ")").then_some(())?;
        parts.push((alone.map(|part| part.0), named.map(|part| part.0), dots));
    }
    let variadic = parts.last().is_some_and(|last| last.2);
    if parts.iter().all(|(_, named, _)| named.is_none()) {
        return Some((
            parts
                .into_iter()
                .map(|(alone, _, _)| alone)
                .collect::<Option<_>>()?,
            variadic,
        ));
    }
    // Names share the type that follows them.
    let mut types: Vec<Type> = Vec::new();
    for (_, named, _) in parts.into_iter().rev() {
        types.push(named.or_else(|| types.last().cloned())?);
    }
    types.reverse();
    Some((types, variadic))
}

/// One part of such a list: its type, where it ends, and whether dots stand before it.
fn part(cursor: &mut Cursor<'_>, named: bool) -> Option<(Type, usize, bool)> {
    if named {
        let name = cursor.take();
        (is_name(name) || name == "_").then_some(())?;
    }
    let dots = cursor.look() == "." && cursor.ahead(1) == "." && cursor.ahead(2) == ".";
    cursor.at += if dots { 3 } else { 0 };
    // A name alone may be a type that is not plain, and is one name of several then.
    let ty = if !named && is_name(cursor.look()) && matches!(cursor.ahead(1), "," | ")") {
        cursor
            .clone()
            .ty()
            .unwrap_or(Type::Named(cursor.look().to_owned()))
    } else {
        return cursor
            .ty()
            .filter(|_| matches!(cursor.look(), "," | ")"))
            .map(|ty| (ty, cursor.at, dots));
    };
    Some((ty, cursor.at + 1, dots))
}
