//! Which family a model is of, as far as its name tells: models of one family err together,
//! wherever they are asked.

use crate::{agent::Agent, rate_limit::provider_of};
use std::borrow::Cow;

/// Words in a model's name that give its family away; the first that is found wins.
const FAMILIES: &[(&str, &[&str])] = &[
    ("claude", &["claude", "sonnet", "opus", "haiku"]),
    (
        "gpt",
        &["gpt", "chatgpt", "codex", "davinci", "o1", "o3", "o4"],
    ),
    ("gemini", &["gemini", "gemma"]),
    ("grok", &["grok"]),
    ("deepseek", &["deepseek"]),
    ("qwen", &["qwen", "qwq"]),
    (
        "mistral",
        &[
            "mistral",
            "mixtral",
            "magistral",
            "codestral",
            "devstral",
            "ministral",
            "mathstral",
        ],
    ),
    ("llama", &["llama"]),
    ("phi", &["phi"]),
    ("command", &["command", "cohere"]),
    ("kimi", &["kimi", "moonshot"]),
    ("glm", &["glm"]),
    ("smollm", &["smollm"]),
    ("yi", &["yi"]),
];

/// The family of `provider:model`. A name that tells nothing is a family of its own.
pub fn family_of(model: &str) -> Cow<'_, str> {
    let lower = model.to_lowercase();
    let (provider, name) = lower.split_once(':').unwrap_or(("", &lower));
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    // A distilled model has the name of its teacher before its own: the teacher's errors are the
    // ones it learned.
    for word in words() {
        if let Some((family, _)) = FAMILIES
            .iter()
            .find(|(_, known)| known.iter().any(|known| is_named(word, known)))
        {
            return Cow::Borrowed(family);
        }
    }
    match provider {
        "anthropic" => Cow::Borrowed("claude"),
        "openai" => Cow::Borrowed("gpt"),
        "xai" => Cow::Borrowed("grok"),
        _ => Cow::Borrowed(model),
    }
}

/// Providers that are not models: what they say has no family.
const NO_MODELS: &[&str] = &["human", "rehearsal", "script"];

/// Whether a person answers under that name, `human` or `human:NAME`, and no model.
pub fn is_person(model: &str) -> bool {
    provider_of(model) == "human"
}

/// Whose voice it is: an agent's name, and the model that speaks for it.
pub type Voice<'a> = (&'a str, &'a str);

/// The voices of a panel as it is planned. Who really answered may be others: see
/// [`crate::view::View::voices`].
pub fn planned(agents: &[Agent]) -> Vec<Voice<'_>> {
    agents
        .iter()
        .map(|agent| (&*agent.name, &*agent.model))
        .collect()
}

/// The families of models, each once, in the order of the voices.
pub fn families(voices: &[Voice<'_>]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for family in voices.iter().filter_map(|(_, model)| own_family(model)) {
        if !found.iter().any(|known| *known == family) {
            found.push(family.into_owned());
        }
    }
    found
}

/// The family that all of several agents speak through, if there is one.
pub fn only_family(voices: &[Voice<'_>]) -> Option<String> {
    let several = voices.iter().any(|(agent, _)| *agent != voices[0].0);
    let all_models = voices.iter().all(|(_, model)| own_family(model).is_some());
    let mut families = families(voices);
    (several && all_models && families.len() == 1).then(|| families.remove(0))
}

/// Whether two models are of one family, and so one voice.
pub fn are_kin(one: &str, other: &str) -> bool {
    own_family(one).is_some_and(|family| own_family(other) == Some(family))
}

/// Whether a model answers under that name: no person, no script, no rehearsal.
pub fn is_model(name: &str) -> bool {
    !NO_MODELS.contains(&provider_of(name))
}

/// The family of what is a model at all.
fn own_family(model: &str) -> Option<Cow<'_, str>> {
    is_model(model).then(|| family_of(model))
}

/// `gpt4` and `llama3` are named gpt and llama; `solo3` is not o3.
fn is_named(word: &str, known: &str) -> bool {
    word.strip_prefix(known)
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_read_off_names() {
        let rows = [
            ("anthropic:claude-opus-4", "claude"),
            ("openrouter:anthropic/claude-sonnet-4", "claude"),
            ("cli:claude", "claude"),
            ("cli:claude/opus", "claude"),
            ("cli:codex", "gpt"),
            ("openai:o3-mini", "gpt"),
            ("openai:something-new", "gpt"),
            ("gemini:gemini-2.5-pro", "gemini"),
            ("ollama:gemma3:4b", "gemini"),
            ("ollama:llama3.2", "llama"),
            ("groq:llama-3.3-70b-versatile", "llama"),
            ("ollama:deepseek-r1-distill-qwen-7b", "deepseek"),
            ("ollama:qwen2.5-coder:1.5b", "qwen"),
            ("mistral:codestral-latest", "mistral"),
            ("local:solo3", "local:solo3"),
            ("rehearsal", "rehearsal"),
        ];
        for (model, family) in rows {
            assert_eq!(family_of(model), family, "{model}");
        }
    }

    #[test]
    fn a_panel_of_one_family_is_known() {
        let rows: [(&[&str], &[&str], Option<&str>); 5] = [
            (
                &[
                    "anthropic:claude-x",
                    "cli:claude",
                    "openrouter:anthropic/claude-y",
                ],
                &["claude"],
                Some("claude"),
            ),
            (
                &["anthropic:claude-x", "openai:gpt-5", "cli:claude"],
                &["claude", "gpt"],
                None,
            ),
            (&["anthropic:claude-x"], &["claude"], None),
            (&["anthropic:claude-x", "human:"], &["claude"], None),
            (&["rehearsal", "script:a.md"], &[], None),
        ];
        let names = ["risk", "value", "effort"];
        for (models, expected, only) in rows {
            let voices: Vec<Voice<'_>> = names.into_iter().zip(models.iter().copied()).collect();
            assert_eq!(
                (families(&voices), only_family(&voices).as_deref()),
                (expected.iter().map(|f| (*f).to_owned()).collect(), only),
                "{models:?}"
            );
        }
        let one_agent = [("risk", "openai:gpt-5"), ("risk", "openai:gpt-4o")];
        assert_eq!(
            only_family(&one_agent),
            None,
            "one agent that was answered for twice is no panel"
        );
        assert_eq!(only_family(&[]), None, "nobody answered");
    }

    #[test]
    fn kin_are_models_of_one_family() {
        let rows = [
            ("openai:gpt-5", "openrouter:openai/gpt-4o", true),
            ("openai:gpt-5", "anthropic:claude-x", false),
            ("ollama:nameless", "ollama:nameless", true),
            ("script:s.md", "script:s.md", false),
            ("human", "human", false),
        ];
        for (one, other, expected) in rows {
            assert_eq!(are_kin(one, other), expected, "{one} {other}");
        }
    }
}
