//! Cells as the program sees them: proven once, started, waited for, ended.

use crate::spec::{Ended, Inner, Spec};
use rebut_engine::sandbox::Refused;
use tokio::net::unix::pipe::{Receiver, Sender};

/// A machine that was proven to hold cells. Cheap to clone; all clones share the limit on cells at once.
#[derive(Clone, Debug)]
pub struct Jail;

impl Jail {
    /// Proves with a real run that a cell holds; says why not otherwise.
    pub async fn prove(_inner: Inner) -> Result<Self, Refused> {
        Err(Refused { reason: "not built yet".to_owned(), fix: "wait".to_owned() })
    }

    /// How strongly cells are held: 1 is namespaces and more.
    pub fn tier(&self) -> u8 {
        1
    }

    /// What bounds memory: `cgroup` for all processes of a cell together, `rlimit` for each of them.
    pub fn memory_bound(&self) -> &str {
        "rlimit"
    }

    /// Starts a program in a new cell; waits in order while too many run.
    pub async fn spawn(&self, _spec: Spec) -> Result<Cell, Refused> {
        Err(Refused { reason: "not built yet".to_owned(), fix: "wait".to_owned() })
    }
}

/// A running cell. Dropping it ends everything in it.
#[derive(Debug)]
pub struct Cell {
    /// To the program's standard input. Closed by [`Cell::end`] unless taken.
    pub stdin: Option<Sender>,
    /// From its standard output. Whoever takes it reads it; else [`Cell::end`] collects it.
    pub stdout: Option<Receiver>,
    /// From its standard error, the same.
    pub stderr: Option<Receiver>,
}

impl Cell {
    /// Waits for the program's exit or a limit, and ends all that is left. Only this reads the streams nobody took: call it
    /// beside what talks to the program (`tokio::join!`), or the program may wait for somebody to read.
    pub async fn end(self) -> Ended {
        unreachable!("no cell is made yet")
    }
}
