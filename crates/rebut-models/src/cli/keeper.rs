//! The keeper: a small process that outlives ours by a moment, and ends the agent programs that
//! ours could not end because it was killed.

use super::leftover::{clear, named, prefix_of};
use std::{
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

/// The first argument by which an executable becomes a keeper.
pub const KEEPER: &str = "__keeper";

/// How long the locks of a process that is gone may take to be free.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// What the keeper does: waits until the process `arguments[0]`, which holds the other end of its
/// standard input, is gone, and clears up what it left below the directory `arguments[1]`.
pub fn keeper_main(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let (Some(Ok(process)), Some(temp)) = (
        arguments.next().map(|number| number.parse()),
        arguments.next(),
    ) else {
        return ExitCode::FAILURE;
    };
    // Nobody writes there. The end comes when its process ends, however it does.
    if io::copy(&mut io::stdin().lock(), &mut io::sink()).is_err() {
        return ExitCode::FAILURE;
    }
    let (temp, own, began) = (PathBuf::from(temp), prefix_of(process), Instant::now());
    while !named(&temp, &own).is_empty() && began.elapsed() < PATIENCE {
        if clear(&temp) == 0 {
            thread::sleep(PAUSE);
        }
    }
    ExitCode::SUCCESS
}

/// The keeper of this process, started with the first call.
#[derive(Default)]
pub(super) struct Keeper {
    program: OnceLock<PathBuf>,
    child: OnceLock<Option<Child>>,
}

impl Keeper {
    /// Says which executable calls [`keeper_main`] when its first argument is [`KEEPER`].
    pub(super) fn is(&self, program: PathBuf) {
        self.program.get_or_init(|| program);
    }

    /// Starts it, once. Without one, what is left after a kill waits for the next start: see
    /// [`super::Clis::clear_left`].
    pub(super) fn start(&self, temp: &Path) {
        if let Some(program) = self.program.get() {
            self.child.get_or_init(|| spawn(program, temp).ok());
        }
    }
}

fn spawn(program: &Path, temp: &Path) -> io::Result<Child> {
    // It has another working directory.
    let temp = temp.canonicalize()?;
    let mut command = Command::new(program);
    command
        .arg(KEEPER)
        .arg(std::process::id().to_string())
        .arg(temp)
        .env_clear()
        .current_dir("/");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // A group of its own: Ctrl-C is meant for us.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn()
}
