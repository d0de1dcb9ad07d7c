//! What can be typed about a server and its keys.

use clap::{Args, Subcommand, ValueEnum};
use rebut_server::Host;
use std::net::SocketAddr;

/// Arguments of `serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7878")]
    pub listen: SocketAddr,
    /// A name under which the server is reached, with its port: `debates.example.org:443` (also
    /// meant where 443 is left out); repeat
    #[arg(long = "host", value_name = "NAME:PORT")]
    pub hosts: Vec<Host>,
    /// Listen on an address that other machines reach. Keys must be there, and TLS is for a proxy
    /// in front
    #[arg(long)]
    pub allow_remote: bool,
    /// Let requests name scripts (files of this machine) as models; for tests
    #[arg(long)]
    pub allow_scripts: bool,
    /// How standard error tells what happens
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub log: LogForm,
}

/// How a server tells what happens.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogForm {
    /// For people.
    Text,
    /// One object of JSON a line.
    Json,
}

/// What can be done with keys.
#[derive(Subcommand, Debug)]
pub enum KeysCommand {
    /// Make a key; its token is printed once and kept nowhere
    Add(AddKeyArgs),
    /// List keys; tokens are not known any more
    Ls(ListKeysArgs),
    /// Take a key away; a server that runs lets it in no longer
    Rm(RemoveKeyArgs),
}

/// Arguments of `keys add`.
#[derive(Args, Debug)]
pub struct AddKeyArgs {
    /// The key's name: who decided, in a journal
    pub name: String,
    /// Whose debates it sees and starts
    #[arg(long)]
    pub owner: String,
    /// What it may do: read; also decide gates and answer; also start and remove, and have webhooks
    #[arg(long, default_value = "viewer")]
    pub role: KeyRole,
}

/// Arguments of `keys ls`.
#[derive(Args, Debug)]
pub struct ListKeysArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `keys rm`.
#[derive(Args, Debug)]
pub struct RemoveKeyArgs {
    /// The key's name
    pub name: String,
}

/// What a key may do.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRole {
    /// Read.
    Viewer,
    /// Also decide gates, answer, add notes.
    Approver,
    /// Also start, steer, fork and remove debates; make, see and remove webhooks.
    Admin,
}
