//! Debates where they are kept: on this machine or at a server. Commands read and steer both alike.

use crate::{
    app::{App, user},
    cli::Form,
    error::CliError,
    hint_command::command,
    remote::{Following, Remote, Voice},
};
use rebut_engine::{
    DebateId, Desk, Watch,
    event::{GateDecided, GateOpened},
    record::Record,
    store::{Filter, Session},
    view::View,
};
use serde_json::json;

pub enum Debates {
    Here(Desk),
    There(Remote),
}

/// The events of one debate as they come.
pub enum Tail {
    Here(Box<Watch>),
    There(Box<Following>),
}

impl Debates {
    /// The server that was named, else this machine.
    pub async fn open(app: &App) -> Result<Self, CliError> {
        match Remote::named(app)? {
            Some(remote) => Ok(Self::There(remote)),
            None => Ok(Self::Here(app.desk().await?)),
        }
    }

    /// The debate whose id starts with `prefix`; `last` is the newest.
    pub async fn find(&self, prefix: &str) -> Result<DebateId, CliError> {
        let remote = match self {
            Self::Here(desk) => return Ok(desk.find(prefix).await?.id),
            Self::There(remote) => remote,
        };
        let prefix = prefix.trim().to_lowercase();
        if let Ok(id) = prefix.parse() {
            return Ok(id);
        }
        let is_prefix = !prefix.is_empty()
            && prefix
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let found = match prefix.as_str() {
            "last" => {
                remote
                    .sessions(&Filter {
                        limit: 1,
                        ..Filter::default()
                    })
                    .await?
            }
            // Two are enough to tell that it is not one.
            _ if is_prefix => {
                remote
                    .sessions(&Filter {
                        prefix: Some(prefix.clone()),
                        limit: 2,
                        ..Filter::default()
                    })
                    .await?
            }
            _ => Vec::new(),
        };
        match &found[..] {
            [one] => Ok(one.id),
            [] => Err(CliError::usage(format!("no debate `{prefix}`"))
                .hint(format!("`{}` lists the debates of this key", command("ls")))),
            several => {
                let ids = several
                    .iter()
                    .map(|session| session.id.to_string())
                    .collect::<Vec<_>>()
                    .join(" or ");
                Err(CliError::usage(format!("`{prefix}` could be {ids}"))
                    .hint("type more of the id"))
            }
        }
    }

    /// Sessions, newest first. At a server those of the key's owner.
    pub async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, CliError> {
        match self {
            Self::Here(desk) => Ok(desk.sessions(filter).await?),
            Self::There(remote) => remote.sessions(filter).await,
        }
    }

    /// A session with all its columns: the list of a server leaves some out, which the journal
    /// tells.
    pub async fn whole(&self, session: Session) -> Result<Session, CliError> {
        match self {
            Self::Here(_) => Ok(session),
            Self::There(_) => Ok(self.view(session.id).await?.session().unwrap_or(session)),
        }
    }

    pub async fn records(&self, id: DebateId) -> Result<Vec<Record>, CliError> {
        match self {
            Self::Here(desk) => Ok(desk.records(id).await?),
            Self::There(remote) => remote.records(id).await,
        }
    }

    /// A debate as its journal tells it.
    pub async fn view(&self, id: DebateId) -> Result<View, CliError> {
        Ok(View::of(&self.records(id).await?))
    }

    /// Whether a process runs a debate now.
    pub async fn is_run(&self, id: DebateId) -> Result<bool, CliError> {
        match self {
            Self::Here(desk) => Ok(desk.is_run(id).await?),
            Self::There(remote) => Ok(remote.standing(id).await?.is_run),
        }
    }

    /// Why nobody runs a debate, where a server gave it up and nobody took it since.
    pub async fn stalled(&self, id: DebateId) -> Result<Option<String>, CliError> {
        match self {
            Self::Here(desk) => Ok(desk.given_up(&[id]).await?.remove(&id)),
            Self::There(remote) => Ok(remote.standing(id).await?.stalled),
        }
    }

    /// The gate at which a debate waits.
    pub async fn open_gate(&self, id: DebateId) -> Result<Option<GateOpened>, CliError> {
        match self {
            Self::Here(desk) => Ok(desk.view(id).await?.open_gate),
            Self::There(remote) => Ok(remote.standing(id).await?.open_gate),
        }
    }

    /// What is recorded after an event, as it comes.
    pub async fn watch(&self, id: DebateId, after: u64) -> Result<Tail, CliError> {
        match self {
            Self::Here(desk) => {
                let watch = desk.watch(id, after).await?;
                match watch.head() {
                    head if after > head => Err(CliError::usage(format!(
                        "there is no event {after}; the last one is {head}"
                    ))),
                    _ => Ok(Tail::Here(Box::new(watch))),
                }
            }
            Self::There(remote) => Ok(Tail::There(Box::new(remote.follow(id, after)))),
        }
    }

    /// The journal with its seals, for other programs.
    pub async fn journal(&self, id: DebateId) -> Result<String, CliError> {
        match self {
            Self::Here(desk) => desk
                .export(id)
                .await?
                .to_ndjson()
                .map_err(|error| CliError::failed(error.to_string())),
            Self::There(remote) => remote.export(id, Form::Journal).await,
        }
    }

    pub async fn note(&self, id: DebateId, text: &str) -> Result<(), CliError> {
        match self {
            Self::Here(desk) => Ok(desk.note(id, text, &user()).await?),
            Self::There(remote) => remote
                .act(id, "notes", &json!({"text": text}))
                .await
                .map(drop),
        }
    }

    pub async fn cancel(&self, id: DebateId, reason: &str) -> Result<(), CliError> {
        match self {
            Self::Here(desk) => Ok(desk.cancel(id, &user(), reason).await?),
            Self::There(remote) => remote
                .act(id, "cancel", &json!({"reason": reason}))
                .await
                .map(drop),
        }
    }

    /// Chooses after a contested end; gives the option as the debate spells it.
    pub async fn answer(
        &self,
        id: DebateId,
        option: &str,
        reason: &str,
    ) -> Result<String, CliError> {
        match self {
            Self::Here(desk) => Ok(desk.answer(id, option, reason, &user()).await?),
            Self::There(remote) => {
                let answered = remote
                    .act(id, "answer", &json!({"option": option, "reason": reason}))
                    .await?;
                Ok(answered["option"].as_str().unwrap_or(option).to_owned())
            }
        }
    }

    /// Says which option turned out right; gives it as the debate spells it.
    pub async fn mark(&self, id: DebateId, option: &str, reason: &str) -> Result<String, CliError> {
        match self {
            Self::Here(desk) => Ok(desk.mark(id, option, reason, &user()).await?),
            Self::There(remote) => {
                let marked = remote
                    .act(id, "mark", &json!({"option": option, "reason": reason}))
                    .await?;
                Ok(marked["option"].as_str().unwrap_or(option).to_owned())
            }
        }
    }

    /// Takes the text of an event out; gives the events that still quote it.
    pub async fn redact(&self, id: DebateId, seq: u64, reason: &str) -> Result<Vec<u64>, CliError> {
        match self {
            Self::Here(desk) => Ok(desk.redact(id, seq, reason, &user()).await?),
            Self::There(remote) => {
                let redacted = remote
                    .act(id, "redact", &json!({"seq": seq, "reason": reason}))
                    .await?;
                Ok(redacted["quoting"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(serde_json::Value::as_u64)
                    .collect())
            }
        }
    }

    /// Decides a gate for what was looked at, and for nothing else.
    pub async fn decide(
        &self,
        id: DebateId,
        open: &GateOpened,
        approved: bool,
        reason: String,
    ) -> Result<(), CliError> {
        match self {
            Self::Here(desk) => {
                let decision = GateDecided {
                    gate: open.gate.clone(),
                    approved,
                    by: user(),
                    reason,
                };
                Ok(desk.decide(id, decision, Some(open.content)).await?)
            }
            Self::There(remote) => {
                let what = if approved { "approve" } else { "reject" };
                remote
                    .act(
                        id,
                        what,
                        &json!({"gate": open.gate, "reason": reason, "content": open.content}),
                    )
                    .await
                    .map(drop)
            }
        }
    }
}

impl From<&Desk> for Debates {
    fn from(desk: &Desk) -> Self {
        Self::Here(desk.clone())
    }
}

impl Tail {
    /// Has another tell that a connection was lost, where there is one.
    pub fn told_by(&mut self, voice: Voice) {
        if let Self::There(following) = self {
            following.told_by(voice);
        }
    }

    /// The next event; `None` when the debate has ended or was left and everything was seen.
    pub async fn next(&mut self) -> Result<Option<Record>, CliError> {
        match self {
            Self::Here(watch) => Ok(watch.next().await?),
            Self::There(following) => following.next().await,
        }
    }
}
