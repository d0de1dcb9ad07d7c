//! Turns that people or calling agents answer, where the front offers that.

use super::{
    debates::{STANDING, TURNS},
    json,
};
use crate::{
    middleware::Call,
    problem::Problem,
    resolver::{Inbox, NotTaken, TurnRequest},
};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use rebut_engine::{
    family::is_person,
    view::{TurnState, View},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Turns that wait.
#[derive(Serialize, JsonSchema)]
pub struct TurnRequests {
    /// In the order they were asked.
    turns: Vec<TurnRequest>,
}

/// An answer to a turn, said in one of two ways.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["text"]}, {"required": ["reply"]}]))]
pub struct Reply {
    /// JSON of the form that the turn asks for, as text.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String")]
    text: Option<String>,
    /// The same as it is.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Map<String, Value>")]
    reply: Option<Map<String, Value>>,
}

/// A field that may be left out, and is not null where it is there.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Reply {
    fn text(self) -> Result<String, Problem> {
        match (self.text, self.reply) {
            (Some(text), None) => Ok(text),
            (None, Some(reply)) => Ok(Value::Object(reply).to_string()),
            _ => Err(Problem::unprocessable(
                "the answer is `text` or `reply`: one of them, and not both",
            )),
        }
    }
}

fn inbox(call: &Call) -> Result<Arc<dyn Inbox>, Problem> {
    call.server.front.inbox().ok_or_else(Problem::not_found)
}

pub async fn list(call: Call) -> Result<Response, Problem> {
    let turns = inbox(&call)?.waiting(call.id()?).await;
    // An empty list would say that nobody is waited for.
    if turns.is_empty()
        && runner(&call).await? == Runner::Elsewhere
        && turns_of(&call).await?.waiting_for_people().next().is_some()
    {
        return Err(elsewhere());
    }
    json(&TurnRequests { turns })
}

pub async fn show(call: Call) -> Result<Response, Problem> {
    let waiting = inbox(&call)?.waiting(call.id()?).await;
    let turn = call.parameter("turn")?;
    match waiting.iter().find(|request| request.turn == turn) {
        Some(request) => json(request),
        None => Err(why_not(&call, turn).await?),
    }
}

pub async fn answer(call: Call) -> Result<Response, Problem> {
    let text = crate::body::parse::<Reply>(&call.body)?.text()?;
    let (inbox, turn) = (inbox(&call)?, call.parameter("turn")?);
    match inbox
        .answer(call.id()?, turn, &call.key()?.name, text)
        .await
    {
        Ok(()) => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(NotTaken::Gone) => Err(why_not(&call, turn).await?),
        Err(not_taken) => Err(not_taken.into()),
    }
}

impl From<NotTaken> for Problem {
    fn from(not_taken: NotTaken) -> Self {
        let words = not_taken.to_string();
        match not_taken {
            NotTaken::Wrong(_) => Self {
                hint: Some(
                    "the turn goes on waiting; the form of its reply is its `schema`".into(),
                ),
                ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-reply", words)
            },
            NotTaken::Gone | NotTaken::Unrecorded => Self::conflict(words),
            NotTaken::Failed(error) => error.into(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    Here,
    Elsewhere,
    Nobody,
}

async fn runner(call: &Call) -> Result<Runner, Problem> {
    let (desk, id) = (&call.server.desk, call.id()?);
    Ok(match desk.runs_here(id) {
        true => Runner::Here,
        false if desk.is_run(id).await? => Runner::Elsewhere,
        false => Runner::Nobody,
    })
}

/// Why a turn does not wait here.
async fn why_not(call: &Call, turn: &str) -> Result<Problem, Problem> {
    // Looked at before the journal: what a run wrote last is there when it is gone.
    let runner = runner(call).await?;
    Ok(reason(&turns_of(call).await?, turn, runner))
}

/// A debate's turns and where it stands.
async fn turns_of(call: &Call) -> Result<View, Problem> {
    Ok(call
        .server
        .desk
        .view_of(call.id()?, &[STANDING, TURNS].concat())
        .await?)
}

fn reason(view: &View, turn: &str, runner: Runner) -> Problem {
    let Some(known) = view.turns.iter().find(|known| known.turn == turn) else {
        return Problem::no_such_part(
            format!("this debate has no turn `{turn}`"),
            "its turns that wait are listed at `turn-requests`, or by `rebut turns ID`",
        );
    };
    let late = |detail: String| Problem::new(StatusCode::CONFLICT, "too-late", detail);
    match (known.state, &view.outcome) {
        (TurnState::Done, _) => late("this turn was answered already".to_owned()),
        (TurnState::Failed, _) => late(match known.faults.last() {
            Some(fault) => format!("this turn is not waited for any more: {fault}"),
            None => "this turn is not waited for any more".to_owned(),
        }),
        (TurnState::Thinking, Some(outcome)) => Problem {
            ending: Some(outcome.outcome),
            ..late(format!(
                "the debate has ended before this turn was answered: {}",
                outcome.outcome.as_str()
            ))
        },
        (TurnState::Thinking, None) if !is_person(&known.asked) => {
            Problem::conflict("this turn does not wait for a person, but for a model")
        }
        (TurnState::Thinking, None) => match runner {
            Runner::Here => {
                Problem::conflict("this turn is being asked or answered just now; look at it again")
            }
            Runner::Elsewhere => elsewhere(),
            Runner::Nobody => Problem::conflict(
                "nobody runs this debate now; the turn is asked again when somebody goes on with \
                 it",
            ),
        },
    }
}

fn elsewhere() -> Problem {
    let detail = "another process runs this debate, and only that one takes answers to its turns";
    let hint = "ask the server that runs it; several behind one address: send the requests of one \
        debate to one of them, or ask again";
    Problem {
        hint: Some(hint.into()),
        ..Problem::new(StatusCode::CONFLICT, "elsewhere", detail)
    }
}
