//! Caps from files: where the user's and the project's both limit something, the smaller counts.

use super::file::BudgetSection;

impl BudgetSection {
    /// Both files' caps as one. A project may not loosen what the user limits.
    pub fn tightened_by(self, project: Self) -> Self {
        let loose = project
            .allow_unknown_price
            .filter(|_| self.max_cost.is_none());
        Self {
            max_cost: smaller(self.max_cost, project.max_cost),
            max_tokens: smaller(self.max_tokens, project.max_tokens),
            max_calls: smaller(self.max_calls, project.max_calls),
            max_time: match (self.max_time, project.max_time) {
                (Some(one), Some(other)) => Some(if one.0 <= other.0 { one } else { other }),
                (one, other) => one.or(other),
            },
            allow_unknown_price: self.allow_unknown_price.or(loose),
        }
    }

    /// What both files limit, by name.
    pub fn shared_with(&self, project: &Self) -> Vec<&'static str> {
        let rows = [
            (
                "max_cost",
                self.max_cost.is_some() && project.max_cost.is_some(),
            ),
            (
                "max_tokens",
                self.max_tokens.is_some() && project.max_tokens.is_some(),
            ),
            (
                "max_calls",
                self.max_calls.is_some() && project.max_calls.is_some(),
            ),
            (
                "max_time",
                self.max_time.is_some() && project.max_time.is_some(),
            ),
        ];
        rows.into_iter()
            .filter(|(_, both)| *both)
            .map(|(name, _)| name)
            .collect()
    }
}

fn smaller<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other < one { other } else { one }),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Span;

    #[test]
    fn the_smaller_cap_counts_and_a_project_loosens_nothing() {
        let section =
            |max_cost, max_calls, max_time: Option<u64>, allow_unknown_price| BudgetSection {
                max_cost,
                max_calls,
                max_time: max_time.map(Span),
                allow_unknown_price,
                max_tokens: None,
            };
        let rows = [
            (
                section(Some(0.5), None, None, None),
                section(Some(2.0), Some(9), None, Some(true)),
                section(Some(0.5), Some(9), None, None),
            ),
            (
                section(Some(2.0), None, Some(60), None),
                section(Some(0.5), None, Some(90), None),
                section(Some(0.5), None, Some(60), None),
            ),
            (
                section(None, None, None, None),
                section(Some(1.0), None, None, Some(true)),
                section(Some(1.0), None, None, Some(true)),
            ),
            (
                section(Some(1.0), None, None, Some(true)),
                section(None, None, None, Some(false)),
                section(Some(1.0), None, None, Some(true)),
            ),
        ];
        for (user, project, expected) in rows {
            assert_eq!(
                user.clone().tightened_by(project.clone()),
                expected,
                "{user:?} {project:?}"
            );
        }
    }
}
