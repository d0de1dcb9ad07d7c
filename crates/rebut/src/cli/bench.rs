//! What can be typed about measuring.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What can be measured.
#[derive(Subcommand, Debug)]
pub enum BenchCommand {
    /// Measure votes, stop rules and learned weights on recorded answers; no model is asked
    Recorded(RecordedArgs),
}

/// Arguments of `bench recorded`.
#[derive(Args, Debug)]
pub struct RecordedArgs {
    /// Debates as JSON lines, or panels as a table; `.gz` is unpacked
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
