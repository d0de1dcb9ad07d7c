//! Tampering with the database itself: every kind of it is found and its place named. Redaction is not tampering.

use crate::rebut::{Rebut, case, script_of, split_then_c};
use rebut_engine::{
    DebateId,
    record::{Hash, Record},
};
use rusqlite::{Connection, params};

type Tamper = fn(&Connection, &DebateId, &DebateId);

#[test]
fn tampering_is_found_and_its_place_named() {
    let rows: [(&str, Tamper, u64, &str); 7] = [
        (
            "an edited text",
            |db, id, _| change(db, "UPDATE events SET data = replace(data, '0.8', '0.9') WHERE debate_id = ?1 AND seq = 6", id),
            6,
            "edited",
        ),
        (
            "an edited heading",
            |db, id, _| change(db, "UPDATE events SET agent = 'value' WHERE debate_id = ?1 AND seq = 6", id),
            6,
            "edited",
        ),
        ("a deleted middle", |db, id, _| change(db, "DELETE FROM events WHERE debate_id = ?1 AND seq = 12", id), 12, "deleted"),
        ("a deleted tail", |db, id, _| change(db, "DELETE FROM events WHERE debate_id = ?1 AND seq > 20", id), 21, "truncated"),
        ("two swapped", swap, 6, "reordered"),
        ("one from another debate", splice, 6, "spliced"),
        ("everything hashed anew", rehash, 26, "rehashed"),
    ];
    for (name, tamper, seq, kind) in rows {
        let rebut = Rebut::new();
        rebut.write("debate.md", &script_of(&split_then_c()));
        let ids =
            [(); 2].map(|()| rebut.json(0, &case(&["--json"]))["debate_id"].as_str().expect("an id").parse::<DebateId>().expect("an id"));
        let (id, other) = (ids[0].to_string(), ids[1].to_string());
        rebut.expect(0, &["audit", "verify", "--all"]);
        let database = Connection::open(rebut.data().join("rebut.db")).expect("the database");
        tamper(&database, &ids[0], &ids[1]);
        drop(database);
        let audit = rebut.json(1, &["audit", "verify", &id, "--json"]);
        let first = &audit[0]["problems"][0];
        assert_eq!((first["seq"].as_u64(), first["kind"].as_str()), (Some(seq), Some(kind)), "{name}: {audit:#}");
        let text = rebut.expect(1, &["audit", "verify", "--all"]);
        assert!(text.contains(&format!("{} DAMAGED\n  at event {seq}: {kind}: ", &id[..8])), "{name}: {text}");
        assert!(text.contains(&format!("{} ok", &other[..8])), "{name}: the other debate is whole: {text}");
        rebut.expect(0, &["rm", &id]);
        rebut.expect(0, &["audit", "verify", "--all"]);
    }
}

#[test]
fn a_noted_head_finds_a_journal_replaced_as_a_whole() {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script_of(&split_then_c()));
    let id = rebut.json(0, &case(&["--json"]))["debate_id"].as_str().expect("an id").to_owned();
    let head = rebut.json(0, &["audit", "verify", &id, "--json"])[0]["head"].as_str().expect("a hash").to_owned();
    rebut.expect(0, &["audit", "verify", &id, "--head", &head]);
    rebut.expect(1, &["audit", "verify", &id, "--head", &"0".repeat(64)]);
    rebut.expect(2, &["audit", "verify", &id, "--head", "abc"]);
}

#[test]
fn a_redacted_text_is_gone_and_the_chain_still_holds() {
    let rebut = Rebut::new();
    let mut replies = split_then_c();
    replies[1].1 = replies[1].1.replacen('{', r#"{"aside":"canary in the reply","#, 1);
    rebut.write("debate.md", &script_of(&replies));
    let id = rebut.json(0, &case(&["--json"]))["debate_id"].as_str().expect("an id").to_owned();
    std::fs::remove_file(rebut.path("debate.md")).expect("the script");
    assert!(rebut.holds("canary in the reply"));
    let events = rebut.events(&id);
    let said = events.iter().find(|event| event["data"]["turn"] == "recommend/value" && event["type"] == "turn.completed").expect("said");
    let seq = said["seq"].to_string();
    rebut.expect(2, &["audit", "redact", &id, "99", "--reason", "x"]);
    rebut.expect(2, &["audit", "redact", &id, "1", "--reason", "x"]);
    rebut.expect(0, &["audit", "redact", &id, &seq, "--reason", "a name slipped in"]);
    assert!(!rebut.holds("canary in the reply"), "the text is gone from every file");
    let text = rebut.expect(0, &["audit", "verify", &id]);
    assert!(text.contains("27 events, sealed to 27, 1 redacted"), "{text}");
    assert!(rebut.expect(0, &["show", &id]).contains("RECOMMENDED  C Limited offline, 2 of 3"));
    let refused = rebut.run(&["replay", &id]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("has redacted events"), "{}", refused.stderr);
}

fn change(db: &Connection, sql: &str, id: &DebateId) {
    let changed = db.execute(sql, [id.as_bytes()]).expect("valid SQL");
    assert!(changed > 0, "{sql} changed nothing");
}

fn swap(db: &Connection, id: &DebateId, _: &DebateId) {
    for (from, to) in [(6, -1), (7, 6), (-1, 7)] {
        let moved = db.execute("UPDATE events SET seq = ?3 WHERE debate_id = ?1 AND seq = ?2", params![id.as_bytes(), from, to]);
        assert_eq!(moved.expect("valid SQL"), 1);
    }
}

fn splice(db: &Connection, id: &DebateId, other: &DebateId) {
    let sql = "UPDATE events SET (ts, data, salt, digest, prev, hash) =
        (SELECT ts, data, salt, digest, prev, hash FROM events WHERE debate_id = ?2 AND seq = 6) WHERE debate_id = ?1 AND seq = 6";
    assert_eq!(db.execute(sql, params![id.as_bytes(), other.as_bytes()]).expect("valid SQL"), 1);
}

/// Changes a text, then makes the chain whole again, as somebody who knows the format would.
fn rehash(db: &Connection, id: &DebateId, _: &DebateId) {
    let mut rows =
        db.prepare("SELECT seq, ts, type, round, phase, agent, data, salt FROM events WHERE debate_id = ?1 ORDER BY seq").expect("SQL");
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
        let sql = "UPDATE events SET data = ?3, digest = ?4, prev = ?5, hash = ?6 WHERE debate_id = ?1 AND seq = ?2";
        let changed =
            db.execute(sql, params![id.as_bytes(), record.seq as i64, record.data, record.digest.0, record.prev.0, record.hash.0]);
        assert_eq!(changed.expect("valid SQL"), 1);
    }
}
