//! One transaction: the debates are locked and looked at, it is decided which works may be written,
//! and those are.

use super::{
    LOCKS, Node,
    deciding::{Claimed, Fact, Facts},
    leases::counts,
    link::Link,
    pool::{borrowed, value},
    rows,
    script::{Statement, script, uuid},
};
use crate::transaction::Work;
use rebut_engine::{
    DebateId,
    store::{Durability, StoreError},
};
use std::{future::poll_fn, pin::Pin, task::Poll};
use tokio_postgres::{
    Error, Row,
    types::{ToSql, Type},
};

/// Into how many locks the debates are divided. A debate of its own lock each would need as much of
/// the server's memory as a batch has debates.
const STRIPES: u32 = 1024;

/// Does all works that may be done, and says which. An error means that nothing was written, or
/// that nobody knows; after such an error the next transaction is told that one `broke`.
pub(super) async fn transact(
    client: &Link,
    node: &Node,
    works: &[Work],
    broke: bool,
) -> Result<Vec<Result<(), StoreError>>, Refusal> {
    let debates: Vec<DebateId> = works.iter().map(debate_of).collect();
    let locks = [
        value(LOCKS, Type::INT4),
        value(stripes(&debates), Type::INT4_ARRAY),
    ];
    let locks = borrowed(&locks);
    let (begun, locked, found) = tokio::join!(
        biased;
        client.batch_execute("BEGIN"),
        client.execute_typed(LOCK, &locks),
        look(client, node, &debates),
    );
    begun?;
    locked?;
    let found = found?;
    if let Some(row) = found.first()
        && !row.try_get::<_, bool>(7)?
    {
        return Err(Refusal::Incomplete);
    }
    let found = found.iter().map(read_fact).collect::<Result<Vec<_>, _>>()?;
    let results = Facts::new(found).decide(works, node.id);
    let allowed: Vec<&Work> = works
        .iter()
        .zip(&results)
        .filter(|(_, result)| result.is_ok())
        .map(|(work, _)| work)
        .collect();
    let mut script = script(&allowed, node);
    // A commit whose connection broke while it waited for a synchronous standby is there, and the
    // standby may lack it. Whatever is found there is told behind a commit that waits, and one of
    // nothing would not.
    if broke || works.iter().any(confirms) {
        script.push(Statement {
            sql: "SELECT pg_logical_emit_message(true, 'rebut', '')".into(),
            values: Vec::new(),
        });
    }
    run(client, &script).await?;
    Ok(results)
}

/// Whether a work is only to make sure of what is there.
fn confirms(work: &Work) -> bool {
    matches!(work, Work::Append(append) if append.durability == Durability::Power && append.records.is_empty())
}

pub(super) const INCOMPLETE: &str = "its tables are not complete: a backup is being restored";

/// Why a transaction was not made.
pub(super) enum Refusal {
    /// The server refused it, or cannot be reached.
    Answered(Error),
    /// The tables are there, and what we keep in every database of ours is not: a backup is being
    /// restored. What seems to be missing may be about to come, and must not be written twice.
    Incomplete,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Answered(error)
    }
}

/// In order, so that two batches never wait for each other.
const LOCK: &str = "SELECT pg_advisory_xact_lock($1, stripe) FROM unnest($2) AS stripe";

fn stripes(debates: &[DebateId]) -> Vec<i32> {
    let stripe = |debate: &DebateId| {
        let [.., a, b, c, d] = *debate.as_bytes();
        (u32::from_be_bytes([a, b, c, d]) % STRIPES) as i32
    };
    let mut stripes: Vec<i32> = debates.iter().map(stripe).collect();
    stripes.sort_unstable();
    stripes.dedup();
    stripes
}

fn debate_of(work: &Work) -> DebateId {
    match work {
        Work::Append(append) | Work::Redact(_, append) => append.debate,
        Work::Remove(debate) => *debate,
    }
}

/// A statement of its own, after the locks: only that sees what the ones before us wrote.
async fn look(client: &Link, node: &Node, debates: &[DebateId]) -> Result<Vec<Row>, Error> {
    let sql = format!(
        "SELECT id, coalesce(last.seq, 0), last.hash,
            EXISTS (SELECT FROM debate_sessions WHERE debate_sessions.id = looked.id)
                OR EXISTS (SELECT FROM checkpoints WHERE checkpoints.debate_id = looked.id)
                OR EXISTS (SELECT FROM debate_turns WHERE session_id = looked.id),
            node, holder, {}, EXISTS (SELECT FROM schema_version)
        FROM (SELECT DISTINCT unnest($1) AS id) AS looked LEFT JOIN claims ON claims.debate_id = looked.id
            LEFT JOIN LATERAL (SELECT seq, hash FROM events WHERE events.debate_id = looked.id ORDER BY seq DESC LIMIT 1) AS last ON true",
        counts(2, 3)
    );
    let ids: Vec<_> = debates.iter().map(|debate| uuid(*debate)).collect();
    client
        .query_typed(
            &sql,
            &borrowed(&[
                value(ids, Type::UUID_ARRAY),
                node.lease_seconds(),
                value(!node.may_take(), Type::BOOL),
            ]),
        )
        .await
}

fn read_fact(row: &Row) -> Result<(DebateId, Fact), Error> {
    let claim = match row.try_get::<_, Option<uuid::Uuid>>(4)? {
        Some(node) => Some(Claimed {
            node,
            holder: rows::in_words(row.try_get(5)?),
            is_living: row.try_get(6)?,
        }),
        None => None,
    };
    let count: i64 = row.try_get(1)?;
    let head = row
        .try_get::<_, Option<&[u8]>>(2)?
        .map(crate::rows::head)
        .unwrap_or_default();
    Ok((
        rows::debate(row.try_get(0)?),
        Fact {
            count: count.unsigned_abs(),
            head,
            kept: row.try_get(3)?,
            claim,
        },
    ))
}

/// The wait for a synchronous standby has no end of its own: one that the server cuts short would
/// be acknowledged as if the standby had it.
const COMMIT: &str = "SET LOCAL statement_timeout = 0; COMMIT";

/// Sends all statements and the commit at once, in order. After one that fails the server refuses
/// the rest, the commit too.
async fn run(client: &Link, script: &[Statement<'_>]) -> Result<(), Error> {
    type Doing<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;
    let values: Vec<Vec<(&(dyn ToSql + Sync), Type)>> = script
        .iter()
        .map(|statement| borrowed(&statement.values))
        .collect();
    let mut doing: Vec<Doing<'_>> = Vec::with_capacity(script.len() + 1);
    for (statement, values) in script.iter().zip(&values) {
        doing.push(Box::pin(async move {
            client.execute_typed(&statement.sql, values).await.map(drop)
        }));
    }
    doing.push(Box::pin(client.batch_execute(COMMIT)));
    let mut answers: Vec<Option<Result<(), Error>>> = doing.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (one, answer) in doing.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(result) = one.as_mut().poll(context)
            {
                *answer = Some(result);
            }
        }
        if answers.iter().all(Option::is_some) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    // The first error is the reason of all that follow.
    answers.into_iter().flatten().collect()
}
