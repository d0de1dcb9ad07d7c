//! Which operations cannot both be followed. Pure.

use super::operations::{Effect, Operation, normalised};
use crate::facts::Conflict;

/// How two operations on the same target stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    None,
    /// One adds what the other removes.
    Direct,
    /// Each would leave the target in another state.
    Indirect,
}

/// Every two operations that cannot both be followed, in the order they are given, named `C1`,
/// `C2`, …
pub fn find(operations: &[Operation]) -> Vec<Conflict> {
    let mut found: Vec<Conflict> = Vec::new();
    for (at, first) in operations.iter().enumerate() {
        for second in &operations[at + 1..] {
            let clash = clash(first, second);
            if clash == Clash::None {
                continue;
            }
            found.push(Conflict {
                id: format!("C{}", found.len() + 1),
                target: first.target.clone(),
                description: describe(first, second, clash),
                agents: [first.by.clone(), second.by.clone()],
                operations: [first.id.clone(), second.id.clone()],
                is_direct: clash == Clash::Direct,
            });
        }
    }
    found
}

/// Whether two operations cannot both be followed. The order does not matter.
pub fn clash(first: &Operation, second: &Operation) -> Clash {
    if normalised(&first.target) != normalised(&second.target) || is_same(first, second) {
        return Clash::None;
    }
    match (first.kind.effect(), second.kind.effect()) {
        (Effect::Adds, Effect::Removes) | (Effect::Removes, Effect::Adds) => Clash::Direct,
        // What is gone cannot be another one, nor clearer; and it cannot be two others at once.
        (Effect::Changes, Effect::Changes | Effect::Removes)
        | (Effect::Removes, Effect::Changes) => Clash::Indirect,
        (Effect::Removes, Effect::Keeps) | (Effect::Keeps, Effect::Removes) => Clash::Indirect,
        _ => Clash::None,
    }
}

/// Whether two operations are the same one, proposed twice. What is removed is gone, whatever was
/// said with it.
pub fn is_same(first: &Operation, second: &Operation) -> bool {
    let removes = first.kind.effect() == Effect::Removes;
    first.kind == second.kind
        && normalised(&first.target) == normalised(&second.target)
        && (removes || normalised(&first.text) == normalised(&second.text))
}

fn describe(first: &Operation, second: &Operation, clash: Clash) -> String {
    let target = crate::clean::on_one_line(&first.target);
    match clash {
        Clash::Direct if first.kind.effect() == Effect::Adds => {
            format!("Add vs Remove on '{target}'")
        }
        Clash::Direct => format!("Remove vs Add on '{target}'"),
        _ => format!(
            "{} vs {} on '{target}'",
            first.kind.name(),
            second.kind.name()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::operations::{
            OperationKind::{
                AddConstraint, AddContext, Clarify, Remove, RemoveConstraint, Replace, Restructure,
            },
            sample,
        },
        *,
    };

    #[test]
    fn what_clashes_and_what_does_not() {
        let rows = [
            (AddConstraint, RemoveConstraint, "one", "two", Clash::Direct),
            (AddConstraint, Remove, "one", "two", Clash::Direct),
            (AddContext, Remove, "one", "two", Clash::Direct),
            (AddConstraint, AddConstraint, "one", "two", Clash::None),
            (AddConstraint, AddContext, "one", "two", Clash::None),
            (AddConstraint, Replace, "one", "two", Clash::None),
            (Replace, Replace, "one", "two", Clash::Indirect),
            (Replace, Replace, "one", "One!", Clash::None),
            (Replace, Restructure, "one", "one", Clash::Indirect),
            (Restructure, Restructure, "one", "two", Clash::Indirect),
            (Replace, Remove, "one", "two", Clash::Indirect),
            (RemoveConstraint, Restructure, "one", "two", Clash::Indirect),
            (Remove, Remove, "one", "two", Clash::None),
            (Remove, RemoveConstraint, "one", "two", Clash::None),
            (Clarify, Remove, "one", "two", Clash::Indirect),
            (Clarify, Replace, "one", "two", Clash::None),
            (Clarify, Clarify, "one", "two", Clash::None),
        ];
        for (one, other, says, also, expected) in rows {
            let first = sample("a", 1, one, "Env access", says);
            let second = sample("b", 1, other, "the env-access", also);
            assert_eq!(clash(&first, &second), expected, "{one:?} {other:?}");
            assert_eq!(clash(&second, &first), expected, "{other:?} {one:?}");
            let elsewhere = sample("b", 1, other, "output length", also);
            assert_eq!(clash(&first, &elsewhere), Clash::None, "another target");
        }
    }

    #[test]
    fn conflicts_are_named_in_order_and_say_who() {
        let operations = [
            sample("security", 1, AddConstraint, "Env access", "read no env"),
            sample("testing", 1, RemoveConstraint, "env access", ""),
            sample("testing", 2, Replace, "title", "Tests"),
            sample("clarity", 1, Replace, "Title", "Plain words"),
        ];
        let found = find(&operations);
        let rows: Vec<_> = found
            .iter()
            .map(|c| {
                (
                    c.id.as_str(),
                    c.description.as_str(),
                    c.operations.each_ref().map(String::as_str),
                    c.is_direct,
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                (
                    "C1",
                    "Add vs Remove on 'Env access'",
                    ["security#1", "testing#1"],
                    true
                ),
                (
                    "C2",
                    "Replace vs Replace on 'title'",
                    ["testing#2", "clarity#1"],
                    false
                ),
            ]
        );
        assert_eq!(find(&[]), []);
    }
}
