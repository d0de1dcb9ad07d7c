//! Runs the script of the tests in its cell and says how it ended. What the script and its children
//! hold is none of our way out; their calls of the code come over a socket and are handed to the
//! program outside, which answers from another cell.

use super::{REFUSED, status_of};
use crate::{
    call::{FOLDER, TEMPORARY, receive, send},
    sys,
};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::{
    fs, io,
    io::Write,
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    process::{Command, ExitCode, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

pub(super) const SOCKET: &str = "/dev/shm/.calls";

/// Runs the script that the words start.
pub(crate) fn main(words: &[String]) -> ExitCode {
    match run(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("the tests could not be run: {why}");
            ExitCode::from(REFUSED)
        }
    }
}

fn run(words: &[String]) -> Result<(), String> {
    let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let (program, arguments) = words.split_first().ok_or("no program is named")?;
    // Nobody in the cell can open our descriptors through `/proc`, and nobody inherits them.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| format!("the way out cannot be hidden: {error}"))?;
    sys::close_on_exec_from(3).map_err(failed("what was inherited cannot be closed"))?;
    fs::create_dir(format!("{FOLDER}/{TEMPORARY}"))
        .map_err(failed("there is no folder for temporary files"))?;
    let listener = UnixListener::bind(SOCKET).map_err(failed("calls cannot be taken"))?;
    let out = Arc::new(Mutex::new(io::stdout()));
    let calls_out = out.clone();
    thread::spawn(move || {
        listener
            .incoming()
            .flatten()
            .for_each(|stream| serve(stream, &calls_out))
    });
    let errors = io::stderr()
        .as_fd()
        .try_clone_to_owned()
        .map_err(failed("its output has nowhere to go"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(FOLDER)
        .stdin(Stdio::null())
        .stdout(Stdio::from(errors));
    let status = command
        .status()
        .map_err(failed("the script cannot be started"))?;
    let status = serde_json::to_vec(&status_of(status)).map_err(|error| error.to_string())?;
    say(&out, b'H', &status).map_err(failed("nobody hears how it ended"))
}

/// Hands one call out and its answer back. One after another: a call that waits for another does
/// not come here before that has ended.
fn serve(mut stream: UnixStream, out: &Mutex<io::Stdout>) {
    let answered = receive(&mut stream).and_then(|call| {
        say(out, b'A', &call)?;
        let answer = receive_frame(&mut io::stdin().lock())?;
        send(&mut stream, &answer)
    });
    if let Err(error) = answered {
        // The stand-in sees that its stream is closed, and says so.
        eprintln!("a call was lost: {error}");
    }
}

/// A frame as the program outside reads it: length, kind, words.
fn say(out: &Mutex<io::Stdout>, kind: u8, words: &[u8]) -> io::Result<()> {
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    let length = u32::try_from(words.len()).map_err(io::Error::other)?;
    let mut frame = length.to_be_bytes().to_vec();
    frame.push(kind);
    frame.extend_from_slice(words);
    out.write_all(&frame)?;
    out.flush()
}

/// The words of a frame from the program outside.
fn receive_frame(from: &mut impl io::Read) -> io::Result<Vec<u8>> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let mut words = vec![0; length.min(crate::call::LARGEST)];
    from.read_exact(&mut words)?;
    Ok(words)
}
