//! Placeholder.

pub mod conformance;
