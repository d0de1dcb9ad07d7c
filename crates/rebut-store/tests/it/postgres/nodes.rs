//! Several nodes on one database: leases and their fencing, what nobody runs, hearing each other,
//! no waiting for each other.

use super::{claim, connect, first, journal};
use rebut_engine::{
    DebateId,
    store::{Append, Changed, Claim, Status, Store, StoreError},
};
use rebut_store::{PostgresOptions, PostgresStore};
use rebut_testkit::{
    conformance::{append_of, more_records, session_of},
    postgres::Cluster,
};
use std::{sync::Arc, time::Duration};

const BRIEF: Duration = Duration::from_millis(150);

/// A node whose leases last that long.
async fn leasing(url: &str, lease: Duration) -> PostgresStore {
    PostgresStore::connect_with(
        url,
        PostgresOptions {
            lease,
            ..PostgresOptions::default()
        },
    )
    .await
    .expect("opens")
}

const EXPIRE: &str = "UPDATE rebut.claims SET expires_at = clock_timestamp() - interval '1 second'";

#[tokio::test]
async fn who_is_not_heard_of_loses_its_debates_and_is_told() {
    let cluster = Cluster::start();
    let url = cluster.database();
    // The server has run for longer than a brief lease by now, and for less than a long one.
    let (one, two, patient) = (
        connect(&url).await,
        leasing(&url, BRIEF).await,
        leasing(&url, Duration::from_secs(3600)).await,
    );
    let debate = DebateId::new();
    let records = more_records(debate, &[], 4, "text");
    let running = Some(Box::new(session_of(debate, "2026", Status::Running)));
    let start = Append {
        claim: Claim::Take,
        session: running,
        ..append_of(debate, &records[..1])
    };
    one.append(start).await.expect("free");
    let words = one.runner(debate).await.expect("a look").expect("somebody");
    assert!(
        words.starts_with(&format!("process {} on ", std::process::id())),
        "{words}"
    );
    assert_eq!(
        two.append(claim(debate, &records[..1], Claim::Take)).await,
        Err(StoreError::Held {
            debate,
            by: words.clone()
        })
    );
    assert_eq!(
        (two.runner(debate).await, two.abandoned(9).await),
        (Ok(Some(words.clone())), Ok(vec![]))
    );
    assert_eq!(
        two.append(Append {
            claim: Claim::Keep,
            ..append_of(debate, &records[1..2])
        })
        .await,
        Ok(()),
        "people may speak anywhere"
    );
    // As after a long stop: the lease has run out, and nobody took it.
    cluster.ask(&url, EXPIRE);
    while two.runner(debate).await != Ok(None) {}
    // It takes nothing before it has been heard of for the time of a lease.
    while two.abandoned(9).await != Ok(vec![debate]) {}
    let held = Err(StoreError::Held {
        debate,
        by: words.clone(),
    });
    assert_eq!(
        (patient.runner(debate).await, patient.abandoned(9).await),
        (Ok(Some(words.clone())), Ok(vec![])),
        "it may only have been the server"
    );
    assert_eq!(
        patient
            .append(claim(debate, &records[..2], Claim::Take))
            .await,
        held,
        "whoever holds it has the time of a lease to come back"
    );
    assert_eq!(
        (one.runner(debate).await, one.abandoned(9).await),
        (Ok(Some(words.clone())), Ok(vec![])),
        "we know that we live"
    );
    assert_eq!(
        one.append(Append {
            claim: Claim::Hold,
            ..append_of(debate, &records[2..3])
        })
        .await,
        Ok(()),
        "still ours"
    );
    // Now somebody takes it.
    assert_eq!(
        two.append(claim(debate, &records[..3], Claim::Take)).await,
        Ok(())
    );
    assert_eq!(cluster.ask(&url, "SELECT epoch FROM rebut.claims"), "2");
    let lost = Err(StoreError::Lost { debate, by: words });
    for stale in [Claim::Hold, Claim::Release] {
        assert_eq!(
            one.append(Append {
                claim: stale,
                ..append_of(debate, &records[3..])
            })
            .await,
            lost,
            "{stale:?}"
        );
    }
    let report = append_of(debate, &records[3..]);
    assert_eq!(
        one.redact(
            records[1].tombstone(),
            Append {
                claim: Claim::Hold,
                ..report
            }
        )
        .await,
        lost
    );
    assert_eq!(
        journal(&one, debate).await,
        records[..3],
        "nothing stale was written"
    );
    two.append(Append {
        claim: Claim::Release,
        ..append_of(debate, &records[3..])
    })
    .await
    .expect("its own end");
    assert_eq!(cluster.ask(&url, "SELECT count(*) FROM rebut.claims"), "0");
    assert!(
        matches!(
            one.append(claim(debate, &records[..4], Claim::Hold)).await,
            Err(StoreError::Lost { .. })
        ),
        "given up by another is not ours"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_living_node_renews_and_an_ending_one_lets_go() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let (kept, other) = (DebateId::new(), DebateId::new());
    let long = connect(&url).await;
    let brief = leasing(&url, BRIEF).await;
    brief
        .append(claim(kept, &[], Claim::Take))
        .await
        .expect("free");
    long.append(claim(other, &[], Claim::Take))
        .await
        .expect("free");
    let ends = |debate: DebateId| {
        cluster.ask(
            &url,
            &format!("SELECT expires_at FROM rebut.claims WHERE debate_id = '{debate}'"),
        )
    };
    let (first, others) = (ends(kept), ends(other));
    let mut seen = first.clone();
    // Each look takes a process of its own; the test ends when the lease was renewed twice, or is
    // ended from outside.
    for _ in 0..2 {
        while ends(kept) == seen {}
        seen = ends(kept);
    }
    assert!(
        seen > first && ends(other) == others,
        "only its own: {first} {seen}"
    );
    drop(brief);
    while cluster.ask(&url, "SELECT count(*) FROM rebut.claims") != "1" {}
    long.append(claim(kept, &[], Claim::Take))
        .await
        .expect("free again");
}

#[tokio::test]
async fn each_node_hears_the_others_and_not_itself() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let (one, two) = (connect(&url).await, connect(&url).await);
    let (ours, theirs, both) = (DebateId::new(), DebateId::new(), DebateId::new());
    two.append(first(theirs, 1)).await.expect("append");
    assert_eq!(
        one.changed_elsewhere().await,
        Ok(Changed::Anything),
        "whoever begins to listen has heard nothing yet"
    );
    one.append(first(ours, 3)).await.expect("append");
    two.append(claim(both, &[], Claim::Take))
        .await
        .expect("an append without an event is no news");
    two.append(first(both, 3)).await.expect("append");
    // A waiting that is given up loses nothing.
    let given_up = tokio::time::timeout(Duration::ZERO, one.changed_elsewhere()).await;
    let changed = match given_up {
        Ok(changed) => changed,
        Err(_) => one.changed_elsewhere().await,
    };
    assert_eq!(changed, Ok(Changed::These(vec![both])));
    cluster.crash();
    cluster.run();
    assert_eq!(
        one.changed_elsewhere().await,
        Ok(Changed::Anything),
        "who knows what was said meanwhile"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_write_the_same_debates_neither_lose_nor_wait_for_ever() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let debates: Vec<DebateId> = (0..60).map(|_| DebateId::new()).collect();
    let mut writing = Vec::new();
    for at in 0..3 {
        let store = Arc::new(connect(&url).await);
        // Each goes through the debates in another order, all at once.
        let mut order = debates.clone();
        order.rotate_left(20 * at);
        for debate in order {
            let store = store.clone();
            writing.push(tokio::spawn(async move {
                let mut done = 0;
                while done < 4 {
                    let before = journal(&*store, debate).await;
                    match store
                        .append(append_of(debate, &more_records(debate, &before, 1, "text")))
                        .await
                    {
                        Ok(()) => done += 1,
                        Err(StoreError::Conflict { count, .. }) => {
                            assert!(count > before.len() as u64)
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }));
        }
    }
    for task in writing {
        task.await.expect("a writer");
    }
    assert_eq!(
        cluster.ask(
            &url,
            "SELECT count(*), count(DISTINCT debate_id), max(seq), min(seq) FROM rebut.events"
        ),
        "720|60|12|1"
    );
}
