//! Arbitrary bytes as a judge's reply: a value that passes its check, or an error; never a panic.
#![no_main]

use rebut_engine::{formats::decide::replies::Response, reply::extract};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let others = [("J2".to_owned(), 2)];
    if let Ok(found) = extract::<Response>(&text, &|reply| reply.check(&["A", "B"], &others)) {
        assert!(["A", "B"].contains(&found.reply.option.as_str()));
        assert!((0.0..=1.0).contains(&found.reply.confidence));
    }
});
