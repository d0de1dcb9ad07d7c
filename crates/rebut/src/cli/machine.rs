//! What can be typed about this machine, its models and its configuration.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Only a JSON flag.
#[derive(Args, Debug, Clone)]
pub struct JsonArg {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// Replace a rebut.toml that is there
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Ask each model of the panel and each signed-in agent program something small, for real
    #[arg(long)]
    pub deep: bool,
    /// Print the commands that would fix what is missing; nothing is run
    #[arg(long)]
    pub fix: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `models`.
#[derive(Args, Debug)]
pub struct ModelsArgs {
    /// Only this provider; `cli` for agent programs
    pub provider: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `trust`.
#[derive(Args, Debug)]
pub struct TrustArgs {
    /// Trust it without being asked, as for a script that has read what it allows
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    pub yes: bool,
    /// List every file and data folder that is trusted
    #[arg(long, conflicts_with = "revoke")]
    pub list: bool,
    /// Trust something no more: this project's file, or the file or data folder at PATH
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    pub revoke: Option<Option<PathBuf>>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What can be done with the configuration.
#[derive(Subcommand, Debug)]
pub enum ConfigCommand {
    /// Print the configuration as it is used, all files joined
    Show(JsonArg),
    /// Check a file, or the files in use
    Validate {
        /// The file
        file: Option<PathBuf>,
    },
    /// Print where the files are
    Path,
}

/// Arguments of `schema`.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// Of what
    pub what: SchemaOf,
}

/// What has a schema.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaOf {
    /// `rebut.toml`.
    Config,
    /// Events on every stream.
    Event,
    /// The result object.
    Result,
    /// What agents reply.
    Reply,
}

/// Arguments of `roles`.
#[derive(Args, Debug)]
pub struct RolesArgs {
    /// Show this one
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// For which shell
    pub shell: clap_complete::Shell,
}
