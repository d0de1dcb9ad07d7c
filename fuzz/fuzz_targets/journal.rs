//! Arbitrary bytes as a journal file: whatever is read must come out the same when it is written again.
#![no_main]

use rebut_engine::{audit, journal_file::Portable, view::View};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(journal) = Portable::parse(&text) {
        let _ = audit::verify(journal.debate, &journal.records, &journal.checkpoints, &[]);
        let _ = View::of(&journal.records);
        let again = journal.to_ndjson().expect("what was read can be written");
        assert_eq!(Portable::parse(&again).expect("and read again"), journal);
    }
});
