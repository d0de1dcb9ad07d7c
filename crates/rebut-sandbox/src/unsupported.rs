//! Cells on systems that have none: everything is refused.

use crate::spec::{Ended, Inner, Spec};
use rebut_engine::sandbox::{End, Refused};

/// A machine that was proven to hold cells; there is none here.
#[derive(Clone, Debug)]
pub struct Jail(std::convert::Infallible);

impl Jail {
    /// Refuses: only Linux has what a cell is made of.
    pub async fn prove(_inner: Inner) -> Result<Self, Refused> {
        Err(Refused {
            reason: "code of a model is only run on Linux".to_owned(),
            fix: "run rebut on Linux, in a virtual machine or in WSL 2".to_owned(),
        })
    }

    pub fn tier(&self) -> u8 {
        match self.0 {}
    }

    pub fn memory_bound(&self) -> &str {
        match self.0 {}
    }

    pub async fn spawn(&self, _spec: Spec) -> Result<Cell, Refused> {
        match self.0 {}
    }
}

/// A running cell; there is none here.
#[derive(Debug)]
pub struct Cell {
    pub stdin: Option<tokio::io::DuplexStream>,
    pub stdout: Option<tokio::io::DuplexStream>,
    pub stderr: Option<tokio::io::DuplexStream>,
}

impl Cell {
    /// Nothing runs, so nothing is waited for.
    pub async fn end(self) -> Ended {
        Ended {
            end: End::Resource("no cells".to_owned()),
            ms: 0,
            stdout: Vec::new(),
            stderr: Vec::new(),
            files: Vec::new(),
        }
    }
}
