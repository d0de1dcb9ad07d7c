//! The built-in rehearsal: a speaker without a model, who takes positions from the text it is given
//! and never hides what it is.

mod amounts;
mod arms;
mod case;
mod challenge;
mod draft;
mod evaluate;
mod lexicon;
mod names;
mod panel;
mod passages;
mod program;
mod propose;
mod rebuttal;
mod review;
mod solve;
mod speech;
mod split;
mod table;
mod verdict;
mod words;

use rebut_engine::model::{Answer, Fault, FaultKind, Finish, Model, Price, Request, Usage};

/// Answers the turns of every format without any model: the same input always gives the same
/// output.
#[derive(Clone, Copy, Debug, Default)]
pub struct RehearsalModel;

/// In how many pieces an answer is streamed.
const PIECES: usize = 6;

#[async_trait::async_trait]
impl Model for RehearsalModel {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let text = match request.schema.name {
            "recommendation" => speech::recommend(request.agent, request.prompt),
            "response" => rebuttal::respond(request.agent, request.prompt),
            "answer" => arms::answer(request.agent, request.prompt),
            "arm_program" => Ok(program::write(request.prompt)),
            "category_scores" => Ok(evaluate::scores(request.prompt)),
            "topic_arguments" => Ok(evaluate::arguments(request.agent, request.prompt)),
            "topic_answers" => Ok(evaluate::answers(request.agent, request.prompt)),
            "topic_verdict" => Ok(evaluate::verdict(request.prompt)),
            "option_draft" => Ok(draft::options(request.prompt)),
            "ready" => Ok(challenge::ready(request.agent)),
            "opening" => challenge::opening(request.agent, request.prompt),
            "critique" => challenge::critique(request.agent, request.prompt),
            "confrontation" => Ok(challenge::confrontation(request.prompt)),
            "rebuttal" => Ok(challenge::rebuttal(request.prompt)),
            "grounds" => Ok(challenge::grounds(request.agent, request.prompt)),
            "role_proposal" => Ok(propose::propose(request.prompt)),
            "review_critique" => Ok(review::critique(request.agent, request.prompt)),
            "review_revision" => Ok(review::revise(request.prompt)),
            "review_argument" => Ok(review::argue(request.prompt)),
            "review_rebuttal" => Ok(review::rebut(request.prompt)),
            "review_verdict" => Ok(review::judge(request.prompt)),
            solved if solved.starts_with("solve_") => {
                solve::answer(solved, request.agent, request.prompt)
            }
            other => Err(Fault::new(
                FaultKind::Unavailable,
                format!(
                    "the built-in rehearsal cannot play a `{other}` turn; give this agent a \
                    model or a script"
                ),
            )),
        }?
        .to_string();
        stream(&request, &text);
        let prompt = count_words(&request.prompt.system) + count_words(&request.prompt.user);
        let usage = Usage {
            input: prompt,
            output: count_words(&text),
            cost_usd: Some(0.0),
            ..Usage::default()
        };
        Ok(Answer {
            text,
            model: Some("rehearsal".to_owned()),
            usage: Some(usage),
            finish: Finish::Complete,
            ..Answer::default()
        })
    }

    fn is_rehearsal(&self) -> bool {
        true
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }
}

fn count_words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

fn stream(request: &Request<'_>, text: &str) {
    if !request.deltas.wanted() {
        return;
    }
    let size = text.len().div_ceil(PIECES).max(1);
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.ceil_char_boundary(size));
        request.deltas.push(request.turn, piece);
        rest = more;
    }
}
