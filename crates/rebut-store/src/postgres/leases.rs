//! Leases in the database: who runs a debate, which debates nobody runs any more, and the heartbeat
//! that keeps ours.

use super::{
    Node,
    link::Link,
    pool::{Pool, borrowed, value},
    rows,
    script::uuid,
    trouble,
    writer::Renewing,
};
use rebut_engine::{
    DebateId,
    store::{Status, StoreError},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{task::JoinHandle, time::timeout};
use tokio_postgres::{Error, types::Type};
use uuid::Uuid;

/// Whether a lease still counts, as SQL; the parameters of these numbers are the seconds of a
/// lease, and whether all leases count whatever their time. Nobody could renew while the database
/// was away: when it is back, every holder has the time of a lease to be heard of again. A node
/// that beats knows of that by itself (see [`Beats`](super::beats::Beats)); one that only looks
/// goes by the start of the server. Whoever was written down as nobody does not come back.
pub(super) fn counts(lease: usize, all: usize) -> String {
    format!(
        "(node <> '{NOBODY}' AND
          (${all} OR greatest(expires_at, pg_postmaster_start_time() + make_interval(secs => ${lease})) > clock_timestamp()))"
    )
}

/// The living runner of a debate, in words. Our own lease counts until somebody takes it: we are
/// alive.
pub(super) async fn runner(
    pool: &Pool,
    node: &Node,
    debate: DebateId,
) -> Result<Option<String>, StoreError> {
    let sql = format!(
        "SELECT holder FROM claims WHERE debate_id = $1 AND (node = $2 OR {})",
        counts(3, 4)
    );
    let doubts = value(node.doubts(), Type::BOOL);
    let found = pool
        .ask(
            &sql,
            &[
                value(uuid(debate), Type::UUID),
                value(node.id, Type::UUID),
                node.lease_seconds(),
                doubts,
            ],
        )
        .await?;
    Ok(found
        .first()
        .and_then(|row| row.try_get(0).ok())
        .map(rows::in_words))
}

/// In the place of a node where a debate was given up: its holder is the reason then, and its time
/// is over.
const NOBODY: Uuid = Uuid::nil();

/// Debates that are recorded as running and leased to this node, the oldest first.
pub(super) async fn held(pool: &Pool, node: &Node) -> Result<Vec<DebateId>, StoreError> {
    let sql = format!(
        "SELECT id FROM debate_sessions JOIN claims ON claims.debate_id = debate_sessions.id
         WHERE status = '{}' AND node = $1 ORDER BY created_at, id",
        Status::Running.as_str()
    );
    let found = pool.ask(&sql, &[value(node.id, Type::UUID)]).await?;
    Ok(found
        .iter()
        .filter_map(|row| row.try_get(0).ok())
        .map(rows::debate)
        .collect())
}

/// Gives up a debate that this node or nobody runs. Where another takes it meanwhile, its row is
/// looked at as it is then.
pub(super) async fn give_up(
    pool: &Pool,
    node: &Node,
    debate: DebateId,
    why: &str,
) -> Result<(), StoreError> {
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
        counts(3, 5)
    );
    // A character that no text of the database can hold says nothing to people either.
    let why = why.replace('\0', "");
    let all = value(!node.may_take(), Type::BOOL);
    let values = [
        value(uuid(debate), Type::UUID),
        value(node.id, Type::UUID),
        node.lease_seconds(),
        value(why, Type::TEXT),
        all,
    ];
    if !pool.change(&sql, &values).await?.is_empty() {
        return Ok(());
    }
    match runner(pool, node, debate).await? {
        Some(by) => Err(StoreError::Held { debate, by }),
        None => Err(StoreError::NotFound(debate.to_string())),
    }
}

/// Of these debates, those that were given up, each with the reason.
pub(super) async fn given_up(
    pool: &Pool,
    debates: &[DebateId],
) -> Result<Vec<(DebateId, String)>, StoreError> {
    let sql = format!(
        "SELECT debate_id, holder FROM claims WHERE debate_id = ANY ($1) AND node = '{NOBODY}'"
    );
    let ids: Vec<Uuid> = debates.iter().map(|debate| uuid(*debate)).collect();
    let found = pool.ask(&sql, &[value(ids, Type::UUID_ARRAY)]).await?;
    Ok(found
        .iter()
        .filter_map(|row| Some((rows::debate(row.try_get(0).ok()?), row.try_get(1).ok()?)))
        .collect())
}

/// Debates that are recorded as running and that nobody runs, the oldest first.
pub(super) async fn abandoned(
    pool: &Pool,
    node: &Node,
    most: usize,
) -> Result<Vec<DebateId>, StoreError> {
    let sql = format!(
        "SELECT id FROM debate_sessions WHERE status = '{}' AND NOT EXISTS (SELECT FROM claims
             WHERE claims.debate_id = debate_sessions.id AND (node = $1 OR {}))
         ORDER BY created_at, id LIMIT $2",
        Status::Running.as_str(),
        counts(3, 4)
    );
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let all = value(!node.may_take(), Type::BOOL);
    let found = pool
        .ask(
            &sql,
            &[
                value(node.id, Type::UUID),
                value(most, Type::INT8),
                node.lease_seconds(),
                all,
            ],
        )
        .await?;
    Ok(found
        .iter()
        .filter_map(|row| row.try_get(0).ok())
        .map(rows::debate)
        .collect())
}

/// A task that ends with whoever holds this.
pub(super) struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Task {
    pub(super) fn start(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

/// Renews all leases of this node, three times as often as they would expire, on a connection of
/// its own: it does not wait for others, and one that breaks is noticed. A node that runs nothing
/// beats too, since it may want to take over what others ran.
pub(super) async fn renew(node: Arc<Node>, writer: Renewing) {
    let mut connected = None;
    loop {
        let began = Instant::now();
        let is_well = match renewed(&node, &mut connected, &writer).await {
            Ok(server) => {
                node.beats.succeeded(began, server, node.lease);
                true
            }
            // Nobody else could renew where the database is away, and nobody takes anything before
            // a whole lease of beats was answered.
            Err(_) => {
                node.beats.failed();
                connected = None;
                false
            }
        };
        // While the database is away it is looked for more often: whoever holds leases has to be
        // heard of soon after it is back.
        tokio::time::sleep(if is_well {
            node.lease / 3
        } else {
            node.lease / 15
        })
        .await;
    }
}

/// How long a beat may take before it is tried on a new connection: the server that it waits for
/// may be gone without a word.
fn longest(lease: Duration) -> Duration {
    (lease / 3).max(Duration::from_secs(1))
}

/// One beat on the connection that is there, or on a new one. Says which start of which server
/// answered.
async fn renewed(
    node: &Node,
    connected: &mut Option<Link>,
    writer: &Renewing,
) -> Result<i64, StoreError> {
    let doing = "renewing leases";
    let link = match connected.take() {
        // It broke since the last beat, whatever the next one comes to.
        Some(link) if link.is_closed() => return Err(trouble::silent(doing)),
        Some(link) if !link.is_over() => link,
        _ => connect(node, writer).await?,
    };
    let answer = timeout(longest(node.lease), beat(&link, node))
        .await
        .map_err(|_| trouble::silent(doing))?;
    let server = answer.map_err(|error| trouble::of(doing, &error))?;
    *connected = Some(link);
    Ok(server)
}

/// Connects. Meanwhile leases are renewed on the connection that writes: the server may have no
/// room for another one while that one works on.
async fn connect(node: &Node, writer: &Renewing) -> Result<Link, StoreError> {
    let connecting = async {
        let link = node.address.reconnect().await?;
        // A standby that is away keeps nobody from being heard of here. Where it is promoted, every
        // holder has the time of a lease.
        let local = link.batch_execute("SET synchronous_commit = local").await;
        local.map_err(|error| trouble::of("renewing leases", &error))?;
        Ok(link)
    };
    let renewing = async {
        loop {
            writer.renew();
            tokio::time::sleep(node.lease / 3).await;
        }
    };
    tokio::select! {
        link = connecting => link,
        never = renewing => never,
    }
}

/// One beat. It always writes something, also where nothing is leased: so it can only succeed where
/// others can renew theirs as well.
pub(super) async fn beat(link: &Link, node: &Node) -> Result<i64, Error> {
    // Rows that are locked now are being written by us, or taken by another; waiting for them could
    // make two nodes wait for each other.
    let sql = "WITH renewed AS (UPDATE claims SET expires_at = clock_timestamp() + \
        make_interval(secs => $2)
            WHERE debate_id IN (SELECT debate_id FROM claims WHERE node = $1 FOR UPDATE SKIP LOCKED))
        SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8, pg_logical_emit_message(true, 'rebut', '')";
    let values = [value(node.id, Type::UUID), node.lease_seconds()];
    let answer = link.query_typed(sql, &borrowed(&values)).await?;
    answer.first().map_or(Ok(0), |row| row.try_get(0))
}
