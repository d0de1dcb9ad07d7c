//! Sessions in SQLite: rows beside the journals, written by the same thread.

use crate::{rows::int, sqlite::SqliteStore, transaction::Lasting};
use rebut_engine::{
    store::StoreError,
    web_session::{WebSession, WebSessions},
};
use rusqlite::{Connection, OptionalExtension, Row, params};

#[async_trait::async_trait]
impl WebSessions for SqliteStore {
    async fn open_web_session(
        &self,
        web_session: &WebSession,
        now: i64,
        most: usize,
    ) -> Result<(), StoreError> {
        let web_session = web_session.clone();
        // Whoever is given its cookie counts on it.
        self.change(Lasting::Power, move |connection| {
            open(connection, &web_session, now, most)
        })
        .await
    }

    async fn web_session(&self, id: &str) -> Result<Option<WebSession>, StoreError> {
        let id = id.to_owned();
        self.read(move |connection| {
            let mut statement = connection
                .prepare_cached("SELECT id, sha256, key, expires_at FROM visits WHERE id = ?1")?;
            statement.query_row([&id], web_session).optional()
        })
        .await
    }

    async fn close_web_session(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.change(Lasting::Cleared, move |connection| {
            connection
                .execute("DELETE FROM visits WHERE id = ?1", [&id])
                .map(drop)
        })
        .await
    }
}

fn open(
    connection: &Connection,
    web_session: &WebSession,
    now: i64,
    most: usize,
) -> rusqlite::Result<()> {
    let WebSession {
        id,
        sha256,
        key,
        expires_at,
    } = web_session;
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

fn web_session(row: &Row<'_>) -> rusqlite::Result<WebSession> {
    Ok(WebSession {
        id: row.get(0)?,
        sha256: row.get(1)?,
        key: row.get(2)?,
        expires_at: row.get(3)?,
    })
}
