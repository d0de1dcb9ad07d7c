//! The question of a decide debate, and its options: given, or drafted by a model.

use super::{prompts::Draft, replies::OptionDraft};
use crate::{
    agent::Role,
    debate::{Ask, Debate, Step},
    error::Stop,
    formats::question::context_of,
    prompt::Template,
    reply::Schema,
    view::View,
};

pub use crate::formats::question::{Choice, Input};

/// The options of a debate as far as its journal tells: given, or drafted.
pub fn options_of(view: &View) -> Vec<Choice> {
    let given = view
        .started
        .as_ref()
        .and_then(|started| Input::parse(&started.input).ok())
        .map(|input| input.options)
        .unwrap_or_default();
    if !given.is_empty() {
        return given;
    }
    let mut drafts = view
        .turns
        .iter()
        .rev()
        .filter(|turn| turn.turn.starts_with("draft/"));
    drafts
        .find_map(|turn| view.reply(turn, &OptionDraft::check))
        .map(lettered)
        .unwrap_or_default()
}

pub async fn draft_options(debate: &Debate, input: &Input) -> Result<Vec<Choice>, Stop> {
    let model = debate
        .agents()
        .first()
        .map(|agent| agent.model.clone())
        .unwrap_or_default();
    let drafter = Role::built_in("drafter")
        .ok_or_else(|| Stop::Broken("the role `drafter` is missing".to_owned()))?
        .played_by(model);
    let prompt = Draft {
        brief: &drafter.brief,
        question: &input.question,
        context: context_of(debate),
    }
    .render(debate.fence());
    let ask = Ask {
        prompt,
        schema: Schema::of::<OptionDraft>(),
        check: Box::new(OptionDraft::check),
    };
    match debate.turn(&Step::once("draft", 0), &drafter, ask).await? {
        Ok(said) => Ok(lettered(said.reply)),
        Err(absence) => Err(Stop::NoQuorum {
            step: "draft".to_owned(),
            answered: 0,
            needed: 1,
            absent: vec![absence],
        }),
    }
}

fn lettered(draft: OptionDraft) -> Vec<Choice> {
    let letters = ('A'..='Z').map(|letter| letter.to_string());
    letters
        .zip(draft.options)
        .map(|(id, option)| Choice {
            id,
            label: option.label,
            description: option.description,
        })
        .collect()
}
