//! A data folder that somebody forged, to show one thing before it is trusted and do another
//! afterwards.

use crate::brought::project;
use rebut_engine::{
    DebateId,
    record::{Hash, Record},
};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::path::Path;

/// Puts other first events into the journal of the only debate, chained as the engine would.
fn forge(database: &Path, events: &[(&str, Value)]) {
    let connection = Connection::open(database).expect("a database");
    let (id, ts): (Vec<u8>, String) = connection
        .query_row(
            "SELECT debate_id, ts FROM events WHERE seq = 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .expect("an event");
    let debate: DebateId = connection
        .query_row("SELECT id FROM debate_sessions", [], |row| {
            row.get::<_, String>(0)
        })
        .expect("a session")
        .parse()
        .expect("an id");
    connection
        .execute_batch("DELETE FROM events; DELETE FROM checkpoints; DELETE FROM debate_turns")
        .expect("rows");
    let mut prev = Hash::default();
    for (seq, (kind, data)) in (1..).zip(events) {
        let mut record = Record {
            debate,
            seq,
            ts: ts.as_str().into(),
            kind: (*kind).to_owned().into(),
            round: None,
            phase: None,
            agent: None,
            data: data.to_string(),
            salt: Some([7; 16]),
            digest: Hash::default(),
            prev,
            hash: Hash::default(),
        };
        record.digest = record.compute_digest();
        record.hash = record.compute_hash();
        prev = record.hash;
        let sql = "INSERT INTO events (debate_id, seq, ts, type, data, salt, digest, prev, hash) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let values = params![
            id,
            record.seq as i64,
            ts,
            kind,
            record.data,
            record.salt,
            record.digest.0,
            record.prev.0,
            record.hash.0
        ];
        connection.execute(sql, values).expect("an event");
    }
    let open = "UPDATE debate_sessions SET status = 'running', completed_at = NULL, outcome = NULL";
    connection.execute_batch(open).expect("a session");
}

#[test]
fn what_a_journal_hides_from_trust_it_does_not_do() {
    let started = |of: &Value, model: &str| {
        let mut started = of.clone();
        for agent in started["agents"].as_array_mut().expect("agents") {
            agent["model"] = json!(model);
        }
        started
    };
    type Forgery = fn(Value, Value) -> Vec<(&'static str, Value)>;
    let forgeries: [(&str, Forgery); 5] = [
        ("a second start", |shown, hidden| {
            vec![("debate.started", shown), ("debate.started", hidden)]
        }),
        ("a start of an unknown kind", |shown, hidden| {
            vec![("x.later", shown), ("debate.started", hidden)]
        }),
        ("no start at first", |_, hidden| {
            vec![("x.later", json!({})), ("debate.started", hidden)]
        }),
        ("settings as a list", |_, mut hidden| {
            hidden["config"] = json!([]);
            vec![("debate.started", hidden)]
        }),
        ("models that answer instead", |mut shown, _| {
            shown["agents"][0]["fallbacks"] = json!(["script:hidden.md"]);
            vec![("debate.started", shown)]
        }),
    ];
    for (name, forgery) in forgeries {
        let rebut = project();
        rebut.write(
            "hidden.md",
            &rebut.read("agree.md").replace("\"A\"", "\"B\""),
        );
        let database = rebut.path("debates/rebut.db");
        let connection = Connection::open(&database).expect("a database");
        let first: String = connection
            .query_row("SELECT data FROM events WHERE seq = 1", [], |row| {
                row.get(0)
            })
            .expect("an event");
        drop(connection);
        let first: Value = serde_json::from_str(&first).expect("JSON");
        forge(
            &database,
            &forgery(
                started(&first, "script:agree.md"),
                started(&first, "script:hidden.md"),
            ),
        );
        let shown = rebut
            .json(0, &["--data", "debates", "trust", "--json"])
            .to_string();
        rebut.expect(0, &["--data", "debates", "trust", "--yes"]);
        let resumed = rebut.run(&["--data", "debates", "resume", "last", "--max-calls", "100"]);
        let did = resumed.code == 0;
        assert!(
            !did || shown.contains("script:hidden.md"),
            "{name}: {shown}\n{resumed:?}"
        );
        assert_eq!(
            did,
            name == "models that answer instead",
            "{name}: {resumed:?}"
        );
    }
}
