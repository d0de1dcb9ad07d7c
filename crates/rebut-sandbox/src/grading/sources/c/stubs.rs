//! The texts made of a surface: what stands for the code beside its tests, and what answers behind
//! the code.

use super::{
    own,
    surface::{Function, Given, Way},
    types::Type,
};
use std::collections::BTreeSet;

/// Headers of the system that the code's tests may rely on because the code takes them in.
const HEADERS: &str = "stdio.h stdlib.h string.h stdint.h stdbool.h stddef.h limits.h math.h \
    ctype.h float.h inttypes.h errno.h \
    time.h assert.h string vector map set deque list queue stack array tuple utility optional \
    algorithm \
    numeric iostream sstream iomanip cmath cstdint cstdlib cstring cctype climits cstdio cassert \
    limits \
    functional memory stdexcept unordered_map unordered_set bits/stdc++.h";

/// What tests find where they include the code: headers that we know, and nothing else of it.
pub(super) fn header(code: &str, cpp: bool) -> String {
    let mut text = String::from("#pragma once\n");
    for name in own::includes(code).unwrap_or_default() {
        if let Some(known) = HEADERS
            .split(' ')
            .find(|known| *known == name && (cpp || known.ends_with(".h")))
        {
            text.push_str(&format!("#include <{known}>\n"));
        }
    }
    if cpp && code.contains("using namespace std;") {
        // So that there is such a namespace.
        text.push_str("#include <string>\nusing namespace std;\n");
    }
    text
}

/// The functions as they are declared before the tests, so that tests which declare them otherwise
/// are not built.
pub(super) fn prototypes(functions: &[Function]) -> String {
    let mut held = BTreeSet::new();
    for function in functions {
        function
            .given
            .iter()
            .map(|given| &given.ty)
            .chain([&function.result])
            .for_each(|ty| headers_of(ty, &mut held));
    }
    let includes: String = held
        .iter()
        .map(|name| format!("#include <{name}>\n"))
        .collect();
    let lines: String = functions
        .iter()
        .map(|function| format!("{};\n", head(function)))
        .collect();
    format!("{includes}{lines}{}", rooms(functions))
}

/// Goes between the tests and each stub that takes pointers, where they call it:
/// only there the compiler sees what they have. A call of
/// another kind finds nothing to be linked with.
fn rooms(functions: &[Function]) -> String {
    let mut text = format!("#ifndef REBUT_ROOM\n{}", include_str!("rooms.c.txt"));
    for (number, function) in functions
        .iter()
        .enumerate()
        .filter(|(_, function)| function.is_bounded())
    {
        let inline = "extern inline __attribute__((always_inline, gnu_inline))";
        text.push_str(&format!(
            "{};\n{inline} {} {{\n",
            bounded_head(number, function),
            head(function)
        ));
        let mut passed: Vec<String> = (0..function.given.len())
            .map(|at| format!("rebut{at}"))
            .collect();
        for (at, given) in bounded(function) {
            text.push_str(&format!(
                "    __SIZE_TYPE__ rebuts{at} = REBUT_ROOM(rebut{at});\n"
            ));
            if function.must_see(given) {
                text.push_str(&format!(
                    "    if (rebut{at} && __builtin_constant_p(rebuts{at}) && rebuts{at} == \
                     REBUT_UNSEEN) rebut_unseen();\n"
                ));
            }
            if let Way::Many(count) = given.way {
                text.push_str(&format!(
                    "    if (rebut{at} && __builtin_constant_p(rebuts{at}) && rebuts{at} != \
                     REBUT_UNSEEN && __builtin_constant_p(rebut{count}) \
                     && (long long)rebut{count} > (long long)(rebuts{at} / sizeof *rebut{at})) \
                     rebut_unseen();\n"
                ));
            }
            passed.push(format!("rebuts{at}"));
        }
        text.push_str(&format!(
            "    return rebut_stub_{number}({});\n}}\n",
            passed.join(", ")
        ));
    }
    text.push_str("#endif\n");
    text
}

/// The parameters that are pointers, and their places.
fn bounded(function: &Function) -> impl Iterator<Item = (usize, &Given)> {
    function
        .given
        .iter()
        .enumerate()
        .filter(|(_, given)| given.way != Way::Value)
}

/// A line for each name with one meaning, which is not built where the tests give it another one
/// besides.
pub(super) fn only_meanings(functions: &[Function]) -> String {
    let is_single = |name: &str| functions.iter().filter(|other| other.name == name).count() == 1;
    let single = functions
        .iter()
        .enumerate()
        .filter(|(_, function)| is_single(&function.name));
    single
        .map(|(number, function)| {
            format!(
                "using rebut_only_{number} = decltype(&{});\n",
                function.name
            )
        })
        .collect()
}

fn headers_of(ty: &Type, into: &mut BTreeSet<&'static str>) {
    match ty {
        Type::Std(name, inner) => {
            into.insert(match *name {
                "pair" => "utility",
                "multiset" => "set",
                name => name,
            });
            inner.iter().for_each(|ty| headers_of(ty, into));
        }
        Type::Reference { to, .. } => headers_of(to, into),
        Type::Void | Type::Scalar(_) | Type::Pointer { .. } => {}
    }
}

fn head(function: &Function) -> String {
    let given = parameters(function);
    let given = if given.is_empty() {
        "void".to_owned()
    } else {
        given.join(", ")
    };
    format!("{} {}({given})", function.result, function.name)
}

/// The same, told besides how many bytes stand behind each pointer.
fn bounded_head(number: usize, function: &Function) -> String {
    let rooms = bounded(function).map(|(at, _)| format!("__SIZE_TYPE__ rebuts{at}"));
    let given: Vec<String> = parameters(function).into_iter().chain(rooms).collect();
    format!(
        "{} rebut_stub_{number}({})",
        function.result,
        given.join(", ")
    )
}

fn parameters(function: &Function) -> Vec<String> {
    function
        .given
        .iter()
        .enumerate()
        .map(|(at, given)| format!("{} rebut{at}", given.ty))
        .collect()
}

/// What is compiled only to see that no name is one of the system's:
/// those would be the code's in the tests' process. `taken` are the headers
/// that the tests take in.
pub(super) fn names(
    functions: &[Function],
    taken: &[String],
    cpp: bool,
    within_std: bool,
) -> String {
    let names: BTreeSet<&str> = functions
        .iter()
        .map(|function| function.name.as_str())
        .collect();
    let mut text = String::from(include_str!("names.c.txt"));
    for header in taken {
        text.push_str(&format!(
            "#if __has_include(<{header}>)\n#include <{header}>\n#endif\n"
        ));
    }
    for name in &names {
        text.push_str(&format!(
            "#ifdef {name}\n#error {name} is a name of the system\n#endif\n"
        ));
    }
    for (number, function) in functions
        .iter()
        .enumerate()
        .filter(|(_, function)| cpp && !function.declared)
    {
        text.push_str(&found_by_arguments(number, function));
    }
    for (number, name) in names.iter().enumerate() {
        text.push_str(&format!("enum rebut_name_{number} {{ {name} }};\n"));
        if cpp && within_std {
            text.push_str(&format!(
                "namespace std {{ enum rebut_name_{number} {{ {name} }}; }}\n"
            ));
        }
    }
    text
}

/// The library's functions are found by what they are given, without being named as its own:
/// `size(all)` may be meant to be `std::size`.
fn found_by_arguments(number: usize, function: &Function) -> String {
    if function.given.is_empty() {
        return String::new();
    }
    let given: Vec<String> = function
        .given
        .iter()
        .map(|given| given.ty.to_string())
        .collect();
    // What is in a variable may be taken by reference.
    let named: Vec<String> = given
        .iter()
        .map(|ty| format!("std::remove_cvref_t<{ty}> &"))
        .collect();
    format!(
        "template <class... T> concept rebut_found_{number} = requires(T &&...given) {{ \
         {}(static_cast<T &&>(given)...); }};\n\
         static_assert(!rebut_found_{number}<{}>, \"a name of the library\");\n\
         static_assert(!rebut_found_{number}<{}>, \"a name of the library\");\n",
        function.name,
        given.join(", "),
        named.join(", ")
    )
}

fn include(cpp: bool) -> &'static str {
    if cpp {
        "#include \"rebut_wire.hpp\"\n"
    } else {
        "#include \"rebut_wire.h\"\n"
    }
}

/// The functions that stand for the code's: each has the one of its number called.
pub(super) fn stubs(functions: &[Function], cpp: bool) -> String {
    let mut text = include(cpp).to_owned();
    for (number, function) in functions.iter().enumerate() {
        let head = if function.is_bounded() {
            bounded_head(number, function)
        } else {
            head(function)
        };
        text.push_str(&format!("{head} {{\n"));
        for (at, given) in bounded(function) {
            let seen = u8::from(function.must_see(given));
            text.push_str(&match given.way {
                Way::Many(count) => {
                    format!(
                        "    rebut_within(rebut{at}, rebuts{at}, sizeof *rebut{at}, (long \
                        long)rebut{count}, {seen});\n"
                    )
                }
                Way::Room => format!("    rebut_within(rebut{at}, rebuts{at}, 1, 1, {seen});\n"),
                _ => format!("    rebut_within_text(rebut{at}, rebuts{at}, {seen});\n"),
            });
        }
        text.push_str(&format!("    rebut_begin({number}u);\n"));
        for (at, given) in function.given.iter().enumerate() {
            text.push_str(&match given.way {
                Way::Value if cpp => format!("    rebut_wire::give(rebut{at});\n"),
                Way::Value => format!("    rebut_put(&rebut{at}, sizeof rebut{at});\n"),
                Way::Text => format!("    rebut_put_text(rebut{at});\n"),
                Way::Room => format!("    rebut_put_many(rebut{at}, 1, (long long)rebuts{at});\n"),
                Way::Many(count) => format!(
                    "    rebut_put_many(rebut{at}, sizeof *rebut{at}, (long long)rebut{count});\n"
                ),
            });
        }
        // What was changed before something was thrown is changed here too.
        let broken = "if (rebut_ask() != 'R') rebut_broken(\"it is no result\")";
        text.push_str(&format!(
            "    {};\n",
            if cpp {
                "rebut_wire::thrown rebut_t(rebut_ask() != 'R')"
            } else {
                broken
            }
        ));
        for (at, given) in function
            .given
            .iter()
            .enumerate()
            .filter(|(_, given)| given.comes_back())
        {
            text.push_str(&match given.way {
                Way::Value => format!("    rebut_wire::take(rebut{at});\n"),
                Way::Room | Way::Text => {
                    format!("    rebut_get_many(rebut{at}, 1, (long long)rebuts{at});\n")
                }
                Way::Many(count) => format!(
                    "    rebut_get_many(rebut{at}, sizeof *rebut{at}, (long long)rebut{count});\n"
                ),
            });
        }
        text.push_str(if cpp { "    rebut_t.again();\n" } else { "" });
        let (ty, zero) = (&function.result, if cpp { "{}" } else { "" });
        text.push_str(&match ty {
            Type::Void => "    rebut_end();\n}\n".to_owned(),
            Type::Pointer { .. } => format!(
                "    {ty} rebut_r = rebut_get_text();\n    \
                rebut_end();\n    return rebut_r;\n}}\n"
            ),
            Type::Scalar(scalar) if scalar.words == "_Bool" => {
                format!(
                    "    {ty} rebut_r = rebut_get_bool() != 0;\n    rebut_end();\n    return \
                    rebut_r;\n}}\n"
                )
            }
            _ => {
                let get = if cpp {
                    "rebut_wire::take(rebut_r)"
                } else {
                    "rebut_get(&rebut_r, \
                    sizeof rebut_r)"
                };
                format!(
                    "    {ty} rebut_r{zero};\n    {get};\n    rebut_end();\n    return \
                    rebut_r;\n}}\n"
                )
            }
        });
    }
    text
}

/// What stands behind the code and answers calls.
pub(super) fn answers(functions: &[Function], cpp: bool) -> String {
    let mut text = format!(
        "\n#line 1 \"answers\"\n{}void rebut_answer(unsigned rebut_which) {{\n    switch \
         (rebut_which) {{\n",
        include(cpp)
    );
    for (number, function) in functions.iter().enumerate() {
        text.push_str(&format!(
            "    case {number}u: {{\n{}        break;\n    }}\n",
            answer(function, cpp)
        ));
    }
    text.push_str("    default: rebut_broken(\"there is no such function\");\n    }\n}\n");
    text
}

fn answer(function: &Function, cpp: bool) -> String {
    let mut text = String::new();
    for (at, given) in function.given.iter().enumerate() {
        let ty = &given.ty;
        text.push_str(&match (&given.way, ty) {
            (Way::Value, Type::Reference { to, .. }) => format!(
                "        {to} rebut{at}{{}}; \
                rebut_wire::take(rebut{at});\n"
            ),
            (Way::Value, _) if cpp => format!(
                "        {ty} rebut{at}{{}}; \
                rebut_wire::take(rebut{at});\n"
            ),
            (Way::Value, _) => format!(
                "        {ty} rebut{at}; rebut_get(&rebut{at}, sizeof \
                rebut{at});\n"
            ),
            (Way::Text, _) => format!("        {ty} rebut{at} = ({ty})rebut_take_text();\n"),
            (Way::Room, _) => {
                format!(
                    "        long long rebutl{at}; {ty} rebut{at} = \
                    ({ty})rebut_take_room(&rebutl{at});\n"
                )
            }
            (Way::Many(_), _) => format!(
                "        {ty} rebut{at} = ({ty})rebut_take_many(sizeof \
                *rebut{at});\n"
            ),
        });
    }
    let passed: Vec<String> = (0..function.given.len())
        .map(|at| format!("rebut{at}"))
        .collect();
    let call = format!("{}({})", function.name, passed.join(", "));
    let mut inner = match &function.result {
        Type::Void => format!("        {call};\n"),
        ty => format!("        {ty} rebut_r = {call};\n"),
    };
    let mut changed = String::new();
    for (at, given) in function
        .given
        .iter()
        .enumerate()
        .filter(|(_, given)| given.comes_back())
    {
        changed.push_str(&match given.way {
            Way::Value => format!("        rebut_wire::give(rebut{at});\n"),
            Way::Room | Way::Text => format!("        rebut_put_many(rebut{at}, 1, rebutl{at});\n"),
            Way::Many(count) => format!(
                "        rebut_put_many(rebut{at}, sizeof *rebut{at}, (long long)rebut{count});\n"
            ),
        });
    }
    inner.push_str(&format!("        rebut_result('R');\n{changed}"));
    inner.push_str(match &function.result {
        Type::Void => "",
        Type::Pointer { .. } => "        rebut_give_text(rebut_r);\n",
        _ if cpp => "        rebut_wire::give(rebut_r);\n",
        _ => "        rebut_put(&rebut_r, sizeof rebut_r);\n",
    });
    if cpp {
        format!(
            "{text}        try {{\n{inner}        }} catch (...) {{\n        \
             rebut_wire::tell_thrown();\n{changed}        }}\n"
        )
    } else {
        format!("{text}{inner}")
    }
}
