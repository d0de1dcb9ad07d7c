//! Stands where the tests expect the code, and is none of it: takes what it was called with to the
//! harness, and does what comes back.

use super::{REFUSED, harness::SOCKET};
use crate::call::{Answer, Call, FOLDER, receive, send};
use std::{
    io::{self, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::ExitCode,
};

/// What a program that nobody reads any more ends with.
const NOBODY_READS: u8 = 141;

/// Makes the call with these arguments.
pub(crate) fn main(args: &[String]) -> ExitCode {
    let answer = match call(args) {
        Ok(answer) => answer,
        Err(why) => {
            eprintln!("./solution.sh cannot be called: {why}");
            return ExitCode::from(REFUSED);
        }
    };
    let said = io::stderr()
        .write_all(&answer.stderr)
        .and_then(|()| io::stdout().write_all(&answer.stdout))
        .and_then(|()| io::stdout().flush());
    ExitCode::from(if said.is_ok() {
        answer.exit
    } else {
        NOBODY_READS
    })
}

fn call(args: &[String]) -> Result<Answer, String> {
    let folder = Path::new(FOLDER);
    let call = Call::gathered(args, io::stdin().lock(), folder)?;
    let answer = over(&call).map_err(|error| format!("the way there is closed: {error}"))?;
    answer
        .enter(folder)
        .map_err(|error| format!("what it wrote cannot be put here: {error}"))?;
    Ok(answer)
}

fn over(call: &Call) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(SOCKET)?;
    send(&mut stream, &call.to_bytes()?)?;
    Answer::from_bytes(&receive(&mut stream)?)
}
