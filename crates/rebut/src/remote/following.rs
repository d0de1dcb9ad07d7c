//! Following a debate at a server, over connections that may break.

use super::{Remote, unreadable};
use crate::{error::CliError, hint_command::command};
use futures_util::{Stream, StreamExt};
use rebut_engine::{
    DebateId,
    record::{Envelope, Record},
};
use reqwest::{Method, StatusCode, header};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::VecDeque, pin::Pin, time::Duration};

type Bytes = Pin<Box<dyn Stream<Item = Result<Vec<u8>, reqwest::Error>> + Send>>;

/// Who is told that a connection was lost.
pub type Voice = Box<dyn Fn(&str) + Send>;

/// The events of one debate, one after the other. A connection that breaks is made anew, from the
/// last event that was seen.
pub struct Following {
    remote: Remote,
    id: DebateId,
    seen: u64,
    stream: Option<Bytes>,
    rest: Vec<u8>,
    waiting: VecDeque<Record>,
    /// How often in a row nothing came.
    tries: u32,
    /// How long is waited between two tries.
    between: Duration,
    is_lost: bool,
    voice: Voice,
}

/// So often in a row a connection is made anew before the server counts as gone.
const TRIES: u32 = 30;

/// So long is waited in between.
const BETWEEN: Duration = Duration::from_secs(1);

impl Following {
    /// The events of a debate after one.
    pub fn new(remote: Remote, id: DebateId, after: u64) -> Self {
        let voice: Voice = Box::new(|text| warn_line!("{text}"));
        Self {
            remote,
            id,
            seen: after,
            stream: None,
            rest: Vec::new(),
            waiting: VecDeque::new(),
            tries: 0,
            between: BETWEEN,
            is_lost: false,
            voice,
        }
    }

    /// Has another told of lost connections.
    pub fn told_by(&mut self, voice: Voice) {
        self.voice = voice;
    }

    /// The next event; `None` when the debate has ended or was left. May be dropped and asked
    /// again: nothing is lost.
    pub async fn next(&mut self) -> Result<Option<Record>, CliError> {
        loop {
            if let Some(record) = self.waiting.pop_front() {
                (self.seen, self.tries) = (record.seq, 0);
                return Ok(Some(record));
            }
            let Some(stream) = &mut self.stream else {
                if !self.connect().await? {
                    return Ok(None);
                }
                continue;
            };
            match stream.next().await {
                Some(Ok(piece)) => {
                    self.rest.extend_from_slice(&piece);
                    self.take_lines()?;
                }
                // Over, or broken: coming back tells which.
                Some(Err(_)) | None => (self.stream, self.rest) = (None, Vec::new()),
            }
        }
    }

    /// Whether there is more to come.
    async fn connect(&mut self) -> Result<bool, CliError> {
        if self.tries > 0 {
            tokio::time::sleep(self.between).await;
        }
        self.tries += 1;
        let request = self.remote.request(
            Method::GET,
            &format!("/v1/debates/{}/events?until=paused", self.id),
        );
        let request = request
            .header(header::ACCEPT, "text/event-stream")
            .header("last-event-id", self.seen.to_string());
        match self.remote.send(request).await {
            Ok(response) if response.status() == StatusCode::NO_CONTENT => return Ok(false),
            Ok(response) => {
                self.stream = Some(Box::pin(
                    response
                        .bytes_stream()
                        .map(|piece| piece.map(|bytes| bytes.to_vec())),
                ));
                if std::mem::take(&mut self.is_lost) {
                    (self.voice)("connected again");
                }
            }
            Err(error) if error.is_usage() => return Err(error),
            Err(error) if self.tries > TRIES => return Err(error.hint(self.how_to_go_on())),
            Err(error) if !self.is_lost => {
                self.is_lost = true;
                (self.voice)(&format!("connection lost, retrying: {}", error.message()));
            }
            Err(_) => {}
        }
        Ok(true)
    }

    /// What to type once the server is back.
    fn how_to_go_on(&self) -> String {
        let [resume, watch] =
            ["resume", "watch"].map(|verb| command(format_args!("{verb} {}", self.id.short())));
        format!(
            "what is recorded is kept at the server; once it is back, to the end and its files: \
             {resume}; to watch it: {watch}"
        )
    }

    /// Takes what lines are complete. An event is one line of JSON; what has no number is passing.
    fn take_lines(&mut self) -> Result<(), CliError> {
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data:") else {
                continue;
            };
            let value: Value = serde_json::from_slice(data.trim_ascii()).map_err(unreadable)?;
            if value.get("seq").is_some() {
                self.waiting.push_back(
                    Envelope::deserialize(value)
                        .map_err(unreadable)?
                        .into_record(),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        net::TcpListener,
        sync::{Arc, Mutex},
    };

    #[tokio::test]
    async fn a_server_that_is_gone_is_told_of_once_and_then_how_to_go_on() {
        let address = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port that is free again");
        let client = rebut_models::http::client(Duration::from_secs(10)).expect("a client");
        let base = format!("http://{address}").parse().expect("an address");
        let id = DebateId::new();
        let mut following = Following::new(
            Remote {
                client,
                base,
                token: "rebut_0".to_owned(),
            },
            id,
            3,
        );
        following.between = Duration::ZERO;
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = told.clone();
        following.told_by(Box::new(move |text| {
            heard.lock().expect("whole").push(text.to_owned())
        }));
        let gone = following.next().await.expect_err("nobody answers");
        let advice = gone.advice().expect("what to do").to_owned();
        assert!(
            crate::error::exit_code(&gone) == 1
                && advice.contains(&format!("rebut resume {}", id.short())),
            "{gone}"
        );
        let told = told.lock().expect("whole");
        assert!(
            told.len() == 1 && told[0].starts_with("connection lost, retrying: http://127.0.0.1"),
            "{told:?}"
        );
    }
}
