//! Who answers a turn.

pub mod rehearsal;
