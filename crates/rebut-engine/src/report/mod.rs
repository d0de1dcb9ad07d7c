//! Readings of a debate for people and tools: transcript, Markdown, HTML, JSON, YAML, decision
//! record, judge files, SARIF, comments, spans. Pure.

mod adr;
mod comment;
mod document;
mod html;
mod markdown;
mod numbers;
mod sarif;
mod spans;

pub use adr::adr;
pub use comment::{MARKER, comment, empty_comment};
pub use document::{Document, document, yaml};
pub(crate) use html::{Markup, section, slopes};
pub use html::{ResultCard, chart, html};
pub(crate) use markdown::write_panel;
pub use markdown::{judge_file, markdown, transcript};
pub use numbers::{shown, signed};
pub use sarif::{empty_sarif, sarif};
pub use spans::spans;
