//! What a cell may use of the machine.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The most a cell may use. Met limits end the program or fail its calls; none of them is advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time from the start of the program.
    pub wall: Duration,
    /// Processor time of each of its processes.
    pub cpu: Duration,
    /// Memory in bytes: of all its processes together where a control group bounds it, else of each
    /// of them.
    pub memory: u64,
    pub processes: u32,
    /// The largest file it may write.
    pub file_bytes: u64,
    /// All it may write in `/box`, `/tmp` and `/dev/shm` together.
    pub scratch_bytes: u64,
    /// How many files and folders there may be in those.
    pub scratch_files: u32,
    /// What it may write to standard output and standard error together.
    pub output_bytes: u64,
}

/// The limit on processor time, in words.
pub const PROCESSOR_TIME: &str = "processor time";

impl Limits {
    /// The processor time as the kernel counts it: in whole seconds, never less than asked. Where
    /// both limits are the same, wall-clock time is over first, and the end says so.
    pub fn cpu_seconds(&self) -> u64 {
        self.cpu.as_secs() + 1
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(10),
            cpu: Duration::from_secs(10),
            memory: 512 << 20,
            processes: 64,
            file_bytes: 32 << 20,
            scratch_bytes: 64 << 20,
            scratch_files: 4096,
            output_bytes: 1 << 20,
        }
    }
}
