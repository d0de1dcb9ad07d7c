//! Which modules of a crate need each other in a circle.

use crate::tidy::{File, Source, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// The largest set of modules that all reach each other.
pub struct Cycle {
    /// Names of the modules in it, sorted.
    pub modules: Vec<String>,
    /// How many modules the crate has.
    pub of: usize,
}

/// Folders whose files are counted as modules of their own: a folder must not hide a circle inside
/// it.
const OPEN_FOLDERS: &[&str] = &["kernel"];

/// The largest cycle among the modules of a crate; `None` if there is no such crate.
pub fn largest_cycle(tree: &Tree, name: &str) -> Option<Cycle> {
    let root = format!("crates/{name}/src/");
    let files: Vec<(&File, &Source)> = tree
        .rust()
        .filter(|(file, _)| file.path.starts_with(&root) && !file.is_test())
        .collect();
    let module_of = |file: &File| module(file.path.strip_prefix(&root).unwrap_or_default());
    let modules: BTreeSet<String> = files
        .iter()
        .filter_map(|(file, _)| module_of(file))
        .collect();
    let exported = exports(&files, &root);
    let mut needs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (file, source) in &files {
        let Some(own) = module_of(file).and_then(|own| modules.get(&own)) else {
            continue;
        };
        let found = paths(source)
            .into_iter()
            .filter_map(|path| resolve(&path, &modules, &exported));
        needs
            .entry(own)
            .or_default()
            .extend(found.filter(|module| module != own));
    }
    let reach: BTreeMap<&str, BTreeSet<&str>> = needs
        .keys()
        .map(|from| (*from, reached(from, &needs)))
        .collect();
    let circle = |of: &str| -> Vec<String> {
        let mutual = reach[of]
            .iter()
            .filter(|other| reach.get(**other).is_some_and(|back| back.contains(of)));
        mutual.map(|module| (*module).to_owned()).collect()
    };
    let largest = needs
        .keys()
        .map(|module| circle(module))
        .max_by_key(Vec::len)
        .unwrap_or_default();
    (!modules.is_empty()).then_some(Cycle {
        modules: largest,
        of: modules.len(),
    })
}

/// The module a file belongs to: its first folder or its name; the crate's root belongs to none.
fn module(path: &str) -> Option<String> {
    let mut parts = path.trim_end_matches(".rs").split('/');
    let first = parts.next()?;
    match parts.next() {
        None if ["lib", "main"].contains(&first) => None,
        Some(second) if OPEN_FOLDERS.contains(&first) && second != "mod" => {
            Some(format!("{first}::{second}"))
        }
        _ => Some(first.to_owned()),
    }
}

/// What the root exports under another path: item name to module.
fn exports(files: &[(&File, &Source)], root: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for (_, source) in files.iter().filter(|(file, _)| {
        file.path == format!("{root}lib.rs") || file.path == format!("{root}main.rs")
    }) {
        for statement in source.code.split(';') {
            let Some((_, used)) = statement.split_once("use ") else {
                continue;
            };
            for path in expand(used) {
                if let (Some(first), Some(last)) = (path.first(), path.last()) {
                    exports.insert(last.clone(), first.clone());
                }
            }
        }
    }
    exports
}

/// All paths below `crate::` in a file, as their parts.
fn paths(source: &Source) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (at, start) in source.code.match_indices("crate::") {
        let line = source.code[..at].matches('\n').count() + 1;
        if source.is_test(line)
            || source.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
        {
            continue;
        }
        let rest = &source.code[at + start.len()..];
        found.extend(expand(rest));
    }
    found
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`; ends where the path ends.
fn expand(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    expand_after(&[], text.trim_start(), &mut found);
    found
}

fn expand_after<'a>(before: &[String], text: &'a str, found: &mut Vec<Vec<String>>) -> &'a str {
    let mut path = before.to_vec();
    let mut rest = text.trim_start();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            rest = group.trim_start();
            while !rest.is_empty() && !rest.starts_with('}') {
                rest = expand_after(&path, rest, found).trim_start();
                rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
                if rest.starts_with([';', ')']) {
                    return rest;
                }
            }
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        if end == 0 {
            // Something that is no path, such as `*`: it ends here.
            found.push(path);
            return rest.get(1..).unwrap_or_default();
        }
        path.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(after) => rest = after,
            None => {
                found.push(path);
                // `as name` belongs to the import, not to the next path.
                let renamed = rest.trim_start().strip_prefix("as ");
                return renamed.map_or(rest, |name| {
                    name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
                });
            }
        }
    }
}

/// The module a path leads to.
fn resolve(
    path: &[String],
    modules: &BTreeSet<String>,
    exported: &BTreeMap<String, String>,
) -> Option<String> {
    let first = path.first()?;
    if let Some(second) = path.get(1) {
        let inner = format!("{first}::{second}");
        if modules.contains(&inner) {
            return Some(inner);
        }
    }
    if modules.contains(first) {
        Some(first.clone())
    } else {
        exported
            .get(first)
            .filter(|module| modules.contains(*module))
            .cloned()
    }
}

/// Everything that can be reached from a module.
fn reached<'a>(from: &str, needs: &'a BTreeMap<&str, BTreeSet<String>>) -> BTreeSet<&'a str> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(module) = open.pop() {
        for next in needs.get(module).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_imports_are_taken_apart() {
        let paths = |text: &str| {
            expand(text)
                .into_iter()
                .map(|path| path.join("::"))
                .collect::<Vec<_>>()
        };
        assert_eq!(paths("a::b;"), ["a::b"]);
        assert_eq!(
            paths("{a::{b, c as d}, e::f::g};"),
            ["a::b", "a::c", "e::f::g"]
        );
        assert_eq!(paths("a::call(crate::b)"), ["a::call"]);
    }

    #[test]
    fn modules_that_need_each_other_are_a_cycle() {
        let file =
            |path: &str, text: &str| File::new(format!("crates/x/src/{path}"), text.to_owned());
        let files = vec![
            file("lib.rs", "mod a; mod b; mod c; pub use b::Thing;"),
            file("a.rs", "use crate::Thing;"),
            file("b.rs", "fn f() { crate::a::g() }"),
            file("c.rs", "use crate::a::g;"),
        ];
        let cycle = largest_cycle(&Tree { files }, "x").expect("there are modules");
        assert_eq!(cycle.modules, ["a", "b"]);
        assert_eq!(cycle.of, 3);
    }
}
