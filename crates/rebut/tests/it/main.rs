//! The real binary, end to end: real processes, real files, real SQLite, real loopback HTTP.

mod arms;
mod audit;
mod bench;
mod brought;
mod brought_files;
mod brought_forged;
mod brought_results;
mod budget;
mod canary;
mod challenge;
mod clocks;
mod code;
mod crash;
mod decide;
#[cfg(target_os = "linux")]
mod disk;
mod doctor;
mod endpoint;
mod evaluate;
mod examples;
mod following;
mod gates;
mod git;
#[cfg(target_os = "linux")]
mod hanging_up;
mod hook;
mod hostile;
#[cfg(target_os = "linux")]
mod hostile_repos;
mod later;
mod learning;
#[cfg(target_os = "linux")]
mod nodes;
mod panel_of_three;
mod panels;
mod people;
mod policy;
#[cfg(target_os = "linux")]
mod postgres;
mod processes;
#[cfg(target_os = "linux")]
mod promotion;
mod rebut;
#[cfg(target_os = "linux")]
mod recovery;
mod refused;
mod replay;
mod reports;
mod retally;
mod review;
mod sandbox;
mod sandbox_test;
mod serve;
mod serve_ends;
mod serve_hostile;
mod served;
mod sessions;
mod signals;
mod solve;
#[cfg(target_os = "linux")]
mod solve_killed;
#[cfg(target_os = "linux")]
mod stress;
#[cfg(target_os = "linux")]
mod synced;
mod telemetry;
mod there;
mod typed;
mod usage;
mod vote;
mod webhooks;
mod wisdom;
