//! Every format has a recorded example that replays, offline and without its script, to the very
//! same result.

use crate::rebut::Rebut;
use rebut_engine::formats::FORMATS;
use std::{fs, path::Path};

/// Formats that serve another one, or are compared with it: they need no example of their own.
const WITHOUT: [&str; 5] = ["single", "poll", "society", "triage", "propose"];

#[test]
fn recorded_examples_replay_to_their_results() {
    for format in FORMATS
        .iter()
        .filter(|format| !WITHOUT.contains(&format.name))
    {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../examples")
            .join(format.name);
        let read = |name: &str| {
            fs::read_to_string(folder.join(name))
                .unwrap_or_else(|error| panic!("{}/{name}: {error}", format.name))
        };
        let rebut = Rebut::new();
        rebut.write("journal.ndjson", &read("journal.ndjson"));
        let replayed = rebut.json(0, &["replay", "journal.ndjson", "--json"]);
        let expected: serde_json::Value = serde_json::from_str(&read("result.json")).expect("JSON");
        assert_eq!(replayed["result"], expected, "{}", format.name);
    }
}
