//! Arbitrary bytes as a script file: a script or an error with its line; never a panic.
#![no_main]

use rebut_models::script::Script;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = Script::parse(bytes) {
        assert!(!error.to_string().is_empty());
    }
});
