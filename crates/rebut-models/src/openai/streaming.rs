//! Answers that come piece by piece, as server-sent events.

use super::{
    MOST_TEXT, OpenAiModel,
    reading::{Completion, Outcome},
};
use rebut_engine::model::{Answer, Fault, FaultKind, Finish, Request};
use reqwest::Response;
use std::time::Duration;

/// The most bytes of a stream: each token comes wrapped in some hundred bytes.
const MOST_STREAMED: usize = 64 << 20;
/// How long the end of a finished stream is waited for, so that the connection can be used again.
const ENDING: Duration = Duration::from_millis(200);

impl OpenAiModel {
    /// Reads a stream to its end and hands on what comes.
    pub(super) async fn streamed(&self, request: &Request<'_>, mut response: Response) -> Result<Answer, Fault> {
        let mut reading = Reading { outcome: Outcome { finish: Some(Finish::Complete), ..Outcome::default() }, ended: false, shown: 0 };
        let mut events = Events::default();
        let mut received = 0;
        while let Some(chunk) = response.chunk().await.map_err(|error| self.broken(&error))? {
            received += chunk.len();
            events.push(&chunk);
            while let Some(event) = events.next() {
                if event == "[DONE]" {
                    reading.ended = true;
                    // Only for the connection's sake; the answer is complete.
                    let _ = tokio::time::timeout(ENDING, response.chunk()).await;
                    return self.finished(request, reading);
                }
                self.take(&event, request, &mut reading)?;
            }
            if received > MOST_STREAMED || reading.outcome.text.len().max(events.waiting()) > MOST_TEXT {
                return Err(self.fault(FaultKind::TooLarge, &format!("the answer is larger than {MOST_TEXT} bytes")));
            }
        }
        self.finished(request, reading)
    }

    fn take(&self, event: &str, request: &Request<'_>, reading: &mut Reading) -> Result<(), Fault> {
        let piece = Completion::parse(event).map_err(|_| self.not_a_completion(event))?;
        reading.ended |= piece.add_to(&mut reading.outcome).map_err(|error| self.reported(&error))?;
        if request.deltas.wanted() {
            let text = &reading.outcome.text;
            let safe = self.secrets.iter().map(|secret| secret.safe_length(text)).min().unwrap_or(text.len());
            self.show(request, reading, safe);
        }
        Ok(())
    }

    fn finished(&self, request: &Request<'_>, mut reading: Reading) -> Result<Answer, Fault> {
        if !reading.ended {
            return Err(self.fault(FaultKind::Network, "the stream is incomplete: it ended before the answer did"));
        }
        let end = reading.outcome.text.len();
        self.show(request, &mut reading, end);
        self.answer(reading.outcome)
    }

    /// Hands on the text up to `end`.
    fn show(&self, request: &Request<'_>, reading: &mut Reading, end: usize) {
        if let Some(piece) = reading.outcome.text.get(reading.shown..end).filter(|piece| !piece.is_empty()) {
            request.deltas.push(request.turn, &self.blanked(piece.to_owned()));
            reading.shown = end;
        }
    }
}

struct Reading {
    outcome: Outcome,
    /// Whether the end was announced.
    ended: bool,
    /// How much of the text was handed on.
    shown: usize,
}

/// Cuts a byte stream into the data of its events. Comments and other fields are passed over.
#[derive(Default)]
struct Events {
    bytes: Vec<u8>,
    /// Where the first line not yet looked at begins.
    start: usize,
    /// How far a line's end was looked for.
    searched: usize,
    data: Option<String>,
}

impl Events {
    fn push(&mut self, chunk: &[u8]) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(chunk);
    }

    /// Bytes held for an event that is not complete.
    fn waiting(&self) -> usize {
        self.bytes.len() - self.start + self.data.as_ref().map_or(0, String::len)
    }

    /// The next event's data.
    fn next(&mut self) -> Option<String> {
        while let Some(length) = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n') {
            let end = self.searched + length;
            let line = &self.bytes[self.start..end];
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
            self.start = end + 1;
            self.searched = self.start;
            if let Some(data) = line.strip_prefix("data:") {
                let data = data.strip_prefix(' ').unwrap_or(data);
                match &mut self.data {
                    None => self.data = Some(data.to_owned()),
                    Some(before) => {
                        before.push('\n');
                        before.push_str(data);
                    }
                }
            } else if line.is_empty() && self.data.as_ref().is_some_and(|data| !data.trim().is_empty()) {
                return self.data.take();
            } else if line.is_empty() {
                self.data = None;
            }
        }
        self.searched = self.bytes.len();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let stream = ": hello\r\ndata: {\"é\":1}\r\n\r\nevent: x\ndata:a\ndata: b\n\n\ndata:\n\ndata: [DONE]\n\ndata: never ended";
        for size in 1..=stream.len() {
            let mut events = Events::default();
            let mut found = Vec::new();
            for chunk in stream.as_bytes().chunks(size) {
                events.push(chunk);
                found.extend(std::iter::from_fn(|| events.next()));
            }
            assert_eq!(found, ["{\"é\":1}", "a\nb", "[DONE]"], "pieces of {size}");
        }
    }
}
