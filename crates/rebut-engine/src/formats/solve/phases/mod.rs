//! The phases of a solve debate, one file each, and what they share.

mod adversarial;
mod clarify;
mod converge;
mod critique;
mod optimize;
mod plan;
mod propose;
mod review;
mod self_test;
mod trials;
mod watchers;

pub use adversarial::adversarial;
pub use clarify::clarify;
pub use converge::{by_evidence, contestants, converge, quality};
pub use critique::critique;
pub use optimize::optimize;
pub use plan::plan;
pub use propose::{learn, propose};
pub use review::review;
pub use self_test::evolve;
