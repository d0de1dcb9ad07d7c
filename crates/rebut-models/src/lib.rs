//! Who answers a turn: endpoints over HTTP, agent CLIs, scripts, the built-in rehearsal. No
//! environment is read here.

pub mod address;
pub mod cli;
mod finding;
pub mod http;
pub mod key;
mod probing;
mod provider;
pub mod registry;
pub mod rehearsal;
pub mod script;
pub mod status;

pub use cli::{CliData, Clis};
pub use finding::Server;
pub use registry::{ProviderData, Registry};
