//! The real binary, end to end: real processes, real files, real SQLite, real loopback HTTP.

mod audit;
mod budget;
mod canary;
mod crash;
mod decide;
mod doctor;
mod endpoint;
mod hostile;
mod later;
mod panels;
mod processes;
mod rebut;
mod refused;
mod replay;
mod signals;
mod usage;
