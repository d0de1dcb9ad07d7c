//! A call of git, to its end or until it has taken too long: a repository can hold what git waits
//! for, such as a pipe in a file's place.

use crate::error::AppError;
use std::{
    io::{self, ErrorKind, Read, Write},
    process::{Command, ExitStatus, Output, Stdio},
    sync::mpsc::{self, Sender},
    thread,
    time::{Duration, Instant},
};

/// Runs a command with this input. Whoever has not ended after `patience` is ended.
pub fn output(command: &mut Command, input: &[u8], patience: Duration) -> Result<Output, AppError> {
    let failed =
        |error: io::Error| AppError::failed(format!("cannot run git: {error}")).hint("install git");
    let late = Instant::now() + patience;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (sender, done) = mpsc::channel();
    // Each by itself: whoever waits for one of them must not make another wait.
    if let Some(stdin) = child.stdin.take() {
        write(stdin, input.to_vec(), sender.clone());
    }
    if let Some(stdout) = child.stdout.take() {
        read(stdout, sender.clone(), Done::Stdout);
    }
    if let Some(stderr) = child.stderr.take() {
        read(stderr, sender, Done::Stderr);
    }
    let mut output = Output {
        status: ExitStatus::default(),
        stdout: Vec::new(),
        stderr: Vec::new(),
    };
    loop {
        match done.recv_timeout(late.saturating_duration_since(Instant::now())) {
            Ok(Done::Stdin(written)) => written.map_err(failed)?,
            Ok(Done::Stdout(bytes)) => output.stdout = bytes.map_err(failed)?,
            Ok(Done::Stderr(bytes)) => output.stderr = bytes.map_err(failed)?,
            // It has closed all of them, and so it ends.
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // It may have ended at this very moment, which is as good.
                let _ = child.kill();
                let _ = child.wait();
                let message = format!("git did not answer within {} s", patience.as_secs());
                return Err(AppError::failed(message)
                    .hint("something in this repository makes it wait; make a fresh clone of it"));
            }
        }
    }
    output.status = child.wait().map_err(failed)?;
    Ok(output)
}

/// A stream that has come to its end.
enum Done {
    Stdin(io::Result<()>),
    Stdout(io::Result<Vec<u8>>),
    Stderr(io::Result<Vec<u8>>),
}

fn write(mut stream: impl Write + Send + 'static, bytes: Vec<u8>, sender: Sender<Done>) {
    thread::spawn(move || {
        let written = match stream.write_all(&bytes) {
            // A command may end without having read everything.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written,
        };
        drop(stream);
        sender.send(Done::Stdin(written))
    });
}

fn read(
    mut stream: impl Read + Send + 'static,
    sender: Sender<Done>,
    done: fn(io::Result<Vec<u8>>) -> Done,
) {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes).map(|_| bytes);
        sender.send(done(read))
    });
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Long enough for a shell on a busy machine.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn both_streams_and_the_code_come_back_however_much_goes_in() {
        let input = vec![b'x'; 1 << 20];
        let ran = output(
            Command::new("sh").args(["-c", "cat; echo told >&2; exit 3"]),
            &input,
            LONG,
        )
        .expect("it runs");
        assert_eq!(
            (ran.status.code(), ran.stdout == input, &*ran.stderr),
            (Some(3), true, &b"told\n"[..])
        );
        let ran = output(Command::new("true").args::<_, &str>([]), &input, LONG).expect("it runs");
        assert!(ran.status.success(), "who reads nothing has ended well too");
    }

    #[test]
    fn who_waits_for_ever_is_ended() {
        let error = output(
            Command::new("sleep").arg("1000"),
            b"",
            Duration::from_millis(1),
        )
        .expect_err("too late")
        .to_string();
        assert!(error.contains("did not answer"), "{error}");
    }
}
