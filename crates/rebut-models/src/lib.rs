//! Who answers a turn: endpoints over HTTP, scripts, the built-in rehearsal. No environment is read here.

mod finding;
pub mod http;
pub mod key;
mod nearest;
mod probing;
mod provider;
pub mod registry;
pub mod rehearsal;
pub mod script;
pub mod status;

pub use registry::{ProviderData, Registry};
