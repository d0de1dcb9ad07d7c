//! A debate over a WebSocket: the same envelopes as events, and a person's words the other way.

use crate::{
    keys::{Key, Role},
    problem::Problem,
    routes::{gates, steering},
    server::Shared,
    tail::{Shown, Tail},
};
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use rebut_engine::DebateId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::time::{Instant, interval_at};

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
    Done { command: &'static str },
    Problem { problem: Problem },
}

/// One client on its socket.
pub struct Client {
    /// The server.
    pub server: Arc<Shared>,
    /// Who it is.
    pub key: Key,
    /// Which debate it follows.
    pub id: DebateId,
}

impl Client {
    /// Shows the debate and takes commands until one of both ends.
    pub async fn follow(self, mut socket: WebSocket, mut tail: Tail) {
        let every = self.server.settings.heartbeat;
        let mut heartbeat = interval_at(Instant::now() + every, every);
        loop {
            let message = tokio::select! {
                shown = tail.next() => match shown {
                    Some(shown) => text(&shown),
                    None => break,
                },
                said = socket.recv() => match said {
                    Some(Ok(Message::Text(said))) => Message::Text(self.answer(said.as_str()).await.into()),
                    Some(Ok(Message::Binary(_))) => Message::Text(heard(Err(Problem::bad_request("commands are text"))).into()),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                },
                _ = heartbeat.tick() => Message::Ping(Vec::new().into()),
            };
            // Whoever does not listen any more is gone.
            if socket.send(message).await.is_err() {
                return;
            }
        }
        let (code, reason) = if *self.server.stopping.borrow() { (close_code::AWAY, "shutdown") } else { (close_code::NORMAL, "ended") };
        let _ = socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
    }

    async fn answer(&self, said: &str) -> String {
        let command = crate::body::parse::<Command>(said.as_bytes());
        heard(match command {
            Ok(command) => self.carry_out(command).await,
            Err(problem) => Err(problem),
        })
    }

    async fn carry_out(&self, command: Command) -> Result<&'static str, Problem> {
        let (server, id, by) = (&self.server, self.id, &self.key.name);
        server.buckets.take(by, true, server.settings.requests_per_minute)?;
        match command {
            Command::Note { text } => {
                self.may(Role::Approver)?;
                server.desk.note(id, &text, by).await?;
                Ok("note")
            }
            Command::Approve(verdict) => {
                self.may(Role::Approver)?;
                gates::decide(server, id, by, true, verdict).await?;
                Ok("approve")
            }
            Command::Reject(verdict) => {
                self.may(Role::Approver)?;
                gates::decide(server, id, by, false, verdict).await?;
                Ok("reject")
            }
            Command::Cancel { reason } => {
                self.may(Role::Admin)?;
                steering::end(server, id, by, &reason).await?;
                Ok("cancel")
            }
        }
    }

    fn may(&self, least: Role) -> Result<(), Problem> {
        if self.key.role >= least {
            return Ok(());
        }
        let detail = format!("this takes a key of role `{}`", least.as_str());
        Err(Problem::new(axum::http::StatusCode::FORBIDDEN, "role", detail))
    }
}

fn heard(result: Result<&'static str, Problem>) -> String {
    let heard = match result {
        Ok(command) => Heard::Done { command },
        Err(problem) => Heard::Problem { problem },
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
