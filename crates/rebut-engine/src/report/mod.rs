//! Readings of a debate for people and tools: transcript, Markdown, JSON, YAML, decision record, judge files, SARIF, comments. Pure.

mod adr;
mod comment;
mod document;
mod markdown;
mod sarif;

pub use adr::adr;
pub use comment::{MARKER, comment};
pub use document::{Document, document, yaml};
pub use markdown::{judge_file, markdown, transcript};
pub use sarif::sarif;
