//! What formats found besides positions: personas, verdicts between two sides, conflicts. Each only
//! where there is something.

use super::{markup::Markup, section};
use crate::{facts::Ruling, view::View};

/// Writes what there is. Verdicts are left out where what was said has them in their place.
pub fn write(page: &mut Markup, view: &View, verdicts_follow: bool) {
    if !view.personas.is_empty() {
        section(page, "personas", "Personas", |page| {
            let rows = view.personas.iter().map(|(agent, persona)| {
                let by = if persona.generated {
                    "a model"
                } else {
                    "built in"
                };
                vec![
                    agent.to_string(),
                    persona.title.clone(),
                    persona.domain.clone(),
                    by.to_owned(),
                ]
            });
            page.table(
                "Who was given which persona",
                &["Agent", "Persona", "Field", "Written by"],
                rows,
            );
        });
    }
    if !view.verdicts.is_empty() && !verdicts_follow {
        section(page, "verdicts", "Verdicts", |page| {
            let titles = [
                "About",
                "Sides",
                "Better",
                "Confidence",
                "Scores",
                "Why",
                "To know",
            ];
            page.table(
                "What judges said of two sides, each asked in both orders",
                &titles,
                view.verdicts.iter().map(|ruling| verdict(ruling)),
            );
        });
    }
    if !view.conflicts.is_empty() {
        section(page, "conflicts", "Conflicts", |page| {
            let rows = view.conflicts.iter().map(|conflict| {
                let kind = if conflict.is_direct {
                    "one adds what the other removes"
                } else {
                    "cannot both be followed"
                };
                let agents = conflict.agents.join(" and ");
                vec![
                    conflict.id.clone(),
                    conflict.target.clone(),
                    agents,
                    kind.to_owned(),
                    conflict.description.clone(),
                ]
            });
            page.table(
                "Proposals that cannot both be followed",
                &["Conflict", "About", "Whose", "Kind", "What"],
                rows,
            );
        });
    }
}

fn verdict(ruling: &Ruling) -> Vec<String> {
    let scores = ruling
        .scores
        .iter()
        .map(|(side, score)| format!("{side} {score:.1}"))
        .collect::<Vec<_>>()
        .join(", ");
    let flipped = ruling
        .flipped
        .then_some("changed with the order of the sides: a draw");
    let family = ruling
        .own_family
        .then_some("the judge's model is of the family of a side's");
    let points = if ruling.key_points.is_empty() {
        String::new()
    } else {
        format!(" Key points: {}", ruling.key_points.join("; "))
    };
    vec![
        ruling.about.clone(),
        ruling.sides.join(" and "),
        ruling.winner.clone().unwrap_or_else(|| "draw".to_owned()),
        format!("{:.2}", ruling.confidence),
        scores,
        format!("{}{points}", ruling.reasoning),
        flipped
            .into_iter()
            .chain(family)
            .collect::<Vec<_>>()
            .join("; "),
    ]
}
