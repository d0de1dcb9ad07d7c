//! What reviewers, the editor, the two sides of a pair and the judge reply, and what each reply
//! must fulfil.

use super::operations::{OperationKind, Severity, normalised};
use crate::{clean::on_one_line, formats::question::number, moves::judge::Comparison, reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reviewer's reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Critique {
    /// The review in one sentence.
    pub summary: String,
    /// What is proposed; empty if nothing needs to change.
    pub operations: Vec<Proposal>,
}

/// One proposed operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    /// What is done.
    pub kind: OperationKind,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about, in one to five words.
    pub target: String,
    /// Where: a line or a quotation; empty if it concerns the whole.
    #[serde(default)]
    pub location: String,
    /// What to add or change, ready to be used; may be empty where something is removed.
    #[serde(default)]
    pub text: String,
    /// Why, in one or two sentences.
    pub rationale: String,
    /// A passage that shows it, copied word for word; empty if there is none.
    #[serde(default)]
    pub evidence: String,
    /// How sure the reviewer is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
}

/// The editor's reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// The whole text with the operations applied.
    pub revised: String,
    /// The names of the operations that were applied.
    pub applied: Vec<String>,
    /// Those that could not be applied, each with the reason.
    #[serde(default)]
    pub not_applied: Vec<NotApplied>,
}

/// An operation the editor could not apply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotApplied {
    /// Its name.
    pub operation: String,
    /// Why.
    pub reason: String,
}

/// A side's argument for its own operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Argument {
    /// Two or three sentences.
    pub argument: String,
    /// A passage that supports it, copied word for word; empty if there is none.
    #[serde(default)]
    pub evidence: String,
    /// How sure it is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
}

/// A side's answer to the other side's argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rebuttal {
    /// Two or three sentences.
    pub rebuttal: String,
    /// What of the other side's argument it grants; empty if nothing.
    #[serde(default)]
    pub concedes: String,
    /// How sure it still is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
}

/// The judge's reply about two sides, as they were shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Who argued better: `first`, `second` or `tie`.
    pub winner: Winner,
    /// Why, in one or two sentences.
    pub reasoning: String,
    /// How sure the judge is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
    /// Marks of the side shown first.
    pub first: Marks,
    /// Marks of the side shown second.
    pub second: Marks,
}

/// Who argued better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Winner {
    /// The side shown first.
    First,
    /// The side shown second.
    Second,
    /// Neither.
    Tie,
}

/// The marks of one side, each from 0 to 10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Marks {
    /// Whether it speaks of this very text rather than in general.
    #[serde(deserialize_with = "number")]
    pub specificity: f64,
    /// Whether its conclusion follows.
    #[serde(deserialize_with = "number")]
    pub reasoning: f64,
    /// Whether it is as sure as it may be.
    #[serde(deserialize_with = "number")]
    pub calibration: f64,
    /// Whether it answers what the other said.
    #[serde(deserialize_with = "number")]
    pub responsiveness: f64,
    /// A few labels of one or two words, such as `evidence-backed`.
    pub labels: Vec<String>,
    /// What would make this reviewer argue better next time, in a few words.
    pub policy_signal: String,
}

reply!(Critique, "review_critique");
reply!(Revision, "review_revision");
reply!(Argument, "review_argument");
reply!(Rebuttal, "review_rebuttal");
reply!(Verdict, "review_verdict");

impl Comparison for Verdict {
    fn better(&self) -> Option<usize> {
        match self.winner {
            Winner::First => Some(0),
            Winner::Second => Some(1),
            Winner::Tie => None,
        }
    }
}

/// Labels a side gets at most.
const MOST_LABELS: usize = 5;

impl Critique {
    /// At most `most` operations, each with a target, a reason, and something to do.
    pub fn check(&mut self, most: usize) -> Result<(), String> {
        self.summary = on_one_line(&self.summary);
        if self.summary.is_empty() {
            return Err("\"summary\" is empty".to_owned());
        }
        if self.operations.len() > most {
            return Err(format!(
                "{} operations; give the {most} that matter most",
                self.operations.len()
            ));
        }
        for (number, operation) in (1..).zip(&mut self.operations) {
            operation
                .check()
                .map_err(|problem| format!("operation {number}: {problem}"))?;
        }
        Ok(())
    }
}

impl Proposal {
    fn check(&mut self) -> Result<(), String> {
        use super::operations::Effect;
        self.target = on_one_line(&self.target);
        self.location = on_one_line(&self.location);
        if normalised(&self.target).is_empty() {
            return Err("\"target\" names nothing; say in a few words what it is about".to_owned());
        }
        if self.rationale.trim().is_empty() {
            return Err("\"rationale\" is empty".to_owned());
        }
        if self.text.trim().is_empty() && self.kind.effect() != Effect::Removes {
            return Err(format!(
                "\"text\" is empty; {} needs what to add or change",
                self.kind.name()
            ));
        }
        check_share("confidence", self.confidence)
    }
}

impl Revision {
    /// Every one of `count` operations, named `O1` to `On`, is either applied or not, and the text
    /// is there.
    pub fn check(&mut self, count: usize) -> Result<(), String> {
        if self.revised.trim().is_empty() {
            return Err("\"revised\" is empty; give the whole text".to_owned());
        }
        let named = self
            .applied
            .iter_mut()
            .chain(self.not_applied.iter_mut().map(|left| &mut left.operation));
        let mut seen = vec![false; count];
        for name in named {
            let number = number_of(name).filter(|number| (1..=count).contains(number));
            let Some(number) = number else {
                return Err(format!("there is no operation \"{}\"", on_one_line(name)));
            };
            if std::mem::replace(&mut seen[number - 1], true) {
                return Err(format!("operation O{number} is named twice"));
            }
            *name = format!("O{number}");
        }
        match seen.iter().position(|seen| !seen) {
            Some(at) => Err(format!(
                "operation O{} is neither in \"applied\" nor in \"not_applied\"",
                at + 1
            )),
            None => Ok(()),
        }
    }
}

/// The number behind `O3`, also written `o3`, `O-3` or `#3`.
fn number_of(name: &str) -> Option<usize> {
    name.trim()
        .trim_start_matches(['O', 'o', '#', '-', ' '])
        .parse()
        .ok()
}

impl Argument {
    pub fn check(&mut self) -> Result<(), String> {
        if self.argument.trim().is_empty() {
            return Err("\"argument\" is empty".to_owned());
        }
        check_share("confidence", self.confidence)
    }
}

impl Rebuttal {
    pub fn check(&mut self) -> Result<(), String> {
        if self.rebuttal.trim().is_empty() {
            return Err("\"rebuttal\" is empty".to_owned());
        }
        check_share("confidence", self.confidence)
    }
}

impl Verdict {
    /// Marks in their range, and a winner whose marks are not the lower ones.
    pub fn check(&mut self) -> Result<(), String> {
        if self.reasoning.trim().is_empty() {
            return Err("\"reasoning\" is empty".to_owned());
        }
        check_share("confidence", self.confidence)?;
        self.first
            .check()
            .map_err(|problem| format!("\"first\": {problem}"))?;
        self.second
            .check()
            .map_err(|problem| format!("\"second\": {problem}"))?;
        let [first, second] = [self.first.score(), self.second.score()];
        match self.winner {
            Winner::First if first < second => {
                Err("\"winner\" is first, but second has the higher marks".to_owned())
            }
            Winner::Second if second < first => {
                Err("\"winner\" is second, but first has the higher marks".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Marks {
    /// The mean of the four marks.
    pub fn score(&self) -> f64 {
        (self.specificity + self.reasoning + self.calibration + self.responsiveness) / 4.0
    }

    fn check(&mut self) -> Result<(), String> {
        let marks = [
            ("specificity", self.specificity),
            ("reasoning", self.reasoning),
            ("calibration", self.calibration),
            ("responsiveness", self.responsiveness),
        ];
        if let Some((name, mark)) = marks
            .into_iter()
            .find(|(_, mark)| !(0.0..=10.0).contains(mark))
        {
            return Err(format!("\"{name}\" must be from 0 to 10, not {mark}"));
        }
        self.policy_signal = on_one_line(&self.policy_signal);
        self.labels = self
            .labels
            .iter()
            .map(|label| on_one_line(label))
            .filter(|label| !label.is_empty())
            .collect();
        self.labels.truncate(MOST_LABELS);
        Ok(())
    }
}

fn check_share(name: &str, value: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(format!("\"{name}\" must be from 0 to 1, not {value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::extract;
    use serde_json::json;

    #[test]
    fn a_critique_says_what_is_wrong_with_it() {
        let operation = |key: &str, value: serde_json::Value| {
            let mut operation = json!({"kind": "AddConstraint", "severity": "high", "target": "env", "text": "no env", "rationale": "leaks",
                "evidence": "", "location": "", "confidence": 0.8});
            operation[key] = value;
            json!({"summary": "s", "operations": [operation]}).to_string()
        };
        let rows = [
            (operation("severity", json!("critical")), Ok(())),
            (
                json!({"summary": "fine", "operations": []}).to_string(),
                Ok(()),
            ),
            (
                json!({"summary": " ", "operations": []}).to_string(),
                Err("\"summary\" is empty"),
            ),
            (
                operation("target", json!("…")),
                Err("operation 1: \"target\" names nothing"),
            ),
            (
                operation("text", json!(" ")),
                Err("operation 1: \"text\" is empty; AddConstraint needs"),
            ),
            (
                operation("rationale", json!("")),
                Err("operation 1: \"rationale\" is empty"),
            ),
            (
                operation("confidence", json!(7)),
                Err("operation 1: \"confidence\" must be from 0 to 1, not 7"),
            ),
            (
                operation("kind", json!("Delete")),
                Err("unknown variant `Delete`"),
            ),
            (
                operation("severity", json!("severe")),
                Err("unknown variant `severe`"),
            ),
        ];
        for (text, expected) in rows {
            let found =
                extract::<Critique>(&text, &|critique: &mut Critique| critique.check(3)).map(drop);
            match (found, expected) {
                (Ok(()), Ok(())) => {}
                (Err(problem), Err(begins)) if problem.starts_with(begins) => {}
                (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
            }
        }
        let mut many: Critique =
            serde_json::from_str(&operation("location", json!("line 2"))).expect("JSON");
        many.operations = vec![many.operations[0].clone(); 4];
        assert_eq!(
            many.check(3),
            Err("4 operations; give the 3 that matter most".to_owned())
        );
    }

    #[test]
    fn an_editor_accounts_for_every_operation() {
        let left = |name: &str| NotApplied {
            operation: name.to_owned(),
            reason: "unclear".to_owned(),
        };
        let rows = [
            (vec!["O1", "O2"], vec![], Ok(())),
            (vec!["o2"], vec![left("#1")], Ok(())),
            (
                vec!["O1"],
                vec![],
                Err("operation O2 is neither in \"applied\" nor in \"not_applied\""),
            ),
            (vec!["O1", "O1"], vec![], Err("operation O1 is named twice")),
            (
                vec!["O1", "O2"],
                vec![left("O2")],
                Err("operation O2 is named twice"),
            ),
            (
                vec!["O1", "O3"],
                vec![],
                Err("there is no operation \"O3\""),
            ),
            (
                vec!["security#1"],
                vec![],
                Err("there is no operation \"security#1\""),
            ),
        ];
        for (applied, not_applied, expected) in rows {
            let applied: Vec<String> = applied.into_iter().map(str::to_owned).collect();
            let mut revision = Revision {
                revised: "text".to_owned(),
                applied,
                not_applied,
            };
            assert_eq!(
                revision.check(2),
                expected.map_err(str::to_owned),
                "{revision:?}"
            );
        }
        let mut empty = Revision {
            revised: " \n".to_owned(),
            applied: vec![],
            not_applied: vec![],
        };
        assert!(
            empty
                .check(0)
                .is_err_and(|problem| problem.starts_with("\"revised\" is empty"))
        );
    }

    #[test]
    fn a_verdict_agrees_with_its_own_marks() {
        let marks = |mark: f64| Marks {
            specificity: mark,
            reasoning: mark,
            calibration: mark,
            responsiveness: mark,
            labels: vec!["precise".to_owned(), " ".to_owned()],
            policy_signal: "fine".to_owned(),
        };
        let verdict = |winner, first, second| Verdict {
            winner,
            reasoning: "r".to_owned(),
            confidence: 0.5,
            first: marks(first),
            second: marks(second),
        };
        let rows = [
            (verdict(Winner::First, 8.0, 5.0), true),
            (verdict(Winner::First, 5.0, 5.0), true),
            (verdict(Winner::Tie, 8.0, 5.0), true),
            (verdict(Winner::First, 4.0, 5.0), false),
            (verdict(Winner::Second, 6.0, 5.0), false),
            (verdict(Winner::Tie, 11.0, 5.0), false),
            (verdict(Winner::Tie, f64::NAN, 5.0), false),
        ];
        for (mut verdict, fine) in rows {
            assert_eq!(verdict.check().is_ok(), fine, "{verdict:?}");
        }
        let mut checked = verdict(Winner::Tie, 1.0, 1.0);
        checked.check().expect("JSON");
        assert_eq!(checked.first.labels, ["precise"]);
    }
}
