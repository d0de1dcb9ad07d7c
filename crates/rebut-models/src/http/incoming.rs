//! A body on its way, with four deadlines: connecting, the first byte, the pause between two
//! pieces, and the whole turn.

use super::{caller::Caller, caller::chain, endpoint::Timeouts};
use futures_util::FutureExt;
use rebut_engine::model::{Fault, FaultKind};
use reqwest::Response;
use std::{fmt, time::Duration};
use tokio::time::Instant;

pub(super) struct Incoming<'a> {
    caller: &'a Caller,
    response: Response,
    deadlines: &'a Deadlines,
    /// Whether any of it has come.
    begun: bool,
    /// What came and was only looked at.
    looked_at: Vec<u8>,
    /// Until when more is waited for of an answer that has ended.
    ends_at: Option<Instant>,
}

impl<'a> Incoming<'a> {
    pub fn new(caller: &'a Caller, response: Response, deadlines: &'a Deadlines) -> Self {
        Self {
            caller,
            response,
            deadlines,
            begun: false,
            looked_at: Vec::new(),
            ends_at: None,
        }
    }

    /// Whether it begins as server-sent events do, whatever its head calls it. Nothing of it is
    /// lost.
    pub async fn begins_with_an_event(&mut self) -> Result<bool, Fault> {
        let mut start = Vec::new();
        while start.len() < FIELDS[1].len() && self.next(&mut start).await?.is_some() {}
        self.looked_at = start;
        Ok(FIELDS.iter().any(|field| self.looked_at.starts_with(field)))
    }

    /// Adds the next piece to `into`. Returns its length; `None` at the end.
    pub async fn next(&mut self, into: &mut Vec<u8>) -> Result<Option<usize>, Fault> {
        if !self.looked_at.is_empty() {
            let piece = std::mem::take(&mut self.looked_at);
            into.extend_from_slice(&piece);
            return Ok(Some(piece.len()));
        }
        let (until, limit) = match (self.begun, self.ends_at) {
            (_, Some(ends_at)) => self.deadlines.or_total(ends_at, Limit::Idle(ENDING)),
            (true, None) => self.deadlines.next(),
            (false, None) => self.deadlines.first_piece(),
        };
        match tokio::time::timeout_at(until, self.response.chunk()).await {
            Ok(Ok(Some(piece))) => {
                self.begun |= !piece.is_empty();
                into.extend_from_slice(&piece);
                Ok(Some(piece.len()))
            }
            Ok(Ok(None)) => Ok(None),
            // Whoever sent the head of an answer had taken the request, and may be paid for it.
            Ok(Err(error)) => Err(self.caller.fault(
                FaultKind::Incomplete,
                &format!("the answer broke off: {}", chain(&error)),
            )),
            Err(_) => Err(self.caller.late(limit, self.begun)),
        }
    }

    /// Everything, but hardly more than `most` bytes. What came before it broke off is kept as
    /// evidence.
    pub async fn read(&mut self, most: usize) -> Result<Vec<u8>, Fault> {
        let expected = self
            .response
            .content_length()
            .and_then(|length| usize::try_from(length).ok())
            .unwrap_or(0);
        let mut body = Vec::with_capacity(expected.min(most));
        loop {
            match self.next(&mut body).await {
                Ok(Some(_)) if body.len() > most => return Err(self.too_large(most)),
                Ok(Some(_)) => {}
                Ok(None) => return Ok(body),
                Err(fault) if body.is_empty() => return Err(fault),
                Err(fault) => {
                    let partial = self
                        .caller
                        .partial(String::from_utf8_lossy(&body).into_owned());
                    return Err(Fault {
                        partial: Some(partial),
                        ..fault
                    });
                }
            }
        }
    }

    /// As much as comes, but hardly more than `most` bytes: an error's body, whose absence changes
    /// nothing about the status.
    pub async fn read_some(&mut self, most: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(_)) = self.next(&mut body).await {
            if body.len() >= most {
                break;
            }
        }
        body
    }

    /// The answer has ended; what may still come, such as counts, is waited for a moment, whoever
    /// keeps the connection.
    pub fn is_ending(&mut self) {
        self.ends_at.get_or_insert_with(|| Instant::now() + ENDING);
    }

    /// The answer has not ended after all.
    pub fn goes_on(&mut self) {
        self.ends_at = None;
    }

    /// Lets go of a finished body. Where its end is not there yet, it is waited for a moment behind
    /// the caller's back, so that the connection can be used again: the answer does not wait for
    /// that.
    pub fn let_go(self) {
        let mut response = self.response;
        let mut end = Box::pin(async move { while let Ok(Some(_)) = response.chunk().await {} });
        if (&mut end).now_or_never().is_none() {
            // One that keeps its connection longer than that loses it.
            tokio::spawn(
                async move { tokio::time::timeout(ENDING, end).await.unwrap_or_default() },
            );
        }
    }

    pub fn too_large(&self, most: usize) -> Fault {
        self.caller.fault(
            FaultKind::TooLarge,
            &format!("the answer is larger than {most} bytes"),
        )
    }
}

/// What an event begins with, the longest last.
const FIELDS: [&[u8]; 2] = [b"data:", b"event:"];

/// How long the end of a stream is waited for whose answer has ended.
const ENDING: Duration = Duration::from_secs(1);

pub(super) struct Deadlines {
    total: (Instant, Duration),
    connect: Instant,
    first_byte: (Instant, Duration),
    idle: Duration,
}

impl Deadlines {
    pub fn start(time_left: Duration, timeouts: &Timeouts) -> Self {
        let now = Instant::now();
        // Whoever asks stops listening when the time is over. A moment before, what came can still
        // be handed over as evidence.
        let total = time_left.saturating_sub((time_left / 20).min(HANDING_OVER));
        let at = |after: Duration| (now + after.min(FOREVER), after);
        Self {
            total: at(total),
            connect: at(timeouts.connect()).0,
            first_byte: at(timeouts.first_byte()),
            idle: timeouts.idle(),
        }
    }

    /// Until something has come. Nothing when the whole time is over first: whoever asks watches
    /// that, and there is no evidence to hand over yet, so that most calls need no timer of their
    /// own. Unless it is over while there may be no connection yet: only we can tell that nothing
    /// has left.
    pub fn first(&self) -> Option<(Instant, Limit)> {
        (self.first_byte.0 < self.total.0 || self.total.0 <= self.connect)
            .then(|| self.first_piece())
    }

    /// Until the first piece behind the head has come.
    fn first_piece(&self) -> (Instant, Limit) {
        self.or_total(self.first_byte.0, Limit::FirstByte(self.first_byte.1))
    }

    /// Until more has come. A piece that says nothing, as a ping does, counts here but not for the
    /// whole.
    pub fn next(&self) -> (Instant, Limit) {
        self.or_total(Instant::now() + self.idle, Limit::Idle(self.idle))
    }

    fn or_total(&self, at: Instant, limit: Limit) -> (Instant, Limit) {
        if self.total.0 <= at {
            (self.total.0, Limit::Total(self.total.1))
        } else {
            (at, limit)
        }
    }
}

const HANDING_OVER: Duration = Duration::from_millis(100);
/// An instant this far away can still be computed.
const FOREVER: Duration = Duration::from_secs(365 * 86_400);

#[derive(Clone, Copy)]
pub(super) enum Limit {
    Connect(Duration),
    FirstByte(Duration),
    Idle(Duration),
    Total(Duration),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(time) => write!(
                f,
                "no connection within {} s (timeouts.connect)",
                time.as_secs_f64()
            ),
            Self::FirstByte(time) => write!(
                f,
                "no byte of an answer within {} s (timeouts.first_byte)",
                time.as_secs_f64()
            ),
            Self::Idle(time) => write!(
                f,
                "nothing more of the answer for {} s (timeouts.idle)",
                time.as_secs_f64()
            ),
            Self::Total(time) => write!(
                f,
                "no complete answer within the {} s left for this turn",
                time.as_secs_f64().ceil()
            ),
        }
    }
}
