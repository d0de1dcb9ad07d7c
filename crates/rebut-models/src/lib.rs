//! Who answers a turn: OpenAI-compatible endpoints, scripts, the built-in rehearsal. No environment is read here.

pub mod key;
mod nearest;
pub mod openai;
pub mod registry;
pub mod script;
pub mod status;
