//! The two programs made of a surface: what stands for the code beside its tests, and what answers
//! beside the code.

use super::{
    super::tokens::{Dialect, tokens},
    declared::{Function, Shape},
    surface::Surface,
    types::Type,
};
use crate::Given;

/// The package that both programs talk with.
fn wire() -> Vec<Given> {
    vec![
        Given::text("go.mod", super::MODULE),
        Given::text("rebutwire/channel.go", include_str!("channel.go.txt")),
        Given::text("rebutwire/values.go", include_str!("values.go.txt")),
        Given::text("rebutwire/reading.go", include_str!("reading.go.txt")),
    ]
}

/// What is built beside the tests: nothing in it is a word of the code but its plain names.
pub(super) fn tests_side(surface: &Surface) -> Vec<Given> {
    let mut files = wire();
    files.push(Given::text(
        "rebutwire/begin.go",
        include_str!("begin.go.txt"),
    ));
    files.push(Given::text("solution.go", stub(surface)));
    files
}

/// What is built of the code.
pub(super) fn code_side(surface: &Surface, code: &str) -> Vec<Given> {
    let mut files = wire();
    // A program cannot be taken in by another one; its `main` is an ordinary function then.
    let package = if surface.package == "main" {
        "solution"
    } else {
        surface.package.as_str()
    };
    let words = tokens(code, Dialect::Go);
    let clause = words
        .get(1)
        .map_or(0..0, |name| name.at..name.at + name.text.len());
    let mut renamed = code.to_owned();
    renamed.replace_range(clause, package);
    files.push(Given::text("solution.go", renamed));
    files.push(Given::text("rebut_worker.go", serving(surface, package)));
    files.push(Given::text(
        "rebutmain/main.go",
        "package main\n\nimport code \"solution\"\n\nfunc main() { code.RebutServe() }\n",
    ));
    files
}

fn stub(surface: &Surface) -> String {
    let locks = surface.types.values().any(
        |shape| matches!(shape, Shape::Struct(fields) if fields.iter().any(|(_, ty)| has_lock(ty))),
    );
    let mut text = format!(
        "package {}\n\nimport \"solution/rebutwire\"\n",
        surface.package
    );
    text.push_str(if locks { "import \"sync\"\n" } else { "" });
    text.push_str("\nvar _ = rebutwire.Call\n");
    for (name, shape) in &surface.types {
        match shape {
            Shape::Of(ty) => text.push_str(&format!("\ntype {name} {ty}\n")),
            Shape::Struct(fields) => {
                let lines: String = fields
                    .iter()
                    .map(|(field, ty)| format!("\t{field} {ty}\n"))
                    .collect();
                text.push_str(&format!("\ntype {name} struct {{\n{lines}}}\n"));
            }
        }
    }
    for (name, said) in &surface.errors {
        text.push_str(&format!("\nvar {name} = rebutwire.New(\"{said}\")\n"));
    }
    let errors: Vec<&str> = surface
        .errors
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    text.push_str(&format!(
        "\nvar _ = rebutwire.Sentinels({})\n",
        errors.join(", ")
    ));
    for (number, function) in surface.functions.iter().enumerate() {
        text.push_str(&forward(number, function));
    }
    text.push_str(if surface.package == "main" {
        "\nfunc main() {}\n"
    } else {
        ""
    });
    text
}

fn has_lock(ty: &Type) -> bool {
    match ty {
        Type::Lock(_) => true,
        Type::Slice(inner) | Type::Array(_, inner) | Type::Pointer(inner) => has_lock(inner),
        Type::Map(key, value) => has_lock(key) || has_lock(value),
        Type::Basic(_) | Type::Named(_) | Type::Error => false,
    }
}

/// A function that has the code's function of that name called.
fn forward(number: usize, function: &Function) -> String {
    let last = function.given.len().saturating_sub(1);
    let given: Vec<String> = function
        .given
        .iter()
        .enumerate()
        .map(|(at, ty)| {
            format!(
                "rebut{at} {}{ty}",
                if function.variadic && at == last {
                    "..."
                } else {
                    ""
                }
            )
        })
        .collect();
    let results: Vec<String> = function
        .results
        .iter()
        .enumerate()
        .map(|(at, ty)| format!("rebutr{at} {ty}"))
        .collect();
    let receiver = function
        .receiver
        .as_ref()
        .map(|(pointer, name)| format!("(rebut {}{name}) ", if *pointer { "*" } else { "" }));
    let mut passed: Vec<String> = receiver.iter().map(|_| "&rebut".to_owned()).collect();
    passed.extend((0..function.given.len()).map(|at| format!("&rebut{at}")));
    let taken: Vec<String> = (0..function.results.len())
        .map(|at| format!("&rebutr{at}"))
        .collect();
    format!(
        "\nfunc {}{}({}) ({}) {{\n\trebutwire.Call({number}, []interface{{}}{{{}}}, \
         []interface{{}}{{{}}})\n\treturn\n}}\n",
        receiver.unwrap_or_default(),
        function.name,
        given.join(", "),
        results.join(", "),
        passed.join(", "),
        taken.join(", ")
    )
}

/// The list of functions that are answered, in the code's own package.
fn serving(surface: &Surface, package: &str) -> String {
    let functions: Vec<String> = surface
        .functions
        .iter()
        .map(|function| match &function.receiver {
            Some((true, owner)) => format!("(*{owner}).{}", function.name),
            Some((false, owner)) => format!("{owner}.{}", function.name),
            None => function.name.clone(),
        })
        .collect();
    let errors: Vec<&str> = surface
        .errors
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    format!(
        "package {package}\n\nimport \"solution/rebutwire\"\n\nfunc RebutServe() {{\n\t\
         rebutwire.Serve([]interface{{}}{{{}}}, []error{{{}}})\n}}\n",
        functions.join(", "),
        errors.join(", ")
    )
}
