//! Leases in the database: who runs a debate, which debates nobody runs any more, and the heartbeat that keeps ours.

use super::{
    Node,
    pool::{Pool, value},
    rows,
    script::uuid,
};
use rebut_engine::{
    DebateId,
    store::{Status, StoreError},
};
use std::sync::{Arc, atomic::Ordering};
use tokio::task::JoinHandle;
use tokio_postgres::types::Type;

/// The living runner of a debate, in words. Our own lease counts until somebody takes it: we are alive.
pub(super) async fn runner(pool: &Pool, node: &Node, debate: DebateId) -> Result<Option<String>, StoreError> {
    let sql = "SELECT holder FROM claims WHERE debate_id = $1 AND (node = $2 OR expires_at > clock_timestamp())";
    let found = pool.ask(sql, &[value(uuid(debate), Type::UUID), value(node.id, Type::UUID)]).await?;
    Ok(found.first().and_then(|row| row.try_get(0).ok()).map(rows::in_words))
}

/// Whether a debate of that id was removed, and none has come in its place: then its lease is nobody's, for ever.
pub(super) async fn is_removed(pool: &Pool, debate: DebateId) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM claims WHERE debate_id = $1 AND node = $2 AND NOT EXISTS (SELECT FROM events WHERE debate_id = $1)";
    let found = pool.ask(sql, &[value(uuid(debate), Type::UUID), value(uuid::Uuid::nil(), Type::UUID)]).await?;
    Ok(!found.is_empty())
}

/// Debates that are recorded as running and that nobody runs, the oldest first.
pub(super) async fn abandoned(pool: &Pool, node: &Node, most: usize) -> Result<Vec<DebateId>, StoreError> {
    let sql = format!(
        "SELECT id FROM debate_sessions WHERE status = '{}' AND NOT EXISTS (SELECT FROM claims
             WHERE claims.debate_id = debate_sessions.id AND (node = $1 OR expires_at > clock_timestamp()))
         ORDER BY created_at, id LIMIT $2",
        Status::Running.as_str()
    );
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let found = pool.ask(&sql, &[value(node.id, Type::UUID), value(most, Type::INT8)]).await?;
    Ok(found.iter().filter_map(|row| row.try_get(0).ok()).map(rows::debate).collect())
}

/// A task that ends with whoever holds this.
pub(super) struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Task {
    /// Starts it.
    pub(super) fn start(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

/// Renews all leases of this node, three times as often as they would expire.
pub(super) async fn renew(pool: Arc<Pool>, node: Arc<Node>) {
    // Rows that are locked now are being written by us, or taken by another; waiting for them could make two nodes wait for each other.
    let sql = "UPDATE claims SET expires_at = clock_timestamp() + make_interval(secs => $2)
        WHERE debate_id IN (SELECT debate_id FROM claims WHERE node = $1 FOR UPDATE SKIP LOCKED)";
    loop {
        tokio::time::sleep(node.lease / 3).await;
        if node.runs.load(Ordering::Relaxed) {
            // While the database cannot be reached nobody else can take them either; the next beat tries again.
            let _ = pool.ask(sql, &[value(node.id, Type::UUID), value(node.lease.as_secs_f64(), Type::FLOAT8)]).await;
        }
    }
}
