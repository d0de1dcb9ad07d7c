//! Which conflicts are debated: direct ones only, few, and no two reviewers twice about the same
//! thing. Pure.

use super::operations::normalised;
use crate::facts::Conflict;

/// The conflicts to debate, in their own order.
pub fn select(conflicts: &[Conflict], most: usize) -> Vec<&Conflict> {
    let mut chosen: Vec<&Conflict> = Vec::new();
    for conflict in conflicts
        .iter()
        .filter(|conflict| conflict.is_direct && conflict.agents[0] != conflict.agents[1])
    {
        if chosen.len() == most {
            break;
        }
        if !chosen.iter().any(|known| is_same_matter(known, conflict)) {
            chosen.push(conflict);
        }
    }
    chosen
}

fn is_same_matter(one: &Conflict, other: &Conflict) -> bool {
    let sides = |conflict: &Conflict| {
        let mut sides = conflict.agents.clone();
        sides.sort();
        sides
    };
    sides(one) == sides(other) && normalised(&one.target) == normalised(&other.target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflict(number: usize, target: &str, agents: [&str; 2], is_direct: bool) -> Conflict {
        Conflict {
            id: format!("C{number}"),
            target: target.to_owned(),
            description: String::new(),
            agents: agents.map(Into::into),
            operations: [String::new(), String::new()],
            is_direct,
        }
    }

    #[test]
    fn pairs_are_direct_few_and_never_the_same_two_about_the_same() {
        let (a, b, c) = ("a", "b", "c");
        let five: Vec<Conflict> = (1..=5)
            .map(|number| conflict(number, &format!("t{number}"), [a, b], true))
            .collect();
        let rows: [(&str, Vec<Conflict>, usize, &[&str]); 8] = [
            ("no conflicts", vec![], 2, &[]),
            ("one", vec![conflict(1, "t", [a, b], true)], 2, &["C1"]),
            (
                "indirect ones are not debated",
                vec![
                    conflict(1, "t", [a, b], false),
                    conflict(2, "u", [a, c], true),
                ],
                2,
                &["C2"],
            ),
            ("at most so many", five.clone(), 2, &["C1", "C2"]),
            (
                "as many as there are",
                five,
                9,
                &["C1", "C2", "C3", "C4", "C5"],
            ),
            ("none wanted", vec![conflict(1, "t", [a, b], true)], 0, &[]),
            (
                "the same two about the same once, whoever is named first",
                vec![
                    conflict(1, "The t", [a, b], true),
                    conflict(2, "t", [b, a], true),
                    conflict(3, "t", [a, c], true),
                ],
                3,
                &["C1", "C3"],
            ),
            (
                "nobody argues with itself",
                vec![conflict(1, "t", [a, a], true)],
                2,
                &[],
            ),
        ];
        for (what, conflicts, most, expected) in rows {
            let chosen: Vec<&str> = select(&conflicts, most)
                .into_iter()
                .map(|conflict| conflict.id.as_str())
                .collect();
            assert_eq!(chosen, expected, "{what}");
        }
    }
}
