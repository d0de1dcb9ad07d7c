//! What the inner stage gives up before the program starts: resources, capabilities, and ever
//! getting more.

use crate::wire::Orders;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files at once; toolchains need some hundred.
const OPEN_FILES: u64 = 1024;
/// Memory that is kept from being swapped.
const LOCKED: u64 = 64 << 10;
const GIB: u64 = 1 << 30;

/// The limits of the kernel on each process. They only ever get smaller.
pub(super) fn limits(orders: &Orders) -> Result<(), String> {
    let limits = &orders.limits;
    let cpu = limits.cpu_seconds();
    let rows = [
        (Resource::Data, limits.memory, limits.memory),
        // Address space is reserved far beyond what is used; this bounds memory that is shared,
        // which the line above does not count.
        (
            Resource::As,
            2 * limits.memory + GIB,
            2 * limits.memory + GIB,
        ),
        (
            Resource::Nproc,
            u64::from(orders.processes_by_rlimit),
            u64::from(orders.processes_by_rlimit),
        ),
        (Resource::Fsize, limits.file_bytes, limits.file_bytes),
        (Resource::Nofile, OPEN_FILES, OPEN_FILES),
        // First a signal that says what it is about; whoever ignores it is killed one second later.
        (Resource::Cpu, cpu, cpu + 1),
        (Resource::Core, 0, 0),
        (Resource::Msgqueue, 0, 0),
        (Resource::Memlock, LOCKED, LOCKED),
        (Resource::Rtprio, 0, 0),
        (Resource::Nice, 0, 0),
    ];
    rows.into_iter().try_for_each(|(resource, soft, hard)| {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let new = Rlimit {
            current: Some(soft.min(most)),
            maximum: Some(hard.min(most)),
        };
        setrlimit(resource, new).map_err(|error| format!("cannot limit {resource:?}: {error}"))
    })
}

/// A cell has no capability at all; one that has is none.
pub(super) fn capabilities() -> Result<(), String> {
    let sets = rustix::thread::capabilities(None)
        .map_err(|error| format!("cannot read the capabilities: {error}"))?;
    if (sets.effective | sets.permitted | sets.inheritable).is_empty() {
        return Ok(());
    }
    Err(format!("capabilities are left: {:?}", sets.permitted))
}

/// No program gives more rights than who starts it has.
pub(super) fn new_privileges() -> Result<(), String> {
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| format!("cannot give up new privileges: {error}"))
}
