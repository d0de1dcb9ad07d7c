//! An evaluation: what each topic did to the scores as the table and the drawing of the verdict
//! card, and why further below.

use super::{
    EvaluateResult,
    evidence::Quoted,
    render::{remarks, verdict_words},
    result::TopicRound,
    state::Totals,
};
use crate::{
    clean::on_one_line,
    report::{Markup, ResultCard, section, shown, signed, slopes},
    view::View,
};
use serde::Deserialize;

/// The columns of the card's table, and whether numbers stand in them.
const COLUMNS: &[(&str, bool)] = &[
    ("Topic", false),
    ("Category", false),
    ("Before", true),
    ("Arbiter", false),
    ("After", true),
    ("Change", true),
];

/// The card of an evaluation that has ended.
pub fn of(view: &View) -> Option<Box<dyn ResultCard>> {
    let result = EvaluateResult::deserialize(&view.outcome.as_ref()?.result).ok()?;
    Some(Box::new(result))
}

impl ResultCard for EvaluateResult {
    /// Writes the scores by topic, their drawing, and what a reader should know besides.
    fn card(&self, page: &mut Markup, view: &View) {
        let mut rows: Vec<Vec<String>> = self.rounds.iter().map(row).collect();
        if let Some(Totals { pre, post, delta }) = self.totals {
            rows.push(vec![
                "Total".to_owned(),
                String::new(),
                shown(pre),
                String::new(),
                shown(post),
                signed(delta),
            ]);
        }
        if !rows.is_empty() {
            page.numbers(
                "What each topic did to the scores",
                COLUMNS,
                &rows,
                self.totals.is_some(),
            );
        }
        slopes(page, view);
        let remarks = remarks(self);
        if !remarks.is_empty() {
            page.within("ul", &[], |page| {
                remarks
                    .iter()
                    .for_each(|remark| page.element("li", &[], remark))
            });
        }
    }

    /// Whether there is a score to give reasons for.
    fn has_reasons(&self) -> bool {
        !self.scores.is_empty()
    }

    /// Writes why each score is what it is.
    fn reasons(&self, page: &mut Markup) {
        if !self.has_reasons() {
            return;
        }
        section(page, "scores", "Why the scores are what they are", |page| {
            let rows = self.scores.iter().map(|(category, scored)| {
                let confidence = format!(
                    "{:.2} → {:.2}",
                    scored.confidence_pre, scored.confidence_post
                );
                vec![category.clone(), confidence, scored.why.clone()]
            });
            page.table(
                "What moved each score",
                &["Category", "Confidence in it", "Why"],
                rows,
            );
            if !self.evaluation.is_empty() {
                let rows = self.evaluation.iter().map(|(category, scored)| {
                    vec![
                        category.clone(),
                        shown(scored.score),
                        scored.reason.clone(),
                        quotations(&scored.evidence),
                    ]
                });
                page.table(
                    "How the evaluator scored it before the debate",
                    &["Category", "Score", "Why", "Quotations"],
                    rows,
                );
            }
        });
    }
}

fn row(round: &TopicRound) -> Vec<String> {
    let number = |score: Option<f64>| score.map_or_else(|| "–".to_owned(), shown);
    let moved = round
        .score_before
        .zip(round.score_after)
        .map(|(before, after)| ((after - before) * 100.0).round() / 100.0);
    vec![
        round.topic.clone(),
        round.target_category.clone(),
        number(round.score_before),
        verdict_words(&round.arbiter_verdict),
        number(round.score_after),
        moved.map_or_else(|| "–".to_owned(), signed),
    ]
}

fn quotations(evidence: &[Quoted]) -> String {
    let words = |quoted: &Quoted| {
        let mark = if quoted.verified { "" } else { " (unverified)" };
        format!("“{}”{mark}", on_one_line(&quoted.quote))
    };
    evidence.iter().map(words).collect::<Vec<_>>().join(" ")
}
