//! Moves: what several formats do, written once over the kernel's verbs.

pub mod assumptions;
pub mod clarify;
pub mod contrast;
pub mod exchange;
pub mod judge;
pub mod objections;
pub mod quotes;
pub mod red_blue;
pub mod reflect;
pub mod tools;
