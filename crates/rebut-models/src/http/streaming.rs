//! Answers that come piece by piece. What ends without its last event is evidence, never an answer.

use super::{
    HttpModel, MOST_TEXT,
    incoming::Incoming,
    sse::{Event, Events},
    wires::{Ending, Outcome, Unread},
};
use rebut_engine::model::{Answer, Fault, FaultKind, Request};

/// The most bytes of a stream: each token comes wrapped in some hundred bytes.
const MOST_STREAMED: usize = 64 << 20;

impl HttpModel {
    /// Reads a stream to its end and hands on what comes.
    pub(super) async fn streamed(
        &self,
        request: &Request<'_>,
        mut incoming: Incoming<'_>,
    ) -> Result<Answer, Fault> {
        let mut reading = Reading {
            outcome: self.outcome(),
            ended: false,
            shown: 0,
        };
        match self.follow(request, &mut incoming, &mut reading).await {
            Ok(()) => {
                incoming.let_go();
                let end = reading.outcome.text.len();
                self.show(request, &mut reading, end);
                self.answer(reading.outcome)
            }
            Err(fault) => {
                // Counts that come on the way are of what is written so far, or of nothing yet:
                // what was used is only known at the end.
                let usage = reading
                    .outcome
                    .usage
                    .filter(|_| reading.outcome.end.is_some());
                Err(self.enriched(
                    fault,
                    Outcome {
                        usage,
                        ..reading.outcome
                    },
                ))
            }
        }
    }

    async fn follow(
        &self,
        request: &Request<'_>,
        incoming: &mut Incoming<'_>,
        reading: &mut Reading,
    ) -> Result<(), Fault> {
        let mut events = Events::default();
        let mut received = 0;
        loop {
            match incoming.next(events.buffer()).await {
                Ok(Some(length)) => received += length,
                Ok(None) if reading.ended => return Ok(()),
                Ok(None) => {
                    return Err(self.caller.fault(
                        FaultKind::Incomplete,
                        "the stream ended before the answer did",
                    ));
                }
                // All of the answer is there; only the connection is not.
                Err(_) if reading.ended => return Ok(()),
                Err(fault) => return Err(fault),
            }
            while let Some(event) = events.next() {
                if matches!(self.wire.ending, Ending::Data(last) if event.data.trim() == last) {
                    return Ok(());
                }
                self.take(&event, request, reading)?;
                match self.wire.ending {
                    Ending::LastEvent if reading.ended => return Ok(()),
                    Ending::Counts if reading.ended && reading.outcome.is_counted => return Ok(()),
                    _ if reading.ended => incoming.is_ending(),
                    _ => incoming.goes_on(),
                }
            }
            if received > MOST_STREAMED
                || reading.outcome.text.len().max(events.waiting()) > MOST_TEXT
            {
                return Err(incoming.too_large(MOST_TEXT));
            }
        }
    }

    fn take(
        &self,
        event: &Event,
        request: &Request<'_>,
        reading: &mut Reading,
    ) -> Result<(), Fault> {
        let had_begun = reading.outcome.has_begun();
        let length = reading.outcome.text.len();
        let read = if event.is_error {
            Err(Unread::error(&event.data))
        } else {
            (self.wire.event)(&event.data, &mut reading.outcome)
        };
        match read {
            // Text behind an end that was announced takes that back: another end must follow.
            Ok(ended) => {
                let goes_on = reading.outcome.text.len() > length;
                reading.ended = ended || (reading.ended && !goes_on);
            }
            Err(Unread::Foreign) => return Err(self.foreign(&event.data)),
            Err(Unread::Reported(error)) => {
                let fault = self.caller.reported(&error, &self.model);
                // An answer that had begun has broken off; one that will fail again, or had not
                // begun, keeps its own class.
                let kind = if had_begun && fault.kind.is_passing() {
                    FaultKind::Incomplete
                } else {
                    fault.kind
                };
                // Whoever had begun may be paid for it, whatever the class.
                return Err(Fault {
                    kind,
                    partial: had_begun.then(String::new),
                    ..fault
                });
            }
        }
        if request.deltas.wanted() {
            let safe = reading.shown
                + self
                    .caller
                    .safe_length(&reading.outcome.text[reading.shown..]);
            self.show(request, reading, safe);
        }
        Ok(())
    }

    /// Hands on the text up to `end`.
    fn show(&self, request: &Request<'_>, reading: &mut Reading, end: usize) {
        if let Some(piece) = reading
            .outcome
            .text
            .get(reading.shown..end)
            .filter(|piece| !piece.is_empty())
        {
            request
                .deltas
                .push(request.turn, &self.caller.blanked(piece.to_owned()));
            reading.shown = end;
        }
    }
}

struct Reading {
    outcome: Outcome,
    ended: bool,
    /// How much of the text was handed on.
    shown: usize,
}
