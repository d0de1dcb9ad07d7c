//! The built-in simulator: answers any turn without a model, from nothing but the schema of its
//! reply and the material of its prompt. It understands nothing, and never hides what it is.

mod code;
mod dice;
mod fields;
mod material;
mod phrases;
mod reply;

use rebut_engine::model::{Answer, Fault, FaultKind, Finish, Model, Price, Request, Usage};
use reply::Writer;
use serde_json::Value;

/// Answers the turns of every format without any model: the same input always gives the same
/// output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

/// In how many pieces an answer is streamed.
const PIECES: usize = 6;

/// How many replies are thrown until one passes the format's own check.
const THROWS: usize = 64;

#[async_trait::async_trait]
impl Model for Simulator {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let text = reply_to(&request)?;
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

/// The first of the replies thrown that fits. What a schema cannot say (no objections where the
/// verdict agrees) is found this way.
fn reply_to(request: &Request<'_>) -> Result<String, Fault> {
    let schema: Value = serde_json::from_str(&request.schema.json).map_err(|error| {
        let name = request.schema.name;
        let told = format!("the built-in rehearsal cannot read the schema `{name}`: {error}");
        Fault::new(FaultKind::Unavailable, told)
    })?;
    let mut writer = Writer::new(request, &schema);
    let first = writer.throw(0).to_string();
    let fits = |text: &String| (request.fits)(text).is_ok();
    if fits(&first) {
        return Ok(first);
    }
    let fitting = (1..THROWS)
        .map(|number| writer.throw(number).to_string())
        .find(fits);
    Ok(fitting.unwrap_or(first))
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
