//! Readings of a debate for people and tools: transcript, Markdown, JSON, YAML, decision record, judge files. Pure.

mod adr;
mod document;
mod markdown;

pub use adr::adr;
pub use document::{Document, document, yaml};
pub use markdown::{judge_file, markdown, transcript};
