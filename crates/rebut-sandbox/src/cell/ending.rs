//! How a cell ended: what it wrote, up to its limit, and which of the ends it was.

use crate::{
    limits::PROCESSOR_TIME,
    spec::{Ended, Given},
    wire::{Said, Status},
};
use rebut_engine::sandbox::End;
use tokio::net::unix::pipe::Receiver;

/// What is read of a cell that nobody else reads.
pub(super) struct Collected {
    stdout: Stream,
    stderr: Stream,
    left: usize,
    is_too_much: bool,
}

struct Stream {
    from: Option<Receiver>,
    bytes: Vec<u8>,
}

impl Collected {
    pub(super) fn new(stdout: Option<Receiver>, stderr: Option<Receiver>, most: u64) -> Self {
        let stream = |from| Stream {
            from,
            bytes: Vec::new(),
        };
        Self {
            stdout: stream(stdout),
            stderr: stream(stderr),
            left: usize::try_from(most).unwrap_or(usize::MAX),
            is_too_much: false,
        }
    }

    /// Whether there is anything to read.
    pub(super) fn is_open(&self) -> bool {
        !self.is_too_much && (self.stdout.from.is_some() || self.stderr.from.is_some())
    }

    pub(super) fn is_too_much(&self) -> bool {
        self.is_too_much
    }

    /// Waits for something to come, and takes it. Safe to drop.
    pub(super) async fn read(&mut self) {
        tokio::select! {
            () = ready(self.stdout.from.as_ref()), if self.stdout.from.is_some() => {}
            () = ready(self.stderr.from.as_ref()), if self.stderr.from.is_some() => {}
        }
        self.rest();
    }

    /// Takes what is there without waiting.
    pub(super) fn rest(&mut self) {
        for stream in [&mut self.stdout, &mut self.stderr] {
            let mut chunk = [0; 64 << 10];
            while let Some(from) = stream.from.as_ref().filter(|_| !self.is_too_much) {
                match from.try_read(&mut chunk) {
                    Ok(read) if read > 0 => {
                        let taken = read.min(self.left);
                        stream.bytes.extend_from_slice(&chunk[..taken]);
                        self.left -= taken;
                        self.is_too_much = taken < read;
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                    // It was closed, or cannot be read any more: no more will come.
                    _ => stream.from = None,
                }
            }
        }
    }
}

async fn ready(from: Option<&Receiver>) {
    if let Some(from) = from {
        // What cannot be waited for is found out by reading.
        let _ = from.readable().await;
    }
}

/// Puts together what is known of a cell that is gone.
pub(super) fn ended(
    said: Option<(Said, Vec<Given>)>,
    collected: Collected,
    met: Option<&str>,
) -> Ended {
    let (status, is_late, ms, files) = match said {
        Some((
            Said::Ended {
                status,
                is_late,
                ms,
                ..
            },
            files,
        )) => (status, is_late, ms, files),
        _ => (None, false, 0, Vec::new()),
    };
    let end = end(status, is_late, collected.is_too_much, met);
    Ended {
        end,
        ms,
        stdout: collected.stdout.bytes,
        stderr: collected.stderr.bytes,
        files,
    }
}

/// What is said of a cell that has no warden; only [`super::Cell::end`] takes it, and takes the
/// cell too.
pub(super) fn without_warden() -> Ended {
    Ended {
        end: end(None, false, false, None),
        ms: 0,
        stdout: Vec::new(),
        stderr: Vec::new(),
        files: Vec::new(),
    }
}

/// Which end it was. What we did to it counts before what it did itself; a limit that was met
/// explains a failure, not a success.
fn end(status: Option<Status>, is_late: bool, is_too_much: bool, met: Option<&str>) -> End {
    let resource = |what: &str| End::Resource(what.to_owned());
    match (status, met) {
        _ if is_too_much => End::TooMuchOutput,
        _ if is_late => End::TimedOut,
        (Some(Status::Exited(0)), _) => End::Exited(0),
        (_, Some(what)) => resource(what),
        (Some(Status::Signalled(libc::SIGXCPU)), _) => resource(PROCESSOR_TIME),
        (Some(Status::Signalled(libc::SIGXFSZ)), _) => resource("file size"),
        (Some(Status::Exited(code)), _) => End::Exited(code),
        (Some(Status::Signalled(signal)), _) => End::Signalled(signal),
        (None, None) => resource("the cell was ended from outside"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_name() {
        let resource = |what: &str| End::Resource(what.to_owned());
        let rows = [
            (Some(Status::Exited(0)), false, false, None, End::Exited(0)),
            (Some(Status::Exited(3)), false, false, None, End::Exited(3)),
            (
                Some(Status::Exited(0)),
                false,
                false,
                Some("memory"),
                End::Exited(0),
            ),
            (
                Some(Status::Exited(1)),
                false,
                false,
                Some("processes"),
                resource("processes"),
            ),
            (
                Some(Status::Signalled(11)),
                false,
                false,
                None,
                End::Signalled(11),
            ),
            (
                Some(Status::Signalled(9)),
                false,
                false,
                Some("memory"),
                resource("memory"),
            ),
            (
                Some(Status::Signalled(24)),
                false,
                false,
                None,
                resource("processor time"),
            ),
            (
                Some(Status::Signalled(25)),
                false,
                false,
                None,
                resource("file size"),
            ),
            (None, true, false, None, End::TimedOut),
            (None, true, false, Some("memory"), End::TimedOut),
            (None, false, true, None, End::TooMuchOutput),
            (
                Some(Status::Exited(0)),
                false,
                true,
                None,
                End::TooMuchOutput,
            ),
            (None, false, false, Some("memory"), resource("memory")),
            (
                None,
                false,
                false,
                None,
                resource("the cell was ended from outside"),
            ),
        ];
        for (status, is_late, is_too_much, met, expected) in rows {
            assert_eq!(
                end(status, is_late, is_too_much, met),
                expected,
                "{status:?} {is_late} {is_too_much} {met:?}"
            );
        }
    }
}
