//! Names of directories and files that are harmless on every system, whatever a topic or an agent
//! is called. Pure.

use rebut_engine::agent::Agent;

/// At most so many words and letters of a topic.
const WORDS: usize = 6;
const LETTERS: usize = 48;

/// A short name made of a topic's words: small letters, digits and single dashes.
pub fn slug(topic: &str) -> String {
    let lower = topic.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let joined = words.take(WORDS).collect::<Vec<_>>().join("-");
    let short: String = joined.chars().take(LETTERS).collect();
    let short = short.trim_matches('-');
    if short.is_empty() {
        "topic".to_owned()
    } else {
        short.to_owned()
    }
}

/// The context files of the three angles, named as the programs read them that usually take them.
const ANGLES: [(&str, &str); 3] = [
    ("architect", "GEMINI"),
    ("operator", "AGENTS"),
    ("adversary", "QWEN"),
];

/// The other files of a workspace; some systems do not tell large letters from small ones.
const TAKEN: [&str; 2] = ["CONTEXT", "TRANSCRIPT"];

/// Each challenger's context file, by name. The first agent proposes and has none.
pub fn persona_files(agents: &[Agent]) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for agent in agents.iter().skip(1) {
        let usual = ANGLES
            .iter()
            .find(|(angle, _)| *angle == &*agent.name)
            .map(|(_, file)| (*file).to_owned());
        let is_usual = usual.is_some();
        let base = usual.unwrap_or_else(|| plain(&agent.name).to_uppercase());
        let is_free = |name: &str| {
            let others = ANGLES.iter().any(|(_, file)| *file == name) && !is_usual;
            !others
                && !TAKEN.contains(&name)
                && !is_reserved(name)
                && files.iter().all(|(_, file)| *file != format!("{name}.md"))
        };
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let name = std::iter::once(base.clone())
            .chain(numbered)
            .find(|name| is_free(name))
            .unwrap_or(base.clone());
        files.push((agent.name.to_string(), format!("{name}.md")));
    }
    files
}

/// What each agent is called in the names of round files: its program's name where only one agent
/// has that, else its own.
pub fn speaker_names(agents: &[Agent]) -> Vec<(String, String)> {
    let program = |agent: &Agent| {
        agent
            .model
            .strip_prefix("cli:")
            .map(|name| plain(name.split('/').next().unwrap_or(name)))
    };
    let own = |agent: &Agent| plain(&agent.name);
    let named = |agent: &Agent| {
        let found = program(agent).filter(|name| {
            let same = agents
                .iter()
                .filter(|other| program(other).as_ref() == Some(name) || own(other) == *name)
                .count();
            same == 1
        });
        (agent.name.to_string(), found.unwrap_or_else(|| own(agent)))
    };
    let mut names: Vec<(String, String)> = Vec::new();
    for agent in agents {
        let (agent, base) = named(agent);
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let is_free = |name: &String| names.iter().all(|(_, taken)| taken != name);
        let name = std::iter::once(base.clone())
            .chain(numbered)
            .find(is_free)
            .unwrap_or_else(|| base.clone());
        names.push((agent, name));
    }
    names
}

fn plain(name: &str) -> String {
    let safe = crate::words::file_safe(name).to_lowercase();
    let safe = safe.trim_matches(['-', '_']).to_owned();
    if safe.is_empty() {
        "agent".to_owned()
    } else {
        safe
    }
}

/// Names that are devices on some systems.
fn is_reserved(name: &str) -> bool {
    let upper = name.to_uppercase();
    let numbered = |device: &str| {
        upper
            .strip_prefix(device)
            .is_some_and(|rest| rest.len() == 1 && rest != "0" && rest.parse::<u8>().is_ok())
    };
    ["CON", "PRN", "AUX", "NUL"].contains(&upper.as_str()) || numbered("COM") || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rebut_engine::agent::Role;

    #[test]
    fn a_slug_is_one_harmless_part_of_a_path() {
        let long = "word ".repeat(800);
        let rows = [
            ("Redis vs Memcached", "redis-vs-memcached"),
            ("../../x", "x"),
            ("🚀🚀", "topic"),
            ("", "topic"),
            ("...", "topic"),
            ("-rf /", "rf"),
            ("CON", "con"),
            ("a\0b\nc\\d:e", "a-b-c-d-e"),
            ("~/.ssh/id_rsa", "ssh-id-rsa"),
            (long.as_str(), "word-word-word-word-word-word"),
        ];
        for (topic, expected) in rows {
            assert_eq!(slug(topic), expected, "{topic:?}");
        }
        assert_eq!(slug(&"x".repeat(4000)).len(), LETTERS);
    }

    fn agents(names: &[(&str, &str)]) -> Vec<Agent> {
        names
            .iter()
            .map(|(name, model)| Role::parse(name, "b").played_by(*model))
            .collect()
    }

    #[test]
    fn every_agent_has_files_of_its_own() {
        let panel = agents(&[
            ("proposer", "cli:claude/opus"),
            ("architect", "cli:gemini"),
            ("operator", "cli:codex"),
            ("adversary", "openai:gpt-5"),
            ("gemini", "cli:qwen"),
            ("con", "cli:opencode"),
            ("context", "cli:opencode"),
            ("a.b", "m"),
            ("a-b", "m"),
        ]);
        let files: Vec<String> = persona_files(&panel)
            .into_iter()
            .map(|(_, file)| file)
            .collect();
        assert_eq!(
            files,
            [
                "GEMINI.md",
                "AGENTS.md",
                "QWEN.md",
                "GEMINI-2.md",
                "CON-2.md",
                "CONTEXT-2.md",
                "A-B.md",
                "A-B-2.md"
            ]
        );
        let names: Vec<String> = speaker_names(&panel)
            .into_iter()
            .map(|(_, name)| name)
            .collect();
        // `gemini` is an agent's name already, and two agents are opencode.
        assert_eq!(
            names,
            [
                "claude",
                "architect",
                "codex",
                "adversary",
                "qwen",
                "con",
                "context",
                "a-b",
                "a-b-2"
            ]
        );
    }
}
