//! Who answers a turn: endpoints over HTTP, agent CLIs, scripts, the built-in simulator. No
//! environment is read here.

pub mod address;
pub mod cli;
mod finding;
pub mod http;
pub mod key;
mod probing;
mod provider;
pub mod registry;
pub mod script;
pub mod simulator;
pub mod status;

pub use cli::{CliData, Clis};
pub use finding::Server;
pub use registry::{ProviderData, Registry};
