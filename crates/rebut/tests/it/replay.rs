//! Replay, export and import: the journal alone is enough, and a journal with a hole is found out.

use crate::rebut::{Rebut, case, recommends, script, script_of, split_then_c};
use rebut_engine::{
    event::{Event, HumanNoted},
    journal_file::Portable,
    record::{Place, Record},
};

/// What nobody signed, anybody may have written.
#[test]
fn what_no_seal_covers_is_taken_in_only_when_it_is_trusted() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script_of(&split_then_c()));
    rebut.expect(0, &case(&["-o", "whole.ndjson"]));
    let whole = Portable::parse(&rebut.read("whole.ndjson")).expect("a journal");
    let open = Portable {
        records: whole.records[..9].to_vec(),
        checkpoints: Vec::new(),
        ..whole.clone()
    };
    let ended = Portable {
        checkpoints: Vec::new(),
        ..whole.clone()
    };
    let mut longer = whole.clone();
    let last = longer.records.last().expect("an end");
    let note = Event::HumanNoted(HumanNoted {
        text: "and B is better".to_owned(),
        by: "anna".to_owned(),
    });
    longer.records.push(Record::new(
        longer.debate,
        last.seq + 1,
        last.hash,
        last.ts.clone(),
        Place::default(),
        &note,
    ));
    let rows = [
        (
            open,
            2,
            "open.ndjson is not sealed: anybody may have written it",
            0,
        ),
        (
            longer,
            2,
            "longer.ndjson is sealed only up to event 26 of 27: anybody may have written the rest",
            0,
        ),
        // Its seals were taken away: nobody is asked to trust that.
        (ended, 1, "ends the debate but no signature covers it", 1),
    ];
    for ((file, code, said, when_trusted), name) in
        rows.into_iter()
            .zip(["open.ndjson", "longer.ndjson", "ended.ndjson"])
    {
        let elsewhere = Rebut::new();
        elsewhere.write("whole.ndjson", &rebut.read("whole.ndjson"));
        elsewhere.expect(0, &["import", "whole.ndjson", "--trust"]);
        elsewhere.expect(0, &["rm", &file.debate.to_string()]);
        elsewhere.write(name, &file.to_ndjson().expect("lines"));
        let refused = elsewhere.run(&["import", name]);
        assert!(
            refused.code == code && refused.stderr.contains(said),
            "{name}: {} {}",
            refused.code,
            refused.stderr
        );
        assert_eq!(
            refused
                .stderr
                .contains(&format!("rebut import {name} --trust")),
            code == 2,
            "{}",
            refused.stderr
        );
        assert_eq!(
            elsewhere.expect(0, &["ls", "--json"]).trim(),
            "[]",
            "nothing of it was taken in"
        );
        assert_eq!(
            elsewhere.run(&["import", name, "--trust"]).code,
            when_trusted,
            "{name}"
        );
    }
}

#[test]
fn a_journal_replays_byte_for_byte_and_a_hole_in_it_is_found() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script_of(&split_then_c()));
    rebut.expect(0, &case(&["-o", "whole.ndjson"]));
    std::fs::remove_file(rebut.path("debate.md")).expect("the script");
    let id = rebut.json(0, &["ls", "--json"])[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let transcript = rebut.expect(0, &["show", &id, "--transcript"]);
    assert!(transcript.contains("A → C"), "{transcript}");
    assert_eq!(rebut.expect(0, &["replay", &id[..6]]), transcript);
    assert_eq!(rebut.expect(0, &["replay", "whole.ndjson"]), transcript);

    let elsewhere = Rebut::new();
    elsewhere.write("whole.ndjson", &rebut.read("whole.ndjson"));
    let stranger = elsewhere.run(&["import", "whole.ndjson"]);
    assert_eq!(stranger.code, 2);
    assert!(
        stranger
            .stderr
            .contains("sealed by a key that is not trusted here"),
        "{}",
        stranger.stderr
    );
    assert_eq!(
        elsewhere
            .expect(0, &["import", "whole.ndjson", "--trust"])
            .trim(),
        id
    );
    assert_eq!(
        elsewhere.expect(0, &["show", &id, "--transcript"]),
        transcript
    );
    elsewhere.expect(0, &["audit", "verify", &id]);
    assert_eq!(
        elsewhere.expect(0, &["export", &id, "--format", "journal"]),
        rebut.read("whole.ndjson"),
        "a journal keeps its bytes"
    );
    assert_eq!(
        elsewhere.run(&["import", "whole.ndjson"]).code,
        2,
        "it is here already"
    );

    let whole = rebut.read("whole.ndjson");
    let cut: Vec<&str> = whole
        .lines()
        .filter(|line| !(line.contains("turn.completed") && line.contains("challenge 2/value")))
        .collect();
    assert_eq!(cut.len() + 1, whole.lines().count());
    let cut = format!("{}\n", cut.join("\n"));
    let fresh = Rebut::new();
    // Once as it is, once with a heading that owns up to the smaller number.
    for (text, code, says) in [
        (
            cut.clone(),
            2,
            "the heading announces 26 events, the file has 25",
        ),
        (
            cut.replacen("\"events\":26", "\"events\":25", 1),
            1,
            "event 19 is missing",
        ),
    ] {
        fresh.write("cut.ndjson", &text);
        for args in [
            &["replay", "cut.ndjson"][..],
            &["import", "cut.ndjson", "--trust"],
        ] {
            let refused = fresh.run(args);
            assert_eq!(
                refused.code, code,
                "{args:?}: {} {}",
                refused.stdout, refused.stderr
            );
            let said = refused.stdout + &refused.stderr;
            assert!(said.contains(says), "{args:?}: {said}");
        }
        assert!(
            fresh
                .expect(1, &["audit", "verify", "cut.ndjson"])
                .contains("at event 19: deleted: event 19 is missing")
        );
    }
    assert_eq!(
        fresh.expect(0, &["ls", "--json"]).trim(),
        "[]",
        "nothing of it was taken in"
    );

    // What was changed in the database is not blamed on the rules, nor built upon.
    let database = rusqlite::Connection::open(rebut.data().join("rebut.db")).expect("the database");
    let changed = database
        .execute(
            "UPDATE events SET data = replace(data, '0.8', '0.9') WHERE seq = 6",
            [],
        )
        .expect("valid SQL");
    assert_eq!(changed, 1);
    drop(database);
    for args in [&["replay", &id][..], &["note", &id, "x"]] {
        let refused = rebut.run(args);
        assert!(
            refused.code != 0 && refused.stderr.contains("damaged at event 6"),
            "{args:?}: {}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("rebut audit verify")
                && !refused.stderr.contains("rules changed"),
            "{}",
            refused.stderr
        );
    }

    rebut.expect(0, &["rm", &id]);
    assert_eq!(rebut.run(&["show", &id]).code, 2);
    std::fs::remove_file(rebut.path("whole.ndjson")).expect("the export");
    assert!(!rebut.holds("C is best"), "a removed debate leaves no text");
}

/// What a debate as it stands cannot give is a wrong question (2), as the book says; only what
/// differs or is damaged has failed (1).
#[test]
fn whoever_asks_a_debate_for_what_it_cannot_give_is_told_why() {
    let rebut = Rebut::new();
    rebut.write(
        "debate.md",
        &script(&[("*/risk", &recommends("A")), ("*", "!timeout")]),
    );
    let mut run = rebut.start(&case(&[]));
    let open = run.id.clone();
    run.until(|event| event["type"] == "turn.completed");
    run.kill();
    rebut.write("debate.md", &script_of(&split_then_c()));
    let redacted = rebut.json(0, &case(&["--json"]))["debate_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    rebut.expect(
        0,
        &["audit", "redact", &redacted, "4", "--reason", "private"],
    );
    let rows: &[(&[&str], &str)] = &[
        (
            &["replay", &open],
            "the debate has not ended; only one that has can be replayed",
        ),
        (
            &["export", &open, "-o", "x.yaml"],
            "the debate has not ended",
        ),
        (
            &["export", &open, "-o", "x.adr.md"],
            "the debate has not ended",
        ),
        (&["answer", &open, "A"], "has not ended"),
        (
            &["replay", &redacted],
            "has redacted events; it can be read but not run again",
        ),
        (
            &["fork", &redacted, "--at", "challenge 2"],
            "has redacted events",
        ),
        (&["resume", &redacted], "nothing to resume"),
    ];
    for (args, says) in rows {
        let refused = rebut.run(args);
        assert!(
            refused.code == 2 && refused.stderr.contains(says),
            "{args:?}: {} {}",
            refused.code,
            refused.stderr
        );
    }
}
