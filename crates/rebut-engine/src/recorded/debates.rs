//! Measuring debates.
use super::{RecordedDebate, Table};
/// x
pub fn measure_debates(title: &str, _: &[RecordedDebate]) -> Table {
    Table { title: title.to_owned(), notes: vec![], rows: vec![] }
}
