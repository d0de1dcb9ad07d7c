//! Readings of a debate for people and tools: transcript, Markdown, JSON, YAML, decision record, HTML, drawings, judge files. Pure.

mod adr;
mod document;
mod html;
mod markdown;

pub use adr::adr;
pub use document::{Document, document, yaml};
pub use html::{chart, html};
pub use markdown::{judge_file, markdown, transcript};
