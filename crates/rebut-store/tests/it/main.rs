//! Tests of the stores: the suite all of them pass, what only a file can do wrong, and what only a
//! server can.

mod crash;
#[cfg(target_os = "linux")]
mod disk;
mod files;
mod going_back;
mod model;
#[cfg(target_os = "linux")]
mod postgres;
mod processes;
mod writes;

use rebut_engine::{DebateId, record::Record, store::Store};
use rebut_store::SqliteStore;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

fn database() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rebut.db");
    (folder, path)
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path).expect("the store opens")
}

async fn journal(store: &SqliteStore, debate: DebateId) -> Vec<Record> {
    store.load(debate, 0).await.expect("load")
}

/// One number from the database, read as a stranger would.
fn ask(path: &Path, sql: &str) -> i64 {
    let connection = rusqlite::Connection::open(path).expect("the file opens");
    connection.query_row(sql, [], |row| row.get(0)).expect(sql)
}

/// Lets every commit fail that has events of another debate than this one: by a rule that is only
/// looked at by the commit, the one way to make a real commit fail at will.
fn refuse_commits_of_others(path: &Path, allowed: DebateId) {
    let rule = ", FOREIGN KEY (debate_id) REFERENCES allowed (id) DEFERRABLE INITIALLY DEFERRED)";
    let sabotage = format!(
        "CREATE TABLE allowed (id PRIMARY KEY); INSERT INTO allowed VALUES (x'{}'); PRAGMA \
         writable_schema = ON;
        UPDATE sqlite_schema SET sql = rtrim(sql, ') ' || char(10)) || ')' || '{rule}' WHERE name = 'events'; PRAGMA schema_version = 1000",
        allowed.to_string().replace('-', "")
    );
    rusqlite::Connection::open(path)
        .expect("opens")
        .execute_batch(&sabotage)
        .expect("sabotage");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_what_every_store_must() {
    let folder = tempfile::tempdir().expect("a folder");
    let number = std::cell::Cell::new(0);
    rebut_testkit::conformance::holds(|| {
        number.set(number.get() + 1);
        Arc::new(open(&folder.path().join(format!("{}.db", number.get()))))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_what_every_outbox_must() {
    for check in rebut_testkit::conformance::outbox::CHECKS {
        eprintln!("outbox: {}", check.name);
        let (_folder, path) = database();
        (check.run)(Arc::new(open(&path))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_what_every_keeper_of_visits_must() {
    let (_folder, path) = database();
    rebut_testkit::conformance::web_session::hold(&open(&path)).await;
    rebut_testkit::conformance::web_session::hold(&rebut_engine::memory_store::MemoryStore::new())
        .await;
}
