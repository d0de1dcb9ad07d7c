//! The real binary, end to end: real processes, real files, real SQLite, real loopback HTTP.

mod arms;
mod audit;
mod budget;
mod canary;
mod crash;
mod decide;
mod doctor;
mod endpoint;
mod hook;
mod hostile;
mod later;
mod learning;
mod panels;
mod policy;
mod processes;
mod rebut;
mod refused;
mod replay;
mod reports;
mod retally;
mod review;
mod signals;
mod usage;
mod vote;
