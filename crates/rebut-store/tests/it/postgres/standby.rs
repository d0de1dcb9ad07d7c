//! A server with a standby, and a database that goes back: what is acknowledged is on the standby
//! where one is configured, and what a promoted one lacks is written again.

use super::{connect, first};
use crate::going_back::{forget, plain_case};
use rebut_engine::{
    DebateId,
    store::{Append, Durability, Store},
};
use rebut_testkit::{
    going_back::{Database, GoBack, suite},
    postgres::Cluster,
};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_may_go_back_by_any_number_of_events_after_any_append() {
    let cluster = Arc::new(Cluster::start());
    let url = cluster.database();
    // One for all runs: connections are dear.
    let (store, other): (Arc<dyn Store>, Arc<dyn Store>) =
        (Arc::new(connect(&url).await), Arc::new(connect(&url).await));
    let fresh = async || {
        let (cluster, url) = (cluster.clone(), url.clone());
        let go_back: GoBack = Arc::new(move |debate, keep| {
            let sql = forget(&debate.to_string(), &format!("'{debate}'"), "rebut.", keep);
            let (cluster, url) = (cluster.clone(), url.clone());
            Box::pin(async move {
                cluster.ask(&url, &format!("BEGIN; {sql} COMMIT"));
            })
        });
        Database {
            store: store.clone(),
            other: other.clone(),
            go_back,
        }
    };
    let tally = suite(&plain_case(), fresh, 4, &[1, 3, 40]).await;
    println!("{tally:?}");
    assert!(tally.went_on > 5 && tally.cancelled > 5, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_acknowledged_is_on_the_synchronous_standby() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let standby = cluster.standby();
    let store = Arc::new(connect(&url).await);
    cluster.ask(
        "postgres",
        "ALTER SYSTEM SET synchronous_standby_names = '*'",
    );
    cluster.ask("postgres", "SELECT pg_reload_conf()");
    while cluster.ask("postgres", "SHOW synchronous_standby_names") != "*" {}
    let debate = DebateId::new();
    store.append(first(debate, 1)).await.expect("append");
    assert_eq!(
        standby.ask(&url, "SELECT count(*) FROM pg_stat_wal_receiver"),
        "1"
    );
    standby.crash();
    for durability in [Durability::Process, Durability::Power] {
        let (writing, debate) = (store.clone(), DebateId::new());
        let appended = tokio::spawn(async move {
            writing
                .append(Append {
                    durability,
                    ..first(debate, 2)
                })
                .await
        });
        // Each look takes a process of its own.
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND \
            application_name = 'rebut'";
        while cluster.ask("postgres", waits) == "0" {
            assert!(
                !appended.is_finished(),
                "{durability:?}: acknowledged, and the standby does not have it"
            );
        }
        assert_eq!(
            cluster.ask(
                &url,
                &format!("SELECT count(*) FROM rebut.events WHERE debate_id = '{debate}'")
            ),
            "0",
            "nobody saw it yet"
        );
        standby.run();
        appended
            .await
            .expect("no panic")
            .expect("the standby is back");
        standby.crash();
    }
    standby.run();
}
