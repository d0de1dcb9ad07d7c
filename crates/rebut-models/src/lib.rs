//! Who answers a turn: OpenAI-compatible endpoints, scripts, the built-in rehearsal. No environment is read here.

mod finding;
pub mod key;
mod nearest;
pub mod openai;
pub mod registry;
pub mod rehearsal;
pub mod script;
pub mod status;

pub use registry::{ProviderData, Registry};
