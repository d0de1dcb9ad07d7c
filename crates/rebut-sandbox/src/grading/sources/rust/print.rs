//! The two programs as text: stubs for the tests' side, answers for the code's side. No word of the
//! code is in the first but names.

use super::{
    offer::{Call, Kind, MARKERS, Offer},
    surface::{Fields, Function, Shape, Type},
    types::{STRING, Ty},
};
use std::fmt::Write as _;

const WIRE: &str = include_str!("wire.rs.txt");
const STUB: &str = include_str!("stub.rs.txt");
const SERVE: &str = include_str!("serve.rs.txt");
const STATIC: &str = "'static ";

/// The stubs, which stand where the code would.
pub(super) fn stubs(offer: &Offer) -> String {
    let kept: Vec<&str> = offer.kept.iter().map(|one| one.name.as_str()).collect();
    let mut text = format!(
        "pub mod rebut_wire {{\n{}\n}}\npub mod rebut_stub {{\n{}\n}}\n",
        inner(WIRE),
        inner(STUB)
    );
    for one in &offer.copied {
        text.push_str(&definition(one));
        text.push_str(&crossing(one, "crate::", "crate::rebut_wire::"));
    }
    for one in &offer.kept {
        text.push_str(&handle(one));
    }
    for one in offer.copied.iter().chain(&offer.kept) {
        let is_kept = kept.contains(&one.name.as_str());
        for marker in MARKERS
            .iter()
            .filter(|marker| one.derives.iter().any(|name| name == **marker))
        {
            match *marker {
                "Error" => text.push_str(&format!(
                    "impl ::std::error::Error for crate::{} {{}}\n",
                    one.name
                )),
                _ if is_kept => text.push_str(&format!(
                    "impl ::std::cmp::Eq for crate::{} {{}}\n",
                    one.name
                )),
                _ => {}
            }
        }
    }
    for path in &offer.imports {
        let _ = writeln!(text, "pub use {path};");
    }
    for (name, ty) in &offer.aliases {
        let _ = writeln!(text, "pub type {name} = {};", ty.print(STATIC, "crate::"));
    }
    for one in &offer.consts {
        let _ = writeln!(
            text,
            "pub const {}: {} = {};",
            one.name,
            one.ty.print(STATIC, "crate::"),
            one.value
        );
    }
    for (number, call) in offer.calls.iter().enumerate() {
        text.push_str(&match &call.kind {
            Kind::Function(function) => stub_of_function(number, call, function, &kept),
            Kind::Trait(name, of) => stub_of_trait(number, name, of),
        });
    }
    text
}

/// What is added to the code: a module that answers calls.
pub(super) fn answers(offer: &Offer) -> String {
    let mut text = format!(
        "\npub mod rebut_worker {{\nmod rebut_wire {{\n{}\n}}\n{}\n",
        inner(WIRE),
        inner(SERVE)
    );
    for one in &offer.copied {
        text.push_str(&crossing(one, "super::", "self::rebut_wire::"));
    }
    for one in &offer.kept {
        let _ = writeln!(
            text,
            "impl Take for super::{} {{ fn take(input: &mut Input<'_>) -> Option<Self> {{ \
             moved(input) }} }}",
            one.name
        );
    }
    let kept: Vec<&str> = offer.kept.iter().map(|one| one.name.as_str()).collect();
    text.push_str(
        "fn call(function: u32, input: &mut Input<'_>, out: &mut Vec<u8>) {\nmatch function {\n",
    );
    for (number, call) in offer.calls.iter().enumerate() {
        let _ = writeln!(text, "{number} => {{ {} }}", answer(call, &kept));
    }
    text.push_str("_ => lost(),\n}\n}\n}\n");
    text
}

/// A file's text as the inside of a module.
fn inner(text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with("//!"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn definition(one: &Type) -> String {
    let derives: Vec<String> = one.derives.iter().filter_map(|name| derive(name)).collect();
    let head = format!("#[derive({})]\npub ", derives.join(", "));
    match &one.shape {
        Some(Shape::Struct(fields)) => {
            let end = if matches!(fields, Fields::Named(_)) {
                ""
            } else {
                ";"
            };
            format!(
                "{head}struct {}{}{end}\n",
                one.name,
                print_fields(fields, true)
            )
        }
        Some(Shape::Enum(variants)) => {
            let each = variants.iter().map(|(name, fields, number, default)| {
                let number = number.map_or_else(String::new, |number| format!(" = {number}"));
                format!(
                    "{}{name}{}{number},\n",
                    if *default { "#[default] " } else { "" },
                    print_fields(fields, false)
                )
            });
            format!(
                "{head}enum {} {{\n{}}}\n",
                one.name,
                each.collect::<String>()
            )
        }
        None => String::new(),
    }
}

/// Where the derived traits live. What the code wrote itself is asked for, not derived.
fn derive(name: &str) -> Option<String> {
    Some(match name {
        "Debug" => "::std::fmt::Debug".to_owned(),
        "Clone" => "::std::clone::Clone".to_owned(),
        "Copy" => "::std::marker::Copy".to_owned(),
        "PartialEq" | "Eq" | "PartialOrd" | "Ord" => format!("::std::cmp::{name}"),
        "Hash" => "::std::hash::Hash".to_owned(),
        "Default" => "::std::default::Default".to_owned(),
        _ => return None,
    })
}

fn print_fields(fields: &Fields, with_public: bool) -> String {
    let public = |public: bool| if public && with_public { "pub " } else { "" };
    let ty = |ty: &Ty| ty.print(STATIC, "crate::");
    match fields {
        Fields::None => String::new(),
        Fields::Tuple(fields) => {
            format!(
                "({})",
                fields
                    .iter()
                    .map(|(is, of)| format!("{}{}", public(*is), ty(of)))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        Fields::Named(fields) => {
            let each = fields
                .iter()
                .map(|(is, name, of)| format!("{}{name}: {}", public(*is), ty(of)));
            format!(" {{ {} }}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// How a type that is copied is written down and read again.
fn crossing(one: &Type, home: &str, wire: &str) -> String {
    let name = format!("{home}{}", one.name);
    let (put, take) = match &one.shape {
        None => return String::new(),
        Some(Shape::Struct(fields)) => (
            format!("match self {{ {name}{} }}", put_fields(fields, 0, wire)),
            format!("Some({})", take_fields(&name, fields, wire)),
        ),
        Some(Shape::Enum(variants)) => {
            let put = variants
                .iter()
                .enumerate()
                .map(|(at, (variant, fields, ..))| {
                    format!("{name}::{variant}{}", put_fields(fields, at, wire))
                });
            let take = variants
                .iter()
                .enumerate()
                .map(|(at, (variant, fields, ..))| {
                    format!(
                        "{at} => Some({}),\n",
                        take_fields(&format!("{name}::{variant}"), fields, wire)
                    )
                });
            let take = format!(
                "match <u32 as {wire}Take>::take(input)? {{\n{}_ => None }}",
                take.collect::<String>()
            );
            (
                if variants.is_empty() {
                    "match *self {}".to_owned()
                } else {
                    format!("match self {{\n{}}}", put.collect::<String>())
                },
                take,
            )
        }
    };
    // The first of a struct is a number too: no value takes no bytes.
    let take = if matches!(one.shape, Some(Shape::Struct(_))) {
        format!("if <u32 as {wire}Take>::take(input)? != 0 {{ return None; }}\n{take}")
    } else {
        take
    };
    format!(
        "impl {wire}Put for {name} {{ fn put(&self, out: &mut Vec<u8>) {{ {put} }} }}\n\
         impl {wire}Take for {name} {{ fn take(input: &mut {wire}Input<'_>) -> Option<Self> {{ \
         {take} }} }}\n"
    )
}

fn put_fields(fields: &Fields, at: usize, wire: &str) -> String {
    let count = fields.each().len();
    let bound: Vec<String> = match fields {
        Fields::None => Vec::new(),
        Fields::Tuple(_) => (0..count).map(|at| format!("f{at}")).collect(),
        Fields::Named(fields) => fields
            .iter()
            .enumerate()
            .map(|(at, (_, name, _))| format!("{name}: f{at}"))
            .collect(),
    };
    let pattern = match fields {
        Fields::None => String::new(),
        Fields::Tuple(_) => format!("({})", bound.join(", ")),
        Fields::Named(_) => format!(" {{ {} }}", bound.join(", ")),
    };
    let puts: String = (0..count)
        .map(|at| format!(" {wire}Put::put(f{at}, out);"))
        .collect();
    format!("{pattern} => {{ <u32 as {wire}Put>::put(&{at}, out);{puts} }},\n")
}

fn take_fields(name: &str, fields: &Fields, wire: &str) -> String {
    let take = format!("{wire}Take::take(input)?");
    match fields {
        Fields::None => name.to_owned(),
        Fields::Tuple(fields) => format!("{name}({})", vec![take; fields.len()].join(", ")),
        Fields::Named(fields) => {
            format!(
                "{name} {{ {} }}",
                fields
                    .iter()
                    .map(|(_, field, _)| format!("{field}: {take}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
    }
}

/// A type whose values stay with the code: here it is a number that nobody else can make.
fn handle(one: &Type) -> String {
    let name = &one.name;
    format!(
        "pub struct {name} {{ rebut: u64 }}\n\
         impl crate::rebut_wire::Put for crate::{name} {{ fn put(&self, out: &mut Vec<u8>) {{ \
         crate::rebut_wire::Put::put(&self.rebut, out) }} }}\n\
         impl crate::rebut_wire::Take for crate::{name} {{ fn take(input: &mut \
         crate::rebut_wire::Input<'_>) -> Option<Self> {{\n\
         Some(Self {{ rebut: crate::rebut_wire::Take::take(input)? }}) }} }}\n"
    )
}

fn stub_of_function(number: usize, call: &Call, function: &Function, kept: &[&str]) -> String {
    let own = |ty: &Ty| function.method && std::ptr::eq(ty, &call.params[0]);
    let names: Vec<String> = (0..call.params.len())
        .map(|at| {
            if function.method && at == 0 {
                "self".to_owned()
            } else {
                format!("a{at}")
            }
        })
        .collect();
    let params = call.params.iter().zip(&names).map(|(ty, name)| match ty {
        Ty::Ref(_) if own(ty) => "&self".to_owned(),
        Ty::RefMut(_) if own(ty) => "&mut self".to_owned(),
        ty if own(ty) => "self".to_owned(),
        ty => format!("{name}: {}", ty.print("", "crate::")),
    });
    let params = params.collect::<Vec<_>>().join(", ");
    let result = call.result.print(STATIC, "crate::");
    let look = |ty: &Ty| {
        if matches!(ty, Ty::Ref(_) | Ty::RefMut(_)) {
            "&*"
        } else {
            "&"
        }
    };
    let with: String = call
        .params
        .iter()
        .zip(&names)
        .map(|(ty, name)| format!(".with({}{name})", look(ty)))
        .collect();
    let renew: String = call
        .params
        .iter()
        .zip(&names)
        .map(|(ty, name)| renewal(ty, name, kept))
        .collect();
    let text = format!(
        "#[track_caller]\npub fn {}({params}) -> {result} {{\n\
         let mut rebut = crate::rebut_stub::Ask::of({number}){with}.go();\n\
         let result: {result} = rebut.take();\n{renew}rebut.end();\nresult\n}}\n",
        function.name
    );
    match &function.of {
        Some(of) => format!("impl crate::{of} {{\n{text}}}\n"),
        None => text,
    }
}

/// What was handed over to be changed is what came back.
fn renewal(ty: &Ty, name: &str, kept: &[&str]) -> String {
    match ty {
        Ty::RefMut(inner) => match &**inner {
            Ty::Named(of) if kept.contains(&of.as_str()) => String::new(),
            Ty::Slice(_) => format!("rebut.renew_each({name});\n"),
            _ => format!("rebut.renew({name});\n"),
        },
        _ => String::new(),
    }
}

fn stub_of_trait(number: usize, name: &str, of: &str) -> String {
    let ask = |with: &str, result: &str| {
        format!(
            "let mut rebut = crate::rebut_stub::Ask::of({number}){with}.go(); let result: {result} \
             = rebut.take(); rebut.end(); "
        )
    };
    let fmt = "fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result";
    let two = ".with(self).with(other)";
    let (path, body) = match name {
        "Debug" => (
            "fmt::Debug",
            format!(
                "{fmt} {{ {}f.write_str(&result) }}",
                ask(".with(self).with(&f.alternate())", STRING)
            ),
        ),
        "Display" => (
            "fmt::Display",
            format!(
                "{fmt} {{ {}f.write_str(&result) }}",
                ask(".with(self)", STRING)
            ),
        ),
        "Clone" => (
            "clone::Clone",
            format!(
                "fn clone(&self) -> Self {{ {}result }}",
                ask(".with(self)", "Self")
            ),
        ),
        "PartialEq" => (
            "cmp::PartialEq",
            format!(
                "fn eq(&self, other: &Self) -> bool {{ {}result }}",
                ask(two, "bool")
            ),
        ),
        "PartialOrd" => {
            let result = "::std::option::Option<::std::cmp::Ordering>";
            (
                "cmp::PartialOrd",
                format!(
                    "fn partial_cmp(&self, other: &Self) -> {result} {{ {}result }}",
                    ask(two, result)
                ),
            )
        }
        "Ord" => {
            let result = "::std::cmp::Ordering";
            (
                "cmp::Ord",
                format!(
                    "fn cmp(&self, other: &Self) -> {result} {{ {}result }}",
                    ask(two, result)
                ),
            )
        }
        _ => (
            "default::Default",
            format!("fn default() -> Self {{ {}result }}", ask("", "Self")),
        ),
    };
    format!("impl ::std::{path} for crate::{of} {{\n#[track_caller]\n{body}\n}}\n")
}

/// How the code's side answers one call.
fn answer(call: &Call, kept: &[&str]) -> String {
    let is_kept = |ty: &Ty| matches!(ty, Ty::Named(name) if kept.contains(&name.as_str()));
    let (mut reads, mut passed, mut back) = (String::new(), Vec::new(), String::new());
    for (at, ty) in call.params.iter().enumerate() {
        let owned = |ty: &Ty| match ty {
            Ty::Str => STRING.to_owned(),
            Ty::Slice(element) => format!("::std::vec::Vec<{}>", element.print(STATIC, "super::")),
            ty => ty.print(STATIC, "super::"),
        };
        match ty {
            Ty::Ref(inner) if is_kept(inner) => {
                let _ = write!(
                    reads,
                    "let a{at} = lent::<{0}>(input); let a{at} = a{at}.borrow(); ",
                    owned(inner)
                );
                passed.push(format!("&*a{at}"));
            }
            Ty::RefMut(inner) if is_kept(inner) => {
                let _ = write!(
                    reads,
                    "let a{at} = lent::<{0}>(input); let mut a{at} = a{at}.borrow_mut(); ",
                    owned(inner)
                );
                passed.push(format!("&mut *a{at}"));
            }
            Ty::Ref(inner) => {
                let _ = write!(reads, "let a{at} = read::<{}>(input); ", owned(inner));
                passed.push(format!("&a{at}"));
            }
            Ty::RefMut(inner) => {
                let _ = write!(reads, "let mut a{at} = read::<{}>(input); ", owned(inner));
                passed.push(format!("&mut a{at}"));
                let _ = write!(back, "Put::put(&a{at}, out); ");
            }
            ty => {
                let _ = write!(reads, "let a{at} = read::<{}>(input); ", owned(ty));
                passed.push(format!("a{at}"));
            }
        }
    }
    let called = match &call.kind {
        Kind::Function(function) => {
            let of = function
                .of
                .as_ref()
                .map_or_else(String::new, |of| format!("{of}::"));
            format!("super::{of}{}({})", function.name, passed.join(", "))
        }
        Kind::Trait(name, of) => call_of_trait(name, of, &passed),
    };
    let put = put_value("result", &call.result, kept);
    format!("{reads}if !input.rest.is_empty() {{ lost() }} let result = {called}; {put} {back}")
}

fn call_of_trait(name: &str, of: &str, passed: &[String]) -> String {
    let all = passed.join(", ");
    match name {
        "Debug" => format!(
            "if a1 {{ ::std::format!(\"{{:#?}}\", {0}) }} else {{ ::std::format!(\"{{:?}}\", {0}) \
             }}",
            passed[0]
        ),
        "Display" => format!("::std::string::ToString::to_string({all})"),
        "Clone" => format!("::std::clone::Clone::clone({all})"),
        "PartialEq" => format!("::std::cmp::PartialEq::eq({all})"),
        "PartialOrd" => format!("::std::cmp::PartialOrd::partial_cmp({all})"),
        "Ord" => format!("::std::cmp::Ord::cmp({all})"),
        _ => format!("<super::{of} as ::std::default::Default>::default()"),
    }
}

/// Writes a value down; one that stays with the code is kept and its number written.
fn put_value(value: &str, ty: &Ty, kept: &[&str]) -> String {
    let holds = ty.any(&|ty| matches!(ty, Ty::Named(name) if kept.contains(&name.as_str())));
    match ty {
        _ if !holds => format!("Put::put(&{value}, out);"),
        Ty::Named(_) => format!("keep({value}, out);"),
        Ty::Of("::std::boxed::Box", parts) => format!(
            "{{ let v = *{value}; {} }}",
            put_value("v", &parts[0], kept)
        ),
        Ty::Of("::std::vec::Vec", parts) => {
            format!(
                "Put::put(&({value}.len() as u64), out); for v in {value} {{ {} }}",
                put_value("v", &parts[0], kept)
            )
        }
        Ty::Of("::std::option::Option", parts) => format!(
            "match {value} {{ Some(v) => {{ Put::put(&true, out); {} }} None => Put::put(&false, \
             out) }}",
            put_value("v", &parts[0], kept)
        ),
        Ty::Of(_, parts) if parts.len() == 2 => format!(
            "match {value} {{ Ok(v) => {{ Put::put(&true, out); {} }} Err(v) => {{ \
             Put::put(&false, out); {} }} }}",
            put_value("v", &parts[0], kept),
            put_value("v", &parts[1], kept)
        ),
        Ty::Tuple(parts) => {
            let names: Vec<String> = (0..parts.len()).map(|at| format!("{value}_{at}")).collect();
            let puts: String = parts
                .iter()
                .zip(&names)
                .map(|(part, name)| put_value(name, part, kept))
                .collect();
            format!("{{ let ({}) = {value}; {puts} }}", names.join(", "))
        }
        // Not reached: the offer has no other type that holds what is kept.
        _ => "lost()".to_owned(),
    }
}
