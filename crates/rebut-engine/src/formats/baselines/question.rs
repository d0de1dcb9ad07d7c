//! What an arm asks: the same question as a debate, to be answered at once or after hearing the
//! others.

use super::{Answer, grouping::Groups};
use crate::{
    agent::Agent,
    debate::{Ask, Debate},
    event::{Claim, ClaimId, Position},
    formats::{
        consensus::Bar,
        peer_view::{Other, others_text, own_words},
        question::{Choice, Input, context_of, options_text},
        timeouts::check_seconds,
    },
    prompt,
    prompt::Template,
    reply::Schema,
    view::View,
};
use serde_json::Value;
use std::sync::Arc;

prompt!(
    /// What an agent reads when it answers on its own.
    Blind, "arms/answer.md" {
        /// The agent's attitude.
        stance: Word,
        /// The agent's role text.
        brief: Part,
        /// What is asked.
        question: Data,
        /// The options, one a line.
        options: Data,
        /// What is known.
        context: Data,
        /// Notes of people.
        notes: Notes,
    }
);

prompt!(
    /// What an agent reads when it has heard the others.
    Reconsider, "arms/reconsider.md" {
        /// The agent's attitude.
        stance: Word,
        /// The agent's role text.
        brief: Part,
        /// What is asked.
        question: Data,
        /// The options, one a line.
        options: Data,
        /// What is known.
        context: Data,
        /// Notes of people.
        notes: Notes,
        /// The agent's own last word.
        own: Data,
        /// The others' last words.
        others: Data,
    }
);

/// The question of an arm while it runs.
pub(super) struct Question {
    pub(super) input: Input,
    ids: Arc<[String]>,
    options_text: String,
    schema: Schema,
}

impl Question {
    /// The question of a debate that has begun: its context is looked up there.
    pub(super) fn of(mut input: Input) -> Self {
        input.context = String::new();
        let ids: Vec<&str> = input
            .options
            .iter()
            .map(|option| option.id.as_str())
            .collect();
        Self {
            schema: if ids.is_empty() {
                Schema::of::<Answer>()
            } else {
                Schema::with_choices::<Answer>(&["answer"], &ids)
            },
            options_text: if ids.is_empty() {
                "(none)".to_owned()
            } else {
                options_text(&input.options)
            },
            ids: ids.into_iter().map(str::to_owned).collect(),
            input,
        }
    }

    /// What an answer stands for: an option, or a group of answers in the agents' own words.
    pub(super) fn held(&self, groups: &mut Groups, reply: &Answer) -> String {
        if self.ids.is_empty() {
            groups.shown(&reply.answer)
        } else {
            reply.answer.clone()
        }
    }

    pub(super) fn option(&self, id: &str) -> Option<&Choice> {
        self.input.options.iter().find(|option| option.id == id)
    }

    /// The question to somebody who has heard nobody.
    pub(super) fn blind(&self, debate: &Debate, agent: &Agent, notes: &str) -> Ask<Answer> {
        let prompt = Blind {
            stance: agent.stance_word(),
            brief: &agent.brief,
            question: &self.input.question,
            options: &self.options_text,
            context: context_of(debate),
            notes,
        };
        self.ask(prompt.render(debate.fence()))
    }

    /// The question to somebody who holds something and hears the others.
    pub(super) fn reconsider(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        own: &Position,
        others: &[Other<'_>],
    ) -> Ask<Answer> {
        let prompt = Reconsider {
            stance: agent.stance_word(),
            brief: &agent.brief,
            question: &self.input.question,
            options: &self.options_text,
            context: context_of(debate),
            notes,
            own: &own_words(own),
            others: &others_text(others),
        };
        self.ask(prompt.render(debate.fence()))
    }

    fn ask(&self, prompt: prompt::Prompt) -> Ask<Answer> {
        let ids = self.ids.clone();
        Ask {
            prompt,
            schema: self.schema.clone(),
            check: Box::new(move |reply: &mut Answer| reply.check(&ids)),
        }
    }
}

/// The position behind an answer; `held` is what it is counted as.
pub(super) fn position(
    agent: &str,
    turn: Arc<str>,
    round: u32,
    answer: Answer,
    held: String,
    from: Option<String>,
) -> Position {
    let claims = answer.reasons.into_iter().enumerate();
    let changed = from.as_ref().is_some_and(|from| *from != held);
    Position {
        turn,
        counted: Some(held.clone()),
        option: Some(held),
        ranking: Vec::new(),
        from,
        confidence: answer.confidence,
        reason: if changed {
            answer.summary.clone()
        } else {
            String::new()
        },
        summary: answer.summary,
        claims: claims
            .map(|(at, text)| Claim {
                id: ClaimId::new(agent, round, at + 1),
                text,
            })
            .collect(),
        challenges: Vec::new(),
        because: Vec::new(),
        documented: true,
        flips_if: String::new(),
        bad_citations: Vec::new(),
    }
}

/// What a person may answer a contested arm with: the options, or the answers that were given.
pub(super) fn choices(view: &View) -> Vec<(String, String)> {
    let given = view
        .started
        .as_ref()
        .and_then(|started| Input::parse(&started.input).ok())
        .map(|input| input.options)
        .unwrap_or_default();
    if !given.is_empty() {
        return given
            .into_iter()
            .map(|choice| (choice.id, choice.label))
            .collect();
    }
    let tally = view
        .rounds
        .iter()
        .rev()
        .find_map(|round| round.tally.as_ref());
    tally
        .into_iter()
        .flat_map(|tally| {
            tally
                .distribution
                .keys()
                .map(|answer| (answer.clone(), String::new()))
        })
        .collect()
}

/// Whether the settings that all arms have are in range.
pub(super) fn check_common(timeout: u64, threshold: f64) -> Result<(), String> {
    Bar::new(threshold)?;
    check_seconds("timeout", timeout)
}

/// Reads settings of a format; a mistake is told with the format's name.
pub(super) fn parse<'de, T: serde::Deserialize<'de>>(
    format: &str,
    config: &'de Value,
) -> Result<T, String> {
    T::deserialize(config).map_err(|error| format!("{format}: {error}"))
}

/// Quorum: so many of those planned, or more than half.
pub(super) fn quorum(wanted: usize, planned: usize) -> usize {
    if wanted == 0 { planned / 2 + 1 } else { wanted }
}

/// Checks what every arm needs; gives the question.
pub(super) fn check(input: Input, planned: usize, min_answers: usize) -> Result<String, String> {
    match planned {
        0 => Err("somebody has to answer: the panel is empty".to_owned()),
        planned if min_answers > planned => Err(format!(
            "min_answers is {min_answers}, but only {planned} answers are planned"
        )),
        _ => Ok(input.question),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        formats::{Format, baselines},
        prompt::mismatches,
    };
    use std::collections::BTreeSet;

    #[test]
    fn prompts_and_their_structs_agree() {
        assert_eq!(
            [mismatches::<Blind>(), mismatches::<Reconsider>()].concat(),
            Vec::<String>::new()
        );
    }

    #[test]
    fn presets_are_complete_and_valid() {
        let rows: [(Format, schemars::Schema); 3] = [
            (
                baselines::single::FORMAT,
                schemars::schema_for!(baselines::single::Config),
            ),
            (
                baselines::poll::FORMAT,
                schemars::schema_for!(baselines::poll::Config),
            ),
            (
                baselines::society::FORMAT,
                schemars::schema_for!(baselines::society::Config),
            ),
        ];
        for (format, schema) in rows {
            let preset: toml::Table = toml::from_str(format.preset).expect("TOML");
            let known = schema
                .get("properties")
                .and_then(Value::as_object)
                .expect("an object");
            assert_eq!(
                preset.keys().collect::<BTreeSet<_>>(),
                known.keys().collect(),
                "{}",
                format.name
            );
            let mut config = serde_json::to_value(&preset).expect("JSON");
            assert_eq!((format.check_config)(&config), Ok(()));
            config["timeout"] = 0.into();
            assert!(
                (format.check_config)(&config).is_err_and(|problem| problem.contains("timeout")),
                "{}",
                format.name
            );
        }
    }
}
