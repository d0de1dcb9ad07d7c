//! Which family a model is of, as far as its name tells: models of one family err together, wherever they are asked.

use crate::agent::Agent;
use std::borrow::Cow;

/// Words in a model's name that give its family away; the first that is found wins.
const FAMILIES: &[(&str, &[&str])] = &[
    ("claude", &["claude", "sonnet", "opus", "haiku"]),
    ("gpt", &["gpt", "chatgpt", "codex", "davinci", "o1", "o3", "o4"]),
    ("gemini", &["gemini", "gemma"]),
    ("grok", &["grok"]),
    ("deepseek", &["deepseek"]),
    ("qwen", &["qwen", "qwq"]),
    ("mistral", &["mistral", "mixtral", "magistral", "codestral", "devstral", "ministral", "mathstral"]),
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
    // A distilled model has the name of its teacher before its own: the teacher's errors are the ones it learned.
    for word in words() {
        if let Some((family, _)) = FAMILIES.iter().find(|(_, known)| known.iter().any(|known| is_named(word, known))) {
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

/// The families of a panel, each once, in the order of its agents.
pub fn families(agents: &[Agent]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for agent in agents.iter().filter(|agent| !NO_MODELS.contains(&agent.provider())) {
        let family = family_of(&agent.model);
        if !found.iter().any(|known| *known == family) {
            found.push(family.into_owned());
        }
    }
    found
}

/// The family that every judge of a panel of several is of, if there is one.
pub fn only_family(agents: &[Agent]) -> Option<String> {
    let all_models = agents.len() > 1 && agents.iter().all(|agent| !NO_MODELS.contains(&agent.provider()));
    let mut families = families(agents);
    (all_models && families.len() == 1).then(|| families.remove(0))
}

/// `gpt4` and `llama3` are named gpt and llama; `solo3` is not o3.
fn is_named(word: &str, known: &str) -> bool {
    word.strip_prefix(known).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
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
            (&["anthropic:claude-x", "cli:claude", "openrouter:anthropic/claude-y"], &["claude"], Some("claude")),
            (&["anthropic:claude-x", "openai:gpt-5", "cli:claude"], &["claude", "gpt"], None),
            (&["anthropic:claude-x"], &["claude"], None),
            (&["anthropic:claude-x", "human:"], &["claude"], None),
            (&["rehearsal", "script:a.md"], &[], None),
        ];
        let role = crate::agent::Role::built_in("risk").expect("a role");
        for (models, expected, only) in rows {
            let agents: Vec<Agent> = models.iter().map(|model| role.played_by(*model)).collect();
            assert_eq!(
                (families(&agents), only_family(&agents).as_deref()),
                (expected.iter().map(|f| (*f).to_owned()).collect(), only),
                "{models:?}"
            );
        }
    }
}
