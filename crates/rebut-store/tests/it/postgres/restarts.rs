//! A server that goes away: what was acknowledged stays, nothing is written twice, whoever asks is
//! told to ask again.

use super::{connect, first, journal};
use rebut_engine::{
    DebateId,
    memory_store::MemoryStore,
    store::{Filter, Store, StoreError},
};
use rebut_store::PostgresStore;
use rebut_testkit::{
    cases::Case,
    conformance::{append_of, more_records},
    interposed::Interposed,
    postgres::{Cluster, PASSWORD},
};
use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A store whose server crashes during every third append.
fn unlucky(store: PostgresStore, cluster: &Arc<Cluster>, appends: &Arc<AtomicUsize>) -> Interposed {
    let (cluster, appends) = (cluster.clone(), appends.clone());
    Interposed::new(store, move |store, append| {
        let (cluster, number) = (cluster.clone(), appends.fetch_add(1, Ordering::Relaxed));
        Box::pin(async move {
            if number % 3 != 1 {
                return store.append(append).await;
            }
            let crashing = cluster.clone();
            let crash = tokio::task::spawn_blocking(move || crashing.crash());
            let (appended, crashed) = tokio::join!(store.append(append), crash);
            crashed.expect("it crashes");
            // On the thread that lives as long as the test, as the server does.
            cluster.run();
            appended
        })
    })
}

#[tokio::test]
async fn debates_go_on_when_the_server_crashes_under_them() {
    let cluster = Arc::new(Cluster::start());
    let url = cluster.database();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rebut-engine/tests/cases");
    for name in ["decide/three-rounds", "solve/reflexion", "review/two-pairs"] {
        let case = Case::read(&cases.join(name));
        let (_, undisturbed) = case.run(Arc::new(MemoryStore::new())).await.expect(name);
        let appends = Arc::new(AtomicUsize::new(0));
        let unlucky = Arc::new(unlucky(connect(&url).await, &cluster, &appends));
        let (id, ran) = case.run(unlucky.clone()).await.expect(name);
        assert!(appends.load(Ordering::Relaxed) > 9, "{name} was disturbed");
        assert_eq!(
            (&ran.outcome, &ran.calls, &ran.runs),
            (&undisturbed.outcome, &undisturbed.calls, &undisturbed.runs),
            "{name}"
        );
        let records = journal(&*unlucky, id).await;
        let mut prev = Default::default();
        for (record, seq) in records.iter().zip(1..) {
            assert_eq!(
                (record.seq, record.prev, record.hash),
                (seq, prev, record.compute_hash()),
                "{name}"
            );
            prev = record.hash;
        }
        let completed = records
            .iter()
            .filter(|record| record.kind == "turn.completed");
        let turns: Vec<String> = completed
            .map(|record| record.data.split('"').nth(3).unwrap_or_default().to_owned())
            .collect();
        assert_eq!(
            turns.iter().collect::<BTreeSet<_>>().len(),
            turns.len(),
            "{name}: {turns:?}"
        );
        assert_eq!(unlucky.runner(id).await, Ok(None), "{name} was let go of");
    }
}

#[tokio::test]
async fn a_server_that_is_away_is_waited_for_by_nobody_here() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let store = connect(&url).await;
    let debate = DebateId::new();
    let records = more_records(debate, &[], 3, "text");
    store
        .append(append_of(debate, &records[..1]))
        .await
        .expect("append");
    cluster.crash();
    let append = || store.append(append_of(debate, &records[1..2]));
    let answer = append().await;
    assert!(
        matches!(answer, Err(StoreError::Unavailable(_))),
        "it may have been written: {answer:?}"
    );
    let answer = append().await;
    let Err(StoreError::Unwritable(why)) = &answer else {
        panic!("nothing was sent: {answer:?}")
    };
    assert!(!why.contains(PASSWORD), "{why}");
    assert!(
        store
            .check_writable()
            .await
            .is_err_and(|error| error.is_passing())
    );
    let away = [
        store.load(debate, 0).await.map(drop),
        store.sessions(&Filter::default()).await.map(drop),
        store.runner(debate).await.map(drop),
        PostgresStore::connect(&url).await.map(drop),
    ];
    for answer in away {
        let Err(StoreError::Unavailable(why)) = &answer else {
            panic!("{answer:?}")
        };
        assert!(!why.contains(PASSWORD), "{why}");
    }
    cluster.run();
    append()
        .await
        .expect("it is back, and a new connection is made");
    store.check_writable().await.expect("it takes changes");
    assert_eq!(journal(&store, debate).await, records[..2]);
    // Closed from the other side, with the next in line only reading: as after a failover.
    let name = url.rsplit('/').next().expect("a name");
    let end = format!(
        "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE datname = \
         '{name}'"
    );
    cluster.ask(
        "postgres",
        &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"),
    );
    cluster.ask("postgres", &end);
    let broke = store.append(append_of(debate, &records[2..])).await;
    assert!(
        broke.is_err_and(|error| error.is_passing()),
        "the connection is closed"
    );
    for _ in 0..3 {
        for answer in [
            store.append(append_of(debate, &records[2..])).await,
            store.check_writable().await,
        ] {
            assert!(
                matches!(answer, Err(StoreError::Unwritable(_))),
                "{answer:?}"
            );
        }
    }
    let found = store.load(debate, 0).await.or(store.load(debate, 0).await);
    assert_eq!(found, Ok(records[..2].to_vec()), "reading goes on");
    cluster.ask(
        "postgres",
        &format!("ALTER DATABASE {name} RESET default_transaction_read_only"),
    );
    store.check_writable().await.expect("a primary again");
    store
        .append(append_of(debate, &records[2..]))
        .await
        .expect("a primary again");
    assert_eq!(journal(&store, debate).await, records);
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_crash_of_the_server() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let store = connect(&url).await;
    let debates: Vec<DebateId> = (0..30).map(|_| DebateId::new()).collect();
    for debate in &debates {
        store.append(first(*debate, 2)).await.expect("append");
    }
    // Nothing else was asked of it, and no time passed.
    cluster.crash();
    cluster.run();
    assert_eq!(cluster.ask(&url, "SELECT count(*) FROM rebut.events"), "60");
}
