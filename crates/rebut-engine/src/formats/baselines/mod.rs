//! Control arms: what one answer, a poll, or a society of the same agents would have said. A debate
//! is worth its price only if it beats them at the same number of calls, so they run through the
//! same kernel and are counted by the same rules.

pub mod count;
pub mod grouping;
pub mod poll;
pub mod program;
mod question;
pub mod reply;
pub mod single;
pub mod society;

pub use count::ArmResult;
pub use reply::Answer;
