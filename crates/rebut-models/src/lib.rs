//! Who answers a turn: OpenAI-compatible endpoints, agent CLIs, scripts, the built-in rehearsal. No environment is read here.

pub mod cli;
mod finding;
pub mod key;
mod nearest;
pub mod openai;
pub mod registry;
pub mod rehearsal;
pub mod script;
pub mod status;

pub use cli::{CliData, Clis};
pub use registry::{ProviderData, Registry};
