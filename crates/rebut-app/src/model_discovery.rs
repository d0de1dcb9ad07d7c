//! The auto panel: whoever this machine can ask, different families first.

use rebut_engine::{clean::on_one_line, family::family_of};
use rebut_models::{Clis, Registry, Server};
use serde::Serialize;
use std::fmt;

/// A model that can be asked right now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    pub model: String,
    pub source: Source,
}

/// How a model was found, the preferred way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The key of its provider is set.
    Key,
    /// An agent program in which somebody is signed in.
    SignedIn,
    /// A server that needs no key answers.
    Server,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "key",
            Self::SignedIn => "signed in",
            Self::Server => "local",
        })
    }
}

/// Who can be asked, and who nearly could.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Everybody who can be asked, in order of preference.
    pub candidates: Vec<Candidate>,
    /// Providers whose key is set, but of which nobody knows which model to ask.
    pub nameless: Vec<String>,
}

impl Found {
    /// Why the rehearsal plays, where nobody can be asked.
    pub fn nobody(&self) -> String {
        let why = match self.nameless.is_empty() {
            true => "no key, no agent and no local server found".to_owned(),
            false => self
                .nameless
                .iter()
                .map(|provider| which_model(provider))
                .collect::<Vec<_>>()
                .join("; "),
        };
        format!("{why}: rehearsal (built in, not a model)")
    }
}

/// What is missing at a provider whose key is set.
pub fn which_model(provider: &str) -> String {
    let name = on_one_line(provider);
    format!(
        "the key of {name} is set, but no model: write auto_model under [providers.{name}], or \
         name one with -m {name}:MODEL"
    )
}

/// Everybody who can be asked: keys, then agent programs, then servers.
pub async fn candidates(registry: &Registry, clis: &Clis) -> Found {
    among(registry, clis, &registry.servers().await)
}

/// The same, with servers that were asked already.
pub fn among(registry: &Registry, clis: &Clis, servers: &[Server]) -> Found {
    let candidate = |source| move |model| Candidate { model, source };
    let keyed = registry
        .keyed_models()
        .into_iter()
        .map(candidate(Source::Key));
    let signed_in = clis
        .found()
        .into_iter()
        .filter(|cli| cli.signed_in == Some(true));
    let signed_in = signed_in
        .map(|cli| format!("cli:{}", cli.name))
        .map(candidate(Source::SignedIn));
    // One of each server before the second of any.
    let longest = servers
        .iter()
        .filter_map(|server| server.models.as_ref())
        .map(Vec::len)
        .max()
        .unwrap_or(0);
    let installed = (0..longest).flat_map(|turn| {
        servers.iter().filter_map(move |server| {
            Some(format!(
                "{}:{}",
                server.name,
                server.models.as_ref()?.get(turn)?
            ))
        })
    });
    Found {
        candidates: keyed
            .chain(signed_in)
            .chain(installed.map(candidate(Source::Server)))
            .collect(),
        nameless: registry.nameless().into_iter().map(str::to_owned).collect(),
    }
}

/// The best panel of that size beside those who are seated already: each known family once, then
/// models whose family nobody knows, then whoever is left.
pub fn pick(candidates: Vec<Candidate>, seats: usize, seated: &[&str]) -> Vec<Candidate> {
    let mut families: Vec<String> = seated
        .iter()
        .map(|model| family_of(model).into_owned())
        .collect();
    let mut ranked: Vec<(u8, Candidate)> = Vec::new();
    for candidate in candidates {
        let family = family_of(&candidate.model).into_owned();
        let rank = match (families.contains(&family), family == candidate.model) {
            (true, _) => 2,
            (false, true) => 1,
            (false, false) => 0,
        };
        families.push(family);
        ranked.push((rank, candidate));
    }
    // Stable: within a rank the order of sources stays.
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked
        .into_iter()
        .map(|(_, candidate)| candidate)
        .take(seats)
        .collect()
}

/// One line for people: what was chosen and why.
pub fn words(picked: &[Candidate]) -> String {
    let names: Vec<String> = picked
        .iter()
        .map(|one| format!("{} ({})", on_one_line(&one.model), one.source))
        .collect();
    let mut families: Vec<_> = picked.iter().map(|one| family_of(&one.model)).collect();
    families.sort();
    families.dedup();
    let why = match families.as_slice() {
        [family] => format!("one family only ({})", on_one_line(family)),
        many => format!("{} families", many.len()),
    };
    format!(
        "auto panel, different families first: {}; {why}",
        names.join(" · ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who is there, how many seats, who sits already, who is picked.
    type Row<'a> = (&'a [&'a str], usize, &'a [&'a str], &'a [&'a str]);

    #[test]
    fn families_go_before_sources_and_sources_in_their_order() {
        let rows: [Row<'_>; 6] = [
            (
                &[
                    "anthropic:claude-x",
                    "cli:claude",
                    "cli:codex",
                    "ollama:llama3",
                ],
                3,
                &[],
                &["anthropic:claude-x", "cli:codex", "ollama:llama3"],
            ),
            (
                &["anthropic:claude-x", "cli:claude"],
                3,
                &[],
                &["anthropic:claude-x", "cli:claude"],
            ),
            (
                &["openai:gpt-5", "openrouter:openrouter/auto", "ollama:qwen3"],
                2,
                &[],
                &["openai:gpt-5", "ollama:qwen3"],
            ),
            (
                &[
                    "openai:gpt-5",
                    "openai:gpt-5-mini",
                    "openrouter:openrouter/auto",
                ],
                2,
                &[],
                &["openai:gpt-5", "openrouter:openrouter/auto"],
            ),
            (
                &["openai:gpt-5", "anthropic:claude-x", "ollama:qwen3"],
                2,
                &["openai:gpt-5-mini"],
                &["anthropic:claude-x", "ollama:qwen3"],
            ),
            (&[], 3, &[], &[]),
        ];
        for (given, seats, seated, expected) in rows {
            let candidates = given
                .iter()
                .map(|model| Candidate {
                    model: (*model).to_owned(),
                    source: Source::Key,
                })
                .collect();
            let picked: Vec<String> = pick(candidates, seats, seated)
                .into_iter()
                .map(|one| one.model)
                .collect();
            assert_eq!(picked, expected, "{given:?}");
        }
    }
}
