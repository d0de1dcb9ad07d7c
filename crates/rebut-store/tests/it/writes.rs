//! Writing: what is derived lands with the journal, one bad append fails alone, a failed commit
//! stops everything, and removed text is gone from the file.

use crate::{ask, database, journal, open, refuse_commits_of_others};
use rebut_engine::{
    DebateId,
    facts::{CodeMetrics, CodeRecorded},
    projection::{Made, OfTurn, Projection, TurnList},
    store::{Append, Durability, Filter, Status, Store, StoreError},
};
use rebut_testkit::conformance::{append_of, behind, conflict, more_records, session_of, turn_of};
use std::{fs, path::Path, sync::Arc};

#[tokio::test]
async fn tables_for_people_have_the_promised_columns() {
    let (_folder, path) = database();
    let store = open(&path);
    let debate: DebateId = "0b7c1d7e-0000-4000-8000-00000000000a"
        .parse()
        .expect("an id");
    let full = Append {
        session: Some(Box::new(session_of(debate, "2026", Status::Running))),
        turns: vec![turn_of(1, "one"), turn_of(2, r#"{"confidence":0.75}"#)],
        ..append_of(debate, &more_records(debate, &[], 2, "text"))
    };
    store.append(full).await.expect("append");
    let connection = rusqlite::Connection::open(&path).expect("the file opens");
    let columns = |table: &str| {
        let statement = connection
            .prepare(&format!("SELECT * FROM {table}"))
            .expect(table);
        statement.column_names().collect::<Vec<_>>().join(" ")
    };
    let expected = [
        (
            "debate_sessions",
            "id debate_id topic status topology_type coordination_protocol config initiated_by \
             created_at updated_at completed_at \
             total_rounds final_consensus_score outcome format rehearsal",
        ),
        (
            "debate_turns",
            "id session_id round phase agent_id agent_role provider model content confidence \
             tool_calls test_results reflections \
             metadata created_at response_time_ms seq turn",
        ),
        (
            "code_versions",
            "id session_id turn_id language code version_number quality_score test_pass_rate \
             metrics diff_from_previous created_at",
        ),
        ("debate_logs", "id debate_id kind entry created_at"),
    ];
    for (table, names) in expected {
        assert_eq!(columns(table), names, "{table}");
    }
    for (sql, expected) in [
        (
            "SELECT count(*) FROM debate_sessions WHERE id = debate_id AND id = \
             '0b7c1d7e-0000-4000-8000-00000000000a'",
            1,
        ),
        (
            "SELECT count(*) FROM debate_turns JOIN debate_sessions s ON session_id = s.id WHERE \
             content IN ('one', '{\"confidence\":0.75}')",
            2,
        ),
        (
            "SELECT count(*) FROM debate_turns WHERE id = '0b7c1d7e-0000-4000-8000-00000000000a/2' \
             AND seq = 2 AND confidence = 0.75",
            1,
        ),
    ] {
        assert_eq!(ask(&path, sql), expected, "{sql}");
    }
}

#[tokio::test]
async fn a_bad_append_fails_alone() {
    let (_folder, path) = database();
    let store = Arc::new(open(&path));
    let spawn = |append: Append| {
        let store = store.clone();
        tokio::spawn(async move { store.append(append).await })
    };
    // One thread runs the tasks, so that all are sent before the first answer: they share a
    // transaction.
    let debates: Vec<DebateId> = (0..50).map(|_| DebateId::new()).collect();
    let mut tasks = Vec::new();
    for (at, debate) in debates.iter().enumerate() {
        let records = more_records(*debate, &[], 2, "text");
        let good = Append {
            turns: vec![turn_of(1, "said")],
            ..append_of(*debate, &records)
        };
        tasks.push(spawn(match at % 5 {
            // The same turn twice breaks a rule of the database, after the records were written.
            3 => Append {
                turns: vec![turn_of(1, "said"), turn_of(1, "said")],
                ..good
            },
            4 => Append {
                after: 7,
                records: Vec::new(),
                ..good
            },
            _ => good,
        }));
    }
    let misnumbered = Append {
        after: 0,
        ..append_of(debates[3], &more_records(debates[3], &[], 2, "text")[1..])
    };
    tasks.push(spawn(misnumbered));
    for (at, task) in tasks.into_iter().enumerate() {
        let result = task.await.expect("no panic");
        match at {
            50 => {
                assert!(matches!(&result, Err(StoreError::Failed(why)) if why.contains("number 1")))
            }
            _ if at % 5 == 3 => assert!(
                matches!(&result, Err(StoreError::Failed(why)) if why.contains("UNIQUE")),
                "{at}: {result:?}"
            ),
            _ if at % 5 == 4 => assert_eq!(result, Err(conflict(debates[at], &[]))),
            _ => assert_eq!(result, Ok(()), "{at}"),
        }
    }
    for (at, debate) in debates.iter().enumerate() {
        assert_eq!(
            journal(&store, *debate).await.len(),
            if at % 5 < 3 { 2 } else { 0 },
            "{at}"
        );
    }
    assert_eq!(ask(&path, "SELECT count(*) FROM debate_turns"), 30);
}

#[tokio::test]
async fn a_commit_that_fails_fails_alone() {
    let (_folder, path) = database();
    let store = Arc::new(open(&path));
    let (healthy, doomed) = (DebateId::new(), DebateId::new());
    refuse_commits_of_others(&path, healthy);
    let records = more_records(healthy, &[], 1, "fine");
    store
        .append(append_of(healthy, &records))
        .await
        .expect("append");
    let both = [
        append_of(doomed, &more_records(doomed, &[], 1, "doom")),
        append_of(
            healthy,
            &more_records(healthy, &records, 1, "in the same boat"),
        ),
    ]
    .map(|append| {
        let store = store.clone();
        tokio::spawn(async move { store.append(append).await })
    });
    let [doomed, healthy_too] = both;
    let refused = doomed.await.expect("no panic");
    assert!(
        matches!(&refused, Err(StoreError::Failed(why)) if why.contains("FOREIGN KEY")),
        "{refused:?}"
    );
    healthy_too
        .await
        .expect("no panic")
        .expect("what breaks no rule is written");
    let records = journal(&store, healthy).await;
    assert_eq!(records.len(), 2);
    store
        .append(append_of(
            healthy,
            &more_records(healthy, &records, 1, "later"),
        ))
        .await
        .expect("and so is what comes later");
}

fn traces(path: &Path, canary: &str) -> Vec<String> {
    let files = fs::read_dir(path.parent().expect("a parent"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let holds = |path: &Path| {
        path.is_file()
            && fs::read(path)
                .expect("bytes")
                .windows(canary.len())
                .any(|part| part == canary.as_bytes())
    };
    files
        .filter(|path| holds(path))
        .map(|path| path.display().to_string())
        .collect()
}

#[tokio::test]
async fn removed_text_leaves_the_file() {
    let (_folder, path) = database();
    let store = open(&path);
    let long = |canary: &str| format!("{canary} {}", "pad ".repeat(3000));
    let debates: Vec<DebateId> = (0..30).map(|_| DebateId::new()).collect();
    for (at, debate) in debates.iter().enumerate() {
        let text = if at % 2 == 0 {
            format!("canary-{at}-event")
        } else {
            long(&format!("canary-{at}-event"))
        };
        let records = more_records(*debate, &[], 3, &text);
        let mut session = session_of(*debate, &format!("{at}"), Status::Running);
        session.topic = format!("canary-{at}-topic");
        let turns = vec![turn_of(2, &format!("canary-{at}-turn"))];
        store
            .append(Append {
                session: Some(Box::new(session.clone())),
                turns,
                ..append_of(*debate, &records)
            })
            .await
            .expect("append");
        // The row grows, so that its first place becomes free.
        session.outcome = Some(long("outcome"));
        store
            .append(Append {
                session: Some(Box::new(session)),
                ..behind(*debate, &records)
            })
            .await
            .expect("append");
    }
    for at in [4, 7] {
        let records = journal(&store, debates[at]).await;
        assert!(
            !traces(&path, &format!("canary-{at}-event 2")).is_empty() || at == 7,
            "it was there"
        );
        let report = more_records(debates[at], &records, 1, "report");
        store
            .redact(records[1].tombstone(), append_of(debates[at], &report))
            .await
            .expect("redact");
        assert_eq!(
            traces(&path, &format!("canary-{at}-turn")),
            [""; 0],
            "the turn of {at}"
        );
    }
    assert_eq!(traces(&path, "canary-4-event 2"), [""; 0]);
    assert!(
        !traces(&path, "canary-4-event 1").is_empty(),
        "its neighbours stay"
    );
    assert!(!traces(&path, "canary-9-topic").is_empty(), "others stay");
    for at in [5, 6, 12] {
        store.remove(debates[at]).await.expect("remove");
        for what in ["event", "turn", "topic"] {
            assert_eq!(
                traces(&path, &format!("canary-{at}-{what}")),
                [""; 0],
                "{what} of {at}"
            );
        }
    }
    assert_eq!(ask(&path, "SELECT count(*) FROM debate_sessions"), 27);
    assert_eq!(
        ask(
            &path,
            "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"
        ),
        0
    );
}

#[tokio::test]
async fn code_and_lists_leave_the_file_with_their_events() {
    let (_folder, path) = database();
    let store = open(&path);
    let long = |canary: &str| format!("{canary} {}", "pad ".repeat(3000));
    let code = |seq: u64| CodeRecorded {
        version: u32::try_from(seq).expect("small"),
        candidate: "risk".into(),
        turn: "recommend/risk".into(),
        language: "python".to_owned(),
        code: long(&format!("canary-code-{seq}")),
        tests: None,
        quality: None,
        metrics: CodeMetrics::default(),
        diff: format!("canary-diff-{seq}"),
    };
    let left = |seq: u64, made: Made| Projection {
        seq,
        created_at: "2026".into(),
        made,
    };
    let entry = |seq: u64| Made::Entry {
        list: TurnList::TestResults,
        of: OfTurn::LastOf("risk".into()),
        json: format!(
            r#"{{"seq":{seq},"text":"{}"}}"#,
            long(&format!("canary-entry-{seq}"))
        ),
    };
    let debate = DebateId::new();
    let full = Append {
        session: Some(Box::new(session_of(debate, "2026", Status::Completed))),
        turns: vec![turn_of(1, "said")],
        projections: vec![
            left(2, Made::Code(Arc::new(code(2)))),
            left(3, Made::Code(Arc::new(code(3)))),
            left(4, entry(4)),
            left(5, entry(5)),
        ],
        ..append_of(debate, &more_records(debate, &[], 5, "text"))
    };
    store.append(full).await.expect("append");
    for (seq, gone, stays) in [
        (2, ["canary-code-2", "canary-diff-2"], "canary-code-3"),
        (4, ["canary-entry-4"; 2], "canary-entry-5"),
    ] {
        let records = journal(&store, debate).await;
        assert!(
            gone.iter().all(|canary| !traces(&path, canary).is_empty()),
            "it was there"
        );
        let report = more_records(debate, &records, 1, "report");
        store
            .redact(records[seq - 1].tombstone(), append_of(debate, &report))
            .await
            .expect("redact");
        gone.iter()
            .for_each(|canary| assert_eq!(traces(&path, canary), [""; 0], "{canary}"));
        assert!(!traces(&path, stays).is_empty(), "{stays} stays");
    }
    store.remove(debate).await.expect("remove");
    assert_eq!(traces(&path, "canary"), [""; 0]);
}

#[tokio::test]
async fn removed_text_leaves_the_log_once_readers_let_go() {
    let (_folder, path) = database();
    let store = open(&path);
    let debate = DebateId::new();
    store
        .append(append_of(debate, &more_records(debate, &[], 1, "canary")))
        .await
        .expect("append");
    let reader = rusqlite::Connection::open(&path).expect("opens");
    reader
        .execute_batch("BEGIN; SELECT * FROM events")
        .expect("a reading that lasts");
    store
        .remove(debate)
        .await
        .expect("removal does not wait for readers");
    assert!(
        !traces(&path, "canary").is_empty(),
        "the reader still needs it"
    );
    reader.execute_batch("COMMIT").expect("the end of it");
    // Dropping finishes what was put off.
    drop((reader, store));
    assert_eq!(traces(&path, "canary"), [""; 0]);
}

#[tokio::test]
async fn a_power_append_of_nothing_is_still_answered() {
    let (_folder, path) = database();
    let store = open(&path);
    let debate = DebateId::new();
    let records = more_records(debate, &[], 1, "text");
    store
        .append(append_of(debate, &records))
        .await
        .expect("append");
    store
        .append(Append {
            durability: Durability::Power,
            ..behind(debate, &records)
        })
        .await
        .expect("a barrier");
    assert_eq!(journal(&store, debate).await, records);
    assert_eq!(store.sessions(&Filter::default()).await, Ok(vec![]));
}
