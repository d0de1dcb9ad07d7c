//! Moves: what several formats do, written once over the kernel's verbs.

pub mod exchange;
pub mod judge;
pub mod quotes;
