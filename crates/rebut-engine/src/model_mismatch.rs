//! Whether a provider answered with another model than it was asked for, and for whom. Pure.

use crate::{
    family::is_model,
    view::{TurnState, View},
};
use schemars::JsonSchema;
use serde::Serialize;

/// A provider answered as another model than the one it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Switch {
    /// Whose turns.
    pub agent: String,
    /// The model that was asked, `provider:model`.
    pub asked: String,
    /// As which it answered.
    pub answered: String,
    /// Which turns.
    pub turns: Vec<String>,
}

/// Every switch of a debate, one for each agent and pair of models, in order of turns.
pub fn switches(view: &View) -> Vec<Switch> {
    let mut found: Vec<Switch> = Vec::new();
    for turn in view
        .turns
        .iter()
        .filter(|turn| turn.state == TurnState::Done && is_switch(&turn.asked, &turn.model))
    {
        let is_this = |known: &&mut Switch| {
            (&*known.agent, &*known.asked, &known.answered)
                == (&*turn.agent, &*turn.asked, &turn.model)
        };
        match found.iter_mut().find(is_this) {
            Some(known) => known.turns.push(turn.turn.clone()),
            None => found.push(Switch {
                agent: turn.agent.to_string(),
                asked: turn.asked.to_string(),
                answered: turn.model.clone(),
                turns: vec![turn.turn.clone()],
            }),
        }
    }
    found
}

/// Whether whoever answered is another model than `provider:model` that was asked: not merely a
/// version of it, nor the same under a longer or shorter name.
pub fn is_switch(asked: &str, answered: &str) -> bool {
    if asked == answered || !is_model(asked) {
        return false;
    }
    let (asked, answered) = (asked.to_lowercase(), answered.to_lowercase());
    let (provider, wanted) = asked.split_once(':').unwrap_or(("", &asked));
    if provider == "cli" {
        // A program that was told no model chooses one; one that was told knows short names, such
        // as `opus`.
        return wanted
            .split_once('/')
            .is_some_and(|(_, wanted)| !answered.contains(wanted));
    }
    let (wanted, given) = (own_name(wanted), own_name(&answered));
    // Such a name asks for whatever is right, or newest.
    let is_open = |name: &str| name == "auto" || name == "latest";
    if is_open(wanted)
        || wanted
            .strip_suffix("latest")
            .is_some_and(|stem| given.starts_with(stem.trim_end_matches(SEPARATORS)))
    {
        return false;
    }
    !(is_version_of(wanted, given) || is_version_of(given, wanted))
}

const SEPARATORS: [char; 5] = ['-', '.', ':', '@', '_'];

/// A name without those of vendors and folders before it.
fn own_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether a name is another one, or that with a version behind it: a date, a number of three
/// digits or more, words for how new or how paid it is.
fn is_version_of(name: &str, longer: &str) -> bool {
    const WORDS: [&str; 7] = [
        "latest",
        "preview",
        "exp",
        "experimental",
        "beta",
        "free",
        "online",
    ];
    let Some(rest) = longer.strip_prefix(name) else {
        return false;
    };
    let Some(rest) = rest.strip_prefix(SEPARATORS) else {
        return rest.is_empty();
    };
    // Short numbers are another generation (`gpt-5.1`), unless they go on with what is known to be
    // a version (`2025-08-07`, `preview-05-20`).
    let mut is_known = false;
    rest.split(SEPARATORS).all(|part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_known |= WORDS.contains(&part) || (is_number && part.len() >= 3);
        is_known && (is_number || WORDS.contains(&part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_or_another_way_to_write_a_name_is_no_other_model() {
        let same = [
            ("openai:gpt-5", "gpt-5-2025-08-07"),
            ("openai:gpt-4", "gpt-4-0613"),
            ("anthropic:claude-sonnet-5", "claude-sonnet-5-20260101"),
            ("anthropic:claude-sonnet-latest", "claude-sonnet-5-20260101"),
            (
                "gemini:gemini-2.5-flash",
                "models/gemini-2.5-flash-preview-05-20",
            ),
            ("gemini:gemini-2.5-pro-001", "gemini-2.5-pro"),
            ("openrouter:openai/gpt-5:free", "openai/gpt-5"),
            ("openrouter:openrouter/auto", "anthropic/claude-sonnet-5"),
            ("ollama:llama3", "llama3:latest"),
            ("mine:Qwen3", "qwen3"),
            ("cli:claude", "claude-haiku-5"),
            ("cli:claude/opus", "claude-opus-5-20260101"),
            ("human:anna", "human:local"),
            ("script:s.md", "whoever"),
        ];
        let other = [
            ("openai:gpt-5", "gpt-5-mini"),
            ("openai:gpt-5", "gpt-5.1"),
            ("openai:gpt-5-mini", "gpt-5"),
            ("mine:gpt-5", "other-model-9000"),
            ("anthropic:claude-opus-5", "claude-haiku-5-20260101"),
            ("mistral:large-latest", "small-2411"),
            ("ollama:llama3:8b", "llama3:70b"),
            ("cli:claude/opus", "claude-haiku-5"),
        ];
        for (rows, expected) in [(&same[..], false), (&other, true)] {
            for (asked, answered) in rows {
                assert_eq!(is_switch(asked, answered), expected, "{asked} {answered}");
            }
        }
    }
}
