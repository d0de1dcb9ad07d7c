//! Propose: one agent words a reviewer's text anew from what judges said of it. What it says is
//! only ever a proposal for a person.

use crate::{
    agent::Agent,
    debate::{Ask, Debate, Step},
    error::Stop,
    formats::{Foreseen, Format, rules::Rules, timeouts::OneTurn},
    outcome::{Ending, Outcome},
    policy::PolicyInsights,
    prompt,
    prompt::{PromptFile, Template},
    reply,
    reply::Schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The row of the table of formats.
pub const FORMAT: Format = Format {
    prompts: &[
        PromptFile::of::<Request>(),
        PromptFile::of::<crate::turn::Clarify>(),
    ],
    replies: || vec![Schema::of::<Proposal>()],
    ..Format::by::<Propose>(
        "propose",
        "One agent words a reviewer's text anew from what judges said of it.",
        include_str!("../../presets/propose.toml"),
    )
};

/// The rules in the table's terms.
pub struct Propose;

impl Rules for Propose {
    type Input = Input;
    type Config = OneTurn;

    const TURN_SECONDS: &'static str = "timeout";

    fn config(config: &Value) -> Result<OneTurn, String> {
        OneTurn::parse(config)
    }

    fn read(input: &Value, config: &Value) -> Result<(Self::Input, OneTurn), String> {
        let config = OneTurn::parse(config)?;
        let input = Input::deserialize(input).map_err(|error| format!("propose: {error}"))?;
        Ok((input, config))
    }

    fn check(input: Self::Input, _: &OneTurn, agents: &[Agent]) -> Result<String, String> {
        if input.current.trim().is_empty() {
            return Err(format!("the role `{}` has no text to improve", input.role));
        }
        if agents.len() == 1 {
            Ok(format!("A better text for {}", input.role))
        } else {
            Err("propose needs exactly one agent".to_owned())
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
    Request, "propose/propose.md" {
        /// Whose text it is.
        role: Data,
        /// The text as it is.
        current: Data,
        /// What judges said.
        feedback: Data,
    }
);

/// What is worded anew, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The role.
    pub role: String,
    /// Its text as it is.
    pub current: String,
    /// What judges said of it.
    pub insights: PolicyInsights,
}

/// What the agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    /// The improved text, whole.
    pub text: String,
    /// What was changed, and why.
    pub why: String,
}

reply!(Proposal, "role_proposal");

/// A text of more characters is no text for a reviewer.
const MOST_CHARACTERS: usize = 20_000;

async fn run(debate: &Debate, input: Input) -> Result<Outcome, Stop> {
    let prompt = Request {
        role: &input.role,
        current: &input.current,
        feedback: &feedback(&input.insights),
    }
    .render(debate.fence());
    let ask = Ask {
        prompt,
        schema: Schema::of::<Proposal>(),
        check: Box::new(check_proposal),
    };
    let step = Step::once("propose", 1);
    match debate.turn(&step, &debate.agents()[0], ask).await? {
        Ok(said) => {
            let summary = format!(
                "a new text for {}: {}",
                input.role,
                crate::clean::on_one_line(&said.reply.why)
            );
            let result = serde_json::to_value(&said.reply)
                .map_err(|error| Stop::Broken(error.to_string()))?;
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

/// What judges said, in the words of a prompt.
fn feedback(insights: &PolicyInsights) -> String {
    format!(
        "score: {:.2} of 10 on average, over {} debates\nlabels: {}\nsignal: {}",
        insights.avg_argument_quality,
        insights.debates,
        insights.common_labels.join(", "),
        insights.policy_signal
    )
}

fn check_proposal(proposal: &mut Proposal) -> Result<(), String> {
    match proposal {
        Proposal { text, .. } if text.trim().is_empty() => Err("\"text\" is empty".to_owned()),
        Proposal { text, .. } if text.chars().count() > MOST_CHARACTERS => Err(format!(
            "\"text\" has {} characters, more than {MOST_CHARACTERS}",
            text.chars().count()
        )),
        Proposal { why, .. } if why.trim().is_empty() => Err("\"why\" is empty".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_and_its_struct_agree() {
        assert_eq!(crate::prompt::mismatches::<Request>(), Vec::<String>::new());
    }
}
