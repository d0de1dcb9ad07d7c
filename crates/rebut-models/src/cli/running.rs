//! Running a program to its result: bounded in time and output, never waiting for somebody else to
//! close a pipe.

use super::{reading::Reader, tree::Tree};
use std::{
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStdin, Command},
    time::{Instant, sleep_until},
};

/// How long a run may take.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub total: Duration,
    /// Without any output.
    pub idle: Duration,
    /// From the result to the exit.
    pub grace: Duration,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It said all it had to say.
    Done,
    /// It exited before that.
    Exited(ExitStatus),
    /// Its time was up.
    Late,
    /// It was silent for too long.
    Idle,
    /// It wrote more than anybody reads.
    TooLarge,
}

/// What a run left.
pub(super) struct Finished<'a> {
    pub end: End,
    pub reader: Reader<'a>,
    pub stderr: Vec<u8>,
}

/// The variable by which all processes of a run are found.
pub(super) const MARK: &str = "REBUT_RUN";

const LARGEST_STDOUT: usize = 8 << 20;
const LARGEST_STDERR: usize = 256 << 10;
/// Output that pauses for so long is looked at as if it were whole.
const REST: Duration = Duration::from_millis(40);
/// After the exit, how long descendants may still write before nothing more is expected.
const DRAIN: Duration = Duration::from_millis(500);

/// Starts the program and stays until it has said all, or one of its limits is passed. When this
/// returns, or is dropped, none of its processes is left.
///
/// The command's working directory must be a fresh one of this run alone: whoever works in it is
/// taken for a descendant. So is whoever has `mark` as its [`MARK`].
pub(super) async fn run<'a>(
    mut command: Command,
    mark: &str,
    stdin: Option<String>,
    limits: Limits,
    reader: Reader<'a>,
) -> io::Result<Finished<'a>> {
    let directory = command
        .as_std()
        .get_current_dir()
        .map(Path::to_owned)
        .ok_or_else(|| io::Error::other("no working directory is set"))?;
    command.env(MARK, mark).stdin(if stdin.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    });
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let pipes = [
        output.as_ref().and_then(pipe_name),
        errors.as_ref().and_then(pipe_name),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut tree = Tree::new(child, format!("{MARK}={mark}"), pipes, directory);
    let (Some(mut output), Some(mut errors)) = (output, errors) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };

    let mut watch = Watch::new(limits, reader);
    let mut feeding = Box::pin(feed(input, stdin));
    let mut is_fed = false;
    let (mut chunk, mut error_chunk) = (vec![0; 64 << 10], vec![0; 16 << 10]);
    let end = loop {
        if let Some(end) = watch.end() {
            break end;
        }
        tokio::select! {
            read = output.read(&mut chunk), if watch.output_is_open => watch.output(&chunk, read),
            read = errors.read(&mut error_chunk), if watch.errors_are_open => watch.errors(&error_chunk, read),
            () = &mut feeding, if !is_fed => is_fed = true,
            status = tree.wait(), if watch.exited.is_none() => watch.exited = Some((status?, Instant::now())),
            () = sleep_until(watch.next()) => watch.rest_if_quiet(),
        }
    };
    tree.end().await;
    watch.reader.rest();
    Ok(Finished {
        end,
        reader: watch.reader,
        stderr: watch.stderr,
    })
}

/// Writes the prompt and closes the pipe.
async fn feed(input: Option<ChildStdin>, text: Option<String>) {
    if let (Some(mut input), Some(text)) = (input, text) {
        // A program may answer without reading all of it; what it says decides.
        let _ = input.write_all(text.as_bytes()).await;
    }
}

/// What is known of a run while it goes on.
struct Watch<'a> {
    limits: Limits,
    began: Instant,
    last_output: Instant,
    reader: Reader<'a>,
    /// Whether bytes came that nobody looked at as a whole.
    is_restless: bool,
    done_at: Option<Instant>,
    exited: Option<(ExitStatus, Instant)>,
    stderr: Vec<u8>,
    output_is_open: bool,
    errors_are_open: bool,
}

impl<'a> Watch<'a> {
    fn new(limits: Limits, reader: Reader<'a>) -> Self {
        let now = Instant::now();
        Self {
            limits,
            began: now,
            last_output: now,
            reader,
            is_restless: false,
            done_at: None,
            exited: None,
            stderr: Vec::new(),
            output_is_open: true,
            errors_are_open: true,
        }
    }

    fn output(&mut self, chunk: &[u8], read: io::Result<usize>) {
        // A pipe that cannot be read has no more to say.
        let length = read.unwrap_or(0);
        self.output_is_open = length > 0;
        self.last_output = Instant::now();
        self.reader.take(&chunk[..length]);
        self.is_restless = true;
        self.note_done();
    }

    fn errors(&mut self, chunk: &[u8], read: io::Result<usize>) {
        let length = read.unwrap_or(0);
        self.errors_are_open = length > 0;
        self.last_output = Instant::now();
        self.stderr.extend_from_slice(&chunk[..length]);
    }

    fn rest_if_quiet(&mut self) {
        if self.is_restless && self.last_output + REST <= Instant::now() {
            self.is_restless = false;
            self.reader.rest();
            self.note_done();
        }
    }

    fn note_done(&mut self) {
        if self.reader.is_done() {
            self.done_at.get_or_insert_with(Instant::now);
        }
    }

    /// Why the run is over, if it is. A result counts before everything else.
    fn end(&self) -> Option<End> {
        let now = Instant::now();
        let is_late = now >= self.began + self.limits.total;
        if let Some(done_at) = self.done_at {
            let is_over = self.exited.is_some() || is_late || now >= done_at + self.limits.grace;
            return is_over.then_some(End::Done);
        }
        if self.reader.len() > LARGEST_STDOUT || self.stderr.len() > LARGEST_STDERR {
            return Some(End::TooLarge);
        }
        if let Some((status, at)) = self.exited {
            let is_drained = !self.output_is_open && !self.errors_are_open;
            let is_over = is_drained || is_late || now >= at.max(self.last_output) + DRAIN;
            return is_over.then_some(End::Exited(status));
        }
        let is_idle = now >= self.last_output + self.limits.idle;
        if is_late {
            Some(End::Late)
        } else {
            is_idle.then_some(End::Idle)
        }
    }

    /// When to look again.
    fn next(&self) -> Instant {
        let limits = self.limits;
        let mut times = vec![self.began + limits.total];
        times.extend(self.is_restless.then(|| self.last_output + REST));
        match (self.done_at, self.exited) {
            (Some(done_at), _) => times.push(done_at + limits.grace),
            (None, Some((_, at))) => times.push(at.max(self.last_output) + DRAIN),
            (None, None) => times.push(self.last_output + limits.idle),
        }
        times.into_iter().min().unwrap_or(self.began)
    }
}

/// What the system calls our end of a pipe; the other end has the same name.
#[cfg(unix)]
fn pipe_name(pipe: &impl std::os::fd::AsRawFd) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", pipe.as_raw_fd())).ok()
}

#[cfg(not(unix))]
fn pipe_name<P>(_pipe: &P) -> Option<std::path::PathBuf> {
    None
}
