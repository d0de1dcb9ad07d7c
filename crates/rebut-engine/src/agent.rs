//! Who speaks: an agent is a name, a role with its stance, and a model.

use crate::{clean::on_one_line, prompt::Word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A member of a debate, with everything pinned that shapes what it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its name in this debate, unique; usually the role's.
    pub name: Arc<str>,
    /// The role it plays.
    pub role: Arc<str>,
    /// One word for its attitude, e.g. `sceptical`.
    pub stance: Arc<str>,
    /// The role's text: what this agent looks for and how.
    pub brief: Arc<str>,
    /// Who answers for it, `provider:model`.
    pub model: Arc<str>,
    /// Sampling temperature, where the model takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Most tokens it may write in a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How hard the model should think, where it can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Who answers in its place when its model cannot, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// The tools it may use where a format lends any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

/// How hard a model should think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

impl Effort {
    /// The word most providers use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl Agent {
    /// Its stance for prompts, whatever the file says that it was read from.
    pub fn stance_word(&self) -> Word {
        const LONGEST: usize = 32;
        Word::name(&self.stance, LONGEST)
    }

    /// The provider part of its model's name.
    pub fn provider(&self) -> &str {
        self.model
            .split_once(':')
            .map_or(&*self.model, |(provider, _)| provider)
    }
}

/// A role as its file describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Role {
    /// The file's name without `.md`.
    pub name: String,
    /// One word for its attitude.
    pub stance: String,
    /// One line for lists.
    pub about: String,
    /// The text an agent is given.
    pub brief: String,
    /// The tools it may use where a format lends any.
    pub tools: Vec<String>,
}

/// The roles compiled in.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("risk", include_str!("../prompts/roles/risk.md")),
    ("value", include_str!("../prompts/roles/value.md")),
    ("effort", include_str!("../prompts/roles/effort.md")),
    ("drafter", include_str!("../prompts/roles/drafter.md")),
    ("neutral", include_str!("../prompts/roles/neutral.md")),
    ("proposer", include_str!("../prompts/roles/proposer.md")),
    ("architect", include_str!("../prompts/roles/architect.md")),
    ("operator", include_str!("../prompts/roles/operator.md")),
    ("adversary", include_str!("../prompts/roles/adversary.md")),
    (
        "persona-writer",
        include_str!("../prompts/roles/persona-writer.md"),
    ),
    ("advocate", include_str!("../prompts/roles/advocate.md")),
    ("challenger", include_str!("../prompts/roles/challenger.md")),
    ("arbiter", include_str!("../prompts/roles/arbiter.md")),
    ("evaluator", include_str!("../prompts/roles/evaluator.md")),
    ("security", include_str!("../prompts/roles/security.md")),
    ("testing", include_str!("../prompts/roles/testing.md")),
    ("clarity", include_str!("../prompts/roles/clarity.md")),
    (
        "performance",
        include_str!("../prompts/roles/performance.md"),
    ),
    ("editor", include_str!("../prompts/roles/editor.md")),
    ("judge", include_str!("../prompts/roles/judge.md")),
    ("generator", include_str!("../prompts/roles/generator.md")),
    (
        "implementer",
        include_str!("../prompts/roles/implementer.md"),
    ),
    ("designer", include_str!("../prompts/roles/designer.md")),
    ("refactorer", include_str!("../prompts/roles/refactorer.md")),
    (
        "performance-analyzer",
        include_str!("../prompts/roles/performance-analyzer.md"),
    ),
    ("teacher", include_str!("../prompts/roles/teacher.md")),
    ("compiler", include_str!("../prompts/roles/compiler.md")),
    ("executor", include_str!("../prompts/roles/executor.md")),
    ("critic", include_str!("../prompts/roles/critic.md")),
    ("reviewer", include_str!("../prompts/roles/reviewer.md")),
    ("optimizer", include_str!("../prompts/roles/optimizer.md")),
    ("tester", include_str!("../prompts/roles/tester.md")),
    ("validator", include_str!("../prompts/roles/validator.md")),
    ("red-team", include_str!("../prompts/roles/red-team.md")),
    ("blue-team", include_str!("../prompts/roles/blue-team.md")),
    ("moderator", include_str!("../prompts/roles/moderator.md")),
];

/// What is wrong with a role file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    /// There is nothing an agent could be told.
    #[error("it has no text: write what this agent looks for, to the agent, in a few sentences")]
    NoText,
    /// Front matter begins and does not end.
    #[error("its front matter has no end: close it with a line of ---")]
    Open,
    /// No word for its attitude.
    #[error("its stance is `{0}`: write one word, such as `stance: sceptical`, or leave it out")]
    Stance(String),
}

impl Role {
    /// Reads a role file that somebody wrote: the same as [`Role::parse`], but a file that would
    /// make another agent than was meant is refused.
    pub fn read(name: &str, text: &str) -> Result<Self, RoleError> {
        let role = Self::parse(name, text);
        let mut lines = text.trim_start_matches('\u{feff}').lines();
        if lines.next() == Some("---") && !lines.any(|line| line.starts_with("---")) {
            return Err(RoleError::Open);
        }
        if !on_one_line(&role.stance).starts_with(char::is_alphabetic) {
            return Err(RoleError::Stance(on_one_line(&role.stance)));
        }
        if role.brief.is_empty() {
            Err(RoleError::NoText)
        } else {
            Ok(role)
        }
    }

    /// The built-in role of that name.
    pub fn built_in(name: &str) -> Option<Self> {
        BUILT_IN
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(name, text)| Self::parse(name, text))
    }

    /// Reads a role file: optional front matter (`stance:`, `description:` or `about:`, `tools:`)
    /// between two lines of `---`, then the text. Agent files of coding assistants have the same
    /// form and can be used as they are.
    pub fn parse(name: &str, text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (front, body) = text
            .strip_prefix("---\n")
            .and_then(|rest| rest.split_once("\n---"))
            .unwrap_or(("", &text));
        let field = |wanted: &str| {
            front.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                (key.trim() == wanted).then(|| value.trim().trim_matches(['"', '\'']).to_owned())
            })
        };
        Self {
            name: name.to_owned(),
            stance: field("stance").unwrap_or_else(|| "neutral".to_owned()),
            about: field("about")
                .or_else(|| field("description"))
                .unwrap_or_default(),
            brief: body.trim_start_matches('-').trim().to_owned(),
            tools: field("tools").map(|names| list(&names)).unwrap_or_default(),
        }
    }

    /// An agent that plays this role, named after it.
    pub fn played_by(&self, model: impl Into<Arc<str>>) -> Agent {
        Agent {
            name: self.name.as_str().into(),
            role: self.name.as_str().into(),
            stance: self.stance.as_str().into(),
            brief: self.brief.as_str().into(),
            model: model.into(),
            temperature: None,
            max_tokens: None,
            effort: None,
            fallbacks: Vec::new(),
            tools: self.tools.clone(),
        }
    }
}

/// Names apart by commas or spaces, in brackets or not.
fn list(names: &str) -> Vec<String> {
    names
        .split(|c: char| c == ',' || c.is_whitespace() || "[]\"'".contains(c))
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_would_make_another_agent_is_refused() {
        let rows = [
            ("Look for risks.", Ok("neutral")),
            (
                "---\nstance: sceptical\n---\nLook for risks.\n",
                Ok("sceptical"),
            ),
            (
                "\u{feff}---\r\nstance: 'vorsichtig'\r\n---\r\nLook.\r\n",
                Ok("vorsichtig"),
            ),
            ("", Err(RoleError::NoText)),
            (" \n\n", Err(RoleError::NoText)),
            ("---\nstance: sceptical\n---\n", Err(RoleError::NoText)),
            (
                "---\nstance: sceptical\nLook for risks.\n",
                Err(RoleError::Open),
            ),
            (
                "---\nstance: [\n---\nLook.\n",
                Err(RoleError::Stance("[".to_owned())),
            ),
            (
                "---\nstance:\n---\nLook.\n",
                Err(RoleError::Stance(String::new())),
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(
                Role::read("risk", text).map(|role| role.stance),
                expected.map(str::to_owned),
                "{text:?}"
            );
        }
        assert!(
            BUILT_IN
                .iter()
                .all(|(name, text)| Role::read(name, text).is_ok())
        );
    }
}
