//! What of the code's surface can be asked for from another process: which types are copied, which
//! stay with the code, which calls there are.

use super::{
    surface::{Const, Fields, Function, Shape, Surface, Type},
    types::{ORDERING, Ty},
};
use std::collections::BTreeSet;

/// What the tests' program is given stubs for.
#[derive(Debug)]
pub(super) struct Offer {
    /// Types that are copied, with their fields.
    pub copied: Vec<Type>,
    /// Types whose values stay with the code and are known by a number.
    pub kept: Vec<Type>,
    pub consts: Vec<Const>,
    /// Other names of types, and what they mean.
    pub aliases: Vec<(String, Ty)>,
    /// Types of the standard library that the tests find in the code's scope.
    pub imports: BTreeSet<&'static str>,
    /// All calls; the place of one is its number.
    pub calls: Vec<Call>,
}

/// One thing that can be asked for.
#[derive(Debug)]
pub(super) struct Call {
    pub kind: Kind,
    pub params: Vec<Ty>,
    pub result: Ty,
}

#[derive(Debug)]
pub(super) enum Kind {
    Function(Function),
    /// A trait of the standard library, of a type.
    Trait(&'static str, String),
}

/// The most items that are looked at; whatever has more is no file that somebody wrote.
const MOST: usize = 600;
/// Traits that a type may derive and still be copied.
const DERIVED: &[&str] = &[
    "Debug",
    "Clone",
    "Copy",
    "PartialEq",
    "Eq",
    "PartialOrd",
    "Ord",
    "Hash",
    "Default",
];
/// Traits that can be asked for of a type that is copied, where the code wrote them.
const OF_COPIED: &[&str] = &["Display", "Default"];
/// Traits that can be asked for of a type whose values stay with the code, derived or written.
const OF_KEPT: &[&str] = &[
    "Debug",
    "Display",
    "Clone",
    "PartialEq",
    "PartialOrd",
    "Ord",
    "Default",
];
/// Traits without a function, which the stub has where the type has them.
pub(super) const MARKERS: &[&str] = &["Eq", "Error"];
/// What holds values of its parameters and nothing else: values that stay with the code can be in
/// them.
const HOLDERS: &[&str] = &[
    "::std::vec::Vec",
    "::std::option::Option",
    "::std::boxed::Box",
    "::std::result::Result",
];

/// Methods of results and options. Tests that call one mean these,
/// also where the code gives them a type of its own that they name elsewhere.
const OF_RESULTS: &[&str] = &[
    "is_ok",
    "is_err",
    "is_some",
    "is_none",
    "ok",
    "err",
    "unwrap",
    "unwrap_err",
    "unwrap_or",
    "unwrap_or_else",
    "unwrap_or_default",
    "expect",
    "expect_err",
    "is_ok_and",
    "is_err_and",
    "is_some_and",
    "is_none_or",
];

/// What can be offered to tests that name these as types of the code.
/// `private` items too where the tests are a part of the code.
pub(super) fn offer(mut surface: Surface, words: &BTreeSet<&str>, private: bool) -> Option<Offer> {
    if surface.functions.len() + surface.types.len() + surface.impls.len() + surface.aliases.len()
        > MOST
    {
        return None;
    }
    resolve_all(&mut surface);
    let is_wanted = |public: bool| public || private;
    let has_drop = |one: &Type| {
        surface
            .impls
            .iter()
            .any(|(made, of)| made == "Drop" && *of == one.name)
    };
    surface
        .types
        .retain(|one| one.simple && is_wanted(one.public) && !has_drop(one));
    surface.functions.retain(|one| is_wanted(one.public));
    surface.consts.retain(|one| is_wanted(one.public));
    // A type that the tests do not name has no say: its methods could answer in place of those the
    // tests think of (`is_ok`, `len`).
    let is_named = |name: &String| words.contains(name.as_str());
    let copied = copied(&surface);
    let kept = surface
        .types
        .iter()
        .map(|one| one.name.clone())
        .filter(|name| !copied.contains(name) && is_named(name))
        .collect();
    let known = Known {
        copied: &copied,
        kept: &kept,
    };
    let may_call = |of: &Option<String>| {
        of.as_ref()
            .is_none_or(|of| is_named(of) && (copied.contains(of) || kept.contains(of)))
    };
    let is_of_results = |one: &Function| one.method && OF_RESULTS.contains(&one.name.as_str());
    let functions = surface
        .functions
        .iter()
        .filter(|one| may_call(&one.of) && known.can_call(one) && !is_of_results(one));
    let mut calls: Vec<Call> = functions.map(Call::of).collect();
    for one in surface.types.iter().filter(|one| is_named(&one.name)) {
        let traits = if copied.contains(&one.name) {
            OF_COPIED
        } else {
            OF_KEPT
        };
        let derived = |name: &str| {
            kept.contains(&one.name) && one.derives.iter().any(|derive| derive == name)
        };
        calls.extend(
            traits
                .iter()
                .filter(|name| surface.writes(name, &one.name) || derived(name))
                .map(|name| Call::of_trait(name, &one.name)),
        );
    }
    let marked = |names: &BTreeSet<String>| -> Vec<Type> {
        let ours = surface.types.iter().filter(|one| names.contains(&one.name));
        let with_markers = |one: &Type| {
            let mut made = one.clone();
            let written = MARKERS
                .iter()
                .filter(|name| is_named(&one.name) && surface.writes(name, &one.name));
            made.derives.extend(written.map(|name| (*name).to_owned()));
            made
        };
        ours.map(with_markers).collect()
    };
    let aliases = surface
        .aliases
        .iter()
        .filter(|(public, _, ty)| is_wanted(*public) && (known.is_data(ty) || known.is_held(ty)));
    let aliases = aliases
        .map(|(_, name, ty)| (name.clone(), ty.clone()))
        .collect();
    let imports = surface
        .imports
        .iter()
        .filter(|(public, _)| is_wanted(*public))
        .map(|(_, path)| *path)
        .collect();
    Some(Offer {
        copied: marked(&copied),
        kept: marked(&kept),
        consts: surface.consts.clone(),
        aliases,
        imports,
        calls,
    })
}

impl Offer {
    /// Whether a call changes what the tests have: that is lost when it panics.
    pub(super) fn changes(&self) -> bool {
        let is_kept = |ty: &Ty| matches!(ty, Ty::Named(name) if self.kept.iter().any(|one| one.name == *name));
        self.calls
            .iter()
            .flat_map(|call| &call.params)
            .any(|ty| matches!(ty, Ty::RefMut(inner) if !is_kept(inner)))
    }
}

impl Surface {
    /// Whether the code wrote this trait for this type.
    fn writes(&self, name: &str, of: &str) -> bool {
        self.impls
            .iter()
            .any(|(made, made_for)| made == name && made_for == of)
    }
}

/// Replaces other names of types by what they mean; what cannot be resolved is dropped.
pub(super) fn resolve_all(surface: &mut Surface) {
    let aliases = surface.aliases.clone();
    surface.aliases.retain_mut(|(.., ty)| {
        ty.resolve(&aliases)
            .map(|resolved| *ty = resolved)
            .is_some()
    });
    let resolve = |ty: &mut Ty| {
        ty.resolve(&aliases)
            .map(|resolved| *ty = resolved)
            .is_some()
    };
    surface
        .functions
        .retain_mut(|one| one.params.iter_mut().all(resolve) && resolve(&mut one.result));
    for one in &mut surface.types {
        let all = match &mut one.shape {
            None => true,
            Some(Shape::Struct(fields)) => fields.all_mut(&resolve),
            Some(Shape::Enum(variants)) => variants
                .iter_mut()
                .all(|(_, fields, ..)| fields.all_mut(&resolve)),
        };
        one.shape = one.shape.take().filter(|_| all);
    }
}

impl Fields {
    fn all_mut(&mut self, resolve: &dyn Fn(&mut Ty) -> bool) -> bool {
        match self {
            Self::None => true,
            Self::Tuple(fields) => fields.iter_mut().all(|(_, ty)| resolve(ty)),
            Self::Named(fields) => fields.iter_mut().all(|(_, _, ty)| resolve(ty)),
        }
    }

    /// Whether each is public, and their types.
    pub(super) fn each(&self) -> Vec<(bool, &Ty)> {
        match self {
            Self::None => Vec::new(),
            Self::Tuple(fields) => fields.iter().map(|(public, ty)| (*public, ty)).collect(),
            Self::Named(fields) => fields.iter().map(|(public, _, ty)| (*public, ty)).collect(),
        }
    }
}

/// The names of the types that are nothing but their fields.
fn copied(surface: &Surface) -> BTreeSet<String> {
    // Whoever compares, copies or shows itself in a way of its own is more than its fields.
    let has_own = |name: &str| {
        surface
            .impls
            .iter()
            .any(|(made, of)| of == name && DERIVED.contains(&made.as_str()) && made != "Default")
    };
    let has_methods = |name: &str| {
        surface
            .functions
            .iter()
            .any(|one| one.method && one.of.as_deref() == Some(name))
    };
    let may = |one: &&Type| {
        let hides = matches!(&one.shape, Some(Shape::Struct(fields)) if fields.each().iter().any(|(public, _)| !public));
        // A state that only methods see can be large, and each of them would send it to and fro.
        let is_state =
            hides && has_methods(&one.name) && !one.derives.iter().any(|name| name == "Copy");
        one.shape.is_some()
            && one
                .derives
                .iter()
                .all(|name| DERIVED.contains(&name.as_str()))
            && !has_own(&one.name)
            && !is_state
    };
    let mut left: Vec<&Type> = surface.types.iter().filter(may).collect();
    loop {
        let names: BTreeSet<String> = left.iter().map(|one| one.name.clone()).collect();
        let known = Known {
            copied: &names,
            kept: &BTreeSet::new(),
        };
        let before = left.len();
        left.retain(|one| one.types().into_iter().all(|ty| known.is_data(ty)));
        if left.len() == before {
            return names;
        }
    }
}

impl Type {
    fn types(&self) -> Vec<&Ty> {
        match &self.shape {
            None => Vec::new(),
            Some(Shape::Struct(fields)) => fields.each().into_iter().map(|(_, ty)| ty).collect(),
            Some(Shape::Enum(variants)) => variants
                .iter()
                .flat_map(|(_, fields, ..)| fields.each())
                .map(|(_, ty)| ty)
                .collect(),
        }
    }
}

/// The types of the code that can cross, as values or as numbers.
struct Known<'a> {
    copied: &'a BTreeSet<String>,
    kept: &'a BTreeSet<String>,
}

impl Known<'_> {
    fn can_call(&self, function: &Function) -> bool {
        function.params.iter().all(|ty| self.is_param(ty))
            && (self.is_data(&function.result) || self.is_held(&function.result))
    }

    fn is_param(&self, ty: &Ty) -> bool {
        match ty {
            Ty::RefMut(inner) => match &**inner {
                Ty::Slice(element) => self.is_data(element) && !has_ref(element),
                Ty::Named(name) if self.kept.contains(name) => true,
                inner => self.is_data(inner) && !has_ref(inner),
            },
            Ty::Ref(inner) if matches!(&**inner, Ty::Named(name) if self.kept.contains(name)) => {
                true
            }
            ty => self.is_data(ty) || self.is_held(ty),
        }
    }

    /// Plain data: what can be written down and read again on the other side.
    fn is_data(&self, ty: &Ty) -> bool {
        match ty {
            Ty::RefMut(_) | Ty::Str | Ty::Slice(_) => false,
            Ty::Named(name) => self.copied.contains(name),
            Ty::Ref(inner) => match &**inner {
                Ty::Str => true,
                Ty::Slice(element) => self.is_data(element),
                inner => self.is_data(inner),
            },
            ty => ty.parts().into_iter().all(|part| self.is_data(part)),
        }
    }

    /// Values that stay with the code, within what only holds them.
    fn is_held(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Named(name) => self.kept.contains(name),
            Ty::Of(name, parts) if HOLDERS.contains(name) => parts
                .iter()
                .all(|part| self.is_data(part) || self.is_held(part)),
            Ty::Tuple(parts) => parts
                .iter()
                .all(|part| self.is_data(part) || self.is_held(part)),
            _ => false,
        }
    }
}

fn has_ref(ty: &Ty) -> bool {
    ty.any(&|ty| matches!(ty, Ty::Ref(_) | Ty::RefMut(_)))
}

impl Call {
    fn of(function: &Function) -> Self {
        Self {
            params: function.params.clone(),
            result: function.result.clone(),
            kind: Kind::Function(function.clone()),
        }
    }

    fn of_trait(name: &'static str, of: &str) -> Self {
        let own = Ty::Named(of.to_owned());
        let look = || Ty::Ref(Box::new(own.clone()));
        let (params, result) = match name {
            "Debug" => (vec![look(), Ty::Simple("bool")], Ty::text()),
            "Display" => (vec![look()], Ty::text()),
            "Clone" => (vec![look()], own.clone()),
            "PartialEq" => (vec![look(), look()], Ty::Simple("bool")),
            "PartialOrd" => (
                vec![look(), look()],
                Ty::Of("::std::option::Option", vec![Ty::Simple(ORDERING)]),
            ),
            "Ord" => (vec![look(), look()], Ty::Simple(ORDERING)),
            _ => (Vec::new(), own.clone()),
        };
        Self {
            kind: Kind::Trait(name, of.to_owned()),
            params,
            result,
        }
    }
}
