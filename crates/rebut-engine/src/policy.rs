//! What judges say of reviewers over many reviews, and which reviewer's text should be worded anew.
//! Pure: logs in, insights out.

use crate::formats::review::DebateLog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of one role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyInsights {
    /// The mean of its scores from 0 to 10, rounded to two decimals.
    pub avg_argument_quality: f64,
    /// What its arguments were called, most frequent first, then by name; at most five.
    pub common_labels: Vec<String>,
    /// What judges said most often would make it argue better; of those said equally often, what
    /// was said last.
    pub policy_signal: String,
    /// Whether the mean, before it is rounded, is under 6.
    pub needs_update: bool,
    /// In how many debates it was judged.
    pub debates: u32,
}

/// A mean under this calls for a better text.
pub const ENOUGH: i128 = 6;

const MOST_LABELS: usize = 5;

/// Scores are summed in millionths, so that no mean depends on the order of the logs.
const UNIT: i128 = 1_000_000;

/// What logs, oldest first, say of each role they judge.
pub fn insights<'a>(
    logs: impl IntoIterator<Item = &'a DebateLog>,
) -> BTreeMap<String, PolicyInsights> {
    let mut roles: BTreeMap<&str, Heard<'_>> = BTreeMap::new();
    for log in logs {
        let mut seen = BTreeSet::new();
        for feedback in log
            .judge_feedback
            .iter()
            .filter(|feedback| feedback.argument_quality_score.is_finite())
        {
            let heard = roles.entry(&feedback.role).or_default();
            heard.sum += (feedback.argument_quality_score * UNIT as f64).round() as i128;
            heard.scores += 1;
            heard.debates += u32::from(seen.insert(&feedback.role));
            let labels: BTreeSet<String> = feedback
                .argument_labels
                .iter()
                .map(|label| label.trim().to_lowercase())
                .collect();
            for label in labels.into_iter().filter(|label| !label.is_empty()) {
                *heard.labels.entry(label).or_default() += 1;
            }
            if !feedback.policy_signal.trim().is_empty() {
                heard.signals.push(feedback.policy_signal.trim());
            }
        }
    }
    roles
        .into_iter()
        .map(|(role, heard)| (role.to_owned(), heard.insights()))
        .collect()
}

/// What was heard of one role.
#[derive(Default)]
struct Heard<'a> {
    sum: i128,
    scores: i128,
    debates: u32,
    labels: BTreeMap<String, usize>,
    /// In the order they were said.
    signals: Vec<&'a str>,
}

impl Heard<'_> {
    fn insights(self) -> PolicyInsights {
        let mut labels: Vec<(String, usize)> = self.labels.into_iter().collect();
        labels.sort_by(|(one, often), (other, as_often)| {
            as_often.cmp(often).then_with(|| one.cmp(other))
        });
        let times = |signal: &str| self.signals.iter().filter(|said| **said == signal).count();
        let signal = self.signals.iter().max_by_key(|signal| times(signal));
        PolicyInsights {
            avg_argument_quality: hundredths(self.sum, self.scores) as f64 / 100.0,
            common_labels: labels
                .into_iter()
                .take(MOST_LABELS)
                .map(|(label, _)| label)
                .collect(),
            policy_signal: signal
                .map(|signal| (*signal).to_owned())
                .unwrap_or_default(),
            needs_update: self.sum < ENOUGH * UNIT * self.scores,
            debates: self.debates,
        }
    }
}

/// The mean in hundredths, a half rounded up. There is at least one score.
fn hundredths(sum: i128, scores: i128) -> i128 {
    (2 * sum * 100 + scores * UNIT).div_euclid(2 * scores * UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::review::audit::{Cost, JudgeFeedback};

    fn log(feedback: &[(&str, f64, &[&str], &str)]) -> DebateLog {
        let feedback = feedback
            .iter()
            .map(|(role, score, labels, signal)| JudgeFeedback {
                role: (*role).to_owned(),
                argument_quality_score: *score,
                argument_labels: labels.iter().map(|label| (*label).to_owned()).collect(),
                policy_signal: (*signal).to_owned(),
            });
        DebateLog {
            ran: true,
            pairs: Vec::new(),
            judge_feedback: feedback.collect(),
            cost: Cost::default(),
            failed_pairs: Vec::new(),
        }
    }

    #[test]
    fn no_logs_say_nothing() {
        assert_eq!(serde_json::to_string(&insights(&[])).expect("JSON"), "{}");
        assert!(insights(&[log(&[])]).is_empty());
    }

    #[test]
    fn means_are_right_to_the_second_decimal_and_compared_before_they_are_rounded() {
        let rows: &[(&[f64], f64, bool)] = &[
            (&[8.2, 5.5], 6.85, false),
            (&[5.01, 5.0], 5.01, true),
            (&[0.1, 0.2], 0.15, true),
            (&[7.0, 8.0, 8.0], 7.67, false),
            (&[6.0], 6.0, false),
            (&[5.999], 6.0, true),
            (&[10.0, 2.0], 6.0, false),
            (&[0.0], 0.0, true),
            (&[f64::NAN, 4.0], 4.0, true),
        ];
        for (scores, mean, needs_update) in rows {
            let mut logs: Vec<DebateLog> = scores
                .iter()
                .map(|score| log(&[("security", *score, &[], "")]))
                .collect();
            for _ in 0..2 {
                let found = &insights(&logs)["security"];
                assert_eq!(
                    (found.avg_argument_quality, found.needs_update),
                    (*mean, *needs_update),
                    "{scores:?}"
                );
                logs.reverse();
            }
        }
    }

    #[test]
    fn labels_and_signals_are_those_said_most() {
        let logs = [
            log(&[
                ("security", 8.0, &["Precise", "calm"], "name the line"),
                ("testing", 3.0, &["vague"], "give a case"),
            ]),
            log(&[(
                "security",
                7.0,
                &["precise", " precise ", "brief"],
                "be shorter",
            )]),
            log(&[
                ("security", 6.0, &["brief", ""], "be shorter"),
                ("security", 5.0, &["late"], "name the line"),
            ]),
        ];
        let found = insights(&logs);
        let security = &found["security"];
        assert_eq!(security.common_labels, ["brief", "precise", "calm", "late"]);
        assert_eq!(
            (security.policy_signal.as_str(), security.debates),
            ("name the line", 3),
            "as often as the other, and later"
        );
        assert_eq!(
            (
                found["testing"].policy_signal.as_str(),
                found["testing"].debates
            ),
            ("give a case", 1)
        );
    }
}
