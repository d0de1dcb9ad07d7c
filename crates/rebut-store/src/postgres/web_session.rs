//! Sessions in PostgreSQL: one statement each, so that every node sees at once who left.

use super::{
    PostgresStore,
    pool::value,
    rows::{Bad, get},
};
use crate::rows::int;
use rebut_engine::{
    store::StoreError,
    web_session::{WebSession, WebSessions},
};
use tokio_postgres::{Row, types::Type};

/// Two nodes that make room at the same moment leave each other's rows alone.
const OPEN: &str = "WITH over AS (
        DELETE FROM visits WHERE id IN (
            SELECT id FROM visits WHERE expires_at <= $5 OR (key = $3 AND id NOT IN (
                SELECT id FROM visits WHERE key = $3 ORDER BY expires_at DESC, id LIMIT $6))
            FOR UPDATE SKIP LOCKED)
    )
    INSERT INTO visits (id, sha256, key, expires_at) VALUES ($1, $2, $3, $4)";

#[async_trait::async_trait]
impl WebSessions for PostgresStore {
    async fn open_web_session(
        &self,
        web_session: &WebSession,
        now: i64,
        most: usize,
    ) -> Result<(), StoreError> {
        let values = [
            value(&*web_session.id, Type::TEXT),
            value(&*web_session.sha256, Type::TEXT),
            value(&*web_session.key, Type::TEXT),
            value(web_session.expires_at, Type::INT8),
            value(now, Type::INT8),
            value(int(most.saturating_sub(1) as u64), Type::INT8),
        ];
        self.pool.change(OPEN, &values).await.map(drop)
    }

    async fn web_session(&self, id: &str) -> Result<Option<WebSession>, StoreError> {
        let sql = "SELECT id, sha256, key, expires_at FROM visits WHERE id = $1";
        let found = self.pool.ask(sql, &[value(id, Type::TEXT)]).await?;
        let failed = |why| StoreError::Failed(format!("reading a visit: {why}"));
        found
            .first()
            .map(|row| web_session(row).map_err(failed))
            .transpose()
    }

    async fn close_web_session(&self, id: &str) -> Result<(), StoreError> {
        self.pool
            .change("DELETE FROM visits WHERE id = $1", &[value(id, Type::TEXT)])
            .await
            .map(drop)
    }
}

fn web_session(row: &Row) -> Result<WebSession, Bad> {
    Ok(WebSession {
        id: get(row, 0)?,
        sha256: get(row, 1)?,
        key: get(row, 2)?,
        expires_at: get(row, 3)?,
    })
}
