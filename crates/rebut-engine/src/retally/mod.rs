//! Counting a debate again from its journal, with no model: by another method, at another
//! threshold, without somebody; and how much it would take to turn the decision. Pure.

mod again;
mod robustness;
mod votes;

pub use again::{Retallied, Retally, retally};
pub use robustness::{Flips, LeftOut, Robustness, robustness};
pub use votes::{Vote, Votes};
