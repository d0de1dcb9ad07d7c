//! Moves: what several formats do, written once over the kernel's verbs.

pub mod assumptions;
pub mod exchange;
pub mod judge;
pub mod objections;
pub mod quotes;
pub mod tools;
