//! Agent CLIs against real programs: small scripts that behave as the real ones do, or worse.

mod bad;
mod bench;
mod good;
mod surroundings;
