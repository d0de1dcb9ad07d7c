//! Tampering with the database itself: every kind of it is found and its place named. Redaction is
//! not tampering.

use crate::rebut::{Rebut, case, script_of, split_then_c};
use rebut_engine::{
    DebateId,
    record::{Hash, Record},
};
use rusqlite::{Connection, params};

type Tamper = fn(&Connection, &DebateId, &DebateId);

#[test]
fn tampering_is_found_and_its_place_named() {
    let rows: [(&str, Tamper, u64, &str); 13] = [
        (
            "the whole journal wiped",
            |db, id, _| {
                change(db, "DELETE FROM events WHERE debate_id = ?1", id);
                change(db, "DELETE FROM checkpoints WHERE debate_id = ?1", id);
            },
            1,
            "truncated",
        ),
        (
            "a tail deleted with its checkpoint",
            |db, id, _| {
                change(
                    db,
                    "DELETE FROM events WHERE debate_id = ?1 AND seq > 20",
                    id,
                );
                change(db, "DELETE FROM checkpoints WHERE debate_id = ?1", id);
            },
            21,
            "truncated",
        ),
        (
            "another end in the list of debates",
            |db, id, _| {
                let sql = "UPDATE debate_sessions SET outcome = replace(outcome, '2 of 3', '3 of \
                    3') WHERE id = ?1";
                assert_eq!(db.execute(sql, [id.to_string()]).expect("valid SQL"), 1);
            },
            26,
            "edited",
        ),
        (
            "an edited text",
            |db, id, _| {
                change(
                    db,
                    "UPDATE events SET data = replace(data, '0.8', '0.9') WHERE debate_id = ?1 AND \
                     seq = 6",
                    id,
                )
            },
            6,
            "edited",
        ),
        (
            "an edited heading",
            |db, id, _| {
                change(
                    db,
                    "UPDATE events SET agent = 'value' WHERE debate_id = ?1 AND seq = 6",
                    id,
                )
            },
            6,
            "edited",
        ),
        (
            "a deleted middle",
            |db, id, _| {
                change(
                    db,
                    "DELETE FROM events WHERE debate_id = ?1 AND seq = 12",
                    id,
                )
            },
            12,
            "deleted",
        ),
        (
            "a deleted tail",
            |db, id, _| {
                change(
                    db,
                    "DELETE FROM events WHERE debate_id = ?1 AND seq > 20",
                    id,
                )
            },
            21,
            "truncated",
        ),
        (
            "a hash that is none",
            |db, id, _| {
                change(
                    db,
                    "UPDATE events SET hash = x'00' WHERE debate_id = ?1 AND seq = 6",
                    id,
                )
            },
            6,
            "edited",
        ),
        (
            "a text that is none",
            |db, id, _| {
                change(
                    db,
                    "UPDATE events SET data = CAST(x'ff7b' AS TEXT) WHERE debate_id = ?1 AND seq = \
                     6",
                    id,
                )
            },
            6,
            "edited",
        ),
        (
            "a checkpoint that is none",
            |db, id, _| {
                change(
                    db,
                    "UPDATE checkpoints SET head = x'00' WHERE debate_id = ?1",
                    id,
                )
            },
            26,
            "edited",
        ),
        ("two swapped", swap, 6, "reordered"),
        ("one from another debate", splice, 6, "spliced"),
        ("everything hashed anew", rehash, 26, "rehashed"),
    ];
    for (name, tamper, seq, kind) in rows {
        let rebut = Rebut::new();
        rebut.write("debate.md", &script_of(&split_then_c()));
        let ids = [(); 2].map(|()| {
            rebut.json(0, &case(&["--json"]))["debate_id"]
                .as_str()
                .expect("an id")
                .parse::<DebateId>()
                .expect("an id")
        });
        let (id, other) = (ids[0].to_string(), ids[1].to_string());
        rebut.expect(0, &["audit", "verify", "--all"]);
        let database = Connection::open(rebut.data().join("rebut.db")).expect("the database");
        tamper(&database, &ids[0], &ids[1]);
        drop(database);
        let audit = rebut.json(1, &["audit", "verify", &id, "--json"]);
        let first = &audit[0]["problems"][0];
        assert_eq!(
            (first["seq"].as_u64(), first["kind"].as_str()),
            (Some(seq), Some(kind)),
            "{name}: {audit:#}"
        );
        if name == "a deleted middle" {
            assert_eq!(
                audit[0]["problems"].as_array().map(Vec::len),
                Some(1),
                "its end is there: {audit:#}"
            );
        }
        let text = rebut.expect(1, &["audit", "verify", "--all"]);
        assert!(
            text.contains(&format!("{} DAMAGED\n  at event {seq}: {kind}: ", &id[..8])),
            "{name}: {text}"
        );
        assert!(
            text.contains(&format!("{} ok", &other[..8])),
            "{name}: the other debate is whole: {text}"
        );
        rebut.expect(0, &["rm", &id]);
        rebut.expect(0, &["audit", "verify", "--all"]);
    }
}

type TamperFile = fn(&mut Vec<String>, &[String]);

/// The same in an exported file. Line 0 is the heading, so that event 6 is line 6.
#[test]
fn tampering_with_a_file_is_found_and_its_place_named() {
    let rows: [(&str, TamperFile, u64, &str); 7] = [
        (
            "a line deleted",
            |lines, _| drop(lines.remove(12)),
            12,
            "deleted",
        ),
        (
            "the end cut",
            |lines, _| lines.truncate(21),
            21,
            "truncated",
        ),
        (
            "two lines swapped",
            |lines, _| lines.swap(6, 7),
            6,
            "reordered",
        ),
        (
            "a line moved",
            |lines, _| {
                let line = lines.remove(20);
                lines.insert(6, line)
            },
            6,
            "reordered",
        ),
        (
            "a line of another file in its place",
            |lines, other| lines[6] = other[6].clone(),
            6,
            "spliced",
        ),
        (
            "a line of another file added",
            |lines, other| lines.insert(6, other[6].clone()),
            6,
            "spliced",
        ),
        (
            "a line twice",
            |lines, _| lines.insert(7, lines[6].clone()),
            6,
            "spliced",
        ),
    ];
    let rebut = Rebut::new();
    rebut.write("debate.md", &script_of(&split_then_c()));
    for name in ["one.ndjson", "other.ndjson"] {
        rebut.expect(0, &case(&["-o", name]));
        rebut.expect(0, &["audit", "verify", name]);
    }
    let [one, other] = ["one.ndjson", "other.ndjson"].map(|name| {
        rebut
            .read(name)
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    for (name, tamper, seq, kind) in rows {
        let mut lines = one.clone();
        tamper(&mut lines, &other);
        rebut.write("changed.ndjson", &(lines.join("\n") + "\n"));
        let audit = rebut.json(1, &["audit", "verify", "changed.ndjson", "--json"]);
        let first = &audit[0]["problems"][0];
        assert_eq!(
            (first["seq"].as_u64(), first["kind"].as_str()),
            (Some(seq), Some(kind)),
            "{name}: {audit:#}"
        );
        assert_ne!(
            rebut.run(&["import", "changed.ndjson"]).code,
            0,
            "{name}: it is not taken in"
        );
    }
    // Without a checkpoint only the heading knows how many there were.
    let unsealed = one[0].replacen(
        &one[0][one[0].find("\"checkpoints\"").expect("checkpoints")..],
        "\"checkpoints\":[]}",
        1,
    );
    rebut.write(
        "changed.ndjson",
        &(std::iter::once(unsealed.as_str())
            .chain(one[1..21].iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join("\n")
            + "\n"),
    );
    let text = rebut.expect(1, &["audit", "verify", "changed.ndjson"]);
    assert!(
        text.contains("at event 21: truncated: the heading announces 26 events, the file has 20"),
        "{text}"
    );
    rebut.write(
        "changed.ndjson",
        &one.join("\n")
            .replacen("{\"v\":1,\"seq\":6,", "{\"v\":1,\"seq\":6", 1),
    );
    let broken = rebut.run(&["audit", "verify", "changed.ndjson"]);
    assert!(
        broken.code == 1 && broken.stderr.contains("damaged: line 7: "),
        "{}",
        broken.stderr
    );
    assert_eq!(
        rebut.run(&["audit", "verify", "debate.md"]).code,
        2,
        "that is no journal at all"
    );
}

#[test]
fn a_noted_head_finds_a_journal_replaced_as_a_whole() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script_of(&split_then_c()));
    let id = rebut.json(0, &case(&["--json"]))["debate_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let head = rebut.json(0, &["audit", "verify", &id, "--json"])[0]["head"]
        .as_str()
        .expect("a hash")
        .to_owned();
    rebut.expect(0, &["audit", "verify", &id, "--head", &head]);
    rebut.expect(1, &["audit", "verify", &id, "--head", &"0".repeat(64)]);
    rebut.expect(2, &["audit", "verify", &id, "--head", "abc"]);
}

#[test]
fn a_redacted_text_is_gone_and_the_chain_still_holds() {
    let rebut = Rebut::new();
    let mut replies = split_then_c();
    replies[1].1 = replies[1]
        .1
        .replacen('{', r#"{"aside":"canary in the reply","#, 1);
    rebut.write("debate.md", &script_of(&replies));
    let id = rebut.json(0, &case(&["--json"]))["debate_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    std::fs::remove_file(rebut.path("debate.md")).expect("the script");
    assert!(rebut.holds("canary in the reply"));
    let events = rebut.events(&id);
    let said = events
        .iter()
        .find(|event| {
            event["data"]["turn"] == "recommend/value" && event["type"] == "turn.completed"
        })
        .expect("said");
    let seq = said["seq"].to_string();
    rebut.expect(2, &["audit", "redact", &id, "99", "--reason", "x"]);
    rebut.expect(2, &["audit", "redact", &id, "1", "--reason", "x"]);
    let before = rebut.json(0, &["show", &id, "--json"]);
    let redacted = rebut.run(&[
        "audit",
        "redact",
        &id,
        &seq,
        "--reason",
        "a name slipped in",
    ]);
    assert_eq!(redacted.code, 0, "{}", redacted.stderr);
    let held = |event: &&serde_json::Value| {
        event["data"].to_string().contains("B is best") && event["seq"] != said["seq"]
    };
    let quoting: Vec<String> = events
        .iter()
        .filter(held)
        .map(|event| event["seq"].to_string())
        .collect();
    assert!(
        redacted
            .stderr
            .contains(&format!("events {} still quote it", quoting.join(", "))),
        "{quoting:?}: {}",
        redacted.stderr
    );
    let after = rebut.json(0, &["show", &id, "--json"]);
    assert_eq!(
        (&after["usage"], &after["result"]),
        (&before["usage"], &before["result"]),
        "what is counted is kept"
    );
    assert!(
        !rebut.holds("canary in the reply"),
        "the text is gone from every file"
    );
    let text = rebut.expect(0, &["audit", "verify", &id]);
    assert!(
        text.contains("27 events, sealed to 27, 1 redacted"),
        "{text}"
    );
    assert!(
        rebut
            .expect(0, &["show", &id])
            .contains("RECOMMENDED  C Limited offline, 2 of 3")
    );
    for reading in [
        &["show", &id, "--transcript"][..],
        &["export", &id, "-f", "adr"],
        &["export", &id, "-f", "markdown"],
    ] {
        let text = rebut.expect(0, reading);
        assert!(
            text.contains(&format!(
                "> Redacted: what events {seq} said is missing here."
            )),
            "{reading:?}: {text}"
        );
    }
    assert_eq!(after["redacted"], serde_json::json!([said["seq"]]));
    let refused = rebut.run(&["replay", &id]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("has redacted events"),
        "{}",
        refused.stderr
    );
}

/// An end is an end, also when nobody may read any more how it was.
#[test]
fn a_redacted_end_is_still_an_end() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script_of(&split_then_c()));
    let id = rebut.json(0, &case(&["--json"]))["debate_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let events = rebut.events(&id);
    let changed = events
        .iter()
        .find(|event| event["type"] == "position.changed")
        .expect("a change")["seq"]
        .to_string();
    for seq in ["26", &changed] {
        rebut.expect(0, &["audit", "redact", &id, seq, "--reason", "x"]);
    }
    let text = rebut.expect(0, &["show", &id]);
    assert!(
        text.contains("REDACTED  it ended consensus; the rest of its end was redacted"),
        "{text}"
    );
    assert!(
        !text.contains("NOT ENDED")
            && text.contains(&format!(
                "redacted: what events {changed}, 26 said is missing here"
            )),
        "{text}"
    );
    let json = rebut.json(0, &["show", &id, "--json"]);
    assert_eq!(
        (&json["outcome"], &json["usage"]["answers"]),
        (&"redacted".into(), &6.into()),
        "{json:#}"
    );
    assert_eq!(rebut.json(0, &["ls", "--json"])[0]["status"], "completed");
    rebut.expect(0, &["audit", "verify", "--all"]);
    for form in ["html", "md"] {
        rebut.expect(0, &["export", &id, "-f", form]);
    }
    let rows: [(&[&str], &str); 5] = [
        (&["resume"], "has ended: redacted; nothing to resume"),
        (&["cancel"], "it has already ended: redacted"),
        (&["replay"], "has redacted events"),
        (
            &["export", "-f", "adr"],
            "the debate ended redacted; there is no decision to record",
        ),
        (
            &["export", "-f", "yaml"],
            "it ended consensus; the rest of its end was redacted",
        ),
    ];
    for (args, says) in rows {
        let refused = rebut.run(&[&args[..1], &[&id], &args[1..]].concat());
        assert!(
            refused.code == 2 && refused.stderr.contains(says),
            "{args:?}: {}",
            refused.stderr
        );
    }
    // Elsewhere it is listed as it is here.
    rebut.expect(0, &["export", &id, "-o", "j.ndjson"]);
    let other = Rebut::new();
    other.write("j.ndjson", &rebut.read("j.ndjson"));
    other.expect(0, &["import", "j.ndjson", "--trust"]);
    assert_eq!(
        other.json(0, &["ls", "--json"])[0]["outcome"],
        rebut.json(0, &["ls", "--json"])[0]["outcome"]
    );
}

fn change(db: &Connection, sql: &str, id: &DebateId) {
    let changed = db.execute(sql, [id.as_bytes()]).expect("valid SQL");
    assert!(changed > 0, "{sql} changed nothing");
}

fn swap(db: &Connection, id: &DebateId, _: &DebateId) {
    for (from, to) in [(6, -1), (7, 6), (-1, 7)] {
        let moved = db.execute(
            "UPDATE events SET seq = ?3 WHERE debate_id = ?1 AND seq = ?2",
            params![id.as_bytes(), from, to],
        );
        assert_eq!(moved.expect("valid SQL"), 1);
    }
}

fn splice(db: &Connection, id: &DebateId, other: &DebateId) {
    let sql = "UPDATE events SET (ts, data, salt, digest, prev, hash) =
        (SELECT ts, data, salt, digest, prev, hash FROM events WHERE debate_id = ?2 AND seq = 6) WHERE debate_id = ?1 AND seq = 6";
    assert_eq!(
        db.execute(sql, params![id.as_bytes(), other.as_bytes()])
            .expect("valid SQL"),
        1
    );
}

/// Changes a text, then makes the chain whole again, as somebody who knows the format would.
fn rehash(db: &Connection, id: &DebateId, _: &DebateId) {
    let mut rows = db
        .prepare(
            "SELECT seq, ts, type, round, phase, agent, data, salt FROM events WHERE \
            debate_id = ?1 ORDER BY seq",
        )
        .expect("SQL");
    let records: Vec<Record> = rows
        .query_map([id.as_bytes()], |row| {
            Ok(Record {
                debate: *id,
                seq: row.get::<_, i64>(0)?.unsigned_abs(),
                ts: row.get(1)?,
                kind: row.get::<_, String>(2)?.into(),
                round: row.get(3)?,
                phase: row.get::<_, Option<String>>(4)?.map(Into::into),
                agent: row.get::<_, Option<String>>(5)?.map(Into::into),
                data: row.get::<_, String>(6)?.replace("A is best", "B is best"),
                salt: row.get(7)?,
                digest: Hash::default(),
                prev: Hash::default(),
                hash: Hash::default(),
            })
        })
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("records");
    let mut head = Hash::default();
    for mut record in records {
        record.prev = head;
        record.digest = record.compute_digest();
        record.hash = record.compute_hash();
        head = record.hash;
        let sql = "UPDATE events SET data = ?3, digest = ?4, prev = ?5, hash = ?6 WHERE debate_id \
            = ?1 AND seq = ?2";
        let changed = db.execute(
            sql,
            params![
                id.as_bytes(),
                record.seq as i64,
                record.data,
                record.digest.0,
                record.prev.0,
                record.hash.0
            ],
        );
        assert_eq!(changed.expect("valid SQL"), 1);
    }
}
