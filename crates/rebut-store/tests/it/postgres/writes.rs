//! Writing: many appends in few commits, one bad append fails alone, awkward texts, and what
//! removal leaves.

use super::{connect, first, journal};
use rebut_engine::{
    DebateId,
    projection::{Made, OfTurn, Projection, TurnList},
    store::{Append, Durability, Filter, Status, Store, StoreError},
};
use rebut_testkit::{
    conformance::{append_of, behind, conflict, more_records, session_of, turn_of},
    postgres::Cluster,
};
use std::sync::Arc;

#[tokio::test]
async fn a_thousand_appends_share_a_few_commits() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let store = Arc::new(connect(&url).await);
    let full = |debate| Append {
        session: Some(Box::new(session_of(debate, "2026", Status::Running))),
        turns: vec![turn_of(1, "said")],
        durability: Durability::Power,
        ..first(debate, 3)
    };
    let tasks: Vec<_> = (0..1000)
        .map(|_| full(DebateId::new()))
        .map(|append| (store.clone(), append))
        .collect();
    let tasks: Vec<_> = tasks
        .into_iter()
        .map(|(store, append)| tokio::spawn(async move { store.append(append).await }))
        .collect();
    for task in tasks {
        assert_eq!(task.await.expect("no panic"), Ok(()));
    }
    let counts = "SELECT count(*), (SELECT count(*) FROM rebut.debate_sessions), (SELECT count(*) \
        FROM rebut.debate_turns) FROM rebut.events";
    assert_eq!(cluster.ask(&url, counts), "3000|1000|1000");
    let commits: u32 = cluster
        .ask(&url, "SELECT count(DISTINCT xmin::text) FROM rebut.events")
        .parse()
        .expect("a number");
    assert!(commits < 10, "{commits}");
}

#[tokio::test]
async fn a_bad_append_fails_alone() {
    let cluster = Cluster::start();
    let store = Arc::new(connect(&cluster.database()).await);
    let spawn = |append: Append| {
        let store = store.clone();
        tokio::spawn(async move { store.append(append).await })
    };
    // One thread runs the tasks, so that all are sent before the first answer: they share a
    // transaction.
    let debates: Vec<DebateId> = (0..50).map(|_| DebateId::new()).collect();
    let mut tasks = Vec::new();
    for (at, debate) in debates.iter().enumerate() {
        let good = Append {
            turns: vec![turn_of(1, "said")],
            ..first(*debate, 2)
        };
        let broken = rebut_engine::store::Session {
            config: "{not JSON".to_owned(),
            ..session_of(*debate, "2026", Status::Running)
        };
        tasks.push(spawn(match at % 10 {
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
            8 => Append {
                session: Some(Box::new(broken)),
                ..good
            },
            _ => good,
        }));
    }
    for (at, task) in tasks.into_iter().enumerate() {
        let result = task.await.expect("no panic");
        match at % 10 {
            3 => assert!(
                matches!(&result, Err(StoreError::Failed(why)) if why.contains("23505")),
                "{at}: {result:?}"
            ),
            4 => assert_eq!(result, Err(conflict(debates[at], &[]))),
            8 => assert!(
                matches!(&result, Err(StoreError::Failed(why)) if why.contains("22P02")),
                "{at}: {result:?}"
            ),
            _ => assert_eq!(result, Ok(()), "{at}"),
        }
        assert_eq!(
            journal(&*store, debates[at]).await.len(),
            if result.is_ok() { 2 } else { 0 },
            "{at}"
        );
    }
}

#[tokio::test]
async fn the_character_zero_stays_in_the_journal_and_is_marked_in_tables() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let store = connect(&url).await;
    let debate = DebateId::new();
    let records = more_records(debate, &[], 4, "zero \0 here");
    let session = rebut_engine::store::Session {
        topic: "a\0b".to_owned(),
        config: r#"{"b":1,  "a":"\u0000","b":2}"#.to_owned(),
        ..session_of(debate, "2026", Status::Running)
    };
    let entry = |seq: u64| Projection {
        seq,
        created_at: "2026".into(),
        made: Made::Entry {
            list: TurnList::ToolCalls,
            of: OfTurn::LastOf("risk".into()),
            json: format!(r#"{{"seq":{seq},"x":"\u0000"}}"#),
        },
    };
    let full = Append {
        session: Some(Box::new(session.clone())),
        turns: vec![turn_of(1, "said\0")],
        projections: vec![entry(2), entry(3)],
        ..append_of(debate, &records)
    };
    store.append(full).await.expect("append");
    assert_eq!(journal(&store, debate).await, records);
    let shown = rebut_engine::store::Session {
        topic: "a\u{fffd}b".to_owned(),
        ..session
    };
    assert_eq!(
        store.sessions(&Filter::default()).await,
        Ok(vec![shown]),
        "and JSON comes back letter by letter"
    );
    assert_eq!(
        store
            .sessions(&Filter {
                topic: Some("\0".to_owned()),
                ..Filter::default()
            })
            .await,
        Ok(vec![])
    );
    let calls = || async {
        store.tables(debate).await.expect("tables").turns[0]
            .tool_calls
            .clone()
    };
    assert_eq!(
        calls().await.as_deref(),
        Some(r#"[{"seq":2,"x":"\u0000"},{"seq":3,"x":"\u0000"}]"#)
    );
    let report = more_records(debate, &records, 1, "report");
    store
        .redact(records[1].tombstone(), append_of(debate, &report))
        .await
        .expect("redact");
    assert_eq!(
        calls().await.as_deref(),
        Some(r#"[{"seq":3,"x":"\u0000"}]"#)
    );
    store.remove(debate).await.expect("remove");
    assert_eq!(
        cluster.ask(&url, "SELECT debate_id FROM rebut.removed"),
        debate.to_string(),
        "that there was one is all that is kept"
    );
    let tables = [
        "events",
        "checkpoints",
        "claims",
        "debate_sessions",
        "debate_turns",
        "code_versions",
        "debate_logs",
    ];
    for table in tables {
        assert_eq!(
            cluster.ask(&url, &format!("SELECT count(*) FROM rebut.{table}")),
            "0",
            "{table}"
        );
    }
}

#[tokio::test]
async fn an_append_of_nothing_is_still_answered() {
    let cluster = Cluster::start();
    let store = connect(&cluster.database()).await;
    let debate = DebateId::new();
    let append = first(debate, 1);
    let records = append.records.clone();
    store.append(append).await.expect("append");
    store
        .append(Append {
            durability: Durability::Power,
            ..behind(debate, &records)
        })
        .await
        .expect("a barrier");
    assert_eq!(
        store
            .remove(DebateId::new())
            .await
            .map_err(|error| matches!(error, StoreError::NotFound(_))),
        Err(true)
    );
}
