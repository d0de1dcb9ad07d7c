//! Arbitrary bytes as a judge's reply: a value that passes its check, or an error; never a panic.
#![no_main]

use rebut_engine::{formats::decide::replies::Response, reply::extract};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let ids = ["A", "B"].map(str::to_owned);
    if let Ok(found) = extract::<Response>(&text, &|reply| reply.check(&ids, &[(2, 2)])) {
        assert!(ids.contains(&found.reply.option));
        assert!((0.0..=1.0).contains(&found.reply.confidence));
    }
});
