//! A pair of cells: the code under test in one, the tests in the other, and nothing between them
//! but frames that we carry.

use super::test_log::tail;
use crate::{Cell, Ended, Jail, Spec};
use rebut_engine::sandbox::{End, Refused};
use std::{future::Future, io, pin::Pin, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe::{Receiver, Sender},
    sync::Mutex,
    time::{Instant, timeout, timeout_at},
};

/// The largest frame that is carried.
const FRAME: usize = 16 << 20;
/// The most bytes and frames that are carried between the two in one session.
const BYTES: u64 = 512 << 20;
const FRAMES: u64 = 5_000_000;
/// How long after the end of its words a process is waited for, to learn how it ended.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// The end of what a side wrote to its standard error that is kept.
const STDERR: usize = 8 << 10;

/// Whoever takes the two places of a pair holds this: otherwise many could hold one place each and
/// wait for the second for ever.
pub(super) static TWO_PLACES: Mutex<()> = Mutex::const_new(());

pub(super) struct Pair {
    code: Side,
    tests: Side,
    carried: (u64, u64),
}

pub(super) enum Happened {
    /// The tests say something to us.
    Said(Vec<u8>),
    /// The code's process is gone or cannot be understood.
    CodeLost(String),
    /// The tests' process is gone or cannot be understood.
    TestsLost(String),
    Late,
}

impl Pair {
    pub(super) async fn start(jail: &Jail, code: Spec, tests: Spec) -> Result<Self, Refused> {
        let one_at_a_time = TWO_PLACES.lock().await;
        let code = Side::of(jail.spawn(code).await?)?;
        let tests = Side::of(jail.spawn(tests).await?)?;
        drop(one_at_a_time);
        Ok(Self {
            code,
            tests,
            carried: (0, 0),
        })
    }

    /// Says something to the tests' side.
    pub(super) async fn tell(&mut self, words: &[u8]) -> io::Result<()> {
        self.tests.send(b'H', words).await
    }

    /// Carries frames between the two until something happens that is for us.
    pub(super) async fn next(&mut self, deadline: Instant) -> Happened {
        loop {
            let step = tokio::select! {
                frame = self.tests.next() => Step::FromTests(frame),
                frame = self.code.next() => Step::FromCode(frame),
                () = tokio::time::sleep_until(deadline) => return Happened::Late,
            };
            let lost = match step {
                Step::FromTests(Ok((b'H', words))) => return Happened::Said(words),
                Step::FromTests(Ok((b'A', words))) => self.carry(words, true, deadline).await,
                Step::FromCode(Ok((b'A', words))) => self.carry(words, false, deadline).await,
                Step::FromTests(Ok(_)) => Some(Happened::TestsLost(
                    "it wrote something that is no frame".to_owned(),
                )),
                Step::FromCode(Ok(_)) => Some(Happened::CodeLost(
                    "it wrote something that is no frame".to_owned(),
                )),
                Step::FromTests(Err(lost)) => Some(Happened::TestsLost(self.tests.why(lost).await)),
                Step::FromCode(Err(lost)) => Some(Happened::CodeLost(self.code.why(lost).await)),
            };
            if let Some(lost) = lost {
                return lost;
            }
        }
    }

    /// Hands one frame on; what it holds is none of our business.
    async fn carry(
        &mut self,
        words: Vec<u8>,
        to_code: bool,
        deadline: Instant,
    ) -> Option<Happened> {
        self.carried = (self.carried.0 + 1, self.carried.1 + words.len() as u64);
        if self.carried.0 > FRAMES || self.carried.1 > BYTES {
            return Some(Happened::CodeLost(
                "too much was said between the code and its tests".to_owned(),
            ));
        }
        let side = if to_code {
            &mut self.code
        } else {
            &mut self.tests
        };
        match timeout_at(deadline, side.send(b'A', &words)).await {
            Err(_) => Some(Happened::Late),
            Ok(Ok(())) => None,
            // Its end says more than that nobody reads any more.
            Ok(Err(_)) if to_code => Some(Happened::CodeLost(self.code.why(Lost::Closed).await)),
            Ok(Err(_)) => Some(Happened::TestsLost(self.tests.why(Lost::Closed).await)),
        }
    }

    /// How the code's process ended, once it was lost and that is known.
    pub(super) fn code_end(&self) -> Option<&End> {
        self.code.ended.as_ref()
    }

    /// How the tests' process ended, after it was lost. A busy machine may take its time to tell.
    pub(super) async fn tests_end(&mut self, deadline: Instant) -> Option<&End> {
        if self.tests.ended.is_none()
            && let Ok(ended) = timeout_at(deadline, &mut self.tests.ending).await
        {
            self.tests.ended = Some(ended.end);
        }
        self.tests.ended.as_ref()
    }

    /// The end of what both wrote to their standard errors.
    pub(super) fn words(&self) -> String {
        let both = [&self.code.noise, &self.tests.noise]
            .map(|noise| String::from_utf8_lossy(noise).trim().to_owned());
        tail(
            &both
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join("\n"),
            STDERR,
        )
    }
}

enum Step {
    FromTests(Result<(u8, Vec<u8>), Lost>),
    FromCode(Result<(u8, Vec<u8>), Lost>),
}

pub(super) enum Lost {
    Closed,
    TooLong(usize),
    Ended(Ended),
}

/// A cell, as far as we talk to it.
pub(super) struct Side {
    to: Sender,
    from: Receiver,
    errors: Option<Receiver>,
    ending: Pin<Box<dyn Future<Output = Ended> + Send>>,
    ended: Option<End>,
    heard: Vec<u8>,
    noise: Vec<u8>,
}

impl Side {
    pub(super) fn of(mut cell: Cell) -> Result<Self, Refused> {
        let (Some(to), Some(from), errors) =
            (cell.stdin.take(), cell.stdout.take(), cell.stderr.take())
        else {
            return Err(Refused {
                reason: "a cell came without its streams".to_owned(),
                fix: "report this as an error of rebut".to_owned(),
            });
        };
        Ok(Self {
            to,
            from,
            errors,
            ending: Box::pin(cell.end()),
            ended: None,
            heard: Vec::new(),
            noise: Vec::new(),
        })
    }

    pub(super) async fn send(&mut self, kind: u8, words: &[u8]) -> io::Result<()> {
        let length = u32::try_from(words.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut frame = Vec::with_capacity(words.len() + 5);
        frame.extend_from_slice(&length.to_be_bytes());
        frame.push(kind);
        frame.extend_from_slice(words);
        self.to.write_all(&frame).await
    }

    /// The next frame. Nothing is lost when this is dropped half-way: what was read stays in
    /// `heard`.
    pub(super) async fn next(&mut self) -> Result<(u8, Vec<u8>), Lost> {
        loop {
            if let Some(frame) = self.whole_frame()? {
                return Ok(frame);
            }
            let mut noise = [0; 4096];
            tokio::select! {
                biased;
                read = self.from.read_buf(&mut self.heard) => if !matches!(read, Ok(1..)) { return Err(Lost::Closed) },
                read = read_some(self.errors.as_mut(), &mut noise) => match read {
                    Ok(count @ 1..) => self.keep(&noise[..count]),
                    _ => self.errors = None,
                },
                ended = &mut self.ending => return Err(Lost::Ended(ended)),
            }
        }
    }

    fn whole_frame(&mut self) -> Result<Option<(u8, Vec<u8>)>, Lost> {
        let Some((head, kind)) = self
            .heard
            .first_chunk::<4>()
            .zip(self.heard.get(4).copied())
        else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*head) as usize;
        if length > FRAME {
            return Err(Lost::TooLong(length));
        }
        if self.heard.len() < 5 + length {
            return Ok(None);
        }
        let rest = self.heard.split_off(5 + length);
        let frame = std::mem::replace(&mut self.heard, rest).split_off(5);
        Ok(Some((kind, frame)))
    }

    fn keep(&mut self, noise: &[u8]) {
        self.noise.extend_from_slice(noise);
        if self.noise.len() > 2 * STDERR {
            self.noise.drain(..self.noise.len() - STDERR);
        }
    }

    /// Why no frame came, in words.
    pub(super) async fn why(&mut self, lost: Lost) -> String {
        let ended = match lost {
            Lost::TooLong(length) => {
                return format!("it wrote a frame of {length} bytes; at most {FRAME} are taken");
            }
            Lost::Ended(ended) => Some(ended),
            Lost::Closed => timeout(LAST_WORDS, &mut self.ending).await.ok(),
        };
        let noise = self.last_noise().await;
        self.ended = ended.map(|ended| ended.end);
        let how = self
            .ended
            .as_ref()
            .map_or_else(|| "it closed its channel".to_owned(), ended_words);
        format!("{how}\n{}", tail(&noise, 1500)).trim().to_owned()
    }

    /// The end of what it wrote to its standard error, when it has said all it had to say and only
    /// its end is waited for.
    pub(super) async fn last_words(&mut self) -> String {
        // It may have closed its streams and gone on; then there is nothing more to hear either.
        let _ = timeout(LAST_WORDS, &mut self.ending).await;
        tail(&self.last_noise().await, STDERR)
    }

    async fn last_noise(&mut self) -> String {
        let mut rest = [0; 4096];
        while let Ok(Ok(count @ 1..)) = timeout(
            Duration::from_millis(50),
            read_some(self.errors.as_mut(), &mut rest),
        )
        .await
        {
            self.keep(&rest[..count]);
        }
        String::from_utf8_lossy(&self.noise).trim().to_owned()
    }
}

/// Reads what there is; waits for ever where there is nothing to read from.
async fn read_some(from: Option<&mut Receiver>, into: &mut [u8]) -> io::Result<usize> {
    match from {
        Some(from) => from.read(into).await,
        None => std::future::pending().await,
    }
}

/// How a process ended, in words.
pub(super) fn ended_words(end: &End) -> String {
    match end {
        End::Exited(code) => format!("it ended itself with exit code {code}"),
        End::Signalled(signal) => format!("it was ended by signal {signal}"),
        End::TimedOut => "its time was over".to_owned(),
        End::TooMuchOutput => "it wrote too much".to_owned(),
        End::Resource(what) => format!("it met a limit: {what}"),
        End::NotBuilt => "it could not be built".to_owned(),
    }
}
