//! The store over PostgreSQL: the suite all stores pass, and what only a server can do wrong. Each
//! test has a server of its own.

mod nodes;
mod refusing;
mod restarts;
mod restored;
mod schema;
mod standby;
mod writes;

use rebut_engine::{
    DebateId,
    record::Record,
    store::{Append, Claim, Store},
};
use rebut_store::{PostgresOptions, PostgresStore};
use rebut_testkit::{
    conformance::{CHECKS, append_of, behind, more_records},
    postgres::Cluster,
};
use std::{sync::Arc, time::Duration};

/// Longer than any test: leases end when the test says so.
const LONG: Duration = Duration::from_secs(3600);

pub(crate) async fn connect(url: &str) -> PostgresStore {
    PostgresStore::connect_with(
        url,
        PostgresOptions {
            lease: LONG,
            ..PostgresOptions::default()
        },
    )
    .await
    .expect("the store opens")
}

async fn journal(store: &dyn Store, debate: DebateId) -> Vec<Record> {
    store.load(debate, 0).await.expect("load")
}

fn claim(debate: DebateId, before: &[Record], claim: Claim) -> Append {
    Append {
        claim,
        ..behind(debate, before)
    }
}

fn first(debate: DebateId, count: usize) -> Append {
    append_of(debate, &more_records(debate, &[], count, "text"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_what_every_store_must() {
    let cluster = Cluster::start();
    for check in CHECKS {
        eprintln!("store: {}", check.name);
        (check.run)(Arc::new(connect(&cluster.database()).await)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_what_every_outbox_must() {
    let cluster = Cluster::start();
    for check in rebut_testkit::conformance::outbox::CHECKS {
        eprintln!("outbox: {}", check.name);
        (check.run)(Arc::new(connect(&cluster.database()).await)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_what_every_keeper_of_visits_must() {
    let cluster = Cluster::start();
    rebut_testkit::conformance::web_session::hold(&connect(&cluster.database()).await).await;
}
