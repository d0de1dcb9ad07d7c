//! The real binary, end to end: real processes, real files, real SQLite, real loopback HTTP.

mod audit;
mod crash;
mod decide;
mod endpoint;
mod hostile;
mod later;
mod processes;
mod rebut;
mod replay;
mod signals;
mod usage;
