//! What stands between the surfaces of `rebut` and its engine: configuration and trust, the data
//! folder, models and panels, what a debate is given to read, and what is done beside it. It knows
//! neither the command line nor HTTP, and prints nothing: what people should know is handed to
//! `notices`.

// First: what it defines serves all the others.
#[macro_use]
pub mod notices;

pub mod app;
pub mod atomic_file;
pub mod ballots;
pub mod beneath;
pub mod budget;
pub mod config;
pub mod context;
pub mod data_dir;
pub mod dry_run;
pub mod error;
pub mod estimate;
pub mod git;
pub mod global;
pub mod hint_command;
pub mod idea;
pub mod lessons;
pub mod model_discovery;
pub mod panel;
pub mod problems;
pub mod proposals;
pub mod read_file;
pub mod roles;
pub mod versions;
pub mod webhooks;
pub mod words;
pub mod workspace;
pub mod write_file;
