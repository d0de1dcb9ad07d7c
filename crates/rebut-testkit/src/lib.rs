//! Honest fakes and harnesses: case folders, crash harness, store conformance, simulated clock, a
//! server of the real wire formats, processes that are held and waited for, a PostgreSQL server,
//! small disks.

pub mod cases;
pub mod catcher;
pub mod clock;
pub mod conformance;
pub mod crash;
#[cfg(target_os = "linux")]
pub mod disk;
pub mod going_back;
pub mod interposed;
pub mod model_server;
pub mod openai_server;
#[cfg(target_os = "linux")]
pub mod postgres;
#[cfg(target_os = "linux")]
pub mod processes;
pub mod toy_sandbox;
