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
use uuid::Uuid;

/// Whether a lease still counts, as SQL; the parameter of that number is the seconds of a lease. Nobody could renew while the database was away: when it is
/// back, every holder has the time of a lease to be heard of again.
pub(super) fn counts(lease: usize) -> String {
    // Whoever was written down as nobody does not come back.
    format!("node <> '{NOBODY}' AND greatest(expires_at, pg_postmaster_start_time() + make_interval(secs => ${lease})) > clock_timestamp()")
}

/// The living runner of a debate, in words. Our own lease counts until somebody takes it: we are alive.
pub(super) async fn runner(pool: &Pool, node: &Node, debate: DebateId) -> Result<Option<String>, StoreError> {
    let sql = format!("SELECT holder FROM claims WHERE debate_id = $1 AND (node = $2 OR {})", counts(3));
    let found = pool.ask(&sql, &[value(uuid(debate), Type::UUID), value(node.id, Type::UUID), node.lease_seconds()]).await?;
    Ok(found.first().and_then(|row| row.try_get(0).ok()).map(rows::in_words))
}

/// In the place of a node where a debate was given up: its holder is the reason then, and its time is over.
const NOBODY: Uuid = Uuid::nil();

/// Debates that are recorded as running and leased to this node, the oldest first.
pub(super) async fn held(pool: &Pool, node: &Node) -> Result<Vec<DebateId>, StoreError> {
    let sql = format!(
        "SELECT id FROM debate_sessions JOIN claims ON claims.debate_id = debate_sessions.id
         WHERE status = '{}' AND node = $1 ORDER BY created_at, id",
        Status::Running.as_str()
    );
    let found = pool.ask(&sql, &[value(node.id, Type::UUID)]).await?;
    Ok(found.iter().filter_map(|row| row.try_get(0).ok()).map(rows::debate).collect())
}

/// Gives up a debate that this node or nobody runs. Where another takes it meanwhile, its row is looked at as it is then.
pub(super) async fn give_up(pool: &Pool, node: &Node, debate: DebateId, why: &str) -> Result<(), StoreError> {
    let sql = format!(
        "WITH given AS (
             UPDATE claims SET node = '{NOBODY}', holder = $4, epoch = epoch + 1, expires_at = '-infinity'
             WHERE debate_id = $1 AND (node = $2 OR NOT ({}))
             RETURNING 1
         ), noted AS (
             INSERT INTO claims (debate_id, node, holder, epoch, expires_at)
             SELECT $1, '{NOBODY}', $4, 1, '-infinity'
             WHERE NOT EXISTS (SELECT FROM given) AND EXISTS (SELECT FROM events WHERE events.debate_id = $1)
             ON CONFLICT (debate_id) DO NOTHING
             RETURNING 1
         )
         SELECT 1 FROM given UNION ALL SELECT 1 FROM noted",
        counts(3)
    );
    // A character that no text of the database can hold says nothing to people either.
    let why = why.replace('\0', "");
    let values = [value(uuid(debate), Type::UUID), value(node.id, Type::UUID), node.lease_seconds(), value(why, Type::TEXT)];
    if !pool.ask(&sql, &values).await?.is_empty() {
        return Ok(());
    }
    match runner(pool, node, debate).await? {
        Some(by) => Err(StoreError::Held { debate, by }),
        None => Err(StoreError::NotFound(debate.to_string())),
    }
}

/// Of these debates, those that were given up, each with the reason.
pub(super) async fn given_up(pool: &Pool, debates: &[DebateId]) -> Result<Vec<(DebateId, String)>, StoreError> {
    let sql = format!("SELECT debate_id, holder FROM claims WHERE debate_id = ANY ($1) AND node = '{NOBODY}'");
    let ids: Vec<Uuid> = debates.iter().map(|debate| uuid(*debate)).collect();
    let found = pool.ask(&sql, &[value(ids, Type::UUID_ARRAY)]).await?;
    Ok(found.iter().filter_map(|row| Some((rows::debate(row.try_get(0).ok()?), row.try_get(1).ok()?))).collect())
}

/// Debates that are recorded as running and that nobody runs, the oldest first.
pub(super) async fn abandoned(pool: &Pool, node: &Node, most: usize) -> Result<Vec<DebateId>, StoreError> {
    let sql = format!(
        "SELECT id FROM debate_sessions WHERE status = '{}' AND NOT EXISTS (SELECT FROM claims
             WHERE claims.debate_id = debate_sessions.id AND (node = $1 OR {}))
         ORDER BY created_at, id LIMIT $2",
        Status::Running.as_str(),
        counts(3)
    );
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let found = pool.ask(&sql, &[value(node.id, Type::UUID), value(most, Type::INT8), node.lease_seconds()]).await?;
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
            // While the database cannot be reached nobody else can take them either; the next beat tries again, in time (see `counts`).
            let _ = pool.ask(sql, &[value(node.id, Type::UUID), node.lease_seconds()]).await;
        }
    }
}
