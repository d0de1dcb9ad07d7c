//! Triage with a model: one agent says whether a question is worth a debate, beside what the rules
//! say.

use crate::{
    agent::Agent,
    debate::{Ask, Debate, Step},
    error::Stop,
    formats::{Foreseen, Format, rules::Rules, timeouts::OneTurn},
    outcome::{Ending, Outcome},
    prompt,
    prompt::{PromptFile, Template},
    reply,
    reply::Schema,
    triage,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The row of the table of formats.
pub const FORMAT: Format = Format {
    prompts: &[
        PromptFile::of::<Question>(),
        PromptFile::of::<crate::turn::Clarify>(),
    ],
    replies: || vec![Schema::of::<Verdict>()],
    ..Format::by::<Triage>(
        "triage",
        "One agent says whether a question is worth a debate.",
        include_str!("../../presets/triage.toml"),
    )
};

/// The rules in the table's terms.
pub struct Triage;

impl Rules for Triage {
    type Input = Input;
    type Config = OneTurn;

    const TURN_SECONDS: &'static str = "timeout";

    fn config(config: &Value) -> Result<OneTurn, String> {
        OneTurn::parse(config)
    }

    fn read(input: &Value, config: &Value) -> Result<(Self::Input, OneTurn), String> {
        let config = OneTurn::parse(config)?;
        let input = Input::deserialize(input).map_err(|error| format!("triage: {error}"))?;
        Ok((input, config))
    }

    fn check(input: Self::Input, _: &OneTurn, agents: &[Agent]) -> Result<String, String> {
        if input.question.trim().is_empty() {
            return Err("the question is empty".to_owned());
        }
        if agents.len() == 1 {
            Ok(input.question)
        } else {
            Err("triage needs exactly one agent".to_owned())
        }
    }

    async fn run(debate: &Debate, input: Self::Input, _: OneTurn) -> Result<Outcome, Stop> {
        run(debate, input).await
    }

    fn foresee(_: Self::Input, _: &OneTurn, agents: &[Agent]) -> Result<Vec<Foreseen>, String> {
        Ok(Foreseen::rounds(agents.len().min(1), 1, 1))
    }
}

prompt!(
    /// What the agent reads.
    Question, "triage/triage.md" {
        /// The question.
        question: Data,
        /// What is known.
        context: Data,
        /// What the rules say.
        rules: Data,
    }
);

/// What is triaged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The question.
    pub question: String,
    /// How many options it came with.
    #[serde(default)]
    pub options: usize,
    /// What is known.
    #[serde(default)]
    pub context: String,
}

/// What the agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Whether it is worth a debate.
    pub worth_a_debate: bool,
    /// Why, in one sentence.
    pub reason: String,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
}

reply!(Verdict, "triage_verdict");

async fn run(debate: &Debate, input: Input) -> Result<Outcome, Stop> {
    let rules = triage::triage(&input.question, input.options, &input.context);
    let context = if input.context.trim().is_empty() {
        "(none)"
    } else {
        &input.context
    };
    let said = rules.describe();
    let prompt = Question {
        question: &input.question,
        context,
        rules: &said,
    }
    .render(debate.fence());
    let ask = Ask {
        prompt,
        schema: Schema::of::<Verdict>(),
        check: Box::new(check_verdict),
    };
    let step = Step::once("triage", 1);
    match debate.turn(&step, &debate.agents()[0], ask).await? {
        Ok(said) => {
            let word = if said.reply.worth_a_debate {
                "worth a debate"
            } else {
                "one answer will do"
            };
            let summary = format!("{word}: {}", crate::clean::on_one_line(&said.reply.reason));
            let result = json!({"rules": rules, "verdict": said.reply});
            Ok(Outcome {
                result,
                ..Outcome::without_result(Ending::Completed, summary, Vec::new())
            })
        }
        Err(absence) => Err(Stop::NoQuorum {
            step: step.name,
            answered: 0,
            needed: 1,
            absent: vec![absence],
        }),
    }
}

fn check_verdict(verdict: &mut Verdict) -> Result<(), String> {
    match verdict {
        Verdict { reason, .. } if reason.trim().is_empty() => Err("\"reason\" is empty".to_owned()),
        Verdict {
            confidence: 0.0..=1.0,
            ..
        } => Ok(()),
        Verdict { confidence, .. } => Err(format!(
            "\"confidence\" must be from 0 to 1, not {confidence}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_and_its_struct_agree() {
        assert_eq!(
            crate::prompt::mismatches::<Question>(),
            Vec::<String>::new()
        );
    }
}
