//! What reviewers propose: operations on a text. The table of their kinds, and what became of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A kind of operation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum OperationKind {
    /// A rule is added.
    AddConstraint,
    /// A rule is taken away.
    RemoveConstraint,
    /// Something the reader needs to know is added.
    AddContext,
    /// The same is said more clearly.
    Clarify,
    /// Parts are put into another order or shape.
    Restructure,
    /// A passage is said otherwise.
    Replace,
    /// A passage is taken out.
    Remove,
}

/// What an operation does to its target; conflicts follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Adds,
    Removes,
    Changes,
    Keeps,
}

/// One row of the table of kinds.
#[derive(Clone, Copy, Debug)]
pub struct KindRow {
    pub kind: OperationKind,
    pub name: &'static str,
    /// What it does to its target.
    pub effect: Effect,
    /// One mark for it in a line.
    pub sign: char,
    /// What it is for, to a reviewer.
    pub about: &'static str,
}

/// Every kind there is: prompts, conflicts, reports and schemas read it.
pub const KINDS: &[KindRow] = &[
    row(
        OperationKind::AddConstraint,
        "AddConstraint",
        Effect::Adds,
        '+',
        "add a rule that must hold",
    ),
    row(
        OperationKind::RemoveConstraint,
        "RemoveConstraint",
        Effect::Removes,
        '−',
        "take a rule away",
    ),
    row(
        OperationKind::AddContext,
        "AddContext",
        Effect::Adds,
        '+',
        "add what a reader needs to know",
    ),
    row(
        OperationKind::Clarify,
        "Clarify",
        Effect::Keeps,
        '~',
        "say the same more clearly",
    ),
    row(
        OperationKind::Restructure,
        "Restructure",
        Effect::Changes,
        '~',
        "put parts into another order or shape",
    ),
    row(
        OperationKind::Replace,
        "Replace",
        Effect::Changes,
        '~',
        "say or do a passage otherwise",
    ),
    row(
        OperationKind::Remove,
        "Remove",
        Effect::Removes,
        '−',
        "take a passage out",
    ),
];

const fn row(
    kind: OperationKind,
    name: &'static str,
    effect: Effect,
    sign: char,
    about: &'static str,
) -> KindRow {
    KindRow {
        kind,
        name,
        effect,
        sign,
        about,
    }
}

impl OperationKind {
    pub fn row(self) -> &'static KindRow {
        // A test holds that every kind has one.
        KINDS
            .iter()
            .find(|row| row.kind == self)
            .unwrap_or(&KINDS[0])
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What it does to its target.
    pub fn effect(self) -> Effect {
        self.row().effect
    }
}

/// How much it matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nice to have.
    Low,
    /// Should be done.
    Medium,
    /// Must be done.
    High,
    /// Harm is done otherwise.
    Critical,
}

impl Severity {
    /// All of them, the worst first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|severity| severity.as_str().eq_ignore_ascii_case(word.trim()))
    }
}

/// What one reviewer proposes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// Its name, e.g. `security#1`.
    pub id: String,
    /// Who proposes it.
    pub by: Arc<str>,
    /// What is done.
    pub kind: OperationKind,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about, in a few words.
    pub target: String,
    /// Where, as the reviewer says: a line or a quotation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub location: String,
    /// What to add or change.
    pub text: String,
    /// Why.
    pub rationale: String,
    /// What in the text shows it, word for word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
    /// Whether the evidence really stands in the text.
    pub verified: bool,
    /// 0 to 1, as the reviewer says.
    pub confidence: f64,
}

impl Operation {
    /// Whether it rests on a quotation that does not stand in the text.
    pub fn misquotes(&self) -> bool {
        !self.verified && !self.evidence.is_empty()
    }
}

/// An operation that stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Merged {
    /// The operation, in the words of the first who proposed it; as severe as the most worried of
    /// them says.
    #[serde(flatten)]
    pub operation: Operation,
    /// Everybody who proposed it, first the one whose words stand.
    pub proposed_by: Vec<Arc<str>>,
}

/// An operation that does not stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// Its name.
    pub operation: String,
    /// Whose it was.
    pub by: Arc<str>,
    /// The operation that stands instead.
    pub instead: String,
    /// Why, in words.
    pub because: String,
}

/// A target or text as it is compared: its words in small letters, without marks and articles.
pub fn normalised(text: &str) -> String {
    const ARTICLES: [&str; 3] = ["a", "an", "the"];
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let telling: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !ARTICLES.contains(word))
        .collect();
    // A target called `A` is still a target.
    if telling.is_empty() {
        words.join(" ")
    } else {
        telling.join(" ")
    }
}

/// An operation for tests: who, which number, what kind, about what, saying what.
#[cfg(test)]
pub(super) fn sample(
    by: &str,
    number: usize,
    kind: OperationKind,
    target: &str,
    text: &str,
) -> Operation {
    Operation {
        id: format!("{by}#{number}"),
        by: by.into(),
        kind,
        severity: Severity::Medium,
        target: target.to_owned(),
        location: String::new(),
        text: text.to_owned(),
        rationale: "because".to_owned(),
        evidence: String::new(),
        verified: false,
        confidence: 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_row_under_the_name_reviewers_write() {
        let all = [
            OperationKind::AddConstraint,
            OperationKind::RemoveConstraint,
            OperationKind::AddContext,
            OperationKind::Clarify,
            OperationKind::Restructure,
            OperationKind::Replace,
            OperationKind::Remove,
        ];
        assert_eq!(KINDS.iter().map(|row| row.kind).collect::<Vec<_>>(), all);
        for kind in all {
            assert_eq!(serde_json::to_value(kind).expect("JSON"), kind.name());
        }
        for severity in Severity::ALL {
            assert_eq!(
                serde_json::to_value(severity).expect("JSON"),
                severity.as_str()
            );
            assert_eq!(
                Severity::parse(&severity.as_str().to_uppercase()),
                Some(severity)
            );
        }
        assert!(
            Severity::Critical > Severity::High
                && Severity::High > Severity::Medium
                && Severity::Medium > Severity::Low
        );
    }

    #[test]
    fn targets_are_compared_by_their_words() {
        let rows = [
            ("Env access", "env access"),
            ("the `env-access`", "env access"),
            ("ENV_ACCESS!", "env access"),
            ("  an  output\tlength ", "output length"),
            ("A", "a"),
            ("Größe der Ausgabe", "größe der ausgabe"),
            ("…", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(normalised(text), expected, "{text}");
        }
    }
}
