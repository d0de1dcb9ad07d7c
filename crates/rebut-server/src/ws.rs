//! A debate over a WebSocket: the same envelopes as events, and a person's words the other way.

use crate::{
    event_stream::{Passing, Shown, Tail},
    keys::Role,
    problem::Problem,
    routes::{gates, steering},
    server::Shared,
    web_session::Caller,
};
use axum::extract::ws::{CloseCode, CloseFrame, Message, WebSocket, close_code};
use rebut_engine::DebateId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::time::{Instant, interval_at};
use tokio_tungstenite::tungstenite;

/// What a client may say.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Adds a note that the next round hears.
    Note {
        /// What is said.
        text: String,
    },
    /// Opens the gate that waits.
    Approve(gates::Verdict),
    /// Refuses the gate that waits.
    Reject(gates::Verdict),
    /// Ends the debate.
    Cancel {
        /// Why.
        #[serde(default)]
        reason: String,
    },
}

/// What a client hears about its command.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Heard {
    Done {
        command: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Value>,
    },
    Problem {
        problem: Problem,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Value>,
    },
}

pub struct Client {
    pub server: Arc<Shared>,
    /// Who it was when it came; what it may do is asked of the keys of now.
    pub guest: Caller,
    pub id: DebateId,
}

impl Client {
    /// Shows the debate and takes commands until one of both ends.
    pub async fn follow(self, mut socket: WebSocket, mut tail: Tail) {
        let every = self.server.settings.heartbeat;
        let mut heartbeat = interval_at(Instant::now() + every, every);
        let mut closing = None;
        loop {
            let message = tokio::select! {
                shown = tail.next() => match shown {
                    Some(shown) => {
                        closing = self.closing_after(&shown);
                        text(&shown)
                    }
                    None => break,
                },
                said = socket.recv() => match said {
                    Some(Ok(Message::Text(said))) => Message::Text(self.answer(said.as_str()).await.into()),
                    Some(Ok(Message::Binary(_))) => Message::Text(heard(Err(Problem::bad_request("commands are text")), None).into()),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Err(error)) if is_too_large(&error) => {
                        closing = Some((close_code::SIZE, "too large"));
                        break;
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                },
                _ = heartbeat.tick() => Message::Ping(Vec::new().into()),
            };
            // Whoever does not listen any more is gone.
            if socket.send(message).await.is_err() {
                return;
            }
        }
        let (code, reason) = closing.unwrap_or(if tail.is_at_end() { ENDED } else { LEFT });
        let _ = socket
            .send(Message::Close(Some(CloseFrame {
                code,
                reason: reason.into(),
            })))
            .await;
    }

    async fn answer(&self, said: &str) -> String {
        let mut said: Map<String, Value> = match crate::body::parse(said.as_bytes()) {
            Ok(said) => said,
            Err(problem) => return heard(Err(problem), None),
        };
        let id = said.remove("id");
        if id
            .as_ref()
            .is_some_and(|id| !id.is_string() && !id.is_number())
        {
            return heard(
                Err(Problem::unprocessable(
                    "the `id` of a command is a text or a number",
                )),
                None,
            );
        }
        let command = Command::deserialize(Value::Object(said));
        let done = match command {
            Ok(command) => self.carry_out(command).await,
            Err(error) => Err(Problem::unprocessable(format!(
                "the command does not fit: {error}"
            ))),
        };
        heard(done, id)
    }

    async fn carry_out(&self, command: Command) -> Result<&'static str, Problem> {
        let (server, id, by) = (&self.server, self.id, &self.guest.key.name);
        server
            .buckets
            .take(by, true, server.settings.requests_per_minute)?;
        match command {
            Command::Note { text } => {
                self.may(Role::Approver).await?;
                server.desk.note(id, &text, by).await?;
                Ok("note")
            }
            Command::Approve(verdict) => {
                self.may(Role::Approver).await?;
                gates::decide(server, id, by, true, verdict).await?;
                Ok("approve")
            }
            Command::Reject(verdict) => {
                self.may(Role::Approver).await?;
                gates::decide(server, id, by, false, verdict).await?;
                Ok("reject")
            }
            Command::Cancel { reason } => {
                self.may(Role::Admin).await?;
                steering::end(server, id, by, &reason).await?;
                Ok("cancel")
            }
        }
    }

    async fn may(&self, min_role: Role) -> Result<(), Problem> {
        let key = self
            .guest
            .key_now(&self.server)
            .await?
            .ok_or_else(Problem::unauthorized)?;
        if key.role >= min_role {
            return Ok(());
        }
        let detail = format!("this takes a key of role `{}`", min_role.as_str());
        Err(Problem::new(
            axum::http::StatusCode::FORBIDDEN,
            "role",
            detail,
        ))
    }

    /// How a socket is closed since this was shown, if that says so.
    fn closing_after(&self, shown: &Shown) -> Option<Closing> {
        match shown {
            Shown::Passing(Passing::Shutdown {}) => Some((close_code::AWAY, "shutdown")),
            Shown::Passing(Passing::Problem { problem }) if problem.status == 401 => Some((
                close_code::POLICY,
                if self.guest.web_session.is_some() {
                    "session ended"
                } else {
                    "key removed"
                },
            )),
            Shown::Passing(Passing::Problem { .. }) => Some((close_code::ERROR, "problem")),
            Shown::Passing(_) | Shown::Event(_) => None,
        }
    }
}

type Closing = (CloseCode, &'static str);

/// How a socket is closed behind the end of its debate.
const ENDED: Closing = (close_code::NORMAL, "ended");

/// How it is closed where the debate goes on elsewhere, or will: this server does not run it any
/// more.
const LEFT: Closing = (close_code::AGAIN, "not run here");

/// Whether a message was not read since it is longer than messages may be.
fn is_too_large(error: &axum::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref());
    matches!(cause, Some(tungstenite::Error::Capacity(_)))
}

fn heard(result: Result<&'static str, Problem>, id: Option<Value>) -> String {
    let heard = match result {
        Ok(command) => Heard::Done { command, id },
        Err(problem) => Heard::Problem { problem, id },
    };
    serde_json::to_string(&heard).expect("words are always JSON")
}

fn text(shown: &Shown) -> Message {
    let json = match shown {
        Shown::Event(record) => serde_json::to_string(&record.envelope()),
        Shown::Passing(passing) => serde_json::to_string(passing),
    };
    Message::Text(json.expect("what is shown is always JSON").into())
}
