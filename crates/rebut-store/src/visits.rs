//! Visits in SQLite: rows beside the journals, written by the same thread.

use crate::{ledger::Lasting, rows::int, sqlite::SqliteStore};
use rebut_engine::{
    store::StoreError,
    visits::{Visit, Visits},
};
use rusqlite::{Connection, OptionalExtension, Row, params};

#[async_trait::async_trait]
impl Visits for SqliteStore {
    async fn open_visit(&self, visit: &Visit, now: i64, most: usize) -> Result<(), StoreError> {
        let visit = visit.clone();
        // Whoever is given its cookie counts on it.
        self.change(Lasting::Power, move |connection| {
            open(connection, &visit, now, most)
        })
        .await
    }

    async fn visit(&self, id: &str) -> Result<Option<Visit>, StoreError> {
        let id = id.to_owned();
        self.read(move |connection| {
            let mut statement = connection
                .prepare_cached("SELECT id, sha256, key, expires_at FROM visits WHERE id = ?1")?;
            statement.query_row([&id], visit).optional()
        })
        .await
    }

    async fn close_visit(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.change(Lasting::Cleared, move |connection| {
            connection
                .execute("DELETE FROM visits WHERE id = ?1", [&id])
                .map(drop)
        })
        .await
    }
}

fn open(connection: &Connection, visit: &Visit, now: i64, most: usize) -> rusqlite::Result<()> {
    let Visit {
        id,
        sha256,
        key,
        expires_at,
    } = visit;
    let others = int(most.saturating_sub(1) as u64);
    connection.execute("DELETE FROM visits WHERE expires_at <= ?1", [now])?;
    let kept = "SELECT id FROM visits WHERE key = ?1 ORDER BY expires_at DESC, id LIMIT ?2";
    connection.execute(
        &format!("DELETE FROM visits WHERE key = ?1 AND id NOT IN ({kept})"),
        params![key, others],
    )?;
    let sql = "INSERT INTO visits (id, sha256, key, expires_at) VALUES (?1, ?2, ?3, ?4)";
    connection
        .execute(sql, params![id, sha256, key, expires_at])
        .map(drop)
}

fn visit(row: &Row<'_>) -> rusqlite::Result<Visit> {
    Ok(Visit {
        id: row.get(0)?,
        sha256: row.get(1)?,
        key: row.get(2)?,
        expires_at: row.get(3)?,
    })
}
