//! Assumptions behind a disagreement: what each side takes for granted, gathered in one table of
//! who holds what. Pure.

use crate::clean;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Something a party takes for granted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assumption {
    /// What is assumed, in one sentence.
    pub text: String,
    /// The observation that would show it to be wrong.
    #[serde(default)]
    pub falsified_by: String,
}

/// An assumption and which position stands on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mapped {
    /// What is assumed.
    pub assumption: String,
    /// Who holds it, by name.
    pub held_by: Vec<Arc<str>>,
    /// Which positions need it.
    pub supports: String,
    /// What would show it to be wrong; empty where nobody said.
    pub falsified_by: String,
}

/// The table. `parties` are name, position and assumptions of each, in order; the same assumption
/// of two is one row.
pub fn mapped(parties: &[(Arc<str>, String, Vec<Assumption>)]) -> Vec<Mapped> {
    let mut rows: Vec<(String, Mapped)> = Vec::new();
    for (party, position, assumptions) in parties {
        for assumption in assumptions
            .iter()
            .filter(|assumption| !assumption.text.trim().is_empty())
        {
            let key = key(&assumption.text);
            match rows.iter_mut().find(|(known, _)| *known == key) {
                Some((_, row)) => join(row, party, position, &assumption.falsified_by),
                None => {
                    let row = Mapped {
                        assumption: clean::on_one_line(&assumption.text),
                        held_by: vec![party.clone()],
                        supports: position.clone(),
                        falsified_by: clean::on_one_line(&assumption.falsified_by),
                    };
                    rows.push((key, row));
                }
            }
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

fn join(row: &mut Mapped, party: &Arc<str>, position: &str, falsified_by: &str) {
    if !row.held_by.contains(party) {
        row.held_by.push(party.clone());
        row.supports = format!("{}; {position}", row.supports);
    }
    if row.falsified_by.is_empty() {
        row.falsified_by = clean::on_one_line(falsified_by);
    }
}

/// Two texts of the same words in the same order are the same assumption, whatever their marks.
fn key(text: &str) -> String {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

pub fn table(rows: &[Mapped]) -> String {
    let cell = |text: &str| clean::for_markdown(text).replace('|', "\\|");
    let mut text = "| assumption | held by | what would falsify it |\n|---|---|---|\n".to_owned();
    for row in rows {
        let falsifier = if row.falsified_by.is_empty() {
            "(nobody said)".to_owned()
        } else {
            cell(&row.falsified_by)
        };
        text.push_str(&format!(
            "| {} | {} | {falsifier} |\n",
            cell(&row.assumption),
            cell(&row.held_by.join(", "))
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_assumption_of_two_is_one_row_and_a_cell_stays_a_cell() {
        let assume = |text: &str, falsified_by: &str| Assumption {
            text: text.to_owned(),
            falsified_by: falsified_by.to_owned(),
        };
        let rows = mapped(&[
            (
                "proposer".into(),
                "keep".to_owned(),
                vec![assume("Load stays small.", ""), assume("A | B\nC", "x")],
            ),
            (
                "architect".into(),
                "change".to_owned(),
                vec![assume("load stays SMALL", "10,000 users"), assume(" ", "y")],
            ),
        ]);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].held_by, ["proposer".into(), "architect".into()]);
        assert_eq!(
            (rows[0].supports.as_str(), rows[0].falsified_by.as_str()),
            ("keep; change", "10,000 users")
        );
        assert!(
            table(&rows).ends_with("| A \\| B C | proposer | x |\n"),
            "{}",
            table(&rows)
        );
    }
}
