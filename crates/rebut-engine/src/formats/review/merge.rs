//! Merging by priority: of two operations that cannot both be followed the one of the higher
//! priority stands. Pure, and made from what the reviewers said blind: nothing else can reach it.

use super::{
    conflicts::{Clash, clash, is_same},
    operations::{Dropped, Merged, Operation},
};
use std::sync::Arc;

/// What stands and what does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merge {
    /// The operations that stand, by priority, then as the reviewer ordered them.
    pub merged: Vec<Merged>,
    /// Those that do not, in the same order.
    pub dropped: Vec<Dropped>,
}

/// Reviewers by priority: those whose role is listed as listed, then all others in the order of the
/// panel. Each is a name and a role.
pub fn by_priority<'a>(
    reviewers: &[(&'a Arc<str>, &'a str)],
    priority: &[String],
) -> Vec<&'a Arc<str>> {
    let rank = |role: &str| {
        priority
            .iter()
            .position(|listed| listed == role)
            .unwrap_or(priority.len())
    };
    let mut ranked: Vec<_> = reviewers.to_vec();
    // Stable: of one rank the panel's order counts.
    ranked.sort_by_key(|(_, role)| rank(role));
    ranked.into_iter().map(|(name, _)| name).collect()
}

/// Merges operations. `order` says whose come first.
pub fn merge(operations: &[Operation], order: &[&Arc<str>]) -> Merge {
    let rank = |by: &Arc<str>| {
        order
            .iter()
            .position(|name| *name == by)
            .unwrap_or(order.len())
    };
    let mut sorted: Vec<&Operation> = operations.iter().collect();
    sorted.sort_by_key(|operation| rank(&operation.by));
    let mut merge = Merge::default();
    for operation in sorted {
        merge.take(operation);
    }
    merge
}

impl Merge {
    fn take(&mut self, operation: &Operation) {
        if let Some(known) = self
            .merged
            .iter_mut()
            .find(|known| is_same(&known.operation, operation))
        {
            known.operation.severity = known.operation.severity.max(operation.severity);
            if !known.proposed_by.contains(&operation.by) {
                known.proposed_by.push(operation.by.clone());
            }
            return;
        }
        let stronger = self
            .merged
            .iter()
            .map(|known| &known.operation)
            .find(|known| clash(known, operation) != Clash::None);
        match stronger {
            Some(stronger) => self.dropped.push(Dropped {
                operation: operation.id.clone(),
                by: operation.by.clone(),
                instead: stronger.id.clone(),
                because: why(stronger, operation),
            }),
            None => self.merged.push(Merged {
                operation: operation.clone(),
                proposed_by: vec![operation.by.clone()],
            }),
        }
    }
}

fn why(stronger: &Operation, operation: &Operation) -> String {
    if stronger.by == operation.by {
        return format!("{} itself proposes {} before it", operation.by, stronger.id);
    }
    format!(
        "cannot be followed together with {}, and {} comes before {}",
        stronger.id, stronger.by, operation.by
    )
}

#[cfg(test)]
mod tests {
    use super::{
        super::operations::{
            OperationKind::{AddConstraint, Clarify, RemoveConstraint, Replace},
            Severity, sample,
        },
        *,
    };

    fn names(priority: &[&str], panel: &[(&str, &str)]) -> Vec<String> {
        let panel: Vec<(Arc<str>, &str)> = panel
            .iter()
            .map(|(name, role)| (Arc::from(*name), *role))
            .collect();
        let panel: Vec<(&Arc<str>, &str)> =
            panel.iter().map(|(name, role)| (name, *role)).collect();
        let priority: Vec<String> = priority.iter().copied().map(str::to_owned).collect();
        by_priority(&panel, &priority)
            .into_iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn the_order_is_the_listed_one_then_the_panels() {
        let panel = [
            ("testing", "testing"),
            ("ethics", "ethics"),
            ("sec-2", "security"),
            ("sec-1", "security"),
            ("law", "law"),
        ];
        let rows: [(&[&str], &[&str]); 3] = [
            (
                &["security", "testing"],
                &["sec-2", "sec-1", "testing", "ethics", "law"],
            ),
            (&[], &["testing", "ethics", "sec-2", "sec-1", "law"]),
            (
                &["law", "nobody"],
                &["law", "testing", "ethics", "sec-2", "sec-1"],
            ),
        ];
        for (priority, expected) in rows {
            assert_eq!(names(priority, &panel), expected, "{priority:?}");
        }
    }

    #[test]
    fn the_higher_priority_stands_and_the_other_is_dropped_with_the_reason() {
        let operations = [
            sample("testing", 1, RemoveConstraint, "env access", ""),
            sample("testing", 2, Clarify, "title", "say it"),
            sample("security", 1, AddConstraint, "Env access", "read no env"),
        ];
        let (security, testing): (Arc<str>, Arc<str>) = ("security".into(), "testing".into());
        let stands = |order: &[&Arc<str>]| {
            let merge = merge(&operations, order);
            let merged: Vec<String> = merge
                .merged
                .into_iter()
                .map(|merged| merged.operation.id)
                .collect();
            (merged, merge.dropped)
        };
        let (merged, dropped) = stands(&[&security, &testing]);
        assert_eq!(merged, ["security#1", "testing#2"]);
        assert_eq!(
            (
                dropped[0].operation.as_str(),
                dropped[0].instead.as_str(),
                dropped.len()
            ),
            ("testing#1", "security#1", 1)
        );
        assert_eq!(
            dropped[0].because,
            "cannot be followed together with security#1, and security comes before testing"
        );
        assert_eq!(stands(&[&testing, &security]).0, ["testing#1", "testing#2"]);
    }

    #[test]
    fn what_several_propose_is_joined_and_as_severe_as_the_most_worried_says() {
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let mut again = sample("b", 1, Replace, "The Title", "Plain  words");
        again.severity = Severity::Critical;
        let mut operations = vec![sample("a", 1, Replace, "title", "plain words"), again];
        let merge_all = |operations: &[Operation]| merge(operations, &[&a, &b]);
        let joined = merge_all(&operations);
        assert_eq!(joined.merged.len(), 1);
        assert_eq!(
            (
                joined.merged[0].operation.id.as_str(),
                joined.merged[0].operation.severity
            ),
            ("a#1", Severity::Critical)
        );
        assert_eq!(joined.merged[0].proposed_by, [a.clone(), b.clone()]);
        // Who contradicts itself is taken at its first word, and what only clashes with something
        // dropped stands.
        operations.push(sample("b", 2, Replace, "title", "other words"));
        operations.push(sample("b", 3, AddConstraint, "length", "short"));
        operations.push(sample("b", 4, RemoveConstraint, "length", ""));
        let merged = merge_all(&operations);
        assert_eq!(
            merged
                .merged
                .iter()
                .map(|merged| merged.operation.id.as_str())
                .collect::<Vec<_>>(),
            ["a#1", "b#3"]
        );
        assert_eq!(merged.dropped[1].because, "b itself proposes b#3 before it");
        // Whoever answered first changes nothing.
        operations.rotate_left(1);
        assert_eq!(merge_all(&operations).merged, merged.merged);
        assert_eq!(merge_all(&[]), Merge::default());
    }
}
